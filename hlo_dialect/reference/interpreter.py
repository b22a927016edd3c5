"""
The reference interpreter: runs a module on NumPy arrays, each operation by its own `reference`.

It is the truth that compiled code is compared with, and runs programs at any level whose operations have reference
semantics: hlo and chlo, before and after fusion, and calls of functions (outlined kernels among them).

A function body is prepared once into steps (operation, handler, values that die with it) and then interpreted with an
explicit stack of calls, so that deep call chains need no deep Python stack. Regions run on the stack of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, TensorType, TupleType, UnregisteredOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..collectives.asynchronous import FutureType
from ..collectives.tokens import TOKEN, TokenType
from ..custom_calls.dynamic_window import LISTS as WINDOW_LISTS
from ..custom_calls.dynamic_window import NAME as DYNAMIC_WINDOW
from ..custom_calls.dynamic_window import reduce_window_of
from ..custom_calls.operations import CompositeOp, CustomCallOp
from ..custom_calls.registry import target_of
from ..diagnostics import Diagnostic, DiagnosticError, fail
from ..limits import check_limits, check_memory, refuse_size, static_bytes, too_much
from ..op import HloOp, RegionOp
from ..ops.check_calls import is_check, run_check_op
from ..ops.control_flow import CaseOp, IfOp, ReturnOp, WhileOp
from ..ops.creation import ConstantOp
from ..ops.dynamism.dynamic_shapes import ShapedByOperandOp
from ..shapes import has_known_shape, shapes_agree
from ..types import Array, holds_quantized, numpy_dtype, tensor_type
from ..verification import verify_operation
from ..walking import values_read
from .run_time_types import check_operands, check_results, is_dynamic, known_values

Handler = Callable[[Operation, tuple[Array, ...], "Environment"], tuple[Array, ...]]
Environment = dict[SSAValue, Array]


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a block, ready to run: `handler` is None for calls, which the interpreter's stack takes."""

    op: Operation
    operands: tuple[SSAValue, ...]
    results: tuple[SSAValue, ...]
    handler: Handler | None
    dead: tuple[SSAValue, ...]
    """Values that nothing reads after this step."""
    checked: bool
    """
    Whether the arrays have the shapes that their types state. Not in the body of a reduction, for one, which may run on
    all elements at once.
    """


@dataclass(slots=True)
class Plan:
    """The steps of a block, and the operands of its terminator."""

    arguments: tuple[SSAValue, ...]
    steps: tuple[Step, ...]
    outputs: tuple[SSAValue, ...]
    local: tuple[SSAValue, ...]
    """Values of the block, to be forgotten when it ends."""


@dataclass(slots=True)
class Frame:
    """A function in the middle of its run."""

    plan: Plan
    environment: Environment
    checked: bool = True
    """As in `Step`: a function that the body of a reduction calls may run on all elements at once too."""
    position: int = 0


