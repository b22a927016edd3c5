"""
Short rows in lanes: a tile of rows is transposed, and the vectors of each step run across its rows.

    tile[e, lane] = x[first + lane, e]        # what the steps read of each row
    max[lane] = max over e of tile[e, lane]   # each step in turn, for all lanes
    y[first + lane, e] = result[e, lane]      # what they have written

For loops over a few elements that are too large to be unrolled, as elementary functions make them. On machines with
short vectors also for most rows that are no whole vectors, and for longer ones with functions of a number of each row.
All lanes are computed, also those beyond the last row: of zeros, or of rows of the tile before.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, BFloat16Type, i1
from xdsl.ir import Operation, SSAValue

from ...dialects.cost import CHEAP
from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import scalar_attr, width_of
from ..device.cpu import CPU
from ..loop_nests.combiners import known_combiners
from ..loop_nests.cost import is_elementary, task_count, task_size, weight_of
from ..loop_nests.indices import chunk, delinearized
from ..loop_nests.loop_builder import PARALLEL, SCALAR, Index, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest
from ..loop_nests.unrolling import INLINED, LANES, ROUNDED, is_short_but_rolled
from ..loop_nests.variation import loads_of
from .elementwise import emit_elementwise
from .extreme_rows import lanes_of_row
from .reduction import Inits, emit_reduction
from .transposition import Side, block_of, can_transpose, emit_transposed

ROWS, MOST_ROWS = 2 * LANES, 8 * LANES
"""Rows of a tile, and of one of many that takes a part of the first-level cache."""

TILED = 4
"""Tiles from which the lanes of the last one that have no row take little of the time."""

CACHED = CPU.l1_bytes // 2
"""Bytes of all tiles of more than `ROWS` rows."""

LEAST_ROWS = 8
"""Rows that are worth a tile of which the other lanes are computed in vain."""

MOST_SHORT, MOST_ELEMENTS = 31, 100
"""
Elements of a row that may run in lanes, and of one whose numbers take long. Others are vectors of their own.
"""

LEAST_SUMMED = 13
"""Elements of a row, no whole vectors, from which even its sum is faster in lanes."""

TILES = 64 * 1024
"""Bytes of all tiles, on a thread's stack."""

TOGETHER = 8
"""Most elements from one row to the next for which LLVM interleaves vectors; single elements beat its gathers."""

LEAST_TRANSPOSED = 4
"""Elements of a row from which blocks of several rows are transposed in registers, if rows are further apart."""


_EXTREMES = (arith.MaximumfOp, arith.MinimumfOp)


@dataclass(frozen=True)
class Tile:
    """The elements of a buffer that the steps use of each row, transposed."""

    strides: tuple[int, ...]
    """Elements from one row to the next, for each dimension of rows."""
    first: int
    """The first of these elements in the row of number 0."""
    count: int
    loads: bool
    """Whether it is filled from the buffer."""
    stores: bool
    """Whether it is copied to the buffer."""


@dataclass(frozen=True)
class LanePlan:
    """The steps of a row kernel on tiles of `rows` rows along the last dimension of `shape`."""

    shape: tuple[int, ...]
    steps: Sequence[tuple[Nest, Inits]]
    tiles: Mapping[SSAValue, Tile]
    temporaries: Mapping[SSAValue, int]
    """The kernel's buffers that hold one row, with their elements."""

    @property
    def bytes_of_row(self) -> int:
        counts = {**self.temporaries, **{root: tile.count for root, tile in self.tiles.items()}}
        return sum(count * int(buffer_of(root).element_type.compile_time_size) for root, count in counts.items())


def plan_lanes(
    shape: tuple[int, ...],
    steps: Sequence[tuple[Nest, Inits]],
    temporaries: Mapping[SSAValue, int],
    vector_bits: int,
) -> LanePlan | None:
    """The plan for steps whose first loops are the rows; None if they are not worth it, or not possible."""
    rows = len(shape)
    nests = [nest for nest, _ in steps]
    many, narrow = shape[-1] >= MOST_ROWS, vector_bits < CPU.vector_bits
    suits = shape[-1] >= LEAST_ROWS and _suit_lanes(nests, rows, many, narrow)
    return _plan(shape, steps, temporaries) if suits else None


