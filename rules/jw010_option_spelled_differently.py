"""JW010: launches of one kernel that spell the same options differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Finding
from jitwatch.lint.rule import Invalid, Rule, Valid

if TYPE_CHECKING:
    from jitwatch.source.model import BoundLaunch, Kernel, Module, Project

DEFAULTS = {
    "num_warps": "4",
    "num_stages": "3",
    "num_ctas": "1",
    "maxnreg": "None",
    "enable_fp_fusion": "True",
    "launch_cooperative_grid": "False",
}
"""Of Triton's NVIDIA back end, 3.0 to 3.9; AMD's differs in ``num_stages``, which is 2."""

Spelling = tuple[tuple[str, str], ...]
"""Options of a launch, name and text, in the order written."""


class OptionSpelledDifferently(Rule):
    """Spell the options of a kernel's launches in the same way everywhere.

    ## What it does
    Finds launches of one kernel whose options mean the same but are written differently: in another order, or
    with a default written out here and left out there. Launches that differ in a literal `tl.constexpr` are
    left alone, since they are different variants anyhow.

    ## Why is this bad?
    Triton's in-memory cache is keyed by the options as they were passed, in the order they were passed.
    `num_warps=4` and the default, which is 4, are two cache misses; the second is answered by the disk cache
    after some 2 ms, or compiled for 70 ms and more where there is none. A warm-up that spells the options in
    one way does not help a launch that spells them in another.

    ## Known problems
    The defaults are those of the NVIDIA back end; AMD's default of `num_stages` is 2. Kernels under an autotuner
    get their options from it and are left alone.

    ## Example
    ```python
    kernel[grid](x, n, num_warps=4, num_stages=2)
    kernel[grid](y, n, num_stages=2)
    ```

    ## Use instead
    ```python
    kernel[grid](x, n, num_stages=2)
    kernel[grid](y, n, num_stages=2)
    ```
    """

    code = "JW010"
    name = "option-spelled-differently"
    observed_as = "option_spelling"
    VALID = (
        Valid(
            """\
            import triton

            @triton.jit
            def fill(x, n):
                pass

            def run(x, n):
                fill[(1,)](x, n, num_warps=4, num_stages=2)
                fill[(2,)](x, n=n, num_warps=4, num_stages=2)
                fill[(1,)](x, n, num_warps=8, num_stages=2)
                fill[(1,)](x, n, num_warps=warps(n), num_stages=2)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def fill(x, n, bias, BLOCK: tl.constexpr):
                pass

            def run(x, n, bias):
                fill[(1,)](x, n, bias, BLOCK=64)
                fill[(1,)](x, n, bias, BLOCK=128, num_warps=4)
                fill[(1,)](x, n, None, BLOCK=64, num_warps=4)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=[])
            @triton.jit
            def fill(x, n, BLOCK: tl.constexpr):
                pass

            def run(x, n):
                fill[(1,)](x, n)
                fill[(1,)](x, n, num_ctas=1)
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton

            @triton.jit
            def fill(x, n):
                pass

            def warm_up(x):
                fill.warmup(x, 16, grid=(1,), num_warps=4)

            def run(x, n):
                fill[(1,)](x, n)
                fill[(2,)](x, n)
            """,
            (
                (
                    8,
                    5,
                    "this warm-up of `fill` writes out num_warps=4, the default, and example.py:11 does not: "
                    "two keys, so it is a cache miss although the code is the same",
                ),
            ),
        ),
        Invalid(
            """\
            import triton

            @triton.jit
            def fill(x, n):
                pass

            def run(x, n):
                fill[(1,)](x, n, num_warps=8, num_stages=2)
                fill[(1,)](x, n, num_stages=2, num_warps=8)
            """,
            (
                (
                    9,
                    5,
                    "this launch of `fill` passes its options in another order than example.py:8: "
                    "two keys, so it is a cache miss although the code is the same",
                ),
            ),
        ),
    )

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Yield a finding for each launch of the module's kernels that is spelled unlike most."""
        for kernel in project.kernels_in(module.path):
            launches = sorted(project.launches_of(kernel), key=_place)
            if len(launches) < 2 or _is_tuned(kernel) or any(bound.launch.starred for bound in launches):
                continue
            for group in _by_meaning(launches):
                yield from self._group(kernel, group)

    def _group(self, kernel: Kernel, launches: Sequence[BoundLaunch]) -> Iterator[Finding]:
        """Hold launches that mean the same against the most frequent spelling, the first of equals."""
        usual = Counter(map(_spelling, launches)).most_common(1)[0][0]
        model = next(bound for bound in launches if _spelling(bound) == usual)
        for bound in launches:
            how = _difference(_spelling(bound), usual, f"{model.launch.path}:{model.launch.span.line}")
            if how and not _are_different_variants(bound, model, kernel):
                yield self._finding(bound, kernel, how)

    def _finding(self, bound: BoundLaunch, kernel: Kernel, how: str) -> Finding:
        what = "warm-up" if bound.launch.how == "warmup" else "launch"
        return self.finding(
            bound.launch.path,
            bound.launch.span,
            f"this {what} of `{kernel.name}` {how}: two keys, so it is a cache miss although the code is the same",
            kernel=kernel.name,
            remedy="write the same options in the same order at every launch",
        )


