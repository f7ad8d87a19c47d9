"""Short ways to read a snippet with the source model."""

from __future__ import annotations

import textwrap

from jitwatch.source import analyse_module, link
from jitwatch.source.lengths import Judgement, judge
from jitwatch.source.model import Kernel, LaunchValue, Module, Parameter, Project

HEADER = "import triton\nimport triton.language as tl\n"


def read(source: str, path: str = "kernels.py") -> Module:
    """Analyse a snippet, with Triton imported above it."""
    return analyse_module(path, (HEADER + textwrap.dedent(source)).encode())


def project(**files: str) -> Project:
    """Link snippets, one a module name."""
    return link([read(source, f"{name}.py") for name, source in files.items()])


def kernel(source: str, name: str | None = None) -> Kernel:
    """Return the only kernel of a snippet, or the one called ``name``, linked."""
    found = [each for each in project(kernels=source).kernels["kernels.py"] if name in (None, each.name)]
    assert len(found) == 1
    return found[0]


def parameter(source: str, name: str) -> Parameter:
    """Return one parameter of the only kernel of a snippet."""
    found = kernel(source).parameter(name)
    assert found is not None
    return found


def passed(host: str, expression: str = "n") -> LaunchValue:
    """Say what a launch passes that ends the given host code with ``kernel[grid](expression)``."""
    source = "@triton.jit\ndef kernel(n):\n    pass\n" + textwrap.dedent(host)
    lines = source.rstrip("\n").split("\n")
    indent = lines[-1][: len(lines[-1]) - len(lines[-1].lstrip())]
    module = read("\n".join([*lines, f"{indent}kernel[(1,)]({expression})"]))
    return module.launches[-1].positional[0]


def judged(source: str, name: str, kernel_name: str | None = None) -> Judgement:
    """Judge one parameter of a snippet's kernel."""
    whole = project(kernels=source)
    found = [each for each in whole.kernels["kernels.py"] if kernel_name in (None, each.name)]
    assert len(found) == 1
    given = found[0].parameter(name)
    assert given is not None
    return judge(whole, found[0], given)
