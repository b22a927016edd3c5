"""
Sixty functions in plain NumPy, as textbooks write them: linear algebra, signals, statistics, simulation, images.

Each is registered with the arguments that it takes for about `n` numbers. They know nothing of this project.
"""

# pyright: basic
from __future__ import annotations

from typing import Any

import numpy as np

from cases import CASES, case, colours, image, normals, samples, square, vectors

__all__ = ["CASES"]

# Linear algebra.


@case("linear algebra", lambda r, n: (np.abs(square(r, n)),))
def power_iteration(a):
    v = np.ones(a.shape[0])
    for _ in range(8):
        v = a @ v
        v = v / np.sqrt(np.sum(v * v))
    return v, v @ (a @ v)


@case("linear algebra", lambda r, n: (samples(r, n),))
def gram_schmidt(a):
    basis = []
    for j in range(a.shape[1]):
        v = a[:, j]
        for q in basis:
            v = v - np.dot(q, v) * q
        basis.append(v / np.sqrt(np.dot(v, v)))
    return np.stack(basis, axis=1)


@case("linear algebra", lambda r, n: (square(r, n) + 4 * np.eye(int(n**0.5)), r.normal(size=int(n**0.5))))
def jacobi(a, b):
    d = np.diag(a)
    x = np.zeros_like(b)
    for _ in range(8):
        x = (b - (a @ x - d * x)) / d
    return x


def spd(r: Any, n: int) -> Any:
    a = square(r, n)
    return (a + a.T) / 2 + 2 * np.eye(len(a)), r.normal(size=len(a))


@case("linear algebra", spd)
def conjugate_gradient(a, b):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    old = r @ r
    for _ in range(6):
        ap = a @ p
        alpha = old / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + (new / old) * p
        old = new
    return x


@case("linear algebra", lambda r, n: (square(r, n), r.normal(size=int(n**0.5))))
def householder_reflection(a, v):
    v = v / np.linalg.norm(v)
    return a - 2 * np.outer(v, v @ a)


@case("linear algebra", lambda r, n: (r.normal(size=(int(n**0.5), 3)), r.normal(size=(int(n**0.5), 3))))
def pairwise_distances(x, y):
    return np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(-1))


@case("linear algebra", normals(4))
def tridiagonal_product(lower, diagonal, upper, x):
    y = diagonal * x
    y[1:] += lower[1:] * x[:-1]
    y[:-1] += upper[:-1] * x[1:]
    return y


@case("linear algebra", lambda r, n: (square(r, n), square(r, n)))
def trace_of_product(a, b):
    return np.sum(a * b.T)


