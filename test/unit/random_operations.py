"""Writers of random operations: each takes a builder, and writes something or finds nothing to write it on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from random_control_flow import write_case, write_if, write_while
from random_movement import (
    write_broadcast,
    write_concatenate,
    write_dynamic_slice,
    write_dynamic_update_slice,
    write_iota,
    write_pad,
    write_reshape,
    write_reverse,
    write_slice,
    write_transpose,
)
from random_programs import (
    DTYPES,
    EPSILON,
    EXACT,
    FLOATS,
    INTEGERS,
    LARGEST,
    UNSIGNED,
    Builder,
    Claim,
    Shape,
    Value,
    ints_text,
)

Writer = Callable[[Builder], object]


def rounded(claim: Claim, dtype: str, *exact_operands: bool) -> Claim | None:
    """
    The claim of a result from its bound, error and `whole` in exact arithmetic, after one rounding to `dtype`.

    None where the error grew too large to go on with.
    """
    bound = claim.bound if claim.bound <= LARGEST[dtype] else math.inf
    fits = claim.whole and bound * EPSILON[dtype] <= 0.5
    if all(exact_operands):
        return replace(claim, bound=bound, error=0.0, whole=fits)
    error = claim.error + 2 * EPSILON[dtype] * bound
    if not error <= 0.02 * max(1.0, bound) or not math.isfinite(bound):
        return None
    return replace(claim, bound=bound, error=error, whole=False)


def computable(value: Value) -> bool:
    return value.claim.relative == 0


# Elementwise ---------------------------------------------------------------------------------------------------

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
        names = ["negate", "not", "popcnt", "count_leading_zeros"] + (["abs", "sign"] if dtype not in UNSIGNED else [])
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
    """A function of bounded slope on bounded numbers."""
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
    """Any function of any exact number; its result goes into no other computation."""
    name = b.random.choice(TERMINAL_UNARY)
    if name in ("tan", "sine", "cosine") and not value.claim.bound <= 100:
        return
    absolute = 16 * EPSILON[value.dtype] if name in ("tan", "sine", "cosine") else 0.0
    b.emit(name, [value], value.dtype, value.shape, Claim(error=absolute, relative=16 * EPSILON[value.dtype], nan=True))


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
        names = "add subtract multiply divide remainder maximum minimum and or xor shift_left shift_right_logical shift_right_arithmetic power"
        b.emit(b.random.choice(names.split()), [left, right], dtype, shape)
    else:
        _write_float_binary(b, left, right)


def _write_float_binary(b: Builder, left: Value, right: Value) -> None:
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


def write_compare(b: Builder) -> None:
    left = b.pick(lambda v: v.exact)
    if left is None:
        return
    right = b.like(left.dtype, left.shape)
    sort = "FLOAT" if left.is_float else "UNSIGNED" if left.dtype in (*UNSIGNED, "i1") else "SIGNED"
    properties = {
        "comparison_direction": f"#stablehlo<comparison_direction {b.random.choice(('EQ', 'NE', 'LT', 'LE', 'GT', 'GE'))}>"
    }
    if b.chance(0.5):
        properties["compare_type"] = f"#stablehlo<comparison_type {sort}>"
    b.emit("compare", [left, right], "i1", left.shape, **properties)


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
    """Also brings floats back into bounds that more can be done with."""
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
    value = b.pick(lambda v: True)
    if value is None:
        return
    choices = [d for d in DTYPES if d != value.dtype and (value.exact or d in FLOATS)]
    b.convert(value, b.random.choice(choices))


def write_bitcast(b: Builder) -> None:
    """Between integers and floats of one width; no NaN becomes an integer, as its bits are nobody's promise."""
    value = b.pick(lambda v: v.exact and not v.claim.nan and v.dtype != "i1")
    if value is None:
        return
    width = DTYPES[value.dtype].itemsize
    dtype = b.random.choice([d for d in (*FLOATS, *INTEGERS) if DTYPES[d].itemsize == width])
    b.emit("bitcast_convert", [value], dtype, value.shape, Claim(nan=True) if dtype in FLOATS else EXACT)


