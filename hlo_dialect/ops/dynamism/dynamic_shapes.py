"""
Operations whose result shape is an operand: dynamic_broadcast_in_dim, dynamic_iota, dynamic_reshape, dynamic_pad,
real_dynamic_slice.

A result type may still be static if the shape is known; `resolve-dynamic-shapes` makes it so.

Spec: https://openxla.org/stablehlo/spec
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from ...attributes import IntArray, ints
from ...numbers.number_semantics import convert
from ...op import reject
from ...shapes import DYNAMIC, Shape, dims_agree, element_count, shape_text, shapes_agree, types_agree
from ...syntax.keywords import KeywordOp, int_list, integer
from ...types import Array, element_of, is_integer, make_tensor, numpy_dtype, shape_of
from ..constraints import check_element_types, check_range, check_size, check_unique
from ..creation import constant_of
from ..elementwise import Kind, check_kind
from ..elementwise_binary import AddOp
from ..slicing import padded


def known_shape(value: SSAValue) -> tuple[int, ...] | None:
    """The sizes in a constant shape operand; None if it is not constant."""
    array = constant_of(value)
    return None if array is None else tuple(int(size) for size in array.reshape(-1))


def check_sizes_operand(constraint: str, name: str, value: SSAValue) -> None:
    """Check that a sizes operand is a vector of integers or of type index."""
    element = element_of(value)
    if not (len(shape_of(value)) == 1 and (is_integer(element) or isinstance(element, IndexType))):
        reject(f"{constraint}: {name} has type {value.type}, expected integers in one dimension")


def check_count(constraint: str, name: str, value: SSAValue, count: int, of_what: str) -> None:
    if not dims_agree(shape_of(value)[0], count):
        reject(f"{constraint}: {name} of type {value.type} has not {count} elements, {of_what}")


class ShapedByOperandOp(KeywordOp):
    """
    An operation that takes its result's shape from an operand; the syntax is `%operand, %shape.. : (t, u) -> t`.
    """

    READS_CONSTANTS: ClassVar[bool] = True
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def verify_shape(self, constraint: str, operand: SSAValue) -> None:
        """Check that the result's type agrees with a constant shape."""
        shape = known_shape(operand)
        if shape is not None and not (shapes_agree(shape, shape_of(self.results[0])) and min(shape, default=0) >= 0):
            reject(f"{constraint}: the result of type {self.results[0].type} is to have the shape {shape_text(shape)}")

    def shape_from(self, shape: Sequence[int] | None) -> tuple[Attribute, ...]:
        """The result's type with the shape of a constant operand; otherwise the type unchanged."""
        result = self.results[0].type
        known = shape is not None and shapes_agree(shape, shape_of(result)) and min(shape, default=0) >= 0
        return (make_tensor(tuple(shape or ()), element_of(result)) if known else result,)


