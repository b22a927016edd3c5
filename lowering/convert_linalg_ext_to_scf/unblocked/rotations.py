"""Rotations of rows of whole vectors."""

from __future__ import annotations

from ....dialects.support.scalar import Scalar, width_of
from ...loop_nests.kernel_builder import IndexValue
from ..fourier_passes import Vectors
from ..fourier_plan import lanes_of
from .job import ALIGNMENT
from .notation import Code, Grid


def padded(n: int) -> int:
    """The elements from one row of vectors to the next."""
    return -(-n // ALIGNMENT) * ALIGNMENT


def turn_rows(code: Code, z: Grid, i: IndexValue, j: IndexValue, c: Scalar, s: Scalar) -> None:
    """`row i, row j = c row i + s row j, c row j - s row i`."""
    vectors = Vectors(code.builder, code.element, lanes_of(width_of(code.element)))
    cosine, sine = vectors.splat(c.value), vectors.splat(s.value)
    parts = code.index(code.index(z.row) * (2 if z.complex else 1)) // vectors.lanes
    first, second = z.place(i, 0), z.place(j, 0)
    with code.loop(0, parts) as part:
        places = [place + part * vectors.lanes for place in (first, second)]
        x, y = (vectors.load(code.buffer, place) for place in places)
        vectors.store((x * cosine).plus_product(y, sine), code.buffer, places[0])
        vectors.store((y * cosine).plus_product(x, -sine), code.buffer, places[1])
