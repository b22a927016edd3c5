"""
Makes a failing random program small: `python test/unit/random_reduction.py small 17 fuse` prints what is left of it.

Operations are replaced by arguments that hold the values which the reference computed, inside of regions by constants;
results that do not matter are dropped. A change stays when the program still fails in the same way, in a process of its own.
"""

from __future__ import annotations

import os
import random
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import random_checks
import random_programs
from random_programs import Program
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block as XBlock
from xdsl.ir import Operation

from xhlo.hlo_dialect.creation import ConstantOp
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.types import dense_constant, numpy_dtype, tensor_type


def failure(program: Program, check: str, seconds: int = 60) -> str | None:
    """How the check fails, without numbers and names that change; None where it holds."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        try:
            if check == "text":
                random_checks.check_text(program)
            else:
                random_checks.check_compiled(program, check == "fuse")
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
    return kind_of(message) if message else None


def kind_of(message: str) -> str:
    if message.startswith("AssertionError %"):
        return "AssertionError wrong elements"
    return re.sub(r"[0-9]+", "N", re.sub(r"%\w+|'[^']*' op|\(.*", "", message.splitlines()[0]))[:90]


def rebuild(program: Program, module: ModuleOp, inputs: list[np.ndarray], kept: list[int]) -> Program:
    return Program(print_module(module), inputs, [program.results[i] for i in kept])


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


def finish(program: Program, module: ModuleOp, function: FuncOp, inputs: list[np.ndarray], kept: list[int]) -> Program:
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


def values_of(program: Program, place: int) -> list[np.ndarray] | None:
    """What the reference computes for the results of operation `place` of the function."""
    module, function, block = parsed(program)
    op = list(block.ops)[place]
    last = block.last_op
    assert last is not None
    last.operands = list(op.results)
    set_type(function)
    return list(random_checks.reference_results(print_module(module), program.inputs))


def without_op(program: Program, place: int) -> Program | None:
    """Operation `place` of the function becomes arguments with its values."""
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
    """Nested operation `place` becomes constants, or one of its operands (`way` 1)."""
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


def reduced(program: Program, check: str) -> Program:
    """The smallest program found that fails as `program` does."""
    wanted = failure(program, check)
    assert wanted is not None, "the program does not fail"

    def accepts(candidate: Program | None) -> bool:
        return candidate is not None and failure(candidate, check) == wanted

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
    """The changed program; None where the change makes no program, whatever the reason."""
    try:
        return change(*arguments)
    except Exception:
        return None


def main() -> None:
    profile, seed, check = sys.argv[1:4]
    program = random_programs.random_program(random.Random(int(seed)), random_programs.PROFILES[profile])
    small = reduced(program, check)
    print(f"// {profile} {seed} {check}: {failure(small, check)}")
    print(small.text)
    for array in small.inputs:
        print("//", repr(array)[:300].replace("\n", "\n// "))


if __name__ == "__main__":
    main()
