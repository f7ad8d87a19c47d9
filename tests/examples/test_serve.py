"""The example server, run without a GPU the way its readers run it: under `jitwatch profile --offline`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")
httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

CHECKOUT = Path(__file__).parents[2]
EXAMPLES = CHECKOUT / "examples"
SERVE = str(EXAMPLES / "serve.py")
PROMPT = "a prompt of no round length"


@dataclass(frozen=True)
class Offline:
    """Starts commands offline; the tests of this file share one cache of compiled kernels."""

    cache: Path

    def start(self, run: Path, *command: str) -> subprocess.Popen[str]:
        profile = [sys.executable, "-m", "jitwatch", "profile", "--offline=cuda:90", "--out", str(run), "--"]
        return subprocess.Popen(
            [*profile, sys.executable, *command],
            env=os.environ | {"TRITON_CACHE_DIR": str(self.cache), "PYTHONPATH": f"{CHECKOUT}:{EXAMPLES}"},
            # Not the checkout: an example must run from anywhere.
            cwd=self.cache,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, run: Path, *command: str) -> tuple[int, str]:
        process = self.start(run, *command)
        out, err = process.communicate(timeout=120)
        return process.returncode, out + err


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> Offline:
    return Offline(tmp_path_factory.mktemp("cache"))


@dataclass(frozen=True)
class Server:
    """A running example server."""

    process: subprocess.Popen[str]
    url: str

    def post(self, **body: Any) -> Any:
        return httpx.post(f"{self.url}/generate", json=body, timeout=60, trust_env=False)

    def tokens(self, prompt: str, max_tokens: int = 8) -> list[int]:
        response = self.post(prompt=prompt, max_tokens=max_tokens)
        assert response.status_code == 200, response.text
        tokens: list[int] = response.json()["tokens"]
        return tokens

    def stats(self) -> dict[str, int]:
        stats: dict[str, int] = httpx.get(f"{self.url}/stats", trust_env=False).json()
        return stats


@pytest.fixture(scope="module")
def server(offline: Offline, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    process = offline.start(tmp_path_factory.mktemp("run") / "served", SERVE, "--port", "0")
    assert process.stdout is not None
    first = next((line for line in process.stdout if line.startswith("serving on ")), None)
    assert first, process.communicate()[1]
    yield Server(process, first.split()[-1])
    process.terminate()
    process.communicate(timeout=60)


def test_without_a_gpu_it_names_the_command_that_works() -> None:
    answer = subprocess.run(
        [sys.executable, SERVE], env=os.environ | {"CUDA_VISIBLE_DEVICES": ""}, capture_output=True, text=True
    )
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
    assert "jitwatch profile --offline python examples/serve.py" in answer.stderr


def test_the_self_check_fails_when_a_kernel_is_wrong(offline: Offline, tmp_path: Path) -> None:
    wrong = (
        "import sys, serve; from tiny_decoder import kernels; right = kernels.silu_mul;"
        "kernels.silu_mul = lambda x: right(x) * 1.001;"
        "sys.exit(serve.main(['--self-check']))"
    )
    code, text = offline.run(tmp_path / "run", "-c", wrong)
    assert code == 1, text
    assert "WRONG  silu_mul" in text
    assert "ok     rms_norm" in text


def test_every_kernel_computes_what_torch_computes(offline: Offline, tmp_path: Path) -> None:
    code, text = offline.run(tmp_path / "run", SERVE, "--self-check")
    assert code == 0, text
    assert text.count("ok     ") == 7
    assert "WRONG" not in text


def test_the_demo_makes_the_mistakes_its_kernels_announce(offline: Offline, tmp_path: Path) -> None:
    counted = tmp_path / "misses.json"
    code, text = offline.run(
        tmp_path / "run", SERVE, "--demo", "--requests", "10", "--count-misses", str(counted)
    )
    assert code == 0, text
    assert "10 requests of " in text
    misses = json.loads(counted.read_text())
    assert misses["rms_norm_kernel"] == misses["silu_mul_kernel"] == 1
    assert misses["prompt_attention_kernel"] == 1
    assert misses["rotary_cache_kernel"] in (2, 3)
    assert misses["cache_attention_kernel"] == 2
    assert misses["embed_kernel"] >= 10
    kernels, launches = recorded_misses(tmp_path / "run")
    assert kernels == misses
    # The counting hook chains to the recorder's, and must not pass for the launch.
    assert launches == {"kernels.py"}
    # No two of the ten prompts are equally long.
    assert len(events_of(tmp_path / "run", "tune")) == 10


CURES = {
    "out, num_tokens: tl.constexpr": "out, num_tokens",
    "@triton.jit\ndef embed_kernel": '@triton.jit(do_not_specialize=["num_tokens"])\ndef embed_kernel',
    "@triton.jit\ndef rotary_cache": '@triton.jit(do_not_specialize=["num_tokens"])\ndef rotary_cache',
    "@triton.jit\ndef cache_attent": '@triton.jit(do_not_specialize=["table_stride"])\ndef cache_attent',
    'key=["prompt_len"]': "key=[]",
}
"""The last column of the table in examples/README.md."""


def test_the_cures_in_the_readme_leave_one_variant_and_one_tuning(offline: Offline, tmp_path: Path) -> None:
    cured = tmp_path / "examples"
    shutil.copytree(EXAMPLES, cured)
    kernels = cured / "tiny_decoder" / "kernels.py"
    source = kernels.read_text()
    for mistake, cure in CURES.items():
        assert source.count(mistake) == 1
        source = source.replace(mistake, cure)
    kernels.write_text(source)
    # Its own modules, not the checkout's: the script's folder comes first on sys.path.
    serve = str(cured / "serve.py")
    code, text = offline.run(tmp_path / "checked", serve, "--self-check")
    assert code == 0, text
    code, text = offline.run(tmp_path / "run", serve, "--demo", "--requests", "10")
    assert code == 0, text
    kernels_missed, _ = recorded_misses(tmp_path / "run")
    assert set(kernels_missed.values()) == {1}
    assert len(kernels_missed) == 6
    assert len(events_of(tmp_path / "run", "tune")) == 1


def events_of(run: Path, kind: str) -> list[dict[str, Any]]:
    """Events of a kind in a run's event files."""
    lines = [line for file in (run / "events").glob("*.jsonl") for line in file.read_text().splitlines()]
    return [event for event in map(json.loads, lines) if event["event"] == kind]


