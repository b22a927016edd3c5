"""
Builds loops, loads, stores and index arithmetic inside one kernel function, folding constants.

Regions are `with` blocks and indices have operators:

    with builder.loop(0, n, carry=sums) as (i, sums):
        with builder.when(i < m) as loaded:
            builder.yield_(builder.load(source, [first + 4 * i]))
        with builder.otherwise():
            builder.yield_(zero)
        builder.yield_(*add(sums, loaded))

A region's values are yielded by `yield_`; the list that the `with` statement names holds the results after the block.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, cast, overload

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BoolAttr,
    FloatAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.cpu import PrefetchOp, SlotOp
from ...dialects.gpu.functions import GpuFuncOp
from ...dialects.llvm_ops import FenceOp
from ...dialects.support import kernel
from ...dialects.support.buffers import INDEX, Buffer, i32_array, i64_array, memref_type
from ...dialects.support.creation import create_op, new_block
from ...dialects.support.editing import clone_op, insert_before
from ..device.cpu import CPU
from .kernel_builder import Index, IndexValue, KernelBuilder, Value, known, known_number, value_of

LINE = 64
"""Bytes of a cache line."""

PARALLEL: Mapping[str, Attribute] = {kernel.PARALLEL: UnitAttr()}
"""The attribute of an innermost loop whose iterations do not depend on each other through memory."""

SCALAR: Mapping[str, Attribute] = {kernel.VECTORIZE: BoolAttr.from_bool(False)}
"""The attribute of a loop that vectors do not make faster: LLVM would write it down several times."""

CACHED: Mapping[str, Attribute] = {**PARALLEL, kernel.CACHED: UnitAttr()}
"""The attributes of such a loop that reads only what is in the cache."""


def buffer_of(value: SSAValue) -> Buffer:
    return value.type  # pyright: ignore[reportReturnType]


class LoopBuilder(KernelBuilder):
    """A KernelBuilder of loops and branches, loads and stores."""

    def __init__(self, kernel: func.FuncOp | GpuFuncOp, before: Operation | None = None):
        super().__init__(kernel, before)
        self.vector_bits = CPU.vector_bits
        """The width of the machine's vectors, for loops that depend on it."""
        self.parallel_body: Block | None = None
        """The body of the scf.parallel being built."""
        self._yielded: Sequence[SSAValue] = ()
        """The values yielded by the region being built."""
        self._states: list[tuple[list[SSAValue], Block]] = []
        """For each scf.while being built: the carried values, and the block of its second region."""

    @property
    def kernel(self) -> func.FuncOp:
        """The function that is built."""
        return cast(func.FuncOp, self.top.parent_op())

    # Memory.

    def load(self, source: SSAValue, indices: Sequence[Index] = ()) -> SSAValue:
        operands = [source, *(self.index(i).value for i in indices)]
        return self.insert(
            create_op(memref.LoadOp, operands=operands, result_types=[buffer_of(source).element_type])
        ).res

    def store(self, value: Value, target: SSAValue, indices: Sequence[Index] = ()) -> None:
        operands = [value_of(value), target, *(self.index(i).value for i in indices)]
        self.insert(create_op(memref.StoreOp, operands=operands))

    def prefetch(
        self, source: SSAValue, indices: Sequence[Index], to_write: bool = False, second_level: bool = False
    ) -> None:
        """Ask for the cache line of an element, which may lie outside of the buffer."""
        stated = {"to_write": to_write, "second_level": second_level}
        properties = {name: UnitAttr() for name, holds in stated.items() if holds}
        operands = [source, *(self.index(i).value for i in indices)]
        self.insert(PrefetchOp.create(operands=operands, properties=properties))

    def keep_order(self) -> None:
        """Keep LLVM from moving memory accesses across this place; it is no instruction."""
        self.insert(FenceOp("acq_rel", "singlethread"))

    def alloc(self, type_: Buffer) -> SSAValue:
        """A buffer of the kernel, allocated at its top level."""
        op = create_op(memref.AllocOp, result_types=[type_], properties={"operandSegmentSizes": i32_array((0, 0))})
        op.location = self.location
        # Loops are attached when complete: the anchor comes after the loop being built.
        insert_before(op, self.anchor)
        return op.memref

    def alloca(self, type_: Buffer, here: bool = False) -> SSAValue:
        """
        A small buffer of the current thread, allocated at the start of the parallel body, or of the kernel; `here`: of
        the present iteration of a loop.
        """
        op = create_op(memref.AllocaOp, result_types=[type_], properties={"operandSegmentSizes": i32_array((0, 0))})
        op.location = self.location
        if here:
            return self.insert(op).memref
        block = self.parallel_body or self.top
        if block.first_op is None:
            block.add_op(op)
        else:
            insert_before(op, block.first_op)
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
            create_op(
                memref.ReinterpretCastOp,
                operands=[source] if isinstance(offset, int) else [source, offset.value],
                result_types=[type_],
                properties={
                    "static_offsets": i64_array((offset if isinstance(offset, int) else DYNAMIC_INDEX,)),
                    "static_sizes": i64_array(sizes),
                    "static_strides": i64_array(strides),
                    "operandSegmentSizes": i32_array((1, 0 if static else 1, 0, 0)),
                },
            )
        ).result

    # Regions.

    def yield_(self, *values: Value) -> None:
        """Yield from the innermost region: the next values of a loop, or the results of a branch."""
        self._yielded = [value_of(value) for value in values]

    @contextmanager
    def _inside(self, block: Block | None) -> Generator[list[SSAValue]]:
        """Insert at the end of a block, or continue here; the list holds the yielded values after the `with` block."""
        outer, pending, self._yielded = self.block, self._yielded, ()
        self.block = block or outer
        yielded: list[SSAValue] = []
        yield yielded
        yielded[:] = self._yielded
        if block is not None:
            self.insert(create_op(scf.YieldOp, operands=yielded))
        self.block, self._yielded = outer, pending

    @overload
    def loop(
        self, lower: Index, upper: Index, *, step: int = 1, attributes: Mapping[str, Attribute] | None = None
    ) -> AbstractContextManager[IndexValue]: ...

    @overload
    def loop(
        self,
        lower: Index,
        upper: Index,
        *,
        carry: Sequence[Value],
        step: int = 1,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> AbstractContextManager[tuple[IndexValue, list[SSAValue]]]: ...

    def loop(
        self,
        lower: Index,
        upper: Index,
        *,
        carry: Sequence[Value] | None = None,
        step: int = 1,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> AbstractContextManager[Any]:
        """
        `scf.for` from `lower` to `upper`: the `with` block gets the induction variable.

        With `carry` it also gets a list of the carried values, and yields their next values. After the block the list
        holds the loop's results. A loop known to run once is inlined.
        """
        return self._loop(known(lower), known(upper), carry, step, attributes)

    @contextmanager
    def _loop(
        self,
        lower: Index,
        upper: Index,
        carry: Sequence[Value] | None,
        step: int,
        attributes: Mapping[str, Attribute] | None,
    ) -> Generator[Any]:
        carried = [value_of(value) for value in carry or ()]
        if _runs_once(lower, upper, step):
            with self._inside(None) as results:
                index = self.index(lower)
                yield index if carry is None else (index, carried)
            assert len(results) == len(carried), "the loop yields other values than it carries"
            carried[:] = results
            return
        bounds = [self.index(bound).value for bound in (lower, upper, step)]
        types = [value.type for value in carried]
        block = new_block([INDEX, *types])
        inits, carried[:] = list(carried), block.args[1:]
        with self._inside(block) as results:
            index = IndexValue(self, block.args[0])
            yield index if carry is None else (index, carried)
        assert len(results) == len(carried), "the loop yields other values than it carries"
        op = create_op(
            scf.ForOp,
            operands=[*bounds, *inits],
            result_types=types,
            regions=[Region(block)],
            attributes=attributes or {},
        )
        carried[:] = self.insert(op).results

    @contextmanager
    def parallel(self, count: int) -> Generator[IndexValue]:
        """`scf.parallel` over 0..count-1; inside another one, or for one iteration, a serial loop."""
        if self.parallel_body is not None or count <= 1:
            with self.loop(0, count) as index:
                yield index
            return
        bounds = [self.index(bound).value for bound in (0, count, 1)]
        block = new_block([INDEX])
        outer, self.block, self.parallel_body = self.block, block, block
        yield IndexValue(self, block.args[0])
        self.insert(create_op(scf.ReduceOp))
        self.block, self.parallel_body = outer, None
        self.insert(
            create_op(
                scf.ParallelOp,
                operands=bounds,
                regions=[Region(block)],
                properties={"operandSegmentSizes": i32_array((1, 1, 1, 0))},
            )
        )

    def slot(self) -> IndexValue:
        """
        A number below the iterations of the parallel loop around, 0 outside of one, for scratch memory: no other thread
        has it meanwhile, and a thread has the same one in many iterations.
        """
        if self.parallel_body is None:
            return self.index(0)
        return IndexValue(self, self.insert(SlotOp.create(result_types=[INDEX])).slot)

    @contextmanager
    def when(self, condition: Value) -> Generator[list[SSAValue]]:
        """`scf.if`; after the block the list holds the results, which are the values that the block yields."""
        block = Block()
        results: list[SSAValue] = []
        with self._inside(block) as yielded:
            yield results
        op = create_op(
            scf.IfOp,
            operands=[value_of(condition)],
            result_types=[value.type for value in yielded],
            regions=[Region(block), Region()],
        )
        results[:] = self.insert(op).results

    def guarded(self, condition: Value | None) -> AbstractContextManager[Any]:
        """`when` without results; unconditional if there is no condition."""
        return nullcontext() if condition is None else self.when(condition)

    def when_below(self, number: Index, bound: Index, checked: bool = True) -> AbstractContextManager[Any]:
        """`when` a number is between 0 and `bound - 1`; unconditional unless `checked`."""
        return self.guarded(self.index(number).below(bound) if checked else None)

    @contextmanager
    def otherwise(self) -> Generator[None]:
        """The else branch of the `when` that ended right before."""
        op = self.anchor.prev_op if self.block is self.top else self.block.last_op
        assert isinstance(op, scf.IfOp) and not op.false_region.blocks, "otherwise follows when"
        # Buffers that the branch allocates for the kernel go before the `scf.if`.
        op.detach()
        block = Block()
        with self._inside(block):
            yield
        op.false_region.add_block(block)
        self.insert(op)

    @contextmanager
    def loop_while(self, carry: Sequence[Value]) -> Generator[list[SSAValue]]:
        """
        `scf.while`: the `with` block computes a condition, calls `go_on_if`, and yields the next values.

        The list holds the carried values, and the loop's results after the block.
        """
        inits = [value_of(value) for value in carry]
        types = [value.type for value in inits]
        before, after = new_block(types), new_block(types)
        state: list[SSAValue] = list(before.args)
        self._states.append((state, after))
        outer, pending, self.block = self.block, self._yielded, before
        yield state
        assert self.block is after, "go_on_if ends the condition"
        self.insert(create_op(scf.YieldOp, operands=list(self._yielded)))
        self.block, self._yielded = outer, pending
        self._states.pop()
        op = create_op(scf.WhileOp, operands=inits, result_types=types, regions=[Region(before), Region(after)])
        state[:] = self.insert(op).results

    def go_on_if(self, condition: Value) -> None:
        """Continue the innermost scf.while if the condition holds, else end it."""
        state, after = self._states[-1]
        self.insert(create_op(scf.ConditionOp, operands=[value_of(condition), *self.block.args]))
        self.block, state[:] = after, after.args

    def inline(self, block: Block, arguments: Sequence[SSAValue]) -> list[SSAValue]:
        """Copy a block of scalar operations here for these arguments; returns its terminator's operands."""
        mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if op is block.last_op:
                return [mapping.get(value, value) for value in op.operands]
            if isinstance(op, arith.ConstantOp) and isinstance(op.value, (IntegerAttr, FloatAttr)):
                mapping[op.result] = self.scalar(op.value)
            else:
                new = self.insert(clone_op(op, mapping))
                mapping.update(zip(op.results, new.results, strict=True))
        return []


def _runs_once(lower: Index, upper: Index, step: int) -> bool:
    """Whether a loop is known to have one iteration: its bounds are constants, or a constant apart."""
    if isinstance(lower, int) or isinstance(upper, int):
        return isinstance(lower, int) and isinstance(upper, int) and lower < upper <= lower + step
    owner = upper.value.owner
    apart = known_number(owner.rhs) if isinstance(owner, arith.AddiOp) and owner.lhs is lower.value else None
    return apart is not None and 0 < apart <= step
