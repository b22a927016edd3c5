"""Programs of loops: recurrences, filters, grids, fractals, solvers, dynamic programming, walks and optimizers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax


@dataclass(frozen=True)
class LoopProgram:
    """A function of arrays, and its arguments."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def _draw(seed: int, *shapes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(shape).astype(np.float32) for shape in shapes)


# -- recurrent networks ----------------------------------------------------------------------------


def lstm(xs: Array, w: Array, u: Array, b: Array) -> Array:
    """xs [T, 1, D], PyTorch's layout of weights: w [4H, D], u [4H, H]."""

    def step(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
        h, c = state
        i, f, g, o = jnp.split(x @ w.T + h @ u.T + b, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((xs.shape[1], u.shape[1]), xs.dtype)
    return lax.scan(step, (zero, zero), xs)[1]


def gru(xs: Array, w: Array, u: Array, b: Array) -> Array:
    """xs [T, B, D], w [D, 3H], u [H, 3H]."""

    def step(h: Array, x: Array) -> tuple[Array, Array]:
        xr, xz, xn = jnp.split(x @ w + b, 3, axis=-1)
        hr, hz, hn = jnp.split(h @ u, 3, axis=-1)
        r, z = jax.nn.sigmoid(xr + hr), jax.nn.sigmoid(xz + hz)
        h = (1 - z) * jnp.tanh(xn + r * hn) + z * h
        return h, h

    return lax.scan(step, jnp.zeros((xs.shape[1], u.shape[0]), xs.dtype), xs)[1]


def rnn_gradient(xs: Array, w: Array, u: Array) -> Any:
    def loss(w: Array, u: Array) -> Array:
        def step(h: Array, x: Array) -> tuple[Array, Array]:
            h = jnp.tanh(x @ w + h @ u)
            return h, h

        return jnp.sum(lax.scan(step, jnp.zeros((xs.shape[1], u.shape[0]), xs.dtype), xs)[1] ** 2)

    return jax.grad(loss, (0, 1))(w, u)


# -- filters ---------------------------------------------------------------------------------------


def kalman(zs: Array, f: Array, h: Array, q: Array, r: Array) -> Array:
    def step(state: tuple[Array, Array], z: Array) -> tuple[tuple[Array, Array], Array]:
        x, p = state
        x, p = f @ x, f @ p @ f.T + q
        s = h @ p @ h.T + r
        det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = jnp.stack([jnp.stack([s[1, 1], -s[0, 1]]), jnp.stack([-s[1, 0], s[0, 0]])]) / det
        k = p @ h.T @ inverse
        x, p = x + k @ (z - h @ x), p - k @ h @ p
        return (x, p), x

    return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), zs)[1]


def biquad(xs: Array, b: Array, a: Array) -> Array:
    def step(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
        s1, s2 = state
        y = b[0] * x + s1
        return (b[1] * x - a[0] * y + s2, b[2] * x - a[1] * y), y

    return lax.scan(step, (jnp.float32(0), jnp.float32(0)), xs)[1]


# -- simulation ------------------------------------------------------------------------------------


def heat(u: Array) -> Array:
    def step(_: int, u: Array) -> Array:
        inner = u[1:-1, 1:-1]
        new = inner + 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner)
        return u.at[1:-1, 1:-1].set(new)

    return lax.fori_loop(0, 100, step, u)


def wave(u: Array, v: Array) -> Array:
    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        u, v = state
        lap = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u
        v = v + 0.1 * lap
        return (u + 0.1 * v, v), None

    return lax.scan(step, (u, v), None, length=100)[0][0]


