"""
Functions as lists of steps: each operation is read once, and runs for all threads at once each time it is reached.

Threads run in lockstep. Where they diverge (at an `scf.if`, in loops of different trip counts), each path runs under a
mask of the threads that take it; operations without effects compute for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, func, scf
from xdsl.ir import Block, Operation, Region, SSAValue

from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.numbers.scalar_operations import DIVISIONS, constant, scalar_function, undefined
from ...hlo_dialect.types import Array
from .lanes import Frame
from .memory import View, scalar

Step = Callable[[Frame], None]
Maker = Callable[["Evaluator", Any], Step]


@dataclass
class Code:
    """A block, ready to run."""

    arguments: tuple[SSAValue, ...]
    steps: tuple[Step, ...]
    ends: tuple[SSAValue, ...]
    """The operands of its terminator."""

    def run(self, frame: Frame, arguments: Sequence[Any] = ()) -> list[Any]:
        """Run the block. Returns the operands of its terminator."""
        env = frame.env
        env.update(zip(self.arguments, arguments, strict=True))
        for step in self.steps:
            step(frame)
        return [env[value] for value in self.ends]


@dataclass
class Symbols:
    """The symbols that a module's operations refer to."""

    functions: dict[str, func.FuncOp] = field(default_factory=dict[str, func.FuncOp])
    constants: dict[str, View] = field(default_factory=dict[str, View])


class Evaluator:
    """Turns blocks into code. `makers` handle the operations beyond arithmetic and control flow, by name."""

    def __init__(self, makers: dict[str, Maker], symbols: Symbols):
        self.makers = {**CONTROL, **makers}
        self.symbols = symbols
        self._codes: dict[Block, Code] = {}

    def code(self, block: Block) -> Code:
        found = self._codes.get(block)
        if found is None:
            last = block.last_op
            ops = list(block.ops)
            ends = () if last is None else tuple(last.operands)
            found = Code(tuple(block.args), tuple(self._step(op) for op in ops[:-1]), ends)
            self._codes[block] = found
        return found

    def region(self, region: Region) -> Code:
        """The code of a region of one block; empty for an empty region."""
        return self.code(region.block) if region.blocks else Code((), (), ())

    def _step(self, op: Operation) -> Step:
        name = op.name
        maker = self.makers.get(name)
        if maker is not None:
            return maker(self, op)
        if isinstance(op, arith.ConstantOp):
            return _set(op.result, constant(op))
        function = scalar_function(op)
        if function is not None:
            if name in DIVISIONS:
                return _division(op, function)
            return _compute(op, function) if len(op.results) == 1 else _several(op, function)
        fail(op, "is not supported by the SIMT interpreter: it runs the level after plan-buffers")


def _set(result: SSAValue, value: Any) -> Step:
    def step(frame: Frame) -> None:
        frame.env[result] = value

    return step


def _compute(op: Operation, function: Callable[..., Array]) -> Step:
    result = op.results[0]
    operands = tuple(op.operands)
    if len(operands) == 2:
        left, right = operands

        def binary(frame: Frame) -> None:
            env = frame.env
            env[result] = function(env[left], env[right])

        return binary
    if len(operands) == 1:
        (only,) = operands

        def unary(frame: Frame) -> None:
            frame.env[result] = function(frame.env[only])

        return unary

    def any_number(frame: Frame) -> None:
        env = frame.env
        env[result] = function(*[env[operand] for operand in operands])

    return any_number


def _several(op: Operation, function: Callable[..., Any]) -> Step:
    operands, results = tuple(op.operands), tuple(op.results)

    def step(frame: Frame) -> None:
        values = function(*[frame.env[operand] for operand in operands])
        frame.env.update(zip(results, values, strict=True))

    return step


def _division(op: Operation, function: Callable[..., Array]) -> Step:
    left, right = op.operands
    result = op.results[0]

    def step(frame: Frame) -> None:
        x, y = frame.env[left], frame.env[right]
        for reason, bad in undefined(op, x, y):
            if bad.any():
                bad = frame.only_active(bad)
                if bad.any():
                    frame.fail(op, reason, bad)
        if (y == 0).any():
            y = np.where(y == 0, np.ones((), y.dtype), y)
        frame.env[result] = function(x, y)

    return step


# -- control flow ---------------------------------------------------------------------------------------------------


def _chosen(op: Operation, condition: Array | None, yes: Any, no: Any) -> Any:
    """A value that threads got from different paths."""
    if yes is no or condition is None:
        return yes
    if not isinstance(yes, np.ndarray):
        fail(op, "chooses between buffers differently in different threads; the SIMT interpreter does not")
    return np.where(condition, cast(Array, yes), cast(Array, no))


