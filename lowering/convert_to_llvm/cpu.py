"""
cpu.parallel_for to llvm: a structure of the captures, and a thunk that unpacks it on each thread.

cpu.host_call, cpu.guard: an array of the buffers' addresses, and a call of an external function. cpu.safepoint: a call
of the runtime.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType, UnitAttr, VectorType, bf16, i8, i16
from xdsl.ir import Attribute, Operation, Region, SSAValue

from ...dialects.cpu import (
    DotOp,
    GuardOp,
    HostCallOp,
    NearestOp,
    ParallelForOp,
    PrefetchOp,
    SafepointOp,
    ScaleOp,
    SlotOp,
)
from ...dialects.support.attributes import symbol
from ...dialects.support.kernel import BRIEF
from ...dialects.support.llvm_layout import byte_width
from ...hlo_dialect.diagnostics import fail
from .bfloat import BFLOAT_DOTS
from .builder import NO_PROPERTIES, LlvmBuilder, patterns
from .conventions import I32, I64, PTR
from .definitions import llvm_function
from .subnormals import Registers, flushed

PARALLEL_FOR = "xhlo_parallel_for"
"""
The runtime function `void xhlo_parallel_for(void (*share)(void *context, i64 lo, i64 hi), void *context, i64 count)`.
"""

PARALLEL_FOR_TYPE = llvm.LLVMFunctionType([PTR, PTR, I64])
THUNK_TYPE = llvm.LLVMFunctionType([PTR, I64, I64])
_IN_REGISTERS = (llvm.LLVMPointerType, IntegerType, Float32Type, Float64Type)


def thunk_name(body: str) -> str:
    return f"{body}.thunk"


@patterns.on(ParallelForOp)
def _parallel_for(op: ParallelForOp, to: LlvmBuilder) -> None:
    """
    `cpu.parallel_for @body(%a, %b) {count = N}` becomes

        store a, b in a structure on the stack;   call @xhlo_parallel_for(@body.thunk, structure, N)
    """
    body = op.callee.root_reference.data
    captures = [to.operand(value) for value in op.captures]
    struct = llvm.LLVMStructType.from_type_list([value.type for value in captures])
    context = to.alloca(struct, 1, 8) if captures else to.emit(llvm.ZeroOp, (), PTR)
    for index, value in enumerate(captures):
        to.store(value, to.field(context, struct, index), byte_width(value.type), tagged=False)
    thunk = to.emit(llvm.AddressOfOp, (), PTR, {"global_name": symbol(thunk_name(body))})
    to.declare(PARALLEL_FOR, PARALLEL_FOR_TYPE)
    to.call(PARALLEL_FOR, (thunk, context, to.constant(op.count.value.data)), None)


def make_thunk(body: str, captures: list[Attribute], to: LlvmBuilder, registers: Registers) -> llvm.FuncOp:
    """
    `void @body.thunk(ptr context, i64 lo, i64 hi)`: loads the captures and calls the body for each iteration. There is
    nothing to optimize in it, unless a capture is of a type for which some machines have no registers.
    """
    entry = to.block = to.new_block(THUNK_TYPE.inputs.data)
    context, low, high = entry.args
    struct = llvm.LLVMStructType.from_type_list(captures)
    values = [
        to.load(to.field(context, struct, index), type_, byte_width(type_), tagged=False)
        for index, type_ in enumerate(captures)
    ]
    flushed(to, registers, lambda: _call_each(body, values, low, high, to))
    to.add(llvm.ReturnOp.create())
    thunk = llvm_function(thunk_name(body), THUNK_TYPE, "internal", Region(to.finish()))
    if all(isinstance(type_, _IN_REGISTERS) for type_ in captures):
        thunk.attributes[BRIEF] = UnitAttr()
    return thunk


def _call_each(body: str, values: Sequence[SSAValue], low: SSAValue, high: SSAValue, to: LlvmBuilder) -> None:
    """Call the body for the iterations from `low` up to `high`, which is above it."""
    loop, after = to.begin_loop_between(low, high)
    to.call(body, (*values, loop.args[0], low), None)
    to.end_loop(loop, after, high)


HOST_CALL_TYPE = llvm.LLVMFunctionType([PTR])


@patterns.on(HostCallOp)
def _host_call(op: HostCallOp, to: LlvmBuilder) -> None:
    """
    `cpu.host_call @f(%a, %b)` becomes

        store a, b in an array on the stack;   call @f(array)
    """
    for index, buffer in enumerate(op.buffers):
        if not to.layout(buffer.type).contiguous:
            fail(op, f"passes buffer {index}, which is not contiguous, to a function of the host")
    name = op.callee.root_reference.data
    to.declare(name, HOST_CALL_TYPE)
    to.call(name, (_addresses(op, to),), None)


def _addresses(op: Operation, to: LlvmBuilder) -> SSAValue:
    """An array of the operands' addresses, on the stack."""
    pointers = to.operands(op)
    array = to.alloca(PTR, max(1, len(pointers)), 8)
    for index, pointer in enumerate(pointers):
        to.store(pointer, to.gep(array, index, PTR), 8, tagged=False)
    return array


