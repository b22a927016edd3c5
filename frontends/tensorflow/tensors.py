"""Tensors as arguments of executables, and results of executables as tensors, without copies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...hlo_dialect.types import Array
from .library import tensorflow

ALIGNMENT = 64
"""TensorFlow ends the process if a tensor's data is at any other address."""


def aligned_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An uninitialized array whose data TensorFlow can take."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def to_tensor(array: Array) -> Any:
    """The tensor of an array of `aligned_array`, which it keeps alive."""
    tf = tensorflow()
    if array.size == 0:
        return tf.zeros(array.shape, tf.dtypes.as_dtype(array.dtype))
    if array.dtype.isbuiltin == 1:
        return tf.experimental.dlpack.from_dlpack(array.__dlpack__())
    # DLPack of NumPy has no such type, such as bfloat16.
    kind = tf.dtypes.as_dtype(array.dtype)
    bits = np.dtype(f"u{array.dtype.itemsize}")
    return tf.bitcast(tf.experimental.dlpack.from_dlpack(array.view(bits).__dlpack__()), kind)
