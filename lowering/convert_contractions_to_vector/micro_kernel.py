"""
The micro-kernel: a function that adds the product of a panel of A and a panel of B to a block of C.

Its accumulators are in registers, one vector per row, which takes one or two registers. Matrix sizes are parameters, so
that products of many shapes share a micro-kernel: it is most of the code of a product, and is compiled once (see
`shared_function.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial, reduce

from xdsl.dialects import func
from xdsl.dialects.builtin import i8, i32, i64
from xdsl.ir import SSAValue

from ...dialects.support.attributes import integer_attr
from ...dialects.support.buffers import memref_type
from ...dialects.support.scalar import Scalar, scalar_attr, width_of
from ..loop_nests.kernel_builder import Index, known
from ..loop_nests.loop_builder import LINE, PARALLEL, LoopBuilder, buffer_of
from ..loop_nests.unrolling import UNROLL
from .block_of_c import Target
from .blocking import BYTES, PAIRS, Blocking
from .panel import packed_type
from .panel_of_a import FormOfA, LayoutOfA, PanelOfA
from .shared_function import call_known, writes
from .vectors import VectorBuilder


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call of the micro-kernel: buffers, and where panels and block begin in them, in elements."""

    a: SSAValue
    a_at: Index
    b: SSAValue
    b_at: Index
    b_step: Index
    """Stride, in elements, from one step along k to the next; passed if not static."""
    c: SSAValue
    c_at: Index
    c_row: Index
    """Row stride of C, in elements."""
    count: Index
    """Steps along k."""
    rows: Index
    """Rows of the block that are in C."""
    columns: Index
    offsets: SSAValue | None = None
    """The buffer of what the sums of each column start from."""
    offsets_at: Index = 0
    earlier: Index | None = None
    """Zero if the block has no sums yet; only where the target does not say."""
    ahead: Index | None = None
    """Elements of B from each row of the panel to what is asked for meanwhile; where B streams."""

    def values(self) -> list[Index | SSAValue]:
        found = [getattr(self, each.name) for each in fields(self)[:-4]]
        found += [] if self.offsets is None else [self.offsets, self.offsets_at]
        return [*found, *(each for each in (self.earlier, self.ahead) if each is not None)]


AHEAD = 4096
"""Bytes of a packed panel between what is multiplied and what is asked for."""

ROWS_AHEAD = 8
"""The same for rows of a factor that is read in place."""

LAST_STEPS = 24
"""Steps along k that take as long as lines of C, asked for before them, need to come."""

FEW_STEPS = 8
"""Steps of a loop's turn that are few beside the instructions around them."""


