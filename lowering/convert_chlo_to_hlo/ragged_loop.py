"""
chlo.ragged_dot as loops over groups and, within each, over blocks of rows: only a group's own factor is multiplied.

The masks of ragged_dot.py multiply each row by every group; here that is done once, and again for the rows of the last
block of each group that belong to the next one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Block, Region
from xdsl.rewriter import InsertPoint

from ...hlo_dialect.chlo.ragged_dot import RaggedDotOp, RaggedMode
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.ops.control_flow import ReturnOp, WhileOp
from ...hlo_dialect.types import element_of, is_float, make_tensor, shape_of
from ..device.cpu import CPU
from .rules import computing_type

LEAST_BLOCK, MOST_BLOCK = 8, 128
"""Rows of a block: few fill no micro-kernel, many belong to other groups."""

STEP_NS = 4096
"""The time of a block beside its product: its rows are copied, and take their place in the result."""

Multiply: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def rows_of_block(op: RaggedDotOp) -> int | None:
    """The rows of a block; None if masks cost less, or if the sizes of the groups differ by batch element."""
    lhs, rhs, sizes = map(shape_of, op.operands)
    if len(sizes) != 1 or op.mode is RaggedMode.BATCH:
        return None
    groups, rows = sizes[0], lhs[op.ragged]
    if not groups or not math.prod((*lhs, *rhs)):
        return None
    block = min(MOST_BLOCK, max(LEAST_BLOCK, 1 << (rows // groups).bit_length() - 1), rows)
    each = _products(op) // rows
    saved = (groups * rows - (rows + groups * block)) * each // CPU.products_per_ns
    return block if saved > (rows // block + groups) * STEP_NS else None


def accumulator(op: RaggedDotOp) -> Attribute:
    """The element type that sums have until they are complete."""
    element = element_of(op.results[0])
    return computing_type(element) if is_float(element) else element


def _products(op: RaggedDotOp) -> int:
    """The multiply-adds if each row is multiplied once."""
    plain, rhs = op.dot_of_operands(), shape_of(op.operands[1])
    found = math.prod(shape_of(op.operands[0])) * math.prod(rhs[dim] for dim in plain.rhs_free)
    return found // rhs[op.group] if op.mode is RaggedMode.NON_CONTRACTING else found


def in_loops(op: RaggedDotOp, lhs: Tensor, rhs: Tensor, sizes: Tensor, block: int, multiply: Multiply) -> Tensor:
    """The product, with blocks of so many rows. `multiply` multiplies slices by the operation's dimension numbers."""
    builder, (groups,), rows = lhs.builder, sizes.shape, lhs.shape[op.ragged]
    sizes = sizes.convert(i64)
    square = sizes.broadcast((groups, groups), (0,))
    ends = (builder.iota(square.type, 0) <= builder.iota(square.type, 1)).select(square, 0).sum([0])
    starts, ends = ((one.maximum(0)).minimum(rows) for one in (ends - sizes, ends))
    empty = builder.splat(0, make_tensor(shape_of(op.results[0]), accumulator(op)))

    def of_group(number: Tensor, found: Tensor) -> Tensor:
        start, end = (_within(number, one).dynamic_slice([number], [1]).reshape(()) for one in (starts, ends))
        one = _Group(op, number, end, block, multiply, _within(number, lhs), _within(number, rhs))
        return one.rows(start, found) if op.mode is RaggedMode.NON_CONTRACTING else one.sums(start, found)

    first, last = builder.splat(0, make_tensor((), i64)), builder.splat(groups, make_tensor((), i64))
    return _loop(first, last, 1, empty, of_group).convert(element_of(op.results[0]))


def _within(inner: Tensor, outer: Tensor) -> Tensor:
    """A value to compute with where another one is."""
    return Tensor(inner.builder, outer.value)


