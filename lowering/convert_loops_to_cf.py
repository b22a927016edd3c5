"""Lower loops and conditionals to blocks and branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, scf
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects.cpu import SHARED
from ..dialects.gpu.functions import GpuFuncOp
from ..dialects.llvm_loops import UNROLL_NEVER
from ..dialects.support.buffers import i32_array
from ..dialects.support.creation import append, create_op, new_block
from ..dialects.support.editing import detach_op, erase_op, replace_uses
from ..dialects.support.kernel import INTERLEAVE, PARALLEL, VECTORIZE
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.walking import operations_in
from .device.cpu import CPU
from .device.parts import device_modules, lowered_functions, lowered_parts
from .loop_nests.brevity import mark_brief_functions
from .loop_nests.unrolling import UNROLL, SmallLoops, iterations

LOOP_ATTRIBUTES = (PARALLEL, VECTORIZE, INTERLEAVE, UNROLL)
"""Attributes of a loop that its back edge keeps."""

_I1 = IntegerType(1)
_SIGNED_LESS = IntegerAttr(2, i64)
_NEVER = IntegerAttr(UNROLL_NEVER, i64)
_NO_SIGNED_WRAP = arith.IntegerOverflowAttr((arith.IntegerOverflowFlag.NSW,))

Lowering: TypeAlias = "Callable[[Any, Block, Block, Lowerings], None]"
"""
Replaces an operation that ended the first block; control continues in the second, with its results as arguments.
Operations in its regions are lowered by the table.
"""
Lowerings: TypeAlias = "Mapping[type[Operation], Lowering]"


@dataclass(frozen=True)
class ConvertLoopsToCfPass(HloPass):
    """
    Lower scf.for, while, if, index_switch, execute_region and parallel (run serially) to blocks and branches of cf.

    Before: `scf.for %i = %lo to %hi step %s iter_args(%a = %init) { .. yield %b } {xhlo.parallel}`
    After:  cond_br (%lo < %hi), ^body(%lo, %init), ^after(%init), or a branch if that is known
            ^body(%i, %a): ..  cond_br (%i + %s < %hi), ^body(%i + %s, %b), ^after(%b) {xhlo.parallel}
    For a device the comparison is in a block before the body, to which the body branches back.
    Assumes: nothing. In a module with a gpu.module only the functions of the device are converted.
    Leaves: no scf in what it converts. A loop's attributes (xhlo.parallel, xhlo.vectorize, xhlo.interleave,
            xhlo.unroll) move to its back edge; small loops with known bounds are marked to be unrolled (see
            loop_nests/unrolling.py), but with `scalable` none that become loops of vectors, whose length is known
            only when the code runs; functions of few operations are marked to be left as they are (xhlo.brief, see
            loop_nests/brevity.py). If vector-bits, the width of the machine's vectors, is below 512, short loops are
            divided into whole vectors and what is left (see loop_nests/short_loops.py), short bodies that only
            move elements to places that are apart stay without vectors (see loop_nests/scattered.py), and places that
            take long to compute have a loop of their own before that of their gathers (see loop_nests/places.py).
    """

    name = "convert-loops-to-cf"
    takes_branches = True
    illegal = ("scf.*",)

    scalable: bool = False
    vector_bits: int = CPU.vector_bits

    def run(self, ctx: Context, module: ModuleOp) -> None:
        if not device_modules(module):
            mark_brief_functions(module)
        for function in lowered_functions(module):
            device = isinstance(function, GpuFuncOp)
            narrow = not device and not self.scalable and self.vector_bits < CPU.vector_bits
            if narrow and any(type(op) is arith.IndexCastOp for op in operations_in(function)):
                from .loop_nests.places import compute_places_before  # only gathers on short vectors need it

                compute_places_before(function)
            loops = SmallLoops(device, self.scalable, SHARED in function.attributes, self.vector_bits if narrow else 0)
            for block in list(function.body.blocks):
                loops.mark(block)
                lower_block(block, _ON_DEVICE if device else _LOWERINGS)

    def parts(self, module: ModuleOp) -> Sequence[Operation]:
        return lowered_parts(module)


def lower_block(block: Block, lowerings: Lowerings) -> Block:
    """
    Lower every structured operation of a block, innermost last; returns the block that now ends with its terminator.

    Operations are visited from the end, so that each is moved only once.
    """
    structured = [op for op in block.ops if type(op) in lowerings]
    exit_ = block
    for op in reversed(structured):
        if isinstance(op, scf.ParallelOp):
            op = _serial(op)
        following = op.next_op
        if following is None:
            fail(op, "ends its block: a terminator must follow")
        after = block.split_before(following)
        if exit_ is block:
            exit_ = after
        for result in op.results:
            argument = after.insert_arg(result.type, len(after.args))
            argument.name_hint = result.name_hint
            replace_uses(result, argument)
        detach_op(op)
        lowerings[type(op)](op, block, after, lowerings)
        erase_op(op)
    return exit_


def _inline(region: Region, after: Block, lowerings: Lowerings) -> tuple[Block, Block, Operation]:
    """Inline a region of one block before `after`; returns its first and last block and its terminator."""
    first = region.block
    last = lower_block(first, lowerings)
    terminator = last.last_op
    assert terminator is not None
    detach_op(terminator)
    region.move_blocks_before(after)
    return first, last, terminator


def _branch(
    block: Block, target: Block, operands: Sequence[SSAValue], like: Operation, attributes: Mapping[str, Attribute] = {}
) -> None:
    append(
        block,
        create_op(cf.BranchOp, operands=operands, successors=(target,), attributes=attributes, location=like.location),
    )


def _conditional_branch(
    block: Block,
    condition: SSAValue,
    then: tuple[Block, Sequence[SSAValue]],
    otherwise: tuple[Block, Sequence[SSAValue]],
    like: Operation,
    attributes: Mapping[str, Attribute] = {},
) -> None:
    segments = i32_array((1, len(then[1]), len(otherwise[1])))
    branch = create_op(
        cf.ConditionalBranchOp,
        operands=(condition, *then[1], *otherwise[1]),
        successors=(then[0], otherwise[0]),
        properties={"operandSegmentSizes": segments},
        attributes=attributes,
        location=like.location,
    )
    append(block, branch)


def _loop_facts(op: Operation) -> dict[str, Attribute]:
    return {name: op.attributes[name] for name in LOOP_ATTRIBUTES if name in op.attributes}


def _lower_for(op: scf.ForOp, before: Block, after: Block, lowerings: Lowerings) -> None:
    """
    The body's last block adds the step, compares, and branches back: the form that LLVM brings loops into.

    Before the first iteration the bounds are compared, unless they are known.
    """
    first, last, terminator = _inline(op.body, after, lowerings)
    lower, upper, by, *inits = op.operands
    enter = (first, (lower, *inits))
    if iterations(op):
        _branch(before, *enter, op)
    else:
        _conditional_branch(before, _less(before, lower, upper, op), enter, (after, inits), op)

    following = _increased(last, first.args[0], by, op)
    again, results = (first, (following, *terminator.operands)), tuple(terminator.operands)
    _conditional_branch(last, _less(last, following, upper, op), again, (after, results), op, _loop_facts(op))
    erase_op(terminator)


def _lower_for_on_device(op: scf.ForOp, before: Block, after: Block, lowerings: Lowerings) -> None:
    """
    The header compares; the body's last block adds the step and branches back: the comparison bounds the index for
    `device/index_ranges.py`.
    """
    first, last, terminator = _inline(op.body, after, lowerings)
    region = cast(Region, after.parent)
    header = new_block([arg.type for arg in first.args])
    region.insert_block_before(header, first)
    for old, new in zip(tuple(first.args), header.args, strict=True):
        new.name_hint = old.name_hint
        replace_uses(old, new)
        first.erase_arg(old)
    lower, upper, by, *inits = op.operands
    _branch(before, header, (lower, *inits), op)

    index, *carried = header.args
    _conditional_branch(header, _less(header, index, upper, op), (first, ()), (after, carried), op)
    following = _increased(last, index, by, op)
    _branch(last, header, (following, *terminator.operands), op, _loop_facts(op))
    erase_op(terminator)


def _less(block: Block, index: SSAValue, upper: SSAValue, like: Operation) -> SSAValue:
    """Append the comparison of an index with its bound."""
    compare = create_op(
        arith.CmpiOp,
        operands=(index, upper),
        result_types=(_I1,),
        properties={"predicate": _SIGNED_LESS},
        location=like.location,
    )
    append(block, compare)
    return compare.result


def _increased(block: Block, index: SSAValue, by: SSAValue, like: Operation) -> SSAValue:
    """Append the addition of a loop's step."""
    step = create_op(
        arith.AddiOp,
        operands=(index, by),
        result_types=(index.type,),
        properties={"overflowFlags": _NO_SIGNED_WRAP},
        location=like.location,
    )
    append(block, step)
    return step.result


