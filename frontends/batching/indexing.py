"""Batching of operations that read and write at indices: by their batching dimensions."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute

from ...hlo_dialect.attributes import int_array, int_attr, ints
from ...hlo_dialect.expressions.tensor import Tensor
from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.index_dimensions import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr
from ...hlo_dialect.ops.scatter import ScatterOp
from .batcher import Batcher, batching
from .structural import Flags, Tensors, shifted, with_batch


def _zero(batcher: Batcher, like: Tensor) -> Tensor:
    return batcher.builder.inserter.splat(0, like.type)


@batching.on(DynamicSliceOp)
def _dynamic_slice(batcher: Batcher, op: DynamicSliceOp, operands: Tensors, batched: Flags) -> Tensors | None:
    if any(batched[1:]) or len(operands) == 1:
        return None
    array, *starts = operands
    changed = {"slice_sizes": with_batch(op.slice_sizes, batcher.size)}
    return batcher.emit(op, [array, _zero(batcher, starts[0]), *starts], properties=changed)


@batching.on(DynamicUpdateSliceOp)
def _dynamic_update_slice(
    batcher: Batcher, op: DynamicUpdateSliceOp, operands: Tensors, batched: Flags
) -> Tensors | None:
    if any(batched[2:]) or len(operands) == 2:
        return None
    array, update = (batcher.led(*each) for each in zip(operands[:2], batched[:2], strict=True))
    return batcher.emit(op, [array, update, _zero(batcher, operands[2]), *operands[2:]])


@batching.on(GatherOp)
def _gather(batcher: Batcher, op: GatherOp, operands: Tensors, batched: Flags) -> Tensors:
    numbers = op.dimension_numbers
    of_array, of_indices = batched
    parts: dict[str, Any] = {name: ints(getattr(numbers, name)) for name in numbers.FIELDS}
    parts["offset_dims"] = [dim + 1 for dim in parts["offset_dims"]]
    vector = numbers.index_vector_dim.value.data
    sizes = ints(op.slice_sizes)
    if of_array:
        for name in ("collapsed_slice_dims", "operand_batching_dims", "start_index_map"):
            parts[name] = [dim + 1 for dim in parts[name]]
    if of_indices:
        parts["start_indices_batching_dims"] = [dim + 1 for dim in parts["start_indices_batching_dims"]]
        vector += 1
    if of_array and of_indices:
        parts["operand_batching_dims"] = [0, *parts["operand_batching_dims"]]
        parts["start_indices_batching_dims"] = [0, *parts["start_indices_batching_dims"]]
        sizes = (1, *sizes)
    elif of_array:
        # The array's batch is a part of each slice.
        parts["offset_dims"] = [0, *parts["offset_dims"]]
        sizes = (batcher.size, *sizes)
    made = GatherDimensionNumbersAttr.new([*(int_array(parts[name]) for name in numbers.FIELDS), int_attr(vector)])
    changed: dict[str, Attribute] = {"dimension_numbers": made, "slice_sizes": int_array(sizes)}
    return batcher.emit(op, operands, properties=changed)


@batching.on(ScatterOp)
def _scatter(batcher: Batcher, op: ScatterOp, operands: Tensors, batched: Flags) -> Tensors | None:
    if batcher.captures_batches(op):
        return None
    numbers = op.scatter_dimension_numbers
    made = ScatterDimensionNumbersAttr(
        shifted(numbers.update_window_dims),
        shifted(numbers.inserted_window_dims),
        shifted(numbers.input_batching_dims, 0),
        shifted(numbers.scatter_indices_batching_dims, 0),
        shifted(numbers.scatter_dims_to_operand_dims),
        int_attr(numbers.index_vector_dim.value.data + 1),
    )
    given = [batcher.led(*each) for each in zip(operands, batched, strict=True)]
    return batcher.emit(op, given, properties={"scatter_dimension_numbers": made})
