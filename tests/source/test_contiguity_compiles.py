"""The analysis of contiguity against the compiler: what it calls costly changes the width, the free does not."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from jitwatch.source import analyse_module, link
from jitwatch.source.model import Contiguity

triton = pytest.importorskip("triton")
KERNELS = Path(__file__).with_name("width_code.py")


def widths(kernel: object, *, divisible: bool) -> Counter[str]:
    """Compile for an H100 or H200 and count the loads and stores by width."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {"x": "*bf16", "out": "*bf16", "n": "i32", "BLOCK": "constexpr"}
    aligned = (0, 1, 2) if divisible else (0, 1)
    source = ASTSource(
        kernel, signature, {(3,): 1024}, {(index,): [["tt.divisibility", 16]] for index in aligned}
    )
    code = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    return Counter(re.findall(r"\b((?:ld|st)\.global[.\w]*)", code))


NAMES = (
    "row_mask",
    "multiplied_stride",
    "unaligned_start",
    "split_stride",
    "diagonal",
    "rounded_up_half",
    "unrolled_start",
    "loop_count",
    "closed_bound",
    "loaded_mask",
    "gathered",
    "helped_rows",
    "element_mask",
    "element_mask_of_another_range",
    "row_stride",
    "halved_stride",
    "shifted_bound",
    "rows_beside_planes",
    "loaded_rows_and_their_columns",
    "unrolled_step",
    "either_index",
    "conditional_start",
    "chosen_start",
    "wrapped",
    "block_pointer",
    "paged_rows",
    "selected_start",
    "branched_start",
    "compared_quotients",
    "helped",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:tl.make_block_ptr is deprecated")
def test_the_divisibility_called_free_changes_no_width_and_the_costly_one_does(name: str) -> None:
    from tests.source import width_code

    project = link([analyse_module("here.py", KERNELS.read_bytes())])
    (found,) = [each for each in project.kernels["here.py"] if each.name == name]
    parameter = found.parameter("n")
    assert parameter is not None
    costly = bool(parameter.contiguity & (Contiguity.MASK | Contiguity.STRIDE | Contiguity.BASE))
    kernel = getattr(width_code, name)
    assert costly == (widths(kernel, divisible=True) != widths(kernel, divisible=False))
