"""The jobs of LAPACK's routines for eigenvalues and singular values: syevd, gesdd, geev, gees."""

from __future__ import annotations

import math

from ....hlo_dialect.custom_calls.lapack import NOT_FINITE
from ...loop_nests.kernel_builder import IndexValue
from .eigenvectors import balance, complex_form, eigenvectors, make_conjugates
from .householder import hessenberg, mirror, product_below, qr, tridiagonal
from .job import Job, Store
from .notation import Code, Grid, scale_of, scaled
from .rotations import padded
from .schur import ComplexSteps, RealSteps, SchurSteps
from .singular import LeftVectors, columns_of_r, rotate_all, sorted_norms
from .singular_steps import gesdd_by_steps, takes_steps
from .symmetric import eigenvalues


def syevd(job: Job) -> None:
    """Tridiagonal form, its Q, and implicit steps."""
    n, lower, wanted = job.core[-1], job.letter("uplo") == "L", job.letter("mode") == "V"
    a = job.load(0)
    whole, z, tau, v, w = (job.space(size) for size in (n * n, n * padded(n), n, n, n))
    d, e, info, scale = (job.space(size, False) for size in (n, n, 1, 1))

    def reduce(code: Code, *places: IndexValue) -> None:
        a, whole, z, tau, v, w, d, e, scale, n, row = places
        given, both = code.matrix(a, n), code.matrix(whole, n)
        if lower:
            mirror(code, given, both, n, code.number(1.0))
        else:
            mirror(code, given.transposed(), both.transposed(), n, code.number(1.0))
        scaled(code, both, n, n, scale_of(code, both, n, n, scale))
        diagonal, below = code.vector(d, False), code.vector(e, False)
        factors, room, other = map(code.vector, (tau, v, w))
        tridiagonal(code, both, n, diagonal, below, factors, given, room, other)
        if wanted:
            code.clear(z, n * row)
            product_below(code, given, factors, code.matrix(z, row).transposed(), n, room, other)

    def steps(code: Code, *places: IndexValue) -> None:
        z, a, d, e, info, scale, n, row = places
        rows, diagonal = code.matrix(z, row), code.vector(d, False)
        eigenvalues(code, diagonal, code.vector(e, False), n, rows if wanted else None, code.vector(info, False))
        factor = code.vector(scale, False)[0].re
        with code.independent(0, n) as k:
            diagonal[k] = diagonal[k].scaled(factor)
        if wanted:
            vectors = code.matrix(a, n)
            with code.loop(0, n) as i, code.independent(0, n) as k:
                vectors[i, k] = rows[k, i]

    if n > 1:
        job.needs_finite(a, n * n, 2, math.nan, 1)
    name = f"{'vectors' if wanted else 'values'}_{'lower' if lower else 'upper'}"
    job.run(f"symmetric_{name}", reduce, (a, whole, z, tau, v, w, d, e, scale), (n, padded(n)))
    job.run(f"ql_{'vectors' if wanted else 'values'}", steps, (z, a, d, e, info, scale), (n, padded(n)))
    for result, area in enumerate((a, d, info)):
        job.store(area, result)


def gesdd(job: Job) -> None:
    """QR, rotations of the columns of R, and QR of what they give. A wide matrix is the adjoint of a tall one."""
    if takes_steps(job.call):
        gesdd_by_steps(job)
        return
    wide, wanted = job.core[0] < job.core[1], job.letter("mode") != "N"
    m, n = max(job.core), min(job.core)
    given = job.load(0)
    count = max(job.call.results[2].shape[-1], job.call.results[3].shape[-2]) if wanted else n
    count = m if count > n else n
    a, columns, rows, square, tau, other, v, w, u, vt = (
        job.space(size) for size in (m * n, n * n, n * n, n * n, n, n, m, m, m * count, n * n)
    )
    s, info, scale = (job.space(size, False) for size in (n, 1, 1))

    def rotate(code: Code, *places: IndexValue) -> None:
        given, a, columns, rows, tau, v, w, s, info, scale, m, n = places
        tall = code.matrix(a, n)
        source = code.matrix(given, m).transposed() if wide else code.matrix(given, n)
        _scale_tall(code, source, tall, m, n, scale, wide)
        qr(code, tall, m, n, *map(code.vector, (tau, v, w)))
        grid, vectors = code.matrix(columns, n), code.matrix(rows, n) if wanted else None
        columns_of_r(code, tall, n, grid, vectors)
        rotate_all(code, grid, n, n, vectors, code.vector(info, False))
        back = code.vector(scale, False)[0].re
        sorted_norms(code, grid, n, code.vector(s, False), vectors, back)

    def left(code: Code, *places: IndexValue) -> None:
        """U of the tall matrix, or V of the wide one, as results are stored."""
        a, columns, rows, square, tau, other, v, w, u, vt, m, n, count = places
        lines = [code.vector(line) for line in (tau, other, v, w)]
        made = LeftVectors(code, code.matrix(a, n), lines[0], code.matrix(square, n), *lines[1:])
        target = code.matrix(u, m).transposed() if wide else code.matrix(u, count)
        made.compute(m, n, code.matrix(columns, n), target, count)
        if wide:
            with code.loop(0, count) as k, code.independent(0, m) as i:
                target[i, k] = target[i, k].conjugate()
        _store_other_side(code, code.matrix(rows, n), code.matrix(vt, n), n, wide)

    job.needs_finite(given, m * n, 4, 0.0, NOT_FINITE)
    job.spoiled[0] = Store(0, given)
    kind = f"{'wide' if wide else 'tall'}_{'vectors' if wanted else 'values'}"
    areas = (given, a, columns, rows, tau, v, w, s, info, scale)
    job.run(f"singular_{kind}", rotate, areas, (m, n))
    job.store(given, 0)
    job.store(s, 1)
    job.store(info, 4)
    if wanted:
        both = (a, columns, rows, square, tau, other, v, w, u, vt)
        job.run(f"left_{kind}", left, both, (m, n, count))
        job.store(vt if wide else u, 2)
        job.store(u if wide else vt, 3)
    else:
        job.store(None, 2)
        job.store(None, 3)


