"""Figures are what the compiler's own tools say, and the rule judges them as it is documented."""

from __future__ import annotations

import importlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import MockTensor

from jitwatch.runtime import offline
from jitwatch.runtime.offline.target import parse_target
from jitwatch.specialization import Parameter, classify, traits_of
from jitwatch.verify.code.amdgcn import read_amdgcn
from jitwatch.verify.code.measure import measure
from jitwatch.verify.code.ptx import read_ptx
from jitwatch.verify.figures import Access, Figures
from jitwatch.verify.judge import Outcome, compare, programs_resident
from jitwatch.verify.worker.compiling import compile_form

H200 = parse_target("cuda:90")
PLAIN = Figures(
    code="a",
    machine="a",
    accesses={Access.LOAD: {128: 4}, Access.STORE: {128: 2}},
    singles={},
    matrix={},
    registers=64,
    spills=0,
    shared=0,
    warps=4,
    instructions=300,
    looped=200,
    loops=1,
)
CHANGED = replace(PLAIN, code="b", machine="b")


@pytest.mark.parametrize(
    ("opcode", "vector"),
    [
        ("ld.global.b64", 0),
        ("ld.global.b32", 32),
        ("ld.global.v2.b32", 64),
        ("ld.global.v2.b64", 128),
        ("ld.global.v4.b32", 128),
    ],
)
def test_one_element_of_64_bits_is_no_vector(opcode: str, vector: int) -> None:
    tally = read_ptx(
        f".entry k(\n@%p1 {opcode} {{ %rd1 }}, [ %rd2 + 0 ];\n@%p1 {opcode} {{ %rd3 }}, [ %rd4 + 0 ];"
    )
    figures = replace(PLAIN, accesses=tally.accesses, singles=tally.singles)
    assert figures.vector == vector
    assert Figures.from_json(figures.to_json()) == figures


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ({"accesses": {Access.LOAD: {16: 32}, Access.STORE: {128: 2}}}, "global reads 8 → 1 wide"),
        ({"accesses": {Access.LOAD: {128: 1, 32: 12}, Access.STORE: {128: 2}}}, "global reads 8 → 2 wide"),
        ({"accesses": {Access.LOAD: {128: 4}, Access.STORE: {64: 4}}}, "global stores 8 → 4 wide"),
        ({"spills": 8}, "spills 0 → 8 bytes a thread"),
        ({"looped": 230, "instructions": 330}, "instructions in loops 200 → 230"),
        ({"registers": 128}, "registers 64 → 128: 8 → 4 programs on a multiprocessor"),
        ({"shared": 60000}, "shared memory 0 → 60000 bytes: 8 → 3 programs"),
    ],
)
def test_what_makes_a_kernel_slower_costs(after: dict[str, object], reason: str) -> None:
    judged = compare(PLAIN, replace(CHANGED, **after), H200, element_bits=16)  # type: ignore[arg-type]
    assert judged.outcome is Outcome.COSTS
    assert reason in judged.reason


def test_lost_copies_and_matrix_units_cost() -> None:
    before = replace(PLAIN, accesses={Access.ASYNC_COPY: {128: 4}}, matrix={"wgmma m64n128k16": 4})
    scalar = replace(before, code="b", machine="b", accesses={Access.LOAD: {128: 4}})
    assert "asynchronous copies 4 → 0" in compare(before, scalar, H200).reason
    slow = replace(before, code="b", machine="b", matrix={"mma m16n8k16": 64})
    judged = compare(before, slow, H200)
    assert (judged.outcome, judged.reason) == (
        Outcome.COSTS,
        "matrix instructions wgmma m64n128k16 → mma m16n8k16",
    )


@pytest.mark.parametrize(
    "after",
    [
        {"looped": 210, "instructions": 310},
        {"instructions": 400},
        {"registers": 66},
        {"accesses": {Access.LOAD: {128: 5}, Access.STORE: {128: 2}}},
        {"accesses": {Access.LOAD: {128: 4}, Access.STORE: {64: 1}}},
    ],
)
def test_what_may_or_may_not_be_slower_is_unknown(after: dict[str, object]) -> None:
    assert compare(PLAIN, replace(CHANGED, **after), H200).outcome is Outcome.UNKNOWN  # type: ignore[arg-type]


def test_an_index_beside_the_data_that_is_read_in_smaller_pieces_is_unknown() -> None:
    before = replace(PLAIN, accesses={Access.LOAD: {128: 5}})
    after = replace(CHANGED, accesses={Access.LOAD: {128: 4, 32: 4}})
    judged = compare(before, after, H200)
    assert (judged.outcome, judged.reason) == (Outcome.UNKNOWN, "global reads 128 → 32 bits wide")


def test_a_loop_that_was_folded_away_is_unknown() -> None:
    folded = replace(PLAIN, loops=0, looped=0, instructions=200)
    judged = compare(folded, CHANGED, H200)
    assert judged.outcome is Outcome.UNKNOWN
    assert "a loop of 200 instructions that was folded away before" in judged.reason


@pytest.mark.parametrize(
    "after",
    [
        {"instructions": 316},
        {"looped": 203, "instructions": 303},
        {"registers": 60},
        {"accesses": {Access.LOAD: {128: 4}, Access.STORE: {128: 1}}},
    ],
)
def test_small_differences_outside_loops_are_harmless(after: dict[str, object]) -> None:
    assert compare(PLAIN, replace(CHANGED, **after), H200).outcome is Outcome.HARMLESS  # type: ignore[arg-type]


