"""
jax.random: the bits of both generators equal XLA's, and so do samples made from them by comparisons and integers.

Samples that go through logarithms and the like are compared with the tolerance of floats.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

from cases import case, normal, positive_definite, uniform

GENERATORS = ["threefry2x32", "rbg", "unsafe_rbg"]
THREEFRY = np.array([7, 42], np.uint32)
RBG = np.array([7, 42, 11, 99], np.uint32)


def with_key(function, implementation="threefry2x32"):
    """A function of a key as a function of the key's words."""
    return lambda words, *rest: function(random.wrap_key_data(words, impl=implementation), *rest)


SAMPLERS = {
    "uniform": lambda k: random.uniform(k, (50,), minval=-2, maxval=3),
    "normal": lambda k: random.normal(k, (50,)),
    "randint": lambda k: random.randint(k, (50,), -7, 100),
    "bernoulli": lambda k: random.bernoulli(k, 0.3, (50,)),
    "permutation": lambda k: random.permutation(k, 30),
    "permutation_of_rows": lambda k: random.permutation(k, jnp.arange(12).reshape(4, 3), independent=True),
    "choice": lambda k: random.choice(k, 20, (7,), replace=False),
    "choice_weighted": lambda k: random.choice(k, jnp.arange(5.0), (9,), p=jnp.array([0.1, 0.2, 0.3, 0.2, 0.2])),
    "truncated_normal": lambda k: random.truncated_normal(k, -1.0, 2.0, (50,)),
    "exponential": lambda k: random.exponential(k, (50,)),
    "gumbel": lambda k: random.gumbel(k, (50,)),
    "laplace": lambda k: random.laplace(k, (50,)),
    "logistic": lambda k: random.logistic(k, (50,)),
    "cauchy": lambda k: random.cauchy(k, (20,)),
    "categorical": lambda k: random.categorical(k, jnp.arange(6.0), shape=(20,)),
    "categorical_without_replacement": lambda k: random.categorical(k, jnp.arange(6.0), shape=(3,), replace=False),
    "gamma": lambda k: random.gamma(k, jnp.array([0.3, 1.0, 4.5]), (10, 3)),
    "loggamma": lambda k: random.loggamma(k, 0.5, (10,)),
    "beta": lambda k: random.beta(k, 2.0, 3.0, (20,)),
    "dirichlet": lambda k: random.dirichlet(k, jnp.array([0.5, 1.0, 2.0]), (5,)),
    "poisson": lambda k: random.poisson(k, jnp.array([0.5, 3.0, 30.0]), (10, 3)),
    "binomial": lambda k: random.binomial(k, 20, 0.3, (10,)),
    "geometric": lambda k: random.geometric(k, 0.3, (20,)),
    "chisquare": lambda k: random.chisquare(k, 3.0, shape=(10,)),
    "f": lambda k: random.f(k, 3.0, 5.0, shape=(10,)),
    "t": lambda k: random.t(k, 3.0, (10,)),
    "pareto": lambda k: random.pareto(k, 2.0, (20,)),
    "rayleigh": lambda k: random.rayleigh(k, 2.0, (20,)),
    "weibull": lambda k: random.weibull_min(k, 1.5, 2.0, (20,)),
    "wald": lambda k: random.wald(k, 1.5, (20,)),
    "lognormal": lambda k: random.lognormal(k, 0.5, (20,)),
    "maxwell": lambda k: random.maxwell(k, (20,)),
    "rademacher": lambda k: random.rademacher(k, (20,)),
    "triangular": lambda k: random.triangular(k, 0.0, 0.3, 1.0, (20,)),
    "generalized_normal": lambda k: random.generalized_normal(k, 1.5, (10,)),
    "ball": lambda k: random.ball(k, 3, shape=(5,)),
    "double_sided_maxwell": lambda k: random.double_sided_maxwell(k, 1.0, 2.0, (20,)),
    "orthogonal": lambda k: random.orthogonal(k, 4),
    "multinomial": lambda k: random.multinomial(k, 20.0, jnp.array([0.2, 0.3, 0.5])),
    "normal_complex": lambda k: random.normal(k, (20,), jnp.complex64),
    "bits": lambda k: [random.bits(k, (33,), d) for d in ("uint8", "uint16", "uint32")],
    "split": lambda k: (random.split(k, 5), random.fold_in(k, 7), random.clone(k)),
    "shapes": lambda k: (random.uniform(k), random.normal(k, (0,)), random.uniform(k, (1,)), random.bits(k, (3, 5, 7))),
    "key_arrays": lambda k: (
        random.split(k, (2, 3))[1, 0],
        jnp.stack([k, k]),
        random.key_data(k),
        random.split(k, 3)[::-1],
    ),
    "vmapped": lambda k: jax.vmap(random.normal)(random.split(k, 4)),
    "scanned": lambda k: jax.lax.scan(lambda c, _: (random.split(c)[0], random.uniform(c)), k, None, length=5),
}

