"""Decompose hlo operations that are defined in terms of others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...hlo_dialect.expressions.tensor import Decomposition
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.ops.convolution import ConvolutionOp
from ...hlo_dialect.walking import operations_in
from ...lowering.tables import tables


@lru_cache(maxsize=1)
def decompositions() -> dict[type[Operation], Decomposition]:
    """The `DECOMPOSITIONS` of this folder's files, by operation class."""
    return {cls: rule for table in tables(__package__ or "", "DECOMPOSITIONS") for cls, rule in table}


@dataclass(frozen=True)
class DecomposeHloPass(HloPass):
    """
    Replace composed operations (batch_norm, fft, rng, ..) by simpler hlo.

    Before: `%0 = hlo.dot %a, %b : ..`     After: `%0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : ..`
    Assumes: no chlo. The new operations are decomposed as well.
    Leaves: no operation that has a decomposition, unless the decomposition keeps it unchanged.

    short-floats=true keeps f16/bf16 convolutions, for targets that multiply these types directly.
    """

    name = "decompose-hlo"

    short_floats: bool = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        table = decompositions()
        if self.short_floats:
            from .convolution import decompose_short_convolution

            table = {**table, ConvolutionOp: decompose_short_convolution}
        waiting = [op for op in operations_in(module) if type(op) in table]
        waiting.reverse()  # in program order, so that the error names the first unsupported operation
        while waiting:
            op = waiting.pop()
            new_ops = table[type(op)](op)
            waiting += reversed([inner for new in new_ops for inner in new.walk() if type(inner) in table])
