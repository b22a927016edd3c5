"""The cpu dialect: requests of a kernel to the CPU runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    StringAttr,
    UnitAttr,
    VectorType,
    bf16,
    f32,
    f64,
    i8,
    i16,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from .support.attributes import integer_attr, symbol

i1, i32, i64 = IntegerType(1), IntegerType(32), IntegerType(64)

SHARED = "xhlo.shared"
"""
On a function that other programs are likely to contain too: it is compiled separately, once per process.

The memrefs that it writes do not overlap any other, and it calls only such functions, or those that nothing else names.
"""

WRITTEN = "xhlo.written"
"""On such a function: the numbers of the parameters that it writes, which are known without its body."""


class _CallsABody(SymbolUserOpInterface):
    """cpu.parallel_for names a function of its captures and two index arguments, an iteration and a slot."""

    def verify(self, op: Any) -> None:
        found = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(found, FuncOp):
            raise VerifyException(f"'{op.callee.string_value()}' does not name a function")
        inputs, captures = list(found.function_type.inputs.data), [value.type for value in op.captures]
        if len(inputs) != len(captures) + 2 or inputs[:-2] != captures or found.function_type.outputs.data:
            raise VerifyException(f"'@{op.callee.string_value()}' does not take the captures, an iteration and a slot")


@irdl_op_definition
class ParallelForOp(IRDLOperation):
    """
    Run a function over the iterations 0..count-1, divided among the threads of the team.

    `cpu.parallel_for @body(%a : memref<8xf32>) {count = 4 : i64}` calls `@body(%a, %i, %slot)` once for each iteration
    %i. It returns when all are done. A thread runs ranges of iterations, each in order; %slot is the first one of the
    range. Which thread runs a range is not fixed, so iterations must not depend on each other.
    """

    name = "cpu.parallel_for"

    callee = prop_def(FlatSymbolRefAttrConstr)
    count = prop_def(IntegerAttr.constr(i64))
    captures = var_operand_def()

    traits = traits_def(_CallsABody())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$callee `(` ($captures^ `:` type($captures))? `)` attr-dict"

    def __init__(self, callee: str, captures: Sequence[SSAValue], count: int):
        super().__init__(operands=[captures], properties={"callee": symbol(callee), "count": integer_attr(count)})

    def verify_(self) -> None:
        if self.count.value.data < 1:
            raise VerifyException("count must be at least 1")


@irdl_op_definition
class HostCallOp(IRDLOperation):
    """
    Call a function of the host program: `cpu.host_call @name(%a, %b : memref<4xf32>, memref<4xf32>) {..}`.

    Becomes a call of the external `void @name(void **buffers)`, which the executable binds: the addresses of the
    operands in order, inputs before outputs. `target`, `call`, `operands_as` and `results_as` describe the function
    (see linalg_ext.host_call).
    """

    name = "cpu.host_call"

    callee = prop_def(FlatSymbolRefAttrConstr)
    target = prop_def(StringAttr)
    call = prop_def(DictionaryAttr)
    operands_as = prop_def(ArrayAttr)
    results_as = prop_def(ArrayAttr)
    buffers = var_operand_def()

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$callee `(` ($buffers^ `:` type($buffers))? `)` attr-dict"

    @property
    def description(self) -> DictionaryAttr:
        """The properties of the call and its location; an entry of the module's xhlo.host_calls."""
        return DictionaryAttr({**self.properties, "location": self.location})

    def verify_(self) -> None:
        if len(self.operands_as.data) + len(self.results_as.data) != len(self.buffers):
            raise VerifyException("expected a type in operands_as or results_as for each buffer")