def _by_meaning(launches: Sequence[BoundLaunch]) -> Iterator[Sequence[BoundLaunch]]:
    groups: dict[frozenset[tuple[str, str]], list[BoundLaunch]] = {}
    for bound in launches:
        groups.setdefault(frozenset(_meaning(dict(_spelling(bound))).items()), []).append(bound)
    yield from groups.values()


def _difference(spelling: Spelling, usual: Spelling, where: str) -> str | None:
    """Say how a spelling differs from another of the same meaning; None when it does not."""
    if spelling == usual:
        return None
    mine, theirs = dict(spelling), dict(usual)
    if mine == theirs:
        return f"passes its options in another order than {where}"
    written_out = [f"{name}={text}" for name, text in spelling if name not in theirs]
    left_out = [f"{name}={text}" for name, text in usual if name not in mine]
    if written_out:
        return f"writes out {_listed(written_out)} and {where} does not"
    return f"leaves out {_listed(left_out)} and {where} does not"


def _listed(options: Sequence[str]) -> str:
    return f"{', '.join(options)}, the default{'s' if len(options) > 1 else ''},"


def _meaning(options: Mapping[str, str]) -> dict[str, str]:
    """Options without those that say what holds anyhow."""
    return {name: text for name, text in options.items() if DEFAULTS.get(name) != text}


def _spelling(bound: BoundLaunch) -> Spelling:
    return tuple((name, value.text) for name, value in bound.options.items() if name != "grid")


def _are_different_variants(one: BoundLaunch, other: BoundLaunch, kernel: Kernel) -> bool:
    """Whether the arguments themselves keep two launches apart: unlike literals, or None against a value."""
    for parameter in kernel.parameters:
        texts = {
            bound.arguments[parameter.name].text
            for bound in (one, other)
            if parameter.name in bound.arguments
        }
        if len(texts) == 2 and ("None" in texts or (parameter.is_constexpr and _all_literal(texts))):
            return True
    return False


def _all_literal(texts: set[str]) -> bool:
    return all(text.strip("-").isdigit() or text in ("True", "False") or text[:1] in "'\"" for text in texts)


def _is_tuned(kernel: Kernel) -> bool:
    from jitwatch.source.model import DecoratorKind

    return any(decorator.kind is DecoratorKind.AUTOTUNE for decorator in kernel.decorators)


def _place(bound: BoundLaunch) -> tuple[str, int, int]:
    return bound.launch.path, bound.launch.span.line, bound.launch.span.column
