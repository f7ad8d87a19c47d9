"""The kernel that the benchmarks launch: as little work as a kernel can do."""

import triton
import triton.language as tl


@triton.jit
def kernel(n, WIDTH: tl.constexpr = 1):
    """Print nothing unless `n` is negative."""
    if n < 0:
        tl.device_print("n", n + WIDTH)
