"""
Operations that move elements without computing: broadcast, reshape, transpose, reverse; the others are in slicing.py.

Spec: https://openxla.org/stablehlo/spec
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from ..attributes import IntArray, ints
from ..op import FREE, Role, reject
from ..shapes import dims_agree, element_count, verify_results_agree
from ..syntax.keywords import KeywordOp, int_list
from ..types import Array, element_of, make_tensor, shape_of
from .constraints import check_element_types, check_range, check_size, check_static, check_unique


@irdl_op_definition
class BroadcastInDimOp(KeywordOp):
    """
    Repeat data along new or size-1 dimensions: `result[i] = operand[j]`, j[k] = i[dims[k]], or 0 where
    the operand's dimension k is 1.

    Shapes: operand (d0, .., dn), result of any rank; operand dimension k becomes result dimension dims[k].
    Raises: VerifyException naming broadcast_in_dim_c1..c6; c6 is on quantized types.
    Spec:   https://openxla.org/stablehlo/spec#broadcast_in_dim
    """

    name = "hlo.broadcast_in_dim"
    ROLE: ClassVar[Role | None] = "broadcast"
    COST: ClassVar[int] = FREE
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    broadcast_dimensions = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (int_list("dims", "broadcast_dimensions"),)

    @property
    def dims(self) -> tuple[int, ...]:
        return ints(self.broadcast_dimensions)

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.results[0].type,)

    def verify_(self) -> None:
        operand, result = shape_of(self.operands[0]), shape_of(self.results[0])
        dims = self.dims
        check_static("broadcast_in_dim_o1", self.results[0])
        check_element_types(self, "broadcast_in_dim_c1")
        check_size("broadcast_in_dim_c2", "broadcast_dimensions", dims, len(operand))
        check_range("broadcast_in_dim_c3", "broadcast_dimensions", dims, len(result))
        check_unique("broadcast_in_dim_c4", "broadcast_dimensions", dims)
        for index, dim in enumerate(dims):
            if not (operand[index] == 1 or dims_agree(operand[index], result[dim])):
                reject(
                    f"broadcast_in_dim_c5: operand dimension {index} has size "
                    f"{operand[index]}, which is neither 1 nor the size {result[dim]} of result dimension {dim}"
                )

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        if self.operands[0].type == self.results[0].type and self.dims == tuple(range(len(self.dims))):
            return (self.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        (operand,) = operands
        shape = shape_of(self.results[0])
        dims = self.dims
        order = sorted(range(len(dims)), key=lambda index: dims[index])
        aligned = [1] * len(shape)
        for index in order:
            aligned[dims[index]] = operand.shape[index]
        return np.broadcast_to(np.transpose(operand, order).reshape(aligned), shape)


@irdl_op_definition
class ReshapeOp(KeywordOp):
    """
    The same elements in row-major order under another shape.

    Shapes: operand and result have the same number of elements.
    Raises: VerifyException naming reshape_c1, reshape_c2; c3 is on quantized types.
    Spec:   https://openxla.org/stablehlo/spec#reshape
    """

    name = "hlo.reshape"
    ROLE: ClassVar[Role | None] = "reshape"
    COST: ClassVar[int] = FREE
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.results[0].type,)

    def verify_(self) -> None:
        check_static("reshape_o1", self.results[0])
        check_element_types(self, "reshape_c1")
        before, after = element_count(shape_of(self.operands[0])), element_count(shape_of(self.results[0]))
        if not dims_agree(before, after):
            reject(f"reshape_c2: operand has {before} elements and result {after}")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        operand = self.operands[0]
        if operand.type == self.results[0].type:
            return (operand,)
        source = operand.owner
        if isinstance(source, ReshapeOp) and source.operands[0].type == self.results[0].type:
            return (source.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        return operands[0].reshape(shape_of(self.results[0]))


@irdl_op_definition
class TransposeOp(KeywordOp):
    """
    Permute the dimensions: `result[i[p0], .., i[pn]] = operand[i0, .., in]`.

    Shapes: operand (d0, .., dn), result (d[p0], .., d[pn]).
    Raises: VerifyException naming transpose_c1..c3; c4 is on quantized types.
    Spec:   https://openxla.org/stablehlo/spec#transpose
    """

    name = "hlo.transpose"
    ROLE: ClassVar[Role | None] = "movement"
    COST: ClassVar[int] = FREE
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    permutation = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (int_list("dims", "permutation"),)

    @property
    def dims(self) -> tuple[int, ...]:
        return ints(self.permutation)

    def infer_types(self) -> tuple[Attribute, ...]:
        shape = shape_of(self.operands[0])
        if sorted(self.dims) != list(range(len(shape))):
            reject(f"transpose_c2: permutation {self.dims} is not a permutation of the {len(shape)} dimensions")
        return (make_tensor(tuple(shape[dim] for dim in self.dims), element_of(self.operands[0])),)

    def verify_(self) -> None:
        check_element_types(self, "transpose_c1")
        verify_results_agree(self, "transpose_c3")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        if self.dims == tuple(range(len(self.dims))) and self.operands[0].type == self.results[0].type:
            return (self.operands[0],)
        source = self.operands[0].owner
        if isinstance(source, TransposeOp) and source.operands[0].type == self.results[0].type:
            composed = tuple(source.dims[dim] for dim in self.dims)
            if composed == tuple(range(len(composed))):
                return (source.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        return np.transpose(operands[0], self.dims)


@irdl_op_definition
class ReverseOp(KeywordOp):
    """
    Reverse the order of elements along the given dimensions.

    Shapes: operand and result have the same type.
    Raises: VerifyException naming reverse_c1..c3.
    Spec:   https://openxla.org/stablehlo/spec#reverse
    """

    name = "hlo.reverse"
    ROLE: ClassVar[Role | None] = "movement"
    COST: ClassVar[int] = FREE
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    dimensions = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (int_list("dims", "dimensions"),)
    ONE_TYPE: ClassVar = True

    @property
    def dims(self) -> tuple[int, ...]:
        return ints(self.dimensions)

    def infer_types(self) -> tuple[Attribute, ...]:
        return (self.operands[0].type,)

    def verify_(self) -> None:
        verify_results_agree(self, "reverse_c1")
        check_unique("reverse_c2", "dimensions", self.dims)
        check_range("reverse_c3", "dimensions", self.dims, len(shape_of(self.operands[0])))

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        operand, type_ = self.operands[0], self.results[0].type
        shape, source = shape_of(operand), operand.owner
        if operand.type == type_ and all(shape[dim] in (0, 1) for dim in self.dims):
            return (operand,)
        if isinstance(source, ReverseOp) and set(source.dims) == set(self.dims) and source.operands[0].type == type_:
            return (source.operands[0],)
        return None

    def reference(self, *operands: Array) -> Array:
        return np.flip(operands[0], self.dims)


OPS = (BroadcastInDimOp, ReshapeOp, TransposeOp, ReverseOp)


def untransposed(value: SSAValue, kept: Sequence[int]) -> tuple[SSAValue, tuple[int, ...]]:
    """
    The tensor that `value` is a transpose of, as far as the dimensions `kept` stay in order, and for each dimension of
    `value` that of the tensor.
    """
    dims = tuple(range(len(shape_of(value))))
    while isinstance(value.owner, TransposeOp):
        moved = tuple(value.owner.dims[dim] for dim in dims)
        order = [moved[dim] for dim in kept]
        if order != sorted(order):
            break
        value, dims = value.owner.operands[0], moved
    return value, dims
