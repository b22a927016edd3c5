"""Short ways to build structural operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.test import TestOp as ValuesOp
from xdsl.ir import Block, Region, SSAValue

from xhlo.hlo_dialect.attributes import DotDimensionNumbersAttr, int_array, int_attr
from xhlo.hlo_dialect.ops.contraction import DotGeneralOp
from xhlo.hlo_dialect.ops.control_flow import IfOp, ReturnOp, WhileOp
from xhlo.hlo_dialect.ops.elementwise_binary import AddOp
from xhlo.hlo_dialect.ops.fusion import FusionOp
from xhlo.hlo_dialect.ops.movement import BroadcastInDimOp
from xhlo.hlo_dialect.ops.reduction import ReduceOp
from xhlo.hlo_dialect.ops.slicing import PadOp, SliceOp
from xhlo.hlo_dialect.types import HloTensor, f32, make_tensor

I = tuple[int, ...]


def values(*types: Any) -> list[SSAValue]:
    return list(ValuesOp(result_types=list(types)).results)


def t(*shape: int, of: Any = f32) -> HloTensor:
    return make_tensor(shape, of)


def iota(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def region(arguments: Sequence[Any], build: Any) -> Region:
    """A region of one block; `build` adds operations and gives the returned values."""
    block = Block(arg_types=arguments)
    block.add_op(ReturnOp.create(operands=build(block)))
    return Region(block)


def binary(op: type[Any]) -> Any:
    def build(block: Block) -> Sequence[SSAValue]:
        made = op.create(operands=block.args[:2], result_types=[block.args[0].type])
        block.add_op(made)
        return made.results

    return build


def broadcast(operand: HloTensor, dims: I, result: HloTensor) -> BroadcastInDimOp:
    return BroadcastInDimOp.create(
        operands=values(operand), result_types=[result], properties={"broadcast_dimensions": int_array(dims)}
    )


def pad(operand: HloTensor, low: I, high: I, interior: I) -> PadOp:
    return PadOp.infer(
        values(operand, t()),
        {
            "edge_padding_low": int_array(low),
            "edge_padding_high": int_array(high),
            "interior_padding": int_array(interior),
        },
    )


def slice_op(operand: HloTensor, start: I, limit: I, strides: I) -> SliceOp:
    return SliceOp.infer(
        values(operand),
        {
            "start_indices": int_array(start),
            "limit_indices": int_array(limit),
            "strides": int_array(strides),
        },
    )


def dot(
    lhs: HloTensor, rhs: HloTensor, numbers: DotDimensionNumbersAttr, result: HloTensor | None = None
) -> DotGeneralOp:
    properties = {"dot_dimension_numbers": numbers}
    if result is None:
        return DotGeneralOp.infer(values(lhs, rhs), properties)
    return DotGeneralOp.create(operands=values(lhs, rhs), result_types=[result], properties=properties)


def run_lifted(body: Region, *arguments: Any) -> tuple[Any, ...]:
    """A runner for regions without captured values."""
    known: dict[SSAValue, Any] = dict(zip(body.block.args, arguments, strict=True))
    for op in body.block.ops:
        if isinstance(op, ReturnOp):
            return tuple(known[value] for value in op.operands)
        result = op.reference(*(known[value] for value in op.operands))  # type: ignore[attr-defined]
        known.update(zip(op.results, result if isinstance(result, tuple) else (result,), strict=True))
    raise AssertionError("no terminator")


def reduce_op(operand: HloTensor, dims: I, op: type[Any]) -> ReduceOp:
    scalar = make_tensor((), operand.element_type)
    return ReduceOp.infer(
        values(operand, scalar),
        {"dimensions": int_array(dims)},
        [region([scalar, scalar], binary(op))],
    )


def if_op(pred: Any, first: Any, second: Any, results: Sequence[Any]) -> IfOp:
    def branch(types: Any) -> Region:
        def build(block: Block) -> Sequence[SSAValue]:
            made = ValuesOp(result_types=types)
            block.add_op(made)
            return made.results

        return region([], build)

    return IfOp.create(operands=values(pred), result_types=results, regions=[branch(first), branch(second)])


def while_op(types: Sequence[Any], condition: Any, returned: Sequence[Any]) -> WhileOp:
    def build(result_types: Sequence[Any]) -> Any:
        def inner(block: Block) -> Sequence[SSAValue]:
            made = ValuesOp(result_types=result_types)
            block.add_op(made)
            return made.results

        return inner

    return WhileOp.create(
        operands=values(*types),
        result_types=types,
        regions=[region(types, build([condition])), region(types, build(returned))],
    )


def fusion(kind: str, build: Any, row_dims: int | None = None) -> FusionOp:
    properties: dict[str, Any] = {"kind": StringAttr(kind)}
    if row_dims is not None:
        properties["row_dims"] = int_attr(row_dims)
    body = region([t(4, 4), t()], build)
    result = [value.type for value in body.block.last_op.operands]  # type: ignore[union-attr]
    return FusionOp.create(operands=values(t(4, 4), t()), result_types=result, properties=properties, regions=[body])


def sum_over(dim: int) -> Any:
    def build(block: Block) -> Sequence[SSAValue]:
        made = ReduceOp.infer(block.args, {"dimensions": int_array((dim,))}, [region([t(), t()], binary(AddOp))])
        block.add_op(made)
        return made.results

    return build
