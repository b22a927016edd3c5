"""
The fusion plan of a kernel: generics that stay, that are computed inside their readers, and that are merged.

Planning changes nothing; `transform.py` then rewrites the kernel once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...dialects.cost import DIVISION, F32_BYTES, Cost
from ...dialects.support.buffer_ops import buffer_type, byte_size
from ...dialects.support.editing import operands_of
from ...dialects.support.kernel import CONTRACTION, PADDING, loop_sizes
from ...hlo_dialect.walking import TypeFact
from ...lowering.device.cpu import CPU
from ...lowering.loop_nests.cost import weight_of
from ...lowering.loop_nests.index_maps import check_index_map
from ...lowering.loop_nests.windows import IMAGE_BYTES
from .bodies import inputs_of, point

MANY_CHANNELS = 16
"""Channels of filters from which a product reads their window backwards; few are copied in no time."""

Reads = dict[Operation, bool]
"""
The operations of the kernel's block that stay and read a value; whether they read it only at their own loop point.
"""


@dataclass(frozen=True)
class Group:
    """Generics that are merged into one."""

    members: tuple[GenericOp, ...]
    outputs: tuple[GenericOp, ...]
    """The members that are read outside the group."""


def body_cost(generic: GenericOp) -> int:
    """The cost, in operations per element, of computing a body again."""
    return sum(weight_of(op).body for op in generic.body.block.ops)


@TypeFact
def _are_parallel(iterators: Attribute) -> bool:
    kinds = cast("ArrayAttr[IteratorTypeAttr]", iterators)
    return all(kind.data is IteratorType.PARALLEL for kind in kinds.data)


@TypeFact
def _is_identity(map_: Attribute) -> bool:
    """Whether a map leads each point of the loops to the element of the same indices."""
    found = cast(AffineMapAttr, map_).data
    return found.results == point(found.num_dims)


def is_parallel(generic: GenericOp) -> bool:
    return _are_parallel(generic.iterator_types)


def is_contraction(generic: GenericOp) -> bool:
    return CONTRACTION in generic.attributes


def extents(generic: GenericOp) -> tuple[int, ...]:
    """
    The loop's sizes: xhlo.loop_sizes if present, else the sizes of operand dimensions indexed by a single loop
    dimension.
    """
    stated = loop_sizes(generic)
    if stated is not None:
        return stated
    sizes = [-1] * len(generic.iterator_types)
    for value, attr in zip(operands_of(generic), generic.indexing_maps.data, strict=True):
        type_: Any = value.type
        for size, expr in zip(type_.get_shape(), attr.data.results, strict=True):
            if type(expr) is AffineDimExpr:
                sizes[expr.position] = size
    return tuple(sizes)


class KernelPlan:
    """
    The plan for one kernel's block; row kernels, of `rows` loops over rows, hoist per-row values out of their inner
    loops.
    """

    def __init__(self, block: Block, rows: int):
        self.row = rows > 0
        self.position: dict[Operation, int] = {op: number for number, op in enumerate(block.ops)}
        self.generics = [op for op in self.position if type(op) is GenericOp]
        self.inlined: set[GenericOp] = set()
        """Only for membership tests; never iterate over it, because its order is not deterministic."""
        self._reads: dict[GenericOp, Reads] = {}
        self._known_users: dict[SSAValue, list[tuple[Operation, bool]]] = {}
        self.extents = {generic: extents(generic) for generic in self.generics}
        """The sizes of each generic's loops."""
        for generic in self.generics:
            _check_index_maps(generic, self.extents[generic])
        self._costs = self._accumulated_costs()
        self._after = self._after_sums(rows)
        kept = {
            producer
            for generic in self.generics
            if is_contraction(generic)
            for producer in _producers(generic)
            if self.row or not (_only_widens(producer) or self._only_reverses(producer, generic))
        }
        kept |= {maker for pad in kept if PADDING in pad.attributes for maker in self._padded_by_rows(pad)}
        self.groups = self._decide(kept)

    def _padded_by_rows(self, pad: GenericOp) -> list[GenericOp]:
        """
        The makers of the input that a convolution pads, for it alone: tasks compute the rows that they pad, if images
        are not so small that each is taken through all steps.
        """
        image = byte_size(buffer_type(pad.results[0].type)) // self.extents[pad][0]
        if image <= IMAGE_BYTES or not pad.results[0].has_one_use():
            return []
        read = [op.tensor for op in pad.body.block.ops if isinstance(op, tensor.ExtractOp)]
        owners = [value.owner for value in read if value.has_one_use()]
        return [each for each in owners if isinstance(each, GenericOp) and is_parallel(each) and len(each.results) == 1]

    def _only_reverses(self, producer: GenericOp, product: GenericOp) -> bool:
        """
        Whether a generic does nothing but reverse the window of a product's filters: contracted dimensions of its
        second factor, beside one of many channels, which the product's panels lie along.
        """
        if len(producer.body.block.ops) != 1 or len(inputs_of(producer)) != 1 or len(producer.results) != 1:
            return False
        value = producer.results[0]
        if not value.has_one_use() or inputs_of(product)[1] is not value:
            return False
        source, target = (attr.data.results for attr in producer.indexing_maps.data)
        if target != point(len(target)) or len(source) != len(target):
            return False
        places, sizes = product.indexing_maps.data[1].data.results, self.extents[product]
        channels = 0
        for dim, (expr, place) in enumerate(zip(source, places, strict=True)):
            if not isinstance(place, AffineDimExpr):
                return False
            contracted = product.iterator_types.data[place.position].data is IteratorType.REDUCTION
            if expr == AffineExpr.dimension(dim):
                channels = max(channels, sizes[place.position] if contracted else 0)
            elif not contracted or not _turns_back(expr, dim):
                return False
        return channels >= MANY_CHANNELS

    def _decide(self, kept: set[GenericOp]) -> list[Group]:
        """
        First group the generics that must stay, then keep those that the groups would compute repeatedly at high cost.

        Several groups recompute a value if that costs no more than reading it from memory. In a row kernel the value
        would come from a cache: one with fewer elements than its reader is computed once if it costs at least a
        division.
        """

        def only_forced(generic: GenericOp, reads: Reads) -> bool:
            return False

        stays = self._staying(kept, only_forced)
        owners: dict[Operation, int] = {
            member: number for number, group in enumerate(self._grouped(stays)) for member in group.members
        }

        def expensive(generic: GenericOp, reads: Reads) -> bool:
            readers = {owners.get(op, -1 - self.position[op]) for op in reads}
            if len(readers) > 1 and not CPU.hides(Cost(F32_BYTES, self._costs[generic])):
                return True
            size = math.prod(self.extents[generic])
            repeated = any(math.prod(self.extents[op]) > size for op in reads if isinstance(op, GenericOp))
            return self.row and repeated and self._costs[generic] >= DIVISION.body

        return self._grouped(self._staying(kept, expensive))

    def _after_sums(self, rows: int) -> set[GenericOp]:
        """The generics that wait for the sums of products over all rows of a matrix; only for membership tests."""
        after: set[GenericOp] = set()
        for generic in self.generics:
            if any(producer in after or _sums_rows(producer, rows) for producer in _producers(generic)):
                after.add(generic)
        return after

    def _accumulated_costs(self) -> dict[GenericOp, int]:
        """The cost of an element, including the producers that may be computed inside."""
        costs: dict[GenericOp, int] = {}
        for generic in self.generics:
            producers = [producer for producer in _producers(generic) if is_parallel(producer)]
            costs[generic] = body_cost(generic) + sum(costs[producer] for producer in producers)
        return costs

    def _staying(self, kept: set[GenericOp], expensive: Callable[[GenericOp, Reads], bool]) -> list[GenericOp]:
        """
        Decide from the last generic to the first, so that the readers of a generic are decided before it.

        A generic must stay if it reduces, or if it is used by anything but generics and scalar reads: the function's
        return, an insert, a reshape.
        """
        self._reads.clear()
        self.inlined.clear()
        stays: list[GenericOp] = []
        for generic in reversed(self.generics):
            reads = self._reads[generic] = self._reads_of(generic)
            forced = not is_parallel(generic) or generic in kept
            needed = any(not isinstance(op, (GenericOp, tensor.ExtractOp)) for op in reads)
            if forced or needed or expensive(generic, reads):
                stays.append(generic)
            else:
                self.inlined.add(generic)
        return stays[::-1]

    def _reads_of(self, generic: GenericOp) -> Reads:
        found: Reads = {}
        for value in generic.results:
            for user, at_point in self._users(value):
                self._add_read(found, user, at_point)
        return found

    def _add_read(self, found: Reads, user: Operation, at_point: bool) -> None:
        """A reader that is computed inside others is replaced by those."""
        if type(user) is GenericOp and user in self.inlined:
            for op, there in self._reads[user].items():
                found[op] = found.get(op, True) and at_point and there
        else:
            found[user] = found.get(user, True) and at_point

    def _users(self, value: SSAValue) -> list[tuple[Operation, bool]]:
        """The operations of the block that use a value, directly or in their bodies."""
        known = self._known_users.get(value)
        if known is not None:
            return known
        users = self._known_users[value] = list[tuple[Operation, bool]]()
        for use in value.uses:
            user = use.operation
            if type(user) is GenericOp and use.index < len(operands_of(user)) - len(user.results):
                users.append((user, _is_identity(user.indexing_maps.data[use.index])))
            elif user in self.position:
                users.append((user, False))
            else:
                users.append((cast(Operation, user.parent_op()), False))
        return users

    # -- groups ------------------------------------------------------------------------------------

    def _grouped(self, stays: Sequence[GenericOp]) -> list[Group]:
        """Merge generics over one iteration space, at the position of the last, if all can be delayed until then."""
        groups: list[list[GenericOp]] = []
        open_groups: dict[Hashable, list[GenericOp]] = {}
        for generic in stays:
            space = (self.extents[generic], generic.iterator_types, generic in self._after)
            group = open_groups.get(space)
            if is_contraction(generic):
                groups.append([generic])
            elif group is not None and all(self._can_wait(member, group, generic) for member in group):
                group.append(generic)
            else:
                open_groups[space] = group = [generic]
                groups.append(group)
        return [Group(tuple(group), self._outputs(group)) for group in groups]

    def _can_wait(self, member: GenericOp, group: Sequence[GenericOp], last: GenericOp) -> bool:
        """
        Whether `member` can be delayed and computed together with `last`.

        Readers in the group must read it at their own loop point, where its value is available; other readers must come
        later. A value inserted into a slice stays alone, so that it is written directly to the slice.
        """
        for op, at_point in self._reads[member].items():
            if isinstance(op, tensor.InsertSliceOp):
                return False
            if op is last or op in group:
                if not at_point or not is_parallel(member):
                    return False
            elif self.position[op] < self.position[last]:
                return False
        return True

    def _outputs(self, group: Sequence[GenericOp]) -> tuple[GenericOp, ...]:
        return tuple(g for g in group if not self._reads[g] or any(op not in group for op in self._reads[g]))


