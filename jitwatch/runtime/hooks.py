"""Where this Triton lets itself be watched, found by asking (getattr), never by its version.

A version says little: ROCm and vendor builds ship ``knobs`` without some members, and a monitor that trusted the
number had to be reverted (sglang #33826). The slots for the cache hook, the post-compile hook and the two
listeners each hold one callable, so whoever was there before is kept and called (``Slot``).
"""

from __future__ import annotations

import functools
import json
import sys

from . import journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import Any

    Observer = Callable[..., None]


class Slot:
    """One attribute of Triton that holds at most one hook."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name
        self.ours: Any = None
        self.previous: Any = None
        self.chained = False
        """Somebody took the slot over and calls ours from there."""

    def take(self, observe: Observer, vetoed: Observer | None = None) -> None:
        """Put `observe` in front of what the slot holds. The previous hook keeps its say: its value is returned.

        Without one the answer is None: a truthy one from the cache hook silently drops the launch. When the previous
        hook does that, or raises, `vetoed` is called with what it did.
        """
        self.previous = getattr(self.owner, self.name, None)

        def hook(*args: Any, **kwargs: Any) -> Any:
            self.chained = not self.holds_ours()
            guarded(observe, args, kwargs)
            if self.previous is None:
                return None
            try:
                answer = self.previous(*args, **kwargs)
            except BaseException as error:
                if vetoed is not None:
                    guarded(vetoed, (f"{self.holder_name(self.previous)} raised {type(error).__name__}",), {})
                raise
            if answer and vetoed is not None:
                guarded(vetoed, (f"dropped by the cache hook {self.holder_name(self.previous)}",), {})
            return answer

        self.ours = hook
        # A class attribute that is a plain function would bind to an instance (JITFunction.cache_hook, 3.0 to 3.3).
        setattr(self.owner, self.name, staticmethod(hook) if isinstance(self.owner, type) else hook)

    def release(self) -> None:
        """Put the previous hook back, if ours is still there."""
        if self.ours is not None and self.holds_ours():
            setattr(self.owner, self.name, self.previous)
        self.ours = None

    def holds_ours(self) -> bool:
        """Whether the slot still holds the hook put there; False after somebody assigned over it."""
        return getattr(self.owner, self.name, None) is self.ours

    def holder(self) -> str:
        """Who sits in the slot now, in words."""
        return self.holder_name(getattr(self.owner, self.name, None))

    @staticmethod
    def holder_name(hook: Any) -> str:
        """Name of a hook, for a sentence."""
        if hook is None:
            return "None"
        return f"{getattr(hook, '__module__', '?')}.{getattr(hook, '__qualname__', type(hook).__name__)}"


def guarded(observe: Observer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Call `observe` and keep its errors: an exception in a hook would be an exception in the user's launch."""
    try:
        observe(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  the launch goes on, whatever the recorder meets
        journal.complain(getattr(observe, "__name__", "hook"), error)


class Places:
    """The slots and functions of one Triton, each None where it has none."""

    def __init__(self, triton: ModuleType) -> None:
        self.jit = sys.modules[triton.__name__ + ".runtime.jit"]
        self.compiler = sys.modules.get(triton.__name__ + ".compiler")
        function = self.jit.JITFunction
        runtime, compilation, tuning = (
            _knobs(triton, "runtime"),
            _knobs(triton, "compilation"),
            _knobs(triton, "autotuning"),
        )
        self.miss = _slot(runtime, "jit_cache_hook") or _slot(function, "cache_hook")
        self.post = _slot(runtime, "jit_post_compile_hook") or _slot(function, "compiled_hook")
        self.listener = _slot(compilation, "listener")
        self.tuned = _slot(tuning, "listener")
        self.load_start = _chain(runtime, "kernel_load_start_hook")
        self.load_end = _chain(runtime, "kernel_load_end_hook")

    def slots(self) -> list[Slot]:
        """The slots that were taken."""
        return [
            s
            for s in (self.miss, self.post, self.listener, self.tuned)
            if s is not None and s.ours is not None
        ]

    def probes(self) -> dict[str, bool]:
        """What this Triton can tell (``jitwatch.events.Process``)."""
        return {
            "miss_hook": self.miss is not None,
            "post_hook": self.post is not None,
            "compile_listener": self.listener is not None,
            "tune_listener": self.tuned is not None,
            "load_hooks": self.load_start is not None,
        }


def _knobs(triton: ModuleType, group: str) -> Any:
    return getattr(getattr(triton, "knobs", None), group, None)


def _slot(owner: Any, name: str) -> Slot | None:
    return Slot(owner, name) if owner is not None and hasattr(owner, name) else None


def _chain(owner: Any, name: str) -> Any:
    chain = getattr(owner, name, None)
    return chain if hasattr(chain, "add") else None


def let_hooks_survive_serialization(jit: ModuleType) -> None:
    """Keep a set hook from breaking a launch that works without one.

    Before it calls any hook Triton dumps the specialization as JSON, and a constexpr that is an Enum, a frozenset
    or a plain object raises TypeError there, in all releases from 3.0 to 3.9. The hooks then get ``"{}"``.
    """
    serialize = getattr(jit, "serialize_specialization_data", None)
    if serialize is None or hasattr(serialize, "__wrapped__"):
        return

    @functools.wraps(serialize)
    def serialize_or_not(*args: Any, **kwargs: Any) -> Any:
        try:
            return serialize(*args, **kwargs)
        except TypeError:
            return json.dumps({})

    jit.serialize_specialization_data = serialize_or_not  # type: ignore[attr-defined]
