"""
DLPack, the exchange of arrays between libraries without a copy: capsules of version 1 and earlier.

Specification: https://dmlc.github.io/dlpack/latest/ and the array API standard's `__dlpack__`.
The structures are the C ones, in ctypes.
"""

from __future__ import annotations

import atexit
import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from ...hlo_dialect.arrays import Array
from ...hlo_dialect.outliving import outlive

CPU, CUDA, CUDA_HOST, ROCM, CUDA_MANAGED = 1, 2, 3, 10, 13
"""Device types."""

VERSION = (1, 0)
"""The version of exported versioned capsules; `copied` below came with it."""

_CODES: dict[tuple[int, int], np.dtype[Any]] = {
    **{(0, 8 * size): np.dtype(f"i{size}") for size in (1, 2, 4, 8)},
    **{(1, 8 * size): np.dtype(f"u{size}") for size in (1, 2, 4, 8)},
    **{(2, 8 * size): np.dtype(f"f{size}") for size in (2, 4, 8)},
    **{(5, 8 * size): np.dtype(f"c{size}") for size in (8, 16)},
    (4, 16): np.dtype(ml_dtypes.bfloat16),
    (6, 8): np.dtype(np.bool_),
    (7, 8): np.dtype(ml_dtypes.float8_e3m4),
    (8, 8): np.dtype(ml_dtypes.float8_e4m3),
    (9, 8): np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    (10, 8): np.dtype(ml_dtypes.float8_e4m3fn),
    (11, 8): np.dtype(ml_dtypes.float8_e4m3fnuz),
    (12, 8): np.dtype(ml_dtypes.float8_e5m2),
    (13, 8): np.dtype(ml_dtypes.float8_e5m2fnuz),
    (14, 8): np.dtype(ml_dtypes.float8_e8m0fnu),
}
"""Element types by DLDataTypeCode and bits; all have one lane. Types narrower than a byte are not exchanged."""

_BY_DTYPE = {dtype: key for key, dtype in _CODES.items()}


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    """DLManagedTensor, from before versions: capsule "dltensor"."""

    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]


class _ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned: capsule "dltensor_versioned"."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    ]


_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"

_api: Any = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_api.PyCapsule_IsValid.restype = ctypes.c_int
_api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_SetName.restype = ctypes.c_int
_api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


# Export ------------------------------------------------------------------------------------------------------------


class _Exported:
    """
    The structures of exported arrays, until their consumers call the deleter.

    Consumers may do so when the interpreter has emptied this module, and later, when there is none.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Any, ...]] = {}
        """By the address of a structure: the structure, its referents and the owner of the memory."""
        # Nothing of the module is left when the last capsules are destroyed.
        self._names = _PLAIN, _VERSIONED
        self._is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
        self._pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", _api)
        )
        self.deleter = _Deleter(self._delete)
        # A PYFUNCTYPE, because it is called with the interpreter's lock held, during a deallocation.
        self.destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(self._destroy)
        outlive(self)
        atexit.register(self._end)

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, structure: Any, *others: Any) -> int:
        """Keep a structure, and what it needs; returns its address."""
        address = ctypes.addressof(structure)
        self._kept[address] = structure, *others
        return address

    def _delete(self, address: int | None) -> None:
        self._kept.pop(address or 0, None)

    def _destroy(self, capsule: int | None) -> None:
        """The destructor of a capsule: one that nobody consumed still owns its structure."""
        for name in self._names:
            if self._is_valid(capsule, name):
                self._delete(self._pointer(capsule, name))

    def _end(self) -> None:
        """From here on the memory goes with the process, and a deleter is a function without effect."""
        nothing = ctypes.cast(_api.Py_IsInitialized, _Deleter)
        for structure, *_ in list(self._kept.values()):
            structure.deleter = nothing


_exported = _Exported()


def can_export(dtype: np.dtype[Any]) -> bool:
    """Whether DLPack has the element type, in our arrays' layout."""
    return dtype in _BY_DTYPE