def write_reduce_precision(b: Builder) -> None:
    value = b.pick(lambda v: v.is_float and v.exact)
    if value is not None:
        exponent, mantissa = b.random.choice(((5, 10), (8, 7), (8, 23), (4, 3), (11, 52)))
        properties = {"exponent_bits": f"{exponent} : i32", "mantissa_bits": f"{mantissa} : i32"}
        claim = Claim(math.inf, nan=value.claim.nan)
        b.emit("reduce_precision", [value], value.dtype, value.shape, claim, **properties)


# Reductions and products ---------------------------------------------------------------------------------------


def write_reduce(b: Builder) -> None:
    value = b.pick(lambda v: computable(v) and len(v.shape) >= 1)
    if value is None:
        return
    dims = [dim for dim in range(len(value.shape)) if b.chance(0.5)]
    b.random.shuffle(dims)
    shape = tuple(size for dim, size in enumerate(value.shape) if dim not in dims)
    count = math.prod(value.shape[dim] for dim in dims)
    if b.chance(0.2) and not (value.is_float and (value.claim.nan or not value.exact)):
        _write_argmax(b, value, dims, shape)
        return
    dtype = value.dtype
    init = b.like(dtype, (), lambda claim: claim.relative == 0)
    names = (
        "and or xor"
        if dtype == "i1"
        else "add add multiply maximum minimum and or xor"
        if not value.is_float
        else "add add add maximum minimum multiply"
    )
    name = b.random.choice(names.split())
    claim = _reduced_claim(name, value, init, count) if value.is_float else EXACT
    if claim is None:
        return
    left, right = Value(b.name(), dtype, ()), Value(b.name(), dtype, ())
    operands = [left, right] if b.chance(0.8) else [right, left]
    region, _ = b.region([left, right], lambda: [b.emit(name, operands, dtype, ())])
    b.emit_with_regions("reduce", [value, init], [Value("", dtype, shape, claim)], [region], dimensions=ints_text(dims))


def _reduced_claim(name: str, value: Value, init: Value, count: int) -> Claim | None:
    x, y, dtype = value.claim, init.claim, value.dtype
    nan = x.nan or y.nan
    if name in ("maximum", "minimum"):
        return Claim(max(x.bound, y.bound), max(x.error, y.error), whole=x.whole and y.whole, nan=nan)
    if name == "multiply":
        bound = (
            max(1.0, y.bound) * max(1.0, x.bound) ** count
            if count < 12 and math.isfinite(x.bound + y.bound)
            else math.inf
        )
        wholes = x.whole and y.whole and bound * EPSILON[dtype] <= 0.5 and x.exact and y.exact
        relative = count * (x.error + y.error + 2 * EPSILON[dtype])
        claim = Claim(bound, 0.0 if wholes else bound * relative, whole=wholes, nan=nan)
    else:
        bound = x.bound * count + y.bound if count else y.bound
        wholes = x.whole and y.whole and bound * EPSILON[dtype] <= 0.5 and x.exact and y.exact
        steps = min(count, 2 * math.log2(count + 2) + 130 if dtype in ("f32", "f64") else count)
        claim = Claim(
            bound, 0.0 if wholes else x.error * count + y.error + steps * EPSILON[dtype] * bound, whole=wholes, nan=nan
        )
    if count == 0:
        return y
    return claim if wholes else rounded(claim, dtype, False)


def _write_argmax(b: Builder, value: Value, dims: list[int], shape: Shape) -> None:
    """The largest element and where it is; of equal ones the first."""
    dtype, rank = value.dtype, len(value.shape)
    index_dtype = b.random.choice(("i32", "i64"))
    dim = b.random.choice(dims) if dims else b.random.randrange(rank)
    places = b.emit("iota", [], index_dtype, value.shape, iota_dimension=f"{dim} : i64")
    inits = [b.like(dtype, (), lambda claim: claim.exact and not claim.nan), b.like(index_dtype, ())]
    arguments = [Value(b.name(), d, ()) for d in (dtype, index_dtype, dtype, index_dtype)]
    direction = b.random.choice(("GT", "LT"))

    def body() -> list[Value]:
        x, i, y, j = arguments

        def compare(left: Value, right: Value, way: str) -> Value:
            return b.emit(
                "compare", [left, right], "i1", (), comparison_direction=f"#stablehlo<comparison_direction {way}>"
            )

        better, equal, earlier = compare(x, y, direction), compare(x, y, "EQ"), compare(i, j, "LT")
        tie = b.emit("and", [equal, earlier], "i1", ())
        first = b.emit("or", [better, tie], "i1", ())
        return [b.emit("select", [better, x, y], dtype, ()), b.emit("select", [first, i, j], index_dtype, ())]

    region, _ = b.region(arguments, body)
    claim = value.claim.or_else(inits[0].claim)
    results = [Value("", dtype, shape, claim), Value("", index_dtype, shape)]
    b.emit_with_regions("reduce", [value, places, *inits], results, [region], dimensions=ints_text(dims))


