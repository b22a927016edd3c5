"""What the decompositions of chlo share: operands in the element type to compute in, one rounding at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ComplexType, Float64Type
from xdsl.ir import Attribute, Operation

from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.conversion import ComplexOp, ImagOp, RealOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, f32, f64, make_tensor, shape_of

Conversion: TypeAlias = Callable[[Operation], Sequence[Operation] | None]
"""Replaces a chlo operation where it stands; returns the chlo operations among the new ones, if there may be any."""

Complex: TypeAlias = tuple[Tensor, Tensor]
"""The real and the imaginary part."""


def computing_type(element_type: Attribute) -> Attribute:
    """The element type to compute in: f32 for itself and narrower floats, f64 for itself."""
    return element_type if isinstance(element_type, Float64Type) else f32


def part_type(element_type: Attribute) -> Attribute:
    """f32 or f64 of a complex type."""
    return cast(Attribute, cast("ComplexType[Any]", element_type).element_type)


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
        operands = [
            Tensor(builder, value).convert(f64 if wide else computing_type(element_of(value))) for value in op.operands
        ]
        result = function(*operands).convert(element_of(op.results[0]))
        replace_op(op, builder.ops, [result.value])

    return convert


def of_complex(function: Callable[[Complex], Complex], wide: bool = True) -> Conversion:
    """`chlo.f %z` becomes what `function` builds of the parts, in f64 where `wide`, rounded once."""

    def convert(op: Operation) -> None:
        require_static(op)
        builder = Builder()
        part = part_type(element_of(op.operands[0]))
        z = parts(Tensor(builder, op.operands[0]))
        re, im = function((z[0].convert(f64), z[1].convert(f64)) if wide else z)
        result = complex_of((re.convert(part), im.convert(part)))
        replace_op(op, builder.ops, [result.value])

    return convert


def by_kind(real: Conversion, complex_: Conversion) -> Conversion:
    """One conversion for floats, another one for complex numbers."""

    def convert(op: Operation) -> None:
        (complex_ if isinstance(element_of(op.operands[0]), ComplexType) else real)(op)

    return convert


def parts(z: Tensor) -> Complex:
    """hlo.real and hlo.imag."""
    type_ = make_tensor(shape_of(z.value), part_type(element_of(z.value)))
    re, im = (
        z.builder.add(op.create(operands=[z.value], result_types=[type_]))
        for op in cast("tuple[type[Operation], ...]", (RealOp, ImagOp))
    )
    return re, im


def complex_of(z: Complex) -> Tensor:
    """hlo.complex"""
    re, im = z
    type_ = make_tensor(shape_of(re.value), ComplexType(cast(Any, element_of(re.value))))
    return re.builder.add(ComplexOp.create(operands=[re.value, im.value], result_types=[type_]))
