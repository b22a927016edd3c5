"""
DLPack for arrays of this platform, which are in the CPU's memory.

jaxlib imports tensors on any platform, but exports its own only on the platforms it knows. The layout is that of
dlpack.h, version 0.8 (DLManagedTensor), which JAX uses too.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from . import PLATFORM, REPORTED
from .jax_internals import internal

CPU = 1
"""kDLCPU"""

_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
"""DLDataTypeCode by NumPy's kinds."""
_BFLOAT = 4


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_lent: dict[int, tuple[Any, ...]] = {}
"""By the address of an exported tensor: the objects that must live until its holder releases it."""


@_DELETER
def _give_back(address: int | None) -> None:
    _lent.pop(address or 0, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _drop_capsule(capsule: int | None) -> None:
    """A capsule that nobody consumed keeps its first name; a consumed one belongs to its consumer."""
    if _is_valid(capsule, _NAME):
        _give_back(_pointer_of(capsule, _NAME))


_NAME = b"dltensor"
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)


def capsule_of(array: Any) -> Any:
    """The DLPack capsule of a JAX array on one of our devices; no copy. Raises BufferError for other element types."""
    dtype = np.dtype(array.dtype)
    code = _BFLOAT if dtype.name == "bfloat16" else _CODES.get(dtype.kind)
    if code is None:
        raise BufferError(f"DLPack has no element type for {dtype}")
    view = np.asarray(array)
    shape = (ctypes.c_int64 * max(1, view.ndim))(*view.shape)
    strides = (ctypes.c_int64 * max(1, view.ndim))(*(stride // dtype.itemsize for stride in view.strides))
    tensor = _Tensor(
        data=view.ctypes.data,
        device_type=CPU,
        ndim=view.ndim,
        code=code,
        bits=8 * dtype.itemsize,
        lanes=1,
        shape=ctypes.addressof(shape),
        strides=ctypes.addressof(strides),
        deleter=ctypes.cast(_give_back, ctypes.c_void_p).value,
    )
    address = ctypes.addressof(tensor)
    _lent[address] = (tensor, shape, strides, view)
    return _new_capsule(address, _NAME, ctypes.cast(_drop_capsule, ctypes.c_void_p).value)


class _Instead:
    """A view of a module in which some functions are replaced."""

    def __init__(self, module: Any, **replaced: Any):
        self._module = module
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def install() -> None:
    """Let JAX's DLPack functions know this platform."""
    module = internal("dlpack")
    bridge, library = module.xla_bridge, module._jax

    def get_backend(platform: Any = None) -> Any:
        """CPU memory belongs to our platform if JAX computes on it."""
        ours = platform == "cpu" and bridge.get_backend().platform == REPORTED
        return bridge.get_backend(PLATFORM if ours else platform)

    def buffer_to_dlpack_managed_tensor(buffer: Any, stream: Any = None) -> Any:
        if buffer.platform() != REPORTED:
            return library.buffer_to_dlpack_managed_tensor(buffer, stream=stream)
        return capsule_of(buffer)

    module.xla_bridge = _Instead(bridge, get_backend=get_backend)
    module._jax = _Instead(library, buffer_to_dlpack_managed_tensor=buffer_to_dlpack_managed_tensor)
    arrays = internal("array").ArrayImpl
    others = arrays.__dlpack_device__

    def dlpack_device(self: Any) -> tuple[Any, int]:
        if len(self._arrays) == 1 and self.platform() == REPORTED:
            return module.DLDeviceType.kDLCPU, 0
        return others(self)

    arrays.__dlpack_device__ = dlpack_device
