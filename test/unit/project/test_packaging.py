"""`pip install xhlo` installs the core's packages; the rest are extras."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkout import ROOT
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.targets.cache import files
from xhlo.targets.cpu.guard import check_system

FLOORS = ("dialects", "hlo_dialect", "lowering", "passes", "targets", "frontends", "tools", "xhlo/numpy")
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

CORE = {"xdsl", "numpy", "llvmlite", "ml_dtypes", "scipy-openblas32"}
JAX_ONLY = ("frontends/jax",)
"""Folders that JAX loads, which is then there."""


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!;~ ]", each)[0] for each in requirements}


def imports_at_the_start(tree: ast.Module) -> Iterator[str]:
    """The packages that a file loads as it is loaded itself."""
    for statement in tree.body:
        match statement:
            case ast.Import():
                yield from (alias.name.split(".")[0] for alias in statement.names)
            case ast.ImportFrom(level=0, module=str(module)):
                yield module.split(".")[0]
            case _:
                pass


@pytest.mark.long
def test_the_core_brings_what_its_modules_load() -> None:
    assert names(PROJECT["dependencies"]) == CORE
    found: dict[str, str] = {}
    for path in (path for floor in FLOORS for path in (ROOT / floor).rglob("*.py")):
        if not path.is_relative_to(ROOT / JAX_ONLY[0]):
            found.update(dict.fromkeys(imports_at_the_start(ast.parse(path.read_text())), str(path)))
    others = {name: path for name, path in found.items() if name not in sys.stdlib_module_names and name not in CORE}
    assert not others


def test_the_rest_is_in_extras() -> None:
    extras = {extra: names(each) for extra, each in PROJECT["optional-dependencies"].items()}
    assert {"cuda-python", "cuda-bindings", "nvidia-nvjitlink"} <= extras["gpu"]
    assert {"lit", "filecheck", "pytest", "jax"} <= extras["test"]
    assert not CORE & set().union(*extras.values())


def test_the_tested_ends_of_xdsl_are_those_of_its_range() -> None:
    (stated,) = [each for each in PROJECT["dependencies"] if each.startswith("xdsl")]
    oldest = re.search(r"^OLDEST_XDSL := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert oldest is not None
    assert stated.startswith(f"xdsl>={oldest[1].removesuffix('.0')},<")


@pytest.mark.long
def test_without_llvmlite_only_machine_code_is_refused(tmp_path: Path) -> None:
    """As on Macs with Intel's processors, for which llvmlite has no wheel."""
    script = f"""
import sys
sys.modules["llvmlite"] = sys.modules["llvmlite.binding"] = None
from xhlo.tools.hlo_opt import main
from xhlo.tools.hlo_run import main as run
program = {str(ROOT / "examples" / "softmax.mlir")!r}
assert main(["--fuse", "--lower", program, "-o", {str(tmp_path / "lowered")!r}]) == 0
assert run([program, "--target=reference"]) == 0
assert run([program]) == 1
assert main(["--fuse", "--lower", "--emit=asm", program]) == 1
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("machine code needs the package llvmlite, which cannot be loaded") == 2, done.stderr
    assert "Traceback" not in done.stderr


def test_what_a_system_lacks_is_refused_or_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(DiagnosticError, match="guard mode on the CPU needs 64-bit Linux"):
        check_system()
    monkeypatch.setattr(files, "SUPPORTED", False)
    monkeypatch.setenv(files.VARIABLE, str(tmp_path))
    with pytest.warns(RuntimeWarning, match="XHLO_CACHE_DIR is ignored: on this system"):
        assert files.cache_folder() is None