@irdl_op_definition
class DynamicBroadcastInDimOp(ShapedByOperandOp):
    """
    broadcast_in_dim to the shape `output_dimensions`.

    Shapes: operand (d0, .., dn), output_dimensions (rank of the result).
    Raises: VerifyException naming dynamic_broadcast_in_dim_i2, c1..c10; c6 is on quantized types.
    Spec:   https://openxla.org/stablehlo/spec#dynamic_broadcast_in_dim
    """

    name = "hlo.dynamic_broadcast_in_dim"
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    output_dimensions = operand_def(TensorType)
    broadcast_dimensions = prop_def(IntArray)
    known_expanding_dimensions = opt_prop_def(IntArray)
    known_nonexpanding_dimensions = opt_prop_def(IntArray)
    KEYWORDS: ClassVar = (int_list("dims", "broadcast_dimensions"),)

    @property
    def dims(self) -> tuple[int, ...]:
        return ints(self.broadcast_dimensions)

    def infer_types(self) -> tuple[Attribute, ...]:
        return self.shape_from(known_shape(self.operands[1]))

    def verify_(self) -> None:
        name = "dynamic_broadcast_in_dim"
        operand, result, dims = shape_of(self.operands[0]), shape_of(self.results[0]), self.dims
        check_sizes_operand(f"{name}_i2", "output_dimensions", self.operands[1])
        check_element_types(self, f"{name}_c1")
        check_size(f"{name}_c2", "broadcast_dimensions", dims, len(operand))
        check_range(f"{name}_c3", "broadcast_dimensions", dims, len(result))
        check_unique(f"{name}_c4", "broadcast_dimensions", dims)
        for size, dim in zip(operand, dims, strict=True):
            if not (size == 1 or dims_agree(size, result[dim])):
                reject(
                    f"{name}_c5: a dimension of size {size}, neither 1 nor the size of result dimension {dim} in "
                    f"{shape_text(result)}, is to be broadcast along it"
                )
        check_count(f"{name}_c7", "output_dimensions", self.operands[1], len(result), "the result's rank")
        self.verify_shape(f"{name}_c7", self.operands[1])
        self._verify_known_sizes(name, operand)
        self._verify_known_dimensions(name, len(operand))

    def _verify_known_sizes(self, name: str, operand: Shape) -> None:
        sizes = known_shape(self.operands[1])
        for size, dim in zip(operand, self.dims, strict=True):
            if sizes is not None and size not in (1, DYNAMIC, sizes[dim]):
                reject(
                    f"{name}_c5: a dimension of size {size} is to be broadcast along {dim} of output_dimensions {sizes}"
                )

    def _verify_known_dimensions(self, name: str, rank: int) -> None:
        expanding, fixed = (
            () if dims is None else ints(dims)
            for dims in (self.known_expanding_dimensions, self.known_nonexpanding_dimensions)
        )
        check_unique(f"{name}_c8", "known expanding and nonexpanding dimensions", (*expanding, *fixed))
        check_range(f"{name}_c9", "known_expanding_dimensions", expanding, rank)
        check_range(f"{name}_c10", "known_nonexpanding_dimensions", fixed, rank)

    def reference(self, *operands: Array) -> Array:
        operand, target = operands
        shape = tuple(int(size) for size in target)
        order = sorted(range(len(self.dims)), key=lambda index: self.dims[index])
        aligned = [1] * len(shape)
        for index in order:
            aligned[self.dims[index]] = operand.shape[index]
        return np.broadcast_to(np.transpose(operand, order).reshape(aligned), shape)


@irdl_op_definition
class DynamicIotaOp(ShapedByOperandOp):
    """
    iota of the shape `output_shape`.

    Shapes: output_shape (rank of the result).
    Raises: VerifyException naming dynamic_iota_i1, c1, c2 or o1.
    Spec:   https://openxla.org/stablehlo/spec#dynamic_iota
    """

    name = "hlo.dynamic_iota"
    COMPUTES: ClassVar[bool] = True
    output_shape = operand_def(TensorType)
    iota_dimension = prop_def(IntegerAttr[IntegerType])
    KEYWORDS: ClassVar = (integer("dim", "iota_dimension"),)

    @property
    def dimension(self) -> int:
        return self.iota_dimension.value.data

    def infer_types(self) -> tuple[Attribute, ...]:
        return self.shape_from(known_shape(self.operands[0]))

    def verify_(self) -> None:
        check_sizes_operand("dynamic_iota_i1", "output_shape", self.operands[0])
        check_kind("dynamic_iota_o1", "result", self.results[0], Kind.NUMBER)
        rank = len(shape_of(self.results[0]))
        if not (0 <= self.dimension < rank):
            reject(f"dynamic_iota_c1: iota_dimension {self.dimension} is not in [0, {rank}), the result's dimensions")
        check_count("dynamic_iota_c2", "output_shape", self.operands[0], rank, "the result's rank")
        self.verify_shape("dynamic_iota_c2", self.operands[0])

    def reference(self, *operands: Array) -> Array:
        shape = tuple(int(size) for size in operands[0])
        dtype: Any = numpy_dtype(element_of(self.results[0]))
        indices = convert(np.arange(shape[self.dimension]), dtype)
        return np.broadcast_to(indices.reshape((-1,) + (1,) * (len(shape) - self.dimension - 1)), shape)


