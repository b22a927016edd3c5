"""
Rows of one tensor in another order, as of `jnp.roll` or beyond the border, become gathers at places that are constants.

A concatenation is a kernel of its own, which writes those rows for others to read. A loop fusion reads the rows of a
gather where they are, and its vectors stay whole: only along the last dimension elements move within rows, and the
concatenation remains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.editing import erase_op, replace_uses
from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import HloOp, is_elementwise
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.index_dimensions import GatherDimensionNumbersAttr, IndexDimensions
from ...hlo_dialect.ops.movement import ReshapeOp
from ...hlo_dialect.ops.slicing import ConcatenateOp, SliceOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import element_of, make_tensor, shape_of

LEAST_RUN = 16
"""Elements of a row that make loops over rows worth it: fewer are no whole vectors."""

MOST_ROWS = 1 << 14
"""Rows along the rotated dimension, up to which the constant of their places is small."""


def gather_rolled_rows(block: Block) -> None:
    """Rewrite the concatenations of rows in `block` that elementwise operations read, or slices of rows for these."""
    made: dict[bytes, SSAValue] = {}
    # The last of nested ones is first.
    for op in reversed(list(block.ops)):
        if not isinstance(op, ConcatenateOp) or (found := _rows_of(op)) is None:
            continue
        value, rows = found
        source, slices = _in_memory(value), _slices_of_rows(op)
        if source is None or slices is None:
            continue
        for part in slices:
            taken = rows[part.starts[op.dim] : part.limits[op.dim] : part.steps[op.dim]]
            _replace(part, _taken(part, op.dim, source, taken, made))
            erase_op(part)
        if op.results[0].first_use is not None:
            _replace(op, _taken(op, op.dim, source, rows, made))
        _erase_unread(op)


@dataclass(frozen=True)
class _Source:
    """A tensor in memory, of which `fixed` states the index in some dimensions, and the tensor that this is."""

    memory: SSAValue
    fixed: dict[int, int]
    value: SSAValue


def _rows_of(op: ConcatenateOp) -> tuple[SSAValue, np.ndarray] | None:
    """The tensor of which all parts have rows, and their numbers; None if there is none, or they are short or many."""
    shape, dim = shape_of(op.results[0]), op.dim
    if not is_static(shape) or 0 in shape or shape[dim] > MOST_ROWS or math.prod(shape[dim + 1 :]) < LEAST_RUN:
        return None
    parts = [_part(value, dim) for value in op.operands]
    (source, _), *others = parts
    if len(parts) < 2 or any(each is not source for each, _ in others):
        return None
    return source, np.concatenate([np.asarray(rows, np.int32) for _, rows in parts])


def _part(value: SSAValue, dim: int) -> tuple[SSAValue, range]:
    """The tensor of which a part of a concatenation has whole rows, and which."""
    op = value.owner
    if isinstance(op, SliceOp) and is_static(shape_of(op.operands[0])) and _has_whole_rows(op, dim):
        return op.operands[0], range(op.starts[dim], op.limits[dim], op.steps[dim])
    return value, range(shape_of(value)[dim])


def _has_whole_rows(op: SliceOp, dim: int) -> bool:
    sizes = zip(shape_of(op.operands[0]), shape_of(op.results[0]), strict=True)
    return all(size == taken for at, (size, taken) in enumerate(sizes) if at != dim)


def _slices_of_rows(op: ConcatenateOp) -> list[SliceOp] | None:
    """The slices of rows that are taken of a concatenation; None if anything but elements is computed of its rows."""
    users = list(dict.fromkeys(use.operation for use in op.results[0].uses))
    slices = [user for user in users if isinstance(user, SliceOp) and _has_whole_rows(user, op.dim)]
    readers = [user for user in users if user not in slices]
    readers += [use.operation for part in slices for use in part.results[0].uses]
    is_read = bool(readers) and all(
        user.parent is op.parent and (is_elementwise(user) or isinstance(user, GatherOp)) for user in readers
    )
    return slices if is_read else None


def _in_memory(value: SSAValue) -> _Source | None:
    """Where a gather finds the tensor; None if it would have to be moved first."""
    owner = value.owner
    if isinstance(owner, ReshapeOp) and isinstance(part := owner.operands[0].owner, SliceOp):
        whole, starts, limits = shape_of(part.operands[0]), part.starts, part.limits
        fixed = {at: starts[at] for at, size in enumerate(whole) if size > 1 and limits[at] - starts[at] == 1}
        kept = tuple(size for at, size in enumerate(whole) if at not in fixed)
        cut = [at for at, size in enumerate(whole) if at not in fixed and (starts[at], limits[at]) != (0, size)]
        if fixed and not cut and kept == shape_of(value):
            return _Source(part.operands[0], fixed, value)
        return None
    role = owner.ROLE if isinstance(owner, HloOp) else None
    return None if role in ("movement", "reshape", "broadcast", "iota") else _Source(value, {}, value)


def _taken(op: Operation, dim: int, source: _Source, rows: np.ndarray, made: dict[bytes, SSAValue]) -> SSAValue:
    """
    These rows of a tensor along dimension `dim`, before `op`; `made` has the constants of the block by their content.
    """
    shape, memory = shape_of(source.value), shape_of(source.memory)
    count = len(rows)
    first = int(rows[0]) if count else 0
    if np.array_equal(rows, np.arange(first, first + count)):
        x = Tensor(Builder.before(op), source.value)
        ranges = [(first, first + count) if at == dim else (0, size) for at, size in enumerate(shape)]
        return source.value if count == shape[dim] else x.slice(*zip(*ranges, strict=True)).value
    along = [at for at in range(len(memory)) if at not in source.fixed][dim]
    places = np.stack([*(np.full_like(rows, at) for at in source.fixed.values()), rows], axis=1)
    key = b"%d:" % places.shape[1] + places.tobytes()
    if key not in made:
        assert op.parent is not None and op.parent.first_op is not None
        made[key] = Builder.before(op.parent.first_op).constant(places).value
    indexed = (*source.fixed, along)
    window = tuple(at for at in range(len(shape)) if at != dim)
    numbers = GatherDimensionNumbersAttr.of(IndexDimensions(window, tuple(sorted(indexed)), (), (), indexed, 1))
    sizes = int_array([1 if at in indexed else size for at, size in enumerate(memory)])
    type_ = make_tensor((*shape[:dim], count, *shape[dim + 1 :]), element_of(source.value))
    stated = {"dimension_numbers": numbers, "slice_sizes": sizes}
    return Builder.before(op).op(GatherOp, [source.memory, made[key]], type_, **stated).value


def _replace(op: Operation, value: SSAValue) -> None:
    if isinstance(value.owner, GatherOp):
        value.name_hint = op.results[0].name_hint
    replace_uses(op.results[0], value)


def _erase_unread(op: Operation) -> None:
    """Erase an operation that nothing reads, and those that only it read."""
    operands = list(op.operands)
    erase_op(op)
    for owner in dict.fromkeys(value.owner for value in operands):
        if isinstance(owner, SliceOp | ReshapeOp) and owner.results[0].first_use is None:
            _erase_unread(owner)
