"""The lint engine; the rules are in ``jitwatch.rules``."""
