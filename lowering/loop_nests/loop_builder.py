"""Builds loops, loads, stores and index arithmetic inside one kernel function, folding what is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    UNKNOWN_LOC,
    FloatAttr,
    IntegerAttr,
    LocationAttr,
    MemRefType,
    NoneAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.build import kernel
from ...dialects.build.buffers import INDEX, Buffer, i32_array, i64_array, memref_type
from ...dialects.gpu.functions import GpuFuncOp

Index: TypeAlias = int | SSAValue
"""A number that is known now, or a value of type index."""

PARALLEL: Mapping[str, Attribute] = {kernel.PARALLEL: UnitAttr()}
"""The mark of an innermost loop whose iterations do not depend on each other through memory."""

OpT = TypeVar("OpT", bound=Operation)


def buffer_of(value: SSAValue) -> Buffer:
    return cast(Buffer, value.type)


def known(value: Index) -> Index:
    """A constant of the kernel as the number that it is."""
    if not isinstance(value, int) and isinstance(value.owner, arith.ConstantOp):
        found = value.owner.value
        if isinstance(found, IntegerAttr):
            return found.value.data
    return value


class LoopBuilder:
    """
    Inserts operations into a kernel: before an anchor at its top level, or at the end of the loop being built.

    Constants stand once each at the kernel's top; new operations take the location of the operation being lowered.
    """

    def __init__(self, kernel: func.FuncOp | GpuFuncOp):
        self.top: Block = kernel.body.block
        self.block: Block = self.top
        self.anchor = cast(Operation, self.top.last_op)
        self.location: LocationAttr = self.anchor.location
        self.parallel_body: Block | None = None
        """The body of the scf.parallel being built."""
        self._constants: dict[Attribute, SSAValue] = {}

    def insert_at(self, op: Operation) -> None:
        """Insert before `op` from now on, with its location."""
        self.anchor = op
        self.location = op.location

    def insert(self, op: OpT) -> OpT:
        if op.location is UNKNOWN_LOC:
            op.location = self.location
        if self.block is self.top:
            self.top.insert_op_before(op, self.anchor)
        else:
            self.block.add_op(op)
        return op

    # Constants.

    def scalar(self, value: IntegerAttr[Any] | FloatAttr[Any]) -> SSAValue:
        """A constant, once per kernel."""
        found = self._constants.get(value)
        if found is None:
            op = arith.ConstantOp.create(result_types=[cast(Attribute, value.type)], properties={"value": value})
            self.top.insert_op_before(op, cast(Operation, self.top.first_op))
            found = self._constants[value] = op.result
        return found

    def index(self, value: Index) -> SSAValue:
        return self.scalar(IntegerAttr(value, INDEX)) if isinstance(value, int) else value

    # Index arithmetic: known operands fold.

    def add(self, lhs: Index, rhs: Index) -> Index:
        lhs, rhs = known(lhs), known(rhs)
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs + rhs
        if lhs == 0:
            return rhs
        if rhs == 0:
            return lhs
        return self._binary(arith.AddiOp, lhs, rhs)

    def mul(self, lhs: Index, rhs: Index) -> Index:
        lhs, rhs = known(lhs), known(rhs)
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs * rhs
        if lhs == 0 or rhs == 0:
            return 0
        if lhs == 1:
            return rhs
        if rhs == 1:
            return lhs
        return self._binary(arith.MuliOp, lhs, rhs)

    def sub(self, lhs: Index, rhs: Index) -> Index:
        lhs, rhs = known(lhs), known(rhs)
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs - rhs
        return lhs if rhs == 0 else self._binary(arith.SubiOp, lhs, rhs)

    def min(self, lhs: Index, rhs: Index) -> Index:
        lhs, rhs = known(lhs), known(rhs)
        if isinstance(lhs, int) and isinstance(rhs, int):
            return min(lhs, rhs)
        return self._binary(arith.MinSIOp, lhs, rhs)

    def div(self, lhs: Index, rhs: int) -> Index:
        """Quotient of a number that is not negative."""
        lhs = known(lhs)
        if isinstance(lhs, int):
            return lhs // rhs
        return lhs if rhs == 1 else self._binary(arith.DivUIOp, lhs, rhs)

    def rem(self, lhs: Index, rhs: int) -> Index:
        """Remainder of a number that is not negative."""
        lhs = known(lhs)
        if isinstance(lhs, int):
            return lhs % rhs
        return 0 if rhs == 1 else self._binary(arith.RemUIOp, lhs, rhs)

    def _binary(self, op: type[Operation], lhs: Index, rhs: Index) -> SSAValue:
        operands = [self.index(lhs), self.index(rhs)]
        properties: dict[str, Attribute] = {}
        if op in (arith.AddiOp, arith.MuliOp, arith.SubiOp):
            properties["overflowFlags"] = arith.IntegerOverflowAttr("none")
        return self.insert(op.create(operands=operands, result_types=[INDEX], properties=properties)).results[0]

    # Memory.

    def load(self, source: SSAValue, indices: Sequence[Index] = ()) -> SSAValue:
        operands = [source, *(self.index(i) for i in indices)]
        return self.insert(memref.LoadOp.create(operands=operands, result_types=[buffer_of(source).element_type])).res

    def store(self, value: SSAValue, target: SSAValue, indices: Sequence[Index] = ()) -> None:
        operands = [value, target, *(self.index(i) for i in indices)]
        self.insert(memref.StoreOp.create(operands=operands))

    def alloc(self, type_: Buffer) -> SSAValue:
        """A buffer of the kernel's own, at its top level."""
        op = memref.AllocOp.create(result_types=[type_], properties={"operandSegmentSizes": i32_array((0, 0))})
        op.location = self.location
        # Loops are attached when complete: the anchor comes after the one being built.
        self.top.insert_op_before(op, self.anchor)
        return op.memref

    def alloca(self, type_: Buffer) -> SSAValue:
        """A small buffer of the running thread's own: at the start of the parallel body, or of the kernel."""
        op = memref.AllocaOp.create(result_types=[type_], properties={"operandSegmentSizes": i32_array((0, 0))})
        op.location = self.location
        block = self.parallel_body or self.top
        if block.first_op is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, block.first_op)
        return op.memref

    def strided_view(
        self, source: SSAValue, offset: Index, sizes: tuple[int, ...], strides: tuple[int, ...]
    ) -> SSAValue:
        """The elements `offset + sum(i * stride)` of a buffer of identity layout."""
        offset = known(offset)
        static = isinstance(offset, int)
        type_ = memref_type(sizes, buffer_of(source).element_type, strides, offset if static else None)
        space = buffer_of(source).memory_space
        if not isinstance(space, NoneAttr):
            type_ = MemRefType(type_.element_type, type_.shape, type_.layout, space)
        if type_ == source.type:
            return source
        return self.insert(
            memref.ReinterpretCastOp.create(
                operands=[source] if isinstance(offset, int) else [source, offset],
                result_types=[type_],
                properties={
                    "static_offsets": i64_array((offset if isinstance(offset, int) else DYNAMIC_INDEX,)),
                    "static_sizes": i64_array(sizes),
                    "static_strides": i64_array(strides),
                    "operandSegmentSizes": i32_array((1, 0 if static else 1, 0, 0)),
                },
            )
        ).result

    # Loops.

    def loop(
        self,
        lower: Index,
        upper: Index,
        body: Callable[[SSAValue, list[SSAValue]], Sequence[SSAValue]],
        *,
        step: int = 1,
        inits: Sequence[SSAValue] = (),
        attributes: Mapping[str, Attribute] | None = None,
    ) -> list[SSAValue]:
        """
        `scf.for` from `lower` to `upper`; `body` gets the induction variable and the carried values, returns the next.

        A loop of one known iteration is no loop.
        """
        lower, upper = known(lower), known(upper)
        if isinstance(lower, int) and isinstance(upper, int) and lower < upper <= lower + step:
            return list(body(self.index(lower), list(inits)))
        bounds = [self.index(lower), self.index(upper), self.index(step)]
        types = [value.type for value in inits]
        block = Block(arg_types=[INDEX, *types])
        outer, self.block = self.block, block
        results = body(block.args[0], list(block.args[1:]))
        self.insert(scf.YieldOp.create(operands=list(results)))
        self.block = outer
        op = scf.ForOp.create(
            operands=[*bounds, *inits],
            result_types=types,
            regions=[Region(block)],
            attributes=attributes or {},
        )
        return list(self.insert(op).results)

    def when(self, condition: SSAValue, then: Callable[[], None]) -> None:
        """`scf.if` without results."""
        self.choose(condition, lambda: (then(), ())[1], None)

    def choose(
        self,
        condition: SSAValue,
        then: Callable[[], Sequence[SSAValue]],
        otherwise: Callable[[], Sequence[SSAValue]] | None,
    ) -> list[SSAValue]:
        """`scf.if`: the values that the branch taken returns."""
        first, results = self._region((), lambda _: then())
        second = Region() if otherwise is None else self._region((), lambda _: otherwise())[0]
        types = [value.type for value in results]
        op = scf.IfOp.create(operands=[condition], result_types=types, regions=[first, second])
        return list(self.insert(op).results)

    def loop_while(
        self,
        inits: Sequence[SSAValue],
        condition: Callable[[list[SSAValue]], SSAValue],
        body: Callable[[list[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """`scf.while`: the carried values when the condition does not hold any more."""
        types = [value.type for value in inits]
        outer, self.block = self.block, Block(arg_types=types)
        before = self.block
        carried: list[SSAValue] = list(before.args)
        self.insert(scf.ConditionOp.create(operands=[condition(carried), *carried]))
        self.block = outer
        after, _ = self._region(types, body)
        op = scf.WhileOp.create(operands=list(inits), result_types=types, regions=[Region(before), after])
        return list(self.insert(op).results)

    def _region(
        self, types: Sequence[Attribute], body: Callable[[list[SSAValue]], Sequence[SSAValue]]
    ) -> tuple[Region, Sequence[SSAValue]]:
        """A region whose block ends with scf.yield of what `body` returns."""
        outer, self.block = self.block, Block(arg_types=types)
        block = self.block
        results = body(list(block.args))
        self.insert(scf.YieldOp.create(operands=list(results)))
        self.block = outer
        return Region(block), results

    def inline(self, block: Block, arguments: Sequence[SSAValue]) -> list[SSAValue]:
        """A copy of a block of scalar operations here, `arguments` for its arguments; what its terminator yields."""
        mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if op is block.last_op:
                return [mapping.get(value, value) for value in op.operands]
            if isinstance(op, arith.ConstantOp) and isinstance(op.value, (IntegerAttr, FloatAttr)):
                mapping[op.result] = self.scalar(op.value)
            else:
                new = self.insert(op.clone(mapping))
                mapping.update(zip(op.results, new.results, strict=True))
        return []

    def parallel(self, count: int, body: Callable[[SSAValue], None]) -> None:
        """`scf.parallel` over 0..count-1; inside another one, or for one iteration, a serial loop."""
        if self.parallel_body is not None or count <= 1:
            self.loop(0, count, lambda i, _: (body(i), ())[1])
            return
        bounds = [self.index(0), self.index(count), self.index(1)]
        block = Block(arg_types=[INDEX])
        outer, self.block, self.parallel_body = self.block, block, block
        body(block.args[0])
        self.insert(scf.ReduceOp.create())
        self.block, self.parallel_body = outer, None
        self.insert(
            scf.ParallelOp.create(
                operands=bounds,
                regions=[Region(block)],
                properties={"operandSegmentSizes": i32_array((1, 1, 1, 0))},
            )
        )
