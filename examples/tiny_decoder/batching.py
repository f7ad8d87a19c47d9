"""Continuous batching: requests join and leave the running batch between any two decode steps.

One thread owns the decoder and the cache. Each turn of its loop reads the prompts of the requests that fit,
then advances all running ones by a token. A request reserves its pages up front, so that it is never evicted.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tiny_decoder.model import Decoder, Row

Deliver = Callable[["int | None"], None]
"""Called on the engine's thread with each token, then once with None."""


class EngineStoppedError(Exception):
    """The engine takes no more requests."""


@dataclass(eq=False)
class Generation:
    """A request in the engine."""

    prompt: Sequence[int]
    max_tokens: int
    deliver: Deliver
    tokens: list[int] = field(default_factory=list)
    pages: list[int] = field(default_factory=list)
    error: str | None = None
    """Why it ended early."""
    cancelled: bool = False
    """Set by the caller, from any thread, when nobody waits for the rest."""

    @property
    def ended(self) -> bool:
        """Whether it leaves the batch now."""
        return self.cancelled or len(self.tokens) >= self.max_tokens


@dataclass
class Counters:
    """What the engine did so far."""

    requests: int = 0
    prompt_tokens: int = 0
    generated_tokens: int = 0
    decode_steps: int = 0
    largest_batch: int = 0


class Engine:
    """Runs a decoder for many requests at once."""

    def __init__(self, decoder: Decoder, max_running: int = 8) -> None:
        self.decoder = decoder
        self.max_running = max_running
        self.counters = Counters()
        self._waiting: deque[Generation] = deque()
        self._running: list[Generation] = []
        self._free_pages = list(range(decoder.shape.pages))
        self._wake = threading.Condition()
        self._stopping = False
        self.failed = False
        """Whether an exception ended the thread; its traceback is on stderr."""

    def start(self, on_failure: Callable[[], None]) -> None:
        """Start the engine's thread, which calls ``on_failure`` when an exception ends it."""
        self._thread = threading.Thread(target=self._run, args=(on_failure,), name="engine")
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its current turn; requests that are left end with an error."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether requests are being served."""
        return not self._stopping

    def submit(self, prompt: Sequence[int], max_tokens: int, deliver: Deliver) -> Generation:
        """Queue a request. Raises ValueError when it can never fit, EngineStoppedError when too late."""
        context = self.decoder.shape.context
        if not prompt:
            raise ValueError("prompt: empty; it needs at least one byte")
        if max_tokens < 1:
            raise ValueError(f"max_tokens: {max_tokens}; it must be 1 or more")
        if len(prompt) + max_tokens > context:
            total = f"{len(prompt)} prompt bytes + {max_tokens} max_tokens"
            raise ValueError(f"prompt: {total} exceed the context of {context}")
        generation = Generation(prompt, max_tokens, deliver)
        with self._wake:
            if self._stopping:
                raise EngineStoppedError("the server is stopping")
            self._waiting.append(generation)
            self._wake.notify()
        return generation

    def stats(self) -> dict[str, int]:
        """Counters and the present load."""
        load = {
            "running": len(self._running),
            "waiting": len(self._waiting),
            "free_pages": len(self._free_pages),
        }
        return vars(self.counters) | load

    def warm_up(self, lengths: Sequence[int]) -> None:
        """Serve a prompt of each length, alone, as servers do before the first request. Call before start."""
        for length in lengths:
            self._waiting.append(Generation([0] * length, 2, lambda _: None))
            while self._waiting or self._running:
                self._turn()
        self.counters = Counters()

    def _run(self, on_failure: Callable[[], None]) -> None:
        try:
            while self._wait():
                self._turn()
        except BaseException:
            self.failed = True
            on_failure()
            raise
        finally:
            # Also after a failure: nobody is left waiting for a token that never comes.
            with self._wake:
                self._stopping = True
                left = [*self._running, *self._waiting]
            for generation in left:
                generation.error = "the server stopped before the answer was complete"
                generation.deliver(None)

    def _wait(self) -> bool:
        with self._wake:
            self._wake.wait_for(lambda: self._stopping or self._waiting or self._running)
            return not self._stopping

    def _turn(self) -> None:
        while (admitted := self._admit()) is not None:
            self._append(admitted, self.decoder.prefill(admitted.prompt, admitted.pages))
        self._retire()
        if self._running:
            rows = [Row(g.tokens[-1], len(g.prompt) + len(g.tokens) - 1, g.pages) for g in self._running]
            for generation, token in zip(self._running, self.decoder.decode(rows), strict=True):
                self._append(generation, token)
            self.counters.decode_steps += 1
            self.counters.largest_batch = max(self.counters.largest_batch, len(rows))
            self._retire()

    def _admit(self) -> Generation | None:
        with self._wake:
            if not self._waiting or len(self._running) >= self.max_running:
                return None
            first = self._waiting[0]
            needed = -(-(len(first.prompt) + first.max_tokens) // self.decoder.shape.page)
            if needed > len(self._free_pages):
                return None
            self._running.append(self._waiting.popleft())
        first.pages = [self._free_pages.pop() for _ in range(needed)]
        self.counters.requests += 1
        self.counters.prompt_tokens += len(first.prompt)
        return first

    def _append(self, generation: Generation, token: int) -> None:
        generation.tokens.append(token)
        self.counters.generated_tokens += 1
        generation.deliver(token)

    def _retire(self) -> None:
        for generation in [g for g in self._running if g.ended]:
            self._running.remove(generation)
            self._free_pages += generation.pages
            generation.deliver(None)
