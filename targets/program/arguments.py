"""
Arguments of executables: each must have the type that the program expects; errors name its number.

Arrays of other libraries are taken through `__array__`, `__array_interface__` or `__dlpack__`, without a copy where
they are row-major in host memory. A Python number is an array without dimensions.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from ...hlo_dialect.arrays import Array, ArrayType


def check_array(index: int, wanted: ArrayType, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Check an argument's type. Raises TypeError."""
    if dtype != wanted.dtype:
        raise TypeError(f"argument {index}: expected dtype {wanted.dtype} ({wanted.text}), got {dtype}")
    if shape != wanted.shape:
        raise TypeError(f"argument {index}: expected shape {wanted.shape} ({wanted.text}), got {shape}")


def host_array(argument: Any, index: int, wanted: ArrayType) -> Array:
    """The argument as a row-major, aligned array of the expected type in host memory. Raises TypeError."""
    array = as_array(argument, index, wanted)
    check_array(index, wanted, array.shape, array.dtype)
    found = np.ascontiguousarray(array)
    if not found.flags.aligned:
        found = found.copy()
    return found if found.shape == wanted.shape else found.reshape(wanted.shape)


def as_array(argument: Any, index: int, wanted: ArrayType) -> Array:
    """The argument as an array in host memory and this machine's byte order, of any type. Raises TypeError."""
    array: Array
    if isinstance(argument, np.ndarray):
        array = cast(Array, argument)
        if type(array) is not np.ndarray and isinstance(array, np.ma.MaskedArray):
            raise TypeError(f"argument {index}: the mask of a masked array would be lost; pass x.filled(value)")
    elif type(argument) in (bool, int, float, complex) and wanted.shape == ():
        return _number(argument, index, wanted)
    elif hasattr(argument, "__array__") or hasattr(argument, "__array_interface__"):
        array = _by_interface(argument, index)
    elif hasattr(argument, "__dlpack__"):
        array = _by_dlpack(argument, index, None)
    else:
        raise TypeError(f"argument {index}: expected an array of type {wanted.text}, got {type(argument).__name__}")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _number(value: complex, index: int, wanted: ArrayType) -> Array:
    """A Python number as an array without dimensions, if its kind and the element type's range allow that."""
    dtype = wanted.dtype
    fits, bits = False, value.bit_length() if isinstance(value, int) else 0
    if dtype == np.bool_:
        fits = isinstance(value, bool)
    elif isinstance(value, bool):
        pass
    elif dtype.kind == "c":
        fits = True
    elif not isinstance(value, complex):
        is_integer = _is_integer(dtype)
        fits = not is_integer
        if is_integer and isinstance(value, int):
            from ml_dtypes import iinfo  # takes a while to load

            limits = iinfo(dtype)
            fits = int(limits.min) <= value <= int(limits.max)
    found = value
    if fits and bits > 64:  # NumPy would make an array of objects
        try:
            found = float(value.real)
        except OverflowError:
            fits = False
    if not fits:
        # Python writes no ints of thousands of digits.
        text = f"{type(value).__name__} {f'of {bits} bits' if bits > 64 else repr(value)}"
        raise TypeError(f"argument {index}: expected {dtype} ({wanted.text}), got the {text}")
    return np.array(found).astype(dtype)


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" or dtype.name in ("int2", "int4", "uint2", "uint4")


def _by_interface(argument: Any, index: int) -> Array:
    try:
        array: Array = np.asarray(argument)
    except Exception as error:
        if hasattr(argument, "__dlpack__"):  # torch's bf16, for one, has no counterpart in NumPy
            return _by_dlpack(argument, index, error)
        raise _refused(argument, index, error) from error
    return array


def _by_dlpack(argument: Any, index: int, before: Exception | None) -> Array:
    """
    The array of an object with `__dlpack__`, copied to host memory by its library if it is elsewhere; `before`: why
    `__array__` did not work.
    """
    from . import dlpack

    try:
        place = argument.__dlpack_device__()[0] if hasattr(argument, "__dlpack_device__") else dlpack.CPU
        if place in (dlpack.CPU, dlpack.CUDA_HOST):
            capsule = argument.__dlpack__()
        else:
            capsule = argument.__dlpack__(dl_device=(dlpack.CPU, 0), max_version=dlpack.VERSION)
        return dlpack.take(capsule).numpy()
    except Exception as error:
        raise _refused(argument, index, error) from before or error


def _refused(argument: Any, index: int, error: Exception) -> TypeError:
    text = " ".join(str(error).split())
    return TypeError(f"argument {index}: {type(argument).__name__} cannot be read as an array: {text}")
