"""How the threads of a block share the iterations of one operation."""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.dialects import memref

from ...convert_linalg_to_scf.conversion import Structured, nest_of
from ...loop_nests.combiners import known_combiners
from ...loop_nests.nest import Access, Nest


@dataclass(frozen=True)
class Share:
    """A nest with its kept loops outermost, in the order of the first result in memory, and its reduced ones after."""

    nest: Nest
    kept: int
    """The number of kept loops."""
    lanes: int
    """Neighbouring threads that reduce one result together."""
    tile: tuple[int, int] = (1, 1)
    """Results of a thread along the last two kept loops; neighbouring threads have neighbouring results."""

    @property
    def results(self) -> int:
        return math.prod(self.nest.sizes[: self.kept])

    @property
    def reduced(self) -> int:
        """The elements of one result."""
        return math.prod(self.nest.sizes[self.kept :])

    @property
    def loads(self) -> int:
        """The elements that an iteration reads."""
        body = self.nest.body
        inside = 0 if body is None else sum(isinstance(op, memref.LoadOp) for op in body.walk())
        return inside + sum(isinstance(x, Access) for x in self.nest.inputs)

    @property
    def threads(self) -> int:
        """The threads that have something to do at once."""
        return self.results * self.lanes // math.prod(self.tile)

    @property
    def loads_of_a_tile(self) -> int:
        """The elements that a thread reads in an iteration of the reduced loops."""
        rows, columns = self.tile
        return self.loads if rows * columns == 1 else rows + columns


MOST_OF_A_TILE = 32
"""Results of a thread: each takes a register."""

LOAD = 4
"""Multiply-adds in the time of a load."""

MOST_THREADS = 512
"""Threads of a block: each may have 128 registers."""


def share_of(op: Structured, warp: int) -> Share:
    """
    A thread per result or tile of results; a warp per result of a reduction whose elements lie one after the other, or
    whose results are few.
    """
    nest = nest_of(op).without_unit_loops()
    kept = sorted(nest.parallel_loops, key=lambda l: -abs(nest.outputs[0].strides[l]))
    reduced = nest.reduction_loops
    nest = nest.permuted([*kept, *reduced]).collapsed()
    kept, reduced = nest.parallel_loops, nest.reduction_loops
    lanes = _lanes(nest, kept, reduced, warp)
    return Share(nest, len(kept), lanes, _tile(nest, kept, reduced) if lanes == 1 else (1, 1))


def _tile(nest: Nest, kept: list[int], reduced: list[int]) -> tuple[int, int]:
    """The results of a thread, whose elements have factors in common, if there are more results than threads."""
    results = nest.size_of(kept)
    if len(kept) < 2 or not reduced or results <= MOST_THREADS or known_combiners(nest) is None:
        return 1, 1
    inputs = [x for x in nest.inputs if isinstance(x, Access) and any(x.strides[loop] for loop in reduced)]
    row, column = kept[-2:]
    still = [any(not x.strides[loop] for x in inputs) for loop in (row, column)]
    if not all(still):
        return 1, 1

    def cost(tile: tuple[int, int]) -> int:
        rows, columns = tile
        turns = -(-results // (rows * columns * MOST_THREADS))
        return turns * (rows * columns + LOAD * (rows + columns))

    sides = [[each for each in range(1, 9) if nest.sizes[loop] % each == 0] for loop in (row, column)]
    tiles = [(rows, columns) for rows in sides[0] for columns in sides[1] if rows * columns <= MOST_OF_A_TILE]
    return min(tiles, key=cost)


def _lanes(nest: Nest, kept: list[int], reduced: list[int], warp: int) -> int:
    """Threads that reduce one result: those of a warp, or one."""
    if not reduced or nest.sizes[reduced[-1]] < warp or known_combiners(nest) is None:
        return 1
    last = reduced[-1]
    inputs = [x for x in nest.inputs if isinstance(x, Access)]
    moved = [x for x in inputs if x.strides[last] and any(x.strides[l] for l in kept)]
    aligned = bool(moved) and all(abs(x.strides[last]) == 1 for x in moved)
    few = nest.size_of(kept) <= warp // 4
    return warp if aligned or few else 1
