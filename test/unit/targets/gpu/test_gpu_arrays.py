"""GPU arrays of xhlo and of other libraries: DLPack, __cuda_array_interface__, streams, alignment, lifetimes."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from simulated_gpu import LEGACY, PER_THREAD, compile_simulated, simulated_device
from xhlo.hlo_dialect.types import ArrayType
from xhlo.targets.gpu.runtime.arrays import DeviceArray, stream_handle
from xhlo.targets.gpu.runtime.device import Device
from xhlo.targets.nvptx.runtime.errors import CudaError
from xhlo.targets.program import dlpack

DOUBLE = """
func.func @main(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %0 = hlo.add %x, %x : tensor<6x4xf32>
  func.return %0 : tensor<6x4xf32>
}
"""
TYPE = ArrayType((6, 4), np.dtype(np.float32), "tensor<6x4xf32>")
X = np.arange(24, dtype=np.float32).reshape(6, 4)


@pytest.fixture
def device() -> Device:
    return simulated_device()


def on_device(device: Device, values: np.ndarray) -> DeviceArray:
    block = device.allocate(values.nbytes, device.stream)
    device.upload(values, block.address, device.stream)
    return DeviceArray(device, ArrayType(values.shape, values.dtype, "tensor"), block)


def wait(device: Device, stream: int, other: int) -> None:
    driver = device.driver
    with driver.entered():
        event = driver.new_event()
        driver.record(event, other)
        driver.wait(stream, event)


class Foreign:
    """An array of another library, filled by that library's work in its own stream."""

    def __init__(self, device: Device, values: np.ndarray, offset: int = 0, stream: int | None = None):
        driver = device.driver
        with driver.entered():
            self.base = driver.allocate(values.nbytes + 64)
            self.stream = driver.new_stream() if stream is None else stream
            staged = driver.allocate_host(values.nbytes)
            import ctypes

            ctypes.memmove(staged, np.ascontiguousarray(values).ctypes.data, values.nbytes)
            driver.copy_to_device(self.base + offset, staged, values.nbytes, self.stream)
        self.address = self.base + offset
        self.device, self.values = device, values


class ByDlpack(Foreign):
    versioned = True
    asked: Any = None

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, 0

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None) -> Any:
        self.asked = (stream, max_version)
        assert stream is not None
        wait(self.device, stream, self.stream)
        return dlpack.export(
            self, self.address, self.values.shape, self.values.dtype, (dlpack.CUDA, 0), max_version is not None
        )


class ByOldDlpack(ByDlpack):
    def __dlpack__(self, *, stream: int | None = None) -> Any:
        return super().__dlpack__(stream=stream)


class ByInterface(Foreign):
    version = 3
    said: Any = "own"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface = {
            "shape": self.values.shape,
            "typestr": self.values.dtype.str,
            "data": (self.address, False),
            "version": self.version,
            "strides": None if self.values.flags.c_contiguous else self.values.strides,
        }
        if self.said is not None:
            interface["stream"] = self.stream if self.said == "own" else self.said
        return interface


@pytest.mark.parametrize("kind", [ByDlpack, ByOldDlpack, ByInterface])
def test_arrays_of_others_are_taken_where_they_are(device: Device, kind: type[Foreign]) -> None:
    executable = compile_simulated(DOUBLE, device)
    for _ in range(3):
        array = kind(device, X)
        result = executable(array)
        assert isinstance(result, DeviceArray)
        np.testing.assert_array_equal(result.numpy(), 2 * X)
    assert device.driver.counts["copy_to_device"] == 3, "the producer's own copies only"
    if isinstance(array, ByDlpack):
        assert array.asked[0] == device.stream.handle


def test_an_array_is_held_until_the_gpu_has_read_it(device: Device) -> None:
    executable = compile_simulated(DOUBLE, device)
    array = ByDlpack(device, X)
    gone = weakref.ref(array)
    result = executable(array)
    del array
    gc.collect()
    device.release_done()
    assert gone() is not None
    result.block_until_ready()
    gc.collect()
    assert gone() is None


