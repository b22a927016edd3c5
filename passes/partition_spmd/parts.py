"""Shared by the rules of partition-spmd: operations on parts of arrays, inserted before those on whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.support.rewriting import SHARDINGS, like
from ...hlo_dialect.rules import Rules
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.sharding.tilings import Tiling
from ...hlo_dialect.types import element_of, make_tensor, shape_of
from .layouts import Layouts

Parts = Sequence[tuple[Tiling, SSAValue]] | None
"""The tiling and the parts of each result; None if the rule does not apply."""
Rule = Callable[[Operation, Layouts], Parts]
partition_rules = Rules[Rule]("partition-spmd", __package__)


def is_split(value: SSAValue, layouts: Layouts) -> bool:
    return layouts.tiling(value) is not None


def even(value: SSAValue, layouts: Layouts) -> Tiling | None:
    """The tiling of a value whose parts all have the same size, else None."""
    tiling = layouts.tiling(value)
    return tiling if tiling is not None and tiling.fits(shape_of(value)) else None


def kept_along(tiling: Tiling, dims: Sequence[bool]) -> Tiling | None:
    """The tiling restricted to the dimensions marked true; None if nothing remains."""
    kept = tiling.derived([dim if keep else None for dim, keep in enumerate(dims)])
    return None if kept.is_replicated else kept


def on_parts(
    op: Operation,
    operands: Sequence[SSAValue],
    tilings: Sequence[Tiling],
    properties: Mapping[str, Attribute] | None = None,
) -> list[tuple[Tiling, SSAValue]]:
    """The operation on the given operands, with its results split by `tilings`."""
    types = [
        make_tensor(tiling.part_shape(shape_of(result)), element_of(result))
        for tiling, result in zip(tilings, op.results, strict=True)
    ]
    new = like(op, operands, types, properties, [region.clone() for region in op.regions])
    for name in SHARDINGS:
        new.attributes.pop(name, None)
    cast(Block, op.parent).insert_op_before(new, op)
    return list(zip(tilings, new.results, strict=True))


def same_shape(op: Operation, layouts: Layouts, dims: Sequence[bool] | None = None) -> Parts:
    """Split operands of the first operand's rank alike, only along `dims` if given; results too."""
    shape = shape_of(op.results[0])
    candidates = [even(value, layouts) for value in op.operands if len(shape_of(value)) == len(shape)]
    split = (tiling for tiling in candidates if tiling is not None)
    found = max(split, key=lambda each: (each.summands, each.parts), default=None)
    if found is None or not is_static(shape):
        return None
    tiling = found if dims is None else kept_along(found, dims)
    if tiling is None:
        return None
    parts = [
        layouts.part(value, tiling) if len(shape_of(value)) == len(shape) else layouts.whole(value)
        for value in op.operands
    ]
    return on_parts(op, parts, [tiling] * len(op.results))