def write_dot_general(b: Builder) -> None:
    left = b.pick(lambda v: computable(v) and math.isfinite(v.claim.bound) == v.is_float and v.size <= 40_000)
    if left is None:
        return
    rank = len(left.shape)
    dims = b.random.sample(range(rank), rank)
    batch_count = b.random.choice((0, 0, 0, 1, 2))
    batch, rest = dims[:batch_count], dims[batch_count:]
    contract = rest[: b.random.choice((0, 1, 1, 1, 2))]
    free = [dim for dim in range(rank) if dim not in batch and dim not in contract]
    free_right = list(b.shape(b.random.choice((0, 1, 1, 2))))
    sizes = [left.shape[d] for d in (*batch, *contract)] + free_right
    order = b.random.sample(range(len(sizes)), len(sizes))
    right_shape = tuple(sizes[place] for place in order)
    shape = tuple(left.shape[d] for d in (*batch, *free)) + tuple(
        sizes[p] for p in order if p >= len(batch) + len(contract)
    )
    count = math.prod(left.shape[d] for d in contract)
    if max(math.prod(shape), math.prod(right_shape)) > b.profile.volume or math.prod(shape) * count > 3_000_000:
        return
    right = b.like(
        left.dtype, right_shape, lambda claim: claim.relative == 0 and math.isfinite(claim.bound) == left.is_float
    )
    where = {place: at for at, place in enumerate(order)}
    right_batch = [where[i] for i in range(len(batch))]
    right_contract = [where[len(batch) + i] for i in range(len(contract))]
    claim = _product_claim(left, right, count)
    if claim is None:
        return
    numbers = f"#stablehlo.dot<lhs_batching_dimensions = {batch}, rhs_batching_dimensions = {right_batch}, lhs_contracting_dimensions = {contract}, rhs_contracting_dimensions = {right_contract}>"
    b.emit("dot_general", [left, right], left.dtype, shape, claim, dot_dimension_numbers=numbers)


def _product_claim(left: Value, right: Value, count: int) -> Claim | None:
    if not left.is_float:
        return EXACT
    x, y, dtype = left.claim, right.claim, left.dtype
    bound = count * x.bound * y.bound
    whole = x.whole and y.whole and bound * EPSILON[dtype] <= 0.5 and x.exact and y.exact
    error = count * (x.error * y.bound + y.error * x.bound) + min(count, 150) * EPSILON[dtype] * bound
    claim = Claim(bound, 0.0 if whole else error, whole=whole, nan=x.nan or y.nan)
    return claim if whole else rounded(claim, dtype, False)