def plan_reduced_lanes(nest: Nest, inits: Inits, vector_bits: int) -> LanePlan | None:
    """The plan for one reduction of many short rows, where vectors are short; None as above."""
    if vector_bits >= CPU.vector_bits or nest.bound or len(nest.sizes) != 2 or nest.reduction != (False, True):
        return None
    rows, count = nest.sizes
    if not TOGETHER < count <= MOST_SHORT or rows < MOST_ROWS or not _reduces_faster(nest, count):
        return None
    if lanes_of_row(nest, 1, known_combiners(nest), vector_bits) is not None:
        return None
    return _plan((rows,), [(replace(nest, bound=1), inits)], {})


def _reduces_faster(nest: Nest, count: int) -> bool:
    """
    Whether a reduction of rows is faster in lanes: one that chooses, that looks at NaN in bf16 or after whole vectors,
    or that combines truth values. Sums of vectors, and maxima of integers, are faster along rows.
    """
    combiners = known_combiners(nest)
    read = [buffer_of(x.root).element_type for x in nest.inputs if isinstance(x, Access)]
    if combiners is None:
        return count >= LEAST_SUMMED or all(isinstance(type_, AnyFloat) for type_ in read)
    if all(isinstance(each.op, _EXTREMES) for each in combiners):
        width = max(map(width_of, read), default=0)
        return width <= 16 or (width == 32 and count % LANES == 0)
    return all(each.type == i1 for each in combiners)


def _plan(
    shape: tuple[int, ...], steps: Sequence[tuple[Nest, Inits]], temporaries: Mapping[SSAValue, int]
) -> LanePlan | None:
    """The plan, without regard to its worth; None if it is not possible."""
    rows, nests = len(shape), [nest for nest, _ in steps]
    if any(loads_of(nest) or _has_regions(nest) or _asks_for_row(nest, rows) for nest in nests):
        return None
    tiles = _tiles_of(steps, shape, temporaries)
    if tiles is None:
        return None
    plan = LanePlan(shape, steps, tiles, temporaries)
    return plan if plan.bytes_of_row * LANES <= TILES else None


def _suit_lanes(nests: Sequence[Nest], rows: int, many: bool, narrow: bool) -> bool:
    """
    Whether the rows of some steps are better in lanes; `many`: where they fill the largest tiles; `narrow`: with
    vectors of fewer than 512 bits, which have no masks for the rest of a row.
    """
    counts = [math.prod(nest.sizes[rows:]) for nest in nests]
    sizes = [_sizes_of(nest) for nest in nests]
    longest = max(counts)
    if narrow and longest > TOGETHER:
        # A number of each row that is rounded, or whose logarithm is taken, takes as long as a vector of them.
        once = any(count == 1 and INLINED in size for count, size in zip(counts, sizes, strict=True))
        if once or any(ROUNDED in size for size in sizes):
            return True
        long = [nest for nest, count in zip(nests, counts, strict=True) if count > 1]
        short = any(TOGETHER < count <= MOST_SHORT and count % LANES for count in counts)
        if short and (longest >= LEAST_SUMMED or (many and not all(map(_only_adds, long)))):
            return longest <= MOST_SHORT
    return longest <= MOST_SHORT and any(
        _stays_rolled(nest, count, size) for nest, count, size in zip(nests, counts, sizes, strict=True)
    )


def _stays_rolled(nest: Nest, count: int, sizes: Sequence[int]) -> bool:
    """
    Whether the loops over the elements of a row have few iterations, but are too large to be unrolled. Whole vectors
    are left to be rows, but for those of elementary functions, which would wait for each other.
    """
    if nest.body is None or (count % LANES == 0 and INLINED not in sizes):
        return False
    return is_short_but_rolled(count, len(nest.accesses) + sum(sizes))


def _sizes_of(nest: Nest) -> list[int]:
    """The size of each operation of a body, as they are counted where loops are unrolled."""
    return [] if nest.body is None else [_size_of(op) for op in nest.body.ops]


def _size_of(op: Operation) -> int:
    if type(op) is arith.ConstantOp:
        return 0
    if type(op) is arith.TruncFOp and isinstance(op.result.type, BFloat16Type):
        return ROUNDED
    return INLINED if is_elementary(op) else 1


def _only_adds(nest: Nest) -> bool:
    """Whether a body has no operation that takes longer than an addition, as maxima do, which look at NaN."""
    ops = () if nest.body is None else nest.body.ops
    return all(weight_of(op).loop <= CHEAP.loop and not isinstance(op, _EXTREMES) for op in ops)


def _has_regions(nest: Nest) -> bool:
    return nest.body is not None and any(op.regions for op in nest.body.ops)


