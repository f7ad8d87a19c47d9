"""Made runs that look like real ones: a server with every trouble, a quiet program, four ranks."""

from __future__ import annotations

from pathlib import Path

from jitwatch.specialization import Parameter
from tests.made_runs import START, MadeKernel, MadeProcess, MadeRun, tensor
from tests.sweep import align, first_of_each_class

ROPE = "/srv/app/kernels/rope.py"


def serving(path: Path) -> Path:
    """An inference server: a token count, a constexpr length, an unaligned slice, an autotuner, a failure."""
    unobserved = [{"pid": 4311, "argv": ["python", "-S", "helper.py"], "reason": "started with -S"}]
    run = MadeRun(path, unobserved=unobserved)
    server = run.process()
    server.write(
        {"event": "notice", "time": START, "topic": "hooks", "text": "another tool took the post hook"}
    )
    rope(server)
    attention(server)
    gather(server)
    matmul(server)
    broken = server.kernel("_broken_kernel", "x", path="/srv/app/kernels/broken.py")
    broken.launch(tensor(), site=90, seconds=0.05, failed="CompilationError: at 4:12: x is not defined")
    return path


def rope(process: MadeProcess) -> MadeKernel:
    """The sweep of a token count and a stride derived from it."""
    kernel = process.kernel(
        "_fused_rope_quant_per_head",
        "x",
        "num_tokens",
        "scale_stride_k",
        Parameter("BLOCK", constexpr=True),
        path=ROPE,
        line=31,
    )
    for tokens in first_of_each_class():
        seconds = 1.45 if tokens == 1 else 0.24
        kernel.launch(tensor(), tokens, align(tokens, 4), 128, site=41, seconds=seconds, load=0.01)
    return kernel


def attention(process: MadeProcess) -> None:
    """A context length passed as a constexpr: one compile for every value."""
    kernel = process.kernel(
        "_paged_attention_fwd",
        "q",
        Parameter("context_len", constexpr=True),
        Parameter("BLOCK_M", constexpr=True),
        path="/srv/app/kernels/attention.py",
        line=88,
    )
    for length in range(100, 121):
        kernel.launch(tensor(), length, 64 if length < 118 else 128, site=57, seconds=0.38)


def gather(process: MadeProcess) -> None:
    """A slice that starts off a 16-byte boundary, a bias that is sometimes None, one read from disk."""
    kernel = process.kernel("_gather_rows", "src", "bias", "n_cols", path="/srv/app/kernels/gather.py")
    kernel.launch(tensor(), tensor(), 4096, site=71, seconds=0.11)
    kernel.launch(tensor(8), tensor(), 4096, site=71, seconds=0.12)
    kernel.launch(tensor(), None, 4096, site=74, seconds=0.003, cached=True)
    kernel.launch(tensor(), tensor(), 4096, site=71, seconds=0.002, cached=True, device=1)


def matmul(process: MadeProcess) -> None:
    """Tuned again at every M; launches with the winner miss nothing."""
    kernel = process.kernel(
        "_matmul", "a", "b", "M", Parameter("BLOCK", constexpr=True), path="/srv/app/mm.py"
    )
    for m in (48, 49, 50, 51, 52):
        misses = [
            kernel.launch(tensor(), tensor(), m, block, via="tune", seconds=0.09) for block in (32, 64, 128)
        ]
        kernel.tune({"M": m}, 1.3, candidates=3, losers=0.9, best="BLOCK: 64", misses=misses, cached=False)


def quiet(path: Path) -> Path:
    """A program that compiles once and stays."""
    kernel = MadeRun(path, command=["python", "train.py"]).process().kernel("_layer_norm", "x", "n_cols")
    kernel.launch(tensor(), 4096, seconds=0.4)
    return path


def ranks(path: Path) -> Path:
    """Four ranks that recompile together."""
    run = MadeRun(path, command=["torchrun", "--nproc-per-node", "4", "train.py"])
    for rank in range(4):
        rope(run.process(pid=100 + rank, rank=rank))
    return path
