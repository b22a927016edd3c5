"""Attention with its gradient on the CPU: products that sum over the rows of a row kernel, tile by tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from attention_programs import softmax_text
from cpu_programs import type_of
from xhlo.lowering.convert_contractions_to_vector import conversion
from xhlo.passes.fuse_hlo import repeats

FLOAT, HALF, BFLOAT = np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class Gradient:
    """softmax(q k^T) v, and its gradients for the result's gradient."""

    heads: int
    queries: int
    keys: int
    depth: int
    dtype: np.dtype[Any] = FLOAT
    follows: bool = False
    """Whether the gradient is of the sum of the result's squares, so that it needs kernels of its own."""

    def inputs(self) -> list[np.ndarray]:
        rng = np.random.default_rng(0)
        lengths = (self.queries, self.keys, self.keys, self.queries)
        return [(rng.standard_normal((2, self.heads, n, self.depth)) / 2).astype(self.dtype) for n in lengths]

    def text(self) -> str:
        q, k, v, d = map(type_of, self.inputs())
        lead = f"2x{self.heads}x{self.queries}"
        full, row = f"tensor<{lead}x{self.keys}xf32>", f"tensor<{lead}xf32>"
        narrow = full.replace("f32", q.split("x")[-1][:-1])
        batch = "batching_dims = [0, 1] x [0, 1], contracting_dims"
        return f"""func.func @main(%q: {q}, %k: {k}, %v: {v}, %{"above" if self.follows else "d"}: {d}) -> ({q}, {q}, {k}, {v}) {{
  %least = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %s = hlo.dot_general %q, %k, {batch} = [3] x [3] : ({q}, {k}) -> {full}
  {softmax_text(full, narrow, row)}
  %o = hlo.dot_general %w, %v, {batch} = [3] x [2] : ({narrow}, {v}) -> {q}
  {f"%d = hlo.add %o, %above : {d}" if self.follows else ""}
  %dv = hlo.dot_general %w, %d, {batch} = [2] x [2] : ({narrow}, {d}) -> {v}
  %dw = hlo.dot_general %d, %v, {batch} = [3] x [3] : ({d}, {v}) -> {full}
  %a = hlo.multiply %dw, %e : {full}
  %b0 = hlo.reduce(%a init: %zero) applies hlo.add across dimensions = [3] : ({full}, tensor<f32>) -> {row}
  %b = hlo.divide %b0, %sum : {row}
  %c = hlo.broadcast_in_dim %b, dims = [0, 1, 2] : ({row}) -> {full}
  %f = hlo.subtract %dw, %c : {full}
  %f0 = hlo.multiply %f, %e : {full}
  %g = hlo.divide %f0, %sums : {full}
  %ds = hlo.convert %g : ({full}) -> {narrow}
  %dq = hlo.dot_general %ds, %k, {batch} = [3] x [2] : ({narrow}, {k}) -> {q}
  %dk = hlo.dot_general %ds, %q, {batch} = [2] x [2] : ({narrow}, {q}) -> {k}
  func.return %o, %dq, %dk, %dv : {q}, {q}, {k}, {v}
}}"""

    def expected(self) -> list[np.ndarray]:
        """In f64."""
        q, k, v, d = (x.astype(np.float64) for x in self.inputs())
        s = q @ k.swapaxes(2, 3)
        e = np.exp(s - s.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        d = d + p @ v if self.follows else d
        dw = d @ v.swapaxes(2, 3)
        ds = p * (dw - (dw * p).sum(-1, keepdims=True))
        return [p @ v, ds @ k, ds.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ d]


CASES = {
    "whole tiles": Gradient(4, 128, 64, 32),
    "odd sizes": Gradient(5, 67, 53, 19),
    "one tile": Gradient(4, 17, 200, 16),
    "as many queries as keys": Gradient(4, 70, 70, 40),
    "bf16": Gradient(4, 40, 40, 32, BFLOAT),
    "f16, odd sizes": Gradient(4, 37, 45, 21, HALF),
}


def check(case: Gradient, kinds: Sequence[str] = ("row",)) -> xhlo.Executable:
    executable = xhlo.compile(case.text())
    assert [kernel.kind for kernel in executable.kernels] == list(kinds)
    bound = {4: 4e-6, 2: 2e-2}[case.dtype.itemsize]
    for result, want in zip(executable.compute(case.inputs(), None), case.expected(), strict=True):
        assert np.abs(result.astype(np.float64) - want).max() < bound * max(1, np.abs(want).max())
    return executable


@pytest.mark.long(4)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_gradient_is_one_kernel_without_the_weights(case: Gradient) -> None:
    weights = 2 * case.heads * case.queries * case.keys * 4
    # The factors of all matrices may be packed, and the sums of narrow floats are wide.
    factors = 2 * case.heads * (4 * case.keys + 2 * case.queries + 256) * (case.depth + 48) * 4
    assert check(case).facts.arena_bytes < max(weights, factors)


def test_weights_are_computed_again() -> None:
    """The gradient needs the exponentials; the weights follow from them, and are never in memory."""
    case = Gradient(4, 130, 150, 16, follows=True)
    executable = check(case, kinds=["row", "loop", "row"])
    weights = case.heads * case.queries * case.keys * 2 * 4
    assert [kernel.bytes // weights for kernel in executable.kernels] == [1, 0, 1]


@pytest.mark.parametrize("dtype", [FLOAT, BFLOAT], ids=str)
def test_large_rows_are_products_again(dtype: np.dtype[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient computes the scores again, and neither kernel has anything of their size in memory."""
    monkeypatch.setattr(repeats, "LARGE", 0)
    case = Gradient(4, 131, 151, 16, dtype, follows=True)
    executable = check(case, kinds=["row", "loop", "row"])
    weights = case.heads * case.queries * case.keys * 2 * 4
    assert [kernel.bytes // weights for kernel in executable.kernels] == [0, 0, 0]


def _refuse(*_: object) -> bool:
    return False


def test_sums_in_loops_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "convert_row_products", _refuse)
    check(CASES["as many queries as keys"])
