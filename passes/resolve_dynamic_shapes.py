"""Resolve dynamic dimensions that follow from constants and argument types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, IndexType, ModuleOp, TensorType, TupleType
from xdsl.ir import Attribute, Block, Operation
from xdsl.utils.exceptions import VerifyException

from ..dialects.support.rewriting import set_type
from ..hlo_dialect.attributes import int_array
from ..hlo_dialect.custom_calls.call import describe_call
from ..hlo_dialect.custom_calls.dynamic_window import NAME as DYNAMIC_WINDOW
from ..hlo_dialect.custom_calls.dynamic_window import made_static
from ..hlo_dialect.custom_calls.markers import ASSERTION
from ..hlo_dialect.custom_calls.operations import CustomCallOp
from ..hlo_dialect.custom_calls.registry import run_target, target_of
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.expressions.tensor import Builder, Tensor
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.op import HloOp, replace_op
from ..hlo_dialect.ops.control_flow import CaseOp, IfOp, WhileOp
from ..hlo_dialect.ops.creation import ConstantOp, IotaOp, constant_of
from ..hlo_dialect.ops.dynamism.dimension_sizes import GetDimensionSizeOp, SetDimensionSizeOp
from ..hlo_dialect.ops.dynamism.dynamic_shapes import (
    DynamicBroadcastInDimOp,
    DynamicIotaOp,
    DynamicPadOp,
    DynamicReshapeOp,
    RealDynamicSliceOp,
    known_shape,
)
from ..hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp
from ..hlo_dialect.ops.slicing import PadOp, SliceOp
from ..hlo_dialect.shapes import is_static, types_agree
from ..hlo_dialect.types import element_of, shape_of
from ..hlo_dialect.verification import verify_module, verify_operation
from ..hlo_dialect.walking import operations_in
from .simplify_hlo.constants import evaluate


def _is_dynamic(type_: Attribute) -> bool:
    if isinstance(type_, TupleType):
        return any(map(_is_dynamic, type_.types.data))
    return isinstance(type_, TensorType) and not is_static(shape_of(cast(Attribute, type_)))


class ResolveDynamicShapesPass(HloPass):
    """
    Make operations with constant shape operands static.

    Before: `%s = hlo.constant dense<[2, 3]> : tensor<2xi64>`
            `%1 = hlo.dynamic_reshape %x, %s : (tensor<6xf32>, tensor<2xi64>) -> tensor<?x?xf32>`
    After:  `%1 = hlo.reshape %x : (tensor<6xf32>) -> tensor<2x3xf32>`
    Static types propagate to users, through control flow, to the results of the function. Constant shape computations
    are evaluated on the way, and assertions on shapes checked. Sizes that become known and contradict each other are
    errors: a module with new types is verified.
    Assumes: the level after inline.
    Leaves: dynamic shapes only where they depend on values or on arguments of unknown shape.
    """

    name = "resolve-dynamic-shapes"
    only_for = (
        "!tensor<?>",
        "hlo.custom_call",
        "hlo.dynamic_broadcast_in_dim",
        "hlo.dynamic_iota",
        "hlo.dynamic_pad",
        "hlo.dynamic_reshape",
        "hlo.get_dimension_size",
        "hlo.real_dynamic_slice",
        "hlo.set_dimension_size",
    )

    def run(self, ctx: Context, module: ModuleOp) -> None:
        functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
        dynamic = [function for function in functions if _needs_it(function)]
        for function in dynamic:
            _block(function.body.block)
            _take_returned_types(function)
        if dynamic:
            verify_module(module)


def _take_returned_types(function: func.FuncOp) -> None:
    """Refine the function's result types to those of the values that it returns. Raises DiagnosticError."""
    stated, returned = function.function_type.outputs.data, _returned(function.body.block)
    for index, (old, new) in enumerate(zip(stated, returned, strict=True)):
        if not types_agree(old, new):
            last = cast(Operation, function.body.block.last_op)
            fail(last, f"returns a value of type {new} as result {index}, which has type {old}")
    inputs = [argument.type for argument in function.body.block.args]
    function.properties["function_type"] = FunctionType.from_lists(inputs, returned)


def _needs_it(function: func.FuncOp) -> bool:
    return any(
        type(op) in STATIC_FORMS
        or isinstance(op, GetDimensionSizeOp)
        or _is_window(op)
        or any(map(_is_dynamic, op.result_types))
        for op in operations_in(function)
    )


def _block(block: Block) -> None:
    for op in list(block.ops):
        if isinstance(op, WhileOp):
            _while(op)
            continue
        if isinstance(op, CustomCallOp) and op.target == ASSERTION and isinstance(block.parent_op(), func.FuncOp):
            _assertion(op)
            continue
        if _is_window(op):
            _window(op)
            continue
        for region in op.regions:
            for inner in region.blocks:
                _block(inner)
        if isinstance(op, (IfOp, CaseOp)):
            _take_types(op, _returned(op.regions[0].block))
        elif isinstance(op, HloOp):
            _operation(op)


def _is_window(op: Operation) -> bool:
    return isinstance(op, CustomCallOp) and op.target == DYNAMIC_WINDOW


def _window(op: Operation) -> None:
    """A window of constant sizes. Raises DiagnosticError for one that does not fit."""
    try:
        made_static(op)
    except VerifyException as error:
        fail(op, str(error))


def _assertion(op: CustomCallOp) -> None:
    """An assertion on sizes that are known now holds, and vanishes, or is an error: before one that follows from it."""
    values = [constant_of(operand) for operand in op.operands]
    known = [value for value in values if value is not None]
    if known and len(known) == len(values):
        run_target(target_of(op), describe_call(op), known)
        replace_op(op, [], [])


