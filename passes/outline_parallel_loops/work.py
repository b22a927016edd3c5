"""The work in functions that otherwise only call shared functions becomes functions itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.cpu import SHARED, ParallelForOp, PrefetchOp
from ...dialects.support.attributes import call_op, function_op, return_op
from ...dialects.support.classes import one_of
from ...dialects.support.editing import erase_op, insert_before, operands_of
from ...dialects.support.kernel import PARALLEL_BODY, PART, is_kernel
from ...hlo_dialect.walking import operations_in
from .captures import Captures, capture, is_repeated

_is_index_arithmetic = one_of(
    arith.AddiOp,
    arith.DivUIOp,
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.MuliOp,
    arith.RemUIOp,
    arith.SubiOp,
)

_calls = one_of(func.CallOp, ParallelForOp)
_is_start = one_of(func.ReturnOp, memref.AllocaOp, ParallelForOp, PrefetchOp, scf.YieldOp, arith.CmpiOp)


def _is_index(op: Operation | Block) -> TypeGuard[Operation]:
    return _is_index_arithmetic(op) and type(cast(Operation, op).results[0].type) is IndexType


def _is_cloned(op: Operation | Block) -> TypeGuard[Operation]:
    """Index arithmetic is cloned, so that the bounds of loops are known to be constants apart."""
    return is_repeated(op) or _is_index(op)


def shared_functions(module: ModuleOp) -> set[str]:
    """The names of a module's shared functions."""
    return {op.sym_name.data for op in module.body.block.ops if type(op) is func.FuncOp and SHARED in op.attributes}


def outline_work(function: func.FuncOp, shared: Collection[str]) -> list[func.FuncOp]:
    """
    The functions for the work of a kernel or parallel body, which calls them: operations that follow one another in a
    block, in which nothing is called. None if it calls none of the `shared` functions, or if calls are left that need
    what the work computes. Work outside of loops is only set apart from loops around calls: else LLVM has no loop less.
    """
    if not (is_kernel(function) or PARALLEL_BODY in function.attributes):
        return []
    calls = [op for op in operations_in(function) if type(op) is func.CallOp]
    if not any(call.callee.string_value() in shared for call in calls):
        return []
    work = _Work()
    if not (work.find(function.body) and all(map(_is_closed, work.runs))):
        return []
    if not (work.calls_in_loops or all(map(_are_loops, work.runs))):
        return []
    parts = [part for run in work.runs for part in (([op] for op in run) if _are_loops(run) else [run])]
    name = function.sym_name.data
    return [_outline(part, f"{name}_part_{number}") for number, part in enumerate(parts)]


@dataclass
class _Work:
    """The work of a function, apart from what only starts it."""

    runs: list[list[Operation]] = field(default_factory=list[list[Operation]])
    """Operations of one block each, in order; only cloned ones are between them."""
    calls_in_loops: bool = False

    def find(self, region: Region) -> bool:
        """Collect the runs of a region; False if one cannot become a function."""
        return all(map(self._find_in, region.blocks))

    def _find_in(self, block: Block) -> bool:
        run: list[Operation] = []
        made: set[SSAValue] = set()
        for op in block.ops:
            if _is_cloned(op) and made.isdisjoint(operands_of(op)):
                continue
            if _only_starts(op):
                run = []
            elif (type(op) is scf.ForOp or type(op) is scf.IfOp) and not op.results and not _is_work(op):
                self.calls_in_loops |= type(op) is scf.ForOp
                run = []
                if not all(map(self.find, op.regions)):
                    return False
            elif any(_calls(inner) or type(inner) is memref.AllocaOp for inner in (op, *operations_in(op))):
                return False
            else:
                if not run:
                    self.runs.append(run)
                run.append(op)
                made.update(op.results)
        return True


def _is_closed(run: Sequence[Operation]) -> bool:
    """Whether only the operations of a run use their results."""
    inside = set(run)
    return all(_around(use.operation, op.parent) in inside for op in run for value in op.results for use in value.uses)


def _around(op: Operation, block: Block | None) -> Operation | None:
    """The operation of a block that is, or contains, `op`."""
    found: Operation | None = op
    while found is not None and found.parent is not block:
        found = found.parent_op()
    return found


def _are_loops(run: Sequence[Operation]) -> bool:
    """Whether the operations of a run are loops without results, each of which can be a function."""
    return all(type(op) is scf.ForOp and not op.results for op in run)


def _is_work(op: Operation) -> bool:
    return type(op) is scf.ForOp and not any(map(_calls, operations_in(op)))


def _only_starts(op: Operation) -> bool:
    """Whether an operation computes conditions, makes buffers, asks for memory, or calls."""
    if type(op) is func.CallOp:
        return not op.results
    return _is_start(op)


def _outline(run: Sequence[Operation], name: str) -> func.FuncOp:
    """Move operations of one block into a function and call that."""
    location, following = run[0].location, run[-1].next_op
    assert following is not None
    body, region = Block(), Region(Block())
    captures = Captures(body, _is_cloned)
    for op in run:
        op.detach()
        region.block.add_op(op)
    capture(region, captures, set())
    for op in run:
        op.detach()
    body.add_ops([*captures.repeated, *run, return_op()])
    function = function_op(name, body.arg_types, (), Region(body))
    function.attributes[PART] = UnitAttr()
    function.location = location
    call = call_op(name, captures.values)
    call.location = location
    insert_before(call, following)
    for value in reversed(captures.mapping):
        op = value.owner
        if _is_cloned(op) and all(result.first_use is None for result in op.results):
            erase_op(op)
    return function