GUARD = "xhlo_guard"
GUARD_TYPE = llvm.LLVMFunctionType([I64, I64, PTR], I64)


@patterns.on(GuardOp)
def _guard(op: GuardOp, to: LlvmBuilder) -> None:
    """`%ok = cpu.guard "leave"(%a) {number = 3}` becomes `%ok = (call @xhlo_guard(1, 3, array) != 0)`."""
    to.declare(GUARD, GUARD_TYPE)
    event, number = (to.constant(n) for n in (GuardOp.EVENTS.index(op.event.data), op.number.value.data))
    answer = cast(SSAValue, to.call(GUARD, (event, number, _addresses(op, to)), I64))
    _is_not_zero(op.ok, answer, to)


GOES_ON = "xhlo_goes_on"
"""The runtime function `i64 xhlo_goes_on(void *arena)`: zero if the run with this arena is to stop."""

DECLARED_TRAITS: Mapping[str, tuple[str, ...]] = {
    GOES_ON: ("nounwind", "willreturn", "memory(inaccessiblemem: readwrite)")
}
"""
LLVM's attributes of runtime functions. A safepoint reads and writes nothing that a program can name, so that numbers
that the kernels of a loop pass to each other stay in registers.
"""

GOES_ON_TYPE = llvm.LLVMFunctionType([PTR], I64)


@patterns.on(SafepointOp)
def _safepoint(op: SafepointOp, to: LlvmBuilder) -> None:
    """`%go = cpu.safepoint(%arena)` becomes `%go = (call @xhlo_goes_on(%arena) != 0)`."""
    to.declare(GOES_ON, GOES_ON_TYPE)
    answer = cast(SSAValue, to.call(GOES_ON, (to.operand(op.arena),), I64))
    _is_not_zero(op.go, answer, to)


def _is_not_zero(result: SSAValue, answer: SSAValue, to: LlvmBuilder) -> None:
    to.define(result, to.compare("ne", answer, to.zero(I64)))


@patterns.on(SlotOp)
def _slot(op: SlotOp, to: LlvmBuilder) -> None:
    """`%slot = cpu.slot` that outline-parallel-loops did not take is in a loop of a single thread: 0."""
    to.define(op.slot, to.constant(0))


@patterns.on(PrefetchOp)
def _prefetch(op: PrefetchOp, to: LlvmBuilder) -> None:
    """`cpu.prefetch %m[%i]` becomes `llvm.prefetch` of the address: to read or write data, into which caches."""
    pointer = to.address(op.buffer, op.indices, inbounds=False)
    locality = 3 if op.second_level is None else 2
    numbers = [to.constant(number, I32) for number in (int(op.to_write is not None), locality, 1)]
    to.intrinsic("prefetch", (pointer, *numbers), None, (PTR,))


@patterns.on(ScaleOp)
def _scale(op: ScaleOp, to: LlvmBuilder) -> None:
    """`cpu.scale %x, %n` becomes `llvm.ldexp`."""
    type_ = op.result.type
    to.define(op.result, to.intrinsic("ldexp", to.operands(op), type_, (type_, I32)))


@patterns.on(NearestOp)
def _nearest(op: NearestOp, to: LlvmBuilder) -> None:
    """`cpu.nearest %x` becomes `llvm.lrint`."""
    to.define(op.result, to.intrinsic("lrint", to.operands(op), op.result.type, (op.result.type, op.x.type)))


_DOTS = {
    (i8, 16): "x86.avx512.vpdpbusd.512",
    (i8, 8): "x86.avx512.vpdpbusd.256",
    (i8, 4): "x86.avx512.vpdpbusd.128",
    (i16, 16): "x86.avx512.pmaddw.d.512",
    (i16, 8): "x86.avx2.pmadd.wd",
    (i16, 4): "x86.sse2.pmadd.wd",
    (bf16, 16): f"{BFLOAT_DOTS}.512",
    (bf16, 8): f"{BFLOAT_DOTS}.256",
    (bf16, 4): f"{BFLOAT_DOTS}.128",
}
"""LLVM's names of dot products, by the type of the factors and the lanes of the totals."""


@patterns.on(DotOp)
def _dot(op: DotOp, to: LlvmBuilder) -> None:
    """
    Dot products of i8 and bf16 become one instruction, which adds to the totals; those of i16 a multiplication and an
    addition.
    """
    x, y, total = to.operands(op)
    lanes = cast("VectorType[Any]", total.type).get_shape()[0]
    factor = cast("VectorType[Any]", op.x.type).element_type
    name = _DOTS.get((factor, lanes))
    if name is None:
        fail(op, f"has {lanes} totals: only vectors of 128, 256 and 512 bits are supported")
    if factor != i16:
        to.define(op.result, to.intrinsic(name, (total, x, y), total.type, ()))
        return
    products = to.intrinsic(name, (x, y), total.type, ())
    to.define(op.result, to.emit(llvm.AddOp, (total, products), total.type, NO_PROPERTIES))
