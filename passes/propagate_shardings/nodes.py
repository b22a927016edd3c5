"""
One step of propagate-shardings: an operation, or an edge of the data flow, hands the axes of each factor on.

After the aggressive strategy of Shardy (aggressive_factor_propagation.cc): where the axes of two factors would meet in
one value, the factor that comes with the larger value gets them there, and then the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Flag
from typing import NamedTuple

from ...hlo_dialect.sharding.factors import ShardingRule
from .axes import Axes, Share, common_start, distribute, is_longer, joined
from .values import Sharded


class Direction(Flag):
    NONE = 0
    FORWARD = 1
    BACKWARD = 2
    BOTH = 3


class Node(NamedTuple):
    """Values whose shardings depend on each other: operands, then results."""

    rule: ShardingRule
    operands: tuple[Sharded, ...]
    results: tuple[Sharded, ...]
    direction: Callable[[int, bool], Direction]
    """By level and whether a factor is special; directions only become more with the level."""

    @property
    def values(self) -> tuple[Sharded, ...]:
        return (*self.operands, *self.results)

    def propagate(self, level: int) -> list[Sharded]:
        """Hand the axes of the factors on, as far as `level` allows. Returns the values that changed."""
        known = [value for value in self.values if value.mesh is not None]
        if not any(value.is_split for value in known) or any(value.mesh != known[0].mesh for value in known[1:]):
            return []
        parts = [_Projection(*pair, self.rule.sizes) for pair in zip(self.values, self.rule.tensors, strict=True)]
        split = {factor for part in parts for factor, share in part.shares.items() if share.axes}
        agreed = [(axes, factor) for factor in split if (axes := _agreed(self, parts, factor, level))]
        for axes, factor in sorted(agreed, key=lambda each: (-_source(parts, *each), each[1])):
            for part in parts:
                part.extend(factor, axes)
        return [part.value for part in parts if part.write(known[0])]


class ManualEdge(NamedTuple):
    """A value outside of a manual computation and its part inside, which the manual axes do not split again."""

    outside: Sharded
    inside: Sharded
    manual: Sequence[str]

    @property
    def values(self) -> tuple[Sharded, ...]:
        return self.outside, self.inside

    def propagate(self, level: int) -> list[Sharded]:
        """Hand the axes that are not manual on. Returns the values that changed."""
        mesh = self.outside.mesh
        if mesh is None or not set(mesh.sizes()) - set(self.manual):
            return []
        changed: list[Sharded] = []
        for dim, axes in enumerate(self.outside.axes):
            manual = tuple(axis for axis in axes if axis.name in self.manual)
            free, inner = axes[len(manual) :], self.inside.axes[dim]
            if is_longer(free, inner) and self.inside.is_open[dim]:
                self.inside.axes[dim] = free
                changed.append(self.inside)
            elif is_longer(inner, free) and self.outside.is_open[dim]:
                self.outside.axes[dim] = (*manual, *inner)
                changed.append(self.outside)
        if changed and self.inside.mesh is None:
            self.inside.mesh, self.inside.name = mesh, self.outside.name
        return changed


def _agreed(node: Node, parts: Sequence[_Projection], factor: int, level: int) -> Axes:
    """The axes that all values which have the factor agree on, in the order that the direction gives them."""
    direction = node.direction(level, factor in node.rule.special)
    operands, results = parts[: len(node.operands)], parts[len(node.operands) :]
    sides = (results, operands) if direction == Direction.BACKWARD else (operands, results)
    axes, may_grow = (), direction != Direction.NONE
    for number, side in enumerate(sides):
        if number == 1 and direction != Direction.BOTH:
            may_grow = False
        for part in side:
            if factor in part.shares:
                axes, may_grow = common_start(axes, part.shares[factor].axes, may_grow)
    return axes


def _source(parts: Sequence[_Projection], axes: Axes, factor: int) -> int:
    """The size of the largest value that has these axes."""
    sizes = (part.size for part in parts if factor in part.shares and part.shares[factor].axes == axes)
    return max(sizes, default=0)


class _Projection:
    """The axes of a value by factors."""

    def __init__(self, value: Sharded, dims: Sequence[Sequence[int]], sizes: Sequence[int]):
        self.value = value
        self.dims = dims
        self.sizes = sizes
        self.size = math.prod(value.shape)
        self.shares: dict[int, Share] = {}
        self._open: set[int] = set()
        self._minor: set[int] = set()
        self._others = value.kept
        """Axes that no factor may have."""
        for axes, factors, is_open in zip(value.axes, dims, value.is_open, strict=True):
            if not factors:
                self._others = (*self._others, *axes)
            elif len(factors) == 1:
                self.shares[factors[0]] = Share(axes, ())
            else:
                self.shares |= zip(factors, distribute(axes, [sizes[factor] for factor in factors]), strict=True)
            self._open |= set(factors if is_open else ())
            self._minor |= set(factors[-1:])

    def extend(self, factor: int, axes: Axes) -> None:
        """Split the factor along `axes`, as far as the value's other axes and the sizes allow."""
        share = self.shares.get(factor)
        if share is None or axes == share.axes or factor not in self._open or share.overflow:
            return
        others = [
            axis for number, each in self.shares.items() if number != factor for axis in each.axes + each.overflow
        ]
        taken, product = (), 1
        for axis in axes:
            product *= axis.size
            free = axis.without([*others, *self._others])
            if free is None or not (factor in self._minor or self.sizes[factor] % product == 0):
                break
            taken = (*taken, free)
            if free != axis:
                break
        if is_longer(taken, share.axes):
            self.shares[factor] = Share(taken, ())

    def write(self, source: Sharded) -> bool:
        """Give the axes back to the value; whether they changed."""
        pairs = zip(self.dims, self.value.axes, strict=True)
        axes = [self._joined(factors) if factors else stated for factors, stated in pairs]
        if axes == self.value.axes:
            return False
        self.value.axes = axes
        self.value.mesh, self.value.name = source.mesh, source.name
        return True

    def _joined(self, factors: Sequence[int]) -> Axes:
        if len(factors) == 1:
            return self.shares[factors[0]].axes
        return joined([self.shares[factor] for factor in factors], [self.sizes[factor] for factor in factors])
