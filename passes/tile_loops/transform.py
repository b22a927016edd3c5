"""Recurrences of many independent rows run tile by tile, with their loop inside."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...hlo_dialect.diagnostics import Diagnostic, engine_of
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.loops import Loop
from ...hlo_dialect.loops.analysis import host_loops
from ...hlo_dialect.ops.control_flow import WhileOp
from ...hlo_dialect.types import shape_of
from ...lowering.device.cpu import CPU
from ..fuse_hlo.graph import bytes_of
from ..fuse_loops import FEWEST_AT_A_TIME, MOST_AT_A_TIME, MOST_WORK, divide, separate
from .rows import rows_along, rows_of
from .sinking import sink, sinkable
from .sizes import Step, step_of, tiles_of
from .tiles import Tiles, tile_loop

LEAVES_CACHE = CPU.l2_bytes
"""Bytes of a product of all steps above which each step computes its own."""

ASSUMED = 16
"""The iterations of a loop that does not say how many it makes."""


@dataclass(frozen=True)
class TileLoopsPass(HloPass):
    """
    Make a loop over tiles of rows of each hlo.while whose rows are independent, with the loop inside.

    Before: `hlo.while(%i = %zero, %h = %a, %ys = %b) .. do { %1 = hlo.dot_general %h, %w  .. }` of 32 rows
    After:  `hlo.while(%tile = %zero, %all = .., %ys = %b) .. do { .. hlo.while(%i, %h = 8 rows of %a, %ys) .. }`, with
            the attribute xhlo.independent, the number of the first tiles that may run at once
    Assumes: the level after batch-step-products; passes that run the tiles on several threads, each with its loop in
             one kernel (outline-loops), or in blocks of a GPU (outline-block-loops).
    Leaves: loops whose condition depends on the rows, that sum over them, or hold other loops; small ones; those whose
            matrices leave the cache, which each tile reads in each step.

    With short vectors, rows of few elements that are no whole vectors are as many as lanes in a tile, where kernels
    compute them beside each other (`row_lanes.py`).

    A product before the loop of which a step reads its slice moves into the loop: its results stay in the cache. Sums
    of products may be added up in another order, as between matrix products of different sizes.
    """

    name = "tile-loops"
    only_for = ("hlo.while",)
    works_on_functions = True

    chip: str = ""
    """The GPU whose blocks run the tiles, by its name in `lowering/device/vendors.py`; empty for a CPU."""
    vector_bits: int = CPU.vector_bits
    """The CPU's vectors: short ones compute the elements of short rows across the rows."""

    def run(self, ctx: Context, module: ModuleOp) -> None:
        engine = engine_of(ctx)
        for op in host_loops(module):
            engine.emit(Diagnostic("remark", self._tile(op), op.location))

    def _tile(self, op: WhileOp) -> str:
        """Replace the loop by one over tiles, if that pays; returns in words what was done, or why it stays."""
        if self.chip:
            from .blocks import tile_for_blocks

            return tile_for_blocks(op, self.chip)
        found = _decide(Loop(op), self.vector_bits < CPU.vector_bits)
        return f"not tiled: {found}" if isinstance(found, str) else _replace(op, found)


def _replace(op: WhileOp, found: Tiles) -> str:
    """Replace the loop by one over tiles; returns in words what was done."""
    rows, step = found.rows, step_of(found.rows)
    carried, limit, work = rows.carried, rows.loop.most_iterations, step.work * rows.count
    if any(result.first_use and i not in carried and shape_of(result) for i, result in enumerate(op.results)):
        return "not tiled: a tensor without rows is used after it"
    pieces = ""
    if limit is None or limit * work > MOST_WORK:
        # A kernel is not interrupted.
        most = min(max(int(MOST_WORK / 16 / work), FEWEST_AT_A_TIME), MOST_AT_A_TIME)
        op = divide(op, most)
        pieces = f", {most} iterations at a time"
    shared = [i for i, result in enumerate(op.results) if result.first_use and i not in carried]
    if shared:
        separate(op, shared)
    moved = _sink(op, step)
    # They depend neither on the limit of a loop nor on what was sunk into it, but more values may have others now.
    tiles = Tiles(rows_along(Loop(op), *next(iter(carried.items()))), found.size)
    tile_loop(tiles)
    products = f", with {moved} product{'s' * (moved > 1)} from before it" if moved else ""
    return f"{tiles.count} tiles of {found.size} rows run the loop each by itself{products}{pieces}"


def _decide(loop: Loop, lanes: bool) -> Tiles | str:
    rows = rows_of(loop)
    if isinstance(rows, str):
        return rows
    if loop.trip_count is not None and loop.trip_count < 2:
        return "it is no loop"
    return tiles_of(rows, step_of(rows), loop.most_iterations or ASSUMED, lanes)


def _sink(op: WhileOp, step: Step) -> int:
    """Move products into the loop whose results leave the cache, if their matrices stay in it; returns how many."""
    kept, moved = step.kept, 0
    for read in sinkable(Loop(op)):
        size = sum(map(bytes_of, read.matrices))
        if bytes_of(read.read.operands[0]) > LEAVES_CACHE and kept + size <= CPU.l2_bytes:
            kept += size
            moved += len(sink(read))
    return moved
