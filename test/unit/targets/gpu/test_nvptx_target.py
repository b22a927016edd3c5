"""The NVPTX target without a GPU: chips and PTX versions, the choice of assembler, its report, deterministic output."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT, SUPPORT
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.lowering.device.chips import (
    CHIPS,
    PTX_VERSIONS,
    Chip,
    PtxVersionError,
    UnknownChipError,
    chip_of_capability,
    get_chip,
    ptx_text,
    ptx_version,
)
from xhlo.targets.nvptx import assembler
from xhlo.targets.nvptx.assembler import MISSING, AssemblyError, assemble, assemblers
from xhlo.targets.nvptx.ptx import compile_to_ptx
from xhlo.targets.nvptx.resources import KernelResources, parse_resources, resources_table

SOFTMAX = ROOT / "examples" / "softmax.mlir"

KERNEL = """
define ptx_kernel void @first(ptr addrspace(1) noalias align 16 %out, float %a, float %b) "nvvm.reqntid"="64,1,1" {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %out, i32 %t
  %ab = fmul float %a, %b
  %s = fadd float %ab, %a
  %m = call float @llvm.maximum.f32(float %s, float %b)
  %h = fptrunc float %m to bfloat
  %w = fpext bfloat %h to float
  store float %w, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare float @llvm.maximum.f32(float, float)
"""
needs_ptxas = pytest.mark.skipif(shutil.which("ptxas") is None, reason="there is no ptxas on PATH")


@pytest.fixture
def no_assembler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without ptxas, wheels and nvJitLink; the value is a folder on its sys.path."""
    monkeypatch.delenv(assembler.CHOICE, raising=False)
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(assembler, "_nvjitlink_version", lambda: None)
    return tmp_path


def fake_ptxas(path: Path, version: str, log: str = "", status: int = 0) -> Path:
    """A program that behaves like a ptxas of that version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write = "printf cubin > kernels.cubin" if status == 0 else ":"
    path.write_text(
        f"#!/bin/sh\n[ \"$1\" = --version ] && echo 'Cuda compilation tools, V{version}' && exit 0\n"
        f"cat <<'END'\n{log}\nEND\n{write}\nexit {status}\n"
    )
    path.chmod(0o755)
    return path


# Chips -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_llvm_and_ptxas_know_the_chip(chip: Chip) -> None:
    """With its default version, and with the oldest; with an older one LLVM aborts the process."""
    for version in {chip.ptx, chip.oldest_ptx}:
        ptx = compile_to_ptx(KERNEL, chip, version)
        assert f".version {ptx_text(version)}\n.target {chip.name}\n" in ptx
        assert "mul.rn.f32" in ptx and "fma" not in ptx.split("cvt.rn.bf16")[0], "products and sums are contracted"
        assert ("max.NaN.f32" in ptx) == (chip.has_nan_max and version >= 70)
    if shutil.which("ptxas"):
        assert [kernel.name for kernel in assemble(ptx, chip).kernels] == ["first"]


@pytest.mark.parametrize("name", ["sm_75", "sm_90a", "sm_100"])
def test_llvm_agrees_on_the_oldest_version(name: str) -> None:
    """LLVM aborts the process for the version before: the table is as strict as it must be, and no stricter."""
    chip = get_chip(name)
    older = [version for version in (60, *PTX_VERSIONS) if version < chip.oldest_ptx][-1]
    code = (
        "from xhlo.targets.nvptx import ptx; from xhlo.lowering.device.chips import get_chip; import dataclasses;"
        f"chip = dataclasses.replace(get_chip({name!r}), oldest_ptx=60);"
        f"ptx.compile_to_ptx('define void @f() {{ ret void }}', chip, {older})"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"inimum required PTX version is {ptx_text(chip.oldest_ptx)}" in done.stderr, "LLVM's own, no Python error"
    assert "Traceback" not in done.stderr
    with pytest.raises(PtxVersionError, match="does not know"):
        compile_to_ptx(KERNEL, chip, older)


def test_ptx_versions_that_are_asked_for() -> None:
    assert ptx_version(get_chip("sm_80")) == 78
    assert ptx_version(get_chip("sm_100")) == 86
    assert ptx_version(get_chip("sm_80"), "8.4") == 84
    assert ptx_version(get_chip("sm_75"), "6.3") == 63
    for wanted in ("7.8", "12.0", "8", "8.41", "-1.0", ""):
        with pytest.raises(PtxVersionError):
            ptx_version(get_chip("sm_100"), wanted)


def test_unknown_chips() -> None:
    with pytest.raises(UnknownChipError, match=r"no chip is named 'B200'; there are: sm_75, .*; B200 is sm_100"):
        get_chip("B200")
    with pytest.raises(UnknownChipError, match="there are"):
        get_chip("sm_90b")


def test_chips_of_devices() -> None:
    assert chip_of_capability(9, 0).name == "sm_90"
    assert chip_of_capability(12, 1).name == "sm_121"
    assert chip_of_capability(10, 9).name == "sm_103", "the newest before it"
    with pytest.raises(UnknownChipError, match="6.1 is not supported"):
        chip_of_capability(6, 1)


# Assemblers --------------------------------------------------------------------------------------------------------


def test_no_assembler(no_assembler: Path) -> None:
    with pytest.raises(DiagnosticError) as error:
        assemble("", get_chip("sm_90"))
    assert MISSING in str(error.value)


def test_wheels_are_searched(no_assembler: Path) -> None:
    fake_ptxas(no_assembler / "nvidia" / "cu13" / "bin" / "ptxas", "13.1.2")
    fake_ptxas(no_assembler / "nvidia" / "cuda_nvcc" / "bin" / "ptxas", "12.8.1")
    assert [one.name for one in assemblers()] == ["ptxas 13.1.2", "ptxas 12.8.1"]
    cubin = assemble(".version 7.8", get_chip("sm_90"))
    assert cubin.code == b"cubin"
    assert cubin.assembler == "ptxas 13.1.2"


def test_an_old_assembler_leaves_the_work_to_the_next(no_assembler: Path) -> None:
    old = "ptxas fatal   : Value 'sm_100' is not defined for option 'gpu-name'"
    fake_ptxas(no_assembler / "nvidia" / "cu13" / "bin" / "ptxas", "11.8.0", old, 1)
    fake_ptxas(no_assembler / "nvidia" / "cuda_nvcc" / "bin" / "ptxas", "12.8.1")
    assert assemble("", get_chip("sm_100")).assembler == "ptxas 12.8.1"


def test_only_old_assemblers(no_assembler: Path) -> None:
    old = "ptxas kernels.ptx, line 1; fatal   : Unsupported .version 8.6; current version is '7.8'"
    fake_ptxas(no_assembler / "nvidia" / "cu13" / "bin" / "ptxas", "11.8.0", old, 1)
    with pytest.raises(DiagnosticError, match="no assembler at hand knows sm_100 and its PTX") as error:
        assemble("", get_chip("sm_100"))
    assert "ptxas 11.8.0: " + old in error.value.diagnostics[0].notes[0].message


def test_the_chosen_assembler(no_assembler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_ptxas(no_assembler / "nvidia" / "cu13" / "bin" / "ptxas", "13.1.2")
    monkeypatch.setenv(assembler.CHOICE, str(fake_ptxas(no_assembler / "mine", "12.9.9")))
    assert [one.name for one in assemblers()] == ["ptxas 12.9.9"]
    monkeypatch.setenv(assembler.CHOICE, str(no_assembler / "nothing"))
    with pytest.raises(DiagnosticError, match="XHLO_PTXAS names .*nothing, which is no program"):
        assemble("", get_chip("sm_90"))
    monkeypatch.setenv(assembler.CHOICE, "/bin/true")
    with pytest.raises(DiagnosticError, match="writes no machine code: is it ptxas"):
        assemble("", get_chip("sm_90"))
    monkeypatch.setenv(assembler.CHOICE, assembler.NVJITLINK)
    assert list(assemblers()) == []


@needs_ptxas
def test_wrong_ptx_is_shown() -> None:
    ptx = compile_to_ptx(KERNEL, get_chip("sm_90"), 78).replace("ret;", "bogus.f32 %r1;")
    with pytest.raises(
        AssemblyError, match=r"line \d+: Not a name of any known instruction: 'bogus'\n +bogus.f32 %r1;"
    ):
        assemble(ptx, get_chip("sm_90"))


# Resources of kernels -------------------------------------------------------------------------------------------------

LOG = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'b' for 'sm_90'
ptxas info    : Function properties for b
    8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 8 bytes cumulative stack size, 17408 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 5.537 ms
ptxas info    : Function properties for helper
    64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers
"""


def test_report_of_ptxas() -> None:
    small, large = parse_resources(LOG)
    assert small == KernelResources("a", registers=4)
    assert large == KernelResources("b", 255, spill_stores=16, spill_loads=24, stack=8, shared=17408, barriers=1)
    assert large.spills and not small.spills
    lines = resources_table((small, large)).splitlines()
    assert lines[0].split() == "kernel registers spill stores spill loads stack shared barriers".split()
    assert lines[2].split() == "b 255 16 24 8 17408 1".split()


# hlo-opt -----------------------------------------------------------------------------------------------------------


def test_cold_compilation_of_a_softmax() -> None:
    """Counts the work; benchmarks/compile_time.py measures the time."""
    words = ["--fuse", "--lower", "--target=nvptx", "--emit=ptx", f"-o{os.devnull}", str(SOFTMAX)]
    code = (
        "import sys; from counting import calls; from xhlo.tools.hlo_opt import main; "
        f"print(calls(lambda: main({words!r})), len(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=SUPPORT, capture_output=True, text=True, check=True)
    work, modules = map(int, done.stdout.split())
    assert work < 2_500_000
    assert modules < 900


def test_a_program_without_kernels() -> None:
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    command = [sys.executable, "-m", "xhlo.tools.hlo_opt", "--fuse", "--lower", "--target=nvptx", "--emit=ptx"]
    done = subprocess.run(command, cwd=ROOT, input=text.encode(), capture_output=True, check=True)
    assert b".target sm_90" in done.stdout
    assert b".entry" not in done.stdout
