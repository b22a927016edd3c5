"""Nests without reduction: every iteration writes its own elements."""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import memref_type
from ..loop_nests.borders import Inside, inside_of
from ..loop_nests.cost import nest_work, task_count, task_size
from ..loop_nests.emission import Bounds, NestEmitter
from ..loop_nests.indices import chunk, delinearized
from ..loop_nests.loop_builder import Index, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest
from ..loop_nests.whole_vectors import is_long, leaves_rest, loop_over_elements, may_repeat
from .loop_order import MOST_UNROLLED, canonical, gathers_rows, repeats_elements, unrolled_loops
from .meanwhile import TILE as MEANWHILE
from .meanwhile import Meanwhile
from .row_copies import emit_row_gather, row_gather_of
from .stages import TILE as STAGED
from .stages import emit_stages, stages_of
from .transposition import (
    LEAST_TILED,
    ROWS_BEYOND_CACHES,
    TILE,
    can_transpose,
    emit_staged,
    emit_transposition,
    transposition_of,
)
from .weaving import Part, block_of, emit_weave, weave_of

LINE = 16
"""Tasks begin at multiples of this many elements, so that no two write one cache line of 4-byte elements."""

LARGE = 256
"""The same for results that leave the caches: a multiple of the tiles that are stored past them."""

COLLIDING = 2048
"""Bytes: of lines this far apart, every other one or more share a set of the L1 cache."""

ENOUGH = 32
"""Iterations that make a loop worth cutting; inner loops stay whole because they run through memory contiguously."""

LONG_ROW = 1 << 14
"""Iterations of an innermost loop whose parts run through enough contiguous memory."""


def loops_to_cut(nest: Nest, loops: Sequence[int], wanted: int) -> list[int]:
    """
    The loops to divide into tasks: the outermost with enough iterations, else the longest. A task has a part of it.

    Outer loops that have enough iterations together are divided instead, those before the last one into single
    iterations: otherwise each task would go through all of memory.
    """
    single = next((l for l in loops if nest.sizes[l] >= wanted), max(loops, key=lambda l: nest.sizes[l]))
    outer: list[int] = []
    for loop in loops[: loops.index(single)]:
        outer.append(loop)
        if nest.size_of(outer) >= wanted:
            return outer
    return [*outer, single] if single == nest.free[-1] and nest.sizes[single] < LONG_ROW else [single]


