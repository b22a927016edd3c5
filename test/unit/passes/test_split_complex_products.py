"""Products of complex matrices, of which one has few rows: the other one is read as pairs, where it is."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import xhlo
from hlo_programs import Program
from xhlo.hlo_dialect.ops.contraction import DotGeneralOp

Dims = tuple[int, ...]


def product(few: Dims, few_dims: Dims, large: Dims, large_dims: Dims, few_first: bool, order: Dims = ()) -> str:
    """A product of a few rows with a large matrix, which is transposed first if an order is given."""
    moved = tuple(large[dim] for dim in order) if order else large
    kept = [size for dim, size in enumerate(few) if dim not in few_dims]
    others = [size for dim, size in enumerate(moved) if dim not in large_dims]
    sides = [("%few", few, few_dims), ("%moved" if order else "%large", moved, large_dims)]
    left, right = sides if few_first else sides[::-1]
    result = [*kept, *others] if few_first else [*others, *kept]

    def type_(shape: Dims | list[int]) -> str:
        return f"tensor<{''.join(f'{size}x' for size in shape)}complex<f32>>"

    transpose = f"%moved = hlo.transpose %large, dims = {list(order)} : ({type_(large)}) -> {type_(moved)}"
    return f"""
func.func @main(%few: {type_(few)}, %large: {type_(large)}) -> {type_(result)} {{
  {transpose if order else ""}
  %0 = hlo.dot_general {left[0]}, {right[0]}, contracting_dims = {list(left[2])} x {list(right[2])}
    : ({type_(left[1])}, {type_(right[1])}) -> {type_(result)}
  return %0 : {type_(result)}
}}"""


def products(text: str) -> int:
    """The products of real numbers that a program has after the pass."""
    return sum(isinstance(op, DotGeneralOp) for op in Program(text).after("split-complex").module.walk())


CASES: list[tuple[Dims, Dims, Dims, Dims, Dims]] = [
    ((1, 18), (1,), (18, 20), (0,), ()),  # a row by a matrix
    ((1, 18), (1,), (20, 18), (1,), ()),
    ((18,), (0,), (20, 18), (1,), ()),
    ((18, 2), (0,), (40, 18), (1,), ()),
    ((2, 18, 2), (1,), (80, 18), (1,), ()),
    ((2, 18, 2), (1,), (18, 80), (0,), ()),
    ((3, 5, 4), (2, 1), (4, 60, 5), (0, 2), ()),
    ((3, 5, 4), (1, 2), (4, 5, 60), (1, 0), ()),
    ((3, 5, 4), (1, 2), (5, 4, 60), (0, 1), ()),
    ((1, 18), (1,), (20, 18), (0,), (1, 0)),  # of a transposed matrix
    ((18, 2), (0,), (18, 40), (1,), (1, 0)),
    ((2, 16), (1,), (16, 8, 5), (2,), (2, 1, 0)),  # whose rows are in another order
]


@pytest.mark.parametrize("few_first", [True, False])
@pytest.mark.parametrize(("few", "few_dims", "large", "large_dims", "order"), CASES)
def test_one_product_of_pairs(
    few: Dims, few_dims: Dims, large: Dims, large_dims: Dims, order: Dims, few_first: bool
) -> None:
    text = product(few, few_dims, large, large_dims, few_first, order)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((2, *shape)).astype(np.float32) for shape in (few, large))
    z, w = (part[0] + 1j * part[1] for part in (x, y))
    moved = w.transpose(order) if order else w
    letters = itertools.count()
    names = [[next(letters) for _ in shape] for shape in (few, moved.shape)]
    for own, other in zip(few_dims, large_dims, strict=True):
        names[1][other] = names[0][own]
    free = [[n for n in each if n not in set(names[0]) & set(names[1])] for each in names]
    out = free[0] + free[1] if few_first else free[1] + free[0]
    wanted = np.einsum(z.astype(np.complex128), names[0], moved.astype(np.complex128), names[1], out)
    got = xhlo.compile(text)(z, w)
    assert got.shape == wanted.shape and got.dtype == np.complex64
    np.testing.assert_allclose(got, wanted, atol=1e-5 * math.sqrt(w.size))
    assert products(text) == 1


@pytest.mark.parametrize(("rows", "columns", "depth"), [(5, 100, 16), (2, 31, 16), (2, 64, 15)])
def test_many_rows_and_small_matrices_are_products_of_parts(rows: int, columns: int, depth: int) -> None:
    text = product((rows, depth), (1,), (depth, columns), (0,), True)
    assert products(text) == 4
