"""
Dense literals: the text between `dense<` and `>` as a constant in the canonical form of types.py.

A splat is never expanded, so its shape may be of any size. In a float constant a hexadecimal integer is the bit
pattern of the number; an i1 takes `true` or `false`; a string holds raw bytes, little-endian, in row-major order.
"""

from __future__ import annotations

import json
import math
import re
from binascii import unhexlify
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ComplexType, DenseIntOrFPElementsAttr, IndexType, IntegerType, Signedness
from xdsl.ir import Attribute

from ..regular_expressions import compile_pattern
from ..types import (
    QUANTIZED,
    Array,
    HloTensor,
    bit_width,
    dense_constant,
    is_float_dtype,
    narrow_integer_width,
    numpy_dtype,
)
from .lexer import BLANK

DenseConstant = DenseIntOrFPElementsAttr[Any]

_PLAIN_LIST = re.compile(r"[\[\]\s,0-9eE.+\-truefals]*")
_DECIMAL_INTEGER = re.compile(r"(?:^|[\[\s,(])[+-]?[0-9]+\s*(?=[,\])]|$)")
_SCALAR = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|0x[0-9a-fA-F]+|[0-9]+)|true|false")
_PIECE = compile_pattern(rf"{BLANK}(?:([\[\](),])|({_SCALAR.pattern})|(\S)|$)")
_OPENING = re.compile(r"[\[\s]*")


@dataclass
class LiteralError(Exception):
    """A literal that does not fit its type; `offset` is the position in the literal's text."""

    message: str
    offset: int


def integer_parts(type_: Any) -> tuple[int, Signedness]:
    """Width and signedness of an integer type."""
    return type_.width.data, type_.signedness.data


@cache
def literal_dtype(element_type: Attribute) -> np.dtype[Any] | None:
    """The NumPy dtype in which constants of this type are stored: `numpy_dtype`, and index and signed types."""
    found = numpy_dtype(element_type)
    if found is not None:
        return found
    if isinstance(element_type, IndexType):
        return np.dtype(np.int64)
    if isinstance(element_type, IntegerType):
        width, signedness = integer_parts(cast(Any, element_type))
        if signedness is Signedness.SIGNED:
            return literal_dtype(IntegerType(width))
    return None


def decode_literal(text: str, type_: Attribute) -> DenseConstant:
    """
    The constant of shaped type `type_` that the literal `text` (between the angle brackets) writes.

    Raises LiteralError.
    """
    shaped = cast(HloTensor, type_)
    shape = shaped.get_shape()
    element_type = shaped.get_element_type()
    dtype = literal_dtype(element_type)
    if dtype is None or element_type.name == QUANTIZED:
        raise LiteralError(f"constants of element type {element_type} are not supported", 0)
    if any(size < 0 for size in shape):
        raise LiteralError(f"a constant needs a static shape, got {type_}", 0)
    stripped = text.strip()
    if not stripped:
        if math.prod(shape) != 0:
            raise LiteralError(f"expected {math.prod(shape)} elements, got none", 0)
        array: Array = np.empty(0, dtype)
    elif stripped.startswith('"'):
        array = _from_bytes(_raw_bytes(stripped), shape, element_type, dtype)
    elif stripped.startswith("["):
        array = _from_list(text, shape, element_type, dtype)
    else:
        array = _splat(text, element_type, dtype)
    if math.prod(shape) == 0:
        array = array[:0]
    return dense_constant(array, shaped)


def _raw_bytes(quoted: str) -> bytes:
    if not quoted.startswith('"0x') or not quoted.endswith('"') or len(quoted) < 4:
        raise LiteralError('expected a string of hexadecimal digits "0x.."', 0)
    try:
        return unhexlify(quoted[3:-1])
    except ValueError:
        raise LiteralError("the string holds something else than pairs of hexadecimal digits", 0) from None


def _from_bytes(data: bytes, shape: tuple[int, ...], element_type: Attribute, dtype: np.dtype[Any]) -> Array:
    """Raw data; the bytes of one element denote a splat. An i1 takes a byte, or a bit as MLIR packs them."""
    count = math.prod(shape)
    if dtype == np.bool_:
        return _bools_from_bytes(data, count)
    if len(data) not in (count * dtype.itemsize, dtype.itemsize):
        raise LiteralError(
            f"{count} elements of {element_type} take {count * dtype.itemsize} bytes, got {len(data)}", 0
        )
    return np.frombuffer(data, dtype)


