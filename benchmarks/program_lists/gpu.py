"""
The programs of benchmarks/gpu.py, as StableHLO text, so that neither JAX nor torch is needed to measure xhlo.

Each comes with the same computation for JAX and for torch, and a check of a sample of the result in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Arrays = Sequence[np.ndarray]


@dataclass(frozen=True)
class GpuProgram:
    """A program, its memory traffic and arithmetic, and its check."""

    name: str
    text: str
    inputs: tuple[tuple[tuple[int, ...], Any], ...]
    """Shape and dtype of each input."""
    bytes: int
    """Bytes of inputs and outputs: the least traffic possible."""
    flops: int
    """Operations of a matrix product; 0 for programs that are bound by memory."""
    in_jax: Callable[..., Any]
    """(jax, jax.numpy, *arrays)"""
    in_torch: Callable[..., Any]
    """(torch, *tensors)"""
    check: Callable[[Arrays, np.ndarray], None]
    """Takes the inputs and the result in host memory. Raises AssertionError."""

    def arguments(self, seed: int) -> list[np.ndarray]:
        """Random inputs in [-1, 1)."""
        rng = np.random.default_rng(seed)
        return [(2 * rng.random(shape, np.float32) - 1).astype(dtype) for shape, dtype in self.inputs]


F32, BF16 = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)
SAMPLE = slice(None, None, 4099)
"""The elements of a long vector that are checked; the stride is a prime, so that they cover all threads of a block."""


def _close(actual: Any, wanted: Any, rtol: float) -> None:
    wanted = np.asarray(wanted, np.float64)
    scale = np.sqrt(np.mean(wanted**2))
    np.testing.assert_allclose(np.asarray(actual, np.float64), wanted, rtol=rtol, atol=rtol * float(scale))


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)


def mean(n: int) -> GpuProgram:
    v = f"tensor<{n}xf32>"
    text = f"""
func.func @main(%x: {v}, %y: {v}) -> tensor<f32> {{
  %three = stablehlo.constant dense<3.0> : {v}
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.constant dense<{float(n)!r}> : tensor<f32>
  %0 = stablehlo.multiply %three, %x : {v}
  %1 = stablehlo.multiply %0, %x : {v}
  %2 = stablehlo.add %1, %y : {v}
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0]
      : ({v}, tensor<f32>) -> tensor<f32>
  %4 = stablehlo.divide %3, %count : tensor<f32>
  return %4 : tensor<f32>
}}
"""

    def check(arrays: Arrays, result: np.ndarray) -> None:
        x, y = arrays
        _close(result, np.mean(3.0 * x * x + y, dtype=np.float64), 1e-4)

    return GpuProgram(
        f"mean(3x^2+y), n={n >> 20}M",
        text,
        (((n,), F32),) * 2,
        8 * n,
        0,
        lambda jax, jnp, x, y: jnp.mean(3 * x * x + y),
        lambda torch, x, y: torch.mean(3 * x * x + y),
        check,
    )


def sum_of_product(n: int) -> GpuProgram:
    v = f"tensor<{n}xf32>"
    text = f"""
func.func @main(%x: {v}, %y: {v}, %z: {v}) -> tensor<f32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %y, %z : {v}
  %1 = stablehlo.add %x, %0 : {v}
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0]
      : ({v}, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}}
"""

    def check(arrays: Arrays, result: np.ndarray) -> None:
        x, y, z = arrays
        wanted = float(np.sum(x + y * z, dtype=np.float64))
        # Terms have both signs: the error is relative to the sum of their magnitudes.
        assert abs(float(result) - wanted) < 1e-6 * n, (float(result), wanted)

    return GpuProgram(
        f"sum(x+y*z), n={n >> 20}M",
        text,
        (((n,), F32),) * 3,
        12 * n,
        0,
        lambda jax, jnp, x, y, z: jnp.sum(x + y * z),
        lambda torch, x, y, z: torch.sum(x + y * z),
        check,
    )


def chain(n: int) -> GpuProgram:
    """12 elementwise operations: exp, tanh and log among them."""
    v = f"tensor<{n}xf32>"
    text = f"""
