"""Products with masks, as XLA computes them."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import BFloat16Type, ModuleOp
from xdsl.ir import SSAValue

from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.ops.conversion import ConvertOp
from ...hlo_dialect.ops.elementwise_binary import MultiplyOp
from ...hlo_dialect.types import element_of, is_boolean, is_float


def select_by_masks(module: ModuleOp) -> None:
    """
    Multiply by a converted boolean as `select(mask, x, 0)`.

    StableHLO's product is NaN where the mask is 0 and x infinite or NaN. XLA's algebraic simplifier replaces it by the
    select, and JAX's gradients of maxima are 0, not NaN, where the maximum is NaN for that reason alone. It does not
    do so for bf16, which it has widened by then.
    """
    for op in list(module.walk()):
        if not isinstance(op, MultiplyOp) or not is_float(element := element_of(op.results[0])):
            continue
        mask = next((i for i, value in enumerate(op.operands) if _is_mask(value)), None)
        if mask is None or isinstance(element, BFloat16Type):
            continue
        builder = Builder.before(op)
        condition = Tensor(builder, cast("Any", op.operands[mask].owner).operands[0])
        builder.replace(op, condition.select(Tensor(builder, op.operands[1 - mask]), 0.0))


def _is_mask(value: SSAValue) -> bool:
    return isinstance(value.owner, ConvertOp) and is_boolean(element_of(value.owner.operands[0]))
