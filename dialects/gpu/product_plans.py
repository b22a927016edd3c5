"""Plans of products: tiles of contractions, and rows that are products."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from .plan import HEAD, WARP, Plan, check_powers_of_two, check_whole_warps, require


@dataclass(frozen=True)
class Tile(Plan):
    """
    A block computes a tile of `m x n` sums of a contraction, a depth of `k` between two barriers.

    Each of its units, threads or warps, has a `share` of the sums, in rows and columns. `splits`: blocks that share the
    k of a tile; `raster`: rows of tiles that consecutive blocks go down before the next column; `blocks`: resident
    blocks per multiprocessor that the register budget must allow.
    """

    unit: ClassVar[str]
    tile: tuple[int, ...] = field(metadata=HEAD)

    @property
    def m(self) -> int:
        return self.tile[0]

    @property
    def n(self) -> int:
        return self.tile[1]

    @property
    def k(self) -> int:
        return self.tile[2]

    @property
    def share_m(self) -> int:
        return getattr(self, self.unit)[0]

    @property
    def share_n(self) -> int:
        return getattr(self, self.unit)[1]

    @property
    def units(self) -> int:
        """The number of threads of a block, or of its warps."""
        return self.m * self.n // (self.share_m * self.share_n)

    def check(self) -> None:
        require(len(self.tile) == 3, "a tile has three sizes: m, n and k")
        require(len(getattr(self, self.unit)) == 2, f"{self.unit} has two sizes, of m and of n")
        check_powers_of_two(m=self.m, n=self.n, k=self.k, share_m=self.share_m, share_n=self.share_n)
        for size, part in ((self.m, self.share_m), (self.n, self.share_n)):
            require(part <= size, f"a part of {part} is larger than the tile's {size}")


@dataclass(frozen=True)
class RegisterTile(Tile):
    """A contraction in plain arithmetic: each thread holds a share of the sums in registers."""

    name = "gpu.tile"
    unit = "thread"
    thread: tuple[int, ...]
    splits: int = 1
    raster: int = 1
    blocks: int = 1

    @property
    def block(self) -> int:
        return self.units


@dataclass(frozen=True)
class TensorTile(Tile):
    """A contraction on tensor cores: each warp, of `lanes` threads, holds a share of the sums."""

    name = "gpu.tensor_tile"
    unit = "warp"
    warp: tuple[int, ...]
    stages: int = 2
    """Tiles of both factors in shared memory at the same time."""
    copies: bool = False
    """Whether tiles are copied asynchronously, or go through registers."""
    splits: int = 1
    raster: int = 1
    blocks: int = 1
    lanes: int = WARP

    @property
    def block(self) -> int:
        return self.units * self.lanes

    def check(self) -> None:
        super().check()
        require(min(self.warp) >= 16, "a warp multiplies 16 rows by 16 columns at least")
        require(self.stages >= 2, "fewer than two stages: one is read while another is written")
        require(self.copies or self.stages == 2, "tiles that go through registers have two stages")


ROW_LANES = 16
"""Threads of a block of `#gpu.streamed_rows` that share a row, without tensor cores."""

WARP_ROWS = 16
"""Rows of a warp that multiplies on tensor cores."""


@dataclass(frozen=True)
class StreamedRows(Plan):
    """
    Rows that are products, and products of them, as in attention: a block takes `m` rows.

    Tiles of `n` of their elements are computed at a time, in a pass for each reduction and one for what follows, and
    again in every pass.
    """

    name = "gpu.streamed_rows"
    tile: tuple[int, ...] = field(metadata=HEAD)
    threads: int
    tensor: bool = False
    """Whether tensor cores multiply: a warp takes 16 rows. Otherwise 16 threads share a row."""
    stages: int = 1
    """Tiles of each factor in shared memory at the same time."""
    copies: bool = False
    """Whether tiles are copied asynchronously, or go through registers."""
    blocks: int = 1
    """Resident blocks per multiprocessor that the register budget must allow."""
    then: Plan | None = None
    """How products that sum over the rows are computed, in a second launch: its rows are the elements of these."""

    @property
    def m(self) -> int:
        return self.tile[0]

    @property
    def n(self) -> int:
        return self.tile[1]

    def check(self) -> None:
        require(len(self.tile) == 2, "a tile has two sizes: rows and their elements")
        check_powers_of_two(m=self.m, n=self.n, threads=self.threads)
        check_whole_warps(self.threads)
        require(self.n >= ROW_LANES, f"a tile has {ROW_LANES} elements of a row at least")
        require(self.stages in (1, 2), "a tile is read while none or one is written: one stage or two")
        require(self.copies or self.stages == 1, "tiles that go through registers have one stage")
        second = self.then
        require(second is None or isinstance(second, StreamedRows), "sums over rows are streamed too")
        if self.tensor:
            threads = self.m // WARP_ROWS * WARP
            require(self.threads == threads, f"a warp for each {WARP_ROWS} rows is {threads} threads")
        else:
            require(self.m * ROW_LANES >= self.threads, f"{ROW_LANES} threads share a row; there are more than rows")
