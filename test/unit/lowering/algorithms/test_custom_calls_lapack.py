"""JAX's linear algebra, exported for CPUs: both targets against XLA:CPU, and the products of factors."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo
from hlo_programs import Program
from xhlo.hlo_dialect.custom_calls import batched_calls, lapack_library
from xhlo.hlo_dialect.custom_calls.registry import REGISTRY
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.targets.cpu import build
from xhlo.targets.cpu import lapack as cpu_lapack
from xhlo.targets.cpu.jit import QUICK

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax: Any = pytest.importorskip("jax")
jnp: Any = pytest.importorskip("jax.numpy")
jsl: Any = pytest.importorskip("jax.scipy.linalg")
lax: Any = pytest.importorskip("jax.lax.linalg")


@pytest.fixture(autouse=True)
def wide_types() -> Any:
    with jax.enable_x64(True):
        yield


def numbers(shape: tuple[int, ...], dtype: Any) -> Any:
    rng = np.random.default_rng(len(shape))
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def symmetric(n: int) -> Any:
    x = numbers((n, n), np.float64)
    return x + x.T


def near(actual: Any, expected: Any) -> None:
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(actual, expected)
        return
    tolerance = 1e-4 if expected.dtype in (np.float32, np.complex64) else 1e-10
    size = max(1.0, float(np.max(np.abs(expected), initial=0, where=np.isfinite(expected))))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * size)


def run(function: Callable[..., Any], *arrays: Any) -> tuple[list[Any], list[Any]]:
    """The results of XLA:CPU and of the target cpu, which must equal the reference's."""
    lowered = jax.jit(function).lower(*arrays)
    text = lowered.as_text()
    expected = [np.asarray(value) for value in jax.tree.leaves(lowered.compile()(*arrays))]
    exe = xhlo.compile(text)
    # Small matrices are factored by loops of the program's own.
    kinds = {kernel.kind for kernel in exe.kernels if kernel.target.startswith("lapack_") or kernel.kind == "custom"}
    assert kinds and kinds <= {"library", "custom"} and "lapack_" in text
    compiled = exe(*arrays)
    results = list(compiled) if isinstance(compiled, tuple) else [compiled]
    for ours, meant in zip(results, Program(text).results(*arrays), strict=True):
        near(ours, meant)
    return expected, results


DTYPES = [np.float32, np.complex128]
SHAPES = [(4, 4), (2, 3, 3)]


def positive(shape: tuple[int, ...], dtype: Any) -> Any:
    a = numbers(shape, dtype)
    return a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(shape[-1], dtype=dtype)


