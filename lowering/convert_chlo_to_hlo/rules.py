"""Shared by the chlo decompositions: convert the operands to the computation type, round once at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ComplexType, Float64Type
from xdsl.ir import Attribute, Operation

from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.expressions.complex import Complex
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.rules import Rules
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, f32, f64, shape_of

Conversion: TypeAlias = Callable[[Operation], Sequence[Operation] | None]
"""Replaces a chlo operation in place; returns the chlo operations among the new ones, if any."""
conversions = Rules[Conversion]("convert-chlo-to-hlo", __package__)


def computing_type(element_type: Attribute) -> Attribute:
    """The computation type: f32 for f32 and narrower floats, f64 for f64."""
    return element_type if isinstance(element_type, Float64Type) else f32


def require_static(op: Operation) -> None:
    """Fail if a shape has an unknown dimension."""
    for value in (*op.operands, *op.results):
        if not is_static(shape_of(value)):
            fail(op, f"cannot be decomposed: the shape of {value.type} is unknown")


def of_floats(function: Callable[..., Tensor]) -> Conversion:
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
