"""The house rules that no other tool checks: what the package is made of, and what loading it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLOORS = ("dialects", "hlo_dialect", "lowering", "passes", "targets", "frontends", "tools")
SOURCES = sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
MAX_LINES = 500
"""A file that grows past it holds two things."""


@pytest.mark.parametrize("floor", FLOORS)
def test_the_package_is_links_to_the_folders(floor: str):
    link = ROOT / "xhlo" / floor
    assert link.is_symlink()
    assert link.resolve() == ROOT / floor
    assert (ROOT / floor / "__init__.py").exists()


def test_files_are_short_and_explained():
    wrong: list[str] = []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > MAX_LINES:
            wrong.append(f"{path.relative_to(ROOT)}: {lines} lines, at most {MAX_LINES}")
        if ast.get_docstring(ast.parse(text)) is None:
            wrong.append(f"{path.relative_to(ROOT)}: no docstring")
        if path.stem in ("utils", "helpers", "misc", "common"):
            wrong.append(f"{path.relative_to(ROOT)}: a name that says nothing")
    assert not wrong, "\n".join(wrong)


def test_imports_go_downwards():
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _loaded_by(code: str, *names: str) -> list[str]:
    """Which of the modules are loaded after running the code in a new process."""
    program = f"import sys\n{code}\nprint(*[name for name in {names!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_importing_xhlo_loads_nothing():
    assert not _loaded_by("import xhlo", "xdsl", "numpy", "llvmlite", "lit", "filecheck", "cuda", "jax")


def test_hlo_opt_loads_no_backend():
    code = (
        "import io; sys.stdin = io.TextIOWrapper(io.BytesIO(b'func.func @main() { return }'))\n"
        "from xhlo.tools.hlo_opt import main; main(['--cse'])"
    )
    assert not _loaded_by(code, "llvmlite", "lit", "filecheck", "cuda", "jax")
