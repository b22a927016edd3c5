"""
The access widths of a nest without reduction: the operands that are accessed by whole vectors of neighbouring elements.

A vector is up to 16 bytes, the widest access of one thread. Buffers are aligned to that, so that only sizes, strides
and offsets matter. If the address depends on run-time values, only their constant factors are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import Operation, SSAValue

from ....dialects.support.buffers import row_major
from ....dialects.support.llvm_layout import byte_width
from ...loop_nests.kernel_builder import known_number
from ...loop_nests.loop_builder import buffer_of
from ...loop_nests.nest import Access, Nest, address_of

VECTOR_BYTES = 16
"""The widest access of one thread in bytes, and the alignment of every buffer."""


class Kind(Enum):
    """The movement of an operand along the innermost loop."""

    VECTOR = "vector"
    """By one element, aligned."""
    REVERSED = "reversed"
    """By one element, backwards, aligned."""
    UNIFORM = "uniform"
    """Not at all."""
    SCALAR = "scalar"
    """Any other way: element by element."""


def multiple_of(value: int | SSAValue, most: int = VECTOR_BYTES) -> int:
    """The largest power of two up to `most` that is known to divide a number."""
    if not isinstance(value, int):
        number = known_number(value)
        return _multiple_of_value(value, most) if number is None else multiple_of(number, most)
    return most if value == 0 else min(most, value & -value)


def _multiple_of_value(value: SSAValue, most: int) -> int:
    owner = value.owner
    match owner:
        case arith.IndexCastOp() | arith.ExtSIOp() | arith.ExtUIOp():
            return multiple_of(owner.operands[0], most)
        case arith.MuliOp():
            return min(most, multiple_of(owner.lhs, most) * multiple_of(owner.rhs, most))
        case arith.AddiOp() | arith.SubiOp():
            return min(multiple_of(owner.lhs, most), multiple_of(owner.rhs, most))
        case arith.MinSIOp() | arith.MaxSIOp():
            # max(x, 0) and min(.., 0) around it: the start of a slice as long as its operand.
            if _is_clamped_to_zero(owner):
                return most
            return min(multiple_of(owner.lhs, most), multiple_of(owner.rhs, most))
        case _:
            return 1


def _constant(value: SSAValue) -> int | None:
    """The constant that a value equals, seen through clamping to it."""
    found, owner = known_number(value), value.owner
    if found is not None:
        return found
    if isinstance(owner, arith.IndexCastOp):
        return _constant(owner.input)
    return 0 if isinstance(owner, (arith.MinSIOp, arith.MaxSIOp)) and _is_clamped_to_zero(owner) else None


def _is_clamped_to_zero(op: arith.MinSIOp | arith.MaxSIOp) -> bool:
    other = arith.MaxSIOp if isinstance(op, arith.MinSIOp) else arith.MinSIOp
    zeros = [known_number(x) == 0 for x in op.operands]
    if not any(zeros):
        return False
    inner = op.operands[1 - zeros.index(True)].owner
    return isinstance(inner, other) and any(known_number(x) == 0 for x in inner.operands)


def element_bytes(access: Access) -> int:
    return byte_width(buffer_of(access.root).element_type)


def _is_aligned(access: Access, loops: Sequence[int], width: int, start: int = 0) -> bool:
    """Whether `start` elements after the access's beginning is a multiple of `width`, for all indices of `loops`."""
    if any(access.strides[l] % width for l in loops) or (access.offset + start) % width:
        return False
    return all(multiple_of(value) * multiple_of(factor) % width == 0 for value, factor in access.dynamic)


def kind_of(nest: Nest, access: Access, width: int) -> Kind:
    """The movement of an operand along the last loop, which is cut into vectors of `width`."""
    *outer, inner = range(len(nest.sizes))
    if isinstance(buffer_of(access.root).element_type, IndexType):
        return Kind.SCALAR
    match access.strides[inner]:
        case 0:
            return Kind.UNIFORM
        case 1:
            return Kind.VECTOR if _is_aligned(access, outer, width) else Kind.SCALAR
        case -1:
            # The vector that begins the loop ends with its first element in memory.
            return Kind.REVERSED if _is_aligned(access, outer, width, 1 - width) else Kind.SCALAR
        case _:
            return Kind.SCALAR


def is_flat(nest: Nest, access: Access) -> bool:
    """Whether the loops together visit the operand contiguously."""
    return access.strides == row_major(nest.sizes)


@dataclass(frozen=True)
class VectorPlan:
    """A nest whose last loop is cut into vectors."""

    nest: Nest
    width: int
    """Elements of a vector; 1: no vectors."""
    crosses: bool
    """Whether vectors continue from one row of the last loop to the next: all loops form one range of elements."""
    inputs: tuple[Kind | None, ...]
    """None: a scalar, or an input that the body does not read."""
    outputs: tuple[Kind, ...]

    @property
    def inner(self) -> int:
        return len(self.nest.sizes) - 1

    @property
    def stores_vectors(self) -> bool:
        """Whether every output can be stored vector by vector."""
        whole = (Kind.VECTOR,) if self.crosses else (Kind.VECTOR, Kind.REVERSED)
        return self.width == 1 or all(kind in whole for kind in self.outputs)

    def bytes_in_flight(self) -> int:
        """Bytes that the loads of one vector per operand request from memory; rows and columns come from caches."""
        return self.width * sum(element_bytes(x) for x in self.nest.inputs if isinstance(x, Access) and all(x.strides))


