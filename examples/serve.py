"""A small inference server whose Triton kernels make the classic recompile mistakes.

    jitwatch profile python examples/serve.py --demo             on a GPU
    jitwatch profile --offline python examples/serve.py --demo   on a laptop without one

``POST /generate {"prompt": "...", "max_tokens": 16, "stream": true}``, ``GET /health``, ``GET /stats``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import torch
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from tiny_decoder.batching import Engine, EngineStoppedError, Generation
from tiny_decoder.count import counted_misses
from tiny_decoder.model import Decoder
from tiny_decoder.self_check import self_check

WARMUP_LENGTHS = (1, 16, 64)
"""What `--warmup` serves first: round numbers, as in most warm-ups. The traffic is not round."""


class Api:
    """The HTTP side of an engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def application(self) -> Starlette:
        """The routes."""
        routes = [
            Route("/generate", self.generate, methods=["POST"]),
            Route("/health", self.health),
            Route("/stats", self.stats),
        ]
        return Starlette(routes=routes)

    async def generate(self, request: Request) -> Response:
        """Answer a prompt: as one JSON object, or token by token as server-sent events."""
        tokens: asyncio.Queue[int | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def deliver(token: int | None) -> None:
            loop.call_soon_threadsafe(tokens.put_nowait, token)

        try:
            prompt, max_tokens, stream = _read_body(await request.body())
            generation = self.engine.submit(prompt, max_tokens, deliver)
        except ValueError as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        except EngineStoppedError as error:
            return JSONResponse({"error": str(error)}, status_code=503)
        if stream:
            return StreamingResponse(_events(generation, tokens), media_type="text/event-stream")
        async for _ in _each(generation, tokens):
            pass
        return JSONResponse(_answer(generation), status_code=503 if generation.error else 200)

    async def health(self, _: Request) -> Response:
        """200 while requests are served."""
        return JSONResponse({"alive": self.engine.alive}, status_code=200 if self.engine.alive else 503)

    async def stats(self, _: Request) -> Response:
        """Counters and load of the engine."""
        return JSONResponse(self.engine.stats())


def _read_body(body: bytes) -> tuple[list[int], int, bool]:
    """Prompt, max_tokens and stream of a request. Raises ValueError, in words for its sender."""
    try:
        fields = json.loads(body)
    except ValueError as error:
        raise ValueError(f"the body is not JSON: {error}") from error
    if not isinstance(fields, dict) or not isinstance(fields.get("prompt"), str):
        raise ValueError('the body must be a JSON object with a string "prompt"')
    max_tokens = fields.get("max_tokens", 16)
    if not isinstance(max_tokens, int):
        raise ValueError(f"max_tokens: {max_tokens!r}; it must be an integer")
    return list(fields["prompt"].encode()), max_tokens, bool(fields.get("stream", False))


async def _each(generation: Generation, tokens: asyncio.Queue[int | None]) -> AsyncIterator[int]:
    try:
        while (token := await tokens.get()) is not None:
            yield token
    finally:
        # The client may have hung up: its place in the batch goes to somebody else.
        generation.cancelled = True


async def _events(generation: Generation, tokens: asyncio.Queue[int | None]) -> AsyncIterator[str]:
    async for token in _each(generation, tokens):
        yield f"data: {json.dumps({'token': token})}\n\n"
    yield f"data: {json.dumps(_answer(generation))}\n\n"


def _answer(generation: Generation) -> dict[str, object]:
    if generation.error:
        return {"error": generation.error}
    return {"text": bytes(generation.tokens).decode("latin-1"), "tokens": generation.tokens}


async def serve(engine: Engine, listener: socket.socket, demo_requests: int | None) -> int:
    """Serve until SIGINT, SIGTERM or a failing kernel, or one run of the client; returns the exit code."""
    host, port = listener.getsockname()
    url = f"http://{host}:{port}"
    config = uvicorn.Config(Api(engine).application(), log_level="warning", timeout_graceful_shutdown=20)
    server = uvicorn.Server(config)

    def leave() -> None:
        server.should_exit = True

    engine.start(on_failure=leave)
    print(f"serving on {url}", flush=True)
    serving = asyncio.create_task(server.serve([listener]))
    code = 0
    if demo_requests is not None:
        client = await asyncio.create_subprocess_exec(
            sys.executable, str(Path(__file__).with_name("client.py")), url, "--requests", str(demo_requests)
        )
        code = await client.wait()
        leave()
    await serving
    await asyncio.to_thread(engine.stop)
    return 1 if engine.failed else code


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="A small inference server with recompiling Triton kernels.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: 8000)")
    parser.add_argument(
        "--warmup", action="store_true", help="serve prompts of a few lengths before the first"
    )
    parser.add_argument("--demo", action="store_true", help="serve one run of client.py, then stop")
    parser.add_argument("--requests", type=int, default=24, help="of the demo (default: 24)")
    parser.add_argument(
        "--self-check", action="store_true", help="compare every kernel with torch, then stop"
    )
    parser.add_argument(
        "--count-misses", type=Path, metavar="FILE", help="write cache misses by kernel as JSON"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    args = parse_arguments(argv)
    if not torch.cuda.is_available():
        print(
            "serve.py: no CUDA device; without one run "
            "`jitwatch profile --offline python examples/serve.py --demo`",
            file=sys.stderr,
        )
        return 2
    with counted_misses(args.count_misses):
        decoder = Decoder(torch.device("cuda"))
        if args.self_check:
            return 0 if self_check(decoder) else 1
        try:
            listener = socket.create_server((args.host, 0 if args.demo else args.port))
        except OSError as error:
            print(f"serve.py: {error.strerror}; try --port 0", file=sys.stderr)
            return 2
        engine = Engine(decoder)
        if args.warmup:
            engine.warm_up(WARMUP_LENGTHS)
        # uvicorn raises the signal that stopped it once more when it is done; by then it has been obeyed.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        return asyncio.run(serve(engine, listener, args.requests if args.demo else None))


if __name__ == "__main__":
    sys.exit(main())
