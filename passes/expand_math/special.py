"""
Special functions: one function for each operation and type, whose arithmetic the formulas of chlo's operations write.

Functions of an operand that is a constant, such as the order of polygamma, have it inside: formulas look at it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation

from ...dialects.support.attributes import integer_attr
from ...dialects.support.kernel import OPERATIONS
from ...dialects.support.scalar import FLOATS, Scalar
from ...hlo_dialect.chlo import elementary, special
from ...hlo_dialect.walking import operations_of
from ...lowering.convert_chlo_to_hlo.rules import functions
from .calls import by_symbol, define, replace_by_call
from .elements import Element
from .folding import fold_constants

_CLASSES = {cls.name: cls for cls in (*elementary.OPS, *special.OPS)}


def call_special_functions(ops: Sequence[Operation]) -> dict[str, func.FuncOp]:
    """Replace special functions of scalars by calls; returns the functions by name, which are in no module yet."""
    defined: dict[str, func.FuncOp] = {}
    for op in ops:
        if not isinstance(op.results[0].type, FLOATS):
            continue
        name, known = _name_of(op)
        operands = [operand for index, operand in enumerate(op.operands) if index not in known]
        if name not in defined:
            defined[name] = define(name, op, operands, partial(_value, op, known))
            if known:
                fold_constants(defined[name].body.block)
        call = replace_by_call(op, name, operands)
        call.attributes[OPERATIONS] = integer_attr(len(operations_of(defined[name].body.block)))
    return by_symbol(defined)


def _name_of(op: Operation) -> tuple[str, Mapping[int, float]]:
    """The name of the function for an operation, and the numbers of those operands that it has inside, by position."""
    known: dict[int, float] = {}
    for index, operand in enumerate(op.operands):
        owner = operand.owner
        if len(op.operands) > 1 and isinstance(owner, arith.ConstantOp) and isinstance(owner.value, FloatAttr):
            known[index] = cast("FloatAttr[Any]", owner.value).value.data
    stated = "".join(f"_{index}_{float(number).hex()}" for index, number in known.items())
    return f"{_mnemonic(op)}{stated}_{op.results[0].type}", known


def _value(op: Operation, known: Mapping[int, float], *given: Scalar) -> Scalar:
    """The value that an operation computes of the given operands and the known numbers."""
    function = functions.get(_CLASSES[f"chlo.{_mnemonic(op)}"])
    assert function is not None, "chlo has a formula for each operation"
    arguments = iter(given)
    operands = [
        given[0].constant(known[index]) if index in known else next(arguments) for index in range(len(op.operands))
    ]
    return function([Element(x) for x in operands], op.results[0].type).scalar


def _mnemonic(op: Operation) -> str:
    """The name in math, which is that of chlo too."""
    return op.name.partition(".")[2]
