"""Patches of images as columns, `unfold`, and the sums of columns at their places, `fold`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from ...builder.builder import Value
from ..dtypes import converted, dtype_of, working_dtype
from ..registry import lowers
from ..step import Step

MOST_PLACES = 25
"""Most places of a patch that are taken one by one; of others, rows are taken before columns."""


@dataclass(frozen=True)
class _Along:
    """The patches along one dimension of an image."""

    size: int
    kernel: int
    dilation: int
    padding: int
    stride: int

    @property
    def count(self) -> int:
        return (self.size + 2 * self.padding - self.dilation * (self.kernel - 1) - 1) // self.stride + 1

    @property
    def reach(self) -> int:
        """The elements from the first one of a place to its last, over all patches."""
        return (self.count - 1) * self.stride + 1

    @property
    def is_tiled(self) -> bool:
        return self.kernel == self.stride and self.dilation == 1

    @property
    def has_steps(self) -> bool:
        """Whether patches consist of parts as long as a step, the last one perhaps shorter."""
        return self.dilation == 1 and self.stride <= self.kernel

    def low(self, place: int) -> int:
        """Where a place of the first patch is in the image."""
        return place * self.dilation - self.padding


def _lines(image: Sequence[int], *numbers: Sequence[int]) -> list[_Along]:
    return [_Along(*each) for each in zip(image, *numbers, strict=True)]


def _cropped(step: Step, x: Value, dim: int, low: int, high: int) -> Value:
    """Zeros before and after a dimension, or fewer elements."""
    rank = len(x.shape)
    edges = [[amount if one == dim else 0 for one in range(rank)] for amount in (low, high)]
    return x.pad(step.full(0, dtype_of(x)), *edges) if low or high else x


def _taken(step: Step, x: Value, dim: int, line: _Along, into: int) -> Value:
    """The patches along a dimension, with their places as a new one."""
    if line.is_tiled:
        shape = [*x.shape[:dim], line.count, line.kernel, *x.shape[dim + 1 :]]
        whole = x.part(dim, 0, line.count * line.kernel).reshape(shape)
        order = [one for one in range(len(shape)) if one != dim + 1]
        return whole.transpose([*order[:into], dim + 1, *order[into:]])
    parts: list[Value] = []
    for place in range(line.kernel):
        starts, limits, steps = [0] * len(x.shape), list(x.shape), [1] * len(x.shape)
        starts[dim], steps[dim] = place * line.dilation, line.stride
        limits[dim] = starts[dim] + line.reach
        part = x.slice(starts, limits, steps)
        parts.append(part.reshape((*part.shape[:into], 1, *part.shape[into:])))
    return step.builder.concatenate(parts, dimension=into) if len(parts) > 1 else parts[0]


def _taken_at_once(step: Step, x: Value, lead: int, rows: _Along, columns: _Along) -> Value:
    """The patches along both dimensions, with one dimension of places."""
    batch, parts = x.shape[:lead], list[Value]()
    for row, column in product(range(rows.kernel), range(columns.kernel)):
        first = [row * rows.dilation, column * columns.dilation]
        last = [first[0] + rows.reach, first[1] + columns.reach]
        part = x.slice([0] * lead + first, [*batch, *last], [1] * lead + [rows.stride, columns.stride])
        parts.append(part.reshape((*batch, 1, rows.count, columns.count)))
    return step.builder.concatenate(parts, dimension=lead) if len(parts) > 1 else parts[0]


@lowers("aten.im2col")
def unfold(
    step: Step, x: Value, kernel: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]
) -> Value:
    lead = len(x.shape) - 2
    rows, columns = _lines(x.shape[lead:], kernel, dilation, padding, stride)
    if any(padding):
        around = [0] * lead + list(padding)
        x = x.pad(step.full(0, dtype_of(x)), around, around)
    if (rows.is_tiled and columns.is_tiled) or math.prod(kernel) > MOST_PLACES:
        # (.., place of the row, row, place of the column, column)
        found = _taken(step, _taken(step, x, lead, rows, lead), lead + 2, columns, lead + 1)
    else:
        found = _taken_at_once(step, x, lead, rows, columns)
    return found.reshape(step.shape)


def _spread(step: Step, x: Value, dim: int, line: _Along, place: int) -> Value:
    """One place of all patches, where it is in the image."""
    rank = len(x.shape)
    low, high, inner = [0] * rank, [0] * rank, [0] * rank
    low[dim], inner[dim] = line.low(place), line.stride - 1
    high[dim] = line.size - line.reach - low[dim]
    return x.pad(step.full(0, dtype_of(x)), low, high, inner)


def _added(step: Step, x: Value, places: int, dim: int, line: _Along) -> Value:
    """The sums of patches along a dimension, of which another one has the places."""
    if line.is_tiled:
        order = [one for one in range(len(x.shape)) if one != places]
        x = x.transpose([*order[:dim], places, *order[dim:]])
        whole = x.reshape((*x.shape[: dim - 1], line.count * line.kernel, *x.shape[dim + 1 :]))
        return _cropped(step, whole, dim - 1, -line.padding, line.size + line.padding - line.count * line.kernel)
    total: Value | None = None
    for place in range(line.kernel):
        part = x.part(places, place, place + 1)
        part = part.reshape([n for one, n in enumerate(part.shape) if one != places])
        part = _spread(step, part, dim - 1, line, place)
        total = part if total is None else total + part
    assert total is not None
    return total


def _added_at_once(step: Step, x: Value, lead: int, rows: _Along, columns: _Along) -> Value:
    """The sums in the order of the places."""
    if rows.has_steps and columns.has_steps and rows.stride * columns.stride > 1:
        return _added_by_steps(step, x, lead, rows, columns)
    total: Value | None = None
    for row, column in product(range(rows.kernel), range(columns.kernel)):
        part = x.part(lead, row, row + 1).part(lead + 1, column, column + 1)
        part = part.reshape((*x.shape[:lead], *x.shape[lead + 2 :]))
        part = _spread(step, _spread(step, part, lead, rows, row), lead + 1, columns, column)
        total = part if total is None else total + part
    assert total is not None
    return total


def _added_by_steps(step: Step, x: Value, lead: int, rows: _Along, columns: _Along) -> Value:
    """
    The sums in the order of the places, of patches in parts as long as a step: each part is added at once,
    at neighbouring places, with no gaps between them.
    """
    steps = -(-rows.kernel // rows.stride), -(-columns.kernel // columns.stride)
    whole = _cropped(step, x, lead, 0, steps[0] * rows.stride - rows.kernel)
    whole = _cropped(step, whole, lead + 1, 0, steps[1] * columns.stride - columns.kernel)
    inner = (rows.stride, columns.stride, rows.count, columns.count)
    whole = whole.reshape((*x.shape[:lead], steps[0], rows.stride, steps[1], *inner[1:]))
    total: Value | None = None
    for row, column in product(range(steps[0]), range(steps[1])):
        part = whole.part(lead, row, row + 1).part(lead + 2, column, column + 1).reshape((*x.shape[:lead], *inner))
        part = _cropped(step, part, lead + 2, row, steps[0] - 1 - row)
        part = _cropped(step, part, lead + 3, column, steps[1] - 1 - column)
        total = part if total is None else total + part
    assert total is not None
    # (.., row, row of the part, column, column of the part)
    total = total.transpose([*range(lead), lead + 2, lead, lead + 3, lead + 1])
    sizes = [(line.count + number - 1) * line.stride for line, number in zip((rows, columns), steps, strict=True)]
    total = total.reshape((*x.shape[:lead], *sizes))
    for dim, (line, size) in enumerate(zip((rows, columns), sizes, strict=True), lead):
        total = _cropped(step, total, dim, -line.padding, line.size + line.padding - size)
    return total


@lowers("aten.col2im")
def fold(
    step: Step, x: Value, image: Sequence[int], kernel: Sequence[int], dilation: Sequence[int], padding: Sequence[int],
    stride: Sequence[int],
) -> Value:  # fmt: skip
    rows, columns = _lines(image, kernel, dilation, padding, stride)
    lead = len(x.shape) - 1
    channels = x.shape[lead - 1] // math.prod(kernel)
    value = converted(x, working_dtype(dtype_of(x)))
    shape = (*x.shape[: lead - 1], channels, rows.kernel, columns.kernel, rows.count, columns.count)
    value = value.reshape(shape)
    tiled = rows.is_tiled and columns.is_tiled
    if tiled or math.prod(kernel) > MOST_PLACES:
        along = _added(step, value, lead + 1, lead + 3, columns)
        total = _added(step, along, lead, lead + 1, rows)
    else:
        total = _added_at_once(step, value, lead, rows, columns)
    return converted(total, step.dtype).reshape(step.shape)
