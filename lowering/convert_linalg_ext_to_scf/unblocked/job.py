"""The work on one matrix of a batch: what is copied, the functions that are called, what is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute, SSAValue

from ....dialects.linalg_ext.calls import UnblockedOp
from ....dialects.support.buffers import memref_type
from ....dialects.support.scalar import scalar_attr
from ....hlo_dialect.custom_calls.call import CustomCall, call_of
from ....hlo_dialect.custom_calls.lapack import letter
from ....hlo_dialect.types import ArrayType
from ...convert_contractions_to_vector.shared_function import SharedFunctions
from ...loop_nests.cost import task_count, task_size
from ...loop_nests.indices import chunk
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import PARALLEL, LoopBuilder, buffer_of
from .notation import Code

Emit = Callable[..., None]
"""The body of a function: it takes a Code and indices, those of areas of its buffer first."""

ALIGNMENT = 16
"""Elements to which areas are aligned: there is room for the first element after any."""

MOST_ELEMENTS = 1 << 23
"""Elements of the memory of all tasks, unless one needs more."""


@dataclass(frozen=True)
class Store:
    """A result from an area, from an operand, or zeros."""

    result: int
    area: int | None = None
    value: float = 0.0


@dataclass
class Job:
    """The plan of a call, of arrays of LAPACK's shapes."""

    call: CustomCall
    rank: int = 2
    """Dimensions of the first operand's matrices."""
    size: int = 0
    """Elements of the buffer."""
    loads: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Operands and their areas."""
    runs: list[tuple[str, tuple[int, ...], Emit]] = field(default_factory=list[tuple[str, tuple[int, ...], Emit]])
    stores: list[Store] = field(default_factory=list[Store])
    finite: int | None = None
    """The area with 0 for a matrix that is not finite: then `spoiled` are the results."""
    spoiled: list[Store] = field(default_factory=list[Store])

    @property
    def routine(self) -> str:
        """LAPACK's name without the letter of the type, or XLA's."""
        name = self.call.target
        return name.removeprefix("lapack_").removesuffix("_ffi")[1:] if name.startswith("lapack_") else name

    @property
    def complex(self) -> bool:
        return self.call.operands[0].dtype.kind == "c"

    @property
    def batch(self) -> int:
        shape = self.call.operands[0].shape
        return math.prod(shape[: len(shape) - self.rank])

    @property
    def core(self) -> tuple[int, ...]:
        shape = self.call.operands[0].shape
        return shape[len(shape) - self.rank :]

    def flag(self, name: str) -> Any:
        return self.call.attributes[name]

    def letter(self, name: str) -> str:
        return letter(self.call, name)

    def of_matrix(self, array: ArrayType) -> int:
        """Numbers of an array for one matrix, two for a complex one."""
        return math.prod(array.shape) // self.batch * (2 if array.dtype.kind == "c" else 1)

    def space(self, elements: int, is_complex: bool | None = None) -> int:
        """An area of the buffer."""
        count = max(1, elements) * (2 if (self.complex if is_complex is None else is_complex) else 1)
        start = self.size
        self.size += -(-(count + 2) // ALIGNMENT) * ALIGNMENT
        return start

    def load(self, operand: int) -> int:
        """An area with an operand's matrix."""
        area = self.space(self.of_matrix(self.call.operands[operand]), False)
        self.loads.append((operand, area))
        return area

    def run(self, name: str, emit: Emit, areas: Sequence[int], sizes: Sequence[int]) -> None:
        """Call `emit` with the places of areas, then sizes, as parameters; the name states what it captures."""
        self.runs.append((name, (len(areas), *areas, *sizes), emit))

    def store(self, area: int | None, result: int, value: float = 0.0) -> None:
        """Write a result from an area, or a value all over."""
        self.stores.append(Store(result, area, value))

    def needs_finite(self, area: int, elements: int, info: int, value: float, code: int) -> None:
        """Results for a matrix that holds an infinity or NaN: `value`, and `code` for info."""
        self.finite = self.space(1, False)
        self.run("finite", _finite, (area, self.finite), (elements * (2 if self.complex else 1),))
        for number in range(len(self.call.results)):
            self.spoiled.append(Store(number, None, code if number == info else value))


def _finite(code: Code, at: IndexValue, flag: IndexValue, count: IndexValue) -> None:
    """1 if the difference of each number and itself is 0; else 0."""
    numbers = code.vector(at, False)
    total = code.real_total(0, count, lambda i: numbers[i].re - numbers[i].re)
    code.vector(flag, False)[0] = code.number(0.0)
    with code.when(total.compare("eq", 0.0)):
        code.vector(flag, False)[0] = code.number(1.0)


