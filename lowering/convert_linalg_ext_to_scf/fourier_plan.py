"""
How Fourier transforms are computed: the factors of each length, and the tables of numbers that the loops read.

A *line* is a transform of n elements, done for several lines at once, one in each lane of a vector. Its length is a
product of small primes, or it is a convolution of such a length (Bluestein). A *split* transform of n = a b elements
is b lines of a elements, products with roots of unity, and a lines of b elements (Cooley and Tukey), so that a single
long row fills vectors too.

The plan follows from shapes alone. Its tables are one array, which `convert-hlo-to-linalg` computes in f64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...hlo_dialect.ops.algorithms.fourier import unit_circle

MAX_PRIME = 127
"""The largest prime factor of a line; lengths with larger ones are convolutions."""

OWN_CODE = (2, 3, 4, 5, 8)
"""The radices with code of their own."""

MAX_LINE = 4096
"""The most elements of a line of a row: its planes stay in the second-level cache."""

MAX_COLUMN = 1 << 16
"""The most elements of a line that cannot be split."""

FINE = 256
"""Roots of unity with high exponents are products of two: exponents up to this, and its multiples."""

CONFLICTS = 1.5
"""The cost of lines whose passes read elements that are powers of two apart, which share few sets of a cache."""

LONG_LINE = 128
"""The fewest elements of planes whose distance is chosen by the first-level cache."""

MAX_ROOTS = 1 << 12
"""The longest split rows whose roots of unity are one table."""

Numbers = np.ndarray[Any, np.dtype[np.float64]]


def lanes_of(width: int) -> int:
    """The lines of a group, for elements of `width` bits: 512 bits on any machine, so that plans are the same."""
    return 512 // width


def distance_of_planes(capacity: int) -> int:
    """
    The distance between planes of so many elements, in elements, which are cache lines.

    Passes read and write the four planes of long lines by steps that are often powers of two. Planes a quarter of the
    sets apart (of 64, as in caches of 32 KB and eight ways) leave each other's lines alone.
    """
    return capacity + 1 + (15 - capacity) % 64 if capacity >= LONG_LINE else capacity + 1


def factors_of(n: int) -> tuple[int, ...] | None:
    """Radices whose product is n, 8 and 4 before the primes; None if a prime factor is too large."""
    found: list[int] = []
    rest = n
    while rest % 8 == 0 and rest != 16:
        found.append(8)
        rest //= 8
    for radix in (4, 2, 3, 5):
        while rest % radix == 0:
            found.append(radix)
            rest //= radix
    prime = 7
    while rest > 1 and prime <= MAX_PRIME:
        while rest % prime == 0:
            found.append(prime)
            rest //= prime
        prime += 2
    return tuple(found) if rest == 1 else None


def smooth_length(least: int) -> int:
    """The smallest length from `least`, at least 16, that is 1, 3, 5, 9 or 15 times a power of two."""
    size = 1 << max(4, (least - 1).bit_length())
    candidates = [size, size // 4 * 3, size // 16 * 9, size // 8 * 5, size // 16 * 15]
    return min(n for n in candidates if n >= least)


class Tables:
    """Named segments of one array."""

    def __init__(self) -> None:
        self._offsets: dict[tuple[Any, ...], int] = {}
        self._makers: list[Callable[[], Numbers]] = []
        self.size = 0

    def place(self, key: tuple[Any, ...], size: int, make: Callable[[], Numbers]) -> int:
        """The offset of a segment, which is added if it is new."""
        found = self._offsets.get(key)
        if found is None:
            found = self._offsets[key] = self.size
            self._makers.append(make)
            self.size += size
        return found

    def numbers(self) -> Numbers:
        """The whole array."""
        return np.concatenate([np.zeros(0), *(make() for make in self._makers)])


def roots(numerators: Any, n: int) -> Numbers:
    """cos and sin of `-2 pi numerators / n`, interleaved."""
    return np.stack(unit_circle(numerators, n, -1), -1).reshape(-1)


@dataclass(frozen=True)
class Pass:
    """One radix of a line."""

    radix: int
    before: int
    """The product of the radices before."""
    after: int
    """The product of the radices after it, and the number of roots that each element of the radix has."""
    twiddles: int
    """The offset of those roots, (radix - 1, after) pairs; none are read if `after` is 1."""
    primes: int
    """The offset of the roots w^(j l) of an odd prime radix, for j and l from 1 up to half of it."""


@dataclass(frozen=True)
class Line:
    """A transform of `n` elements."""

    n: int
    passes: tuple[Pass, ...]
    bluestein: Bluestein | None = None

    @property
    def capacity(self) -> int:
        """Elements of the planes in which it is computed."""
        return self.n if self.bluestein is None else self.bluestein.size


@dataclass(frozen=True)
class Bluestein:
    """sum_j x_j w^(j k) is w^(k k / 2) sum_j (x_j w^(j j / 2)) w^(-(k - j)^2 / 2): a convolution of `size` elements."""

    size: int
    passes: tuple[Pass, ...]
    chirp: int
    kernel: int


@dataclass(frozen=True)
class Split:
    """A transform of n = first.n * second.n elements."""

    first: Line
    second: Line
    whole: bool
    """Whether each root is in a table; otherwise it is a product of three."""
    lanes: int
    """
    The offset of w^(k l) for k below first.n and each lane l; of `whole` tables those of the lines of each group, one
    group after the other.
    """
    fine: int
    """The offset of w^e for e below FINE."""
    coarse: int
    """The offset of w^(FINE e)."""

    @property
    def n(self) -> int:
        return self.first.n * self.second.n


@dataclass(frozen=True)
class RowPlan:
    """How the rows of the last dimension are transformed."""

    n: int
    """The real length, or that of complex rows."""
    complex: Line | Split
    """The complex transform: of n elements, or of the n / 2 pairs of a real row."""
    halved: bool
    """Whether a real row is transformed as pairs."""
    real: int
    """
    If halved: the offset of w^k for k up to n / 2, with a split the real parts before the imaginary ones. Or, unless
    `whole`, of w^l for each lane l.
    """
    whole: bool = True
    """Whether each root is in a table."""
    fine: int = 0
    """Unless `whole`: the offset of w^e for e below FINE."""
    coarse: int = 0
    """The same of w^(FINE e)."""


@dataclass(frozen=True)
class Plan:
    """The transform of an array."""

    kind: str
    shape: tuple[int, ...]
    """The shape of the complex arrays; of the real side for RFFT and IRFFT."""
    lengths: tuple[int, ...]
    row: RowPlan
    columns: tuple[Line, ...]
    """The lines of the other dimensions, in order."""
    lanes: int
    tables: Tables = field(compare=False)

    @property
    def is_real(self) -> bool:
        return self.kind in ("RFFT", "IRFFT")

    @property
    def is_inverse(self) -> bool:
        return self.kind in ("IFFT", "IRFFT")

    @property
    def rows(self) -> int:
        """Rows of the last dimension."""
        return math.prod(self.shape[:-1])

    @property
    def width(self) -> int:
        """Complex elements of a row on the complex side."""
        return self.n // 2 + 1 if self.is_real else self.n

    @property
    def n(self) -> int:
        return self.shape[-1]


def plan_of(kind: str, shape: Sequence[int], lengths: Sequence[int], width: int) -> Plan | None:
    """
    The plan for an array of `shape`, the real side's for RFFT and IRFFT; None if there is none.

    `width`: bits of a real number.
    """
    tables, lanes = Tables(), lanes_of(width)
    if 0 in shape:
        return None
    n, rows = shape[-1], math.prod(shape[:-1])
    real = kind in ("RFFT", "IRFFT")
    halved = real and n % 2 == 0
    row = _row(tables, n // 2 if halved else n, rows, lanes, splits=halved or not real)
    columns = [_line(tables, size, MAX_COLUMN) for size in lengths[:-1]]
    if row is None or None in columns:
        return None
    lines = tuple(line for line in columns if line is not None)
    return Plan(kind, tuple(shape), tuple(lengths), _row_plan(tables, n, row, halved, lanes), lines, lanes, tables)


def _row_plan(tables: Tables, n: int, row: Line | Split, halved: bool, lanes: int) -> RowPlan:
    if not halved:
        return RowPlan(n, row, False, 0)
    if isinstance(row, Line):
        return RowPlan(n, row, True, tables.place(("real", n), n + 2, lambda: roots(np.arange(n // 2 + 1), n)))
    whole = n <= MAX_ROOTS
    count = n // 2 + 1 if whole else lanes
    at = tables.place(("real", n), 2 * count, lambda: roots(np.arange(count), n).reshape(-1, 2).T.reshape(-1))
    return RowPlan(n, row, True, at, whole, *((0, 0) if whole else _two_tables(tables, n)))


def _two_tables(tables: Tables, n: int) -> tuple[int, int]:
    """The offsets of w^e for e below FINE, and of w^(FINE e)."""
    high = n // FINE + 1
    fine = tables.place(("fine", n), 2 * FINE, lambda: roots(np.arange(FINE), n))
    return fine, tables.place(("coarse", n), 2 * high, lambda: roots(np.arange(high) * FINE, n))


def _row(tables: Tables, n: int, rows: int, lanes: int, splits: bool) -> Line | Split | None:
    first = split_of(n, rows, lanes) if splits else None
    return _line(tables, n, MAX_COLUMN) if first is None else _split(tables, n, first, lanes)


def split_of(n: int, rows: int, lanes: int) -> int | None:
    """The first of the two factors into which complex rows of n elements are split; None if they are lines."""
    first = _factors_of_split(n, lanes) if n >= 4 * lanes else None
    return first if first is not None and (n > MAX_LINE or _splits_cost_less(n, first, rows, lanes)) else None


def _waste(sides: Sequence[int], lanes: int) -> float:
    """Lines computed per line needed: lanes without a line compute too."""
    return math.prod(-(-side // lanes) * lanes / side for side in sides)


def _splits_cost_less(n: int, first: int, rows: int, lanes: int) -> bool:
    """Whether the rows cost less as splits than as lines, a row in each lane."""
    sides = first, n // first
    alone = rows * _waste(sides, lanes)
    return alone < -(-rows // lanes) * lanes * (CONFLICTS if n % 256 == 0 else 1)


def _factors_of_split(n: int, lanes: int) -> int | None:
    """The first of the two factors of n for which vectors have the fewest idle lanes and which are about equal."""
    best: tuple[float, int] | None = None
    for a in range(2, math.isqrt(n) + 1):
        for first in {a, n // a} if n % a == 0 else ():
            second = n // first
            if max(first, second) > MAX_LINE or factors_of(first) is None or factors_of(second) is None:
                continue
            cost = _waste((first, second), lanes) * (1 + abs(math.log2(first / second)) / 8)
            if best is None or cost < best[0]:
                best = cost, first
    return None if best is None or best[0] > 3 else best[1]


def _split(tables: Tables, n: int, first: int, lanes: int) -> Split:
    one, two = _line(tables, first, MAX_LINE), _line(tables, n // first, MAX_LINE)
    assert one is not None and two is not None
    whole = n <= MAX_ROOTS and two.n % lanes == 0
    lines = two.n if whole else lanes

    def planes() -> Numbers:
        pairs = roots(np.outer(np.arange(first), np.arange(lines)), n).reshape(first, lines // lanes, lanes, 2)
        return pairs.transpose(1, 0, 3, 2).reshape(-1)

    at = tables.place(("lanes", n, first), 2 * first * lines, planes)
    return Split(one, two, whole, at, *((0, 0) if whole else _two_tables(tables, n)))


def _line(tables: Tables, n: int, most: int) -> Line | None:
    factors = factors_of(n)
    if factors is not None:
        return Line(n, _passes(tables, n, factors)) if n <= most else None
    size = smooth_length(2 * n - 1)
    factors = factors_of(size)
    if size > most or factors is None:
        return None

    def chirp() -> Numbers:
        numbers = np.arange(n, dtype=np.int64)
        return roots(numbers * numbers, 2 * n)

    def kernel() -> Numbers:
        pairs = chirp().reshape(n, 2)
        whole = np.zeros(size, np.complex128)
        whole[:n] = pairs[:, 0] - 1j * pairs[:, 1]
        whole[size - n + 1 :] = whole[1:n][::-1]
        spectrum = np.fft.fft(whole) / size
        return np.stack((spectrum.real, spectrum.imag), -1).reshape(-1)

    around = Bluestein(
        size,
        _passes(tables, size, factors),
        tables.place(("chirp", n), 2 * n, chirp),
        tables.place(("kernel", n), 2 * size, kernel),
    )
    return Line(n, (), around)


def _passes(tables: Tables, n: int, factors: Sequence[int]) -> tuple[Pass, ...]:
    found: list[Pass] = []
    before = 1
    for radix in factors:
        after = n // (before * radix)
        found.append(Pass(radix, before, after, *_roots_of_pass(tables, n, radix, before, after)))
        before *= radix
    return tuple(found)


def _roots_of_pass(tables: Tables, n: int, radix: int, before: int, after: int) -> tuple[int, int]:
    def twiddles() -> Numbers:
        return roots(np.outer(np.arange(1, radix), np.arange(after)) * before, n)

    at = tables.place(("pass", n, radix, before), 2 * (radix - 1) * after, twiddles) if after > 1 else 0
    generic = radix not in OWN_CODE
    pairs = np.arange(1, radix // 2 + 1)
    size = 2 * len(pairs) ** 2
    primes = tables.place(("prime", radix), size, lambda: roots(np.outer(pairs, pairs), radix)) if generic else 0
    return at, primes
