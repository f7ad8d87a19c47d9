"""Finds the kernel's JITFunction: imports its module as the run did, without running it as a program."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any


class NotFound(Exception):
    """The kernel cannot be had; the message is one line for the user."""


def load_kernel(kernel: Mapping[str, Any]) -> Any:
    """The JITFunction of a ``KernelSource``. Raises NotFound."""
    if "<locals>" in kernel["name"]:
        raise NotFound(
            "it is defined inside a function; move it to module level, or change it and compare two runs"
        )
    module = _load_module(kernel["module"], kernel["path"], kernel["roots"])
    named = _follow(module, kernel["name"])
    for candidate in (named, *vars(module).values()):
        function = unwrap(candidate)
        if function is not None and _is_named(function, kernel):
            return function
    raise NotFound(f"{kernel['path']} defines no @triton.jit kernel {kernel['name']} any more")


def unwrap(value: Any) -> Any:
    """The JITFunction inside Autotuner and Heuristics wrappers; None for anything else."""
    for _ in range(20):
        if hasattr(value, "arg_names") and hasattr(value, "params") and hasattr(value, "cache_key"):
            return value
        value = value.__func__ if isinstance(value, staticmethod) else getattr(value, "fn", None)
        if value is None:
            return None
    return None


def _is_named(function: Any, kernel: Mapping[str, Any]) -> bool:
    raw = getattr(function, "fn", None)
    code = getattr(raw, "__code__", None)
    if code is None or getattr(raw, "__qualname__", None) != kernel["name"]:
        return False
    return _same_file(code.co_filename, kernel["path"])


def _follow(module: ModuleType, qualname: str) -> Any:
    value: Any = module
    for part in qualname.split("."):
        value = vars(value).get(part) if hasattr(value, "__dict__") else None
    return value


def _load_module(name: str, path: str, roots: list[str]) -> ModuleType:
    """The module `name` when that is the file at `path`; else the file under a name of its own."""
    for root in reversed(roots):
        if root not in sys.path:
            sys.path.insert(0, root)
    alias = f"_jitwatch_verified_{abs(hash(path))}"
    if alias in sys.modules:
        return sys.modules[alias]
    if not os.path.exists(path):
        raise NotFound(f"{path} does not exist here; run verify on the machine and in the folder of the run")
    with _explained(path):
        if name != "__main__" and _is_that_file(name, path):
            return importlib.import_module(name)
        # Under its own name a script would run: `if __name__ == "__main__"`.
        spec = importlib.util.spec_from_file_location(alias, path)
        if spec is None or spec.loader is None:
            raise NotFound(f"{path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[alias] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[alias]
            raise
        return module


def _is_that_file(name: str, path: str) -> bool:
    if name in sys.modules:
        origin = getattr(sys.modules[name], "__file__", None)
    else:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            return False
        origin = spec.origin if spec else None
    return origin is not None and _same_file(origin, path)


def _same_file(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    """Turn whatever the user's module does at import into one line."""
    try:
        yield
    except NotFound:
        raise
    except BaseException as error:  # a module that calls sys.exit at import must not end the worker
        if isinstance(error, KeyboardInterrupt):
            raise
        text = " ".join(str(error).split())[:200]
        raise NotFound(
            f"importing {path} failed: {type(error).__name__}{': ' if text else ''}{text}"
        ) from error
