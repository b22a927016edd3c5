"""Derivatives, vmap, remat, custom rules, control flow, and jit's own features."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree

from cases import case, integers, normal, uniform

ROUNDING = "sums of many products in another order"


def network(parameters, x):
    """Two layers and a loss."""
    hidden = jnp.tanh(x @ parameters["w1"] + parameters["b1"])
    return jnp.mean((hidden @ parameters["w2"]) ** 2)


PARAMETERS = {"w1": normal(4, 6), "b1": normal(6), "w2": normal(6, 2)}


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.1, 0.1),))


@jax.custom_jvp
def log1pexp(x):
    return jnp.log(1.0 + jnp.exp(x))


@log1pexp.defjvp
def _(primals, tangents):
    return log1pexp(primals[0]), jax.nn.sigmoid(primals[0]) * tangents[0]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def applied(f, x):
    return f(x)


applied.defvjp(lambda f, x: (f(x), x), lambda f, x, g: (g * 2,))


def rnn(carry, x):
    carry = jnp.tanh(carry * 0.9 + x)
    return carry, carry.sum()


def newton(x):
    return lax.while_loop(lambda s: jnp.abs(s[0] ** 2 - x) > 1e-4, lambda s: ((s[0] + x / s[0]) / 2, s[1] + 1), (x, 0))


def collatz(n):
    return lax.while_loop(
        lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0)
    )


def runge_kutta(y, steps):
    """An oscillator, four evaluations per step."""

    def f(y):
        return jnp.array([y[1], -y[0]])

    def step(_, y):
        k1 = f(y)
        k2 = f(y + 0.05 * k1)
        k3 = f(y + 0.05 * k2)
        k4 = f(y + 0.1 * k3)
        return y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    return lax.fori_loop(0, steps, step, y)


DERIVATIVES = [
    case("grad_of_network", jax.grad(network), PARAMETERS, normal(5, 4)),
    case("value_and_grad", jax.value_and_grad(network), PARAMETERS, normal(5, 4), eager=True),
    case(
        "value_and_grad_with_aux",
        jax.value_and_grad(lambda p, x: (network(p, x), {"mean": x.mean()}), has_aux=True),
        PARAMETERS,
        normal(5, 4),
    ),
    case("hessian", jax.hessian(lambda x: jnp.sum(jnp.sin(x) * x[::-1] ** 2)), normal(4)),
    case("hessian_of_network", lambda p, x: jax.hessian(network)(p, x)["w2"]["b1"], PARAMETERS, normal(3, 4)),
    case("jacobians", lambda x: (jax.jacfwd(jnp.cumprod)(x), jax.jacrev(jnp.cumprod)(x)), normal(5)),
    case("jvp", lambda x, t: jax.jvp(lambda x: jnp.exp(jnp.sin(x)), (x,), (t,)), normal(5), normal(5), eager=True),
    case("vjp", lambda x, g: jax.vjp(lambda x: (jnp.sin(x), x.sum()), x)[1]((g, 2.0)), normal(5), normal(5)),
    case("linearize", lambda x, t: jax.linearize(lambda x: jnp.tanh(x) ** 2, x)[1](t), normal(5), normal(5)),
    case(
        "linear_transpose",
        lambda g: jax.linear_transpose(lambda x: jnp.cumsum(x) * 3, jax.ShapeDtypeStruct((5,), jnp.float32))(g),
        normal(5),
    ),
    case(
        "hessian_vector_product",
        lambda x, v: jax.jvp(jax.grad(lambda x: jnp.sum(x**3)), (x,), (v,))[1],
        normal(5),
        normal(5),
    ),
    case("grad_of_grad", jax.grad(jax.grad(jax.grad(lambda x: jnp.sin(x) * x**3))), 0.7),
    case("grad_of_integer_power", jax.grad(lambda x: jnp.sum(x**4 + x**-2)), uniform(5, low=0.5, high=2)),
    case("grad_of_where", jax.grad(lambda x: jnp.sum(jnp.where(x > 0, jnp.sqrt(jnp.abs(x)), x**2))), normal(7)),
    case(
        "grad_of_max",
        jax.grad(lambda x: jnp.max(x) + jnp.sum(jnp.maximum(x, 0))),
        integers(9).make(np.random.default_rng(0)).astype(np.float32),
    ),
    case("grad_of_norm", jax.grad(jnp.linalg.norm), normal(3, 4)),
    case("grad_of_complex", jax.grad(lambda z: jnp.abs(z * z).sum()), normal(4, dtype="complex64")),
    case("grad_holomorphic", jax.grad(lambda z: jnp.sum(jnp.sin(z)), holomorphic=True), normal(4, dtype="complex64")),
    case("grad_of_sort", jax.grad(lambda x: jnp.sum(jnp.sort(x, 0) ** 2 * jnp.arange(3))), normal(5, 3)),
    case(
        "grad_of_cumulative",
        jax.grad(lambda x: jnp.sum(jnp.cumsum(x) ** 2 + jnp.cumprod(x) + lax.cummax(x) + lax.cumlogsumexp(x))),
        normal(6),
        tolerance=(1e-5, 2e-5),
        because=ROUNDING,
    ),
    case("grad_of_logsumexp", jax.grad(lambda x: jax.nn.logsumexp(x, axis=1).sum()), normal(3, 5)),
    case(
        "grad_of_einsum",
        jax.grad(lambda x, y: jnp.einsum("ij,jk,kl->", x, y, x) ** 2, (0, 1)),
        normal(3, 4),
        normal(4, 3),
        tolerance=(2e-5, 2e-4),
        because=ROUNDING,
    ),
    case(
        "grad_with_respect_to_bfloat16",
        jax.grad(lambda x: jnp.sum(jnp.sin(x).astype(jnp.float32))),
        normal(5, dtype="bfloat16"),
    ),
    case("float0_tangents", lambda x, i: jax.vjp(lambda x, i: x[i], x, i)[1](1.0)[0], normal(5), np.int32(2)),
    case("custom_vjp", jax.grad(lambda x: jnp.sum(clipped(x) ** 2)), normal(5), eager=True),
    case("custom_vjp_with_static", jax.grad(lambda x: jnp.sum(applied(jnp.sin, x))), normal(5)),
    case(
        "custom_jvp", lambda x: (log1pexp(x), jax.vmap(jax.grad(log1pexp))(x), jax.jvp(log1pexp, (x,), (x,))), normal(5)
    ),
    case(
        "custom_gradient",
        jax.grad(lambda x: jax.custom_gradient(lambda x: (x**2, lambda g: (g * 10,)))(x).sum()),
        normal(5),
    ),
    case("checkpoint", jax.grad(lambda x: jnp.sum(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x))), normal(5)),
    case(
        "checkpoint_policy",
        jax.grad(
            lambda w, x: jnp.sum(
                jax.checkpoint(lambda x: jnp.tanh(x @ w) @ w, policy=jax.checkpoint_policies.dots_saveable)(x)
            )
        ),
        normal(4, 4),
        normal(3, 4),
    ),
    case(
        "checkpoint_in_scan", jax.grad(lambda x: lax.scan(jax.checkpoint(rnn), x, jnp.ones((5, 3)))[1].sum()), normal(3)
    ),
    case(
        "closure_convert",
        lambda x: (lambda f: f[0](x, *f[1]))(jax.closure_convert(lambda y: jnp.sin(y) * x.sum(), x)),
        normal(3),
    ),
    case("stop_gradient", jax.grad(lambda x: (lax.stop_gradient(x) * x).sum()), normal(3)),
    case("optimize_remat", lambda x: jax.grad(lambda x: jax.remat(jnp.tanh)(x).sum())(x), normal(3)),
]

VMAPS = [
    case("vmap", jax.vmap(lambda x, y: jnp.dot(x, y)), normal(3, 4), normal(3, 4), eager=True),
    case("vmap_axes", jax.vmap(lambda x, y: x @ y, in_axes=(1, None), out_axes=1), normal(4, 3), normal(4, 2)),
    case("vmap_nested", jax.vmap(jax.vmap(lambda x, y: x * y, (None, 0)), (0, None)), normal(3), normal(4)),
    case("vmap_of_grad", jax.vmap(jax.grad(network), (None, 0)), PARAMETERS, normal(3, 5, 4)),
    case("vmap_of_gather", jax.vmap(lambda x, i: x[i]), normal(3, 5), integers(3, 2, low=0, high=5)),
    case("vmap_of_scatter", jax.vmap(lambda x, i: x.at[i].add(1.0)), normal(3, 5), integers(3, 2, low=0, high=5)),
    case(
        "vmap_of_dynamic_slice",
        jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))),
        normal(3, 5),
        integers(3, low=0, high=5),
    ),
    case(
        "vmap_of_dynamic_update",
        jax.vmap(lambda x, y, i: lax.dynamic_update_slice(x, y, (i,))),
        normal(3, 5),
        normal(3, 2),
        integers(3, low=0, high=5),
    ),
    case("vmap_of_sort", jax.vmap(lambda x: (jnp.sort(x), jnp.argsort(x), lax.top_k(x, 2))), normal(3, 5)),
    case("vmap_of_while", jax.vmap(newton), uniform(4, low=1, high=50)),
    case("vmap_of_collatz", jax.vmap(collatz), np.arange(1, 12, dtype=np.int32)),
    case("vmap_of_cond", jax.vmap(lambda p, x: lax.cond(p > 0, jnp.sin, jnp.cos, x)), normal(5), normal(5)),
    case(
        "vmap_of_switch",
        jax.vmap(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x * 2], x)),
        integers(5, low=-1, high=4),
        normal(5),
    ),
    case("vmap_of_scan", jax.vmap(lambda c, x: lax.scan(rnn, c, x)), normal(3, 2), normal(3, 4, 2)),
    case(
        "vmap_with_axis_name",
        jax.vmap(
            lambda x: (x / lax.psum(x, "i"), lax.pmean(x, "i"), lax.pmax(x, "i"), lax.axis_index("i")), axis_name="i"
        ),
        normal(4, 3),
    ),
    case(
        "vmap_collectives",
        jax.vmap(
            lambda x: (
                lax.all_gather(x, "i"),
                lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]),
                lax.all_to_all(x, "i", 0, 0),
            ),
            axis_name="i",
        ),
        normal(3, 3),
    ),
    case(
        "vmap_spmd_axis_of_dict", jax.vmap(lambda d: {"s": d["a"].sum() + d["b"]}), {"a": normal(3, 4), "b": normal(3)}
    ),
    case("jacobian_of_vmap", jax.jacrev(lambda x: jax.vmap(jnp.sin)(x) ** 2), normal(4)),
]

CONTROL = [
    case("scan", lambda c, x: lax.scan(rnn, c, x), normal(3), normal(6, 3), eager=True),
    case("scan_reverse_unroll", lambda c, x: lax.scan(rnn, c, x, reverse=True, unroll=3), normal(3), normal(7, 3)),
    case("scan_without_inputs", lambda c: lax.scan(lambda c, _: (c * 2, c), c, None, length=5), normal(3)),
    case("scan_of_nothing", lambda c, x: lax.scan(rnn, c, x), normal(3), normal(0, 3)),
    case("scan_gradient", jax.grad(lambda c, x: lax.scan(rnn, c, x)[1].sum(), (0, 1)), normal(3), normal(6, 3)),
    case("scan_jvp", lambda c, x: jax.jvp(lambda c: lax.scan(rnn, c, x), (c,), (c,)), normal(3), normal(6, 3)),
    case(
        "scan_pytrees",
        lambda c, x: lax.scan(lambda c, x: ({"n": c["n"] + 1, "v": c["v"] + x[0]}, (c["v"], x[1])), c, x),
        {"n": np.int32(0), "v": normal(2)},
        (normal(4, 2), integers(4)),
    ),
    case(
        "scan_in_scan",
        lambda x: lax.scan(lambda c, r: (c + lax.scan(lambda d, e: (d * e, d), 1.0, r)[0], c), 0.0, x),
        uniform(3, 4),
    ),
    case("while_loop", newton, np.float32(50), eager=True),
    case("while_integers", collatz, np.int32(27)),
    case("while_never", lambda x: lax.while_loop(lambda x: jnp.any(x > 100), lambda x: x * 2, x), normal(3)),
    case(
        "while_with_constants",
        lambda x, y: lax.while_loop(lambda s: s.sum() < 100, lambda s: s + jnp.abs(y) + 1, x),
        normal(3),
        normal(3),
    ),
    case("fori_loop", lambda x: lax.fori_loop(0, 5, lambda i, x: x * 1.1 + i, x), normal(3), eager=True),
    case("fori_dynamic", lambda x, n: lax.fori_loop(2, n, lambda i, x: x + i, x), normal(3), np.int32(7)),
    case("fori_updates", lambda x: lax.fori_loop(1, 6, lambda i, x: x.at[i].set(x[i - 1] * 2), x), normal(7)),
    case("fori_gradient", jax.grad(lambda x: lax.fori_loop(0, 5, lambda i, x: jnp.sin(x) * i, x).sum()), normal(3)),
    case("cond", lambda p, x: lax.cond(p, lambda x: x + 1, lambda x: x * 2, x), np.bool_(True), normal(3), eager=True),
    case(
        "cond_false",
        lambda p, x, y: lax.cond(p, lambda x, y: (x, y), lambda x, y: (y, x), x, y),
        np.bool_(False),
        normal(3),
        normal(3),
    ),
    case("cond_gradient", jax.grad(lambda x, p: lax.cond(p, jnp.sin, jnp.cos, x).sum()), normal(3), np.bool_(True)),
    case(
        "cond_in_scan",
        lambda x: lax.scan(lambda c, x: (lax.cond(x > 0, lambda c: c + x, lambda c: c - 2 * x, c), c), 0.0, x),
        normal(6),
    ),
    case(
        "switch",
        lambda i, x: lax.switch(i, [lambda x: x, jnp.sin, lambda x: x**2], x),
        np.int32(2),
        normal(3),
        eager=True,
    ),
    case(
        "switch_clamps", lambda i, x: lax.switch(i, [lambda x: x, jnp.sin, lambda x: x**2], x), np.int32(-4), normal(3)
    ),
    case("switch_gradient", jax.grad(lambda x, i: lax.switch(i, [jnp.sin, jnp.cos], x).sum()), normal(3), np.int32(1)),
    case("map", lambda x: (lax.map(jnp.sin, x), lax.map(lambda r: r.sum(), x, batch_size=2)), normal(5, 3)),
    case("select", lambda p, x, y: lax.select(p, x, y), np.array([True, False, True]), normal(3), normal(3)),
    case(
        "custom_root",
        lambda a: lax.custom_root(lambda x: x**2 - a, 1.0, lambda f, x0: newton(a)[0], lambda g, y: y / g(1.0)),
        np.float32(2),
        tolerance=(1e-4, 1e-4),
        because="the iteration stops at an error of 1e-4",
    ),
    case(
        "custom_linear_solve",
        lambda a, b: lax.custom_linear_solve(lambda x: a @ x, b, lambda mv, b: jnp.linalg.solve(a, b)),
        np.array([[3, 1], [1, 2]], np.float32),
        normal(2),
    ),
    case("runge_kutta", runge_kutta, normal(2), np.int32(20)),
    case("ode_gradient", jax.grad(lambda y: runge_kutta_static(y).sum()), normal(2)),
    case(
        "bisection",
        lambda c: lax.fori_loop(
            0,
            20,
            lambda _, s: lax.cond(
                (s[0] + s[1]) ** 2 / 4 < c, lambda s: ((s[0] + s[1]) / 2, s[1]), lambda s: (s[0], (s[0] + s[1]) / 2), s
            ),
            (0.0, 10.0),
        ),
        np.float32(7),
    ),
    case(
        "mandelbrot",
        lambda c: lax.fori_loop(
            0,
            12,
            lambda i, s: (jnp.where(jnp.abs(s[0]) < 2, s[0] ** 2 + c, s[0]), s[1] + (jnp.abs(s[0]) < 2)),
            (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)),
        )[1],
        normal(20, dtype="complex64"),
    ),
    case("game_of_life", lambda x: lax.fori_loop(0, 4, lambda _, g: life(g), x), integers(9, 9, low=0, high=2)),
]


def runge_kutta_static(y):
    return runge_kutta(y, 10)


def life(grid):
    neighbours = sum(jnp.roll(grid, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return ((neighbours == 3) | ((grid == 1) & (neighbours == 2))).astype(grid.dtype)


@jax.jit
def inner(x):
    return jnp.sin(x) + 1


@partial(jax.jit, static_argnums=1)
def inner_static(x, n):
    return sum(x**i for i in range(n))


@partial(jax.jit, donate_argnums=0)
def inner_donating(x):
    return x * 2


JITS = [
    case("nested_jit", lambda x: inner(inner(x) * 2) + inner(x[:2]).sum(), normal(4), eager=True),
    case(
        "static_arguments",
        lambda x, n, name: jnp.tile(x, n) if name == "tile" else x,
        normal(3),
        2,
        "tile",
        static=(1, 2),
    ),
    case("inner_static", lambda x: inner_static(x, 3) + inner_static(x, 4), normal(3)),
    case("inner_donation", lambda x: inner_donating(x) + 1, normal(3)),
    case("inlined_jit", lambda x: jax.jit(jnp.cos, inline=True)(x), normal(3)),
    case(
        "pytrees",
        lambda d, t: ({"z": t[0] + d["a"], "b": (d["b"][0], None)}, [t[1]]),
        {"a": normal(3), "b": [normal(2), integers(2)]},
        (normal(3), normal(4)),
    ),
    case("none_and_empty", lambda d: (d["x"] + 1, None, (), {}, d["n"]), {"x": normal(3), "n": None}),
    case("named_tuples", lambda x: jax.tree.map(lambda a: a * 2, {"a": (x, x[:1]), "b": [x]}), normal(3)),
    case(
        "tree_reductions",
        lambda t: (jax.tree.reduce(jnp.add, jax.tree.map(jnp.sum, t)), ravel_pytree(t)[0]),
        PARAMETERS,
    ),
    case("eval_shape_and_zeros", lambda x: jnp.zeros(jax.eval_shape(lambda x: x.T, x).shape), normal(3, 4)),
    case("named_scope", lambda x: jax.named_scope("outer")(jnp.sin)(x), normal(3)),
    case("jit_of_random_and_sort", lambda x: jnp.sort(x + jax.random.normal(jax.random.key(0), x.shape)), normal(30)),
    case("many_arguments", lambda *xs: sum(xs), *(normal(2) for _ in range(60))),
    case("many_results", lambda x: [x * i for i in range(40)], normal(3)),
    case("argument_is_result", lambda x, y: (y, x, x + y), normal(3), normal(3)),
    case(
        "large_unrolled",
        lambda x: [x := jnp.sin(x) * 1.1 for _ in range(40)][-1],
        normal(5),
        tolerance=(1e-4, 1e-5),
        because="forty sines after another",
    ),
]

CASES = [*DERIVATIVES, *VMAPS, *CONTROL, *JITS]