func.func @main(%x: {v}) -> {v} {{
  %one = stablehlo.constant dense<1.0> : {v}
  %half = stablehlo.constant dense<0.5> : {v}
  %a = stablehlo.tanh %x : {v}
  %b0 = stablehlo.exponential %a : {v}
  %b = stablehlo.add %b0, %x : {v}
  %c0 = stablehlo.multiply %b, %b : {v}
  %c1 = stablehlo.add %c0, %one : {v}
  %c = stablehlo.log %c1 : {v}
  %d0 = stablehlo.multiply %c, %half : {v}
  %d = stablehlo.tanh %d0 : {v}
  %e0 = stablehlo.negate %d : {v}
  %e1 = stablehlo.exponential %e0 : {v}
  %e2 = stablehlo.multiply %e1, %c : {v}
  %e = stablehlo.add %e2, %a : {v}
  return %e : {v}
}}
"""

    def compute(lib: Any, x: Any) -> Any:
        a = lib.tanh(x)
        b = lib.exp(a) + x
        c = lib.log(b * b + 1.0)
        return lib.exp(-lib.tanh(c * 0.5)) * c + a

    def check(arrays: Arrays, result: np.ndarray) -> None:
        _close(result[SAMPLE], compute(np, _wide(arrays[0][SAMPLE])), 1e-5)

    return GpuProgram(
        f"chain of 12, n={n >> 20}M",
        text,
        (((n,), F32),),
        8 * n,
        0,
        lambda jax, jnp, x: compute(jnp, x),
        compute,
        check,
    )


def softmax(rows: int, columns: int) -> GpuProgram:
    m, v = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>"
    reduction = f"across dimensions = [1] : ({m}, tensor<f32>) -> {v}"
    spread = f"dims = [0] : ({v}) -> {m}"
    text = f"""
func.func @main(%x: {m}) -> {m} {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %least) applies stablehlo.maximum {reduction}
  %1 = stablehlo.broadcast_in_dim %0, {spread}
  %2 = stablehlo.subtract %x, %1 : {m}
  %3 = stablehlo.exponential %2 : {m}
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add {reduction}
  %5 = stablehlo.broadcast_in_dim %4, {spread}
  %6 = stablehlo.divide %3, %5 : {m}
  return %6 : {m}
}}
"""

    def check(arrays: Arrays, result: np.ndarray) -> None:
        x = _wide(arrays[0][::997])
        e = np.exp(x - x.max(1, keepdims=True))
        _close(result[::997], e / e.sum(1, keepdims=True), 1e-5)

    return GpuProgram(
        f"softmax {rows}x{columns}",
        text,
        (((rows, columns), F32),),
        8 * rows * columns,
        0,
        lambda jax, jnp, x: jax.nn.softmax(x, -1),
        lambda torch, x: torch.softmax(x, -1),
        check,
    )


def layernorm(rows: int, columns: int) -> GpuProgram:
    m, v, w = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>", f"tensor<{columns}xf32>"
    reduction = f"applies stablehlo.add across dimensions = [1] : ({m}, tensor<f32>) -> {v}"
    text = f"""
