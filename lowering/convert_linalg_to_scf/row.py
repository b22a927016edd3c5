"""
Row kernels: a chain of operations that share their leading dimensions runs row by row.

One loop over the rows, cut into tasks, contains the remaining loops of each operation in turn. Operations pass one row
at a time to the next, in a small buffer per task, so that every input is read from memory once. Sums of the columns of
all rows are added up by each task, and follow the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ...dialects.llvm_ops import FenceOp
from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import Buffer, memref_type, row_major
from ...dialects.support.kernel import Kernel
from ...dialects.support.views import root_buffer
from ..loop_nests.combiners import known_combiners
from ..loop_nests.cost import nest_work, task_count, task_size
from ..loop_nests.index_maps import is_row_access
from ..loop_nests.indices import chunk, delinearized
from ..loop_nests.kernel_builder import IndexValue
from ..loop_nests.loop_builder import LINE, PARALLEL, LoopBuilder, buffer_of
from ..loop_nests.nest import Access, Nest, Structured
from ..loop_nests.variation import buffers_loaded, loads_of
from .elementwise import emit_elementwise
from .reduction import emit_reduction
from .row_memory import in_place, next_row
from .transposition import ROWS_BEYOND_CACHES

if TYPE_CHECKING:
    from .column_sums import TileSums
    from .past_caches import PastCaches

ROW_BUFFER = 64 * 1024
"""Bytes: a larger temporary row stays in the kernel's buffer instead of on the thread's stack."""

ALL_ROW_BUFFERS = 256 * 1024
"""Bytes of stack that one task may use for its temporary rows."""

SHORT_ROW = 16
"""Elements of rows whose loops are unrolled, so that the vectors run across rows."""

LANE_ROW = 100
"""Elements of the longest rows that may run in lanes."""

LEAST_ROWS = 16
"""Rows along the last of several dimensions that make a loop of their own, if they are short."""

FEW_ROWS = 8
"""With fewer rows than this, it is better to cut each large operation separately."""


LEAST_SUMMED = 32
"""Rows from which partial sums of their columns are few beside them."""


@dataclass(frozen=True)
class RowStep:
    """One operation of the chain; its first loops are the rows."""

    nest: Nest
    inits: tuple[SSAValue | None, ...]
    """As in reduction.Inits; empty for operations that do not reduce."""
    sums_columns: bool = False
    """Whether it adds each row to sums of the columns of all."""


@dataclass(frozen=True)
class RowPlan:
    """A row kernel as one loop nest over `shape` with the steps inside."""

    shape: tuple[int, ...]
    steps: tuple[RowStep, ...]
    temporaries: dict[SSAValue, Buffer]
    """The kernel's buffers that hold one row at a time, with the row type."""
    in_place: SSAValue | None = None
    """An output whose row took the place of such a buffer."""
    past_caches: bool = False
    """Whether the last step writes past the caches."""


def _maps_of(op: Structured) -> list[tuple[SSAValue, AffineMap]]:
    """Each memref operand with its indexing map."""
    if isinstance(op, GenericOp):
        maps = [attr.data for attr in op.indexing_maps.data]
        return list(zip((*op.inputs, *op.outputs), maps, strict=True))
    buffers = [x for x in op.operands if isinstance(x.type, MemRefType)]
    return [(x, AffineMap.identity(len(buffer_of(x).get_shape()))) for x in buffers]


def row_temporaries(ops: Sequence[Structured], rows: int) -> list[memref.AllocOp]:
    """The kernel's local buffers that are written and read only row by row, as long as they fit on the stack."""
    maps: dict[SSAValue, list[AffineMap]] = {}
    uses: dict[SSAValue, int] = {}
    for op in ops:
        for value, map_ in _maps_of(op):
            maps.setdefault(value, []).append(map_)
            uses[value] = uses.get(value, 0) + 1
    found: list[memref.AllocOp] = []
    total = 0
    for value, value_maps in maps.items():
        if not isinstance(value.owner, memref.AllocOp) or value.uses.get_length() != uses[value]:
            continue
        if not all(is_row_access(map_, rows) for map_ in value_maps):
            continue
        size = _row_bytes(buffer_of(value), rows)
        if size <= ROW_BUFFER and total + size <= ALL_ROW_BUFFERS:
            total += size
            found.append(value.owner)
    return found


def _row_bytes(type_: Buffer, rows: int) -> int:
    return math.prod(type_.get_shape()[rows:]) * int(type_.element_type.compile_time_size)


def has_rows(nest: Nest, rows: tuple[int, ...]) -> bool:
    count = len(rows)
    return nest.sizes[:count] == rows and not any(nest.reduction[:count]) and 0 not in nest.sizes


