"""
Row kernels with products as the streamed kernels see them: scores, a chain over rows of scores, and mixtures.

*Scores* are products whose results are rows, as `q k^T` in attention. The chain is what is computed of the rows, as a
softmax. A *mixture* is a product that contracts the elements of rows that the chain computes, as the weights of a
softmax with `v`. All share the loops over rows; the last of them is tiled, and the elements of rows are streamed.

Products may also sum over the rows of each matrix, as the gradients of `k` and `v` do. These are mixtures of the same
rows turned around: in a second launch keys are the rows, queries are streamed, and what the first launch has reduced,
such as the maxima, is read from memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Operation, SSAValue

from ...loop_nests.nest import Access, Nest
from ..contraction.form import Factor
from ..reduction.chain import Chain, Link
from ..reduction.emission import in_pass

Strides = tuple[int, ...]


class NotStreamedError(Exception):
    """The operations are not of this form; the message says why."""


@dataclass(frozen=True)
class RowProduct:
    """A product of each row with a factor that all rows of a matrix share."""

    op: Operation
    multiply: Operation
    add: Operation
    total: Attribute
    """The type of the sums."""
    rows: Factor | None
    """The rows' own factor, contracted along its depth; None if the chain computes it."""
    factor: Factor
    """Its outer index is not streamed: what scores contract, or the columns of a mixture. Its depth is streamed."""
    root: SSAValue
    """The buffer of the result."""
    place: Strides
    """The result's strides along the rows and the other index, which is streamed or a column."""
    row_conversions: tuple[Operation, ...]
    element: Attribute
    """The type of the rows' factor before the conversions."""

    @property
    def fixed(self) -> int:
        """The size of the factor's index that is not streamed."""
        ((size, _),) = self.factor.outer
        return size


@dataclass(frozen=True)
class ResultStep:
    """An elementwise operation on a mixture, at its place."""

    nest: Nest
    linked: Mapping[int, SSAValue | Link]
    """Per input: the mixture or the earlier step whose value is at hand, or the row's value in the chain."""


@dataclass(frozen=True)
class Mixture:
    """A product over the elements of rows, and what is computed of its result."""

    product: RowProduct
    source: Link
    """The rows that it contracts."""
    level: int
    """The pass over the rows in which they are known."""
    steps: list[ResultStep] = field(default_factory=list[ResultStep])
    stored: bool = False
    """Whether the product itself is written to memory."""

    @property
    def columns(self) -> int:
        return self.product.fixed


@dataclass(frozen=True)
class StreamedForm:
    """A row kernel with products, as one launch runs it."""

    shape: tuple[int, ...]
    """The sizes of the loops over rows."""
    batch: int
    """The number of leading loops over rows that move factors. Tiles are of the rows that share factors."""
    length: int
    """Elements of a row."""
    chain: Chain
    scores: tuple[RowProduct, ...]
    mixtures: tuple[Mixture, ...]
    written: frozenset[SSAValue]
    """The buffers in memory that results are written to."""
    sums: StreamedForm | None = None
    """The sums over the rows of each matrix, a second launch: its rows are what the first one streams."""

    @property
    def matrices(self) -> tuple[int, ...]:
        """The sizes of the loops over matrices of rows, which share factors."""
        return self.shape[: self.batch]

    @property
    def rows(self) -> tuple[int, ...]:
        """The sizes of the loops over the rows of a matrix."""
        return self.shape[self.batch :]

    @property
    def passes(self) -> int:
        """The number of passes over the rows."""
        return 1 + max(self.chain.levels - 1, *(mixture.level for mixture in self.mixtures))

    @property
    def products(self) -> list[RowProduct]:
        return [*self.scores, *(mixture.product for mixture in self.mixtures)]

    def mixtures_of(self, at: int) -> list[Mixture]:
        """The mixtures that pass `at` sums up."""
        return [mixture for mixture in self.mixtures if mixture.level == at]

    def scores_of(self, at: int) -> list[RowProduct]:
        """The scores that pass `at` needs."""
        chain = self.chain
        pending = [*in_pass(chain, at), *(mixture.source.step for mixture in self.mixtures_of(at))]
        seen, roots = set(pending), set[SSAValue]()
        while pending:
            step = chain.steps[pending.pop()]
            for k, access in enumerate(step.nest.inputs):
                link = step.sources.get(k)
                if link is None:
                    roots |= {access.root} if isinstance(access, Access) else set()
                elif chain.steps[link.step].wide and not chain.steps[link.step].reduces and link.step not in seen:
                    seen.add(link.step)
                    pending.append(link.step)
        return [product for product in self.scores if product.root in roots]