func.func @main(%x: {m}, %scale: {w}, %shift: {w}) -> {m} {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.constant dense<{float(columns)!r}> : {v}
  %small = stablehlo.constant dense<1.0e-5> : {v}
  %0 = stablehlo.reduce(%x init: %zero) {reduction}
  %1 = stablehlo.divide %0, %count : {v}
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : ({v}) -> {m}
  %3 = stablehlo.subtract %x, %2 : {m}
  %4 = stablehlo.multiply %3, %3 : {m}
  %5 = stablehlo.reduce(%4 init: %zero) {reduction}
  %6 = stablehlo.divide %5, %count : {v}
  %7 = stablehlo.add %6, %small : {v}
  %8 = stablehlo.rsqrt %7 : {v}
  %9 = stablehlo.broadcast_in_dim %8, dims = [0] : ({v}) -> {m}
  %10 = stablehlo.multiply %3, %9 : {m}
  %11 = stablehlo.broadcast_in_dim %scale, dims = [1] : ({w}) -> {m}
  %12 = stablehlo.multiply %10, %11 : {m}
  %13 = stablehlo.broadcast_in_dim %shift, dims = [1] : ({w}) -> {m}
  %14 = stablehlo.add %12, %13 : {m}
  return %14 : {m}
}}
"""

    def in_jax(jax: Any, jnp: Any, x: Any, scale: Any, shift: Any) -> Any:
        centered = x - jnp.mean(x, 1, keepdims=True)
        return centered * jax.lax.rsqrt(jnp.mean(centered**2, 1, keepdims=True) + 1e-5) * scale + shift

    def check(arrays: Arrays, result: np.ndarray) -> None:
        x, scale, shift = _wide(arrays[0][::997]), _wide(arrays[1]), _wide(arrays[2])
        centered = x - x.mean(1, keepdims=True)
        _close(result[::997], centered / np.sqrt((centered**2).mean(1, keepdims=True) + 1e-5) * scale + shift, 1e-5)

    return GpuProgram(
        f"layernorm {rows}x{columns}",
        text,
        (((rows, columns), F32), ((columns,), F32), ((columns,), F32)),
        8 * rows * columns,
        0,
        in_jax,
        lambda torch, x, scale, shift: torch.nn.functional.layer_norm(x, (columns,), scale, shift, 1e-5),
        check,
    )


def transpose(n: int) -> GpuProgram:
    m = f"tensor<{n}x{n}xf32>"
    text = f"""
func.func @main(%x: {m}) -> {m} {{
  %0 = stablehlo.transpose %x, dims = [1, 0] : ({m}) -> {m}
  return %0 : {m}
}}
"""

    def check(arrays: Arrays, result: np.ndarray) -> None:
        np.testing.assert_array_equal(result[::97], arrays[0][:, ::97].T)

    return GpuProgram(
        f"transpose {n}^2",
        text,
        (((n, n), F32),),
        8 * n * n,
        0,
        lambda jax, jnp, x: x.T,
        lambda torch, x: x.t().contiguous(),
        check,
    )


def reduction(axis: int, rows: int, columns: int) -> GpuProgram:
    m = f"tensor<{rows}x{columns}xf32>"
    kept = columns if axis == 0 else rows
    signature = f"({m}, tensor<f32>) -> tensor<{kept}xf32>"
    text = f"""
func.func @main(%x: {m}) -> tensor<{kept}xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [{axis}] : {signature}
  return %0 : tensor<{kept}xf32>
}}
"""

    def check(arrays: Arrays, result: np.ndarray) -> None:
        _close(result, arrays[0].sum(axis, dtype=np.float64), 1e-4)

    return GpuProgram(
        f"reduce axis {axis}, {rows}x{columns}",
        text,
        (((rows, columns), F32),),
        4 * (rows * columns + kept),
        0,
        lambda jax, jnp, x: jnp.sum(x, axis),
        lambda torch, x: torch.sum(x, axis),
        check,
    )


def matmul(n: int, dtype: np.dtype[Any]) -> GpuProgram:
    short = "bf16" if dtype == BF16 else "f32"
    m = f"tensor<{n}x{n}x{short}>"
    text = f"""
