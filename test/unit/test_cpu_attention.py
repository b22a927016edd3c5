"""Products in row kernels on the CPU: attention in tiles of rows, of every layout, element type and edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from cpu_programs import type_of
from xhlo.lowering.convert_contractions_to_vector import conversion

FLOAT, HALF, BFLOAT = np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class Attention:
    """softmax(scale * q k^T) v over heads; `layout` "bhnd" or "bnhd", `groups` queries per head of k and v."""

    batch: int
    heads: int
    queries: int
    keys: int
    depth: int
    values: int
    layout: str = "bhnd"
    groups: int = 1
    dtype: np.dtype[Any] = FLOAT
    causal: bool = False
    returns_weights: bool = False

    def inputs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)

        def array(length: int, heads: tuple[int, ...], width: int) -> np.ndarray:
            middle = (*heads, length) if self.layout == "bhnd" else (length, *heads)
            return rng.standard_normal((self.batch, *middle, width)).astype(self.dtype)

        grouped = (self.heads, self.groups) if self.groups > 1 else (self.heads,)
        k, v = array(self.keys, (self.heads,), self.depth), array(self.keys, (self.heads,), self.values)
        return array(self.queries, grouped, self.depth), k, v

    def text(self) -> str:
        """The program as JAX writes it; grouped queries put the group before or after the queries."""
        q, k, v = self.inputs()
        heads, length = (1, 2) if self.layout == "bhnd" else (2, 1)
        grouped = self.groups > 1
        first = q.shape[1:-1]
        free = [size for dim, size in enumerate(q.shape[:-1]) if dim not in (0, heads)]
        assert len(first) == 2 + grouped
        lead = "x".join(map(str, (self.batch, self.heads, *free)))
        full, lead = f"tensor<{lead}x{self.keys}xf32>", f"tensor<{lead}xf32>"
        rank = 3 + len(free)
        dims = list(range(rank - 1))
        narrow = full.replace("f32", type_of(q).split("x")[-1][:-1])
        out = narrow.replace(f"x{self.keys}x{narrow.split('x')[-1]}", f"x{self.values}x{narrow.split('x')[-1]}")
        row = 2 + free.index(self.queries)
        mask = (
            f"""%i = hlo.iota dim = {row} : {full.replace("f32", "i32")}
  %j = hlo.iota dim = {rank - 1} : {full.replace("f32", "i32")}
  %m = hlo.compare GE, %i, %j, SIGNED : ({full.replace("f32", "i32")}, {full.replace("f32", "i32")}) -> {full.replace("f32", "i1")}
  %low = hlo.constant dense<-1.0e30> : {full}
  %s = hlo.select %m, %s1, %low : {full.replace("f32", "i1")}, {full}"""
            if self.causal
            else f"%s = hlo.add %s1, %s1 : {full}"
        )
        weights, results = ("%p", f"({narrow}, {out})") if self.returns_weights else ("", out)
        return f"""func.func @main(%q: {type_of(q)}, %k: {type_of(k)}, %v: {type_of(v)}) -> {results} {{
  %s0 = hlo.dot_general %q, %k, batching_dims = [0, {heads}] x [0, {heads}], contracting_dims = [{q.ndim - 1}] x [3] : ({type_of(q)}, {type_of(k)}) -> {full}
  %scale = hlo.constant dense<0.25> : {full}
  %s1 = hlo.multiply %s0, %scale : {full}
  {mask}
  %least = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %max = hlo.reduce(%s init: %least) applies hlo.maximum across dimensions = [{rank - 1}] : ({full}, tensor<f32>) -> {lead}
  %maxes = hlo.broadcast_in_dim %max, dims = {dims} : ({lead}) -> {full}
  %d = hlo.subtract %s, %maxes : {full}
  %e = hlo.exponential %d : {full}
  %sum = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [{rank - 1}] : ({full}, tensor<f32>) -> {lead}
  %sums = hlo.broadcast_in_dim %sum, dims = {dims} : ({lead}) -> {full}
  %w = hlo.divide %e, %sums : {full}
  %p = hlo.convert %w : ({full}) -> {narrow}
  %o = hlo.dot_general %p, %v, batching_dims = [0, 1] x [0, {heads}], contracting_dims = [{rank - 1}] x [{length}] : ({narrow}, {type_of(v)}) -> {out}
  func.return {weights + ", " if weights else ""}%o : {results.strip("()")}
}}"""

    def expected(self) -> tuple[np.ndarray, ...]:
        """(weights, results) in f64."""
        q, k, v = (x.astype(np.float64) for x in self.inputs())
        if self.layout == "bnhd":
            k, v = k.swapaxes(1, 2), v.swapaxes(1, 2)
        names = {("bhnd", False): "bhqd", ("bnhd", False): "bqhd", ("bhnd", True): "bhgqd", ("bnhd", True): "bqhgd"}
        rest = names[self.layout, self.groups > 1].replace("b", "").replace("h", "").replace("d", "")
        s = np.einsum(f"{names[self.layout, self.groups > 1]},bhkd->bh{rest}k", q, k) * 0.25
        if self.causal:
            queries, keys = np.arange(self.queries), np.arange(self.keys)
            s = np.where(_along(queries, s, 2 + rest.index("q")) >= _along(keys, s, -1), s, -1e30)
        else:
            s = s + s
        e = np.exp(s - s.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        return p, np.einsum(f"bh{rest}k,bhkd->bh{rest}d", p, v)


def _along(numbers: np.ndarray, of: np.ndarray, dim: int) -> np.ndarray:
    shape = [1] * of.ndim
    shape[dim] = -1
    return numbers.reshape(shape)


CASES = {
    "plain": Attention(2, 2, 40, 48, 16, 32),
    "odd sizes": Attention(1, 3, 37, 53, 19, 21),
    "one tile more": Attention(1, 1, 65, 64, 16, 16),
    "many keys": Attention(1, 1, 18, 2500, 16, 16),
    "heads inside": Attention(2, 3, 33, 40, 16, 17, "bnhd"),
    "causal": Attention(1, 2, 50, 50, 16, 16, causal=True),
    "grouped": Attention(2, 2, 33, 40, 16, 16, "bhnd", groups=3),
    "grouped inside": Attention(1, 2, 33, 40, 16, 16, "bnhd", groups=3, causal=True),
    "bf16": Attention(1, 2, 37, 45, 16, 20, dtype=BFLOAT, causal=True),
    "f16": Attention(1, 2, 20, 30, 18, 20, dtype=HALF),
    "weights too": Attention(1, 2, 37, 45, 16, 20, returns_weights=True),
    "long rows": Attention(1, 2, 20, 261, 18, 41, causal=True),
    "bf16 weights too": Attention(1, 2, 37, 45, 16, 20, dtype=BFLOAT, returns_weights=True),
}


def check(case: Attention) -> None:
    executable = xhlo.compile(case.text())
    assert [kernel.kind for kernel in executable.kernels] == ["row"]
    got = executable.compute(case.inputs(), None)
    bound = {4: 2e-6, 2: 1e-2}[case.dtype.itemsize]
    for result, want in zip(got, case.expected()[0 if case.returns_weights else 1 :], strict=True):
        assert np.abs(result.astype(np.float64) - want).max() < bound * max(1, np.abs(want).max())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_attention_is_one_kernel(case: Attention) -> None:
    check(case)


def _refuse(*_: object) -> bool:
    return False


@pytest.mark.parametrize("name", ["odd sizes", "bf16 weights too"])
def test_a_kernel_that_does_not_fit_into_tiles(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its products and its rows are loops of their own, in the order of the program."""
    monkeypatch.setattr(conversion, "convert_row_products", _refuse)
    check(CASES[name])