def sums_columns(nest: Nest, rows: int) -> bool:
    """Whether a nest combines all rows to one, element by element."""
    if len(nest.sizes) != rows + 1 or nest.sizes[-1] <= SHORT_ROW or 0 in nest.sizes or nest.reduction[rows]:
        return False
    moving = [loop for loop in range(rows) if nest.sizes[loop] > 1]
    return (
        any(nest.reduction)
        and all(nest.reduction[loop] for loop in moving)
        and known_combiners(nest) is not None
        and all(access.strides[-1] == 1 and not access.dynamic for access in nest.outputs)
    )


def _one_row(nest: Nest) -> Nest:
    """The nest of such sums with the rows as loops that move no output."""
    outputs = tuple(replace(access, strides=(*(0 for _ in nest.sizes[1:]), 1)) for access in nest.outputs)
    return replace(nest, reduction=(False,) * len(nest.sizes), outputs=outputs)


def without_rest(ops: Sequence[Structured], nests: Sequence[Nest], rows: int) -> int:
    """The number of operations that come before the first that reads, or writes, what sums of columns write."""
    written: set[SSAValue] = set()
    for number, (op, nest) in enumerate(zip(ops, nests, strict=True)):
        touched = {access.root for access in nest.accesses} | buffers_loaded(nest)
        if written & touched:
            return number
        if isinstance(op, GenericOp) and sums_columns(nest, rows):
            written |= {access.root for access in nest.outputs}
    return len(ops)


def with_one_row_loop(nest: Nest, rows: int) -> Nest | None:
    """The nest with its row loops collapsed to one; None if an operand has no uniform stride over them."""
    if any(loop is not None and loop < rows for loop in nest.dims.values()):
        return None
    for loop in range(rows - 1):
        if any(x.strides[loop] != x.strides[loop + 1] * nest.sizes[loop + 1] for x in nest.accesses):
            return None
    sizes = (*nest.sizes[: rows - 1], math.prod(nest.sizes[:rows]), *nest.sizes[rows:])
    kept = range(rows - 1, len(sizes))
    return replace(nest, sizes=sizes, bound=1).permuted(list(kept))


def _detach_rows(nest: Nest, temporaries: set[SSAValue], rows: int) -> Nest:
    """The nest with one-row stand-ins for the temporaries: the row loops no longer move them."""

    def shrink(access: Access) -> Access:
        if access.root not in temporaries:
            return access
        return replace(access, strides=(0,) * rows + access.strides[rows:])

    return replace(
        nest,
        inputs=tuple(shrink(x) if isinstance(x, Access) else x for x in nest.inputs),
        outputs=tuple(shrink(x) for x in nest.outputs),
        bound=rows,
    )


def plan_rows(
    ops: Sequence[Structured], nests: Sequence[Nest], inits: Sequence[tuple[SSAValue | None, ...]], rows: int
) -> RowPlan | None:
    """
    The plan for a chain of `nests`; None if they do not share `rows` leading loops.

    `ops` are all structured operations of the chain, including fills absorbed by reductions.
    """
    sums = [sums_columns(nest, rows) for nest in nests]
    nests = [_one_row(nest) if summed else nest for summed, nest in zip(sums, nests, strict=True)]
    shape = nests[0].sizes[:rows]
    if not shape or len(shape) < rows or not all(has_rows(nest, shape) for nest in nests):
        return None
    if not _stay_in_rows(nests, shape) or all(sums):
        return None
    if math.prod(shape) < FEW_ROWS and task_count(1, sum(map(nest_work, nests)), 2) > 1:
        return None
    temporaries = row_temporaries(ops, rows)
    roots: set[SSAValue] = {op.memref for op in temporaries}
    nests = [_detach_rows(nest, roots, rows) for nest in nests]
    collapsed = [one for nest in nests if (one := with_one_row_loop(nest, rows)) is not None]
    if len(collapsed) == len(nests):
        shape, nests = (math.prod(shape),), collapsed
    return RowPlan(
        shape,
        tuple(RowStep(*each) for each in zip(nests, inits, sums, strict=True)),
        {op.memref: memref_type(op.memref.type.get_shape()[rows:], op.memref.type.element_type) for op in temporaries},
    )


