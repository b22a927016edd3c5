"""How many rows a tile has: by shapes and costs alone, never by the number of threads, so that results are the same."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from ...hlo_dialect.op import EXPENSIVE, HloOp, is_elementwise
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.slicing import ConcatenateOp
from ...hlo_dialect.types import shape_of
from ...lowering.device.cpu import CPU
from ..fuse_hlo.graph import bytes_of
from .rows import Rows, is_repeated
from .tiles import Tiles, chain_of, is_updated, stacks_of

ROWS_OF_A_PRODUCT = 16
"""Rows from which a product with a matrix in the cache takes hardly longer than as part of a larger one."""

STEP = 1 << 11
"""Operations of a tile's step, beside which the loop and its small kernels take little."""

SEVERAL = 4
"""Short rows of which the steps run beside each other: within a row, each kernel of a step waits for the one before."""

SEVERAL_TILES = 8
"""Tiles that have to remain for several rows to be one."""

IN_LANES = 16
"""Short rows, no whole vectors, of which each step is computed across the rows (`row_lanes.py`), with short vectors."""

LEAST_FILLED = 0.78
"""The share of lanes with a row from which elementary functions are better in lanes."""

LEAST_IN_LANES, MOST_IN_LANES = 4, 31
"""Elements of such rows."""

VECTOR = 32
"""Bytes of a vector: rows of one, or of several, are computed as they are."""

SEVERAL_STEP = 1 << 15
"""Operations of a step of several rows above which each row has enough to compute at once."""

LEAST_WORK = 1 << 17
"""Operations of a loop that is worth sharing out, some times those of a fork."""

NARROW = 16
"""Elements of the parts of a row below which small kernels that join them write element by element."""

LINE = 16
"""Rows that are neighbours in memory from which a tile is made of whole vectors and lines."""

SMALL = 64
"""Elements of a value that is computed again for each tile without counting."""


@dataclass(frozen=True)
class Step:
    """The costs of one iteration of a loop: for each row, and beside the rows."""

    work: float
    """Operations for a row."""
    bytes: int
    """The values of a row, without the stacks that it reads and writes slices of."""
    least: int
    """Rows for which products with matrices pay."""
    line: int
    """Rows that are neighbours in memory, as many as are worth reading at once; 1 if rows are far apart."""
    kept: int
    """Bytes that all rows read."""
    again: float
    """Operations for values that all rows share, and that each tile computes."""
    woven: bool
    """Whether elementwise values are written between others, which only large kernels do for whole rows at once."""
    in_lanes: bool
    """Whether rows are better computed beside each other, element by element."""


