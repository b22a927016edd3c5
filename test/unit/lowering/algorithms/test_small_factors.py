"""Factors of small matrices on the CPU: one in each lane of vectors, or rows in vectors, against NumPy."""

from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np

from cpu_programs import on_threads, run, type_of
from hlo_programs import Program


def positive_definite(rng: np.random.Generator, count: int, n: int, dtype: Any) -> Any:
    x = rng.standard_normal((count, n, n))
    return (x @ np.swapaxes(x, -1, -2) + n * np.eye(n)).astype(dtype)


def factor_of(x: Any) -> Any:
    found: Any = cast("Any", np.linalg).cholesky(x.astype(np.result_type(x, np.float64)))
    return found


def text_of(ops: list[str], inputs: list[Any], types: list[str]) -> str:
    parameters = ", ".join(f"%x{number}: {type_of(x)}" for number, x in enumerate(inputs))
    body = "\n".join(f"  %{number} = {op} : {type_}" for number, (op, type_) in enumerate(zip(ops, types, strict=True)))
    names, found = ", ".join(f"%{number}" for number in range(len(ops))), ", ".join(t.split("-> ")[-1] for t in types)
    return f"func.func @main({parameters}) -> ({found}) {{\n{body}\n  return {names} : {found}\n}}"


def test_cholesky() -> None:
    """Few and many matrices of lengths around those of vectors; some are not positive-definite, or hold NaN."""
    rng = np.random.default_rng(0)
    cases = [(1, 1, "f4", True), (2, 17, "f4", False), (17, 6, "f4", True), (20, 9, "f4", False), (9, 5, "f8", True)]
    inputs = [positive_definite(rng, count, n, dtype) for count, n, dtype, _ in cases]
    inputs[2][3, 2, 2], inputs[2][5, 0, 0], inputs[3][19] = -1.0, np.nan, 0.0
    ops = [f"stablehlo.cholesky %x{number}, lower = {str(case[3]).lower()}" for number, case in enumerate(cases)]
    text = text_of(ops, inputs, [type_of(x) for x in inputs])
    decomposed = Program(text).after("decompose-hlo{native-calls=true}")
    assert str(decomposed.module).count("@xhlo.potrf") == len(cases)
    decomposed.same_results(*inputs, rtol=1e-4)
    for (_, n, _, lower), x, got in zip(cases, inputs, run(text, inputs), strict=True):
        bad = np.isnan(got).any(axis=(-2, -1))
        assert np.isnan(got[bad]).all() and bad.sum() == {6: 2, 9: 1}.get(n, 0)
        want = factor_of(x[~bad])
        np.testing.assert_allclose(got[~bad], want if lower else np.swapaxes(want, -1, -2), rtol=1e-4, atol=1e-5 * n)


def test_cholesky_of_long_rows() -> None:
    """Whole and broken panels, vectors and pairs of rows; only one triangle is read, whatever the other holds."""
    rng = np.random.default_rng(5)
    cases = [(1, 65, "f4", True), (1, 128, "f4", False), (2, 83, "f8", True), (1, 97, "f8", False), (3, 72, "f4", True)]
    inputs = [positive_definite(rng, count, n, dtype) for count, n, dtype, _ in cases]
    wanted = [factor_of(x) for x in inputs]
    inputs[4][1, 70, 70] = -1.0
    for (_, n, _, lower), x in zip(cases, inputs, strict=True):
        x[:, (np.triu if lower else np.tril)(np.ones((n, n)), 1 if lower else -1) != 0] = np.nan
    ops = [f"stablehlo.cholesky %x{number}, lower = {str(case[3]).lower()}" for number, case in enumerate(cases)]
    text = text_of(ops, inputs, [type_of(x) for x in inputs])
    decomposed = Program(text).after("decompose-hlo{native-calls=true}")
    assert str(decomposed.module).count("@xhlo.potrf") == len(cases)
    for (_, _, dtype, lower), want, got in zip(cases, wanted, run(text, inputs), strict=True):
        good: Any = ~np.isnan(got).any(axis=(-2, -1))
        assert list(good) == [len(good) != 3 or number != 1 for number in range(len(good))]
        want = want if lower else np.swapaxes(want, -1, -2)
        np.testing.assert_allclose(got[good], want[good], rtol=1e-12 if dtype == "f8" else 1e-4, atol=1e-5)
        assert np.isnan(got[~good]).all()


