"""The rows of the table: arguments drawn by seed, and what a machine at its limit would need for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jax_programs.program import Draw

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Row:
    """One program; each system has its own function for it, under the same name."""

    name: str
    title: str
    draw: Callable[[Draw], Arguments]
    target: float | None
    """The goal: xhlo's time is at most this many times the best peer's."""
    moved: int = 0
    """Bytes of arguments and results that have to be read or written once."""
    flops: int = 0
    """Operations of products and convolutions."""
    type_: str = "f32"
    """The type of these products: f32, bf16 or i8."""
    tolerance: float = 1e-4
    """The largest difference from the result in float64, relative to the element and the array's root mean square."""
    exceptions: float = 0.0
    """The share of elements that may differ by more: where a rounding decides between two results."""

    def arguments(self) -> Arguments:
        return self.draw(Draw(self.name))


def _options(d: Draw) -> Arguments:
    n = 1 << 22
    return d.uniform(50, 150, n), d.uniform(50, 150, n), d.uniform(0.1, 2, n)


def _mlp(d: Draw) -> Arguments:
    return d.normal(512, 1024), d.dense(1024, 4096), d.normal(4096), d.dense(4096, 1024), d.normal(1024)


def _mlp_step(d: Draw) -> Arguments:
    labels = d.integers(0, 10, 256)
    return d.dense(784, 512), d.normal(512), d.dense(512, 10), d.normal(10), d.normal(256, 784), labels


def _residual(d: Draw) -> Arguments:
    return d.normal(8, 56, 56, 64), d.kernel(3, 3, 64, 64), d.kernel(3, 3, 64, 64), d.normal(64), d.normal(64)


def _convnet(d: Draw) -> Arguments:
    kernels = d.kernel(3, 3, 1, 32), d.kernel(3, 3, 32, 64)
    return *kernels, d.dense(3136, 128), d.dense(128, 10), d.normal(128, 28, 28, 1), d.integers(0, 10, 128)


def _lstm(d: Draw) -> Arguments:
    return d.normal(50, 1, 100), d.dense(100, 400), d.dense(100, 400), d.normal(400)


def _block(d: Draw, width: int) -> tuple[np.ndarray, ...]:
    """Weights of one transformer block: gains and offsets of both normalizations, and four matrices."""
    vectors = tuple(d.normal(width) for _ in range(4))
    matrices = (width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)
    return *vectors, *(d.dense(*shape) for shape in matrices)


def _transformer(d: Draw) -> Arguments:
    return d.normal(4, 256, 512), *_block(d, 512)


def _training(d: Draw) -> Arguments:
    """Parameters in a flat tuple, both moments, and tokens: 4 layers of width 256, 8 sequences of 128 tokens."""
    params = [d.normal(256, 256, scale=0.1), d.normal(128, 256)]
    for _ in range(4):
        params += _block(d, 256)
    return tuple(params), tuple(0 * p for p in params), tuple(0 * p + 0.01 for p in params), d.integers(0, 256, 8, 128)


