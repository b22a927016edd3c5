"""
Control flow: while, if, case, their terminator return, and optimization_barrier.

Regions may use values of the surrounding code (they are not isolated from above), as JAX's programs do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.ir import Attribute, Block, Region
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoMemoryEffect, Pure, RecursiveMemoryEffect, ReturnLike
from xdsl.utils.exceptions import VerifyException

from ..op import HloOp, RegionOp, RegionRunner, Role, reject
from ..shapes import types_agree, verify_results_agree
from ..syntax.structural import (
    new_line,
    parse_operand_list,
    parse_types,
    print_attributes,
    print_operands,
    print_types,
    print_values,
    share_names,
    split_attributes,
)
from ..types import Array, element_of, i1, i32, make_tensor, shape_of


def types_text(types: Sequence[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


def all_agree(first: Sequence[Attribute], second: Sequence[Attribute]) -> bool:
    return len(first) == len(second) and all(map(types_agree, first, second))


def region_block(region: Region, constraint: str, what: str) -> Block:
    """The only block of a region, which ends with hlo.return. Raises VerifyException naming `constraint`."""
    block = region.blocks.first
    if block is None or block.next_block is not None:
        raise VerifyException(f"{constraint}: {what} must be a region of exactly one block")
    if not isinstance(block.last_op, ReturnOp):
        raise VerifyException(f"{constraint}: {what} must end with hlo.return")
    return block


def returned_types(block: Block) -> tuple[Attribute, ...]:
    """The types of the terminator's operands."""
    assert block.last_op is not None
    return tuple(block.last_op.operand_types)


@irdl_op_definition
class ReturnOp(HloOp):
    """
    End a region of an hlo operation and return its results.

    Shapes: determined by the surrounding operation.
    Spec:   https://openxla.org/stablehlo/spec#functions
    """

    name = "hlo.return"
    ROLE: ClassVar[Role | None] = "host"
    returned = var_operand_def()
    traits = traits_def(IsTerminator(), ReturnLike(), Pure())

    @classmethod
    def parse(cls, parser: Parser) -> ReturnOp:
        unresolved = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        attributes = parser.parse_optional_attr_dict()
        if unresolved is None:
            return cls.create(attributes=attributes)
        parser.parse_punctuation(":")
        position = parser.pos
        operands = parser.resolve_operands(unresolved, parse_types(parser), position)
        return cls.create(operands=operands, attributes=attributes)

    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            print_values(printer, self.operands)
        print_attributes(printer, self)
        if self.operands:
            printer.print_string(" : ")
            print_types(printer, tuple(self.operand_types))

    def infer_types(self) -> tuple[Attribute, ...]:
        return ()

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        return operands


@irdl_op_definition
class WhileOp(RegionOp):
    """
    Repeat `body` on the values while `cond` holds on them.

    Shapes: operands, both regions' arguments, the body's results and the results all have types T0, .., Tn.
    Raises: VerifyException naming while_c1..c3.
    Spec:   https://openxla.org/stablehlo/spec#while
    """

    name = "hlo.while"
    ROLE: ClassVar[Role | None] = "host"
    READS_REGIONS: ClassVar[bool] = False
    operand = var_operand_def()
    outs = var_result_def()
    cond = region_def()
    body = region_def()
    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        def parse_pair() -> tuple[Parser.UnresolvedArgument, object]:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            return argument, parser.parse_unresolved_operand()

        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_pair)
        types: Sequence[Attribute] = ()
        position = parser.pos
        if pairs:
            parser.parse_punctuation(":")
            types = parse_types(parser)
        values = parser.resolve_operands([value for _, value in pairs], types, position)  # pyright: ignore
        parsed = parser.parse_optional_attr_dict_with_keyword()
        attributes = {} if parsed is None else dict(parsed.data)
        arguments = [argument.resolve(type_) for (argument, _), type_ in zip(pairs, types, strict=True)]
        parser.parse_keyword("cond")
        cond = parser.parse_region(arguments)
        parser.parse_keyword("do")
        body = parser.parse_region(arguments)
        return cls.create(operands=values, result_types=types, attributes=attributes, regions=[cond, body])

    @property
    def has_short_form(self) -> bool:
        """Whether all types are those of the operands, which alone are printed."""
        types = tuple(self.operand_types)
        taken = [tuple(argument.type for argument in region.block.args) for region in self.regions]
        return all(found == types for found in (tuple(self.result_types), *taken))

    def print(self, printer: Printer) -> None:
        cond, body = (region.block for region in self.regions)
        printer.print_string("(")
        for index, (argument, value) in enumerate(zip(cond.args, self.operands, strict=True)):
            printer.print_string(", " if index else "")
            printer.print_ssa_value(argument)
            printer.print_string(" = ")
            printer.print_operand(value)
        printer.print_string(")")
        share_names(printer, cond, body)
        if self.operands:
            printer.print_string(" : ")
            print_types(printer, tuple(self.operand_types))
        print_attributes(printer, self, keyword=True)
        new_line(printer)
        printer.print_string("cond ")
        printer.print_region(self.regions[0], print_entry_block_args=False, print_empty_block=False)
        printer.print_string(" do ")
        printer.print_region(self.regions[1], print_entry_block_args=False, print_empty_block=False)

    def infer_types(self) -> tuple[Attribute, ...]:
        return tuple(self.operand_types)

    def region_arguments(self, index: int) -> Sequence[Attribute]:
        return tuple(self.operand_types)

    def verify_(self) -> None:
        types = tuple(self.operand_types)
        cond = region_block(self.regions[0], "while_c1", "cond")
        body = region_block(self.regions[1], "while_c2", "body")
        for constraint, what, block in (("while_c1", "cond", cond), ("while_c2", "body", body)):
            given = tuple(argument.type for argument in block.args)
            if not all_agree(given, types):
                reject(f"{constraint}: {what} takes {types_text(given)}, the operands have types {types_text(types)}")
        condition = returned_types(cond)
        if len(condition) != 1 or condition[0] != make_tensor((), i1):
            reject(f"while_c1: cond returns {types_text(condition)}, expected (tensor<i1>)")
        if not all_agree(returned_types(body), types):
            reject(f"while_c2: body returns {types_text(returned_types(body))}, expected {types_text(types)}")
        verify_results_agree(self, "while_c3")

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> tuple[Array, ...]:
        cond, body = self.regions
        values = operands
        while bool(run(cond, *values)[0]):
            values = run(body, *values)
        return values


