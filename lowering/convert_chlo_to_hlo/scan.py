"""chlo.scan as hlo.while: each step slices the inputs and updates a slice of the outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.rewriter import InsertPoint

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.chlo.scan import ScanOp
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.ops.control_flow import ReturnOp, WhileOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ...hlo_dialect.types import element_of, numpy_dtype, shape_of, tensor_type
from .rules import conversions, require_static


def _number(builder: Builder, value: int) -> Tensor:
    return builder.constant(np.asarray(value, np.int64))


@conversions.on(ScanOp)
def _scan(op: Operation) -> Sequence[Operation]:
    require_static(op)
    scan, builder = cast(ScanOp, op), Builder()
    zero = _number(builder, 0)
    # The initial contents are irrelevant: every element is written.
    buffers = [
        builder.constant(np.zeros(1, numpy_dtype(element_of(result))), tensor_type(result)) for result in scan.outputs
    ]
    if scan.steps == 0:  # No slice of the inputs exists that a loop could take.
        builder.replace(op, *buffers, *scan.inits)
        return []
    first = [zero.value, *scan.inits, *(buffer.value for buffer in buffers)]
    types = [value.type for value in first]
    loop = WhileOp.create(
        operands=first, result_types=types, regions=[Region(_condition(scan, types)), Region(_body(scan, types))]
    )
    builder.insert(loop)
    carried = len(scan.inits)
    builder.replace(op, *loop.results[1 + carried :], *loop.results[1 : 1 + carried])
    return [inner for inner in loop.walk() if inner.name.startswith("chlo.")]


def _condition(scan: ScanOp, types: Sequence[Attribute]) -> Block:
    block = Block(arg_types=types)
    builder = Builder(InsertPoint.at_end(block))
    less = Tensor(builder, block.args[0]) < _number(builder, scan.steps)
    block.add_op(ReturnOp.create(operands=[less.value]))
    return block


def _body(scan: ScanOp, types: Sequence[Attribute]) -> Block:
    """Move the scan's body between the slices of the inputs and the updates of the outputs."""
    block = Block(arg_types=types)
    builder, carried = Builder(InsertPoint.at_end(block)), len(scan.inits)
    counter, *state = builder.tensors(block.args)
    zero, one, last = (_number(builder, number) for number in (0, 1, scan.steps - 1))
    index = last - counter if scan.reverse else counter

    def starts(rank: int) -> list[Tensor]:
        return [index if dim == scan.dim else zero for dim in range(rank)]

    def row(shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[: scan.dim], 1, *shape[scan.dim + 1 :])

    def sliced(x: Tensor) -> Tensor:
        sizes = row(x.shape)
        taken = builder.op(DynamicSliceOp, [x, *starts(len(sizes))], slice_sizes=int_array(sizes))
        return taken.reshape(shape_of(scan.slice_type(x.type)))

    def updated(buffer: Tensor, x: Tensor) -> Tensor:
        sizes = row(buffer.shape)
        return builder.op(DynamicUpdateSliceOp, [buffer, x.reshape(sizes), *starts(len(sizes))], buffer.type)

    inner = scan.regions[0].block
    slices = map(sliced, builder.tensors(scan.inputs))
    for argument, value in zip(inner.args, [*slices, *state[:carried]], strict=True):
        argument.replace_all_uses_with(value.value)
    *steps, end = inner.ops
    for step in steps:
        step.detach()
        block.add_op(step)
    returned = builder.tensors(end.operands)
    count = len(returned) - carried
    outputs = list(map(updated, state[carried:], returned[:count]))
    following = [counter + one, *returned[count:], *outputs]
    block.add_op(ReturnOp.create(operands=[x.value for x in following]))
    return block
