"""
Loops that compute places of elements to gather, for machines whose vectors are not gathered in one instruction.

LLVM computes what only addresses depend on for each lane by itself: eight times a whole random number, if a place
follows from it. A loop before computes the places in vectors and stores them; the gathers load them.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import MemRefType, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.gpu.functions import GpuFuncOp
from ...dialects.support.buffers import i32_array, memref_type
from ...dialects.support.classes import one_of
from ...dialects.support.creation import append, create_op, new_block
from ...dialects.support.editing import clone_op, erase_op, insert_before, replace_uses
from ...dialects.support.kernel import INTERLEAVE, PARALLEL
from ...hlo_dialect.walking import operations_in, operations_of
from .kernel_builder import known_number
from .scattered import gathers
from .unrolling import iterations

LEAST_OPERATIONS = 24
"""Operations for a place from which a store and loads of it cost less than lanes by themselves."""

MOST_LOADS = 32
"""Gathers of a loop up to which the operations for each place are looked for."""

MOST_ITERATIONS = 512
"""The longest loop whose places are kept on the stack."""

_is_bounding = one_of(
    arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp
)
_is_reading = one_of(memref.LoadOp, memref.ReinterpretCastOp)
_is_free = one_of(arith.ConstantOp, arith.IndexCastOp, memref.ReinterpretCastOp)


def compute_places_before(function: func.FuncOp | GpuFuncOp) -> None:
    """Divide the loops of a function whose gathers have places that take long to compute."""
    for op in operations_in(function):
        if type(op) is scf.ForOp:
            _divide(op, function)


def _divide(loop: scf.ForOp, function: func.FuncOp | GpuFuncOp) -> None:
    count, body = iterations(loop), loop.body.block
    if PARALLEL not in loop.attributes or count is None or not 1 < count <= MOST_ITERATIONS:
        return
    if known_number(loop.lb) != 0 or known_number(loop.step) != 1 or any(op.regions for op in operations_of(body)):
        return
    loads = gathers(loop) if len(operations_of(body)) > LEAST_OPERATIONS else []
    places = _places(loads, body) if len(loads) <= MOST_LOADS else []
    if not places:
        return
    before = _slice(places, body, frozenset())
    after = _slice((value for op in body.ops if op not in before for value in op.operands), body, set(places))
    again, alone = (sum(not _is_free(op) for op in ops) for ops in (before & after, before - after))
    carried = set(body.args[1:])
    possible = before.isdisjoint(loads) and all(carried.isdisjoint(op.operands) for op in before)
    possible = possible and _reads_first(before, body)
    # Operations that the values need too are computed again, in vectors; only addresses were computed lane by lane.
    if possible and again <= alone:
        _emit(loop, function, places, before, after, count)


def _reads_first(before: set[Operation], body: Block) -> bool:
    """Whether some operations of a body only compute and read memory, and read it before the body may write any."""
    is_written = False
    for op in operations_of(body):
        may_write = not _is_reading(op) and any(isinstance(operand.type, MemRefType) for operand in op.operands)
        if op in before and (may_write or (is_written and type(op) is memref.LoadOp)):
            return False
        is_written |= may_write
    return True


def _places(loads: Iterable[memref.LoadOp], body: Block) -> list[SSAValue]:
    """The integers of long chains from which the indices of loads follow."""
    found: dict[SSAValue, None] = {}
    for load in loads:
        for op in _slice(load.indices, body, frozenset()):
            if type(op) is not arith.IndexCastOp or (place := _unbounded(op.input)) in found:
                continue
            chain = _slice((place,), body, frozenset())
            if place.type != i1 and sum(not _is_free(each) for each in chain) >= LEAST_OPERATIONS:
                found[place] = None
    return list(found)


def _unbounded(value: SSAValue) -> SSAValue:
    """An integer before it is kept within bounds, as which comparisons with the bounds read it too."""
    while isinstance(owner := value.owner, Operation) and _is_bounding(owner):
        others = [operand for operand in owner.operands if known_number(operand) is None]
        if len(others) != 1:
            break
        value = others[0]
    return value


def _slice(values: Iterable[SSAValue], body: Block, known: Set[SSAValue]) -> set[Operation]:
    """The operations of a body from which values are computed, where some are `known` without."""
    found: set[Operation] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        owner = value.owner
        if value in known or isinstance(owner, Block) or owner.parent is not body or owner in found:
            continue
        found.add(owner)
        waiting += owner.operands
    return found


def _emit(
    loop: scf.ForOp,
    function: func.FuncOp | GpuFuncOp,
    places: list[SSAValue],
    before: set[Operation],
    after: set[Operation],
    count: int,
) -> None:
    """Make the loop before, and let the loop load the places."""
    body, first = loop.body.block, function.body.blocks[0].first_op
    assert first is not None and body.first_op is not None, "a block without operations passes no verifier"
    index, at = body.args[0], body.first_op
    ahead = new_block([index.type])
    copies: dict[SSAValue, SSAValue] = {index: ahead.args[0]}
    for op in operations_of(body):
        if op in before:
            append(ahead, clone_op(op, copies))
    for place in places:
        type_ = memref_type((count,), place.type)
        sizes = {"operandSegmentSizes": i32_array((0, 0))}
        buffer = create_op(memref.AllocaOp, result_types=[type_], properties=sizes, location=loop.location)
        insert_before(buffer, first)
        value = copies[place]
        append(ahead, create_op(memref.StoreOp, operands=[value, buffer.memref, ahead.args[0]], location=loop.location))
        load = create_op(
            memref.LoadOp, operands=[buffer.memref, index], result_types=[place.type], location=loop.location
        )
        insert_before(load, at)
        replace_uses(place, load.res)
    append(ahead, create_op(scf.YieldOp, location=loop.location))
    attributes = {PARALLEL: loop.attributes[PARALLEL]}
    bounds = loop.operands[:3]
    insert_before(
        create_op(scf.ForOp, operands=bounds, regions=[Region(ahead)], attributes=attributes, location=loop.location),
        loop,
    )
    if not loop.iter_args:
        # Several vectors at once were for the chains. Sums have the same order as before.
        loop.attributes.pop(INTERLEAVE, None)
    for op in reversed(operations_of(body)):
        if op in before and op not in after:
            erase_op(op)
