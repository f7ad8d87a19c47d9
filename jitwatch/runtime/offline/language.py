"""``triton.language`` in its two forms: the one the compiler reads, and the one the interpreter runs.

Triton's interpreter works by replacing the members of ``triton.language`` with functions that compute on numpy.
Here both forms live in one process: the interpreted one is put in place for the length of a launch only, and
no kernel is read by the compiler meanwhile.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Callable, Iterator, Tuple

from .patches import Patches

lock = threading.RLock()
"""Held while the language is in its interpreted form, and while the compiler reads a kernel's source. The
interpreter keeps the current program id in one global object, so launches run one at a time as well."""

_in_place: InterpretedLanguage | None = None
"""The language that is interpreted at this moment, if one is."""

_Swap = Tuple[Any, str, Any, Any]
_ABSENT = object()


class InterpretedLanguage:
    """What differs between the two forms, found once by letting Triton patch and comparing."""

    def __init__(self, interpreter: Any) -> None:
        import triton.language as tl

        self.interpreter = interpreter
        self._tl = tl
        with lock:
            self._swaps = self._find_swaps() + self._find_method_swaps()
        self._mend_index()
        self._by_identity = {id(old): new for _, _, old, new in self._swaps if callable(old)}

    def _find_swaps(self) -> list[_Swap]:
        tl = self._tl
        owners = [tl, tl.core, tl.math, tl.tensor, tl.dtype, getattr(tl.core, "tensor_descriptor_base", None)]
        owners = [owner for owner in owners if owner is not None]
        before = [dict(vars(owner)) for owner in owners]
        # Releases up to 3.5 patch for good and return nothing; undo by hand, which is right for all of them.
        for module in (tl, tl.core):  # one at a time: 3.1 insists on that
            self.interpreter._patch_lang(SimpleNamespace(__globals__={"tl": module}))
        swaps = [
            (owner, name, old.get(name, _ABSENT), new)
            for owner, old in zip(owners, before)
            for name, new in list(vars(owner).items())
            if old.get(name, _ABSENT) is not new and name != "__doc__"
        ]
        self._apply(swaps, interpreted=False)
        return swaps

    def _find_method_swaps(self) -> list[_Swap]:
        """``x.sum()``: a JITFunction as a class attribute is called without ``x``, so it needs a wrapper."""
        return [
            (self._tl.tensor, name, member, _as_method(member))
            for name, member in list(vars(self._tl.tensor).items())
            if hasattr(member, "fn") and hasattr(member, "params")
        ]

    def _mend_index(self) -> None:
        """``range(tensor)``: up to 3.6 an array of one element is given to int(), which numpy 2.4 refuses."""
        for position, (owner, name, old, _) in enumerate(self._swaps):
            if owner is self._tl.tensor and name == "__index__":
                self._swaps[position] = (owner, name, old, lambda tensor: int(tensor.handle.data.item()))

    @staticmethod
    def _apply(swaps: list[_Swap], interpreted: bool) -> None:
        for owner, name, old, new in swaps:
            if interpreted:
                setattr(owner, name, new)
            elif old is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, old)

    def also(self, owner: Any, replacements: dict[str, Callable[..., Any]]) -> None:
        """Swap these members of `owner` too."""
        for name, new in replacements.items():
            old = vars(owner).get(name, _ABSENT)
            if old is not _ABSENT:
                self._swaps.append((owner, name, old, new))
                self._by_identity[id(old)] = new

    def replacement(self, value: Any) -> Any:
        """The interpreted form of a member that a kernel's module imported by name; else `value` itself."""
        found = self._by_identity.get(id(value))
        return value if found is None else found

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Interpreted form inside, compiled form again after."""
        global _in_place
        with lock:
            self._apply(self._swaps, interpreted=True)
            _in_place = self
            try:
                yield
            finally:
                _in_place = None
                self._apply(self._swaps, interpreted=False)


def _as_method(function: Any) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    return method


def _start_over_after_fork() -> None:
    """The thread that held the lock, perhaps in the middle of a launch, does not exist in a forked child."""
    global lock, _in_place
    lock = threading.RLock()
    if _in_place is not None:
        _in_place._apply(_in_place._swaps, interpreted=False)
        _in_place = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_over_after_fork)


def guard_compiler(patches: Patches) -> None:
    """Let the compiler read kernels only while the language is in its compiled form."""
    from triton.compiler import compiler

    original = compiler.ASTSource.make_ir

    def make_ir(self: Any, *args: Any, **kwargs: Any) -> Any:
        with lock:
            return original(self, *args, **kwargs)

    patches.set(compiler.ASTSource, "make_ir", make_ir)
