"""Run the tests that depend on Triton against another release: ``python tests/matrix.py 3.2.0 [pytest arguments]``.

The release gets a virtual environment of its own, ``.venv-triton-3.2.0``, that holds this one package; everything
else (torch, pytest, jitwatch itself) it sees through the environment that runs this script. So six releases cost six
Tritons and one torch.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEPENDENT = [
    *(
        "tests/processes",
        "tests/traps",
        "tests/recorder",
        "tests/offline",
        "tests/verify",
        "tests/test_specialization_binder.py",
    ),
]


def prepare(release: str) -> Path:
    """Make the environment of a release, unless it is there; returns its interpreter."""
    home = ROOT / f".venv-triton-{release}"
    python = home / "bin" / "python"
    if (home / "complete").exists():
        return python
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", home], check=True)
    outer = sysconfig.get_path("purelib")
    inner = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    # addsitedir and not a bare path: the outer environment's own .pth files (the editable jitwatch) count too.
    Path(inner, "outer.pth").write_text(f"import site; site.addsitedir({outer!r})\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps"]
    # Triton up to 3.2 imports setuptools and does not ask for it.
    subprocess.run([*pip, f"triton=={release}", "setuptools"], check=True)
    (home / "complete").touch()
    return python


def main() -> int:
    """Test one release; exit code of pytest."""
    release, *arguments = sys.argv[1:]
    python = prepare(release)
    found = subprocess.run(
        [python, "-c", "import triton; print(triton.__version__)"], check=True, capture_output=True, text=True
    ).stdout.strip()
    if found != release:
        print(f"matrix: {python} imports Triton {found}, not {release}", file=sys.stderr)
        return 2
    print(f"== Triton {release}", flush=True)
    command = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "-p",
        "no:cacheprovider",
        *(arguments or DEPENDENT),
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
