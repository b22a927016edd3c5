"""Opcodes that use computations: call, fusion, while, conditional, and those of tuples."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Region

from ....dialects.support.creation import create_op
from ....hlo_dialect.attributes import symbol
from ....hlo_dialect.ops.control_flow import CaseOp, IfOp, OptimizationBarrierOp, ReturnOp, WhileOp
from ....hlo_dialect.ops.fusion import KEPT_KIND, FusionOp
from ....hlo_dialect.types import i1, i32, make_tensor
from ..program import Computation
from ..registry import opcode
from ..step import Step, Value, leaves, structured


@opcode("tuple")
def tuple_(step: Step) -> Value:
    return tuple(step.operands)


@opcode("get-tuple-element", "index", 1)
def get_tuple_element(step: Step) -> Value:
    value, index = step.operands[0], step.int("index")
    if not isinstance(value, tuple):
        step.fail("the operand is no tuple")
    if not 0 <= index < len(value):
        step.fail(f"index {index} is not in a tuple of {len(value)}", "index")
    return value[index]


@opcode("opt-barrier", "", 1)
def opt_barrier(step: Step) -> Value:
    return step.op(OptimizationBarrierOp, step.flat())


@opcode("call", "to_apply is_composite")
def call(step: Step) -> Value:
    """A call of the computation's function."""
    function = step.converter.function(step.computation("to_apply"), step)
    types, operands = function.function_type, step.flat()
    if [value.type for value in operands] != list(types.inputs.data):
        step.fail("the computation takes other parameters than these operands", "to_apply")
    properties = {"callee": symbol(function.sym_name.data)}
    op = create_op(func.CallOp, operands=operands, result_types=types.outputs.data, properties=properties)
    step.insert(op)
    if step.shape.types() != list(types.outputs.data):
        step.fail("the computation returns another shape than the call's")
    return structured(step.shape, iter(op.results))


@opcode("fusion", "kind calls output_to_operand_aliasing fusion_kind")
def fusion(step: Step) -> Value:
    """The instructions of the computation: what becomes one kernel is decided again, unless fusions are kept."""
    kinds = ("kLoop", "kInput", "kOutput", "kCustom")
    kind, computation = step.choice("kind", {kind: kind for kind in kinds}), step.computation("calls")
    if not step.converter.keeps_fusions:
        return step.inlined(computation, step.operands)
    value = step.op(FusionOp, step.flat(), [step.region(computation)], kind=StringAttr("kept"))
    step.made[-1].attributes[KEPT_KIND] = StringAttr(kind)
    return value


@opcode("while", "condition body", 1)
def while_(step: Step) -> Value:
    regions = [step.region(step.computation(name), is_kernel=False) for name in ("condition", "body")]
    return step.op(WhileOp, step.flat(), regions)


@opcode("conditional", "true_computation false_computation branch_computations")
def conditional(step: Step) -> Value:
    if not step.operands:
        step.fail("expected a predicate or an index, and an operand for each branch")
    chooser = step.value(0)
    if chooser.type == make_tensor((), i1) and not step.has("branch_computations"):
        branches = [step.computation("true_computation"), step.computation("false_computation")]
    elif chooser.type in (make_tensor((), i32), make_tensor((), i1)):
        branches = step.computations("branch_computations")
    else:
        step.fail(f"the first operand has type {chooser.type}, expected pred[] or s32[]")
    if len(step.operands) != len(branches) + 1:
        step.fail(f"{len(branches)} branches take {len(branches)} operands, there are {len(step.operands) - 1}")
    if chooser.type == make_tensor((), i1) and len(branches) != 2:
        step.fail("a predicate chooses one of two branches")
    regions = [_branch(step, branch, value) for branch, value in zip(branches, step.operands[1:], strict=True)]
    return step.op(IfOp if chooser.type == make_tensor((), i1) else CaseOp, [chooser], regions)


def _branch(step: Step, computation: Computation, operand: Value) -> Region:
    """The computation for this operand, as a region without arguments."""
    outside, step.block = step.block, Block()
    try:
        value = step.inlined(computation, [operand])
        results = [leaf for leaf in leaves(value) if leaf is not None]
        step.block.add_op(ReturnOp.create(operands=results, location=step.instruction.location))
        return Region(step.block)
    finally:
        step.block = outside