def _asks_for_row(nest: Nest, rows: int) -> bool:
    return any(loop is not None and loop < rows for loop in nest.dims.values())


def _tiles_of(
    steps: Sequence[tuple[Nest, Inits]], shape: tuple[int, ...], temporaries: Mapping[SSAValue, int]
) -> dict[SSAValue, Tile] | None:
    """The tiles of all buffers that move with the rows; None if one has elements that a tile cannot hold."""
    rows = len(shape)
    used: dict[SSAValue, list[Access]] = {}
    elements: dict[SSAValue, set[int]] = {}
    written: dict[SSAValue, set[int]] = {}
    loads, shared = set[SSAValue](), set[SSAValue]()
    for nest, inits in steps:
        for access, reads, writes in _uses_of(nest, inits):
            root = access.root
            if root in temporaries:
                continue
            if not access.strides[rows - 1]:
                # The same for all lanes.
                if writes:
                    return None
                shared.add(root)
                continue
            places = _places(nest, access, rows)
            if access.dynamic or places is None:
                return None
            used.setdefault(root, []).append(access)
            elements.setdefault(root, set()).update(places)
            known = written.setdefault(root, set())
            if reads and not places <= known:
                loads.add(root)
            if writes:
                known.update(places)
    if shared & used.keys():
        return None
    tiles: dict[SSAValue, Tile] = {}
    for root, accesses in used.items():
        strides = accesses[0].strides[:rows]
        first, last = min(elements[root]), max(elements[root])
        count = last + 1 - first
        if any(access.strides[:rows] != strides for access in accesses) or count > MOST_ELEMENTS or strides[-1] <= 0:
            return None
        if written[root] and not _are_apart(shape, strides, count):
            return None
        # Elements between those that are written keep their values.
        fills = root in loads or (bool(written[root]) and len(written[root]) < count)
        tiles[root] = Tile(strides, first, count, fills, bool(written[root]))
    return tiles


def _are_apart(shape: tuple[int, ...], strides: tuple[int, ...], count: int) -> bool:
    """
    Whether no row begins among the `count` elements from the first to the last of another: those between would be
    copied back over what the other has stored.
    """
    span = count
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size > 1 and stride < span:
            return False
        span += stride * (size - 1)
    return True


def _uses_of(nest: Nest, inits: Inits) -> list[tuple[Access, bool, bool]]:
    """The accesses of a step, in its order, with whether they read and write."""
    uses = [(x, True, False) for x in nest.inputs if isinstance(x, Access)]
    for k, access in enumerate(nest.outputs):
        argument = None if nest.body is None else nest.body.args[len(nest.inputs) + k]
        asked = argument is not None and argument.uses.get_length() > 0
        begins = any(nest.reduction) and inits[k] is not None
        uses.append((access, asked and not begins, True))
    return uses


def _places(nest: Nest, access: Access, rows: int) -> set[int] | None:
    """The elements that an access uses of row 0; None if they are many."""
    loops = [loop for loop in range(rows, len(nest.sizes)) if access.strides[loop]]
    if nest.size_of(loops) > MOST_ELEMENTS:
        return None
    ranges = (range(0, nest.sizes[loop] * access.strides[loop], access.strides[loop]) for loop in loops)
    return {access.offset + sum(place) for place in itertools.product(*ranges)}


