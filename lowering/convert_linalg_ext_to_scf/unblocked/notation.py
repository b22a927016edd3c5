"""
The notation of dense linear algebra: real or complex numbers, and views of matrices and vectors in one buffer.

    with code.loop(0, n) as i:
        a[i, j] = a[i, j] - factor * b[i]

All matrices of a routine are in one buffer of real numbers, so that views of any of them may overlap; complex ones are
pairs. Integers are kept there as floats.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type, i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from ....dialects.support.buffers import memref_type
from ....dialects.support.scalar import Operand, Scalar, scalar_attr
from ...loop_nests.kernel_builder import Index, IndexValue
from ...loop_nests.loop_builder import PARALLEL, LoopBuilder


class Number:
    """A number under construction: real if `im` is None. Quotients neither overflow nor underflow on the way."""

    __slots__ = ("im", "re")

    def __init__(self, re: Scalar, im: Scalar | None = None):
        self.re = re
        self.im = im

    @property
    def imaginary(self) -> Scalar:
        return self.re.constant(0.0) if self.im is None else self.im

    def _both(self, other: Number, combine: Callable[[Scalar, Scalar], Scalar]) -> Number:
        if self.im is None and other.im is None:
            return Number(combine(self.re, other.re))
        return Number(combine(self.re, other.re), combine(self.imaginary, other.imaginary))

    def __add__(self, other: Number) -> Number:
        return self._both(other, lambda x, y: x + y)

    def __sub__(self, other: Number) -> Number:
        return self._both(other, lambda x, y: x - y)

    def __neg__(self) -> Number:
        return Number(-self.re, None if self.im is None else -self.im)

    def __mul__(self, other: Number) -> Number:
        if other.im is None:
            return self.scaled(other.re)
        if self.im is None:
            return other.scaled(self.re)
        return Number(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def __truediv__(self, other: Number) -> Number:
        if other.im is None:
            return Number(self.re / other.re, None if self.im is None else self.im / other.re)
        inverse = other.re.constant(1.0) / power_of_two_below(other.size())
        small = other.scaled(inverse)
        product = self * small.conjugate()
        square = small.square()
        return Number(product.re / square, product.imaginary / square).scaled(inverse)

    def scaled(self, factor: Operand) -> Number:
        return Number(self.re * factor, None if self.im is None else self.im * factor)

    def conjugate(self) -> Number:
        return Number(self.re, None if self.im is None else -self.im)

    def square(self) -> Scalar:
        """The square of the absolute value."""
        return self.re * self.re if self.im is None else self.re * self.re + self.im * self.im

    def size(self) -> Scalar:
        """The larger of the absolute values of both parts."""
        return self.re.abs() if self.im is None else larger(self.re.abs(), self.im.abs())

    def length(self) -> Scalar:
        """The absolute value."""
        return self.re.abs() if self.im is None else hypotenuse(self.re, self.im)

    def root(self) -> Number:
        """The square root of a complex number, in the right half-plane."""
        assert self.im is not None
        part = ((self.length() + self.re.abs()) * 0.5).sqrt()
        other = self.im / (part.compare("eq", 0.0).select(1.0, part) * 2.0)
        right = self.re.compare("ge", 0.0)
        side = part.copysign(self.im)
        return Number(right.select(part, other.abs()), right.select(other, side))

    def selected(self, condition: Scalar, other: Number) -> Number:
        """This number where the condition holds, else the other one."""
        if self.im is None and other.im is None:
            return Number(condition.select(self.re, other.re))
        return Number(condition.select(self.re, other.re), condition.select(self.imaginary, other.imaginary))


def larger(x: Scalar, y: Scalar) -> Scalar:
    return x.compare("gt", y).select(x, y)


def smaller(x: Scalar, y: Scalar) -> Scalar:
    return x.compare("lt", y).select(x, y)


def power_of_two_below(x: Scalar) -> Scalar:
    """The power of two that is not above a positive number; 1 for 0, subnormal numbers, infinity and NaN."""
    shift, mask = (52, 0x7FF) if isinstance(x.type, Float64Type) else (23, 0xFF)
    bits = x.bits() & (mask << shift)
    good = bits.compare("ne", 0) & bits.compare("ne", mask << shift)
    return good.select(bits.bitcast(x.type), 1.0)


def hypotenuse(x: Scalar, y: Scalar) -> Scalar:
    """The square root of `x x + y y`, without overflow."""
    scale = power_of_two_below(larger(x.abs(), y.abs()))
    inverse = x.constant(1.0) / scale
    x, y = x * inverse, y * inverse
    return (x * x + y * y).sqrt() * scale


@dataclass(frozen=True)
class Line:
    """A vector: element i is `stride` times i elements after the first, which is `at` elements after the start."""

    code: Code
    at: Index
    stride: Index = 1
    complex: bool = False

    def place(self, i: Index) -> Index:
        return self.at + self.code.index(i) * self.stride * (2 if self.complex else 1)

    def __getitem__(self, i: Index) -> Number:
        return self.code.read(self.place(i), self.complex)

    def __setitem__(self, i: Index, value: Number) -> None:
        self.code.write(value, self.place(i), self.complex)

    def after(self, i: Index) -> Line:
        """The vector from element i on."""
        return replace(self, at=self.place(i))

    def reversed(self, n: Index) -> Line:
        """The vector from its last element, number n - 1, to its first."""
        return replace(self, at=self.place(self.code.index(n) - 1), stride=0 - self.stride)


@dataclass(frozen=True)
class Grid:
    """A matrix: element (i, j) is `i row + j column` elements after the first."""

    code: Code
    at: Index
    row: Index
    column: Index = 1
    complex: bool = False

    def place(self, i: Index, j: Index) -> Index:
        i, j = self.code.index(i), self.code.index(j)
        return self.at + (i * self.row + j * self.column) * (2 if self.complex else 1)

    def __getitem__(self, at: tuple[Index, Index]) -> Number:
        return self.code.read(self.place(*at), self.complex)

    def __setitem__(self, at: tuple[Index, Index], value: Number) -> None:
        self.code.write(value, self.place(*at), self.complex)

    def part(self, i: Index, j: Index) -> Grid:
        """The matrix from row i and column j on."""
        return replace(self, at=self.place(i, j))

    def transposed(self) -> Grid:
        return replace(self, row=self.column, column=self.row)

    def turned(self, n: Index) -> Grid:
        """A square matrix of n rows in reverse order of both."""
        end = self.place(self.code.index(n) - 1, self.code.index(n) - 1)
        return replace(self, at=end, row=0 - self.row, column=0 - self.column)

    def upside_down(self, n: Index) -> Grid:
        """The last of n rows first."""
        return replace(self, at=self.place(self.code.index(n) - 1, 0), row=0 - self.row)

    def line(self, i: Index) -> Line:
        """Row i."""
        return Line(self.code, self.place(i, 0), self.column, self.complex)

    def down(self, j: Index) -> Line:
        """Column j."""
        return Line(self.code, self.place(0, j), self.row, self.complex)


class Variable:
    """A real number of the current function that assignments change."""

    def __init__(self, code: Code, start: Operand):
        self.builder = code.builder
        self.buffer = code.builder.alloca(memref_type((1,), code.element))
        self.set(code.real(start))

    def get(self) -> Scalar:
        return self.builder.on(self.builder.load(self.buffer, [0]))

    def set(self, value: Scalar) -> None:
        self.builder.store(value, self.buffer, [0])


class Counter:
    """An index of the current function that assignments change."""

    def __init__(self, code: Code, start: Index):
        self.builder = code.builder
        self.buffer = code.builder.alloca(memref_type((1,), i64))
        self.set(start)

    def get(self) -> IndexValue:
        return self.builder.to_index(self.builder.load(self.buffer, [0]), unsigned=False)

    def set(self, value: Index) -> None:
        self.builder.store(self.builder.index(value).cast_to(i64), self.buffer, [0])


class Code:
    """Builds the body of a function on one buffer."""

    def __init__(self, builder: LoopBuilder, buffer: SSAValue, element: Attribute, is_complex: bool):
        self.builder = builder
        self.buffer = buffer
        self.element = element
        self.complex = is_complex
        double = isinstance(element, Float64Type)
        self.eps = 2.0**-52 if double else 2.0**-23
        self.tiny = 2.0**-1022 if double else 2.0**-126

    def of_complex(self) -> Code:
        """The same function, for complex numbers."""
        return Code(self.builder, self.buffer, self.element, True)

    # Numbers.

    def index(self, value: Index) -> IndexValue:
        return self.builder.index(value)

    def real(self, value: Operand) -> Scalar:
        if isinstance(value, Scalar):
            return value
        if isinstance(value, SSAValue):
            return self.builder.on(value)
        return self.builder.on(self.builder.scalar(scalar_attr(float(value), self.element)))

    def number(self, value: Operand, imaginary: Operand | None = None) -> Number:
        return Number(self.real(value), None if imaginary is None else self.real(imaginary))

    def float_of(self, index: Index) -> Scalar:
        """An index as a float."""
        return self.builder.on(self.index(index).cast_to(i32)).cast(arith.SIToFPOp, self.element)

    def true(self) -> Scalar:
        return self.builder.on(self.builder.scalar(scalar_attr(1, i1)))

    def negated(self, condition: Scalar) -> Scalar:
        return condition ^ self.true()

    # Memory.

    def read(self, place: Index, is_complex: bool) -> Number:
        parts = [self._part(place), self._part(place + 1)] if is_complex else [self._part(place)]
        return Number(*(self.builder.on(self.builder.load(part, [0])) for part in parts))

    def write(self, value: Number, place: Index, is_complex: bool) -> None:
        self.builder.store(value.re, self._part(place), [0])
        if is_complex:
            self.builder.store(value.imaginary, self._part(place + 1), [0])

    def _part(self, place: Index) -> SSAValue:
        return self.builder.strided_view(self.buffer, place, (1,), (1,))

    def matrix(self, at: Index, row: Index, column: Index = 1, is_complex: bool | None = None) -> Grid:
        return Grid(self, at, row, column, self.complex if is_complex is None else is_complex)

    def vector(self, at: Index, is_complex: bool | None = None) -> Line:
        return Line(self, at, 1, self.complex if is_complex is None else is_complex)

    # Control flow.

    def loop(self, lower: Index, upper: Index) -> AbstractContextManager[IndexValue]:
        return self.builder.loop(lower, upper)

    def independent(self, lower: Index, upper: Index) -> AbstractContextManager[IndexValue]:
        """An innermost loop whose iterations do not depend on each other."""
        return self.builder.loop(lower, upper, attributes=PARALLEL)

    @contextmanager
    def downwards(self, lower: Index, upper: Index) -> Generator[IndexValue]:
        """From `upper - 1` to `lower`."""
        with self.builder.loop(lower, upper) as turn:
            yield self.index(self.index(upper) - 1 + lower - turn)

    @contextmanager
    def loop_while(self, condition: Callable[[], Scalar]) -> Generator[None]:
        with self.builder.loop_while([]):
            self.builder.go_on_if(condition())
            yield

    def when(self, condition: Scalar) -> AbstractContextManager[object]:
        return self.builder.when(condition)

    def otherwise(self) -> AbstractContextManager[None]:
        return self.builder.otherwise()

    def total(self, lower: Index, upper: Index, term: Callable[[IndexValue], Number]) -> Number:
        """The sum of terms, in order."""
        first = self.number(0.0, 0.0 if self.complex else None)
        start = [part.value for part in (first.re, first.im) if part is not None]
        with self.builder.loop(lower, upper, carry=start) as (i, state):
            found = Number(*map(self.builder.on, state)) + term(i)
            self.builder.yield_(*(part for part in (found.re, found.im)[: len(start)] if part is not None))
        return Number(*map(self.builder.on, state))

    def real_total(self, lower: Index, upper: Index, term: Callable[[IndexValue], Scalar]) -> Scalar:
        with self.builder.loop(lower, upper, carry=[self.real(0.0)]) as (i, state):
            self.builder.yield_(self.builder.on(state[0]) + term(i))
        return self.builder.on(state[0])

    def largest(self, lower: Index, upper: Index, term: Callable[[IndexValue], Scalar]) -> Scalar:
        """The largest of terms that are not negative; NaN does not count."""
        with self.builder.loop(lower, upper, carry=[self.real(0.0)]) as (i, state):
            self.builder.yield_(larger(term(i), self.builder.on(state[0])))
        return self.builder.on(state[0])

    def norm(self, line: Line, count: Index) -> Scalar:
        """The Euclidean norm of a vector, without overflow."""
        scale = power_of_two_below(self.largest(0, count, lambda i: line[i].size()))
        inverse = self.real(1.0) / scale
        return self.real_total(0, count, lambda i: line[i].scaled(inverse).square()).sqrt() * scale

    def copy(self, source: Line, target: Line, count: Index) -> None:
        with self.independent(0, count) as i:
            target[i] = source[i]

    def clear(self, at: Index, count: Index) -> None:
        """Zeros in an area of `count` numbers."""
        line, zero = self.vector(at), self.number(0.0)
        with self.independent(0, count) as i:
            line[i] = zero

    def identity(self, q: Grid, rows: Index, columns: Index) -> None:
        zero, one = self.number(0.0), self.number(1.0)
        with self.loop(0, rows) as i, self.independent(0, columns) as j:
            q[i, j] = one.selected(i.compare("eq", j), zero)


def scale_of(code: Code, a: Grid, m: IndexValue, n: IndexValue, keep: IndexValue) -> Number:
    """The inverse of a power of two near the largest element, which is kept in an area: elements become about 1."""
    size = power_of_two_below(code.largest(0, m, lambda i: code.largest(0, n, lambda j: a[i, j].size())))
    code.vector(keep, False)[0] = Number(size)
    return Number(code.real(1.0) / size)


def scaled(code: Code, a: Grid, rows: Index, columns: Index, factor: Number) -> None:
    with code.loop(0, rows) as i, code.independent(0, columns) as j:
        a[i, j] = a[i, j] * factor
