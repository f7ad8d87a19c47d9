"""Attributes replaced in other people's modules and classes, so that all can be put back."""

from __future__ import annotations

from typing import Any

_MISSING = object()


class Patches:
    """A list of replaced attributes."""

    def __init__(self) -> None:
        self._changes: list[tuple[Any, str, Any, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Set ``owner.name``, remembering what it was. An inherited attribute is shadowed, not changed."""
        self._changes.append((owner, name, vars(owner).get(name, _MISSING), value))
        setattr(owner, name, value)

    def restore(self) -> None:
        """Put everything back, last first. What somebody else has replaced since stays theirs."""
        while self._changes:
            owner, name, old, ours = self._changes.pop()
            if vars(owner).get(name, _MISSING) is not ours:
                continue
            if old is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, old)