def _sums_rows(generic: GenericOp, rows: int) -> bool:
    """Whether a generic of a row kernel is a product that contracts the last loop over the rows of its left factor."""
    if not rows or not is_contraction(generic):
        return False
    places = generic.indexing_maps.data[0].data.results
    row = places[rows - 1] if len(places) == rows + 1 else None
    return isinstance(row, AffineDimExpr) and generic.iterator_types.data[row.position].data is IteratorType.REDUCTION


def _check_index_maps(generic: GenericOp, sizes: tuple[int, ...]) -> None:
    for value, attr in zip(operands_of(generic), generic.indexing_maps.data, strict=True):
        if attr.data.results:
            type_: Any = value.type
            check_index_map(generic, attr.data.results, type_.get_shape(), sizes)


def _only_widens(generic: GenericOp) -> bool:
    """Whether a generic does nothing but extend its elements, as products do when they read them."""
    (op, *rest) = generic.body.block.ops
    return len(rest) == 1 and isinstance(op, (arith.ExtFOp, arith.ExtSIOp, arith.SIToFPOp))


def _turns_back(expr: AffineExpr, dim: int) -> bool:
    """Whether an expression is `c - step * d` of one dimension d."""
    first, step = expr.eval([0] * (dim + 1), []), expr.eval([0] * dim + [1], []) - expr.eval([0] * (dim + 1), [])
    return step < 0 and expr.eval([0] * dim + [2], []) == first + 2 * step


def _producers(generic: GenericOp) -> list[GenericOp]:
    """The generics whose results are inputs, each once, in order."""
    owners = dict.fromkeys([operand.owner for operand in inputs_of(generic)])
    return [owner for owner in owners if type(owner) is GenericOp]
