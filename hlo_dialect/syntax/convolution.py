"""
The dimension numbers of a convolution, and the pretty syntax that it states them and its window in.

`[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]` names the dimensions of the input, the kernel and the output in their order:
`b` the batch, `f` the features, `i` and `o` the kernel's input and output features, numbers the spatial dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..attributes import IntArray, int_array, int_attr, int_list_text, ints, parse_int_list
from ..types import constant_array, dense_constant, i1
from .structural import Attributes

IntAttr = IntegerAttr[IntegerType]

WINDOW_KEYWORDS = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}
"""The entries of `window = {..}`, in the order in which they are printed, and the properties that they are."""

_MOST_PAIRS = 64
"""Spatial dimensions up to which padding is printed; an invalid one may be a splat of any size."""


@dataclass(frozen=True)
class Dimensions:
    """
    The roles of one tensor's dimensions; in the kernel, `batch` is the input feature, `feature` the output feature.
    """

    batch: int
    feature: int
    spatial: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        """Batch, spatial dimensions, features: the order in which everything is computed."""
        return (self.batch, *self.spatial, self.feature)


@irdl_attr_definition
class ConvDimensionNumbersAttr(ParametrizedAttribute):
    """`#hlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`, or `#hlo.conv<raw input_batch_dimension = 0, ..>`."""

    name = "hlo.conv"
    input_batch_dimension: IntAttr
    input_feature_dimension: IntAttr
    input_spatial_dimensions: IntArray
    kernel_input_feature_dimension: IntAttr
    kernel_output_feature_dimension: IntAttr
    kernel_spatial_dimensions: IntArray
    output_batch_dimension: IntAttr
    output_feature_dimension: IntAttr
    output_spatial_dimensions: IntArray

    @staticmethod
    def of(lhs: Dimensions, kernel: Dimensions, output: Dimensions) -> ConvDimensionNumbersAttr:
        parameters: list[Any] = []
        for dims in (lhs, kernel, output):
            parameters += [int_attr(dims.batch), int_attr(dims.feature), int_array(dims.spatial)]
        return ConvDimensionNumbersAttr(*parameters)

    @property
    def lhs(self) -> Dimensions:
        return _dimensions(self.input_batch_dimension, self.input_feature_dimension, self.input_spatial_dimensions)

    @property
    def kernel(self) -> Dimensions:
        return _dimensions(
            self.kernel_input_feature_dimension,
            self.kernel_output_feature_dimension,
            self.kernel_spatial_dimensions,
        )

    @property
    def output(self) -> Dimensions:
        return _dimensions(self.output_batch_dimension, self.output_feature_dimension, self.output_spatial_dimensions)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            found = _parse_raw(parser) if parser.parse_optional_keyword("raw") else parse_dimension_numbers(parser)
        return found.parameters

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{dimension_numbers_text(self) or self._raw_text()}>")

    def _raw_text(self) -> str:
        fields = [f"{name} = {_number_text(getattr(self, name))}" for name in _RAW_NAMES]
        return f"raw {', '.join(fields)}"


_RAW_NAMES = tuple(
    f"{role}_dimension{'s' if role.endswith('spatial') else ''}"
    for role in (
        "input_batch",
        "input_feature",
        "input_spatial",
        "kernel_input_feature",
        "kernel_output_feature",
        "kernel_spatial",
        "output_batch",
        "output_feature",
        "output_spatial",
    )
)


def _dimensions(batch: IntAttr, feature: IntAttr, spatial: IntArray) -> Dimensions:
    return Dimensions(batch.value.data, feature.value.data, ints(spatial))


def _number_text(value: IntAttr | IntArray) -> str:
    return int_list_text(ints(value)) if isinstance(value, DenseArrayBase) else str(value.value.data)


def _parse_raw(parser: AttrParser) -> ConvDimensionNumbersAttr:
    found: dict[str, Attribute] = {}

    def parse_field() -> None:
        name = parser.parse_keyword_in(_RAW_NAMES)
        if name in found:
            parser.raise_error(f"{name} is given twice")
        parser.parse_punctuation("=")
        several = name.endswith("s")
        found[name] = int_array(parse_int_list(parser)) if several else int_attr(parser.parse_integer())

    parser.parse_comma_separated_list(parser.Delimiter.NONE, parse_field)
    missing = [name for name in _RAW_NAMES if name not in found]
    if missing:
        parser.raise_error(f"{missing[0]} is not given")
    return ConvDimensionNumbersAttr(*(cast(Any, found[name]) for name in _RAW_NAMES))


def parse_dimension_numbers(parser: AttrParser) -> ConvDimensionNumbersAttr:
    """`[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`"""
    lhs = _parse_dimensions(parser, ("b", "f"))
    parser.parse_keyword("x")
    kernel = _parse_dimensions(parser, ("i", "o"))
    parser.parse_punctuation("->")
    return ConvDimensionNumbersAttr.of(lhs, kernel, _parse_dimensions(parser, ("b", "f")))


def _parse_dimensions(parser: AttrParser, letters: tuple[str, str]) -> Dimensions:
    """`[b, 0, 1, f]` of these letters, each once, and the numbers from 0 on, each once."""

    def parse_label() -> str | int:
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        return parser.parse_keyword_in(letters) if number is None else number

    labels = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_label)
    places = {label: place for place, label in enumerate(labels)}
    wanted: list[str | int] = [*letters, *range(len(labels) - 2)]
    if len(places) != len(labels) or any(label not in places for label in wanted):
        parser.raise_error(f"expected each of {letters[0]}, {letters[1]} and the numbers from 0 on once")
    return Dimensions(places[letters[0]], places[letters[1]], tuple(places[label] for label in wanted[2:]))


def dimension_numbers_text(numbers: ConvDimensionNumbersAttr) -> str | None:
    """`[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`; None if the numbers are not all dimensions, each once."""
    parts: list[str] = []
    for dims, letters in ((numbers.lhs, "bf"), (numbers.kernel, "io"), (numbers.output, "bf")):
        labels = {dims.batch: letters[0], dims.feature: letters[1]}
        labels |= {dim: str(number) for number, dim in enumerate(dims.spatial)}
        rank = len(dims.all)
        if sorted(labels) != list(range(rank)):
            return None
        parts.append(f"[{', '.join(labels[dim] for dim in range(rank))}]")
    return f"{parts[0]}x{parts[1]}->{parts[2]}"


def flags_array(values: Sequence[bool]) -> Attribute:
    """`array<i1: ..>`"""
    return DenseArrayBase.from_list(i1, [int(value) for value in values])


def parse_window(parser: AttrParser) -> Attributes:
    """`{stride = [1, 1], pad = [[0, 0], [1, 1]], ..}` as properties; those that are not stated are left out."""
    found: Attributes = {}
    parsers: dict[str, Callable[[AttrParser], Attribute]] = {
        "pad": _parse_padding,
        "reverse": lambda p: flags_array(p.parse_comma_separated_list(p.Delimiter.SQUARE, lambda: _parse_flag(p))),
    }

    def parse_entry() -> None:
        keyword = parser.parse_keyword_in(tuple(WINDOW_KEYWORDS))
        name = WINDOW_KEYWORDS[keyword]
        if name in found:
            parser.raise_error(f"{keyword} is given twice")
        parser.parse_punctuation("=")
        found[name] = parsers.get(keyword, lambda p: int_array(parse_int_list(p)))(parser)

    parser.parse_comma_separated_list(parser.Delimiter.BRACES, parse_entry)
    return found


def _parse_flag(parser: AttrParser) -> bool:
    return bool(parser.parse_integer(allow_boolean=True, allow_negative=False))


def _parse_padding(parser: AttrParser) -> Attribute:
    pairs = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_int_list(parser))
    if any(len(pair) != 2 for pair in pairs):
        parser.raise_error("expected two numbers for each dimension: the padding below and above")
    return dense_constant(np.array(pairs, np.int64).reshape(-1, 2))


def window_text(op: Operation) -> str:
    """`{stride = [1, 1], pad = [[0, 0], [1, 1]]}` of the properties that are present."""
    entries: list[str] = []
    for keyword, name in WINDOW_KEYWORDS.items():
        value = op.properties.get(name)
        if value is not None:
            entries.append(f"{keyword} = {_window_value_text(keyword, value)}")
    return f"{{{', '.join(entries)}}}"


def _window_value_text(keyword: str, value: Any) -> str:
    if keyword == "pad":
        padding = cast("DenseIntOrFPElementsAttr[Any]", value)
        shape = padding.get_shape()
        if len(shape) != 2 or shape[0] > _MOST_PAIRS:
            return str(padding)  # the operation will not pass its verifier
        return f"[{', '.join(map(int_list_text, constant_array(padding).tolist()))}]"
    if keyword == "reverse":
        return f"[{', '.join('true' if flag else 'false' for flag in value.get_values())}]"
    return int_list_text(ints(value))
