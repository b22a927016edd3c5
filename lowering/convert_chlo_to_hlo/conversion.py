"""Lower functions of the chlo dialect to hlo arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ComplexType, ModuleOp
from xdsl.ir import Operation

from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.op import HloOp
from ...hlo_dialect.types import element_of
from ...hlo_dialect.verification.unranked import is_unranked
from ...hlo_dialect.walking import operations_in
from .rules import Function, conversions, decompose, functions, require_static


@dataclass(frozen=True)
class ConvertChloToHloPass(HloPass):
    """
    Decompose chlo functions into hlo arithmetic. Each file of decompositions states its error bounds.

    Before: `%y = chlo.square %x : t -> t`     After: `%y = hlo.multiply %x, %x : t`
    complete=true decomposes special functions of floats too, in f32 or f64 for narrower floats, rounded once.
    Leaves: of chlo only elementwise functions of floats, which are a hundred operations of hlo: expand-math replaces
            them by the same arithmetic.
    """

    name = "convert-chlo-to-hlo"
    only_for = ("chlo.*",)
    works_on_functions = True

    complete: bool = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        waiting = [op for op in operations_in(module) if op.name.startswith("chlo.")]
        while waiting:
            op = waiting.pop()
            if isinstance(op, HloOp) and is_unranked(op):
                fail(op, "has a tensor of unknown rank, which cannot be compiled; state the shapes")
            if (function := _function_of(op)) is not None:
                require_static(op)
                if self.complete:
                    decompose(op, function)
            elif (convert := conversions.get(type(op))) is not None:
                # chlo operations among the new ones (broadcast_zeta's zeta) are converted in turn.
                waiting += convert(op) or ()
            elif op.name.startswith("chlo."):
                raise self.unsupported(op)


def _function_of(op: Operation) -> Function | None:
    """The function that an operation computes whole: one of floats."""
    function = functions.get(type(op))
    return None if function is None or isinstance(element_of(op.operands[0]), ComplexType) else function
