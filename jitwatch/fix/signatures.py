"""Edits of a kernel's signature."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from jitwatch.fix.brackets import Brackets
from jitwatch.fix.changes import CannotEdit
from jitwatch.lint.finding import Edit
from jitwatch.source.model import Kernel, Parameter

_CONSTEXPR = re.compile(r"""["']?[\w.]*\bconstexpr["']?""")
_COLON = re.compile(rb"\s*:\s*")
_DEFAULT = re.compile(rb"\s*=\s*")


def without_constexpr(source: bytes, parameter: Parameter) -> Edit:
    """The edit that takes ``: tl.constexpr`` off a parameter. Raises CannotEdit."""
    annotation, end = parameter.annotation_span, parameter.span.end
    if annotation is None or not _CONSTEXPR.fullmatch(parameter.annotation or ""):
        raise CannotEdit(f"the annotation of `{parameter.name}` is more than tl.constexpr")
    if not _COLON.fullmatch(source[end : annotation.start]):
        raise CannotEdit(f"something stands between `{parameter.name}` and its annotation")
    if parameter.default is None:
        return Edit(end, annotation.end, "")
    default = _DEFAULT.match(source, annotation.end)
    if default is None:
        raise CannotEdit(f"something stands between `{parameter.name}` and its default")
    return Edit(end, default.end(), "=")


def annotated(parameter: Parameter, type_: str, imports: Mapping[str, str]) -> Edit:
    """The edit that fixes an integer type (``i32``). Raises CannotEdit."""
    language = next((name for name, origin in imports.items() if origin == "triton.language"), None)
    if parameter.annotation is not None or parameter.default is not None:
        raise CannotEdit(f"`{parameter.name}` has an annotation or a default already")
    if language is None:
        raise CannotEdit("the file does not import triton.language under a name")
    # tl.int32, not "i32" or int: the spelling that every release understands (others from 3.4 on).
    kind = "uint" if type_.startswith("u") else "int"
    return Edit(parameter.span.end, parameter.span.end, f": {language}.{kind}{type_[1:]}")


def without_parameters(source: bytes, kernel: Kernel, parameters: Collection[Parameter]) -> list[Edit]:
    """Edits that take parameters out of the signature. Raises CannotEdit."""
    opening = kernel.span.end + len(source[kernel.span.end :]) - len(source[kernel.span.end :].lstrip())
    if source[opening : opening + 1] != b"(":
        raise CannotEdit(f"`{kernel.name}` has type parameters")
    brackets = Brackets.at(source, opening)
    if any(brackets.text(index).startswith(("*", "/")) for index in range(len(brackets.elements))):
        raise CannotEdit(f"`{kernel.name}` has `*` or `/` in its signature")
    return brackets.removing({brackets.index_at(parameter.span.start) for parameter in parameters})
