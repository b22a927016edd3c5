"""Sums of padded tensors as concatenations: the same bits, signs of zeros among them."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from hlo_programs import Program

VALUES = np.array([0.0, -0.0, 1.5, -1.5, 1e-40, -1e30, np.inf, np.nan], np.float32)

PLACES = [(5, 3), (0, 2), (5, 3), (2, 3), (0, 2)]
"""The first row and the number of rows of each term in a tensor of 9 rows."""


def text(order: list[tuple[str, str]]) -> str:
    """The sum of the terms p0, p1, .. in the given order of pairs, whose results are s0, s1, .."""
    lines = [
        f"%p{i} = hlo.pad %x{i}, %zero, low = [{start}, 0], high = [{9 - start - size}, 0], interior = [0, 0] : "
        f"(tensor<{size}x8xf32>, tensor<f32>) -> tensor<9x8xf32>"
        for i, (start, size) in enumerate(PLACES)
    ]
    lines += [f"%s{i} = hlo.add %{one}, %{other} : tensor<9x8xf32>" for i, (one, other) in enumerate(order)]
    arguments = ", ".join(f"%x{i}: tensor<{size}x8xf32>" for i, (_, size) in enumerate(PLACES))
    return f"""
    func.func @main({arguments}) -> tensor<9x8xf32> {{
      %zero = hlo.constant dense<0.0> : tensor<f32>
      {" ".join(f"{line}" + chr(10) for line in lines)}
      return %s{len(order) - 1} : tensor<9x8xf32>
    }}"""


@pytest.mark.parametrize(
    "order",
    [
        [("p0", "p1"), ("s0", "p2"), ("s1", "p3"), ("s2", "p4")],
        [("p3", "p4"), ("p2", "s0"), ("p1", "s1"), ("s2", "p0")],
        [("p0", "p1"), ("p2", "p3"), ("s0", "s1"), ("p4", "s2")],
    ],
)
def test_bits_of_sums(order: list[tuple[str, str]]) -> None:
    draw = np.random.default_rng(len(order[0][0]))
    xs = [draw.choice(VALUES, (size, 8)) for _, size in PLACES]
    source = text(order)
    simplified = Program(source).after("simplify-hlo")
    assert "hlo.concatenate" in str(simplified.module)
    simplified.same_bits(*xs)
    [expected], compiled = Program(source).results(*xs), xhlo.compile(source)(*xs)
    np.testing.assert_array_equal(compiled, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(compiled[numbers]), np.signbit(expected[numbers]))
