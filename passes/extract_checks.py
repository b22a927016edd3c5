"""The program's own checks become results of the entry; the executable tests them after the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

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

from ..dialects.support.kernel import CHECKS, RESULT_COUNT
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.ops.check_calls import check_kind, check_name
from ..hlo_dialect.ops.creation import ConstantOp
from ..hlo_dialect.types import is_boolean, tensor_type
from ..hlo_dialect.walking import operations_in


@dataclass(frozen=True)
class ExtractChecksPass(HloPass):
    """
    Turn the checks of the entry into extra results.

    Before: `hlo.custom_call @check.expect_eq(%a, %b)`
    After:  `return .., %a, %b`; the module attribute xhlo.checks lists the results to compare, and how;
            xhlo.result_count is the number of the program's own results. The result of a check becomes true.
            Checks of other functions, which a program does not run, go.
    Assumes: the level after inline. A check inside control flow is refused.
    """

    name = "extract-checks"
    only_for = ("check.*", "hlo.custom_call")

    entry: str = "main"

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
        checks = [op for op in operations_in(function) if check_name(op) is not None]
        terminator = cast(Operation, block.last_op)
        extra: list[SSAValue] = []
        described: list[Attribute] = []
        first = len(terminator.operands)
        for op in checks:
            if op.parent is not block:
                fail(op, "is a check inside control flow, which is not supported; check the loop's or branch's results")
            name = check_name(op)
            kind = check_kind(cast(str, name))
            compared = _compared(op, block)
            if kind is None or len(compared) != 2:
                fail(op, f"is a check ({name}) that the compiler does not know")
            places = [first + len(extra), first + len(extra) + 1]
            extra.extend(compared)
            described.append(_describe(op, kind, places))
            _erase(op)
        if not described:
            return
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
        result.replace_all_uses_with(true.results[0])
    op.detach()
    op.erase()


def _describe(op: Operation, kind: str, places: list[int]) -> Attribute:
    entry: dict[str, Attribute] = {
        "kind": StringAttr(kind),
        "results": ArrayAttr([IntegerAttr(place, i64) for place in places]),
        "attributes": DictionaryAttr({**op.properties, **op.attributes}),
        "location": op.location,
    }
    return DictionaryAttr(entry)
