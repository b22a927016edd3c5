"""
Reduces a failing program.

Operations are replaced by arguments with the values that the reference computed, inside regions by constants;
irrelevant results are dropped. A change is kept if the program still fails in the same way, in a separate process.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block as XBlock
from xdsl.ir import Operation

from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.printing import print_module
from ...hlo_dialect.reading import parse_module
from ...hlo_dialect.types import Array, dense_constant, numpy_dtype, tensor_type
from .checks import CHECKS, reference_results
from .programs import Program


def failure(program: Program, check: str, seconds: int = 60) -> str | None:
    """The check's failure; None if it passes. It runs in a separate process, for so many seconds of processor time."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.alarm(10 * seconds)  # for one that waits
        try:
            CHECKS[check](program)
            message = ""
        except BaseException as error:
            message = f"{type(error).__name__} {error}"
        os.write(writer, message.encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        message = stream.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if status:
        return f"died with status {status}"
    return message or None


def kind_of(message: str) -> str:
    """The message without the numbers and names that differ between programs with the same failure."""
    if message.startswith("Disagreement %"):
        return "Disagreement wrong elements"
    return re.sub(r"[0-9]+", "N", re.sub(r"%\w+|'[^']*' op|\(.*", "", message.splitlines()[0]))[:90]


def rebuild(program: Program, module: ModuleOp, inputs: list[Array], kept: list[int]) -> Program:
    return Program(print_module(module, spelling="stablehlo"), inputs, [program.results[i] for i in kept])


def parsed(program: Program) -> tuple[ModuleOp, FuncOp, XBlock]:
    module = parse_module(program.text, "random.mlir", make_context())
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    return module, function, function.body.block


def set_type(function: FuncOp) -> None:
    block = function.body.block
    assert block.last_op is not None
    function.properties["function_type"] = FunctionType.from_lists(
        [a.type for a in block.args], list(block.last_op.operand_types)
    )


def keep_results(program: Program, kept: list[int]) -> Program:
    module, function, block = parsed(program)
    last = block.last_op
    assert last is not None
    last.operands = [last.operands[i] for i in kept]
    remove_dead(block)
    return finish(program, module, function, program.inputs, kept)


def finish(program: Program, module: ModuleOp, function: FuncOp, inputs: list[Array], kept: list[int]) -> Program:
    block = function.body.block
    inputs = list(inputs)
    for index in reversed(range(len(block.args))):
        if not block.args[index].uses:
            block.erase_arg(block.args[index])
            del inputs[index]
    set_type(function)
    return rebuild(program, module, inputs, kept)


def remove_dead(block: XBlock) -> None:
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                remove_dead(inner)
        if (op is not block.last_op and op.results and not any(r.uses for r in op.results)) or (
            op.name == "hlo.while" and not op.results
        ):
            op.detach()
            op.erase()


def values_of(program: Program, place: int) -> list[Array] | None:
    """The values that the reference computes for the results of operation `place` of the function."""
    module, function, block = parsed(program)
    op = list(block.ops)[place]
    last = block.last_op
    assert last is not None
    last.operands = list(op.results)
    set_type(function)
    return list(reference_results(print_module(module), program.inputs))


def without_op(program: Program, place: int) -> Program | None:
    """Replace operation `place` of the function by arguments with its values."""
    values = values_of(program, place)
    module, function, block = parsed(program)
    op = list(block.ops)[place]
    inputs = list(program.inputs)
    for result, value in zip(op.results, values or (), strict=True):
        argument = block.insert_arg(result.type, len(block.args))
        result.replace_all_uses_with(argument)
        inputs.append(value)
    remove_dead(block)
    return finish(program, module, function, inputs, list(range(len(program.results))))


def nested_ops(block: XBlock) -> list[Operation]:
    return [
        op for outer in block.ops for op in outer.walk() if op is not outer and op.name != "hlo.return" and op.results
    ]


def without_nested(program: Program, place: int, way: int) -> Program | None:
    """Replace nested operation `place` by constants, or by one of its operands (`way` 1)."""
    module, function, block = parsed(program)
    op = nested_ops(block)[place]
    parent = op.parent_op()
    if parent is not None and parent.name == "hlo.reduce":
        return None
    for result in op.results:
        if way:
            same = [o for o in op.operands if o.type == result.type]
            if not same:
                return None
            result.replace_all_uses_with(same[min(way - 1, len(same) - 1)])
        elif op.name == "hlo.constant":
            return None
        else:
            type_ = tensor_type(result.type)
            constant = ConstantOp.create(
                result_types=[type_],
                properties={"value": dense_constant(np.ones((), numpy_dtype(type_.element_type)), type_)},
            )
            op.parent_block().insert_op_before(constant, op)  # pyright: ignore
            result.replace_all_uses_with(constant.results[0])
    remove_dead(block)
    return finish(program, module, function, program.inputs, list(range(len(program.results))))


def shrunk(program: Program, check: str) -> Program:
    """The smallest program found that fails in the same way as `program`."""
    wanted = failure(program, check)
    if wanted is None:
        return program

    kind = kind_of(wanted)

    def accepts(candidate: Program | None) -> bool:
        found = None if candidate is None else failure(candidate, check)
        return found is not None and kind_of(found) == kind

    for index in range(len(program.results)):
        candidate = keep_results(program, [index])
        if accepts(candidate):
            program = candidate
            break
    place = 0
    while place < len(program.results) and len(program.results) > 1:
        candidate = keep_results(program, [i for i in range(len(program.results)) if i != place])
        if accepts(candidate):
            program = candidate
        else:
            place += 1
    changed = True
    while changed:
        changed = False
        place = len(list(parsed(program)[2].ops)) - 2
        while place >= 0:
            candidate = attempt(without_op, program, place)
            if accepts(candidate):
                assert candidate is not None
                program, changed = candidate, True
            place = min(place, len(list(parsed(program)[2].ops)) - 1) - 1
        place = len(nested_ops(parsed(program)[2])) - 1
        while place >= 0:
            for way in (1, 2, 0):
                candidate = attempt(without_nested, program, place, way)
                if accepts(candidate) and candidate is not None and len(candidate.text) < len(program.text):
                    program, changed = candidate, True
                    break
            place = min(place, len(nested_ops(parsed(program)[2]))) - 1
    return program


def attempt(change: Callable[..., Program | None], *arguments: object) -> Program | None:
    """The changed program; None if the change does not give a valid program."""
    try:
        return change(*arguments)
    except Exception:
        return None
