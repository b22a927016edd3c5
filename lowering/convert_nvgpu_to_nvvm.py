"""nvgpu to nvvm: fragments become registers, places in memory become pointers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, llvm, memref, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    IntAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    UnrealizedConversionCastOp,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.build.buffers import Buffer, i32_array, i64_array, row_major
from ..dialects.gpu import nvgpu
from ..dialects.gpu import nvvm_tensor_core as nvvm
from ..dialects.gpu.functions import WORKGROUP, GpuFuncOp
from ..dialects.gpu.nvvm import GLOBAL_SPACE, SHARED_SPACE
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from .device.parts import device_modules, lowered_parts

_KINDS: Mapping[type[Attribute], str] = {
    BFloat16Type: "bf16",
    Float16Type: "f16",
    Float32Type: "tf32",
    IntegerType: "s8",
}
"""What PTX calls the factors of a multiplication."""

_GLOBAL = llvm.LLVMPointerType(IntAttr(GLOBAL_SPACE))
_SHARED = llvm.LLVMPointerType(IntAttr(SHARED_SPACE))


@dataclass(frozen=True)
class ConvertNvgpuToNvvmPass(HloPass):
    """
    Products of tensor cores and asynchronous copies become instructions on registers and pointers.

    Before: `%d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xbf16>, ..) -> vector<2x2xf32>`
    After:  `%d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%c0, %c1, %c2, %c3] {..}` and an
            llvm.extractvalue for each of its four registers
    A vector of two dimensions is a fragment: one value for each of its registers, in block arguments too. A row of 32
    bits is one register, `vector<2xf16>` of f16, else i32; rows of sums are one f32 or i32 for each element. Tokens of
    asynchronous copies vanish.
    Assumes: convert-loops-to-cf, and that fragments are used by nvgpu, cf, vector.broadcast, shuffle and extract only.
    Leaves: no nvgpu, no vectors of several dimensions.
    """

    name = "convert-nvgpu-to-nvvm"
    illegal = ("nvgpu.*",)

    def run(self, ctx: Context, module: ModuleOp) -> None:
        for device in device_modules(module):
            for op in list(device.body.block.ops):
                if isinstance(op, GpuFuncOp) and _has_fragments(op):
                    _FunctionConversion(op).run()

    def parts(self, module: ModuleOp) -> Sequence[Operation]:
        return lowered_parts(module)


def _has_fragments(function: GpuFuncOp) -> bool:
    return any(op.name.startswith("nvgpu.") for op in function.walk())


def _is_fragment(type_: Attribute) -> bool:
    return isinstance(type_, VectorType) and len(type_.get_shape()) == 2


def _registers(type_: Attribute) -> list[Attribute]:
    """The types of a fragment's registers."""
    fragment = cast("VectorType[Any]", type_)
    element: Attribute = fragment.element_type
    rows, width = fragment.get_shape()
    if width * nvgpu.bits_of(element) == 32:
        return [VectorType(element, (width,)) if isinstance(element, Float16Type) else i32] * rows
    return [element] * (rows * width)


_Pattern: TypeAlias = "Callable[[Any, _FunctionConversion], None]"


