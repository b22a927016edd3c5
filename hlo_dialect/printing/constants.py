"""
The text of constants, as MLIR writes them; it reads back bit for bit.

A splat is one element; short constants are lists, long ones hexadecimal strings. A finite float is `1.500000e+00` if
six digits represent it exactly, else the shortest decimal that does; infinities and NaNs are bit patterns.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import AnyFloat, ComplexType, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute

from ..reading.literals import literal_dtype
from ..types import Array, is_float_dtype

LONGEST_LIST = 100
"""The most elements of a constant that is written as a list; longer ones are hexadecimal strings."""

DEEPEST_LIST = 64
"""The greatest rank of a constant that is written as a list."""


def dense_text(attribute: DenseIntOrFPElementsAttr[Any]) -> str:
    """The text between `dense<` and `>`."""
    element_type = cast(Attribute, attribute.get_element_type())
    shape = attribute.get_shape()
    data = attribute.data.data
    dtype = literal_dtype(element_type)
    if dtype is None:
        return f'"0x{data.hex().upper()}"'
    if math.prod(shape) == 0 or not data:
        return ""
    flat = np.frombuffer(data, dtype)
    raw = flat.view(np.uint8).reshape(flat.size, -1)
    if flat.size == 1 or bool((raw == raw[0]).all()):
        return _elements(flat[:1], element_type)[0]
    if flat.size > LONGEST_LIST or len(shape) > DEEPEST_LIST:
        return f'"0x{data.hex().upper()}"'
    return _nested(_elements(flat, element_type), shape)


def _nested(elements: list[str], shape: tuple[int, ...]) -> str:
    if len(shape) <= 1:
        return f"[{', '.join(elements)}]"
    step = len(elements) // shape[0]
    parts = [_nested(elements[start : start + step], shape[1:]) for start in range(0, len(elements), step)]
    return f"[{', '.join(parts)}]"


def _elements(flat: Array, element_type: Attribute) -> list[str]:
    """The text of each element."""
    if flat.dtype == np.bool_:
        return ["true" if value else "false" for value in flat.tolist()]
    if isinstance(element_type, ComplexType):
        part = np.dtype(np.float32 if flat.dtype.itemsize == 8 else np.float64)
        parts = _floats(flat.view(part))
        return [f"({parts[index]},{parts[index + 1]})" for index in range(0, len(parts), 2)]
    if is_float_dtype(flat.dtype):
        return _floats(flat)
    return [str(int(value)) for value in flat]


def _floats(flat: Array) -> list[str]:
    """Floats with six digits after the point, or as many more as they need to read back; others as their bits."""
    bits = flat.view(f"u{flat.itemsize}")
    wide = flat.astype(np.float64)
    texts = [f"0x{number:0{2 * flat.itemsize}X}" for number in bits.tolist()]
    pending = np.flatnonzero(np.isfinite(wide))
    for digits in range(6, 18):
        if not pending.size:
            break
        written = [f"{number:.{digits}e}" for number in wide[pending].tolist()]
        with np.errstate(over="ignore"):
            again = np.array([float(text) for text in written]).astype(flat.dtype)
        good = again.view(bits.dtype) == bits[pending]
        for place in np.flatnonzero(good).tolist():
            texts[pending[place]] = written[place] if digits == 6 else _shortened(written[place])
        pending = pending[~good]
    assert not pending.size, f"{wide[pending]} do not read back"
    return texts


def _shortened(text: str) -> str:
    """A mantissa without trailing zeros; MLIR's floats need the point."""
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa.rstrip('0')}e{exponent}"


def float_text(value: float, type_: AnyFloat) -> str:
    """A float attribute's number as a literal of that type."""
    dtype = literal_dtype(cast(Attribute, type_))
    if dtype is None:
        return repr(value) if math.isfinite(value) else f"0x{type_.pack((value,))[::-1].hex().upper()}"
    return _floats(np.array([value]).astype(dtype))[0]
