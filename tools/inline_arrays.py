"""Arrays on the command line: `2x2xf32=1,2,3,4`, one number for all elements, or a file."""

from __future__ import annotations

import math
import re
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

from ..hlo_dialect.dialect import make_context
from ..hlo_dialect.limits import too_much
from ..hlo_dialect.numbers.number_semantics import integer_bounds, is_integer_dtype
from ..hlo_dialect.types import Array, numpy_dtype, tensor_type
from .array_files import load_arrays
from .streams import StreamError

_TYPE = re.compile(r"(?:\d+x)*[A-Za-z][\w<>]*")
_IN_MLIR = re.compile(r"tensor<(.+)>")
_VALUE = re.compile(r"[^\s,\[\]]+")
_TRUTH = {"true": 1, "false": 0}


def input_arrays(text: str) -> list[Array]:
    """The arrays of one `--input`: of a type with values, or of files. Raises StreamError."""
    kind, equals, _ = text.partition("=")
    kind = _bare(kind)
    if equals and _TYPE.fullmatch(kind):
        return [inline_array(text)]
    return list(load_arrays(text.removeprefix("@")).values())


def inline_array(text: str) -> Array:
    """
    The array that `2x2xf32=1,2,3,4` denotes: a tensor type, with or without `tensor<>`, then its elements in order, or
    one for all. Commas, spaces and square brackets separate them. Raises StreamError that points at what is wrong.
    """
    kind, _, values = text.partition("=")
    type_ = _parse_type(text, _bare(kind))
    dtype = numpy_dtype(type_.element_type)
    if dtype is None:
        raise _error(text, 0, f"no array has elements of type {type_.element_type}")
    shape, start = type_.get_shape(), len(kind) + 1
    elements = [_element(text, start + match.start(), match[0], dtype) for match in _VALUE.finditer(values)]
    count = math.prod(shape)
    if len(elements) not in (1, count):
        raise _error(text, start, f"{len(elements)} values for the {count} elements of {type_}")
    if (why := too_much(count * dtype.itemsize)) is not None:
        raise _error(text, 0, why)
    if len(elements) == 1:
        return np.full(shape, np.array(elements[0]).astype(dtype))
    return np.array(elements, dtype=object if is_integer_dtype(dtype) else None).astype(dtype).reshape(shape)


def _bare(kind: str) -> str:
    """A type without `tensor<..>` around it."""
    whole = _IN_MLIR.fullmatch(kind.strip())
    return kind.strip() if whole is None else whole[1]


def _parse_type(text: str, kind: str) -> TensorType[Any]:
    try:
        found = Parser(make_context(), f"tensor<{kind}>").parse_type()
        return cast("TensorType[Any]", tensor_type(found))
    except (ParseError, VerifyException):
        raise _error(text, 0, f"'{kind}' is no type of arrays; write such as 2x2xf32=1,2,3,4") from None


def _element(text: str, position: int, value: str, dtype: np.dtype[Any]) -> complex | float | int:
    """One element. Raises StreamError."""
    try:
        if is_integer_dtype(dtype) or dtype.kind == "b":
            number = _TRUTH[value] if value in _TRUTH else int(value, 0)
            least, greatest = (0, 1) if dtype.kind == "b" else integer_bounds(dtype)
            if not least <= number <= greatest:
                raise _error(text, position, f"{value} is not from {least} to {greatest}")
            return number
        return complex(value) if dtype.kind == "c" else float(value)
    except ValueError:
        raise _error(text, position, f"'{value}' is no {'whole ' if dtype.kind in 'iub' else ''}number") from None


def _error(text: str, position: int, message: str) -> StreamError:
    line = " ".join(text.splitlines()) if "\n" in text else text
    begin = max(0, position - 40)
    return StreamError(f"--input: {message}\n{line[begin : begin + 100]}\n{' ' * (position - begin)}^")
