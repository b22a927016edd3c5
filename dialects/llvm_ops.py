"""
Operations of the llvm dialect missing from xDSL, and fcmp and select in a form that allows vectors.

`range = array<i32: 0, 256>` on a call of an intrinsic states that its result is in [first, second). The facts about
loops are in llvm_loops.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoMemoryEffect
from xdsl.utils.exceptions import VerifyException

RANGE = "range"


@irdl_op_definition
class FPToSIOp(llvm.GenericCastOp):
    """Float to signed integer, toward zero; poison if the value does not fit."""

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(llvm.GenericCastOp):
    """Float to unsigned integer, toward zero; poison if the value does not fit."""

    name = "llvm.fptoui"


@irdl_op_definition
class UIToFPOp(llvm.GenericCastOp):
    """Unsigned integer to float, to nearest even."""

    name = "llvm.uitofp"


@irdl_op_definition
class AddrSpaceCastOp(llvm.GenericCastOp):
    """A pointer to the same memory in another address space: `!llvm.ptr<5> to !llvm.ptr`."""

    name = "llvm.addrspacecast"


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """A poison value, from which insertions start; reading an element that was never written is undefined."""

    name = "llvm.mlir.poison"

    res = result_def()
    traits = traits_def(NoMemoryEffect())
    assembly_format = "attr-dict `:` type($res)"


@irdl_op_definition
class FreezeOp(IRDLOperation):
    """The same value, in which a poison is some fixed one: `%y = llvm.freeze %x : f32`."""

    name = "llvm.freeze"

    T: ClassVar = VarConstraint("T", AnyAttr())

    val = operand_def(T)
    res = result_def(T)
    traits = traits_def(NoMemoryEffect())
    assembly_format = "$val attr-dict `:` type($val)"


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """One element of a vector: `%e = llvm.extractelement %v[%i : i64] : vector<4xf32>`."""

    name = "llvm.extractelement"

    vector = operand_def(VectorType)
    index = operand_def(IntegerType)
    res = result_def()
    traits = traits_def(NoMemoryEffect())

    def verify_(self) -> None:
        if isinstance(self.vector.type, VectorType) and self.res.type != self.vector.type.element_type:  # pyright: ignore[reportUnknownMemberType]
            raise VerifyException("the result has the vector's element type")

    @classmethod
    def parse(cls, parser: Parser) -> ExtractElementOp:
        vector = parser.parse_unresolved_operand()
        with parser.in_square_brackets():
            index = parser.parse_unresolved_operand()
            parser.parse_punctuation(":")
            index_type = parser.parse_type()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        if not isinstance(type_, VectorType):
            parser.raise_error("expected a vector type")
        vector_type = cast("VectorType[Any]", type_)
        operands: list[SSAValue] = [
            parser.resolve_operand(vector, vector_type),
            parser.resolve_operand(index, index_type),
        ]
        return cls.create(operands=operands, result_types=[vector_type.element_type], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.vector)
        printer.print_string("[")
        printer.print_ssa_value(self.index)
        printer.print_string(" : ")
        printer.print_attribute(self.index.type)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.vector.type)


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """Compare floats, element by element for vectors; the predicate is numbered as in `llvm.FCmpPredicateFlag`."""

    name = "llvm.fcmp"

    lhs = operand_def()
    rhs = operand_def()
    predicate = prop_def(IntegerAttr)
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=llvm.FastMathAttr(None))
    res = result_def()
    traits = traits_def(NoMemoryEffect())

    @classmethod
    def parse(cls, parser: Parser) -> FCmpOp:
        flag = llvm.FCmpPredicateFlag(parser.parse_str_literal())
        lhs = parser.parse_unresolved_operand()
        parser.parse_characters(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_characters(":")
        type_ = parser.parse_type()
        operands = parser.resolve_operands([lhs, rhs], [type_, type_], parser.pos)
        fastmath = attributes.pop("fastmathFlags", llvm.FastMathAttr(None))
        return cls.create(
            operands=operands,
            result_types=[mask_type(type_)],
            properties={"predicate": IntegerAttr(flag.to_int(), i64), "fastmathFlags": fastmath},
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        flag = llvm.FCmpPredicateFlag.from_int(self.predicate.value.data)
        printer.print_string(f' "{flag}" ')
        printer.print_ssa_value(self.lhs)
        printer.print_string(", ")
        printer.print_ssa_value(self.rhs)
        flags = {"fastmathFlags": self.fastmathFlags} if self.fastmathFlags.data else {}
        printer.print_op_attributes(self.attributes | flags)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


@irdl_op_definition
class SelectOp(IRDLOperation):
    """Select one of two values by a bit, or element by element by a vector of bits."""

    name = "llvm.select"

    T: ClassVar = VarConstraint("T", AnyAttr())

    cond = operand_def()
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    fastmathFlags = prop_def(llvm.FastMathAttr, default_value=llvm.FastMathAttr(None))

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(NoMemoryEffect())
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($res)"


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """
    Branch by the value of an integer.

    `llvm.switch %flag : i64, ^default [0: ^a(%x : i64), 1: ^b]`: the first successor is taken if no case matches.
    """

    name = "llvm.switch"

    flag = operand_def(IntegerType)
    default_operands = var_operand_def()
    case_operands = var_operand_def()
    case_values = prop_def(DenseIntOrFPElementsAttr)
    case_operand_segments = prop_def(DenseArrayBase.constr(i32))
    default_block = successor_def()
    case_blocks = var_successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsTerminator())

    def verify_(self) -> None:
        if not len(_case_values(self)) == len(self.case_operand_segments) == len(self.case_blocks):
            raise VerifyException("each case has a value, a block and its operands")

    def edges(self) -> list[tuple[int | None, Block, Sequence[SSAValue]]]:
        """The successors in order, each with its case value (None for the default) and operands."""
        found: list[tuple[int | None, Block, Sequence[SSAValue]]] = [(None, self.default_block, self.default_operands)]
        start = 0
        values, sizes = _case_values(self), self.case_operand_segments.get_values()
        for value, size, block in zip(values, sizes, self.case_blocks, strict=True):
            found.append((value, block, self.case_operands[start : start + int(size)]))
            start += int(size)
        return found

    @classmethod
    def parse(cls, parser: Parser) -> SwitchOp:
        flag = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        flag_type = parser.parse_type()
        parser.parse_punctuation(",")
        default, default_operands = _parse_edge(parser)

        def parse_case() -> tuple[int, Block, list[SSAValue]]:
            value = parser.parse_integer()
            parser.parse_punctuation(":")
            return (value, *_parse_edge(parser))

        cases = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_case)
        attributes = parser.parse_optional_attr_dict()
        return make_switch(
            parser.resolve_operand(flag, flag_type),
            (default, default_operands),
            [value for value, _, _ in cases],
            [(block, operands) for _, block, operands in cases],
            attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.flag)
        printer.print_string(" : ")
        printer.print_attribute(self.flag.type)
        printer.print_string(", ")
        (_, default, operands), *cases = self.edges()
        _print_edge(printer, default, operands)
        printer.print_string(" [")

        def print_case(case: tuple[int | None, Block, Sequence[SSAValue]]) -> None:
            printer.print_string(f"{case[0]}: ")
            _print_edge(printer, case[1], case[2])

        printer.print_list(cases, print_case)
        printer.print_string("]")
        printer.print_op_attributes(self.attributes)


def _case_values(op: SwitchOp) -> list[int]:
    return [int(value) for value in cast("DenseIntOrFPElementsAttr[Any]", op.case_values).get_values()]


def make_switch(
    flag: SSAValue,
    default: tuple[Block, Sequence[SSAValue]],
    values: Sequence[int],
    cases: Sequence[tuple[Block, Sequence[SSAValue]]],
    attributes: dict[str, Attribute] | None = None,
) -> SwitchOp:
    """An llvm.switch from its edges."""
    flat = [operand for _, operands in cases for operand in operands]
    return SwitchOp.create(
        operands=[flag, *default[1], *flat],
        properties={
            "case_values": DenseIntOrFPElementsAttr.from_list(
                TensorType(cast(IntegerType, flag.type), [len(values)]), values
            ),
            "case_operand_segments": DenseArrayBase.from_list(i32, [len(operands) for _, operands in cases]),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [1, len(default[1]), len(flat)]),
        },
        attributes=attributes or {},
        successors=[default[0], *(block for block, _ in cases)],
    )


def _parse_edge(parser: Parser) -> tuple[Block, list[SSAValue]]:
    """A successor and its operands: `^bb1(%x, %y : i64, f32)`."""
    block = parser.parse_successor()
    if parser.parse_optional_punctuation("(") is None:
        return block, []
    names: list[UnresolvedOperand] = parser.parse_comma_separated_list(
        parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    parser.parse_punctuation(":")
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    parser.parse_punctuation(")")
    return block, list(parser.resolve_operands(names, types, parser.pos))


def _print_edge(printer: Printer, block: Block, operands: Sequence[SSAValue]) -> None:
    printer.print_block_name(block)
    if operands:
        with printer.in_parens():
            printer.print_list(operands, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list([operand.type for operand in operands], printer.print_attribute)


ATOMIC_OPERATIONS = (
    "xchg", "add", "sub", "_and", "nand", "_or", "_xor", "max", "min", "umax", "umin",
    "fadd", "fsub", "fmax", "fmin", "uinc_wrap", "udec_wrap", "usub_cond", "usub_sat", "fmaximum", "fminimum",
)  # fmt: skip
"""In the order of MLIR's enum AtomicBinOp; `_and` is LLVM's `and`."""


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    """
    Atomically combine a value with a location in memory: `%old = llvm.atomicrmw add %p, %x monotonic :
    !llvm.ptr<1>, i32`. The result is the old value. `syncscope("device")`: the threads for which it is atomic.
    """

    name = "llvm.atomicrmw"

    ptr = operand_def(llvm.LLVMPointerType)
    val = operand_def()
    res = result_def()
    bin_op = prop_def(IntegerAttr)
    ordering = prop_def(IntegerAttr)
    syncscope = opt_prop_def(StringAttr)

    def __init__(self, operation: str, ptr: SSAValue, val: SSAValue, scope: str | None = None):
        properties: dict[str, Attribute] = {
            "bin_op": IntegerAttr(ATOMIC_OPERATIONS.index(operation), i64),
            "ordering": IntegerAttr(_MONOTONIC, i64),
        }
        if scope is not None:
            properties["syncscope"] = StringAttr(scope)
        super().__init__(operands=[ptr, val], result_types=[val.type], properties=properties)

    @property
    def operation(self) -> str:
        return ATOMIC_OPERATIONS[cast("IntegerAttr[Any]", self.bin_op).value.data]

    def verify_(self) -> None:
        if not 0 <= cast("IntegerAttr[Any]", self.bin_op).value.data < len(ATOMIC_OPERATIONS):
            raise VerifyException(f"no operation has the number {self.bin_op}")
        if cast("IntegerAttr[Any]", self.ordering).value.data != _MONOTONIC:
            raise VerifyException("the only ordering that is supported is monotonic")
        if self.val.type != self.res.type:
            raise VerifyException("the result is not of the value's type")

    @classmethod
    def parse(cls, parser: Parser) -> AtomicRMWOp:
        start = parser.pos
        operation = parser.parse_identifier()
        if operation not in ATOMIC_OPERATIONS:
            parser.raise_error(f"expected one of {', '.join(ATOMIC_OPERATIONS)}", start, parser.pos)
        ptr = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        val = parser.parse_unresolved_operand()
        scope: str | None = None
        if parser.parse_optional_keyword("syncscope"):
            with parser.in_parens():
                scope = parser.parse_str_literal()
        parser.parse_keyword("monotonic")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        pointer_type = parser.parse_type()
        parser.parse_punctuation(",")
        type_ = parser.parse_type()
        op = cls(operation, parser.resolve_operand(ptr, pointer_type), parser.resolve_operand(val, type_), scope)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.operation} ")
        printer.print_list(self.operands, printer.print_ssa_value)
        if self.syncscope is not None:
            printer.print_string(f' syncscope("{self.syncscope.data}")')
        printer.print_string(" monotonic")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list([operand.type for operand in self.operands], printer.print_attribute)


_FENCES = {"acquire": 4, "release": 5, "acq_rel": 6, "seq_cst": 7}
"""The orderings of a fence, with their values in the enum AtomicOrdering."""


@irdl_op_definition
class FenceOp(IRDLOperation):
    """
    Order the memory accesses before it and after it for the threads of a scope:
    `llvm.fence syncscope("workgroup") release`.
    """

    name = "llvm.fence"

    ordering = prop_def(IntegerAttr)
    syncscope = opt_prop_def(StringAttr)

    def __init__(self, ordering: str, scope: str | None = None):
        properties: dict[str, Attribute] = {"ordering": IntegerAttr(_FENCES[ordering], i64)}
        if scope is not None:
            properties["syncscope"] = StringAttr(scope)
        super().__init__(properties=properties)

    @property
    def order(self) -> str:
        """The ordering's name."""
        number = cast("IntegerAttr[Any]", self.ordering).value.data
        return next(name for name, value in _FENCES.items() if value == number)

    def verify_(self) -> None:
        if cast("IntegerAttr[Any]", self.ordering).value.data not in _FENCES.values():
            raise VerifyException(f"a fence is one of {', '.join(_FENCES)}")

    @classmethod
    def parse(cls, parser: Parser) -> FenceOp:
        scope: str | None = None
        if parser.parse_optional_keyword("syncscope"):
            with parser.in_parens():
                scope = parser.parse_str_literal()
        start = parser.pos
        ordering = parser.parse_identifier()
        if ordering not in _FENCES:
            parser.raise_error(f"expected one of {', '.join(_FENCES)}", start, parser.pos)
        op = cls(ordering, scope)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        if self.syncscope is not None:
            printer.print_string(f' syncscope("{self.syncscope.data}")')
        printer.print_string(f" {self.order}")
        printer.print_op_attributes(self.attributes)


_MONOTONIC = 2
"""The value of monotonic in the enum AtomicOrdering: accesses to other memory may be reordered."""


def mask_type(compared: Attribute) -> Attribute:
    """i1, or the vector of i1 of a vector's shape: the type of a comparison of such values."""
    if isinstance(compared, VectorType):
        return VectorType(IntegerType(1), compared.get_shape())  # pyright: ignore[reportUnknownMemberType]
    return IntegerType(1)


OPS: tuple[type[Operation], ...] = (
    AddrSpaceCastOp,
    AtomicRMWOp,
    FenceOp,
    FPToSIOp,
    FPToUIOp,
    UIToFPOp,
    PoisonOp,
    ExtractElementOp,
    FreezeOp,
    FCmpOp,
    SelectOp,
    SwitchOp,
)