@irdl_op_definition
class DynamicReshapeOp(ShapedByOperandOp):
    """
    reshape to the shape `output_shape`.

    Shapes: output_shape (rank of the result); the operand's number of elements.
    Raises: VerifyException naming dynamic_reshape_i2, c1, c2 or c4; c3 is on quantized types.
    Spec:   https://openxla.org/stablehlo/spec#dynamic_reshape
    """

    name = "hlo.dynamic_reshape"
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    output_shape = operand_def(TensorType)

    def infer_types(self) -> tuple[Attribute, ...]:
        return self.shape_from(known_shape(self.operands[1]))

    def verify_(self) -> None:
        check_sizes_operand("dynamic_reshape_i2", "output_shape", self.operands[1])
        check_element_types(self, "dynamic_reshape_c1")
        before, after = (element_count(shape_of(value)) for value in (self.operands[0], self.results[0]))
        if not dims_agree(before, after):
            reject(f"dynamic_reshape_c2: operand has {before} elements and the result {after}")
        rank = len(shape_of(self.results[0]))
        check_count("dynamic_reshape_c4", "output_shape", self.operands[1], rank, "the result's rank")
        self.verify_shape("dynamic_reshape_c4", self.operands[1])
        sizes = known_shape(self.operands[1])
        if sizes is not None and not dims_agree(before, element_count(sizes)):
            reject(f"dynamic_reshape_c2: operand has {before} elements and output_shape is {sizes}")

    def reference(self, *operands: Array) -> Array:
        operand, target = operands
        return operand.reshape([int(size) for size in target])


@irdl_op_definition
class DynamicPadOp(ShapedByOperandOp):
    """
    pad by amounts that are operands.

    Shapes: padding_value (), the amounts (rank of operand).
    Raises: VerifyException naming dynamic_pad_i2..i5 or c1..c4.
    Spec:   https://openxla.org/stablehlo/spec#dynamic_pad
    """

    name = "hlo.dynamic_pad"
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    padding_value = operand_def(TensorType)
    edge_padding_low = operand_def(TensorType)
    edge_padding_high = operand_def(TensorType)
    interior_padding = operand_def(TensorType)

    def infer_types(self) -> tuple[Attribute, ...]:
        shape = shape_of(self.operands[0])
        amounts = [known_shape(value) for value in self.operands[2:]]
        low, high, interior = amounts
        if low is None or high is None or interior is None or not len(low) == len(high) == len(interior) == len(shape):
            return (self.results[0].type,)
        sizes = (
            DYNAMIC if size == DYNAMIC else low[i] + high[i] + size + max(size - 1, 0) * interior[i]
            for i, size in enumerate(shape)
        )
        return (make_tensor(tuple(sizes), element_of(self.operands[0])),)

    def verify_(self) -> None:
        names = ("edge_padding_low", "edge_padding_high", "interior_padding")
        operand, value = self.operands[:2]
        rank = len(shape_of(operand))
        if shape_of(value) != ():
            reject(f"dynamic_pad_i2: padding_value has type {value.type}, expected a scalar")
        if not (element_of(operand) == element_of(value) == element_of(self.results[0])):
            reject(
                f"dynamic_pad_c1: operand, padding_value and result have element types {element_of(operand)}, "
                f"{element_of(value)} and {element_of(self.results[0])}"
            )
        for index, (what, amounts) in enumerate(zip(names, self.operands[2:], strict=True)):
            check_sizes_operand(f"dynamic_pad_i{index + 3}", what, amounts)
            check_count("dynamic_pad_c2", what, amounts, rank, "the operand's rank")
        interior = known_shape(self.operands[4])
        if interior is not None and min(interior, default=0) < 0:
            reject(f"dynamic_pad_c3: interior_padding {interior} is not all at least 0")
        wanted = self.infer_types()[0]
        if not (len(shape_of(self.results[0])) == rank and types_agree(self.results[0].type, wanted)):
            reject(f"dynamic_pad_c4: result has type {self.results[0].type}, expected {wanted}")

    def reference(self, *operands: Array) -> Array:
        operand, value, *amounts = operands
        low, high, interior = ([int(size) for size in amount] for amount in amounts)
        return padded(operand, value, low, high, interior)


