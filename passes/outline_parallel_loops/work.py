"""Loops of work in functions that otherwise only call shared functions become functions themselves."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeGuard, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region

from ...dialects.cpu import SHARED, ParallelForOp
from ...dialects.support.attributes import call_op, function_op, return_op
from ...dialects.support.classes import one_of
from ...dialects.support.editing import erase_op, insert_before
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
_is_start = one_of(func.ReturnOp, memref.AllocaOp, ParallelForOp, scf.YieldOp, arith.CmpiOp)


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
    The functions for the loops of work of a kernel or parallel body, which calls them; none if it has other work, or
    calls none of the `shared` functions.
    """
    if not (is_kernel(function) or PARALLEL_BODY in function.attributes):
        return []
    found: list[scf.ForOp] = []
    calls = [op for op in operations_in(function) if type(op) is func.CallOp]
    if not any(call.callee.string_value() in shared for call in calls) or not _find(function.body, found):
        return []
    name = function.sym_name.data
    return [_outline(loop, f"{name}_part_{number}") for number, loop in enumerate(found)]


def _find(region: Region, found: list[scf.ForOp]) -> bool:
    """Collect the outermost loops without calls; False if there is work outside of them, or one cannot be outlined."""
    for block in region.blocks:
        for op in block.ops:
            if type(op) is scf.ForOp and _is_work(op):
                if op.results or any(type(inner) is memref.AllocaOp for inner in operations_in(op)):
                    return False
                found.append(op)
            elif (type(op) is scf.ForOp or type(op) is scf.IfOp) and not op.results:
                if not all(_find(inner, found) for inner in op.regions):
                    return False
            elif not _only_starts(op):
                return False
    return True


def _is_work(loop: scf.ForOp) -> bool:
    return not any(map(_calls, operations_in(loop)))


def _only_starts(op: Operation) -> bool:
    """Whether an operation computes indices, makes views and buffers, or calls."""
    if type(op) is func.CallOp:
        return not op.results
    return _is_start(op) or _is_cloned(op)


def _outline(loop: scf.ForOp, name: str) -> func.FuncOp:
    """Move a loop into a function and call that."""
    location, block = loop.location, loop.parent
    assert isinstance(block, Block)
    body, region = Block(), Region(Block())
    captures = Captures(body, _is_cloned)
    following = loop.next_op
    assert following is not None
    loop.detach()
    region.block.add_op(loop)
    capture(region, captures, set())
    loop.detach()
    body.add_ops([*captures.repeated, loop, return_op()])
    function = function_op(name, body.arg_types, (), Region(body))
    function.attributes[PART] = UnitAttr()
    function.location = location
    call = call_op(name, captures.values)
    call.location = location
    insert_before(call, following)
    for value in reversed(captures.mapping):
        op = value.owner
        if _is_index(op) and value.first_use is None:
            erase_op(op)
    return function