def recorded_misses(run: Path) -> tuple[Counter[str], set[str]]:
    """Misses by kernel in the event files of a run, and the files that launched them."""
    names = {event["id"]: event["name"] for event in events_of(run, "kernel")}
    misses = events_of(run, "miss")
    return Counter(names[miss["kernel"]] for miss in misses), {Path(miss["site"][0]).name for miss in misses}


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"prompt": ""}, "at least one byte"),
        ({"prompt": 3}, "string"),
        ({"prompt": "x", "max_tokens": 0}, "1 or more"),
        ({"prompt": "x", "max_tokens": "many"}, "integer"),
        ({"prompt": "x" * 300}, "exceed the context of 256"),
        ([], "JSON object"),
    ],
)
def test_a_bad_request_is_refused_in_words(server: Server, body: object, complaint: str) -> None:
    response = httpx.post(f"{server.url}/generate", json=body, trust_env=False)
    assert response.status_code == 400
    assert complaint in response.json()["error"]


def test_an_answer_does_not_depend_on_who_shares_the_batch(server: Server) -> None:
    alone = server.tokens(PROMPT)
    others = ["x" * length for length in (3, 16, 90, 41)]
    with ThreadPoolExecutor(5) as users:
        crowd = [users.submit(server.tokens, text, 12) for text in others[:2]]
        shared = users.submit(server.tokens, PROMPT)
        crowd += [users.submit(server.tokens, text, 3) for text in others[2:]]
        assert shared.result() == alone
        assert len({tuple(other.result()[:3]) for other in crowd}) > 1
    assert server.stats()["largest_batch"] >= 3


def test_a_stream_carries_the_same_tokens_as_the_whole_answer(server: Server) -> None:
    text = server.post(prompt=PROMPT, max_tokens=5, stream=True).text
    events = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line]
    assert [event["token"] for event in events[:-1]] == events[-1]["tokens"] == server.tokens(PROMPT, 5)


def test_a_client_that_hangs_up_gives_its_place_back(server: Server) -> None:
    free = server.stats()["free_pages"]
    body = {"prompt": PROMPT, "max_tokens": 200, "stream": True}
    for _ in range(5):  # on a busy machine an answer can be over before the next request is looked at
        with httpx.stream("POST", f"{server.url}/generate", json=body, trust_env=False) as response:
            next(response.iter_lines())
            if server.stats()["free_pages"] < free:
                break
    else:
        pytest.fail("no answer held its pages while it was given")
    tokens_before = server.stats()["generated_tokens"]
    while server.stats()["running"]:
        pass
    assert server.stats()["free_pages"] == free
    assert server.stats()["generated_tokens"] - tokens_before < 100


def test_sigterm_finishes_the_answers_under_way_and_exits_with_0(offline: Offline, tmp_path: Path) -> None:
    counted = tmp_path / "misses.json"
    process = offline.start(tmp_path / "run", SERVE, "--port", "0", "--count-misses", str(counted))
    assert process.stdout is not None
    url = next(line for line in process.stdout if line.startswith("serving on ")).split()[-1]
    body = {"prompt": PROMPT, "max_tokens": 6, "stream": True}
    with httpx.stream("POST", f"{url}/generate", json=body, timeout=60, trust_env=False) as response:
        lines = response.iter_lines()
        first = next(lines)
        process.send_signal(signal.SIGTERM)
        rest = [line for line in lines if line]
    process.communicate(timeout=60)
    assert "token" in json.loads(first.removeprefix("data: "))
    assert len(json.loads(rest[-1].removeprefix("data: "))["tokens"]) == 6
    assert process.returncode == 0
    assert json.loads(counted.read_text())["rms_norm_kernel"] == 1
