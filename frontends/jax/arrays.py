"""Buffers: their specs, how they are made from host memory, and how they are read."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from . import c_api
from .c_api import STRUCTURES, TOKEN, Code
from .entries import ForwardedError, Kept, PluginError, entry, text
from .native_calls import loaded
from .objects import OBJECTS

if TYPE_CHECKING:
    from ...hlo_dialect.types import Array

_specs: dict[tuple[int, tuple[int, ...], tuple[int, ...]], int] = {}
_kept = Kept()


@cache
def dtype_of(element_type: int) -> np.dtype[Any]:
    """The dtype of a `PJRT_Buffer_Type`. Raises PluginError for types without a NumPy dtype."""
    if 1 <= element_type <= len(c_api.ELEMENT_TYPES):
        name = c_api.ELEMENT_TYPES[element_type - 1]
        if name == "bool" or hasattr(np, name):
            return np.dtype(name)
        if hasattr(ml_dtypes, name):
            return np.dtype(getattr(ml_dtypes, name))
    raise PluginError(Code.UNIMPLEMENTED, f"xhlo does not support buffers of PJRT element type {element_type}")


@cache
def element_type_of(dtype: np.dtype[Any]) -> int:
    """The `PJRT_Buffer_Type` of a dtype."""
    try:
        return c_api.ELEMENT_TYPES.index(dtype.name) + 1
    except ValueError:
        raise PluginError(Code.UNIMPLEMENTED, f"PJRT has no element type for {dtype}") from None


def strides_of(shape: tuple[int, ...], order: Sequence[int], itemsize: int) -> list[int]:
    """Byte strides of an array whose dimensions lie in memory in an order, from minor to major."""
    strides, step = [0] * len(shape), itemsize
    for axis in order:
        strides[axis] = step
        step *= shape[axis]
    return strides


def row_major_strides(shape: tuple[int, ...], itemsize: int) -> list[int]:
    return strides_of(shape, row_major(len(shape)), itemsize)


def row_major(rank: int) -> tuple[int, ...]:
    return tuple(reversed(range(rank)))


def spec_of(element_type: int, shape: tuple[int, ...], order: Sequence[int] | None = None) -> int:
    """The address of the spec of an element type, a shape, and an order of dimensions from minor to major."""
    order = row_major(len(shape)) if order is None else tuple(order)
    found = _specs.get((element_type, shape, order))
    if found is not None:
        return found
    itemsize = 0 if element_type == TOKEN else dtype_of(element_type).itemsize
    dims = _kept.numbers(shape)
    layout, layout_size = text(f"{{{','.join(map(str, order))}}}")
    spec = _kept.keep(
        OBJECTS["Spec"](
            element_type=element_type,
            num_dims=len(shape),
            dims=dims,
            strides=_kept.numbers(strides_of(shape, order, itemsize)),
            minor_to_major=_kept.numbers(order),
            nbytes=math.prod(shape) * itemsize,
            permuted=order != row_major(len(shape)),
            layout=layout,
            layout_size=layout_size,
        )
    )
    return _specs.setdefault((element_type, shape, order), spec)


def _put_into_table(spec: int) -> bool:
    """
    Let machine code find a spec, replacing another in its slot. Returns whether it could not find it before.
    """
    found = OBJECTS["Spec"].from_address(spec)
    slot = ctypes.c_int64.from_address(loaded().spec_slot(found.element_type, found.dims, found.num_dims))
    was_missing = slot.value != spec
    slot.value = spec
    return was_missing


def numbers_at(address: int, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_int64 * count).from_address(address)) if count and address else ()


def shape_of(spec: int) -> tuple[int, ...]:
    found = OBJECTS["Spec"].from_address(spec)
    return numbers_at(found.dims, found.num_dims)


def order_of(spec: int) -> tuple[int, ...]:
    """The dimensions from minor to major."""
    found = OBJECTS["Spec"].from_address(spec)
    return numbers_at(found.minor_to_major, found.num_dims)


def type_text(spec: int) -> str:
    """A spec in words: "f32 of shape (2, 3)"; "with the layout (1, 0)", major to minor, where it is not row-major."""
    number, order = OBJECTS["Spec"].from_address(spec).element_type, order_of(spec)
    layout = "" if order == row_major(len(order)) else f" with the layout {order[::-1]}"
    return "tokens" if number == TOKEN else f"{dtype_of(number).name} of shape {shape_of(spec)}{layout}"


def view(address: int, spec: int) -> Array:
    """The array of a spec at an address; its owner must outlive it."""
    found = OBJECTS["Spec"].from_address(spec)
    if found.element_type == TOKEN:
        return np.empty((), "V0")
    dtype, shape = dtype_of(found.element_type), shape_of(spec)
    if not found.nbytes:
        return np.empty(shape, dtype)
    memory: Any = (ctypes.c_char * found.nbytes).from_address(address)
    strides = numbers_at(found.strides, found.num_dims)
    return np.ndarray(shape, dtype, memory, strides=strides)


def new_buffer(spec: int, device: int) -> tuple[int, Array]:
    """A buffer of fresh memory, and that memory as an array. Raises MemoryError."""
    native = loaded()
    nbytes = OBJECTS["Spec"].from_address(spec).nbytes
    storage = native.storage_new(nbytes)
    if not storage:
        raise MemoryError(f"cannot allocate {nbytes} bytes for a buffer")
    buffer = native.buffer_new(spec, storage, device)
    return buffer, view(OBJECTS["Buffer"].from_address(buffer).data, spec)


class Held:
    """
    A buffer's memory, held until the end of a `with`, from when the run that writes it has ended.

    Raises PluginError for a deleted buffer, and ForwardedError if that run failed.
    """

    def __init__(self, buffer: int, name: str = "the buffer"):
        self._buffer = buffer
        self._storage = loaded().buffer_hold(buffer)
        if not self._storage:
            raise PluginError(Code.INVALID_ARGUMENT, f"{name} has been deleted or donated")
        found = OBJECTS["Buffer"].from_address(buffer)
        error = loaded().buffer_wait(buffer) if found.ready else 0
        if error:
            loaded().storage_drop(self._storage)
            raise ForwardedError(error)
        self.address: int = found.data
        self.spec: int = found.spec

    @property
    def array(self) -> Array:
        return view(self.address, self.spec)

    def give(self) -> int:
        """
        Delete the buffer; returns its storage, for another buffer, or 0 if somebody else has it too: then the buffer
        stays.
        """
        given: int = loaded().buffer_give(self._buffer, self._storage)
        return given

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        loaded().storage_drop(self._storage)


def device_for(device: int, memory: int) -> int:
    """The device on which to make a buffer, when a memory may be named instead."""
    return OBJECTS["Memory"].from_address(memory).device if memory else device


def _strides_of_layout(layout: int, shape: tuple[int, ...], itemsize: int) -> list[int] | None:
    """Byte strides of a `PJRT_Buffer_MemoryLayout`; None without one. Raises PluginError for tiles."""
    if not layout:
        return None
    found = STRUCTURES["MemoryLayout"].from_address(layout)
    if found.type == 1:
        strided = STRUCTURES["StridesLayout"].from_address(layout)
        return list(numbers_at(strided.byte_strides, strided.num_byte_strides))
    if found.num_tiles:
        raise PluginError(Code.UNIMPLEMENTED, "xhlo does not support memory layouts with tiles")
    return strides_of(shape, numbers_at(found.minor_to_major, found.minor_to_major_size), itemsize)


def _strided(address: int, dtype: np.dtype[Any], shape: tuple[int, ...], strides: Any) -> Array:
    """An array of any strides, negative ones too, whose first element is at an address."""
    if not math.prod(shape):
        return np.empty(shape, dtype)
    reach = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
    low, high = sum(min(0, each) for each in reach), sum(max(0, each) for each in reach) + dtype.itemsize
    memory: Any = (ctypes.c_char * (high - low)).from_address(address + low)
    raw = f"V{dtype.itemsize}"
    found: Array = np.ndarray(shape, raw, memory, offset=-low, strides=tuple(strides))
    return found


@entry("Client_BufferFromHostBuffer")
def _from_host(args: Any) -> None:
    shape = numbers_at(args.dims, args.num_dims)
    order = _order_of_layout(args.device_layout, shape)
    dtype, spec = dtype_of(args.type), spec_of(args.type, shape, order)
    if order is None and _put_into_table(spec):
        error = loaded().buffer_from_host(ctypes.addressof(args))
        if error:
            raise ForwardedError(error)
        return
    strides = numbers_at(args.byte_strides, args.num_byte_strides) or row_major_strides(shape, dtype.itemsize)
    buffer, target = new_buffer(spec, device_for(args.device, args.memory))
    if target.nbytes:
        target.view(f"V{dtype.itemsize}")[...] = _strided(args.data, dtype, shape, strides)
    args.buffer, args.done_with_host_buffer = buffer, loaded().address("ready")


def _order_of_layout(layout: int, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dimensions of a device layout from minor to major; None without one. Raises PluginError for gaps."""
    strides = _strides_of_layout(layout, shape, 1)
    if strides is None or 0 in shape:
        return None
    order = tuple(sorted(row_major(len(shape)), key=lambda axis: (strides[axis], shape[axis])))
    dense = strides_of(shape, order, 1)
    if any(a != b and size != 1 for a, b, size in zip(strides, dense, shape, strict=True)):
        raise PluginError(Code.UNIMPLEMENTED, f"xhlo does not support arrays of shape {shape} with strides {strides}")
    plain = row_major_strides(shape, 1)
    differs = any(a != b and size != 1 for a, b, size in zip(strides, plain, shape, strict=True))
    return order if differs else None


