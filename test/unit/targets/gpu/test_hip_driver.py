"""HipDriver: its calls of HIP through ctypes, programs on it, and its errors without a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from fake_hip import FakeHip
from gpu_runtime_programs import CASES, CHAIN, COUNT, chain, chain_inputs
from simulated_gpu import as_text
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.amdgcn import executable as hip_executable
from xhlo.targets.amdgcn.executable import HipExecutable
from xhlo.targets.amdgcn.runtime import device as hip_device
from xhlo.targets.amdgcn.runtime import hip_driver
from xhlo.targets.amdgcn.runtime.errors import HipError, HipUnavailableError
from xhlo.targets.amdgcn.runtime.hip_driver import HipDriver
from xhlo.targets.amdgcn.target import AMDGCN
from xhlo.targets.gpu.image import GpuImage
from xhlo.targets.gpu.runtime.device import Device
from xhlo.targets.gpu.runtime.driver import LibraryCall
from xhlo.targets.gpu.runtime.host_program import read_host_program
from xhlo.targets.program.lowering import Lowering
from xhlo.targets.registry import get_target


def compiled(text: str, device: Device, monkeypatch: pytest.MonkeyPatch, chip: str = "gfx90a") -> HipExecutable:
    """A program for a simulated device: its "code object" is the gpu-level IR."""
    ctx = make_context()
    lowering = Lowering(ctx, parse_module(text, "<text>", ctx), AMDGCN.configured({"chip": chip}))
    lowering.to("loops")
    host = read_host_program(lowering.module)
    code = as_text(lowering.module, host)[0].encode()
    monkeypatch.setattr(hip_executable, "is_linked", lambda code: True)
    return HipExecutable(GpuImage(chip, code, "", host, lowering.facts), lambda stage: "", device)


def test_the_device_is_described() -> None:
    info = HipDriver(library=FakeHip()).device
    assert (info.name, info.chip, info.memory) == ("Fake Instinct", "gfx90a", 1 << 30)


def test_programs_run_through_hip(monkeypatch: pytest.MonkeyPatch) -> None:
    hip = FakeHip()
    device = Device(HipDriver(library=hip))
    program = compiled(CHAIN, device, monkeypatch)
    kept = []
    for seed in range(6):
        inputs = chain_inputs(seed)
        kept.append((inputs, program(*program.place(inputs))))
    for inputs, results in kept:
        for actual, wanted in zip(results, chain(*inputs), strict=True):
            np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-5)
    assert results[0].__dlpack_device__() == (10, 0), "kDLROCM"
    assert {"hipModuleLoadData", "hipModuleLaunchKernel", "hipMemcpyHtoDAsync"} <= set(hip.calls)


def test_loops_and_branches_through_hip(monkeypatch: pytest.MonkeyPatch) -> None:
    device, x = Device(HipDriver(library=FakeHip())), np.arange(7, dtype=np.float32)
    loop, branch = (compiled(text, device, monkeypatch) for text in (COUNT, CASES))
    for _ in range(2):
        np.testing.assert_array_equal(loop(np.int32(5), x), x / 32)
        np.testing.assert_array_equal(branch(np.int32(2), x), 2 * x)


def test_another_device_is_entered_and_left() -> None:
    hip = FakeHip(count=2)
    driver = HipDriver(1, hip)
    with driver.entered():
        assert hip.current == 1
    assert hip.current == 0


def test_errors_carry_hips_names() -> None:
    hip = FakeHip()
    driver = HipDriver(library=hip)
    with driver.entered():
        with pytest.raises(HipError, match="hipErrorOutOfMemory: cannot allocate .*: as HIP says it") as caught:
            driver.allocate(1 << 40)
        assert caught.value.out_of_memory
        event, stream = driver.new_event(), driver.new_stream()
        driver.record(event, stream)
        assert not driver.is_done(event)
        driver.synchronize(stream)
        assert driver.is_done(event)
        assert driver.device_of(64) is None and driver.stream_id(stream) == stream
        module = driver.load(b"builtin.module {\n}")
        with pytest.raises(HipError, match="hipErrorNotFound: kernel @k: cannot find the kernel"):
            driver.function(module, "k", 0)
        hip.fails["hipEventQuery"] = "hipErrorIllegalAddress"
        with pytest.raises(HipError, match="hipErrorIllegalAddress: cannot look at an event"):
            driver.is_done(event)
        with pytest.raises(HipError, match="cannot call a library for matrix products"):
            driver.enqueue(LibraryCall(None, "k", (), 0), stream)  # pyright: ignore[reportArgumentType]


def test_too_little_memory_is_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    hip = FakeHip()
    device = Device(HipDriver(library=hip))
    program = compiled(CHAIN, device, monkeypatch)
    hip.fails["hipMalloc"] = "hipErrorOutOfMemory"
    with pytest.raises(MemoryError, match="hipErrorOutOfMemory: cannot allocate .* on Fake Instinct"):
        program(*chain_inputs())


def test_a_capture_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    hip = FakeHip()
    device = Device(HipDriver(library=hip))
    with device.driver.entered():
        stream = device.driver.new_stream()
    hip.gpu.captured.add(stream)
    with pytest.raises(HipError, match="hipErrorStreamCaptureUnsupported: cannot run a program"):
        device.check_not_captured(stream)


def test_a_program_for_another_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(HipDriver(library=FakeHip("gfx1100")))
    with pytest.raises(HipUnavailableError, match="compiled for gfx90a; the Fake Instinct is gfx1100"):
        compiled(CHAIN, device, monkeypatch)(*chain_inputs())


# Without a GPU.


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: not found")

    monkeypatch.setattr(hip_driver.ctypes, "CDLL", missing)
    with pytest.raises(
        HipUnavailableError, match="the amdgcn target cannot run here: there is no HIP runtime"
    ) as caught:
        HipDriver()
    assert "hlo-run --target=simt --chip=gfx942" in caught.value.diagnostics[0].notes[0].message


def test_no_device() -> None:
    with pytest.raises(HipUnavailableError, match="HIP finds no GPU"):
        HipDriver(library=FakeHip(count=0))
    with pytest.raises(HipUnavailableError, match="there is no GPU 3; HIP shows 1, numbered from 0"):
        HipDriver(3, FakeHip())
    hip = FakeHip()
    hip.fails["hipInit"] = "hipErrorUnknown"
    with pytest.raises(HipUnavailableError, match=r"HIP does not start \(hipErrorUnknown\)"):
        HipDriver(library=hip)


def test_the_chip_of_the_device_is_compiled_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hip_device.use_device(Device(HipDriver(library=FakeHip("gfx1100"))))
    try:
        assert get_target("amdgcn").present().machine == "gfx1100"
        assert AMDGCN.configured({"chip": "gfx90a"}).present().machine == "gfx90a"
        monkeypatch.setenv("XHLO_GPU_CHIP", "gfx942")
        assert AMDGCN.present().machine == "gfx942"
        monkeypatch.setenv("XHLO_GPU_CHIP", "sm_90")
        with pytest.raises(HipUnavailableError, match="XHLO_GPU_CHIP: no chip is named 'sm_90'"):
            AMDGCN.present()
    finally:
        hip_device.use_device(None)