def _scale_tall(
    code: Code, source: Grid, tall: Grid, m: IndexValue, n: IndexValue, scale: IndexValue, wide: bool
) -> None:
    """Copy the matrix, or the adjoint of a wide one, with elements of about 1."""
    factor = scale_of(code, source, m, n, scale)
    with code.loop(0, m) as i, code.loop(0, n) as j:
        value = source[i, j].conjugate() if wide else source[i, j]
        tall[i, j] = value * factor


def _store_other_side(code: Code, found: Grid, result: Grid, n: IndexValue, wide: bool) -> None:
    """Store V's adjoint of the tall matrix, or U of the wide one, from its rows."""
    with code.loop(0, n) as k, code.loop(0, n) as i:
        if wide:
            result[i, k] = found[k, i]
        else:
            result[k, i] = found[k, i].conjugate()


class _Schur:
    """The Schur form of a job's matrix, and what is common to gees and geev."""

    def __init__(self, job: Job, whole: bool, vectors: bool, balanced: bool):
        self.job = job
        self.whole = whole
        self.vectors = vectors
        self.balanced = balanced
        n = job.core[-1]
        self.n = n
        self.given = job.load(0)
        self.h, self.z = job.space((n + 1) * (n + 1)), job.space((n + 1) * (n + 1))
        self.tau, self.v, self.w = job.space(n), job.space(n + 6), job.space(n)
        self.re, self.im = job.space(n), job.space(n)
        self.scales, self.info, self.scale = job.space(n, False), job.space(1, False), job.space(1, False)

    def run(self) -> None:
        kind = f"{'whole' if self.whole else 'values'}{'_vectors' if self.vectors else ''}"
        areas = (self.given, self.h, self.z, self.tau, self.v, self.w, self.scales, self.scale)
        self.job.run(f"hessenberg_{kind}{'_balanced' if self.balanced else ''}", self._reduce, areas, (self.n,))
        steps = (self.h, self.z, self.v, self.re, self.im, self.info, self.scale)
        self.job.run(f"schur_{kind}", self._steps, steps, (self.n,))

    def _reduce(
        self,
        code: Code,
        given: IndexValue,
        h: IndexValue,
        z: IndexValue,
        tau: IndexValue,
        v: IndexValue,
        w: IndexValue,
        scales: IndexValue,
        scale: IndexValue,
        n: IndexValue,
    ) -> None:
        a, padded = code.matrix(given, n), code.index(n + 1)
        form, vectors = code.matrix(h, padded), code.matrix(z, padded)
        scaled(code, a, n, n, scale_of(code, a, n, n, scale))
        if self.balanced:
            balance(code, a, n, code.vector(scales, False))
        zero = code.number(0.0)
        with code.loop(0, padded) as i, code.independent(0, padded) as j:
            form[i, j] = zero
            vectors[i, j] = zero
        with code.loop(0, n) as i, code.independent(0, n) as j:
            form[i, j] = a[i, j]
        factors, room, other = map(code.vector, (tau, v, w))
        hessenberg(code, form, n, code.index(0), n, factors, room, other)
        if self.vectors:
            product_below(code, form, factors, vectors.transposed(), n, room, other)
        else:
            with code.loop(2, n) as i, code.independent(0, i - 1) as j:
                form[i, j] = zero

    def _steps(
        self,
        code: Code,
        h: IndexValue,
        z: IndexValue,
        v: IndexValue,
        re: IndexValue,
        im: IndexValue,
        info: IndexValue,
        scale: IndexValue,
        n: IndexValue,
    ) -> None:
        padded = code.index(n + 1)
        form, vectors = code.matrix(h, padded), code.matrix(z, padded) if self.vectors else None
        values, parts, room = code.vector(re), code.vector(im), code.vector(v)
        steps: SchurSteps
        if code.complex:
            steps = ComplexSteps(code, form, n, vectors, room, self.whole)
        else:
            steps = RealSteps(code, form, n, vectors, room, values, parts, self.whole)
        steps.run(code.vector(info, False))
        factor = code.vector(scale, False)[0]
        if code.complex:
            with code.loop(0, n) as k:
                values[k] = form[k, k] * factor
        else:
            with code.loop(0, n) as k:
                values[k] = values[k] * factor
                parts[k] = parts[k] * factor


