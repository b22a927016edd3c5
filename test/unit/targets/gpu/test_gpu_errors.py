"""Errors of programs on a simulated GPU: launches, faults, arguments, chips and drivers that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from gpu_runtime_programs import CHAIN, CHECKED, chain, chain_inputs
from simulated_gpu import compile_simulated, simulated_device
from xhlo.targets.gpu.runtime import host_program
from xhlo.targets.gpu.runtime.driver import GpuUnavailableError
from xhlo.targets.nvptx.executable import CudaExecutable
from xhlo.targets.nvptx.runtime.errors import CudaError


def test_a_refused_launch_names_the_kernel() -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device)
    name = next(iter(executable.image.host.functions))
    device.driver.refuse[f"launch @{name}"] = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
    with pytest.raises(CudaError, match=f"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: kernel @{name}: ") as caught:
        executable(*chain_inputs())
    assert caught.value.name == "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" and caught.value.kernel == name
    np.testing.assert_allclose(executable(*chain_inputs())[0], chain(*chain_inputs())[0], rtol=1e-5)


def test_a_fault_surfaces_where_somebody_waits_and_names_who_may_be_the_cause(monkeypatch) -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device, fuse=False)
    guilty = list(executable.image.host.functions)[1]
    placed = executable.place(chain_inputs())
    device.driver.faults[guilty] = "CUDA_ERROR_ILLEGAL_ADDRESS"
    results = executable(*placed)
    with pytest.raises(CudaError, match=rf"CUDA_ERROR_ILLEGAL_ADDRESS: .*@{guilty}.*XHLO_GPU_CHECK=1"):
        results[0].numpy()

    monkeypatch.setenv("XHLO_GPU_CHECK", "1")
    device = simulated_device()
    executable = compile_simulated(CHAIN, device, fuse=False)
    device.driver.faults[guilty] = "CUDA_ERROR_ILLEGAL_ADDRESS"
    with pytest.raises(CudaError, match=f"CUDA_ERROR_ILLEGAL_ADDRESS: kernel @{guilty}: ") as caught:
        executable(*chain_inputs())
    assert caught.value.kernel == guilty


def test_the_only_kernel_is_named() -> None:
    device = simulated_device()
    executable = compile_simulated(CHECKED.replace("  check.expect_eq %0, %1 : tensor<3xf32>\n", ""), device)
    (name,) = executable.image.host.functions
    device.driver.faults[name] = "CUDA_ERROR_ILLEGAL_ADDRESS"
    with pytest.raises(CudaError, match=f"CUDA_ERROR_ILLEGAL_ADDRESS: kernel @{name}: "):
        executable(np.ones(3, np.float32))


def test_arguments_that_do_not_fit() -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device)
    x, y = chain_inputs()
    with pytest.raises(TypeError, match="expected 2 arguments, got 1"):
        executable(x)
    with pytest.raises(TypeError, match="argument 1: expected dtype float32"):
        executable(x, y.astype(np.float64))
    with pytest.raises(TypeError, match=r"argument 0: expected shape \(5, 33\)"):
        executable(x[:4], y)
    with pytest.raises(TypeError, match="argument 0: expected an array of type"):
        executable("x", y)
    assert not device.driver.ran


def test_code_of_another_chip() -> None:
    """Machine code for sm_80 runs on 8.6, its PTX on all later chips; that for sm_90a only on 9.0."""
    x, y = chain_inputs()
    later = compile_simulated(CHAIN, simulated_device(capability=(12, 0)), chip="sm_80")
    np.testing.assert_allclose(later(x, y)[0], chain(x, y)[0], rtol=1e-5)
    for chip, capability in (("sm_90a", (10, 0)), ("sm_90", (8, 0))):
        with pytest.raises(GpuUnavailableError, match=f"compiled for {chip}; the Simulated GPU is sm_"):
            compile_simulated(CHAIN, simulated_device(capability=capability), chip=chip)(x, y)


def test_a_driver_that_is_older_than_the_assembler_compiles_the_ptx() -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device)
    # The simulated driver can run what it loads as "PTX".
    executable.image.cubin = b"machine code"
    device.driver.refuse["load"] = "CUDA_ERROR_INVALID_IMAGE"
    np.testing.assert_allclose(executable(*chain_inputs())[0], chain(*chain_inputs())[0], rtol=1e-5)
    assert device.driver.counts["load"] == 2


def test_a_driver_that_does_not_know_the_version_of_the_ptx() -> None:
    device = simulated_device()
    executable = compile_simulated(CHAIN, device)
    loaded: list[bytes] = []

    def load(code: bytes) -> Any:
        loaded.append(code)
        if b".version 8.7" in code:
            raise CudaError("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "cannot load the kernels' code")
        return real(b"\n".join(code.splitlines()[1:]))

    real, device.driver.load = device.driver.load, load
    executable.image.ptx = ".version 8.7\n" + executable.image.ptx
    device.driver.cuda = 12020
    np.testing.assert_allclose(executable(*chain_inputs())[0], chain(*chain_inputs())[0], rtol=1e-5)
    assert [code.splitlines()[0] for code in loaded] == [b".version 8.7", b".version 8.2"]

    again = CudaExecutable(executable.image, lambda stage: "", device)
    device.driver.cuda = 11040
    with pytest.raises(
        GpuUnavailableError, match=r"of CUDA 11\.4, which reads PTX up to 7\.4; sm_90 is known from 7\.8"
    ):
        again(*chain_inputs())


def test_long_copies_are_made_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy in a graph has less than 2 GiB."""
    monkeypatch.setattr(host_program, "COPY_BYTES", 100)
    text = "func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {\n  func.return %x : tensor<64xf32>\n}"
    executable = compile_simulated(text)
    steps = [(step.source.offset, step.target.offset, step.nbytes) for step in executable.image.host.steps]
    assert steps == [(0, 0, 100), (100, 100, 100), (200, 200, 56)]
    x = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(executable(x), x)


