"""Builds one llvm.func: the converted values, constants at the top, blocks, and the layout of memrefs."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    NoneAttr,
    Signedness,
    StridedLayoutAttr,
    StringAttr,
    UnitAttr,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.gpu.functions import WORKGROUP
from ...dialects.llvm_ops import AddrSpaceCastOp, ExtractElementOp, PoisonOp
from ...dialects.support.attributes import float_attr, integer_attr, symbol
from ...dialects.support.buffers import Buffer, i32_array, row_major, vector_type
from ...dialects.support.creation import append, append_new, create_op
from ...dialects.support.editing import insert_before, operands_of
from ...dialects.support.llvm_layout import FLOAT_NAMES, Integer, Layout, Vector, bit_width, byte_width, mangled
from ...dialects.support.views import root_buffer
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.rules import Rules
from .conventions import CPU, I64, PTR, SHARED_PTR, Conventions

I1 = IntegerType(1)
I8 = IntegerType(8)
UNIT = UnitAttr()
NO_WRAP = IntegerAttr(3, i32)
"""nsw and nuw: in-bounds index arithmetic never wraps."""
NO_PROPERTIES: Mapping[str, Attribute] = {}
NO_BUNDLES: DenseArrayBase[Any] = DenseArrayBase.from_list(i32, ())
NO_FAST_MATH = llvm.FastMathAttr(None)
PLAIN_CALL: Mapping[str, Attribute] = {
    "fastmathFlags": NO_FAST_MATH,
    "CConv": llvm.CallingConventionAttr("ccc"),
    "op_bundle_sizes": NO_BUNDLES,
    "TailCallKind": llvm.TailCallKindAttr(llvm.TailCallKind.NONE),
}
NO_ORDERING = IntegerAttr(0, I64)

OpT = TypeVar("OpT", bound=Operation)
Pattern: TypeAlias = "Callable[[Any, LlvmBuilder], None]"
"""Converts one operation: reads its operands from the builder, emits, and defines its results."""
patterns = Rules[Pattern]("convert-to-llvm", __package__)


@lru_cache(maxsize=4096)
def fast_math(flags: tuple[Any, ...]) -> llvm.FastMathAttr:
    return llvm.FastMathAttr(flags)


def flags_of(op: Operation) -> llvm.FastMathAttr:
    """The llvm fast-math flags of an arith, math or vector operation."""
    found = op.properties.get("fastmath")
    return fast_math(tuple(found.data) if isinstance(found, arith.FastMathFlagsAttr) else ())


class LlvmBuilder:
    """
    The state of the conversion of one function.

    Values of the old function are looked up with `operand`, which converts constants on first use and places each once
    at the top of the entry; results are bound with `define`. `block` is the insertion block.
    """

    def __init__(self, declare: Callable[[str, llvm.LLVMFunctionType], None], conventions: Conventions = CPU):
        self.conventions = conventions
        self.declare = declare
        """Declares a function in the module: `declare("cbrt", ...)`."""
        self.values: dict[int, SSAValue] = {}
        """New values by the identity of the old: xDSL's hash of one is a call."""
        self.blocks: dict[Block, Block] = {}
        self.block = Block()
        self.new_blocks: list[Block] = []
        self.location: LocationAttr | None = None
        self.access_groups: Mapping[str, Attribute] = NO_PROPERTIES
        """Attributes for accesses in the block under conversion: the parallel loops around it."""
        self.loop_groups: dict[Operation, int] = {}
        """The access group of each parallel loop, by the old branch that closes it."""
        self.private_buffers: set[SSAValue] = set()
        """Stack slots allocated in each iteration of a parallel loop: accesses to them are not independent."""
        self.op: Operation
        """The operation under conversion, the location of errors."""
        self.has_soft_floats = False
        """Whether the function contains bf16, or f16 that is converted by integers: `floats_as_bits` is needed."""
        self._constants: dict[Any, SSAValue] = {}
        self._prologue: list[Operation] = []
        self._allocas: list[Operation] = []
        self._layouts: dict[int, tuple[Attribute, Layout]] = {}
        self._types: dict[int, tuple[Attribute, Attribute]] = {}

    # Values

    def operand(self, value: SSAValue) -> SSAValue:
        found = self.values.get(id(value))
        if found is None:
            owner = value.owner
            if type(owner) is not arith.ConstantOp:
                of = "a block" if isinstance(owner, Block) else f"'{owner.name}'"
                fail(self.op, f"uses a value of {of} that is not converted")
            found = self.values[id(value)] = self.attribute_constant(owner.properties["value"], value.type)
        return found

    def operands(self, op: Operation) -> list[SSAValue]:
        return [self.operand(value) for value in operands_of(op)]

    def define(self, old: SSAValue, new: SSAValue) -> None:
        if old.name_hint is not None and new.name_hint is None:
            new.name_hint = old.name_hint
        self.values[id(old)] = new

    def emit(
        self,
        op_class: type[Operation],
        operands: Sequence[SSAValue],
        result_type: Attribute,
        properties: Mapping[str, Attribute] = NO_PROPERTIES,
        attributes: Mapping[str, Attribute] = NO_PROPERTIES,
    ) -> SSAValue:
        """Append an operation with one result and return the result."""
        return append_new(self.block, op_class, operands, result_type, properties, self.location, attributes)

    def add(self, op: OpT) -> OpT:
        """Append an operation."""
        if self.location is not None:
            op.location = self.location
        append(self.block, op)
        return op

    # Constants

    def constant(self, value: int, type_: Attribute = I64) -> SSAValue:
        """An integer constant at the top of the function."""
        key = (value, mangled(type_))
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._new_constant(integer_attr(value, cast(IntegerType, type_)), type_)
        return found

    def index_constant(self, value: int) -> SSAValue:
        """A constant of the integer type of index."""
        return self.constant(value, self.conventions.index)

    def float_constant(self, value: float, type_: Attribute) -> SSAValue:
        key = (struct.pack("<d", value), mangled(type_))
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._new_constant(float_attr(value, type_), type_)
        return found

    def splat(self, scalar: SSAValue, length: int) -> SSAValue:
        """A splat vector of a value; a constant's is a constant."""
        type_ = vector_type(scalar.type, length)
        owner = scalar.owner
        if isinstance(owner, llvm.ConstantOp) and isinstance(owner.value, IntegerAttr | FloatAttr):
            key = (scalar, length)
            if key not in self._constants:
                element = cast(Any, owner.value).value.data
                attr = DenseIntOrFPElementsAttr.from_list(cast(Any, type_), [element])
                self._constants[key] = self._new_constant(attr, type_)
            return self._constants[key]
        poison = self.poison(type_)
        one = self.emit(llvm.InsertElementOp, (poison, scalar, self.constant(0)), type_)
        return self.emit(llvm.ShuffleVectorOp, (one, poison), type_, {"mask": i32_array((0,) * length)})

    def splat_like(self, scalar: SSAValue, type_: Attribute) -> SSAValue:
        """The scalar, or its splat if `type_` is a vector."""
        return self.splat(scalar, cast(Vector, type_).get_shape()[0]) if isinstance(type_, VectorType) else scalar

    def poison(self, type_: Attribute) -> SSAValue:
        """A poison value, from which a vector or structure is built."""
        op = create_op(PoisonOp, result_types=(type_,))
        self._prologue.append(op)
        return op.results[0]

    def zero(self, type_: Attribute) -> SSAValue:
        """The integer 0, or a vector of zeros."""
        return self.constant_like(0, type_)

    def constant_like(self, value: int, type_: Attribute) -> SSAValue:
        """An integer constant of an integer type, or a splat of a vector type."""
        if isinstance(type_, VectorType):
            vector = cast(Vector, type_)
            return self.splat(self.constant(value, vector.element_type), vector.get_shape()[0])
        return self.constant(value, type_)

    def extract_element(self, vector: SSAValue, index: SSAValue) -> SSAValue:
        return self.emit(ExtractElementOp, (vector, index), cast(Vector, vector.type).element_type)

    def attribute_constant(self, attr: Attribute, type_: Attribute) -> SSAValue:
        """The converted value of an arith.constant."""
        if type(attr) is IntegerAttr:
            return self.constant(attr.value.data, self.type(type_))
        if type(attr) is FloatAttr:
            return self.float_constant(attr.value.data, self.type(type_))
        if isinstance(attr, DenseIntOrFPElementsAttr) and isinstance(type_, VectorType):
            new_type = self.type(cast(Vector, type_))
            dense = cast("DenseIntOrFPElementsAttr[Any]", attr)
            if dense.type != new_type:
                dense = DenseIntOrFPElementsAttr(cast(Any, new_type), dense.data)
            return self._new_constant(dense, new_type)
        fail(self.op, f"uses a constant of type {type_}, which has no form in the llvm dialect")

    def _new_constant(self, attr: Attribute, type_: Attribute) -> SSAValue:
        op = create_op(llvm.ConstantOp, result_types=(type_,), properties={"value": attr})
        self._prologue.append(op)
        return op.results[0]

    def known_int(self, value: SSAValue) -> int | None:
        """The value of an old integer or index constant, or None."""
        owner = value.owner
        if type(owner) is arith.ConstantOp:
            number = owner.properties["value"]
            return number.value.data if type(number) is IntegerAttr else None
        return None

    # Types

    def type(self, type_: Attribute) -> Attribute:
        """The llvm type of a value. Raises DiagnosticError at the current operation if there is none."""
        found = self._types.get(id(type_))
        if found is None:
            found = self._types[id(type_)] = (type_, self._convert_type(type_))
        return found[1]

    def like(self, type_: Attribute, element: Attribute) -> Attribute:
        """`element`, or a vector of it with the length of `type_` if that is a vector."""
        return vector_type(element, cast(Vector, type_).get_shape()[0]) if isinstance(type_, VectorType) else element

    def mask(self, compared: Attribute) -> Attribute:
        """The result type of a comparison: i1, or a vector of i1 for a vector."""
        return self.like(compared, I1)

    def _convert_type(self, type_: Attribute) -> Attribute:
        if type(type_) is IntegerType:
            if cast(Integer, type_).signedness.data is Signedness.SIGNLESS:
                return cast(Integer, type_)
        elif type(type_) is IndexType:
            return self.conventions.index
        elif isinstance(type_, MemRefType):
            return SHARED_PTR if cast(Buffer, type_).memory_space == WORKGROUP else self.conventions.pointer
        elif isinstance(type_, VectorType):
            vector = cast(Vector, type_)
            if len(vector.get_shape()) == 1 and not vector.get_num_scalable_dims():
                element = self.type(vector.element_type)
                return vector if element is vector.element_type else vector_type(element, vector.get_shape()[0])
        elif type(type_) in FLOAT_NAMES or type_.name.startswith("llvm."):
            if isinstance(type_, BFloat16Type) or (self.conventions.soft_half and isinstance(type_, Float16Type)):
                self.has_soft_floats = True
            return type_
        fail(self.op, f"has a value of type {type_}, which has no llvm type")

    def layout(self, type_: Attribute) -> Layout:
        """The memory layout of a memref type. Raises DiagnosticError for dynamic shapes or strides."""
        found = self._layouts.get(id(type_))
        if found is None:
            found = self._layouts[id(type_)] = (type_, self._read_layout(cast(Buffer, type_)))
        return found[1]

    def _read_layout(self, type_: Buffer) -> Layout:
        shape = type_.get_shape()
        if any(size < 0 for size in shape):
            fail(self.op, f"has a memref of dynamic shape, {type_}: only static shapes are supported")
        layout = type_.layout
        if isinstance(layout, NoneAttr):
            strides = row_major(shape)
        elif isinstance(layout, StridedLayoutAttr):
            found = [stride.data for stride in layout.strides.data if isinstance(stride, IntAttr)]
            if len(found) != len(shape):
                fail(self.op, f"has a memref of dynamic strides, {type_}")
            strides = tuple(found)
        else:
            fail(self.op, f"has a memref of layout {layout}: only the identity and strided layouts are supported")
        element = self.type(type_.element_type)
        width = bit_width(cast(Integer, element)) if isinstance(element, IntegerType) else 8
        memory = cast(Attribute, I8 if width < 8 else element)
        return Layout(shape, strides, memory, byte_width(memory), width if width < 8 else None)

    # Memory

    def gep(self, pointer: SSAValue, index: SSAValue | int, element: Attribute, inbounds: bool = True) -> SSAValue:
        """`pointer + index` elements."""
        if isinstance(index, int) and index == 0:
            return pointer
        if isinstance(index, int):
            index = self.index_constant(index)
        properties: dict[str, Attribute] = {
            "rawConstantIndices": i32_array((llvm.GEP_USE_SSA_VAL,)),
            "elem_type": element,
            "noWrapFlags": _NO_FLAGS,
        }
        if inbounds:
            properties["inbounds"] = UNIT
        return self.emit(llvm.GEPOp, (pointer, index), pointer.type, properties)

    def field(self, pointer: SSAValue, struct: llvm.LLVMStructType, index: int) -> SSAValue:
        """The address of a field of a structure."""
        properties = {"rawConstantIndices": i32_array((0, index)), "elem_type": struct, "noWrapFlags": _NO_FLAGS}
        return self.emit(llvm.GEPOp, (pointer,), PTR, {**properties, "inbounds": UNIT})

    def linear_index(self, indices: Sequence[SSAValue], strides: Sequence[int], wrap: bool = False) -> SSAValue | int:
        """`sum(index * stride)` with the static terms folded; indices are values of the old function."""
        properties = NO_PROPERTIES if wrap else {"overflowFlags": NO_WRAP}
        known, total = 0, None
        for index, stride in zip(indices, strides, strict=True):
            number = self.known_int(index)
            if number is not None:
                known += number * stride
                continue
            term = self.operand(index)
            if stride != 1:
                term = self.emit(llvm.MulOp, (term, self.index_constant(stride)), term.type, properties)
            total = term if total is None else self.emit(llvm.AddOp, (total, term), term.type, properties)
        if total is None:
            return known
        if known:
            total = self.emit(llvm.AddOp, (total, self.index_constant(known)), total.type, properties)
        return total

    def address(self, buffer: SSAValue, indices: Sequence[SSAValue], inbounds: bool = True) -> SSAValue:
        """The address of `buffer[indices]`; both are values of the old function."""
        layout = self.layout(buffer.type)
        index = self.linear_index(indices, layout.strides, wrap=not inbounds)
        return self.gep(self.operand(buffer), index, layout.element, inbounds)

    def tag(self, buffer: SSAValue) -> bool:
        """Whether accesses to an old memref belong to the parallel loops around them."""
        return not self.private_buffers or root_buffer(buffer) not in self.private_buffers

    def load(self, pointer: SSAValue, type_: Attribute, alignment: int, tagged: bool = True) -> SSAValue:
        properties = {"alignment": _alignment(alignment), "ordering": NO_ORDERING}
        attributes = self.access_groups if tagged else NO_PROPERTIES
        return self.emit(llvm.LoadOp, (pointer,), type_, properties, attributes)

    def store(
        self, value: SSAValue, pointer: SSAValue, alignment: int, tagged: bool = True, nontemporal: bool = False
    ) -> None:
        properties: dict[str, Attribute] = {"alignment": _alignment(alignment), "ordering": NO_ORDERING}
        if nontemporal:
            properties["nontemporal"] = UNIT
        attributes = self.access_groups if tagged else NO_PROPERTIES
        self.add(create_op(llvm.StoreOp, operands=(value, pointer), properties=properties, attributes=attributes))

    def alloca(self, element: Attribute, count: int, alignment: int) -> SSAValue:
        """A stack slot, allocated once at the function's entry wherever the old allocation was."""
        op = create_op(
            llvm.AllocaOp,
            operands=(self.constant(count),),
            result_types=(self.conventions.stack,),
            properties={"elem_type": element, "alignment": _alignment(alignment)},
            location=self.location,
        )
        self._allocas.append(op)
        if self.conventions.stack != PTR:
            op = create_op(AddrSpaceCastOp, operands=op.results, result_types=(PTR,), location=self.location)
            self._allocas.append(op)
        return op.results[0]

    # Calls

    def intrinsic(
        self,
        name: str,
        operands: Sequence[SSAValue],
        result_type: Attribute | None,
        overloads: Sequence[Attribute],
        flags: llvm.FastMathAttr | None = None,
        tagged: bool = False,
    ) -> SSAValue:
        """Call `llvm.NAME.OVERLOADS`; return the result, or the last operand if there is none."""
        full = ".".join(("llvm", name, *(mangled(type_) for type_ in overloads)))
        op = create_op(
            llvm.CallIntrinsicOp,
            operands=operands,
            result_types=() if result_type is None else (result_type,),
            properties={
                "intrin": _string(full),
                "fastmathFlags": flags or fast_math(()),
                "op_bundle_sizes": NO_BUNDLES,
                "operandSegmentSizes": i32_array((len(operands), 0)),
            },
            attributes=self.access_groups if tagged else NO_PROPERTIES,
            location=self.location,
        )
        append(self.block, op)
        return op.results[0] if result_type is not None else operands[-1]

    def call(self, name: str, operands: Sequence[SSAValue], result_type: Attribute | None) -> SSAValue | None:
        """Call a function of the module by name."""
        op = create_op(
            llvm.CallOp,
            operands=operands,
            result_types=() if result_type is None else (result_type,),
            properties={
                **PLAIN_CALL,
                "callee": symbol(name),
                "operandSegmentSizes": i32_array((len(operands), 0)),
            },
            location=self.location,
        )
        append(self.block, op)
        return op.results[0] if result_type is not None else None

    # Blocks

    def new_block(self, arg_types: Sequence[Attribute] = ()) -> Block:
        """Append a block to the new function."""
        block = Block(arg_types=arg_types)
        self.new_blocks.append(block)
        return block

    def compare(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Compare integers: `eq`, `slt`, `ult`, .."""
        number = llvm.ICmpPredicateFlag(predicate).to_int()
        return self.emit(llvm.ICmpOp, (lhs, rhs), self.mask(lhs.type), {"predicate": integer_attr(number, I64)})

    def begin_loop(self) -> tuple[Block, Block]:
        """
        Open a loop from 0 at the insertion point; the operations that follow are its body, which runs at least once.

        Returns its block, whose argument is the iteration, and the exit block; pass both to `end_loop`.
        """
        header, exit_ = Block(arg_types=(I64,)), Block()
        self.add(create_op(llvm.BrOp, operands=(self.constant(0),), successors=(header,)))
        self._begin(header)
        return header, exit_

    def begin_loop_between(self, first: SSAValue, end: SSAValue) -> tuple[Block, Block]:
        """As `begin_loop`, from `first` up to `end`, which may be no iterations."""
        header, exit_ = Block(arg_types=(I64,)), Block()
        self._branch_if_less(first, end, header, exit_)
        self._begin(header)
        return header, exit_

    def _begin(self, header: Block) -> None:
        self.new_blocks.append(header)
        self.block = header

    def end_loop(self, header: Block, exit_: Block, end: SSAValue) -> None:
        """Close the innermost open loop, which runs up to `end`, and continue after it."""
        after = self.emit(llvm.AddOp, (header.args[0], self.constant(1)), I64, {"overflowFlags": NO_WRAP})
        self._branch_if_less(after, end, header, exit_)
        self._begin(exit_)

    def _branch_if_less(self, number: SSAValue, end: SSAValue, header: Block, exit_: Block) -> None:
        """Go on with iteration `number` of a loop, or leave it."""
        again = self.compare("ult", number, end)
        segments = {"operandSegmentSizes": i32_array((1, 1, 0))}
        self.add(create_op(llvm.CondBrOp, operands=(again, number), successors=(header, exit_), properties=segments))

    def finish(self) -> list[Block]:
        """The new function's blocks; constants and stack slots are at the top of the first."""
        entry = self.new_blocks[0]
        prologue = [*self._prologue, *self._allocas]
        if prologue:
            first = entry.first_op
            assert first is not None
            for op in prologue:
                insert_before(op, first)
        return self.new_blocks


_NO_FLAGS = IntegerAttr(0, i32)


@lru_cache(maxsize=64)
def _alignment(value: int) -> IntegerAttr[IntegerType]:
    return integer_attr(value, I64)


@lru_cache(maxsize=1024)
def _string(text: str) -> StringAttr:
    return StringAttr(text)
