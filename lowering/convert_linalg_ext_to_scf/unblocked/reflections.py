"""Loops of QR on real matrices, one at a time: LAPACK's geqrf and orgqr by panels of reflectors."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ....dialects.linalg_ext.calls import UnblockedOp
from ....dialects.linalg_ext.window import shape_of
from ....hlo_dialect.custom_calls.call import CustomCall
from ....hlo_dialect.custom_calls.householder import PRODUCT, QR
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import PARALLEL, LoopBuilder
from ..fourier_passes import Vectors
from ..matrices import MatrixFunctions
from .reflectors import ROOM, Block, Panel

_FACTOR = frozenset(("lapack_sgeqrf_ffi", "lapack_dgeqrf_ffi", QR))
_PRODUCT = frozenset(("lapack_sorgqr_ffi", "lapack_dorgqr_ffi", PRODUCT))


def reflects(call: CustomCall) -> bool:
    """Whether a call is of QR on real matrices, or of the columns of Q."""
    array = call.operands[0]
    return call.target in _FACTOR | _PRODUCT and array.dtype.kind == "f" and 0 not in array.shape


class Reflections(MatrixFunctions):
    """The loops of one call."""

    def __init__(self, op: UnblockedOp, builder: LoopBuilder, call: CustomCall):
        super().__init__(op, builder)
        self.stated = call
        self.rows, self.columns = self.shape[-2:]
        whole = -(-self.columns // self.lanes)
        self.padded = (whole if whole < 4 or whole % 2 else whole + 1) * self.lanes
        """The length of a row of whole vectors; long ones do not begin in the same sets of a cache."""
        self.parts = self.padded // self.lanes

    def emit(self) -> None:
        if self.stated.target in _FACTOR:
            self.factor()
        else:
            self.product()

    def _areas(self) -> tuple[int, list[int]]:
        """The elements of scratch memory, and where the matrix, the vectors, their products and ROOM are in it."""
        sizes = [self.rows * self.padded, self.rows * self.lanes, self.lanes * self.lanes, ROOM * self.lanes]
        return sum(sizes), [sum(sizes[:number]) for number in range(len(sizes))]

    def factor(self) -> None:
        """`geqrf`: R and the reflectors' vectors below it; their factors."""
        builder, (rows, columns), lanes = self.builder, self.shape[-2:], self.lanes
        least = min(rows, columns)
        source, target, factors = map(self.flat, (self.op.inputs[0], *self.op.outputs))
        size, areas = self._areas()
        with self.groups(2 * rows * columns * least // lanes, size, self.count) as (matrix, scratch, at):
            a, v, gram, tau = (builder.index(at + area) for area in areas)
            self._copy(source, matrix, scratch, a, writes=False)
            with builder.loop(0, -(-least // lanes)) as panel:
                first = builder.index(panel * lanes)
                corner, left = a + first * (self.padded + 1), builder.index(rows - first)
                count = builder.min(lanes, builder.index(least - first))
                self.call("reflect_panel", (scratch, corner, self.padded, v, tau, left, count), _reduce)
                noted = builder.strided_view(factors, matrix * least + first, (lanes,), (1,))
                with builder.loop(0, count) as k:
                    builder.store(self._element(scratch, tau + k), noted, [k])
                parts = builder.index(self.parts - 1 - panel)
                with builder.when(parts > 0):
                    self._apply(scratch, (v, gram, left), (tau, corner + lanes, self.padded, parts), forward=True)
            self._copy(target, matrix, scratch, a, writes=True)

    def product(self) -> None:
        """`orgqr`: the first columns of the product of the reflectors."""
        builder, (rows, columns), lanes = self.builder, self.shape[-2:], self.lanes
        count = shape_of(self.op.inputs[1])[-1]
        source, factors, target = map(self.flat, (*self.op.inputs, self.op.outputs[0]))
        size, areas = self._areas()
        panels = -(-count // lanes)
        with self.groups(2 * rows * columns * count // lanes, size, self.count) as (matrix, scratch, at):
            q, v, gram, tau = (builder.index(at + area) for area in areas)
            self.call("identity", (scratch, q, self.padded, rows, columns), _identity)
            with builder.loop(0, panels) as turn:
                first = builder.index((panels - 1 - turn) * lanes)
                left, some = builder.index(rows - first), builder.min(lanes, builder.index(count - first))
                given = (source, matrix * (rows * columns) + first * (columns + 1), columns)
                noted = (factors, matrix * count + first)
                self.call("read_reflectors", (*given, *noted, scratch, v, tau, left, some), _read)
                corner, parts = q + first * (self.padded + 1), builder.index(self.parts - (panels - 1) + turn)
                self._apply(scratch, (v, gram, left), (tau, corner, self.padded, parts), forward=False)
            self._copy(target, matrix, scratch, q, writes=True)

    def _apply(
        self, scratch: SSAValue, block: tuple[Index, Index, Index], rest: tuple[Index, ...], forward: bool
    ) -> None:
        self.call("square_reflectors", (scratch, *block), _square)
        name = "reflect_forward" if forward else "reflect_backward"
        self.call(name, (scratch, *block, *rest), _forward if forward else _backward)

    def _element(self, array: SSAValue, place: Index) -> SSAValue:
        return self.builder.load(self.builder.strided_view(array, place, (1,), (1,)), [0])

    def _copy(self, array: SSAValue, matrix: IndexValue, scratch: SSAValue, at: IndexValue, writes: bool) -> None:
        """Copy a matrix to scratch memory, with zeros after the ends of rows, or from there."""
        builder, (rows, columns), vectors = (
            self.builder,
            self.shape[-2:],
            Vectors(self.builder, self.element, self.lanes),
        )
        outside = builder.strided_view(array, matrix * (rows * columns), (rows, columns), (columns, 1))
        inside = builder.strided_view(scratch, at, (rows, self.padded), (self.padded, 1))
        with builder.loop(0, rows) as i:
            if not writes:
                for part in range(columns // self.lanes, self.parts):
                    vectors.store(vectors.constant(0.0), scratch, at + i * self.padded + part * self.lanes)
            with builder.loop(0, columns, attributes=PARALLEL) as j:
                read, written = (inside, outside) if writes else (outside, inside)
                builder.store(builder.load(read, [i, j]), written, [i, j])


def _reduce(vectors: Vectors, *given: Any) -> None:
    Panel(vectors, *given).reduce()


def _square(vectors: Vectors, *given: Any) -> None:
    Block(vectors, *given).square()


def _forward(vectors: Vectors, buffer: Any, v: Any, gram: Any, rows: Any, *given: Any) -> None:
    Block(vectors, buffer, v, gram, rows).apply(*given, forward=True)


def _backward(vectors: Vectors, buffer: Any, v: Any, gram: Any, rows: Any, *given: Any) -> None:
    Block(vectors, buffer, v, gram, rows).apply(*given, forward=False)


def _identity(vectors: Vectors, buffer: Any, at: Any, row: Any, rows: Any, columns: Any) -> None:
    """Ones on the diagonal, zeros elsewhere."""
    builder = vectors.builder
    zero = vectors.constant(0.0)
    with builder.loop(0, builder.index(rows * row) // vectors.lanes) as part:
        vectors.store(zero, buffer, at + part * vectors.lanes)
    one = builder.on(vectors.element_at(buffer, at)).constant(1.0)
    with builder.loop(0, builder.min(rows, columns)) as i:
        builder.store(one, builder.strided_view(buffer, at + (row + 1) * i, (1,), (1,)), [0])


def _read(
    vectors: Vectors,
    array: Any,
    begin: Any,
    columns: Any,
    factors: Any,
    noted: Any,
    buffer: Any,
    v: Any,
    tau: Any,
    rows: Any,
    count: Any,
) -> None:
    """A panel's vectors, from below the diagonal of a matrix, and their factors."""
    builder, lanes, zero = vectors.builder, vectors.lanes, vectors.constant(0.0)

    def put(value: Any, place: Index) -> None:
        builder.store(value, builder.strided_view(buffer, place, (1,), (1,)), [0])

    vectors.store(zero, buffer, tau)
    with builder.loop(0, count) as p:
        put(vectors.element_at(factors, noted + p), tau + p)
    with builder.loop(0, rows) as i:
        vectors.store(zero, buffer, v + i * lanes)
        with builder.loop(0, builder.min(i, count), attributes=PARALLEL) as p:
            put(vectors.element_at(array, begin + columns * i + p), v + i * lanes + p)
    one = builder.on(vectors.element_at(buffer, v)).constant(1.0)
    with builder.loop(0, count) as p:
        put(one, v + p * (lanes + 1))
