"""A loop over rows as a loop over tiles of rows, each with the loop inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects.support.attributes import integer_attr
from ...dialects.support.editing import erase_op
from ...dialects.support.kernel import INDEPENDENT, UNREAD
from ...dialects.support.rewriting import like
from ...hlo_dialect.attributes import int_array, ints
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.control_flow import ReturnOp, WhileOp
from ...hlo_dialect.ops.creation import ConstantOp, IotaOp, is_splat_constant
from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ...hlo_dialect.ops.gather import GatherOp
from ...hlo_dialect.ops.slicing import SliceOp
from ...hlo_dialect.types import HloTensor, bit_width, constant_array, element_of, make_tensor, shape_of, tensor_type
from .rows import Rows, is_repeated


@dataclass(frozen=True)
class Tiles:
    """Tiles of `size` rows; the last one begins earlier if the rows are no multiple."""

    rows: Rows
    size: int

    @property
    def count(self) -> int:
        return -(-self.rows.count // self.size)

    @property
    def overlap(self) -> bool:
        """Whether the last two tiles compute some rows twice."""
        return self.rows.count % self.size != 0


def stacks_of(rows: Rows) -> frozenset[int]:
    """The carried arrays that the steps only read and write slices of: tiles do so in place."""
    return frozenset(position for position in rows.carried if chain_of(rows, position) is not None)


def chain_of(rows: Rows, position: int) -> Sequence[SSAValue] | None:
    """The values that a carried array is in an iteration, if slices of it are all that is read and written."""
    loop = rows.loop
    argument, value = loop.body.args[position], loop.returned[position]
    found = [value]
    while value is not argument:
        owner = value.owner
        if not isinstance(owner, DynamicUpdateSliceOp):
            return None
        value = owner.operands[0]
        found.append(value)
    for value in found:
        for use in value.uses:
            user = use.operation
            in_place = isinstance(user, (DynamicSliceOp, DynamicUpdateSliceOp)) and use.index == 0
            returned = isinstance(user, ReturnOp) and use.index == position and user.parent is loop.body
            if not (in_place or returned) or (isinstance(user, DynamicUpdateSliceOp) and user.results[0] not in found):
                return None
    return found


def is_updated(rows: Rows, position: int) -> bool:
    """Whether steps read a stack that they write too."""
    chain = chain_of(rows, position) or ()
    read = any(isinstance(use.operation, DynamicSliceOp) for value in chain for use in value.uses)
    return read and len(chain) > 1


def tile_loop(tiles: Tiles) -> WhileOp:
    """Replace the loop by one over tiles; returns the loop over the rows of one tile."""
    return _Tiling(tiles).run()


class _Tiling:
    """One loop that becomes a loop over tiles."""

    def __init__(self, tiles: Tiles):
        self.tiles = tiles
        self.rows = tiles.rows
        self.loop = tiles.rows.loop
        self.old = self.loop.op
        self.stacks = stacks_of(tiles.rows)
        self.whole = {value for each in self.stacks for value in chain_of(tiles.rows, each) or ()}
        """The values of stacks in an iteration."""
        carried = self.rows.carried
        self.results = [i for i in sorted(carried) if self.old.results[i].first_use or i in self.stacks]
        """The positions of the values that tiles write: results and stacks."""
        self.before = Builder.before(self.old)
        """Before the loop over tiles."""
        zero = self.before.constant(np.zeros((), np.int32))
        self.inits = [zero.value, *map(self._first, self.results)]
        self.outer = Block(arg_types=[value.type for value in self.inits])
        self.around = Builder(InsertPoint.at_end(self.outer), self.old.location)
        """Before the loop of a tile."""
        self._starts: dict[Attribute, Tensor] = {}
        self._parts: dict[tuple[SSAValue, int], SSAValue] = {}
        self.mapping: dict[SSAValue, SSAValue] = {}

    def _first(self, position: int) -> SSAValue:
        """How a result begins that tiles write."""
        if position in self.stacks and not self.loop.writes_all(position):
            return self.old.operands[position]
        unread = self.before.splat(0, tensor_type(self.old.operands[position]))
        assert isinstance(unread.value.owner, Operation)
        unread.value.owner.attributes[UNREAD] = UnitAttr()
        return unread.value

    def run(self) -> WhileOp:
        inner = self._loop()
        b, carried = self.around, self.rows.carried
        next_: list[SSAValue] = []
        for argument, position in zip(self.outer.args[1:], self.results, strict=True):
            value = inner.results[position]
            if position not in self.stacks:
                whole, part = b.tensors([argument, value])
                value = whole.dynamic_update_slice(part, self._at(carried[position], len(whole.shape))).value
            next_.append(value)
        tile = b.tensors(self.outer.args)[0]
        b.insert(ReturnOp.create(operands=[(tile + 1).value, *next_], location=self.old.location))
        outer = WhileOp.create(
            operands=self.inits,
            result_types=[value.type for value in self.inits],
            regions=[Region(self._condition()), Region(self.outer)],
            attributes={INDEPENDENT: integer_attr(self.tiles.count - self.tiles.overlap)},
            location=self.old.location,
        )
        position = {each: number for number, each in enumerate(self.results, 1)}
        # A result without uses may be replaced by any value.
        values = [outer.results[position[i]] if i in position else old for i, old in enumerate(self.old.operands)]
        replace_op(self.old, (outer,), values)
        return inner

    def _condition(self) -> Block:
        block = Block(arg_types=[value.type for value in self.inits])
        b = Builder(InsertPoint.at_end(block), self.old.location)
        going = b.tensors(block.args)[0].compare("LT", self.tiles.count, "SIGNED")
        b.insert(ReturnOp.create(operands=[going.value], location=self.old.location))
        return block

    def _loop(self) -> WhileOp:
        """The loop of one tile."""
        place = {each: number for number, each in enumerate(self.results, 1)}
        operands: list[SSAValue] = []
        for position, value in enumerate(self.old.operands):
            dim = self.rows.carried.get(position)
            if position in self.stacks:
                value = self.outer.args[place[position]]
            elif dim is not None:
                value = self._part(value, dim)
            operands.append(value)
        types = [value.type for value in operands]
        cond, body = Block(arg_types=types), Block(arg_types=types)
        for block, old in ((cond, self.loop.cond), (body, self.loop.body)):
            self.mapping.update(zip(old.args, block.args, strict=True))
            for new, argument in zip(block.args, old.args, strict=True):
                new.name_hint = argument.name_hint
        for op in self.loop.cond.ops:
            cond.add_op(self._clone(op))
        for op in self.loop.body.ops:
            body.add_op(self._row_op(op, Builder(InsertPoint.at_end(body), op.location)))
        for op in reversed(list(body.ops)):
            if is_repeated(op) and op.results[0].first_use is None:
                erase_op(op)
        inner = WhileOp.create(
            operands=operands,
            result_types=types,
            regions=[Region(cond), Region(body)],
            attributes=self.old.attributes,
            location=self.old.location,
        )
        self.around.insert(inner)
        return inner

    def _clone(self, op: Operation) -> Operation:
        clone = op.clone(self.mapping)
        clone.location = op.location
        return clone

    def _row_op(self, op: Operation, b: Builder) -> Operation:
        """An operation of the body, on the rows of a tile."""
        if isinstance(op, ReturnOp):
            return ReturnOp.create(operands=self._returned(op, b), location=op.location)
        if is_repeated(op):
            return self._clone(op)
        places = self.rows.places(op)
        if not any(place is not None for place in places):
            return self._clone(op)
        operands, properties = self._operands(op, places, b)
        types: list[Attribute] = []
        for result, dim in zip(op.results, places[len(op.operands) :], strict=True):
            types.append(result.type if result in self.whole else self._tile_type(result, dim))
        regions = [region.clone() for region in op.regions]
        new = like(op, operands, types, properties, regions)
        for inner in new.walk():
            if inner is not new:
                inner.operands = [self.mapping.get(value, value) for value in inner.operands]
        self.mapping.update(zip(op.results, new.results, strict=True))
        for old, result in zip(op.results, new.results, strict=True):
            result.name_hint = old.name_hint
        return new

    def _returned(self, op: ReturnOp, b: Builder) -> list[SSAValue]:
        """The values that a tile carries on, which may be constants or come from outside."""
        carried = {i: dim for i, dim in self.rows.carried.items() if i not in self.stacks}
        return [
            self._operand(value, carried[i], b) if i in carried else self.mapping.get(value, value)
            for i, value in enumerate(op.operands)
        ]

    def _operands(
        self, op: Operation, places: Sequence[int | None], b: Builder
    ) -> tuple[list[SSAValue], Mapping[str, Attribute]]:
        """The operands of an operation on a tile, and the properties that differ."""
        taken = places[: len(op.operands)]
        sliced = isinstance(op, (DynamicSliceOp, DynamicUpdateSliceOp))
        outside = isinstance(op, DynamicSliceOp) and self.loop.is_outside(op.operands[0])
        at_rows = sliced and (op.operands[0] in self.whole or outside)
        operands = [
            self.mapping.get(value, value)
            if place is None or (at_rows and index == 0)
            else self._operand(value, place, b)
            for index, (value, place) in enumerate(zip(op.operands, taken, strict=True))
        ]
        dim, size = taken[0], self.tiles.size
        if at_rows and dim is not None:
            first = 1 if isinstance(op, DynamicSliceOp) else 2
            if bit_width(element_of(operands[first])) < 32:  # it may not number all rows
                wide = element_of(self.outer.args[0])
                operands[first:] = [start.convert(wide).value for start in b.tensors(operands[first:])]
            operands[first + dim] = self._start(element_of(operands[first])).value
        if dim is None:
            return operands, {}
        match op:
            case DynamicSliceOp():
                return operands, {"slice_sizes": _replaced(ints(op.slice_sizes), dim, size)}
            case GatherOp() if ints(op.slice_sizes)[dim] == self.rows.count:
                return operands, {"slice_sizes": _replaced(ints(op.slice_sizes), dim, size)}
            case SliceOp():
                return operands, {"limit_indices": _replaced(ints(op.limit_indices), dim, size)}
            case _:
                return operands, {}

    def _operand(self, value: SSAValue, dim: int, b: Builder) -> SSAValue:
        """The rows of a tile of an operand, which are along a dimension."""
        owner = value.owner
        if self.loop.is_outside(value):
            return self._part(value, dim)
        if isinstance(owner, ConstantOp) and is_splat_constant(value):
            if (value, dim) not in self._parts:
                self._parts[value, dim] = self._splat(owner, dim, b)
            return self._parts[value, dim]
        if isinstance(owner, IotaOp) and owner.dimension != dim:
            return b.iota(self._tile_type(value, dim), owner.dimension).value
        if isinstance(owner, (ConstantOp, IotaOp)):
            if (value, dim) not in self._parts:
                whole = owner.clone()
                self.before.insert(whole)
                self._parts[value, dim] = self._part(whole.results[0], dim)
            return self._parts[value, dim]
        return self.mapping[value]

    def _part(self, value: SSAValue, dim: int) -> SSAValue:
        """The rows of the tile of a value from outside."""
        if (value, dim) not in self._parts:
            if is_splat_constant(value):
                assert isinstance(value.owner, ConstantOp)
                part = self._splat(value.owner, dim, self.around)
            else:
                (whole,) = self.around.tensors([value])
                sizes = tensor_type(value).get_shape()
                shape = (*sizes[:dim], self.tiles.size, *sizes[dim + 1 :])
                part = whole.dynamic_slice(self._at(dim, len(shape)), shape).value
            self._parts[value, dim] = part
        return self._parts[value, dim]

    def _splat(self, op: ConstantOp, dim: int, b: Builder) -> SSAValue:
        return b.constant(constant_array(op.dense).reshape(-1)[:1], self._tile_type(op.results[0], dim)).value

    def _tile_type(self, value: SSAValue, dim: int | None) -> HloTensor:
        shape = list(shape_of(value))
        if dim is not None:
            shape[dim] = self.tiles.size
        return make_tensor(tuple(shape), element_of(value))

    def _at(self, dim: int, rank: int) -> list[Tensor]:
        """The start of the tile's rows along a dimension."""
        start = self._start(element_of(self.outer.args[0]))
        zero = self.around.splat(0, start.type)
        return [start if each == dim else zero for each in range(rank)]

    def _start(self, element: Attribute) -> Tensor:
        """The first row of the tile, as an index of a type."""
        if element not in self._starts:
            self._starts[element] = self._first_row.convert(element)
        return self._starts[element]

    @cached_property
    def _first_row(self) -> Tensor:
        first = self.around.tensors(self.outer.args)[0] * self.tiles.size
        return first.minimum(self.rows.count - self.tiles.size) if self.tiles.overlap else first


def _replaced(numbers: Sequence[int], index: int, number: int) -> Attribute:
    return int_array([number if each == index else old for each, old in enumerate(numbers)])
