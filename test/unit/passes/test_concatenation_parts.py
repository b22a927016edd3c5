"""Elementwise operations that are computed of a concatenation's parts, and elements shifted along short rows."""

from __future__ import annotations

import numpy as np
import pytest

from xhlo.passes.fuse_hlo import parts
from xhlo.tools.fuzzing.checks import compiled_results, reference_results


def check(text: str, *inputs: np.ndarray) -> None:
    want = reference_results(text, inputs)
    for got, wanted in zip(compiled_results(text, inputs, True), want, strict=True):
        np.testing.assert_array_equal(got, wanted, strict=True)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LEAST_BYTES", 0)
    monkeypatch.setattr(parts, "LEAST_RUN", 0)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_parts_along_each_dimension(dim: int) -> None:
    """Numbers, rows, tensors in memory, other concatenations and another element type beside the concatenation."""
    shape, first, second = ([3, 5, 7] for _ in range(3))
    first[dim], second[dim] = 2, shape[dim] - 2
    whole, one, two = ("x".join(map(str, sizes)) for sizes in (shape, first, second))
    rng = np.random.default_rng(dim)
    check(
        f"""
        func.func @main(%a: tensor<{one}xf32>, %b: tensor<{two}xf32>, %x: tensor<{whole}xf32>, %r: tensor<3x1x7xf32>)
            -> tensor<{whole}xi1> {{
          %0 = hlo.concatenate %a, %b, dim = {dim} : (tensor<{one}xf32>, tensor<{two}xf32>) -> tensor<{whole}xf32>
          %half = hlo.constant dense<0.5> : tensor<{whole}xf32>
          %1 = hlo.multiply %0, %half : tensor<{whole}xf32>
          %2 = hlo.add %1, %1 : tensor<{whole}xf32>
          %rows = hlo.broadcast_in_dim %r, dims = [0, 1, 2] : (tensor<3x1x7xf32>) -> tensor<{whole}xf32>
          %3 = hlo.subtract %rows, %2 : tensor<{whole}xf32>
          %4 = hlo.negate %a : tensor<{one}xf32>
          %5 = hlo.concatenate %b, %4, dim = {dim} : (tensor<{two}xf32>, tensor<{one}xf32>) -> tensor<{whole}xf32>
          %6 = hlo.add %3, %5 : tensor<{whole}xf32>
          %7 = hlo.compare LT, %6, %x : (tensor<{whole}xf32>, tensor<{whole}xf32>) -> tensor<{whole}xi1>
          func.return %7 : tensor<{whole}xi1>
        }}
        """,
        *(rng.standard_normal(sizes).astype(np.float32) for sizes in (first, second, shape, (3, 1, 7))),
    )


def test_updates_in_a_loop_of_components_that_are_rolled() -> None:
    """As fields on a lattice are advanced: one read at neighbours, the other one in place."""
    check(
        """
        func.func @main(%x: tensor<2x8x64xf32>) -> (tensor<2x8x64xf32>, tensor<2x8x64xf32>) {
          %zero = hlo.constant dense<0> : tensor<i32>
          %0:3 = hlo.while(%i = %zero, %e = %x, %b = %x) : tensor<i32>, tensor<2x8x64xf32>, tensor<2x8x64xf32>
            cond {
              %n = hlo.constant dense<3> : tensor<i32>
              %1 = hlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
              hlo.return %1 : tensor<i1>
            } do {
              %1 = hlo.slice %e [1:2, 0:8, 0:64] : (tensor<2x8x64xf32>) -> tensor<1x8x64xf32>
              %2 = hlo.reshape %1 : (tensor<1x8x64xf32>) -> tensor<8x64xf32>
              %3 = hlo.slice %2 [0:8, 1:64] : (tensor<8x64xf32>) -> tensor<8x63xf32>
              %4 = hlo.slice %2 [0:8, 0:1] : (tensor<8x64xf32>) -> tensor<8x1xf32>
              %5 = hlo.concatenate %3, %4, dim = 1 : (tensor<8x63xf32>, tensor<8x1xf32>) -> tensor<8x64xf32>
              %6 = hlo.subtract %5, %2 : tensor<8x64xf32>
              %7 = hlo.reshape %6 : (tensor<8x64xf32>) -> tensor<1x8x64xf32>
              %8 = hlo.slice %e [0:1, 0:8, 0:64] : (tensor<2x8x64xf32>) -> tensor<1x8x64xf32>
              %9 = hlo.concatenate %7, %8, dim = 0 : (tensor<1x8x64xf32>, tensor<1x8x64xf32>) -> tensor<2x8x64xf32>
              %10 = hlo.add %b, %9 : tensor<2x8x64xf32>
              %one = hlo.constant dense<1> : tensor<i32>
              %11 = hlo.add %i, %one : tensor<i32>
              hlo.return %11, %10, %e : tensor<i32>, tensor<2x8x64xf32>, tensor<2x8x64xf32>
            }
          func.return %0#1, %0#2 : tensor<2x8x64xf32>, tensor<2x8x64xf32>
        }
        """,
        np.random.default_rng(0).standard_normal((2, 8, 64)).astype(np.float32),
    )