def step_of(rows: Rows) -> Step:
    """The costs of an iteration."""
    work = again = 0.0
    size, least, along = 0, 1, 0
    stacked = {value for each in stacks_of(rows) for value in chain_of(rows, each) or ()}
    shared: dict[SSAValue, None] = {}
    for op in rows.loop.body.ops:
        if isinstance(op, ReturnOp) or is_repeated(op):
            continue
        if not any(result in rows.dims for result in op.results):
            if max((math.prod(shape_of(value)) for value in op.results), default=0) > SMALL:
                again += _operations(op)
            continue
        work += _operations(op) / rows.count
        own = [value for value in op.results if value not in stacked]
        size += sum(map(bytes_of, own)) // rows.count
        along += sum(bytes_of(value) for value in own if _is_along(rows, value)) // rows.count
        taken = rows.places(op)
        for value, place in zip(op.operands, taken, strict=False):
            if place is None and math.prod(shape_of(value)) > SMALL:
                shared[value] = None
        if isinstance(op, DotGeneralOp) and None in taken[:2]:
            side = 0 if taken[1] is None else 1
            free = (op.lhs_free, op.rhs_free)[side]
            each = math.prod(shape_of(op.operands[side])[dim] for dim in free) // rows.count
            least = max(least, -(-ROWS_OF_A_PRODUCT // each))
    line = LINE if 2 * along > size else 1
    return Step(work, size, least, line, sum(map(bytes_of, shared)), again, _is_woven(rows), _suits_lanes(rows))


def _is_along(rows: Rows, value: SSAValue) -> bool:
    """Whether rows are neighbours in memory, in lines of several elements."""
    shape = shape_of(value)
    return rows.dims.get(value) == len(shape) - 1 and math.prod(shape) > rows.count


def _is_woven(rows: Rows) -> bool:
    ops = rows.loop.body.ops
    if any(isinstance(op, DotGeneralOp) for op in ops):
        return False
    joined = (op for op in ops if isinstance(op, ConcatenateOp) and op.results[0] in rows.dims)
    return any(
        math.prod(shape_of(part)[op.dimension.value.data :]) < NARROW
        for op in joined
        for part in op.operands
        if rows.dims[op.results[0]] < op.dimension.value.data
    )


def _suits_lanes(rows: Rows) -> bool:
    """Whether the values of a row are few elements, which are no whole vectors, or numbers; no products take part."""
    sizes = set[tuple[int, int]]()
    for op in rows.loop.body.ops:
        own = [result for result in op.results if result in rows.dims]
        if own and (not isinstance(op, HloOp) or op.ROLE not in _ACROSS_ROWS):
            return False
        sizes.update((math.prod(shape_of(value)) // rows.count, bytes_of(value) // rows.count) for value in own)
    longest, size = max(sizes, default=(0, 0))
    numbers = any(elements == 1 for elements, _ in sizes)
    return numbers and LEAST_IN_LANES <= longest <= MOST_IN_LANES and size % VECTOR != 0


_ACROSS_ROWS = frozenset({"elementwise", "reduce", "broadcast", "reshape", "iota", "constant"})


def _operations(op: Operation) -> float:
    if not isinstance(op, HloOp):
        return 0
    if isinstance(op, DotGeneralOp):
        return op.flops() / 2 * CPU.operations_per_ns / CPU.products_per_ns
    elements = max((math.prod(shape_of(value)) for value in (*op.operands, *op.results)), default=0)
    return elements * max(op.COST, 1) if op.ROLE in ("elementwise", "reduce") else 0


def tiles_of(rows: Rows, step: Step, iterations: int, lanes: bool = False) -> Tiles | str:
    """The tiles of a loop; in words why it has none. `lanes`: whether short rows may be computed across rows."""
    total = iterations * step.work * rows.count
    if total < LEAST_WORK:
        return f"its {total:.0f} operations are not worth sharing out"
    if step.woven:
        return f"its rows are joined from parts of less than {NARROW} elements"
    if step.kept > CPU.l2_bytes:
        return f"each tile would read {step.kept} bytes in each step, which leave the cache"
    if lanes and step.in_lanes and (full := _full_lanes(rows)) is not None:
        return full
    most = max(CPU.l2_bytes // 2 // max(step.bytes, 1), 1)
    wanted = max(step.least, step.line, math.ceil(STEP / max(step.work, 1)), -(-rows.count // CPU.tiles))
    size = min(max(wanted, _several(rows, step)), most)
    if size < step.least:
        return f"{step.least} rows take {step.least * step.bytes} bytes, which leave the cache"
    found = _even(rows, size, -(-max(step.least, size) // 2))
    if found is None:
        return f"its {rows.count} rows do not make tiles of {size}"
    if step.again * found.count > total / iterations / 8:
        return "each tile would compute again what all rows share"
    return found


def _several(rows: Rows, step: Step) -> int:
    """Rows of a tile whose kernels wait for each other, unless they are long, or leave the first cache."""
    fit = step.work * SEVERAL <= SEVERAL_STEP and step.bytes * SEVERAL <= CPU.l1_bytes
    return SEVERAL if fit and rows.count >= SEVERAL * SEVERAL_TILES else 1


def _full_lanes(rows: Rows) -> Tiles | None:
    """
    Two equal tiles or more of full lanes, or with elementary functions of nearly full ones; None if there are none.
    """
    expensive = (op for op in rows.loop.body.ops if is_elementwise(op) and op.COST >= EXPENSIVE)
    takes_long = any(math.prod(shape_of(op.results[0])) > rows.count for op in expensive)
    best, filled = 0, LEAST_FILLED if takes_long else 1.0
    for each in range(2 * IN_LANES, IN_LANES // 2, -1):
        share = each / (-(-each // IN_LANES) * IN_LANES)
        if rows.count % each == 0 and rows.count > each and share >= filled:
            best, filled = each, share
    return Tiles(rows, best) if best else None


def _even(rows: Rows, size: int, least: int) -> Tiles | None:
    """Two tiles or more of about `size` rows: equal ones of at least `least`, or such as overlap if stacks allow it."""
    count = rows.count
    if count < 2 * size:
        return None
    for each in (*range(size, 2 * size), *range(size - 1, least - 1, -1)):
        if count % each == 0:
            return Tiles(rows, each)
    if any(is_updated(rows, position) for position in stacks_of(rows)):
        return None
    number = max(count // size, 3)  # the last one is alone
    return Tiles(rows, -(-count // number))
