"""Writers of arithmetic on complex numbers with integral parts, small enough to be exact."""

from __future__ import annotations

import math
from dataclasses import replace

from .arrays import COMPLEX, EPSILON, Claim
from .elementwise import compare
from .programs import Builder, Value, ints_text

EXACT_BELOW = 2.0**22


def _small(value: Value) -> bool:
    return value.is_complex and value.exact and value.claim.whole and value.claim.bound < EXACT_BELOW


def write_complex(b: Builder) -> None:
    """Write hlo.complex of two floats, or a part or the modulus of a complex number."""
    value = b.pick(lambda v: v.is_complex and v.exact) if b.chance(0.5) else None
    if value is None:
        part = b.pick(lambda v: v.dtype in COMPLEX.values() and v.exact)
        if part is not None:
            other = b.like(part.dtype, part.shape)
            dtype = next(d for d in COMPLEX if COMPLEX[d] == part.dtype)
            b.emit("complex", [part, other], dtype, part.shape, part.claim.or_else(other.claim))
        return
    dtype = COMPLEX[value.dtype]
    if b.chance(0.8) or not _small(value):
        b.emit(b.random.choice(("real", "imag")), [value], dtype, value.shape, value.claim)
    else:
        b.emit("abs", [value], dtype, value.shape, Claim(relative=16 * EPSILON[dtype]))


def write_complex_arithmetic(b: Builder) -> None:
    left = b.pick(_small)
    if left is None:
        return
    right = b.like(left.dtype, left.shape, lambda claim: claim.exact and claim.whole and claim.bound < EXACT_BELOW)
    name = b.random.choice(("add", "subtract", "multiply", "multiply", "negate", "compare"))
    x, y = left.claim.bound, right.claim.bound
    if name == "compare":
        compare(b, left, right, b.random.choice(("EQ", "NE")), "FLOAT")
    elif name == "negate":
        b.emit(name, [left], left.dtype, left.shape, left.claim)
    elif (bound := 2 * x * y if name == "multiply" else x + y) < EXACT_BELOW:
        b.emit(name, [left, right], left.dtype, left.shape, replace(left.claim, bound=bound))


def write_complex_sum(b: Builder) -> None:
    value = b.pick(lambda v: _small(v) and len(v.shape) >= 1)
    if value is None:
        return
    dims = b.random.sample(range(len(value.shape)), b.random.randint(1, len(value.shape)))
    bound = value.claim.bound * math.prod(value.shape[dim] for dim in dims)
    if bound >= EXACT_BELOW:
        return
    shape = tuple(size for dim, size in enumerate(value.shape) if dim not in dims)
    left, right = (Value(b.name(), value.dtype, ()) for _ in range(2))
    region, _ = b.region([left, right], lambda: [b.emit("add", [left, right], value.dtype, ())])
    result = Value("", value.dtype, shape, replace(value.claim, bound=bound))
    b.emit_with_regions("reduce", [value, b.scalar(0, value.dtype)], [result], [region], dimensions=ints_text(dims))


def write_complex_product(b: Builder) -> None:
    """Write a matrix product: the last dimension contracted with the first of another operand."""
    left = b.pick(lambda v: _small(v) and len(v.shape) >= 1)
    if left is None:
        return
    shape = (left.shape[-1], *b.shape(b.random.randint(0, 1)))
    right = b.like(left.dtype, shape, lambda claim: claim.exact and claim.whole and claim.bound < EXACT_BELOW)
    bound = 2 * left.claim.bound * right.claim.bound * max(1, left.shape[-1])
    whole = (*left.shape[:-1], *shape[1:])
    if bound >= EXACT_BELOW or math.prod(whole) > b.profile.volume:
        return
    numbers = (
        "#stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
        f"lhs_contracting_dimensions = [{len(left.shape) - 1}], rhs_contracting_dimensions = [0]>"
    )
    claim = replace(left.claim, bound=bound)
    b.emit("dot_general", [left, right], left.dtype, whole, claim, dot_dimension_numbers=numbers)