def test_results_are_numpy_arrays_or_arrays_of_the_gpu_as_asked(device: Device) -> None:
    executable = compile_simulated(DOUBLE, device)
    (placed,) = executable.place([X])
    assert type(executable(X)) is np.ndarray
    assert type(executable(placed)) is DeviceArray
    assert type(executable(placed, on_device=False)) is np.ndarray
    assert type(executable(X, on_device=True)) is DeviceArray
    np.testing.assert_array_equal(executable(executable(placed)), 4 * X)


def test_a_misaligned_array_is_copied_on_the_device(device: Device) -> None:
    executable = compile_simulated(DOUBLE, device)
    result = executable(ByInterface(device, X, offset=4))
    np.testing.assert_array_equal(result.numpy(), 2 * X)
    assert f"copy {X.nbytes}" in device.driver.log


@pytest.mark.parametrize(("version", "said", "waits"), [(3, "own", 2), (3, None, 1), (2, None, 2)])
def test_streams_of_the_interface(device: Device, version: int, said: Any, waits: int) -> None:
    """
    Version 3 names the stream to wait for, or says that none is needed; before it, libraries used the legacy one. The
    owner waits for our reads.
    """
    executable = compile_simulated(DOUBLE, device)
    array = ByInterface(device, X, stream=LEGACY if version == 2 else None)
    array.version, array.said = version, said
    if said is None and version == 3:
        with device.driver.entered():
            device.driver.synchronize(array.stream)
    np.testing.assert_array_equal(executable(array).numpy(), 2 * X)
    assert device.driver.counts["wait"] == waits


def test_what_does_not_fit_is_refused(device: Device) -> None:
    executable = compile_simulated(DOUBLE, device)
    with pytest.raises(TypeError, match=r"argument 0: expected shape \(6, 4\)"):
        executable(ByDlpack(device, X[:3].copy()))
    with pytest.raises(TypeError, match="argument 0: expected dtype float32"):
        executable(ByInterface(device, X.astype(np.int32)))
    with pytest.raises(TypeError, match=r"expected row-major elements without gaps, got strides \(1, 6\)"):
        executable(ByInterface(device, np.asfortranarray(X)))
    with pytest.raises(TypeError, match="argument 0: is on Simulated GPU, the program on Simulated GPU"):
        executable(on_device(simulated_device(), X))

    class OnAnother(ByDlpack):
        def __dlpack__(self, **asked: Any) -> Any:
            return dlpack.export(self, self.address, X.shape, X.dtype, (dlpack.CUDA, 1), True)

    with pytest.raises(TypeError, match="argument 0: is on GPU 1, the program on 0"):
        executable(OnAnother(device, X))

    class Refusing(ByDlpack):
        def __dlpack__(self, **asked: Any) -> Any:
            raise BufferError("it requires gradients")

    with pytest.raises(TypeError, match="argument 0: cannot be taken through DLPack: it requires gradients"):
        executable(Refusing(device, X))


# Export.


@pytest.mark.parametrize(("asked", "stream"), [(None, LEGACY), (1, LEGACY), (2, PER_THREAD), ("own", None)])
def test_a_consumer_is_ordered_after_us(device: Device, asked: Any, stream: int | None) -> None:
    executable = compile_simulated(DOUBLE, device)
    result = executable(on_device(device, X))
    with device.driver.entered():
        if stream is None:
            asked = stream = device.driver.new_stream()
        taken = dlpack.take(result.__dlpack__(stream=asked))
        assert (taken.device, taken.shape, taken.strides) == ((dlpack.CUDA, 0), (6, 4), (4, 1))
        assert taken.address == result.address
        # None of our work ran yet; reaching the end of the consumer's stream runs it.
        assert not device.driver.ran
        device.driver.synchronize(stream)
    data = device.driver.bytes_at(taken.address, X.nbytes)
    np.testing.assert_array_equal(data.view(np.float32).reshape(6, 4), 2 * X)


