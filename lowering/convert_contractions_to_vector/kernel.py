"""
The loops of a blocked matrix product.

A and B are packed into panels first: `mr` rows of A (`nr` columns of B) interleaved along k, zeros beyond the edge.
A factor whose panels are needed once each is packed where it is needed, a pass at a time, into a buffer of the task.
Then each tile of C is a task: for each pass over k, for each panel of B, for each panel of A, the micro-kernel adds
the product of two panels, held in registers, to a block of C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import FloatAttr, VectorType
from xdsl.ir import Block, Region, SSAValue

from ...dialects.buffers import memref_type
from ..convert_linalg_to_scf.cost import task_count, task_size
from ..convert_linalg_to_scf.loop_builder import PARALLEL, Index, LoopBuilder
from .blocking import Blocking
from .contraction import Contraction, Loop
from .packing import Operand, Packer, number_matrices

WORK_OF_PACKING = 3
"""Element operations that packing one element takes."""

MULTIPLICATIONS_PER_OPERATION = 4
"""Multiply-adds of the micro-kernel that take as long as one element operation of cost.py."""


@dataclass(frozen=True)
class Step:
    """What one pass over k of one tile adds to."""

    output: Index
    """Where C begins."""
    at: Sequence[Index]
    """The indices of the loops around the product."""
    lower: Index
    upper: Index
    b_at: Index
    """Where the packed panel of B begins."""


class ProductEmitter:
    """Emits one contraction at the builder's insertion point."""

    overlaps = False
    """Whether the last panel of A ends with the last row of A, rather than with zeros."""

    def __init__(self, builder: LoopBuilder, product: Contraction, blocking: Blocking, overwrite: bool):
        self.builder = builder
        self.product = product
        self.blocking = blocking
        self.overwrite = overwrite
        """Whether C starts from zero; else from what its buffer holds."""
        self.packers = self.pack()
        """Those of B and A; A may be read without one."""
        self.vector_type: VectorType[Any] = VectorType(product.element, [blocking.lanes])

    def pack(self) -> tuple[Packer, ...]:
        product, blocking = self.product, self.blocking
        around = (*product.outer, *product.outer_k)
        sizes = [loop.size for loop in around]
        m, n, k = product.m, product.n, product.k
        # Each panel of A serves all panels of B in its tile's rows; each panel of B all tiles above each other.
        a_once = blocking.n_panels == 1 and all(loop.a for loop in around)
        b_once = blocking.tile_m >= blocking.m_panels and all(loop.b for loop in around)
        a_around = number_matrices(sizes, [loop.a for loop in around])
        b_around = number_matrices(sizes, [loop.b for loop in around])
        a = Operand(product.a, a_around, m.size, m.a, k.size, k.a, blocking.mr, a_once)
        b = Operand(product.b, b_around, n.size, n.b, k.size, k.b, blocking.nr, b_once)
        element = product.element
        packers = [Packer(self.builder, operand, element, blocking.kc) for operand in (a, b)]
        return packers[1], packers[0]

    def emit(self) -> None:
        for packer in reversed(self.packers):
            if packer.count:
                work = packer.count * packer.operand.panel_size * WORK_OF_PACKING
                self._tasks(packer.count, work, packer.pack_panel)
        self._multiply()

    def _tasks(self, count: int, work: int, body: Callable[[SSAValue], None]) -> None:
        """Run `body` for 0..count-1, in parallel where the work is worth it."""
        tasks = task_count(count, work, count)
        if tasks == 1:
            self.builder.loop(0, count, lambda i, _: (body(i), ())[1])
            return
        size = task_size(count, tasks)

        def task(index: SSAValue) -> None:
            lower = self.builder.mul(index, size)
            upper = self.builder.add(lower, size)
            upper = upper if count % size == 0 else self.builder.min(upper, count)
            self.builder.loop(lower, upper, lambda i, _: (body(i), ())[1])

        self.builder.parallel(-(-count // size), task)

    def _constant(self, value: float) -> SSAValue:
        return self.builder.scalar(FloatAttr(value, self.product.element))  # pyright: ignore

    # Tiles of C.

    def _multiply(self) -> None:
        """One iteration for each tile of each C."""
        builder, product, blocking = self.builder, self.product, self.blocking
        across = -(-blocking.n_panels // blocking.tile_n)
        down = -(-blocking.m_panels // blocking.tile_m)
        around = math.prod(loop.size for loop in product.outer)

        def tile(number: SSAValue) -> None:
            column = builder.mul(builder.rem(number, across), blocking.tile_n)
            rest = builder.div(number, across)
            row = builder.mul(builder.rem(rest, down), blocking.tile_m)
            matrix = 0 if around == 1 else builder.div(rest, down)
            position = self._positions(matrix)
            rows = (row, self._limit(row, blocking.tile_m, blocking.m_panels))
            columns = (column, self._limit(column, blocking.tile_n, blocking.n_panels))
            self._emit_tile(position, rows, columns)

        work = product.multiplications // MULTIPLICATIONS_PER_OPERATION
        self._tasks(around * down * across, work, tile)

    def _positions(self, matrix: Index) -> list[Index]:
        """The indices of the loops around the product, for the matrix of this number."""
        sizes = [loop.size for loop in self.product.outer]
        found: list[Index] = []
        for depth, size in enumerate(sizes):
            index = self.builder.div(matrix, math.prod(sizes[depth + 1 :]))
            found.append(index if depth == 0 else self.builder.rem(index, size))
        return found

    def _limit(self, first: Index, count: int, total: int) -> Index:
        end = self.builder.add(first, count)
        return end if total % count == 0 else self.builder.min(end, total)

    def _emit_tile(self, position: Sequence[Index], rows: tuple[Index, Index], columns: tuple[Index, Index]) -> None:
        builder, product, blocking = self.builder, self.product, self.blocking
        passes = -(-product.k.size // blocking.kc)
        output = product.c.offset_at(builder)
        for loop, index in zip(product.outer, position, strict=True):
            output = builder.add(output, builder.mul(index, loop.c))
        once = passes == 1 and not product.outer_k
        if self.overwrite and not once:
            self.clear(output, rows, columns)
        for packer in self.packers:
            packer.begin_task()

        def one_pass(number: SSAValue, at: Sequence[Index]) -> None:
            lower = builder.mul(number, blocking.kc)
            upper = self._limit(lower, blocking.kc, product.k.size)

            def panel_of_b(j: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
                b_at = self.panel_of_b(at, j, lower, upper)

                def panel_of_a(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
                    self.emit_block(Step(output, at, lower, upper, b_at), i, j, self.overwrite and once)
                    return ()

                return builder.loop(*rows, panel_of_a)

            builder.loop(*columns, panel_of_b)

        def around(loops: Sequence[Loop], at: Sequence[Index]) -> None:
            if not loops:
                builder.loop(0, passes, lambda p, _: (one_pass(p, at), ())[1])
                return
            builder.loop(0, loops[0].size, lambda x, _: (around(loops[1:], [*at, x]), ())[1])

        around(product.outer_k, position)

    def emit_block(self, step: Step, i: SSAValue, j: SSAValue, first: bool) -> None:
        """Add the product of panel i of A and panel j of B to their block of C; `first`: it is stored instead."""
        a_at = self.packers[1].panel(step.at, i, step.lower, step.upper)
        sums = self.micro_kernel(a_at, step)
        self.write(sums, step.output, i, j, first)

    def clear(self, output: Index, rows: tuple[Index, Index], columns: tuple[Index, Index]) -> None:
        """Set the tile of C to zero."""
        builder, product, blocking = self.builder, self.product, self.blocking
        view = builder.strided_view(
            product.c.root, output, (product.m.size, product.n.size), (product.m.c, product.n.c)
        )
        top, left = builder.mul(rows[0], blocking.mr), builder.mul(columns[0], blocking.nr)
        bottom = builder.min(builder.mul(rows[1], blocking.mr), product.m.size)
        right = builder.min(builder.mul(columns[1], blocking.nr), product.n.size)

        def element(i: SSAValue, j: SSAValue) -> Sequence[SSAValue]:
            builder.store(self._constant(0.0), view, [i, j])
            return ()

        builder.loop(
            top, bottom, lambda i, _: builder.loop(left, right, lambda j, _: element(i, j), attributes=PARALLEL)
        )

    # The micro-kernel.

    def rows_of_a(self, a_at: Index, k: SSAValue) -> SSAValue:
        """The `mr` elements of a panel of A at step k."""
        mr = self.blocking.mr
        at = self.builder.add(a_at, self.builder.mul(k, mr))
        return self.builder.strided_view(self.packers[1].buffer, at, (mr,), (1,))

    def panel_of_b(self, at: Sequence[Index], j: SSAValue, lower: Index, upper: Index) -> Index:
        """Where the packed panel j of B begins."""
        return self.packers[0].panel(at, j, lower, upper)

    def micro_kernel(self, a_at: Index, of: Step) -> list[SSAValue]:
        """The `mr` x `nr` sums of the products of two panels over one pass, row by row."""
        return self.accumulate(a_at, of.b_at, self.builder.sub(of.upper, of.lower), self.zeros())

    def zeros(self) -> list[SSAValue]:
        """The sums of a block before anything is added."""
        zero = self._splat(self._constant(0.0))
        return [zero] * (self.blocking.mr * self.blocking.nr // self.blocking.lanes)

    def accumulate(self, a_at: Index, b_start: Index, count: Index, start: list[SSAValue]) -> list[SSAValue]:
        """Add `count` products of the rows of A and the columns of B to sums."""
        builder, blocking = self.builder, self.blocking
        mr, nr, lanes = blocking.mr, blocking.nr, blocking.lanes
        vectors = nr // lanes

        def step(k: SSAValue, sums: list[SSAValue]) -> Sequence[SSAValue]:
            a_view = self.rows_of_a(a_at, k)
            b_at = builder.add(b_start, builder.mul(k, nr))
            b_view = builder.strided_view(self.packers[0].buffer, b_at, (nr,), (1,))
            b_row = [self._load_vector(b_view, [v * lanes]) for v in range(vectors)]
            result: list[SSAValue] = []
            for i in range(mr):
                a_element = self._splat(builder.load(a_view, [i]))
                for v in range(vectors):
                    fma = vector.FMAOp.create(
                        operands=[a_element, b_row[v], sums[i * vectors + v]], result_types=[self.vector_type]
                    )
                    result.append(builder.insert(fma).res)
            return result

        return builder.loop(0, count, step, inits=start)

    def _splat(self, value: SSAValue) -> SSAValue:
        op = vector.BroadcastOp.create(operands=[value], result_types=[self.vector_type])
        return self.builder.insert(op).vector

    def _load_vector(self, source: SSAValue, indices: Sequence[Index]) -> SSAValue:
        operands = [source, *(self.builder.index(i) for i in indices)]
        op = vector.LoadOp.create(operands=operands, result_types=[self.vector_type])
        return self.builder.insert(op).result

    def _store_vector(self, value: SSAValue, target: SSAValue, indices: Sequence[Index]) -> None:
        operands = [value, target, *(self.builder.index(i) for i in indices)]
        self.builder.insert(vector.StoreOp.create(operands=operands))

    # Writing back.

    def write(self, sums: list[SSAValue], output: Index, i: SSAValue, j: SSAValue, first: bool) -> None:
        """Store the sums of block (i, j), or add them to what is there; blocks over the edge go through a buffer."""
        builder, product, blocking = self.builder, self.product, self.blocking
        row, column = builder.mul(i, blocking.mr), builder.mul(j, blocking.nr)
        offset = builder.add(output, builder.mul(row, product.m.c))
        offset = builder.add(offset, builder.mul(column, product.n.c))
        shape = (blocking.mr, blocking.nr)
        target = builder.strided_view(product.c.root, offset, shape, (product.m.c, product.n.c))
        even_m, even_n = product.m.size % blocking.mr == 0, product.n.size % blocking.nr == 0

        def whole() -> None:
            self._write_whole(sums, target, first)

        def part() -> None:
            self._write_part(sums, target, row, column, first)

        if product.n.c != 1:
            part()
        elif even_m and even_n:
            whole()
        elif product.m.size < blocking.mr or product.n.size < blocking.nr:
            part()
        else:
            fits: list[SSAValue] = []
            if not even_m:
                fits.append(self._less(i, product.m.size // blocking.mr))
            if not even_n:
                fits.append(self._less(j, product.n.size // blocking.nr))
            condition = fits[0] if len(fits) == 1 else self._and(fits[0], fits[1])
            self._branch(condition, whole, part)

    def _less(self, lhs: SSAValue, rhs: int) -> SSAValue:
        return self.builder.insert(arith.CmpiOp(lhs, self.builder.index(rhs), "slt")).result

    def _and(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.builder.insert(arith.AndIOp(lhs, rhs)).result

    def _branch(self, condition: SSAValue, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        outer = self.builder.block
        regions: list[Region] = []
        for body in (then, otherwise):
            self.builder.block = block = Block()
            body()
            self.builder.insert(scf.YieldOp.create())
            regions.append(Region(block))
        self.builder.block = outer
        self.builder.insert(scf.IfOp.create(operands=[condition], regions=regions))

    def _write_whole(self, sums: list[SSAValue], target: SSAValue, first: bool) -> None:
        builder, lanes = self.builder, self.blocking.lanes
        vectors = self.blocking.nr // lanes
        for number, value in enumerate(sums):
            at = [number // vectors, number % vectors * lanes]
            if not first:
                total = arith.AddfOp.create(
                    operands=[self._load_vector(target, at), value],
                    result_types=[self.vector_type],
                    properties={"fastmath": arith.FastMathFlagsAttr("none")},
                )
                value = builder.insert(total).result
            self._store_vector(value, target, at)

    def _write_part(self, sums: list[SSAValue], target: SSAValue, row: Index, column: Index, first: bool) -> None:
        builder, product, blocking = self.builder, self.product, self.blocking
        buffer = builder.alloca(memref_type((blocking.mr, blocking.nr), product.element))
        vectors = blocking.nr // blocking.lanes
        for number, value in enumerate(sums):
            self._store_vector(value, buffer, [number // vectors, number % vectors * blocking.lanes])
        rows = builder.min(builder.sub(product.m.size, row), blocking.mr)
        first_row = builder.sub(blocking.mr, rows) if self.overlaps else 0
        columns = builder.min(builder.sub(product.n.size, column), blocking.nr)

        def element(i: SSAValue, j: SSAValue) -> Sequence[SSAValue]:
            value = builder.load(buffer, [builder.add(i, first_row), j])
            if not first:
                total = arith.AddfOp.create(
                    operands=[builder.load(target, [i, j]), value],
                    result_types=[value.type],
                    properties={"fastmath": arith.FastMathFlagsAttr("none")},
                )
                value = builder.insert(total).result
            builder.store(value, target, [i, j])
            return ()

        builder.loop(0, rows, lambda i, _: builder.loop(0, columns, lambda j, _: element(i, j), attributes=PARALLEL))
