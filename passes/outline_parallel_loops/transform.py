"""Parallel loops become functions that the CPU runtime calls on each thread of its thread team."""

from __future__ import annotations

import itertools
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region

from ...dialects.cpu import SHARED, ParallelForOp, SlotOp
from ...dialects.support.attributes import function_op, return_op
from ...dialects.support.creation import append
from ...dialects.support.editing import detach_op, erase_op, insert_before, replace_uses
from ...dialects.support.kernel import PARALLEL, PARALLEL_BODY
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.walking import operand_groups, operations_in, operations_inside
from .captures import Captures, capture, is_repeated
from .equal import share_equal
from .work import outline_work, shared_functions

INDEX = IndexType()


def static_count(op: scf.ParallelOp) -> int:
    """The number of iterations of a 1-D loop from 0 in steps of 1."""
    bounds: list[int] = []
    *limits, inits = operand_groups(op)
    for value in itertools.chain(*limits):
        owner = value.owner
        if type(owner) is not arith.ConstantOp:
            fail(op, "has bounds that are not constant: outline-parallel-loops cannot share it out")
        bounds.append(cast("IntegerAttr[Any]", owner.value).value.data)
    if len(bounds) != 3 or bounds[0] != 0 or bounds[2] != 1 or inits:
        fail(op, "is not a 1-D loop from 0 in steps of 1 without results: outline-parallel-loops expects one")
    return bounds[1]


def serialize(op: scf.ParallelOp) -> None:
    """Turn a parallel loop into nested scf.for loops."""
    region = op.detach_region(op.body)
    block = region.block
    terminator = cast(Operation, block.last_op)
    erase_op(terminator)
    for dim in range(len(op.lowerBound) - 1, 0, -1):
        inner = Block(arg_types=[INDEX])
        replace_uses(block.args[dim], inner.args[0])
        block.erase_arg(block.args[dim])
        _move_ops(block, inner)
        inner.add_op(scf.YieldOp())
        block.add_op(_for_loop(op, dim, Region(inner)))
    block.add_op(scf.YieldOp())
    new = _for_loop(op, 0, region)
    insert_before(new, op)
    erase_op(op)


def _for_loop(op: scf.ParallelOp, dim: int, body: Region) -> scf.ForOp:
    return scf.ForOp.create(
        operands=[op.lowerBound[dim], op.upperBound[dim], op.step[dim]],
        regions=[body],
        attributes={PARALLEL: UnitAttr()},
        location=op.location,
    )


def _move_ops(source: Block, target: Block) -> None:
    for op in list(source.ops):
        detach_op(op)
        append(target, op)


def outline(op: scf.ParallelOp, name: str) -> func.FuncOp:
    """Replace the loop by a cpu.parallel_for; return the function that runs one iteration."""
    count = static_count(op)
    for inner in [x for x in operations_inside(op.body) if type(x) is scf.ParallelOp]:
        serialize(inner)
    region = op.detach_region(op.body)
    loop_block = region.block
    terminator = cast(Operation, loop_block.last_op)
    erase_op(terminator)

    body = Block()
    captures = Captures(body)
    ops = operations_inside(region)
    slots = [inner for inner in ops if type(inner) is SlotOp]
    capture(region, captures, set(loop_block.args))

    index, slot = (body.insert_arg(INDEX, len(body.args)) for _ in range(2))
    index.name_hint, slot.name_hint = "i", "slot"
    replace_uses(loop_block.args[0], index)
    for inner in slots:
        replace_uses(inner.slot, slot)
        erase_op(inner)
    body.add_ops(captures.repeated)
    _move_ops(loop_block, body)
    body.add_op(return_op())
    function = function_op(name, body.arg_types, (), Region(body))
    function.attributes[PARALLEL_BODY] = UnitAttr()
    function.location = op.location
    call = ParallelForOp(name, captures.values, count)
    call.location = op.location
    insert_before(call, op)
    erase_op(op)
    return function


def erase_dead_repeated(function: func.FuncOp) -> None:
    """Erase constants and views that only the outlined loops used."""
    for op in reversed(list(function.body.block.ops)):
        if is_repeated(op) and all(result.first_use is None for result in op.results):
            erase_op(op)


class OutlineParallelLoopsPass(HloPass):
    """
    Outline each scf.parallel into a function run by a cpu.parallel_for.

    Before: `scf.parallel (%i) = (0) to (256) step (1) {.. %a ..}` in @k
    After:  `cpu.parallel_for @k_body_0(%a : memref<..>) {count = 256 : i64}` and
            `func.func private @k_body_0(%a: memref<..>, %i: index, %slot: index)`, which runs iteration %i.
    A function that calls shared functions calls functions for its other work, such as the epilogue of a product or the
    rows between two products: calls and the loops around them are left, which are translated quickly
    (targets/llvm_text/parts.py).
    Equal functions of several kernels are one, where the buffers that they take alias alike; kernels that are compiled
    apart (xhlo.shared) keep their own.
    cpu.slot becomes %slot, the first iteration of those that a thread runs one after the other.
    Assumes: 1-D loops over 0..constant without results; loops inside them are serialized.
    Leaves: no scf.parallel. Constants and views of captured buffers are cloned into the body.
    """

    name = "outline-parallel-loops"
    takes_tensors = False
    illegal = ("scf.parallel",)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        outlined: list[func.FuncOp] = []
        apart: list[func.FuncOp] = []
        for function in list(module.body.block.ops):
            if type(function) is not func.FuncOp or function.is_declaration:
                continue
            bodies: list[func.FuncOp] = []
            for op in operations_in(function):
                if type(op) is scf.ParallelOp and op.parent is not None and not _inside_parallel(op):
                    bodies.append(outline(op, f"{function.sym_name.data}_body_{len(bodies)}"))
            if bodies:
                module.body.block.insert_ops_after(bodies, function)
                erase_dead_repeated(function)
                (apart if SHARED in function.attributes else outlined).extend(bodies)
        shared = shared_functions(module)
        parts: list[func.FuncOp] = []
        for function in list(module.body.block.ops) if shared else ():
            if type(function) is func.FuncOp and not function.is_declaration:
                found = outline_work(function, shared)
                module.body.block.insert_ops_after(found, function)
                if SHARED not in function.attributes and function not in apart:
                    parts += found
        # First the parts, whose callers may be equal then.
        share_equal(module, parts)
        share_equal(module, outlined)


def _inside_parallel(op: Operation) -> bool:
    parent = op.parent_op()
    while parent is not None:
        if type(parent) is scf.ParallelOp:
            return True
        parent = parent.parent_op()
    return False
