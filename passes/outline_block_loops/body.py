"""The function of a loop: the loop with the bodies of its kernels, and what only it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, MemRefType, StringAttr
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.support.attributes import call_op, function_op, return_op
from ...dialects.support.buffer_ops import alloc, byte_size, copy, index_constant
from ...dialects.support.buffers import Buffer
from ...dialects.support.editing import clone_op, detach_op, erase_op, insert_before
from ...dialects.support.kernel import TRIP_COUNT, Kernel
from ...dialects.support.views import is_view, root_buffer, uses_through_views
from ...hlo_dialect.walking import operations_in
from ..outline_loops.tiles import counter_of, uses_of_counter
from ..outline_parallel_loops.captures import Captures, capture, is_repeated

STATE = 1 << 15
"""Bytes up to which a buffer that a loop begins with a copy of is kept by the kernel until the loop ends."""


class BlockLoop:
    """A loop of the host program that becomes a kernel, with the calls and copies before it that move with it."""

    def __init__(
        self,
        loop: scf.WhileOp,
        first: Sequence[Operation],
        kernels: Mapping[str, func.FuncOp],
        constants: Mapping[str, Attribute],
    ):
        """`constants`: the values of the module's constants."""
        self.loop = loop
        self.first = list(first)
        self._kernels = kernels
        self._constants = constants
        self.before: list[Operation] = []
        """The operations before the loop in the function."""

    def function(self, name: str, tiles: bool) -> tuple[func.FuncOp, list[SSAValue]]:
        """The function, to which the loop has moved, and its arguments; `tiles`: iterations are independent."""
        location, place = self.loop.location, self.loop.next_op
        assert place is not None
        for op in self.first:
            if isinstance(op, func.CallOp):
                self.before += self._inline(op)
            else:
                self.before.append(op)
        for op in operations_in(self.loop):
            if isinstance(op, func.CallOp):
                self._inline(op)
            elif isinstance(op, memref.GetGlobalOp):
                detach_op(op)
                insert_before(op, self.loop)
        self.before = [self._number(op) or op for op in self.before]
        for op in operations_in(self.loop):
            self._number(op)
        own, after = self._own(), list[Operation]()
        if not tiles:
            after = self._keep_state(own)
        own += self._views(own)
        for op in (*own, *self.before):
            if op.parent is not None:
                detach_op(op)
        top = [*own, *self.before, *self._whole(), *after] if not tiles else self._tiles(own)
        block = Block()
        captures = Captures(block, _is_repeated)
        region = Region(Block(top))
        capture(region, captures, set())
        moved = list(region.block.ops)
        for op in moved:
            op.detach()
        block.add_ops([*captures.repeated, *moved, return_op()])
        function = function_op(name, block.arg_types, (), Region(block))
        function.location = location
        Kernel.mark(function, StringAttr("while"), 0, ())
        call = call_op(name, captures.values, ())
        call.location = location
        insert_before(call, place)
        return function, captures.values

    def _number(self, op: Operation) -> Operation | None:
        """Replace a copy of a constant of one element by a fill; None for any other operation."""
        if not isinstance(op, memref.CopyOp) or not isinstance(constant := op.source.owner, memref.GetGlobalOp):
            return None
        value = self._constants.get(constant.name_.root_reference.data)
        type_ = cast(Buffer, op.source.type)
        if type_.get_shape() or not isinstance(value, DenseIntOrFPElementsAttr):
            return None
        (number,) = value.get_attrs()
        scalar = arith.ConstantOp(number)
        fill = FillOp([scalar.result], [op.destination], ())
        scalar.location = fill.location = op.location
        insert_before(scalar, op)
        insert_before(fill, op)
        erase_op(op)
        if constant.memref.first_use is None:
            erase_op(constant)
        return fill

    def _inline(self, call: func.CallOp) -> list[Operation]:
        """Replace a call of a kernel by what it does; returns the operations."""
        block, placed = self._kernels[call.callee.root_reference.data].body.block, list[Operation]()
        mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, call.operands, strict=True))
        for op in block.ops:
            if not isinstance(op, func.ReturnOp):
                copied = clone_op(op, mapping)
                insert_before(copied, call)
                placed.append(copied)
        erase_op(call)
        return placed

    def _own(self) -> list[Operation]:
        """The allocations of buffers that nothing else uses."""
        found = dict.fromkeys(op for op in self._operations() if isinstance(op, memref.AllocOp))
        self.before = [op for op in self.before if not isinstance(op, memref.AllocOp)]
        for value in self._outside():
            op = value.owner
            if isinstance(op, memref.AllocOp) and all(self._holds(use.operation) for use in uses_through_views(value)):
                found[op] = None
        return list(found)

    def _views(self, own: Sequence[Operation]) -> list[Operation]:
        """The views of buffers, besides those in the loop, which move with them."""
        found, values = list[Operation](), [op.results[0] for op in own]
        for value in values:
            views = [use.operation for use in value.uses if is_view(use.operation) and not self._holds(use.operation)]
            found += views
            values += [view.results[0] for view in views]
        return found

    def _outside(self) -> Iterator[SSAValue]:
        """The buffers that the operations use."""
        found: dict[SSAValue, None] = {}
        for op in self._operations():
            found.update((root_buffer(value), None) for value in op.operands if isinstance(value.type, MemRefType))
        return iter(found)

    def _operations(self) -> Iterator[Operation]:
        for top in (*self.before, self.loop):
            yield from operations_in(top)

    def _holds(self, op: Operation) -> bool:
        return self.loop.is_ancestor(op) or any(top.is_ancestor(op) for top in self.before)

    def _keep_state(self, own: list[Operation]) -> list[Operation]:
        """
        Keep small buffers that begin with a copy and end as results in a buffer of the kernel; returns the copies to
        the results.
        """
        after: list[Operation] = []
        for op in list(self.before):
            if not isinstance(op, memref.CopyOp):
                continue
            buffer = op.destination
            type_ = cast(Buffer, buffer.type)
            others = [use.operation for use in uses_through_views(buffer) if self._holds(use.operation)]
            first = all(use is op or self.loop.is_ancestor(use) for use in others)
            named = any(is_view(use.operation) and not self._holds(use.operation) for use in buffer.uses)
            small = byte_size(type_) <= STATE
            if is_view(buffer.owner) or named or not small or not first or buffer.owner in own:
                continue
            kept = alloc(type_)
            kept.location = op.location
            own.append(kept)
            for use in [use for use in buffer.uses if self._holds(use.operation)]:
                use.operation.operands[use.index] = kept.memref
            last = copy(kept.memref, buffer)
            last.location = op.location
            after.append(last)
        return after

    def _whole(self) -> list[Operation]:
        detach_op(self.loop)
        return [self.loop]

    def _tiles(self, allocations: list[Operation]) -> list[Operation]:
        """The iterations as those of a parallel loop; each has a counter and buffers of its own."""
        counter = counter_of(self.loop)
        assert counter is not None
        count = cast("IntegerAttr[Any]", self.loop.attributes[TRIP_COUNT]).value.data
        own = alloc(cast(Buffer, counter.type))
        for use in list(uses_of_counter(self.loop, counter)):
            use.operation.operands[use.index] = own.memref
        region = self.loop.detach_region(self.loop.after_region)
        block = region.block
        index = block.insert_arg(index_constant(0).result.type, 0)
        number = arith.IndexCastOp(index, own.memref.type.element_type)
        fill = FillOp([number.result], [own.memref], ())
        first = block.first_op
        assert first is not None
        block.insert_ops_before([*allocations, own, number, fill], first)
        last = block.last_op
        assert last is not None
        erase_op(last)
        block.add_op(scf.ReduceOp())
        zero, end, one = (index_constant(each) for each in (0, count, 1))
        loop = scf.ParallelOp([zero.result], [end.result], [one.result], region)
        loop.location = self.loop.location
        erase_op(self.loop)
        _forget(counter)
        return [zero, end, one, loop]


def _is_repeated(op: Operation | Block) -> TypeGuard[Operation]:
    """Whether the function has an operation of its own instead of a parameter; device code has no global constants."""
    return is_repeated(op) and not isinstance(op, memref.GetGlobalOp)


def _forget(buffer: SSAValue) -> None:
    """Erase a buffer that is only written, by copies."""
    owner, uses = buffer.owner, list(buffer.uses)
    if isinstance(owner, memref.AllocOp) and all(
        isinstance(use.operation, memref.CopyOp) and use.index == 1 for use in uses
    ):
        for use in uses:
            source = use.operation.operands[0]
            erase_op(use.operation)
            if isinstance(source.owner, memref.GetGlobalOp) and source.first_use is None:
                erase_op(source.owner)
        erase_op(owner)
