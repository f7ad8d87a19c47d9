"""The changes to a kernel that a rule can propose: plain data, which ``plan`` turns into edits."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from jitwatch.source.model import Key


class Kind(enum.Enum):
    """What happens to a parameter."""

    OPT_OUT = "do_not_specialize"
    """It is named in ``do_not_specialize``."""
    ALIGNMENT = "do_not_specialize_on_alignment"
    """It is named in ``do_not_specialize_on_alignment``."""
    ANNOTATE = "annotate"
    """Its type is fixed, and it is named in ``do_not_specialize``."""
    RUNTIME = "runtime_argument"
    """It is no constexpr any more, and named in ``do_not_specialize``."""
    RUNTIME_SPECIALIZED = "specialized_runtime_argument"
    """It is no constexpr any more: its divisibility carries the width of memory accesses, so it stays specialised."""
    LEAVE_KEY = "leave_autotune_key"
    """The autotuner's key does not name it any more."""
    DROP = "drop"
    """It is taken out of the signature, of the lists that name it and of every launch."""

    @property
    def is_compiled(self) -> bool:
        """Whether it changes the code, so that what it costs is all that its safety hangs on."""
        return self not in (Kind.LEAVE_KEY, Kind.DROP)


@dataclass(frozen=True, order=True)
class Change:
    """One change to one parameter of one kernel."""

    kernel: Key
    parameter: str
    kind: Kind
    annotation: str | None = None
    """The type that ANNOTATE writes, such as ``i32``."""
    unread: bool = False
    """Nothing in the kernel reads the parameter: its opt-out cannot change the code."""
    otherwise: Change | None = None
    """What to do instead where the source does not allow it."""


class CannotEdit(Exception):
    """The source is written in a way that this change cannot be made safely; the message says why, for the user."""
