"""Writers of elementwise operations, and the effect of a rounding on a claim."""

from __future__ import annotations

import math
from dataclasses import replace

from .arrays import COMPLEX, EPSILON, EXACT, FLOATS, INTEGERS, LARGEST, NARROW_FLOATS, UNSIGNED, Claim
from .programs import Builder, Value


def rounded(claim: Claim, dtype: str, *exact_operands: bool) -> Claim | None:
    """
    The claim of a result from its bound, error and `whole` in exact arithmetic, after one rounding to `dtype`.

    None if the error is too large to compute with.
    """
    bound = claim.bound if claim.bound <= LARGEST[dtype] else math.inf
    if dtype in NARROW_FLOATS and math.isinf(bound):  # Some narrow types have no infinity.
        claim = replace(claim, nan=True)
    fits = claim.whole and bound * EPSILON[dtype] <= 0.5
    if all(exact_operands):
        return replace(claim, bound=bound, error=0.0, whole=fits)
    error = claim.error + 2 * EPSILON[dtype] * bound
    if not error <= 0.02 * max(1.0, bound) or not math.isfinite(bound):
        return None
    return replace(claim, bound=bound, error=error, whole=False)


def computable(value: Value) -> bool:
    """Whether real arithmetic can use the value."""
    return value.claim.relative == 0 and not value.is_complex


EXACT_UNARY = "abs ceil floor negate round_nearest_afz round_nearest_even sign sqrt".split()
SMOOTH_UNARY = "tanh logistic sine cosine exponential exponential_minus_one".split()
TERMINAL_UNARY = "cbrt exponential exponential_minus_one log log_plus_one logistic rsqrt tanh sine cosine tan".split()


def write_unary(b: Builder) -> None:
    value = b.pick(computable)
    if value is None:
        return
    dtype, claim = value.dtype, value.claim
    if dtype == "i1":
        b.emit("not", [value], dtype, value.shape)
    elif dtype in INTEGERS:
        names = ["negate", "not", "popcnt"] + (["abs", "sign"] if dtype not in UNSIGNED else [])
        if not b.profile.portable:  # XLA folds it incorrectly for negative constants.
            names.append("count_leading_zeros")
        b.emit(b.random.choice(names), [value], dtype, value.shape)
    elif not claim.exact:
        _write_smooth(b, value)
    elif b.chance(0.7):
        name = b.random.choice(EXACT_UNARY)
        kept = claim.whole or name in ("ceil", "floor", "round_nearest_afz", "round_nearest_even", "sign")
        bound = claim.bound + 1 if name in ("ceil", "floor", "sign") else max(claim.bound, 1.0) + 1
        nan = claim.nan or name == "sqrt"
        made = rounded(Claim(bound, whole=kept and name != "sqrt" and math.isfinite(bound), nan=nan), dtype, True)
        if made is not None:
            b.emit(name, [value], dtype, value.shape, made)
    elif b.chance(0.6) and math.isfinite(claim.bound):
        _write_smooth(b, value)
    else:
        _write_terminal(b, value)


def _write_smooth(b: Builder, value: Value) -> None:
    """Write a function with bounded slope of bounded numbers."""
    name, claim, dtype = b.random.choice(SMOOTH_UNARY), value.claim, value.dtype
    if name.startswith("exp"):
        if not claim.bound <= 4:
            return
        size = math.exp(claim.bound)
        made = Claim(size, size * claim.error + 8 * EPSILON[dtype] * size, nan=claim.nan)
    else:
        made = Claim(1.0, claim.error + 8 * EPSILON[dtype], nan=claim.nan)
        if claim.bound > 1000:
            return
    checked = rounded(made, dtype, False)
    if checked is not None:
        b.emit(name, [value], dtype, value.shape, checked)


def _write_terminal(b: Builder, value: Value) -> None:
    """Write any function of any exact numbers; no computation uses its result."""
    name = b.random.choice(TERMINAL_UNARY)
    if name in ("tan", "sine", "cosine") and not value.claim.bound <= 100:
        return
    absolute = 16 * EPSILON[value.dtype] if name in ("tan", "sine", "cosine") else 0.0
    b.emit(name, [value], value.dtype, value.shape, Claim(error=absolute, relative=16 * EPSILON[value.dtype], nan=True))


INTEGER_BINARY = (
    "add subtract multiply divide remainder maximum minimum and or xor shift_left shift_right_logical "
    "shift_right_arithmetic power"
).split()


def write_binary(b: Builder) -> None:
    left = b.pick(computable)
    if left is None:
        return
    dtype, shape = left.dtype, left.shape
    right = b.like(dtype, shape, lambda claim: claim.relative == 0)
    if b.chance(0.4):
        left, right = right, left
    if dtype == "i1":
        b.emit(b.random.choice(("and", "or", "xor")), [left, right], dtype, shape)
    elif dtype in INTEGERS:
        name = b.random.choice(INTEGER_BINARY)
        if b.profile.portable and name in ("divide", "remainder", "power"):
            right = b.splat(b.random.randint(1, 5), dtype, shape)
        b.emit(name, [left, right], dtype, shape)
    else:
        write_float_binary(b, left, right)


