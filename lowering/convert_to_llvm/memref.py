"""
memref to llvm: a memref of static shape is a bare pointer to its first element.

Strides are static and come from the type; a subview is an offset pointer. i1, i2 and i4 elements take one byte each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, func, llvm, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    BoolAttr,
    DenseIntOrFPElementsAttr,
    IntAttr,
    IntegerAttr,
    StridedLayoutAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Operation, SSAValue

from ...dialects.gpu.marks import NVVM, ROCDL
from ...dialects.llvm_ops import AtomicRMWOp, FreezeOp
from ...dialects.support.buffers import Buffer
from ...dialects.support.classes import one_of
from ...dialects.support.editing import operands_of
from ...dialects.support.llvm_layout import Layout, integer
from ...dialects.support.views import root_buffer
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.walking import int_values
from .builder import I1, I8, NO_WRAP, LlvmBuilder, patterns
from .conventions import I64

STACK_ALIGNMENT = 64
GLOBAL_ALIGNMENT = 64
REGISTER_ALIGNMENT = 16
"""Alignment of a GPU thread's private memory, in bytes: the widest access."""

_is_choice = one_of(
    arith.SelectOp,
    *(arith.MaximumfOp, arith.MinimumfOp, arith.MaxnumfOp, arith.MinnumfOp),
    *(arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp),
    func.CallOp,
)
"""Operations whose last step may be a choice between operands: for maxima it compares, or looks for NaN."""


@patterns.on(memref.LoadOp)
def _load(op: memref.LoadOp, to: LlvmBuilder) -> None:
    """`memref.load %m[%i, %j]` loads from `getelementptr %m, i * stride + j`."""
    source, *indices = operands_of(op)
    layout = to.layout(source.type)
    value = to.load(_address(source, indices, layout, to), layout.element, layout.itemsize, to.tag(source))
    (result,) = op.results
    if not to.conventions.device and _is_written_back(op, source, indices, to):
        value = to.emit(FreezeOp, (value,), value.type)
    to.define(result, from_memory(to, value, layout))


def _address(source: SSAValue, indices: Sequence[SSAValue], layout: Layout, to: LlvmBuilder) -> SSAValue:
    """
    The address of an element; in parallel loops, one at `%i + 1` is element `%i` of a buffer that begins one later.

    LLVM would take it for the element of the next iteration, keep that, and put vectors together of two of them.
    """
    moved = indices[-1].owner if indices and to.access_groups and not to.conventions.device else None
    number = to.known_int(moved.rhs) if isinstance(moved, arith.AddiOp) else None
    if number is None or not isinstance(moved, arith.AddiOp) or layout.strides[-1] != 1:
        return to.address(source, indices)
    index = to.linear_index([*indices[:-1], moved.lhs], layout.strides)
    # Before its first element a buffer has no address that is in bounds.
    inside = 0 <= number < layout.shape[-1]
    return to.gep(to.gep(to.operand(source), number, layout.element, inside), index, layout.element, inside)


def _is_written_back(op: memref.LoadOp, source: SSAValue, indices: Sequence[SSAValue], to: LlvmBuilder) -> bool:
    """
    Whether the block chooses between an element and another value, and stores the choice in the element's place.

    LLVM makes a store under a mask of that, but not where it cannot see that the chosen value is the element. Loads
    wait until such a store is done: buffers on the stack, which are read again soon, are stored whole on all machines.
    """
    choices = (use.operation for use in op.results[0].uses if _is_choice(use.operation))
    # A call may have no result.
    for stored in (use for choice in choices for result in choice.results for use in result.uses):
        store = stored.operation
        if type(store) is memref.StoreOp and stored.index == 0 and store.parent is op.parent:
            _, target, *places = operands_of(store)
            if target is source and places == indices:
                return to.conventions.slow_masks or isinstance(root_buffer(source).owner, memref.AllocaOp)
    return False


@patterns.on(memref.StoreOp)
def _store(op: memref.StoreOp, to: LlvmBuilder) -> None:
    stored, target, *indices = operands_of(op)
    layout = to.layout(target.type)
    value = to_memory(to, to.operand(stored), layout)
    pointer = to.address(target, indices)
    to.store(value, pointer, layout.itemsize, to.tag(target), is_nontemporal(op))


def is_nontemporal(op: Operation) -> bool:
    found = op.properties.get("nontemporal")
    return isinstance(found, IntegerAttr) and bool(cast(BoolAttr, found).value.data)


def from_memory(to: LlvmBuilder, value: SSAValue, layout: Layout) -> SSAValue:
    """Convert a loaded element or vector to the program's type: a byte is truncated to 1, 2 or 4 bits."""
    if layout.narrow is None:
        return value
    if layout.narrow > 1:
        return to.emit(llvm.TruncOp, (value,), to.like(value.type, integer(layout.narrow)))
    return to.compare("ne", value, to.zero(value.type))


def to_memory(to: LlvmBuilder, value: SSAValue, layout: Layout) -> SSAValue:
    """Convert a value or vector to its memory type: 1, 2 or 4 bits are zero-extended to a byte."""
    return value if layout.narrow is None else to.emit(llvm.ZExtOp, (value,), to.like(value.type, I8))


