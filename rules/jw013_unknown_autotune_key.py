"""JW013: an autotune key that names no argument."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Applicability, Edit, Finding
from jitwatch.lint.rule import Invalid, Rule, Valid
from jitwatch.rules.jw006_useless_opt_out import removal

if TYPE_CHECKING:
    from jitwatch.source.model import Kernel, Listing, Module, Project


class UnknownAutotuneKey(Rule):
    """Name arguments of the kernel in an autotuner's `key`.

    ## What it does
    Finds names in `key=[...]` of an autotuner that no parameter of the kernel has.

    ## Why is this bad?
    Triton 3.2 to 3.8 drop such a name without a word: the configuration found for the first shape is used for
    all, or, if it was to tell two cases apart, for both. Triton 3.0, 3.1 and 3.9 raise a `ValueError` when the
    module is imported.

    ## Known problems
    A key that is not written out as a list is left alone.

    ## Example
    ```python
    @triton.autotune(configs=CONFIGS, key=["hidden"])
    @triton.jit
    def norm(x, hidden_size, BLOCK: tl.constexpr):
        ...
    ```

    ## Use instead
    ```python
    @triton.autotune(configs=CONFIGS, key=["hidden_size"])
    @triton.jit
    def norm(x, hidden_size, BLOCK: tl.constexpr):
        ...
    ```

    ## Fix safety
    Removing a name is safe where it did nothing before. Correcting one is unsafe: the kernel is tuned again for
    each value of that argument from then on.
    """

    code = "JW013"
    name = "unknown-autotune-key"
    observed_as = "tuning"
    VALID = (
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["hidden_size", "BLOCK"])
            @triton.jit
            def norm(x, hidden_size, BLOCK: tl.constexpr):
                tl.store(x + hidden_size + tl.arange(0, BLOCK), 0.0)
            """
        ),
        Valid(
            """\
            import triton

            KEY = ["anything"]

            @triton.autotune(configs=[], key=KEY)
            @triton.jit
            def norm(x, hidden_size):
                pass

            @triton.autotune(configs=[], key=[])
            @triton.jit
            def other(x, hidden_size):
                pass
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.autotune(
                configs=[triton.Config({"BLOCK": 64})],
                key=["hidden_sizes", "dtype"],  # one model, one tuning
            )
            @triton.jit
            def norm(x, hidden_size, BLOCK: tl.constexpr):
                tl.store(x + hidden_size + tl.arange(0, BLOCK), 0.0)
            """,
            (
                (
                    6,
                    10,
                    "the autotune key of `norm` names `hidden_sizes`, which no argument is called: "
                    "Triton 3.2 to 3.8 drop it without a word, 3.9 raises a ValueError",
                ),
                (
                    6,
                    26,
                    "the autotune key of `norm` names `dtype`, which no argument is called: "
                    "Triton 3.2 to 3.8 drop it without a word, 3.9 raises a ValueError",
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.autotune(
                configs=[triton.Config({"BLOCK": 64})],
                key=["hidden_size"],  # one model, one tuning
            )
            @triton.jit
            def norm(x, hidden_size, BLOCK: tl.constexpr):
                tl.store(x + hidden_size + tl.arange(0, BLOCK), 0.0)
            """,
        ),
    )

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Yield a finding for each name in a key that is no argument's."""
        for kernel in module.kernels:
            for decorator in kernel.decorators:
                listing = decorator.listing("key")
                if listing is not None and listing.literal and listing.form in ("list", "tuple"):
                    yield from self._listing(module, kernel, listing)

    def _listing(self, module: Module, kernel: Kernel, listing: Listing) -> Iterator[Finding]:
        names = [parameter.name for parameter in kernel.parameters]
        for position, entry in enumerate(listing.entries):
            if entry.name is None or entry.name in names:
                continue
            free = [name for name in names if name not in {other.name for other in listing.entries}]
            close = next(iter(difflib.get_close_matches(entry.name, free, n=1, cutoff=0.75)), None)
            edit = (
                Edit(entry.span.start, entry.span.end, f'"{close}"') if close else removal(listing, position)
            )
            applicability = Applicability.UNSAFE if close else Applicability.SAFE
            yield self.finding(
                module,
                entry.span,
                f"the autotune key of `{kernel.name}` names `{entry.name}`, which no argument is called: "
                "Triton 3.2 to 3.8 drop it without a word, 3.9 raises a ValueError",
                kernel=kernel.name,
                remedy=f"did you mean `{close}`?" if close else "take it out of the key",
                applicability=applicability if edit else Applicability.DISPLAY,
                edits=[edit] if edit else [],
            )
