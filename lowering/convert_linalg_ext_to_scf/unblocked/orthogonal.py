"""The jobs of LAPACK's routines on Householder reflectors: geqrf, geqp3, orgqr, ormqr, gehrd, sytrd."""

from __future__ import annotations

from ...loop_nests.kernel_builder import IndexValue
from .householder import (
    by_q,
    first_columns,
    hessenberg,
    mirror,
    pivoted_qr,
    qr,
    times_adjoint,
    times_q,
    tridiagonal,
)
from .job import Job
from .notation import Code


def _qr(code: Code, a: IndexValue, tau: IndexValue, v: IndexValue, w: IndexValue, m: IndexValue, n: IndexValue) -> None:
    qr(code, code.matrix(a, n), m, n, *map(code.vector, (tau, v, w)))


def geqrf(job: Job) -> None:
    m, n = job.core
    a = job.load(0)
    tau, v, w = job.space(min(m, n)), job.space(m), job.space(n)
    job.run("qr", _qr, (a, tau, v, w), (m, n))
    job.store(a, 0)
    job.store(tau, 1)


def _pivoted(code: Code, *places: IndexValue) -> None:
    a, order, tau, v, w, m, n = places
    pivoted_qr(code, code.matrix(a, n), m, n, code.vector(order, False), *map(code.vector, (tau, v, w)))


def geqp3(job: Job) -> None:
    m, n = job.core
    a, order = job.load(0), job.load(1)
    tau, v, w = job.space(min(m, n)), job.space(m), job.space(n)
    job.run("pivoted_qr", _pivoted, (a, order, tau, v, w), (m, n))
    for result, area in enumerate((a, order, tau)):
        job.store(area, result)


def _first_columns(code: Code, *places: IndexValue) -> None:
    q, tau, v, w, m, n, k = places
    first_columns(code, code.matrix(q, n), m, n, k, *map(code.vector, (tau, v, w)))


def orgqr(job: Job) -> None:
    m, n = job.core
    q, tau = job.load(0), job.load(1)
    v, w = job.space(m), job.space(n)
    job.run("first_columns", _first_columns, (q, tau, v, w), (m, n, job.call.operands[1].shape[-1]))
    job.store(q, 0)


def ormqr(job: Job) -> None:
    rows, columns = job.core
    m, n = job.call.operands[2].shape[-2:]
    left, adjoint = bool(job.flag("left")), bool(job.flag("transpose"))
    vectors, tau, c = job.load(0), job.load(1), job.load(2)
    v, w = job.space(rows), job.space(n)

    def emit(code: Code, *places: IndexValue) -> None:
        vectors, tau, c, v, w, columns, k, m, n = places
        q, t, matrix = code.matrix(vectors, columns), code.vector(tau), code.matrix(c, n)
        if left:
            multiply = times_adjoint if adjoint else times_q
            multiply(code, q, t, k, matrix, m, n, code.vector(v), code.vector(w))
        else:
            by_q(code, q, t, k, matrix, m, n, code.vector(v), adjoint)

    name = f"times_q_{'left' if left else 'right'}{'_adjoint' if adjoint else ''}"
    job.run(name, emit, (vectors, tau, c, v, w), (columns, job.call.operands[1].shape[-1], m, n))
    job.store(c, 0)


def _hessenberg(code: Code, *places: IndexValue) -> None:
    a, tau, v, w, n, low, high = places
    hessenberg(code, code.matrix(a, n), n, low, high, *map(code.vector, (tau, v, w)))


def gehrd(job: Job) -> None:
    n = job.core[-1]
    a = job.load(0)
    tau, v, w = job.space(n), job.space(n), job.space(n)
    job.run("hessenberg", _hessenberg, (a, tau, v, w), (n, int(job.flag("low")) - 1, int(job.flag("high"))))
    job.store(a, 0)
    job.store(tau, 1)
    job.store(None, 2)


def sytrd(job: Job) -> None:
    n, lower = job.core[-1], job.letter("uplo") == "L"
    made = job.load(0)
    whole, tau, v, w = job.space(n * n), job.space(n), job.space(n), job.space(n)
    d, e = job.space(n, False), job.space(n, False)

    def emit(code: Code, *places: IndexValue) -> None:
        made, whole, tau, v, w, d, e, n = places
        a, both = code.matrix(made, n), code.matrix(whole, n)
        diagonal, below, factors = code.vector(d, False), code.vector(e, False), code.vector(tau)
        if not lower:
            # An upper triangle is a lower one from its end.
            a = a.turned(n)
            diagonal, below, factors = diagonal.reversed(n), below.reversed(n - 1), factors.reversed(n - 1)
        mirror(code, a, both, n, code.number(1.0))
        tridiagonal(code, both, n, diagonal, below, factors, a, code.vector(v), code.vector(w))

    name = f"tridiagonal_{'lower' if lower else 'upper'}"
    job.run(name, emit, (made, whole, tau, v, w, d, e), (n,))
    for result, area in enumerate((made, d, e, tau)):
        job.store(area, result)
    job.store(None, 4)
