"""nvgpu to nvvm: fragments become registers, memref accesses become pointers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects import arith, cf, llvm, memref, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    StridedLayoutAttr,
    UnrealizedConversionCastOp,
    VectorType,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.gpu import nvgpu
from ..dialects.gpu import nvvm_tensor_core as nvvm
from ..dialects.gpu.functions import WORKGROUP, GpuFuncOp
from ..dialects.gpu.marks import GLOBAL_SPACE, SHARED_SPACE
from ..dialects.support.buffers import Buffer, i32_array, i64_array, row_major
from ..dialects.support.spread import Spread
from ..hlo_dialect.diagnostics import fail
from ..hlo_dialect.hlo_pass import HloPass
from ..hlo_dialect.walking import reverse_postorder
from .device.functions import Inserter
from .device.parts import device_modules, lowered_parts

_KINDS: Mapping[type[Attribute], str] = {
    BFloat16Type: "bf16",
    Float16Type: "f16",
    Float32Type: "tf32",
    IntegerType: "s8",
}
"""The PTX names of the factor types of a multiplication."""

_GLOBAL = llvm.LLVMPointerType(IntAttr(GLOBAL_SPACE))
_SHARED = llvm.LLVMPointerType(IntAttr(SHARED_SPACE))


class ConvertNvgpuToNvvmPass(HloPass):
    """
    Lower tensor-core products and asynchronous copies to instructions on registers and pointers.

    Before: `%d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xbf16>, ..) -> vector<2x2xf32>`
    After:  `%d = nvvm.mma.sync A[%a0, %a1, %a2, %a3] B[%b0, %b1] C[%c0, %c1, %c2, %c3] {..}` and an
            llvm.extractvalue for each of its four registers
    A two-dimensional vector is a fragment: one value per register, in block arguments too. A row of 32 bits is one
    register, `vector<2xf16>` for f16, else i32; rows of accumulators have one f32 or i32 per element. Tokens of
    asynchronous copies are erased.
    Assumes: convert-loops-to-cf, and that fragments are used by nvgpu, cf, vector.broadcast, shuffle and extract only,
             or moved from and to memory, whose rows are then those of the fragment.
    Leaves: no nvgpu, no multi-dimensional vectors.
    """

    name = "convert-nvgpu-to-nvvm"
    takes_branches = True
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


def _register_types(type_: Attribute) -> Sequence[Attribute] | None:
    """The types of a fragment's registers; None for other types."""
    if not isinstance(type_, VectorType) or len((fragment := cast("VectorType[Any]", type_)).get_shape()) != 2:
        return None
    element: Attribute = fragment.element_type
    rows, width = fragment.get_shape()
    if width * nvgpu.bits_of(element) == 32:
        return [VectorType(element, (width,)) if isinstance(element, Float16Type) else i32] * rows
    return [element] * (rows * width)


Fragment: TypeAlias = "VectorType[Any]"

_Pattern: TypeAlias = "Callable[[Any, _FunctionConversion], None]"


class _FunctionConversion(Inserter):
    """Converts one function in place; maps each fragment to its registers."""

    def __init__(self, function: GpuFuncOp):
        self.function = function
        self.spread = Spread(_register_types)
        self.op: Operation = function

    def run(self) -> None:
        for block in self.function.body.blocks:
            self.spread.arguments(block)
        body = self.function.body
        for block in dict.fromkeys((*reverse_postorder(body), *body.blocks)):  # unreachable ones last
            for op in list(block.ops):
                self.op = op
                pattern = _PATTERNS.get(type(op))
                if isinstance(op, (cf.BranchOp, cf.ConditionalBranchOp)):
                    self.spread.operands(op)
                elif pattern is not None and (op.name.startswith("nvgpu.") or self.spread.concerns(op)):
                    pattern(op, self)
                    self.spread.replaced.operations.append(op)
                elif self.spread.concerns(op):
                    fail(op, "takes or gives a fragment, which convert-nvgpu-to-nvvm knows in nvgpu and vector only")
        self.spread.erase()

    # Used by the patterns.

    def fields(self, structure: SSAValue, types: Sequence[Attribute]) -> list[SSAValue]:
        """The fields of a structure."""
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


# Fragments.


def _mma(op: nvgpu.MmaSyncOp, to: _FunctionConversion) -> None:
    element: Attribute = cast("VectorType[Any]", op.matrixA.type).element_type
    a, b, c = (to.spread.parts[value] for value in op.operands)
    if isinstance(cast("VectorType[Any]", op.matrixC.type).element_type, Float16Type):
        fail(op, "adds products up in f16, which convert-nvgpu-to-nvvm does not lower; sum them in f32")
    made = nvvm.MmaSyncOp(a, b, c, _KINDS[type(element)], op.shape)
    to.spread.replace(op.res, to.fields(to.insert(made), [value.type for value in c]))


def _ldmatrix(op: nvgpu.LdMatrixOp, to: _FunctionConversion) -> None:
    loaded = to.insert(nvvm.LdMatrixOp(to.pointer(op.srcMemref, op.indices), op.tiles, op.is_transposed))
    parts = [loaded] if op.tiles == 1 else to.fields(loaded, [i32] * op.tiles)
    types = to.spread.types_of([op.res.type])
    registers = [
        part if part.type == type_ else to.insert(llvm.BitcastOp.create(operands=[part], result_types=[type_]))
        for part, type_ in zip(parts, types, strict=True)
    ]
    to.spread.replace(op.res, registers)