def _lower_while(op: scf.WhileOp, before: Block, after: Block, lowerings: Lowerings) -> None:
    """
    The region before the condition is the header; the one after it is the body.

    The branch back states a fact of its own: LLVM merges an empty block into the one before it, and where that ends an
    inner loop, the facts of that loop, such as that its iterations are independent, would become this one's.
    """
    header, decision, condition = _inline(op.before_region, after, lowerings)
    body, latch, terminator = _inline(op.after_region, after, lowerings)
    test, *values = condition.operands
    _branch(before, header, op.arguments, op)
    _conditional_branch(decision, test, (body, values), (after, values), op)
    _branch(latch, header, terminator.operands, op, {UNROLL: _NEVER, **_loop_facts(op)})
    erase_op(condition)
    erase_op(terminator)


def _lower_region(region: Region, after: Block, like: Operation, lowerings: Lowerings) -> Block:
    """Inline a branch of a conditional; its values are passed to `after`. Returns its first block."""
    first, last, terminator = _inline(region, after, lowerings)
    _branch(last, after, terminator.operands, like)
    erase_op(terminator)
    return first


def _lower_if(op: scf.IfOp, before: Block, after: Block, lowerings: Lowerings) -> None:
    then = _lower_region(op.true_region, after, op, lowerings)
    otherwise = _lower_region(op.false_region, after, op, lowerings) if op.false_region.blocks else after
    _conditional_branch(before, op.cond, (then, ()), (otherwise, ()), op)


