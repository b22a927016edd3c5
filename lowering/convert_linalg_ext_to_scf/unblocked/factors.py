"""The jobs of LAPACK's routines for systems: potrf, getrf, trsm, gtsv."""

from __future__ import annotations

from ...loop_nests.kernel_builder import IndexValue
from .job import Job
from .notation import Code
from .systems import cholesky, lu, solve_triangle, tridiagonal_system

_TRANSPOSITIONS = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}


def potrf(job: Job) -> None:
    n, lower = job.core[-1], job.letter("uplo") == "L"
    a, info = job.load(0), job.space(1, False)

    def emit(code: Code, a: IndexValue, info: IndexValue, n: IndexValue) -> None:
        # The conjugate of the matrix has the conjugate of the factor, and the upper triangle is its lower one.
        given = code.matrix(a, n) if lower else code.matrix(a, n).transposed()
        cholesky(code, given, n, code.vector(info, False))

    job.run(f"cholesky_{'lower' if lower else 'upper'}", emit, (a, info), (n,))
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