def emit_elementwise(
    builder: LoopBuilder,
    nest: Nest,
    roots: Mapping[SSAValue, SSAValue] | None = None,
    bound: Sequence[Index] = (),
    meanwhile: Meanwhile | None = None,
) -> None:
    """
    Emit an all-parallel nest; `bound` holds the indices of its bound loops, and `meanwhile` is what to do between the
    tiles of its only loop.

    Large nests are cut along one loop into tasks of an scf.parallel, with the loops of a task inside.
    """
    if 0 in nest.sizes:
        return
    nest = canonical(nest)
    work = nest_work(nest)
    free = list(nest.free)
    wanted = task_count(work, work, work)
    emitter = NestEmitter(builder, nest, roots)
    if wanted == 1 or not free or bound or builder.parallel_body is not None:
        emitter.make_views()
        _emit_loops(emitter, free, None, bound, meanwhile)
        return
    *single, cut = loops_to_cut(nest, _loops_to_cut(nest, free), min(wanted, ENOUGH))
    sizes = [nest.sizes[loop] for loop in single]
    total, each = nest.sizes[cut], math.prod(sizes)
    tasks = -(-task_count(work, work, total * each) // each)
    size = task_size(total, min(tasks, total), _granularity(nest, free, cut))
    parts = -(-total // size)
    with builder.parallel(each * parts) as task, emitter.scope():
        emitter.make_views()
        part = task % parts if single else task
        bounds: dict[int, tuple[Index, Index]] = {cut: chunk(builder, part, size, total)}
        if single:
            for loop, index in zip(single, delinearized(task // parts, sizes), strict=True):
                bounds[loop] = (index, index + 1)
        _emit_loops(emitter, free, bounds, bound)


def _loops_to_cut(nest: Nest, free: list[int]) -> list[int]:
    """The loops that may be cut, those first that are better to cut. A loop of one or two tiles stays whole."""
    copy = transposition_of(nest)
    if copy is None:
        tiled = tiled_loops(nest, free)
        short = () if tiled else unrolled_loops(nest, free)
        whole = [l for l in free if l in short or _shares_lines(nest, l, free[-1])]
        return [l for l in free if l not in whole and (l not in tiled[:1] or nest.sizes[l] > 2 * TILE)]
    # Each task reads whole rows: one that writes whole rows instead takes twice as long.
    outer = [loop for loop in free if loop not in (copy.inner, copy.other, copy.unit)]
    return [*outer, *(loop for loop in (copy.inner, copy.other) if nest.sizes[loop] > 2 * TILE or not outer)]


def _shares_lines(nest: Nest, loop: int, inner: int) -> bool:
    """Whether the iterations of a short loop write elements between those of the innermost one."""
    step, within = (abs(nest.outputs[0].strides[each]) for each in (inner, loop))
    return nest.sizes[loop] <= MOST_UNROLLED and 0 < within < step <= MOST_UNROLLED


def _granularity(nest: Nest, free: list[int], cut: int) -> int:
    """The number of iterations of which a task's share must be a multiple."""
    if cut in tiled_loops(nest, free):
        return TILE
    if cut == free[-1] and stages_of(nest, cut) is not None:
        return STAGED
    if cut == free[-1] and _is_large(nest):
        return LARGE
    return LINE if cut == free[-1] else 1


def tiled_loops(nest: Nest, free: Sequence[int]) -> tuple[int, ...]:
    """The loop to tile together with the innermost one, and that; none if the operands agree on the innermost loop."""
    copy = transposition_of(nest)
    if copy is not None:
        return copy.other, copy.inner
    other = transposed_loop(nest, free) if free else None
    return () if other is None else (other, free[-1])


def transposed_loop(nest: Nest, free: Sequence[int]) -> int | None:
    """The loop along which an input is contiguous that the innermost loop strides through; None if there is none."""
    inner = free[-1]
    for k, access in enumerate(nest.inputs):
        if isinstance(access, Access) and abs(access.strides[inner]) > 1:
            for loop in free[:-1]:
                # The lines of few iterations stay in the cache by themselves, unless they collide or are transposed.
                few = LEAST_TILED if _is_staged(nest, k, loop, inner) else TILE
                if abs(access.strides[loop]) == 1 and nest.sizes[loop] >= LEAST_TILED and nest.sizes[inner] > few:
                    return loop
    return None


def _emit_loops(
    emitter: NestEmitter,
    free: list[int],
    bounds: Bounds | None,
    bound: Sequence[Index],
    meanwhile: Meanwhile | None = None,
) -> None:
    """Emit the free loops within `bounds`, serially."""
    within = bounds or {}
    with emitter.scope():
        emitter.indices[: len(bound)] = bound
        emitter.load_ready()
        if _emit_movement(emitter, within) or (meanwhile is None and _emit_plain(emitter, within)):
            return
        other = transposed_loop(emitter.nest, free) if free else None
        if free and other is None and _emit_staged(emitter, free, within):
            return
        if _emit_gathered(emitter, free, within):
            return
        inside = inside_of(emitter.nest, free[-1]) if free and other is None and meanwhile is None else None
        if inside is not None:
            _emit_by_borders(emitter, free, inside, within)
        elif other is not None:
            short = [loop for loop in free[:-1] if repeats_elements(emitter.nest, loop, free[-1])]
            with _tiles(emitter, [loop for loop in free if loop not in short], other, within):
                _store_places(emitter, short)
        elif meanwhile is not None:
            with _by_tiles(emitter, meanwhile):
                store_element(emitter)
        else:
            _emit_unrolled(emitter, free, within)


def _emit_movement(emitter: NestEmitter, bounds: Bounds) -> bool:
    """Emit a transposition or a gather of rows; return whether it is one."""
    copy = transposition_of(emitter.nest)
    if copy is not None:
        emit_transposition(emitter, copy, bounds)
        return True
    gather = row_gather_of(emitter.nest)
    if gather is None or gather.inner in bounds:
        return False
    emit_row_gather(emitter, gather, bounds)
    return True


def _emit_staged(emitter: NestEmitter, free: list[int], bounds: Bounds) -> bool:
    """Emit the innermost loop in stages that share what they compute; return whether it has any."""
    *outer, inner = free
    stages = stages_of(emitter.nest, inner)
    if stages is not None:
        with emitter.loops(outer, bounds, innermost=False):
            emit_stages(emitter, stages, inner, *bounds.get(inner, (0, emitter.nest.sizes[inner])))
    return stages is not None


def _emit_unrolled(emitter: NestEmitter, free: list[int], bounds: Bounds) -> None:
    """Emit the loops, those of few iterations unrolled."""
    short = unrolled_loops(emitter.nest, free)
    if short and _emit_woven(emitter, free, short, bounds):
        return
    if free and not short and _emit_past_caches(emitter, free, bounds):
        return
    if free and not short and _fills_vectors(emitter, free[-1], bounds):
        _emit_long(emitter, free, bounds)
        return
    with emitter.loops([loop for loop in free if loop not in short], bounds):
        _store_places(emitter, short)


def _store_places(emitter: NestEmitter, short: Sequence[int]) -> None:
    """Compute and store the elements of the short loops, one after the other."""
    for place in itertools.product(*(range(emitter.nest.sizes[loop]) for loop in short)):
        with emitter.scope():
            for loop, index in zip(short, place, strict=True):
                emitter.bind(loop, index)
            store_element(emitter)


def _emit_past_caches(emitter: NestEmitter, free: list[int], bounds: Bounds) -> bool:
    """Emit the loops by tiles that are stored past the caches; return whether the results leave these."""
    if emitter.roots or not _is_large(emitter.nest):
        return False
    from .tiles_past_caches import emit_tiles, tile_of  # few programs have results of that size

    tile = tile_of(emitter.builder, emitter.nest)
    if tile is not None:
        emit_tiles(emitter, tile, free, bounds, store_element)
    return tile is not None


def _is_large(nest: Nest) -> bool:
    """Whether results leave the caches before something reads them."""
    return byte_size(buffer_of(nest.outputs[0].root)) >= ROWS_BEYOND_CACHES


def _fills_vectors(emitter: NestEmitter, inner: int, bounds: Bounds) -> bool:
    """Whether the innermost loop goes by whole vectors: that of a long body, or one whose last elements take long."""
    if not emitter.roots and is_long(emitter.nest):
        return True
    return inner not in bounds and leaves_rest(emitter.nest, inner) and may_repeat(emitter.nest)


def _emit_long(emitter: NestEmitter, free: list[int], bounds: Bounds) -> None:
    """Emit the loops around a long body, the innermost one over whole vectors where it can be."""
    *outer, inner = free
    total = emitter.nest.sizes[inner]
    shortest = 0 if inner in bounds or not may_repeat(emitter.nest) else total
    lower, upper = bounds.get(inner, (0, total))
    with (
        emitter.loops(outer, bounds, innermost=False),
        loop_over_elements(emitter.builder, lower, upper, total, shortest) as index,
        emitter.scope(),
    ):
        emitter.bind(inner, index)
        store_element(emitter)


def _emit_plain(emitter: NestEmitter, bounds: Bounds) -> bool:
    """Emit a copy or a fill of rows that are contiguous in memory; return whether it is one."""
    body = emitter.nest.body
    if body is not None and any(type(op) is not arith.ConstantOp for op in body.ops if op is not body.last_op):
        return False
    from .plain_rows import emit_plain_rows, plain_rows_of  # programs of a few kernels have none

    rows = plain_rows_of(emitter.builder, emitter.nest)
    if rows is not None:
        emit_plain_rows(emitter, rows, bounds)
    return rows is not None


def _emit_gathered(emitter: NestEmitter, free: list[int], bounds: Bounds) -> bool:
    """Emit a gather of rows of few elements, row by row; return whether it is one."""
    nest = emitter.nest
    if len(free) < 2 or free[-1] in bounds or not gathers_rows(nest, free[-1]):
        return False
    from .short_rows import emit_short_rows, short_rows_of  # few programs gather

    *outer, row, inner = free
    stages = short_rows_of(nest, inner)
    if stages is not None:
        with emitter.loops(outer, bounds, innermost=False):
            emit_short_rows(emitter, stages, row, inner, *bounds.get(row, (0, nest.sizes[row])))
    return stages is not None


def _emit_woven(emitter: NestEmitter, free: list[int], short: tuple[int, ...], bounds: Bounds) -> bool:
    """Emit a copy of rows of few elements by permutations of lanes; return whether it is one."""
    nest, inner = emitter.nest, free[-1]
    outer = [loop for loop in free[:-1] if loop not in short]
    if any(not all(access.strides[loop] for loop in short) for access in nest.outputs):
        return False
    with emitter.scope():
        # The block is the same in all iterations of the outer loops.
        emitter.indices = [0 if loop in outer else index for loop, index in enumerate(emitter.indices)]
        weave = weave_of([Part(emitter, inner, short)])
        block = None if weave is None else block_of(weave, nest.sizes[inner], emitter.builder.vector_bits)
    if block is None:
        return False
    with emitter.loops(outer, bounds, innermost=False):
        weave = weave_of([Part(emitter, inner, short)])
        assert weave is not None
        emit_weave(emitter.builder, weave, block, *bounds.get(inner, (0, nest.sizes[inner])))
    return True


def store_element(emitter: NestEmitter) -> None:
    """Compute and store the present element of each output."""
    for k, value in enumerate(emitter.body()):
        emitter.store_output(k, value)


def _emit_by_borders(emitter: NestEmitter, free: list[int], inside: Inside, bounds: Bounds) -> None:
    """The innermost loop in three: before, inside and after `inside`."""
    builder, last = emitter.builder, free[-1]
    lower, upper = bounds.get(last, (0, emitter.nest.sizes[last]))

    def within(place: int) -> Index:
        if isinstance(lower, int) and isinstance(upper, int):
            return max(lower, min(place, upper))
        return builder.index(builder.min(place, upper)).max(lower)

    ends = [lower, within(inside.first), within(inside.end), upper]
    with emitter.loops(free[:-1], bounds, innermost=False):
        for part, (first, end) in enumerate(itertools.pairwise(ends)):
            emitter.inside = inside if part == 1 else None
            if not (isinstance(first, int) and first == end):
                with emitter.loops([last], {last: (first, end)}):
                    store_element(emitter)
        emitter.inside = None


@contextmanager
def _by_tiles(emitter: NestEmitter, meanwhile: Meanwhile) -> Generator[None]:
    """The only loop by tiles, before each of which something else is done."""
    (loop,) = emitter.nest.free
    size = emitter.nest.sizes[loop]
    with emitter.builder.loop(0, size, step=MEANWHILE) as start:
        end = start + MEANWHILE if size % MEANWHILE == 0 else emitter.builder.min(start + MEANWHILE, size)
        meanwhile.before_tile(emitter.builder, start, end)
        with emitter.loops([loop], {loop: (start, end)}):
            yield


def emit_tile(
    builder: LoopBuilder,
    nest: Nest,
    roots: Mapping[SSAValue, SSAValue],
    bound: Sequence[Index],
    start: Index,
    end: Index,
) -> None:
    """
    Emit a part of an all-parallel nest, whose only loop that is not bound is from `start` to `end`, beside other work.
    """
    nest = canonical(nest)
    (loop,) = nest.free
    emitter = NestEmitter(builder, nest, roots)
    emitter.overlaps = True
    emitter.make_views()
    _emit_loops(emitter, [loop], {loop: (start, end)}, bound)


def _lines_collide(nest: Nest, k: int, other: int, inner: int) -> bool:
    """
    Whether the lines of a tile of input `k` map to too few cache sets to stay there.

    They do at strides that are multiples of 2 KiB: then 64 lines share two sets.
    """
    access = nest.inputs[k]
    if not isinstance(access, Access) or abs(access.strides[other]) != 1:
        return False
    size = int(buffer_of(access.root).element_type.compile_time_size)
    stride = abs(access.strides[inner])
    return stride > 1 and stride * size % COLLIDING == 0


def _is_transposed(nest: Nest, k: int, other: int, inner: int) -> bool:
    """Whether a tile of input `k` can be transposed through registers."""
    access = nest.inputs[k]
    if not isinstance(access, Access) or access.strides[other] != 1 or access.strides[inner] <= 1:
        return False
    return can_transpose(buffer_of(access.root).element_type)


def _is_staged(nest: Nest, k: int, other: int, inner: int) -> bool:
    """Whether a tile of input `k` is copied to a buffer first."""
    return _is_transposed(nest, k, other, inner) or _lines_collide(nest, k, other, inner)


def _stage(
    emitter: NestEmitter, k: int, other: int, inner: int, tile: dict[int, tuple[Index, Index]]
) -> tuple[SSAValue, list[tuple[int, Index]]]:
    """Copy the tile of input `k` to a buffer, transposed if it can be, so that the innermost loop is contiguous."""
    if _is_transposed(emitter.nest, k, other, inner):
        return emit_staged(emitter, k, tile), [(loop, start) for loop, (start, _) in tile.items()]
    builder, access = emitter.builder, cast(Access, emitter.nest.inputs[k])
    buffer = builder.alloca(memref_type((TILE, TILE), buffer_of(access.root).element_type))
    starts = [(inner, tile[inner][0]), (other, tile[other][0])]
    hoistable, emitter.hoistable = emitter.hoistable, [False] * len(emitter.hoistable)
    with emitter.loops([inner, other], tile):
        at = [cast(Index, emitter.indices[loop]) - start for loop, start in starts]
        builder.store(emitter.load_input(k), buffer, at)
    emitter.hoistable = hoistable
    return buffer, starts


@contextmanager
def _tiles(emitter: NestEmitter, free: list[int], other: int, bounds: Bounds) -> Generator[None]:
    """Square tiles of `other` and the innermost loop: all operands' lines of a tile stay in the cache."""
    builder, last = emitter.builder, free[-1]
    staged = [k for k in range(len(emitter.nest.inputs)) if _is_staged(emitter.nest, k, other, last)]
    whole = {loop: bounds.get(loop, (0, emitter.nest.sizes[loop])) for loop in (other, last)}

    def tile_of(loop: int, start: Index) -> tuple[Index, Index]:
        lower, upper = whole[loop]
        end = start + TILE
        even = isinstance(lower, int) and isinstance(upper, int) and (upper - lower) % TILE == 0
        return start, end if even else builder.min(end, upper)

    with (
        emitter.loops([loop for loop in free if loop not in (other, last)], bounds, innermost=False),
        builder.loop(*whole[other], step=TILE) as row,
        builder.loop(*whole[last], step=TILE) as column,
        emitter.scope(),
    ):
        tile = {other: tile_of(other, row), last: tile_of(last, column)}
        emitter.staged = {k: _stage(emitter, k, other, last, tile) for k in staged}
        with emitter.loops([other, last], tile):
            yield
        emitter.staged = {}
