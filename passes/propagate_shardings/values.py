"""The sharding of a value while propagate-shardings works on it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation

from ...hlo_dialect.attributes import int_attr
from ...hlo_dialect.collectives.process_groups import AxisRefAttr, Mesh
from ...hlo_dialect.sharding.attributes import DimensionShardingAttr, ShardingAttr
from .axes import Axes, Axis


class Sharded:
    """
    How a value, or several that are always split alike, are split: the axes of each dimension, and whether more may
    come.

    Without a mesh nothing is known yet.
    """

    def __init__(self, shape: Sequence[int]):
        self.shape = tuple(shape)
        self.axes: list[Axes] = [() for _ in shape]
        self.is_open = [True for _ in shape]
        self.kept: Axes = ()
        """Axes that must not split it: it is replicated or unreduced along them."""
        self.mesh: Mesh | None = None
        self.name: Attribute | None = None
        """The mesh as shardings spell it."""
        self.unreduced: ArrayAttr[AxisRefAttr] = ArrayAttr([])

    def state(self, sharding: ShardingAttr, user: Operation) -> None:
        """Take over what the program states. Raises VerifyException if it does not fit."""
        mesh = sharding.verify_on(user, self.shape, "the array")
        sizes = mesh.sizes()
        if not sizes:
            return

        def read(refs: ArrayAttr[AxisRefAttr]) -> Axes:
            named = ((ref.axis_name.data, ref.part) for ref in refs.data)
            axes = (Axis(name, *(part or (1, sizes[name]))) for name, part in named)
            return tuple(axis for axis in axes if axis.size > 1)

        self.mesh, self.name = mesh, sharding.mesh
        self.axes = [read(dimension.axes) for dimension in sharding.dimensions.data]
        self.is_open = [dimension.is_open.value.data != 0 for dimension in sharding.dimensions.data]
        self.kept = (*read(sharding.replicated), *read(sharding.unreduced))
        self.unreduced = sharding.unreduced

    @property
    def is_split(self) -> bool:
        return any(self.axes)

    def trim(self) -> None:
        """Leave out parts of axes and axes that do not divide a dimension: arguments and results have equal parts."""
        for dim, axes in enumerate(self.axes):
            size, kept = self.shape[dim], list[Axis]()
            for axis in axes:
                if size % axis.size or not self._is_whole(axis):
                    break
                size //= axis.size
                kept.append(axis)
            self.axes[dim] = tuple(kept)

    def _is_whole(self, axis: Axis) -> bool:
        return self.mesh is not None and self.mesh.sizes()[axis.name] == axis.size

    @property
    def fits(self) -> bool:
        """Whether all parts have the same size."""
        pairs = zip(self.shape, self.axes, strict=True)
        return all(size % math.prod(axis.size for axis in axes) == 0 for size, axes in pairs)

    def attribute(self) -> ShardingAttr | None:
        """The sharding, with dimensions that are split no further; None if nothing is known."""
        if self.name is None:
            return None
        dimensions = [DimensionShardingAttr.of([self._ref(axis) for axis in axes]) for axes in self.axes]
        return ShardingAttr(self.name, ArrayAttr(dimensions), ArrayAttr([]), self.unreduced)

    def _ref(self, axis: Axis) -> AxisRefAttr:
        part = [] if self._is_whole(axis) else [int_attr(axis.before), int_attr(axis.size)]
        return AxisRefAttr(StringAttr(axis.name), ArrayAttr(part))
