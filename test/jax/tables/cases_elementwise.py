"""Elementwise operations of jnp and lax, for each type and at edge values."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import booleans, case, integers, normal, special_values, uniform

UNARY = {
    "abs": (jnp.abs, normal(3, 5)),
    "acos": (jnp.arccos, uniform(9, low=-1, high=1)),
    "acosh": (jnp.arccosh, uniform(9, low=1, high=9)),
    "asin": (jnp.arcsin, uniform(9, low=-1, high=1)),
    "asinh": (jnp.arcsinh, normal(9, scale=5)),
    "atan": (jnp.arctan, normal(9, scale=5)),
    "atanh": (jnp.arctanh, uniform(9, low=-0.95, high=0.95)),
    "cbrt": (jnp.cbrt, normal(9, scale=50)),
    "ceil": (jnp.ceil, normal(9, scale=5)),
    "cos": (jnp.cos, normal(9, scale=5)),
    "cosh": (jnp.cosh, normal(9, scale=3)),
    "deg2rad": (jnp.deg2rad, normal(9, scale=90)),
    "exp": (jnp.exp, normal(9, scale=5)),
    "exp2": (jnp.exp2, normal(9, scale=5)),
    "expm1": (jnp.expm1, normal(9)),
    "fabs": (jnp.fabs, normal(9)),
    "floor": (jnp.floor, normal(9, scale=5)),
    "log": (jnp.log, uniform(9, low=0.01, high=9)),
    "log10": (jnp.log10, uniform(9, low=0.01, high=9)),
    "log1p": (jnp.log1p, uniform(9, low=-0.5, high=9)),
    "log2": (jnp.log2, uniform(9, low=0.01, high=9)),
    "negative": (jnp.negative, normal(9)),
    "reciprocal": (jnp.reciprocal, uniform(9, low=0.1, high=9)),
    "rint": (jnp.rint, normal(9, scale=5)),
    "round": (lambda x: jnp.round(x, 2), normal(9, scale=5)),
    "rsqrt": (lax.rsqrt, uniform(9, low=0.1, high=9)),
    "sign": (jnp.sign, normal(9)),
    "sin": (jnp.sin, normal(9, scale=5)),
    "sinc": (jnp.sinc, normal(9)),
    "sinh": (jnp.sinh, normal(9, scale=3)),
    "sqrt": (jnp.sqrt, uniform(9, low=0, high=9)),
    "square": (jnp.square, normal(9)),
    "tan": (jnp.tan, uniform(9, low=-1.4, high=1.4)),
    "tanh": (jnp.tanh, normal(9)),
    "trunc": (jnp.trunc, normal(9, scale=5)),
    "i0": (jnp.i0, normal(9)),
    "integer_pow": (lambda x: lax.integer_pow(x, 5), normal(9)),
    "integer_pow_negative": (lambda x: lax.integer_pow(x, -3), uniform(9, low=0.5, high=2)),
    "nan_to_num": (jnp.nan_to_num, special_values()),
    "logistic": (lax.logistic, normal(9, scale=3)),
    "erf": (lax.erf, normal(9)),
    "erfc": (lax.erfc, normal(9)),
    "erf_inv": (lax.erf_inv, uniform(9, low=-0.9, high=0.9)),
    "is_finite": (lax.is_finite, special_values()),
    "signbit": (jnp.signbit, special_values()),
    "isnan": (jnp.isnan, special_values()),
    "isinf": (jnp.isinf, special_values()),
    "isposinf": (jnp.isposinf, special_values()),
    "frexp": (jnp.frexp, normal(9, scale=99)),
    "modf": (jnp.modf, normal(9, scale=5)),
    "spacing": (jnp.spacing, normal(9, scale=5)),
    "reduce_precision": (lambda x: lax.reduce_precision(x, 5, 7), special_values()),
}

BINARY = {
    "add": (jnp.add, normal(3, 5), normal(5)),
    "subtract": (jnp.subtract, normal(3, 5), normal(3, 1)),
    "multiply": (jnp.multiply, normal(3, 5), 2.5),
    "divide": (jnp.divide, normal(3, 5), uniform(3, 5, low=0.5, high=2)),
    "power": (jnp.power, uniform(9, low=0.1, high=4), normal(9)),
    "float_power": (jnp.float_power, uniform(9, low=0.1, high=4), normal(9)),
    "power_of_integer": (lambda x, n: lax.pow(x, n), normal(9), integers(9, low=-3, high=5)),
    "arctan2": (jnp.arctan2, normal(9), normal(9)),
    "hypot": (jnp.hypot, normal(9), normal(9)),
    "maximum": (jnp.maximum, special_values(), special_values()[::-1].copy()),
    "minimum": (jnp.minimum, special_values(), special_values()[::-1].copy()),
    "fmax": (jnp.fmax, special_values(), special_values()[::-1].copy()),
    "fmin": (jnp.fmin, special_values(), special_values()[::-1].copy()),
    "mod": (jnp.mod, normal(9, scale=9), uniform(9, low=0.5, high=3)),
    "fmod": (jnp.fmod, normal(9, scale=9), uniform(9, low=0.5, high=3)),
    "remainder": (lax.rem, normal(9, scale=9), uniform(9, low=0.5, high=3)),
    "floor_divide": (jnp.floor_divide, normal(9, scale=9), uniform(9, low=0.5, high=3)),
    "divmod": (jnp.divmod, normal(9, scale=9), uniform(9, low=0.5, high=3)),
    "logaddexp": (jnp.logaddexp, normal(9), normal(9)),
    "logaddexp2": (jnp.logaddexp2, normal(9), normal(9)),
    "copysign": (jnp.copysign, special_values(), special_values()[::-1].copy()),
    "nextafter": (jnp.nextafter, special_values(), special_values()[::-1].copy()),
    "heaviside": (jnp.heaviside, normal(9), normal(9)),
    "ldexp": (jnp.ldexp, normal(9), integers(9, low=-4, high=5)),
    "equal": (jnp.equal, special_values(), special_values()[::-1].copy()),
    "not_equal": (jnp.not_equal, special_values(), special_values()[::-1].copy()),
    "less": (jnp.less, special_values(), special_values()[::-1].copy()),
    "less_equal": (jnp.less_equal, special_values(), special_values()[::-1].copy()),
    "greater": (jnp.greater, special_values(), special_values()[::-1].copy()),
    "greater_equal": (jnp.greater_equal, special_values(), special_values()[::-1].copy()),
    "isclose": (jnp.isclose, special_values(), special_values()[::-1].copy()),
    "eq_to": (lax.eq_to_p.bind, special_values(), special_values()[::-1].copy()),
    "lt_to": (lax.lt_to_p.bind, special_values(), special_values()[::-1].copy()),
    "polyval": (jnp.polyval, normal(4), normal(7)),
    "interp": (lambda x, y: jnp.interp(x, jnp.arange(5.0), y), uniform(9, low=-1, high=6), normal(5)),
}

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


def arithmetic(x: jax.Array, y: jax.Array) -> tuple[jax.Array, ...]:
    """The operations that every number type has."""
    return x + y, x - y, x * y, -x, jnp.maximum(x, y), jnp.minimum(x, y), jnp.abs(x), jnp.sign(x), x == y, x < y


def integer_arithmetic(x: jax.Array, y: jax.Array) -> tuple[jax.Array, ...]:
    """Includes divisors of zero, which XLA defines."""
    return (x // y, x % y, lax.div(x, y), lax.rem(x, y), x & y, x | y, x ^ y, ~x, x**2,
            lax.population_count(x), lax.clz(x))  # fmt: skip


def shifts(x: jax.Array, y: jax.Array) -> tuple[jax.Array, ...]:
    """Shifts, also by more bits than the type has."""
    return lax.shift_left(x, y), lax.shift_right_arithmetic(x, y), lax.shift_right_logical(x, y)


def float_functions(x: jax.Array, y: jax.Array) -> tuple[jax.Array, ...]:
    """Functions of numbers between 0.1 and 2."""
    return (x / y, jnp.exp(x), jnp.log(x), jnp.sqrt(x), lax.rsqrt(x), jnp.sin(x), jnp.cos(x), jnp.tanh(x), x**y,
            jnp.arctan2(x, y), lax.erf(x), jnp.floor(x * 3), jnp.round(x * 3), lax.logistic(x), jnp.log1p(x),
            jnp.expm1(x), jnp.cbrt(x), jnp.tan(x))  # fmt: skip


def complex_functions(x: jax.Array, y: jax.Array) -> tuple[jax.Array, ...]:
    return (x / y, jnp.exp(x), jnp.log(x), jnp.sqrt(x), lax.rsqrt(x), jnp.sin(x), jnp.cos(x), jnp.tanh(x), x**y,
            jnp.abs(x), jnp.angle(x), jnp.conj(x), x.real, x.imag, jnp.sign(x), jnp.sinh(x), jnp.cosh(x),
            jnp.tan(x), jnp.log1p(x), jnp.expm1(x))  # fmt: skip


LOGICAL = [jnp.logical_and, jnp.logical_or, jnp.logical_xor, jnp.equal, jnp.less, jnp.add, jnp.multiply, jnp.maximum]

CASES = [
    *(case(name, function, x, eager=True) for name, (function, x) in UNARY.items()),
    *(case(name, function, x, y, eager=True) for name, (function, x, y) in BINARY.items()),
    *(
        case(
            f"arithmetic_{t}",
            arithmetic,
            integers(20, low=-100, high=100, dtype=t),
            integers(20, low=-100, high=100, dtype=t),
            x64=True,
        )
        for t in SIGNED
    ),
    *(
        case(
            f"arithmetic_{t}",
            arithmetic,
            integers(20, low=0, high=200, dtype=t),
            integers(20, low=0, high=200, dtype=t),
            x64=True,
        )
        for t in UNSIGNED
    ),
    *(
        case(
            f"integer_arithmetic_{t}",
            integer_arithmetic,
            integers(40, low=0 if t in UNSIGNED else -9, dtype=t),
            integers(40, low=0 if t in UNSIGNED else -3, high=4, dtype=t),
            x64=True,
        )
        for t in SIGNED + UNSIGNED
    ),
    *(
        case(
            f"shifts_{t}",
            shifts,
            integers(40, low=0 if t in UNSIGNED else -99, high=99, dtype=t),
            integers(40, low=0, high=70, dtype=t),
            x64=True,
        )
        for t in SIGNED + UNSIGNED
    ),
    *(case(f"arithmetic_{t}", arithmetic, normal(9, dtype=t), normal(9, dtype=t), x64=True) for t in FLOATS),
    *(
        case(
            f"float_functions_{t}",
            float_functions,
            uniform(9, low=0.1, high=2, dtype=t),
            uniform(9, low=0.1, high=2, dtype=t),
            x64=True,
        )
        for t in FLOATS
    ),
    *(
        case(
            f"special_values_{t}",
            lambda x, y: (
                x + y,
                x * y,
                x - y,
                jnp.sqrt(x),
                jnp.floor(x),
                jnp.sign(x),
                jnp.maximum(x, y),
                x < y,
                x == y,
                -x,
                jnp.abs(x),
            ),
            special_values(t)[:, None],
            special_values(t)[None, :],
            x64=True,
        )
        for t in FLOATS
    ),
    # Not by the largest numbers: XLA:CPU multiplies by their reciprocals, which it flushes to zero.
    *(
        case(f"divide_special_{t}", jnp.divide, special_values(t)[:, None], special_values(t)[None, :-3], x64=True)
        for t in FLOATS
    ),
    *(
        case(
            f"complex_functions_{t}",
            complex_functions,
            normal(9, dtype=t),
            normal(9, dtype=t),
            x64=True,
            tolerance=(3e-5, 1e-5) if t == "complex64" else (1e-11, 1e-12),
            because="powers and quotients of complex numbers are of several roundings",
        )
        for t in ("complex64", "complex128")
    ),
    *(case(f"logical_{f.__name__}", f, booleans(20), booleans(20)) for f in LOGICAL),
    case("logical_not", jnp.logical_not, booleans(20)),
    case("invert_bool", lambda x: ~x, booleans(20)),
    case("where", jnp.where, booleans(3, 4), normal(4), 0.0, eager=True),
    case(
        "select_n",
        lambda i, x, y, z: lax.select_n(i, x, y, z),
        integers(7, low=0, high=3),
        normal(7),
        normal(7),
        normal(7),
    ),
    case("clip", lambda x: jnp.clip(x, -0.5, 0.5), normal(9)),
    case("clamp_of_scalars", lambda lo, x, hi: lax.clamp(lo, x, hi), np.float32(-1), normal(9), np.float32(1)),
    case(
        "gcd_lcm", lambda x, y: (jnp.gcd(x, y), jnp.lcm(x, y)), integers(9, low=1, high=50), integers(9, low=1, high=50)
    ),
    case("weak_types", lambda x: (x * 2, x + 1.5, x**2, 3 - x), integers(4)),
    case("weak_result", lambda x: (jnp.asarray(1.0), 2, True), normal(3)),
    case("bitwise_count", jnp.bitwise_count, integers(9, low=0, high=1000)),
    case("packbits", jnp.packbits, booleans(21)),
    case("unpackbits", jnp.unpackbits, integers(3, 4, low=0, high=256, dtype="uint8")),
    case("exponent_and_mantissa", lambda x: lax.exp2(lax.floor(lax.log(x))), uniform(9, low=0.5, high=9)),
    case(
        "large_angles",
        lambda x: (jnp.sin(x), jnp.cos(x), jnp.tan(x)),
        normal(30, scale=1e4),
        tolerance=(1e-4, 1e-5),
        because="tan near its poles multiplies the last bit of a large angle's reduction",
    ),
    case("vectorized_length", lambda x: jnp.exp(x) * jnp.sin(x) + jnp.tanh(x), normal(1027)),
    case("array_of_no_elements", lambda x: (jnp.exp(x), x + 1, x.sum(), x.reshape(3, 0)), normal(0, 3)),
    case("scalars", lambda x, y: x * y + jnp.sin(x), 1.5, np.float32(2.5), eager=True),
]
