"""From a ``@triton.jit`` function to the Python function that Triton's interpreter would run.

Triton has its own way (``InterpretedFunction``), made for ``TRITON_INTERPRET=1``. This one differs where both
forms share a process: nothing is written into the kernel's module, closures work, names imported from
``triton.language`` work, and the source is the one the compiler read.
"""

from __future__ import annotations

import ast
import threading
from types import FunctionType
from typing import Any, Callable

from .language import InterpretedLanguage
from .patches import Patches


class Functions:
    """Interpretable forms of jit functions. One launch sees one set of globals: ``begin`` and ``end`` bound it."""

    def __init__(self, language: InterpretedLanguage) -> None:
        self.language = language
        self._code: dict[int, tuple[Any, str, Any]] = {}
        self._bodies: dict[int, Callable[..., Any]] = {}
        self._thread: int | None = None

    def begin(self) -> None:
        """A launch starts in this thread."""
        self._bodies = {}
        self._thread = threading.get_ident()

    def end(self) -> None:
        """The launch is over."""
        self._thread = None
        self._bodies = {}

    @property
    def running(self) -> bool:
        """A launch is being interpreted in this thread."""
        return self._thread == threading.get_ident()

    def body(self, jit: Any) -> Callable[..., Any]:
        """Python function of a JITFunction, to be called while the language is interpreted."""
        found = self._bodies.get(id(jit))
        if found is None:
            found = self._bodies[id(jit)] = self._build(jit)
        return found

    def _build(self, jit: Any) -> Callable[..., Any]:
        namespace = self._namespace(jit.fn)
        exec(self._compiled(jit), namespace)
        body = namespace[jit.fn.__name__]
        assert isinstance(body, FunctionType)
        body.__defaults__ = jit.fn.__defaults__
        body.__kwdefaults__ = jit.fn.__kwdefaults__
        return body

    def _namespace(self, function: Any) -> dict[str, Any]:
        """Globals of the body: the interpreter's (its rewritten code names them), the module's, the closure's."""
        interpreter = self.language.interpreter
        cells = zip(function.__code__.co_freevars, function.__closure__ or ())
        replace = self.language.replacement
        namespace = dict(vars(interpreter))
        namespace.update((name, replace(value)) for name, value in function.__globals__.items())
        namespace.update((name, replace(cell.cell_contents)) for name, cell in cells)
        for name in ("interpreter_semantic", "interpreter_builder"):
            if hasattr(interpreter, name):
                namespace[name] = getattr(interpreter, name)
        return namespace

    def _compiled(self, jit: Any) -> Any:
        """Code of the rewritten source; anew when the source was replaced, kept alive with its function."""
        kept = self._code.get(id(jit))
        if kept is None or kept[1] != jit.src:
            kept = self._code[id(jit)] = (jit, jit.src, self._rewrite(jit))
        return kept[2]

    def _rewrite(self, jit: Any) -> Any:
        tree = ast.parse(jit.src)
        definition = tree.body[0]
        assert isinstance(definition, ast.FunctionDef)
        _strip_signature(definition)
        tree = self.language.interpreter.ASTTransformer().visit(tree)
        ast.fix_missing_locations(tree)
        ast.increment_lineno(tree, jit.fn.__code__.co_firstlineno - 1)
        return compile(tree, jit.fn.__code__.co_filename, "exec")


def _strip_signature(definition: ast.FunctionDef) -> None:
    """Defaults are taken from the function itself, and annotations need not be evaluable here."""
    definition.decorator_list = []
    definition.returns = None
    arguments = definition.args
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
    for argument in [*arguments.args, *arguments.posonlyargs, *arguments.kwonlyargs]:
        argument.annotation = None


def make_callable(functions: Functions, patches: Patches) -> None:
    """Let an interpreted kernel call jit functions: its helpers, ``tl.sum``, functions given as arguments."""
    from triton.runtime.jit import JITFunction

    original = JITFunction.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if functions.running:
            return functions.body(self)(*args, **kwargs)
        return original(self, *args, **kwargs)

    patches.set(JITFunction, "__call__", call)
