"""
Loops over long chains of operations: several vectors at once, where vectors are short.

Each operation of an elementary function waits for the one before it, about four cycles. A processor looks some 150
vector operations ahead, in which it finds too few chains of other elements to fill the time. LLVM can compute several
vectors in one iteration. Registers for all their values are not needed: what is stored on the stack and loaded again
takes ports that such loops do not use otherwise. LLVM takes up to twice as long for such a loop, which one that runs
once over few elements does not make up for.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence, Set
from typing import NamedTuple

from xdsl.dialects import arith, func, math, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.cpu import ParallelForOp
from ...dialects.support.attributes import integer_attr
from ...dialects.support.classes import one_of
from ...dialects.support.editing import operands_of
from ...dialects.support.kernel import INTERLEAVE, PARALLEL, VECTORIZE
from ...dialects.support.scalar import FLOATS, width_of
from ...hlo_dialect.walking import operations_of
from ...lowering.loop_nests.scattered import MOST_APART, Steps, gathers
from ...lowering.loop_nests.unrolling import UNROLL, iterations

LONGEST_VECTORS = 256
"""Bits of vectors up to which loops were measured to gain; longer ones are half as many."""

LEAST_DEPTH = 12
"""Operations that wait for each other, from which a processor does not look ahead far enough."""

LEAST_DEPTH_CARRIED = 32
"""The same for a loop that carries a value: each of several vectors has a sum of its own, added up after the loop."""

MOST_AT_ONCE = 4
"""Vectors of one iteration."""

LEAST_DEPTH_MIXED = 32
"""The same for f32 beside f64, from which a loop gains from as many vectors of f32 although each is two of f64."""

MOST_OPERATIONS = 720
"""Operations of one iteration over several vectors: LLVM's time grows with them."""

SLOW = 3
"""Operations in the time for which the result of a division or square root is waited for."""

CHAINS_WITH_GATHERS = 3
"""Operations by depth from which a body with gathers has enough chains: each lane of a gather is loaded by itself."""

MANY_SLOW = 3
"""Divisions and square roots from which several vectors wait for the divider, where single ones would alternate."""

MOST_LOADS = 16
"""Vectors loaded in one iteration: with more, the stack takes the ports that the loads need."""

LEAST_ROUNDS = 4
"""Iterations over several vectors from which a rest of other vectors takes little of the time."""

LEAST_ITERATIONS = 1 << 14
"""Iterations in one run of a program from which a loop is worth LLVM's time: a few microseconds of arithmetic."""

_is_slow = one_of(arith.DivfOp, math.SqrtOp)
_is_free = one_of(arith.ConstantOp, arith.BitcastOp, memref.StoreOp, scf.YieldOp, func.ReturnOp)
_is_float = one_of(*FLOATS)


class Chain(NamedTuple):
    """The arithmetic of a block."""

    operations: int
    slow: int
    """Its divisions and square roots."""
    depth: int
    """The most operations that wait for each other, as many times as an addition takes."""
    widths: frozenset[int]
    """Bits of its floats, those of 16 as 32, in which they are computed."""


_FREE, _QUICK, _SLOW = (Chain(0, 0, 0, frozenset()), Chain(1, 0, 1, frozenset()), Chain(1, 1, SLOW, frozenset()))
"""The arithmetic of one operation."""


