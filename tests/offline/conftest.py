"""The stand-in device, for the tests of a module, and out of the way of everybody else's after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jitwatch.runtime import offline

pytest.importorskip("torch")
pytest.importorskip("triton")


@pytest.fixture(scope="module")
def said() -> Iterator[list[str]]:
    """An H200 stands by; what was said about it so far."""
    sentences: list[str] = []
    offline.activate("cuda:90", notice=sentences.append)
    yield sentences
    offline.deactivate()
