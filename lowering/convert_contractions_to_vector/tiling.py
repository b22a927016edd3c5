"""
Tilings: block sizes of a product that something other than the cost model of blocking.py has chosen.

A tiling is the attribute `xhlo.tiling` of the product's generic. It changes how fast a product is, never its bits: the
sums along k are in the same order, and passes over k begin at the same places.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i64
from xdsl.ir import Operation

from ...dialects.support.attributes import integer_attr
from ...dialects.support.kernel import TILING
from ...hlo_dialect.diagnostics import fail
from ..device.cpu import Machine
from .blocking import MOST_VECTORS, Blocking, most_rows, spare_registers
from .contraction import Contraction


@dataclass(frozen=True)
class Tiling:
    """The sizes of a product's blocks and tiles."""

    rows: int
    """Rows of A in a panel."""
    vectors: int
    """Vectors of a row of B in a panel."""
    tile_rows: int
    """Panels of A in a task's tile."""
    tile_columns: int
    """Panels of B in a task's tile."""

    @staticmethod
    def of_blocking(blocking: Blocking) -> Tiling:
        return Tiling(blocking.mr, blocking.vectors, blocking.tile_m, blocking.tile_n)

    @staticmethod
    def of(op: Operation) -> Tiling | None:
        """The tiling that an operation states. Raises DiagnosticError for an attribute that is none."""
        stated = op.attributes.get(TILING)
        if stated is None:
            return None
        names = [each.name for each in fields(Tiling)]
        found: dict[str, Any] = dict(stated.data) if isinstance(stated, DictionaryAttr) else {}
        if sorted(found) != sorted(names) or not all(isinstance(each, IntegerAttr) for each in found.values()):
            fail(op, f"states {TILING} = {stated}, expected numbers for {', '.join(names)}")
        return Tiling(**{name: cast("IntegerAttr[Any]", each).value.data for name, each in found.items()})

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def apply(
        self, op: Operation, product: Contraction, blocking: Blocking, machine: Machine, in_place: bool
    ) -> Blocking:
        """
        The blocking with these sizes; `in_place`: A is read in place. Raises DiagnosticError at the operation for sizes
        that the product or the machine's registers do not allow.
        """
        stated = attribute_of(self.sizes)
        most = _most_rows(product, blocking, machine, self.vectors, in_place)
        if (
            not 1 <= self.vectors <= MOST_VECTORS
            or not 1 <= self.rows <= most
            or min(self.tile_rows, self.tile_columns) < 1
        ):
            fail(op, f"states {TILING} = {stated}, whose blocks this machine does not have")
        if in_place and self.vectors != blocking.vectors:
            fail(
                op, f"states {self.vectors} vectors in {TILING}: a product that reads A in place has {blocking.vectors}"
            )
        nr = self.vectors * blocking.lanes
        if self.rows != blocking.mr:
            blocking = replace(blocking, mr=self.rows, high=0, low=0)
        m_panels, n_panels = blocking.panels_of(product.m.size), -(-product.n.size // nr)
        if in_place:
            m_panels *= math.prod(loop.size for loop in product.outer if not loop.b)
        tiles = {"tile_m": min(self.tile_rows, m_panels), "tile_n": min(self.tile_columns, n_panels)}
        return replace(blocking, nr=nr, m_panels=m_panels, n_panels=n_panels, **tiles)


def attribute_of(sizes: Mapping[str, int]) -> DictionaryAttr:
    """The attribute that states sizes by name."""
    return DictionaryAttr({name: integer_attr(size, i64) for name, size in sizes.items()})


def _most_rows(product: Contraction, blocking: Blocking, machine: Machine, vectors: int, in_place: bool) -> int:
    most = most_rows(max(vectors, 1), machine.registers, spare_registers(product, blocking.group))
    return min(most, product.m.size) if in_place else most


def tilings(product: Contraction, blocking: Blocking, machine: Machine, in_place: bool) -> list[Tiling]:
    """
    The tilings to measure for a product, the cost model's own first: other shapes of the block, and tiles of half and
    twice the size.
    """
    own = Tiling.of_blocking(blocking)
    found = [own]
    for vectors in (blocking.vectors,) if in_place else range(1, MOST_VECTORS + 1):
        if vectors > 1 and (vectors - 1) * blocking.lanes >= product.n.size:
            continue
        most = _most_rows(product, blocking, machine, vectors, in_place)
        for rows in dict.fromkeys((most, -(-most * 3 // 4), -(-most // 2))):
            # A tile keeps about as many rows and columns of C.
            tall = max(1, own.tile_rows * own.rows // rows)
            wide = max(1, own.tile_columns * own.vectors // vectors)
            found.append(Tiling(rows, vectors, tall, wide))
    for up, down in ((2, 1), (1, 2)):
        found.append(replace(own, tile_rows=max(1, own.tile_rows * up // down)))
        found.append(replace(own, tile_columns=max(1, own.tile_columns * up // down)))
    return list(dict.fromkeys(found))