def test_no_order_where_none_is_asked_for(device: Device) -> None:
    result = compile_simulated(DOUBLE, device)(on_device(device, X))
    result.__dlpack__(stream=-1)
    assert not device.driver.counts["wait"]
    with pytest.raises(BufferError, match="stream 0 is ambiguous"):
        result.__dlpack__(stream=0)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 1)])
def test_a_capsule_holds_the_memory_until_its_consumer_is_done(device: Device, version: Any) -> None:
    gc.collect()
    before = len(dlpack._exported)
    array = on_device(device, X)
    address, in_use = array.address, device.pool.in_use
    capsule = array.__dlpack__(max_version=version)
    assert ("versioned" in repr(capsule)) == (version is not None and version[0] >= 1)
    del array
    taken = dlpack.take(capsule)
    del capsule
    gc.collect()
    device.pool.collect()
    assert device.pool.in_use == in_use and taken.address == address
    del taken
    gc.collect()
    device.pool.collect()
    assert device.pool.in_use == 0
    assert len(dlpack._exported) == before


def test_a_capsule_that_nobody_takes_frees_itself(device: Device) -> None:
    gc.collect()
    before = len(dlpack._exported)
    array = on_device(device, X)
    capsule = array.__dlpack__()
    del array, capsule
    gc.collect()
    device.pool.collect()
    assert device.pool.in_use == 0 and len(dlpack._exported) == before


def dropped(device: Device, stream: int | None) -> int:
    """The address of an array that another library used in a stream, or in one that it did not name."""
    array = on_device(device, X)
    if stream is None:
        _ = array.__cuda_array_interface__
    else:
        dlpack.take(array.__dlpack__(stream=stream))
    address = array.address
    del array
    gc.collect()
    device.pool.collect()
    return address


def test_memory_that_the_default_stream_used_waits_for_it_before_it_is_used_again(device: Device) -> None:
    waits = device.driver.counts["wait"]
    address = dropped(device, LEGACY)
    assert device.driver.counts["wait"] == waits + 2
    assert on_device(device, X).address == address and not device.driver.counts["synchronize_all"]


@pytest.mark.parametrize("stream", [None, PER_THREAD, "own"])
def test_memory_that_an_unknown_stream_used_is_set_aside(device: Device, stream: Any) -> None:
    """Nothing orders our work after that stream but a wait for the whole device, which stalls the other library."""
    driver = device.driver
    with driver.entered():
        asked = driver.new_stream() if stream == "own" else stream
    first = dropped(device, asked)
    assert on_device(device, X).address != first and not driver.counts["synchronize_all"]
    device.pool.limit = 3 * 512
    device.driver.captured.clear()
    addresses = {dropped(device, asked) for _ in range(8)}
    assert driver.counts["synchronize_all"] == 2 and len(addresses) < 8


def test_memory_set_aside_serves_when_memory_runs_out() -> None:
    device = simulated_device(memory_bytes=1536)
    dropped(device, None)
    kept = [on_device(device, X) for _ in range(3)]
    assert device.driver.allocated == 512 * len(kept)


def test_a_capture_by_another_library_goes_on(device: Device) -> None:
    driver = device.driver
    executable = compile_simulated(DOUBLE, device)
    with driver.entered():
        theirs = driver.new_stream()
    driver.captured.add(theirs)
    dropped(device, None)
    np.testing.assert_array_equal(executable(on_device(device, X)).numpy(), 2 * X)
    assert driver.captured == {theirs}
    with pytest.raises(CudaError, match="CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: cannot run a program in a stream that"):
        executable(X, stream=theirs)


