"""JW006: an entry of an opt-out list that does nothing, or breaks."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Applicability, Edit, Finding
from jitwatch.lint.rule import Invalid, Rule, Valid

if TYPE_CHECKING:
    from jitwatch.source.model import Entry, Kernel, Launch, Listing, Module, Parameter, Project

OPT_OUTS = ("do_not_specialize", "do_not_specialize_on_alignment")


class UselessOptOut(Rule):
    """Name parameters that exist, and that can be opted out, in `do_not_specialize`.

    ## What it does
    Finds entries of `do_not_specialize` and `do_not_specialize_on_alignment` that have no effect: names that no
    parameter has, positions beyond the last parameter, `tl.constexpr` parameters, parameters that a launch
    feeds with a tuple. And a string where a list belongs.

    ## Why is this bad?
    Triton compares the entries with the parameters and never complains about one that matches none, in any
    release from 3.0 to 3.9: after a rename, or with a typing error, the opt-out is silently gone and the kernel
    recompiles again. A `tl.constexpr` parameter compiles at every new value whether it is listed or not; from
    Triton 3.6 on listing one is a `CompilationError` as soon as the kernel reads it. The flags of a parameter
    do not reach the elements of a tuple passed for it. A plain string ends in a `TypeError` at import.

    ## Known problems
    A list that is not written out (a name, a conditional, `*ARGS`) is left alone.

    ## Example
    ```python
    @triton.jit(do_not_specialize=["num_token", "BLOCK"])
    def scale(x, num_tokens, BLOCK: tl.constexpr):
        ...
    ```

    ## Use instead
    ```python
    @triton.jit(do_not_specialize=["num_tokens"])
    def scale(x, num_tokens, BLOCK: tl.constexpr):
        ...
    ```

    ## Fix safety
    An entry without effect is removed safely. Correcting a misspelled name is unsafe: the opt-out begins to
    work, which drops what Triton knew about the parameter's divisibility.

    ## References
    - Triton issue 8273: `tl.constexpr` in `do_not_specialize`
    """

    code = "JW006"
    name = "useless-opt-out"
    VALID = (
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_tokens", 2], do_not_specialize_on_alignment=("stride",))
            def scale(x, num_tokens, rows, stride, BLOCK: tl.constexpr):
                tl.store(x + tl.arange(0, BLOCK) * stride, 0.0, mask=tl.arange(0, BLOCK) < num_tokens + rows)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            LENGTHS = ["n", "m"]

            @triton.jit(do_not_specialize=LENGTHS)
            def one(x, n):
                tl.store(x + n, 0.0)

            @triton.jit(do_not_specialize=[*LENGTHS, "stride"])
            def two(x, n, stride):
                tl.store(x + n * stride, 0.0)
            """
        ),
        Valid(
            """\
            import other.language as tl
            from other import jit

            @jit(do_not_specialize=["nothing"])
            def not_triton(x, n):
                tl.store(x + n, 0.0)
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_token", "n"])  # lengths
            def scale(x, num_tokens, n):
                tl.store(x + n, 0.0, mask=n < num_tokens)
            """,
            (
                (
                    4,
                    32,
                    "`do_not_specialize` of `scale` names `num_token`, which no parameter is called: "
                    "Triton ignores it without a word",
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_tokens", "n"])  # lengths
            def scale(x, num_tokens, n):
                tl.store(x + n, 0.0, mask=n < num_tokens)
            """,
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(
                do_not_specialize=[
                    "n",  # rows
                    "BLOCK",
                    3,  # nothing
                ]
            )
            def fill(x, n, BLOCK: tl.constexpr):
                tl.store(x + tl.arange(0, BLOCK), 0.0, mask=tl.arange(0, BLOCK) < n)
            """,
            (
                (
                    7,
                    9,
                    "`do_not_specialize` of `fill` names the constexpr `BLOCK`, which compiles at every new "
                    "value all the same; from Triton 3.6 on this is a CompilationError",
                ),
                (
                    8,
                    9,
                    "`do_not_specialize` of `fill` names position 3, but its parameters are 0 to 2: "
                    "Triton ignores it without a word",
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(
                do_not_specialize=[
                    "n",  # rows
                    # nothing
                ]
            )
            def fill(x, n, BLOCK: tl.constexpr):
                tl.store(x + tl.arange(0, BLOCK), 0.0, mask=tl.arange(0, BLOCK) < n)
            """,
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize_on_alignment="n")
            def fill(x, n):
                tl.store(x + n, 0.0)
            """,
            (
                (
                    4,
                    44,
                    "`do_not_specialize_on_alignment` of `fill` is a string, not a list: "
                    "a TypeError as soon as the module is imported",
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize_on_alignment=["n"])
            def fill(x, n):
                tl.store(x + n, 0.0)
            """,
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["shape"])
            def fill(x, shape):
                tl.store(x + shape[0] * shape[1], 0.0)

            def run(x):
                fill[(1,)](x, (x.shape[0], x.shape[1]))
            """,
            (
                (
                    4,
                    32,
                    "`do_not_specialize` of `fill` does not reach the elements of the tuple that example.py:9 "
                    "passes for `shape`: each is specialised",
                ),
            ),
        ),
    )

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Yield a finding for each entry without effect."""
        for kernel in module.kernels:
            for keyword in OPT_OUTS:
                listing = kernel.jit.listing(keyword)
                if listing is None:
                    continue
                yield from self._tuples(module, project, kernel, listing)
                if listing.form == "string":
                    yield self._string(module, kernel, listing)
                elif listing.literal:
                    for position in range(len(listing.entries)):
                        yield from self._entry(module, kernel, listing, position)

    def _string(self, module: Module, kernel: Kernel, listing: Listing) -> Finding:
        named = [entry.name for entry in listing.entries if entry.name]
        known = all(kernel.parameter(name) for name in named)
        return self.finding(
            module,
            listing.span,
            f"`{listing.keyword}` of `{kernel.name}` is a string, not a list: "
            "a TypeError as soon as the module is imported",
            kernel=kernel.name,
            remedy=f"{listing.keyword}=[{', '.join(map(_quoted, named))}]",
            applicability=Applicability.SAFE if known else Applicability.DISPLAY,
            edits=[
                Edit(listing.span.start, listing.span.start, "["),
                Edit(listing.span.end, listing.span.end, "]"),
            ]
            if known
            else [],
        )

    def _tuples(
        self, module: Module, project: Project, kernel: Kernel, listing: Listing
    ) -> Iterator[Finding]:
        for entry in listing.entries:
            parameter = _parameter(kernel, entry)
            launch = parameter and _tuple_launch(project, kernel, parameter)
            if parameter and launch:
                yield self.finding(
                    module,
                    entry.span,
                    f"`{listing.keyword}` of `{kernel.name}` does not reach the elements of the tuple that "
                    f"{launch.path}:{launch.span.line} passes for `{parameter.name}`: each is specialised",
                    kernel=kernel.name,
                    parameter=parameter.name,
                    remedy="pass the elements as parameters of their own, and list those",
                )

    def _entry(self, module: Module, kernel: Kernel, listing: Listing, position: int) -> Iterator[Finding]:
        entry = listing.entries[position]
        parameter = _parameter(kernel, entry)
        if (parameter and not parameter.is_constexpr) or (entry.name is None and entry.position is None):
            return
        what, remedy = _useless(kernel, entry, parameter)
        edit = removal(listing, position)
        applicability = Applicability.SAFE if edit else Applicability.DISPLAY
        close = None if parameter else _nearest(entry, listing, kernel)
        if close:
            remedy = f"did you mean `{close}`?"
            applicability, edit = Applicability.UNSAFE, Edit(entry.span.start, entry.span.end, _quoted(close))
        yield self.finding(
            module,
            entry.span,
            f"`{listing.keyword}` of `{kernel.name}` names {what}",
            kernel=kernel.name,
            parameter=parameter.name if parameter else None,
            remedy=remedy,
            applicability=applicability,
            edits=[edit] if edit else [],
        )


def _useless(kernel: Kernel, entry: Entry, parameter: Parameter | None) -> tuple[str, str]:
    """Say why an entry does nothing, and what to do about it."""
    if parameter is not None:
        return (
            f"the constexpr `{parameter.name}`, which compiles at every new value all the same; "
            "from Triton 3.6 on this is a CompilationError",
            "take it out of the list, or drop its tl.constexpr if the kernel can do without",
        )
    if entry.position is not None:
        return (
            f"position {entry.position}, but its parameters are 0 to {len(kernel.parameters) - 1}: "
            "Triton ignores it without a word",
            "name the parameter instead: positions shift when a parameter is added",
        )
    return (
        f"`{entry.name}`, which no parameter is called: Triton ignores it without a word",
        "take it out of the list",
    )


def _parameter(kernel: Kernel, entry: Entry) -> Parameter | None:
    """Find the parameter that Triton finds for an entry."""
    return next(
        (each for each in kernel.parameters if entry.name == each.name or entry.position == each.index), None
    )


def _tuple_launch(project: Project, kernel: Kernel, parameter: Parameter) -> Launch | None:
    """Find a launch that passes a tuple for a parameter."""
    for bound in project.launches_of(kernel):
        value = bound.arguments.get(parameter.name)
        if value is not None and _is_tuple(value.text):
            return bound.launch
    return None


def _is_tuple(text: str) -> bool:
    """Whether an argument, as written at a launch, is a tuple."""
    if not text.startswith("("):
        return False
    try:
        return isinstance(ast.parse(text, mode="eval").body, ast.Tuple)
    except SyntaxError:  # shortened by the source model
        return False


def removal(listing: Listing, position: int) -> Edit | None:
    """Take an entry out of a list; None where the one that stays would have to become a tuple of one."""
    if listing.form == "tuple" and len(listing.entries) == 2:
        return None
    span = listing.entries[position].span
    return Edit(span.start, span.end, None)


def _nearest(entry: Entry, listing: Listing, kernel: Kernel) -> str | None:
    """The run-time parameter that a misspelled entry most likely means."""
    listed = {other.name for other in listing.entries}
    names: Sequence[str] = [p.name for p in kernel.parameters if not p.is_constexpr and p.name not in listed]
    return next(iter(difflib.get_close_matches(entry.name or "", names, n=1, cutoff=0.75)), None)


def _quoted(name: str) -> str:
    return f'"{name}"'
