"""
The work of a loop: when it is worth several threads, and how many tasks it is cut into.

Both depend on shapes and the body only, never on the number of threads: the same program computes the same bits
on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, math, memref
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Block, Operation

from ...dialects import cost
from ...dialects.linalg_ext import base as linalg_ext
from ..device.cpu import CPU
from .nest import Nest

PARALLEL_WORK = CPU.operations_in(4 * CPU.fork_ns)
"""Operations below which a nest stays on the calling thread."""

TASK_WORK = CPU.operations_in(8 * CPU.fork_ns)
"""Minimum operations of one task."""

MAX_TASKS = 256
"""Maximum tasks of one parallel loop: enough to balance many cores, few enough to have no overhead."""

CACHED_COLUMNS = CPU.l1_bytes // 4 // cost.F32_BYTES
"""Elements of a row that stays in a quarter of the first-level cache between iterations of a loop."""

TOGETHER, TOGETHER_ALONG = 4, 6
"""Most sums of one loop, each in the registers of several vectors; and most where all is read contiguously."""

PASS_ROWS = 4
"""Reduced elements that one pass over a tile of accumulators combines."""

EVEN_SHARE = 0.53
"""The part of a loop that one of two threads may have."""

_WEIGHTS: dict[type[Operation], cost.Weight] = {
    arith.ConstantOp: cost.FREE,
    YieldOp: cost.FREE,
    linalg_ext.YieldOp: cost.FREE,
    IndexOp: cost.INDEX,
    memref.LoadOp: cost.LOAD,
    arith.DivfOp: cost.DIVISION,
    arith.DivSIOp: cost.INTEGER_DIVISION,
    arith.DivUIOp: cost.INTEGER_DIVISION,
    arith.RemSIOp: cost.INTEGER_DIVISION,
    arith.RemUIOp: cost.INTEGER_DIVISION,
    math.AbsFOp: cost.SIGN,
    math.CopySignOp: cost.SIGN,
    math.SqrtOp: cost.SQUARE_ROOT,
    math.RsqrtOp: cost.RECIPROCAL_ROOT,
}


def weight_of(op: Operation) -> cost.Weight:
    """The weight of a scalar operation: other `math` operations are elementary functions, all others additions."""
    return _WEIGHTS.get(type(op)) or (cost.ELEMENTARY if op.name.startswith("math.") else cost.CHEAP)


def body_cost(nest: Nest) -> int:
    """Operations of one iteration: its arithmetic and its memory accesses."""
    arithmetic = () if nest.body is None else nest.body.walk()
    return len(nest.accesses) + sum(weight_of(op).loop for op in arithmetic)


def region_cost(block: Block) -> int:
    """Operations of a region that stays: each of its operations counts as one, elementary functions as more."""
    return sum(cost.ELEMENTARY.loop if op.name.startswith("math.") else 1 for op in block.ops)


def task_count(iterations: int, work: int, splittable: int) -> int:
    """
    The number of tasks to cut a loop into.

    `work`: operations of all iterations; `splittable`: iterations of the loop that is cut. 1 means serial.
    """
    if work < PARALLEL_WORK or iterations == 0:
        return 1
    # An even number: of three tasks, one thread of two would take two.
    wanted = 2 * -(-work // (2 * TASK_WORK))
    return max(1, min(MAX_TASKS, splittable, wanted))


def task_size(splittable: int, tasks: int, multiple: int = 1) -> int:
    """
    Iterations of one task, a multiple of `multiple`; the last task may have fewer.

    It divides the iterations among `tasks` tasks, or up to twice as many where two threads would otherwise share them
    unevenly.
    """
    size = -(-splittable // tasks)
    size = -(-size // multiple) * multiple
    if tasks == 1:
        return size
    least = max(multiple, size // 2)
    for each in _sizes_by_count(splittable, size, least, multiple):
        if share_of_one(splittable, each) <= EVEN_SHARE:
            return each
    return min(_sizes_by_count(splittable, size, least, multiple), key=lambda each: share_of_one(splittable, each))


def _sizes_by_count(splittable: int, most: int, least: int, multiple: int) -> Iterator[int]:
    """
    Sizes from `most` down to `least` among which are the largest even one and the most even one: for each number of
    tasks the largest, the largest that is even if the number is, and the smallest.
    """
    while most >= least:
        tasks = -(-splittable // most)
        smallest = max(least, -(-splittable // tasks))
        smallest = -(-smallest // multiple) * multiple
        even = int(EVEN_SHARE * splittable / max(1, tasks // 2)) // multiple * multiple
        yield from (most, min(most, max(even, smallest)), smallest)
        most = smallest - multiple


def share_of_one(splittable: int, size: int) -> float:
    """The part of the iterations that the busier one of two threads has, if each takes half of the tasks."""
    tasks = -(-splittable // size)
    first = tasks // 2 * size
    return max(first, splittable - first) / splittable