def _stay_in_rows(nests: Sequence[Nest], shape: tuple[int, ...]) -> bool:
    """Whether each row reads nothing that the nests compute of other rows: a kernel that is given may."""
    touched: dict[SSAValue, list[tuple[Nest, Access]]] = {}
    for nest in nests:
        for access in nest.accesses:
            touched.setdefault(access.root, []).append((nest, access))
    written = {access.root for nest in nests for access in nest.outputs}
    bodies = [op for nest in nests if nest.body is not None for op in nest.body.walk()]
    loads = [op for op in bodies if isinstance(op, memref.LoadOp) and root_buffer(op.memref) in written]
    if not all(op.memref in touched and _loads_of_row(op, touched[op.memref], len(shape)) for op in loads):
        return False
    read = {x.root for nest in nests for x in nest.inputs if isinstance(x, Access)}
    moving = [loop for loop, size in enumerate(shape) if size > 1]
    return all(_is_row_by_row(touched[root], moving, len(shape)) for root in touched if root in written & read)


def _loads_of_row(op: memref.LoadOp, uses: Sequence[tuple[Nest, Access]], rows: int) -> bool:
    """Whether a body's load from a buffer, whose first dimensions are the rows, is from the row at hand."""
    steps = row_major(buffer_of(op.memref).get_shape())[:rows]
    owners = [index.owner for index in op.indices[:rows]]
    return all(access.strides[:rows] == steps for _, access in uses) and all(
        isinstance(owner, IndexOp) and owner.dim.value.data == loop for loop, owner in enumerate(owners)
    )


def _is_row_by_row(uses: Sequence[tuple[Nest, Access]], moving: Sequence[int], rows: int) -> bool:
    """Whether all accesses to a buffer move with the rows alike, and none reaches into another row."""
    steps = {(access.dynamic, *(access.strides[loop] for loop in moving)) for _, access in uses}
    if len(steps) > 1:
        return False
    inside = [(x.offset, list(zip(x.strides[rows:], nest.sizes[rows:], strict=True))) for nest, x in uses]
    if len({(offset, *sorted(loop for loop in loops if loop[1] > 1)) for offset, loops in inside}) == 1:
        return True  # the same elements of each row
    lowest = min(offset + sum(min(0, stride * (size - 1)) for stride, size in loops) for offset, loops in inside)
    highest = max(offset + sum(max(0, stride * (size - 1)) for stride, size in loops) for offset, loops in inside)
    (_, *strides), *_ = steps
    return all(highest - lowest < abs(stride) for stride in strides)


def _reads_what_it_wrote(plan: RowPlan) -> bool:
    """Whether a step reads rows of several elements that an earlier one has written to a result of the kernel."""
    written: set[SSAValue] = set()
    for step in plan.steps:
        nest = step.nest
        read = [x.root for x in nest.inputs if isinstance(x, Access)]
        if not written.isdisjoint([*read, *(root_buffer(load.memref) for load in loads_of(nest))]):
            return True
        for access in nest.outputs:
            if access.root not in plan.temporaries and nest.size_of([l for l in nest.free if access.strides[l]]) > 1:
                written.add(access.root)
    return False