class Emission:
    """Emits a job's loops."""

    def __init__(self, op: UnblockedOp, builder: LoopBuilder, job: Job):
        self.op = op
        self.builder = builder
        self.job = job
        self.element: Attribute = f64 if job.call.operands[0].dtype.itemsize == (16 if job.complex else 8) else f32
        self.functions = SharedFunctions(builder, cast(func.FuncOp, op.parent_op()))

    def emit(self, work: int) -> None:
        """`work`: operations for one matrix."""
        builder, job = self.builder, self.job
        tasks = min(task_count(job.batch, job.batch * work, job.batch), max(1, MOST_ELEMENTS // job.size))
        size = task_size(job.batch, tasks)
        tasks = -(-job.batch // size)
        scratch = builder.alloc(memref_type((tasks * job.size,), self.element))
        with builder.parallel(tasks) as task, builder.loop(*chunk(builder, task, size, job.batch)) as matrix:
            at = builder.index(builder.slot() * job.size)
            for operand, area in job.loads:
                self._load(operand, matrix, scratch, at + area)
            if job.finite is None:
                self._run(scratch, at, job.runs)
                self._store(job.stores, scratch, at, matrix)
                return
            self._run(scratch, at, job.runs[:1])
            flag = builder.load(builder.strided_view(scratch, at + job.finite, (1,), (1,)), [0])
            with builder.when(builder.on(flag).compare("ne", 0.0)):
                self._run(scratch, at, job.runs[1:])
                self._store(job.stores, scratch, at, matrix)
            with builder.otherwise():
                self._store(job.spoiled, scratch, at, matrix)

    def _run(self, scratch: SSAValue, at: IndexValue, runs: Sequence[tuple[str, tuple[int, ...], Emit]]) -> None:
        for name, (areas, *numbers), emit in runs:
            kind = f"{name}_{'c' if self.job.complex else ''}{self.element}"

            def inside(builder: LoopBuilder, parameters: Sequence[SSAValue], emit: Emit = emit) -> None:
                code = Code(builder, parameters[0], self.element, self.job.complex)
                emit(code, *map(builder.index, parameters[1:]))

            given = [at + number if place < areas else number for place, number in enumerate(numbers)]
            stated = (emit.__module__, emit.__qualname__, kind)
            self.functions.call(kind, (scratch, *given), stated, inside)

    def _flat(self, array: SSAValue, seen: ArrayType, matrix: IndexValue) -> SSAValue:
        """The numbers of an array for one matrix."""
        size = self.job.of_matrix(seen)
        return self.builder.strided_view(array, matrix * size, (size,), (1,))

    def _load(self, operand: int, matrix: IndexValue, scratch: SSAValue, area: Index) -> None:
        builder, seen = self.builder, self.job.call.operands[operand]
        source, count = self.op.inputs[operand], self.job.of_matrix(seen)
        if not count:
            return
        source = self._flat(source, seen, matrix)
        target = builder.strided_view(scratch, area, (count,), (1,))
        with builder.loop(0, count, attributes=PARALLEL) as place:
            value = builder.on(builder.load(source, [place]))
            if seen.dtype.kind == "i":
                value = value.cast(arith.SIToFPOp, self.element)
            builder.store(value, target, [place])

    def _store(self, stores: Sequence[Store], scratch: SSAValue, at: IndexValue, matrix: IndexValue) -> None:
        builder = self.builder
        for store in stores:
            seen, array = self.job.call.results[store.result], self.op.outputs[store.result]
            count = self.job.of_matrix(seen)
            if not count:
                continue
            target, integer = self._flat(array, seen, matrix), seen.dtype.kind == "i"
            kind = buffer_of(array).element_type
            with builder.loop(0, count, attributes=PARALLEL) as place:
                if store.area is None:
                    value = builder.scalar(scalar_attr(store.value, kind))
                else:
                    source = builder.strided_view(scratch, at + store.area, (count,), (1,))
                    value = builder.load(source, [place])
                    if integer:
                        value = builder.on(value).cast(arith.FPToSIOp, i32).value
                builder.store(value, target, [place])


def call_of_lapack(op: UnblockedOp) -> CustomCall:
    """The call of LAPACK's target that an operation stands for."""
    types = [list(side.data) for side in (op.operands_as, op.results_as)]
    return call_of(op.target.data, op.call.data, types[0], types[1], op.location)
