"""
The constraint that holds for every tensor of every operation: its elements are of a type that StableHLO has.

Verifiers name it by the place of the operand or result, `transpose_i1` or `add_o1`; here it is made from the
operation's example.
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import Float80Type, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.support.rewriting import set_type
from ..op import HloOp
from ..printing import print_module
from ..reading import parse_module
from ..types import make_tensor, shape_of
from .table import Explanation, Section

_PLACE = re.compile(r"(?P<mnemonic>\w+)_(?P<side>[io])(?P<number>[1-9])$")


def tensor_constraint(name: str, sections: tuple[Section, ...]) -> Explanation | None:
    """The explanation of `op_i1` or `op_o1`; None for another name, or an operand that is no tensor."""
    match = _PLACE.match(name)
    if match is None:
        return None
    for section in sections:
        if section.op.partition(".")[2].replace("-", "_") == match["mnemonic"]:
            module = parse_module(section.program)
            op = next(one for one in module.walk() if one.name == section.op)
            values = op.operands if match["side"] == "i" else op.results
            place = int(match["number"]) - 1
            if not isinstance(op, HloOp) or place >= len(values) or not isinstance(values[place].type, TensorType):
                return None
            _break(op, match["side"] == "i", place)
            text = "The elements are of a type that StableHLO has: boolean, integer, float, complex or quantized."
            wrong = print_module(module, generic=True, spelling="stablehlo")
            return Explanation(name, section.op, text, wrong, section.program)
    return None


def _break(op: Operation, is_operand: bool, place: int) -> None:
    """Give the operand, which gets an argument of its own, or the result an element type that StableHLO lacks."""
    value: SSAValue = (op.operands if is_operand else op.results)[place]
    wrong = make_tensor(shape_of(value), Float80Type())
    function = op.parent_op()
    while not isinstance(function, FuncOp):
        assert function is not None
        function = function.parent_op()
    if not is_operand or (isinstance(value, BlockArgument) and len(list(value.uses)) == 1):
        set_type(value, wrong)
    else:
        block = function.body.block
        op.operands[place] = block.insert_arg(wrong, len(block.args))
    function.update_function_type()
