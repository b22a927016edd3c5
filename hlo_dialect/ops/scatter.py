"""scatter: combine windows of updates into tensors, at indices from another tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import BoolAttr, TensorType
from xdsl.ir import Attribute, Block, Region
from xdsl.irdl import (
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import RecursiveMemoryEffect

from ..op import RegionOp, RegionRunner, Role, reject
from ..shapes import DYNAMIC, shape_text, shapes_agree
from ..types import Array, element_of, is_integer, make_tensor, numpy_dtype, shape_of
from .constraints import check_accumulated, check_reducer, scalar_types
from .control_flow import ReturnOp, region_block, returned_types
from .gather import along, index_components, spread_batch
from .index_dimensions import Constraints, IndexDimensions, ScatterDimensionNumbersAttr, verify_dimensions
from .reduction import is_elementwise_region, single_combiner

_CONSTRAINTS = Constraints(
    op="scatter",
    operand="inputs",
    indices="scatter_indices",
    windows="updates",
    fields=ScatterDimensionNumbersAttr.FIELDS,
    ranks=2,
    vector_dim=22,
    map_size=19,
    window_order=7,
    window_range=8,
    unique=9,
    collapsed_order=10,
    collapsed_range=11,
    batching_order=12,
    batching_range=13,
    index_batching_unique=14,
    index_batching_range=15,
    not_vector=16,
    batching_sizes=17,
    batching_shapes=18,
    map_unique=20,
    map_range=21,
)

_IN_PLACE: dict[str, tuple[np.ufunc, str]] = {
    "hlo.add": (np.add, "biufc"),
    "hlo.multiply": (np.multiply, "biuf"),
    "hlo.and": (np.bitwise_and, "biu"),
    "hlo.or": (np.bitwise_or, "biu"),
    "hlo.xor": (np.bitwise_xor, "biu"),
    "hlo.maximum": (np.maximum, "biu"),
    "hlo.minimum": (np.minimum, "biu"),
}
"""Combiners that NumPy applies to repeated indices in order, and the kinds of types for which its semantics agree."""


def returned_argument(block: Block) -> int | None:
    """The number of the argument that a block only returns, else None."""
    last = block.last_op
    if not isinstance(last, ReturnOp) or len(last.operands) != 1:
        return None
    value = last.operands[0]
    return block.args.index(value) if value in block.args else None  # pyright: ignore[reportArgumentType]


@irdl_op_definition
class ScatterOp(RegionOp):
    """
    The inputs with updates combined into their elements at given indices by `update_computation`.

    A window that is not entirely inside the inputs is dropped, as XLA does and JAX relies on; the spec only drops its
    elements outside. It leaves the order of updates of one element open; here they are combined in the order of their
    addresses in memory.
    Shapes: N inputs of one shape; scatter_indices (.., k, ..) with vectors along index_vector_dim; N updates of one
    shape: batch dimensions of the indices, and among them, at update_window_dims, windows of any size that fits.
    Raises: VerifyException naming scatter_c1..c25 or scatter_i2.
    Spec:   https://openxla.org/stablehlo/spec#scatter
    """

    name = "hlo.scatter"
    ROLE: ClassVar[Role | None] = "custom"
    READS_REGIONS: ClassVar[bool] = False
    inputs = var_operand_def(TensorType)
    scatter_indices = operand_def(TensorType)
    updates = var_operand_def(TensorType)
    scatter_dimension_numbers = prop_def(ScatterDimensionNumbersAttr)
    indices_are_sorted = opt_prop_def(BoolAttr)
    unique_indices = opt_prop_def(BoolAttr)
    outs = var_result_def(TensorType)
    update_computation = region_def()
    traits = traits_def(RecursiveMemoryEffect())
    irdl_options = (SameVariadicOperandSize(),)

    @property
    def dims(self) -> IndexDimensions:
        return self.scatter_dimension_numbers.dimensions

    @property
    def input_count(self) -> int:
        return len(self.operands) // 2

    @property
    def is_unique(self) -> bool:
        """Whether the program promises that no element is updated twice."""
        return self.unique_indices is not None and bool(self.unique_indices.value.data)

    def flops(self) -> int:
        return self.input_count * math.prod(shape_of(self.updates[0]))

    def infer_types(self) -> tuple[Attribute, ...]:
        count = self.input_count
        if count <= 0 or len(self.operands) != 2 * count + 1:
            reject(f"scatter_c5: there are {len(self.operands)} operands, expected as many inputs as updates")
        shape = shape_of(self.operands[0])
        self._verify_same(self.operands[:count], "c1", "inputs")
        self._verify_same(self.operands[count + 1 :], "c3", "updates")
        self._verify_dimensions()
        block = region_block(self.regions[0], "scatter_c23", "update_computation")
        return tuple(make_tensor(shape, element_of(type_)) for type_ in returned_types(block))

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        return scalar_types(self.operands[: self.input_count], 2)

    @staticmethod
    def _verify_same(values: Sequence[Any], number: str, what: str) -> None:
        first = shape_of(values[0])
        for value in values[1:]:
            if not shapes_agree(first, shape_of(value)):
                reject(
                    f"scatter_{number}: {what} have different shapes {shape_text(first)} and "
                    f"{shape_text(shape_of(value))}"
                )

    def _verify_dimensions(self) -> None:
        count, dims = self.input_count, self.dims
        shape, indices = shape_of(self.operands[0]), self.operands[count]
        updates = shape_of(self.operands[count + 1])
        if not is_integer(element_of(indices)):
            reject(f"scatter_i2: scatter_indices has element type {element_of(indices)}, expected integer")
        verify_dimensions(_CONSTRAINTS, dims, shape, shape_of(indices), len(updates))
        batch = tuple(updates[dim] for dim in dims.batch_dims(len(updates)))
        wanted = dims.batch_shape(shape_of(indices))
        if not shapes_agree(batch, wanted):
            reject(
                f"scatter_c4: updates have batch dimensions {shape_text(batch)}, scatter_indices {shape_text(wanted)}"
            )
        windows = tuple(updates[dim] for dim in dims.window)
        limits = tuple(shape[dim] for dim in dims.offset_dims(len(shape)))
        if not all(DYNAMIC in pair or pair[0] <= pair[1] for pair in zip(windows, limits, strict=True)):
            reject(f"scatter_c4: windows of shape {shape_text(windows)} exceed the inputs' {shape_text(limits)}")

    def verify_(self) -> None:
        count = self.input_count
        inferred = self.infer_types()  # It rejects operands that do not fit each other.
        for index in range(count):
            value, update = self.operands[index], self.operands[count + 1 + index]
            if element_of(value) != element_of(update):
                reject(
                    f"scatter_c6: input {index} has element type {element_of(value)}, its updates {element_of(update)}"
                )
        block = region_block(self.regions[0], "scatter_c23", "update_computation")
        check_reducer("scatter_c23", "update_computation", block, self.operands[:count])
        check_accumulated(self, "scatter_c24", "scatter_c25", "scatter_c24", count, "update_computation", inferred)

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> tuple[Array, ...]:
        count = self.input_count
        dtypes = [numpy_dtype(element_of(type_)) for type_ in self.result_types]
        inputs = [value.astype(dtype) for value, dtype in zip(operands[:count], dtypes, strict=True)]
        updates = [value.astype(dtype) for value, dtype in zip(operands[count + 1 :], dtypes, strict=True)]
        shape = inputs[0].shape
        if 0 in updates[0].shape or 0 in shape:
            return tuple(inputs)
        flat = [np.array(value).reshape(-1) for value in inputs]
        places, inside = _places(self.dims, shape, operands[count], updates[0].shape)
        chosen = [value.reshape(-1)[inside] for value in updates]
        _combine(run, self.regions[0], flat, places, chosen)
        return tuple(value.reshape(shape) for value in flat)


def _places(
    dims: IndexDimensions, shape: Sequence[int], indices: Array, windows: tuple[int, ...]
) -> tuple[Array, Array]:
    """The flat indices, in order, of the updates whose windows are inside the operand, and the flat mask of these."""
    rank = len(windows)
    components = index_components(indices, dims)
    flat: Any = np.zeros((1,) * rank, np.int64)
    inside: Any = np.ones((1,) * rank, np.bool_)
    for size, place in zip(shape, dims.places(len(shape), rank), strict=True):
        index: Any = np.zeros((1,) * rank, np.int64)
        for source in (place.batch, place.offset):
            if source is not None:
                index = index + along(windows[source], source, rank)
        if place.component is not None:
            start = spread_batch(components[place.component], dims, rank)
            window = 1 if place.offset is None else windows[place.offset]
            fits = (start >= 0) & (start <= size - window)
            inside = inside & fits
            index = index + np.where(fits, start, 0)
        flat = flat * size + index
    mask = np.broadcast_to(inside, windows).reshape(-1)
    return np.broadcast_to(flat, windows).reshape(-1)[mask], mask


def _combine(
    run: RegionRunner, region: Region, values: Sequence[Array], places: Array, updates: Sequence[Array]
) -> None:
    """Update `values` in place, repeated indices in order."""
    count = len(values)
    if count == 1 and returned_argument(region.block) == 1:
        values[0][places] = updates[0]
        return
    combiner = single_combiner(region)
    ufunc, kinds = _IN_PLACE.get(combiner.name, (None, "")) if combiner is not None and count == 1 else (None, "")
    if ufunc is not None and values[0].dtype.kind in kinds and values[0].dtype.isbuiltin == 1:
        ufunc.at(values[0], places, updates[0])
        return
    for chosen in _rounds(places) if is_elementwise_region(region) else range(len(places)):
        where = places[chosen]
        present = [value[where] for value in values]
        fresh = run(region, *map(np.asarray, present), *(np.asarray(update[chosen]) for update in updates))
        for value, new in zip(values, fresh, strict=True):
            value[where] = new


def _rounds(places: Array) -> Iterator[Array]:
    """
    Positions in `places`, grouped so that indices within a group are distinct: the first occurrences, then the second,
    ..
    """
    if len(places) == 0:
        return
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    begin = np.maximum.accumulate(np.where(first, np.arange(len(places)), 0))
    turn = np.arange(len(places)) - begin
    by_turn = np.argsort(turn, kind="stable")
    yield from np.split(order[by_turn], np.flatnonzero(np.diff(turn[by_turn])) + 1)


OPS = (ScatterOp,)
ATTRIBUTES = (ScatterDimensionNumbersAttr,)
