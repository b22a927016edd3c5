"""
Windows of a tensor at indices from another tensor: gather, dynamic_gather, and the older torch_index_select.

Starts are clamped so that windows are inside the operand.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ..attributes import IntArray, ints
from ..op import CHEAP, HloOp, Role, reject
from ..shapes import DYNAMIC, Shape, dims_agree, merge_dim, shape_text, verify_results_agree
from ..types import Array, constant_array, element_of, is_integer, make_tensor, shape_of
from .creation import ConstantOp
from .index_dimensions import Constraints, GatherDimensionNumbersAttr, IndexDimensions, verify_dimensions


def _constraints(op: str) -> Constraints:
    return Constraints(
        op=op,
        operand="operand",
        indices="start_indices",
        windows="result",
        fields=GatherDimensionNumbersAttr.FIELDS,
        ranks=1,
        vector_dim=2,
        map_size=3,
        window_order=4,
        window_range=5,
        unique=6,
        collapsed_order=7,
        collapsed_range=8,
        batching_order=10,
        batching_range=11,
        index_batching_unique=13,
        index_batching_range=14,
        not_vector=15,
        batching_sizes=16,
        batching_shapes=17,
        map_unique=18,
        map_range=19,
    )


def _fits(size: int, whole: int) -> bool:
    return size == DYNAMIC or (size >= 0 and (whole == DYNAMIC or size <= whole))


def _verify_sizes(op: str, dims: IndexDimensions, operand: Shape, sizes: Shape) -> None:
    """Check the constraints on slice sizes; DYNAMIC ones are unknown."""
    if len(sizes) != len(operand):
        reject(f"{op}_c20: slice_sizes has {len(sizes)} entries, expected the operand's rank {len(operand)}")
    for number, what, group in ((9, "collapsed", dims.collapsed), (12, "batching", dims.batching)):
        if not all(sizes[dim] in (DYNAMIC, 0, 1) for dim in group):
            reject(f"{op}_c{number}: slice_sizes {sizes} of {what} dimensions are above 1")
    if not all(map(_fits, sizes, operand)):
        reject(f"{op}_c21: slice_sizes {sizes} do not fit into the operand's shape {shape_text(operand)}")


def _result_shape(op: HloOp, dims: IndexDimensions, sizes: Shape | None) -> Shape:
    """
    The shape of a gather's result; `sizes` is None if slice sizes are unknown.

    Raises VerifyException naming the constraints of `op`.
    """
    name = op.name.partition(".")[2]
    operand, indices = op.operands[:2]
    if not is_integer(element_of(indices)):
        reject(f"{name}_i2: start_indices has element type {element_of(indices)}, expected integer")
    shape, indices_shape = shape_of(operand), shape_of(indices)
    batch = dims.batch_shape(indices_shape)
    verify_dimensions(_constraints(name), dims, shape, indices_shape, len(batch) + len(dims.window))
    found = (DYNAMIC,) * len(shape) if sizes is None else sizes
    _verify_sizes(name, dims, shape, found)
    return dims.combine(batch, [found[dim] for dim in dims.offset_dims(len(shape))])


def _verify_element_type(op: HloOp) -> None:
    name = op.name.partition(".")[2]
    source, result = element_of(op.operands[0]), element_of(op.results[0])
    if source != result:
        reject(f"{name}_c23: result has element type {result}, operand {source}")


def index_components(indices: Array, dims: IndexDimensions) -> list[Array]:
    """
    The components of the index vectors as int64 arrays of the batch shape; values beyond int64 become its maximum.
    """
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(np.iinfo(np.int64).max))
    wide: Array = indices.astype(np.int64)
    if dims.vector_dim == wide.ndim:
        return [wide]
    return list(np.moveaxis(wide, dims.vector_dim, 0))


def along(count: int, dim: int, rank: int) -> Array:
    """The indices 0, 1, .. along one of `rank` dimensions, for broadcasting."""
    shape = [1] * rank
    shape[dim] = count
    return np.arange(count).reshape(shape)


def spread_batch(value: Array, dims: IndexDimensions, rank: int) -> Array:
    """An array of the batch shape with size-1 dimensions for the windows' offsets."""
    return np.expand_dims(value, tuple(dim for dim in range(rank) if dim in dims.window))


