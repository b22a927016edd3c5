"""CudaDriver: its calls of cuda-bindings, and its errors without a GPU."""

from __future__ import annotations

import gc
import importlib.util
import sys
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.bindings") is None:
    pytest.skip("the package cuda-bindings is not installed", allow_module_level=True)

from fake_cuda import FakeCuda
from gpu_runtime_programs import CASES, CHAIN, COUNT, chain, chain_inputs
from simulated_gpu import SimulatedDriver, compile_simulated
from xhlo.targets.gpu.runtime.device import Device
from xhlo.targets.gpu.runtime.driver import GpuUnavailableError
from xhlo.targets.nvptx.runtime import bindings
from xhlo.targets.nvptx.runtime.cuda_driver import CudaDriver
from xhlo.targets.nvptx.runtime.device import open_device, present_chip, use_device
from xhlo.targets.nvptx.runtime.errors import CudaError


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake = FakeCuda()
    monkeypatch.setitem(sys.modules, bindings.MODULE, fake)
    return fake


def test_the_device_is_described(cuda: FakeCuda) -> None:
    info = CudaDriver().device
    assert (info.name, info.capability, info.chip) == ("Fake GPU", (9, 0), "sm_90")
    assert (info.memory, info.multiprocessors, info.l2_bytes) == (1 << 30, 4, 1 << 20)


def test_programs_run_through_the_bindings(cuda: FakeCuda) -> None:
    device = Device(CudaDriver())
    executable = compile_simulated(CHAIN, device, fuse=False)
    kept = []
    for seed in range(8):
        inputs = chain_inputs(seed)
        kept.append((inputs, executable(*executable.place(inputs))))
    for inputs, results in kept:
        for actual, wanted in zip(results, chain(*inputs), strict=True):
            np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-5)
    assert {"cuLaunchKernel", "cuGraphAddKernelNode", "cuGraphExecKernelNodeSetParams"} <= set(cuda.calls)
    assert cuda.context_depth == 0


def test_loops_and_branches_through_the_bindings(cuda: FakeCuda) -> None:
    device = Device(CudaDriver())
    x = np.arange(7, dtype=np.float32)
    loop, branch = (
        compile_simulated(text, device, profile=profile) for text, profile in ((COUNT, True), (CASES, False))
    )
    for _ in range(2):
        np.testing.assert_array_equal(loop(np.int32(5), x), x / 32)
        np.testing.assert_array_equal(branch(np.int32(2), x), 2 * x)
    assert "cuGraphAddMemcpyNode" in cuda.calls and "cuGraphAddEventRecordNode" in cuda.calls
    assert sum(kernel.calls for kernel in loop.kernels) > 10


def test_large_blocks_of_shared_memory_are_asked_for(cuda: FakeCuda) -> None:
    driver = CudaDriver()
    with driver.entered():
        module = driver.load(
            b"builtin.module {\n  gpu.module @kernels {\n    gpu.func @k() kernel {\n      gpu.return\n    }\n  }\n}"
        )
        driver.function(module, "k", 0)
        driver.function(module, "k", 100_000)
    assert cuda.gpu.log == ["shared 100000"]


def test_errors_carry_cudas_names(cuda: FakeCuda) -> None:
    driver = CudaDriver()
    with driver.entered():
        with pytest.raises(CudaError, match="CUDA_ERROR_OUT_OF_MEMORY: cannot allocate .*: as the driver says it"):
            driver.allocate(1 << 40)
        event = driver.new_event()
        stream = driver.new_stream()
        driver.record(event, stream)
        assert not driver.is_done(event)
        driver.synchronize(stream)
        assert driver.is_done(event)


def test_the_log_of_the_drivers_compiler(cuda: FakeCuda) -> None:
    driver = CudaDriver()
    cuda.compiler_log = b"ptxas application ptx input, line 9; error : Unknown modifier"
    cuda.gpu.refuse["load"] = "CUDA_ERROR_INVALID_PTX"
    with driver.entered(), pytest.raises(CudaError, match="compiler says: ptxas application ptx input, line 9; error"):
        driver.load(b".version 7.8")


def test_memory_is_allocated_during_a_capture_by_another_library(cuda: FakeCuda) -> None:
    """In global mode, that of PyTorch, a call that may synchronize is refused and ends the capture."""
    driver = CudaDriver()
    cuda.gpu.captured.add(99)
    with driver.entered():
        driver.free(driver.allocate(64))
        driver.allocate_host(64)
        assert cuda.gpu.captured == {99} and driver.device_of(64) is None
        assert driver.is_captured(99) and not driver.is_captured(driver.new_stream())


