"""The base class of both kinds of products of streamed rows: the rows and elements that a thread has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from ....dialects.gpu.plans import StreamedRows
from ...loop_nests.kernel_builder import Index
from ..contraction.loader import TileShape
from ..threads.builder import GpuBuilder
from .form import Mixture, RowProduct


@dataclass(frozen=True)
class Tile:
    """A tile of a factor in shared memory, `stage` of several."""

    buffer: SSAValue
    shape: TileShape
    stage: Index = 0


class Engine(ABC):
    """Multiplies tiles, and distributes the elements of a tile of scores over the threads of a block."""

    rows: int
    """Rows of a thread."""
    each: int
    """Elements of a thread in each of its rows of a tile."""
    lanes: int
    """Neighbouring threads that share a row."""

    def __init__(self, builder: GpuBuilder, plan: StreamedRows):
        self.builder = builder
        self.plan = plan

    @abstractmethod
    def row(self, number: int) -> Index:
        """The row of the tile that is the thread's `number`-th."""

    @abstractmethod
    def column(self, number: Index) -> Index:
        """The place in the tile's rows of the thread's `number`-th element."""

    @abstractmethod
    def slot(self, row: int, number: Index) -> tuple[Index, Index]:
        """The place of an element in the buffers below."""

    @abstractmethod
    def scores_buffer(self, element: Attribute) -> SSAValue:
        """A buffer for the thread's scores of a tile."""

    @abstractmethod
    def parts_buffer(self, mixture: Mixture, number: int) -> SSAValue:
        """A buffer for the thread's rows that the mixture with this number of a pass contracts, of one tile."""

    @abstractmethod
    def part_slot(self, row: int, number: Index) -> tuple[Index, Index]:
        """The place of an element in a buffer of parts."""

    @abstractmethod
    def scores(self, product: RowProduct, rows: Tile, factor: Tile, into: SSAValue) -> None:
        """Compute a tile of scores."""

    @abstractmethod
    def zeros(self, mixture: Mixture) -> list[SSAValue]:
        """The thread's sums of a mixture before the first tile."""

    @abstractmethod
    def mixed(self, mixture: Mixture, parts: SSAValue, factor: Tile, sums: list[SSAValue]) -> list[SSAValue]:
        """The sums with the products of a tile."""

    @abstractmethod
    def put(self, mixture: Mixture, sums: Sequence[SSAValue], buffer: SSAValue) -> None:
        """Store the sums to a buffer of the block, by row and column."""


def padded(size: int) -> int:
    """The size of a factor's tile along the index that is not streamed: whole multiplications of tensor cores."""
    return -(-size // 16) * 16