def geev(job: Job) -> None:
    left, right = job.letter("compute_left") == "V", job.letter("compute_right") == "V"
    schur = _Schur(job, whole=left or right, vectors=left or right, balanced=True)
    n, first = schur.n, 1 if job.complex else 2
    job.needs_finite(schur.given, n * n, first + 2, 0.0, NOT_FINITE)
    schur.run()
    t = schur.h if job.complex else job.space((n + 1) * (n + 1), True)
    z = schur.z if job.complex else job.space((n + 1) * (n + 1), True)
    x = job.space(n, True)
    if not job.complex and (left or right):
        job.run("complex_form", _complex_form, (schur.h, schur.z, schur.im, t, z), (n,))
    for number, (wanted, name) in enumerate(((left, "left"), (right, "right")), first):
        if not wanted:
            job.store(None, number)
            continue
        found = job.space(n * n, True)
        emit = _left_vectors if name == "left" else _right_vectors
        job.run(f"{name}_eigenvectors", emit, (t, z, found, x, schur.scales, schur.im), (n,))
        job.store(found, number)
    job.store(schur.re, 0)
    if not job.complex:
        job.store(schur.im, 1)
    job.store(schur.info, first + 2)


def _complex_form(
    code: Code, h: IndexValue, z: IndexValue, im: IndexValue, t: IndexValue, made: IndexValue, n: IndexValue
) -> None:
    padded = code.index(n + 1)
    targets = [code.matrix(place, padded, 1, True) for place in (t, made)]
    for source, target in zip((h, z), targets, strict=True):
        given = code.matrix(source, padded)
        with code.loop(0, n) as i, code.loop(0, n) as j:
            target[i, j] = given[i, j]
    complex_form(code.of_complex(), targets[0], targets[1], n, code.vector(im))


def _vectors(code: Code, places: list[IndexValue], n: IndexValue, left: bool) -> None:
    t, z, found, x, scales, im = places
    padded, inner = code.index(n + 1), code.of_complex()
    form, vectors = (inner.matrix(place, padded) for place in (t, z))
    made, factors = inner.matrix(found, n), inner.vector(scales, False)
    eigenvectors(inner, form, vectors.transposed(), n, made, inner.vector(x), factors, left)
    if not code.complex:
        make_conjugates(inner, made, n, inner.vector(im, False))


def _left_vectors(code: Code, *given: IndexValue) -> None:
    _vectors(code, list(given[:-1]), given[-1], True)


def _right_vectors(code: Code, *given: IndexValue) -> None:
    _vectors(code, list(given[:-1]), given[-1], False)


def gees(job: Job) -> None:
    wanted = job.letter("mode") == "V"
    schur = _Schur(job, whole=True, vectors=wanted, balanced=False)
    n, count = schur.n, 1 if job.complex else 2
    job.needs_finite(schur.given, n * n, 3 + count, math.nan, 1)
    job.spoiled[2 + count] = Store(2 + count, None, 0.0)
    schur.run()
    form, vectors = job.space(n * n), job.space(n * n)
    job.run("schur_results", _schur_results, (schur.h, schur.z, schur.scale, form, vectors), (n,))
    job.store(form, 0)
    job.store(vectors if wanted else None, 1)
    job.store(schur.re, 2)
    if not job.complex:
        job.store(schur.im, 3)
    job.store(None, 2 + count)
    job.store(schur.info, 3 + count)


def _schur_results(code: Code, *places: IndexValue) -> None:
    h, z, scale, form, vectors, n = places
    padded, factor = code.index(n + 1), code.vector(scale, False)[0]
    t, q, made, found = code.matrix(h, padded), code.matrix(z, padded), code.matrix(form, n), code.matrix(vectors, n)
    with code.loop(0, n) as i, code.loop(0, n) as j:
        made[i, j] = t[i, j] * factor
        found[i, j] = q[j, i]
