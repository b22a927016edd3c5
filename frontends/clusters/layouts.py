"""Views in a program: strided memory as slices, transposes and reshapes of the whole."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..numpy.arrays import METHODS, TracedArray, broadcast_to
from ..numpy.errors import TraceError
from .storage import Read


@dataclass
class Layout:
    """
    A view of a row-major array: the array reshaped to `sizes`, sliced by `slices`, reshaped to the sizes of the
    dimensions that are `kept`, transposed by `order`, and broadcast to `shape`.
    """

    sizes: list[int]
    slices: tuple[slice, ...]
    kept: list[int]
    order: list[int]
    filled: tuple[int, ...]
    """The shape after transposing, with dimensions of size 1 where the view broadcasts."""
    shape: tuple[int, ...]


def layout_of(base: Sequence[int], offset: int, shape: tuple[int, ...], strides: Sequence[int]) -> Layout | None:
    """The layout of a view, its offset and strides counted in elements. None if it is not such a one."""
    if 0 in shape:
        return None
    dims = [dim for dim, (size, stride) in enumerate(zip(shape, strides, strict=True)) if size > 1 and stride]
    pitches = _pitches(base)
    seen = {abs(strides[dim]) for dim in dims}
    total = math.prod(base)
    for candidate in (pitches, {1}, pitches | seen, _common(total, seen)):
        found = _fitted(total, sorted(candidate, reverse=True), offset, shape, strides, dims)
        if found is not None:
            return found
    return None


def _pitches(shape: Sequence[int]) -> set[int]:
    return {math.prod(shape[dim + 1 :]) for dim, size in enumerate(shape) if size > 1} | {1}


def _common(total: int, strides: set[int]) -> set[int]:
    """Pitches of which each divides the one before and one of the strides: those of a slice of a reshaped array."""
    found = {1}
    for stride in sorted(strides, reverse=True):
        total = math.gcd(total, stride)
        found.add(total)
    return found


def _fitted(
    total: int,
    pitches: list[int],
    offset: int,
    shape: tuple[int, ...],
    strides: Sequence[int],
    dims: Iterable[int],
) -> Layout | None:
    """The layout on the array reshaped so that its dimensions have these pitches, if there is one."""
    outer = [total, *pitches[:-1]]
    if any(large % pitch for large, pitch in zip(outer, pitches, strict=True)):
        return None
    sizes = [large // pitch for large, pitch in zip(outer, pitches, strict=True)]
    taken: dict[int, int] = {}
    for dim in dims:
        step = abs(strides[dim])
        place = next((i for i, pitch in enumerate(pitches) if pitch <= step and step % pitch == 0), None)
        if place is None or place in taken:
            return None
        taken[place] = dim
        if strides[dim] < 0:
            offset += strides[dim] * (shape[dim] - 1)
    slices: list[slice] = []
    for place, (pitch, size) in enumerate(zip(pitches, sizes, strict=True)):
        start, offset = divmod(offset, pitch)
        dim = taken.get(place)
        step = 1 if dim is None else abs(strides[dim]) // pitch
        last = start + (0 if dim is None else step * (shape[dim] - 1))
        if last >= size:
            return None
        if dim is not None and strides[dim] < 0:
            slices.append(slice(last, start - 1 if start else None, -step))
        else:
            slices.append(slice(start, last + 1, step))
    inner = list(taken)
    inner.sort()
    stored = [taken[place] for place in inner]
    wanted = sorted(stored)
    return Layout(
        sizes,
        tuple(slices),
        [shape[dim] for dim in stored],
        [stored.index(dim) for dim in wanted],
        tuple(size if dim in stored else 1 for dim, size in enumerate(shape)),
        shape,
    )


def _reshaped(array: TracedArray, shape: Sequence[int]) -> TracedArray:
    return array if array.shape == tuple(shape) else METHODS["reshape"](array, tuple(shape))


def _layout(base: TracedArray, operand: Read) -> tuple[Layout, int | None]:
    """The layout of a view, and for one of the parts of complex numbers, which: 0 real, 1 imaginary."""
    view = operand.place
    assert view is not None
    start = view.offset
    part: int | None = None
    size = base.itemsize
    if view.dtype != base.dtype:
        if base.dtype.kind != "c" or view.dtype.itemsize * 2 != size or view.dtype.kind != "f":
            raise TraceError(f"a view of {base.dtype} as {view.dtype} is not compiled")
        part, start = (start % size) // (size // 2), start // size * size
    if start % size or any(stride % size for stride in view.strides):
        raise TraceError("a view of parts of elements is not compiled")
    found = layout_of(base.shape, start // size, view.shape, [stride // size for stride in view.strides])
    if found is None:
        raise TraceError(f"a view of strides {view.strides} is not compiled")
    return found, part


def read(base: TracedArray, operand: Read) -> TracedArray:
    """The value of an operand, from that of its storage. Raises TraceError for views that have no such form."""
    if operand.place is None:
        return base
    layout, part = _layout(base, operand)
    whole = _read(base, layout)
    return whole if part is None else METHODS["real" if part == 0 else "imag"](whole)


def _read(base: TracedArray, layout: Layout) -> TracedArray:
    cut = METHODS["__getitem__"](_reshaped(base, layout.sizes), layout.slices)
    moved = _reshaped(cut, layout.kept)
    if layout.order != sorted(layout.order):
        moved = METHODS["transpose"](moved, layout.order)
    return broadcast_to(_reshaped(moved, layout.filled), layout.shape)


def write(base: TracedArray, operand: Read, new: TracedArray) -> TracedArray:
    """The value of a storage after an operand of it is given anew. Raises TraceError."""
    if operand.place is None:
        return new
    layout, part = _layout(base, operand)
    if part is not None:
        old = _read(base, layout)
        other = METHODS["imag" if part == 0 else "real"](old)
        b = base.builder
        new = new.like(b.complex(new.value, other.value) if part == 0 else b.complex(other.value, new.value))
    moved = _reshaped(new, [new.shape[dim] for dim, size in enumerate(layout.filled) if size > 1])
    if layout.order != sorted(layout.order):
        moved = METHODS["transpose"](moved, [layout.order.index(dim) for dim in range(len(layout.order))])
    parts = [len(range(*one.indices(size))) for one, size in zip(layout.slices, layout.sizes, strict=True)]
    whole = _reshaped(base, layout.sizes)
    return _reshaped(METHODS["__setitem__"](whole, layout.slices, _reshaped(moved, parts)), base.shape)