def test_what_the_host_cannot_do_is_refused_at_its_place() -> None:
    from xdsl.dialects import test as test_dialect

    from xhlo.hlo_dialect.diagnostics import DiagnosticError
    from xhlo.hlo_dialect.dialect import make_context
    from xhlo.hlo_dialect.reading import parse_module
    from xhlo.targets.gpu.runtime.host_program import read_host_program

    ctx = make_context()
    text = """
func.func @main(%x: memref<4xf32>, %y: memref<f32>) {
  %v = memref.load %y[] : memref<f32>
  func.return
}
"""
    with pytest.raises(DiagnosticError, match="here:3:8: error: 'memref.load' op reads a value of type f32; the host"):
        read_host_program(parse_module(text, "here", ctx))
    module = parse_module("func.func @main() {\n  func.return\n}", "here", ctx)
    block = next(iter(module.ops)).body.block
    block.insert_op_before(test_dialect.TestOp(), block.last_op)
    with pytest.raises(DiagnosticError, match="'test.op' op is not supported in the host's part of a GPU program"):
        read_host_program(module)


def test_without_a_gpu_programs_compile_and_say_that_they_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from xhlo.targets.nvptx.runtime import device as devices

    def absent(ordinal: int | None = None) -> None:
        raise GpuUnavailableError("the CUDA driver finds no GPU")

    monkeypatch.setattr(devices, "open_device", absent)
    monkeypatch.setattr("xhlo.targets.nvptx.executable.open_device", absent)
    executable = xhlo.compile(CHAIN, target="gpu")
    assert ".target sm_90" in executable.as_text("ptx")
    with pytest.raises(GpuUnavailableError, match="the gpu target cannot run here: the CUDA driver finds no GPU"):
        executable(*chain_inputs())
