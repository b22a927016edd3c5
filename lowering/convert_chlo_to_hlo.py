"""Functions of the chlo dialect become arithmetic of the hlo dialect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..hlo_dialect.chlo import SquareOp
from ..hlo_dialect.chlo_special import ErfcOp, ErfOp
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.elementwise_binary import MultiplyOp
from ..hlo_dialect.expressions import Builder, Tensor
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.op import replace_op
from ..hlo_dialect.shapes import is_static
from ..hlo_dialect.types import element_of, shape_of
from .chlo_error_functions import computing_type, erf, erfc


@dataclass(frozen=True)
class ConvertChloToHloPass(HloPass):
    """
    Decompose chlo functions into hlo arithmetic; each within 3 ulp of the exact result.

    Before: `%y = chlo.square %x : t -> t`     After: `%y = hlo.multiply %x, %x : t`
    `chlo.erf` and `chlo.erfc` become polynomials (see chlo_error_functions.py), of f16 and bf16 in f32.
    Leaves: no chlo operation.
    """

    name = "convert-chlo-to-hlo"
    illegal = ("chlo.*",)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for op in list(module.walk()):
            convert = CONVERSIONS.get(type(op))
            if convert is not None:
                convert(op)


def _convert_square(op: Operation) -> None:
    """`chlo.square %x` becomes `hlo.multiply %x, %x`."""
    multiply = MultiplyOp.create(operands=[op.operands[0]] * 2, result_types=[op.results[0].type])
    replace_op(op, [multiply], multiply.results)


def _convert_with(function: Callable[[Tensor], Tensor]) -> Callable[[Operation], None]:
    """`chlo.f %x` becomes what `function` builds, in f32 where x is narrower."""

    def convert(op: Operation) -> None:
        if not is_static(shape_of(op.operands[0])):
            fail(op, f"cannot be decomposed: the shape of {op.operands[0].type} is unknown")
        builder = Builder()
        element_type = element_of(op.operands[0])
        x = Tensor(builder, op.operands[0]).convert(computing_type(element_type))
        result = function(x).convert(element_type)
        replace_op(op, builder.ops, [result.value])

    return convert


CONVERSIONS: dict[type[Operation], Callable[[Operation], None]] = {
    SquareOp: _convert_square,
    ErfOp: _convert_with(erf),
    ErfcOp: _convert_with(erfc),
}
