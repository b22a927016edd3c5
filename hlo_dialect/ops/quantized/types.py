"""
Quantized element types.

Spec: https://openxla.org/stablehlo/spec, Quantized types.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayAttr, FloatData, IntAttr, IntegerType, Signedness
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

_BODY = re.compile(
    r"(?P<sign>[iu])(?P<width>\d+)(?:<(?P<low>-?\d+):(?P<high>-?\d+)>)?:(?P<expressed>\w+)(?::(?P<axis>\d+))?,"
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
        if match is None:
            parser.raise_error(
                f"expected <storage:expressed, scale:zero_point> after !quant.uniform, got <{body}>", position
            )
        expressed = _expressed(parser, match["expressed"], position)
        width = int(match["width"])
        if not 2 <= width <= 32:
            parser.raise_error(f"a quantized type is stored in 2 to 32 bits, not in {width}", position)
        signed = match["sign"] == "i"
        storage = IntegerType(width, Signedness.SIGNLESS if signed else Signedness.UNSIGNED)
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
        if not all(stated[0] <= zero <= stated[1] for zero in zeros):
            parser.raise_error(f"a zero point is not in the storage range {stated[0]}:{stated[1]}", position)
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
        unsigned = self.storage.signedness.data is Signedness.UNSIGNED
        text = f"{'u' if unsigned else 'i'}{self.storage.width.data}"
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


def _default_limits(storage: IntegerType) -> tuple[int, int]:
    width = storage.width.data
    if storage.signedness.data is Signedness.UNSIGNED:
        return 0, 2**width - 1
    return -(2 ** (width - 1)), 2 ** (width - 1) - 1


def _scale_text(scale: float) -> str:
    """A scale in MLIR's syntax: `0.5`, `1.25E-5`."""
    mantissa, _, exponent = repr(scale).partition("e")
    return f"{mantissa}E{int(exponent)}" if exponent else mantissa
