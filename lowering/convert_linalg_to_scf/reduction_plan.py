"""The order of a reduction's loops, and the one among them that vectorizes best."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import math
from xdsl.ir import SSAValue

from ...dialects.support.kernel import CONTRACTION
from ...dialects.support.llvm_layout import byte_width
from ..device.cpu import CPU, NATIVE_EXTREMES
from ..loop_nests.combiners import Combiner, known_combiners
from ..loop_nests.cost import nest_work
from ..loop_nests.loop_builder import buffer_of
from ..loop_nests.nest import Access, Nest
from ..loop_nests.unrolling import is_short_but_rolled
from ..loop_nests.variation import loads_of, moves_with, reads_row_of, varying
from .partial_results import NEAR

CHUNK_ROWS = 32
"""Least number of reduced elements per chunk and output if there are several outputs."""

MULTIPLICATIONS = 2
"""Multiply-adds of long sums in plain loops that take as long as one operation of dialects/cost.py."""

LONG_CHOICE = 16
"""Elements from which a row that chooses is reduced in vectors."""

_EXPONENTIALS = (math.ExpOp, math.ExpM1Op, math.TanhOp, math.ErfOp)
_PERIODIC = (math.SinOp, math.CosOp, math.TanOp)


@dataclass(frozen=True)
class ReductionPlan:
    """A canonical reduction nest and how to emit it."""

    nest: Nest
    combiners: list[Combiner] | None
    kept: list[int]
    reduced: list[int]
    in_registers: bool
    work: int


def _contiguity(nest: Nest, loop: int) -> float:
    """
    How well a loop vectorizes: the operands that it reads in order or once, or if it reduces, and reads nothing far
    apart, every few elements; less if it is below half a vector. A loop that reads elements at places computed for each
    does not: what it reads in order counts as what it reads once.

    All outputs count as one: they stay in the cache, while the inputs pass through it.
    """
    widest = max(byte_width(buffer_of(access.root).element_type) for access in nest.outputs)
    lanes = CPU.vector_bits // 16 // widest
    inputs = [abs(x.strides[loop]) for x in nest.inputs if isinstance(x, Access)]
    is_near = nest.reduction[loop] and all(stride <= NEAR for stride in inputs)
    rows, places = computed_reads(nest, loop)
    in_order = 1 if places else 2
    score = float(in_order * rows)
    for stride in (*inputs, abs(nest.outputs[0].strides[loop])):
        score += in_order if stride == 1 else 1 if stride == 0 or is_near else 0
    return score * min(nest.sizes[loop], lanes) / lanes


def computed_reads(nest: Nest, loop: int) -> tuple[int, int]:
    """The reads at computed indices that go along rows in a loop, and those that it moves anywhere."""
    loads = loads_of(nest)
    varies = varying(nest, loop) if loads else set[SSAValue]()
    moving = [load for load in loads if moves_with(load, varies)]
    rows = sum(reads_row_of(load, nest, loop, varies, anyhow=True) for load in moving)
    return rows, len(moving) - rows


def _elements(nest: Nest, access: Access) -> int:
    """Elements that a nest reads of an operand."""
    return nest.size_of([loop for loop in nest.free if access.strides[loop]])


def plan_reduction(nest: Nest) -> ReductionPlan:
    """Order and collapse the loops: bound ones, kept ones in the output's order, reduced ones."""
    combiners = known_combiners(nest)
    nest = nest.without_unit_loops()
    kept = sorted(nest.parallel_loops, key=lambda l: -abs(nest.outputs[0].strides[l]))
    reduced = nest.reduction_loops
    if combiners is not None:
        # The order of the reduction is free: use the largest operand's.
        main = max(
            (x for x in nest.inputs if isinstance(x, Access)),
            key=lambda x: _elements(nest, x),
            default=nest.outputs[0],
        )
        reduced = sorted(reduced, key=lambda l: -abs(main.strides[l]))
    nest = nest.permuted([*range(nest.bound), *kept, *reduced]).collapsed()
    kept, reduced = nest.parallel_loops, nest.reduction_loops
    best = max((*kept, *reduced), key=lambda l: (_contiguity(nest, l), l), default=-1)
    if combiners is None and kept and best in reduced and nest.sizes[kept[-1]] >= LONG_CHOICE and nest.body is not None:
        # Rows too short for vectors, with too much work to be unrolled: the vectors run across rows.
        best = kept[-1] if is_short_but_rolled(nest.size_of(reduced), len(nest.body.ops)) else best
    in_registers = best not in kept
    if kept and not in_registers:
        kept = [*(l for l in kept if l != best), best]
    elif reduced and combiners is not None:
        reduced = [*(l for l in reduced if l != best), best]
        # The largest input goes through the caches once: kept loops that do not move it are inside.
        most = max((x for x in nest.inputs if isinstance(x, Access)), key=lambda x: _elements(nest, x), default=None)
        kept = sorted(kept, key=lambda l: most is not None and not most.strides[l])
    long_products = CONTRACTION in nest.op.attributes and nest.size_of(reduced) >= CHUNK_ROWS
    work = nest.size_of(nest.free) // MULTIPLICATIONS if long_products else nest_work(nest)
    return ReductionPlan(nest, combiners, kept, reduced, in_registers, work)


def fills_registers(nest: Nest, vector_bits: int) -> bool:
    """
    Whether the constants of a body's exponentials leave no registers for a second element of AVX2's sixteen: each would
    load them again. Periodic functions branch, which several elements at once hide.
    """
    if not NATIVE_EXTREMES < vector_bits < CPU.vector_bits or nest.body is None:
        return False
    kinds = {type(op) for op in nest.body.walk()}
    return not kinds.isdisjoint(_EXPONENTIALS) and kinds.isdisjoint(_PERIODIC)
