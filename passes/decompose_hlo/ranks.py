"""
Sorts of which a few elements are used, from anywhere in the order: these are found by counting.

How many keys of a row are less than a bound says on which side of it the element of a rank is. From the highest bits
on, each pass over the keys, which vectors compare, finds more bits of the elements' keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerType, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.ops.control_flow import IfOp, ReturnOp, WhileOp
from ...hlo_dialect.ops.creation import IotaOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp
from ...hlo_dialect.ops.elementwise_binary import OrOp
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.slicing import SliceOp
from ...hlo_dialect.ops.sort import SortOp
from ...hlo_dialect.types import (
    bit_width,
    element_of,
    is_float,
    is_integer,
    is_unsigned,
    make_tensor,
    shape_of,
)

LEAST, LONGEST = 8192, 1 << 30
"""The lengths of rows, from the first up to the second, in which counting is faster than sorting."""

MOST = 4
"""The most ranks: each takes a seventh to a fifth of a sort's time."""


@dataclass(frozen=True)
class Pick:
    """An operation that takes elements of a sort's result: one of each row, or some of the only row."""

    op: SliceOp | DynamicSliceOp | GatherOp
    count: int
    """The number of ranks."""
    places: bool
    """Whether it takes places of elements instead of the elements."""

    @property
    def indices(self) -> Sequence[SSAValue]:
        """The operands that name ranks, and rows."""
        return () if isinstance(self.op, SliceOp) else self.op.operands[1:]

    def ranks(self, builder: Builder, length: int) -> list[Tensor]:
        """The ranks, as numbers of type i32."""
        if isinstance(self.op, SliceOp):
            return [builder.splat(self.op.starts[-1], make_tensor((), i32))]
        given = Tensor(builder, self.indices[-1])
        last = min(length - 1, (1 << (bit_width(given.element) - (not is_unsigned(given.element)))) - 1)
        inside = given.minimum(last) if is_unsigned(given.element) else given.maximum(0).minimum(last)
        flat = inside.convert(i32).reshape((self.count,))
        return [flat.part(0, number, number + 1).reshape(()) for number in range(self.count)]


def can_pick(rows: SSAValue) -> bool:
    """Whether elements of rows of this type can be found by counting, faster than by sorting."""
    shape, element = shape_of(rows), element_of(rows)
    return (
        (is_float(element) or is_integer(element))
        and bit_width(element) in (32, 64)
        and 0 not in shape
        and LEAST <= shape[-1] < LONGEST
    )


def picks_of(op: SortOp, by: int) -> list[Pick] | None:
    """
    The operations that are all that uses the results of a sort by operand `by`; None if there are others, or too many.
    """
    shape = shape_of(op.inputs[by])
    found: list[Pick] = []
    for number, result in enumerate(op.outs):
        places = number != by
        if places and result.first_use is not None and not _counts(op.inputs[number], op.dim):
            return None
        for use in result.uses:
            count = _number_of_ranks(use.operation, result, shape)
            if count is None:
                return None
            found.append(Pick(use.operation, count, places))  # pyright: ignore[reportArgumentType]
    return found if found and sum(one.count for one in found) <= MOST else None


def _counts(value: SSAValue, dim: int) -> bool:
    """Whether a tensor has the places along a dimension, as integers that hold them."""
    owner = value.owner
    return isinstance(owner, IotaOp) and owner.iota_dimension.value.data == dim and element_of(value) in (i32, i64)


def _number_of_ranks(op: Operation, result: SSAValue, shape: tuple[int, ...]) -> int | None:
    """How many elements of each row an operation takes, if nothing but these."""
    match op:
        case SliceOp():
            whole = op.starts[:-1] == (0,) * (len(shape) - 1) and op.limits[:-1] == shape[:-1]
            return 1 if whole and op.limits[-1] == op.starts[-1] + 1 else None
        case DynamicSliceOp() if op.operands[0] is result:
            return 1 if op.sizes == (*shape[:-1], 1) else None
        case GatherOp() if len(shape) == 1 and op.operand is result and op.sizes == (1,):
            return math.prod(shape_of(op.results[0]))
        case _:
            return None


