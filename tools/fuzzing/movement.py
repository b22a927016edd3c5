"""Writers of random operations that move elements."""

from __future__ import annotations

import math

from .arrays import EPSILON, EXACT, FLOATS, INTEGERS, Claim, Shape
from .programs import Builder, Value, ints_text


def write_broadcast(b: Builder) -> None:
    value = b.pick(lambda v: len(v.shape) <= 4)
    if value is None:
        return
    rank = b.random.randint(len(value.shape), 5)
    dims = b.random.sample(range(rank), len(value.shape))
    shape = list(b.shape(rank))
    for dim, size in zip(dims, value.shape, strict=True):
        if size != 1 or b.chance(0.5):
            shape[dim] = size
    if math.prod(shape) <= b.profile.volume:
        properties = {"broadcast_dimensions": ints_text(dims)}
        b.emit("broadcast_in_dim", [value], value.dtype, tuple(shape), value.claim, **properties)


def write_reshape(b: Builder) -> None:
    value = b.pick(lambda v: True)
    if value is not None:
        b.emit("reshape", [value], value.dtype, _same_volume(b, value.shape), value.claim)


def _same_volume(b: Builder, shape: Shape) -> Shape:
    """Another shape with the same number of elements: dimensions merged, split, or of size 1 added."""
    sizes = list(shape)
    for _ in range(b.random.randint(1, 3)):
        way = b.random.randrange(4)
        place = b.random.randrange(len(sizes) + 1)
        if way == 0 and len(sizes) < 6:
            sizes.insert(place, 1)
        elif way == 1 and 1 in sizes:
            sizes.remove(1)
        elif way == 2 and len(sizes) >= 2:
            place = min(place, len(sizes) - 2)
            sizes[place : place + 2] = [sizes[place] * sizes[place + 1]]
        elif way == 3 and 0 < len(sizes) < 6:
            place = min(place, len(sizes) - 1)
            divisors = [d for d in range(2, 50) if sizes[place] and sizes[place] % d == 0] or [1]
            divisor = b.random.choice(divisors)
            sizes[place : place + 1] = [divisor, sizes[place] // divisor]
    return tuple(sizes)


def write_transpose(b: Builder) -> None:
    value = b.pick(lambda v: len(v.shape) >= 1)
    if value is not None:
        order = b.random.sample(range(len(value.shape)), len(value.shape))
        shape = tuple(value.shape[dim] for dim in order)
        b.emit("transpose", [value], value.dtype, shape, value.claim, permutation=ints_text(order))


def write_reverse(b: Builder) -> None:
    value = b.pick(lambda v: len(v.shape) >= 1)
    if value is not None:
        dims = [dim for dim in range(len(value.shape)) if b.chance(0.6)]
        b.emit("reverse", [value], value.dtype, value.shape, value.claim, dimensions=ints_text(dims))


def write_slice(b: Builder) -> None:
    value = b.pick(lambda v: len(v.shape) >= 1)
    if value is None:
        return
    starts: list[int] = []
    limits: list[int] = []
    strides: list[int] = []
    shape: list[int] = []
    for size in value.shape:
        whole = b.chance(0.35)
        limit = size if whole else b.random.randint(min(1, size), size)
        start = 0 if whole else b.random.randint(0, max(0, limit - (not b.chance(b.profile.empty))))
        stride = b.random.choice((1, 1, 1, 2, 3))
        starts.append(start)
        limits.append(limit)
        strides.append(stride)
        shape.append(-(-(limit - start) // stride))
    properties = {"start_indices": ints_text(starts), "limit_indices": ints_text(limits), "strides": ints_text(strides)}
    b.emit("slice", [value], value.dtype, tuple(shape), value.claim, **properties)


def write_pad(b: Builder) -> None:
    value = b.pick(lambda v: len(v.shape) >= 1)
    if value is None:
        return
    filler = b.like(value.dtype, (), lambda claim: claim.relative == 0)
    lows: list[int] = []
    highs: list[int] = []
    interiors: list[int] = []
    shape: list[int] = []
    for size in value.shape:
        plain = b.chance(0.4)
        low, high, interior = (
            (0, 0, 0) if plain else (b.random.randint(-2, 3), b.random.randint(-2, 3), b.random.choice((0, 0, 1, 2)))
        )
        total = low + high + size + max(size - 1, 0) * interior
        if total < 0 or (total == 0 and not b.chance(0.1)):
            low, high, interior, total = 0, 0, 0, size
        lows.append(low)
        highs.append(high)
        interiors.append(interior)
        shape.append(total)
    if math.prod(shape) > 2 * b.profile.volume:
        return
    properties = {
        "edge_padding_low": ints_text(lows),
        "edge_padding_high": ints_text(highs),
        "interior_padding": ints_text(interiors),
    }
    b.emit("pad", [value, filler], value.dtype, tuple(shape), value.claim.or_else(filler.claim), **properties)


def write_concatenate(b: Builder) -> None:
    value = b.pick(lambda v: len(v.shape) >= 1 and v.size <= b.profile.volume // 2)
    if value is None:
        return
    dim = b.random.randrange(len(value.shape))

    def fits(other: Value) -> bool:
        return other.dtype == value.dtype and all(
            size == wanted or i == dim for i, (size, wanted) in enumerate(zip(other.shape, value.shape, strict=True))
        )

    parts = [value]
    for _ in range(b.random.randint(0, 3)):
        other = b.pick(lambda v: len(v.shape) == len(value.shape) and fits(v))
        parts.append(
            other if other is not None and b.chance(0.7) else b.like(value.dtype, value.shape, lambda claim: True)
        )
    b.random.shuffle(parts)
    shape = list(value.shape)
    shape[dim] = sum(part.shape[dim] for part in parts)
    claim = parts[0].claim
    for part in parts[1:]:
        claim = claim.or_else(part.claim)
    if math.prod(shape) <= 2 * b.profile.volume:
        b.emit("concatenate", parts, value.dtype, tuple(shape), claim, dimension=f"{dim} : i64")


def write_iota(b: Builder) -> None:
    dtype, shape = b.random.choice([d for d in b.profile.dtypes if d != "i1"]), b.shape()
    if not shape:
        return
    dim = b.random.randrange(len(shape))
    exact = dtype not in FLOATS or shape[dim] * EPSILON[dtype] <= 1
    if exact and (dtype not in INTEGERS or shape[dim] <= 100 or dtype[-1] != "8"):
        claim = Claim(max(0.0, shape[dim] - 1.0), whole=True) if dtype in FLOATS else EXACT
        b.emit("iota", [], dtype, shape, claim, iota_dimension=f"{dim} : i64")


def _starts(b: Builder, rank: int) -> list[Value]:
    types = ("i32", "i32", "i64", "ui32", "i8", "ui8", "i16", "ui64")
    dtype = b.random.choice(types[:-1] if b.profile.portable else types)  # XLA treats large ui64 as negative.
    return [b.like(dtype, ()) for _ in range(rank)]


def write_dynamic_slice(b: Builder) -> None:
    value = b.pick(lambda v: True)
    if value is not None:
        sizes = tuple(size if b.chance(0.4) else b.random.randint(min(size, 1), size) for size in value.shape)
        starts = _starts(b, len(sizes))
        b.emit("dynamic_slice", [value, *starts], value.dtype, sizes, value.claim, slice_sizes=ints_text(sizes))


def write_dynamic_update_slice(b: Builder) -> None:
    value = b.pick(lambda v: True)
    if value is not None:
        sizes = tuple(size if b.chance(0.4) else b.random.randint(min(size, 1), size) for size in value.shape)
        update = b.like(value.dtype, sizes, lambda claim: True)
        starts = _starts(b, len(sizes))
        b.emit(
            "dynamic_update_slice",
            [value, update, *starts],
            value.dtype,
            value.shape,
            value.claim.or_else(update.claim),
        )
