"""What is shipped: the wheel holds the rules and kernels as real files, and asks for little."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = out.iterdir()
    return zipfile.ZipFile(built)


def test_the_wheel_holds_every_rule_and_kernel_as_a_real_file(wheel: zipfile.ZipFile) -> None:
    """A checkout without symbolic links would ship ``jitwatch/rules`` as a text file, silently."""
    inside = {info.filename: info.file_size for info in wheel.infolist()}
    for folder in ("rules", "kernels"):
        here = {f"jitwatch/{path.relative_to(ROOT)}": path for path in (ROOT / folder).rglob("*.py")}
        there = {name for name in inside if name.startswith(f"jitwatch/{folder}/") and name.endswith(".py")}
        assert there == set(here)
        assert all(inside[name] == path.stat().st_size for name, path in here.items())


def test_the_wheel_installs_one_package_and_nothing_beside_it(wheel: zipfile.ZipFile) -> None:
    assert {name.split("/")[0].split("-")[0] for name in wheel.namelist()} == {"jitwatch"}


def test_the_bootstrap_travels_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    assert "jitwatch/bootstrap/sitecustomize.py" in wheel.namelist()


def test_the_core_needs_neither_triton_nor_torch(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = Parser().parsestr(wheel.read(name).decode())
    core = [need for need in metadata.get_all("Requires-Dist", []) if "extra ==" not in need]
    names = {need.split(";")[0].split(">")[0].strip() for need in core}
    assert names == {"pathspec", "rich", "tomli"}


def test_the_links_in_the_checkout_are_links() -> None:
    for folder in ("rules", "kernels"):
        assert (ROOT / "jitwatch" / folder).is_symlink(), f"jitwatch/{folder} must be a link to ../{folder}"
        assert (ROOT / "jitwatch" / folder).resolve() == ROOT / folder
