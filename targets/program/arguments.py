"""Arguments of executables: each must have the type that the program expects; errors name its number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...hlo_dialect.types import Array, ArrayType


def check_array(index: int, wanted: ArrayType, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Check an argument's type. Raises TypeError."""
    if dtype != wanted.dtype:
        raise TypeError(f"argument {index}: expected dtype {wanted.dtype} ({wanted.text}), got {dtype}")
    if shape != wanted.shape:
        raise TypeError(f"argument {index}: expected shape {wanted.shape} ({wanted.text}), got {shape}")


def host_array(argument: Any, index: int, wanted: ArrayType) -> Array:
    """The argument as a contiguous array of the expected type in host memory. Raises TypeError."""
    if not hasattr(argument, "__array__") and not hasattr(argument, "__array_interface__"):
        raise TypeError(f"argument {index}: expected an array of type {wanted.text}, got {type(argument).__name__}")
    array: Array = np.asarray(argument)
    check_array(index, wanted, array.shape, array.dtype)
    return np.ascontiguousarray(array).reshape(wanted.shape)
