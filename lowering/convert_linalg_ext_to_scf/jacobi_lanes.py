"""
Eigenvalues and singular values of many small matrices, without vectors, one matrix in each lane, by Jacobi rotations.

All lanes take the same rotations in the same order; one that a lane does not need has the angle 0 there, so that its
numbers stay. Sweeps end when no lane needs a rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import Float64Type, i32
from xdsl.ir import SSAValue

from ...dialects.linalg_ext.calls import UnblockedOp
from ...dialects.linalg_ext.window import shape_of
from ...dialects.support.attributes import integer_attr
from ...hlo_dialect.custom_calls.call import CustomCall
from ...hlo_dialect.custom_calls.lapack import NOT_FINITE, letter
from ..loop_nests.kernel_builder import Index, IndexValue
from ..loop_nests.loop_builder import LoopBuilder
from .cholesky_rows import root_of
from .fourier_passes import Vec, Vectors
from .matrices import MatrixFunctions, compared, divided, selected, size_of

MOST_ROWS = {4: 24, 8: 16}
"""
The most rows, or columns, whichever are fewer, by the bytes of an element: Jacobi's method needs several times the
operations of LAPACK's, and vectors of 256 bits should still win.
"""

MOST_ELEMENTS = {4: 800, 8: 300}
"""The most elements of a matrix of which singular values are computed."""

MOST_SWEEPS = 30


def fits(call: CustomCall) -> bool:
    """Whether a call is one of eigenvalues, or of singular values, without vectors, of many small real matrices."""
    if call.target not in SPECTRA:
        return False
    (*batch, rows, columns), size = call.operands[0].shape, call.operands[0].dtype.itemsize
    if 0 in (*batch, rows, columns) or min(rows, columns) > MOST_ROWS[size]:
        return False
    return letter(call, "mode") == "N" and ("syevd" in call.target or rows * columns <= MOST_ELEMENTS[size])


SPECTRA = frozenset(f"lapack_{type_}{name}_ffi" for type_ in "sd" for name in ("syevd", "gesdd", "gesvd"))
"""LAPACK's routines that have these loops."""


@dataclass(frozen=True)
class _Lanes:
    """Matrices in a buffer: an element is a vector; places are counted in vectors."""

    vectors: Vectors
    buffer: SSAValue

    def __getitem__(self, place: Index) -> Vec:
        return self.vectors.load(self.buffer, self.vectors.builder.index(place) * self.vectors.lanes)

    def __setitem__(self, place: Index, value: Vec) -> None:
        self.vectors.store(value, self.buffer, self.vectors.builder.index(place) * self.vectors.lanes)

    @property
    def builder(self) -> LoopBuilder:
        return self.vectors.builder

    def constant(self, value: float) -> Vec:
        return self.vectors.constant(value)

    @property
    def eps(self) -> float:
        return 2.0**-52 if isinstance(self.vectors.element, Float64Type) else 2.0**-23

    def folded(
        self, low: Index, high: Index, start: list[Vec], step: Callable[[IndexValue, list[Vec]], list[Vec]]
    ) -> list[Vec]:
        """Values that a loop carries."""
        with self.builder.loop(low, high, carry=[value.value for value in start]) as (i, state):
            following = step(i, [Vec(self.vectors, value) for value in state])
            self.builder.yield_(*(value.value for value in following))
        return [Vec(self.vectors, value) for value in state]

    def normalize(self, at: Index, count: Index, scale: Index) -> None:
        """Divide the numbers from `at` by the largest, which is kept; one that is not finite makes all NaN."""

        def step(i: IndexValue, state: list[Vec]) -> list[Vec]:
            value = self[at + i]
            size = size_of(value)
            return [selected(compared("gt", size, state[0]), size, state[0]), state[1] + (value - value)]

        zero, one = self.constant(0.0), self.constant(1.0)
        most, spoiled = self.folded(0, count, [zero, zero], step)
        most = selected(compared("gt", most, zero), most, one) + spoiled
        self[scale] = most
        with self.builder.loop(0, count) as i:
            self[at + i] = divided(self[at + i], most)

    def sweeps(self, n: Index, count: Index, rotate: Callable[[IndexValue, IndexValue], SSAValue]) -> None:
        """
        Rotate all pairs of n numbers until no lane needs it; `rotate` returns which lanes did. `count`: a place for a
        vector.
        """
        builder, vectors = self.builder, self.vectors
        zero, one = self.constant(0.0), self.constant(1.0)
        whole = builder.index(MOST_SWEEPS)
        with builder.loop_while([builder.index(0), builder.index(1)]) as state:
            sweep, needed = (builder.index(value) for value in state)
            builder.go_on_if(needed.compare("ne", 0) & (sweep < whole))
            sweep = builder.index(state[0])
            self[count] = zero
            with builder.loop(0, n - 1) as p, builder.loop(p + 1, n) as q:
                turned = rotate(p, q)
                self[count] = selected(turned, one, self[count])
            start = builder.index(count) * vectors.lanes
            with builder.loop(0, vectors.lanes, carry=[builder.index(0)]) as (lane, found):
                some = builder.on(vectors.element_at(self.buffer, start + lane)).compare("ne", 0.0)
                builder.yield_(builder.select(some, 1, builder.index(found[0])))
            builder.yield_(builder.index(sweep + 1), builder.index(found[0]))

    def order(self, at: Index, n: Index, descending: bool) -> None:
        """Sort n numbers."""
        with self.builder.loop(0, n - 1) as i, self.builder.loop(i + 1, n) as j:
            x, y = self[at + i], self[at + j]
            wrong = compared("gt", y, x) if descending else compared("gt", x, y)
            self[at + i], self[at + j] = selected(wrong, y, x), selected(wrong, x, y)


