"""Memory of the machine, views of it, and checked accesses to it by many threads at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.ir import Operation

from ...dialects.support.guard_zones import POISON
from ...hlo_dialect.types import Array
from .lanes import SEVERAL_THREADS, Frame
from .races import Access, Shadow

GLOBAL, WORKGROUP, PRIVATE = "global", "workgroup", "private"
"""Memory spaces: of the device, of a block, of a thread."""


class Memory:
    """Bytes of one allocation, or one for each block or thread that runs, one after the other."""

    def __init__(self, data: Array, *, constant: bool = False, instance: int = 0, space: str = GLOBAL):
        self.data = data
        self.constant = constant
        self.space = space
        self.instance = instance or data.size
        """Bytes per instance."""
        self._flat: dict[Any, Array] = {}

    def flat(self, dtype: np.dtype[Any]) -> Array:
        """All bytes as elements of a type."""
        found = self._flat.get(dtype)
        if found is None:
            whole = self.data.size // dtype.itemsize * dtype.itemsize
            found = self._flat[dtype] = self.data[:whole].view(dtype)
        return found

    @staticmethod
    def fresh(nbytes: int, count: int = 1, space: str = GLOBAL) -> Memory:
        """Memory of undefined contents, `count` times."""
        return Memory(np.full(nbytes * count, POISON, np.uint8), instance=nbytes, space=space)

    @staticmethod
    def of(array: Array, *, constant: bool = False) -> Memory:
        """The memory of a contiguous array."""
        return Memory(array.reshape(-1).view(np.uint8), constant=constant)


def undefined(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array with poisoned elements, so that comparing it unwritten fails."""
    count = math.prod(shape)
    return np.full(count * dtype.itemsize, POISON, np.uint8).view(dtype).reshape(shape)


