"""
Long bodies as several loops over a tile, each of which computes a stage of the body.

The functions of one element wait for each other, and a loop over all of them has too few vectors in flight to fill the
time. A loop over one stage has many. Buffers that stay in the L1 cache pass a tile to later stages.

A special function, which expand-math replaces by a long formula, is in a stage of its own or with what is around it,
whose loop computes several vectors at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import accumulate, pairwise

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects.support.buffers import memref_type
from ..loop_nests.cost import is_special, weight_of
from ..loop_nests.emission import NestEmitter
from ..loop_nests.loop_builder import PARALLEL, Index, LoopBuilder
from ..loop_nests.nest import Nest
from ..loop_nests.whole_vectors import LONG, loop_over_elements, may_repeat

TILE = 512
"""Elements that take each stage together."""

STAGE = 40
"""Operations of a stage."""

MOST_BUFFERS = 5
"""Values that one stage may leave for later ones; each is written and read once more."""


@dataclass(frozen=True)
class Stages:
    """A body in stages: their operations, and the values that each leaves for later ones."""

    ops: tuple[tuple[Operation, ...], ...]
    left: tuple[tuple[SSAValue, ...], ...]


def stages_of(nest: Nest, inner: int) -> Stages | None:
    """The stages of a body of floats, whose innermost loop has some tiles; None if it is to stay whole."""
    body = nest.body
    if body is None or nest.sizes[inner] < TILE:
        return None
    ops = [op for op in body.ops if op is not body.last_op and type(op) is not arith.ConstantOp]
    if sum(weight_of(op).loop for op in ops) < LONG or any(op.regions for op in ops):
        return None
    cuts = _cuts(ops, body)
    if not cuts and not any(map(is_special, ops)):
        return None
    bounds = [0, *cuts, len(ops)]
    left = tuple(tuple(_live(ops, body, cut)) for cut in cuts)
    return Stages(tuple(tuple(ops[a:b]) for a, b in pairwise(bounds)), (*left, ()))


def _cuts(ops: Sequence[Operation], body: Block) -> list[int]:
    """Where a stage ends: where it leaves the fewest values, at about the size of a stage."""
    costs = [weight_of(op).loop for op in ops]
    live = _lives(ops)
    cuts: list[int] = []
    start = 0
    while sum(costs[start:]) > 3 * STAGE // 2:
        places: list[tuple[int, int]] = []
        total = 0
        for at in range(start, len(ops)):
            total += costs[at]
            if total > 3 * STAGE // 2 and places:
                break
            count, others = live[at + 1]
            if total >= STAGE // 2 and count <= MOST_BUFFERS and not others:
                places.append((count, -(at + 1)))
        if not places or -min(places)[1] == len(ops):
            break
        start = -min(places)[1]
        cuts.append(start)
    return cuts


def _lives(ops: Sequence[Operation]) -> list[tuple[int, int]]:
    """How many values `_live` finds at each cut, from 0 on, and how many of them are no floats."""
    number = {op: index for index, op in enumerate(ops)}
    values, others = [0] * (len(ops) + 2), [0] * (len(ops) + 2)
    for op in ops:
        for value in op.results:
            readers = [number.get(use.operation, len(ops)) for use in value.uses]
            # It is live from after its operation up to its last reader.
            for place, change in ((number[op] + 1, 1), (max(readers) + 1, -1)) if readers else ():
                values[place] += change
                others[place] += change * (not isinstance(value.type, (Float32Type, Float64Type)))
    return list(zip(accumulate(values), accumulate(others), strict=True))


def _live(ops: Sequence[Operation], body: Block, cut: int) -> list[SSAValue]:
    """The results of operations before the cut that those after it read, or that the body yields."""
    last = body.last_op
    assert last is not None, "a body without a terminator passes no verifier"
    before = {result for op in ops[:cut] for result in op.results}
    read = [value for op in (*ops[cut:], last) for value in op.operands]
    return list(dict.fromkeys(value for value in read if value in before))


def _loop_of(
    ops: Sequence[Operation], builder: LoopBuilder, count: Index, total: int, shortest: int
) -> AbstractContextManager[Index]:
    """The loop of a stage over the elements of a tile. For special functions expand-math chooses its vectors."""
    if any(map(is_special, ops)):
        return builder.loop(0, count, attributes=PARALLEL)
    return loop_over_elements(builder, 0, count, total, shortest)


def emit_stages(emitter: NestEmitter, stages: Stages, inner: int, lower: Index, upper: Index) -> None:
    """Emit the innermost loop from `lower` to `upper`; the loops around it are bound."""
    builder, nest = emitter.builder, emitter.nest
    kept = dict.fromkeys(value for left in stages.left for value in left)
    buffers = {value: builder.alloca(memref_type((TILE,), value.type)) for value in kept}
    total = nest.sizes[inner]
    shortest = (total % TILE or TILE) if may_repeat(nest) else 0
    with builder.loop(lower, upper, step=TILE) as start:
        # All tasks are whole tiles if the loop is: see `_granularity`.
        count = TILE if total % TILE == 0 else builder.min(upper - start, TILE)
        for ops, left in zip(stages.ops, stages.left, strict=True):
            is_last = ops is stages.ops[-1]
            with _loop_of(ops, builder, count, total, shortest) as lane, emitter.scope():
                emitter.bind(inner, start + lane)
                values = emit_stage(emitter, ops, buffers, lane, is_last)
                for value in (value for value in left if value.owner in ops):
                    builder.store(values[value], buffers[value], [lane])
                if is_last:
                    _store_outputs(emitter, values)


def _store_outputs(emitter: NestEmitter, values: Mapping[SSAValue, SSAValue]) -> None:
    body = emitter.nest.body
    assert body is not None and body.last_op is not None
    for k, value in enumerate(body.last_op.operands):
        emitter.store_output(k, values.get(value, value))


def _is_in(value: SSAValue, body: Block) -> bool:
    """Whether a value is the body's own: others, such as buffers that it reads, stay what they are."""
    return (value.owner if isinstance(value, BlockArgument) else value.owner.parent) is body


def emit_stage(
    emitter: NestEmitter, ops: Sequence[Operation], buffers: dict[SSAValue, SSAValue], lane: Index, is_last: bool
) -> dict[SSAValue, SSAValue]:
    """Copy the operations of a stage; returns the values here of those that it computes and reads, and of results."""
    body = emitter.nest.body
    assert body is not None and body.last_op is not None
    last = body.last_op
    inside = {result for op in ops for result in op.results}
    read = [value for op in ops for value in op.operands]
    if is_last:
        read += last.operands
    mapping: dict[SSAValue, SSAValue] = {}
    constants: dict[Operation, None] = {}
    for value in dict.fromkeys(read):
        if not _is_in(value, body):
            continue
        if isinstance(value, BlockArgument):
            count = len(emitter.nest.inputs)
            k = value.index
            mapping[value] = emitter.load_input(k) if k < count else emitter.load_output(k - count)
        elif isinstance(value.owner, arith.ConstantOp):
            constants[value.owner] = None
        elif value not in inside:
            mapping[value] = emitter.builder.load(buffers[value], [lane])
    emitter.clone([*constants, *ops, last], mapping)
    return mapping