def rk4(y: Array) -> Array:
    def lorenz(y: Array) -> Array:
        return jnp.stack([10.0 * (y[1] - y[0]), y[0] * (28.0 - y[2]) - y[1], y[0] * y[1] - 8.0 / 3.0 * y[2]])

    def step(y: Array, _: None) -> tuple[Array, Array]:
        h = 0.005
        k1 = lorenz(y)
        k2 = lorenz(y + h / 2 * k1)
        k3 = lorenz(y + h / 2 * k2)
        k4 = lorenz(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    return lax.scan(step, y, None, length=2000)[1]


def nbody(x: Array, v: Array, m: Array) -> Array:
    def step(_: int, state: tuple[Array, Array]) -> tuple[Array, Array]:
        x, v = state
        d = x[None] - x[:, None]
        r = jnp.sum(d * d, -1) + 1e-2
        a = jnp.sum(d * (m[None] * r**-1.5)[..., None], 1)
        v = v + 0.01 * a
        return x + 0.01 * v, v

    return lax.fori_loop(0, 100, step, (x, v))[0]


def walk(key: Array, x: Array) -> Array:
    def step(x: Array, key: Array) -> tuple[Array, Array]:
        x = x + jax.random.normal(key, x.shape)
        return x, jnp.mean(x)

    return lax.scan(step, x, jax.random.split(key, 100))[1]


# -- fractals and Newton ---------------------------------------------------------------------------


def mandelbrot(cr: Array, ci: Array) -> Array:
    def step(_: int, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        zr, zi, n = state
        alive = zr * zr + zi * zi <= 4.0
        zr, zi = jnp.where(alive, zr * zr - zi * zi + cr, zr), jnp.where(alive, 2 * zr * zi + ci, zi)
        return zr, zi, n + alive

    zero = jnp.zeros_like(cr)
    return lax.fori_loop(0, 100, step, (zero, zero, jnp.zeros(cr.shape, jnp.int32)))[2]


def mandelbrot_complex(c: Array) -> Array:
    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        i, z, n = state
        z = z * z + c
        return i + 1, z, jnp.where((n == 0) & (jnp.abs(z) > 2), i, n)

    return lax.while_loop(lambda s: s[0] < 100, step, (0, jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[2]


def julia(z: Array) -> Array:
    def escape(z: Array) -> Array:
        def alive(state: tuple[Array, Array]) -> Array:
            return (state[0] < 100) & (jnp.abs(state[1]) < 2)

        return lax.while_loop(alive, lambda s: (s[0] + 1, s[1] * s[1] + (-0.8 + 0.156j)), (0, z))[0]

    return jax.vmap(jax.vmap(escape))(z)


def kepler(mean: Array, e: Array) -> Array:
    def go(state: tuple[Array, Array, Array]) -> Array:
        return (jnp.max(jnp.abs(state[1])) > 1e-6) & (state[2] < 50)

    def newton(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, _, i = state
        d = (x - e * jnp.sin(x) - mean) / (1 - e * jnp.cos(x))
        return x - d, d, i + 1

    return lax.while_loop(go, newton, (mean, jnp.ones_like(mean), 0))[0]


def newton_roots(z: Array) -> Array:
    return lax.fori_loop(0, 30, lambda _, z: z - (z * z * z - 1) / (3 * z * z), z)


# -- linear algebra --------------------------------------------------------------------------------


def power_iteration(a: Array, x: Array) -> Array:
    def step(_: int, x: Array) -> Array:
        y = a @ x
        return y / jnp.linalg.norm(y)

    return lax.fori_loop(0, 100, step, x)


def conjugate_gradient(a: Array, b: Array) -> Array:
    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        x, r, p, rr, i = state
        ap = a @ p
        alpha = rr / (p @ ap)
        x, r = x + alpha * p, r - alpha * ap
        new = r @ r
        return x, r, r + new / rr * p, new, i + 1

    start = (jnp.zeros_like(b), b, b, b @ b, 0)
    return lax.while_loop(lambda s: (s[3] > 1e-8) & (s[4] < 100), step, start)[0]


# -- dynamic programming ---------------------------------------------------------------------------


def floyd_warshall(d: Array) -> Array:
    return lax.fori_loop(0, d.shape[0], lambda k, d: jnp.minimum(d, d[:, k][:, None] + d[k, :][None, :]), d)


def edit_distance(a: Array, b: Array) -> Array:
    def row(previous: Array, x: Array) -> tuple[Array, None]:
        def cell(left: Array, inputs: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            up, corner, y = inputs
            left = jnp.minimum(jnp.minimum(up + 1, left + 1), corner + (x != y))
            return left, left

        _, rest = lax.scan(cell, previous[0] + 1, (previous[1:], previous[:-1], b))
        return jnp.concatenate([previous[:1] + 1, rest]), None

    return lax.scan(row, jnp.arange(b.shape[0] + 1), a)[0][-1]


def viterbi(emissions: Array, transitions: Array) -> Array:
    def step(score: Array, e: Array) -> tuple[Array, Array]:
        total = score[:, None] + transitions
        return jnp.max(total, 0) + e, jnp.argmax(total, 0)

    last, back = lax.scan(step, emissions[0], emissions[1:])

    def trace(state: Array, pointers: Array) -> tuple[Array, Array]:
        return pointers[state], state

    return lax.scan(trace, jnp.argmax(last), back, reverse=True)[1]


# -- optimizers ------------------------------------------------------------------------------------


def adam(w: Array, x: Array, y: Array) -> Array:
    def loss(w: Array) -> Array:
        return jnp.mean((jnp.tanh(x @ w) - y) ** 2)

    def step(i: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        w, m, v = state
        g = jax.grad(loss)(w)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        t = i + 1
        return w - 0.01 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8), m, v

    return lax.fori_loop(0, 100, step, (w, jnp.zeros_like(w), jnp.zeros_like(w)))[0]


def logistic_descent(w: Array, x: Array, y: Array) -> Array:
    def step(w: Array, _: None) -> tuple[Array, Array]:
        p = jax.nn.sigmoid(x @ w)
        w = w - 0.1 * (x.T @ (p - y)) / x.shape[0]
        return w, jnp.sum(w * w)

    return lax.scan(step, w, None, length=100)[1]


def _plane(n: int) -> np.ndarray:
    real, imaginary = np.meshgrid(np.linspace(-2, 0.6, n), np.linspace(-1.3, 1.3, n))
    return (real + 1j * imaginary).astype(np.complex64)


def loop_programs() -> list[LoopProgram]:
    """All programs, with the sizes that loops.py measures."""
    plane = _plane(1024)
    square, vector = _draw(1, (512, 512), (512,))
    symmetric = (square @ square.T / 512 + np.eye(512)).astype(np.float32)
    dt = np.eye(4, k=2, dtype=np.float32) * 0.1 + np.eye(4, dtype=np.float32)
    rng = np.random.default_rng(0)
    scale = np.float32(0.1)

    def scaled(seed: int, *shapes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        return tuple(each * scale for each in _draw(seed, *shapes))

    return [
        LoopProgram("lstm 1x100x50", lstm, scaled(0, (50, 1, 100), (400, 100), (400, 100), (400,))),
        LoopProgram("lstm 16x128x50", lstm, scaled(0, (50, 16, 128), (512, 128), (512, 128), (512,))),
        LoopProgram("gru 8x64x200", gru, scaled(0, (200, 8, 64), (64, 192), (64, 192), (192,))),
        LoopProgram("rnn gradient 8x64x100", rnn_gradient, scaled(0, (100, 8, 64), (64, 64), (64, 64))),
        LoopProgram("kalman 4x2x500", kalman, (
            *_draw(2, (500, 2)), dt, np.eye(2, 4, dtype=np.float32), np.eye(4, dtype=np.float32) * scale,
            np.eye(2, dtype=np.float32),
        )),
        LoopProgram("biquad 48000", biquad, (
            *_draw(3, (48000,)), np.array([0.2, 0.4, 0.2], np.float32), np.array([-0.3, 0.1], np.float32),
        )),
        LoopProgram("heat 256x256x100", heat, _draw(4, (256, 256))),
        LoopProgram("wave 512x512x100", wave, _draw(5, (512, 512), (512, 512))),
        LoopProgram("rk4 lorenz 2000", rk4, (np.ones(3, np.float32),)),
        LoopProgram("n-body 128x100", nbody, (*_draw(6, (128, 3), (128, 3)), np.ones(128, np.float32))),
        LoopProgram("random walk 10000x100", walk, (np.array([0, 1], np.uint32), np.zeros(10000, np.float32))),
        LoopProgram("mandelbrot 1024x100", mandelbrot, (plane.real.copy(), plane.imag.copy())),
        LoopProgram("mandelbrot c64 512x100", mandelbrot_complex, (_plane(512),)),
        LoopProgram("julia vmap 512", julia, (_plane(512),)),
        LoopProgram("kepler 100000", kepler, (
            rng.uniform(0, 6, 100000).astype(np.float32), rng.uniform(0, 0.9, 100000).astype(np.float32),
        )),
        LoopProgram("newton roots 512x30", newton_roots, (_plane(512),)),
        LoopProgram("power iteration 512x100", power_iteration, (symmetric, vector)),
        LoopProgram("conjugate gradient 512", conjugate_gradient, (symmetric, vector)),
        LoopProgram("floyd-warshall 256", floyd_warshall, (np.abs(_draw(7, (256, 256))[0]),)),
        LoopProgram("edit distance 128x128", edit_distance, (rng.integers(0, 4, 128), rng.integers(0, 4, 128))),
        LoopProgram("viterbi 32x200", viterbi, _draw(8, (200, 32), (32, 32))),
        LoopProgram("adam 64x10x100", adam, _draw(9, (64, 10), (256, 64), (256, 10))),
        LoopProgram("logistic descent 1000x32", logistic_descent, (
            np.zeros(32, np.float32), *_draw(10, (1000, 32)), rng.integers(0, 2, 1000).astype(np.float32),
        )),
    ]  # fmt: skip
