"""dynamic_gather and torch_index_select become gather; map becomes its region's operations on whole tensors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import is_elementwise, replace_op
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.gather import DynamicGatherOp, GatherOp, TorchIndexSelectOp
from ...hlo_dialect.ops.index_dimensions import GatherDimensionNumbersAttr
from ...hlo_dialect.ops.mapping import MapOp
from ...hlo_dialect.ops.movement import BroadcastInDimOp, ReshapeOp, TransposeOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from .transform import decompositions


@decompositions.on(DynamicGatherOp)
def _dynamic_gather(op: DynamicGatherOp) -> Sequence[Operation]:
    """
    Before: `dynamic_gather(%x, %i, %sizes)`, with %sizes constant or implied by the result's shape
    After:  `gather(%x, %i) <{slice_sizes = ..}>`
    """
    result = shape_of(op.result)
    sizes = op.known_sizes
    if sizes is None and is_static(result):
        dims, rank = op.dims, len(shape_of(op.operand))
        offsets = dict(zip(dims.offset_dims(rank), dims.window, strict=True))
        sizes = tuple(result[offsets[dim]] if dim in offsets else 1 for dim in range(rank))
    if sizes is None:
        return ()
    kept = {name: value for name, value in op.properties.items() if name != "slice_sizes"}
    new = GatherOp.create(
        operands=op.operands[:2],
        result_types=op.result_types,
        properties={**kept, "slice_sizes": int_array(sizes)},
        attributes=op.attributes,
    )
    replace_op(op, [new], new.results)
    return [new]


@decompositions.on(TorchIndexSelectOp)
def _torch_index_select(op: TorchIndexSelectOp) -> Sequence[Operation]:
    """
    Before: `torch_index_select(%x, %i) <{dim = 1, batch_dims = 1}>`
    After:  `gather(%x, %i)` with the batch dimensions as batching dimensions
    """
    if not all(is_static(shape_of(value)) for value in op.operands):
        return ()
    dims, sizes = op.as_gather
    new = GatherOp.create(
        operands=op.operands,
        result_types=op.result_types,
        properties={"dimension_numbers": GatherDimensionNumbersAttr.of(dims), "slice_sizes": int_array(sizes)},
        attributes=op.attributes,
    )
    replace_op(op, [new], new.results)
    return [new]


@decompositions.on(MapOp)
def _map(op: MapOp) -> Sequence[Operation]:
    """
    Before: `map(%x, %y) ({ %0 = multiply %a, %b : tensor<f32> .. })`
    After:  `%0 = multiply %x, %y : tensor<4xf32>`
    """
    block, shape = op.computation.block, shape_of(op.result)
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, op.inputs, strict=True))
    builder = Builder()

    def on_tensors(value: SSAValue) -> SSAValue:
        """A value of the region as a tensor; a scalar from outside is broadcast."""
        if value not in values:
            values[value] = Tensor(builder, value).broadcast(shape).value
        return values[value]

    assert block.last_op is not None
    for inner in list(block.ops)[:-1]:
        if isinstance(inner, (BroadcastInDimOp, ReshapeOp, TransposeOp)) and shape_of(inner.result) == ():
            values[inner.result] = on_tensors(inner.operand)
        elif isinstance(inner, ConstantOp):
            values[inner.result] = on_tensors(builder.add(inner.clone()).value)
        elif is_elementwise(inner):
            new = type(inner).create(
                operands=[on_tensors(operand) for operand in inner.operands],
                result_types=[make_tensor(shape, element_of(value)) for value in inner.results],
                properties=inner.properties,
                attributes=inner.attributes,
                location=inner.location,
            )
            builder.insert(new)
            values.update(zip(inner.results, new.results, strict=True))
        else:
            fail(inner, "is not supported in a map: only elementwise operations and constants of scalars are")
    return builder.replace(op, on_tensors(block.last_op.operands[0]))
