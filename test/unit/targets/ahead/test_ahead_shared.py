"""Shared libraries for Apple's systems and Windows, by lld."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ahead_machines import WARNINGS, run
from xhlo.targets.ahead import linking
from xhlo.targets.ahead.library import compile_ahead
from xhlo.targets.ahead.linking import LinkError
from xhlo.targets.ahead.object_symbols import object_symbols
from xhlo.tools import hlo_aot

PROGRAM = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %x, %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}"""


@pytest.mark.parametrize("triple", ["arm64-apple-macos", "x86_64-apple-darwin", "x86_64-windows-msvc"])
def test_shared_libraries_of_other_systems(triple: str) -> None:
    library = compile_ahead(PROGRAM, triple=triple, threads="callback")
    names = {"model_run", "model_set_parallel_for"}
    try:
        made = library.shared_library
    except LinkError as error:
        pytest.skip(str(error))
    assert made == library.shared_library, "the same bytes"
    name = "model.dll" if "windows" in triple else "libmodel.dylib"
    assert library.files(["shared"])[name] == made
    if "windows" in triple:
        assert made[:2] == b"MZ" and all(name.encode() + b"\0" in made for name in {*names, "model.dll"})
        imports = library.files(["shared"])["model_dll.lib"]
        assert imports.startswith(b"!<arch>\n") and b"model_run\0model.dll\0" in imports
    else:
        assert b"/usr/lib/libSystem.B.dylib\0" in made and b"@rpath/libmodel.dylib\0" in made
        assert names <= {name for name, defined in object_symbols(made, library.machine.format) if defined}


MINGW = "x86_64-w64-mingw32-gcc"
WINE = shutil.which("wine64") or shutil.which("wine") or shutil.which("wine64", path="/usr/lib/wine")


@pytest.mark.skipif(shutil.which(MINGW) is None or WINE is None, reason="a compiler for Windows and Wine")
@pytest.mark.parametrize("triple", ["x86_64-windows-gnu", "x86_64-windows-msvc"])
def test_a_dll_runs_in_wine(triple: str, tmp_path: Path) -> None:
    """By its import library, with weights that are mapped and a version that is chosen by the CPU."""
    weights = np.arange(2048, dtype=np.float32)
    source = f"""
func.func @main(%x: tensor<2048xf32>) -> tensor<2048xf32> {{
  %w = stablehlo.constant dense<"0x{weights.tobytes().hex()}"> : tensor<2048xf32>
  %0 = stablehlo.multiply %x, %w : tensor<2048xf32>
  return %0 : tensor<2048xf32>
}}"""
    try:
        _ = compile_ahead(source, triple=triple).shared_library
    except LinkError as error:
        pytest.skip(str(error))
    (tmp_path / "source.mlir").write_text(source)
    flags = [f"--target={triple}", "--shared", "--weights", "--emit-test", "--multiversion=v2,v3"]
    assert hlo_aot.main([str(tmp_path / "source.mlir"), "-o", str(tmp_path / "model"), *flags]) == 0
    imports = "model_dll.lib" if triple.endswith("msvc") else "libmodel.dll.a"
    run(tmp_path, MINGW, "-std=c99", *WARNINGS, "-DMODEL_DLL", "model_test.c", imports, "-o", "test.exe")
    assert WINE is not None
    settings = {**os.environ, "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
    done = subprocess.run([WINE, "test.exe"], cwd=tmp_path, env=settings, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "all results agree" in done.stdout, done.stdout + done.stderr


def test_without_a_linker_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> None:
        return None

    monkeypatch.setattr(linking, "_found", nothing)
    for triple, way in (("arm64-apple-macos", "ld64.lld.*on a Mac"), ("x86_64-windows-msvc", "lld-link.*on Windows")):
        with pytest.raises(LinkError, match=way):
            _ = compile_ahead(PROGRAM, triple=triple).shared_library