def gathered(operand: Array, indices: Array, dims: IndexDimensions, sizes: Shape) -> Array:
    """The result of gather, in one step of NumPy indexing."""
    batch = dims.batch_shape(indices.shape)
    shape = dims.combine(batch, [sizes[dim] for dim in dims.offset_dims(operand.ndim)])
    if 0 in shape or 0 in operand.shape:  # collapsed slices may be empty even if the result is not
        return np.zeros(shape, operand.dtype)
    components = index_components(indices, dims)
    where: list[Any] = []
    for dim, place in enumerate(dims.places(operand.ndim, len(shape))):
        index: Any = np.zeros((1,) * len(shape), np.int64)
        if place.component is not None:
            start = components[place.component].clip(0, operand.shape[dim] - max(sizes[dim], 1))
            index = index + spread_batch(start, dims, len(shape))
        for source in (place.batch, place.offset):
            if source is not None:
                index = index + along(shape[source], source, len(shape))
        where.append(index)
    return np.broadcast_to(operand[tuple(where)], shape)


@irdl_op_definition
class GatherOp(HloOp):
    """
    Windows of `operand` with sizes `slice_sizes` that begin at the vectors of `start_indices`, clamped.

    Shapes: start_indices (.., k, ..) with vectors along index_vector_dim; the result has their batch dimensions,
            interleaved, at offset_dims, with those of the windows that are neither collapsed nor batching.
    Raises: VerifyException naming gather_c1..c23 or gather_i2.
    Spec:   https://openxla.org/stablehlo/spec#gather
    """

    name = "hlo.gather"
    ROLE: ClassVar[Role | None] = "gather"
    COST: ClassVar[int] = CHEAP
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    start_indices = operand_def(TensorType)
    dimension_numbers = prop_def(GatherDimensionNumbersAttr)
    slice_sizes = prop_def(IntArray)
    indices_are_sorted = opt_prop_def(BoolAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def dims(self) -> IndexDimensions:
        return self.dimension_numbers.dimensions

    @property
    def sizes(self) -> tuple[int, ...]:
        return ints(self.slice_sizes)

    def infer_types(self) -> tuple[Attribute, ...]:
        if not all(size >= 0 for size in self.sizes):
            reject(f"gather_c21: slice_sizes {self.sizes} has a negative entry")
        return (make_tensor(_result_shape(self, self.dims, self.sizes), element_of(self.operands[0])),)

    def verify_(self) -> None:
        _verify_element_type(self)
        verify_results_agree(self, "gather_c22")

    def reference(self, *operands: Array) -> Array:
        return gathered(operands[0], operands[1], self.dims, self.sizes)


@irdl_op_definition
class DynamicGatherOp(HloOp):
    """
    A gather whose slice sizes are an operand.

    Shapes: as gather; slice_sizes (rank of operand).
    Raises: VerifyException naming dynamic_gather_c1..c23, numbered as gather's, or dynamic_gather_i2, i3.
    Spec:   https://openxla.org/stablehlo/spec#dynamic_gather
    """

    name = "hlo.dynamic_gather"
    READS_CONSTANTS: ClassVar[bool] = True
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    start_indices = operand_def(TensorType)
    slice_sizes = operand_def(TensorType)
    dimension_numbers = prop_def(GatherDimensionNumbersAttr)
    indices_are_sorted = opt_prop_def(BoolAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def dims(self) -> IndexDimensions:
        return self.dimension_numbers.dimensions

    @property
    def known_sizes(self) -> tuple[int, ...] | None:
        """The slice sizes if they are a constant, else None."""
        owner = self.operands[2].owner
        if not isinstance(owner, ConstantOp):
            return None
        return tuple(int(size) for size in constant_array(owner.value))

    def infer_types(self) -> tuple[Attribute, ...]:
        sizes = self.operands[2]
        if not (len(shape_of(sizes)) == 1 and is_integer(element_of(sizes))):
            reject(f"dynamic_gather_i3: slice_sizes has type {sizes.type}, expected integers of one dimension")
        rank = len(shape_of(self.operands[0]))
        if not dims_agree(shape_of(sizes)[0], rank):
            reject(f"dynamic_gather_c20: slice_sizes has type {sizes.type}, expected the operand's rank {rank} entries")
        shape = _result_shape(self, self.dims, self.known_sizes)
        return (make_tensor(shape, element_of(self.operands[0])),)

    def verify_(self) -> None:
        _verify_element_type(self)
        verify_results_agree(self, "dynamic_gather_c22")

    def reference(self, *operands: Array) -> Array:
        operand, indices, sizes = operands
        return gathered(operand, indices, self.dims, tuple(int(size) for size in sizes))


@irdl_op_definition
class TorchIndexSelectOp(HloOp):
    """
    Slices of `operand` along `dim` at the positions in `index`; the first `batch_dims` dimensions are shared.

    Shapes: operand (b.., m.., d, n..), index (b.., i..): result (b.., m.., i.., n..). Indices are clamped.
    Raises: VerifyException naming torch_index_select_<what>.
    Spec:   https://openxla.org/stablehlo/spec (deprecated: gather says the same)
    """

    name = "hlo.torch_index_select"
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    index = operand_def(TensorType)
    dim = prop_def(IntegerAttr[IntegerType])
    batch_dims = prop_def(IntegerAttr[IntegerType])
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def numbers(self) -> tuple[int, int]:
        """(dim, batch_dims)"""
        return self.dim.value.data, self.batch_dims.value.data

    @property
    def as_gather(self) -> tuple[IndexDimensions, tuple[int, ...]]:
        """The dimension numbers and slice sizes of the gather that computes the same; shapes are static."""
        dim, batch = self.numbers
        shape, indices = shape_of(self.operands[0]), shape_of(self.operands[1])
        picked = len(indices) - batch
        window = (*range(batch, dim), *range(dim + picked, len(shape) - 1 + picked))
        common = tuple(range(batch))
        dims = IndexDimensions(window, (dim,), common, common, (dim,), len(indices))
        sizes = tuple(min(size, 1) if d == dim or d < batch else size for d, size in enumerate(shape))
        return dims, sizes

    def infer_types(self) -> tuple[Attribute, ...]:
        operand, index = self.operands
        shape, indices = shape_of(operand), shape_of(index)
        dim, batch = self.numbers
        if not is_integer(element_of(index)):
            reject(f"torch_index_select_index: index has element type {element_of(index)}, expected integer")
        if not (0 <= dim < len(shape)):
            reject(f"torch_index_select_dim: dim {dim} is not in [0, {len(shape)}), the rank of operand")
        if not (0 <= batch <= min(dim, len(indices))):
            reject(
                f"torch_index_select_batch_dims: batch_dims {batch} is not in [0, {min(dim, len(indices))}], up to dim "
                "and the rank of index"
            )
        if not all(map(dims_agree, shape[:batch], indices[:batch])):
            reject(
                f"torch_index_select_batch_dims: operand of shape {shape_text(shape)} and index of shape "
                f"{shape_text(indices)} differ in the first {batch} dimensions"
            )
        common = tuple(map(merge_dim, shape[:batch], indices[:batch]))
        found = (*common, *shape[batch:dim], *indices[batch:], *shape[dim + 1 :])
        return (make_tensor(found, element_of(operand)),)

    def verify_(self) -> None:
        verify_results_agree(self, "torch_index_select_result")

    def reference(self, *operands: Array) -> Array:
        return gathered(operands[0], operands[1], *self.as_gather)


OPS = (GatherOp, DynamicGatherOp, TorchIndexSelectOp)
ATTRIBUTES = (GatherDimensionNumbersAttr,)
