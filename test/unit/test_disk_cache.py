"""Executables kept in a folder: found again, never trusted when damaged, never needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import xhlo
from xhlo.targets import compile as compiling
from xhlo.targets.cache import executables

PROGRAM = """
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = hlo.add %x, %x : tensor<5xf32>
  func.return %0 : tensor<5xf32>
}
"""
X = np.arange(5, dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XHLO_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture(autouse=True)
def _no_cache_in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_CACHE", compiling._Cache(0))


def passes_ran(executable: xhlo.Executable) -> bool:
    return "convert-to-llvm" in executable.compile_stages


def test_the_second_time_nothing_is_compiled(folder: Path) -> None:
    first = xhlo.compile(PROGRAM)
    assert passes_ran(first)
    (kept,) = folder.iterdir()
    assert kept.suffix == ".xhlo"
    second = xhlo.compile(PROGRAM)
    assert not passes_ran(second)
    np.testing.assert_array_equal(second(X), 2 * X)
    assert second.as_text("llvm") == first.as_text("llvm")


def test_other_programs_and_options_are_others(folder: Path) -> None:
    xhlo.compile(PROGRAM)
    xhlo.compile(PROGRAM, profile=True)
    xhlo.compile(PROGRAM.replace("add", "multiply"))
    assert len(list(folder.iterdir())) == 3


def test_other_processes_find_it(folder: Path) -> None:
    xhlo.compile(PROGRAM)
    code = f"import sys, xhlo; e = xhlo.compile({PROGRAM!r}); print('convert-to-llvm' in e.compile_stages)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize("damage", [b"", b"no executable", None])
def test_damaged_files_are_written_anew(folder: Path, damage: bytes | None) -> None:
    xhlo.compile(PROGRAM)
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if damage is None else damage)
    with pytest.warns(RuntimeWarning, match="is not used and will be written anew"):
        executable = xhlo.compile(PROGRAM)
    assert passes_ran(executable)
    np.testing.assert_array_equal(executable(X), 2 * X)
    assert not passes_ran(xhlo.compile(PROGRAM))


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XHLO_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="cannot be"):
        executable = xhlo.compile(PROGRAM)
    np.testing.assert_array_equal(executable(X), 2 * X)


def test_a_change_of_the_compiler_makes_other_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    xhlo.compile(PROGRAM)
    monkeypatch.setattr(executables, "compiler_fingerprint", lambda: "another")
    assert passes_ran(xhlo.compile(PROGRAM))


def test_programs_of_registered_functions_are_not_kept(folder: Path) -> None:
    text = """
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = hlo.custom_call @kept_twice(%x) : (tensor<5xf32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}
"""
    xhlo.register_custom_call("kept_twice", lambda call, x: 2 * x)
    try:
        np.testing.assert_array_equal(xhlo.compile(text)(X), 2 * X)
        assert not folder.exists()
    finally:
        from xhlo.hlo_dialect.custom_calls.registry import REGISTRY

        REGISTRY.remove("kept_twice")
