from __future__ import annotations

from tests.lint.conftest import lint, project

__all__ = ["lint", "project"]
