"""Every element type: conversions between all of them, and JAX's operations on narrow ones."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from cases import case, integers, normal, special_values

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NARROW_INTEGERS = ["int2", "int4", "uint2", "uint4"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
NARROW_FLOATS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz",
                 "float8_e4m3", "float8_e3m4", "float8_e8m0fnu", "float4_e2m1fn"]  # fmt: skip
COMPLEX = ["complex64", "complex128"]
ALL = ["bool", *INTEGERS, *FLOATS, *COMPLEX]
UNSIGNED_FLOATS = {"float8_e8m0fnu"}


def to_all(x: jax.Array) -> tuple[jax.Array, ...]:
    """Convert to every type except narrow ones; complex numbers only to complex, because JAX warns of the rest."""
    complex_only = jnp.issubdtype(x.dtype, jnp.complexfloating)
    return tuple(x.astype(t) for t in (COMPLEX if complex_only else ALL))


def to_narrow(x: jax.Array) -> tuple[jax.Array, ...]:
    return tuple(x.astype(t) for t in NARROW_FLOATS)


def small_values(dtype: str) -> np.ndarray:
    """All values of a narrow integer type, sixteen or fewer."""
    bits, signed = int(dtype.removeprefix("u").removeprefix("int")), dtype.startswith("int")
    low = -(2 ** (bits - 1)) if signed else 0
    return np.arange(low, low + 2**bits).astype(jnp.dtype(dtype))


def narrow_values(dtype: str) -> np.ndarray:
    """Every bit pattern of a narrow float."""
    bits = 4 if dtype.startswith("float4") else 8
    return np.arange(2**bits, dtype=np.uint8).view(jnp.dtype(dtype))


CASES = [
    *(
        case(f"convert_{t}", to_all, integers(30, low=0, high=2 if t == "bool" else 120, dtype=t), x64=True)
        for t in ["bool", *INTEGERS]
    ),
    *(case(f"convert_{t}", to_all, normal(30, dtype=t, scale=20), x64=True) for t in FLOATS + COMPLEX),
    *(case(f"convert_to_narrow_{t}", to_narrow, normal(99, dtype=t, scale=3), x64=True) for t in FLOATS),
    *(case(f"convert_special_{t}", to_narrow, special_values(t), x64=True) for t in ("float16", "bfloat16", "float32")),
    *(
        case(f"convert_{t}", lambda x: tuple(x.astype(u) for u in FLOATS), narrow_values(t), x64=True)
        for t in NARROW_FLOATS
    ),
    *(
        case(
            f"arithmetic_{t}",
            lambda x, y: (x + y, x * y, x - y, jnp.maximum(x, y), x < y),
            narrow_values(t)[3:40],
            narrow_values(t)[40:77],
        )
        for t in NARROW_FLOATS
        if not t.startswith("float4") and t not in UNSIGNED_FLOATS
    ),
    *(
        case(
            f"moves_{t}",
            lambda x: (x.reshape(2, -1).T, x[::-1], jnp.concatenate([x, x]), x[None] == x[:, None]),
            narrow_values(t)[:16],
        )
        for t in NARROW_FLOATS
    ),
    *(
        case(
            f"convert_{t}",
            lambda x: tuple(x.astype(u) for u in ("int8", "int32", "float32", "bfloat16", "bool")),
            small_values(t),
        )
        for t in NARROW_INTEGERS
    ),
    *(
        case(
            f"arithmetic_{t}",
            lambda x: (x + x, x * x, x - 1, x < x[::-1], jnp.maximum(x, x[::-1]), x & 1),
            small_values(t),
        )
        for t in NARROW_INTEGERS
    ),
    *(
        case(f"moves_{t}", lambda x: (x.reshape(2, -1).T, x[::-1], x[None] == x[:, None]), small_values(t))
        for t in NARROW_INTEGERS
    ),
    *(
        case(f"convert_to_{t}", lambda x, t=t: x.astype(t).astype("int32"), integers(40, low=-20, high=20))
        for t in NARROW_INTEGERS
    ),
    *(
        case(
            f"moves_{t}",
            lambda x: (
                x.reshape(2, -1).T,
                x[::-1],
                jnp.concatenate([x, x]),
                jnp.pad(x, 1),
                jnp.tile(x, 2),
                jnp.roll(x, 3),
            ),
            integers(8, low=0, high=2, dtype=t),
            x64=True,
        )
        for t in ALL
    ),
    *(
        case(
            f"reductions_{t}",
            lambda x: (x.sum(), x.prod(), x.max(), x.min(), x.argmax(), x.any(), x.cumsum(), x.sort()),
            integers(12, low=1, high=4, dtype=t),
            x64=True,
        )
        for t in INTEGERS + FLOATS
    ),
    *(
        case(
            f"dot_{t}",
            lambda x, y: x @ y,
            integers(5, 7, low=0, high=5, dtype=t),
            integers(7, 3, low=0, high=5, dtype=t),
            x64=True,
        )
        for t in INTEGERS + FLOATS + COMPLEX
    ),
    case(
        "dot_preferred_int8",
        lambda x, y: lax.dot(x, y, preferred_element_type=jnp.int32),
        integers(5, 7, low=-128, high=127, dtype="int8"),
        integers(7, 3, low=-128, high=127, dtype="int8"),
    ),
    case(
        "dot_preferred_bfloat16",
        lambda x, y: lax.dot(x, y, preferred_element_type=jnp.float32),
        normal(5, 7, dtype="bfloat16"),
        normal(7, 3, dtype="bfloat16"),
    ),
    case(
        "dot_float8",
        lambda x, y: lax.dot(x, y, preferred_element_type=jnp.float32),
        normal(5, 7, dtype="float8_e4m3fn"),
        normal(7, 3, dtype="float8_e4m3fn"),
    ),
    case(
        "dot_mixed",
        lambda x, y: lax.dot(x, y, preferred_element_type=jnp.float32),
        normal(5, 7, dtype="bfloat16"),
        normal(7, 3),
    ),
    *(
        case(
            f"bitcast_{t}",
            lambda x: (
                lax.bitcast_convert_type(x, jnp.uint32),
                lax.bitcast_convert_type(x, jnp.uint8),
                lax.bitcast_convert_type(x, jnp.bfloat16),
            ),
            normal(3, 4, dtype=t) if t == "float32" else integers(3, 4, dtype=t),
        )
        for t in ("float32", "int32")
    ),
    case(
        "bitcast_to_wider",
        lambda x: lax.bitcast_convert_type(x, jnp.float64),
        integers(3, 8, low=0, high=255, dtype="uint8"),
        x64=True,
    ),
    case("bitcast_bfloat16", lambda x: lax.bitcast_convert_type(x, jnp.uint16), normal(9, dtype="bfloat16")),
    case("view", lambda x: (x.view(jnp.int32), x.view(jnp.uint8), x.view(jnp.int16)), normal(2, 4)),
    case(
        "promotion",
        lambda a, b, c, d: (a + b, a + c, b + d, c * d, a * 2.0, d + 1),
        integers(3, dtype="int8"),
        integers(3, low=0, dtype="uint8"),
        normal(3, dtype="bfloat16"),
        normal(3, dtype="float16"),
    ),
    case(
        "convert_large_floats",
        lambda x: (x.astype("int32"), x.astype("uint8"), x.astype("int8")),
        np.array([1e10, -1e10, np.nan, np.inf, -np.inf, 300.0, -300.0, 2.7, -2.7], np.float32),
    ),
    case(
        "convert_large_doubles",
        lambda x: (x.astype("int64"), x.astype("uint64"), x.astype("float32"), x.astype("float16")),
        np.array([1e30, -1e30, np.nan, np.inf, 300.0, -3.0, 2.7, 1e300, 65520.0]),
        x64=True,
    ),
    case("convert_complex_to_bool", lambda x: x != 0, np.array([0, 1, 1j, 0], np.complex64)),
    case("finfo_limits", lambda x: x * jnp.finfo(x.dtype).max, normal(3)),
    case("x64_off_truncates", lambda x: (x * 2, jnp.arange(3), jnp.zeros(2)), np.arange(3, dtype=np.int64)),
    case("x64_on", lambda x: (x * 2, jnp.arange(3), jnp.zeros(2), jnp.float32(1) + x), np.arange(3.0), x64=True),
]