@entry("Buffer_ToHostBuffer")
def _to_host(args: Any) -> None:
    with Held(args.src) as held:
        source = held.array
        if args.dst_size < source.nbytes:
            raise PluginError(Code.INVALID_ARGUMENT, f"{args.dst_size} bytes do not hold {source.nbytes}")
        strides = _strides_of_layout(args.host_layout, source.shape, source.itemsize)
        if strides is None:
            strides = source.strides
        if source.nbytes:
            target = _strided(args.dst, source.dtype, source.shape, strides)
            target[...] = source.view(target.dtype)
    args.event = loaded().address("ready")


@entry("Buffer_CopyRawToHost")
def _copy_raw(args: Any) -> None:
    with Held(args.buffer) as held:
        if not 0 <= args.offset <= args.offset + args.transfer_size <= held.array.nbytes:
            raise PluginError(Code.INVALID_ARGUMENT, "the bytes to copy lie outside the buffer")
        ctypes.memmove(args.dst, held.address + args.offset, args.transfer_size)
    args.event = loaded().address("ready")


def _copy(buffer: int, device: int) -> int:
    with Held(buffer) as held:
        copy, target = new_buffer(held.spec, device)
        if target.nbytes:
            ctypes.memmove(target.ctypes.data, held.address, target.nbytes)
    return copy


