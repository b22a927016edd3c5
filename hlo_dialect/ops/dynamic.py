"""
Slices at positions known only at run time: dynamic_slice, dynamic_update_slice.

Both clamp their start so that the slice is inside the operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from ..attributes import IntArray, ints
from ..op import FREE, Role, reject
from ..shapes import DYNAMIC, shape_text, verify_results_agree
from ..syntax.keywords import KeywordOp, int_list
from ..types import Array, constant_array, element_of, is_integer, make_tensor, shape_of


def clamped_starts(starts: Sequence[Any], shape: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """Start indices clamped so that a slice of `sizes` is inside `shape`."""
    return tuple(
        min(max(int(start), 0), size - slice_size) for start, size, slice_size in zip(starts, shape, sizes, strict=True)
    )


def _check_starts(name: str, starts: Sequence[SSAValue], rank: int, count: str, same: str) -> None:
    if len(starts) != rank:
        reject(f"{name}_{count}: there are {len(starts)} start indices, expected the operand's rank {rank}")
    for start in starts:
        if not (shape_of(start) == () and is_integer(element_of(start))):
            reject(f"{name}_start_indices: start index of type {start.type} is no scalar integer tensor")
        if start.type != starts[0].type:
            reject(f"{name}_{same}: start indices have different types {starts[0].type} and {start.type}")


def _is_zero(value: SSAValue) -> bool:
    """Whether the scalar is a constant 0."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name != "hlo.constant":
        return False
    return int(constant_array(owner.properties["value"]).reshape(-1)[0]) == 0  # pyright: ignore[reportArgumentType]


@irdl_op_definition
class DynamicSliceOp(KeywordOp):
    """
    A box of a fixed size at a computed position: `result[i] = operand[clamp(0, start, shape - sizes) + i]`.

    Shapes: operand (d0, ..), start_indices one scalar integer per dimension, result `slice_sizes`.
    Raises: VerifyException naming dynamic_slice_c1..c5.
    Spec:   https://openxla.org/stablehlo/spec#dynamic_slice
    """

    name = "hlo.dynamic_slice"
    ROLE: ClassVar[Role | None] = "gather"
    COST: ClassVar[int] = FREE
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    start_indices = var_operand_def(TensorType)
    slice_sizes = prop_def(IntArray)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    KEYWORDS: ClassVar = (int_list("sizes", "slice_sizes"),)

    @property
    def sizes(self) -> tuple[int, ...]:
        return ints(self.slice_sizes)

    @property
    def takes_neighbours(self) -> bool:
        """Whether the elements of the slice follow each other in memory: those of one of its dimensions, all inside."""
        shape, sizes = shape_of(self.operand), self.sizes
        divided = max((dim for dim, size in enumerate(sizes) if size != shape[dim]), default=0)
        return all(size == 1 for size in sizes[:divided])

    def infer_types(self) -> tuple[Attribute, ...]:
        operand, *starts = self.operands
        shape = shape_of(operand)
        _check_starts("dynamic_slice", starts, len(shape), "c2", "c3")
        if len(self.sizes) != len(shape):
            reject(
                f"dynamic_slice_c2: slice_sizes has {len(self.sizes)} entries, expected the operand's rank {len(shape)}"
            )
        if not all(size >= 0 and (dim == DYNAMIC or size <= dim) for size, dim in zip(self.sizes, shape, strict=True)):
            reject(
                f"dynamic_slice_c4: slice_sizes {self.sizes} do not lie within the operand's shape {shape_text(shape)}"
            )
        return (make_tensor(self.sizes, element_of(operand)),)

    def verify_(self) -> None:
        if element_of(self.operands[0]) != element_of(self.results[0]):
            reject(
                "dynamic_slice_c1: operand and result have different element types "
                f"{element_of(self.operands[0])} and {element_of(self.results[0])}"
            )
        verify_results_agree(self, "dynamic_slice_c5")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        # A slice as large as the operand can only start at 0.
        operand = self.operands[0]
        if operand.type == self.results[0].type and DYNAMIC not in shape_of(operand):
            return (operand,)
        return None

    def reference(self, *operands: Array) -> Array:
        operand, *starts = operands
        first = clamped_starts(starts, operand.shape, self.sizes)
        return operand[tuple(slice(s, s + size) for s, size in zip(first, self.sizes, strict=True))]


@irdl_op_definition
class DynamicUpdateSliceOp(KeywordOp):
    """
    The operand with a box at a computed position replaced by `update`; the start is clamped as in dynamic_slice.

    Shapes: operand and result (d0, ..), update no larger in any dimension, start_indices one scalar per dimension.
    Raises: VerifyException naming dynamic_update_slice_c1..c6.
    Spec:   https://openxla.org/stablehlo/spec#dynamic_update_slice
    """

    name = "hlo.dynamic_update_slice"
    ROLE: ClassVar[Role | None] = "update"
    LINEAR: ClassVar[bool] = True
    operand = operand_def(TensorType)
    update = operand_def(TensorType)
    start_indices = var_operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def infer_types(self) -> tuple[Attribute, ...]:
        operand, update, *starts = self.operands
        shape, update_shape = shape_of(operand), shape_of(update)
        if element_of(operand) != element_of(update):
            reject(
                "dynamic_update_slice_c2: operand and update have different element types "
                f"{element_of(operand)} and {element_of(update)}"
            )
        if len(shape) != len(update_shape):
            reject(f"dynamic_update_slice_c3: update has rank {len(update_shape)}, operand {len(shape)}")
        _check_starts("dynamic_update_slice", starts, len(shape), "c4", "c5")
        if not all(DYNAMIC in (u, d) or u <= d for u, d in zip(update_shape, shape, strict=True)):
            reject(
                f"dynamic_update_slice_c6: update of shape {shape_text(update_shape)} does not fit into the "
                f"operand's shape {shape_text(shape)}"
            )
        return (operand.type,)

    def verify_(self) -> None:
        verify_results_agree(self, "dynamic_update_slice_c1")

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        operand, update, *starts = self.operands
        shape, update_shape = shape_of(operand), shape_of(update)
        if DYNAMIC in shape or operand.type != self.results[0].type:
            return None
        if shape == update_shape:
            return (update,)
        source = update.owner
        # Fold a write-back of the slice that was read from the same tensor at the same start.
        if isinstance(source, DynamicSliceOp) and source.operands[0] is operand:
            ours, theirs = starts, source.operands[1:]
            if all(a is b or (_is_zero(a) and _is_zero(b)) for a, b in zip(ours, theirs, strict=True)):
                return (operand,)
        return None

    def reference(self, *operands: Array) -> Array:
        operand, update, *starts = operands
        first = clamped_starts(starts, operand.shape, update.shape)
        result = np.array(operand)
        result[tuple(slice(s, s + size) for s, size in zip(first, update.shape, strict=True))] = update
        return result


OPS = (DynamicSliceOp, DynamicUpdateSliceOp)
