"""dot_general of every element type, arrangement and result type: compiled code against the reference."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import (
    DTYPES,
    INTEGERS,
    TARGETS,
    TYPES,
    TYPICAL,
    Batch,
    apply,
    same,
    small,
    tensor,
    type_of,
    values,
)

# Shapes of lhs and rhs; batching, contracting dimensions of each.
DOTS = [
    ((7,), (7,), [], [], [0], [0]),
    ((5, 7), (7,), [], [], [1], [0]),
    ((5, 7), (7, 11), [], [], [1], [0]),
    ((7, 5), (7, 11), [], [], [0], [0]),
    ((5, 7), (11, 7), [], [], [1], [1]),
    ((37, 41), (41, 67), [], [], [1], [0]),
    ((1, 131), (131, 1), [], [], [1], [0]),
    ((131, 1), (1, 37), [], [], [1], [0]),
    ((0, 7), (7, 3), [], [], [1], [0]),
    ((5, 0), (0, 3), [], [], [1], [0]),
    ((5, 7), (7, 0), [], [], [1], [0]),
    ((3, 5, 7), (3, 7, 2), [0], [0], [2], [1]),
    ((3, 5, 7), (7, 2, 3), [0], [2], [2], [0]),
    ((2, 3, 5, 7), (7, 3, 11, 5), [1], [1], [2, 3], [3, 0]),
    ((2, 3), (5,), [], [], [], []),
    ((3, 5), (3, 5), [0, 1], [0, 1], [], []),
    ((3, 5), (5, 3), [0], [1], [1], [0]),
    ((), (), [], [], [], []),
    ((0, 2, 3), (0, 3, 4), [0], [0], [2], [1]),
]


def dot(lhs: np.ndarray, rhs: np.ndarray, result: str, numbers: tuple[list[int], ...]) -> tuple[str, str]:
    """The operation's text on $0 and $1, and its result type."""
    lhs_batch, rhs_batch, lhs_contracted, rhs_contracted = numbers
    shape = [lhs.shape[dim] for dim in lhs_batch]
    shape += [n for dim, n in enumerate(lhs.shape) if dim not in lhs_batch + lhs_contracted]
    shape += [n for dim, n in enumerate(rhs.shape) if dim not in rhs_batch + rhs_contracted]
    batching = f"batching_dims = {lhs_batch} x {rhs_batch}, " if lhs_batch else ""
    out = tensor(tuple(shape), result)
    types = f"({type_of(lhs)}, {type_of(rhs)}) -> {out}"
    return f"hlo.dot_general $0, $1, {batching}contracting_dims = {lhs_contracted} x {rhs_contracted} : {types}", out


@pytest.mark.long(3)
@pytest.mark.sample(type_=("i8", "bf16", "f32"))
@pytest.mark.parametrize("type_", TYPES)
def test_dot_general(type_: str) -> None:
    batch = Batch()
    for i, (left, right, *numbers) in enumerate(DOTS):
        lhs, rhs = small(type_, *left, seed=i), small(type_, *right, seed=i + 100)
        op, out = dot(lhs, rhs, type_, tuple(numbers))
        batch.add(op, out, operands=[lhs, rhs])
    batch.check()


WIDER = [
    ("i8", "i32"),
    ("ui8", "ui32"),
    ("ui8", "i32"),
    ("i8", "f32"),
    ("i16", "i64"),
    ("bf16", "f32"),
    ("f16", "f32"),
    ("f16", "f64"),
    ("f32", "f64"),
    ("i32", "i8"),
    ("f32", "bf16"),
    ("f64", "f32"),
    ("f64", "f16"),
    ("bf16", "f16"),
]


@pytest.mark.long(5)
@pytest.mark.sample(3)
@pytest.mark.parametrize(("operand", "result"), WIDER)
def test_dot_general_into_another_type(operand: str, result: str) -> None:
    """Operands as far from 0 as their type allows: products must be computed in the wider type."""
    batch = Batch()
    for i, (left, right, *numbers) in enumerate(DOTS):
        lhs, rhs = small(operand, *left, seed=i), small(operand, *right, seed=i + 100)
        if operand in INTEGERS and result in INTEGERS:
            lhs, rhs = values(operand, *left, seed=i), values(operand, *right, seed=i + 100)
        op, out = dot(lhs, rhs, result, tuple(numbers))
        batch.add(op, out, operands=[lhs, rhs])
    batch.check()


@pytest.mark.parametrize("result", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("target", TARGETS)
def test_dot_general_of_doubles_is_summed_in_doubles(result: str, target: str) -> None:
    """1 + 2^-24 - 1 is 2^-24, even if the result has fewer digits."""
    lhs, rhs = np.array([[1.0, 2.0**-12, -1.0]]), np.array([[1.0], [2.0**-12], [1.0]])
    op, out = dot(lhs, rhs, result, ([], [], [1], [0]))
    same(apply(op.replace("$", "%x"), [lhs, rhs], out, target), [[2.0**-24]])


@pytest.mark.long(2)
@pytest.mark.sample(type_=("bf16", "f32"))
@pytest.mark.parametrize("type_", ["bf16", "f16", "f32", "f64", "i32", "i8"])
def test_large_dot_general(type_: str) -> None:
    """Larger than the blocks of the packed kernel in each dimension, with partial tiles at every edge."""
    batch = Batch()
    for m, n, k in ((131, 257, 67), (17, 33, 521), (259, 35, 15), (64, 64, 64), (97, 101, 383)):
        for numbers, left, right in ((([], [], [1], [0]), (m, k), (k, n)), (([], [], [0], [1]), (k, m), (n, k))):
            lhs, rhs = small(type_, *left, seed=m), small(type_, *right, seed=n)
            op, out = dot(lhs, rhs, type_, numbers)
            batch.add(op, out, operands=[lhs, rhs])
    lhs, rhs = small(type_, 3, 67, 131), small(type_, 3, 131, 65, seed=1)
    op, out = dot(lhs, rhs, type_, ([0], [0], [2], [1]))
    batch.add(op, out, operands=[lhs, rhs])
    batch.check()


@pytest.mark.sample(type_=TYPICAL)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_dot_general_of_infinities_and_nan(type_: str) -> None:
    """Padding of edge tiles is never multiplied by an infinity: 0 * inf would put NaN into other elements."""
    lhs, rhs = small(type_, 37, 41) + DTYPES[type_].type(4), small(type_, 41, 67, seed=1) + DTYPES[type_].type(4)
    lhs[3, 40], rhs[0, 66], lhs[36, 0], rhs[40, 5] = np.inf, np.inf, -np.inf, np.nan
    op, out = dot(lhs, rhs, type_, ([], [], [1], [0]))
    batch = Batch()
    batch.add(op, out, operands=[lhs, rhs])
    batch.check()