@entry("Buffer_CopyToDevice")
def _copy_to_device(args: Any) -> None:
    args.dst_buffer = _copy(args.buffer, args.dst_device)


@entry("Buffer_CopyToMemory")
def _copy_to_memory(args: Any) -> None:
    args.dst_buffer = _copy(args.buffer, device_for(0, args.dst_memory))


@entry("Layouts_PJRT_Client_GetDefaultLayout")
@entry("Layouts_PJRT_Topology_GetDefaultLayout")
def _default_layout(args: Any) -> None:
    """Row-major for every element type and shape: one spec for all of the same rank."""
    args.layout = spec_of(TOKEN, (1,) * args.num_dims)


@entry("Client_CreateUninitializedBuffer")
def _uninitialized(args: Any) -> None:
    shape = numbers_at(args.dims, args.num_dims)
    spec = spec_of(args.element_type, shape, _order_of_layout(args.layout, shape))
    args.buffer, _ = new_buffer(spec, device_for(args.device, args.memory))


@entry("Client_CreateViewOfDeviceBuffer")
def _view_of(args: Any) -> None:
    """Make a buffer of another owner's memory, as DLPack exports it; `on_delete_callback` releases it."""
    shape = numbers_at(args.dims, args.num_dims)
    # Created empty, then pointed at the memory.
    native = loaded()
    storage = native.storage_new(0)
    native.free(OBJECTS["Storage"].from_address(storage).data, OBJECTS["Storage"].from_address(storage).capacity)
    found = OBJECTS["Storage"].from_address(storage)
    found.data, found.capacity = args.device_buffer_ptr, 0
    found.release, found.release_argument = args.on_delete_callback, args.on_delete_callback_arg
    spec = spec_of(args.element_type, shape, _order_of_layout(args.layout, shape))
    args.buffer = native.buffer_new(spec, storage, device_for(args.device, args.memory))
