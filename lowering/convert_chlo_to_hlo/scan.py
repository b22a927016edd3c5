"""chlo.scan as hlo.while: slices of the inputs in, slices of the outputs written in their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.chlo.scan import ScanOp
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.comparison import CompareOp, comparison_direction
from ...hlo_dialect.ops.control_flow import ReturnOp, WhileOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ...hlo_dialect.ops.elementwise_binary import AddOp, SubtractOp
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.types import element_of, i1, i64, make_tensor, numpy_dtype, shape_of, tensor_type
from .rules import require_static

_COUNTER = make_tensor((), i64)


def _number(value: int) -> ConstantOp:
    return ConstantOp.of(np.asarray(value, np.int64))


def _scan(op: Operation) -> Sequence[Operation]:
    require_static(op)
    scan = cast(ScanOp, op)
    # What a value had before the first step does not matter: every place is written.
    buffers = [
        ConstantOp.of(np.zeros(1, numpy_dtype(element_of(result))), tensor_type(result)) for result in scan.outputs
    ]
    zero = _number(0)
    first = [zero.results[0], *scan.inits, *(buffer.results[0] for buffer in buffers)]
    types = [value.type for value in first]
    loop = WhileOp.create(
        operands=first, result_types=types, regions=[Region(_condition(scan, types)), Region(_body(scan, types))]
    )
    carried = len(scan.inits)
    replace_op(op, [zero, *buffers, loop], [*loop.results[1 + carried :], *loop.results[1 : 1 + carried]])
    return [inner for inner in loop.walk() if inner.name.startswith("chlo.")]


def _condition(scan: ScanOp, types: Sequence[Attribute]) -> Block:
    block = Block(arg_types=types)
    end = _number(scan.steps)
    less = CompareOp.create(
        operands=[block.args[0], end.results[0]],
        result_types=[make_tensor((), i1)],
        properties={"comparison_direction": comparison_direction("LT")},
    )
    block.add_ops([end, less, ReturnOp.create(operands=less.results)])
    return block


def _body(scan: ScanOp, types: Sequence[Attribute]) -> Block:
    """The scan's body between the slices that it takes and gives; it leaves the scan."""
    block = Block(arg_types=types)
    counter, carried = block.args[0], len(scan.inits)
    zero, one, last = _number(0), _number(1), _number(scan.steps - 1)
    block.add_ops([zero, one, last])
    place: SSAValue = counter
    if scan.reverse:
        reverse = SubtractOp.create(operands=[last.results[0], counter], result_types=[_COUNTER])
        block.add_op(reverse)
        place = reverse.results[0]

    def starts(rank: int) -> list[SSAValue]:
        return [place if dim == scan.dim else zero.results[0] for dim in range(rank)]

    inner = scan.regions[0].block
    given: list[SSAValue] = []
    for value in scan.inputs:
        shape = shape_of(value)
        sizes = (*shape[: scan.dim], 1, *shape[scan.dim + 1 :])
        cut = DynamicSliceOp.create(
            operands=[value, *starts(len(shape))],
            result_types=[make_tensor(sizes, element_of(value))],
            properties={"slice_sizes": int_array(sizes)},
        )
        flat = ReshapeOp.create(operands=cut.results, result_types=[scan.slice_type(value.type)])
        block.add_ops([cut, flat])
        given.append(flat.results[0])
    for argument, value in zip(inner.args, [*given, *block.args[1 : 1 + carried]], strict=True):
        argument.replace_all_uses_with(value)
    *steps, end = inner.ops
    for step in steps:
        step.detach()
        block.add_op(step)
    returned = list(end.operands)
    count = len(returned) - carried
    updated: list[SSAValue] = []
    for value, buffer in zip(returned[:count], block.args[1 + carried :], strict=True):
        shape = shape_of(buffer)
        sizes = (*shape[: scan.dim], 1, *shape[scan.dim + 1 :])
        spread = ReshapeOp.create(operands=[value], result_types=[make_tensor(sizes, element_of(buffer))])
        update = DynamicUpdateSliceOp.create(
            operands=[buffer, spread.results[0], *starts(len(shape))], result_types=[buffer.type]
        )
        block.add_ops([spread, update])
        updated.append(update.results[0])
    following = AddOp.create(operands=[counter, one.results[0]], result_types=[_COUNTER])
    block.add_ops([following, ReturnOp.create(operands=[following.results[0], *returned[count:], *updated])])
    return block


CONVERSIONS = ((ScanOp, _scan),)
