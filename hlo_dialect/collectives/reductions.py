"""
Collective reductions: all_reduce, reduce_scatter, and the older cross-replica-sum.

Spec: https://openxla.org/stablehlo/spec#collective-ops
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, TensorType, UnitAttr
from xdsl.ir import Attribute, Region
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from ..numbers.number_semantics import round_to, working
from ..op import RegionRunner, reject
from ..ops.constraints import is_promotable, scalar_types
from ..ops.control_flow import region_block, returned_types, types_text
from ..ops.reduction import is_elementwise_region
from ..shapes import DYNAMIC, verify_results_agree
from ..types import Array, element_of, make_tensor, numpy_dtype, shape_of
from .base import CollectiveOp, check_count, check_dim, check_tensors, is_tensor, part_of, scaled
from .process_groups import (
    ChannelHandleAttr,
    ReplicaGroupMeshAxesAttr,
    verify_groups,
)


def verify_computation(op: CollectiveOp, constraint: str) -> Attribute:
    """
    Check that the computation is `(tensor<E>, tensor<E>) -> tensor<E>`, where operands' elements promote to E. Returns
    E.
    """
    block = region_block(op.regions[0], constraint, "computation")
    given = tuple(argument.type for argument in block.args)
    returned = returned_types(block)
    if not (len(returned) == 1 and given == returned * 2 and is_tensor(returned[0]) and not shape_of(returned[0])):
        reject(
            f"{constraint}: computation takes {types_text(given)} and returns {types_text(returned)}, "
            "expected two scalars and one of the same type"
        )
    element = element_of(returned[0])
    for operand in op.operands:
        source = element_of(operand)
        if not is_promotable(source, element):
            reject(f"{constraint}: computation is of {element}, to which {source} does not promote")
    return element


def _verify_reduced(op: CollectiveOp, element: Attribute, shapes: str, elements: str) -> None:
    """Check results: the computation's element type (constraint `elements`), then `infer_types` (`shapes`)."""
    check_count(op, shapes)
    for result in op.result_types:
        if not (is_tensor(result) and element_of(result) == element):
            reject(f"{elements}: result has type {result}, the computation is of {element}")
    verify_results_agree(op, shapes)


