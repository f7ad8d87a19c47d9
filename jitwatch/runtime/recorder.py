"""The recorder: turns Triton's hook calls into events.

A miss has up to four moments, possibly on three threads: the cache hook (on the launching thread, before the
compile), the compile itself, the compile listener, and the post-compile hook (asynchronous compiles: on whichever
thread asks for the result). ``OpenMisses`` pairs them by the signature object that Triton hands to all four.
"""

from __future__ import annotations

import hashlib
import sys
import time

from . import frames, hooks, values
from .compiles import CompileWatch
from .kernels import KernelBook
from .misses import OpenMisses
from .tuning import TuneWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from .misses import OpenMiss, Sink

QUIET_KNOBS = ("debug", "instrumentation_mode", "fpsan_homomorphic_casts")
"""Launch options that Triton adds by itself: told only when they are on."""


class Recorder:
    """Watches one imported Triton and sends events to `sink`. Attach once a process; `detach` undoes it."""

    def __init__(self, triton: ModuleType, sink: Sink) -> None:
        self.sink = sink
        self.places = hooks.Places(triton)
        self.kernels = KernelBook(sink)
        self.misses = OpenMisses(sink)
        self.compiles = CompileWatch(self.misses, self.places, self.on_outside)
        self.tuning = TuneWatch(self.kernels, triton, self.places.tuned, sink)

    def attach(self) -> None:
        """Take the hooks this Triton has."""
        hooks.let_hooks_survive_serialization(self.places.jit)
        if self.places.miss is not None:
            self.places.miss.take(self.on_miss, vetoed=self.on_veto)
        if self.places.post is not None:
            self.places.post.take(self.on_post)
        self.compiles.attach()
        self.tuning.attach()

    def detach(self) -> None:
        """Give every slot back to whoever had it."""
        for slot in self.places.slots():
            slot.release()
        self.compiles.detach()
        self.tuning.detach()

    # -- the moments of a miss ------------------------------------------------------------------------------------

    def on_miss(self, **call: Any) -> None:
        """Cache hook: a launch, a warm-up or a preload found no variant in memory."""
        info, function = call.get("compile"), getattr(call.get("fn"), "jit_function", None)
        if not isinstance(info, dict) or function is None or call.get("already_compiled"):
            return  # inductor's imitation of this hook (pytorch #161443), no launch behind it
        self._close_unfinished()
        launch = frames.Launch(frames.caller(2))
        if self._already_in_flight(function, call["key"], info.get("device")):
            return
        miss = self.misses.open(function, call["key"], info.get("device"), info.get("signature"))
        via = "warmup" if call.get("is_manual_warmup") and launch.via == "launch" else launch.via
        if via == "tune":
            self.tuning.note_candidate(miss.n)
        self.sink(self._miss_event(miss, info, launch, via))
        miss.started = time.perf_counter()  # our own cost is not the launch's stall

    def on_veto(self, reason: str) -> None:
        """A hook that was there before us stopped the launch whose miss was just told."""
        miss = self.misses.latest
        if miss is not None:
            miss.failed = reason
            self.misses.close(miss)

    def on_post(self, **call: Any) -> None:
        """Post-compile hook: the variant is ready (compiled, or read from disk)."""
        function = getattr(call.get("fn"), "jit_function", None)
        if function is None or call.get("already_compiled"):
            return
        miss = self.misses.find(lambda m: m.function is function and m.key == call["key"])
        if miss is not None:
            self.misses.close(miss)
        elif self.places.miss is not None:
            self.check_hooks()

    def on_outside(self, kernel: str) -> None:
        """A compile without a launch: torch.compile's own kernels, ``triton.compile``; or a lost cache hook."""
        self.check_hooks()
        self.notice("outside", f"{kernel} was compiled outside a launch, which is no cache miss")

    def start_over(self) -> None:
        """In a forked child: its misses are its own, and so is its file."""
        self.misses.start_over()
        self.kernels.forget()

    # -- in detail ------------------------------------------------------------------------------------------------

    def _miss_event(
        self, miss: OpenMiss, info: dict[str, Any], launch: frames.Launch, via: str
    ) -> dict[str, Any]:
        params = miss.function.params
        if launch.specialization is not None:
            arguments = values.arguments(launch.specialization, launch.arguments)
        elif isinstance(info["configs"][0], dict):
            arguments = values.arguments_from_compile(info)
        else:
            arguments = values.arguments_before_3_3(params, info, launch.arguments)
        return {
            "event": "miss",
            "n": miss.n,
            "time": time.time(),
            "thread": miss.thread,
            "kernel": self.kernels.number(miss.function),
            "key": digest(str(miss.key)),
            "device": miss.device,
            "via": via,
            "args": arguments,
            "options": {
                name: values.describe(value)
                for name, value in launch.passed.items()
                if value or name not in QUIET_KNOBS
            },
            "effective": digest(str(sorted(vars(launch.options).items()))) if launch.options else None,
            "site": launch.stack[0] if launch.stack else None,
            "stack": launch.stack,
            "grid": values.grid(launch.grid),
            "capturing": _is_capturing(),
        }

    def _already_in_flight(self, function: Any, key: str, device: Any) -> bool:
        """Whether an asynchronous compile of the same key is under way: 3.5 and 3.6 call the hook for it again."""
        if not self.compiles.is_asynchronous():
            return False
        same = self.misses.find(lambda m: m.function is function and m.key == key and m.device == device)
        return same is not None

    def _close_unfinished(self) -> None:
        """A thread that misses again while its last miss is open had that compile fail: no hook tells so itself."""
        latest = self.misses.latest
        if latest is not None and self.misses.is_open(latest) and not self.compiles.is_asynchronous():
            latest.failed = latest.failed or "did not finish"
            self.misses.close(latest)

    def check_hooks(self) -> None:
        """Say which hooks were replaced since they were set; once each."""
        for slot in self.places.slots():
            if not slot.holds_ours() and not slot.chained:
                holder, slot.ours = slot.holder(), None
                lost = "unless it calls the hook it found, what happened after that is not recorded"
                self.notice("hooks", f"{slot.name} was replaced by {holder}: {lost}")

    def notice(self, topic: str, text: str) -> None:
        """A sentence for the reader of the report."""
        self.sink({"event": "notice", "time": time.time(), "topic": topic, "text": text})


def digest(text: str) -> str:
    """Short form of a cache key, as events carry it."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _is_capturing() -> bool:
    """Whether this thread records a CUDA graph. Never loads torch and never initialises CUDA to find out."""
    cuda = sys.modules.get("torch.cuda")
    try:
        return bool(cuda is not None and cuda.is_initialized() and cuda.is_current_stream_capturing())
    except Exception:  # noqa: BLE001  a torch without CUDA raises its own way
        return False