def export(
    owner: Any,
    address: int,
    shape: Sequence[int],
    dtype: np.dtype[Any],
    device: tuple[int, int],
    versioned: bool,
    strides: Sequence[int] | None = None,
) -> Any:
    """
    A capsule of an array in memory, which keeps `owner` alive until its consumer is done. Raises BufferError.

    `strides`: those of its dimensions, in elements; None for a row-major array.
    """
    if dtype not in _BY_DTYPE:
        raise BufferError(f"DLPack has no element type for {dtype}")
    rank = len(shape)
    extents = (ctypes.c_int64 * rank)(*shape)
    if strides is None:
        strides = [math.prod(shape[dim + 1 :]) for dim in range(rank)]
    steps = (ctypes.c_int64 * rank)(*strides)
    managed: Any = _ManagedVersioned() if versioned else _Managed()
    if versioned:
        managed.major, managed.minor = VERSION
    managed.deleter = _exported.deleter
    tensor = managed.tensor
    tensor.data, (tensor.device_type, tensor.device_id) = address, device
    tensor.ndim, tensor.lanes = rank, 1
    tensor.code, tensor.bits = _BY_DTYPE[dtype]
    tensor.shape = ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
    place = _exported.keep(managed, extents, steps, owner)
    destructor = ctypes.cast(_exported.destructor, ctypes.c_void_p)
    return _api.PyCapsule_New(place, _VERSIONED if versioned else _PLAIN, destructor)


# Import ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Imported:
    """A foreign array; it lives as long as `owner`."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """Strides in elements; None if row-major."""
    dtype: np.dtype[Any]
    device: tuple[int, int]
    owner: Any

    def numpy(self) -> Array:
        """The array, which must be in host memory, for NumPy, without a copy. Raises BufferError."""
        if self.device[0] not in (CPU, CUDA_HOST):
            raise BufferError(f"the array is on a device of type {self.device[0]}, not in host memory")
        size = self.dtype.itemsize
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        strides = None if self.strides is None else tuple(stride * size for stride in self.strides)
        return np.asarray(_InHostMemory(self, strides)).view(self.dtype)


class _InHostMemory:
    """The memory as NumPy reads it; it keeps the array's owner alive."""

    def __init__(self, imported: Imported, strides: tuple[int, ...] | None):
        self._owner = imported.owner
        self.__array_interface__ = {
            "version": 3,
            "shape": imported.shape,
            "strides": strides,
            # NumPy has no names for types such as bfloat16; the array is viewed as its type afterwards.
            "typestr": f"|V{imported.dtype.itemsize}",
            "data": (imported.address, True),
        }


class _Consumed:
    """A structure taken out of its capsule; dropping this calls its deleter."""

    def __init__(self, managed: Any):
        self._managed = managed

    def __del__(self) -> None:
        if self._managed.deleter:
            self._managed.deleter(ctypes.addressof(self._managed))


def take(capsule: Any) -> Imported:
    """Consume a capsule and return its array. Raises BufferError for a consumed capsule, or an unknown type."""
    kind: Any
    for name, used, kind in (
        (_VERSIONED, b"used_dltensor_versioned", _ManagedVersioned),
        (_PLAIN, b"used_dltensor", _Managed),
    ):
        if _api.PyCapsule_IsValid(capsule, name):
            managed: Any = kind.from_address(_api.PyCapsule_GetPointer(capsule, name))
            if kind is _ManagedVersioned and managed.major != VERSION[0]:
                raise BufferError(f"a DLPack capsule of version {managed.major}.{managed.minor}; 1 is understood")
            # A capsule keeps a pointer to its name.
            _api.PyCapsule_SetName(capsule, used)
            return _imported(managed, _Consumed(managed))
    raise BufferError("expected a DLPack capsule that nobody has taken yet")


def _imported(managed: Any, owner: _Consumed) -> Imported:
    tensor = managed.tensor
    dtype = _CODES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if dtype is None:
        raise BufferError(f"a DLPack array of type code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes")
    rank = tensor.ndim
    strides = tuple(tensor.strides[:rank]) if tensor.strides else None
    address = (tensor.data or 0) + tensor.byte_offset
    device = (tensor.device_type, tensor.device_id)
    return Imported(address, tuple(tensor.shape[:rank]), strides, dtype, device, owner)
