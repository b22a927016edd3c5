"""Emits one operation whose iterations the threads of a block share."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute, SSAValue

from ...convert_linalg_to_scf.reduction import Inits, emit_reduction
from ...loop_nests.combination import Combination, Joint
from ...loop_nests.combiners import known_combiners
from ...loop_nests.emission import NestEmitter
from ...loop_nests.indices import delinearized
from ...loop_nests.kernel_builder import Index
from ...loop_nests.unrolling import UNROLL
from ..reduction.block import combine_lanes
from ..threads.builder import GpuBuilder
from ..threads.ranges import ceil_div
from ..threads.sweep import ROLLED
from .shares import Share

SEVERAL: Mapping[str, Attribute] = {UNROLL: IntegerAttr(4, IntegerType(64))}
"""The attribute of a loop over a thread's elements, several of which are read before the first is written."""


def emit_alone(builder: GpuBuilder, share: Share, inits: Inits) -> None:
    """The only iteration of a nest, in every thread: all of them compute the same."""
    _emit_point(builder, share, inits, [0] * share.kept)


def emit_shared(builder: GpuBuilder, share: Share, inits: Inits, threads: int) -> None:
    """Emit a nest; its results are divided among the threads, in the order in which they lie in memory."""
    if 0 in share.nest.sizes:
        return
    groups, size = threads // share.lanes, list(share.nest.sizes[: share.kept])
    for loop, part in zip(range(share.kept)[-2:], share.tile[-min(share.kept, 2) :], strict=False):
        size[loop] //= part
    first = builder.thread_id() // share.lanes
    several = SEVERAL if share.kept == len(share.nest.sizes) else ROLLED
    with _results(builder, first, math.prod(size), groups, several) as number:
        indices = delinearized(number, size)
        if share.lanes > 1:
            _reduce_in_lanes(builder, share, inits, indices)
        elif share.tile != (1, 1):
            _reduce_tile(builder, share, inits, indices, size)
        else:
            _emit_point(builder, share, inits, indices)


@contextmanager
def _results(
    builder: GpuBuilder, first: Index, count: int, groups: int, attributes: Mapping[str, Attribute]
) -> Generator[Index]:
    """The numbers `first`, `first + groups`, .. below `count`, as often in all threads."""
    with builder.loop(0, ceil_div(count, groups), attributes=attributes) as step:
        number = step * groups + first
        with builder.when_below(number, count, count % groups != 0):
            yield number


def _emit_point(builder: GpuBuilder, share: Share, inits: Inits, indices: Sequence[Index]) -> None:
    """One result, in one thread."""
    if share.kept < len(share.nest.sizes):
        nest = replace(share.nest, bound=share.kept)
        emit_reduction(builder, nest, inits, None, [builder.index(index) for index in indices])
        return
    emitter = NestEmitter(builder, share.nest)
    emitter.indices = list(indices)
    emitter.load_ready()
    # A reduction of one element starts from its initial value, too.
    starts = _starts(emitter, inits) if any(init is not None for init in inits) else None
    for k, value in enumerate(emitter.body(starts)):
        emitter.store_output(k, value)


def _starts(emitter: NestEmitter, inits: Inits) -> list[SSAValue]:
    """The values that the results of a reduction start from."""
    return [emitter.load_output(k) if init is None else init for k, init in enumerate(inits)]


def _reduce_tile(builder: GpuBuilder, share: Share, inits: Inits, indices: Sequence[Index], box: Sequence[int]) -> None:
    """A tile of results, in one thread: rows one after the other, columns as far apart as the threads reach."""
    nest, (rows, columns) = share.nest, share.tile
    *outer, row, column = indices
    emitters: list[NestEmitter] = []
    for down in range(rows):
        for across in range(columns):
            emitters.append(NestEmitter(builder, nest))
            at = [*outer, row * rows + down, column + across * box[-1]]
            emitters[-1].indices[: share.kept] = at
            emitters[-1].load_ready()
    starts = [start for emitter in emitters for start in _starts(emitter, inits)]
    values = _accumulate(builder, emitters, share, share.kept, starts)
    for emitter, results in zip(emitters, _groups(values, len(inits)), strict=True):
        for k, value in enumerate(results):
            emitter.store_output(k, value)


def _accumulate(
    builder: GpuBuilder, emitters: Sequence[NestEmitter], share: Share, loop: int, starts: Sequence[SSAValue]
) -> list[SSAValue]:
    """The results of a tile, over the reduced loops from `loop` on."""
    with builder.loop(0, share.nest.sizes[loop], carry=starts) as (index, values), ExitStack() as scopes:
        for emitter in emitters:
            scopes.enter_context(emitter.scope())
            emitter.bind(loop, index)
        if loop < len(share.nest.sizes) - 1:
            builder.yield_(*_accumulate(builder, emitters, share, loop + 1, values))
        else:
            groups = _groups(values, len(share.nest.outputs))
            builder.yield_(*(x for emitter, each in zip(emitters, groups, strict=True) for x in emitter.body(each)))
    return values


def _groups(values: Sequence[SSAValue], size: int) -> list[Sequence[SSAValue]]:
    return [values[at : at + size] for at in range(0, len(values), size)]


def _reduce_in_lanes(builder: GpuBuilder, share: Share, inits: Inits, indices: Sequence[Index]) -> None:
    """One result, whose elements neighbouring threads take in turn."""
    nest, lanes = share.nest, share.lanes
    known = known_combiners(nest)
    assert known is not None
    types = tuple(combiner.type for combiner in known)
    how = Combination(types, tuple(inits), tuple(known))
    emitter = NestEmitter(builder, nest)
    for loop, index in enumerate(indices):
        emitter.indices[loop] = index
    emitter.load_ready()
    lane = builder.thread_id() % lanes
    values = _partial(builder, emitter, share, share.kept, lane, how.neutral(builder))
    values = combine_lanes(builder, Joint((how,)), values, lanes)
    with builder.when(builder.index(lane).compare("eq", 0)):
        how = replace(how, inits=tuple(_starts(emitter, inits)))
        for k, value in enumerate(how.started(builder, values)):
            emitter.store_output(k, value)


def _partial(
    builder: GpuBuilder, emitter: NestEmitter, share: Share, loop: int, lane: Index, start: Sequence[SSAValue]
) -> list[SSAValue]:
    """The elements of a lane, of the reduced loops from `loop` on; the last one is divided among the lanes."""
    size, last = share.nest.sizes[loop], loop == len(share.nest.sizes) - 1
    count = ceil_div(size, share.lanes) if last else size
    with builder.loop(0, count, carry=start) as (step, values), emitter.scope():
        if not last:
            emitter.bind(loop, step)
            builder.yield_(*_partial(builder, emitter, share, loop + 1, lane, values))
        else:
            index = step * share.lanes + lane
            if size % share.lanes == 0:
                emitter.bind(loop, index)
                builder.yield_(*emitter.body(values))
            else:
                with builder.when(builder.index(index).below(size)) as taken:
                    emitter.bind(loop, index)
                    builder.yield_(*emitter.body(values))
                with builder.otherwise():
                    builder.yield_(*values)
                builder.yield_(*taken)
    return values