def test_potrf_keeps_the_other_triangle() -> None:
    """LAPACK's routine returns it as it was, and the number of a pivot that is not positive."""
    x = positive_definite(np.random.default_rng(6), 2, 70, np.float32)
    x[1, 66, 66] = np.nan
    want = factor_of(x[0])
    for letter, keep, triangle in (("L", np.triu, want), ("U", np.tril, want.T)):
        text = f"""func.func @main(%a: {type_of(x)}) -> ({type_of(x)}, tensor<2xi32>) {{
          %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {{mhlo.backend_config = {{uplo = {ord(letter)} : ui8}}}}
            : ({type_of(x)}) -> ({type_of(x)}, tensor<2xi32>)
          return %0#0, %0#1 : {type_of(x)}, tensor<2xi32> }}"""
        assert "@xhlo.potrf" in str(Program(text).after("decompose-hlo{native-calls=true}").module)
        factor, info = run(text, [x])
        offset = 1 if letter == "L" else -1
        np.testing.assert_array_equal(keep(factor[0], offset), keep(x[0], offset))
        np.testing.assert_allclose(factor[0] - keep(factor[0], offset), triangle, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(info, [0, 67])


def test_complex_cholesky() -> None:
    """Products of short rows, and vectors of long ones; one triangle is read and written, up to a bad pivot's number."""
    rng = np.random.default_rng(7)
    for count, n, dtype, letter in ((2, 20, "c8", "L"), (3, 21, "c16", "U"), (2, 43, "c8", "L"), (2, 64, "c16", "U")):
        g: Any = rng.standard_normal((count, n, n)) + 1j * rng.standard_normal((count, n, n))
        x: Any = (g @ np.conj(np.swapaxes(g, -1, -2)) / n + np.eye(n)).astype(dtype)
        kept: Any = np.triu if letter == "L" else np.tril
        offset = 1 if letter == "L" else -1
        want = factor_of(x)
        want = want if letter == "L" else np.conj(np.swapaxes(want, -1, -2))
        other: Any = kept(np.ones((n, n)), offset) != 0
        x[:, other] = np.nan
        x[1, n - 3, n - 3] = -1.0
        x[0, 4, 4] += 3.0j
        element = f"complex<f{int(dtype[1:]) * 4}>"
        tensor = f"tensor<{count}x{n}x{n}x{element}>"
        name = f"lapack_{'c' if dtype == 'c8' else 'z'}potrf_ffi"
        text = f"""func.func @main(%a: {tensor}) -> ({tensor}, tensor<{count}xi32>) {{
          %0:2 = stablehlo.custom_call @{name}(%a) {{mhlo.backend_config = {{uplo = {ord(letter)} : ui8}}}}
            : ({tensor}) -> ({tensor}, tensor<{count}xi32>)
          return %0#0, %0#1 : {tensor}, tensor<{count}xi32> }}"""
        assert "@xhlo.unblocked" in str(Program(text).after("decompose-hlo{native-calls=true}").module)
        factor, info = on_threads(text, x)
        assert np.isnan(factor[:, other]).all()
        triangle: Any = np.where(other, 0, factor)
        tolerance = 1e-5 if dtype == "c8" else 1e-14
        good: Any = np.arange(count) != 1
        np.testing.assert_allclose(triangle[good], want[good], rtol=tolerance, atol=tolerance)
        assert (triangle[0].diagonal().imag == 0).all()
        np.testing.assert_array_equal(info, np.where(good, 0, n - 2))


def test_triangular_solve() -> None:
    """Every side, triangle and transposition, of one system and of many."""
    rng = np.random.default_rng(1)
    inputs: list[Any] = []
    ops: list[str] = []
    types: list[str] = []
    for count, n, k, dtype in ((1, 5, 3, "f4"), (18, 4, 5, "f4"), (5, 3, 1, "f8")):
        a = positive_definite(rng, count, n, dtype)
        for left, lower, transpose in itertools.product((True, False), repeat=3):
            b = rng.standard_normal((count, n, k) if left else (count, k, n)).astype(dtype)
            flags = f"left_side = {left}, lower = {lower}, unit_diagonal = {left is lower}".lower()
            kind = "TRANSPOSE" if transpose else "NO_TRANSPOSE"
            ops.append(
                f'"stablehlo.triangular_solve"(%x{len(inputs)}, %x{len(inputs) + 1}) '
                f"<{{{flags}, transpose_a = #stablehlo<transpose {kind}>}}>"
            )
            types.append(f"({type_of(a)}, {type_of(b)}) -> {type_of(b)}")
            inputs += [a / n if left is lower else a, b]
    text = text_of(ops, inputs, types)
    decomposed = Program(text).after("decompose-hlo{native-calls=true}")
    assert str(decomposed.module).count("@xhlo.trsm") == len(ops)
    decomposed.same_results(*inputs, rtol=1e-3, atol=1e-4)
    for got, want in zip(run(text, inputs), Program(text).results(*inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


def test_lu() -> None:
    """Tall, wide and square matrices; zeros, where no row is divided."""
    rng = np.random.default_rng(2)
    inputs: list[Any] = []
    ops: list[str] = []
    types: list[str] = []
    for count, m, n in ((1, 6, 4), (2, 3, 7), (17, 5, 5), (9, 4, 6)):
        a = rng.standard_normal((count, m, n)).astype(np.float32)
        a[0, :, 1] = 0 if count == 17 else a[0, :, 1]
        info, pivots = np.zeros(count, np.int32), np.zeros((count, min(m, n)), np.int32)
        ops.append(f"stablehlo.custom_call @lapack_sgetrf_ffi(%x{len(inputs)})")
        types.append(f"({type_of(a)}) -> ({type_of(a)}, {type_of(pivots)}, {type_of(info)})")
        inputs.append(a)
    results = ", ".join(types[number].split("-> ")[-1].strip("()") for number in range(len(ops)))
    parameters = ", ".join(f"%x{number}: {type_of(x)}" for number, x in enumerate(inputs))
    pairs = enumerate(zip(ops, types, strict=True))
    body = "\n".join(f"  %{number}:3 = {op} : {type_}" for number, (op, type_) in pairs)
    names = ", ".join(f"%{number}#{part}" for number in range(len(ops)) for part in range(3))
    text = f"func.func @main({parameters}) -> ({results}) {{\n{body}\n  return {names} : {results}\n}}"
    decomposed = Program(text).after("decompose-hlo{native-calls=true}")
    assert str(decomposed.module).count("@xhlo.getrf") == len(ops)
    decomposed.same_results(*inputs, rtol=1e-4, atol=1e-4)
    for got, want in zip(run(text, inputs), Program(text).results(*inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
