"""Every rule there is, and which of them a selection such as ``JW0`` means.

Own rules are found by walking ``jitwatch.rules``, third-party ones through the entry point group
``jitwatch.rules``: each entry point names a rule class, or a module or package of them.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.metadata
import inspect
import pkgutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import ModuleType

import jitwatch.rules
from jitwatch.errors import JitwatchError
from jitwatch.lint.rule import Rule

ENTRY_POINT_GROUP = "jitwatch.rules"


@functools.lru_cache(maxsize=1)
def all_rules() -> Mapping[str, Rule]:
    """Rules by code, in the order of their codes. Raises JitwatchError when two share a code."""
    rules: dict[str, Rule] = {}
    for cls in sorted(dict.fromkeys([*_own(), *_third_party()]), key=lambda cls: cls.code):
        if cls.code in rules:
            other = type(rules[cls.code])
            raise JitwatchError(
                f"two rules are called {cls.code}: {other.__module__} and {cls.__module__}; "
                "uninstall one, or give it letters of its own"
            )
        rules[cls.code] = cls()
    return rules


def find_rule(text: str) -> Rule:
    """Look a rule up by code or name. Raises JitwatchError with the nearest one."""
    for rule in all_rules().values():
        if text in (rule.code, rule.code.lower(), rule.name):
            return rule
    raise JitwatchError(f"no rule {text}{nearest(text, _words())}; `jitwatch rule` lists them all")


def matching(selector: str) -> frozenset[str]:
    """Codes that a selector means: a code, the beginning of one, a name, or ``ALL``.

    Raises JitwatchError when it means none.
    """
    rules = all_rules()
    codes = frozenset(
        code
        for code, rule in rules.items()
        if selector == "ALL" or selector == rule.name or (selector and code.startswith(selector.upper()))
    )
    if not codes:
        raise JitwatchError(f"no rule matches {selector!r}{nearest(selector, _words())}")
    return codes


def choose(select: Sequence[str], ignore: Sequence[str]) -> frozenset[str]:
    """Codes that ``select`` takes and ``ignore`` does not take away.

    Where both mean a code the longer selector wins, and at equal length ``ignore``.
    """
    chosen: dict[str, int] = {}
    for selector in select:
        for code in matching(selector):
            chosen[code] = max(chosen.get(code, 0), _weight(selector))
    for selector in ignore:
        for code in matching(selector):
            if code in chosen and _weight(selector) >= chosen[code]:
                del chosen[code]
    return frozenset(chosen)


def nearest(word: str, words: Iterable[str]) -> str:
    """``; did you mean X?`` or nothing."""
    close = difflib.get_close_matches(word.upper(), {w.upper(): w for w in words}, n=1)
    by_upper = {w.upper(): w for w in words}
    return f"; did you mean {by_upper[close[0]]}?" if close else ""


def _weight(selector: str) -> int:
    """How exact a selector is: ``ALL`` least, a code or a name most."""
    if selector == "ALL":
        return 0
    return 99 if "-" in selector else len(selector)


def _words() -> list[str]:
    return [word for code, rule in all_rules().items() for word in (code, rule.name)]


def _own() -> Iterator[type[Rule]]:
    return _in_package(jitwatch.rules)


def _third_party() -> Iterator[type[Rule]]:
    for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
        try:
            loaded = entry.load()
        except Exception as error:
            raise JitwatchError(
                f"the rules of {entry.name} ({entry.value}) do not load: {type(error).__name__}: {error}"
            ) from error
        if inspect.ismodule(loaded):
            yield from _in_package(loaded)
        else:
            yield loaded


def _in_package(package: ModuleType) -> Iterator[type[Rule]]:
    yield from _in_module(package)
    for info in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
        yield from _in_module(importlib.import_module(info.name))


def _in_module(module: ModuleType) -> Iterator[type[Rule]]:
    for value in vars(module).values():
        if inspect.isclass(value) and issubclass(value, Rule) and value.__module__ == module.__name__:
            yield value
