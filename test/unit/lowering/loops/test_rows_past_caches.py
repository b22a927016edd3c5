"""Row kernels whose results are written past the caches."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from cpu_programs import DTYPES, on_threads, type_of


def minus_maximum(x: np.ndarray) -> str:
    """A program that subtracts the maximum of each row, and returns the rows' sums beside the differences."""
    wide, thin, scalar, last = type_of(x), type_of(x[..., 0]), type_of(x.reshape(-1)[0]), x.ndim - 1
    rows = list(range(last))
    return f"""func.func @main(%x: {wide}) -> ({wide}, {thin}) {{
      %least = stablehlo.constant dense<-1000.0> : {scalar}
      %zero = stablehlo.constant dense<0.0> : {scalar}
      %0 = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [{last}]
        : ({wide}, {scalar}) -> {thin}
      %1 = stablehlo.broadcast_in_dim %0, dims = {rows} : ({thin}) -> {wide}
      %2 = stablehlo.subtract %x, %1 : {wide}
      %3 = stablehlo.optimization_barrier %2 : {wide}
      %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [{last}]
        : ({wide}, {scalar}) -> {thin}
      return %2, %4 : {wide}, {thin} }}"""


@pytest.mark.long
@pytest.mark.parametrize("element, shape", [("f32", (3200, 1024)), ("f32", (4, 9000, 256)), ("f64", (1600, 1000))])
def test_results_that_the_next_kernel_reads(element: str, shape: tuple[int, ...]) -> None:
    """Small whole numbers, whose sums are exact in every order."""
    x = np.random.default_rng(0).integers(-100, 100, shape).astype(DTYPES[element])
    found, sums = on_threads(minus_maximum(x), x)
    wanted = x - x.max(-1, keepdims=True)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(sums, wanted.sum(-1))


def test_memory_that_begins_within_a_line() -> None:
    x = np.random.default_rng(0).integers(-100, 100, (3200, 1024)).astype(np.float32)
    guarded = np.full(x.size + 64, 7, np.float32)
    at = (-guarded.ctypes.data // 4) % 16 + 3
    out = guarded[at : at + x.size].reshape(x.shape)
    sums = np.empty(3200, np.float32)
    xhlo.compile(minus_maximum(x))(x, out=(out, sums))
    np.testing.assert_array_equal(out, x - x.max(-1, keepdims=True))
    assert (guarded[:at] == 7).all() and (guarded[at + x.size :] == 7).all()
