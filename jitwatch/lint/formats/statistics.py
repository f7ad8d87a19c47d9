"""Findings counted by rule, the most frequent first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from jitwatch.lint.engine import Outcome
from jitwatch.lint.formats import HUMAN, Look


def render_statistics(outcome: Outcome, chosen_format: str, look: Look) -> Iterator[str]:
    """Yield a table, or a JSON list for the formats that machines read."""
    counts = Counter((finding.code, finding.name) for finding in outcome.shown)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if chosen_format not in HUMAN:
        yield json.dumps([{"code": code, "name": name, "count": n} for (code, name), n in ranked], indent=2)
        return
    width = max((len(str(n)) for _, n in ranked), default=0)
    for (code, name), number in ranked:
        yield f"{number:>{width}}  {look.red(code)}  {name}"
