from __future__ import annotations

from pathlib import Path

import pytest

from tests.testing import sample_project


@pytest.fixture
def anyio_backend() -> str:
    """The server and its client are asyncio's."""
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with four kernels that recompile, launched from another file."""
    folder = tmp_path / "a project"  # a blank and whatever else a URI has to escape
    folder.mkdir()
    sample_project.build(folder)
    return folder
