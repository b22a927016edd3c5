"""Lists of mesh axes, and their distribution over the factors of a dimension and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Axis(NamedTuple):
    """A mesh axis, or the part of it of `size` that follows a part of size `before`."""

    name: str
    before: int
    size: int

    def overlaps(self, other: Axis) -> bool:
        if self.name != other.name:
            return False
        return self.before < other.before * other.size and other.before < self.before * self.size

    def starts(self, other: Axis) -> bool:
        """Whether this is a major part of `other`, or all of it."""
        return (self.name, self.before) == (other.name, other.before) and other.size % self.size == 0

    def without(self, others: Sequence[Axis]) -> Axis | None:
        """The major part that overlaps none of `others`; None if nothing is left."""
        end = self.before * self.size
        for other in others:
            if self.overlaps(other):
                end = min(end, other.before)
        size = end // self.before
        return Axis(self.name, self.before, size) if size > 1 and end % self.before == 0 else None


Axes = tuple[Axis, ...]


def common_start(old: Axes, new: Axes, may_grow: bool) -> tuple[Axes, bool]:
    """
    The axes that two lists agree on, and whether more may follow; if `may_grow`, with the rest of the longer list, else
    at most `old`.
    """
    found: list[Axis] = []
    for index, (a, b) in enumerate(zip(old, new, strict=False)):
        if a == b or (b.starts(a) and index == len(new) - 1):
            found.append(a)
        elif a.starts(b) and index == len(old) - 1 and may_grow:
            found.append(b)
        elif b.starts(a) or a.starts(b):
            return (*found, min(a, b)), False
        else:
            return tuple(found), False
    return (*found, *old[len(found) :], *(new[max(len(found), len(old)) :] if may_grow else ())), may_grow


def is_longer(new: Axes, old: Axes) -> bool:
    """Whether `new` begins with `old` and splits further."""
    if new == old or len(new) < len(old):
        return False
    return all(a == b for a, b in zip(old[:-1], new, strict=False)) and (not old or old[-1].starts(new[len(old) - 1]))


class Share(NamedTuple):
    """The axes of a dimension that belong to one of its factors."""

    axes: Axes
    overflow: Axes
    """Axes that are left because they do not divide the factor."""


def distribute(axes: Axes, sizes: Sequence[int]) -> list[Share]:
    """Distribute the axes of a dimension over its factors of these sizes, the major ones first."""
    rest, shares = list(axes), list[Share]()
    for index, size in enumerate(sizes):
        taken, overflow = list[Axis](), list[Axis]()
        while rest:
            axis = rest[0]
            if index == len(sizes) - 1 or size % axis.size == 0:
                taken.append(rest.pop(0))
                size //= axis.size
            elif size > 1 and axis.size % size == 0:
                taken.append(Axis(axis.name, axis.before, size))
                rest[0] = Axis(axis.name, axis.before * size, axis.size // size)
                size = 1
            elif size > 1:
                overflow, rest = rest, []
            else:
                break
        shares.append(Share(tuple(taken), tuple(overflow)))
    return shares


def joined(shares: Sequence[Share], sizes: Sequence[int]) -> Axes:
    """
    The axes of a dimension from those of its factors; adjacent parts of one axis become one.

    Factors that follow one which is not split completely cannot be split: their parts would not be contiguous.
    """
    found: list[Axis] = []
    for share, size in zip(shares, sizes, strict=True):
        for axis in (*share.axes, *share.overflow):
            last = found[-1] if found else None
            if last is not None and last.name == axis.name and last.before * last.size == axis.before:
                found[-1] = Axis(last.name, last.before, last.size * axis.size)
            else:
                found.append(axis)
        if share.overflow or math.prod(axis.size for axis in share.axes) != size:
            break
    return tuple(found)