TOLERANCE = (2e-5, 2e-6)
LOOSE = {
    "gamma",
    "loggamma",
    "beta",
    "dirichlet",
    "chisquare",
    "f",
    "t",
    "generalized_normal",
    "cauchy",
    "orthogonal",
    "ball",
    "multinomial",
}

CASES = [
    *(
        case(
            f"threefry_{name}",
            with_key(f),
            THREEFRY,
            tolerance=(2e-4, 1e-5) if name in LOOSE else TOLERANCE,
            eager=name in ("normal", "randint", "split"),
            because="logarithms and inverse functions in f32"
            if name not in LOOSE
            else "iterations, or quotients of such",
        )
        for name, f in SAMPLERS.items()
    ),
    *(
        case(
            f"{generator}_{name}",
            with_key(SAMPLERS[name], generator),
            RBG,
            tolerance=TOLERANCE,
            because="logarithms and inverse functions in f32",
        )
        for generator in GENERATORS[1:]
        for name in ("uniform", "normal", "randint", "bits", "split", "permutation", "shapes", "vmapped", "categorical")
    ),
    *(
        case(f"threefry_bits_{n}", with_key(lambda k, n=n: random.bits(k, (n,))), THREEFRY)
        for n in (1, 2, 3, 1000, 1001)
    ),
    *(
        case(f"rbg_bits_{d}", with_key(lambda k, d=d: random.bits(k, (77,), d), "rbg"), RBG, x64=True)
        for d in ("uint8", "uint16", "uint32", "uint64")
    ),
    *(
        case(f"threefry_uniform_{d}", with_key(lambda k, d=d: random.uniform(k, (50,), d)), THREEFRY, x64=True)
        for d in ("float16", "bfloat16", "float32", "float64")
    ),
    *(
        case(
            f"threefry_normal_{d}",
            with_key(lambda k, d=d: random.normal(k, (50,), d)),
            THREEFRY,
            x64=True,
            tolerance=t,
            because="an inverse error function",
        )
        for d, t in (("float16", (4e-3, 1e-3)), ("bfloat16", (2e-2, 1e-2)), ("float64", (1e-11, 1e-12)))
    ),
    *(
        case(f"threefry_randint_{d}", with_key(lambda k, d=d: random.randint(k, (50,), 0, 100, d)), THREEFRY, x64=True)
        for d in ("int8", "uint8", "int16", "uint32", "int64", "uint64")
    ),
    case("threefry_bits_uint64", with_key(lambda k: random.bits(k, (33,), "uint64")), THREEFRY, x64=True),
    case(
        "multivariate_normal",
        with_key(lambda k, c: random.multivariate_normal(k, jnp.zeros(3), c, (5,))),
        THREEFRY,
        positive_definite(n=3),
        tolerance=(1e-4, 1e-5),
        because="a factor of the covariance in f32",
    ),
    case(
        "seeds",
        lambda s: (random.key_data(random.key(s)), random.PRNGKey(s), random.uniform(random.key(s), (3,))),
        np.int32(1701),
    ),
    case("seed_rbg", lambda s: random.key_data(random.key(s, impl="rbg")), np.int32(1701)),
    case(
        "dropout",
        with_key(lambda k, x: jnp.where(random.bernoulli(k, 0.8, x.shape), x / 0.8, 0)),
        THREEFRY,
        normal(8, 9),
    ),
    case(
        "key_as_argument",
        lambda key: random.normal(key, (5,)),
        random.key(3),
        tolerance=TOLERANCE,
        because="an inverse error function",
    ),
    case("keys_as_result", lambda key: random.split(key), random.key(3)),
    case(
        "gradient_through_sample",
        with_key(lambda k, a: jax.grad(lambda a: random.gamma(k, a).sum())(a)),
        THREEFRY,
        uniform(4, low=0.5, high=3),
        tolerance=(1e-3, 1e-4),
        because="a series for the derivative of a quantile",
    ),
    case(
        "initializers",
        with_key(
            lambda k: [
                f(k, (4, 6))
                for f in (
                    jax.nn.initializers.glorot_normal(),
                    jax.nn.initializers.he_uniform(),
                    jax.nn.initializers.lecun_normal(),
                    jax.nn.initializers.truncated_normal(),
                    jax.nn.initializers.orthogonal(),
                )
            ]
        ),
        THREEFRY,
        tolerance=(2e-4, 2e-5),
        because="an orthogonal one goes through a QR decomposition",
    ),
]
