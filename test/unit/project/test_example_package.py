"""The package of examples/add_an_op passes its own lit tests, as if pip had installed it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from checkout import ROOT

PACKAGE = ROOT / "examples" / "add_an_op"


def _metadata(folder: Path) -> None:
    """The metadata that an installation writes: the package's name and entry points."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    info = folder / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {where}\n" for name, where in points.items())
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))


def test_the_tests_of_the_package_pass(tmp_path: Path) -> None:
    _metadata(tmp_path)
    path = os.pathsep.join((str(tmp_path), str(PACKAGE), str(ROOT)))
    done = subprocess.run(
        [sys.executable, "-c", "from lit.main import main; main()", "-v", "--no-progress-bar", str(PACKAGE / "test")],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed: 3" in done.stdout


def test_xhlo_knows_nothing_of_it() -> None:
    for folder in ("hlo_dialect", "dialects", "lowering", "passes", "targets", "tools", "xhlo"):
        for file in (ROOT / folder).rglob("*.py"):
            assert "myops" not in file.read_text()
