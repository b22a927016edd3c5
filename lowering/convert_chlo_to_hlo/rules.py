"""Shared by the chlo decompositions: convert the operands to the computation type, round once at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from xdsl.dialects.builtin import ComplexType, Float64Type
from xdsl.ir import Attribute, Operation

from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.real import Number
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.rules import Rules
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, f32, f64, shape_of

Conversion: TypeAlias = Callable[[Operation], Sequence[Operation] | None]
"""Replaces a chlo operation in place; returns the chlo operations among the new ones, if any."""
conversions = Rules[Conversion]("convert-chlo-to-hlo", __package__)


@dataclass(frozen=True)
class Function:
    """A function of real numbers, for tensors and, in expand-math, for single elements."""

    formula: Callable[..., Any]
    """In Real's notation. A formula of doubles takes `exact`, whether the result itself is f64."""
    of_doubles: bool = False
    """Whether it computes in f64 in any case; otherwise it does so in f32 for f32 and narrower floats."""

    def __call__(self, operands: Sequence[Number], element: Attribute) -> Number:
        """The value for operands, rounded once to an element type."""
        wide = [x.convert(f64 if self.of_doubles else computing_type(x.element)) for x in operands]
        exact = {"exact": isinstance(element, Float64Type)} if self.of_doubles else {}
        return self.formula(*wide, **exact).convert(element)


functions = Rules[Function]("the functions of convert-chlo-to-hlo", __package__)
"""Those that stay whole until expand-math, unless `convert-chlo-to-hlo` is to be complete."""


def computing_type(element_type: Attribute) -> Attribute:
    """The computation type: f32 for f32 and narrower floats, f64 for f64."""
    return element_type if isinstance(element_type, Float64Type) else f32


def require_static(op: Operation) -> None:
    """Fail if a shape has an unknown dimension."""
    for value in (*op.operands, *op.results):
        if not is_static(shape_of(value)):
            fail(op, f"cannot be decomposed: the shape of {value.type} is unknown")


def of_floats(function: Callable[..., Any]) -> Conversion:
    """
    Lower `chlo.f %x, ..` by calling `function` on the operands in f32 (narrower ones too) or f64.

    The result of `function` is rounded to the result type unless that is boolean.
    """

    def convert(op: Operation) -> None:
        require_static(op)
        builder = Builder()
        operands = [x.convert(computing_type(x.element)) for x in builder.tensors(op.operands)]
        builder.replace(op, function(*operands).convert(element_of(op.results[0])))

    return convert


def of_complex(function: Callable[[Complex], Complex], wide: bool = True) -> Conversion:
    """Lower `chlo.f %z` by calling `function` on the parts, in f64 if `wide`, rounding once."""

    def convert(op: Operation) -> None:
        require_static(op)
        builder = Builder()
        z = Complex.of(Tensor(builder, op.operands[0]))
        result = function(z.convert(f64) if wide else z).convert(z.re.element)
        builder.replace(op, result.joined())

    return convert


def by_kind(real: Conversion, complex_: Conversion) -> Conversion:
    """Select between a conversion for floats and one for complex numbers."""

    def convert(op: Operation) -> None:
        (complex_ if isinstance(element_of(op.operands[0]), ComplexType) else real)(op)

    return convert


def decompose(op: Operation, function: Function) -> None:
    """Replace `chlo.f %x, ..` of floats by the arithmetic of a function."""
    builder = Builder()
    builder.replace(op, function(builder.tensors(op.operands), element_of(op.results[0])))