def _angle(lanes: _Lanes, difference: Vec, twice: Vec, needed: SSAValue) -> tuple[Vec, Vec, Vec]:
    """Tangent, cosine and sine of the smaller angle whose doubled cotangent is a quotient; 0 where it is not needed."""
    zero, one = lanes.constant(0.0), lanes.constant(1.0)
    theta = divided(difference, selected(needed, twice, one))
    size = size_of(theta)
    tangent = divided(one, size + root_of(one.plus_product(theta, theta)))
    tangent = selected(compared("gt", zero, theta), -tangent, tangent)
    tangent = selected(needed, tangent, zero)
    cosine = divided(one, root_of(one.plus_product(tangent, tangent)))
    return tangent, cosine, tangent * cosine


def _eigenvalues(lanes: _Lanes, a: IndexValue, d: IndexValue, n: IndexValue) -> None:
    """Eigenvalues, ascending, from `d` on. There is room for two more after them."""
    builder = lanes.builder
    room = builder.index(d + n)
    lanes.normalize(a, n * n, room)
    zero = lanes.constant(0.0)
    # Elements are at most 1; a smaller one changes an eigenvalue by less than its own rounding.
    limit = lanes.constant(lanes.eps / 8)

    def rotate(p: IndexValue, q: IndexValue) -> SSAValue:
        corner = lanes[a + p * n + q]
        first, second = lanes[a + p * n + p], lanes[a + q * n + q]
        needed = compared("gt", size_of(corner), limit)
        t, c, s = _angle(lanes, second - first, corner + corner, needed)
        with builder.loop(0, n) as i:
            x, y = lanes[a + p * n + i], lanes[a + q * n + i]
            left, right = (x * c).plus_product(-s, y), (x * s).plus_product(c, y)
            lanes[a + p * n + i] = left
            lanes[a + i * n + p] = left
            lanes[a + q * n + i] = right
            lanes[a + i * n + q] = right
        lanes[a + p * n + p] = first.plus_product(-t, corner)
        lanes[a + q * n + q] = second.plus_product(t, corner)
        rest = selected(needed, zero, corner)
        lanes[a + p * n + q] = rest
        lanes[a + q * n + p] = rest
        return needed

    lanes.sweeps(n, room + 1, rotate)
    scale = lanes[room]
    with builder.loop(0, n) as i:
        lanes[d + i] = lanes[a + i * (n + 1)] * scale
    lanes.order(d, n, False)


def _singular_values(
    lanes: _Lanes, a: IndexValue, s: IndexValue, row: IndexValue, column: IndexValue, m: IndexValue, n: IndexValue
) -> None:
    """Singular values, descending, of m rows and n columns, m >= n, whose elements are these strides apart."""
    builder = lanes.builder
    room = builder.index(s + n)
    lanes.normalize(a, m * n, room)
    zero = lanes.constant(0.0)
    floor = lanes.constant(lanes.eps * lanes.eps * lanes.eps)
    eps = lanes.constant(4 * lanes.eps)

    def rotate(p: IndexValue, q: IndexValue) -> SSAValue:
        def at(i: IndexValue, j: IndexValue) -> Vec:
            return lanes[a + i * row + j * column]

        def step(i: IndexValue, state: list[Vec]) -> list[Vec]:
            x, y = at(i, p), at(i, q)
            return [state[0].plus_product(x, x), state[1].plus_product(y, y), state[2].plus_product(x, y)]

        alpha, beta, gamma = lanes.folded(0, m, [zero, zero, zero], step)
        limit = root_of(alpha) * root_of(beta) * eps
        limit = selected(compared("gt", limit, floor), limit, floor)
        needed = compared("gt", size_of(gamma), limit)
        _, c, s_ = _angle(lanes, beta - alpha, gamma + gamma, needed)
        with builder.loop(0, m) as i:
            x, y = at(i, p), at(i, q)
            lanes[a + i * row + p * column] = (x * c).plus_product(-s_, y)
            lanes[a + i * row + q * column] = (x * s_).plus_product(c, y)
        return needed

    lanes.sweeps(n, room + 1, rotate)
    scale = lanes[room]
    with builder.loop(0, n) as j:

        def square(i: IndexValue, state: list[Vec], j: IndexValue = j) -> list[Vec]:
            x = lanes[a + i * row + j * column]
            return [state[0].plus_product(x, x)]

        (total,) = lanes.folded(0, m, [zero], square)
        lanes[s + j] = root_of(total) * scale
    lanes.order(s, n, True)