def state_vectors(
    ops: Sequence[Operation], functions: Mapping[str, func.FuncOp], special: Container[str], vector_bits: int
) -> None:
    """
    Mark the innermost loops over chains among all operations of a module. `functions` are those of expanded math, of
    which `special` names those of special functions: loops that call one are marked for vectors of any length, since no
    stages of tiles keep their chains short.
    """
    chains: dict[str, Chain] = {}
    repeated = _called_in_loops(ops)
    for loop in ops:
        if type(loop) is not scf.ForOp or not _is_open(loop) or _is_brief(loop, repeated):
            continue
        if vector_bits <= LONGEST_VECTORS or _calls_one_of(loop, special):
            count = _vectors_of(loop, _chain(loop.body.block, functions, chains), vector_bits)
            if count > 1:
                loop.attributes[INTERLEAVE] = integer_attr(min(count, MOST_AT_ONCE * LONGEST_VECTORS // vector_bits))


def _calls_one_of(loop: scf.ForOp, names: Container[str]) -> bool:
    calls = (op for op in operations_of(loop.body.block) if type(op) is func.CallOp)
    return any(call.callee.root_reference.data in names for call in calls)


def _is_open(loop: scf.ForOp) -> bool:
    """Whether a loop is innermost and parallel, and does not state how it becomes vectors."""
    stated = loop.attributes
    if PARALLEL not in stated or VECTORIZE in stated or UNROLL in stated:
        return False
    return not any(op.regions for op in operations_of(loop.body.block))


def _is_brief(loop: scf.ForOp, repeated: Set[str]) -> bool:
    """Whether a loop is known to have few iterations in one run; `repeated` are functions called in loops."""
    count, op = 1, loop
    while type(op) is not func.FuncOp:
        if type(op) is scf.ForOp:
            known = iterations(op)
            if known is None:
                return False
            count *= known
        elif op is None or type(op) is not scf.IfOp:
            return False
        op = op.parent_op()
    return count < LEAST_ITERATIONS and op.sym_name.data not in repeated


def _called_in_loops(ops: Sequence[Operation]) -> Set[str]:
    """The functions that are called in loops or parallel, and those that they call."""
    callees: dict[str, list[str]] = {}
    found: list[str] = []
    for op in ops:
        if type(op) is not func.CallOp and type(op) is not ParallelForOp:
            continue
        name, around = op.callee.root_reference.data, op.parent_op()
        while type(around) is scf.IfOp:
            around = around.parent_op()
        if type(op) is ParallelForOp or type(around) is not func.FuncOp:
            found.append(name)
        else:
            callees.setdefault(around.sym_name.data, []).append(name)
    repeated: set[str] = set()
    while found:
        name = found.pop()
        if name not in repeated:
            repeated.add(name)
            found += callees.get(name, ())
    return repeated


def _vectors_of(loop: scf.ForOp, chain: Chain, vector_bits: int) -> int:
    """How many vectors a loop is to compute at once."""
    if chain.depth < (LEAST_DEPTH_CARRIED if loop.iter_args else LEAST_DEPTH) or not chain.widths:
        return 1
    if len(chain.widths) == 1 and chain.operations >= CHAINS_WITH_GATHERS * chain.depth and gathers(loop):
        return 1
    # A vector of the narrower floats is several of the wider ones.
    narrowest, widest = min(chain.widths), max(chain.widths)
    lanes, several, known = vector_bits // narrowest, widest // narrowest, iterations(loop)
    few, loads = MOST_AT_ONCE // 2, sum(type(op) is memref.LoadOp for op in operations_of(loop.body.block))
    most = MOST_AT_ONCE if chain.depth >= LEAST_DEPTH_MIXED else MOST_AT_ONCE // several
    for count in (few,) if chain.slow >= MANY_SLOW else (most, few):
        # Four of the narrower floats take the registers and the queues of eight.
        operations = count * chain.operations * (several if count > few else 1)
        if count > most or operations > MOST_OPERATIONS or count * loads > MOST_LOADS:
            continue
        if known is None or known >= LEAST_ROUNDS * count * lanes:
            return count
        if known % (count * lanes) == 0 and not _leaves_last(loop):
            return count
    return 1


def _leaves_last(loop: scf.ForOp) -> bool:
    """
    Whether LLVM leaves the last iteration over vectors to single elements: it loads elements that are a few apart as
    whole vectors, and these would end past the last element.
    """
    body = loop.body.block
    steps = Steps(body)
    found = (steps.of_access(op) for op in operations_of(body) if type(op) is memref.LoadOp)
    return any(step is not None and 1 < abs(step) <= MOST_APART for step in found)


def _chain(block: Block, functions: Mapping[str, func.FuncOp], known: dict[str, Chain]) -> Chain:
    """The arithmetic of a block, with that of the functions that it calls."""
    operations, slow, widths = 0, 0, set[int]()
    depths: dict[SSAValue, int] = {}
    for op in operations_of(block):
        inner = _called(op, functions, known)
        operations, slow = operations + inner.operations, slow + inner.slow
        widths |= inner.widths
        depth = inner.depth + max([depths.get(value, 0) for value in operands_of(op)], default=0)
        for result in op.results:
            depths[result] = depth
            if _is_float(result.type):
                widths.add(max(width_of(result.type), 32))
    return Chain(operations, slow, max(depths.values(), default=0), frozenset(widths))


def _called(op: Operation, functions: Mapping[str, func.FuncOp], known: dict[str, Chain]) -> Chain:
    """The arithmetic of one operation: of a function if it calls one of these, else the operation itself."""
    if type(op) is not func.CallOp or (name := op.callee.root_reference.data) not in functions:
        return _FREE if _is_free(op) else _SLOW if _is_slow(op) else _QUICK
    if name not in known:
        known[name] = _chain(functions[name].body.block, functions, known)
    return known[name]