def _bools_from_bytes(data: bytes, count: int) -> Array:
    if len(data) == 1 and data[0] in (0, 0xFF):
        return np.array([data[0] != 0])
    if len(data) == count:
        return np.frombuffer(data, np.uint8) != 0
    if len(data) == (count + 7) // 8:
        return np.unpackbits(np.frombuffer(data, np.uint8), count=count, bitorder="little").astype(np.bool_)
    raise LiteralError(f"{count} elements of i1 take {count} bytes, or {(count + 7) // 8} packed, got {len(data)}", 0)


def _splat(text: str, element_type: Attribute, dtype: np.dtype[Any]) -> Array:
    reader = _ListReader(text, element_type, dtype)
    value = reader.element()
    reader.expect_end()
    return _array_of([value], dtype)


def _from_list(text: str, shape: tuple[int, ...], element_type: Attribute, dtype: np.dtype[Any]) -> Array:
    opening = _OPENING.match(text)
    assert opening is not None
    if opening[0].count("[") > max(len(shape), 1):
        raise LiteralError(f"the literal is nested deeper than the shape {list(shape)}", text.index("["))
    array = _plain_list(text, element_type, dtype)
    if array is None:
        reader = _ListReader(text, element_type, dtype)
        values, found = reader.nested(len(shape))
        reader.expect_end()
        array = _array_of(values, dtype)
    else:
        found = array.shape
    if found != shape:
        raise LiteralError(f"the literal has shape {list(found)}, its type {list(shape)}", text.index("["))
    return array.reshape(-1)


def _plain_list(text: str, element_type: Attribute, dtype: np.dtype[Any]) -> Array | None:
    """A list of decimal numbers, read at C speed; None if it holds anything else, or an error that must be located."""
    if not _PLAIN_LIST.fullmatch(text):
        return None
    try:
        nested: Any = json.loads(text)
        if dtype == np.bool_:
            array = np.array(nested)
            return array if array.dtype == np.bool_ else None
        if is_float_dtype(dtype):
            if "t" in text or "a" in text or _DECIMAL_INTEGER.search(text):
                return None
            with np.errstate(over="ignore"):
                return np.array(nested, np.float64).astype(dtype)
        if dtype.kind not in "iu" and narrow_integer_width(dtype) is None:
            return None
        if "." in text or "e" in text or "E" in text:
            return None
        wide = np.array(nested, np.int64)
    except (ValueError, OverflowError, TypeError):
        return None
    lowest, highest = _integer_range(element_type)
    if wide.size and (int(wide.min()) < lowest or int(wide.max()) > highest):
        return None
    return wide.astype(dtype)


def _integer_range(element_type: Attribute) -> tuple[int, int]:
    """The values that may be written for an integer type: a signless one takes both readings of its bits."""
    if isinstance(element_type, IntegerType):
        width, signedness = integer_parts(cast(Any, element_type))
        match signedness:
            case Signedness.UNSIGNED:
                return 0, 2**width - 1
            case Signedness.SIGNED:
                return -(2 ** (width - 1)), 2 ** (width - 1) - 1
            case _:
                return -(2 ** (width - 1)), 2**width - 1
    return -(2**63), 2**63 - 1


def _array_of(values: list[Any], dtype: np.dtype[Any]) -> Array:
    """The bytes of the elements that `_ListReader.element` returned."""
    return np.frombuffer(b"".join(values), dtype)