def _operation(op: HloOp) -> None:
    if isinstance(op, GetDimensionSizeOp):
        folded = op.fold()
        if folded is not None:
            _constants(op, [cast(Attribute, folded[0])])
        return
    if type(op) in STATIC_FORMS:
        verify_operation(op)  # Shapes computed before are constants now.
    if not any(map(_is_dynamic, op.result_types)) or type(op) in STATIC_FORMS:
        values = evaluate(op) if all(isinstance(value.owner, ConstantOp) for value in op.operands) else None
        if values is not None:
            _constants(op, values)
            return
    if any(map(_is_dynamic, op.result_types)):
        try:
            _take_types(op, op.infer_types())
        except (VerifyException, NotImplementedError):
            return  # Its types are arbitrary: they are kept.
    make = STATIC_FORMS.get(type(op))
    if make is not None and (isinstance(op, SetDimensionSizeOp) or not _is_dynamic(op.result_types[0])):
        new = make(op)
        if new is not None:
            new.builder.replace(op, new)


def _constants(op: HloOp, values: Sequence[Attribute]) -> None:
    constants = [ConstantOp.create(properties={"value": v}, result_types=[cast(Any, v).type]) for v in values]
    replace_op(op, constants, [constant.result for constant in constants])


def _take_types(op: Operation, types: Sequence[Attribute]) -> None:
    """Refine the results' types to the inferred ones if these are more static."""
    for result, type_ in zip(op.results, types, strict=False):
        if _is_dynamic(result.type) and result.type != type_ and types_agree(result.type, type_):
            set_type(result, type_)


def _returned(block: Block) -> list[Attribute]:
    last = block.last_op
    return [] if last is None else [operand.type for operand in last.operands]


def _while(op: WhileOp) -> None:
    """The state takes the types of its initial values if an iteration preserves them; else it keeps its types."""
    blocks = [region.block for region in op.regions]
    stated = [[argument.type for argument in block.args] for block in blocks]
    for block in blocks:
        for argument, operand in zip(block.args, op.operands, strict=True):
            if _is_dynamic(argument.type) and types_agree(argument.type, operand.type):
                set_type(argument, operand.type)
    _block(blocks[1])
    if _returned(blocks[1]) != [argument.type for argument in blocks[1].args]:
        for block, types in zip(blocks, stated, strict=True):
            for argument, type_ in zip(block.args, types, strict=True):
                set_type(argument, type_)
    _block(blocks[0])
    _take_types(op, [argument.type for argument in blocks[1].args])


def _broadcast(op: DynamicBroadcastInDimOp) -> Tensor:
    return Builder().op(
        BroadcastInDimOp, [op.operand], op.results[0].type, broadcast_dimensions=op.broadcast_dimensions
    )


def _iota(op: DynamicIotaOp) -> Tensor:
    return Builder().op(IotaOp, (), op.results[0].type, iota_dimension=op.iota_dimension)


def _reshape(op: DynamicReshapeOp) -> Tensor:
    return Builder().op(ReshapeOp, [op.operand], op.results[0].type)


def _pad(op: DynamicPadOp) -> Tensor | None:
    low, high, interior = (known_shape(value) for value in op.operands[2:])
    if low is None or high is None or interior is None:
        return None
    return Builder().op(
        PadOp,
        op.operands[:2],
        op.results[0].type,
        edge_padding_low=int_array(low),
        edge_padding_high=int_array(high),
        interior_padding=int_array(interior),
    )


def _slice(op: RealDynamicSliceOp) -> Tensor | None:
    starts, limits, strides = (known_shape(value) for value in op.operands[1:])
    if strides is None:
        return None
    if starts is None or limits is None:
        return _slice_at(op, strides)
    return Builder().op(
        SliceOp,
        op.operands[:1],
        op.results[0].type,
        start_indices=int_array(starts),
        limit_indices=int_array(limits),
        strides=int_array(strides),
    )


def _slice_at(op: RealDynamicSliceOp, strides: Sequence[int]) -> Tensor | None:
    """A slice of known size at starts that only a run knows, which lie inside the operand."""
    extents = op.extents
    if extents is None or isinstance(element_of(op.start_indices), IndexType):
        return None
    builder = Builder()
    starts = Tensor(builder, op.start_indices)
    scalars = [starts.slice([dim], [dim + 1]).reshape(()) for dim in range(len(extents))]
    box = Tensor(builder, op.operand).dynamic_slice(scalars, extents)
    return box.slice([0] * len(extents), extents, strides)


def _set_size(op: SetDimensionSizeOp) -> Tensor | None:
    """A size equal to the dimension's is a no-op; a smaller one becomes a slice."""
    size = known_shape(op.size)
    shape = shape_of(op.operand)
    if size is None or not is_static(shape) or not 0 <= size[0] <= shape[op.place]:
        return None
    return Tensor(Builder(), op.operand).first((*shape[: op.place], size[0], *shape[op.place + 1 :]))


STATIC_FORMS: dict[type[Operation], Callable[[Any], Tensor | None]] = {
    DynamicBroadcastInDimOp: _broadcast,
    DynamicIotaOp: _iota,
    DynamicReshapeOp: _reshape,
    DynamicPadOp: _pad,
    RealDynamicSliceOp: _slice,
    SetDimensionSizeOp: _set_size,
}
"""The static form of each operation, for constant shape operands."""
