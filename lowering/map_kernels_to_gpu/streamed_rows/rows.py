"""The chain of a streamed kernel, one emitter for each row of a thread, and its values at one element of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue

from ...loop_nests.kernel_builder import Index
from ...loop_nests.nest import Access
from ..reduction.chain import Chain, Link
from ..reduction.emission import ChainEmitter, Key, in_pass, place
from ..threads.builder import GpuBuilder

Elements: TypeAlias = "tuple[int, list[SSAValue]]"
"""A reduction, and the values that it takes in."""


class RowChain(ChainEmitter):
    """The chain in one row of a thread, whose scores are at hand."""

    def __init__(self, builder: GpuBuilder, chain: Chain):
        super().__init__(builder, chain)
        self.keys: dict[SSAValue, list[Key]] = {}
        """For each buffer that is read inside rows, the values that stand for its elements."""
        for step in chain.steps:
            for k, access in enumerate(step.nest.inputs):
                if isinstance(access, Access) and k not in step.sources:
                    self.keys.setdefault(access.root, []).append(place(access))

    def element(
        self, at: int, index: Index, scores: Mapping[SSAValue, SSAValue], wanted: Sequence[Link]
    ) -> list[SSAValue]:
        """
        Emit pass `at` at one element of the row, given its scores by their buffers, and return some results of steps.
        """
        memo = {key: value for root, value in scores.items() for key in self.keys[root]}
        with self._at(None, [index]):
            self._point(at, memo, 0, 0, self.builder.index(0), (), [])
            return [self._inside(link, memo, 0) for link in wanted]

    def same(
        self, at: int, index: Index, scores: Mapping[SSAValue, SSAValue], wanted: Sequence[Link]
    ) -> tuple[list[Elements], list[SSAValue]]:
        """The values that pass `at` reduces, and some results, at an element of the row that is like its neighbours."""
        memo = {key: value for root, value in scores.items() for key in self.keys[root]}
        with self._at(None, [index]):
            found = [(s, self._run(s, memo, 0)) for s in in_pass(self.chain, at) if self.chain.steps[s].reduces]
            return found, [self._inside(link, memo, 0) for link in wanted]

    def take_in(self, elements: Sequence[Elements]) -> None:
        """Combine elements of reductions with the thread's partial results."""
        for number, values in elements:
            self._take_in(number, list(values), 0)
