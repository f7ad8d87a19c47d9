"""Interpreted launches give what torch gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.offline import device_code

pytestmark = pytest.mark.usefixtures("said")


def on_gpu(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Random values on the stand-in device."""
    return torch.randn(*shape, device="cuda").to(dtype)


@pytest.mark.parametrize("n", [1, 17, 64, 200])
def test_masked_addition_writes_its_elements_and_no_others(n: int) -> None:
    x, y = on_gpu(256), on_gpu(256)
    out = torch.full_like(x, 7.0)
    device_code.add[lambda meta: (-(-n // meta["BLOCK"]),)](x, y, out, n=n, BLOCK=64)
    torch.testing.assert_close(out[:n], (x + y)[:n])
    assert (out[n:] == 7.0).all()


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float16, 1e-2), (torch.bfloat16, 8e-2)], ids=str
)
def test_matmul_with_ragged_edges(dtype: torch.dtype, tolerance: float) -> None:
    a, b = on_gpu(40, 72, dtype=dtype), on_gpu(72, 33, dtype=dtype)
    c = torch.empty(40, 33, device="cuda", dtype=dtype)
    device_code.matmul[(2, 2)](a, b, c, 40, 33, 72, a.stride(0), b.stride(0), c.stride(0), TILE=32)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=tolerance, rtol=tolerance)


def test_heuristics_see_the_arguments() -> None:
    x = on_gpu(5, 37)
    out = torch.empty_like(x)
    device_code.softmax[(5,)](x, out, 37, x.stride(0))
    torch.testing.assert_close(out, x.softmax(-1))


def test_helpers_and_constexpr_globals() -> None:
    x = on_gpu(64)
    out = torch.empty_like(x)
    device_code.nested[(1,)](x, out)
    torch.testing.assert_close(out, x * x * 64)


def test_a_function_as_an_argument() -> None:
    x = on_gpu(64)
    out = torch.empty_like(x)
    try:
        device_code.call_argument[(1,)](x, out, FUNCTION=device_code.product, BLOCK=64)
    except TypeError as error:  # what releases up to 3.2 answer, on a GPU too
        assert "Callable constexpr" in str(error)  # noqa: PT017
        return
    torch.testing.assert_close(out, x * x)


@pytest.mark.parametrize("flag", [False, True])
def test_control_flow_in_the_kernel_follows_its_arguments(flag: bool) -> None:
    x = on_gpu(64)
    out = torch.empty_like(x)
    device_code.control_flow[(1,)](x, out, 5, flag, 0.5, BLOCK=64)
    torch.testing.assert_close(out, (x * 3 - 1.0 + 3) * (0.5 if flag else 1.0))


def test_control_flow_in_the_program_follows_the_results() -> None:
    x = torch.ones(64, device="cuda")
    rounds = 0
    while x.sum().item() < 1000:
        device_code.add[(1,)](x, x, x, 64, BLOCK=64)
        rounds += 1
    assert (rounds, x[0].item()) == (4, 16.0)


def test_bf16_arithmetic_rounds_as_a_gpu_does() -> None:
    x, y = on_gpu(64, dtype=torch.bfloat16), on_gpu(64, dtype=torch.bfloat16)
    out = torch.empty_like(x)
    device_code.bf16_arithmetic[(1,)](x, y, out, BLOCK=64)
    value = x * y + 1.0
    expected = (
        torch.maximum(torch.where(value > 0, value, -value), x) + torch.arange(64, device="cuda").bfloat16()
    )
    assert torch.equal(out, expected)


FORMATS = [torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2]


@pytest.mark.parametrize("source", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("target", FORMATS, ids=str)
def test_conversions_are_exact_for_every_kind_of_number(source: torch.dtype, target: torch.dtype) -> None:
    if source == target:
        return
    special = [0.0, -0.0, 1e-3, 2**-9, 2**-10, 1.5 * 2**-10, 447.0, 448.0, 465.0, 1e6, float("nan")]
    powers = 2.0 ** torch.arange(-30, 30)
    x = torch.cat([torch.randn(800), torch.tensor(special), powers, -1.0625 * powers]).to(source).cuda()
    out = torch.empty(x.shape, device="cuda", dtype=target)
    device_code.convert[(1,)](x, out, x.numel(), BLOCK=1024)
    limit = torch.finfo(target).max if target.itemsize == 1 else float("inf")  # fp8 saturates on a GPU
    expected = x.float().clamp(-limit, limit).to(target)
    assert torch.equal(out.float().nan_to_num(nan=-1), expected.float().nan_to_num(nan=-1))


def test_all_codes_of_fp8_are_read_right() -> None:
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        x = torch.arange(256, dtype=torch.uint8).view(dtype).cuda()
        out = torch.empty(256, device="cuda")
        device_code.convert[(1,)](x, out, 256, BLOCK=256)
        assert torch.equal(out.nan_to_num(nan=-1), x.float().nan_to_num(nan=-1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_sum_is_of_numbers_and_not_of_their_bits(dtype: torch.dtype) -> None:
    x = torch.randn(4, 32, device="cuda", dtype=dtype)
    out = torch.empty(4, device="cuda", dtype=dtype)
    device_code.total[(1,)](x, out, 4, 32)
    torch.testing.assert_close(out.float(), x.float().sum(1), atol=0.05, rtol=0.02)


def test_atomics_add_every_lane_of_an_address() -> None:
    x = on_gpu(64)
    out = torch.zeros(4, device="cuda")
    device_code.scatter[(1,)](x, out, BLOCK=64)
    torch.testing.assert_close(out, x.view(16, 4).sum(0))


def test_libdevice_has_numpy_bodies() -> None:
    x = on_gpu(64)
    out = torch.empty_like(x)
    device_code.library[(1,)](x, out, BLOCK=64)
    torch.testing.assert_close(out, x.tanh() + x.exp() + x.sigmoid())


def test_views_and_strides_are_read_in_place() -> None:
    rows = torch.zeros(8, 64, device="cuda")
    x = on_gpu(64)
    device_code.add[(1,)](x, x, rows[3], 64, BLOCK=64)
    torch.testing.assert_close(rows[3], x + x)
    assert rows.sum() == rows[3].sum()


def test_a_descriptor_made_on_the_host() -> None:
    import triton.language as tl

    if not hasattr(tl, "make_tensor_descriptor"):
        return
    from triton.tools.tensor_descriptor import TensorDescriptor

    from tests.offline.descriptor_code import double

    x = on_gpu(16, 16)
    out = torch.empty_like(x)
    describe: Callable[[torch.Tensor], object] = lambda t: TensorDescriptor(t, t.shape, t.stride(), [16, 16])  # noqa: E731
    double[(1,)](describe(x), describe(out))
    torch.testing.assert_close(out, x * 2)
