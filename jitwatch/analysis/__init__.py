"""From a run directory to findings: pure functions over recorded events."""
