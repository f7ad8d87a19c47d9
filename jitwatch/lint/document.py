"""The rules' documentation, from their docstrings: a page each, and ``rules/README.md``.

``python -m jitwatch.lint.document`` writes the file; a test holds it to be current.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import jitwatch.rules
from jitwatch.lint.registry import all_rules
from jitwatch.lint.rule import Rule

if TYPE_CHECKING:
    from rich.table import Table

README = Path(jitwatch.rules.__file__).resolve().parent / "README.md"

_HEAD = """\
# Rules

<!-- Written by `python -m jitwatch.lint.document` from the rules' docstrings. -->

What `jitwatch lint` finds without running anything. `jitwatch rule CODE` prints one page in the terminal.

| Code | Name | Fix | What it asks for |
| --- | --- | --- | --- |
"""


_TAIL = '''
## Leave a finding where it is

A comment with the code, or the name, and the reason:

```python
@triton.jit
def kernel(x, n):  # jitwatch: ignore[JW001] one length in this service
    ...
```

On a decorator or the first or last line of a `def` it speaks for decorators and header together, on a
parameter's line for that line, at the end of another statement for all of it, in a line of its own for what
follows. `# noqa: JW001` does the same; tell ruff that the codes are not its own: `lint.external = ["JW"]`.
`jitwatch lint --add-ignore` writes one at every finding; JW100 finds those that suppress nothing any more.

## Add a rule

One file here, one class: the documentation is its docstring, the tests are its examples
(`jitwatch/lint/rule.py` says what each may hold). A rule of another package is found through an entry point,

```toml
[project.entry-points."jitwatch.rules"]
mine = "my_package.rules"
```

which names a class, or a module or package of them:

```python
from jitwatch.lint.rule import Rule

class LoudKernel(Rule):
    """Do not shout."""

    code = "MY001"
    name = "loud-kernel"

    def check(self, module, project):
        for kernel in module.kernels:
            if kernel.name.isupper():
                yield self.finding(module, kernel.span, f"`{kernel.name}` is loud", kernel=kernel.name)
```
'''


def readme() -> str:
    """Return the text of ``rules/README.md``."""
    rules = [rule for rule in all_rules().values() if type(rule).__module__.startswith("jitwatch.rules.")]
    rows = [f"| [{r.code}](#{_anchor(r)}) | {r.name} | {_fix(r)} | {_cell(r.summary())} |\n" for r in rules]
    pages = [_page(rule, level=2) for rule in rules]
    return _HEAD + "".join(rows) + "\n" + "\n".join(pages) + _TAIL


def rule_page(rule: Rule) -> str:
    """Return one rule's documentation as Markdown."""
    return _page(rule, level=1)


def overview_table(rules: Iterable[Rule]) -> Table:
    """Lay the rules out as a table for the terminal."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("code", "name", "what it asks for"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "code")
    for rule in rules:
        table.add_row(rule.code, rule.name, rule.summary().replace("`", ""))
    return table


def _page(rule: Rule, level: int) -> str:
    mark = "#" * level
    title = f"{mark} {rule.code} {rule.name}"
    fix = "\n\nComes with a fix." if rule.fixable() else ""
    body = re.sub("^## ", f"{mark}# ", rule.documentation(), flags=re.MULTILINE)
    return f"{title}\n\n{rule.summary()}{fix}\n\n{body}\n"


def _anchor(rule: Rule) -> str:
    return f"{rule.code} {rule.name}".lower().replace(" ", "-")


def _fix(rule: Rule) -> str:
    return "yes" if rule.fixable() else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
    print(f"wrote {README}")
