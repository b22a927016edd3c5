"""
Literals in HLO text: `1`, `{{1, 2}, {3, 4}}`, `{true, false}`, `nan`, `-inf`, `0x1.8p3`, `(1, -2.5)` for a complex
number; old texts repeat the shape, `f32[2] {1, 2}`.

The text is checked against the braces that an array of the shape has; its numbers are then converted together.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ComplexType, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute

from ...hlo_dialect.types import (
    Array,
    HloTensor,
    bit_width,
    dense_constant,
    element_of,
    is_boolean,
    is_complex,
    is_float,
    is_unsigned,
    make_tensor,
    numpy_dtype,
)
from .blanks import COMMENT

_BETWEEN = re.compile(r"[^{},]++")
_FLOAT = re.compile(r"-?(?:[0-9]++\.?+[0-9]*+(?:[eE][+-]?[0-9]++)?|\.[0-9]++(?:[eE][+-]?[0-9]++)?|inf|nan)")
_HEX_FLOAT = re.compile(
    r"-?0[xX](?:[0-9a-fA-F]{1,32}(?:\.[0-9a-fA-F]{0,32})?|\.[0-9a-fA-F]{1,32})(?:[pP][+-]?[0-9]{1,5})?"
)
_NAN = re.compile(r"(-?)nan(?:\(0x([0-9a-fA-F]{1,16})\))?")
_INT = re.compile(r"-?(?:[0-9]{1,20}|0[xX][0-9a-fA-F]{1,16})")
_SHAPE = re.compile(r"\s*[a-z]\w*\[[^\]]*\](?:\{[0-9,]*\}(?=\s*[^\s]))?(?=[\s{(])")
_PAIR = re.compile(r"\(([^(),]*),([^(),]*)\)")
_LONGEST_KEPT = 200


class LiteralError(Exception):
    """A text is no literal of the type."""


def read_literal(text: str, type_: HloTensor) -> DenseIntOrFPElementsAttr[Any]:
    """The constant that a text denotes. Raises LiteralError."""
    return _kept(text, type_) if len(text) <= _LONGEST_KEPT else _read(text, type_)


def tuple_parts(text: str) -> list[str]:
    """The literals in `(1, {2, 3}, (4, 5))`. Raises LiteralError."""
    text = COMMENT.sub("", text).strip()
    if not (text.startswith("(") and text.endswith(")")):
        raise LiteralError("expected a tuple of literals in parentheses")
    parts, depth, start = list[str](), 0, 1
    for at in range(1, len(text) - 1):
        if text[at] in "({[":
            depth += 1
        elif text[at] in ")}]":
            depth -= 1
        elif text[at] == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    last = text[start:-1]
    return [*parts, last] if parts or last.strip() else []


@lru_cache(maxsize=4096)
def _kept(text: str, type_: HloTensor) -> DenseIntOrFPElementsAttr[Any]:
    return _read(text, type_)


def _read(text: str, type_: HloTensor) -> DenseIntOrFPElementsAttr[Any]:
    text = COMMENT.sub("", text) if "/" in text else text
    text = _SHAPE.sub("", text, count=1).strip()
    shape = type_.get_shape()
    element: Attribute = element_of(type_)
    if "..." in text:
        raise LiteralError("the values were left out when the text was printed; print it with large constants")
    if any(size < 0 for size in shape):
        raise LiteralError(f"a constant of type {type_} has no size")
    pairs: list[tuple[str, str]] = []
    if is_complex(element):
        pairs = _PAIR.findall(text)
        text = _PAIR.sub("0", text)
    if _BETWEEN.sub("", text) != _braces(shape):
        raise LiteralError(f"the braces are not those of an array of shape {list(shape)}")
    words = text.replace("{", " ").replace("}", " ").split(",")
    words = [word.strip() for word in words] if math.prod(shape) else []
    if words == [""] and not shape:
        raise LiteralError("expected a value")
    values = _complex(pairs, len(words), element) if pairs else _numbers(words, element)
    if math.prod(shape) and values.size != math.prod(shape):
        raise LiteralError(f"expected {math.prod(shape)} values, got {values.size}")
    return dense_constant(values.reshape(shape), make_tensor(shape, element))


def _braces(shape: tuple[int, ...]) -> str:
    """The braces and commas of an array, without its values."""
    if math.prod(shape) > 1 << 28:
        raise LiteralError("the constant is too large")
    text = ""
    for size in reversed(shape):
        text = "{" + ",".join([text] * size) + "}"
    return text


def _complex(pairs: list[tuple[str, str]], count: int, element: Attribute) -> Array:
    if len(pairs) != count:
        raise LiteralError("expected complex numbers, (real, imaginary)")
    part = cast(Attribute, cast("ComplexType[Any]", element).element_type)
    words = [word.strip() for pair in pairs for word in pair]
    parts = _numbers(words, part)
    return parts.view(cast(Any, numpy_dtype(element)))


def _numbers(words: list[str], element: Attribute) -> Array:
    dtype = numpy_dtype(element)
    assert dtype is not None
    if is_boolean(element):
        for word in words:
            if word not in ("true", "false", "0", "1"):
                raise LiteralError(f"'{word[:40]}' is no value of type pred")
        return np.array([word in ("true", "1") for word in words], np.bool_)
    if is_float(element):
        return _floats(words, dtype)
    if isinstance(element, ComplexType):
        return _floats(words, np.dtype(np.float64)).astype(dtype)
    return _integers(words, element, dtype)


def _floats(words: list[str], dtype: np.dtype[Any]) -> Array:
    numbers: list[float] = []
    special: dict[int, Array] = {}
    for index, word in enumerate(words):
        if _FLOAT.fullmatch(word):
            numbers.append(float(word))
        elif _HEX_FLOAT.fullmatch(word):
            numbers.append(_hexadecimal(word))
        elif word in ("true", "false"):
            numbers.append(float(word == "true"))
        elif (match := _NAN.fullmatch(word)) is not None:
            numbers.append(math.nan)
            special[index] = _nan(match[1] == "-", int(match[2] or "0", 16), dtype)
        else:
            raise LiteralError(f"'{word[:40]}' is no number")
    with np.errstate(all="ignore"):
        values: Array = np.array(numbers, np.float64).astype(dtype)
    for index, value in special.items():
        values[index] = value
    return values


def _hexadecimal(word: str) -> float:
    try:
        return float.fromhex(word)
    except OverflowError:
        return -math.inf if word.startswith("-") else math.inf


def _nan(negative: bool, payload: int, dtype: np.dtype[Any]) -> Array:
    """A NaN of a sign, with the low bits of its significand where they are stated."""
    quiet = np.array([-math.nan if negative else math.nan]).astype(dtype)
    if dtype not in (np.dtype(np.float32), np.dtype(np.float64)) or not payload:
        return np.copysign(quiet, -1)[0] if negative else quiet[0]
    bits, integer = (23, np.uint32) if dtype == np.float32 else (52, np.uint64)
    if payload >= 1 << bits:
        raise LiteralError(f"the NaN's payload 0x{payload:x} has more than {bits} bits")
    infinity = np.array([-math.inf if negative else math.inf], dtype).view(integer)
    return (infinity | integer(payload)).view(dtype)[0]


def _integers(words: list[str], element: Attribute, dtype: np.dtype[Any]) -> Array:
    width, unsigned = bit_width(element), is_unsigned(element)
    low, high = (0, (1 << width) - 1) if unsigned else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    numbers: list[int] = []
    for word in words:
        if _INT.fullmatch(word) is None:
            raise LiteralError(f"'{word[:40]}' is no integer")
        number = int(word, 16 if "x" in word.lower() else 10)
        if not low <= number <= high:
            raise LiteralError(f"{number} does not fit into {'u' if unsigned else 's'}{width}")
        numbers.append(number)
    return np.array(numbers, np.uint64 if unsigned else np.int64).astype(dtype)