def _broadcast(op: vector.BroadcastOp, to: _FunctionConversion) -> None:
    types = to.spread.types_of([op.vector.type])
    if any(type_ != op.source.type for type_ in types):
        fail(op, "fills a fragment of factors: only sums are broadcast")
    to.spread.replace(op.vector, [op.source] * len(types))


def _shuffle(op: vector.ShuffleOp, to: _FunctionConversion) -> None:
    """Select rows of two fragments by number."""
    rows: list[tuple[SSAValue, ...]] = []
    for value in (op.v1, op.v2):
        registers = to.spread.parts[value]
        count = cast("VectorType[Any]", value.type).get_shape()[0]
        each = len(registers) // count
        rows += [registers[each * row : each * (row + 1)] for row in range(count)]
    to.spread.replace(op.result, [register for row in op.mask.get_values() for register in rows[int(row)]])


def _extract(op: vector.ExtractOp, to: _FunctionConversion) -> None:
    """A row of accumulators as a vector, or one of its elements."""
    fragment = cast("VectorType[Any]", op.vector.type)
    position = [int(number) for number in op.static_position.get_values()]
    registers = to.spread.parts[op.vector]
    _, width = fragment.get_shape()
    if op.dynamic_position or len(registers) != fragment.get_shape()[0] * width:
        fail(op, "takes part of a fragment of factors: only sums are extracted, at constant places")
    if len(position) == 2:
        op.result.replace_all_uses_with(registers[position[0] * width + position[1]])
        return
    row = registers[position[0] * width : (position[0] + 1) * width]
    op.result.replace_all_uses_with(_vector_of(row, op.result.type, to))


def _vector_of(row: Sequence[SSAValue], type_: Attribute, to: _FunctionConversion) -> SSAValue:
    """The elements of a row of accumulators as a vector."""
    value = to.insert(vector.BroadcastOp.create(operands=[row[0]], result_types=[type_]))
    for lane, register in enumerate(row[1:], 1):
        value = to.insert(vector.InsertOp(register, value, [lane]))
    return value


def _rows_in_memory(
    op: vector.LoadOp | vector.StoreOp, type_: Fragment, to: _FunctionConversion
) -> Iterator[tuple[VectorType[Any], list[SSAValue]]]:
    """The type of each row of a fragment, and its place in the memref: the last dimension but one counts rows."""
    count, width = type_.get_shape()
    *outer, row, column = op.indices if len(op.indices) > 1 else fail(op, "moves a fragment to or from one dimension")
    for number in range(count):
        step = to.insert(arith.ConstantOp(IntegerAttr(number, IndexType())))
        yield VectorType(type_.element_type, (width,)), [*outer, to.insert(arith.AddiOp(row, step)), column]


def _load(op: vector.LoadOp, to: _FunctionConversion) -> None:
    """Each row of a fragment is a vector in memory."""
    type_ = cast("Fragment", op.result.type)
    rows = [to.insert(vector.LoadOp(op.base, at, row)) for row, at in _rows_in_memory(op, type_, to)]
    types = to.spread.types_of([type_])
    if len(types) > len(rows):
        fail(op, "loads a fragment of sums: only factors are loaded")
    to.spread.replace(
        op.result,
        [
            row if row.type == kind else to.insert(llvm.BitcastOp.create(operands=[row], result_types=[kind]))
            for row, kind in zip(rows, types, strict=True)
        ],
    )


def _store(op: vector.StoreOp, to: _FunctionConversion) -> None:
    type_ = cast("Fragment", op.vector.type)
    registers, (count, width) = to.spread.parts[op.vector], type_.get_shape()
    if len(registers) != count * width:
        fail(op, "stores a fragment of factors: only sums are stored")
    for number, (row, at) in enumerate(_rows_in_memory(op, type_, to)):
        to.add(vector.StoreOp(_vector_of(registers[number * width : (number + 1) * width], row, to), op.base, at))


# Copies.


def _copy(op: nvgpu.DeviceAsyncCopyOp, to: _FunctionConversion) -> None:
    target, source = to.pointer(op.dst, op.dstIndices), to.pointer(op.src, op.srcIndices)
    read = None
    if op.srcElements is not None:
        narrow = to.insert(arith.IndexCastOp(op.srcElements, i32))
        size = to.insert(arith.ConstantOp.from_int_and_width(op.bytes // op.dstElements.value.data, i32))
        read = to.insert(arith.MuliOp(narrow, size))
    to.add(nvvm.CpAsyncOp(target, source, op.bytes, "ca" if op.bypassL1 is None else "cg", read))


def _group(op: nvgpu.DeviceAsyncCreateGroupOp, to: _FunctionConversion) -> None:
    to.add(nvvm.CpAsyncCommitGroupOp())


def _wait(op: nvgpu.DeviceAsyncWaitOp, to: _FunctionConversion) -> None:
    to.add(nvvm.CpAsyncWaitGroupOp(op.pending))


_PATTERNS: Mapping[type[Operation], _Pattern] = {
    nvgpu.MmaSyncOp: _mma,
    nvgpu.LdMatrixOp: _ldmatrix,
    nvgpu.DeviceAsyncCopyOp: _copy,
    nvgpu.DeviceAsyncCreateGroupOp: _group,
    nvgpu.DeviceAsyncWaitOp: _wait,
    vector.BroadcastOp: _broadcast,
    vector.ShuffleOp: _shuffle,
    vector.ExtractOp: _extract,
    vector.LoadOp: _load,
    vector.StoreOp: _store,
}
