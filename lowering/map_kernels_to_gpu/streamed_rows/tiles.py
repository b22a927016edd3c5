"""The tiles of a streamed kernel in shared memory: those of rows, and those of factors, one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from ....dialects.gpu.nvgpu import DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp, bytes_of
from ....dialects.gpu.plans import StreamedRows
from ...loop_nests.kernel_builder import Index
from ..contraction.block import SharedArena
from ..contraction.form import Factor
from ..contraction.loader import TileLoader, TileShape, copies_asynchronously
from ..threads.builder import GpuBuilder
from .engine import Tile, padded
from .form import RowProduct, StreamedForm
from .register_engine import RegisterEngine

SUMS_PAD = 8
"""Elements after each row of sums in shared memory, so that 8 rows of fragments are in different banks."""

ALIGNED = 16
"""Bytes that the beginning of each tile is a multiple of."""


def row_tile(product: RowProduct, plan: StreamedRows) -> tuple[Factor, TileShape]:
    """The factor of rows as it is loaded, and its tile."""
    factor = product.rows
    assert factor is not None
    ((depth, _),) = factor.depth
    if plan.tensor:
        shape = TileShape(plan.m, padded(depth), plan.threads, not factor.along_depth, factor.element)
        return replace(factor, conversions=()), shape
    return factor, TileShape(plan.m, padded(depth), plan.threads, False, product.total)


def factor_tile(product: RowProduct, plan: StreamedRows) -> tuple[Factor, TileShape]:
    """The streamed factor as it is loaded, and its tile."""
    factor = product.factor
    if plan.tensor:
        shape = TileShape(padded(product.fixed), plan.n, plan.threads, not factor.along_depth, factor.element)
        return replace(factor, conversions=()), shape
    return factor, TileShape(padded(product.fixed), plan.n, plan.threads, True, product.total)


@dataclass(frozen=True)
class Layout:
    """The places of all tiles in a block's shared memory."""

    rows: dict[tuple[Factor, TileShape], int]
    factors: dict[tuple[Factor, TileShape], int]
    parts: int
    """Where rows to be contracted are, in plain arithmetic."""
    sums: int
    """Where sums are before they are written, over the tiles of factors."""
    size: int

    @staticmethod
    def of(form: StreamedForm, plan: StreamedRows) -> Layout:
        at, rows, factors = 0, dict[tuple[Factor, TileShape], int](), dict[tuple[Factor, TileShape], int]()
        for product in form.scores:
            tile = row_tile(product, plan)
            if tile not in rows:
                rows[tile], at = at, at + _bytes(tile[1])
        first = at
        for product in form.products:
            tile = factor_tile(product, plan)
            if tile not in factors:
                factors[tile], at = at, at + plan.stages * _bytes(tile[1])
        parts = at
        if not plan.tensor:
            most = max(len(form.mixtures_of(number)) for number in range(form.passes))
            at += most * RegisterEngine.parts_bytes(plan)
        sums = max(
            plan.m * (padded(mixture.columns) + SUMS_PAD) * bytes_of(mixture.product.total) for mixture in form.mixtures
        )
        return Layout(rows, factors, parts, first, max(at, first + sums))


def _bytes(shape: TileShape) -> int:
    return -(-shape.size * bytes_of(shape.element) // ALIGNED) * ALIGNED


class Streams:
    """Loads the tiles of a kernel."""

    def __init__(
        self,
        builder: GpuBuilder,
        form: StreamedForm,
        plan: StreamedRows,
        arena: SharedArena,
        layout: Layout,
        batch: list[Index],
        first: Index,
    ):
        """`batch`, `first`: the indices of the loops over rows at the block's first row."""
        self.builder = builder
        self.form = form
        self.plan = plan
        self.tiles: dict[tuple[Factor, TileShape], SSAValue] = {}
        self.loaders: dict[tuple[Factor, TileShape], TileLoader] = {}
        for places, stages, start in ((layout.rows, 1, first), (layout.factors, plan.stages, 0)):
            for (factor, shape), at in places.items():
                ((size, _),) = factor.depth
                whole = size % shape.depth == 0
                self.loaders[factor, shape] = TileLoader(builder, factor, shape, batch, start, whole)
                self.tiles[factor, shape] = arena.view(at, (stages, shape.rows, shape.pitch), shape.element)

    def rows_of(self, product: RowProduct) -> Tile:
        key = row_tile(product, self.plan)
        return Tile(self.tiles[key], key[1])

    def factor_of(self, product: RowProduct, stage: Index) -> Tile:
        key = factor_tile(product, self.plan)
        return Tile(self.tiles[key], key[1], stage)

    def load_rows(self) -> None:
        """Begin to load the rows' own tiles; they belong to the next group."""
        self._begin([row_tile(product, self.plan) for product in self.form.scores], 0, 0)

    def begin(self, products: list[RowProduct], number: Index, stage: Index) -> None:
        """Begin to load a tile of the factors of some products."""
        self._begin([factor_tile(product, self.plan) for product in products], number * self.plan.n, stage)

    def _begin(self, keys: list[tuple[Factor, TileShape]], start: Index, stage: Index) -> None:
        for key in dict.fromkeys(keys):
            loader, tile = self.loaders[key], self.tiles[key]
            if self.plan.copies and copies_asynchronously(*key):
                loader.copy(start, tile, stage)
            else:
                loader.put(loader.fetch(start), tile, stage)

    def group(self) -> SSAValue | None:
        """End a group of tiles that were begun; returns its token."""
        return self.builder.insert(DeviceAsyncCreateGroupOp()).asyncToken if self.plan.copies else None

    def wait(self, token: SSAValue | None, pending: int) -> None:
        """Wait for all tiles up to a group, but for its last `pending` ones, in all threads."""
        if token is not None:
            self.builder.insert(DeviceAsyncWaitOp(token, pending))
        self.builder.barrier()