def test_the_same_text_or_the_same_machine_code_is_identical() -> None:
    assert compare(PLAIN, replace(PLAIN, machine="b"), H200).reason == "identical code"
    assert compare(PLAIN, replace(PLAIN, code="b", instructions=999), H200).reason == "identical code"


def test_figures_survive_the_pipe() -> None:
    assert Figures.from_json(PLAIN.to_json()) == PLAIN


def test_residency_is_bound_by_registers_shared_memory_and_threads() -> None:
    assert programs_resident(replace(PLAIN, registers=32), H200) == 16
    assert programs_resident(replace(PLAIN, registers=255), H200) == 2
    assert programs_resident(replace(PLAIN, shared=100 * 1024), H200) == 2
    assert programs_resident(replace(PLAIN, registers=None), H200) is None


def test_ptx_is_read_by_kind_and_width_and_a_copy_by_its_bytes() -> None:
    tally = read_ptx(
        """
.visible .entry kernel(
    .param .u64 kernel_param_0
)
{
    @%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
    ld.global.L1::evict_last.b16 { %rs1 }, [ %rd1 + 0 ];
    ld.param.b64 %rd4, [kernel_param_0];
$L__BB0_2:                              // =>This Inner Loop Header: Depth=1
    cp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x10, %r2;
    atom.global.gpu.acq_rel.add.f32 %f1, [ %rd1 ], %f2;
    @%p2 bra $L__BB0_2;
// %bb.3:
    st.shared.v4.b32 [ %r1 ], { %r1, %r2, %r3, %r4 };
    st.global.v2.b64 [ %rd1 + 0 ], { %rd1, %rd2 };
    ret;
}
    .file 1 "kernel.py"
    .section .debug_abbrev
    { .b8 1 }
"""
    )
    assert tally.accesses == {
        Access.LOAD: {128: 1, 16: 1},
        Access.ASYNC_COPY: {128: 1},
        Access.ATOMIC: {32: 1},
        Access.STORE: {128: 1},
    }
    assert (len(tally.lines), tally.loops, tally.looped) == (9, 1, 3)


def test_amdgcn_is_read_by_kind_and_width() -> None:
    tally = read_amdgcn(
        """
kernel:                                ; @kernel
; %bb.0:
    global_load_dwordx4 v[2:5], v[0:1], off
    buffer_load_ushort v1, v2, s[0:3], 0 offen
    buffer_load_dword v1, s[0:3], 0 offen lds
.LBB0_1:                               ; =>This Inner Loop Header: Depth=1
    v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], a[0:15]
    s_cbranch_scc1 .LBB0_1
; %bb.2:
    global_store_short v[0:1], v2, off
    s_endpgm
    .section .rodata
    .amdhsa_kernel kernel
"""
    )
    assert tally.accesses == {Access.LOAD: {128: 1, 16: 1}, Access.ASYNC_COPY: {32: 1}, Access.STORE: {16: 1}}
    assert tally.matrix == {"v_mfma_f32_32x32x8_bf16": 1}
    assert (len(tally.lines), tally.loops, tally.looped) == (7, 1, 2)


@pytest.fixture
def kernels() -> Iterator[ModuleType]:
    """``kernels.py``, imported where an autotuner finds a device (up to 3.2 it asks for one at once)."""
    offline.activate("cuda:90", execute=False)
    yield importlib.import_module("tests.verify.kernels")
    offline.deactivate()


def test_registers_and_spills_are_those_that_cuobjdump_prints(tmp_path: Path, kernels: ModuleType) -> None:
    tool = next(Path(triton.__file__).parent.rglob("cuobjdump"), None)
    if tool is None:
        pytest.skip("this Triton brings no cuobjdump")
    integers = {"stride_column": "i32", "rows": "i32", "BLOCK": "constexpr"}
    source = ASTSource(kernels.sum_columns, {"x": "*fp32", "out": "*fp32", **integers}, {"BLOCK": 4096})
    options = {"num_warps": 1, "maxnreg": 64}  # 128 sums a thread do not fit
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    figures = measure("cuda", compiled.asm["ptx"], compiled.asm["cubin"], shared=0, warps=4)
    binary = tmp_path / "kernel.cubin"
    binary.write_bytes(compiled.asm["cubin"])
    printed = subprocess.run([tool, "-res-usage", binary], capture_output=True, text=True, check=True).stdout
    match = re.search(r"REG:(\d+) STACK:(\d+)", printed)
    assert match is not None
    assert (figures.registers, figures.spills) == (int(match[1]), int(match[2]))
    assert figures.spills > 0, "a kernel that spills was meant"


def test_what_is_compiled_from_classes_is_what_a_launch_compiles(kernels: ModuleType) -> None:
    """The key of Triton's disk cache is equal: the same source, signature, constants, attributes and options."""
    if "constants" in ASTSource.__init__.__code__.co_varnames:
        pytest.skip("up to Triton 3.2 the key also has attributes of constants, which change no code")
    parameters = [Parameter(each.name, each.is_constexpr) for each in kernels.vector_add.params]
    mock, described = MockTensor("float32"), {"tensor": "float32", "shape": [1], "mod16": 0}
    for n in (1, 16, 17):
        launched = kernels.vector_add.warmup(mock, mock, mock, n, BLOCK=256, num_warps=2, grid=(1,))
        values = [described, described, described, n, 256]
        traits = traits_of(triton.__version__)
        classes = [classify(v, p, traits) for v, p in zip(values, parameters, strict=True)]
        compiled = compile_form(kernels.vector_add, classes, {"num_warps": 2}, GPUTarget("cuda", 90, 32))
        assert compiled.hash == launched.hash, n