def pick(op: SortOp, by: int, picks: Sequence[Pick], descending: bool, canonical: bool) -> Sequence[Operation]:
    """
    Before: a sort of %x, or of %x and places, by %x; slices and gathers of single elements of its results
    After:  these elements, found by loops over the bits of %x; nothing if their ranks depend on the sort

    `canonical` says that zeros are equal, and all NaN, the last, as `Tensor.precedes` orders floats.
    """
    needed = _made_after(op, [index for one in picks for index in one.indices])
    if needed is None:
        return ()
    for one in needed:
        one.detach()
        Rewriter.insert_op(one, InsertPoint.before(op))
    builder = Builder.before(op)
    rows = _Rows(Tensor(builder, op.inputs[by]), descending, canonical)
    ranks = [rank for one in picks for rank in one.ranks(builder, rows.length)]
    found = rows.elements(ranks, [one.places for one in picks for _ in range(one.count)])
    for one in picks:
        mine, found = found[: one.count], found[one.count :]
        after = Builder(InsertPoint.before(one.op), one.op.location, builder.ops)
        result = one.op.results[0]
        converted = [Tensor(after, value.value).convert(element_of(result)) for value in mine]
        flat = [value.reshape((1,)) for value in converted] if len(converted) > 1 else converted
        after.replace(one.op, (concatenate(flat, 0) if len(flat) > 1 else flat[0]).reshape(shape_of(result)))
    Rewriter.erase_op(op)
    return builder.ops


def _made_after(op: Operation, values: Sequence[SSAValue]) -> list[Operation] | None:
    """The operations after `op` that values are computed by, in order; None if it is one, or one may have effects."""
    needed: set[Operation] = set()
    waiting = list(values)
    while waiting:
        owner = waiting.pop().owner
        if not isinstance(owner, Operation) or owner in needed or owner.parent is not op.parent:
            continue
        if owner is op or (not is_side_effect_free(owner) and op.is_before_in_block(owner)):
            return None
        if op.is_before_in_block(owner):
            needed.add(owner)
            waiting += [value for inner in owner.walk() for value in inner.operands]
    block = op.parent
    return [] if block is None else [one for one in block.ops if one in needed]


_Wanted: TypeAlias = tuple[Tensor, Tensor]
"""The key of an element of each row, and its rank."""


@dataclass(frozen=True)
class _Rows:
    """Rows along the last dimension, and their order. Numbers of each row are tensors without that dimension."""

    x: Tensor
    descending: bool
    canonical: bool

    @property
    def length(self) -> int:
        return self.x.shape[-1]

    @property
    def _rows(self) -> tuple[int, ...]:
        return self.x.shape[:-1]

    @property
    def _integer(self) -> IntegerType:
        """The type of keys: signed, because vectors compare only such."""
        return IntegerType(bit_width(self.x.element))

    def _key(self, x: Tensor) -> Tensor:
        """Integers in the order of the elements."""
        lowest = -1 << (self._integer.width.data - 1)
        if is_float(x.element):
            bits = (x.in_total_order() if self.canonical else x).bits_as(self._integer)
            key = (bits < 0).select(bits ^ ~lowest, bits)
        else:
            bits = x if x.element == self._integer else x.bits_as(self._integer)
            key = bits ^ lowest if is_unsigned(x.element) else bits
        return ~key if self.descending else key

    def _element(self, key: Tensor) -> Tensor:
        """The element of a key: the inverse of `_key`."""
        key, lowest = ~key if self.descending else key, -1 << (self._integer.width.data - 1)
        if is_float(self.x.element):
            key = (key < 0).select(key ^ ~lowest, key)
        elif is_unsigned(self.x.element):
            key = key ^ lowest
        return key.bits_as(self.x.element) if key.element != self.x.element else key

    def elements(self, ranks: Sequence[Tensor], places: Sequence[bool]) -> list[Tensor]:
        """The elements of each row of some ranks, or their places."""
        builder, width = self.x.builder, self._integer.width.data
        ranks = [one.broadcast(self._rows) for one in ranks]
        keys = self._key(self.x)
        start = builder.splat(-1 << (width - 1), make_tensor(self._rows, self._integer))

        def before(bound: Tensor, _: int) -> Tensor:
            return Tensor(bound.builder, keys.value) < bound.broadcast(keys.shape, list(range(len(self._rows))))

        wanted = list(zip(_selected(before, ranks, start, width), ranks, strict=True))
        chosen = iter(self._places(keys, [pair for pair, is_place in zip(wanted, places, strict=True) if is_place]))
        values = iter(self._values(keys, [pair for pair, is_place in zip(wanted, places, strict=True) if not is_place]))
        return [next(chosen if is_place else values) for is_place in places]

    def _places(self, keys: Tensor, wanted: Sequence[_Wanted]) -> list[Tensor]:
        """The places of elements; equal ones are in the order of the row."""
        if not wanted:
            return []
        builder, dims = keys.builder, list(range(len(self._rows)))
        width, integer = (self.length - 1).bit_length(), make_tensor(self._rows, self._integer)
        start = builder.splat(0, integer)
        wide = [key.broadcast(self.x.shape, dims) for key, _ in wanted]
        less = [_count(keys < one, self._integer).convert(i32) for one in wide]

        def before(bound: Tensor, number: int) -> Tensor:
            inside = bound.builder
            places = inside.iota(keys.type, len(dims))
            equal = Tensor(inside, keys.value).equals(Tensor(inside, wide[number].value))
            return equal & (places < bound.broadcast(keys.shape, dims))

        ranks = [rank - one for (_, rank), one in zip(wanted, less, strict=True)]
        return _selected(before, ranks, start, width + width % 2)

    def _values(self, keys: Tensor, wanted: Sequence[_Wanted]) -> list[Tensor]:
        """
        The elements. Zeros, and NaN, of different bits may have one key: if one is wanted, all are found by places.
        """
        found, builder = [self._element(key) for key, _ in wanted], self.x.builder
        if not self.canonical or not found:
            return found
        masks = [one.is_nan() | one.equals(0.0) for one in found]
        shared = reduce(lambda one, other: one | other, masks)
        if self._rows:
            shared = shared.reduce(OrOp, builder.splat(0, make_tensor((), i1)), list(range(len(self._rows))))
        branches = [Block(), Block()]
        inside, otherwise = (Builder(InsertPoint.at_end(one), builder.location) for one in branches)
        here = _Rows(Tensor(inside, self.x.value), self.descending, self.canonical)
        pairs = [(Tensor(inside, key.value), Tensor(inside, rank.value)) for key, rank in wanted]
        exact = [here._at(place) for place in here._places(Tensor(inside, keys.value), pairs)]
        inside.insert(ReturnOp.create(operands=[one.value for one in exact]))
        otherwise.insert(ReturnOp.create(operands=[one.value for one in found]))
        types, regions = [one.type for one in found], [Region(one) for one in branches]
        chosen = IfOp.create(operands=[shared.value], result_types=types, regions=regions)
        builder.insert(chosen)
        return builder.tensors(chosen.results)

    def _at(self, place: Tensor) -> Tensor:
        """The element of each row at a place: the sum of its bits and zeros."""
        dims = list(range(len(self._rows)))
        numbers = place.builder.iota(make_tensor(self.x.shape, place.element), len(dims))
        bits = numbers.equals(place.broadcast(self.x.shape, dims)).select(self.x.bits_as(self._integer), 0)
        return bits.sum([len(dims)]).bits_as(self.x.element)


