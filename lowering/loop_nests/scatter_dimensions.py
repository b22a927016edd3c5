"""The loops of a scatter: their order, and the dimensions that tasks may divide."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ...hlo_dialect.ops.index_dimensions import IndexDimensions, Place

UPDATES = 4
"""Least number of updates per element of the results that tasks have of their own, which are filled and combined."""


@dataclass(frozen=True)
class ScatterDimensions:
    """The loops over the updates of a scatter."""

    dims: IndexDimensions
    shape: tuple[int, ...]
    """The shape of the outputs."""
    updates: tuple[int, ...]
    """The shape of the updates: the iteration space."""
    is_unique: bool
    """Whether no element is updated twice."""

    @cached_property
    def places(self) -> tuple[Place, ...]:
        return self.dims.places(len(self.shape), len(self.updates))

    @cached_property
    def batch(self) -> tuple[int, ...]:
        return self.dims.batch_dims(len(self.updates))

    @cached_property
    def free(self) -> tuple[int, ...]:
        """Window dimensions whose offsets are output indices themselves: no start index is added to them."""
        return tuple(p.offset for p in self.places if p.offset is not None and p.component is None)

    @cached_property
    def leading(self) -> list[int]:
        """The first dimensions, if updates and outputs have them in common: one scatter for each of their indices."""
        found: list[int] = []
        for dim, place in enumerate(self.places):
            if place.offset != dim or dim not in self.free:
                break
            found.append(dim)
        return found

    @cached_property
    def order(self) -> list[int]:
        """
        The loops, outermost first.

        Updates of one output element agree in the free dimensions, so those loops may be at any depth; the others keep
        their order. Leading ones are outermost, since their strides are the longest. The free ones of the rest are
        innermost, where they run along rows, or, if each index vector is read before its window, where the window has
        them, so that the innermost loop runs along the window's rows.
        """
        return self.leading + [dim for dim in self._inner_order if dim not in self.leading]

    @cached_property
    def _inner_order(self) -> list[int]:
        others = [dim for dim in range(len(self.updates)) if dim not in self.free]
        window = [dim for dim in self.dims.window if self.updates[dim] != 1]
        rest = [dim for dim in others if dim not in window]
        if window and window[-1] not in self.free and others == rest + [dim for dim in window if dim not in self.free]:
            return rest + [dim for dim in self.free if dim not in window] + window
        return others + list(self.free)

    @cached_property
    def cut(self) -> int | None:
        """The longest dimension whose iterations never update the same element, so that tasks can divide them."""
        batching = [place.batch for place in self.places if place.batch is not None]
        unique = self.batch if self.is_unique else ()
        found = dict.fromkeys((*batching, *unique, *self.free))
        return max(found, key=lambda dim: self.updates[dim], default=None)

    @cached_property
    def longest_batch(self) -> int | None:
        """The longest dimension of index vectors, which tasks divide if each has results of its own."""
        return max(self.batch, key=lambda dim: self.updates[dim], default=None)

    @cached_property
    def innermost(self) -> int | None:
        """The innermost loop of more than one iteration."""
        return next((dim for dim in reversed(self.order) if self.updates[dim] > 1), None)
