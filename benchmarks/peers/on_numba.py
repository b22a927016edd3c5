"""numba: the rows that are loops, compiled in parallel with fast arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import njit, prange

from .rows import Arguments, Row

SYSTEMS = ("numba",)
VERSIONS = {"numba": numba.__version__}
Array = np.ndarray
parallel = njit(parallel=True, fastmath=True)


@parallel
def mean(x: Array, y: Array) -> Any:
    total = np.float32(0)
    for i in prange(x.size):
        total += 3 * x[i] * x[i] + y[i]
    return total / x.size


@parallel
def sum_of_product(x: Array, y: Array, z: Array) -> Any:
    total = np.float32(0)
    for i in prange(x.size):
        total += x[i] + y[i] * z[i]
    return total


@parallel
def chain(x: Array) -> Array:
    out = np.empty_like(x)
    for i in prange(x.size):
        a = math.tanh(x[i])
        b = math.exp(a) + x[i]
        c = math.log(b * b + np.float32(1))
        out[i] = math.exp(-math.tanh(c * np.float32(0.5))) * c + a
    return out


@njit(fastmath=True)
def normal_cdf(x: Any) -> Any:
    return np.float32(0.5) * (np.float32(1) + math.erf(x * np.float32(0.7071067811865476)))


@parallel
def black_scholes(price: Array, strike: Array, years: Array) -> tuple[Array, Array]:
    call, put = np.empty_like(price), np.empty_like(price)
    for i in prange(price.size):
        root = np.float32(0.3) * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + np.float32(0.065) * years[i]) / root
        late = strike[i] * math.exp(np.float32(-0.02) * years[i])
        call[i] = price[i] * normal_cdf(d1) - late * normal_cdf(d1 - root)
        put[i] = call[i] - price[i] + late
    return call, put


@parallel
def softmax(x: Array) -> Array:
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        top = np.max(x[i])
        total = np.float32(0)
        for j in range(x.shape[1]):
            out[i, j] = math.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


@parallel
def layernorm(x: Array, gain: Array, bias: Array) -> Array:
    out = np.empty_like(x)
    n = x.shape[1]
    for i in prange(x.shape[0]):
        mean = np.float32(0)
        for j in range(n):
            mean += x[i, j]
        mean /= n
        variance = np.float32(0)
        for j in range(n):
            variance += (x[i, j] - mean) ** 2
        scale = np.float32(1) / math.sqrt(variance / n + np.float32(1e-5))
        for j in range(n):
            out[i, j] = (x[i, j] - mean) * scale * gain[j] + bias[j]
    return out


@njit
def cumsum(x: Array) -> Array:
    out = np.empty_like(x)
    total = 0.0
    for i in range(x.size):
        total += x[i]
        out[i] = total
    return out


@parallel
def gather(table: Array, rows: Array) -> Array:
    out = np.empty((rows.size, table.shape[1]), table.dtype)
    for i in prange(rows.size):
        out[i] = table[rows[i]]
    return out


@njit
def scatter_add(table: Array, rows: Array, updates: Array) -> Array:
    out = table.copy()
    for i in range(rows.size):
        out[rows[i]] += updates[i]
    return out


@parallel
def transpose(x: Array) -> Array:
    n, m = x.shape
    out = np.empty((m, n), x.dtype)
    for block in prange((m + 15) // 16):
        for start in range(0, n, 16):
            for j in range(block * 16, min(block * 16 + 16, m)):
                for i in range(start, min(start + 16, n)):
                    out[j, i] = x[i, j]
    return out


@parallel
def reduce_0(x: Array) -> Array:
    n, m = x.shape
    out = np.zeros(m, x.dtype)
    for block in prange((m + 255) // 256):
        low, high = block * 256, min(block * 256 + 256, m)
        for i in range(n):
            for j in range(low, high):
                out[j] += x[i, j]
    return out


@parallel
def reduce_1(x: Array) -> Array:
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        out[i] = total
    return out


@parallel
def mandelbrot(x: Array, y: Array) -> Array:
    out = np.empty((y.size, x.size), np.int32)
    for i in prange(y.size):
        for j in range(x.size):
            a = b = np.float32(0)
            count = 0
            while count < 100 and a * a + b * b < 4:
                a, b = a * a - b * b + x[j], 2 * a * b + y[i]
                count += 1
            out[i, j] = count
    return out


@njit
def small_add(x: Array, y: Array) -> Array:
    return x + y


FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(mean, sum_of_product, chain, black_scholes, softmax, layernorm, cumsum, gather, scatter_add, transpose),
        *(reduce_0, reduce_1, mandelbrot, small_add),
    )
}


def prepare(row: Row, system: str, arguments: Arguments) -> Callable[[], Any] | None:
    function = FUNCTIONS.get(row.name)
    return None if function is None else lambda: function(*arguments)