def vectors_of(nest: Nest, width: int, crosses: bool) -> VectorPlan:
    """The nest with its last loop cut into vectors of `width`."""

    def kind(access: Access) -> Kind:
        if not crosses:
            return kind_of(nest, access, width)
        flat = is_flat(nest, access) and _is_aligned(access, (), width)
        return Kind.VECTOR if flat and kind_of(nest, access, 1) is Kind.VECTOR else Kind.SCALAR

    inputs = tuple(kind(x) if isinstance(x, Access) else None for x in nest.inputs)
    return VectorPlan(nest, width, crosses, inputs, tuple(kind(x) for x in nest.outputs))


def widest(nest: Nest) -> int:
    """The vector width at which the widest element moves VECTOR_BYTES at once."""
    inner = len(nest.sizes) - 1
    moving = [x for x in nest.accesses if x.strides[inner]]
    return max(1, VECTOR_BYTES // max((element_bytes(x) for x in moving), default=VECTOR_BYTES))


@dataclass(frozen=True)
class BodyParts:
    """A body's operations by frequency: once per vector, or once per element."""

    uniform: tuple[Operation, ...]
    vectors: tuple[memref.LoadOp, ...]
    """Loads of the body that read neighbouring elements in neighbouring iterations, aligned."""
    varying: tuple[Operation, ...]


def split_body(plan: VectorPlan) -> BodyParts:
    """Find the body's operations that do not depend on the last loop, and loads contiguous along it."""
    nest = plan.nest
    if nest.body is None:
        return BodyParts((), (), ())
    kinds = (*plan.inputs, *plan.outputs)
    varying: set[SSAValue] = {
        x for x, kind in zip(nest.body.args, kinds, strict=True) if kind not in (None, Kind.UNIFORM)
    }
    if plan.crosses:
        varying |= set(nest.body.args)
    written = {access.root for access in nest.outputs}
    once: list[Operation] = []
    loads: list[memref.LoadOp] = []
    each: list[Operation] = []
    for op in list(nest.body.ops)[:-1]:
        if isinstance(op, memref.LoadOp) and plan.width > 1 and _goes_along(plan, op, varying, written):
            loads.append(op)
            varying.add(op.res)
        elif _is_uniform(plan, op, varying, written):
            once.append(op)
        else:
            each.append(op)
            varying.update(op.results)
    return BodyParts(tuple(once), tuple(loads), tuple(each))


def _is_uniform(plan: VectorPlan, op: Operation, varying: set[SSAValue], written: set[SSAValue]) -> bool:
    if op.regions or any(x in varying for x in op.operands):
        return False
    if isinstance(op, IndexOp):
        return not plan.crosses and plan.nest.dims[int(op.dim.value.data)] != plan.inner
    return not (isinstance(op, memref.LoadOp) and address_of(op.memref).root in written)


def _goes_along(plan: VectorPlan, op: memref.LoadOp, varying: set[SSAValue], written: set[SSAValue]) -> bool:
    """Whether the load's last index is the last loop's index plus a constant, and no other index varies."""
    if plan.crosses or not op.indices or isinstance(buffer_of(op.memref).element_type, IndexType):
        return False
    *outer, last = op.indices
    shift = _shift_of(plan, last)
    address = address_of(op.memref)
    if shift is None or any(x in varying for x in outer) or address.strides[-1] != 1 or address.root in written:
        return False
    terms = [*address.dynamic, *zip(outer, address.strides[:-1], strict=True)]
    aligned = all(multiple_of(value) * multiple_of(stride) % plan.width == 0 for value, stride in terms)
    return aligned and (address.offset + shift) % plan.width == 0


def shift_of_last(plan: VectorPlan, op: memref.LoadOp) -> int:
    """The difference between the last index of a load in `BodyParts.vectors` and the last loop's index."""
    shift = _shift_of(plan, op.indices[-1])
    assert shift is not None
    return shift


def _shift_of(plan: VectorPlan, value: SSAValue) -> int | None:
    """The constant difference between an index and the last loop's index."""
    owner = value.owner
    if isinstance(owner, IndexOp):
        return 0 if plan.nest.dims[int(owner.dim.value.data)] == plan.inner else None
    if isinstance(owner, arith.AddiOp):
        for one, other in ((owner.lhs, owner.rhs), (owner.rhs, owner.lhs)):
            constant = _constant(other)
            if isinstance(one.owner, IndexOp) and constant is not None:
                shift = _shift_of(plan, one)
                return None if shift is None else shift + constant
    return None
