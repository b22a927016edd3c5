"""
Operations missing from xDSL's gpu dialect: functions with workgroup memory, launches; and the workgroup address space.

The operations are MLIR's (mlir/include/mlir/Dialect/GPU/IR/GPUOps.td); those that xDSL defines only partially are
redefined here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FixedBitwidthType,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, ParametrizedAttribute, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    NoTerminator,
    SymbolOpInterface,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from ..support.buffers import i32_array

INDEX = IndexType()
I64 = IntegerType(64)

_KNOWN_SIZES = ("known_block_size", "known_grid_size")


@irdl_attr_definition
class AddressSpaceAttr(ParametrizedAttribute):
    """`#gpu.address_space<workgroup>`: the memory that the threads of one block share."""

    name = "gpu.address_space"
    space: StringAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.space.data}>")


WORKGROUP = AddressSpaceAttr(StringAttr("workgroup"))

WORKGROUP_ALIGNMENT = 16
"""The alignment of each workgroup buffer in bytes: the widest access of one thread."""

STATIC_WORKGROUP_BYTES = 48 * 1024
"""Bytes of shared memory that every block may use; a launch that needs more requests it."""


def workgroup_bytes(type_: MemRefType[Any]) -> int:
    """The bytes of a buffer of identity layout; elements narrower than 8 bits take one."""
    element = type_.element_type
    bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 64
    return math.prod(type_.get_shape()) * max(1, bits // 8)


@irdl_op_definition
class GpuModuleOp(IRDLOperation):
    """Device functions: `gpu.module @kernels [#nvvm.target<chip = "sm_90">] { .. }`."""

    name = "gpu.module"
    sym_name = prop_def(StringAttr)
    targets = opt_prop_def(ArrayAttr)
    """The chips that they are compiled for."""
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), NoTerminator(), SymbolOpInterface(), SymbolTable())

    def __init__(self, name: str):
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[Region(Block())])

    @classmethod
    def parse(cls, parser: Parser) -> GpuModuleOp:
        op = cls(parser.parse_symbol_name().data)
        targets = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_attribute)
        if targets is not None:
            op.targets = ArrayAttr(targets)
        attributes = parser.parse_optional_attr_dict_with_keyword(())
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        parsed = cls.create(properties=op.properties, regions=[region])
        parsed.attributes.update({} if attributes is None else attributes.data)
        return parsed

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.targets is not None:
            printer.print_string(" ")
            printer.print_attribute(self.targets)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ", indent=0)
        printer.print_region(self.body, print_empty_block=False, print_block_terminators=False)


@irdl_op_definition
class GpuFuncOp(IRDLOperation):
    """
    A device function; those marked `kernel` are launched.

    `gpu.func @k(%x: memref<8xf32>) workgroup(%s: memref<32xf32, #gpu.address_space<workgroup>>) kernel`: the last
    `workgroup_attributions` arguments of the entry block are workgroup memory, not parameters. `known_block_size`
    and `known_grid_size` (x, y, z) are the sizes that every launch uses.
    Raises: VerifyException.
    """

    name = "gpu.func"
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    kernel = opt_prop_def(UnitAttr)
    workgroup_attributions = opt_prop_def(IntegerAttr)
    known_block_size = opt_prop_def(DenseArrayBase)
    known_grid_size = opt_prop_def(DenseArrayBase)
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, name: str, inputs: Sequence[Attribute], block: Sequence[int], grid: Sequence[int]):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "function_type": FunctionType.from_lists(list(inputs), []),
                "kernel": UnitAttr(),
                "workgroup_attributions": IntegerAttr(0, I64),
                "known_block_size": i32_array(tuple(block)),
                "known_grid_size": i32_array(tuple(grid)),
            },
            regions=[Region(Block(arg_types=inputs))],
        )

    @property
    def workgroup_count(self) -> int:
        return 0 if self.workgroup_attributions is None else self.workgroup_attributions.value.data

    @property
    def workgroup_buffers(self) -> tuple[SSAValue, ...]:
        """The entry block's arguments that are workgroup memory."""
        return tuple(self.body.blocks[0].args[len(self.function_type.inputs) :])

    @property
    def workgroup_offsets(self) -> tuple[int, ...]:
        """The offset of each workgroup buffer in bytes, followed by the total size."""
        offsets = [0]
        for buffer in self.workgroup_buffers:
            size = workgroup_bytes(cast("MemRefType[Any]", buffer.type))
            offsets.append(offsets[-1] + -(-size // WORKGROUP_ALIGNMENT) * WORKGROUP_ALIGNMENT)
        return tuple(offsets)

    @property
    def dynamic_workgroup_bytes(self) -> int:
        """The workgroup memory that a launch must request: all of it if it exceeds the static limit, else 0."""
        total = self.workgroup_offsets[-1]
        return total if total > STATIC_WORKGROUP_BYTES else 0

    def add_workgroup_buffer(self, type_: MemRefType[Any]) -> SSAValue:
        """Add a buffer shared by the threads of a block; its type must be in the workgroup address space."""
        block = self.body.block
        buffer = block.insert_arg(type_, len(block.args))
        self.properties["workgroup_attributions"] = IntegerAttr(self.workgroup_count + 1, I64)
        return buffer

    def verify_(self) -> None:
        inputs = self.function_type.inputs.data
        types = tuple(argument.type for argument in self.body.blocks[0].args)
        if types[: len(inputs)] != inputs or len(types) != len(inputs) + self.workgroup_count:
            raise VerifyException("the entry block does not take the function's inputs and its workgroup buffers")
        for type_ in types[len(inputs) :]:
            if not isinstance(type_, MemRefType) or type_.memory_space != WORKGROUP:
                raise VerifyException(f"a workgroup buffer is of type {type_}, not a memref of the workgroup")
        if self.kernel is not None and self.function_type.outputs.data:
            raise VerifyException("a kernel returns nothing")

    @classmethod
    def parse(cls, parser: Parser) -> GpuFuncOp:
        name = parser.parse_symbol_name()
        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
        results: list[Attribute] = []
        if parser.parse_optional_punctuation("->"):
            if parser.parse_optional_punctuation("("):
                results = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
                parser.parse_punctuation(")")
            else:
                results = [parser.parse_type()]
        workgroup: list[Parser.Argument] = []
        if parser.parse_optional_keyword("workgroup"):
            workgroup = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _parse_argument(parser))
        properties: dict[str, Attribute] = {
            "sym_name": name,
            "function_type": FunctionType.from_lists([argument.type for argument in arguments], results),
            "workgroup_attributions": IntegerAttr(len(workgroup), I64),
        }
        if parser.parse_optional_keyword("kernel"):
            properties["kernel"] = UnitAttr()
        found = parser.parse_optional_attr_dict_with_keyword(("sym_name", "function_type", "kernel"))
        attributes = dict(found.data) if found is not None else {}
        for size in _KNOWN_SIZES:
            if size in attributes:
                properties[size] = attributes.pop(size)
        body = parser.parse_region([*arguments, *workgroup])
        return cls.create(properties=properties, attributes=attributes, regions=[body])

    def print(self, printer: Printer) -> None:
        arguments = self.body.blocks[0].args
        count = len(self.function_type.inputs)
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        with printer.in_parens():
            printer.print_list(arguments[:count], printer.print_block_argument)
        if self.function_type.outputs.data:
            printer.print_string(" -> ")
            with printer.in_parens():
                printer.print_list(self.function_type.outputs, printer.print_attribute)
        if self.workgroup_count:
            printer.print_string(" workgroup")
            with printer.in_parens():
                printer.print_list(arguments[count:], printer.print_block_argument)
        if self.kernel is not None:
            printer.print_string(" kernel")
        sizes = {name: self.properties[name] for name in _KNOWN_SIZES if name in self.properties}
        printer.print_op_attributes({**sizes, **self.attributes}, print_keyword=True)
        printer.print_string(" ", indent=0)
        printer.print_region(self.body, print_entry_block_args=False)


def _parse_argument(parser: Parser) -> Parser.Argument:
    """`%x: type`, and its location if stated."""
    argument = parser.parse_argument()
    argument.location = parser.parse_optional_location()
    return argument


@irdl_op_definition
class GpuReturnOp(IRDLOperation):
    """The terminator of a gpu.func."""

    name = "gpu.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self) -> None:
        super().__init__(operands=[[]])


@irdl_op_definition
class GpuLaunchFuncOp(IRDLOperation):
    """`gpu.launch_func @kernels::@k blocks in (%gx, %gy, %gz) threads in (%bx, %by, %bz) args(%x : memref<8xf32>)`."""

    name = "gpu.launch_func"
    kernel = prop_def(SymbolRefAttr)
    grid = var_operand_def(INDEX)
    threads = var_operand_def(INDEX)
    arguments = var_operand_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        module: str,
        function: str,
        grid: Sequence[SSAValue],
        threads: Sequence[SSAValue],
        arguments: Sequence[Any],
    ):
        super().__init__(
            operands=[grid, threads, arguments],
            properties={"kernel": SymbolRefAttr(module, [function])},
        )

    def verify_(self) -> None:
        if len(self.grid) != 3 or len(self.threads) != 3:
            raise VerifyException("expected three numbers of blocks and three of threads")

    @classmethod
    def parse(cls, parser: Parser) -> GpuLaunchFuncOp:
        kernel = parser.parse_attribute()
        sizes: list[list[SSAValue]] = []
        for word in ("blocks", "threads"):
            parser.parse_keyword(word)
            parser.parse_keyword("in")
            names = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
            sizes.append([parser.resolve_operand(name, INDEX) for name in names])
        arguments: list[SSAValue] = []

        def parse_argument() -> None:
            name = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            arguments.append(parser.resolve_operand(name, parser.parse_type()))

        if parser.parse_optional_keyword("args"):
            parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_argument)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(
            operands=[*sizes[0], *sizes[1], *arguments],
            properties={
                "kernel": kernel,
                "operandSegmentSizes": i32_array((len(sizes[0]), len(sizes[1]), len(arguments))),
            },
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.kernel)
        for word, values in (("blocks", self.grid), ("threads", self.threads)):
            printer.print_string(f" {word} in ")
            with printer.in_parens():
                printer.print_list(values, printer.print_ssa_value)

        def print_argument(value: SSAValue) -> None:
            printer.print_ssa_value(value)
            printer.print_string(" : ")
            printer.print_attribute(value.type)

        if self.arguments:
            printer.print_string(" args")
            with printer.in_parens():
                printer.print_list(self.arguments, print_argument)
        printer.print_op_attributes(self.attributes)


OPS = (GpuFuncOp, GpuLaunchFuncOp, GpuModuleOp, GpuReturnOp)
ATTRIBUTES = (AddressSpaceAttr,)
