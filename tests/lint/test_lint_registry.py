from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jitwatch.lint import cache, registry
from jitwatch.lint.document import README
from jitwatch.lint.rule import Rule
from tests.lint.conftest import BAD, Lint

Write = Callable[..., Path]

SHOUT = README.read_text(encoding="utf-8").rpartition("```python\n")[2].partition("```")[0]
"""The rule that the documentation shows."""

LOUD = BAD.replace("scale", "SCALE")
ENTRY_POINTS = "[jitwatch.rules]\nloud = loud_rules\n"
METADATA = "Metadata-Version: 2.1\nName: loud\nVersion: 1\n"


@pytest.fixture
def installed(project: Write, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """A distribution with rules, as pip would lay it out."""

    def forget() -> None:
        registry.all_rules.cache_clear()
        cache.version_digest.cache_clear()
        sys.modules.pop("loud_rules", None)

    def install(source: str) -> Path:
        root = project(
            {
                "site/loud_rules.py": source,
                "site/loud-1.dist-info/METADATA": METADATA,
                "site/loud-1.dist-info/entry_points.txt": ENTRY_POINTS,
                "a.py": LOUD,
            }
        )
        monkeypatch.syspath_prepend(str(root / "site"))
        forget()
        return root

    yield install
    forget()


def test_an_installed_package_adds_rules(installed: Callable[[str], Path], lint: Lint) -> None:
    installed(SHOUT)
    (loud, _) = lint("--format", "json", "--select", "MY,JW006", "a.py").findings[::-1]
    assert (loud["code"], loud["message"], loud["line"]) == ("MY001", "`SCALE` is loud", 6)
    assert lint("--select", "loud-kernel", "--format", "concise", "a.py").code == 1


def test_a_third_partys_rule_is_suppressed_like_any(installed: Callable[[str], Path], lint: Lint) -> None:
    root = installed(SHOUT)
    (root / "a.py").write_text(LOUD.replace("factor):", "factor):  # noqa: MY001"))
    assert lint("--select", "MY", "a.py").code == 0


def test_a_changed_rule_makes_the_cache_cold(installed: Callable[[str], Path], lint: Lint) -> None:
    installed(SHOUT)
    assert "is loud" in lint("--select", "MY", "a.py").out
    installed(SHOUT.replace("is loud", "is very loud"))
    assert "is very loud" in lint("--select", "MY", "a.py").out


def test_a_rule_that_fails_is_one_line_and_the_others_run(
    installed: Callable[[str], Path], lint: Lint
) -> None:
    installed(SHOUT.replace("yield self", "1 / 0\n                yield self"))
    ran = lint("--format", "concise", "--select", "MY,JW006", "a.py")
    assert ran.code == 2
    assert ran.err == (
        "jitwatch: a.py: MY001: internal error, please report it: "
        "ZeroDivisionError at loud_rules.py:12: division by zero\n"
    )
    assert ran.out.startswith("a.py:5:32: JW006")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            SHOUT.replace("MY001", "JW006"),
            "two rules are called JW006: jitwatch.rules.jw006_useless_opt_out and",
        ),
        ("import no_such_module", "the rules of loud (loud_rules) do not load: ModuleNotFoundError"),
        (SHOUT.replace('    code = "MY001"\n', ""), "has no code"),
    ],
)
def test_rules_that_cannot_be_used_are_one_line(
    installed: Callable[[str], Path], lint: Lint, source: str, message: str
) -> None:
    installed(source)
    ran = lint("a.py")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert message in ran.err


def test_a_rule_without_a_check_says_so() -> None:
    with pytest.raises(TypeError, match="has no name"):
        type("Nameless", (Rule,), {"code": "XX002"})
