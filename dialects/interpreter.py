"""
The interpreter dialect of StableHLO's test programs: grids of processes, and tensors shown or kept during a run.

The reference runs it (hlo_dialect/reference/test_programs.py); compiled code does not have it.
Source: openxla/stablehlo, stablehlo/reference/InterpreterOps.td.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class RunParallelOp(IRDLOperation):
    """
    Run a grid of processes: `programs` holds the functions, a list for each replica with one for each partition.

    The operands are the arguments of all functions in their order, the results likewise. The results of the functions
    in `infeed` are what the processes' infeed operations read, one function for each.
    """

    name = "interpreter.run_parallel"
    inputs = var_operand_def()
    infeed = opt_prop_def(ArrayAttr[SymbolRefAttr])
    programs = prop_def(ArrayAttr[ArrayAttr[SymbolRefAttr]])
    outs = var_result_def()
    traits = traits_def(MemoryWriteEffect())

    @property
    def partitions(self) -> int:
        return len(self.programs.data[0].data)

    def functions(self) -> list[FuncOp]:
        """The function of each process. Raises VerifyException if one is not defined."""
        return [self._function(name) for replica in self.programs for name in replica]

    def infeed_functions(self) -> list[FuncOp]:
        """The functions that the infeed reads. Raises VerifyException if one is not defined."""
        return [self._function(name) for name in self.infeed or ()]

    def _function(self, name: SymbolRefAttr) -> FuncOp:
        around = self.parent_op()
        while around is not None and not isinstance(around, ModuleOp):
            around = around.parent_op()
        for op in () if around is None else around.ops:
            if isinstance(op, FuncOp) and op.sym_name.data == name.string_value():
                return op
        raise VerifyException(f"runs '@{name.string_value()}', which is not defined")

    def verify_(self) -> None:
        rows = [replica.data for replica in self.programs.data]
        if not rows or not rows[0]:
            raise VerifyException("has no programs")
        if any(len(row) != len(rows[0]) for row in rows):
            raise VerifyException(
                f"has replicas of {sorted({len(row) for row in rows})} partitions, expected one number"
            )
        if self.infeed is not None and not self.infeed.data:
            raise VerifyException("has an empty infeed, which is to be left out")
        types = [function.function_type for function in self.functions()]
        _verify_types("operands", self.operand_types, [t for type_ in types for t in type_.inputs])
        _verify_types("results", self.result_types, [t for type_ in types for t in type_.outputs])
        for function in self.infeed_functions():
            outputs = function.function_type.outputs.data
            if len(outputs) != 1 or not isinstance(outputs[0], TensorType):
                raise VerifyException(f"feeds from '@{function.sym_name.data}', which does not return one tensor")


def _verify_types(what: str, given: Sequence[Attribute], wanted: Sequence[Attribute]) -> None:
    if len(given) != len(wanted):
        raise VerifyException(f"has {len(given)} {what}, its programs {len(wanted)}")
    for index, pair in enumerate(zip(given, wanted, strict=True)):
        if pair[0] != pair[1]:
            raise VerifyException(f"has {what} that differ from its programs' at {index}: {pair[0]} and {pair[1]}")


class _ShowingOp(IRDLOperation):
    """An operation that hands on its operand: ` %x, probe_id = "a" : t`, where it has an id."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        properties = parse_probe_id(parser) if "probe_id" in cls.get_irdl_definition().properties else {}
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        operands = [parser.resolve_operand(operand, type_)]
        return cls.create(operands=operands, result_types=[type_], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.operands[0])
        print_probe_id(printer, self)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.results[0].type)

    def verify_(self) -> None:
        if self.operands[0].type != self.results[0].type:
            raise VerifyException(f"takes {self.operands[0].type} and gives {self.results[0].type}")


def parse_probe_id(parser: Parser) -> dict[str, Attribute]:
    """`, probe_id = "a"`"""
    parser.parse_punctuation(",")
    parser.parse_keyword("probe_id")
    parser.parse_punctuation("=")
    return {"probe_id": StringAttr(parser.parse_str_literal())}


def print_probe_id(printer: Printer, op: IRDLOperation) -> None:
    probe = op.properties.get("probe_id")
    if isinstance(probe, StringAttr):
        printer.print_string(", probe_id = ")
        printer.print_string_literal(probe.data)


@irdl_op_definition
class PrintOp(_ShowingOp):
    """Print the operand to the standard output."""

    name = "interpreter.print"


@irdl_op_definition
class ProbeOp(_ShowingOp):
    """Keep the operand's value of each run under an id, for `check.expect_serialized_eq`."""

    name = "interpreter.probe"
    probe_id = prop_def(StringAttr)


OPS = (RunParallelOp, PrintOp, ProbeOp)