def _lower_index_switch(op: scf.IndexSwitchOp, before: Block, after: Block, lowerings: Lowerings) -> None:
    values = [int(value) for value in op.cases.get_values()]
    cases = [_lower_region(region, after, op, lowerings) for region in op.case_regions]
    default = _lower_region(op.default_region, after, op, lowerings)
    flag = arith.IndexCastOp(op.arg, i64)
    flag.location = op.location
    before.add_op(flag)
    attr = DenseIntOrFPElementsAttr.from_list(TensorType(i64, [len(values)]), values) if values else None
    switch = cf.SwitchOp(flag.result, default, (), cast(Any, attr), cases, [()] * len(cases))
    switch.location = op.location
    before.add_op(switch)


def _lower_execute_region(op: scf.ExecuteRegionOp, before: Block, after: Block, lowerings: Lowerings) -> None:
    blocks = list(op.region.blocks)
    for block in blocks:
        last = lower_block(block, lowerings)
        terminator = last.last_op
        if isinstance(terminator, scf.YieldOp):
            terminator.detach()
            _branch(last, after, terminator.operands, op)
            erase_op(terminator)
    _branch(before, blocks[0], (), op)
    op.region.move_blocks_before(after)


def _serial(op: scf.ParallelOp) -> scf.ForOp:
    """Replace scf.parallel by nested scf.for; reductions become loop-carried values."""
    bounds = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
    facts = _loop_facts(op)
    old = op.body.block
    loops: list[scf.ForOp] = []
    indices: list[SSAValue] = []
    carried: Sequence[SSAValue] = op.initVals
    types = [value.type for value in op.initVals]
    for lower, upper, step in bounds:
        body = new_block([lower.type, *types])
        loop = create_op(
            scf.ForOp,
            operands=(lower, upper, step, *carried),
            result_types=types,
            regions=(Region(body),),
            location=op.location,
        )
        if loops:
            loops[-1].body.block.add_op(loop)
        loops.append(loop)
        indices.append(body.args[0])
        carried = body.args[1:]
    outer, inner = loops[0], loops[-1]
    inner.attributes.update(facts)

    for arg, index in zip(tuple(old.args), indices, strict=True):
        index.name_hint = arg.name_hint
        replace_uses(arg, index)
    terminator = cast(scf.ReduceOp, old.last_op)
    terminator.detach()
    body = inner.body.block
    for inside in list(old.ops):
        inside.detach()
        body.add_op(inside)
    yielded = _combine(terminator, carried, body)
    for loop in loops[:-1]:
        nested = cast(Operation, loop.body.block.last_op)
        loop.body.block.add_op(create_op(scf.YieldOp, operands=nested.results, location=op.location))
    body.add_op(create_op(scf.YieldOp, operands=yielded, location=op.location))
    parent = cast(Block, op.parent)
    parent.insert_ops_before([outer], op)
    for result, new in zip(op.results, outer.results, strict=True):
        replace_uses(result, new)
    erase_op(terminator)
    erase_op(op)
    return outer


def _combine(reduce: scf.ReduceOp, carried: Sequence[SSAValue], body: Block) -> list[SSAValue]:
    """Put each reduction's combiner at the end of the loop body; returns the new partial results."""
    results: list[SSAValue] = []
    for region, value, old in zip(reduce.reductions, reduce.args, carried, strict=True):
        block = region.block
        replace_uses(block.args[0], old)
        replace_uses(block.args[1], value)
        final = cast(scf.ReduceReturnOp, block.last_op)
        results.append(final.result)
        erase_op(final)
        for inside in list(block.ops):
            inside.detach()
            body.add_op(inside)
    return results


_LOWERINGS: Lowerings = {
    scf.ForOp: _lower_for,
    scf.WhileOp: _lower_while,
    scf.IfOp: _lower_if,
    scf.IndexSwitchOp: _lower_index_switch,
    scf.ExecuteRegionOp: _lower_execute_region,
    scf.ParallelOp: _lower_for,
}
_ON_DEVICE: Lowerings = {**_LOWERINGS, scf.ForOp: _lower_for_on_device, scf.ParallelOp: _lower_for_on_device}