M = 1 << 20
ROWS = (
    Row("mean", "mean(3x^2+y) 16M", lambda d: (d.normal(16 * M), d.normal(16 * M)), 1.0, 128 * M),
    Row("sum_of_product", "sum(x+y*z) 16M", lambda d: tuple(d.normal(16 * M) for _ in range(3)), 1.0, 192 * M),
    Row("chain", "12-op exp/tanh/log chain 4M", lambda d: (d.normal(4 * M),), 0.9, 32 * M),
    Row("black_scholes", "Black-Scholes 4M", _options, 1.0, 80 * M),
    Row("softmax", "softmax 4096x1024", lambda d: (d.normal(4096, 1024),), 0.9, 32 * M),
    Row(
        "layernorm",
        "layernorm 4096x1024, gain and bias",
        lambda d: (d.normal(4096, 1024), d.normal(1024), d.normal(1024)),
        1.0,
        32 * M,
    ),
    Row("matmul_1024", "matmul 1024", lambda d: (d.normal(1024, 1024), d.normal(1024, 1024)), 0.95, 12 * M, 2 << 30),
    Row("matmul_2048", "matmul 2048", lambda d: (d.normal(2048, 2048), d.normal(2048, 2048)), 0.95, 48 * M, 16 << 30),
    Row("mlp", "MLP 512x1024x4096 with gelu", _mlp, 0.95, 36 * M, 8 << 30),
    Row("mlp_step", "MLP training step", _mlp_step, 0.95, 6 * M, 6 * 256 * 512 * 794 - 2 * 256 * 784 * 512),
    Row(
        "matmul_bf16",
        "matmul 1024 bf16",
        lambda d: (d.bf16(1024, 1024), d.bf16(1024, 1024)),
        1.0,
        6 * M,
        2 << 30,
        "bf16",
        0.02,
    ),
    Row(
        "matmul_int8",
        "matmul 1024 int8 -> i32",
        lambda d: tuple(d.integers(-128, 128, 1024, 1024, dtype=np.int8) for _ in range(2)),
        1.0,
        6 * M,
        2 << 30,
        "i8",
        0.0,
    ),
    Row(
        "attention",
        "attention, batch 4, 8 heads, 512x64",
        lambda d: tuple(d.normal(4, 8, 512, 64) for _ in range(3)),
        0.9,
        16 * M,
        2 << 30,
    ),
    Row(
        "conv2d",
        "conv2d 32x56x56x64, 3x3x64",
        lambda d: (d.normal(32, 56, 56, 64), d.kernel(3, 3, 64, 64)),
        1.0,
        2 * 32 * 56 * 56 * 64 * 4,
        2 * 32 * 56 * 56 * 64 * 64 * 9,
    ),
    Row(
        "residual_block",
        "residual block 8x56x56x64",
        _residual,
        0.95,
        2 * 8 * 56 * 56 * 64 * 4,
        4 * 8 * 56 * 56 * 64 * 64 * 9,
    ),
    Row(
        "convnet_step",
        "MNIST convnet training step, batch 128",
        _convnet,
        0.9,
        2 * M,
        128 * (2 * 2 * 784 * 32 * 9 + 3 * 2 * 196 * 64 * 32 * 9 + 3 * 2 * 3136 * 128),
        tolerance=1e-3,
    ),
    Row("lstm", "LSTM 100 units, batch 1, 50 steps", _lstm, 1.0, 340_000, 50 * 2 * 2 * 100 * 400),
    Row(
        "transformer_block",
        "transformer block d=512, 8 heads, 256 tokens, batch 4",
        _transformer,
        0.85,
        16 * M,
        2 * 1024 * 512 * 512 * 12 + 4 * 4 * 256 * 256 * 512,
    ),
    Row(
        "transformer_step",
        "training step, 4-layer d=256 transformer with Adam",
        _training,
        0.75,
        6 * 13 * M,
        3 * (4 * (2 * 1024 * 256 * 256 * 12 + 4 * 8 * 128 * 128 * 256) + 2 * 1024 * 256 * 256),
        tolerance=5e-3,
    ),
    Row("sort", "sort 1M", lambda d: (d.normal(M),), None, 8 * M),
    Row("cumsum", "cumsum 4M", lambda d: (d.normal(4 * M),), None, 32 * M, tolerance=1e-3),
    Row("top_k", "top-k 100 of 1M", lambda d: (d.normal(M),), 1.0, 4 * M),
    Row(
        "gather",
        "gather of 8192 rows of 50k x 256",
        lambda d: (d.normal(50000, 256), d.integers(0, 50000, 8192)),
        0.8,
        16 * M,
    ),
    Row(
        "scatter_add",
        "scatter-add of the same",
        lambda d: (d.normal(50000, 256), d.integers(0, 50000, 8192), d.normal(8192, 256)),
        0.5,
        2 * 50000 * 1024 + 16 * M,
    ),
    Row("transpose", "transpose 4096^2", lambda d: (d.normal(4096, 4096),), 0.7, 128 * M),
    Row("reduce_0", "reduce 8192x4096 over axis 0", lambda d: (d.normal(8192, 4096),), 0.5, 128 * M),
    Row("reduce_1", "reduce 8192x4096 over axis 1", lambda d: (d.normal(8192, 4096),), 1.0, 128 * M),
    Row(
        "mandelbrot",
        "Mandelbrot 1024^2, 100 iterations (while)",
        lambda d: (np.linspace(-2, 0.6, 1024, dtype=np.float32), np.linspace(-1.3, 1.3, 1024, dtype=np.float32)),
        0.3,
        4 * M,
        exceptions=0.005,
    ),
    Row("fft", "FFT 1M", lambda d: (d.complex(M),), 1.0, 16 * M),
    Row("cholesky", "Cholesky 512", lambda d: (d.definite(1, 512)[0],), 1.0, 2 * M, 512**3 // 3),
    Row("small_add", "x+y, n=8, the whole call", lambda d: (d.normal(8), d.normal(8)), None, 96),
)
BY_NAME = {row.name: row for row in ROWS}
WEIGHTS = {
    "mlp": 1,
    "conv2d": 1,
    "residual_block": 1,
    "lstm": 1,
    "transformer_block": 1,
    "layernorm": 1,
}
"""Rows whose arguments from this one on are part of the model."""