def write_float_binary(b: Builder, left: Value, right: Value) -> None:
    x, y, dtype = left.claim, right.claim, left.dtype
    exact = (x.exact, y.exact)
    name = b.random.choice("add add subtract multiply multiply maximum minimum divide remainder".split())
    whole, nan = x.whole and y.whole, x.nan or y.nan
    if name in ("add", "subtract"):
        nan = nan or not math.isfinite(x.bound + y.bound)
        claim = Claim(x.bound + y.bound, x.error + y.error, whole=whole, nan=nan)
    elif name == "multiply":
        nan = nan or not math.isfinite(x.bound + y.bound)
        size = x.bound * y.bound if math.isfinite(x.bound + y.bound) else math.inf
        error = 0.0 if all(exact) else x.error * y.bound + y.error * x.bound
        claim = Claim(size, error, whole=whole, nan=nan)
    elif name in ("maximum", "minimum"):
        claim = Claim(max(x.bound, y.bound), max(x.error, y.error), whole=whole, nan=nan)
    elif all(exact):
        claim = ANY_QUOTIENT if name == "divide" else Claim(x.bound, whole=whole, nan=True)
    else:
        return
    made = rounded(claim, dtype, *exact)
    if made is not None:
        b.emit(name, [left, right], dtype, left.shape, made)


ANY_QUOTIENT = Claim(nan=True)


def compare(b: Builder, left: Value, right: Value, direction: str, sort: str = "") -> Value:
    """Write hlo.compare; `sort` is its compare_type, if stated."""
    properties = {"comparison_direction": f"#stablehlo<comparison_direction {direction}>"}
    if sort:
        properties["compare_type"] = f"#stablehlo<comparison_type {sort}>"
    return b.emit("compare", [left, right], "i1", left.shape, EXACT, **properties)


def write_compare(b: Builder) -> None:
    left = b.pick(lambda v: v.exact and not v.is_complex)
    if left is None:
        return
    right = b.like(left.dtype, left.shape)
    sort = "FLOAT" if left.is_float else "UNSIGNED" if left.dtype in (*UNSIGNED, "i1") else "SIGNED"
    sort = sort if b.chance(0.5) else ""
    compare(b, left, right, b.random.choice(("EQ", "NE", "LT", "LE", "GT", "GE")), sort)


def write_is_finite(b: Builder) -> None:
    value = b.pick(lambda v: v.is_float and v.exact)
    if value is not None:
        b.emit("is_finite", [value], "i1", value.shape)


def write_select(b: Builder) -> None:
    left = b.pick(lambda v: True)
    if left is None:
        return
    right = b.like(left.dtype, left.shape, lambda claim: True)
    condition = b.like("i1", () if b.chance(0.3) else left.shape)
    b.emit("select", [condition, left, right], left.dtype, left.shape, left.claim.or_else(right.claim))


def write_clamp(b: Builder) -> None:
    """Write hlo.clamp, which also returns floats to bounds that allow more operations."""
    value = b.pick(computable)
    if value is None or value.dtype == "i1":
        return
    dtype, shape = value.dtype, value.shape
    if dtype in INTEGERS or b.chance(0.2):
        if not value.exact:
            return
        low, high = (b.like(dtype, () if b.chance(0.5) else shape) for _ in range(2))
        claims = (low.claim, value.claim, high.claim)
        bound = max(claim.bound for claim in claims)
        claim = (
            Claim(bound, whole=all(c.whole for c in claims), nan=any(c.nan for c in claims))
            if value.is_float
            else EXACT
        )
    else:
        size = b.random.choice((1, 2, 4))
        low, high = (
            b.scalar(sign * size, dtype) if b.chance(0.5) else b.splat(sign * size, dtype, shape) for sign in (-1, 1)
        )
        claim = replace(value.claim, bound=float(size))
    b.emit("clamp", [low, value, high], dtype, shape, claim)
    if value.is_float and claim.exact and b.chance(0.5):
        whole = Claim(claim.bound + 1, whole=math.isfinite(claim.bound), nan=claim.nan)
        b.emit("round_nearest_even", [b.scope[-1]], dtype, shape, whole)


def write_convert(b: Builder) -> None:
    value = b.pick(lambda v: not v.is_complex)
    if value is None:
        return
    types = sorted({"f32", "i32", "i1", *b.profile.dtypes} - {value.dtype, *COMPLEX})
    choices = [d for d in types if value.exact or d in FLOATS]
    b.convert(value, b.random.choice(choices))


BITS = {d: int(d.lstrip("uibf")[:2].rstrip("E")) for d in (*INTEGERS, *FLOATS)}


def write_bitcast(b: Builder) -> None:
    """
    Write a bitcast between integers and floats of one width; no NaN becomes an integer, because its bits are
    unspecified.
    """
    value = b.pick(lambda v: v.exact and not v.claim.nan and v.dtype in BITS)
    # XLA flushes denormals and does not preserve the signs of zeros.
    if value is None or (b.profile.portable and value.is_float):
        return
    targets = INTEGERS if b.profile.portable else (*FLOATS, *INTEGERS)
    dtype = b.random.choice([d for d in targets if d in BITS and BITS[d] == BITS[value.dtype]])
    b.emit("bitcast_convert", [value], dtype, value.shape, Claim(nan=True) if dtype in FLOATS else EXACT)


def write_reduce_precision(b: Builder) -> None:
    value = b.pick(lambda v: v.is_float and v.exact)
    if value is not None:
        exponent, mantissa = b.random.choice(((5, 10), (8, 7), (8, 23), (4, 3), (11, 52)))
        properties = {"exponent_bits": f"{exponent} : i32", "mantissa_bits": f"{mantissa} : i32"}
        claim = Claim(math.inf, nan=value.claim.nan)
        b.emit("reduce_precision", [value], value.dtype, value.shape, claim, **properties)