def _if(evaluator: Evaluator, op: scf.IfOp) -> Step:
    yes, no = evaluator.region(op.true_region), evaluator.region(op.false_region)
    chosen, results = op.cond, tuple(op.results)

    def step(frame: Frame) -> None:
        condition: Array = frame.env[chosen]
        outer = frame.mask
        if condition.size == 1:
            values = (yes if condition.reshape(-1)[0] else no).run(frame)
        else:
            taken, left = frame.only_active(condition), frame.only_active(~condition)
            if not left.any():
                values = yes.run(frame)
            elif not taken.any():
                values = no.run(frame)
            else:
                frame.mask = taken
                values = yes.run(frame)
                frame.mask = left
                others = no.run(frame)
                frame.mask = outer
                values = [_chosen(op, condition, *pair) for pair in zip(values, others, strict=True)]
        frame.env.update(zip(results, values, strict=True))

    return step


def _for(evaluator: Evaluator, op: scf.ForOp) -> Step:
    body = evaluator.region(op.body)
    lower, upper, step_, *inits = op.operands
    results = tuple(op.results)

    def step(frame: Frame) -> None:
        env = frame.env
        bounds = env[lower], env[upper], env[step_]
        carried = [env[value] for value in inits]
        if (bounds[2] <= 0).any():
            frame.fail(op, "has a step that is not positive", frame.active())
        if all(bound.size == 1 for bound in bounds):
            kind = bounds[0].dtype
            for number in range(*map(scalar, bounds)):
                carried = body.run(frame, [np.full((1, 1), number, kind), *carried])
        else:
            carried = _diverging_for(frame, op, body, bounds, carried)
        env.update(zip(results, carried, strict=True))

    return step


def _diverging_for(
    frame: Frame, op: Operation, body: Code, bounds: tuple[Array, Array, Array], carried: list[Any]
) -> list[Any]:
    """A loop whose trip count differs between threads."""
    outer = frame.mask
    index, upper, stride = bounds
    running = frame.only_active(index < upper)
    everyone = frame.only_active(np.ones((1, 1), np.bool_))
    while running.any():
        all_run = bool((running == everyone).all())
        frame.mask = outer if all_run else running
        after = body.run(frame, [index, *carried])
        if all_run:
            carried = after
        else:
            carried = [_chosen(op, running, *pair) for pair in zip(after, carried, strict=True)]
        index = index + stride
        running = running & (index < upper)
    frame.mask = outer
    return carried


def _while(evaluator: Evaluator, op: scf.WhileOp) -> Step:
    before, after = evaluator.region(op.before_region), evaluator.region(op.after_region)
    inits, results = tuple(op.arguments), tuple(op.res)

    def step(frame: Frame) -> None:
        outer = frame.mask
        state = [frame.env[value] for value in inits]
        handed: list[Any] | None = None
        while True:
            condition, *values = before.run(frame, state)
            running = frame.only_active(condition)
            if handed is None or frame.mask is outer:
                handed = values
            else:
                handed = [_chosen(op, frame.mask, *pair) for pair in zip(values, handed, strict=True)]
            if not running.any():
                break
            if condition.size > 1 and frame.only_active(~condition).any():
                frame.mask = running
            state = after.run(frame, values)
        frame.mask = outer
        frame.env.update(zip(results, handed, strict=True))

    return step


def _switch(evaluator: Evaluator, op: scf.IndexSwitchOp) -> Step:
    cases: list[Any] = list(op.cases.get_values())
    codes = [evaluator.region(region) for region in op.case_regions]
    default = evaluator.region(op.default_region)
    results = tuple(op.results)

    def step(frame: Frame) -> None:
        index: Array = frame.env[op.arg]
        if index.size > 1:
            fail(op, "goes different ways in different threads; the SIMT interpreter does not")
        number = scalar(index)
        code = codes[cases.index(number)] if number in cases else default
        frame.env.update(zip(results, code.run(frame), strict=True))

    return step


def call(evaluator: Evaluator, op: func.CallOp) -> Step:
    """A call of one of the module's functions."""
    name = op.callee.string_value()
    arguments, results = tuple(op.arguments), tuple(op.results)

    def step(frame: Frame) -> None:
        function = evaluator.symbols.functions.get(name)
        if function is None or function.is_declaration:
            fail(op, f"calls @{name}, which has no body")
        inner = Frame(frame.lanes, {}, frame.mask)
        values = evaluator.code(function.body.block).run(inner, [frame.env[value] for value in arguments])
        frame.env.update(zip(results, values, strict=True))

    return step


CONTROL: dict[str, Maker] = {
    "scf.if": _if,
    "scf.for": _for,
    "scf.while": _while,
    "scf.index_switch": _switch,
    "func.call": call,
}
