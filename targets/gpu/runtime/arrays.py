"""Arrays in GPU memory, and their exchange with NumPy, PyTorch, CuPy, JAX and others."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ....hlo_dialect.types import Array, ArrayType
from ....lowering.convert_to_llvm.kernels import KERNEL_ALIGNMENT
from ...program import dlpack
from ...program.arguments import check_array, host_array
from .device import Device
from .driver import LEGACY_STREAM, CopyOnDevice
from .memory import UNKNOWN_STREAM, Block
from .streams import Stream


class DeviceArray:
    """
    A row-major array in a GPU's memory, as programs on the GPU return it.

    Its computation may still be running: `numpy()` and `block_until_ready()` wait for it, and raise GpuError if it
    failed. Other libraries use it without a copy through `__dlpack__` and `__cuda_array_interface__`, which order their
    work after ours. It is read-only, because several results may share memory.

    >>> import numpy as np
    >>> import xhlo
    >>> exe = xhlo.compile("func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }", target="gpu")
    >>> try:
    ...     y = exe(np.float32(3), on_device=True)
    ...     assert isinstance(y, xhlo.DeviceArray)
    ...     print(y.numpy())
    ... except xhlo.GpuUnavailableError:
    ...     print("3.0 on a machine with a GPU")
    3.0...
    """

    def __init__(self, device: Device, type_: ArrayType, block: Block, address: int | None = None):
        self._device = device
        self._type = type_
        self._block = block
        self._address = block.address if address is None else address

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return self._type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements, as NumPy has it."""
        return self._type.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._type.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self._type.shape)

    @property
    def nbytes(self) -> int:
        """The bytes that the elements take."""
        return self._type.nbytes

    @property
    def device(self) -> Device:
        """The GPU in whose memory the array is."""
        return self._device

    @property
    def address(self) -> int:
        """The device address."""
        return self._address

    @property
    def stream(self) -> int:
        """The handle of the CUstream that computes it; its owner may have destroyed it."""
        return self._block.stream.handle

    def numpy(self) -> Array:
        """Wait for the array and copy it to host memory. Raises GpuError."""
        return self._device.read(self._address, self._type, self._block.stream)

    def block_until_ready(self) -> DeviceArray:
        """Wait for the computation. Raises GpuError."""
        self._device.synchronize(self._block.stream)
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("an array of the GPU becomes one of NumPy by a copy")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __float__(self) -> float:
        return float(self.numpy().item())

    def __int__(self) -> int:
        return int(self.numpy().item())

    def __bool__(self) -> bool:
        return bool(self.numpy().item())

    def __repr__(self) -> str:
        return f"DeviceArray({self._type.text}, {self._device.info.name}, GPU {self._device.info.ordinal})"

    # Exchange.

    def __dlpack_device__(self) -> tuple[int, int]:
        return _kind(self._device), self._device.info.ordinal

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """
        A DLPack capsule for a consumer that works in `stream`.

        None and 1 are the legacy default stream, 2 is the per-thread default stream, -1 requests no ordering.
        `dl_device` (1, 0) requests a copy in host memory. Raises BufferError.
        """
        versioned = max_version is not None and max_version[0] >= dlpack.VERSION[0]
        if dl_device is not None and dl_device[0] == dlpack.CPU and copy is not False:
            array = self.numpy()
            return dlpack.export(array, array.ctypes.data, self.shape, self.dtype, (dlpack.CPU, 0), versioned)
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("the array is exchanged where it lies, or as a copy in the host's memory")
        if not dlpack.can_export(self.dtype):
            raise BufferError(f"DLPack has no element type for {self.dtype}")
        consumer = LEGACY_STREAM if stream is None else stream
        if consumer == 0:
            raise BufferError("stream 0 is ambiguous: 1 is the legacy default stream, 2 that of the thread")
        if consumer > 0:
            self._device.let_wait(consumer, self._block.stream)
        self._block.foreign_streams.add(consumer if consumer > 0 else UNKNOWN_STREAM)
        device = self.__dlpack_device__()
        return dlpack.export(self, self._address, self.shape, self.dtype, device, versioned)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """
        Version 3: the consumer orders its work after the device's own stream, which waits for the caller's of the run,
        because that may be gone by then, or be the per-thread one. Raises AttributeError for types that NumPy lacks.
        """
        if self.dtype.isbuiltin != 1:
            raise AttributeError(f"__cuda_array_interface__ has no element type for {self.dtype}")
        self._block.foreign_streams.add(UNKNOWN_STREAM)
        self._device.wait_for(self._device.stream, self._block.stream)
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._address if self.size else 0, False),
            "version": 3,
            "strides": None,
            "stream": self._device.stream.handle,
        }


