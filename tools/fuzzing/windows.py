"""Writers of operations on windows: convolution, reduce_window, select_and_scatter."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from .arrays import EXACT, FLOATS, Claim, Shape
from .elementwise import compare, computable
from .programs import Builder, Value, ints_text
from .reductions import alike_everywhere, product_claim, reduced_claim


@dataclass(frozen=True)
class Windows:
    """The geometry of windows over the dimensions of an array."""

    sizes: Shape
    strides: Shape
    padding: tuple[tuple[int, int], ...]
    base_dilations: Shape
    window_dilations: Shape

    def count(self, shape: Shape) -> Shape:
        """The number of windows along each dimension."""
        counts: list[int] = []
        parts = zip(
            shape, self.sizes, self.strides, self.padding, self.base_dilations, self.window_dilations, strict=True
        )
        for dim, size, stride, (low, high), base, dilation in parts:
            padded = low + high + (0 if dim == 0 else (dim - 1) * base + 1)
            window = (size - 1) * dilation + 1
            counts.append(0 if padded <= 0 or window > padded else (padded - window) // stride + 1)
        return tuple(counts)

    @property
    def padding_text(self) -> str:
        rank = len(self.sizes)
        return f"dense<{[list(pair) for pair in self.padding]}> : tensor<{rank}x2xi64>" if rank else ""


def random_windows(b: Builder, shape: Shape, dilate: bool = True) -> Windows:
    choose = b.random.choice
    sizes = tuple(b.random.randint(1, max(1, min(size, 4))) if b.chance(0.8) else 1 for size in shape)
    pairs = [(b.random.randint(-1, 3), b.random.randint(-1, 3)) if b.chance(0.4) else (0, 0) for _ in shape]
    if not dilate:
        pairs = [(max(0, low), max(0, high)) for low, high in pairs]
    ones = (1,) * len(shape)
    return Windows(
        sizes,
        tuple(choose((1, 1, 2, 3)) for _ in shape),
        tuple(pairs),
        tuple(choose((1, 1, 1, 2)) for _ in shape) if dilate else ones,
        tuple(choose((1, 1, 1, 2)) for _ in shape) if dilate else ones,
    )


def _binary_region(b: Builder, name: str, dtype: str) -> str:
    left, right = Value(b.name(), dtype, ()), Value(b.name(), dtype, ())
    return b.region([left, right], lambda: [b.emit(name, [left, right], dtype, ())])[0]


def write_reduce_window(b: Builder) -> None:
    value = b.pick(lambda v: computable(v) and len(v.shape) >= 1)
    if value is None:
        return
    dtype = value.dtype
    windows = random_windows(b, value.shape)
    shape = windows.count(value.shape)
    if math.prod(shape) > b.profile.volume:
        return
    name = b.random.choice(("and", "or") if dtype == "i1" else ("add", "maximum", "minimum"))
    if b.profile.portable and not alike_everywhere(name, value):
        return
    init = b.initial(dtype, name, lambda claim: claim.exact)
    # Padding is the initial value, and a window may consist of it only.
    elements = replace(value, claim=value.claim.or_else(init.claim))
    claim = reduced_claim(name, elements, init, math.prod(windows.sizes)) if value.is_float else EXACT
    if claim is None:
        return
    b.emit_with_regions(
        "reduce_window",
        [value, init],
        [Value("", dtype, shape, claim)],
        [_binary_region(b, name, dtype)],
        window_dimensions=ints_text(windows.sizes),
        window_strides=ints_text(windows.strides),
        base_dilations=ints_text(windows.base_dilations),
        window_dilations=ints_text(windows.window_dilations),
        padding=windows.padding_text,
    )


def write_select_and_scatter(b: Builder) -> None:
    """Write select_and_scatter of integral numbers, so that the order of sums does not matter."""
    value = b.pick(lambda v: computable(v) and v.exact and not v.claim.nan and len(v.shape) >= 1 and v.size > 0)
    if value is None or value.dtype == "i1":
        return
    dtype = value.dtype
    windows = random_windows(b, value.shape, dilate=False)
    if b.profile.portable:  # The order of dimensions determines which of equal elements is selected.
        along = b.random.randrange(len(value.shape))
        windows = replace(windows, sizes=tuple(n if d == along else 1 for d, n in enumerate(windows.sizes)))
    shape = windows.count(value.shape)
    if 0 in shape:
        return
    source = b.like(
        dtype, shape, lambda claim: claim.exact and (dtype not in FLOATS or (claim.whole and claim.bound < 8))
    )
    init = b.scalar(0, dtype)
    left, right = Value(b.name(), dtype, ()), Value(b.name(), dtype, ())
    direction = b.random.choice(("GE", "LE"))
    select, _ = b.region([left, right], lambda: [compare(b, left, right, direction)])
    bound = source.claim.bound * math.prod(shape)
    if value.is_float and bound > 100:
        return
    claim = Claim(bound, whole=True) if value.is_float else EXACT
    b.emit_with_regions(
        "select_and_scatter",
        [value, source, init],
        [Value("", dtype, value.shape, claim)],
        [select, _binary_region(b, "add", dtype)],
        window_dimensions=ints_text(windows.sizes),
        window_strides=ints_text(windows.strides),
        padding=windows.padding_text,
    )


def write_convolution(b: Builder) -> None:
    """Write a convolution of an operand in scope, its dimensions in any order, with a kernel that fits."""
    value = b.pick(
        lambda v: (
            2 <= len(v.shape) <= 5
            and computable(v)
            and v.dtype != "i1"
            and 0 < v.size <= 20_000
            and math.isfinite(v.claim.bound) == v.is_float
        )
    )
    # XLA saturates integer sums when it folds constants.
    if value is None or (b.profile.portable and not value.is_float):
        return
    rank, dtype = len(value.shape), value.dtype
    spatial = rank - 2
    order = b.random.sample(range(rank), rank)
    batch, features, places = order[0], order[1], order[2:]
    windows = random_windows(b, tuple(value.shape[dim] for dim in places))
    groups = b.random.choice([g for g in (1, 1, 1, 2, 3, 4, 8, 16) if value.shape[features] % g == 0])
    batches = b.random.choice([g for g in (1, 1, 2, 4) if value.shape[batch] % g == 0]) if groups == 1 else 1
    outputs = groups * batches * b.random.randint(1, 4)
    kernel_sizes = [value.shape[features] // groups, outputs, *windows.sizes]
    kernel_order = b.random.sample(range(rank), rank)
    kernel_shape = tuple(kernel_sizes[kernel_order.index(dim)] for dim in range(rank))
    counts = windows.count(tuple(value.shape[dim] for dim in places))
    result_sizes = [value.shape[batch] // batches, outputs, *counts]
    result_order = b.random.sample(range(rank), rank)
    shape = tuple(result_sizes[result_order.index(dim)] for dim in range(rank))
    if math.prod(shape) > b.profile.volume:
        return
    kernel = b.like(
        dtype, kernel_shape, lambda claim: claim.relative == 0 and math.isfinite(claim.bound) == value.is_float
    )
    claim = product_claim(value, kernel, math.prod(windows.sizes) * kernel_sizes[0])
    if claim is None:
        return
    dims = [str(i) for i in range(spatial)]

    def spelled(names: list[str], order: list[int]) -> str:
        return "[" + ", ".join(names[order.index(dim)] for dim in range(rank)) + "]"

    numbers = (
        f"#stablehlo.conv<{spelled(['b', 'f', *dims], order)}x{spelled(['i', 'o', *dims], kernel_order)}->"
        f"{spelled(['b', 'f', *dims], result_order)}>"
    )
    properties = {
        "window_strides": ints_text(windows.strides),
        "lhs_dilation": ints_text(windows.base_dilations),
        "rhs_dilation": ints_text(windows.window_dilations),
        "dimension_numbers": numbers,
        "feature_group_count": f"{groups} : i64",
        "batch_group_count": f"{batches} : i64",
    }
    if spatial:
        properties["padding"] = windows.padding_text
    b.emit("convolution", [value, kernel], dtype, shape, claim, **properties)
