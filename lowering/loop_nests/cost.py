"""
The work of a loop: when it is worth several threads, and into how many tasks it is cut.

Both depend on shapes and the body alone, never on the number of threads: the same program computes the same bits
on every machine.
"""

from __future__ import annotations

from xdsl.dialects import arith, math, memref
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Block, Operation

from ...dialects.cost import (
    CHEAP,
    DIVISION,
    ELEMENTARY,
    F32_BYTES,
    FREE,
    INDEX,
    INTEGER_DIVISION,
    LOAD,
    RECIPROCAL_ROOT,
    SIGN,
    SQUARE_ROOT,
    Weight,
)
from ..device.cpu import CPU
from .nest import Nest

PARALLEL_WORK = CPU.operations_in(4 * CPU.fork_ns)
"""Operations below which a nest stays on the calling thread."""

TASK_WORK = CPU.operations_in(8 * CPU.fork_ns)
"""Operations that one task should have at least."""

MAX_TASKS = 256
"""Tasks of one parallel loop at most: enough to balance many cores, few enough to have no overhead."""

CACHED_COLUMNS = CPU.l1_bytes // 4 // F32_BYTES
"""Elements of a row that stays in a quarter of the first-level cache from one step of a loop to the next."""

_WEIGHTS: dict[type[Operation], Weight] = {
    arith.ConstantOp: FREE,
    YieldOp: FREE,
    IndexOp: INDEX,
    memref.LoadOp: LOAD,
    arith.DivfOp: DIVISION,
    arith.DivSIOp: INTEGER_DIVISION,
    arith.DivUIOp: INTEGER_DIVISION,
    arith.RemSIOp: INTEGER_DIVISION,
    arith.RemUIOp: INTEGER_DIVISION,
    math.AbsFOp: SIGN,
    math.CopySignOp: SIGN,
    math.SqrtOp: SQUARE_ROOT,
    math.RsqrtOp: RECIPROCAL_ROOT,
}


def weight_of(op: Operation) -> Weight:
    """The weight of a scalar operation: other `math` operations are elementary functions, all others additions."""
    return _WEIGHTS.get(type(op)) or (ELEMENTARY if op.name.startswith("math.") else CHEAP)


def body_cost(nest: Nest) -> int:
    """Operations of one iteration: its arithmetic and its memory accesses."""
    arithmetic = () if nest.body is None else nest.body.walk()
    return len(nest.accesses) + sum(weight_of(op).loop for op in arithmetic)


def region_cost(block: Block) -> int:
    """Operations of a region that stays as it is: each of its operations is one, an elementary function more."""
    return sum(ELEMENTARY.loop if op.name.startswith("math.") else 1 for op in block.ops)


def task_count(iterations: int, work: int, splittable: int) -> int:
    """
    How many tasks to cut a loop into.

    `work`: operations of all iterations; `splittable`: iterations of the loop that is cut. 1 means serial.
    """
    if work < PARALLEL_WORK or iterations == 0:
        return 1
    return max(1, min(MAX_TASKS, splittable, -(-work // TASK_WORK) if work >= 2 * TASK_WORK else 2))


def task_size(splittable: int, tasks: int, multiple: int = 1) -> int:
    """Iterations of one task, a multiple of `multiple`; the last task may have fewer."""
    size = -(-splittable // tasks)
    return -(-size // multiple) * multiple