@patterns.on(memref.AllocaOp)
def _alloca(op: memref.AllocaOp, to: LlvmBuilder) -> None:
    """Stack memory is allocated in the function's entry block, so that a loop around it does not grow the stack."""
    layout = to.layout(op.memref.type)
    if op.dynamic_sizes or op.symbol_operands:
        fail(op, "has dynamic sizes: only static shapes are supported")
    wanted = op.alignment.value.data if op.alignment is not None else 0
    widest = STACK_ALIGNMENT if not to.conventions.device else REGISTER_ALIGNMENT
    alignment = max(widest if layout.nbytes > layout.itemsize else layout.itemsize, wanted)
    count = max(1, layout.nbytes // layout.itemsize)
    to.define(op.memref, to.alloca(layout.element, count, alignment))


@patterns.on(memref.AllocOp, memref.DeallocOp)
def _needs_plan(op: Operation, to: LlvmBuilder) -> None:
    fail(op, "must be placed in the arena first: run plan-buffers")


@patterns.on(memref.ViewOp)
def _view(op: memref.ViewOp, to: LlvmBuilder) -> None:
    """`memref.view %bytes[%shift]` becomes the address of `%bytes` plus shift bytes."""
    shift = to.known_int(op.byte_shift)
    index = shift if shift is not None else to.operand(op.byte_shift)
    to.define(op.result, to.gep(to.operand(op.source), index, I8))


@patterns.on(memref.SubviewOp)
def _subview(op: memref.SubviewOp, to: LlvmBuilder) -> None:
    """The pointer moves by `sum(offset * stride of the source)`; sizes and strides are in the result's type."""
    to.layout(op.result.type)
    source = to.layout(op.source.type)
    dynamic = iter(op.offsets)
    known, indices, strides = 0, list[SSAValue](), list[int]()
    for offset, stride in zip(op.static_offsets.get_values(), source.strides, strict=True):
        if offset == DYNAMIC_INDEX:
            indices.append(next(dynamic))
            strides.append(stride)
        else:
            known += int(offset) * stride
    index = to.linear_index(indices, strides)
    if isinstance(index, int):
        index += known
    elif known:
        index = to.emit(llvm.AddOp, (index, to.index_constant(known)), index.type, {"overflowFlags": NO_WRAP})
    to.define(op.result, to.gep(to.operand(op.source), index, source.element))


@patterns.on(memref.ReinterpretCastOp)
def _reinterpret_cast(op: memref.ReinterpretCastOp, to: LlvmBuilder) -> None:
    """The result type has the new shape; the offset, in elements, moves the pointer."""
    layout = to.layout(op.result.type)
    (offset,) = int_values(op.static_offsets)
    moved, *offsets = operands_of(op)
    index: SSAValue | int = to.operand(offsets[0]) if offset == DYNAMIC_INDEX else offset
    source = moved.type
    if not isinstance(index, int) or index:
        base = root_offset(cast(Buffer, source))
        if base is None:
            fail(op, "moves from an offset that is not known: its source must have a static offset")
        if isinstance(index, int):
            index -= base
        elif base:
            index = to.emit(llvm.SubOp, (index, to.index_constant(base)), index.type, {"overflowFlags": NO_WRAP})
    to.define(op.result, to.gep(to.operand(moved), index, layout.element))


def root_offset(type_: Buffer) -> int | None:
    """The static offset, in elements, of a memref type's first element; None if dynamic."""
    layout = type_.layout
    if type(layout) is not StridedLayoutAttr:
        return 0
    offset = layout.offset
    return offset.data if type(offset) is IntAttr else None


@patterns.on(memref.CastOp, memref.AssumeAlignmentOp, memref.CollapseShapeOp, memref.ExpandShapeOp)
def _same_pointer(op: Operation, to: LlvmBuilder) -> None:
    """Casts and reshapes keep the pointer: the strides of the result's type describe the same elements."""
    to.layout(op.results[0].type)
    to.define(op.results[0], to.operand(op.operands[0]))


@patterns.on(memref.DimOp)
def _dim(op: memref.DimOp, to: LlvmBuilder) -> None:
    index = to.known_int(op.index)
    shape = to.layout(op.source.type).shape
    if index is None or not 0 <= index < len(shape):
        fail(op, "asks for a dimension that is not a constant of the memref's rank")
    to.define(op.result, to.index_constant(shape[index]))


@patterns.on(memref.ExtractAlignedPointerAsIndexOp)
def _pointer_as_index(op: memref.ExtractAlignedPointerAsIndexOp, to: LlvmBuilder) -> None:
    to.define(op.aligned_pointer, to.emit(llvm.PtrToIntOp, (to.operand(op.source),), to.conventions.index))


@patterns.on(memref.GetGlobalOp)
def _get_global(op: memref.GetGlobalOp, to: LlvmBuilder) -> None:
    properties = {"global_name": SymbolRefAttr(op.name_.root_reference)}
    to.define(op.memref, to.emit(llvm.AddressOfOp, (), to.type(op.memref.type), properties))


def convert_global(op: memref.GlobalOp, to: LlvmBuilder) -> llvm.GlobalOp:
    """`memref.global` becomes an internal llvm global, aligned for vectors, in its type's memory space."""
    layout = to.layout(op.type)
    value = op.initial_value
    wanted = op.alignment.value.data if op.alignment is not None else 0
    array = llvm.LLVMArrayType(layout.nbytes // layout.itemsize, layout.element)
    space = cast(llvm.LLVMPointerType, to.type(op.type)).addr_space
    dynamic = NVVM.dynamic in op.attributes or ROCDL.dynamic in op.attributes
    made = llvm.GlobalOp(
        llvm.LLVMArrayType(0, layout.element) if dynamic else array,
        op.sym_name,
        "external" if dynamic else "internal",
        constant=op.constant is not None,
        addr_space=space.data if isinstance(space, IntAttr) else 0,
        value=None if isinstance(value, UnitAttr) else cast("DenseIntOrFPElementsAttr[Any]", value),
        alignment=wanted or GLOBAL_ALIGNMENT if to.conventions.device else max(GLOBAL_ALIGNMENT, wanted),
    )
    made.location = op.location
    return made


@patterns.on(memref.CopyOp)
def _copy(op: memref.CopyOp, to: LlvmBuilder) -> None:
    """
    One memcpy if both sides are contiguous; else loops over the outer dimensions around the largest contiguous run, or
    around single elements.
    """
    source, target = to.layout(op.source.type), to.layout(op.destination.type)
    if source.shape != target.shape or source.element != target.element:
        fail(op, "copies between different shapes or element types")
    if source.nbytes == 0:
        return
    pointers = to.operand(op.destination), to.operand(op.source)
    rank = len(source.shape)
    outer = rank
    run = 1
    while outer and source.strides[outer - 1] == run == target.strides[outer - 1]:
        run *= source.shape[outer - 1]
        outer -= 1
    while outer and source.shape[outer - 1] == 1:
        outer -= 1

    def copy_run(to: LlvmBuilder, target_pointer: SSAValue, source_pointer: SSAValue) -> None:
        if run == 1:
            value = to.load(source_pointer, source.element, source.itemsize, tagged=False)
            to.store(value, target_pointer, source.itemsize, tagged=False)
        else:
            size = to.constant(run * source.itemsize)
            operands = (target_pointer, source_pointer, size, to.constant(0, I1))
            to.intrinsic("memcpy", operands, None, (target_pointer.type, source_pointer.type, I64))

    _copy_dimension(to, 0, outer, pointers, (target, source), copy_run)


def _copy_dimension(
    to: LlvmBuilder,
    dim: int,
    outer: int,
    pointers: tuple[SSAValue, SSAValue],
    layouts: tuple[Layout, Layout],
    copy_run: Callable[[LlvmBuilder, SSAValue, SSAValue], None],
) -> None:
    """A loop over dimension `dim` of a copy; both pointers move by their stride in each iteration."""
    if dim == outer:
        copy_run(to, *pointers)
        return
    size = layouts[0].shape[dim]
    header, exit_ = to.begin_loop()
    index = header.args[0]
    moved: list[SSAValue] = []
    for pointer, layout in zip(pointers, layouts, strict=True):
        offset = to.emit(llvm.MulOp, (index, to.constant(layout.strides[dim])), I64, {"overflowFlags": NO_WRAP})
        moved.append(to.gep(pointer, offset, layout.element))
    _copy_dimension(to, dim + 1, outer, (moved[0], moved[1]), layouts, copy_run)
    to.end_loop(header, exit_, to.constant(size))


_ATOMIC = {
    0: "fadd",
    1: "add",
    2: "xchg",
    3: "fmaximum",
    4: "max",
    5: "umax",
    6: "fminimum",
    7: "min",
    8: "umin",
    11: "_or",
    12: "_and",
    13: "fmax",
    14: "fmin",
    15: "_xor",
}
"""By the number of arith's AtomicRMWKind; LLVM has no atomic multiplication."""


@patterns.on(memref.AtomicRMWOp)
def _atomic(op: memref.AtomicRMWOp, to: LlvmBuilder) -> None:
    """`memref.atomic_rmw` of whole bytes; on a GPU atomic for all threads of the device."""
    layout = to.layout(op.memref.type)
    operation = _ATOMIC.get(cast("IntegerAttr[Any]", op.kind).value.data)
    if operation is None:
        fail(op, "multiplies, for which there is no atomic operation")
    if layout.narrow is not None:
        fail(op, f"changes elements of {layout.narrow} bits: atomic operations are on whole bytes")
    if isinstance(layout.element, BFloat16Type) and not to.conventions.device:
        fail(op, "changes elements of bf16: CPUs have no atomic operations on them")
    pointer = to.address(op.memref, op.indices)
    scope = to.conventions.scope if to.conventions.device else None
    made = to.add(AtomicRMWOp(operation, pointer, to.operand(op.value), scope))
    to.define(op.result, made.res)
