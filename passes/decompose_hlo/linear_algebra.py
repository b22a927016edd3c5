"""cholesky and triangular_solve become calls to LAPACK."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Operation

from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.custom_calls.triangular import CHOLESKY, TRIANGULAR_SOLVE
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.algorithms.linear_algebra import CholeskyOp, TriangularSolveOp
from .transform import decompositions
from .transposed_systems import untransposed_system


def _call(op: Operation, target: str, stated: dict[str, Attribute]) -> Sequence[Operation]:
    new = CustomCallOp.create(
        operands=list(op.operands),
        result_types=list(op.result_types),
        properties={"call_target_name": StringAttr(target)},
        attributes={"mhlo.backend_config": DictionaryAttr(stated)},
        location=op.location,
    )
    replace_op(op, [new], list(new.results))
    return [new]


@decompositions.on(CholeskyOp)
def _cholesky(op: CholeskyOp) -> Sequence[Operation]:
    return _call(op, CHOLESKY, {"lower": BoolAttr.from_bool(op.is_lower)})


@decompositions.on(TriangularSolveOp)
def _triangular_solve(op: TriangularSolveOp) -> Sequence[Operation]:
    if untransposed := untransposed_system(op):
        return untransposed
    stated: dict[str, Attribute] = {name: op.properties[name] for name in ("left_side", "lower", "unit_diagonal")}
    return _call(op, TRIANGULAR_SOLVE, stated | {"transpose_a": StringAttr(op.transpose.value)})
