"""Element types of torch and of hlo, and conversions between them with torch's rules."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute

from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.types import Array, element_type_of, numpy_dtype
from ..builder.builder import Value
from .api import required, torch

_NUMPY: dict[Any, Any] = {
    torch.bool: np.bool_,
    torch.uint8: np.uint8,
    torch.uint16: np.uint16,
    torch.uint32: np.uint32,
    torch.uint64: np.uint64,
    torch.int8: np.int8,
    torch.int16: np.int16,
    torch.int32: np.int32,
    torch.int64: np.int64,
    torch.float16: np.float16,
    torch.bfloat16: ml_dtypes.bfloat16,
    torch.float32: np.float32,
    torch.float64: np.float64,
    torch.complex64: np.complex64,
    torch.complex128: np.complex128,
    torch.float8_e4m3fn: ml_dtypes.float8_e4m3fn,
    torch.float8_e5m2: ml_dtypes.float8_e5m2,
    torch.float8_e4m3fnuz: ml_dtypes.float8_e4m3fnuz,
    torch.float8_e5m2fnuz: ml_dtypes.float8_e5m2fnuz,
}
_ELEMENTS: dict[Any, Attribute] = {}
_DTYPES: dict[Attribute, Any] = {}
for _dtype, _numpy in _NUMPY.items():
    _element = element_type_of(np.dtype(_numpy))
    assert _element is not None
    _ELEMENTS[_dtype], _DTYPES[_element] = _element, _dtype

HALVES = frozenset((torch.float16, torch.bfloat16))
"""Types whose arithmetic torch does in f32."""


class Unlowered(Exception):
    """An operation of torch that is not lowered, or not with these arguments; the message is the reason."""


def element_of_dtype(dtype: Any) -> Attribute:
    """The element type of a dtype of torch. Raises Unlowered."""
    found = _ELEMENTS.get(dtype)
    if found is None:
        raise Unlowered(f"the dtype {dtype} has no element type in hlo")
    return found


def dtype_of(value: Value) -> Any:
    """The dtype of torch of a value."""
    return _DTYPES[value.element]


def working_dtype(dtype: Any) -> Any:
    """The dtype that torch computes in for operands of `dtype`."""
    return torch.float32 if dtype in HALVES else dtype


def real_dtype(dtype: Any) -> Any:
    """The dtype of the real part."""
    return {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(dtype, dtype)


def lowest(dtype: Any) -> Any:
    """The identity of the maximum."""
    if dtype == torch.bool:
        return False
    return float("-inf") if dtype.is_floating_point else torch.iinfo(dtype).min


def highest(dtype: Any) -> Any:
    """The identity of the minimum."""
    if dtype == torch.bool:
        return True
    return float("inf") if dtype.is_floating_point else torch.iinfo(dtype).max


def converted(value: Value, dtype: Any) -> Value:
    """A value as another dtype, as `Tensor.to` converts: anything but 0 is true, the imaginary part is dropped."""
    source = dtype_of(value)
    if source == dtype:
        return value
    if dtype == torch.bool:
        if source.is_complex:
            real, imaginary = parts(value)
            return converted(real, dtype) | converted(imaginary, dtype)
        return value.compare("NE", 0)
    if source.is_complex and not dtype.is_complex:
        return converted(parts(value).re, dtype)
    if source.is_floating_point and not dtype.is_floating_point and not dtype.is_complex:
        value = value.convert(_ELEMENTS[torch.float32]) if source in HALVES else value
        if dtype.itemsize < 4:
            # As in eager mode, the low bits of an integer of 32 bits, which are 0 for numbers that it has no room for.
            value = (value < 2.0**31).select(value, 0.0).convert(_ELEMENTS[torch.int32])
    return value.convert(element_of_dtype(dtype))


def parts(value: Value) -> Complex:
    """The real and the imaginary part of complex numbers."""
    return Complex.of(value)


no_modes: Any = required("torch.utils._python_dispatch")._disable_current_modes


def array_of(tensor: Any) -> Array:
    """A tensor of torch, on the CPU, as an array; also while torch traces with fake tensors."""
    dtype = numpy_dtype(element_of_dtype(tensor.dtype))
    assert dtype is not None
    with no_modes():
        plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
        if plain.dtype == torch.bfloat16 or dtype.name.startswith("float8"):
            bits = plain.view(torch.int16 if plain.dtype.itemsize == 2 else torch.uint8)
            return np.asarray(bits.numpy()).view(dtype)
        return np.asarray(plain.numpy())