@dataclass
class View:
    """A memref: elements of a type at `offset + sum(index * stride)` of a memory."""

    memory: Memory
    dtype: np.dtype[Any]
    offset: Any
    """In elements; an int, or an array for each thread."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    shadow: Shadow | None = None
    base: Any = 0
    """The start of the underlying buffer, from which the offset of a reinterpret_cast counts."""
    extent: int = -1
    """The elements of the underlying buffer; -1: those of one instance of the memory."""
    flat: Array = field(init=False, repr=False)
    fits: bool = field(init=False, repr=False)
    """Whether all of it is inside the buffer."""

    def __post_init__(self) -> None:
        self.flat = self.memory.flat(self.dtype)
        steps = [(size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True)]
        if self.extent < 0:
            self.extent = self.memory.instance // self.dtype.itemsize
        from_base = self.offset - self.base
        below, above = sum(step for step in steps if step < 0), sum(step for step in steps if step > 0)
        self.fits = bool(np.min(from_base) + below >= 0 and np.max(from_base) + above < self.extent)

    def moved(self, offset: Any, shape: Sequence[int], strides: Sequence[int]) -> View:
        return replace(self, offset=offset, shape=tuple(shape), strides=tuple(strides))

    def array(self) -> Array:
        """The elements as an array that shares the memory; of a view with one offset for all."""
        steps = tuple(stride * self.dtype.itemsize for stride in self.strides)
        start = self.flat[scalar(self.offset) :]
        return np.lib.stride_tricks.as_strided(start, self.shape, steps)


def scalar(value: Any) -> int:
    """The number, for a value that is the same for all threads."""
    return int(value) if isinstance(value, int) else int(value.reshape(-1)[0])


def locate(
    frame: Frame, op: Operation, view: View, indices: Sequence[Array], verb: str, run: int = 1
) -> tuple[Array, Array | None]:
    """
    The elements that threads access, and the threads that may: None for all.

    `run` elements follow each other along the last dimension. Raises SimtError for an index out of bounds; the accesses
    of masked threads are redirected to an element inside.
    """
    place: Any = view.offset
    inside: Array | None = None
    for dim, (index, extent, stride) in enumerate(zip(indices, view.shape, view.strides, strict=True)):
        limit = extent - run + 1 if dim == len(view.shape) - 1 else extent
        good = index.view(np.uint64) < max(limit, 0)  # Negative numbers are large ones.
        if not good.all():
            bad = frame.only_active(~good)
            if bad.any():
                _out_of_bounds(frame, op, index, dim, limit + run - 1, verb, bad, run)
            inside = good if inside is None else inside & good
        place = place + index * stride if stride != 1 else place + index
    if isinstance(place, int):
        place = np.full((1, 1), place, np.int64)
    if not view.fits:
        from_base = place - view.base
        good = (from_base >= 0) & (from_base <= view.extent - run)
        if not good.all():
            bad = frame.only_active(~good if inside is None else inside & ~good)
            if bad.any():
                frame.fail(op, f"{verb} outside of the buffer that its memref is a view of", bad)
            inside = good if inside is None else inside & good
    if inside is None:
        return cast(Array, place), frame.mask
    return np.where(inside, cast(Array, place), 0), frame.only_active(inside)


def _out_of_bounds(
    frame: Frame, op: Operation, index: Array, dim: int, extent: int, verb: str, bad: Array, run: int
) -> NoReturn:
    row, column = (int(n) for n in np.argwhere(np.broadcast_to(bad, frame.lanes.shape))[0])
    at = int(np.broadcast_to(index, frame.lanes.shape)[row, column])
    which = f"element {at}" if run == 1 else f"elements {at} to {at + run - 1}"
    what = f"{verb} out of bounds: {which} of dimension {dim}, which has {extent}"
    frame.fail_at(op, what, frame.lanes.place(row, column))


def load(frame: Frame, op: Operation, view: View, indices: Sequence[Array]) -> Array:
    """An element for each thread."""
    place, mask = locate(frame, op, view, indices, "reads")
    note_traffic(frame, op, view, place, mask)
    note_read(frame, op, view, place, mask)
    if view.flat.size == 0:  # Only for masked threads.
        return np.zeros((1, 1), view.dtype)
    return view.flat.take(place)


def store(frame: Frame, op: Operation, view: View, indices: Sequence[Array], value: Array) -> None:
    """Write an element for each thread that takes part."""
    place, mask = locate(frame, op, view, indices, "writes")
    note_traffic(frame, op, view, place, mask)
    put(frame, op, view, place, mask, value)


def load_run(frame: Frame, op: Operation, view: View, indices: Sequence[Array], count: int, aligned: int) -> Array:
    """`count` elements in a row for each thread, from a multiple of `aligned` bytes on."""
    place, mask = locate(frame, op, view, indices, "reads", count)
    check_aligned(frame, op, view, place, aligned)
    note_traffic(frame, op, view, place, mask, count)
    places = _in_a_row(place, count)
    note_read(frame, op, view, places, mask)
    if view.flat.size == 0:
        return np.zeros((count, 1, 1), view.dtype)
    return view.flat.take(places)


def store_run(frame: Frame, op: Operation, view: View, indices: Sequence[Array], value: Array, aligned: int) -> None:
    """Write elements in a row for each thread that takes part, from a multiple of `aligned` bytes on."""
    count: int = value.shape[0]
    place, mask = locate(frame, op, view, indices, "writes", count)
    check_aligned(frame, op, view, place, aligned)
    note_traffic(frame, op, view, place, mask, count)
    places = _in_a_row(place, count)
    put(frame, op, view, places, mask, value)


def _in_a_row(place: Array, count: int) -> Array:
    """The elements from each position on, along a new first axis."""
    return place + np.arange(count)[:, None, None]


def _spread(frame: Frame, places: Array, mask: Array | None, *values: Array) -> tuple[Array, ...]:
    """Arrays over elements and threads, flat; those of the threads that take part."""
    shape = (*places.shape[:-2], *frame.lanes.shape)
    # `broadcast_to` takes microseconds, even where there is nothing to do.
    whole = [array if array.shape == shape else np.broadcast_to(array, shape) for array in (places, *values)]
    if mask is None:
        return tuple(array.reshape(-1) for array in whole)
    chosen = np.broadcast_to(mask, shape)
    return tuple(array[chosen] for array in whole)


def access_of(frame: Frame, op: Operation, shadow: Shadow, itemsize: int, places: Array, mask: Array | None) -> Access:
    """The cells of a shadow that threads access."""
    lanes = frame.lanes
    blocks = () if shadow.shared else (lanes.block_numbers,)
    found = _spread(frame, places, mask, lanes.keys, *blocks)
    ratio = itemsize // shadow.unit
    if ratio > 1:
        found = tuple(np.repeat(array, ratio) for array in found)
    cells = found[0] if ratio == 1 else found[0] * ratio + np.arange(found[0].size) % ratio
    if shadow.start:
        cells = cells - shadow.start // shadow.unit
    return Access(frame, op, cells, found[1], None if shadow.shared else found[2])


def check_aligned(frame: Frame, op: Operation, view: View, place: Array, nbytes: int) -> None:
    """Accesses begin at multiples of `nbytes`, and so does all memory. Raises SimtError."""
    bad = place * view.dtype.itemsize % max(1, view.memory.instance) % nbytes != 0
    if bad.any():
        bad = frame.only_active(bad)
        if bad.any():
            frame.fail(op, f"accesses memory at an address that is no multiple of {nbytes}", bad)


def note_traffic(frame: Frame, op: Operation, view: View, place: Array, mask: Array | None, count: int = 1) -> None:
    """Count the traffic of threads that access `count` elements each, if it is being counted."""
    traffic, memory, itemsize = frame.lanes.traffic, view.memory, view.dtype.itemsize
    if traffic is not None and memory.space != PRIVATE:
        start = place * itemsize
        shared = memory.space == WORKGROUP
        traffic.note(
            frame.lanes.shape,
            op,
            memory.data,
            shared,
            start % max(1, memory.instance) if shared else start,
            count * itemsize,
            mask,
        )


def note_read(frame: Frame, op: Operation, view: View, places: Array, mask: Array | None) -> None:
    shadow = view.shadow
    if shadow is not None and shadow.reads:
        shadow.read(access_of(frame, op, shadow, view.dtype.itemsize, places, mask))


def put(frame: Frame, op: Operation, view: View, places: Array, mask: Array | None, value: Array) -> None:
    """Write values to elements. Raises SimtError for a race, and for constants."""
    if view.memory.constant:
        frame.fail(op, "writes to memory that is only read: an argument or a constant", frame.active())
    flat, shadow = view.flat, view.shadow
    at, values = _spread(frame, places, mask, value)
    if shadow is None:
        flat[at] = values
        return
    bits = np.dtype(f"u{view.dtype.itemsize}")
    mine = np.ascontiguousarray(values).view(bits)
    held = view.memory.flat(bits)
    ratio = view.dtype.itemsize // shadow.unit
    access = access_of(frame, op, shadow, view.dtype.itemsize, places, mask)
    overwritten = shadow.write(access, np.repeat(held[at] == mine, ratio))
    flat[at] = values
    if overwritten.any():
        lost = overwritten.reshape(-1, ratio).any(axis=1) & (held[at] != mine)
        if lost.any():
            thread = int(access.keys[np.flatnonzero(lost)[0] * ratio]) & SEVERAL_THREADS
            what = "writes what another thread writes at the same time, another value"
            frame.fail_at(op, what, frame.lanes.named(thread))


def settle(frame: Frame, op: Operation, view: View, places: Array, mask: Array, values: Array) -> None:
    """Mark an asynchronous copy as completed for the threads in `mask`."""
    shadow = view.shadow
    assert shadow is not None
    shadow.end_copy(access_of(frame, op, shadow, view.dtype.itemsize, places, mask))
    put(frame, op, view, places, mask, values)
