"""
Rotations of the rows of a tensor, as `jnp.roll` makes them, become gathers of rows at places that are constants.

A concatenation is a kernel of its own, which writes the rotated tensor for others to read. A loop fusion reads the rows
of a gather where they are, and its vectors stay whole: only a rotation along the last dimensions moves elements within
rows, and remains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.support.editing import erase_op, replace_uses
from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.expressions.tensor import Builder
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
    """Rewrite the rotations of `block` that elementwise operations alone read."""
    made: dict[bytes, SSAValue] = {}
    # Of nested ones, the last is first.
    for op in reversed(list(block.ops)):
        if isinstance(op, ConcatenateOp) and _is_read_by_elements(op) and (source := _rotated(op)) is not None:
            _replace(op, source, made)


@dataclass(frozen=True)
class _Source:
    """A tensor in memory, of which `fixed` states the index in some dimensions, and the tensor that this is."""

    memory: SSAValue
    fixed: dict[int, int]
    value: SSAValue


def _rotated(op: ConcatenateOp) -> _Source | None:
    """The tensor whose rows a concatenation rotates; None if it does not, or if they are short or too many."""
    shape, dim = shape_of(op.results[0]), op.dim
    if len(op.operands) != 2 or not is_static(shape) or not 1 < shape[dim] <= MOST_ROWS:
        return None
    if math.prod(shape[dim + 1 :]) < LEAST_RUN:
        return None
    last, first = (value.owner for value in op.operands)
    if not isinstance(last, SliceOp) or not isinstance(first, SliceOp):
        return None
    source = last.operands[0]
    if first.operands[0] is not source or shape_of(source) != shape:
        return None
    cut = last.starts[dim]
    begins = tuple(cut if at == dim else 0 for at in range(len(shape)))
    ends = tuple(cut if at == dim else size for at, size in enumerate(shape))
    whole = last.limits == shape and last.starts == begins and first.limits == ends and not any(first.starts)
    return _in_memory(source) if whole and all(step == 1 for step in (*last.steps, *first.steps)) else None


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


def _is_read_by_elements(op: ConcatenateOp) -> bool:
    users = [use.operation for use in op.results[0].uses]
    return bool(users) and all(
        user.parent is op.parent and (is_elementwise(user) or isinstance(user, GatherOp)) for user in users
    )


def _replace(op: ConcatenateOp, source: _Source, made: dict[bytes, SSAValue]) -> None:
    """Replace a rotation; `made` has the constants of the block by their content."""
    (last, _), shape, dim = op.operands, shape_of(source.value), op.dim
    rotated = [at for at in range(len(shape_of(source.memory))) if at not in source.fixed][dim]
    rows = np.roll(np.arange(shape[dim], dtype=np.int32), shape_of(last)[dim])
    places = np.stack([*(np.full_like(rows, at) for at in source.fixed.values()), rows], axis=1)
    key = b"%d:" % places.shape[1] + places.tobytes()
    if key not in made:
        assert op.parent is not None and op.parent.first_op is not None
        made[key] = Builder.before(op.parent.first_op).constant(places).value
    indexed = (*source.fixed, rotated)
    numbers = IndexDimensions(
        tuple(at for at in range(len(shape)) if at != dim), tuple(sorted(indexed)), (), (), indexed, 1
    )
    sizes = [1 if at in indexed else size for at, size in enumerate(shape_of(source.memory))]
    stated = {"dimension_numbers": GatherDimensionNumbersAttr.of(numbers), "slice_sizes": int_array(sizes)}
    type_ = make_tensor(shape, element_of(source.value))
    result = Builder.before(op).op(GatherOp, [source.memory, made[key]], type_, **stated).value
    result.name_hint = op.results[0].name_hint
    replace_uses(op.results[0], result)
    _erase_unread(op)


def _erase_unread(op: Operation) -> None:
    """Erase an operation that nothing reads, and those that only it read."""
    operands = list(op.operands)
    erase_op(op)
    for owner in dict.fromkeys(value.owner for value in operands):
        if isinstance(owner, SliceOp | ReshapeOp) and owner.results[0].first_use is None:
            _erase_unread(owner)
