"""Sends prompts of many lengths to serve.py, several at a time, and prints one line of latencies.

python examples/client.py http://127.0.0.1:8000 --requests 24
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx


@dataclass(frozen=True)
class Question:
    """One request."""

    prompt: str
    max_tokens: int


@dataclass(frozen=True)
class Latency:
    """What one user waited, in seconds."""

    first_token: float
    whole_answer: float


def questions(count: int, seed: int) -> list[Question]:
    """Draw requests of the lengths that traffic has: mostly short, some long, hardly any round."""
    draw = random.Random(seed)
    lengths = [min(220, max(1, round(draw.lognormvariate(3.6, 0.9)))) for _ in range(count)]
    return [Question("".join(draw.choices("abcdefgh ", k=n)), draw.randint(2, 16)) for n in lengths]


async def ask(client: httpx.AsyncClient, question: Question) -> Latency:
    """Stream one answer. Raises httpx.HTTPError or RuntimeError when it does not come whole."""
    start, first, last = time.perf_counter(), None, {}
    body = {"prompt": question.prompt, "max_tokens": question.max_tokens, "stream": True}
    async with client.stream("POST", "/generate", json=body) as response:
        if response.is_error:
            raise RuntimeError(f"HTTP {response.status_code}: {(await response.aread()).decode()}")
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                first = first or time.perf_counter() - start
                last = json.loads(line.removeprefix("data: "))
    if first is None or len(last.get("tokens", ())) != question.max_tokens:
        raise RuntimeError(f"{last.get('error', 'the answer was cut short')}")
    return Latency(first, time.perf_counter() - start)


async def ask_all(url: str, asked: Sequence[Question], concurrency: int) -> list[Latency]:
    """Ask every question, at most ``concurrency`` at a time."""
    places = asyncio.Semaphore(concurrency)
    # No timeout: a user's wait behind a compile is what is to be seen.
    async with httpx.AsyncClient(base_url=url, timeout=None, trust_env=False) as client:

        async def one(question: Question) -> Latency:
            async with places:
                return await ask(client, question)

        results = await asyncio.gather(*map(one, asked), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if isinstance(result, Latency)]


def summary(asked: Sequence[Question], latencies: Sequence[Latency], seconds: float) -> str:
    """One line for people."""
    first = [latency.first_token * 1000 for latency in latencies]
    whole = [latency.whole_answer * 1000 for latency in latencies]
    lengths = sorted(len(question.prompt) for question in asked)
    return (
        f"{len(asked)} requests of {lengths[0]} to {lengths[-1]} bytes in {seconds:.1f} s: "
        f"first token median {statistics.median(first):.0f} ms, worst {max(first):.0f} ms; "
        f"whole answer median {statistics.median(whole):.0f} ms, worst {max(whole):.0f} ms"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    parser = argparse.ArgumentParser(description="Send prompts of many lengths to serve.py.")
    parser.add_argument("url")
    parser.add_argument("--requests", type=int, default=24)
    parser.add_argument("--concurrency", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    asked = questions(args.requests, args.seed)
    start = time.perf_counter()
    try:
        latencies = asyncio.run(ask_all(args.url, asked, args.concurrency))
    except (httpx.HTTPError, RuntimeError) as error:
        print(f"client.py: {args.url}: {error or type(error).__name__}", file=sys.stderr)
        return 1
    print(summary(asked, latencies, time.perf_counter() - start), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
