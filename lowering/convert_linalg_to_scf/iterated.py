"""
Nests whose body loops for one element, as loops over tiles: all elements of a tile take each iteration together.

The state of a tile is in buffers that stay in the first-level cache, so that the loop over its elements vectorizes like
any other. A tile is finished when its shared condition fails, when all of its elements have stopped, or when an
iteration changes none of them and nothing that differs in the next iteration could.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import Scalar
from ..loop_nests.cost import body_cost, task_count, task_size
from ..loop_nests.emission import Bounds, NestEmitter
from ..loop_nests.loop_builder import PARALLEL, SCALAR, Index, LoopBuilder
from ..loop_nests.nest import Nest
from ..loop_nests.whole_vectors import may_repeat
from .lanes import Lanes

TILE = 64
"""Elements of a tile: enough vectors to hide the latency of an iteration, few enough to finish early together."""

ITERATIONS = 16
"""Iterations that a loop is taken to make when its work is divided into tasks."""


def emit_iterated(builder: LoopBuilder, nest: Nest, lanes: Lanes) -> None:
    """Emit an all-parallel nest, without bound loops and with the lanes innermost."""
    free = list(nest.free)
    inner, outer = free[-1], free[:-1]
    count = nest.sizes[inner]
    work = nest.size_of(free) * body_cost(nest) * ITERATIONS
    emitter = NestEmitter(builder, nest)
    wanted = task_count(work, work, work)
    cut = next((loop for loop in outer if nest.sizes[loop] >= min(wanted, 32)), inner)
    total = nest.sizes[cut]
    size = task_size(total, task_count(work, work, total), TILE if cut == inner else 1)
    # The last task takes what is left of another, so that no tile reaches into the previous task.
    tasks = max(total // size, 1) if cut == inner else -(-total // size)
    with builder.parallel(tasks) as task, emitter.scope():
        emitter.make_views()
        emitter.load_ready()
        lower = task * size
        upper: Index = lower + size
        if total % size:
            upper = builder.select(task < tasks - 1, upper, total) if cut == inner else builder.min(upper, total)
        bounds: Bounds = {cut: (lower, upper)}
        with emitter.loops(outer, bounds, innermost=False):
            first, end = bounds.get(inner, (0, count))
            tile = min(TILE, count)
            with builder.loop(first, end, step=tile) as start, emitter.scope():
                begin: Index = start
                width: Index = tile
                if count % tile and not may_repeat(nest):
                    # An element that two tiles compute would begin at its own result: the last tile repeats its last
                    # element, so that its loops are over as many as those of the others.
                    width = builder.min(end - start, tile)
                elif count % tile:
                    # The last tile overlaps the one before it, so that all are whole.
                    begin = builder.min(start, end - tile)
                _Tile(builder, emitter, lanes, inner, begin, tile, width).emit()


class _Tile:
    """One tile: elements `begin` to `begin + width` along the inner loop of a nest, at most `size`."""

    def __init__(
        self,
        builder: LoopBuilder,
        emitter: NestEmitter,
        lanes: Lanes,
        inner: int,
        begin: Index,
        size: int,
        width: Index,
    ):
        self.builder = builder
        self.emitter = emitter
        self.lanes = lanes
        self.inner = inner
        self.begin = begin
        self.size, self.width = size, width
        self.loop = lanes.loop
        self.before, self.after = self.loop.before_region.block, self.loop.after_region.block
        self.own, self.shared = lanes.carried(lane=True), lanes.carried(lane=False)
        self.state = {i: self._buffer(self.loop.results[i]) for i in self.own}
        self.captured = {value: self._buffer(value) for value in lanes.captured}

    def _buffer(self, value: SSAValue) -> SSAValue:
        return self.builder.alloca(memref_type((self.size,), value.type))

    def emit(self) -> None:
        values = self._shared_values()
        self._fill(values)
        if not isinstance(self.width, int):
            self._repeat_last(self.width)
        results = self._iterate(values)
        values.update(zip((self.loop.results[i] for i in self.shared), results, strict=True))
        self._write(values)

    @property
    def _lane(self) -> Index:
        return cast(Index, self.emitter.indices[self.inner]) - self.begin

    def _shared_values(self) -> dict[SSAValue, SSAValue]:
        """The values of the body before the loop that all lanes share."""
        body = self.emitter.nest.body
        assert body is not None
        values: dict[SSAValue, SSAValue] = {}
        for k, argument in enumerate(body.args[: len(self.emitter.nest.inputs)]):
            if argument.first_use is not None and argument not in self.lanes.varies:
                values[argument] = self.emitter.load_input(k)
        self._copy(self._prologue(lane=False), values)
        return values

    def _prologue(self, lane: bool) -> list[Operation]:
        body = self.emitter.nest.body
        assert body is not None
        return [op for op in self.lanes.part(body, lane) if op.is_before_in_block(self.loop)]

    def _copy(self, ops: Sequence[Operation], values: dict[SSAValue, SSAValue]) -> None:
        self.emitter.clone([*ops, self.loop], values)

    def _over_lanes(self) -> Bounds:
        return {self.inner: (self.begin, self.begin + self.width)}

    def _fill(self, shared: dict[SSAValue, SSAValue]) -> None:
        """Store the first values of the state, and what the loop reads."""
        body = self.emitter.nest.body
        assert body is not None
        with self.emitter.loops([self.inner], self._over_lanes()):
            values = dict(shared)
            for k, argument in enumerate(body.args[: len(self.emitter.nest.inputs)]):
                if argument.first_use is not None and argument in self.lanes.varies:
                    values[argument] = self.emitter.load_input(k)
            self._copy(self._prologue(lane=True), values)
            for i, buffer in self.state.items():
                first = self.loop.arguments[i]
                self.builder.store(values.get(first, first), buffer, [self._lane])
            for value, buffer in self.captured.items():
                self.builder.store(values[value], buffer, [self._lane])

    def _repeat_last(self, width: Index) -> None:
        """Fill the rest of the tile with its last element: the rest stops when that does."""
        buffers = [*self.state.values(), *self.captured.values()]
        last = [self.builder.load(buffer, [width - 1]) for buffer in buffers]
        with self.builder.loop(width, self.size, attributes=SCALAR) as lane:
            for buffer, value in zip(buffers, last, strict=True):
                self.builder.store(value, buffer, [lane])

    def _iterate(self, values: dict[SSAValue, SSAValue]) -> Sequence[SSAValue]:
        """The loop over iterations; returns the shared results."""
        builder, lanes = self.builder, self.lanes
        ends_early = bool(lanes.lane_condition) or lanes.guards is not None
        true, false = (builder.scalar(integer_attr(number, i1)) for number in (1, 0))
        carry = [values.get(self.loop.arguments[i], self.loop.arguments[i]) for i in self.shared]
        with builder.loop_while([*carry, *[true] * ends_early]) as state:
            values = dict(values)
            values.update(zip((self.before.args[i] for i in self.shared), state, strict=False))
            self._copy(lanes.part(self.before, lane=False), values)
            conditions = [values.get(part, part) for part in lanes.shared_condition] + state[len(carry) :]
            goes_on = builder.on(conditions[0]) if conditions else builder.on(true)
            for part in conditions[1:]:
                goes_on &= part
            builder.go_on_if(goes_on)
            for block in (self.before, self.after):
                values.update(zip((block.args[i] for i in self.shared), state, strict=False))
            # After the condition its values are those of another region.
            self._copy(lanes.part(self.before, lane=False), values)
            self._copy(lanes.part(self.after, lane=False), values)
            with builder.loop(0, self.size, carry=[false] * ends_early, attributes=PARALLEL) as (lane, flags):
                changes = self._lane_step(lane, dict(values))
                builder.yield_(*([builder.on(flags[0]) | changes] if ends_early else ()))
            returned = cast(Operation, self.after.last_op).operands
            builder.yield_(*(values.get(returned[i], returned[i]) for i in self.shared), *flags)
        return state[: len(carry)]

    def _lane_step(self, lane: Index, values: dict[SSAValue, SSAValue]) -> Scalar:
        """One iteration of one lane; returns whether the lane may change in a later one."""
        builder, lanes = self.builder, self.lanes
        for i, buffer in self.state.items():
            loaded = builder.load(buffer, [lane])
            values[self.before.args[i]] = values[self.after.args[i]] = loaded
        for value, buffer in self.captured.items():
            values[value] = builder.load(buffer, [lane])
        self._copy(lanes.part(self.before, lane=True), values)
        self._copy(lanes.part(self.after, lane=True), values)
        going = self._all(lanes.lane_condition, values)
        returned = cast(Operation, self.after.last_op).operands
        true = builder.scalar(integer_attr(1, i1))
        changes: list[Scalar] = []
        for guard, outcome in lanes.guards or ():
            found = builder.on(values.get(guard, guard))
            changes.append(found if outcome else found ^ true)
        for i, buffer in self.state.items():
            present = values[self.after.args[i]]
            following = values.get(returned[i], returned[i])
            if following is present:
                continue
            if i in lanes.compared:
                changes.append(_differs(builder.on(following), builder.on(present)))
            if going is not None:
                following = going.select(following, present).value
            builder.store(following, buffer, [lane])
        if going is not None:
            return going
        found = changes[0] if changes else builder.on(builder.scalar(integer_attr(0, i1)))
        for more in changes[1:]:
            found |= more
        return found

    def _all(self, parts: Sequence[SSAValue], values: dict[SSAValue, SSAValue]) -> Scalar | None:
        if not parts:
            return None
        found = self.builder.on(values.get(parts[0], parts[0]))
        for part in parts[1:]:
            found &= values.get(part, part)
        return found

    def _write(self, shared: dict[SSAValue, SSAValue]) -> None:
        """Compute what comes after the loop, and store the results."""
        body = self.emitter.nest.body
        assert body is not None
        following = [op for op in body.ops if self.loop.is_before_in_block(op) and op is not body.last_op]
        yielded = cast(Operation, body.last_op)
        with self.emitter.loops([self.inner], self._over_lanes()):
            values = dict(shared)
            for i, buffer in self.state.items():
                values[self.loop.results[i]] = self.builder.load(buffer, [self._lane])
            for value in dict.fromkeys(value for op in (*following, yielded) for value in op.operands):
                if value in self.captured:
                    values[value] = self.builder.load(self.captured[value], [self._lane])
            for k, value in enumerate(self.emitter.clone([*following, yielded], values)):
                self.emitter.store_output(k, value)


def _differs(one: Scalar, other: Scalar) -> Scalar:
    """Whether two values have different bits: NaN equals the same NaN, and zeros of both signs differ."""
    if one.is_float:
        one, other = one.bits(), other.bits()
    return one.compare("ne", other)