def reduce_group(run: RegionRunner, body: Region, arrays: Sequence[Array], element: Attribute) -> Array:
    """Fold the arrays of a group in its order, by halves, neighbours first; computed in the body's element type."""
    dtype: Any = numpy_dtype(element)
    elementwise = is_elementwise_region(body)

    def combine(first: Array, second: Array) -> Array:
        if elementwise:
            return np.broadcast_to(run(body, first, second)[0], first.shape)
        result = np.empty(first.shape, dtype)
        for place in np.ndindex(first.shape):
            result[place] = run(body, first[place].reshape(()), second[place].reshape(()))[0]
        return result

    level = [array.astype(dtype) for array in arrays]
    while len(level) > 1:
        paired = [combine(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = [*paired, *level[len(level) - len(level) % 2 :]]
    return level[0]


class _ReductionOp(CollectiveOp):
    """An operation that folds the operands of a group's processes with its computation."""

    operands_ = var_operand_def()
    replica_groups = prop_def(DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    computation = region_def()
    outs = var_result_def()

    def infer_types(self) -> tuple[Attribute, ...]:
        (returned,) = returned_types(region_block(self.regions[0], f"{self.mnemonic}_c5", "computation"))
        return tuple(make_tensor(shape_of(type_), element_of(returned)) for type_ in self.operand_types)

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        return scalar_types(self.operands[:1], 2)

    def verify_(self) -> None:
        check_tensors(f"{self.mnemonic}_i1", self)
        verify_groups(self.mnemonic, self, self.properties["replica_groups"], unique=1, bounds=3, kind=2, padded=True)
        self.verify_ids(f"{self.mnemonic}_c4")
        _verify_reduced(
            self, verify_computation(self, f"{self.mnemonic}_c5"), f"{self.mnemonic}_c6", f"{self.mnemonic}_c7"
        )

    def exchange(self, run: RegionRunner, inputs: Sequence[tuple[Array, ...]], index: int) -> tuple[Array, ...]:
        return tuple(
            reduce_group(run, self.regions[0], arrays, element_of(type_))
            for arrays, type_ in zip(zip(*inputs, strict=True), self.result_types, strict=True)
        )


@irdl_op_definition
class AllReduceOp(_ReductionOp):
    """
    Reduce the operands of a group's processes with `computation`, element by element; each gets the result.

    Shapes: results have the operands' shapes and the computation's element type.
    Raises: VerifyException naming all_reduce_c1..c7. c2 (how many numbers there are) depends on the grid; it is
            checked when the program runs.
    Spec:   https://openxla.org/stablehlo/spec#all_reduce
    """

    name = "hlo.all_reduce"
    GRID: ClassVar[str] = "all_reduce_c2"


@irdl_op_definition
class CollectiveReduceOp(_ReductionOp):
    """
    all_reduce whose results only the first process of each group receives; the others get zeros.

    Shapes: results have the operands' shapes and the computation's element type.
    Raises: VerifyException naming collective_reduce_c1..c7, which are the constraints of all_reduce.
    Spec:   openxla/stablehlo, StablehloOps.td, CollectiveReduceOp.
    """

    name = "hlo.collective_reduce"
    GRID: ClassVar[str] = "collective_reduce_c2"

    def exchange(self, run: RegionRunner, inputs: Sequence[tuple[Array, ...]], index: int) -> tuple[Array, ...]:
        totals = super().exchange(run, inputs, index)
        return totals if index == 0 else tuple(map(np.zeros_like, totals))


@irdl_op_definition
class CrossReplicaSumOp(CollectiveOp):
    """
    The sum of the operands of a group's processes: an older all_reduce that StableHLO's specification leaves out.

    Shapes: result has the operand's type.
    Raises: VerifyException naming cross_replica_sum_*.
    """

    name = "hlo.cross-replica-sum"
    GRID: ClassVar[str] = "cross_replica_sum_c2"
    operand = operand_def(TensorType)
    replica_groups = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(TensorType)

    def infer_types(self) -> tuple[Attribute, ...]:
        return tuple(self.operand_types)

    def verify_(self) -> None:
        attr = self.properties["replica_groups"]
        verify_groups("cross_replica_sum", self, attr, unique=1, bounds=2, kind=2, padded=True)
        verify_results_agree(self, "cross_replica_sum_c3")

    def exchange(self, run: RegionRunner, inputs: Sequence[tuple[Array, ...]], index: int) -> tuple[Array, ...]:
        total = working(inputs[0][0], wide=False)
        for (array,) in inputs[1:]:
            total = total + working(array, wide=False)
        return (round_to(np.asarray(total), inputs[0][0].dtype),)


@irdl_op_definition
class ReduceScatterOp(CollectiveOp):
    """
    all_reduce, after which each process of a group keeps its part along `scatter_dimension`.

    Shapes: result has the operand's shape, the scattered dimension divided by the size of a group.
    Raises: VerifyException naming reduce_scatter_c1..c9. c4 (how many numbers there are) depends on the grid; it is
            checked when the program runs.
    Spec:   https://openxla.org/stablehlo/spec#reduce_scatter
    """

    name = "hlo.reduce_scatter"
    GRID: ClassVar[str] = "reduce_scatter_c4"
    operand = operand_def()
    scatter_dimension = prop_def(IntegerAttr[IntegerType])
    replica_groups = prop_def(DenseIntOrFPElementsAttr | ReplicaGroupMeshAxesAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    computation = region_def()
    result = result_def()

    @property
    def dim(self) -> int:
        return self.scatter_dimension.value.data

    def infer_types(self) -> tuple[Attribute, ...]:
        (returned,) = returned_types(region_block(self.regions[0], "reduce_scatter_c7", "computation"))
        operand, size = self.operands[0], self.group_size()
        type_ = make_tensor(shape_of(operand), element_of(returned))
        return (scaled(type_, [(self.dim, 1 if size else None, size or 1)]),)

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        return scalar_types(self.operands, 2)

    def verify_(self) -> None:
        check_tensors("reduce_scatter_i1", self)
        check_dim(self, "reduce_scatter_c2", "scatter_dimension", self.dim)
        groups = self.properties["replica_groups"]
        verify_groups("reduce_scatter", self, groups, unique=3, bounds=5, kind=3, padded=False)
        self.verify_ids("reduce_scatter_c6")
        self._verify_parts()
        _verify_reduced(self, verify_computation(self, "reduce_scatter_c7"), "reduce_scatter_c8", "reduce_scatter_c9")

    def _verify_parts(self) -> None:
        """c1: the operand's dimension divides into as many parts as the group has processes, or as the result says."""
        size, whole = self.group_size(), shape_of(self.operands[0])[self.dim]
        if whole == DYNAMIC:
            return
        if size is not None and whole % size != 0:
            reject(f"reduce_scatter_c1: size {whole} of the operand does not divide into {size} parts")
        result = self.result_types[0]
        part = shape_of(result)[self.dim] if is_tensor(result) and len(shape_of(result)) > self.dim else 1
        if whole == 0 or part == 0 or (part != DYNAMIC and whole % part != 0):
            reject(f"reduce_scatter_c8: the operand's size {whole} is no multiple of the result's {part}")

    def exchange(self, run: RegionRunner, inputs: Sequence[tuple[Array, ...]], index: int) -> tuple[Array, ...]:
        # Each process reduces its own part only: the body is applied to each element alone.
        parts = [part_of(array, self.dim, len(inputs), index) for (array,) in inputs]
        return (reduce_group(run, self.regions[0], parts, element_of(self.result_types[0])),)


OPS = (AllReduceOp, CollectiveReduceOp, CrossReplicaSumOp, ReduceScatterOp)
