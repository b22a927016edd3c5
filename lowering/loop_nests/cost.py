"""
When a nest is worth several threads, and into how many tasks it is cut.

Both depend on shapes and the body alone, never on the number of threads: the same program computes the same bits
on every machine.
"""

from __future__ import annotations

from xdsl.dialects import arith, math, memref
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Operation

from .nest import Nest

PARALLEL_WORK = 1 << 15
"""Element operations below which a nest stays on the calling thread: some microseconds, several times a fork."""

TASK_WORK = 1 << 16
"""Element operations that one task should have at least."""

MAX_TASKS = 256
"""Tasks of one parallel loop at most: enough to balance many cores, few enough to have no overhead."""

FREE = (arith.ConstantOp, IndexOp, YieldOp)
SLOW: dict[type[Operation], int] = {
    arith.DivfOp: 4,
    arith.DivSIOp: 12,
    arith.DivUIOp: 12,
    arith.RemSIOp: 12,
    arith.RemUIOp: 12,
    math.SqrtOp: 6,
    math.RsqrtOp: 8,
    memref.LoadOp: 2,
}
"""Operations dearer than an addition, in additions; other `math` operations count as MATH."""

MATH = 12


def body_cost(nest: Nest) -> int:
    """Element operations of one iteration: its arithmetic and its memory accesses."""
    total = len(nest.accesses)
    if nest.body is not None:
        for op in nest.body.walk():
            if not isinstance(op, FREE):
                total += SLOW.get(type(op), MATH if op.name.startswith("math.") else 1)
    return total


def task_count(iterations: int, work: int, splittable: int) -> int:
    """
    How many tasks to cut a loop into.

    `work`: element operations of all iterations; `splittable`: iterations of the loop that is cut. 1 means serial.
    """
    if work < PARALLEL_WORK or iterations == 0:
        return 1
    return max(1, min(MAX_TASKS, splittable, -(-work // TASK_WORK) if work >= 2 * TASK_WORK else 2))


def task_size(splittable: int, tasks: int, multiple: int = 1) -> int:
    """Iterations of one task, a multiple of `multiple`; the last task may have fewer."""
    size = -(-splittable // tasks)
    return -(-size // multiple) * multiple
