"""
What a library does to sums before it stores them: a bias along the rows, an activation, one rounding.

The elementwise operations over a product are followed symbolically. They are the library's epilogue where they are the
same function of the unrounded sum: `round(relu(sum + bias))`. A sum that is rounded to 16 bits before the bias is added
is another function, which the library does not have; that a rounded sum goes through relu is the same as one that is
rounded after it. The library's gelu is none of ours: it approximates the tangent.
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
    """Where the results go; None: where the sums would."""
    bias: SSAValue | None = None
    """A buffer with an element for each column."""
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
    What follows a product as the library's epilogue; None where it is something else.

    `private`: of the product and of the outputs of each step, whether only the fused operations read them.
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
    """What one elementwise operation makes of the sums at `root`."""
    nest, body = step.nest, step.nest.body
    if body is None or set(step.linked.values()) != {root}:
        return None
    own = nest.inputs[next(iter(step.linked))]
    (out,) = nest.outputs
    if not isinstance(own, Access) or (own.strides, own.offset) != (out.strides, out.offset):
        return None  # The results lie elsewhere than the sums would.
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
    """Whether the operand is a whole vector with an element for each column of the product."""
    if access.dynamic or access.offset or math.prod(buffer_of(access.root).get_shape()) != columns:
        return False
    # The columns are the sums' fastest dimension; all that move further than a row are others.
    return all(
        stride == (own_stride if own_stride < columns else 0)
        for stride, own_stride in zip(access.strides, own.strides, strict=True)
    )


def _symbol(op: Operation, operands: Sequence[Symbol | None]) -> Symbol | None:
    """The value of an operation; None for one that is none of the library's."""
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
    """Rounding again to the same type changes nothing."""
    return replace(value, rounded=type_) if value.rounded in (None, type_) else None