class MicroKernel:
    """
    The body of one micro-kernel, in terms of its function's parameters.

    Sums are vectors of `lanes` elements, row by row. Dot products of bytes multiply unsigned by signed numbers: 128 is
    added to the elements of A, and a further row of sums adds what that adds to the others, unless the sums start from
    offsets that undo it.
    """

    def __init__(self, builder: LoopBuilder, blocking: Blocking, a: LayoutOfA, target: Target, given: Arguments):
        self.builder = builder
        self.vectors = VectorBuilder(builder)
        self.blocking = blocking
        self.a = a
        self.target = target
        self.given = given
        self.element = buffer_of(given.c).element_type
        self.factor = buffer_of(given.b).element_type
        self.of_bytes = blocking.group == BYTES
        self.reads_pairs = blocking.group == PAIRS and not target.b_packed
        """Whether each step reads two rows of B in place."""
        self.corrects = self.of_bytes and not target.offsets

    def emit(self) -> None:
        if not self.target.overwrite and self.target.is_whole and not self._asks_late:
            self._ask_for_block()
        sums = self.sums(0, self.given.a_at, self.given.b_at, self.start())
        self.write(self.corrected(sums) if self.corrects else sums)

    # Multiplying.

    def start(self) -> list[SSAValue]:
        """The accumulators of a block before its first step: zeros, or the offsets of its columns."""
        if self.given.offsets is not None:
            lanes, width = self.blocking.lanes, self.blocking.nr
            offsets = self.builder.strided_view(self.given.offsets, self.given.offsets_at, (width,), (1,))
            row = [self.vectors.load(offsets, [v * lanes], lanes) for v in range(self.blocking.vectors)]
            return row * self.blocking.mr
        zero = self.vectors.splat(self.builder.scalar(scalar_attr(0, self.element)), self.blocking.lanes)
        return [zero] * (self.blocking.vectors * (self.blocking.mr + (1 if self.corrects else 0)))

    def corrected(self, sums: list[SSAValue]) -> list[SSAValue]:
        """The sums without what the 128 added to A contributes, which is the last row."""
        count = self.blocking.vectors
        return [self.vectors.subtract(x, sums[i % count - count]) for i, x in enumerate(sums[:-count])]

    def sums(self, depth: int, a_at: Index, b_at: Index, start: list[SSAValue]) -> list[SSAValue]:
        """The `mr` x `nr` sums of products, row by row, added to `start`."""
        if depth == len(self.a.loops):
            return self.accumulate(a_at, b_at, start)
        builder = self.builder
        size, a_step, b_step = self.a.loops[depth]
        with builder.loop(0, size, carry=start) as (x, sums):
            a = a_at + x * a_step
            builder.yield_(*self.sums(depth + 1, a, b_at + x * b_step, sums))
        return sums

    def accumulate(self, a_at: Index, b_start: Index, start: list[SSAValue]) -> list[SSAValue]:
        """Add the products of `count` steps along k."""
        count = self.given.count
        if not self._asks_late:
            return self._add_steps(0, count, a_at, b_start, start)
        before_last = self.builder.index(count - LAST_STEPS).max(0)
        with self.builder.loop(0, 2, carry=start) as (part, sums):
            # The first time from memory, and then from the L2 cache: panels stream through the L1 cache.
            self._ask_for_block()
            lower, upper = part * before_last, before_last + part * (count - before_last)
            self.builder.yield_(*self._add_steps(lower, upper, a_at, b_start, sums))
        return sums

    @property
    def _asks_late(self) -> bool:
        """Whether the block of C is asked for just before its sums are complete: bytes have few steps until then."""
        return self.of_bytes and self.target.is_whole and not self.a.loops

    def _add_steps(
        self, lower: Index, upper: Index, a_start: Index, b_start: Index, start: list[SSAValue]
    ) -> list[SSAValue]:
        """Add the products of steps [lower, upper)."""
        builder, blocking, vectors = self.builder, self.blocking, self.vectors
        group, lanes = blocking.group, blocking.lanes * blocking.group
        unrolled = {UNROLL: integer_attr(blocking.steps, i64)} if blocking.steps > 1 else None
        with builder.loop(lower, upper, carry=start, attributes=unrolled) as (k, sums):
            a_at = a_start + k * (self.a.step * group)
            a_view = self._elements_of_a(a_at) if self.a.rows_adjoin else None
            b_at = b_start + k * (self.given.b_step * group if self.reads_pairs else self.given.b_step)
            b_views = self._rows_of_b(b_at)
            if self.reads_pairs:
                b_row = self._pairs_of_b(*b_views)
            else:
                b_row = [self._vector_of_b(b_views[0], v * lanes, lanes) for v in range(blocking.vectors)]
            # The processor itself fetches panels ahead, which lie one after the other.
            if blocking.steps == 1 or not self.target.b_packed:
                self._ask_for_panels(a_view, b_views)
            following: list[SSAValue] = []
            for i in range(blocking.mr):
                if blocking.steps > 1:
                    # LLVM would read an element of a later step first, for which all would wait.
                    builder.keep_order()
                a_element = self._element_of_a(*self._place_of_a(a_view, a_at, i))
                for v, b_vector in enumerate(b_row):
                    following.append(self._multiply_add(a_element, b_vector, sums[i * len(b_row) + v]))
            if self.corrects:
                middle = vectors.splat(builder.scalar(scalar_attr(-128, i8)), lanes)
                for total, b_vector in zip(sums[-len(b_row) :], b_row, strict=True):
                    following.append(self._multiply_add([middle], b_vector, total))
            builder.yield_(*following)
        return sums

    def _elements_of_a(self, at: Index) -> SSAValue:
        """A view of the elements of A that one step multiplies, whose rows are neighbours."""
        mr, group = self.blocking.mr, self.blocking.group
        if self.a.form.overlaps and group > 1:
            return self.builder.strided_view(self.given.a, at, (mr, group), (1, 1))
        return self.builder.strided_view(self.given.a, at, (mr * group,), (1,))

    def _place_of_a(self, view: SSAValue | None, at: Index, row: int) -> tuple[SSAValue, list[Index]]:
        """The view and the indices of the elements of a row; `view`: that of all rows, if they are neighbours."""
        group = self.blocking.group
        if view is None:
            return self.builder.strided_view(self.given.a, at + row * self.a.row, (group,), (1,)), [0]
        overlaps = self.a.form.overlaps
        return view, [row] if group == 1 else [row, 0] if overlaps else [row * group]

    def _rows_of_b(self, at: Index) -> list[SSAValue]:
        """Views of the elements of B that one step multiplies: of a row, of groups if it is packed, or of two rows."""
        places, width = [at], self.blocking.nr * self.blocking.group
        if self.reads_pairs:
            places, width = [at, at + self.given.b_step], self.blocking.nr
        return [self.builder.strided_view(self.given.b, place, (width,), (1,)) for place in places]

    def _pairs_of_b(self, *rows: SSAValue) -> list[list[SSAValue]]:
        """The vectors of pairs of two rows of B, of which two are loaded at once where they can be."""
        blocking, vectors, found = self.blocking, self.vectors, list[list[SSAValue]]()
        lanes = blocking.lanes
        for first in range(0, blocking.vectors, 2):
            count = min(2, blocking.vectors - first)
            x, y = (vectors.load(row, [first * lanes], count * lanes) for row in rows)
            for begin in range(0, count * lanes, lanes):
                places = [lane for i in range(begin, begin + lanes) for lane in (i, count * lanes + i)]
                found.append([vectors.widened(vectors.shuffled(x, y, places), packed_type(self.element, PAIRS))])
        return found

    def _vector_of_b(self, view: SSAValue, at: int, lanes: int) -> list[SSAValue]:
        """The vectors that are multiplied one after the other: one, or those of pairs that are widened."""
        value = self.vectors.load(view, [at], lanes)
        if self.target.widened:
            return self._widened_pairs(value)
        return [value if self.blocking.group > 1 else self.vectors.widened(value, self.element)]

    def _element_of_a(self, view: SSAValue, place: list[Index]) -> list[SSAValue]:
        """The element, or group of elements, of a row in all lanes; likewise several of pairs that are widened."""
        blocking, vectors = self.blocking, self.vectors
        if blocking.group == 1:
            return [vectors.splat(vectors.widened(self.builder.load(view, place), self.element), blocking.lanes)]
        group = vectors.load(view, place, blocking.group)
        if self.reads_pairs:
            group = vectors.widened(group, packed_type(self.element, PAIRS))
        if self.target.widened:
            return [vectors.splat(each, blocking.lanes) for each in self._widened_pairs(group)]
        splat = vectors.splat(vectors.bitcast(group, i32, 1), blocking.lanes)
        return [vectors.bitcast(splat, packed_type(self.element, blocking.group), blocking.lanes * blocking.group)]

    def _widened_pairs(self, pairs: SSAValue) -> list[SSAValue]:
        even, odd = self.vectors.halves(pairs)
        return [odd, even]

    def _multiply_add(self, xs: Sequence[SSAValue], ys: Sequence[SSAValue], total: SSAValue) -> SSAValue:
        for x, y in zip(xs, ys, strict=True):
            if self.blocking.group == 1 or self.target.widened:
                total = self.vectors.multiply_add(x, y, total)
            else:
                total = self.vectors.dot(x, y, total, unsigned=self.of_bytes)
        return total

    def _ask_for_panels(self, a_view: SSAValue | None, b_views: Sequence[SSAValue]) -> None:
        """Ask for what is multiplied some steps later: panels stream through the L1 cache."""
        blocking = self.blocking
        bytes_each = width_of(self.factor) // 8
        line = LINE // bytes_each
        width = blocking.nr * blocking.group
        packed = -(-AHEAD // (width * bytes_each)) * width
        ahead: Index = packed if self.target.b_packed else self.given.b_step * (ROWS_AHEAD * len(b_views))
        if self.given.ahead is not None:
            ahead = self.given.ahead
        for view in b_views:
            for at in range(0, width // len(b_views), line):
                self.vectors.builder.prefetch(view, [ahead + at])
        if a_view is not None:
            is_packed = self.a.form.numbers[1] == blocking.mr
            self.vectors.builder.prefetch(a_view, [AHEAD // bytes_each if is_packed else self.a.step * ROWS_AHEAD])

    def _ask_for_block(self) -> None:
        """Ask for the block of C: it has left the caches nearby, and is there when the sums are complete."""
        line = LINE // (width_of(self.element) // 8)
        at = self.given.c_at
        if self.target.rows_beside:
            for column in range(self.blocking.nr):
                view = self._column(at, column)
                for row in (0, self.blocking.mr - 1):
                    self.builder.prefetch(view, [row], to_write=True)
            return
        for _ in range(self.blocking.mr):
            for column in range(0, self.blocking.nr, line):
                self.builder.prefetch(self._row(at), [column], to_write=True)
            at += self.given.c_row

    # Writing back.

    def write(self, sums: list[SSAValue]) -> None:
        """Store the sums, or add them to C."""
        if self.target.is_whole and self.target.rows_beside:
            self._write_transposed(sums)
        else:
            self._either_way(lambda overwrite: self._write(sums, overwrite))

    def _either_way(self, write: Callable[[bool], None]) -> None:
        """Write over C, or add to it, whichever the block needs."""
        if self.given.earlier is None:
            write(bool(self.target.overwrite))
            return
        with self.builder.when(self.builder.index(self.given.earlier).compare("eq", 0)):
            write(True)
        with self.builder.otherwise():
            write(False)

    def _write(self, sums: list[SSAValue], overwrite: bool) -> None:
        """Blocks that extend beyond the edge go through a buffer."""
        whole = self._whole()
        if not self.target.is_whole:
            self._write_part(self._stored(sums), overwrite)
            return
        with self.builder.guarded(whole):
            self._write_whole(sums, overwrite)
        if whole is not None:
            with self.builder.otherwise():
                self._write_part(self._stored(sums), overwrite)

    def _whole(self) -> Scalar | None:
        """Whether the block has all its rows and columns in C; None if each has."""
        builder, target, blocking = self.builder, self.target, self.blocking
        whole: list[Scalar] = []
        if target.rows_vary:
            whole.append(builder.index(self.given.rows).compare("eq", blocking.mr))
        if target.columns_vary:
            whole.append(builder.index(self.given.columns).compare("eq", blocking.nr))
        return reduce(Scalar.__and__, whole) if whole else None

    def _row(self, at: Index) -> SSAValue:
        """The row of the block of C at that offset."""
        return self.builder.strided_view(self.given.c, at, (self.blocking.nr,), (self.target.column,))

    def _column(self, at: Index, column: int) -> SSAValue:
        """A column of the block of C at that offset, whose rows are neighbours."""
        return self.builder.strided_view(self.given.c, at + column * self.target.column, (self.blocking.mr,), (1,))

    def _write_transposed(self, sums: list[SSAValue]) -> None:
        """Transpose the sums, which pass through a buffer, in registers, so that vectors are parts of columns."""
        builder, blocking, lanes = self.builder, self.blocking, self.blocking.lanes
        buffer, whole = self._stored(sums), self._whole()
        with builder.guarded(whole), builder.loop(0, blocking.vectors) as v:
            first = v * lanes
            at = self.given.c_at + first * self.target.column
            for top in range(0, blocking.mr, lanes):
                rows = range(top, min(top + lanes, blocking.mr))
                columns = self._columns([self.vectors.load(buffer, [row, first], lanes) for row in rows])
                self._either_way(partial(self._write_columns, columns, at, rows))
        if whole is not None:
            with builder.otherwise():
                self._either_way(partial(self._write_part, buffer))

    def _columns(self, rows: list[SSAValue]) -> list[SSAValue]:
        """The columns of these rows, in vectors as long as a power of two; the last elements may mean nothing."""
        lanes, side = self.blocking.lanes, 1 << (len(rows) - 1).bit_length()
        found = self.vectors.transposed([*rows, *[rows[0]] * (side - len(rows))])
        return [self.vectors.part(found[i % side], i // side * side, side) for i in range(lanes)]

    def _write_columns(self, columns: list[SSAValue], at: Index, rows: range, overwrite: bool) -> None:
        for number, column in enumerate(columns):
            self._write_part_of_column(column, self._column(at, number), rows.start, len(rows), overwrite)

    def _write_part_of_column(self, sums: SSAValue, view: SSAValue, top: int, count: int, overwrite: bool) -> None:
        """Store the first `count` sums, or add them to C, by two vectors that overlap if they are no power of two."""
        vectors, length = self.vectors, 1 << count.bit_length() - 1
        starts = (0,) if length == count else (0, count - length)
        parts = [vectors.part(sums, start, length) for start in starts]
        if not overwrite:
            found = [vectors.load(view, [top + start], length) for start in starts]
            parts = [vectors.add(before, part) for before, part in zip(found, parts, strict=True)]
        for start, part in zip(starts, parts, strict=True):
            vectors.store(part, view, [top + start])

    def _write_whole(self, sums: list[SSAValue], overwrite: bool) -> None:
        at, rows = self.given.c_at, list[SSAValue]()
        for _ in range(self.blocking.mr):
            rows.append(self._row(at))
            at += self.given.c_row
        self._put(rows, sums, overwrite)

    def _put(self, rows: Sequence[SSAValue], sums: list[SSAValue], overwrite: bool) -> None:
        """Store the vectors of whole rows of C, or add them."""
        places = [(row, j) for row in rows for j in range(0, self.blocking.nr, self.blocking.lanes)]
        if not overwrite:
            # All loads come before the stores: a processor takes rows 4 KB apart for the same at first.
            found = [self.vectors.load(row, [j], self.blocking.lanes) for row, j in places]
            sums = [self.vectors.add(before, value) for before, value in zip(found, sums, strict=True)]
        for (row, j), value in zip(places, sums, strict=True):
            self.vectors.store(value, row, [j])

    def _stored(self, sums: list[SSAValue]) -> SSAValue:
        """A buffer that holds the sums."""
        blocking = self.blocking
        buffer = self.builder.alloca(memref_type((blocking.mr, blocking.nr), self.element))
        for number, value in enumerate(sums):
            row, v = divmod(number, blocking.vectors)
            self.vectors.store(value, buffer, [row, v * blocking.lanes])
        return buffer

    def _write_part(self, buffer: SSAValue, overwrite: bool) -> None:
        builder, blocking, given = self.builder, self.blocking, self.given
        first_row = blocking.mr - given.rows if self.a.form.overlaps else 0
        first_column = blocking.nr - given.columns if self.target.columns_overlap else 0
        with builder.loop(0, given.rows) as i:
            row = self._row(given.c_at + i * given.c_row)
            by_vectors = self.target.has_masks(self.element, blocking.lanes)
            write = self._write_vectors if by_vectors else self._write_elements
            write(row, buffer, i + first_row, first_column, overwrite)

    def _write_vectors(self, row: SSAValue, buffer: SSAValue, at: Index, first: Index, overwrite: bool) -> None:
        """Leave nothing to LLVM's vectorizer, which takes longer than the rest of its optimizer."""
        builder, vectors, lanes = self.builder, self.vectors, self.blocking.lanes
        if not self.target.columns_vary:
            sums = [vectors.load(buffer, [at, j], lanes) for j in range(0, self.blocking.nr, lanes)]
            return self._put([row], sums, overwrite)
        columns = builder.index(self.given.columns)
        with builder.loop(0, columns, step=lanes) as j:
            mask = vectors.mask(columns - j, lanes)
            value = vectors.load(buffer, [at, j + first], lanes, mask)
            if not overwrite:
                value = vectors.add(vectors.load(row, [j], lanes, mask), value)
            vectors.store(value, row, [j], mask)

    def _write_elements(self, row: SSAValue, buffer: SSAValue, at: Index, first: Index, overwrite: bool) -> None:
        builder = self.builder
        with builder.loop(0, self.given.columns, attributes=PARALLEL) as j:
            value = builder.load(buffer, [at, j + first])
            if not overwrite:
                value = self.vectors.add(builder.load(row, [j]), value)
            builder.store(value, row, [j])


@dataclass(frozen=True)
class _Facts:
    """The facts on which a micro-kernel depends."""

    blocking: Blocking
    a: FormOfA
    target: Target


def call_micro_kernel(
    builder: LoopBuilder,
    kernel: func.FuncOp,
    blocking: Blocking,
    a: PanelOfA,
    target: Target,
    given: Arguments,
    normal: Scalar | None = None,
) -> None:
    """
    Define a micro-kernel next to `kernel` and call it at the builder's insertion point; `normal`: whether pairs of bf16
    are multiplied as they are. Otherwise they are widened.
    """
    # Code that LLVM's optimizer sees, and turns of few steps, whose beginnings count, are faster with numbers.
    steps, optimized = known(given.count), target.is_optimized(buffer_of(given.c).element_type, blocking.lanes)
    is_short = bool(a.loops) and isinstance(steps, int) and steps <= FEW_STEPS
    form = a.form(blocking.mr, target.b_packed, optimized or is_short)
    values = [*given.values(), *a.arguments(form)]
    with builder.guarded(normal):
        call_known(builder, kernel, "block", values, _Facts(blocking.of_block, form, target), _emit)
    if normal is not None:
        widened = replace(target, widened=True)
        with builder.otherwise():
            call_known(builder, kernel, "block", values, _Facts(blocking.of_block, form, widened), _emit)


_OF_BLOCK = ("c_at", "c_row", "count", "rows", "columns")
"""The arguments after C that every micro-kernel has."""


@writes(5)
def _emit(builder: LoopBuilder, parameters: Sequence[SSAValue], facts: _Facts) -> None:
    blocking, target = facts.blocking, facts.target
    a_value, a_at, b_value, b_at, b_step, c_value, *rest = parameters
    begin_a, begin_b, step_b = map(builder.index, (a_at, b_at, b_step))
    offsets = rest.pop(len(_OF_BLOCK)) if target.offsets else None
    numbers = [builder.index(number) for number in rest]
    c_at, c_row, count, rows, columns = numbers[: len(_OF_BLOCK)]
    del numbers[: len(_OF_BLOCK)]
    received = Arguments(a_value, begin_a, b_value, begin_b, step_b, c_value, c_at, c_row, count, rows, columns)
    if offsets is not None:
        received = replace(received, offsets=offsets, offsets_at=numbers.pop(0))
    earlier = numbers.pop(0) if target.overwrite is None else None
    ahead = numbers.pop(0) if target.b_streams else None
    if target.b_packed:
        received = replace(received, b_step=blocking.nr * blocking.group)
    rows, columns = rows if target.rows_vary else blocking.mr, columns if target.columns_vary else blocking.nr
    received = replace(received, rows=rows, columns=columns, earlier=earlier, ahead=ahead)
    MicroKernel(builder, blocking, facts.a.with_arguments(numbers), target, received).emit()
