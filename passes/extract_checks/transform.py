"""The program's own checks become results of the entry; the executable tests them after the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects.support.editing import erase_op, replace_uses
from ...dialects.support.kernel import CHECKS, RESULT_COUNT
from ...hlo_dialect.custom_calls.call import describe_call
from ...hlo_dialect.custom_calls.markers import ASSERTION
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.ops.check_calls import check_kind, check_name, is_check
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.types import is_boolean, tensor_type
from ...hlo_dialect.walking import operations_in
from .verdicts import NoVerdict, comparison_fails, failure_number


@dataclass(frozen=True)
class ExtractChecksPass(HloPass):
    """
    Turn the checks of the entry into extra results.

    Before: `hlo.custom_call @check.expect_eq(%a, %b)`
    After:  `return .., %a, %b`; the module attribute xhlo.checks lists the results to compare, and how;
            xhlo.result_count is the number of the program's own results. The result of a check becomes true.
            Checks of other functions, which a program does not run, go.
    With number=true, for programs that run without Python, the program compares the values itself: one extra result, a
    tensor<i32>, is the place of the first check that fails, from 1, or 0. Assertions on shapes are checks, too, then.
    Assumes: the level after inline. A check inside control flow is refused.
    """

    name = "extract-checks"
    only_for = ("check.*", "hlo.custom_call")

    entry: str = "main"
    number: bool = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for function in module.body.block.ops:
            if not isinstance(function, func.FuncOp) or function.is_declaration:
                continue
            if function.sym_name.data == self.entry:
                self._extract(module, function)
                continue
            for op in [op for op in operations_in(function) if check_name(op) is not None]:
                _erase(op)

    def _extract(self, module: ModuleOp, function: func.FuncOp) -> None:
        block = function.body.block
        checks = [_Check.read(op, block) for op in operations_in(function) if self._is_check(op, block)]
        if not checks:
            return
        terminator = cast(Operation, block.last_op)
        first = len(terminator.operands)
        if self.number:
            extra = [_number(checks, terminator)]
            places = [[first]] * len(checks)
        else:
            extra = [value for check in checks for value in check.compared]
            places = [[first + 2 * number, first + 2 * number + 1] for number in range(len(checks))]
        described = [_describe(check, at) for check, at in zip(checks, places, strict=True)]
        for check in checks:
            _erase(check.op)
        terminator.operands = [*terminator.operands, *extra]
        types = function.function_type
        outputs = [*types.outputs, *(value.type for value in extra)]
        function.properties["function_type"] = FunctionType.from_lists(list(types.inputs), outputs)
        attributes = function.properties.get("res_attrs")
        if isinstance(attributes, ArrayAttr):
            function.properties["res_attrs"] = ArrayAttr(
                [*cast("ArrayAttr[Any]", attributes), *(DictionaryAttr({}) for _ in extra)]
            )
        module.attributes[CHECKS] = ArrayAttr(described)
        module.attributes[RESULT_COUNT] = IntegerAttr(first, i64)

    def _is_check(self, op: Operation, block: Block) -> bool:
        # An assertion inside control flow stays a call.
        return is_check(op) or (self.number and _is_assertion(op) and op.parent is block)


class _Check(NamedTuple):
    """A check of the entry, and the two values that it compares; the condition of an assertion."""

    op: Operation
    kind: str
    compared: list[SSAValue]

    @staticmethod
    def read(op: Operation, block: Block) -> _Check:
        if _is_assertion(op):
            describe_call(op)  # which refuses operands of other types
            return _Check(op, ASSERTION, [op.operands[0]])
        if op.parent is not block:
            fail(op, "is a check inside control flow, which is not supported; check the loop's or branch's results")
        name = check_name(op)
        kind = check_kind(cast(str, name))
        compared = _compared(op, block)
        if kind is None or len(compared) != 2:
            fail(op, f"is a check ({name}) that the compiler does not know")
        return _Check(op, kind, compared)

    def fails(self, at: Operation) -> Tensor:
        """Whether the check fails, as a scalar i1, computed before the operation `at`."""
        values = Builder(InsertPoint.before(at), self.op.location).tensors(self.compared)
        if self.kind == ASSERTION:
            return ~values[0]
        try:
            return comparison_fails(self.kind, values[0], values[1], {**self.op.properties, **self.op.attributes})
        except NoVerdict as problem:
            fail(self.op, str(problem))


def _is_assertion(op: Operation) -> bool:
    return isinstance(op, CustomCallOp) and op.target == ASSERTION


def _number(checks: Sequence[_Check], terminator: Operation) -> SSAValue:
    """The place of the first check that fails, computed before the terminator."""
    at = Builder.before(terminator)
    failures = [check.fails(terminator) for check in checks]
    return failure_number(at.tensors([each.value for each in failures])).value


def _compared(op: Operation, block: Block) -> list[SSAValue]:
    """The values that a check compares; the expected value of a `.._const` check becomes a constant."""
    values = list(op.operands)
    constant = op.properties.get("value", op.attributes.get("value"))  # an empty constant is false
    if len(values) == 1 and isinstance(constant, DenseIntOrFPElementsAttr):
        dense = cast("DenseIntOrFPElementsAttr[Any]", constant)
        new = ConstantOp.create(properties={"value": dense}, result_types=[dense.type], location=op.location)
        block.insert_op_before(new, op)
        values.append(new.results[0])
    return values


def _erase(op: Operation) -> None:
    """Erase a check, with true for its results: if it does not hold, the run fails anyway."""
    block = cast(Block, op.parent)
    for result in op.results:
        type_ = tensor_type(result)
        if not is_boolean(type_.element_type):
            fail(op, f"is a check with a result of type {type_}, not of booleans")
        true = ConstantOp.of(np.ones((1,), dtype=np.bool_), type_)
        true.location = op.location
        block.insert_op_before(true, op)
        replace_uses(result, true.results[0])
    erase_op(op)


def _describe(check: _Check, places: list[int]) -> Attribute:
    op = check.op
    entry: dict[str, Attribute] = {
        "kind": StringAttr(check.kind),
        "results": ArrayAttr([IntegerAttr(place, i64) for place in places]),
        "attributes": DictionaryAttr({**op.properties, **op.attributes}),
        "location": op.location,
    }
    return DictionaryAttr(entry)
