"""
Quantized element types.

Spec: https://openxla.org/stablehlo/spec, Quantized types.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayAttr, FloatData, IntAttr, IntegerType, Signedness
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...types import numpy_dtype

_SIGNEDNESS = {
    "i": Signedness.SIGNLESS,
    "u": Signedness.UNSIGNED,
    "ui": Signedness.UNSIGNED,
    "si": Signedness.SIGNED,
}
_BODY = re.compile(
    r"(?P<sign>i|u|ui|si)(?P<width>\d+)(?:<(?P<low>-?\d+):(?P<high>-?\d+)>)?:(?P<expressed>\w+)(?::(?P<axis>\d+))?,"
    r"(?P<steps>[^{}]+|\{[^{}]*\})"
)


@irdl_attr_definition
class UniformQuantizedType(ParametrizedAttribute, TypeAttribute):
    """
    `!quant.uniform<i8:f32, 0.5:3>`: stored in i8, expressed in f32, scale 0.5, zero point 3; `<i8<-127:127>:f32:1,
    {0.5:3, 0.25}>` with a range of its own and, along dimension 1, a scale and zero point for each index.
    """

    name = "quant.uniform"
    storage: IntegerType
    expressed: Attribute
    range: ArrayAttr[IntAttr]
    axis: IntAttr
    """The quantization dimension; -1 for a single scale."""
    scales: ArrayAttr[FloatData]
    zero_points: ArrayAttr[IntAttr]

    @property
    def per_axis(self) -> bool:
        """Whether there is a scale and zero point for each index of a dimension."""
        return self.axis.data >= 0

    @property
    def limits(self) -> tuple[int, int]:
        low, high = self.range.data
        return low.data, high.data

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        position = parser.pos
        if position == parser.lexer.input.len or parser.lexer.input.at(position) != "<":
            parser.raise_error("expected '<' after !quant.uniform")
        body = parser._parse_dialect_symbol_body()  # pyright: ignore[reportPrivateUsage]
        match = _BODY.fullmatch("".join(body.split()))
        if match is None and ":{" in "".join(body.split()):
            parser.raise_error("scales for blocks of dimensions are not supported, only along one dimension", position)
        if match is None:
            parser.raise_error(
                f"expected <storage:expressed, scale:zero_point> after !quant.uniform, got <{body}>", position
            )
        expressed = _expressed(parser, match["expressed"], position)
        width = int(match["width"])
        if not 1 <= width <= 32:
            parser.raise_error(f"a quantized type is stored in 1 to 32 bits, not in {width}", position)
        storage = IntegerType(width, _SIGNEDNESS[match["sign"]])
        low, high = _default_limits(storage)
        stated = (int(match["low"]), int(match["high"])) if match["low"] is not None else (low, high)
        if not low <= stated[0] < stated[1] <= high:
            parser.raise_error(f"the storage range {stated[0]}:{stated[1]} does not lie in {low}:{high}", position)
        steps = [step.partition(":") for step in match["steps"].strip("{}").split(",") if step]
        if match["steps"].startswith("{") != (match["axis"] is not None) or not steps:
            parser.raise_error("one scale stands alone, one for each index of a dimension in braces", position)
        try:
            scales = [float(scale) for scale, _, _ in steps]
            zeros = [int(zero) if zero else 0 for _, _, zero in steps]
        except ValueError:
            parser.raise_error(f"expected scale:zero_point, got {match['steps']}", position)
        if not all(scale > 0 and math.isfinite(scale) for scale in scales):
            parser.raise_error("the scales of a quantized type are finite and greater than 0", position)
        smallest, largest = _range(expressed)
        if not all(smallest <= scale <= largest for scale in scales):
            parser.raise_error(f"a scale is not in the range of {expressed}, {smallest} to {largest}", position)
        axis = -1 if match["axis"] is None else int(match["axis"])
        return [
            storage,
            expressed,
            ArrayAttr([IntAttr(limit) for limit in stated]),
            IntAttr(axis),
            ArrayAttr([FloatData(scale) for scale in scales]),
            ArrayAttr([IntAttr(zero) for zero in zeros]),
        ]

    def print_parameters(self, printer: Printer) -> None:
        sign = next(sign for sign, meaning in _SIGNEDNESS.items() if meaning is self.storage.signedness.data)
        text = f"{sign}{self.storage.width.data}"
        if self.limits != _default_limits(self.storage):
            text += f"<{self.limits[0]}:{self.limits[1]}>"
        steps = [
            _scale_text(scale.data) + (f":{zero.data}" if zero.data else "")
            for scale, zero in zip(self.scales, self.zero_points, strict=True)
        ]
        if self.axis.data < 0:
            printer.print_string(f"<{text}:{self.expressed}, {steps[0]}>")
        else:
            printer.print_string(f"<{text}:{self.expressed}:{self.axis.data}, {{{','.join(steps)}}}>")


def _expressed(parser: AttrParser, name: str, position: int) -> Attribute:
    found = {"f16": "Float16Type", "bf16": "BFloat16Type", "f32": "Float32Type", "f64": "Float64Type"}.get(name)
    if found is None:
        parser.raise_error(f"a quantized type stands for bf16, f16, f32 or f64, not for {name}", position)
    return cast(Attribute, getattr(builtin, found)())


def _range(expressed: Attribute) -> tuple[float, float]:
    """The smallest and the largest positive number of a float type."""
    import ml_dtypes  # which takes a while

    info = cast(Any, ml_dtypes).finfo(cast("np.dtype[Any]", numpy_dtype(expressed)))
    return float(info.smallest_subnormal), float(info.max)


def _default_limits(storage: IntegerType) -> tuple[int, int]:
    width = storage.width.data
    if storage.signedness.data is Signedness.UNSIGNED:
        return 0, 2**width - 1
    return -(2 ** (width - 1)), 2 ** (width - 1) - 1


def _scale_text(scale: float) -> str:
    """A scale in MLIR's syntax: `0.5`, `1.25E-5`."""
    mantissa, _, exponent = repr(scale).partition("e")
    return f"{mantissa}E{int(exponent)}" if exponent else mantissa