class _ListReader:
    """Reads a literal token by token, with positions: for literals that the plain reader refuses."""

    def __init__(self, text: str, element_type: Attribute, dtype: np.dtype[Any]):
        self.text = text
        self.position = 0
        self.element_type = element_type
        self.dtype = dtype
        self.part = self._part_dtype(dtype)
        self.lowest, self.highest = _integer_range(element_type)

    @staticmethod
    def _part_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
        if dtype.kind != "c":
            return dtype
        return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)

    def peek(self) -> tuple[str, int]:
        """The next token and its position; an empty token at the end."""
        match = _PIECE.match(self.text, self.position)
        assert match is not None
        group = match.lastindex
        if group is None:
            return "", match.end()
        if group == 3:
            raise LiteralError("expected a number, true, false or a list", match.start(3))
        return match[group], match.start(group)

    def take(self) -> tuple[str, int]:
        piece, start = self.peek()
        self.position = start + len(piece)
        return piece, start

    def expect(self, wanted: str) -> None:
        piece, start = self.take()
        if piece != wanted:
            raise LiteralError(f"expected '{wanted}', got '{piece or 'the end'}'", start)

    def expect_end(self) -> None:
        piece, start = self.peek()
        if piece:
            raise LiteralError(f"unexpected '{piece}'", start)

    def nested(self, rank: int) -> tuple[list[bytes], tuple[int, ...]]:
        """A list of lists: the elements' bytes in order, and the shape."""
        _, opening = self.peek()
        self.expect("[")
        values: list[bytes] = []
        inner: tuple[int, ...] | None = None
        count = 0
        while self.peek()[0] != "]":
            if count:
                self.expect(",")
            piece, start = self.peek()
            if piece == "[":
                if rank <= 1:
                    raise LiteralError("the literal is nested deeper than its type's rank", start)
                found, shape = self.nested(rank - 1)
                values += found
            else:
                values.append(self.element())
                shape = ()
            if inner is not None and inner != shape:
                raise LiteralError(f"lists of different shapes {list(inner)} and {list(shape)}", start)
            inner = shape
            count += 1
        self.expect("]")
        if inner is None and rank > 1:
            raise LiteralError("an empty list where the type has more dimensions", opening)
        return values, (count, *(inner or ()))

    def element(self) -> bytes:
        """One element's bytes. Raises LiteralError."""
        if isinstance(self.element_type, ComplexType):
            self.expect("(")
            real = self.number()
            self.expect(",")
            imaginary = self.number()
            self.expect(")")
            return real + imaginary
        return self.number()

    def number(self) -> bytes:
        piece, start = self.take()
        if not _SCALAR.fullmatch(piece):
            raise LiteralError(f"expected a number, got '{piece or 'the end'}'", start)
        if piece in ("true", "false"):
            if self.dtype != np.bool_:
                raise LiteralError(f"'{piece}' is only a value of i1, not of {self.element_type}", start)
            return b"\x01" if piece == "true" else b"\x00"
        if is_float_dtype(self.part):
            return self._float(piece, start)
        return self._integer(piece, start)

    def _float(self, piece: str, start: int) -> bytes:
        size = self.part.itemsize
        if "x" in piece:
            bits = int(piece, 16)
            width = 8 * size if self.dtype.kind == "c" else bit_width(self.element_type)
            if bits < 0 or bits >= 1 << width:
                raise LiteralError(f"'{piece}' is not the bit pattern of a {self.element_type}", start)
            return bits.to_bytes(size, "little")
        if "." not in piece:
            raise LiteralError(
                f"expected a floating-point number for {self.element_type}, got the integer {piece}", start
            )
        with np.errstate(over="ignore"):
            return np.array(float(piece), np.float64).astype(self.part).tobytes()

    def _integer(self, piece: str, start: int) -> bytes:
        if "." in piece:
            raise LiteralError(f"expected an integer for {self.element_type}, got {piece}", start)
        digits = piece.lstrip("+-")
        if len(digits) > 40:
            raise LiteralError(f"an integer of {len(digits)} digits does not fit {self.element_type}", start)
        value = int(piece, 16 if digits.startswith("0x") else 10)
        if not self.lowest <= value <= self.highest:
            raise LiteralError(f"{value} does not fit {self.element_type}", start)
        if self.dtype == np.bool_:
            return b"\x01" if value else b"\x00"
        if self.dtype.kind == "V":
            return np.array(_wrap(value, self.element_type)).astype(self.dtype).tobytes()
        return (value % (1 << (8 * self.dtype.itemsize))).to_bytes(self.dtype.itemsize, "little")


def _wrap(value: int, element_type: Attribute) -> int:
    """A signless value written in its unsigned reading, as the signed one."""
    assert isinstance(element_type, IntegerType)
    width, signedness = integer_parts(cast(Any, element_type))
    if signedness is Signedness.UNSIGNED or value < 2 ** (width - 1):
        return value
    return value - 2**width