EXACT: dict[str, tuple[Callable[..., Any], Callable[[Any], tuple[Any, ...]]]] = {
    "cholesky": (lambda x: jnp.linalg.cholesky(x), lambda t: (positive((2, 4, 4), t),)),
    "cholesky of none": (lambda x: jnp.linalg.cholesky(x), lambda t: (np.zeros((0, 3, 3), t),)),
    "cholesky not positive": (lambda x: jnp.linalg.cholesky(x), lambda t: (-positive((3, 3), t),)),
    "qr": (lambda x: jnp.linalg.qr(x), lambda t: (numbers((5, 3), t),)),
    "qr complete": (lambda x: jnp.linalg.qr(x, mode="complete"), lambda t: (numbers((2, 3, 5), t),)),
    "svd values": (lambda x: jnp.linalg.svd(x, compute_uv=False), lambda t: (numbers((2, 5, 3), t),)),
    "svd of nan": (lambda x: jnp.linalg.svd(x), lambda t: (np.full((3, 3), np.nan, t),)),
    "eigvalsh": (lambda x: jnp.linalg.eigvalsh(x), lambda t: (positive((4, 4), t),)),
    "eigvals": (lambda x: jnp.linalg.eigvals(x), lambda t: (numbers((4, 4), t),)),
    "pinv": (lambda x: jnp.linalg.pinv(x), lambda t: (numbers((5, 3), t),)),
    "lstsq": (lambda x, y: jnp.linalg.lstsq(x, y), lambda t: (numbers((5, 3), t), numbers((5, 2), t))),
    "triangular": (
        lambda a, b: jsl.solve_triangular(a, b, trans=2),
        lambda t: (positive((4, 4), t), numbers((4, 2), t)),
    ),
    "triangular from the right": (
        lambda a, b: lax.triangular_solve(a, b, left_side=False, lower=True, transpose_a=True),
        lambda t: (positive((2, 3, 3), t), numbers((2, 4, 3), t)),
    ),
    "hessenberg": (lambda x: jsl.hessenberg(x, calc_q=True), lambda t: (numbers((4, 4), t),)),
    "tridiagonal": (lambda x: lax.tridiagonal(x), lambda t: (positive((4, 4), t),)),
    "tridiagonal upper": (lambda x: lax.tridiagonal(x, lower=False), lambda t: (positive((2, 4, 4), t),)),
    "tridiagonal solve": (
        lambda dl, d, du, b: lax.tridiagonal_solve(dl, d, du, b),
        lambda t: (
            np.array([0, 1, 1], t),
            np.array([4, 5, 6], t),
            np.array([1, 2, 0], t),
            numbers((3, 2), t),
        ),
    ),
    "householder product": (lax.householder_product, lambda t: (numbers((5, 3), t), numbers((3,), t))),
    "pivoted qr": (lambda x: jsl.qr(x, pivoting=True), lambda t: (numbers((5, 3), t),)),
}


@pytest.mark.long(15)
@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", EXACT)
def test_results_that_are_one(name: str, dtype: Any) -> None:
    function, arguments = EXACT[name]
    expected, results = run(function, *arguments(dtype))
    for ours, theirs in zip(results, expected, strict=True):
        near(ours, theirs)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 3), (3, 0)])
def test_matrices_without_elements(shape: tuple[int, ...]) -> None:
    """Their parts of the workspace have an element, which is not copied to the results."""
    x = np.zeros(shape)
    exe = xhlo.compile(jax.jit(lax.lu).lower(x), guard=True)
    for ours, theirs in zip(exe(x), jax.tree.leaves(lax.lu(x)), strict=True):
        near(ours, np.asarray(theirs))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_multiplication_by_reflectors(dtype: Any) -> None:
    vectors, tau = numbers((5, 3), dtype), numbers((3,), dtype)
    for left, transpose, c in ((True, False, numbers((5, 2), dtype)), (False, True, numbers((2, 5), dtype))):
        expected, results = run(
            lambda v, t, c, left=left, tr=transpose: lax.ormqr(v, t, c, left=left, transpose=tr), vectors, tau, c
        )
        near(results[0], expected[0])


@pytest.mark.long(3)
@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 4)])
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("algorithm", ["DIVIDE_AND_CONQUER", "QR"])
def test_singular_vectors(dtype: Any, shape: tuple[int, ...], full: bool, algorithm: str) -> None:
    """Singular vectors are unique only up to their phases, so their products are compared."""
    if not hasattr(lax.SvdAlgorithm, algorithm):
        algorithm = "DEFAULT"
    chosen = lax.SvdAlgorithm[algorithm]
    x = numbers(shape, dtype)
    expected, (u, s, v) = run(lambda x: lax.svd(x, full_matrices=full, algorithm=chosen), x)
    near(s, expected[1])
    least = min(shape[-2:])
    near((u[..., :least] * s[..., None, :]) @ v[..., :least, :], x)
    near(
        np.conj(np.swapaxes(u, -1, -2)) @ u,
        np.broadcast_to(np.eye(u.shape[-1], dtype=dtype), (*shape[:-2], *u.shape[-1:] * 2)),
    )


