"""
The epilogue of a library's matmul: a bias along the rows, an activation, one rounding.

The elementwise operations on a product are evaluated symbolically. They are the library's epilogue if they are the same
function of the unrounded sum: `round(relu(sum + bias))`. Rounding the sum to 16 bits before the bias is added is a
different function, which the library does not offer; rounding before relu is the same as rounding after it. The
library's gelu is never used: it approximates tanh.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.nest import Access
from ..contraction.epilogue import EpilogueStep, FusedProduct, is_zero


@dataclass(frozen=True)
class Epilogue:
    """`activation(sum + bias)`, rounded."""

    target: SSAValue | None = None
    """The buffer for the results; None: the one of the sums."""
    bias: SSAValue | None = None
    """A buffer with an element per column."""
    activation: str = ""
    rounded: Attribute | None = None
    """The type that the value was narrowed to."""


@dataclass(frozen=True)
class _Bias:
    """An element of a vector along the rows."""

    root: SSAValue


@dataclass(frozen=True)
class _Zero:
    """The constant 0, of either sign."""


Symbol = Epilogue | _Bias | _Zero


def epilogue_of(fused: FusedProduct, private: Sequence[bool]) -> Epilogue | None:
    """
    The operations after a product as the library's epilogue; None if they are not one.

    `private`: for the product and each step's outputs, whether only the fused operations read them.
    """
    state, root = Epilogue(), fused.product.c.root
    for number, step in enumerate(fused.steps):
        if not private[number] or len(step.nest.outputs) != 1:
            return None
        found = _after(step, state, root, fused.product.columns)
        if found is None:
            return None
        root = step.nest.outputs[0].root
        state = replace(found, target=root)
    if fused.steps and buffer_of(root).element_type != (state.rounded or fused.product.total):
        return None
    return state


def _after(step: EpilogueStep, state: Epilogue, root: SSAValue, columns: int) -> Epilogue | None:
    """The result of one elementwise operation on the sums at `root`."""
    nest, body = step.nest, step.nest.body
    if body is None or set(step.linked.values()) != {root}:
        return None
    own = nest.inputs[next(iter(step.linked))]
    (out,) = nest.outputs
    if not isinstance(own, Access) or (own.strides, own.offset) != (out.strides, out.offset):
        return None  # The layout of the results differs from that of the sums.
    symbols: dict[SSAValue, Symbol] = {}
    for number, access in enumerate(nest.inputs):
        if number in step.linked:
            symbols[body.args[number]] = state
        elif isinstance(access, Access) and _is_along_rows(access, own, columns):
            symbols[body.args[number]] = _Bias(access.root)
    for op in body.ops:
        if isinstance(op, YieldOp):
            result = symbols.get(op.operands[0])
            return result if isinstance(result, Epilogue) else None
        symbol = _symbol(op, [symbols.get(operand) or _constant(operand) for operand in op.operands])
        if symbol is not None:
            symbols[op.results[0]] = symbol
    return None


def _is_along_rows(access: Access, own: Access, columns: int) -> bool:
    """Whether the operand is a whole vector with an element per column of the product."""
    if access.dynamic or access.offset or math.prod(buffer_of(access.root).get_shape()) != columns:
        return False
    # The columns are the sums' fastest dimension; dimensions with larger strides are not columns.
    return all(
        stride == (own_stride if own_stride < columns else 0)
        for stride, own_stride in zip(access.strides, own.strides, strict=True)
    )


def _symbol(op: Operation, operands: Sequence[Symbol | None]) -> Symbol | None:
    """The symbolic value of an operation; None if the library has no equivalent."""
    match op, operands:
        case arith.ExtFOp(), [Epilogue() | _Bias() | _Zero() as value]:
            return value
        case arith.TruncFOp(), [Epilogue() as value]:
            return _rounded(value, op.results[0].type)
        case arith.AddfOp(), [Epilogue() as value, _Bias() as bias] | [_Bias() as bias, Epilogue() as value]:
            if value.bias is not None or value.activation or value.rounded is not None:
                return None
            return replace(value, bias=bias.root)
        case arith.MaximumfOp(), [Epilogue() as value, _Zero()] | [_Zero(), Epilogue() as value]:
            return replace(value, activation="relu")
        case _:
            return None


def _constant(value: SSAValue) -> _Zero | None:
    return _Zero() if is_zero(value) else None


def _rounded(value: Epilogue, type_: Attribute) -> Epilogue | None:
    """Rounding twice to the same type is rounding once."""
    return replace(value, rounded=type_) if value.rounded in (None, type_) else None
