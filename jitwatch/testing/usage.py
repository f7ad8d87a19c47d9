"""Which tests use jitwatch: by a fixture's name, or by the marker."""

from __future__ import annotations

import pytest

MARKER = "max_recompiles"

FIXTURES = frozenset(["no_recompiles", "jitwatch"])


def uses(item: pytest.Item) -> bool:
    """Whether a test asks for jitwatch."""
    return not FIXTURES.isdisjoint(getattr(item, "fixturenames", ())) or bool(item.get_closest_marker(MARKER))
