"""Beside the elementwise notation of expressions.py: tensors spread over more dimensions, summed, transposed."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Region

from ..attributes import int_array
from ..ops.control_flow import ReturnOp
from ..ops.elementwise_binary import AddOp
from ..ops.movement import BroadcastInDimOp, TransposeOp
from ..ops.reduction import ReduceOp
from ..types import element_of, is_float, make_tensor, shape_of
from .tensor import Tensor


def broadcast(x: Tensor, dims: Sequence[int], shape: Sequence[int]) -> Tensor:
    """`x` over `shape`: its dimension i is dimension `dims[i]`."""
    op = BroadcastInDimOp.create(
        operands=[x.value],
        result_types=[make_tensor(tuple(shape), element_of(x.value))],
        properties={"broadcast_dimensions": int_array(dims)},
    )
    return x.builder.add(op)


def transposed(x: Tensor, permutation: Sequence[int]) -> Tensor:
    """`x` with dimension `permutation[i]` as dimension i."""
    if list(permutation) == list(range(len(permutation))):
        return x
    return x.builder.add(TransposeOp.infer([x.value], {"permutation": int_array(permutation)}))


def total(x: Tensor, dims: Sequence[int]) -> Tensor:
    """The sum of `x` over dimensions."""
    if not dims:
        return x
    element = element_of(x.value)
    scalar = make_tensor((), element)
    block = Block(arg_types=[scalar, scalar])
    add = AddOp.create(operands=list(block.args), result_types=[scalar])
    block.add_ops([add, ReturnOp.create(operands=list(add.results))])
    zero = x.builder.constant(0.0 if is_float(element) else 0, scalar)
    shape = tuple(size for dim, size in enumerate(shape_of(x.value)) if dim not in dims)
    op = ReduceOp.create(
        operands=[x.value, zero],
        result_types=[make_tensor(shape, element)],
        properties={"dimensions": int_array(dims)},
        regions=[Region(block)],
    )
    return x.builder.add(op)
