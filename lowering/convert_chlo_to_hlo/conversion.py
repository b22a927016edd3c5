"""Lower functions of the chlo dialect to hlo arithmetic."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.op import HloOp
from ...hlo_dialect.verification.unranked import is_unranked
from ...hlo_dialect.walking import operations_in
from .rules import conversions


class ConvertChloToHloPass(HloPass):
    """
    Decompose chlo functions into hlo arithmetic. Each file of decompositions states its error bounds.

    Before: `%y = chlo.square %x : t -> t`     After: `%y = hlo.multiply %x, %x : t`
    Functions of f16, bf16 and narrower floats are computed in f32 and rounded once.
    Leaves: no chlo operation.
    """

    name = "convert-chlo-to-hlo"
    only_for = ("chlo.*",)
    works_on_functions = True
    illegal = ("chlo.*",)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        waiting = [op for op in operations_in(module) if op.name.startswith("chlo.")]
        while waiting:
            convert = conversions.get(type(op := waiting.pop()))
            if isinstance(op, HloOp) and is_unranked(op):
                fail(op, "has a tensor of unknown rank, which cannot be compiled; state the shapes")
            if convert is not None:
                # chlo operations among the new ones (broadcast_zeta's zeta) are converted in turn.
                waiting += convert(op) or ()
