"""Writers of reductions and of operations built on them: products, softmax, normalization."""

from __future__ import annotations

import math

import numpy as np

from .arrays import EPSILON, EXACT, FLOATS, UNSIGNED, Claim, Shape
from .elementwise import compare, computable, rounded, write_float_binary, write_unary
from .programs import Builder, Value, ints_text


def write_reduce(b: Builder) -> None:
    value = b.pick(lambda v: computable(v) and len(v.shape) >= 1)
    if value is None:
        return
    # XLA ignores the initial value of a reduction over no dimension, which the specification leaves open.
    dims = b.random.sample(range(len(value.shape)), b.random.randint(1, len(value.shape)))
    shape = tuple(size for dim, size in enumerate(value.shape) if dim not in dims)
    count = math.prod(value.shape[dim] for dim in dims)
    if b.chance(0.2) and not (value.is_float and (value.claim.nan or not value.exact)):
        _write_argmax(b, value, dims, shape)
        return
    dtype = value.dtype
    names = (
        "and or xor"
        if dtype == "i1"
        else "add add multiply maximum minimum and or xor"
        if not value.is_float
        else "add add add maximum minimum multiply"
    )
    name = b.random.choice(names.split())
    if b.profile.portable and not alike_everywhere(name, value):
        return
    init = b.initial(dtype, name, lambda claim: claim.relative == 0)
    claim = reduced_claim(name, value, init, count) if value.is_float else EXACT
    if claim is None:
        return
    left, right = Value(b.name(), dtype, ()), Value(b.name(), dtype, ())
    operands = [left, right] if b.chance(0.8) else [right, left]
    region, _ = b.region([left, right], lambda: [b.emit(name, operands, dtype, ())])
    b.emit_with_regions("reduce", [value, init], [Value("", dtype, shape, claim)], [region], dimensions=ints_text(dims))


def alike_everywhere(name: str, value: Value) -> bool:
    """Whether implementations agree: a product may overflow in some orders, and XLA's vector code treats ui8 as i8."""
    if value.dtype in UNSIGNED:
        return name not in ("maximum", "minimum")
    return not value.is_float or name == "add" or (math.isfinite(value.claim.bound) and not value.claim.nan)


def reduced_claim(name: str, value: Value, init: Value, count: int) -> Claim | None:
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
    """Write an argmax: the largest element and its index; the first of equal ones."""
    dtype, rank = value.dtype, len(value.shape)
    index_dtype = b.random.choice(("i32", "i64"))
    dim = b.random.choice(dims) if dims else b.random.randrange(rank)
    places = b.emit("iota", [], index_dtype, value.shape, iota_dimension=f"{dim} : i64")
    arguments = [Value(b.name(), d, ()) for d in (dtype, index_dtype, dtype, index_dtype)]
    direction = b.random.choice(("GT", "LT"))
    start = b.initial(dtype, "maximum" if direction == "GT" else "minimum", lambda claim: claim.exact and not claim.nan)
    inits = [start, b.initial(index_dtype, "minimum", lambda claim: True)]

    def body() -> list[Value]:
        x, i, y, j = arguments

        better, equal, earlier = compare(b, x, y, direction), compare(b, x, y, "EQ"), compare(b, i, j, "LT")
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
    claim = product_claim(left, right, count)
    if claim is None:
        return
    numbers = (
        f"#stablehlo.dot<lhs_batching_dimensions = {batch}, rhs_batching_dimensions = {right_batch}, "
        f"lhs_contracting_dimensions = {contract}, rhs_contracting_dimensions = {right_contract}>"
    )
    b.emit("dot_general", [left, right], left.dtype, shape, claim, dot_dimension_numbers=numbers)


def product_claim(left: Value, right: Value, count: int) -> Claim | None:
    if not left.is_float:
        return EXACT
    x, y, dtype = left.claim, right.claim, left.dtype
    bound = count * x.bound * y.bound
    whole = x.whole and y.whole and bound * EPSILON[dtype] <= 0.5 and x.exact and y.exact
    error = count * (x.error * y.bound + y.error * x.bound) + min(count, 150) * EPSILON[dtype] * bound
    claim = Claim(bound, 0.0 if whole else error, whole=whole, nan=x.nan or y.nan)
    return claim if whole else rounded(claim, dtype, False)


def write_softmax(b: Builder) -> None:
    """Write a softmax over the last dimensions, the pattern of row fusions."""
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
    """Write a reduction over the last dimensions, broadcast to its operand's shape and combined with it."""
    value = b.pick(lambda v: computable(v) and v.exact and len(v.shape) >= 2 and v.size > 0)
    if value is None or (value.is_float and not value.claim.whole):
        return
    dtype, shape = value.dtype, value.shape
    first = b.random.randrange(len(shape))
    dims, kept = list(range(first, len(shape))), shape[:first]
    name = b.random.choice(("and", "or") if dtype == "i1" else ("add", "maximum", "minimum"))
    if b.profile.portable and value.claim.nan:
        return
    init = b.initial(dtype, name, lambda claim: claim.exact)
    claim = reduced_claim(name, value, init, math.prod(shape[first:])) if value.is_float else EXACT
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
        write_float_binary(b, value, back)
    else:
        b.emit(
            "xor" if dtype == "i1" else b.random.choice(("subtract", "maximum", "divide")), [value, back], dtype, shape
        )