def emit_lanes(builder: LoopBuilder, plan: LanePlan, work: int) -> None:
    """Emit the plan, in parallel tasks of whole tiles if there is enough work."""
    *outer, last = plan.shape
    lanes = _lanes_of(plan, last)
    counts = (*outer, -(-last // lanes))
    total = math.prod(counts)
    size = task_size(total, task_count(total, work, total))
    nests = [_in_lanes(nest, plan, counts, lanes) for nest, _ in plan.steps]
    with builder.parallel(-(-total // size)) as task:
        held = {root: tile.count for root, tile in plan.tiles.items()} | dict(plan.temporaries)
        roots = {
            root: builder.alloca(memref_type((count, lanes), buffer_of(root).element_type))
            for root, count in held.items()
        }
        if last % lanes:
            for root, tile in plan.tiles.items():
                if tile.loads:
                    _clear(builder, roots[root])
        with builder.loop(*chunk(builder, task, size, total)) as number:
            bound = [builder.index(index) for index in delinearized(number, counts)]
            inside = lanes if last % lanes == 0 else builder.min(last - bound[-1] * lanes, lanes)
            places = [*bound[:-1], bound[-1] * lanes]
            for root, tile in plan.tiles.items():
                if tile.loads:
                    _copy(builder, root, tile, roots[root], (places, inside), into=True)
            for (_, inits), nest in zip(plan.steps, nests, strict=True):
                builder.location = nest.op.location
                if any(nest.reduction):
                    emit_reduction(builder, nest, inits, roots, bound)
                else:
                    emit_elementwise(builder, nest, roots, bound)
            for root, tile in plan.tiles.items():
                if tile.stores:
                    _copy(builder, root, tile, roots[root], (places, inside), into=False)


def _lanes_of(plan: LanePlan, rows: int) -> int:
    """The rows of a tile, of which there are `rows` along the last dimension."""
    lanes = MOST_ROWS if any(_passes_registers(*each) for each in plan.tiles.items()) else ROWS
    while lanes > ROWS and (rows < TILED * lanes or plan.bytes_of_row * lanes > CACHED):
        lanes //= 2
    return lanes if rows > LANES and plan.bytes_of_row * lanes <= TILES else LANES


def _passes_registers(root: SSAValue, tile: Tile) -> bool:
    """Whether a tile is transposed in registers, by a function."""
    element = buffer_of(root).element_type
    return tile.strides[-1] > TOGETHER and tile.count >= LEAST_TRANSPOSED and can_transpose(element)


def _in_lanes(nest: Nest, plan: LanePlan, counts: tuple[int, ...], lanes: int) -> Nest:
    """The nest with the tiles as its last bound loop, and their lanes as the first free one."""
    rows = len(counts)

    def moved(access: Access) -> Access:
        tile, inner = plan.tiles.get(access.root), access.strides[rows:]
        if tile is None and access.root not in plan.temporaries:
            return replace(access, strides=(*access.strides[:rows], 0, *inner))
        first = 0 if tile is None else tile.first
        strides = (*(0 for _ in counts), 1, *(stride * lanes for stride in inner))
        return Access(access.root, (access.offset - first) * lanes, (), strides)

    return Nest(
        nest.op,
        (*counts, lanes, *nest.sizes[rows:]),
        (*nest.reduction[:rows], False, *nest.reduction[rows:]),
        tuple(moved(x) if isinstance(x, Access) else x for x in nest.inputs),
        tuple(map(moved, nest.outputs)),
        nest.body,
        {dim: None if loop is None else loop + 1 for dim, loop in nest.dims.items()},
        rows,
    )


def _clear(builder: LoopBuilder, tile: SSAValue) -> None:
    """Fill a tile with zeros: lanes without a row are computed too."""
    zero = builder.scalar(scalar_attr(0, buffer_of(tile).element_type))
    count, lanes = buffer_of(tile).get_shape()
    with builder.loop(0, count) as element, builder.loop(0, lanes, attributes=PARALLEL) as lane:
        builder.store(zero, tile, [element, lane])


def _copy(
    builder: LoopBuilder,
    root: SSAValue,
    tile: Tile,
    held: SSAValue,
    rows: tuple[Sequence[Index], Index],
    into: bool,
) -> None:
    """Copy rows, as many as `rows` says from the place that it says, between their buffer and a tile."""
    (*outer, first), count = rows
    element, step = buffer_of(root).element_type, tile.strides[-1]
    place: Index = tile.first
    for stride, index in zip(tile.strides, (*outer, first), strict=True):
        place += index * stride
    if _passes_registers(root, tile):
        lanes, width = buffer_of(held).get_shape()[1], width_of(element)
        matrix, columns = Side(root, place, step), Side(held, 0, lanes)
        if into:
            block = block_of(builder.vector_bits, width, 1, lanes, tile.count)
            emit_transposed(builder, matrix, columns, count, tile.count, block)
        else:
            block = block_of(builder.vector_bits, width, 1, tile.count, lanes)
            emit_transposed(builder, columns, matrix, tile.count, count, block)
        return
    elements = math.prod(buffer_of(root).get_shape())
    flat = builder.strided_view(root, 0, (elements,), (1,))
    for begin in range(0, tile.count, TOGETHER):
        with builder.loop(0, count, attributes=PARALLEL if step <= TOGETHER else SCALAR) as lane:
            start = place + lane * step
            for at in range(begin, min(begin + TOGETHER, tile.count)):
                if into:
                    builder.store(builder.load(flat, [start + at]), held, [at, lane])
                else:
                    builder.store(builder.load(held, [at, lane]), flat, [start + at])