class _FunctionConversion:
    """Converts one function in place; knows the registers of each fragment."""

    def __init__(self, function: GpuFuncOp):
        self.function = function
        self.values: dict[SSAValue, list[SSAValue]] = {}
        self.op: Operation = function

    def run(self) -> None:
        blocks = list(self.function.body.blocks)
        for block in blocks:
            self._split_arguments(block)
        dead: list[Operation] = []
        branches: list[Operation] = []
        for block in _from_entry(blocks):
            for op in list(block.ops):
                self.op = op
                pattern = _PATTERNS.get(type(op))
                if isinstance(op, (cf.BranchOp, cf.ConditionalBranchOp)):
                    branches.append(op)
                elif pattern is not None and (op.name.startswith("nvgpu.") or self._touches_fragments(op)):
                    pattern(op, self)
                    dead.append(op)
                elif self._touches_fragments(op):
                    fail(op, "takes or gives a fragment, which convert-nvgpu-to-nvvm knows in nvgpu and vector only")
        for op in branches:
            self._convert_branch(op)
        for op in reversed(dead):
            op.detach()
            op.erase(safe_erase=False)
        for block in blocks:
            for argument in reversed(block.args):
                if argument in self.values:
                    block.erase_arg(argument)

    def _touches_fragments(self, op: Operation) -> bool:
        return any(_is_fragment(value.type) for value in (*op.operands, *op.results))

    def _split_arguments(self, block: Block) -> None:
        """Arguments for the registers, after those that there are; the fragments' own go when nothing uses them."""
        for argument in list(block.args):
            if _is_fragment(argument.type):
                types = _registers(argument.type)
                self.values[argument] = [block.insert_arg(type_, len(block.args)) for type_ in types]

    def _convert_branch(self, op: Operation) -> None:
        def split(operands: Sequence[SSAValue]) -> list[SSAValue]:
            plain = [value for value in operands if value not in self.values]
            return plain + [part for value in operands if value in self.values for part in self.values[value]]

        if isinstance(op, cf.BranchOp):
            op.operands = split(op.arguments)
        elif isinstance(op, cf.ConditionalBranchOp):
            then, otherwise = split(op.then_arguments), split(op.else_arguments)
            op.operands = [op.cond, *then, *otherwise]
            op.properties["operandSegmentSizes"] = i32_array((1, len(then), len(otherwise)))

    # Used by the patterns.

    def insert(self, op: Operation) -> SSAValue:
        """Put an operation before the one under conversion; its first result."""
        op.location = self.op.location
        cast(Block, self.op.parent).insert_op_before(op, self.op)
        return op.results[0] if op.results else cast(SSAValue, None)

    def fields(self, structure: SSAValue, types: Sequence[Attribute]) -> list[SSAValue]:
        """The values that a structure holds."""
        return [
            self.insert(
                llvm.ExtractValueOp.create(
                    operands=[structure], result_types=[type_], properties={"position": i64_array((number,))}
                )
            )
            for number, type_ in enumerate(types)
        ]

    def pointer(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        """The address of an element of a memref."""
        type_ = cast(Buffer, buffer.type)
        shape = type_.get_shape()
        layout = type_.layout
        strides = tuple(layout.get_strides()) if isinstance(layout, StridedLayoutAttr) else row_major(shape)
        ones = (1,) * len(shape)
        element = MemRefType(type_.element_type, ones, StridedLayoutAttr(strides, None), type_.memory_space)
        place = memref.SubviewOp.create(
            operands=[buffer, *indices],
            result_types=[element],
            properties={
                "static_offsets": i64_array((DYNAMIC_INDEX,) * len(shape)),
                "static_sizes": i64_array(ones),
                "static_strides": i64_array(ones),
                "operandSegmentSizes": i32_array((1, len(shape), 0, 0)),
            },
        )
        result = _SHARED if type_.memory_space == WORKGROUP else _GLOBAL
        return self.insert(UnrealizedConversionCastOp.get([self.insert(place)], [result]))


def _from_entry(blocks: Sequence[Block]) -> list[Block]:
    """The blocks so that each comes after those that dominate it; unreachable ones last."""
    found: dict[Block, None] = {}
    waiting = [blocks[0]]
    while waiting:
        block = waiting.pop()
        if block not in found:
            found[block] = None
            last = block.last_op
            waiting += reversed(last.successors) if last is not None else ()
    return [*found, *(block for block in blocks if block not in found)]


# Fragments.


def _mma(op: nvgpu.MmaSyncOp, to: _FunctionConversion) -> None:
    element: Attribute = cast("VectorType[Any]", op.matrixA.type).element_type
    a, b, c = (to.values[value] for value in op.operands)
    if isinstance(cast("VectorType[Any]", op.matrixC.type).element_type, Float16Type):
        fail(op, "adds products up in f16, which convert-nvgpu-to-nvvm does not lower; sum them in f32")
    made = nvvm.MmaSyncOp(a, b, c, _KINDS[type(element)], op.shape)
    to.values[op.res] = to.fields(to.insert(made), [value.type for value in c])


def _ldmatrix(op: nvgpu.LdMatrixOp, to: _FunctionConversion) -> None:
    loaded = to.insert(nvvm.LdMatrixOp(to.pointer(op.srcMemref, op.indices), op.tiles, op.is_transposed))
    parts = [loaded] if op.tiles == 1 else to.fields(loaded, [i32] * op.tiles)
    types = _registers(op.res.type)
    to.values[op.res] = [
        part if part.type == type_ else to.insert(llvm.BitcastOp.create(operands=[part], result_types=[type_]))
        for part, type_ in zip(parts, types, strict=True)
    ]


def _broadcast(op: vector.BroadcastOp, to: _FunctionConversion) -> None:
    registers = _registers(op.vector.type)
    if any(type_ != op.source.type for type_ in registers):
        fail(op, "fills a fragment of factors: only sums are broadcast")
    to.values[op.vector] = [op.source] * len(registers)


def _shuffle(op: vector.ShuffleOp, to: _FunctionConversion) -> None:
    """Rows of two fragments by number."""
    rows: list[list[SSAValue]] = []
    for value in (op.v1, op.v2):
        registers = to.values[value]
        count = cast("VectorType[Any]", value.type).get_shape()[0]
        each = len(registers) // count
        rows += [registers[each * row : each * (row + 1)] for row in range(count)]
    to.values[op.result] = [register for row in op.mask.get_values() for register in rows[int(row)]]


def _extract(op: vector.ExtractOp, to: _FunctionConversion) -> None:
    """A row of sums as a vector, or one of them."""
    fragment = cast("VectorType[Any]", op.vector.type)
    position = [int(number) for number in op.static_position.get_values()]
    registers = to.values[op.vector]
    _, width = fragment.get_shape()
    if op.dynamic_position or len(registers) != fragment.get_shape()[0] * width:
        fail(op, "takes part of a fragment of factors: only sums are extracted, at constant places")
    if len(position) == 2:
        op.result.replace_all_uses_with(registers[position[0] * width + position[1]])
        return
    row = registers[position[0] * width : (position[0] + 1) * width]
    value = to.insert(vector.BroadcastOp.create(operands=[row[0]], result_types=[op.result.type]))
    for lane, register in enumerate(row[1:], 1):
        value = to.insert(vector.InsertOp(register, value, [lane]))
    op.result.replace_all_uses_with(value)


# Copies.


def _copy(op: nvgpu.DeviceAsyncCopyOp, to: _FunctionConversion) -> None:
    target, source = to.pointer(op.dst, op.dstIndices), to.pointer(op.src, op.srcIndices)
    read = None
    if op.srcElements is not None:
        narrow = to.insert(arith.IndexCastOp(op.srcElements, i32))
        size = to.insert(arith.ConstantOp.from_int_and_width(op.bytes // op.dstElements.value.data, i32))
        read = to.insert(arith.MuliOp(narrow, size))
    to.insert(nvvm.CpAsyncOp(target, source, op.bytes, "ca" if op.bypassL1 is None else "cg", read))


def _group(op: nvgpu.DeviceAsyncCreateGroupOp, to: _FunctionConversion) -> None:
    to.insert(nvvm.CpAsyncCommitGroupOp())


def _wait(op: nvgpu.DeviceAsyncWaitOp, to: _FunctionConversion) -> None:
    to.insert(nvvm.CpAsyncWaitGroupOp(op.pending))


_PATTERNS: Mapping[type[Operation], _Pattern] = {
    nvgpu.MmaSyncOp: _mma,
    nvgpu.LdMatrixOp: _ldmatrix,
    nvgpu.DeviceAsyncCopyOp: _copy,
    nvgpu.DeviceAsyncCreateGroupOp: _group,
    nvgpu.DeviceAsyncWaitOp: _wait,
    vector.BroadcastOp: _broadcast,
    vector.ShuffleOp: _shuffle,
    vector.ExtractOp: _extract,
}