def _branch_types(op: RegionOp, name: str, arguments: str, outputs: str) -> tuple[Attribute, ...]:
    """The types that all branches of an if or case return; constraints are named by the two suffixes."""
    found: tuple[Attribute, ...] | None = None
    for index, region in enumerate(op.regions):
        block = region_block(region, f"{name}_{arguments}", f"branch {index}")
        if len(block.args) != 0:
            reject(f"{name}_{arguments}: branch {index} takes {len(block.args)} arguments, expected none")
        types = returned_types(block)
        if not (found is None or all_agree(types, found)):
            reject(
                f"{name}_{outputs}: branch {index} returns {types_text(types)}, "
                f"branch 0 returns {types_text(found or ())}"
            )
        found = types if found is None else found
    return found or ()


@irdl_op_definition
class IfOp(RegionOp):
    """
    The results of `true_branch` or `false_branch`; only the chosen one runs.

    Shapes: pred is tensor<i1>; both branches take nothing and return the results' types.
    Raises: VerifyException naming if_c1..c3.
    Spec:   https://openxla.org/stablehlo/spec#if
    """

    name = "hlo.if"
    ROLE: ClassVar[Role | None] = "host"
    READS_REGIONS: ClassVar[bool] = False
    pred = operand_def()
    outs = var_result_def()
    true_branch = region_def()
    false_branch = region_def()
    traits = traits_def(RecursiveMemoryEffect())

    def infer_types(self) -> tuple[Attribute, ...]:
        return _branch_types(self, "if", "c1", "c2")

    def verify_(self) -> None:
        pred = self.operands[0]
        if shape_of(pred) != () or element_of(pred) != i1:
            reject(f"if_i1: pred has type {pred.type}, expected tensor<i1>")
        verify_results_agree(self, "if_c3")

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> tuple[Array, ...]:
        return run(self.regions[0] if bool(operands[0]) else self.regions[1])


@irdl_op_definition
class CaseOp(RegionOp):
    """
    The results of `branches[index]`; an index out of range chooses the last branch.

    Shapes: index is tensor<i32>; all branches take nothing and return the results' types.
    Raises: VerifyException naming case_c1..c4.
    Spec:   https://openxla.org/stablehlo/spec#case
    """

    name = "hlo.case"
    ROLE: ClassVar[Role | None] = "host"
    READS_REGIONS: ClassVar[bool] = False
    index = operand_def()
    outs = var_result_def()
    branches = var_region_def()
    traits = traits_def(RecursiveMemoryEffect())

    def infer_types(self) -> tuple[Attribute, ...]:
        return _branch_types(self, "case", "c2", "c3")

    def verify_(self) -> None:
        index = self.operands[0]
        if shape_of(index) != () or element_of(index) != i32:
            reject(f"case_i1: index has type {index.type}, expected tensor<i32>")
        if len(self.regions) <= 0:
            reject("case_c1: there are no branches")
        verify_results_agree(self, "case_c4")

    def reference_with_regions(self, run: RegionRunner, *operands: Array) -> tuple[Array, ...]:
        index, last = int(operands[0]), len(self.regions) - 1
        return run(self.regions[index if 0 <= index < last else last])


@irdl_op_definition
class OptimizationBarrierOp(HloOp):
    """
    The operands, with no code moved across: their producers run before the users of the results.

    Shapes: results have the operands' types.
    Raises: VerifyException naming optimization_barrier_c1.
    Spec:   https://openxla.org/stablehlo/spec#optimization_barrier
    """

    name = "hlo.optimization_barrier"
    ROLE: ClassVar[Role | None] = "host"
    operand = var_operand_def()
    result = var_result_def()
    # Not Pure: cse must not merge barriers and nothing moves past them; unused ones may be erased.
    traits = traits_def(NoMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> OptimizationBarrierOp:
        parsed = parser.parse_optional_attr_dict()
        if parser.parse_optional_punctuation("(") is not None:
            parser.parse_punctuation(")")
            return cls.create(attributes=parsed)
        unresolved = parse_operand_list(parser)
        parsed = parsed or parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        types = parse_types(parser)
        operands = parser.resolve_operands(unresolved, types, position)
        properties, attributes = split_attributes(cls, parsed)
        return cls.create(operands=operands, result_types=types, properties=properties, attributes=attributes)

    @property
    def has_short_form(self) -> bool:
        return tuple(self.operand_types) == tuple(self.result_types)

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self)
        if not self.operands:
            printer.print_string("()")
            return
        print_operands(printer, self)
        printer.print_string(" : ")
        print_types(printer, tuple(self.operand_types))

    def infer_types(self) -> tuple[Attribute, ...]:
        return tuple(self.operand_types)

    def verify_(self) -> None:
        verify_results_agree(self, "optimization_barrier_c1")

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        return operands


OPS = (ReturnOp, WhileOp, IfOp, CaseOp, OptimizationBarrierOp)
