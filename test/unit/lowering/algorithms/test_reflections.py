"""QR of real matrices by panels of reflectors, and what uses it, against NumPy and definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from hlo_programs import Program
from test_ahead_lapack import A, N, S, program
from test_ahead_unblocked import Call, adjoint, near

DTYPES = {"f32": np.float32, "f64": np.float64}


def letter(element: str) -> str:
    return "s" if element == "f32" else "d"


def qr_of(shape: tuple[int, ...], element: str) -> Any:
    """An executable from matrices to LAPACK's factors, their factors tau, and the first columns of Q."""
    *batch, m, n = shape
    k = min(m, n)

    def t(*core: int) -> str:
        return f"tensor<{'x'.join([*map(str, (*batch, *core)), element])}>"

    slices = ", ".join(f"0:{size}" for size in (*batch, m, k))
    return xhlo.compile(f"""
func.func @main(%a: {t(m, n)}) -> ({t(m, n)}, {t(k)}, {t(m, k)}) {{
  %0:2 = stablehlo.custom_call @lapack_{letter(element)}geqrf_ffi(%a) : ({t(m, n)}) -> ({t(m, n)}, {t(k)})
  %1 = stablehlo.slice %0#0 [{slices}] : ({t(m, n)}) -> {t(m, k)}
  %2 = stablehlo.custom_call @lapack_{letter(element)}orgqr_ffi(%1, %0#1) : ({t(m, k)}, {t(k)}) -> {t(m, k)}
  return %0#0, %0#1, %2 : {t(m, n)}, {t(k)}, {t(m, k)}
}}""")


def kinds(shape: tuple[int, ...], dtype: Any) -> list[Any]:
    """Random, zero, of rank 2, near the largest and smallest numbers, with columns of very different sizes."""
    rng = np.random.default_rng(sum(shape))
    x: Any = rng.standard_normal(shape)
    low: Any = rng.standard_normal((*shape[:-1], 2)) @ rng.standard_normal((*shape[:-2], 2, shape[-1]))
    far = 36 if dtype == np.float32 else 290
    sizes = 10.0 ** -np.linspace(0, far * 0.8, shape[-1])
    made = [x, x * 0, low, x * 10.0**far, x * 10.0**-far, x * sizes, x * sizes[::-1]]
    return [each.astype(dtype) for each in made]


SHAPES = [(1, 1), (2, 2), (3, 5), (5, 3), (16, 16), (17, 17), (40, 20), (20, 40), (70, 65), (7, 4, 4), (3, 20, 6)]


@pytest.mark.long(5)
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape: tuple[int, ...], element: str) -> None:
    """The signs are LAPACK's; columns are exact relative to their own sizes; Q is orthogonal for any matrix."""
    dtype, least = DTYPES[element], min(shape[-2:])
    exe = qr_of(shape, element)
    assert not exe.facts.host_calls
    for number, x in enumerate(kinds(shape, dtype)):
        factors, tau, q = exe(x)
        r = np.triu(factors)[..., :least, :]
        assert ((tau == 0) | ((tau >= 1) & (tau <= 2 + 1e-5))).all()
        near(adjoint(q) @ q, np.broadcast_to(np.eye(least, dtype=dtype), (*shape[:-2], least, least)), 1)
        exact = x.astype(np.longdouble)
        size = np.abs(exact).max(axis=-2, keepdims=True)
        error = np.abs(q.astype(np.longdouble) @ r.astype(np.longdouble) - exact)
        tiny = 64 * np.finfo(dtype).smallest_normal
        assert (error <= 8 * (least + 8) * np.finfo(dtype).eps * size + tiny).all()
        if number == 0:
            meant = np.linalg.qr(x)
            near(q, meant[0], 1)
            near(r, meant[1], np.abs(x).max())


def test_qr_of_what_is_not_finite() -> None:
    """The matrices beside it in a batch keep their bits."""
    exe = qr_of((3, 20, 18), "f32")
    x = np.random.default_rng(1).standard_normal((3, 20, 18)).astype(np.float32)
    good = exe(x)
    for bad in (np.nan, np.inf):
        spoiled = x.copy()
        spoiled[1, 5, 3] = bad
        for ours, meant in zip(exe(spoiled), good, strict=True):
            np.testing.assert_array_equal(ours[[0, 2]], meant[[0, 2]])
            assert np.isnan(ours[1]).any()


@pytest.mark.long(10)
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("mode", [A, S, N])
def test_singular_values_of_tall_and_wide_matrices(mode: int, element: str) -> None:
    """They are those of the triangle of QR, which LAPACK's routine computes first as well."""
    dtype, made, inputs = DTYPES[element], list[Call](), list[Any]()
    rng = np.random.default_rng(2)
    for m, n in ((40, 12), (12, 40)):
        x = rng.standard_normal((3, m, n))
        x[1] = rng.standard_normal((m, 2)) @ rng.standard_normal((2, n))
        x[2, 1, 1] = np.nan
        inputs.append(x.astype(dtype))
        k, thin = min(m, n), mode == S
        shapes = [(m, n), (k,), (m, k if thin else m), (k if thin else n, n)]
        types = [f"tensor<{'x'.join(map(str, (3, *shape)))}x{element}>" for shape in shapes]
        made.append((f"lapack_{letter(element)}gesdd_ffi", {"mode": mode}, [types[0]], [*types, "tensor<3xi32>"]))
    text = program(made)
    results = [number for number in range(10) if number % 5 and (mode != N or number % 5 in (1, 4))]
    text = only(text, results)
    decomposed = str(Program(text).after("decompose-hlo{native-calls=true}").module)
    assert decomposed.count(f'routine = "lapack_{letter(element)}geqrf_ffi"') == 2
    found = dict(zip(results, xhlo.compile(text)(*inputs), strict=True))
    for number, x in enumerate(inputs):
        at = 5 * number
        assert list(found[at + 4]) == [0, 0, -4]
        x, k = x[:2], min(x.shape[-2:])
        near(found[at + 1][:2], np.linalg.svd(x.astype(np.float64))[1].astype(dtype), np.abs(x).max())
        if mode == N:
            continue
        s, u, vt = (found[at + place][:2] for place in (1, 2, 3))
        near((u[..., :k] * s[:, None, :]) @ vt[:, :k], x, np.abs(x).max())
        for side in (u, adjoint(vt)):
            near(
                adjoint(side) @ side,
                np.broadcast_to(np.eye(side.shape[-1], dtype=dtype), (2, *[side.shape[-1]] * 2)),
                1,
            )


def only(text: str, results: list[int]) -> str:
    """The program with some of its results."""
    head, last = text.rsplit("return ", 1)
    names, types = last.split(" : ")
    kept_types = [types.split("}")[0].strip().split(", ")[number] for number in results]
    kept = [names.split(", ")[number] for number in results]
    before, after = head.split(") -> (", 1)
    body = after.split(") {", 1)[1]
    return f"{before}) -> ({', '.join(kept_types)}) {{{body}return {', '.join(kept)} : {', '.join(kept_types)}\n}}"
