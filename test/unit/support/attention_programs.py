"""Attention as a program in hlo, of every layout, element type and mask, with its result in f64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from cpu_programs import type_of

FLOAT, HALF, BFLOAT = np.dtype(np.float32), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)


def softmax_text(full: str, narrow: str, row: str) -> str:
    """Lines that turn %s into %p, its softmax along dimension 3, and %w, the same in the type `narrow`."""
    return f"""%max = hlo.reduce(%s init: %least) applies hlo.maximum across dimensions = [3] : ({full}, tensor<f32>) -> {row}
  %maxes = hlo.broadcast_in_dim %max, dims = [0, 1, 2] : ({row}) -> {full}
  %s0 = hlo.subtract %s, %maxes : {full}
  %e = hlo.exponential %s0 : {full}
  %sum = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [3] : ({full}, tensor<f32>) -> {row}
  %sums = hlo.broadcast_in_dim %sum, dims = [0, 1, 2] : ({row}) -> {full}
  %p = hlo.divide %e, %sums : {full}
  %w = hlo.convert %p : ({full}) -> {narrow}"""


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

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of q, k and v."""

        def shape(length: int, heads: tuple[int, ...], width: int) -> tuple[int, ...]:
            middle = (*heads, length) if self.layout == "bhnd" else (length, *heads)
            return (self.batch, *middle, width)

        heads = (self.heads,)
        grouped = (self.heads, self.groups) if self.groups > 1 else heads
        return (
            shape(self.queries, grouped, self.depth),
            shape(self.keys, heads, self.depth),
            shape(self.keys, heads, self.values),
        )

    def inputs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        q, k, v = self.shapes()
        k, v, q = (rng.standard_normal(shape).astype(self.dtype) for shape in (k, v, q))
        return q, k, v

    def text(self) -> str:
        """The program as JAX writes it; grouped queries put the group before or after the queries."""
        q, k, v = (_without_memory(shape, self.dtype) for shape in self.shapes())
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


def _without_memory(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Zeros of an array's type."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def _along(numbers: np.ndarray, of: np.ndarray, dim: int) -> np.ndarray:
    shape = [1] * of.ndim
    shape[dim] = -1
    return numbers.reshape(shape)


@dataclass(frozen=True)
class AttentionGradient:
    """Causal attention and its gradients with respect to q, k and v, given that with respect to the result."""

    batch: int
    heads: int
    length: int
    size: int
    dtype: np.dtype[Any] = FLOAT

    @property
    def shape(self) -> tuple[int, ...]:
        return self.batch, self.heads, self.length, self.size

    def inputs(self) -> list[np.ndarray]:
        """q, k, v, and the gradient of the result."""
        rng = np.random.default_rng(0)
        return [rng.standard_normal(self.shape).astype(self.dtype) for _ in range(4)]

    def text(self) -> str:
        x = type_of(_without_memory(self.shape, self.dtype))
        element = x.split("x")[-1][:-1]
        lead = f"tensor<{self.batch}x{self.heads}x{self.length}xf32>"
        s = lead.replace("xf32", f"x{self.length}xf32")
        w, i, m = s.replace("f32", element), s.replace("f32", "i32"), s.replace("f32", "i1")

        def dot(lhs: str, rhs: str, dims: str, types: str) -> str:
            return (
                f"hlo.dot_general %{lhs}, %{rhs}, batching_dims = [0, 1] x [0, 1], contracting_dims = {dims} : {types}"
            )

        def along(value: str) -> str:
            return f"hlo.broadcast_in_dim %{value}, dims = [0, 1, 2] : ({lead}) -> {s}"

        return f"""func.func @main(%q: {x}, %k: {x}, %v: {x}, %g: {x}) -> ({x}, {x}, {x}, {x}) {{
  %least = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %scale = hlo.constant dense<0.25> : {s}
  %low = hlo.constant dense<-1.0e30> : {s}
  %none = hlo.constant dense<0.0> : {s}
  %i = hlo.iota dim = 2 : {i}
  %j = hlo.iota dim = 3 : {i}
  %m = hlo.compare GE, %i, %j, SIGNED : ({i}, {i}) -> {m}
  %s0 = {dot("q", "k", "[3] x [3]", f"({x}, {x}) -> {s}")}
  %s1 = hlo.multiply %s0, %scale : {s}
  %s2 = hlo.select %m, %s1, %low : {m}, {s}
  %max = hlo.reduce(%s2 init: %least) applies hlo.maximum across dimensions = [3] : ({s}, tensor<f32>) -> {lead}
  %maxes = {along("max")}
  %d = hlo.subtract %s2, %maxes : {s}
  %e = hlo.exponential %d : {s}
  %sum = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [3] : ({s}, tensor<f32>) -> {lead}
  %sums = {along("sum")}
  %p = hlo.divide %e, %sums : {s}
  %w = hlo.convert %p : ({s}) -> {w}
  %o = {dot("w", "v", "[3] x [2]", f"({w}, {x}) -> {x}")}
  %gp = {dot("g", "v", "[3] x [3]", f"({x}, {x}) -> {s}")}
  %pg = hlo.multiply %gp, %p : {s}
  %c = hlo.reduce(%pg init: %zero) applies hlo.add across dimensions = [3] : ({s}, tensor<f32>) -> {lead}
  %cs = {along("c")}
  %gd = hlo.subtract %gp, %cs : {s}
  %ge = hlo.multiply %gd, %p : {s}
  %gm = hlo.select %m, %ge, %none : {m}, {s}
  %gs = hlo.multiply %gm, %scale : {s}
  %gw = hlo.convert %gs : ({s}) -> {w}
  %gq = {dot("gw", "k", "[3] x [2]", f"({w}, {x}) -> {x}")}
  %gk = {dot("gw", "q", "[2] x [2]", f"({w}, {x}) -> {x}")}
  %gv = {dot("w", "g", "[2] x [2]", f"({w}, {x}) -> {x}")}
  func.return %o, %gq, %gk, %gv : {x}, {x}, {x}, {x}
}}"""

    def expected(self) -> list[np.ndarray]:
        """The result and the gradients in f64."""
        q, k, v, g = (x.astype(np.float64) for x in self.inputs())
        mask = np.tril(np.ones((self.length, self.length), bool))
        s = np.where(mask, np.einsum("bhqd,bhkd->bhqk", q, k) * 0.25, -np.inf)
        e = np.exp(s - s.max(-1, keepdims=True))
        p = e / e.sum(-1, keepdims=True)
        gp = np.einsum("bhqd,bhkd->bhqk", g, v)
        gs = p * (gp - (gp * p).sum(-1, keepdims=True)) * 0.25
        out, gq = np.einsum("bhqk,bhkd->bhqd", p, v), np.einsum("bhqk,bhkd->bhqd", gs, k)
        return [out, gq, np.einsum("bhqk,bhqd->bhkd", gs, q), np.einsum("bhqk,bhqd->bhkd", p, g)]
