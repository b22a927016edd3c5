"""The function that makes the iterations of a loop: the loop with the bodies of its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.support.attributes import function_op, integer_attr, return_op
from ...dialects.support.buffer_ops import byte_size, index_constant
from ...dialects.support.buffers import Buffer, memref_type
from ...dialects.support.editing import clone_op, erase_op, insert_before, replace_uses
from ...dialects.support.kernel import ASKS
from ...dialects.support.views import is_view
from ...hlo_dialect.walking import operations_in
from ..outline_parallel_loops.captures import Captures, capture, is_repeated

ON_STACK = 512
"""Bytes of a buffer that an iteration needs for itself from which it stays in the arena."""


@dataclass
class Group:
    """Views of the arena that overlap, and so are one parameter."""

    start: int
    end: int
    views: list[memref.ViewOp] = field(default_factory=list[memref.ViewOp])

    @property
    def is_one_buffer(self) -> bool:
        """Whether all views are the same."""
        return len({view.result.type for view in self.views}) == 1 and all(
            offset_of(view) == self.start for view in self.views
        )


class LoopBody:
    """Moves the regions of a loop into a function of the buffers that it uses."""

    def __init__(
        self,
        loop: scf.WhileOp,
        arena: SSAValue,
        kernels: Mapping[str, func.FuncOp],
        most: int | None,
        first: Sequence[Operation] = (),
        between: Iterable[SSAValue] = (),
        merged: set[Operation] | None = None,
    ):
        """
        `most`: the iterations of one call, None for all. `first`: the calls and copies before the loop that move with
        it; `between`: the buffers that only those and the loop use. `merged`: the views that functions of loops inside
        take for several buffers, to which those of this one are added.
        """
        self.loop = loop
        self.arena = arena
        self.most = most
        self.condition = loop.before_region.clone()
        """The condition, for a loop of the entry around the calls."""
        self.block = Block()
        self.captures = Captures(self.block, self._repeats)
        self.bytes = 0
        """The size of the buffers that it takes, without those that only an iteration uses."""
        self.stack: list[Operation] = []
        self.first: list[Operation] = []
        """The operations of the function before the loop."""
        self.asks = False
        """Whether the function takes the arena, as its last argument, to ask whether the run goes on."""
        self.loops = [op for op in operations_in(loop) if isinstance(op, scf.WhileOp)]
        """The loop and those inside, without those of kernels."""
        self.between = set(between)
        self.merged = set[Operation]() if merged is None else merged
        for op in first:
            if isinstance(op, func.CallOp):
                self.first += self._inline(op, kernels[op.callee.root_reference.data])
            else:
                self.first.append(op)
        for op in operations_in(loop):
            if isinstance(op, func.CallOp) and (kernel := kernels.get(op.callee.root_reference.data)) is not None:
                self._inline(op, kernel)

    def take_start(self, copy: memref.CopyOp) -> None:
        """Put the buffer that a copy before the loop writes on the stack: only the loop uses it."""
        view = cast(Operation, copy.destination.owner)
        view.detach()
        self.loop.before_region.block.insert_ops_before([view], cast(Operation, self.loop.before_region.block.first_op))

    def let_loops_ask(self, every: int) -> None:
        """
        Let the loop ask whether the run goes on once in so many iterations, and those inside, but for those of kernels,
        in each (place-safepoints).
        """
        self.asks = True
        for op in self.loops:
            op.attributes[ASKS] = integer_attr(every if op is self.loop else 1)

    @property
    def operands(self) -> list[SSAValue]:
        return self.captures.values

    def function(self, name: str) -> func.FuncOp:
        """The function; the loop is left without regions."""
        own = self._place_own_buffers() | self.between
        self._take_arena(own)
        for op in self.first:
            op.detach()
        first = Region(Block(self.first))
        before, after = (self.loop.detach_region(region) for region in list(self.loop.regions))
        inside: set[SSAValue] = {result for op in self.stack for result in op.results}
        for region in (first, before, after):
            capture(region, self.captures, inside)
        for op in self.first:
            op.detach()
        counted = self._counted(before, after)
        if self.asks:
            self.captures.inside(self.arena)
            assert self.operands[-1] is self.arena, "only views take the arena itself"
            own.add(self.arena)
        self.block.add_ops([*self.captures.repeated, *self.stack, *self.first, *counted, return_op()])
        return self._function(name, own)

    def _function(self, name: str, own: set[SSAValue]) -> func.FuncOp:
        """The function of the block, whose parameters `own` only an iteration uses."""
        buffers = [value for value in self.operands if isinstance(value.type, MemRefType) and value not in own]
        self.bytes += sum(byte_size(cast(Buffer, value.type)) for value in buffers)
        function = function_op(name, self.block.arg_types, (), Region(self.block))
        function.location = self.loop.location
        if self.asks:
            function.attributes[ASKS] = UnitAttr()
        return function

    def place(self, call: func.CallOp, whole: bool) -> None:
        """
        Replace the loop by the call, if that makes all iterations, or by calls until the condition is false. It is
        evaluated after a call: most loops end in the first one, and a safepoint takes as long as several iterations.
        """
        if whole:
            insert_before(call, self.loop)
        else:
            first = cast(Operation, self.condition.block.first_op)
            self.condition.block.insert_op_before(call, first)
            new = scf.WhileOp.create(
                regions=[self.condition, Region(Block([scf.YieldOp()]))], attributes=self.loop.attributes
            )
            new.location = self.loop.location
            insert_before(new, self.loop)
        erase_op(self.loop)

    def _repeats(self, op: Operation | Block) -> TypeGuard[Operation]:
        """Whether the function has an operation of its own instead of a parameter."""
        return is_repeated(op) and not self._is_in_arena(op)

    def _is_in_arena(self, op: Operation | Block) -> TypeGuard[memref.ViewOp]:
        """Whether it is a buffer at a constant place of the arena."""
        return isinstance(op, memref.ViewOp) and op.source is self.arena and not op.sizes

    def _inline(self, call: func.CallOp, kernel: func.FuncOp) -> list[Operation]:
        """Replace a call of a kernel by what it does; returns the operations, without those that are on the stack."""
        block, placed = kernel.body.block, list[Operation]()
        mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, call.operands, strict=True))
        for op in block.ops:
            if isinstance(op, func.ReturnOp):
                continue
            copy = clone_op(op, mapping)
            if isinstance(copy, memref.AllocaOp):
                self.stack.append(copy)  # in the loop it would take space in each iteration
            else:
                insert_before(copy, call)
                placed.append(copy)
        erase_op(call)
        return placed

    def _place_own_buffers(self) -> set[SSAValue]:
        """Put small buffers of an iteration on the stack, and the views of others before the loop; returns those."""
        own: set[SSAValue] = set()
        views = dict.fromkeys(op for op in operations_in(self.loop) if self._is_in_arena(op))
        in_arena: set[Operation] = set()
        # Views that overlap are of different buffers, which have their places in turn; but merged ones are of all.
        for group in groups_of(list({**views, **dict.fromkeys(self._views_used())})):
            if self.merged.isdisjoint(group.views):
                continue
            if group.end - group.start <= ON_STACK and views.keys() >= set(group.views):
                self._place_together(group)
                for view in group.views:
                    del views[view]
            else:
                in_arena.update(group.views)
        for op in views:
            if byte_size(op.result.type) <= ON_STACK and op not in in_arena:
                local = memref.AllocaOp.get(op.result.type.element_type, alignment=64, shape=op.result.type.get_shape())
                self.stack.append(local)
                replace_uses(op.result, local.memref)
                op.detach()
                op.erase()
            else:
                at = cast(Operation, op.byte_shift.owner)
                for each in (at, op) if self.loop.is_ancestor(at) else (op,):
                    each.detach()
                    insert_before(each, self.loop)
                own.add(op.result)
        return own

    def _place_together(self, group: Group) -> None:
        """Put views on the stack as they are in the arena."""
        local = memref.AllocaOp.get(IntegerType(8), alignment=64, shape=[group.end - group.start])
        self.stack.append(local)
        for view in group.views:
            self.stack += _part(local.memref, group, view)
            replace_uses(view.result, self.stack[-1].results[0])
            view.detach()
            view.erase()

    def _take_arena(self, own: set[SSAValue]) -> None:
        """Make parameters of the buffers in the arena; those that overlap are one, with views of it in the function."""
        for group in groups_of(self._views_used()):
            if group.is_one_buffer:
                first = self.captures.inside(group.views[0].result)
                self.captures.mapping.update((view.result, first) for view in group.views)
                if any(view.result not in own for view in group.views):
                    own.discard(group.views[0].result)
                continue
            view = group.views[0]
            at = index_constant(group.start)
            whole = memref.ViewOp.create(
                operands=[view.source, at.result],
                result_types=[memref_type((group.end - group.start,), IntegerType(8))],
                location=view.location,
            )
            cast(Block, self.loop.parent).insert_ops_before([at, whole], self.loop)
            own.add(whole.result)
            self.merged.add(whole)
            outside = {offset_of(each): byte_size(each.result.type) for each in group.views if each.result not in own}
            self.bytes += sum(outside.values())
            parameter = self.captures.inside(whole.result)
            for each in group.views:
                self.captures.repeated += _part(parameter, group, each)
                self.captures.mapping[each.result] = self.captures.repeated[-1].results[0]

    def _views_used(self) -> list[memref.ViewOp]:
        """The buffers in the arena that the loop uses, also through views from outside."""
        found: dict[memref.ViewOp, None] = {}
        for op in (*(each for first in self.first for each in operations_in(first)), *operations_in(self.loop)):
            for value in op.operands:
                owner = value.owner
                while is_view(owner) and not self._is_in_arena(owner):
                    owner = owner.operands[0].owner
                if self._is_in_arena(owner):
                    found[owner] = None
        return list(found)

    def _counted(self, before: Region, after: Region) -> list[Operation]:
        """The loop, which ends after `most` iterations if not before."""
        if self.most is None:
            loop = scf.WhileOp([], [], before, after)
            loop.attributes |= self.loop.attributes
            loop.location = self.loop.location
            return [loop]
        index = IndexType()
        zero, one, most = (index_constant(number) for number in (0, 1, self.most))
        counter = before.block.insert_arg(index, 0)
        last = cast(scf.ConditionOp, before.block.last_op)
        goes_on = arith.CmpiOp(counter, most.result, "ult")
        both = arith.AndIOp(last.condition, goes_on.result)
        before.block.insert_ops_before([goes_on, both, scf.ConditionOp(both.result, counter)], last)
        erase_op(last)
        counter = after.block.insert_arg(index, 0)
        end = cast(Operation, after.block.last_op)
        next_ = arith.AddiOp(counter, one.result)
        after.block.insert_ops_before([next_, scf.YieldOp(next_.result)], end)
        erase_op(end)
        loop = scf.WhileOp([zero.result], [index], before, after)
        loop.location = self.loop.location
        return [zero, one, most, loop]


def _part(whole: SSAValue, group: Group, view: memref.ViewOp) -> list[Operation]:
    """The operations that make a view of a group from the bytes of all, the last one its own."""
    start = index_constant(offset_of(view) - group.start)
    part = memref.ViewOp.create(operands=[whole, start.result], result_types=[view.result.type])
    part.location = view.location
    return [start, part]


def offset_of(view: memref.ViewOp) -> int:
    """The place of a buffer in the arena, in bytes."""
    return cast("IntegerAttr[Any]", cast(arith.ConstantOp, view.byte_shift.owner).value).value.data


def groups_of(views: list[memref.ViewOp]) -> list[Group]:
    """The views in groups that do not overlap, by their places."""
    groups: list[Group] = []
    for view in sorted(views, key=offset_of):
        start = offset_of(view)
        end = start + byte_size(cast(Buffer, view.result.type))
        if groups and start < groups[-1].end:
            groups[-1].end = max(groups[-1].end, end)
        else:
            groups.append(Group(start, end))
        groups[-1].views.append(view)
    return groups