@irdl_op_definition
class GuardOp(IRDLOperation):
    """
    Tell the guard of a run (guard mode) about an event: `%ok = cpu.guard "enter"(%a : memref<4xf32>) {number = 3}`.

    * "enter" and "leave": the host program reaches and leaves the access to memory of that number, and `buffers` are
      the memrefs that it may access: a call of a kernel, a copy, a load.
    * "begin" and "end": the buffer of that number in the arena, the only one of `buffers`, is uninitialized from now
      on, or no longer used. `offset` and `size` are its bytes in the arena.

    Becomes a call of the external `i64 @xhlo_guard(i64 event, i64 number, void **buffers)`. The result is false if
    the run must stop.
    """

    name = "cpu.guard"

    EVENTS: ClassVar = ("enter", "leave", "begin", "end")

    event = prop_def(StringAttr)
    number = prop_def(IntegerAttr.constr(i64))
    offset = opt_prop_def(IntegerAttr.constr(i64))
    size = opt_prop_def(IntegerAttr.constr(i64))
    buffers = var_operand_def()
    ok = result_def(i1)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$event `(` ($buffers^ `:` type($buffers))? `)` attr-dict"

    @staticmethod
    def make(
        event: str,
        number: int,
        buffers: Sequence[SSAValue],
        location: LocationAttr,
        place: tuple[int, int] | None = None,
    ) -> GuardOp:
        """`place`: offset and size."""
        properties: dict[str, Attribute] = {"event": StringAttr(event), "number": IntegerAttr(number, i64)}
        if place is not None:
            properties |= {"offset": IntegerAttr(place[0], i64), "size": IntegerAttr(place[1], i64)}
        made = GuardOp.create(operands=buffers, properties=properties, result_types=[i1])
        made.location = location
        return made

    def verify_(self) -> None:
        if self.event.data not in self.EVENTS:
            raise VerifyException(f"event must be one of {', '.join(self.EVENTS)}")
        if self.event.data in ("begin", "end") and (self.offset is None or self.size is None or len(self.buffers) != 1):
            raise VerifyException(f"'{self.event.data}' takes the arena, and states offset and size")

    @property
    def place(self) -> slice:
        """The bytes of the buffer in the arena, of "begin" and "end"."""
        assert self.offset is not None and self.size is not None
        start = self.offset.value.data
        return slice(start, start + self.size.value.data)


@irdl_op_definition
class SafepointOp(IRDLOperation):
    """
    Ask whether the run goes on: `%go = cpu.safepoint(%arena : memref<64xi8>)`.

    A run is named by the address of its arena. The result is false once the host has asked that run to stop; what it
    computes from then on is dropped. Becomes a call of the runtime function `i64 @xhlo_goes_on(void *arena)`.
    """

    name = "cpu.safepoint"

    arena = operand_def(MemRefType)
    go = result_def(i1)

    assembly_format = "`(` $arena `:` type($arena) `)` attr-dict"

    @staticmethod
    def make(arena: SSAValue, location: LocationAttr) -> SafepointOp:
        made = SafepointOp.create(operands=[arena], result_types=[i1])
        made.location = location
        return made


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """
    Ask for the cache line of an element that is read soon, or with `to_write` written:
    `cpu.prefetch %m[%i] {to_write} : memref<8xf32>`. With `second_level` it comes into the second-level cache only.

    The element may lie outside of the memref; nothing is read then.
    """

    name = "cpu.prefetch"

    buffer = operand_def(MemRefType)
    indices = var_operand_def(IndexType)

    to_write = opt_prop_def(UnitAttr)
    second_level = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$buffer `[` $indices `]` attr-dict `:` type($buffer)"

    def verify_(self) -> None:
        if len(cast("MemRefType[Any]", self.buffer.type).get_shape()) != len(self.indices):
            raise VerifyException("expected an index for each dimension")


