"""Equations on grids: rotated neighbours, updates of the interior, and cells in the bits of words."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from .program import Programs

PROGRAMS = Programs("grids")
program = PROGRAMS.add


@program(lambda d: (d.uniform(0, 1, 1024, 1024),))
def large_heat_equation(u: Array) -> Array:
    """8 steps, periodic."""

    def step(_: Array, u: Array) -> Array:
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return u + 0.1 * (around - 4 * u)

    return lax.fori_loop(0, 8, step, u)


@program(lambda d: (d.normal(3, 64, 64, 64, scale=0.1),))
def maxwell_3d(electric: Array) -> tuple[Array, Array]:
    """4 leapfrog steps of both fields on Yee's lattice, periodic."""

    def curl(field: Array, sign: int) -> Array:
        def along(component: int, axis: int) -> Array:
            return sign * (jnp.roll(field[component], -sign, axis) - field[component])

        return jnp.stack([along(2, 1) - along(1, 2), along(0, 2) - along(2, 0), along(1, 0) - along(0, 1)])

    def step(_: Array, fields: tuple[Array, Array]) -> tuple[Array, Array]:
        e, b = fields
        b = b - 0.3 * curl(e, 1)
        return e + 0.3 * curl(b, -1), b

    return lax.fori_loop(0, 4, step, (electric, jnp.zeros_like(electric)))


@program(lambda d: (d.uniform(1, 4, 160, 160),))
def maxwell_2d(permittivity: Array) -> tuple[tuple[Array, Array, Array], Array]:
    """60 steps with a source in one cell; what a probe in another one sees."""

    def step(fields: tuple[Array, Array, Array], time: Array) -> tuple[tuple[Array, Array, Array], Array]:
        ez, hx, hy = fields
        hx = hx.at[:, :-1].add(-0.5 * (ez[:, 1:] - ez[:, :-1]))
        hy = hy.at[:-1].add(0.5 * (ez[1:] - ez[:-1]))
        curl = (hy[1:, 1:] - hy[:-1, 1:]) - (hx[1:, 1:] - hx[1:, :-1])
        ez = ez.at[1:, 1:].add(0.5 / permittivity[1:, 1:] * curl)
        ez = ez.at[80, 80].add(jnp.exp(-(((time - 20) / 8) ** 2)))
        return (ez, hx, hy), ez[100, 100]

    still = jnp.zeros_like(permittivity)
    return lax.scan(step, (still, still, still), jnp.arange(60.0))


@program(lambda d: (d.normal(64, 64, scale=0.1), d.normal(64, 64, scale=0.1)))
def incompressible_flow(u: Array, v: Array) -> tuple[Array, Array]:
    """10 steps of Chorin's projection, with 20 sweeps of Jacobi's method for the pressure in each."""
    h, dt = 1 / 64, 0.001

    def along(a: Array, axis: int) -> Array:
        return (jnp.roll(a, -1, axis) - jnp.roll(a, 1, axis)) / (2 * h)

    def around(a: Array) -> Array:
        return jnp.roll(a, -1, 0) + jnp.roll(a, 1, 0) + jnp.roll(a, -1, 1) + jnp.roll(a, 1, 1)

    def moved(a: Array, u: Array, v: Array) -> Array:
        return a + dt * (0.01 * (around(a) - 4 * a) / h**2 - u * along(a, 0) - v * along(a, 1))

    def step(flow: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        u, v = flow
        u, v = moved(u, u, v), moved(v, u, v)
        divergence = (along(u, 0) + along(v, 1)) / dt
        p = lax.fori_loop(0, 20, lambda _, p: 0.25 * (around(p) - h * h * divergence), jnp.zeros_like(u))
        return (u - dt * along(p, 0), v - dt * along(p, 1)), None

    return lax.scan(step, (u, v), None, 10)[0]


@program(lambda d: (d.normal(1 << 16), d.uniform(0.1, 1, 1 << 16)))
def upwind_advection(u: Array, speed: Array) -> tuple[Array, Array]:
    """20 steps on a ring; the largest value at each."""

    def step(u: Array, _: None) -> tuple[Array, Array]:
        before = jnp.concatenate([u[-1:], u[:-1]])
        return u - 0.1 * speed * (u - before), jnp.max(u)

    return lax.scan(step, u, None, 20)


@program(lambda d: (d.integers(0, 1 << 31, 4096, 2, dtype="uint32"),))
def bit_parallel_automaton(cells: Array) -> tuple[Array, Array]:
    """16 steps of 4096 rows of 32 cells; how many live in the end."""

    def step(_: Array, x: Array) -> Array:
        left, right = (x << 1) | (x >> 31), (x >> 1) | (x << 31)
        above, below = jnp.roll(x, 1, 0), jnp.roll(x, -1, 0)
        odd = left ^ right ^ above
        two = (left & right) | (above & (left ^ right))
        return ((odd ^ below) & ~two) | (x & two)

    cells = lax.fori_loop(0, 16, step, cells)
    return cells, lax.population_count(cells).sum(0)


@program(lambda d: (d.uniform(0, 1, 256, 256),))
def interior_relaxation(u: Array) -> Array:
    """50 sweeps with fixed borders."""

    def step(_: Array, u: Array) -> Array:
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].set(0.25 * around)

    return lax.fori_loop(0, 50, step, u)


@program(lambda d: (d.integers(0, 20, 96, 96),))
def distance_transform(cells: Array) -> Array:
    """The distance of each cell to the nearest that is empty: along columns by scans, then along rows."""
    count = len(cells)

    def step(above: Array, row: Array) -> tuple[Array, Array]:
        nearest = jnp.minimum(above + 1, row)
        return nearest, nearest

    far = jnp.full(count, 1e4)
    rows = jnp.where(cells > 0, 1e4, 0.0)
    down, up = lax.scan(step, far, rows)[1], lax.scan(step, far, rows, reverse=True)[1]
    places = jnp.arange(float(count))
    squares = jnp.minimum(down, up)[:, None] ** 2 + (places[:, None] - places) ** 2
    return jnp.sqrt(squares.min(-1))
