"""
The work of a loop: when it is worth several threads, and how many tasks it is cut into.

Both depend on shapes and the body only, never on the number of threads: the same program computes the same bits
on every machine.

A core runs vectors over data in its caches many times as fast as other code, so a loop over a few thousand elements
takes less time than to give half of it away: besides the fork, each cache line that one thread has read and the other
writes next must change hands.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.dialects import arith, math, memref
from xdsl.dialects.builtin import AnyFloat, IndexType
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import cost
from ...dialects.linalg_ext import base as linalg_ext
from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.llvm_layout import byte_width
from ...hlo_dialect.walking import operations_in, operations_of
from ..device.cpu import CPU
from .loop_builder import buffer_of
from .nest import Nest
from .variation import loads_of, reads, reads_rows, varying

PARALLEL_WORK = CPU.operations_in(4 * CPU.fork_ns)
"""Operations below which a nest stays on the calling thread."""

TASK_WORK = CPU.operations_in(8 * CPU.fork_ns)
"""Minimum operations of one task."""

MAX_TASKS = 256
"""Maximum tasks of one parallel loop: enough to balance many cores, few enough to have no overhead."""

CACHED_COLUMNS = CPU.l1_bytes // 4 // cost.F32_BYTES
"""Elements of a row that stays in a quarter of the first-level cache between iterations of a loop."""

TOGETHER, TOGETHER_ALONG = 4, 8
"""Most sums of one loop, each in the registers of several vectors; and most where all is read contiguously."""

LEAST_EACH = 16
"""Elements of a row, for each of several sums in one loop, from which adding up vectors in the end takes little."""

LEAST_ALONG = 8
"""The same where a few rows of one factor are summed along each row of the other."""

LEAST_ROWS_ALONG = 32
"""Rows by which columns are multiplied from which a copy of these, each contiguous, takes little."""

PASS_ROWS = 4
"""Reduced elements that one pass over a tile of accumulators combines."""

CACHED_BYTES = CPU.l2_bytes
"""Most bytes that a nest reads and writes without leaving the caches of a thread."""

LEAST_SUMMED_VECTORS = 4
"""Vectors of a row from which combining the elements of one takes little of the time of combining vectors."""

ROUNDING = 4
"""Operations to convert an element of f16 or bf16 to f32 and back."""

WIDE_DIVISION = 96
"""Additions of f32 in vectors in the time of a division of 64-bit integers, which no vector has."""

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

MATH = ("math", "math_ext")
"""The dialects of functions."""

_SPECIAL_WEIGHTS: dict[str, cost.Weight] = {
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "sinh"), cost.COMPOSED),
    **dict.fromkeys(("bessel_i1e", "digamma", "erfc", "erf_inv", "lgamma"), cost.SPECIAL),
    **dict.fromkeys(("polygamma", "zeta"), cost.SERIES),
}
"""Those of special functions by their names, since few programs load their classes."""

_VECTOR_WEIGHTS: dict[type[Operation], int] = {
    math.LogOp: 24,
    math.Log1pOp: 32,
    math.CbrtOp: 40,
    math.SinOp: 40,
    math.CosOp: 40,
    math.TanOp: 40,
    math.Atan2Op: 64,
    math.PowFOp: 96,
}
"""Elementary functions that take more than ELEMENTARY in vectors, in additions of f32."""


def is_elementary(op: Operation) -> bool:
    """Whether an operation is a function that is computed by a polynomial, or composed of such."""
    weight = weight_of(op)
    return weight.hlo >= cost.ELEMENTARY.hlo and weight.loop >= cost.ELEMENTARY.loop


def is_special(op: Operation) -> bool:
    """Whether an operation is a function that is composed of elementary ones."""
    return weight_of(op).hlo > cost.ELEMENTARY.hlo


def weight_of(op: Operation) -> cost.Weight:
    """The weight of a scalar operation: other `math` operations are elementary functions, all others additions."""
    found = _WEIGHTS.get(type(op))
    if found is not None:
        return found
    dialect, _, name = op.name.partition(".")
    return _SPECIAL_WEIGHTS.get(name, cost.ELEMENTARY) if dialect in MATH else cost.CHEAP


def body_cost(nest: Nest) -> int:
    """Operations of one iteration: its arithmetic and its memory accesses."""
    arithmetic = () if nest.body is None else nest.body.walk()
    return len(nest.accesses) + sum(weight_of(op).loop for op in arithmetic)


def nest_work(nest: Nest) -> int:
    """
    Operations of a nest, in the time of operations as CPU.operations_per_ns counts them: its vectors over cached data
    are so much faster that they count as fewer than its body has.

    Each element is taken to be read once and written once. So all loops over the arrays of a program are shared or none
    is: those that copy, and those that read five arrays.
    """
    whole = prod(nest.sizes)
    work = whole * body_cost(nest)
    loop = next((l for l in reversed(nest.free) if _is_vector_loop(nest, l)), None)
    if loop is None or _footprint(nest) > CACHED_BYTES:
        return work
    widest = _widest(nest)
    arithmetic = sum(_vector_operations(op, widest) for op in _computations(nest, loop))
    computed = whole * arithmetic / CPU.vector_operations_per_ns
    return min(work, max(copy_work(whole * widest), int(computed * CPU.operations_per_ns)))


def copy_work(size: int) -> int:
    """The same for `size` cached bytes that are read once and written once."""
    return 2 * size * CPU.operations_per_ns // CPU.cached_bytes_per_ns


def _is_vector_loop(nest: Nest, loop: int) -> bool:
    """Whether a loop fills vectors whose elements are neighbours in memory, or all the same."""
    vectors = LEAST_SUMMED_VECTORS if nest.reduction[loop] else 1
    if nest.sizes[loop] * _widest(nest) * 8 < vectors * CPU.vector_bits:
        return False
    if any(access.strides[loop] not in (0, 1) for access in nest.accesses):
        return False
    return not loads_of(nest) or reads_rows(nest, loop)


def _computations(nest: Nest, loop: int) -> Iterator[Operation]:
    """The operations on the elements of a vector: what does not vary along the loop is computed once for all."""
    varies = varying(nest, loop)
    outer = () if nest.body is None else operations_of(nest.body)
    for op in (inner for each in outer if reads(each, varies) for inner in operations_in(each)):
        if type(op) is not memref.LoadOp and not (op.results and type(op.results[0].type) is IndexType):
            yield op


def _vector_operations(op: Operation, widest: int) -> float:
    """An operation on one element of a vector, in additions of f32; `widest`: the bytes of the nest's elements."""
    type_ = op.results[0].type if op.results else op.operands[0].type
    weight, width = max(weight_of(op).loop, _VECTOR_WEIGHTS.get(type(op), 0)), byte_width(type_)
    is_float = isinstance(type_, AnyFloat)
    if is_float and width < cost.F32_BYTES:
        return weight + ROUNDING  # in f32
    if weight == cost.INTEGER_DIVISION.loop and not is_float:
        return WIDE_DIVISION if width > cost.F32_BYTES else weight  # by floats, up to 32 bits
    longer = 2 if weight >= cost.ELEMENTARY.loop and is_float and width > cost.F32_BYTES else 1
    return longer * weight * max(width, widest) / cost.F32_BYTES


def _footprint(nest: Nest) -> int:
    """Bytes of the elements that a nest reads and writes."""
    moving = ([l for l, step in enumerate(access.strides) if step] for access in nest.accesses)
    held = (nest.size_of(loops) * _width(access.root) for loops, access in zip(moving, nest.accesses, strict=True))
    return sum(held) + sum(byte_size(buffer_of(load.memref)) for load in loads_of(nest))


def _width(value: SSAValue) -> int:
    return byte_width(buffer_of(value).element_type)


def _widest(nest: Nest) -> int:
    return max(_width(access.root) for access in nest.accesses)


def region_cost(block: Block) -> int:
    """Operations of a region that stays: each of its operations counts as one, elementary functions as more."""
    return sum(
        max(cost.ELEMENTARY.loop, weight_of(op).loop) if op.name.startswith(("math.", "math_ext.")) else 1
        for op in block.ops
    )


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
