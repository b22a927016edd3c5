"""The jobs of LAPACK's routines for systems: potrf, getrf, trsm, gtsv."""

from __future__ import annotations

from ...loop_nests.kernel_builder import IndexValue
from ..cholesky_rows import Triangle
from ..fourier_passes import Vectors
from ..fourier_plan import lanes_of
from .job import Job
from .notation import Code, Grid
from .systems import cholesky, cholesky_by_rows, lu, solve_triangle, tridiagonal_system

MOST_SHORT = 20
"""The longest rows whose products cost less than whole vectors, some of whose lanes idle."""

_TRANSPOSITIONS = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}


def potrf(job: Job) -> None:
    n, lower = job.core[-1], job.letter("uplo") == "L"
    suffix = "lower" if lower else "upper"
    a, info = job.load(0), job.space(1, False)
    lanes = lanes_of(job.call.operands[0].dtype.itemsize * (4 if job.complex else 8))

    def matrix(code: Code, a: IndexValue, n: IndexValue) -> Grid:
        # The conjugate of the matrix has the conjugate of the factor, and the upper triangle is its lower one.
        return code.matrix(a, n) if lower else code.matrix(a, n).transposed()

    def emit(code: Code, a: IndexValue, info: IndexValue, n: IndexValue) -> None:
        cholesky(code, matrix(code, a, n), n, code.vector(info, False))

    def emit_rows(code: Code, a: IndexValue, info: IndexValue, at: IndexValue, n: IndexValue, row: IndexValue) -> None:
        vectors, imaginary = Vectors(code.builder, code.element, lanes), code.index(n * row) if code.complex else None
        triangle = Triangle(vectors, code.buffer, at, n, row, imaginary)
        cholesky_by_rows(code, matrix(code, a, n), triangle, code.vector(info, False))

    if n <= MOST_SHORT:
        job.run(f"cholesky_{suffix}", emit, (a, info), (n,))
    else:
        row = -(-n // lanes) * lanes
        job.run(f"cholesky_rows_{suffix}", emit_rows, (a, info, job.space(n * row)), (n, row))
    job.store(a, 0)
    job.store(info, 1)


def _lu(code: Code, a: IndexValue, pivots: IndexValue, info: IndexValue, m: IndexValue, n: IndexValue) -> None:
    lu(code, code.matrix(a, n), m, n, code.vector(pivots, False), code.vector(info, False))


def getrf(job: Job) -> None:
    m, n = job.core
    a, pivots, info = job.load(0), job.space(min(m, n), False), job.space(1, False)
    job.run("lu", _lu, (a, pivots, info), (m, n))
    for result, area in enumerate((a, pivots, info)):
        job.store(area, result)


def trsm(job: Job) -> None:
    if "left_side" in job.call.attributes:
        left, lower, unit = (bool(job.flag(name)) for name in ("left_side", "lower", "unit_diagonal"))
        letter = _TRANSPOSITIONS[job.flag("transpose_a")]
    else:
        left, lower, unit = job.letter("side") == "L", job.letter("uplo") == "L", job.letter("diag") == "U"
        letter = job.letter("trans_x")
    rows, columns = job.call.operands[1].shape[-2:]
    n, k = (rows, columns) if left else (columns, rows)
    a, x = job.load(0), job.load(1)
    # x op(a) = b is op(a)^T x^T = b^T.
    swapped = (letter != "N") == left

    def emit(code: Code, a: IndexValue, x: IndexValue, n: IndexValue, k: IndexValue) -> None:
        matrix = code.matrix(a, n).transposed() if swapped else code.matrix(a, n)
        sides = code.matrix(x, k) if left else code.matrix(x, n).transposed()
        if lower == swapped:  # an upper system, from its end
            matrix, sides = matrix.turned(n), sides.upside_down(n)
        solve_triangle(code, matrix, sides, n, k, unit, letter == "C")

    flags = "".join(str(int(flag)) for flag in (left, lower, unit))
    job.run(f"triangle_{flags}{letter}", emit, (a, x), (n, k))
    job.store(x, 0)


def gtsv(job: Job) -> None:
    n, k = job.call.operands[3].shape[-2:]
    areas = [job.load(index) for index in range(4)]
    info = job.space(1, False)
    job.run("tridiagonal_system", _gtsv, (*areas, info), (n, k))
    for result, area in enumerate((*areas, info)):
        job.store(area, result)


def _gtsv(code: Code, *places: IndexValue) -> None:
    lower, d, upper, x, info, n, k = places
    # The first element of the lower diagonal is not one of the matrix.
    lines = code.vector(lower).after(1), code.vector(d), code.vector(upper)
    tridiagonal_system(code, *lines, code.matrix(x, k), n, k, code.vector(info, False))
