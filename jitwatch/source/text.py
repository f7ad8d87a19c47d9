"""Source bytes, their syntax tree, and the spans of its nodes.

The standard library's ``ast`` does the analysis and not libcst: over the 346 kernel files of vLLM 0.33 (8 MB)
``ast`` parses in about a second where libcst with positions takes forty, and its (line, UTF-8 column) pairs
are all that a span needs. Edits are byte ranges cut from those spans, so comments and layout survive them.
"""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize

from jitwatch.source.model import Span

_NEWLINE = re.compile(rb"\r\n|\r|\n")
_DEFINITION = re.compile(rb"def\s+")


class SourceText:
    """One file's bytes with its tree; turns nodes into spans.

    Raises what ``ast.parse`` raises: SyntaxError, ValueError (NUL bytes), RecursionError, MemoryError.
    """

    def __init__(self, data: bytes) -> None:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        self._mark = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        try:
            text = data[self._mark :].decode(encoding.removesuffix("-sig"))
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise SyntaxError(f"not {encoding} text", (None, line, 1, None)) from None
        self.tree = ast.parse(text)
        self._encoding = None if encoding.startswith("utf-8") else encoding
        self.data = text.encode() if self._encoding or self._mark else data
        self._starts = [0, *(match.end() for match in _NEWLINE.finditer(self.data))]

    def offset(self, line: int, column: int) -> int:
        """Position in ``data`` of a tree's 1-based line and UTF-8 column."""
        return self._starts[line - 1] + column

    def segment(self, node: ast.expr | ast.stmt | ast.arg) -> str:
        """Return the source of a node, on one line."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.offset(node.lineno, node.col_offset)
        end = self.offset(node.end_lineno, node.end_col_offset)
        return re.sub(r"\s+", " ", self.data[start:end].decode())

    def holds(self, node: ast.stmt, written: bytes) -> bool:
        """Whether the source of a statement holds some text."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.offset(node.lineno, node.col_offset)
        return self.data.find(written, start, self.offset(node.end_lineno, node.end_col_offset)) >= 0

    def span(self, node: ast.expr | ast.stmt | ast.arg | ast.keyword) -> Span:
        """Return the span of a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.offset(node.lineno, node.col_offset)
        return self._between(
            node.lineno, start, node.end_lineno, self.offset(node.end_lineno, node.end_col_offset)
        )

    def name_span(self, node: ast.arg | ast.FunctionDef | ast.AsyncFunctionDef) -> Span:
        """Return the span of the name that an argument or a definition introduces."""
        start = self.offset(node.lineno, node.col_offset)
        name = node.arg if isinstance(node, ast.arg) else node.name
        if not isinstance(node, ast.arg):
            found = _DEFINITION.search(self.data, start)
            start = found.end() if found else start
        return self._between(node.lineno, start, node.lineno, start + len(name.encode()))

    def join(self, first: Span, last: Span) -> Span:
        """Return the span from the start of one to the end of the other."""
        return Span(first.line, first.column, last.end_line, last.end_column, first.start, last.end)

    def list_called(self, name: str) -> tuple[ast.List | ast.Tuple, int] | None:
        """Return the list or tuple that a module's variable is assigned, if only once, and how often it is read."""
        uses = [each.ctx for each in ast.walk(self.tree) if isinstance(each, ast.Name) and each.id == name]
        reads = sum(isinstance(context, ast.Load) for context in uses)
        values = [getattr(each, "value", None) for each in self.tree.body if name in _assigned(each)]
        if len(values) == len(uses) - reads == 1 and isinstance(values[0], ast.List | ast.Tuple):
            return values[0], reads
        return None

    def _between(self, line: int, start: int, end_line: int, end: int) -> Span:
        column, end_column = self._column(line, start), self._column(end_line, end)
        return Span(line, column, end_line, end_column, self._in_file(start), self._in_file(end))

    def _column(self, line: int, position: int) -> int:
        return len(self.data[self._starts[line - 1] : position].decode(errors="replace")) + 1

    def _in_file(self, position: int) -> int:
        if self._encoding:
            return len(self.data[:position].decode().encode(self._encoding))
        return position + self._mark


def _assigned(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    return [each.id for each in targets if isinstance(each, ast.Name)]


def dotted(node: ast.expr) -> str:
    """Return ``a.b.c`` of a name or attribute chain, empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""
