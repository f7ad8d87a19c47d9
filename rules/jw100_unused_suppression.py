"""JW100: a suppressing comment that suppresses nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Applicability, Edit, Finding
from jitwatch.lint.registry import all_rules
from jitwatch.lint.rule import Invalid, Rule, Valid
from jitwatch.lint.suppressions import Suppression

if TYPE_CHECKING:
    from jitwatch.source.model import Module, Project


class UnusedSuppression(Rule):
    """Remove a suppressing comment that suppresses nothing.

    ## What it does
    Finds `# jitwatch: ignore[...]` and `# noqa: JW...` comments whose codes match no finding in the lines they
    speak for, codes that no rule has, and `ignore` comments that name no code at all.

    ## Why is this bad?
    Such a comment outlives the problem it once excused. It says something untrue about the kernel, and it will
    hide the next finding of that rule without anybody having looked at it. A comment without a code would hide
    everything, so it hides nothing.

    ## Known problems
    Some findings need a kernel and its launch together. Where only one of the two files is linted, as
    pre-commit does, a comment can look unused that is of use when the whole project is linted; the setting
    `context` names the folders to read all the same. Codes of rules that are not selected are left alone.

    ## Example
    ```python
    @triton.jit(do_not_specialize=["n"])
    def fill(x, n, BLOCK: tl.constexpr):  # jitwatch: ignore[JW006] kept for later
        ...
    ```

    ## Use instead
    ```python
    @triton.jit(do_not_specialize=["n"])
    def fill(x, n, BLOCK: tl.constexpr):
        ...
    ```

    ## Fix safety
    A comment changes no program. The fix is unsafe all the same, for the reason under "Known problems", and
    because it drops the reason written in the comment.
    """

    code = "JW100"
    name = "unused-suppression"
    VALID = (
        Valid(
            """\
            import triton

            @triton.jit(do_not_specialize=["m"])  # jitwatch: ignore[JW006] `m` comes back with the next version
            def fill(x, n):
                pass
            """
        ),
        Valid(
            """\
            import triton

            @triton.jit
            def fill(x):  # noqa: E501
                pass
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton

            @triton.jit  # jitwatch: ignore[JW006] kept for later
            def fill(x):
                pass
            """,
            ((3, 14, "this comment suppresses no finding of JW006"),),
            """\
            import triton

            @triton.jit
            def fill(x):
                pass
            """,
        ),
        Invalid(
            """\
            import triton

            # jitwatch: ignore[JW007]
            @triton.jit
            def fill(x):  # noqa: E501, JW006
                pass
            """,
            (
                (3, 1, "this comment suppresses no finding of JW007"),
                (5, 15, "this comment suppresses no finding of JW006"),
            ),
            """\
            import triton

            @triton.jit
            def fill(x):  # noqa: E501
                pass
            """,
        ),
        Invalid(
            """\
            import triton

            @triton.jit
            def fill(x):  # jitwatch: ignore[JW9999]
                pass
            """,
            ((4, 15, "this comment names JW9999, which no rule is called"),),
            """\
            import triton

            @triton.jit
            def fill(x):
                pass
            """,
        ),
        Invalid(
            """\
            import triton

            @triton.jit
            def fill(x):  # jitwatch: ignore
                pass
            """,
            ((4, 15, "this comment suppresses nothing, since it names no rule"),),
        ),
    )

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Find nothing here: it takes the other rules' findings to know which comments are of use."""
        yield from ()

    def check_suppressions(
        self, path: str, suppressions: Sequence[Suppression], selected: frozenset[str]
    ) -> Iterator[Finding]:
        """Yield a finding for each comment that says something in vain."""
        names = {rule.name: code for code, rule in all_rules().items()}
        for suppression in suppressions:
            # Its own code is judged last of all: whether it was of use is not known yet.
            codes = [code for code in suppression.codes if names.get(code, code) != self.code]
            unknown = [code for code in codes if names.get(code, code) not in all_rules()]
            unused = [
                code for code in codes if names.get(code, code) in selected and code not in suppression.used
            ]
            if not suppression.codes:
                yield self._finding(path, suppression, [], "suppresses nothing, since it names no rule")
            elif unknown:
                yield self._finding(
                    path, suppression, unknown, f"names {_list(unknown)}, which no rule is called"
                )
            elif unused:
                yield self._finding(path, suppression, unused, f"suppresses no finding of {_list(unused)}")

    def _finding(self, path: str, suppression: Suppression, codes: Sequence[str], what: str) -> Finding:
        kept = [code for code in (*suppression.codes, *suppression.foreign) if code not in codes]
        return self.finding(
            path,
            suppression.place,
            f"this comment {what}",
            remedy="remove the comment" if not kept else f"keep {_list(kept)} only",
            applicability=Applicability.UNSAFE if codes else Applicability.DISPLAY,
            edits=[_edit(suppression, kept)] if codes else [],
        )


def _edit(suppression: Suppression, kept: Sequence[str]) -> Edit:
    if not kept:
        return Edit(*suppression.removal, "")
    reason = f" {suppression.reason}" if suppression.reason else ""
    if suppression.form == "noqa":
        return Edit(suppression.start, suppression.end, f"# noqa: {', '.join(kept)}{reason}")
    return Edit(suppression.start, suppression.end, f"# jitwatch: ignore[{', '.join(kept)}]{reason}")


def _list(codes: Sequence[str]) -> str:
    return ", ".join(codes)