@dataclass(frozen=True)
class Operand:
    """An argument of a call, in device memory."""

    address: int
    owner: Any
    """Keeps the memory alive."""
    foreign_stream: int | None = None
    """
    The handle of a stream in which another library may write the memory later, which belongs to it and which it may
    reuse once we drop the owner; None for our own memory.
    """


def _kind(device: Device) -> int:
    """DLPack's number for the kind of a device."""
    return dlpack.ROCM if device.info.architecture else dlpack.CUDA


def is_on_device(argument: Any) -> bool:
    """Whether the argument is an array in the memory of a GPU, ours or another library's."""
    if isinstance(argument, np.ndarray):
        return False
    if isinstance(argument, DeviceArray):
        return True
    place = getattr(argument, "__dlpack_device__", None)
    if place is not None:
        try:
            return int(place()[0]) in (dlpack.CUDA, dlpack.CUDA_MANAGED, dlpack.ROCM)
        except (BufferError, RuntimeError):
            return False
    return getattr(argument, "__cuda_array_interface__", None) is not None


def operand(argument: Any, index: int, wanted: ArrayType, device: Device, stream: Stream) -> Operand:
    """
    The argument in device memory, ready for work enqueued in the stream from now on.

    Device arrays are used in place, others are copied. Raises TypeError for an array that does not fit.
    """
    if isinstance(argument, DeviceArray):
        check_array(index, wanted, argument.shape, argument.dtype)
        if argument.device is not device:
            raise TypeError(f"argument {index}: is on {argument.device.info.name}, the program on {device.info.name}")
        block = argument._block  # pyright: ignore[reportPrivateUsage]
        device.wait_for(stream, block.stream)
        block.used_in(stream)
        return Operand(argument.address, argument)
    if is_on_device(argument):
        return _aligned(_foreign(argument, index, wanted, device, stream), wanted, device, stream)
    return _uploaded(argument, index, wanted, device, stream)


def _uploaded(argument: Any, index: int, wanted: ArrayType, device: Device, stream: Stream) -> Operand:
    array = host_array(argument, index, wanted)
    block = device.allocate(wanted.nbytes, stream)
    device.upload(array, block.address, stream)
    return Operand(block.address, block)


def _foreign(argument: Any, index: int, wanted: ArrayType, device: Device, stream: Stream) -> Operand:
    if getattr(argument, "__dlpack__", None) is not None:
        return _from_dlpack(argument, index, wanted, device, stream)
    return _from_interface(argument, index, wanted, device, stream)


def _from_dlpack(argument: Any, index: int, wanted: ArrayType, device: Device, stream: Stream) -> Operand:
    """Import by DLPack: the producer gets our stream, and makes it wait for the computation of the array."""
    try:
        try:
            capsule = argument.__dlpack__(stream=stream.handle, max_version=dlpack.VERSION)
        except TypeError:
            # A producer from before DLPack had versions.
            capsule = argument.__dlpack__(stream=stream.handle)
        imported = dlpack.take(capsule)
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(f"argument {index}: cannot be taken through DLPack: {error}") from error
    check_array(index, wanted, imported.shape, imported.dtype)
    _check_strides(index, imported.shape, imported.strides)
    if imported.device != (_kind(device), device.info.ordinal) and imported.device[0] != dlpack.CUDA_MANAGED:
        raise TypeError(f"argument {index}: is on GPU {imported.device[1]}, the program on {device.info.ordinal}")
    return Operand(imported.address, imported.owner, _owners_stream(argument))