@case("linear algebra", lambda r, n: (samples(r, n), r.normal(size=n // 8)))
def normal_equations(x, y):
    return np.linalg.solve(x.T @ x + 1e-6 * np.eye(x.shape[1]), x.T @ y)


@case("linear algebra", lambda r, n: (square(r, n),))
def row_softmax(a):
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@case("linear algebra", lambda r, n: (r.normal(size=(n // 3, 3)), r.normal(size=(n // 3, 3))))
def triangle_areas(u, v):
    c = np.cross(u, v)
    return 0.5 * np.sqrt(np.sum(c * c, axis=1))


# Signals.


@case("signal", vectors(1))
def moving_average(x):
    total = np.cumsum(x)
    return (total[16:] - total[:-16]) / 16


@case("signal", normals(1))
def fir_filter(x):
    taps = (0.1, 0.2, 0.4, 0.2, 0.1)
    y = np.zeros(len(x) - 4)
    for k, tap in enumerate(taps):
        y += tap * x[k : len(x) - 4 + k]
    return y


@case("signal", normals(1))
def autocorrelation(x):
    c = x - x.mean()
    return np.stack([np.sum(c[: len(c) - lag] * c[lag:]) for lag in range(8)]) / np.sum(c * c)


@case("signal", lambda r, n: (np.linspace(0, 1, n), 440.0))
def amplitude_modulation(t, frequency):
    carrier = np.sin(2 * np.pi * frequency * t)
    return (1 + 0.5 * np.cos(2 * np.pi * 5 * t)) * carrier


@case("signal", normals(1))
def hann_window(x):
    n = len(x)
    return x * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / (n - 1)))


@case("signal", normals(1))
def zero_crossing_rate(x):
    return np.mean(np.sign(x[1:]) != np.sign(x[:-1]))


@case("signal", vectors(1))
def decibels(x):
    power = x**2
    return 10 * np.log10(np.maximum(power / np.max(power), 1e-10))


@case("signal", normals(1))
def teager_energy(x):
    return x[1:-1] ** 2 - x[:-2] * x[2:]


@case("signal", normals(1))
def soft_clipping(x):
    return np.where(np.abs(x) < 1, x - x**3 / 3, np.sign(x) * 2 / 3)


@case("signal", normals(1))
def upsample(x):
    y = np.empty(2 * len(x) - 1)
    y[::2] = x
    y[1::2] = (x[1:] + x[:-1]) / 2
    return y


@case("signal", lambda r, n: (np.linspace(0, 1, n),))
def square_wave(t):
    y = np.zeros_like(t)
    for k in range(1, 10, 2):
        y = y + np.sin(2 * np.pi * k * 3 * t) / k
    return 4 / np.pi * y


@case("signal", lambda r, n: (r.normal(size=(n // 256, 256)),))
def frame_energies(frames):
    centred = frames - frames.mean(axis=1, keepdims=True)
    return np.sqrt((centred**2).mean(axis=1)), np.abs(centred).max(axis=1)


# Statistics.


@case("statistics", normals(1))
def standard_scores(x):
    return (x - np.mean(x)) / np.std(x)


@case("statistics", lambda r, n: (samples(r, n),))
def covariance(x):
    c = x - x.mean(axis=0)
    return c.T @ c / (len(x) - 1)


@case("statistics", normals(2))
def pearson(x, y):
    dx, dy = x - x.mean(), y - y.mean()
    return (dx * dy).sum() / np.sqrt((dx**2).sum() * (dy**2).sum())


@case("statistics", normals(1))
def skewness_and_kurtosis(x):
    d = x - x.mean()
    s = np.sqrt((d**2).mean())
    return (d**3).mean() / s**3, (d**4).mean() / s**4 - 3


@case("statistics", lambda r, n: (r.normal(size=n), 0.1, 1.3))
def normal_log_likelihood(x, mu, sigma):
    return np.sum(-0.5 * np.log(2 * np.pi) - np.log(sigma) - (x - mu) ** 2 / (2 * sigma**2))


@case("statistics", vectors(2))
def weighted_moments(x, w):
    mean = np.sum(w * x) / np.sum(w)
    return mean, np.sum(w * (x - mean) ** 2) / np.sum(w)


@case("statistics", lambda r, n: (samples(r, n), (r.uniform(size=n // 8) > 0.5) * 1.0, r.normal(size=8)))
def logistic_gradient(x, y, w):
    p = 1 / (1 + np.exp(-(x @ w)))
    loss = -np.mean(y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))
    return loss, x.T @ (p - y) / len(y)


@case("statistics", normals(2))
def line_fit(x, y):
    n = len(x)
    slope = (n * np.sum(x * y) - np.sum(x) * np.sum(y)) / (n * np.sum(x * x) - np.sum(x) ** 2)
    return slope, (np.sum(y) - slope * np.sum(x)) / n


@case("statistics", normals(2))
def huber_loss(x, y):
    r = np.abs(x - y)
    return np.mean(np.where(r < 1, 0.5 * r**2, r - 0.5))


@case("statistics", vectors(1))
def entropy(x):
    p = x / x.sum()
    return -np.sum(p * np.log2(p))


@case("statistics", vectors(2))
def divergence(x, y):
    p, q = x / x.sum(), y / y.sum()
    return np.sum(p * np.log(p / q))


@case("statistics", normals(1))
def log_sum_exp(x):
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


@case("statistics", lambda r, n: (r.normal(size=n // 16),))
def kernel_density(x):
    grid = np.linspace(-3, 3, 16)
    u = (grid[:, None] - x[None, :]) / 0.3
    return np.exp(-0.5 * u**2).mean(axis=1) / (0.3 * np.sqrt(2 * np.pi))


# Simulation.


@case("simulation", lambda r, n: (r.uniform(80, 120, n), r.uniform(80, 120, n), r.uniform(0.1, 2, n)))
def black_scholes(spot, strike, years):
    rate, volatility = 0.02, 0.3
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
    d2 = d1 - spread

    def cdf(x):
        k = 1 / (1 + 0.2316419 * np.abs(x))
        poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
        tail = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi) * poly
        return np.where(x > 0, 1 - tail, tail)

    return spot * cdf(d1) - strike * np.exp(-rate * years) * cdf(d2)


@case("simulation", lambda r, n: (r.uniform(size=n),))
def heat_rod(u):
    u = u.copy()
    for _ in range(10):
        u[1:-1] += 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


@case("simulation", image)
def heat_plate(u):
    for _ in range(5):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
        u = new
    return u


@case("simulation", image)
def wave(u):
    before, now = u, u.copy()
    for _ in range(4):
        lap = np.roll(now, 1, 0) + np.roll(now, -1, 0) + np.roll(now, 1, 1) + np.roll(now, -1, 1) - 4 * now
        before, now = now, 2 * now - before + 0.1 * lap
    return now


@case("simulation", lambda r, n: (r.uniform(3.5, 3.6, n), r.uniform(0.2, 0.8, n)))
def logistic_map(rate, x):
    for _ in range(10):
        x = rate * x * (1 - x)
    return x


@case("simulation", normals(3))
def lorenz(x, y, z):
    def slope(x, y, z):
        return 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z

    h = 0.01
    for _ in range(2):
        a = slope(x, y, z)
        b = slope(x + h / 2 * a[0], y + h / 2 * a[1], z + h / 2 * a[2])
        x, y, z = x + h * b[0], y + h * b[1], z + h * b[2]
    return x, y, z


@case("simulation", lambda r, n: (r.normal(size=(int(n**0.5), 3)), r.uniform(0.1, 1, int(n**0.5))))
def gravity(position, mass):
    dx = position[None, :, 0] - position[:, None, 0]
    dy = position[None, :, 1] - position[:, None, 1]
    dz = position[None, :, 2] - position[:, None, 2]
    weight = mass / (dx**2 + dy**2 + dz**2 + 0.01) ** 1.5
    return np.stack([(dx * weight).sum(1), (dy * weight).sum(1), (dz * weight).sum(1)], axis=1)


@case("simulation", lambda r, n: (r.uniform(-2, 0.5, n), r.uniform(-1, 1, n)))
def mandelbrot(x, y):
    a, b = x, y
    count = np.zeros(x.shape)
    for _ in range(12):
        a, b = a * a - b * b + x, 2 * a * b + y
        a, b = np.clip(a, -10, 10), np.clip(b, -10, 10)
        count = count + (a * a + b * b < 4)
    return count


@case("simulation", lambda r, n: ((r.uniform(size=(int(n**0.5), int(n**0.5))) > 0.5).astype(np.int64),))
def game_of_life(cells):
    around = sum(np.roll(np.roll(cells, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1)) - cells
    return ((around == 3) | ((cells == 1) & (around == 2))).astype(np.int64)


@case("simulation", lambda r, n: (r.normal(size=(16, n // 16)),))
def monte_carlo_option(noise):
    steps = np.exp(np.cumsum(-0.001 + 0.05 * noise, axis=0))
    payoff = np.maximum(100 * steps.mean(axis=0) - 100, 0)
    return payoff.mean(), payoff.std()


@case("simulation", lambda r, n: (r.uniform(10, 50, n), r.uniform(0.2, 1.4, n)))
def projectiles(speed, angle):
    x, y = np.zeros_like(speed), np.zeros_like(speed)
    vx, vy = speed * np.cos(angle), speed * np.sin(angle)
    for _ in range(6):
        drag = 0.01 * np.sqrt(vx**2 + vy**2)
        vx, vy = vx - 0.05 * drag * vx, vy - 0.05 * (9.81 + drag * vy)
        x, y = x + 0.05 * vx, np.maximum(y + 0.05 * vy, 0)
    return x, y


@case("simulation", vectors(2))
def predators_and_prey(prey, predators):
    for _ in range(8):
        eaten = prey * predators
        prey, predators = prey + 0.01 * (prey - eaten), predators + 0.01 * (0.5 * eaten - predators)
    return prey, predators


@case("simulation", lambda r, n: (np.where(r.uniform(size=(int(n**0.5),) * 2) > 0.5, 1.0, -1.0),))
def ising_energy(spins):
    bonds = np.roll(spins, 1, axis=0) + np.roll(spins, 1, axis=1)
    return -np.sum(spins * bonds), np.abs(np.mean(spins))


@case("simulation", normals(2))
def oscillators(x, v):
    for _ in range(8):
        v = v - 0.05 * np.sin(x)
        x = x + 0.1 * v
        v = v - 0.05 * np.sin(x)
    return 0.5 * v**2 + (1 - np.cos(x))


# Images.


@case("image", colours)
def grey(picture):
    return 0.299 * picture[..., 0] + 0.587 * picture[..., 1] + 0.114 * picture[..., 2]


@case("image", colours)
def gamma_correction(picture):
    return np.clip(1.1 * picture ** (1 / 2.2) - 0.05, 0, 1)


@case("image", image)
def box_blur(picture):
    padded = np.pad(picture, 1, mode="edge")
    rows, columns = picture.shape
    total = np.zeros_like(picture)
    for i in range(3):
        for j in range(3):
            total += padded[i : i + rows, j : j + columns]
    return total / 9


@case("image", image)
def sobel(p):
    gx = (p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2])
    gy = (p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:])
    return np.hypot(gx, gy)


@case("image", image)
def sharpen(p):
    out = p.copy()
    out[1:-1, 1:-1] = 5 * p[1:-1, 1:-1] - p[:-2, 1:-1] - p[2:, 1:-1] - p[1:-1, :-2] - p[1:-1, 2:]
    return np.clip(out, 0, 1)


@case("image", image)
def halve(p):
    p = p[: len(p) // 2 * 2, : p.shape[1] // 2 * 2]
    return (p[::2, ::2] + p[1::2, ::2] + p[::2, 1::2] + p[1::2, 1::2]) / 4


@case("image", image)
def dilate_and_erode(p):
    across = np.maximum(np.maximum(p[:-2], p[1:-1]), p[2:])
    big = np.maximum(np.maximum(across[:, :-2], across[:, 1:-1]), across[:, 2:])
    return big - np.minimum(np.minimum(p[:-2, 1:-1], p[1:-1, 1:-1]), p[2:, 1:-1])


@case("image", lambda r, n: (*colours(r, n // 2), *colours(r, n // 2), r.uniform(size=(int((n // 2 / 3) ** 0.5),) * 2)))
def alpha_blend(front, back, alpha):
    return alpha[..., None] * front + (1 - alpha[..., None]) * back


@case("image", colours)
def hue_saturation_value(picture):
    r, g, b = picture[..., 0], picture[..., 1], picture[..., 2]
    top, low = picture.max(axis=-1), picture.min(axis=-1)
    span = np.where(top == low, 1, top - low)
    hue = np.where(top == r, (g - b) / span % 6, np.where(top == g, (b - r) / span + 2, (r - g) / span + 4))
    return np.stack([hue / 6, (top - low) / top, top], axis=-1)


@case("image", image)
def vignette(p):
    rows, columns = p.shape
    y = np.linspace(-1, 1, rows)[:, None]
    x = np.linspace(-1, 1, columns)[None, :]
    return p * np.exp(-(x**2 + y**2))
