"""
Masks that are known for a whole tile: causal attention needs no scores above the diagonal.

A mask is a condition on the indices of a row and its element, `index_of_row >= index_of_element` say, that selects
between what follows from scores and what does not. Where it holds nowhere in a tile, nothing follows from the tile's
scores, whatever they are: they need not be computed. If then all elements of a row are the same, as they are where a
constant is selected, one of them stands for all.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...loop_nests.masks import Condition, State, conditions_of, states_of, union
from ...loop_nests.nest import Access
from ..reduction.chain import Chain, Link
from ..reduction.emission import in_pass
from .form import StreamedForm


@dataclass(frozen=True)
class Mask:
    """A condition: where it holds nowhere in a tile, the tile's scores do not matter."""

    condition: Condition
    uniform: bool
    """Whether the elements of a row in such a tile are then all the same."""


def mask_of(form: StreamedForm, at: int) -> Mask | None:
    """A mask of all that pass `at` computes from scores; None if there is none."""
    chain = form.chain
    wanted = [*in_pass(chain, at), *(mixture.source.step for mixture in form.mixtures_of(at))]
    found: Mask | None = None
    combinations = [chain.steps[step].combination for step in wanted]
    in_order = any(combination is not None and combination.positioned for combination in combinations)
    for condition in dict.fromkeys(c for step in chain.steps if step.wide for c in conditions_of(step.nest)):
        states = _States(chain, frozenset(product.root for product in form.scores), condition)
        result = union(state for step in wanted for state in states.results(step))
        if not result.scores:
            found = Mask(condition, not result.varies and not in_order)
            if found.uniform:
                break
    return found


class _States:
    """The states of a chain's values where a condition does not hold."""

    def __init__(self, chain: Chain, scores: frozenset[SSAValue], condition: Condition):
        self.chain = chain
        self.scores = scores
        self.false = condition
        self.steps: dict[int, tuple[State, ...]] = {}

    def results(self, number: int) -> tuple[State, ...]:
        """The states of a wide step's results, or of a reduction's elements."""
        if number not in self.steps:
            self.steps[number] = self._results(number)
        return self.steps[number]

    def _results(self, number: int) -> tuple[State, ...]:
        step = self.chain.steps[number]
        inputs = [self._input(number, k, x) for k, x in enumerate(step.nest.inputs)]
        return states_of(step.nest, inputs, self.false, self.chain.loops)

    def _input(self, number: int, k: int, access: Access | SSAValue) -> State:
        link = self.chain.steps[number].sources.get(k)
        if link is not None:
            return self._linked(link)
        if not isinstance(access, Access):
            return State()
        if access.root in self.scores:
            return State(True, True)
        return State(varies=any(access.strides[l] for l in self.chain.loops if l < len(access.strides)))

    def _linked(self, link: Link) -> State:
        step = self.chain.steps[link.step]
        return self.results(link.step)[link.output] if step.wide and not step.reduces else State()
