"""Simulations: grids, particles, differential equations, fractals, chance, games."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax, random

from .program import Programs

PROGRAMS = Programs("simulation")
program = PROGRAMS.add

Board = tuple[Array, Array, Array, Array]


@program(lambda d: (d.uniform(0, 1, 256, 256),))
def heat_equation(u: Array) -> Array:
    """50 steps, periodic."""

    def step(_: Array, u: Array) -> Array:
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return u + 0.1 * (around - 4 * u)

    return lax.fori_loop(0, 50, step, u)


@program(lambda d: (d.normal(384, 384), d.uniform(0.1, 0.4, 384, 384)))
def wave_equation(u: Array, speed: Array) -> Array:
    """40 steps with fixed borders; the middle's height at each of them."""

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        before, now = state
        inner = now[1:-1, 1:-1]
        around = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2]
        after = 2 * inner - before[1:-1, 1:-1] + speed[1:-1, 1:-1] * (around - 4 * inner)
        after = now.at[1:-1, 1:-1].set(after)
        return (now, after), after[192, 192]

    return lax.scan(step, (u, u), None, 40)[1]


@program(lambda d: (d.normal(512, 3), d.normal(512, 3, scale=0.1), d.uniform(0.5, 1, 512)))
def n_body(places: Array, speeds: Array, masses: Array) -> tuple[Array, Array]:
    """Five steps of leapfrog with softened gravity."""

    def pull(x: Array) -> Array:
        apart = x[None] - x[:, None]
        inverse = lax.rsqrt(jnp.sum(apart**2, -1) + 0.01) ** 3
        return jnp.einsum("ijk,ij,j->ik", apart, inverse, masses) / 512

    def step(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        x, v = state
        v = v + 0.005 * pull(x)
        x = x + 0.01 * v
        return x, v + 0.005 * pull(x)

    return lax.fori_loop(0, 5, step, (places, speeds))


@program(lambda d: (d.normal(3, 128),))
def lorenz_rk4(state: Array) -> Array:
    """128 trajectories, 200 steps of Runge-Kutta."""

    def slope(s: Array) -> Array:
        x, y, z = s
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def step(s: Array, _: None) -> tuple[Array, Array]:
        h = 0.002
        a = slope(s)
        b = slope(s + h / 2 * a)
        c = slope(s + h / 2 * b)
        s = s + h / 6 * (a + 2 * b + 2 * c + slope(s + h * c))
        return s, s

    return lax.scan(step, state, None, 200)[1]


@program(lambda d: (d.integers(0, 2, 256, 256, dtype="int8"),))
def game_of_life(cells: Array) -> Array:
    def step(_: Array, cells: Array) -> Array:
        wide = jnp.pad(cells, 1, mode="wrap")
        count = lax.reduce_window(wide, jnp.int8(0), lax.add, (3, 3), (1, 1), "VALID") - cells
        return ((count == 3) | ((count == 2) & (cells == 1))).astype(jnp.int8)

    return lax.fori_loop(0, 20, step, cells)


def plane(n: int, left: float, right: float) -> tuple[Array, Array]:
    line = jnp.linspace(left, right, n)
    return line[None] + jnp.zeros((n, 1)), line[:, None] + jnp.zeros((1, n))


@program(lambda d: (d.uniform(-0.01, 0.01),), tolerance=0.02)
def mandelbrot(shift: Array) -> Array:
    """384 x 384 points, 50 steps, each counted while it stays inside."""
    x, y = plane(384, -1.5, 1.5)
    x = x + shift - 0.5

    def step(_: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        a, b, count = state
        inside = a * a + b * b < 4
        a, b = jnp.where(inside, a * a - b * b + x, a), jnp.where(inside, 2 * a * b + y, b)
        return a, b, count + inside

    return lax.fori_loop(0, 50, step, (0 * x, 0 * y, jnp.zeros(x.shape, jnp.int32)))[2]


@program(lambda d: (d.uniform(-0.01, 0.01),), tolerance=0.02)
def julia_until_all_left(shift: Array) -> Array:
    """Complex numbers, until none is inside or 60 steps are done."""
    x, y = plane(256, -1.5, 1.5)
    start = lax.complex(x, y)
    c = lax.complex(-0.4 + shift, jnp.float32(0.6))

    def going(state: tuple[Array, Array, Array]) -> Array:
        return (state[0] < 60) & jnp.any(jnp.abs(state[1]) < 2)

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        i, z, count = state
        inside = jnp.abs(z) < 2
        return i + 1, jnp.where(inside, z * z + c, z), count + inside

    return lax.while_loop(going, step, (0, start, jnp.zeros(x.shape, jnp.int32)))[2]


@program(lambda d: (d.uniform(0.01, 0.02),), tolerance=0.05)
def newton_fractal(shift: Array) -> Array:
    """The root of z^3 = 1 that each point comes to."""
    x, y = plane(192, -2.0, 2.0)

    def step(_: Array, z: Array) -> Array:
        return z - (z**3 - 1) / (3 * z**2)

    z = lax.fori_loop(0, 16, step, lax.complex(x + shift, y + shift))
    roots = jnp.exp(2j * jnp.pi * jnp.arange(3) / 3).astype(jnp.complex64)
    return jnp.argmin(jnp.abs(z[..., None] - roots), -1)


@program(lambda d: (d.normal(256, 256, scale=0.05), d.uniform(0.5, 2, 200, 256)))
def spiking_neurons(weights: Array, currents: Array) -> Array:
    """200 steps of leaky integrate-and-fire neurons."""

    def step(state: tuple[Array, Array], current: Array) -> tuple[tuple[Array, Array], Array]:
        voltage, spikes = state
        voltage = 0.9 * voltage + 0.2 * current + weights @ spikes
        fired = voltage > 1
        return (jnp.where(fired, 0.0, voltage), fired.astype(jnp.float32)), jnp.sum(fired)

    return lax.scan(step, (jnp.zeros(256), jnp.zeros(256)), currents)[1]


@program(lambda d: (d.key(),))
def monte_carlo_pi(key: Array) -> Array:
    points = random.uniform(key, (1 << 19, 2))
    return 4 * jnp.mean(jnp.sum(points**2, -1) < 1)


@program(lambda d: (d.key(), d.uniform(90, 110)))
def monte_carlo_option(key: Array, start: Array) -> Array:
    """An Asian option over 32 steps of 8,192 paths."""

    def step(state: tuple[Array, Array], key: Array) -> tuple[tuple[Array, Array], None]:
        price, total = state
        price = price * jnp.exp(0.0001 + 0.02 * random.normal(key, price.shape))
        return (price, total + price), None

    prices = jnp.full(8192, start)
    (_, total), _ = lax.scan(step, (prices, 0 * prices), random.split(key, 32))
    return jnp.mean(jnp.maximum(total / 32 - 100, 0))


@program(lambda d: (d.uniform(50, 150, 1 << 19), d.uniform(50, 150, 1 << 19), d.uniform(0.1, 2, 1 << 19)))
def black_scholes(price: Array, strike: Array, years: Array) -> tuple[Array, Array]:
    root = 0.3 * jnp.sqrt(years)
    d1 = (jnp.log(price / strike) + 0.065 * years) / root
    late = strike * jnp.exp(-0.02 * years)
    call = price * jax.scipy.stats.norm.cdf(d1) - late * jax.scipy.stats.norm.cdf(d1 - root)
    return call, call - price + late


@program(lambda d: (d.uniform(1, 100, 192, 192),))
def floyd_warshall(distances: Array) -> Array:
    def step(k: Array, d: Array) -> Array:
        return jnp.minimum(d, d[:, k, None] + d[None, k])

    return lax.fori_loop(0, distances.shape[0], step, distances)


@program(lambda d: (d.normal(200, 2), d.uniform(0.5, 1)))
def kalman_filter(seen: Array, noise: Array) -> Array:
    """Position and speed in the plane from noisy positions."""
    eye = jnp.eye(4)
    move = eye.at[0, 2].set(0.1).at[1, 3].set(0.1)
    look = eye[:2]

    def step(state: tuple[Array, Array], z: Array) -> tuple[tuple[Array, Array], Array]:
        mean, spread = move @ state[0], move @ state[1] @ move.T + 0.01 * eye
        gain = jnp.linalg.solve(look @ spread @ look.T + noise * jnp.eye(2), look @ spread).T
        mean = mean + gain @ (z - look @ mean)
        return (mean, (eye - gain @ look) @ spread), mean

    return lax.scan(step, (jnp.zeros(4), eye), seen)[1]


@program(lambda d: (d.normal(2048, 16), d.uniform(0.1, 0.3, 5)))
def iir_filter(signal: Array, c: Array) -> Array:
    """A biquad over 16 channels, sample by sample."""

    def step(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
        y = c[0] * x + state[0]
        return (c[1] * x - c[3] * y + state[1], c[2] * x - c[4] * y), y

    return lax.scan(step, (jnp.zeros(16), jnp.zeros(16)), signal)[1]


@program(lambda d: (d.integers(0, 2, 128, 128) * 2 - 1, d.key()))
def ising_model(spins: Array, key: Array) -> Array:
    """20 sweeps of a checkerboard Metropolis algorithm."""
    black = (jnp.arange(128)[:, None] + jnp.arange(128)) % 2 == 0
    spins = spins.astype(jnp.float32)

    def sweep(s: Array, key: Array) -> tuple[Array, Array]:
        for mine, one in zip((black, ~black), random.split(key), strict=True):
            around = jnp.roll(s, 1, 0) + jnp.roll(s, -1, 0) + jnp.roll(s, 1, 1) + jnp.roll(s, -1, 1)
            flip = random.uniform(one, s.shape) < jnp.exp(-0.8 * s * around)
            s = jnp.where(mine & flip, -s, s)
        return s, jnp.mean(s)

    return lax.scan(sweep, spins, random.split(key, 20))[1]


@program(lambda d: (d.uniform(0.9, 1.1, 9, 96, 96),))
def lattice_boltzmann(f: Array) -> Array:
    """Ten steps of a D2Q9 lattice, periodic."""
    ex = jnp.array([0, 1, 0, -1, 0, 1, -1, -1, 1], jnp.float32)
    ey = jnp.array([0, 0, 1, 0, -1, 1, 1, -1, -1], jnp.float32)
    weights = jnp.array([4 / 9] + 4 * [1 / 9] + 4 * [1 / 36], jnp.float32)
    shifts = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, -1), (-1, 1)]

    def step(_: Array, f: Array) -> Array:
        density = jnp.sum(f, 0)
        u, v = jnp.tensordot(ex, f, 1) / density, jnp.tensordot(ey, f, 1) / density
        along = ex[:, None, None] * u + ey[:, None, None] * v
        still = weights[:, None, None] * density * (1 + 3 * along + 4.5 * along**2 - 1.5 * (u * u + v * v))
        f = f + 0.6 * (still - f)
        return jnp.stack([jnp.roll(f[i], shift, (0, 1)) for i, shift in enumerate(shifts)])

    return lax.fori_loop(0, 10, step, f)


@program(lambda d: (d.uniform(0, 6.28, 5000), d.uniform(0, 0.9, 5000), d.uniform(0, 3, 5000)))
def orbits(mean: Array, eccentricity: Array, inclination: Array) -> tuple[Array, Array, Array]:
    """The places of 5,000 bodies: six steps of Halley's method for Kepler's equation, then the true anomaly."""

    def step(_: Array, x: Array) -> Array:
        sine, cosine = jnp.sin(x), jnp.cos(x)
        error, slope = x - eccentricity * sine - mean, 1 - eccentricity * cosine
        return x - error / (slope - 0.5 * error * eccentricity * sine / slope)

    x = lax.fori_loop(0, 6, step, mean + eccentricity * jnp.sin(mean))
    across, along = jnp.sqrt(1 + eccentricity) * jnp.sin(x / 2), jnp.sqrt(1 - eccentricity) * jnp.cos(x / 2)
    angle, radius = 2 * jnp.arctan2(across, along), 1 - eccentricity * jnp.cos(x)
    height = radius * jnp.sin(angle)
    return radius * jnp.cos(angle), height * jnp.cos(inclination), height * jnp.sin(inclination)


@program(lambda d: (d.uniform(0, 5, 2000), d.uniform(0, 1, 2000)))
def hypergeometric_series(a: Array, x: Array) -> Array:
    """Kummer's function at 2,000 places, each summed until its terms no longer count."""
    return jax.vmap(lambda a, x: jax.scipy.special.hyp1f1(a + 0.5, a + 1, x))(a, x)


@program(lambda d: (d.normal(1 << 17), d.normal(1 << 17)), x64=True)
def simpson_f64(a: Array, b: Array) -> Array:
    """Elementary functions of f64 over many intervals."""
    a, b = a.astype(jnp.float64), b.astype(jnp.float64)
    middle = (a + b) / 2

    def of(x: Array) -> Array:
        return jnp.sin(x) * jnp.exp(-x * x) + jnp.cos(2 * x)

    return jnp.sum((b - a) / 6 * (of(a) + 4 * of(middle) + of(b)))


@program(lambda d: (d.key(),))
def four_in_a_row(key: Array) -> Board:
    """Games of random legal moves, each until somebody has four in a row."""

    def has_four(own: Array) -> Array:
        around, found = jnp.pad(own, 4), jnp.zeros((), bool)
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            line = jnp.ones((6, 7), bool)
            for i in range(4):
                line &= around[4 + i * down : 10 + i * down, 4 + i * right : 11 + i * right]
            found |= line.any()
        return found

    def move(state: Board, key: Array) -> tuple[Board, Array]:
        board, player, ended, reward = state
        column = random.categorical(key, jnp.where(board[0] == 0, 0.0, -1e9))
        row = jnp.sum(board[:, column] == 0) - 1
        moved = board.at[row, column].set(player)
        won = has_four(moved == player)
        board = jnp.where(ended, board, moved)
        reward = jnp.where(ended, reward, jnp.where(won, player, 0))
        return (board, -player, ended | won | ~(board[0] == 0).any(), reward), column

    def game(key: Array) -> Board:
        start = (jnp.zeros((6, 7), jnp.int32), jnp.int32(1), jnp.zeros((), bool), jnp.int32(0))
        return lax.scan(move, start, random.split(key, 42))[0]

    return jax.vmap(game)(random.split(key, 32))


@program(lambda d: (d.normal(24, 3), d.uniform(0.1, 1, 24)), x64=True)
def stars_f64(places: Array, masses: Array) -> tuple[Array, Array]:
    """100 steps of leapfrog in f64; the energy at each of them."""
    places, masses = places.astype(jnp.float64), masses.astype(jnp.float64)

    def apart(x: Array) -> tuple[Array, Array]:
        distances = x[None] - x[:, None]
        return distances, jnp.sum(distances**2, -1) + 0.05

    def pull(x: Array) -> Array:
        distances, squares = apart(x)
        return jnp.einsum("ijk,ij,j->ik", distances, squares**-1.5, masses)

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        x, v = state
        v = v + 0.0005 * pull(x)
        x = x + 0.001 * v
        v = v + 0.0005 * pull(x)
        energy = 0.5 * masses @ jnp.sum(v * v, -1) - 0.5 * masses @ apart(x)[1] ** -0.5 @ masses
        return (x, v), energy

    (places, _), energies = lax.scan(step, (places, jnp.zeros_like(places)), None, length=100)
    return places, energies


@program(lambda d: (d.normal(100_000, scale=10.0), d.normal(100_000, scale=10.0)))
def periodic_box(x: Array, angle: Array) -> tuple[Array, Array, Array, Array]:
    """Places in a box that repeats, the cells and nearest images that they are in, and angles of one turn."""
    return x % 1.0, jnp.floor_divide(x, 0.25), x - 1.5 * jnp.round(x / 1.5), jnp.mod(angle, 2 * jnp.pi)