def emit_rows(builder: LoopBuilder, plan: RowPlan) -> None:
    """
    Emit the chain as one loop over rows, in parallel tasks if there is enough work.

    The loop over short rows is parallel, for it becomes the innermost one; each iteration has temporaries of its own.
    It is not marked so where an iteration reads elements of a result again: LLVM then takes accesses for independent
    even within an iteration, and moves a read of several elements before they are written. Rows whose columns are
    summed are not short.
    """
    short = all(math.prod(step.nest.sizes[len(plan.shape) :]) <= SHORT_ROW for step in plan.steps)
    work, whole = sum(nest_work(step.nest) for step in plan.steps), math.prod(plan.shape)
    if _emit_in_lanes(builder, plan, work):
        return
    # Vectors across rows want the index of a row in each dimension, not its number.
    inner = plan.shape[-1] if short and len(plan.shape) > 1 and plan.shape[-1] >= LEAST_ROWS else 1
    if whole // inner < task_count(whole, work, whole):
        inner = 1
    outer = plan.shape[:-1] if inner > 1 else plan.shape
    total = whole // inner
    size = task_size(total, task_count(total, work, total))
    attributes = PARALLEL if short and not _reads_what_it_wrote(plan) else None
    summed = [k for k, step in enumerate(plan.steps) if step.sums_columns]
    if summed:
        size = min(total, max(size, LEAST_SUMMED))
    tasks = -(-total // size)
    sums = _tile_sums(builder, plan, summed, tasks) if summed else {}
    with builder.parallel(tasks) as task:
        for each in sums.values():
            each.begin(task, (0, each.nest.sizes[-1]))
        far = None if short or sums else _past_caches(builder, plan)
        if far is not None:
            steps = (*plan.steps[:-1], replace(plan.steps[-1], nest=far.nest))
            plan = replace(plan, steps=steps, past_caches=True)
        elif not short and not sums:
            plan = _in_place(builder, plan)
        shared = {} if short else _rows(builder, plan, here=False)
        with builder.loop(*chunk(builder, task, size, total), attributes=None if inner > 1 else attributes) as number:
            bound = [builder.index(index) for index in delinearized(number, outer)]
            if inner > 1:
                with builder.loop(0, inner, attributes=attributes) as last:
                    _emit_row(builder, plan, _rows(builder, plan, here=True), [*bound, last], {})
            else:
                roots = _rows(builder, plan, here=True) if short else shared
                adds = {k: partial(each.add_row, task, bound, roots) for k, each in sums.items()}
                _emit_row(builder, plan, roots, bound, adds)
                if far is not None:
                    far.copy(builder, bound[0])
        if far is not None:
            builder.insert(FenceOp("seq_cst"))
    for k, each in sums.items():
        each.finish(plan.steps[k].inits)


def _emit_in_lanes(builder: LoopBuilder, plan: RowPlan, work: int) -> bool:
    """Emit short rows in lanes, if their loops are too large to be unrolled; return whether they are."""
    rows = len(plan.shape)
    if any(step.sums_columns or math.prod(step.nest.sizes[rows:]) > LANE_ROW for step in plan.steps):
        return False
    from .row_lanes import emit_lanes, plan_lanes  # few programs have rows that are so short

    temporaries = {buffer: math.prod(type_.get_shape()) for buffer, type_ in plan.temporaries.items()}
    steps = [(step.nest, step.inits) for step in plan.steps]
    lanes = plan_lanes(plan.shape, steps, temporaries, builder.vector_bits)
    if lanes is not None:
        emit_lanes(builder, lanes, work)
    return lanes is not None


def _past_caches(builder: LoopBuilder, plan: RowPlan) -> PastCaches | None:
    """The last step, if its output is large and better written past the caches."""
    nests = [step.nest for step in plan.steps]
    if all(byte_size(buffer_of(output.root)) < ROWS_BEYOND_CACHES for output in nests[-1].outputs):
        return None
    from .past_caches import past_caches  # few programs have results of that size

    return past_caches(builder, nests, plan.temporaries)


def _in_place(builder: LoopBuilder, plan: RowPlan) -> RowPlan:
    """
    The plan with the last step's output in place of a buffer of one row, where that is possible: not in memory that may
    be an argument's, which later steps may read. Only vectors of whole lines leave processors time to foresee the rows
    in memory; shorter ones ask for them.
    """
    if builder.vector_bits < 8 * LINE:
        return plan
    kernel = Kernel(builder.kernel)
    found = None if kernel.shared or kernel.tied else in_place([step.nest for step in plan.steps], plan.temporaries)
    if found is None:
        return plan
    steps = tuple(replace(step, nest=found.apply(step.nest)) for step in plan.steps)
    temporaries = {buffer: type_ for buffer, type_ in plan.temporaries.items() if buffer is not found.temporary}
    return replace(plan, steps=steps, temporaries=temporaries, in_place=found.output.root)


def _tile_sums(builder: LoopBuilder, plan: RowPlan, steps: Sequence[int], tasks: int) -> dict[int, TileSums]:
    """The partial sums of the steps that sum columns, by their number."""
    from .column_sums import TileSums

    return {k: TileSums.of(builder, plan.steps[k].nest, tasks) for k in steps}


def _emit_row(
    builder: LoopBuilder,
    plan: RowPlan,
    roots: Mapping[SSAValue, SSAValue],
    bound: Sequence[IndexValue],
    adds: Mapping[int, Callable[[], None]],
) -> None:
    """Emit the steps of one row, whose place is `bound`; `adds`: what adds it to the sums of the columns, by step."""
    asks = len(bound) == 1 and plan.in_place is None
    nests = [step.nest for step in plan.steps]
    ahead = next_row(nests, plan.temporaries, bound[0], plan.past_caches) if asks else None
    for k, step in enumerate(plan.steps):
        builder.location = step.nest.op.location
        if k in adds:
            adds[k]()
        elif any(step.nest.reduction):
            emit_reduction(builder, step.nest, step.inits, roots, bound)
        else:
            asked = ahead if ahead is not None and ahead.step == k else None
            emit_elementwise(builder, step.nest, roots, bound, asked)


def _rows(builder: LoopBuilder, plan: RowPlan, here: bool) -> dict[SSAValue, SSAValue]:
    """The buffers of one row that take the place of the kernel's temporaries."""
    rows = {buffer: builder.alloca(type_, here) for buffer, type_ in plan.temporaries.items()}
    return rows if plan.in_place is None else {**rows, plan.in_place: plan.in_place}
