"""One pool of workers for all the tests here: a worker costs a Triton import, and torch's where a module needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jitwatch.verify import Pool, Verdict, verify_remedies
from jitwatch.verify.files import find_kernel, requests_of_kernel
from jitwatch.verify.wanted import Wanted, parse_remedies

KERNELS = Path(__file__).with_name("kernels.py")

Verify = Callable[..., dict[str, Verdict]]


@pytest.fixture(scope="session")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    """Two workers with an empty disk cache of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton-cache")))
        with Pool(workers=2) as pool:
            pool.compile([])
            yield pool


@pytest.fixture
def verify(pool: Pool) -> Verify:
    """Verify a kernel, of ``kernels.py`` if nothing else is said: verdicts by parameter."""

    def verify(
        name: str, *remedies: str, signature: str = "", target: str = "cuda:90", file: Path = KERNELS
    ) -> dict[str, Verdict]:
        project, kernel = find_kernel(f"{file}::{name}")
        wanted = Wanted(parse_remedies(remedies))
        requests = requests_of_kernel(project, kernel, wanted, target, signature=signature, pool=pool)
        verdicts = verify_remedies(requests, target, pool=pool)
        if target.startswith("hip") and any("ld.lld not found" in verdict.reason for verdict in verdicts):
            pytest.skip("Triton up to 3.5 links for AMD with ROCm's linker, which is not here")
        return {verdict.parameter: verdict for verdict in verdicts}

    return verify