@pytest.mark.long(2)
@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_eigenvectors(dtype: Any, shape: tuple[int, ...]) -> None:
    h = positive(shape, dtype)
    for triangle in ("L", "U"):
        expected, (values, vectors) = run(lambda x, triangle=triangle: jnp.linalg.eigh(x, UPLO=triangle), h)
        near(values, expected[0])
        near(h @ vectors, vectors * values[..., None, :].astype(dtype))
    x = numbers(shape, dtype)
    expected, (values, left, right) = run(lambda x: lax.eig(x), x)
    near(values, expected[0])
    near(x.astype(values.dtype) @ right, right * values[..., None, :])
    near(np.conj(np.swapaxes(left, -1, -2)) @ x, values[..., :, None] * np.conj(np.swapaxes(left, -1, -2)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_schur(dtype: Any) -> None:
    x = numbers((4, 4), dtype)
    _, (t, z) = run(lambda x: jsl.schur(x, output="complex" if np.dtype(dtype).kind == "c" else "real"), x)
    near(z @ t @ np.conj(z.T), x)


@pytest.mark.long(3)
@pytest.mark.sample(5)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "function",
    [lax.lu, jnp.linalg.inv, jnp.linalg.det, jnp.linalg.slogdet, jsl.expm, jnp.linalg.solve],
    ids=lambda f: f.__name__,
)
def test_lu_and_what_it_solves(dtype: Any, function: Any) -> None:
    x = numbers((4, 4), dtype)
    arguments = (x, numbers((4, 2), dtype)) if function is jnp.linalg.solve else (x,)
    expected, results = run(function, *arguments)
    for ours, theirs in zip(results, expected, strict=True):
        near(ours, theirs)


def test_every_routine_has_a_check_that_agrees_with_its_function() -> None:
    from xhlo.hlo_dialect.custom_calls.lapack import TARGETS

    assert len({target.name for target in TARGETS}) == len(TARGETS) == 60
    for target in TARGETS:
        assert target.check is not None and target.library


def test_matrices_with_nan_among_a_batch() -> None:
    """Only the results of those matrices contain NaN."""
    x = numbers((6, 4, 4), np.float32)
    x[1, 2, 3], x[4, 0, 0] = np.nan, np.inf
    for function in (lambda x: jnp.linalg.svd(x, compute_uv=False), lambda x: jnp.abs(jnp.linalg.eigvals(x)).sum(-1)):
        expected, results = run(function, x)
        near(results[0], expected[0])
        assert np.isnan(results[0]).reshape(6, -1).any(axis=1).tolist() == [False, True, False, False, True, False]


def test_loops_over_batches_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference runs loops in Python if no function is compiled yet: the same bits."""
    x = numbers((5, 27, 27), np.complex128)
    x = x @ x.conj().swapaxes(1, 2) + 4 * np.eye(27)
    text = jax.jit(lambda x: tuple(jnp.linalg.eigh(x))).lower(x).as_text()
    compiled = xhlo.compile(text)(x)
    monkeypatch.setattr(batched_calls, "_loader", None)
    monkeypatch.setattr(batched_calls, "_loops", {})
    for ours, meant in zip(Program(text).results(x), compiled, strict=True):
        np.testing.assert_array_equal(ours, meant)
    assert not batched_calls._loops


@pytest.mark.long
def test_threads_share_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a batch have workspaces of their own: the same bits as matrix by matrix."""
    x = numbers((37, 9, 7), np.complex64)

    def function(x: Any) -> Any:
        return (*jnp.linalg.svd(x), *jnp.linalg.eigh(x[..., :7, :7]), jnp.linalg.eigvals(x[..., :7, :7]))

    monkeypatch.setattr(batched_calls, "PART", 1)
    text = jax.jit(function).lower(x).as_text()
    decomposed = str(Program(text).after("decompose-hlo{direct-calls=true}").module)
    assert decomposed.count("parts = 37 : i64") == 3
    shared, alone = xhlo.compile(text)(x), xhlo.compile(jax.jit(function).lower(x[0]).as_text())
    for number, matrix in enumerate(x):
        for ours, meant in zip(shared, alone(matrix), strict=True):
            np.testing.assert_array_equal(ours[number], meant)


def test_vectors_that_nothing_reads_are_not_computed() -> None:
    """Eigenvalues and singular values alone, of matrices for which LAPACK is called."""
    x, y = symmetric(40), numbers((3, 30, 30), np.complex128)
    for function, given in ((jnp.linalg.eigvalsh, x), (lambda y: jnp.linalg.svd(y)[1], y)):
        expected, results = run(function, given)
        near(results[0], expected[0])
        text = jax.jit(function).lower(given).as_text()
        assert "mode = 78 : i64" in str(Program(text).after("decompose-hlo{direct-calls=true}").module)


def test_one_matrix_is_factored_without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code calls LAPACK by itself."""
    x = symmetric(70)
    text = jax.jit(lambda x: jnp.linalg.eigh(x)).lower(x).as_text()
    exe = xhlo.compile(text, profile=True)
    (kernel,) = (kernel for kernel in exe.kernels if kernel.library)
    assert kernel.target == "lapack_dsyevd_ffi" and kernel.name.startswith("call_lapack_dsyevd_ffi")
    with monkeypatch.context() as patch:
        patch.setattr(lapack_library, "routine", None)
        near(exe(x)[0], np.linalg.eigh(x)[0])
    near(xhlo.deserialize(exe.serialize())(x)[0], np.linalg.eigh(x)[0])


def test_programs_share_the_loops_around_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM optimizes no code of one call alone."""
    made: list[tuple[list[str], dict[str, str], list[int]]] = []
    compile_units = build.compile_units

    def recorded(texts: Any, shared: Any, timings: Any, levels: Any, known: Any) -> Any:
        made.append((texts, shared, levels))
        return compile_units(texts, shared, timings, levels, known)

    monkeypatch.setattr(build, "compile_units", recorded)
    for size in (74, 75):
        xhlo.compile(jax.jit(lambda x: jnp.linalg.svd(x)[1]).lower(symmetric(size)).as_text())
    loops = [{symbol for symbol in shared if f"@{symbol}(" in texts[-1]} for texts, shared, _ in made]
    assert len(loops[0]) == 2 and loops[0] == loops[1]
    assert all("_dgesdd(" in texts[-1] and levels[-1] == QUICK for texts, _, levels in made)


def test_without_lapack_the_place_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> int:
        raise lapack_library.LapackMissing(f"no {name}")

    text = jax.jit(lambda x: jnp.linalg.eigh(x)).lower(symmetric(72)).as_text()
    monkeypatch.setattr(cpu_lapack, "address_of_routine", missing)
    with pytest.raises(DiagnosticError, match="no dsyevd"):
        xhlo.compile(text)


def test_a_function_that_takes_the_name_of_a_routine_is_called() -> None:
    text = jax.jit(lambda x: jnp.linalg.eigh(x)[0]).lower(symmetric(73)).as_text()
    target = REGISTRY.find("lapack_dsyevd_ffi")
    assert target is not None
    seven = np.full(73, 7.0)
    try:
        xhlo.register_custom_call(
            target.name, lambda call, x: (x, seven, np.zeros((), np.int32)), check=target.check, replace=True
        )
        np.testing.assert_array_equal(xhlo.compile(text)(np.eye(73)), seven)
    finally:
        REGISTRY.add(target, replace=True)


def test_lapack_has_one_thread() -> None:
    """The bits of its results depend on the number, for which the process has one variable."""
    library, x = lapack_library._library(), symmetric(72)
    text = jax.jit(lambda x: jnp.linalg.eigh(x)).lower(x).as_text()
    exe = xhlo.compile(text)
    for run_again in (lambda: exe(x), lambda: Program(text).results(x)):
        library.scipy_openblas_set_num_threads(2)
        run_again()
        assert library.scipy_openblas_get_num_threads() == 1