@irdl_op_definition
class RealDynamicSliceOp(ShapedByOperandOp):
    """
    slice at positions that are operands; deprecated.

    Shapes: start_indices, limit_indices and strides (rank of operand).
    Raises: VerifyException naming real_dynamic_slice_i2..i4, or c1 (element types), c2 (ranks), c3 (counts),
            c4 (places outside of the operand), c5 (sizes of the result).
    Spec:   openxla/stablehlo, StablehloOps.td, RealDynamicSliceOp.
    """

    name = "hlo.real_dynamic_slice"
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    start_indices = operand_def(TensorType)
    limit_indices = operand_def(TensorType)
    strides = operand_def(TensorType)

    def infer_types(self) -> tuple[Attribute, ...]:
        extents, strides = self.extents, known_shape(self.strides)
        if extents is None or strides is None or min(strides, default=1) < 1:
            return (self.results[0].type,)
        return self.shape_from([max(0, -(-extent // by)) for extent, by in zip(extents, strides, strict=True)])

    @property
    def extents(self) -> tuple[int, ...] | None:
        """limit - start in each dimension, where both are constant or the limits are the starts plus constants."""
        starts, limits = known_shape(self.start_indices), known_shape(self.limit_indices)
        if starts is not None and limits is not None:
            return tuple(limit - start for start, limit in zip(starts, limits, strict=True))
        added = self.limit_indices.owner
        if not isinstance(added, AddOp) or self.start_indices not in added.operands:
            return None
        return known_shape(added.operands[added.operands[0] is self.start_indices])

    def verify_(self) -> None:
        rank = len(shape_of(self.operands[0]))
        check_element_types(self, "real_dynamic_slice_c1")
        if len(shape_of(self.results[0])) != rank:
            reject(f"real_dynamic_slice_c2: result of type {self.results[0].type} has not the operand's rank {rank}")
        for index, what in enumerate(("start_indices", "limit_indices", "strides"), start=1):
            check_sizes_operand(f"real_dynamic_slice_i{index + 1}", what, self.operands[index])
            check_count("real_dynamic_slice_c3", what, self.operands[index], rank, "the operand's rank")
        self._verify_places()

    def _verify_places(self) -> None:
        """c4: constant places are inside the operand; c5: they give the result's shape."""
        starts, limits, strides = (known_shape(value) for value in self.operands[1:])
        for dim, (size, wanted) in enumerate(zip(shape_of(self.operands[0]), shape_of(self.results[0]), strict=True)):
            start, limit, stride = (None if part is None else part[dim] for part in (starts, limits, strides))
            places = [place for place in (0, start, limit, None if size == DYNAMIC else size) if place is not None]
            if places != sorted(places) or (stride is not None and stride < 1):
                reject(
                    f"real_dynamic_slice_c4: dimension {dim} of {self.operands[0].type} is to be sliced from {start} "
                    f"to {limit} by {stride}, where 0 <= start <= limit <= size and 1 <= stride"
                )
            if start is not None and limit is not None and stride is not None:
                count = -(-(limit - start) // stride)
                if not dims_agree(wanted, count):
                    reject(f"real_dynamic_slice_c5: dimension {dim} of the result has size {wanted}, expected {count}")

    def reference(self, *operands: Array) -> Array:
        operand, *places = operands
        parts = zip(*([int(number) for number in place] for place in places), strict=True)
        return operand[tuple(slice(start, limit, stride) for start, limit, stride in parts)]


OPS = (DynamicBroadcastInDimOp, DynamicIotaOp, DynamicPadOp, DynamicReshapeOp, RealDynamicSliceOp)
