"""dot, einsum and unary_einsum against NumPy; the CPU against the reference."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import DTYPES, TARGETS, apply, same, type_of

TYPES = ["f32", "f64", "f16", "bf16", "i32", "ui8", "i8"]


def small(shape: tuple[int, ...], element: str, seed: int = 0) -> np.ndarray:
    """Small integers, whose sums are exact in every type."""
    return np.random.default_rng(seed).integers(0, 3, shape).astype(DTYPES[element])


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(
    ("lhs", "rhs"), [((3, 4), (4, 5)), ((3, 4), (4,)), ((4,), (4, 5)), ((4,), (4,)), ((2, 0), (0, 3))]
)
def test_dot(lhs: tuple[int, ...], rhs: tuple[int, ...], element: str, target: str) -> None:
    x, y = small(lhs, element), small(rhs, element, 1)
    want = np.dot(x.astype(np.int64), y.astype(np.int64)).astype(DTYPES[element])
    result = type_of(np.asarray(want))
    same(apply(f"hlo.dot %x0, %x1 : ({type_of(x)}, {type_of(y)}) -> {result}", [x, y], result, target), want)


EINSUMS = [
    ("ab,bc->ac", (2, 3), (3, 4)),
    ("ab,cb->ca", (2, 3), (4, 3)),
    ("abx,cb->ca", (2, 3, 2), (4, 3)),
    ("abc,abd->bcd", (2, 3, 4), (2, 3, 2)),
    ("ab,ab->ab", (2, 3), (2, 3)),
    ("ab,ab->", (2, 3), (2, 3)),
    ("a,b->ba", (2,), (3,)),
    ("aab,b->a", (3, 3, 2), (2,)),
    ("ab,cd->c", (2, 3), (4, 5)),
    ("...ab,...bc->...ac", (2, 2, 3), (2, 3, 4)),
    ("a...,a->...", (3, 2, 2), (3,)),
]


@pytest.mark.sample(5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ["f32", "bf16", "i32"])
@pytest.mark.parametrize(("config", "lhs", "rhs"), EINSUMS)
def test_einsum(config: str, lhs: tuple[int, ...], rhs: tuple[int, ...], element: str, target: str) -> None:
    x, y = small(lhs, element), small(rhs, element, 1)
    want = np.asarray(np.einsum(config, x.astype(np.int64), y.astype(np.int64))).astype(DTYPES[element])
    result = type_of(want)
    text = f'hlo.einsum %x0, %x1, config = "{config}" : ({type_of(x)}, {type_of(y)}) -> {result}'
    same(apply(text, [x, y], result, target), want)


@pytest.mark.sample(5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("element", ["f32", "bf16", "i32"])
@pytest.mark.parametrize("config", ["abc->ca", "abc->cba", "abc->abc", "abc->", "aba->b", "aba->a", "...c->..."])
def test_unary_einsum(config: str, element: str, target: str) -> None:
    x = small((3, 2, 3), element)
    want = np.asarray(np.einsum(config, x.astype(np.int64))).astype(DTYPES[element])
    result = type_of(want)
    text = f'hlo.unary_einsum %x0, config = "{config}" : ({type_of(x)}) -> {result}'
    same(apply(text, [x], result, target), want)


MIXED = [
    ("i8", "i8", "i32"),
    ("ui8", "ui8", "i32"),
    ("bf16", "bf16", "f32"),
    ("f16", "f16", "f32"),
    ("f32", "f32", "f64"),
    ("f32", "bf16", "f32"),
    ("f16", "f64", "f32"),
    ("i32", "i32", "i8"),
    ("f64", "f64", "bf16"),
    ("i8", "i8", "f32"),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("lhs", "rhs", "out"), MIXED)
def test_dot_general_of_mixed_types(lhs: str, rhs: str, out: str, target: str) -> None:
    x, y = small((3, 40), lhs), small((40, 5), rhs, 1)
    want = (x.astype(np.int64) @ y.astype(np.int64)).astype(DTYPES[out])
    result = type_of(want)
    text = f"hlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : ({type_of(x)}, {type_of(y)}) -> {result}"
    same(apply(text, [x, y], result, target), want)
