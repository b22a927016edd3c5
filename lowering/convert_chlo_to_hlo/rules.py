"""What the decompositions of chlo share: operands in the element type to compute in, one rounding at the end."""

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
"""Replaces a chlo operation where it stands; returns the chlo operations among the new ones, if there may be any."""
conversions = Rules[Conversion]("convert-chlo-to-hlo", __package__)


def computing_type(element_type: Attribute) -> Attribute:
    """The element type to compute in: f32 for itself and narrower floats, f64 for itself."""
    return element_type if isinstance(element_type, Float64Type) else f32


def require_static(op: Operation) -> None:
    """Fail where a shape has an unknown dimension."""
    for value in (*op.operands, *op.results):
        if not is_static(shape_of(value)):
            fail(op, f"cannot be decomposed: the shape of {value.type} is unknown")


def of_floats(function: Callable[..., Tensor], wide: bool = False) -> Conversion:
    """
    `chlo.f %x, ..` becomes what `function` builds of operands in f32, narrower ones too, or f64.

    `wide` takes f32 to f64 as well: for functions whose steps would add up roundings. What `function` gives is
    rounded to the result's type unless that is boolean.
    """

    def convert(op: Operation) -> None:
        require_static(op)
        builder = Builder()
        operands = [x.convert(f64 if wide else computing_type(x.element)) for x in builder.tensors(op.operands)]
        builder.replace(op, function(*operands).convert(element_of(op.results[0])))

    return convert


def of_complex(function: Callable[[Complex], Complex], wide: bool = True) -> Conversion:
    """`chlo.f %z` becomes what `function` builds of the parts, in f64 where `wide`, rounded once."""

    def convert(op: Operation) -> None:
        require_static(op)
        builder = Builder()
        z = Complex.of(Tensor(builder, op.operands[0]))
        result = function(z.convert(f64) if wide else z).convert(z.re.element)
        builder.replace(op, result.joined())

    return convert


def by_kind(real: Conversion, complex_: Conversion) -> Conversion:
    """One conversion for floats, another one for complex numbers."""

    def convert(op: Operation) -> None:
        (complex_ if isinstance(element_of(op.operands[0]), ComplexType) else real)(op)

    return convert