class Interpreter:
    """Runs functions of one module; prepared blocks are kept between calls."""

    def __init__(self, module: ModuleOp):
        """Raises DiagnosticError for values that no array can hold."""
        check_limits(module)
        self.module = module
        self.functions: dict[str, FuncOp] = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
        self._plans: dict[Block, Plan] = {}

    def call(self, function: FuncOp, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """
        The function's results; the inputs' number, shapes and types are checked first (TypeError).

        Tokens are neither among the inputs nor among the results.
        """
        arrays = check_inputs(function, inputs)
        types = function.function_type.outputs.data
        with np.errstate(all="ignore"):
            try:
                results = self._run_function(function, function, arrays)
                return tuple(r for r, type_ in zip(results, types, strict=True) if not isinstance(type_, TokenType))
            except RecursionError:
                fail(
                    function,
                    "cannot be evaluated: its regions nest too deeply, or functions call each other in a cycle",
                )

    def check_targets(self, function: FuncOp) -> None:
        """Refuse custom calls of unknown targets, in the function and in all that it calls, before anything runs."""
        waiting, seen = [function], {function}
        while waiting:
            for op in waiting.pop().walk():
                if isinstance(op, CustomCallOp) and not is_check(op) and op.target != DYNAMIC_WINDOW:
                    target_of(op)
                elif isinstance(op, (CallOp, CompositeOp)):
                    callee = self._callee(op)
                    if callee not in seen:
                        seen.add(callee)
                        waiting.append(callee)

    def _run_function(
        self, caller: Operation, function: FuncOp, arguments: tuple[Array, ...], checked: bool = True
    ) -> tuple[Array, ...]:
        stack = [self._enter(caller, function, arguments, checked)]
        while True:
            frame = stack[-1]
            plan, environment = frame.plan, frame.environment
            if frame.position == len(plan.steps):
                outputs = tuple(environment[value] for value in plan.outputs)
                stack.pop()
                if not stack:
                    return outputs
                frame = stack[-1]
                self._finish(frame, outputs)
                continue
            step = plan.steps[frame.position]
            operands = tuple(environment[value] for value in step.operands)
            if step.handler is None:
                if len(stack) > len(self.functions):
                    fail(step.op, "cannot be evaluated: the functions call each other in a cycle")
                stack.append(self._enter(step.op, self._callee(step.op), operands, frame.checked))
                continue
            self._finish(frame, step.handler(step.op, operands, environment))

    def _enter(self, caller: Operation, function: FuncOp, arguments: tuple[Array, ...], checked: bool) -> Frame:
        block = function.body.blocks.first
        if block is None:
            fail(caller, f"calls @{function.sym_name.data}, which has no body")
        plan = self._plan(block)
        return Frame(plan, dict(zip(plan.arguments, arguments, strict=True)), checked)

    @staticmethod
    def _finish(frame: Frame, outputs: tuple[Array, ...]) -> None:
        """Bind the results of the frame's current step and go to the next."""
        step = frame.plan.steps[frame.position]
        environment = frame.environment
        if frame.checked:
            check_results(step.op, outputs)
        environment.update(zip(step.results, outputs, strict=True))
        for value in step.dead:
            environment.pop(value, None)
        frame.position += 1

    def _callee(self, op: Operation) -> FuncOp:
        called = op.properties["decomposition" if isinstance(op, CompositeOp) else "callee"]
        name = cast(SymbolRefAttr, called).string_value()
        function = self.functions.get(name)
        if function is None:
            fail(op, f"calls @{name}, which is not a function of this module")
        return function

    def _run_region(self, region: Region, environment: Environment, arguments: tuple[Array, ...]) -> tuple[Array, ...]:
        """Run a region inside a function; it reads the surrounding values from the function's environment."""
        block = region.blocks.first
        assert block is not None, "the verifier demands one block"
        plan = self._plan(block)
        environment.update(zip(plan.arguments, arguments, strict=True))
        for step in plan.steps:
            operands = tuple(environment[value] for value in step.operands)
            if step.handler is None:
                outputs = self._run_function(step.op, self._callee(step.op), operands, step.checked)
            else:
                outputs = step.handler(step.op, operands, environment)
            if step.checked:
                check_results(step.op, outputs)
            environment.update(zip(step.results, outputs, strict=True))
            for value in step.dead:
                environment.pop(value, None)
        outputs = tuple(environment[value] for value in plan.outputs)
        for value in plan.local:
            environment.pop(value, None)
        return outputs

    def _run_op(self, op: Operation, operands: tuple[Array, ...], environment: Environment) -> tuple[Array, ...]:
        # An operation of hlo, or of another dialect (chlo) that states its meaning in the same way.
        return self._results(op, lambda: cast(HloOp, op).reference(*operands))

    def _run_quantized(self, op: Operation, operands: tuple[Array, ...], environment: Environment) -> tuple[Array, ...]:
        from ..ops.quantized.semantics import compute_quantized

        return self._results(op, lambda: compute_quantized(cast(HloOp, op), operands))

    def _run_region_op(self, op: Operation, operands: tuple[Array, ...], environment: Environment) -> tuple[Array, ...]:
        assert isinstance(op, RegionOp)

        def run(region: Region, *arguments: Array) -> tuple[Array, ...]:
            return self._run_region(region, environment, arguments)

        if any(map(holds_quantized, op.operand_types)):
            from ..ops.quantized.semantics import promote

            operands = promote(op, operands)
        return self._results(op, lambda: op.reference_with_regions(run, *operands))

    def _run_dynamic_window(
        self, op: Operation, operands: tuple[Array, ...], environment: Environment
    ) -> tuple[Array, ...]:
        """The reduce_window that a custom call stands for, now that the window is known."""
        arrays = operands[:-WINDOW_LISTS]
        window = reduce_window_of(op, operands[-WINDOW_LISTS:], known_values(op.operands[:-WINDOW_LISTS], arrays))
        assert window is not None
        verify_operation(window)
        results = self._run_region_op(window, arrays, environment)
        self._plans.pop(window.body.block)  # the next call has another region
        check_results(op, results)
        return results

    def _results(self, op: Operation, compute: Callable[[], Array | tuple[Array, ...]]) -> tuple[Array, ...]:
        try:
            outputs = compute()
        except NotImplementedError as error:
            refuse(op, str(error))
        except ValueError as error:
            if isinstance(op, ShapedByOperandOp):
                fail(op, f"has sizes at run time that fit no array: {error}")
            unknown = [str(type_) for type_ in op.result_types if not has_known_shape(type_)]
            if not unknown:
                raise
            refuse(op, f"its result has the type {', '.join(unknown)}, and its operands do not give the shape")
        except DiagnosticError:
            raise  # of an operation in a region
        except MemoryError:
            refuse_size(op, f"needs more memory than there is: results {', '.join(map(str, op.result_types))}")
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        if not isinstance(op, ConstantOp):
            check_memory(op, sum(getattr(output, "nbytes", 0) for output in outputs))  # now that all shapes are known
        return outputs

    def _plan(self, block: Block) -> Plan:
        plan = self._plans.get(block)
        if plan is None:
            plan = self._plans[block] = self._prepare(block)
        return plan

    def _prepare(self, block: Block) -> Plan:
        """Turn a block into steps and find the last reader of each value. DiagnosticError for foreign operations."""
        *ops, last = block.ops
        if not isinstance(last, (ReturnOp, FuncReturnOp)):
            refuse(last, "is no terminator of hlo or func")
        if block.next_block is not None:
            refuse(last, "branches between blocks are not interpreted")
        # Walked backwards: the first reader met is the last to run.
        read: set[SSAValue] = set(last.operands)
        local = {value for op in ops for value in op.results} | set(block.args)
        steps: list[Step] = []
        checked = isinstance(block.parent_op(), (FuncOp, CaseOp, IfOp, WhileOp))
        for op in reversed(ops):
            used = dict.fromkeys(values_read(op))
            dead = [value for value in used if value in local and value not in read]
            dead += [value for value in op.results if value not in read]
            read.update(used)
            handler = self._handler(op)
            if checked and handler is not None and is_dynamic(op):
                handler = _checking(handler)
            steps.append(Step(op, tuple(op.operands), tuple(op.results), handler, tuple(dead), checked))
        steps.reverse()
        names = tuple(value for op in ops for value in op.results)
        arguments = tuple(block.args)
        return Plan(arguments, tuple(steps), tuple(last.operands), (*arguments, *names))

    def _handler(self, op: Operation) -> Handler | None:
        if isinstance(op, (CallOp, CompositeOp)):
            return None
        if isinstance(op, CustomCallOp) and op.target == DYNAMIC_WINDOW:
            return self._run_dynamic_window
        if isinstance(op, CustomCallOp) and not is_check(op):
            target_of(op)
        if is_check(op):
            return lambda op, operands, environment: run_check_op(op, operands)
        for type_ in op.result_types:
            why = unsupported_type(type_)
            if why is not None:
                refuse(op, why)
        if not isinstance(op, ConstantOp) and (why := too_much(static_bytes(op.result_types))) is not None:
            return partial(_refuse_to_run, why)
        if isinstance(op, RegionOp):
            return self._run_region_op
        if isinstance(op, HloOp) and any(map(holds_quantized, (*op.operand_types, *op.result_types))):
            return self._run_quantized
        if callable(getattr(op, "reference", None)):
            return self._run_op
        refuse(op, "it has no reference semantics")


def _checking(handler: Handler) -> Handler:
    """The handler, after a check of the operands' sizes."""

    def run(op: Operation, operands: tuple[Array, ...], environment: Environment) -> tuple[Array, ...]:
        check_operands(op, operands)
        return handler(op, operands, environment)

    return run


def _refuse_to_run(why: str, op: Operation, *_: object) -> NoReturn:
    """The handler of an operation that takes too much memory: an error only if it is reached."""
    refuse_size(op, why)


def refuse(op: Operation, why: str) -> NoReturn:
    """Raise the error for an operation that the interpreter cannot run."""
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    message = f"'{name}' op is not supported by the reference interpreter: {why}"
    raise DiagnosticError(Diagnostic("error", message, op.location))


@cache
def unsupported_type(type_: Attribute) -> str | None:
    """The reason why values of the type cannot be computed; None if they can."""
    if isinstance(type_, TupleType):
        return next(filter(None, map(unsupported_type, type_.types.data)), None)
    if isinstance(type_, FutureType):
        return next(filter(None, map(unsupported_type, type_.contents.data)), None)
    if isinstance(type_, TokenType):
        return None
    if not isinstance(type_, TensorType):
        return f"there are no values of type {type_}"
    tensor = tensor_type(cast(Attribute, type_))
    if numpy_dtype(tensor.element_type) is None:
        return f"elements of type {tensor.element_type} are not supported"
    return None


def check_inputs(function: FuncOp, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """
    The inputs as arrays of exactly the parameters' types; tokens, which callers leave out, are put in.

    Raises TypeError naming the input that does not fit, DiagnosticError for parameters of unsupported types.
    """
    types = function.function_type.inputs.data
    for index, type_ in enumerate(types):
        why = unsupported_type(type_)
        if why is not None:
            fail(function, f"cannot be evaluated: parameter {index}: {why}")
    name = function.sym_name.data
    wanted = [type_ for type_ in types if not isinstance(type_, TokenType)]
    if len(inputs) != len(wanted):
        raise TypeError(f"@{name} takes {len(wanted)} inputs, got {len(inputs)}")
    checked = iter([_check_input(name, index, *pair) for index, pair in enumerate(zip(wanted, inputs, strict=True))])
    return tuple(TOKEN if isinstance(type_, TokenType) else next(checked) for type_ in types)


def _check_input(name: str, index: int, type_: Attribute, value: Any) -> Array:
    if not isinstance(type_, TensorType):
        return value
    tensor = tensor_type(cast(Attribute, type_))
    dtype, shape = numpy_dtype(tensor.element_type), tensor.get_shape()
    array = np.asarray(value)
    if array.dtype != dtype:
        raise TypeError(f"input {index} of @{name} has dtype {array.dtype}, expected {dtype} ({type_})")
    if not shapes_agree(array.shape, shape):
        raise TypeError(f"input {index} of @{name} has shape {array.shape}, expected {shape} ({type_})")
    return array
