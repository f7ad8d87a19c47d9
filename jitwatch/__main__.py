"""``python -m jitwatch``: the same as the ``jitwatch`` command."""

from jitwatch.cli import main

raise SystemExit(main())