@pytest.mark.parametrize("kind", [ByDlpack, ByInterface])
def test_the_owner_writes_after_we_have_read(device: Device, kind: type[Foreign]) -> None:
    """`y = f(w); w.add_(g)` of PyTorch: its write is enqueued in its stream before our read was done."""
    driver = device.driver
    array = kind(device, X, stream=LEGACY if kind is ByDlpack else None)
    result = compile_simulated(DOUBLE, device)(array)
    with driver.entered():
        staged = driver.allocate_host(X.nbytes)
        driver.copy_to_device(array.address, staged, X.nbytes, array.stream)
        driver.synchronize(array.stream)
    np.testing.assert_array_equal(result.numpy(), 2 * X)


def test_the_device_of_an_address(device: Device) -> None:
    """The interface does not say on which device an array is."""
    executable = compile_simulated(DOUBLE, device)
    array = ByInterface(device, X)
    device.driver.devices[array.base] = 1
    with pytest.raises(TypeError, match="argument 0: is on GPU 1, the program on 0"):
        executable(array)
    array.address = X.ctypes.data
    with pytest.raises(TypeError, match="argument 0: its address 0x[0-9a-f]+ is not in memory that CUDA knows"):
        executable(array)


def test_the_interface(device: Device) -> None:
    array = on_device(device, X)
    interface = array.__cuda_array_interface__
    assert interface == {
        "shape": (6, 4),
        "typestr": "<f4",
        "data": (array.address, False),
        "version": 3,
        "strides": None,
        "stream": device.stream.handle,
    }
    assert not hasattr(on_device(device, X.astype(ml_dtypes.bfloat16)), "__cuda_array_interface__")


def test_numpy_takes_a_copy_by_dlpack(device: Device) -> None:
    """A consumer and a producer in C: the structures have the right layout."""
    array = on_device(device, X)
    np.testing.assert_array_equal(np.from_dlpack(array, device="cpu", copy=True), X)
    np.testing.assert_array_equal(np.asarray(array), X)
    with pytest.raises(ValueError, match="by a copy"):
        np.asarray(array, copy=False)
    for asked in ({}, {"max_version": (1, 0)}):
        taken = dlpack.take(X.__dlpack__(**asked))
        assert (taken.address, taken.shape, taken.strides) == (X.ctypes.data, X.shape, (4, 1))
        assert (taken.dtype, taken.device) == (np.float32, (dlpack.CPU, 0))
    with pytest.raises(BufferError, match="nobody has taken yet"):
        capsule = X.__dlpack__()
        dlpack.take(capsule)
        dlpack.take(capsule)


@pytest.mark.parametrize("dtype", sorted(map(str, dlpack._BY_DTYPE)))
def test_element_types_survive_the_exchange(device: Device, dtype: str) -> None:
    values = np.zeros((3, 2), np.dtype(getattr(ml_dtypes, dtype, dtype)))
    assert dlpack.take(on_device(device, values).__dlpack__()).dtype == values.dtype


def test_types_that_dlpack_lacks(device: Device) -> None:
    with pytest.raises(BufferError, match="DLPack has no element type for int4"):
        on_device(device, np.zeros(4, ml_dtypes.int4)).__dlpack__()


def test_what_an_array_says_of_itself(device: Device) -> None:
    array = on_device(device, X)
    assert (array.shape, array.ndim, array.size, array.nbytes, len(array)) == ((6, 4), 2, 24, 96, 6)
    assert "Simulated GPU" in repr(array)
    scalar = on_device(device, np.array(2.5, np.float32))
    assert float(scalar) == 2.5 and int(scalar) == 2 and bool(scalar)
    with pytest.raises(TypeError, match="no length"):
        len(scalar)


def test_handles_of_streams() -> None:
    class Torch:
        cuda_stream = 0

    class CuPy:
        ptr = 99

    class Core:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 123

    assert [stream_handle(one) for one in (Torch(), CuPy(), Core(), 7, 0)] == [LEGACY, 99, 123, 7, LEGACY]
