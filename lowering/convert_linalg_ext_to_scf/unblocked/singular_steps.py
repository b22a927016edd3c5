"""The job of gesdd on small real matrices with vectors: bidiagonal form, and LAPACK's steps."""

from __future__ import annotations

from ....hlo_dialect.custom_calls.call import CustomCall
from ....hlo_dialect.custom_calls.lapack import NOT_FINITE, letter
from ...loop_nests.kernel_builder import IndexValue
from .bidiagonal import BidiagonalSteps
from .householder import by_q, from_left, from_right, reflector
from .job import Job, Store
from .notation import Code, Grid, Line, Number, scale_of, scaled
from .rotations import padded
from .symmetric import sort

MOST = 25
"""The most columns of matrices whose vectors LAPACK computes by these steps; it divides larger ones."""


def takes_steps(call: CustomCall) -> bool:
    """
    Whether LAPACK computes singular vectors of these real matrices by bidiagonal form and steps alone: those with many
    more rows than columns begin with QR.
    """
    rows, columns = call.operands[0].shape[-2:]
    if "gesdd" not in call.target or call.operands[0].dtype.kind == "c" or not 1 < columns <= min(rows, MOST):
        return False
    mode = letter(call, "mode")
    return rows < max(columns + 1, int(columns * 11.0 / 6.0)) and (mode == "S" or (mode == "A" and rows == columns))


def gesdd_by_steps(job: Job) -> None:
    m, n = job.core
    row = padded(m)
    given = job.load(0)
    a, u, vt, left, right = (job.space(size) for size in (m * n, n * row, n * row, m * n, n * n))
    tauq, taup, v, w, d, e = (job.space(m) for _ in range(6))
    info, scale = job.space(1), job.space(1)
    job.needs_finite(given, m * n, 4, 0.0, NOT_FINITE)
    job.spoiled[0] = Store(0, given)
    job.run("bidiagonal", _reduce, (given, a, tauq, taup, v, w, d, e, scale), (m, n))
    job.run("singular_steps", _steps, (u, vt, d, e, info, scale), (n, row))
    job.run("singular_vectors", _vectors, (a, tauq, taup, v, u, vt, left, right), (m, n, row))
    for result, area in enumerate((given, d, left, right, info)):
        job.store(area, result)


def _reduce(code: Code, *places: IndexValue) -> None:
    """As LAPACK's gebd2, of a matrix whose elements are about 1."""
    given, a, tauq, taup, v, w, d, e, scale, m, n = places
    source, form = code.matrix(given, n), code.matrix(a, n)
    factor = scale_of(code, source, m, n, scale)
    with code.loop(0, m) as i, code.independent(0, n) as j:
        form[i, j] = source[i, j]
    scaled(code, form, m, n, factor)
    lines = [code.vector(place) for place in (tauq, taup, v, w, d, e)]
    with code.loop(0, n) as i:
        _reduce_one(code, form, i, m, n, lines)


def _reduce_one(code: Code, form: Grid, i: IndexValue, m: IndexValue, n: IndexValue, lines: list[Line]) -> None:
    left, right, v, w, d, e = lines
    rows, columns = code.index(m - i), code.index(n - i - 1)
    d[i], left[i] = reflector(code, form.part(i, i).down(0), rows, v)
    from_left(code, v, left[i], form.part(i, i + 1), rows, columns, w)
    right[i] = code.number(0.0)
    with code.when(columns > 0):
        e[i], right[i] = reflector(code, form.part(i, i + 1).line(0), columns, v)
        from_right(code, v, right[i], form.part(i + 1, i + 1), rows - 1, columns)


def _steps(code: Code, *places: IndexValue) -> None:
    u, vt, d, e, info, scale, n, row = places
    grids = [code.matrix(place, row) for place in (u, vt)]
    for place, grid in zip((u, vt), grids, strict=True):
        code.clear(place, n * row)
        code.identity(grid, n, n)
    values = code.vector(d)
    BidiagonalSteps(code, values, code.vector(e), n, *grids).run(code.vector(info))
    sort(code, values, n, grids, descending=True)
    factor = code.vector(scale)[0].re
    with code.independent(0, n) as k:
        values[k] = Number(values[k].re * factor)


def _vectors(code: Code, *places: IndexValue) -> None:
    """The vectors of the bidiagonal matrix, as rows, times the reflectors of both sides."""
    a, tauq, taup, v, u, vt, left, right, m, n, row = places
    form, room = code.matrix(a, n), code.vector(v)
    first, second = code.matrix(u, row), code.matrix(vt, row)
    by_q(code, form, code.vector(tauq), n, first, n, m, room, adjoint=True)
    along = form.part(0, 1).transposed()
    by_q(code, along, code.vector(taup), code.index(n - 1), second.part(0, 1), n, code.index(n - 1), room, adjoint=True)
    made, found = code.matrix(left, n), code.matrix(right, n)
    with code.loop(0, m) as i, code.loop(0, n) as k:
        made[i, k] = first[k, i]
    with code.loop(0, n) as k, code.independent(0, n) as i:
        found[k, i] = second[k, i]