BITS = 2
"""Bits that a pass finds: keys are read half as often as for one, and compared 1.5 times as often."""

Before: TypeAlias = Callable[[Tensor, int], Tensor]
"""The mask of the elements before a bound for each row, among those that the rank of a number counts."""


def _selected(before: Before, ranks: Sequence[Tensor], start: Tensor, bits: int) -> list[Tensor]:
    """
    For each row and each of some ranks, the greatest bound that at most so many elements are before.

    They are at least `start`, by less than 2^bits.
    """
    builder, counter = start.builder, make_tensor((), start.element)
    types = [counter, *[start.type] * len(ranks)]
    blocks = [Block(arg_types=types) for _ in range(2)]
    condition, body = (Builder(InsertPoint.at_end(one), builder.location) for one in blocks)
    condition.insert(ReturnOp.create(operands=[(Tensor(condition, blocks[0].args[0]) < bits).value]))
    done, *bounds = body.tensors(blocks[1].args)
    unit = (body.splat(1, counter) << (bits - BITS - done)).broadcast(start.shape)
    for number, rank in enumerate(ranks):
        limit = Tensor(body, rank.value).convert(start.element)
        trials = [bounds[number] + unit * steps for steps in range(1, 1 << BITS)]
        passed = [(_count(before(trial, number), start.element) <= limit).convert(start.element) for trial in trials]
        bounds[number] = bounds[number] + unit * reduce(add, passed)
    body.insert(ReturnOp.create(operands=[(done + BITS).value, *(one.value for one in bounds)]))
    operands = [builder.splat(0, counter).value, *[start.value] * len(ranks)]
    loop = WhileOp.create(operands=operands, result_types=types, regions=[Region(one) for one in blocks])
    builder.insert(loop)
    return builder.tensors(loop.results[1:])


def _count(mask: Tensor, element: Attribute) -> Tensor:
    """The number of true elements of each row, as wide as keys, so that masks are just added."""
    return mask.convert(element).sum([len(mask.shape) - 1])
