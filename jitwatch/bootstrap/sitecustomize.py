"""Runs at the start of every Python process under `jitwatch profile`, from a folder put first on PYTHONPATH.

It loads the recorder by path, under a private package name, so that it works when jitwatch lives in another
virtual environment than the command, and never clashes with a jitwatch the command itself imports. Then it
hands over to the ``sitecustomize`` it shadows (ddtrace #458 shows what happens otherwise).
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _attach():
    # type: () -> None
    """Load ``jitwatch/runtime/attach.py`` as ``_jitwatch.runtime.attach`` and start it; swallow every error."""
    try:
        import types

        package = types.ModuleType("_jitwatch")
        package.__path__ = [os.path.dirname(_HERE)]
        sys.modules.setdefault("_jitwatch", package)
        from _jitwatch.runtime import attach  # type: ignore[import-not-found]

        attach.start(os.environ["JITWATCH_SESSION"])
    except Exception as error:  # noqa: BLE001  a watched program must start whatever happens here
        if os.environ.get("JITWATCH_DEBUG"):
            print(f"jitwatch: not attached: {type(error).__name__}: {error}", file=sys.stderr)


def _hand_over():
    # type: () -> None
    """Leave sys.path as the user set it, then import the ``sitecustomize`` that is found on it, if there is one."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
    ours = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        # The import system expects a module of this name when this one has run.
        sys.modules.setdefault("sitecustomize", ours)


if os.environ.get("JITWATCH_SESSION"):
    _attach()
_hand_over()
