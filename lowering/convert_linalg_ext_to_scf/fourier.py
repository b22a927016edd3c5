"""Loops of fourier: lines of several rows, or of several columns, at once, a line in each lane of vectors."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ...dialects.linalg_ext.fourier import FourierOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import scalar_attr, width_of
from ..loop_nests.cost import task_count, task_size
from ..loop_nests.indices import chunk
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from .conversion import patterns
from .fourier_memory import Lines, Moving, SideBySide, most_together
from .fourier_passes import BUTTERFLIES, PassLoops, Planes, Side, Vectors
from .fourier_plan import Line, Pass, Plan, Split, distance_of_planes, plan_of
from .fourier_spectra import RealRow, Rooted, SplitRoots, Steps
from .vector_functions import VectorFunctions

LONG_ROWS = 16
"""The fewest rows for which a task transforms whole split rows; with fewer, tasks share each row."""


class _Planes:
    """Two pairs of planes between which passes move the elements of lines."""

    def __init__(self, driver: Driver, buffer: SSAValue, at: Index, capacity: int):
        apart = capacity * driver.plan.lanes
        self.pairs = [Planes(buffer, at, apart), Planes(buffer, at + 2 * apart, apart)]
        self.exchanged = False

    def turn(self) -> None:
        """Exchange source and target: the other planes hold the elements now."""
        self.pairs = self.pairs[::-1]

    def exchange(self) -> None:
        """Exchange real and imaginary parts."""
        self.exchanged = not self.exchanged

    @property
    def source(self) -> Planes:
        return self.pairs[0].exchanged if self.exchanged else self.pairs[0]

    @property
    def target(self) -> Planes:
        return self.pairs[1].exchanged if self.exchanged else self.pairs[1]


@dataclass(frozen=True)
class _End:
    """A side of a function of passes: the arguments of which the function makes it, and a name for how it does so."""

    name: str
    arguments: Sequence[Index | SSAValue]
    make: Callable[..., Side]

    @staticmethod
    def of_planes(planes: Planes) -> _End:
        return _End("", (planes.buffer, planes.at, planes.apart), Planes)

    @staticmethod
    def of_lines(lines: Lines, count: int, exchanged: bool, scale: SSAValue | None = None) -> _End:
        """So many lines side by side; `scale` is what numbers to write are multiplied by."""

        def make(array: Any, at: Any, step: Any, *factor: Any) -> Side:
            return SideBySide(array, at, step, count, exchanged, *factor)

        name = f"_{'exchanged' if exchanged else 'lanes'}{count}" + ("" if scale is None else "_scaled")
        return _End(name, (lines.array, lines.at, lines.step, *(() if scale is None else (scale,))), make)

    def rooted(self, roots: SplitRoots) -> _End:
        """The side; numbers are multiplied by roots of unity before they are written."""
        own = len(self.arguments)
        products = () if roots.column is None else (roots.coarse, roots.fine, roots.column)

        def make(*given: Any) -> Side:
            table, lanes, *others = given[own:]
            return Rooted(self.make(*given[:own]), SplitRoots(table, lanes, *others))

        name = f"{self.name}_rooted" + "_by_products" * bool(products)
        return _End(name, (*self.arguments, roots.table, roots.lanes, *products), make)


Group = Callable[[IndexValue, _Planes], None]
"""Transforms one group of lines, given its number."""


class Driver(VectorFunctions):
    """The loops of one operation."""

    def __init__(self, op: FourierOp, builder: LoopBuilder, plan: Plan):
        element = buffer_of(op.outputs[0]).element_type
        super().__init__(builder, cast(func.FuncOp, op.parent_op()), element, plan.lanes, in_parts=True)
        self.plan = plan
        self.table = op.inputs[1]
        self.operand, self.result = (self.flat(value) for value in (op.inputs[0], op.outputs[0]))
        self.task: Index | None = None
        """Inside a parallel loop: the place of the task's scratch memory."""
        self.outer_tasks = 1

    def flat(self, array: SSAValue) -> SSAValue:
        return self.builder.strided_view(array, 0, (math.prod(shape_of(array)),), (1,))

    def new(self, count: int) -> SSAValue:
        return self.builder.alloc(memref_type((count,), self.element))

    def emit(self) -> None:
        plan = self.plan
        width, rows = plan.width, plan.rows
        if plan.kind == "IRFFT":
            spectrum = self.operand
            if plan.columns:
                spectrum = self.new(2 * rows * width)
                self.all_columns(self.operand, spectrum)
            self.rows(spectrum, self.result)
        else:
            self.rows(self.operand, self.result)
            self.all_columns(self.result, self.result)

    # Tasks.

    @contextmanager
    def each(self, count: int, work: int) -> Generator[tuple[IndexValue, Index, int]]:
        """A loop over `count` parts, divided into tasks: the part, the place of scratch memory, how many there are."""
        if self.task is not None:
            with self.builder.loop(0, count) as index:
                yield index, self.task, self.outer_tasks
            return
        tasks = task_count(work, work, count)
        size = task_size(count, tasks)
        tasks = -(-count // size)
        with self.builder.parallel(tasks) as task, self.builder.loop(*chunk(self.builder, task, size, count)) as index:
            yield index, self.builder.slot(), tasks

    def groups(self, count: int, line: Line, capacity: int, body: Group) -> None:
        """A group of lines after the other, on planes of their task."""
        elements = distance_of_planes(max(line.capacity, capacity))
        size = 4 * elements * self.plan.lanes
        work = count * self.plan.lanes * line.capacity * (4 + 4 * max(1, math.ceil(math.log2(line.capacity + 1))))
        with self.each(count, work // 8) as (number, task, tasks):
            buffer = self.new(tasks * size)
            body(number, _Planes(self, buffer, self.builder.index(task) * size, elements))

    # Calls of functions.

    def move(
        self, way: str, lines: Lines, planes: Planes, n: int, scale: float | None = None, real: bool = False
    ) -> None:
        """Call a function of `Moving`."""
        scales = () if scale is None else (self.builder.scalar(scalar_attr(scale, self.element)),)
        method = f"{way}_{'real' if real else 'rows'}"
        piece = most_together(n if real else 2 * n, self.width)

        def emit(vectors: Vectors, array: Any, at: Any, apart: Any, count: Any, *rest: Any) -> None:
            buffer, where, distance, length, *factor = rest
            moving = Moving(vectors, Lines(array, at, 1, apart, count), Planes(buffer, where, distance), length)
            getattr(moving, method)(piece, *map(vectors.splat, factor))

        given = (lines.array, lines.at, lines.apart, lines.count, planes.buffer, planes.at, planes.apart, n, *scales)
        self.call(f"{method}_by{piece}", given, emit)

    def step(self, method: str, planes: _Planes, at: Index, n: int, *numbers: Index) -> None:
        """Call a function of `Steps`, from the planes that hold the elements to the others."""
        source, target = planes.source, planes.target

        def emit(vectors: Vectors, buffer: Any, *rest: Any) -> None:
            first, distance, second, other_distance, table, offset, count, *others = rest
            planes_in, planes_out = Planes(buffer, first, distance), Planes(buffer, second, other_distance)
            getattr(Steps(vectors, planes_in, planes_out, table, offset, count), method)(*others)

        places = (source.at, source.apart, target.at, target.apart)
        self.call(method, (source.buffer, *places, self.table, at, n, *numbers), emit)

    # Lines.

    def line(self, line: Line, planes: _Planes, source: _End | None = None, target: _End | None = None) -> None:
        """Transform the lines in the planes; its passes may read and write other sides (see `passes`)."""
        around = line.bluestein
        if around is None:
            self.passes(line.passes, planes, source, target)
            return
        self.step("times_table", planes, around.chirp, line.n, around.size)
        planes.turn()
        self.passes(around.passes, planes)
        self.step("times_table", planes, around.kernel, around.size, around.size)
        planes.turn()
        planes.exchange()
        self.passes(around.passes, planes)
        planes.exchange()
        self.step("times_table", planes, around.chirp, line.n, line.n)
        planes.turn()

    def passes(
        self, passes: Sequence[Pass], planes: _Planes, source: _End | None = None, target: _End | None = None
    ) -> None:
        """The passes of a line: the first reads `source`, if it is given, and the last writes `target`."""
        for number, one in enumerate(passes):
            own = one.radix if one.radix in BUTTERFLIES else None
            twiddled = one.after > 1
            read = source if source is not None and number == 0 else _End.of_planes(planes.source)
            written = target if target is not None and one is passes[-1] else _End.of_planes(planes.target)

            def emit(
                vectors: Vectors,
                *given: Any,
                own: int | None = own,
                twiddled: bool = twiddled,
                read: _End = read,
                written: _End = written,
            ) -> None:
                table, twiddles, primes, radix, before, after, *others = given
                if not twiddled:
                    after = vectors.builder.index(1)
                sides = read.make(*others[: len(read.arguments)]), written.make(*others[len(read.arguments) :])
                PassLoops(vectors, *sides, table, twiddles, primes, radix, before, after, twiddled).emit(own)

            numbers = (one.twiddles, one.primes, one.radix, one.before, one.after)
            name = f"radix{own or ''}{'_twiddled' if twiddled else ''}"
            name += f"_from{read.name}" * bool(read.name) + f"_to{written.name}" * bool(written.name)
            self.call(name, (self.table, *numbers, *read.arguments, *written.arguments), emit)
            planes.turn()

    def copy(self, source: _End, target: _End, n: int) -> None:
        """Copy the elements of lines."""

        def emit(vectors: Vectors, count: Any, *given: Any) -> None:
            own = len(source.arguments)
            read, written = source.make(*given[:own]), target.make(*given[own:])
            with vectors.builder.loop(0, count) as k:
                vectors.whole.put(vectors.whole.number(read, k), written, k)

        self.call(f"copy{source.name}_to{target.name}", (n, *source.arguments, *target.arguments), emit)

    # Columns.

    def all_columns(self, source: SSAValue, target: SSAValue) -> None:
        """Transform the dimensions before the last, starting with the last of these."""
        plan = self.plan
        sizes = (*plan.shape[:-1], plan.width)
        first = len(sizes) - len(plan.lengths)
        for number in reversed(range(len(plan.columns))):
            axis = first + number
            inner = math.prod(sizes[axis + 1 :])
            self.columns(plan.columns[number], source, target, math.prod(sizes[:axis]), inner)
            source = target

    def columns(self, line: Line, source: SSAValue, target: SSAValue, outer: int, inner: int) -> None:
        """Transform lines of a stride of `inner`, which are next to each other."""
        builder, lanes, n = self.builder, self.plan.lanes, line.n
        per_block = -(-inner // lanes)

        def group(number: IndexValue, planes: _Planes) -> None:
            block, column = number // per_block, (number % per_block) * lanes
            at = block * (n * inner) + column
            sides = [Lines(array, at, inner, 1, min(inner, lanes)) for array in (source, target)]
            inverse = self.plan.is_inverse
            transform = _Columns(self, line, sides[0], sides[1], (inverse, inverse))
            if inner < lanes or inner % lanes == 0:
                transform.emit(planes, min(inner, lanes))
                return
            with builder.when(builder.index(column).compare("le", inner - lanes)):
                transform.emit(copy.copy(planes), lanes)
            with builder.otherwise():
                transform.emit(planes, inner % lanes)

        self.groups(outer * per_block, line, 0, group)

    # Rows.

    @property
    def scale(self) -> float:
        plan = self.plan
        return 1.0 / math.prod(plan.shape[len(plan.shape) - len(plan.lengths) :]) if plan.is_inverse else 1.0

    def rows(self, source: SSAValue, target: SSAValue) -> None:
        transform = self.plan.row.complex
        if isinstance(transform, Line):
            self.lines_of_rows(transform, source, target)
        else:
            self.split_rows(transform, source, target)

    def lines_of_rows(self, line: Line, source: SSAValue, target: SSAValue) -> None:
        """A line is a row."""
        builder, plan, lanes = self.builder, self.plan, self.plan.lanes
        row, kind, width = plan.row, plan.kind, plan.width

        def lines(array: SSAValue, first: Index, size: int, count: Index) -> Lines:
            return Lines(array, first * size if isinstance(first, IndexValue) else 0, 1, size, count)

        def group(number: IndexValue, planes: _Planes) -> None:
            first = builder.index(number * lanes)
            count = builder.min(lanes, plan.rows - first)
            given = line.n if kind != "IRFFT" else width
            real = kind == "RFFT" and not row.halved
            self.move("read", lines(source, first, given, count), planes.source, given, real=real)
            if kind == "IRFFT" and row.halved:
                self.step("pairs_of_spectrum", planes, row.real, line.n)
                planes.turn()
            elif kind == "IRFFT":
                self.step("whole_spectrum", planes, 0, line.n)
            if plan.is_inverse:
                planes.exchange()
            self.line(line, planes)
            if plan.is_inverse:
                planes.exchange()
            if kind == "RFFT" and row.halved:
                self.step("real_spectrum", planes, row.real, line.n)
                planes.turn()
            made = width if kind == "RFFT" else line.n
            real = kind == "IRFFT" and not row.halved
            self.move("write", lines(target, first, made, count), planes.source, made, self.scale, real)

        self.groups(-(-plan.rows // lanes), line, width, group)

    # Split rows.

    def split_rows(self, split: Split, source: SSAValue, target: SSAValue) -> None:
        """Each row by itself, or all rows' parts at once if there are few."""
        plan = self.plan
        if plan.rows < LONG_ROWS:
            self.some_rows(split, source, target, 0, plan.rows, 0)
            return
        work = plan.rows * split.n * math.ceil(math.log2(split.n))
        with self.each(plan.rows, work) as (row, task, tasks):
            self.task, self.outer_tasks = task, tasks
            self.some_rows(split, source, target, row, 1, task)
            self.task, self.outer_tasks = None, 1

    def some_rows(
        self, split: Split, source: SSAValue, target: SSAValue, first: Index, count: int, place: Index
    ) -> None:
        """Transform `count` rows from `first`; `place`: the number of their first row in scratch arrays."""
        plan, n = self.plan, split.n
        held = count * self.outer_tasks
        middle = self.new(2 * held * n)
        if not plan.is_real:
            self.first_lines(split, (source, first, n), (middle, place), count)
            self.second_lines(split, (middle, place), (target, first, n), count)
        elif plan.kind == "RFFT":
            whole = self.new(2 * held * (n + 1))
            self.first_lines(split, (source, first, n), (middle, place), count)
            self.second_lines(split, (middle, place), (whole, place, n + 1), count)
            self.real_rows("spectrum", (whole, place, n + 1), (target, first, n + 1), count)
        else:
            whole = self.new(2 * held * n)
            self.real_rows("pairs", (source, first, n + 1), (whole, place, n), count)
            self.first_lines(split, (whole, place, n), (middle, place), count)
            self.second_lines(split, (middle, place), (target, first, n), count)

    def first_lines(
        self, split: Split, source: tuple[SSAValue, Index, int], middle: tuple[SSAValue, Index], rows: int
    ) -> None:
        """Element j a' of lines next to each other to (k, j); times roots of unity."""
        builder, line, inner = self.builder, split.first, split.second.n
        array, first, stride = source
        target, place = middle

        def group(row: IndexValue, column: IndexValue, count: int, planes: _Planes) -> None:
            at = builder.index(row + first) * stride + column
            read = Lines(array, at, inner, 1, count)
            at = builder.index(row + place) * split.n + column
            written = Lines(target, at, inner, 1, count)
            if split.whole:
                roots = SplitRoots(self.table, builder.index(column) * (2 * line.n) + split.lanes)
            else:
                roots = SplitRoots(self.table, split.lanes, split.coarse, split.fine, column)
            exchanges = self.plan.is_inverse, False
            _Columns(self, line, read, written, exchanges, roots=roots).emit(planes, count)

        self.groups_of_rows(rows, line, inner, group)

    def second_lines(
        self, split: Split, middle: tuple[SSAValue, Index], target: tuple[SSAValue, Index, int], rows: int
    ) -> None:
        """The rows (k, .) of the middle to columns k of the result."""
        builder, line, inner = self.builder, split.second, split.first.n
        source, place = middle
        array, first, stride = target

        def group(row: IndexValue, column: IndexValue, count: int, planes: _Planes) -> None:
            at = builder.index(row + place) * split.n + column * line.n
            self.move("read", Lines(source, at, 1, line.n, count), planes.source, line.n)
            at = builder.index(row + first) * stride + column
            written = Lines(array, at, inner, 1, count)
            exchanges = False, self.plan.is_inverse
            _Columns(self, line, None, written, exchanges, self.scale).emit(planes, count)

        self.groups_of_rows(rows, line, inner, group)

    def groups_of_rows(self, rows: int, line: Line, inner: int, body: Callable[..., None]) -> None:
        """
        Groups of the `inner` lines of each row: its number, the first line's, how many they are, and planes.

        Lines that fill no vector are computed with some of the vector before them, by the same task.
        """
        builder, lanes = self.builder, self.plan.lanes
        whole = max(1, inner // lanes)

        def group(number: IndexValue, planes: _Planes) -> None:
            row, block = builder.index(number // whole), builder.index(number % whole)
            if inner < lanes or inner % lanes == 0:
                body(row, block * lanes, min(inner, lanes), planes)
                return
            with builder.loop(0, builder.select(block >= whole - 1, 2, 1)) as more:
                column = builder.min(builder.index((block + more) * lanes), inner - lanes)
                body(row, builder.index(column), lanes, planes)

        self.groups(rows * whole, line, 0, group)

    def real_rows(
        self, method: str, source: tuple[SSAValue, Index, int], target: tuple[SSAValue, Index, int], rows: int
    ) -> None:
        """Call a function of `RealRow` for each row."""
        row, n = self.plan.row, self.plan.row.n // 2
        products = () if row.whole else (row.fine, row.coarse)

        def emit(vectors: Vectors, array: Any, at: Any, made: Any, made_at: Any, table: Any, *rest: Any) -> None:
            *roots, count = rest
            getattr(RealRow(vectors, array, at, made, made_at, table, tuple(roots), count), method)()

        with self.each(rows, rows * n * 4) as (number, _, _):
            places = [self.builder.index(number + first) * stride for _, first, stride in (source, target)]
            arguments = (source[0], places[0], target[0], places[1], self.table, row.real, *products, n)
            self.call(method + "_by_products" * bool(products), arguments, emit)


@dataclass(frozen=True)
class _Columns:
    """The transform of a group of columns."""

    driver: Driver
    line: Line
    source: Lines | None
    """None if they are in the planes."""
    target: Lines
    exchanges: tuple[bool, bool]
    """Whether to exchange real and imaginary parts after reading, and before writing."""
    scale: float = 1.0
    roots: SplitRoots | None = None
    """The factors of the results besides the scale."""

    def emit(self, planes: _Planes, count: int) -> None:
        """
        The first pass reads the columns and the last one writes them, if they fill vectors and the line has passes.

        Fewer columns are copied to planes and back, so that the passes are functions for any number of them.
        """
        driver, line = self.driver, self.line
        source, target = self._ends(count)
        joins = count == driver.lanes and bool(line.passes)
        if source is not None and not (joins and line.passes[0].radix in BUTTERFLIES):
            # A pass of an odd radix reads its elements several times.
            driver.copy(source, _End.of_planes(planes.source), line.n)
            source = None
        driver.line(line, planes, source, target if joins else None)
        if not joins:
            driver.copy(_End.of_planes(planes.source), target, line.n)

    def _ends(self, count: int) -> tuple[_End | None, _End]:
        """The columns as sides of passes."""
        driver = self.driver
        source = None if self.source is None else _End.of_lines(self.source, count, self.exchanges[0])
        scale = None if self.scale == 1.0 else driver.builder.scalar(scalar_attr(self.scale, driver.element))
        target = _End.of_lines(self.target, count, self.exchanges[1], scale)
        return source, target if self.roots is None else target.rooted(self.roots)


@patterns.on(FourierOp)
def _fourier(op: FourierOp, builder: LoopBuilder) -> None:
    """`linalg_ext.fourier` becomes loops over groups of lines that call functions of passes, by the plan."""
    kind, lengths = op.kind.data, cast(Any, op.lengths).get_values()
    shape = shape_of(op.inputs[0] if kind == "RFFT" else op.outputs[0])
    shape = shape if kind in ("RFFT", "IRFFT") else shape[:-1]
    plan = plan_of(kind, shape, lengths, width_of(buffer_of(op.outputs[0]).element_type))
    assert plan is not None, "convert-hlo-to-linalg makes the operation where there is a plan"
    Driver(op, builder, plan).emit()
