"""Call back when a module has been imported, without importing it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Callback = Callable[[ModuleType], None]


class ImportWatcher:
    """A finder that finds nothing itself: it lets the others find, and wraps the execution of the watched modules.

    Each module is watched once; when all have been seen the finder leaves ``sys.meta_path``. Callbacks run right
    after the module's body, before the importing statement goes on; their errors are swallowed.
    """

    def __init__(self, callbacks: dict[str, Callback]) -> None:
        self.waiting = dict(callbacks)

    def install(self) -> None:
        """Go first on ``sys.meta_path``; modules that are imported already are called back at once."""
        for name in [name for name in self.waiting if name in sys.modules]:
            _call(self.waiting.pop(name), sys.modules[name])
        if self.waiting:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Part of the finder protocol: the spec of a watched module, its loader wrapped; None for all others."""
        callback = self.waiting.get(name)
        if callback is None:
            return None
        spec = self._ask_the_others(name, path, target)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return None
        del self.waiting[name]
        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)
        _call_after_execution(spec, callback)
        return spec

    def _ask_the_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is not self and find is not None:
                spec: ModuleSpec | None = find(name, path, target)
                if spec is not None:
                    return spec
        return None


def _call_after_execution(spec: ModuleSpec, callback: Callback) -> None:
    loader = spec.loader
    assert loader is not None
    execute = loader.exec_module

    def execute_and_call(module: ModuleType) -> None:
        # The loader belongs to this one spec; give it its own method back for whoever asks it later (reload).
        loader.exec_module = execute  # type: ignore[method-assign]
        execute(module)
        _call(callback, module)

    loader.exec_module = execute_and_call  # type: ignore[method-assign]


def _call(callback: Callback, module: ModuleType) -> None:
    try:
        callback(module)
    except Exception as error:  # noqa: BLE001  the watched program's import must succeed whatever we do
        from . import journal

        journal.complain("attach", error)