def _from_interface(argument: Any, index: int, wanted: ArrayType, device: Device, stream: Stream) -> Operand:
    interface = cast("dict[str, Any]", argument.__cuda_array_interface__)
    if interface.get("mask") is not None:
        raise TypeError(f"argument {index}: a masked array is not taken")
    dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    check_array(index, wanted, shape, dtype)
    strides = interface.get("strides")
    _check_strides(index, shape, None if strides is None else tuple(step // dtype.itemsize for step in strides))
    producer = interface.get("stream")
    if producer is not None:
        device.wait_for_handle(stream, int(producer))
    elif interface.get("version", 0) < 3:
        # Before version 3 the interface had no stream: libraries work in the default stream.
        device.wait_for_handle(stream, LEGACY_STREAM)
    address = int(interface["data"][0] or 0)
    if wanted.nbytes:
        _check_device(index, address, device)
    return Operand(address, argument, int(producer or LEGACY_STREAM))


def _check_device(index: int, address: int, device: Device) -> None:
    """Check that memory is on a device: the interface does not say which. Raises TypeError."""
    with device.driver.entered():
        ordinal = device.driver.device_of(address)
    if ordinal is None:
        raise TypeError(f"argument {index}: its address {address:#x} is not in memory that CUDA knows")
    if ordinal != device.info.ordinal:
        raise TypeError(f"argument {index}: is on GPU {ordinal}, the program on {device.info.ordinal}")


def _owners_stream(argument: Any) -> int:
    """
    The handle of the stream in which the library of an array given through DLPack works.

    DLPack does not name it. PyTorch has a current stream, CuPy and Numba name theirs in `__cuda_array_interface__`; of
    others the default stream is assumed, which all streams wait for that are not created as non-blocking.
    """
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(argument, torch.Tensor):
        return int(torch.cuda.current_stream(argument.device).cuda_stream) or LEGACY_STREAM
    stated: Any = getattr(argument, "__cuda_array_interface__", None) or {}
    return int(stated.get("stream") or LEGACY_STREAM)


def _check_strides(index: int, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> None:
    if strides is None or 0 in shape:
        return
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != step:
            raise TypeError(
                f"argument {index}: expected row-major elements without gaps, got strides {strides} for shape {shape}; "
                "copy it first (.contiguous() in PyTorch, ascontiguousarray in CuPy)"
            )
        step *= extent


def _aligned(found: Operand, wanted: ArrayType, device: Device, stream: Stream) -> Operand:
    """
    Copy an array whose address is not aligned: a view may begin at any address, but kernels read 16 bytes at once.
    """
    if found.address % KERNEL_ALIGNMENT == 0 or not wanted.nbytes:
        return found
    block = device.allocate(wanted.nbytes, stream)
    with device.driver.entered():
        device.driver.enqueue(CopyOnDevice(block.address, found.address, wanted.nbytes), stream.handle)
    return Operand(block.address, (block, found.owner), found.foreign_stream)


def stream_handle(stream: Any) -> int:
    """
    The CUstream of a caller's argument: a number, or a stream of PyTorch, CuPy or cuda.core.

    0 and 1 are the legacy default stream, 2 is the per-thread default stream. Raises TypeError.
    """
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        found = protocol() if callable(protocol) else protocol
        return int(cast("tuple[int, int]", found)[1]) or LEGACY_STREAM
    for attribute in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, attribute, None)
        if value is not None:
            return int(value) or LEGACY_STREAM
    if isinstance(stream, int):
        return int(stream) or LEGACY_STREAM
    raise TypeError(f"expected a CUDA stream, its handle, or a stream of PyTorch or CuPy, got {type(stream).__name__}")
