"""Whole programs in the reference, with the grids of processes that StableHLO's test programs start."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from ...dialects.interpreter import RunParallelOp
from ..collectives.tokens import TOKEN, TokenType
from ..diagnostics import fail
from ..types import Array
from .interpreter import Environment, Handler
from .replicas import Grid
from .showing import ShowingInterpreter

Recorded = list[tuple[Operation, tuple[Array, ...]]]
"""Operations that ran, in order, and what they gave."""


def evaluate(
    module: ModuleOp, inputs: Sequence[Array], entry: str = "main", recorded: Recorded | None = None
) -> tuple[Array, ...]:
    """
    The results of the function `entry` on `inputs`; in place of @main, of a module's only function. `recorded` receives
    what the operations of functions give, those in regions left out.

    Raises TypeError when the inputs do not fit the function's parameters, CheckFailure when a check of the program does
    not hold, and DiagnosticError for operations and types that have no reference semantics.
    """
    interpreter = _ProgramInterpreter(module) if recorded is None else _RecordingInterpreter(module, recorded)
    function = interpreter.functions.get(entry)
    if entry == "main" and len(interpreter.functions) == 1:
        (function,) = interpreter.functions.values()
    if function is None:
        names = ", ".join(interpreter.functions) or "none"
        fail(module, f"has no function @{entry} (its functions: {names})")
    interpreter.check_targets(function)
    return interpreter.call(function, inputs)


class _ProgramInterpreter(ShowingInterpreter):
    """The interpreter that starts grids of processes."""

    def _handler(self, op: Operation) -> Handler | None:
        return self._run_parallel if isinstance(op, RunParallelOp) else super()._handler(op)

    def _run_parallel(self, op: Operation, operands: tuple[Array, ...], environment: Environment) -> tuple[Array, ...]:
        assert isinstance(op, RunParallelOp)
        functions, waiting = op.functions(), iter(operands)
        inputs: list[list[Array]] = []
        for function in functions:
            self.check_targets(function)
            given = [(type_, next(waiting)) for type_ in function.function_type.inputs.data]
            inputs.append([array for type_, array in given if not isinstance(type_, TokenType)])
        infeed = [self.call(function, ()) for function in op.infeed_functions()]
        found = iter(Grid(self, functions, inputs, op.partitions, infeed).run())
        results: list[Array] = []
        for function in functions:
            arrays = iter(next(found))
            types = function.function_type.outputs.data
            results += [TOKEN if isinstance(type_, TokenType) else next(arrays) for type_ in types]
        return tuple(results)


class _RecordingInterpreter(_ProgramInterpreter):
    """The interpreter that keeps the values of the operations of functions."""

    def __init__(self, module: ModuleOp, recorded: Recorded):
        super().__init__(module)
        self._recorded = recorded

    def _handler(self, op: Operation) -> Handler | None:
        handler = super()._handler(op)
        return handler if handler is None or not isinstance(op.parent_op(), FuncOp) else partial(self._record, handler)

    def _record(
        self, handler: Handler, op: Operation, operands: tuple[Array, ...], environment: Environment
    ) -> tuple[Array, ...]:
        results = handler(op, operands, environment)
        self._recorded.append((op, results))
        return results
