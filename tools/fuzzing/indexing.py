"""Writers of operations that compute indices: gather, scatter, sort; and of map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import EXACT, FLOATS, UNSIGNED, Claim, Shape
from .elementwise import compare, computable, rounded, write_binary, write_unary
from .programs import Builder, Value, ints_text


@dataclass(frozen=True)
class Places:
    """The geometry of a gather's slices, or a scatter's updates, in an operand."""

    indices: Value
    slices: Shape
    collapsed: tuple[int, ...]
    batching: tuple[int, ...]
    indices_batching: tuple[int, ...]
    index_map: tuple[int, ...]
    index_vector_dim: int
    window_dims: tuple[int, ...]
    """The dimensions of the result, or of the updates, that index into a slice."""
    shape: Shape
    """The shape of the result, or of the updates."""

    @property
    def gather_numbers(self) -> str:
        return (
            f"#stablehlo.gather<offset_dims = {list(self.window_dims)}, collapsed_slice_dims = {list(self.collapsed)}, "
            f"operand_batching_dims = {list(self.batching)}, "
            f"start_indices_batching_dims = {list(self.indices_batching)}, "
            f"start_index_map = {list(self.index_map)}, index_vector_dim = {self.index_vector_dim}>"
        )

    @property
    def scatter_numbers(self) -> str:
        return (
            f"#stablehlo.scatter<update_window_dims = {list(self.window_dims)}, "
            f"inserted_window_dims = {list(self.collapsed)}, input_batching_dims = {list(self.batching)}, "
            f"scatter_indices_batching_dims = {list(self.indices_batching)}, "
            f"scatter_dims_to_operand_dims = {list(self.index_map)}, index_vector_dim = {self.index_vector_dim}>"
        )


def random_places(b: Builder, shape: Shape, small: bool = False) -> Places | None:
    """
    Random slices of an operand of this shape; indices are in bounds or slightly outside. `small` slices have one
    element along indexed dimensions, so that they are entirely inside or outside.
    """
    rank = len(shape)
    batching = tuple(sorted(b.random.sample(range(rank), b.random.choice((0, 0, 0, 1)) if rank > 1 else 0)))
    others = [dim for dim in range(rank) if dim not in batching]
    mapped = tuple(b.random.sample(others, b.random.randint(0 if b.chance(0.1) else min(1, len(others)), len(others))))
    collapsed = tuple(dim for dim in others if shape[dim] >= 1 and b.chance(0.5))
    slices = tuple(
        min(1, size)
        if dim in batching or dim in collapsed or (small and dim in mapped)
        else b.random.randint(min(1, size), size)
        for dim, size in enumerate(shape)
    )
    free = list(b.shape(b.random.choice((0, 1, 1, 2))))
    order = b.random.sample(range(len(free) + len(batching)), len(free) + len(batching))
    outer = [([shape[dim] for dim in batching] + free)[place] for place in order]
    vector = b.random.randint(0, len(outer))
    implicit = len(mapped) == 1 and b.chance(0.4)
    indices_shape = tuple(outer if implicit else [*outer[:vector], len(mapped), *outer[vector:]])
    where = [order.index(place) for place in range(len(batching))]
    indices_batching = tuple(at + (not implicit and at >= vector) for at in where)
    windows = [size for dim, size in enumerate(slices) if dim not in collapsed and dim not in batching]
    total = len(outer) + len(windows)
    window_dims = tuple(sorted(b.random.sample(range(total), len(windows))))
    from_windows, from_outer = iter(windows), iter(outer)
    result = tuple(next(from_windows) if dim in window_dims else next(from_outer) for dim in range(total))
    if np.prod(result) > b.profile.volume or np.prod(indices_shape) > b.profile.volume:
        return None
    largest = max((shape[dim] for dim in mapped), default=1)
    dtype = b.random.choice(("i32", "i32", "i64", "ui32", "i8") if largest < 100 else ("i32", "i64"))
    low = 0 if dtype in UNSIGNED else -2
    numbers = np.random.default_rng(b.random.getrandbits(32)).integers(low, largest + 2, indices_shape)
    array = numbers.astype({"i32": "i4", "i64": "i8", "ui32": "u4", "i8": "i1"}[dtype])
    written = array.size <= 40 and b.chance(0.3)
    indices = b.constant(array, dtype, array.shape) if written else b.argument(array, dtype, EXACT)
    index_vector_dim = len(outer) if implicit else vector
    return Places(indices, slices, collapsed, batching, indices_batching, mapped, index_vector_dim, window_dims, result)


def write_gather(b: Builder) -> None:
    value = b.pick(lambda v: len(v.shape) >= 1)
    places = None if value is None else random_places(b, value.shape)
    if value is None or places is None:
        return
    properties = {"dimension_numbers": places.gather_numbers, "slice_sizes": ints_text(places.slices)}
    b.emit("gather", [value, places.indices], value.dtype, places.shape, value.claim, **properties)


def write_scatter(b: Builder) -> None:
    value = b.pick(lambda v: len(v.shape) >= 1 and computable(v))
    # XLA drops an update that is partly outside as a whole, the specification only its elements outside.
    places = None if value is None else random_places(b, value.shape, small=b.profile.portable)
    if value is None or places is None:
        return
    dtype = value.dtype
    update = b.like(dtype, places.shape, lambda claim: claim.relative == 0)
    names = ("add", "add", "maximum", "minimum", "") if dtype != "i1" else ("and", "or", "xor", "")
    name = b.random.choice(names)
    claim = _scattered_claim(name, value, update)
    if claim is None:
        return
    left, right = Value(b.name(), dtype, ()), Value(b.name(), dtype, ())
    region, _ = b.region([left, right], lambda: [b.emit(name, [left, right], dtype, ()) if name else right])
    b.emit_with_regions(
        "scatter",
        [value, places.indices, update],
        [Value("", dtype, value.shape, claim)],
        [region],
        scatter_dimension_numbers=places.scatter_numbers,
    )


def _scattered_claim(name: str, value: Value, update: Value) -> Claim | None:
    if not value.is_float:
        return EXACT
    x, y = value.claim, update.claim
    if name != "add":
        return x.or_else(y)
    count = max(1, update.size)
    bound = x.bound + count * y.bound
    nan = x.nan or y.nan or not np.isfinite(bound)
    return rounded(
        Claim(bound, x.error + count * y.error, whole=x.whole and y.whole, nan=nan),
        value.dtype,
        x.exact and x.whole,
        y.exact and y.whole,
    )


def write_sort(b: Builder) -> None:
    """
    Write a sort by the first operand, ascending or descending, that permutes the others too. Keys have no NaN, which is
    unordered.
    """
    key = b.pick(lambda v: len(v.shape) >= 1 and v.exact and not v.claim.nan and not v.is_complex)
    if key is None:
        return
    others = [
        b.like(b.random.choice(b.profile.dtypes), key.shape, lambda claim: True)
        for _ in range(b.random.choice((0, 0, 1, 2)))
    ]
    operands = [key, *others]
    arguments = [Value(b.name(), operand.dtype, ()) for operand in operands for _ in range(2)]
    direction = b.random.choice(("LT", "GT"))
    sort = "FLOAT" if key.is_float else "UNSIGNED" if key.dtype in (*UNSIGNED, "i1") else "SIGNED"
    region, _ = b.region(arguments, lambda: [compare(b, arguments[0], arguments[1], direction, sort)])
    results = [Value("", operand.dtype, operand.shape, operand.claim) for operand in operands]
    dimension = b.random.randrange(len(key.shape))
    b.emit_with_regions("sort", operands, results, [region], dimension=f"{dimension} : i64", is_stable="true")


def write_map(b: Builder) -> None:
    """Write a map of one to four operations per element."""
    value = b.pick(lambda v: v.exact and v.dtype not in FLOATS and not v.is_complex)
    if value is None:
        return
    argument = Value(b.name(), value.dtype, ())

    def body() -> list[Value]:
        scope, b.scope = b.scope, [argument]
        lines = len(b.lines)
        while len(b.lines) - lines < 3:
            b.random.choice((write_unary, write_binary))(b)
        made = [value_ for value_ in b.scope if value_.dtype == value.dtype and value_.shape == ()]
        b.scope = scope
        return [made[-1]]

    arguments = len(b.arguments)
    region, _ = b.region([argument], body)
    if len(b.arguments) > arguments:  # The region of a map is isolated from above.
        return
    dimensions = ints_text(range(len(value.shape)))
    b.emit_with_regions("map", [value], [Value("", value.dtype, value.shape)], [region], dimensions=dimensions)