@irdl_op_definition
class DotOp(IRDLOperation):
    """
    Add the products of neighbouring lanes to one lane: `cpu.dot %x, %y, %total {unsigned} : ..`.

    Lane i of the result is `total[i] + sum of x[g * i + j] * y[g * i + j]` for j from 0 to g-1, where g is the ratio of
    the lengths: 4 for i8, 2 for i16 and bf16. Sums of integers wrap. With `unsigned`, x is a vector of unsigned
    numbers, and so it is for i8: processors multiply those only by signed numbers. The totals of bf16 are f32: two
    fused multiply-adds, that of j = 1 first, which take subnormal numbers for zeros, also those that they compute.
    """

    name = "cpu.dot"

    x = operand_def(VectorType)
    y = operand_def(VectorType)
    total = operand_def(VectorType)
    unsigned = opt_prop_def(UnitAttr)
    result = result_def(VectorType)

    GROUPS: ClassVar[dict[Attribute, int]] = {i8: 4, i16: 2, bf16: 2}
    """By the type of the factors: products that are added to one lane."""

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$x `,` $y `,` $total attr-dict `:` type($x) `,` type($y) `,` type($total) `->` type($result)"

    @staticmethod
    def make(x: SSAValue, y: SSAValue, total: SSAValue, unsigned: bool) -> DotOp:
        properties = {"unsigned": UnitAttr()} if unsigned else {}
        return DotOp.create(operands=[x, y, total], result_types=[total.type], properties=properties)

    @property
    def group(self) -> int:
        """Products that are added to one lane."""
        long, short = (cast("VectorType[Any]", value.type).get_shape()[0] for value in (self.x, self.total))
        return long // short

    def verify_(self) -> None:
        factor, total = (cast("VectorType[Any]", value.type) for value in (self.x, self.total))
        type_ = factor.element_type
        if self.x.type != self.y.type or self.total.type != self.result.type:
            raise VerifyException("expected factors of one type, and totals of one type")
        if total.element_type != (f32 if type_ == bf16 else i32):
            raise VerifyException("expected totals of i32, and of f32 for bf16")
        if type_ not in self.GROUPS or factor.get_shape()[0] != self.GROUPS[type_] * total.get_shape()[0]:
            raise VerifyException("expected four i8, two i16 or two bf16 for each total")
        if (self.unsigned is not None) != (type_ == i8):
            raise VerifyException("expected unsigned first factors for i8, and only for i8")


@irdl_op_definition
class ScaleOp(IRDLOperation):
    """
    Multiply by a power of two, rounded once: `%y = cpu.scale %x, %n : f32` is `x * 2^n`, for any i32 n.

    AVX-512 has an instruction for it; C calls it ldexp.
    """

    name = "cpu.scale"

    T: ClassVar = VarConstraint("T", base(Float32Type) | base(Float64Type))

    x = operand_def(T)
    exponent = operand_def(i32)
    result = result_def(T)

    assembly_format = "$x `,` $exponent attr-dict `:` type($x)"

    @staticmethod
    def make(x: SSAValue, exponent: SSAValue) -> ScaleOp:
        return ScaleOp.create(operands=[x, exponent], result_types=[x.type])


@irdl_op_definition
class NearestOp(IRDLOperation):
    """
    The nearest integer of the same width, and of two the even one: `%n = cpu.nearest %x : f32 to i32`.

    AVX-512 has an instruction for it; C calls it lrint. It is any integer for NaN and for numbers beyond all integers.
    """

    name = "cpu.nearest"

    x = operand_def(base(Float32Type) | base(Float64Type))
    result = result_def(base(IntegerType))

    assembly_format = "$x attr-dict `:` type($x) `to` type($result)"

    @staticmethod
    def make(x: SSAValue) -> NearestOp:
        return NearestOp.create(operands=[x], result_types=[IntegerType(64 if x.type == f64 else 32)])

    def verify_(self) -> None:
        if self.result.type != IntegerType(64 if self.x.type == f64 else 32):
            raise VerifyException("expected an integer of the width of the float")


@irdl_op_definition
class SlotOp(IRDLOperation):
    """
    In an iteration of an scf.parallel: `%slot = cpu.slot`, a number below the iterations that no other thread has
    meanwhile.

    It is the place of scratch memory that a thread uses in each of its iterations, and so has in its caches. Becomes
    the first iteration of the range that the thread is at, or 0 where loops run on one thread.
    """

    name = "cpu.slot"

    slot = result_def(IndexType)

    assembly_format = "attr-dict"


DIALECT = Dialect(
    "cpu", [DotOp, GuardOp, HostCallOp, NearestOp, ParallelForOp, PrefetchOp, SafepointOp, ScaleOp, SlotOp]
)
