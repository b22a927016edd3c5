"""xhlo.compile for the GPU without one: caches in the process and on disk, bytes of executables, assemblers."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import xhlo
from gpu_runtime_programs import CALLING, CASES, CHAIN, CHECKED, COUNT, chain, chain_inputs
from simulated_gpu import compile_simulated, simulated_device
from xhlo.hlo_dialect.made_once import MadeOnce
from xhlo.lowering.device.chips import get_chip
from xhlo.targets import compile as compiling
from xhlo.targets.cache import files
from xhlo.targets.nvptx import build, cubin_cache
from xhlo.targets.nvptx.executable import CudaExecutable
from xhlo.targets.nvptx.loading import load
from xhlo.targets.program.container import unpack

with_ptxas = pytest.mark.skipif(shutil.which("ptxas") is None, reason="there is no ptxas on PATH")


@pytest.fixture(autouse=True)
def _a_chip_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XHLO_GPU_CHIP", "sm_90")


def test_the_targets_two_names_share_what_is_compiled() -> None:
    executable = xhlo.compile(CHAIN, target="gpu")
    assert isinstance(executable, CudaExecutable) and isinstance(executable, xhlo.Executable)
    assert xhlo.compile(CHAIN, target="nvptx") is executable
    assert xhlo.compile(CHAIN, target="gpu", profile=True) is not executable
    assert xhlo.compile(CHAIN) is not executable
    assert [t.text for t in executable.output_types] == ["tensor<5x33xf32>", "tensor<33xf32>"]


def test_another_chip_is_another_executable(monkeypatch: pytest.MonkeyPatch) -> None:
    one = xhlo.compile(CHAIN, target="gpu")
    monkeypatch.setenv("XHLO_GPU_CHIP", "sm_80")
    other = xhlo.compile(CHAIN, target="gpu")
    assert (one.image.chip, other.image.chip) == ("sm_90", "sm_80")
    assert ".target sm_80" in other.as_text("ptx") and ".target sm_80" in other.image.ptx


def test_every_stage_is_text() -> None:
    executable = xhlo.compile(CHAIN, target="gpu")
    expected = {
        "hlo": "hlo.reduce",
        "fused": "hlo.fusion",
        "linalg": "linalg.generic",
        "loops": "gpu.launch_func",
        "nvvm": "nvvm.",
        "llvm": "ptx_kernel",
        "ptx": ".visible .entry",
    }
    for stage, text in expected.items():
        assert text in executable.as_text(stage), stage
    with pytest.raises(ValueError, match="no stage 'asm'"):
        executable.as_text("asm")


def test_stages_of_the_compilation_are_timed() -> None:
    stages = xhlo.compile(CHAIN, target="gpu").compile_stages
    assert {"read", "map-kernels-to-gpu", "emit PTX", "assemble"} <= set(stages)


@with_ptxas
def test_the_image_holds_machine_code_and_ptx() -> None:
    image = xhlo.compile(CHAIN, target="gpu").image
    assert image.cubin.startswith(b"\x7fELF")
    for name in image.host.functions:
        assert f".entry {name}(" in image.ptx


def test_without_an_assembler_the_driver_gets_ptx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "assemblers", lambda: iter(()))
    monkeypatch.setattr(cubin_cache, "assemblers", lambda: iter(()))
    monkeypatch.setattr("xhlo.targets.nvptx.assembler.assemblers", lambda: iter(()))
    assert build.machine_code(".version 7.8", get_chip("sm_90")) == b""


@pytest.mark.parametrize("text", [CHAIN, COUNT, CASES, CHECKED])
def test_bytes_hold_all_of_a_program(text: str) -> None:
    device = simulated_device()
    executable = compile_simulated(text, device, fuse=False)
    loaded = load(unpack(executable.serialize()), str)
    assert loaded.image.host == executable.image.host
    again = CudaExecutable(loaded.image, lambda stage: "", device)
    inputs = [np.ones(t.shape, t.dtype) for t in executable.input_types]
    results = [each if isinstance(each, tuple) else (each,) for each in (executable(*inputs), again(*inputs))]
    for actual, wanted in zip(*results, strict=True):
        np.testing.assert_array_equal(actual, wanted)


def test_bytes_of_a_program_that_calls_the_host() -> None:
    @xhlo.custom_call("gpu_test.tenfold")
    def tenfold(call: xhlo.CustomCall, x: np.ndarray) -> np.ndarray:
        return x * 10

    executable = compile_simulated(CALLING.replace("gpu_test.rank", "gpu_test.tenfold"))
    image = load(unpack(executable.serialize()), str).image
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(CudaExecutable(image, str, simulated_device())(x), x - 10 * x)


def test_deserialize_knows_the_target() -> None:
    executable = xhlo.compile(CHAIN, target="gpu")
    loaded = xhlo.deserialize(executable.serialize())
    assert isinstance(loaded, CudaExecutable)
    assert loaded.image.ptx == executable.image.ptx and loaded.image.cubin == executable.image.cubin
    assert "hlo.fusion" in loaded.as_text("fused")
    assert type(xhlo.deserialize(xhlo.compile(CHAIN).serialize())) is type(xhlo.compile(CHAIN))


# The folder.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XHLO_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.delenv("XHLO_CACHE_SIZE")
    monkeypatch.setattr(compiling, "_CACHE", MadeOnce(0))
    return tmp_path / "kept"


@with_ptxas
def test_executables_and_machine_code_are_kept(folder: Path) -> None:
    first = xhlo.compile(CHAIN, target="gpu")
    (executable,), (cubin,) = folder.glob("*.xhlo"), folder.glob("*.cubin")
    second = xhlo.compile(CHAIN, target="gpu")
    assert not second.compile_stages and second.image.cubin == first.image.cubin
    # The program changed, its kernels did not.
    executable.unlink()
    third = xhlo.compile(CHAIN.replace("func.func @main", "// again\nfunc.func @main"), target="gpu")
    assert "map-kernels-to-gpu" in third.compile_stages
    assert third.image.cubin == first.image.cubin
    assert list(folder.glob("*.cubin")) == [cubin]


@with_ptxas
def test_kept_machine_code_is_used_and_never_trusted_when_damaged(folder: Path, monkeypatch) -> None:
    chip = get_chip("sm_90")
    ptx = ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n"
    code = cubin_cache.cached_cubin(ptx, chip)
    (path,) = folder.glob("*.cubin")
    assemble = cubin_cache.assemble
    monkeypatch.setattr(cubin_cache, "assemble", lambda ptx, chip: pytest.fail("it was assembled again"))
    assert cubin_cache.cached_cubin(ptx, chip) == code
    monkeypatch.setattr(cubin_cache, "assemble", assemble)
    for damaged in (b"", path.read_bytes()[:-1], b"x" + path.read_bytes()[1:]):
        path.write_bytes(damaged)
        files._warned.clear()
        with pytest.warns(RuntimeWarning, match="is not used and will be written anew: it is damaged"):
            assert cubin_cache.cached_cubin(ptx, chip) == code
        assert files.read(path) == code
    # Other chips and other PTX versions have their own files.
    cubin_cache.cached_cubin(ptx, get_chip("sm_100"))
    assert len(list(folder.glob("*.cubin"))) == 2


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        files.write(tmp_path / "file" / "x.cubin", b"code")


def test_results_do_not_depend_on_how_the_program_was_loaded() -> None:
    device = simulated_device()
    inputs = chain_inputs()
    for fuse in (True, False):
        results = compile_simulated(CHAIN, device, fuse=fuse)(*inputs)
        for actual, wanted in zip(results, chain(*inputs), strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-5)