def _loop(first: Tensor, last: Tensor, step: int, found: Tensor, body: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """A value to which `body` is applied again and again, for numbers from first up to last."""
    builder, types = found.builder, [first.type, found.type]
    blocks = [Block(arg_types=types) for _ in range(2)]
    (condition, at), (inside, number, carried) = (
        (inner := Builder(InsertPoint.at_end(one), builder.location), *inner.tensors(one.args[: 1 + place]))
        for place, one in enumerate(blocks)
    )
    condition.insert(ReturnOp.create(operands=[(at < _within(at, last)).value]))
    updated = body(number, carried)
    inside.insert(ReturnOp.create(operands=[(number + step).value, updated.value]))
    regions = [Region(one) for one in blocks]
    loop = WhileOp.create(operands=[first.value, found.value], result_types=types, regions=regions)
    builder.insert(loop)
    return Tensor(builder, loop.results[1])


class _Group(NamedTuple):
    """One group, where its product is computed."""

    op: RaggedDotOp
    number: Tensor
    end: Tensor
    """The row after its last one."""
    block: int
    multiply: Multiply
    lhs: Tensor
    rhs: Tensor

    def rows(self, start: Tensor, found: Tensor) -> Tensor:
        """The result with the group's rows replaced."""
        op, place = self.op, self.op.group_place
        plain = op.dot_of_operands()
        ragged = (*plain.dot_dimension_numbers.lhs_batching, *plain.lhs_free).index(op.ragged)
        factor = _slice(self.rhs, op.group, self.number, 1)

        def step(at: Tensor, found: Tensor) -> Tensor:
            begin, mine = self._block(at)
            product = self.multiply(_slice(_within(at, self.lhs), op.ragged, begin, self.block), _within(at, factor))
            product = product.reshape((*product.shape[:place], *product.shape[place + 1 :]))
            old = _slice(found, ragged, begin, self.block)
            kept = mine.broadcast(product.shape, (ragged,)).select(product, old)
            return found.dynamic_update_slice(kept, _starts(found, ragged, begin))

        return _loop(start, self.end, self.block, found, step)

    def sums(self, start: Tensor, found: Tensor) -> Tensor:
        """The result with the group's sum set."""
        op, numbers = self.op, self.op.ragged_dot_dimension_numbers.dot
        other = numbers.rhs_contracting[numbers.lhs_contracting.index(op.ragged)]

        def step(at: Tensor, total: Tensor) -> Tensor:
            begin, mine = self._block(at)
            masked: list[Tensor] = []
            for x, dim in ((self.lhs, op.ragged), (self.rhs, other)):
                part = _slice(_within(at, x), dim, begin, self.block)
                # Both: zero times infinity is NaN.
                masked.append(mine.broadcast(part.shape, (dim,)).select(part, 0))
            return total + self.multiply(masked[0], masked[1])

        empty = found.builder.splat(0, make_tensor(found.shape[1:], found.element))
        total = _loop(start, self.end, self.block, empty, step)
        return found.dynamic_update_slice(total.reshape((1, *total.shape)), _starts(found, 0, self.number))

    def _block(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """
        The first row of the slice for the block at a row, and which rows of it are the block's: a slice ends with the
        last row of all, at the latest.
        """
        begin = at.minimum(self.lhs.shape[self.op.ragged] - self.block)
        shape = (self.block,)
        row = at.builder.iota(make_tensor(shape, i64), 0) + begin.broadcast(shape)
        return begin, (row >= at.broadcast(shape)) & (row < _within(at, self.end).broadcast(shape))


def _starts(x: Tensor, dim: int, start: Tensor) -> Sequence[Tensor]:
    """The starts of a slice along one dimension."""
    zero = start.builder.splat(0, start.type)
    return [start if each == dim else zero for each in range(len(x.shape))]


def _slice(x: Tensor, dim: int, start: Tensor, size: int) -> Tensor:
    sizes = [size if each == dim else whole for each, whole in enumerate(x.shape)]
    return x.dynamic_slice(_starts(x, dim, start), sizes)