class Spectra(MatrixFunctions):
    """The loops of one call."""

    def __init__(self, op: UnblockedOp, builder: LoopBuilder, call: CustomCall):
        super().__init__(op, builder)
        self.stated = call

    def emit(self) -> None:
        if "syevd" in self.stated.target:
            self.eigenvalues()
        else:
            self.singular_values()

    def eigenvalues(self) -> None:
        builder, n = self.builder, self.shape[-1]
        lower = letter(self.stated, "uplo") == "L"
        source, (vectors, values, info) = self.flat(self.op.inputs[0]), map(self.flat, self.op.outputs)
        size = n * n

        def emit(inside: Vectors, buffer: Any, at: Any, n: Any) -> None:
            lanes = _Lanes(inside, buffer)
            place = inside.builder.index(at)
            with inside.builder.loop(0, n) as i, inside.builder.loop(0, i) as j:
                own, other = place + i * n + j, place + j * n + i
                if lower:
                    lanes[other] = lanes[own]
                else:
                    lanes[own] = lanes[other]
            _eigenvalues(lanes, place, inside.builder.index(place + n * n), n)

        with self.groups(60 * size * n, (size + n + 2) * self.lanes) as (group, scratch, at):
            self.read(source, size, group, scratch, at)
            self.call(f"eigenvalues_{'lower' if lower else 'upper'}", (scratch, self._place(at), n), emit)
            self.write(vectors, size, group, scratch, at)
            first = builder.index(at + size * self.lanes)
            self.write(values, n, group, scratch, first)
            self.report_numbers(values, n, info, group, 1)

    def singular_values(self) -> None:
        builder, (rows, columns) = self.builder, self.shape[-2:]
        m, n = max(rows, columns), min(rows, columns)
        row, column = (columns, 1) if rows >= columns else (1, columns)
        source, outputs = self.flat(self.op.inputs[0]), [self.flat(output) for output in self.op.outputs]

        def emit(inside: Vectors, buffer: Any, at: Any, s: Any, row: Any, column: Any, m: Any, n: Any) -> None:
            _singular_values(_Lanes(inside, buffer), at, s, row, column, m, n)

        size = m * n
        with self.groups(40 * size * n, (size + n + 2) * self.lanes) as (group, scratch, at):
            self.read(source, size, group, scratch, at)
            place = self._place(at)
            self.call("singular_values", (scratch, place, place + size, row, column, m, n), emit)
            self.write(outputs[0], size, group, scratch, at)
            self.write(outputs[1], n, group, scratch, builder.index(at + size * self.lanes))
            self.report_numbers(outputs[1], n, outputs[4], group, NOT_FINITE)
            zero = builder.on(builder.load(outputs[1], [0])).constant(0.0)
            with builder.loop(*self.matrices_of(group)) as matrix:
                for number in (2, 3):
                    count = shape_of(self.op.outputs[number])[-2] * shape_of(self.op.outputs[number])[-1]
                    with builder.loop(0, count) as k:
                        builder.store(zero, outputs[number], [matrix * count + k])

    def _place(self, at: IndexValue) -> IndexValue:
        return self.builder.index(at // self.lanes)

    def report_numbers(self, values: SSAValue, n: int, info: SSAValue, group: IndexValue, code: int) -> None:
        """0, or the code where the values are NaN; without an attempt they are zeros."""
        builder = self.builder
        with builder.loop(*self.matrices_of(group)) as matrix:
            first = builder.on(builder.load(values, [matrix * n]))
            spoiled = first.compare("uno", first)
            numbers = [builder.on(builder.scalar(integer_attr(number, i32))) for number in (code, 0)]
            builder.store(spoiled.select(*numbers), info, [matrix])
            if code == NOT_FINITE:
                with builder.when(spoiled), builder.loop(0, n) as k:
                    builder.store(first.constant(0.0), values, [matrix * n + k])
