"""Types of values as Python writes them: `("f32", (2, 3))`, `np.float32`, `"tensor<2x3xf32>"`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, TypeAttribute

from ...hlo_dialect.arrays import dtype_named
from ...hlo_dialect.numbers.number_semantics import round_to
from ...hlo_dialect.shapes import DYNAMIC
from ...hlo_dialect.types import element_of, element_type_of, is_float, make_tensor, numpy_dtype, shape_of
from .properties import parse_text


@lru_cache(maxsize=256)
def _named(text: str) -> Attribute:
    """MLIR's name first: `i8` has 8 bits there, and 8 bytes in NumPy."""
    try:
        return parse_text(text)
    except ValueError:
        dtype = dtype_named(text)  # NumPy knows bfloat16 only once ml_dtypes is loaded
        try:
            found = element_type_of(np.dtype(text) if dtype is None else dtype)
        except TypeError:
            found = None
        if found is None:
            raise ValueError(
                f'\'{text}\' is no type: an element type is "f32", np.float32 or "bf16", that of a value '
                '("f32", (2, 3)) or "tensor<2x3xf32>"'
            ) from None
        return found


def is_element(value: Any) -> bool:
    """Whether a value names an element type: `"f32"`, `np.float32`, an attribute that is no tensor."""
    return isinstance(value, str | np.dtype | type) and not (
        isinstance(value, str) and value.startswith(("tensor", "!"))
    )


def element_type(value: Any) -> Attribute:
    """
    The element type that a NumPy dtype, a name (MLIR's, `f32`, or NumPy's, `float32`) or an attribute states.

    Raises ValueError, TypeError.
    """
    if isinstance(value, Attribute):
        return value
    if isinstance(value, str):
        return _named(value)
    try:
        dtype = np.dtype(value)
    except TypeError:
        raise TypeError(f'expected an element type, such as "f32" or np.float32, got {value!r}') from None
    found = element_type_of(dtype)
    if found is None:
        raise TypeError(f"there is no element type for {dtype}")
    return found


def _dimensions(shape: Any) -> tuple[int, ...]:
    """Sizes; None is an unknown one. Raises TypeError, ValueError."""
    if isinstance(shape, int | np.integer):
        shape = (shape,)
    try:
        sizes = tuple(DYNAMIC if size is None else operator.index(size) for size in shape)
    except TypeError:
        raise TypeError(f"expected a shape, a sequence of sizes (None is an unknown one), got {shape!r}") from None
    if any(size < 0 and size != DYNAMIC for size in sizes):
        raise ValueError(f"a shape has a negative size: {tuple(shape)}")
    return sizes


def fitted(values: np.ndarray[Any, Any], element: Attribute) -> np.ndarray[Any, Any]:
    """
    Values as an element type: floats are rounded; those that the type does not have at all are refused.

    Raises ValueError for a fraction, a sign or a size that would be lost, TypeError for what are no numbers.
    """
    dtype = numpy_dtype(element)
    assert dtype is not None
    if values.dtype == dtype:
        return values
    if element_type_of(values.dtype) is None:
        raise TypeError(f"expected numbers, got {values.dtype}")
    with np.errstate(all="ignore"):
        found = round_to(values, dtype) if is_float(element) and values.dtype.kind == "f" else values.astype(dtype)
        if values.dtype.kind == "c" and dtype.kind != "c":
            lost = values.imag != 0
        elif is_float(element) or dtype.kind == "c":
            wide = np.complex128 if dtype.kind == "c" else np.float64
            lost = np.isfinite(values.astype(wide)) & ~np.isfinite(found.astype(wide))
        else:
            lost = found.astype(values.dtype) != values
            # A wide integer that wraps around comes back as itself.
            lost |= (found.astype(np.float64) < 0) != (values.astype(np.float64) < 0)
    if lost.any():
        raise ValueError(f"{values[lost].flat[0]} is no {element}: state another type, or convert the array first")
    return found


def type_of(stated: Any, shape: Sequence[int | None] | None = None) -> Attribute:
    """
    The type of a value: an attribute, MLIR's text of one, an array's, or an element type and a shape, by default ().

    Raises ValueError, TypeError.
    """
    if type(stated) is TensorType and shape is None:
        return cast(Attribute, stated)
    if shape is not None:
        return make_tensor(_dimensions(shape), element_type(stated))
    if isinstance(stated, TypeAttribute):
        return cast(Attribute, stated)
    if isinstance(stated, np.ndarray):
        array = cast(Any, stated)
        return make_tensor(array.shape, element_type(array.dtype))
    if isinstance(stated, tuple):
        element, sizes = cast("tuple[Any, Sequence[int]]", stated)
        return type_of(element, sizes)
    if isinstance(stated, str) and not is_element(stated):
        return parse_text(stated)
    return make_tensor((), element_type(stated))


def is_shape(value: Any) -> bool:
    """Whether a value is a sequence of sizes."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return False
    return all(size is None or isinstance(size, int | np.integer) for size in cast("Sequence[Any]", value))


def result_type(stated: Any, first: Attribute | None) -> Attribute:
    """
    The type of a result: as `type_of`, or only a shape, with the first operand's elements, or only an element type, in
    its shape. Raises ValueError, TypeError.
    """
    if isinstance(stated, Attribute):
        return stated
    if first is not None:
        if is_element(stated):
            return make_tensor(shape_of(first), element_type(stated))
        if is_shape(stated):
            return make_tensor(_dimensions(stated), element_of(first))
    return type_of(stated)