def write_softmax(b: Builder) -> None:
    """A normalization over the last dimensions, the pattern of row fusions."""
    value = b.pick(
        lambda v: (
            v.dtype in ("f32", "f64")
            and len(v.shape) >= 2
            and v.claim.bound <= 4
            and v.claim.error < 1e-4
            and not v.claim.nan
            and v.size > 0
        )
    )
    if value is None:
        return
    dtype, shape = value.dtype, value.shape
    dims = list(range(b.random.randrange(1, len(shape)), len(shape)))
    outer = [dim for dim in range(len(shape)) if dim not in dims]
    kept = tuple(shape[dim] for dim in outer)

    def fold(name: str, operand: Value, init: Value, claim: Claim) -> Value:
        left, right = Value(b.name(), dtype, ()), Value(b.name(), dtype, ())
        region, _ = b.region([left, right], lambda: [b.emit(name, [left, right], dtype, ())])
        (made,) = b.emit_with_regions(
            "reduce", [operand, init], [Value("", dtype, kept, claim)], [region], dimensions=ints_text(dims)
        )
        return b.emit("broadcast_in_dim", [made], dtype, shape, made.claim, broadcast_dimensions=ints_text(outer))

    start = b.scalar(np.float64("-inf"), dtype)
    top = fold("maximum", value, start, Claim(value.claim.bound, value.claim.error))
    near = 2 * value.claim.error + 20 * EPSILON[dtype]
    moved = b.emit("subtract", [value, top], dtype, shape, Claim(2 * value.claim.bound, near * 8))
    power = b.emit("exponential", [moved], dtype, shape, Claim(1.0, near * 10))
    count = math.prod(shape[dim] for dim in dims)
    total = fold("add", power, b.scalar(0, dtype), Claim(float(count), near * 12 * count))
    b.emit("divide", [power, total], dtype, shape, Claim(1.0, near * 30 * (1 + count)))


def write_normalization(b: Builder) -> None:
    """A reduction over the last dimensions, brought back to the shape of its operand and combined with it."""
    value = b.pick(lambda v: v.exact and len(v.shape) >= 2 and v.size > 0 and (not v.is_float or v.claim.whole))
    if value is None:
        return
    dtype, shape = value.dtype, value.shape
    first = b.random.randrange(len(shape))
    dims, kept = list(range(first, len(shape))), shape[:first]
    name = b.random.choice(("and", "or") if dtype == "i1" else ("add", "maximum", "minimum"))
    init = b.like(dtype, ())
    claim = _reduced_claim(name, value, init, math.prod(shape[first:])) if value.is_float else EXACT
    if claim is None or not claim.exact:
        return
    left, right = Value(b.name(), dtype, ()), Value(b.name(), dtype, ())
    region, _ = b.region([left, right], lambda: [b.emit(name, [left, right], dtype, ())])
    (folded,) = b.emit_with_regions(
        "reduce", [value, init], [Value("", dtype, kept, claim)], [region], dimensions=ints_text(dims)
    )
    if b.chance(0.3):
        write_unary(b)
    back = b.emit("broadcast_in_dim", [folded], dtype, shape, claim, broadcast_dimensions=ints_text(range(first)))
    if dtype in FLOATS:
        _write_float_binary(b, value, back)
    else:
        b.emit(
            "xor" if dtype == "i1" else b.random.choice(("subtract", "maximum", "divide")), [value, back], dtype, shape
        )


WRITERS: tuple[tuple[Writer, int], ...] = (
    (write_unary, 5),
    (write_binary, 9),
    (write_compare, 2),
    (write_is_finite, 1),
    (write_select, 3),
    (write_clamp, 3),
    (write_convert, 3),
    (write_bitcast, 1),
    (write_reduce_precision, 1),
    (write_broadcast, 4),
    (write_reshape, 3),
    (write_transpose, 3),
    (write_reverse, 2),
    (write_slice, 3),
    (write_pad, 3),
    (write_concatenate, 3),
    (write_iota, 1),
    (write_dynamic_slice, 2),
    (write_dynamic_update_slice, 2),
    (write_reduce, 6),
    (write_dot_general, 3),
    (write_softmax, 1),
    (write_normalization, 2),
    (write_while, 2),
    (write_if, 1),
    (write_case, 1),
)


def write_operations(b: Builder, count: int) -> None:
    """Write about `count` operations at the current place."""
    writers = [writer for writer, _ in WRITERS]
    weights = [weight for _, weight in WRITERS]
    if b.profile.favoured:
        weights = [sum(weights) if w.__name__ == b.profile.favoured else weight for w, weight in WRITERS]
    control_flow = (write_while, write_if, write_case)
    before = len(b.lines)
    attempts = 0
    while len(b.lines) - before < count and attempts < 4 * count:
        attempts += 1
        writer = b.random.choices(writers, weights)[0]
        if writer in control_flow and b.depth >= b.profile.depth:
            continue
        writer(b)