func.func @main(%a: {m}, %b: {m}) -> {m} {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({m}, {m}) -> {m}
  return %0 : {m}
}}
"""

    def check(arrays: Arrays, result: np.ndarray) -> None:
        a, b = (array.astype(np.float32) for array in arrays)
        _close(result[:: n // 16], a[:: n // 16] @ b, 2e-2 if dtype == BF16 else 1e-4)

    return GpuProgram(
        f"matmul {n} {short}",
        text,
        (((n, n), dtype),) * 2,
        3 * n * n * dtype.itemsize,
        2 * n**3,
        lambda jax, jnp, a, b: a @ b,
        lambda torch, a, b: a @ b,
        check,
    )


def attention(heads: int, length: int, size: int, dtype: np.dtype[Any], causal: bool = False) -> GpuProgram:
    short = "bf16" if dtype == BF16 else "f32"
    x, s = f"tensor<{heads}x{length}x{size}x{short}>", f"tensor<{heads}x{length}x{length}xf32>"
    i, m, row = s.replace("f32", "i32"), s.replace("f32", "i1"), f"tensor<{heads}x{length}xf32>"
    scale = 1 / math.sqrt(size)
    mask = f"""%i = stablehlo.iota dim = 1 : {i}
  %j = stablehlo.iota dim = 2 : {i}
  %m = stablehlo.compare GE, %i, %j, SIGNED : ({i}, {i}) -> {m}
  %low = stablehlo.constant dense<-1.0e30> : {s}
  %2 = stablehlo.select %m, %1, %low : {m}, {s}"""
    text = f"""
func.func @main(%q: {x}, %k: {x}, %v: {x}) -> {x} {{
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %scale = stablehlo.constant dense<{scale!r}> : {s}
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : ({x}, {x}) -> {s}
  %1 = stablehlo.multiply %0, %scale : {s}
  {mask if causal else ""}
  %3 = stablehlo.reduce(%{2 if causal else 1} init: %least) applies stablehlo.maximum across dimensions = [2]
      : ({s}, tensor<f32>) -> {row}
  %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : ({row}) -> {s}
  %5 = stablehlo.subtract %{2 if causal else 1}, %4 : {s}
  %6 = stablehlo.exponential %5 : {s}
  %7 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [2] : ({s}, tensor<f32>) -> {row}
  %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : ({row}) -> {s}
  %9 = stablehlo.divide %6, %8 : {s}
  %10 = stablehlo.convert %9 : ({s}) -> {s.replace("f32", short)}
  %11 = stablehlo.dot_general %10, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
      : ({s.replace("f32", short)}, {x}) -> {x}
  return %11 : {x}
}}
"""

    def check(arrays: Arrays, result: np.ndarray) -> None:
        q, k, v = (_wide(array[0]) for array in arrays)
        rows = np.arange(0, length, max(1, length // 16))
        scores = q[rows] @ k.T * scale
        if causal:
            scores = np.where(rows[:, None] >= np.arange(length), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        _close(result[0, rows], weights / weights.sum(-1, keepdims=True) @ v, 2e-2 if dtype == BF16 else 1e-4)

    def in_jax(jax: Any, jnp: Any, q: Any, k: Any, v: Any) -> Any:
        scores = jnp.einsum("hqd,hkd->hqk", q, k, preferred_element_type=jnp.float32) * scale
        if causal:
            scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
        return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores, -1).astype(q.dtype), v)

    return GpuProgram(
        f"attention {heads}x{length}x{size} {short}{', causal' if causal else ''}",
        text,
        (((heads, length, size), dtype),) * 3,
        4 * heads * length * size * dtype.itemsize,
        4 * heads * length * length * size,
        in_jax,
        lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal),
        check,
    )


def launches(count: int, n: int) -> str:
    """A program of `count` operations that depend on each other, each in its own kernel."""
    v = f"tensor<{n}xf32>"
    lines = [f"  %{k + 1} = stablehlo.add %{k}, %y : {v}" for k in range(count)]
    body = "\n".join(lines).replace("%0,", "%x,")
    return f"func.func @main(%x: {v}, %y: {v}) -> {v} {{\n{body}\n  return %{count} : {v}\n}}\n"


def programs() -> list[GpuProgram]:
    n = 64 << 20
    return [
        mean(n),
        sum_of_product(n),
        chain(n),
        softmax(32768, 4096),
        layernorm(32768, 4096),
        transpose(16384),
        reduction(0, 8192, 8192),
        reduction(1, 8192, 8192),
        matmul(8192, BF16),
        matmul(8192, F32),
        attention(128, 4096, 128, BF16),
        attention(128, 4096, 128, BF16, causal=True),
        attention(128, 4096, 64, F32, causal=True),
    ]