def test_a_graph_is_freed_with_its_nodes(cuda: FakeCuda) -> None:
    device = Device(CudaDriver())
    executable = compile_simulated(CHAIN, device, fuse=False)
    for _ in range(3):
        executable(*executable.place(chain_inputs()))
    del executable
    gc.collect()
    assert cuda.calls.count("cuGraphCreate") == cuda.calls.count("cuGraphDestroy") > 0
    assert cuda.calls.count("cuGraphExecDestroy") == cuda.calls.count("cuGraphInstantiate")


def test_a_fault_of_a_kernel(cuda: FakeCuda) -> None:
    device = Device(CudaDriver())
    executable = compile_simulated(CHAIN, device)
    (name, *_) = executable.image.host.functions
    cuda.gpu.refuse[f"launch @{name}"] = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
    with pytest.raises(
        CudaError, match=f"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: kernel @{name}: cannot launch it: as the"
    ):
        executable(*chain_inputs())


# Without a GPU.


def test_no_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, bindings.MODULE, None)
    with pytest.raises(GpuUnavailableError, match=r"cuda-bindings is missing or broken .*`pip install xhlo\[gpu\]`"):
        CudaDriver()


def test_no_driver(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    class DynamicLibNotFoundError(RuntimeError):
        """The exception of cuda-pathfinder of that name."""

    def missing(self: Any, flags: int) -> None:
        raise DynamicLibNotFoundError("cuda can only be found via system search")

    monkeypatch.setattr(FakeCuda, "_cuInit", missing)
    with pytest.raises(
        GpuUnavailableError, match="no CUDA driver on this machine: libcuda comes with NVIDIA's display"
    ):
        CudaDriver()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ("CUDA_ERROR_NO_DEVICE", "the CUDA driver finds no GPU"),
        ("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "are of different versions"),
        ("CUDA_ERROR_SYSTEM_NOT_READY", r"the CUDA driver does not start \(CUDA_ERROR_SYSTEM_NOT_READY\)"),
    ],
)
def test_a_driver_that_does_not_start(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, error: str, message: str
) -> None:
    def failing(self: Any, flags: int) -> None:
        raise CudaError(error, "")

    monkeypatch.setattr(FakeCuda, "_cuInit", failing)
    with pytest.raises(GpuUnavailableError, match=message):
        CudaDriver()


def test_no_such_gpu(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GpuUnavailableError, match="there is no GPU 1; the driver shows 1, numbered from 0"):
        CudaDriver(1)
    monkeypatch.setattr(cuda, "devices", 0)
    with pytest.raises(GpuUnavailableError, match="the CUDA driver finds no GPU"):
        CudaDriver()
    monkeypatch.setenv("XHLO_GPU_DEVICE", "first")
    with pytest.raises(GpuUnavailableError, match="XHLO_GPU_DEVICE is the number of a GPU, from 0, not 'first'"):
        open_device()


def test_the_chip_of_the_gpu_at_hand(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    for capability, chip in (((8, 6), "sm_86"), ((10, 0), "sm_100")):
        use_device(Device(SimulatedDriver(capability=capability)))
        try:
            assert present_chip() == chip
        finally:
            use_device(None)
    use_device(Device(SimulatedDriver(capability=(6, 1))))
    try:
        with pytest.raises(GpuUnavailableError, match="Simulated GPU: compute capability 6.1 is not supported"):
            present_chip()
    finally:
        use_device(None)
    monkeypatch.setenv("XHLO_GPU_CHIP", "sm_80")
    assert present_chip() == "sm_80"
    monkeypatch.setenv("XHLO_GPU_CHIP", "sm_1")
    with pytest.raises(GpuUnavailableError, match="XHLO_GPU_CHIP: no chip is named 'sm_1'"):
        present_chip()


def test_hlo_run_says_what_is_missing(run_hlo_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, bindings.MODULE, None)
    for flags in (["--target=gpu"], ["--target=nvptx", "--profile"], ["--compare=gpu"]):
        done = run_hlo_run(CHAIN, *flags)
        assert done.status == 1 and not done.out
        assert done.err.startswith("error: the gpu target cannot run here: the Python package cuda-bindings is missing")
        assert "hlo-opt --target=nvptx --emit=ptx" in done.err and "Traceback" not in done.err
