"""Sums of a row with each of a few others, as of products with few columns, in one loop that loads the row once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ..loop_nests.combiners import Combiner
from ..loop_nests.cost import TOGETHER, TOGETHER_ALONG
from ..loop_nests.emission import Bounds, NestEmitter
from ..loop_nests.loop_builder import PARALLEL, LoopBuilder
from ..loop_nests.nest import Access

LONGEST = 8192
"""Most elements of one sum: longer ones are summed in blocks."""

LEAST = 16
"""Elements of the innermost of several loops from which it is worth adding up vectors after each run of it."""


@dataclass(frozen=True)
class Together:
    """A reduction in registers, for all iterations of its last kept loop at the same time."""

    builder: LoopBuilder
    emitter: NestEmitter
    combiners: Sequence[Combiner]
    kept: Sequence[int]
    reduced: Sequence[int]

    def pays(self, bounds: Bounds) -> bool:
        """
        Whether the last kept loop has few iterations that read elements of another: the products of a row with a few.
        """
        if not self.reduced or len(self.kept) < 2:
            return False
        last, innermost, nest = self.kept[-1], self.reduced[-1], self.emitter.nest
        read = [x for x in nest.inputs if isinstance(x, Access)]
        is_shared = any(x.strides[innermost] and not x.strides[last] for x in read)
        most = TOGETHER_ALONG if all(x.strides[innermost] in (0, 1) for x in read) else TOGETHER
        is_few = nest.sizes[last] * len(nest.outputs) <= most and nest.sizes[innermost] <= LONGEST
        fills_vectors = len(self.reduced) == 1 or nest.sizes[innermost] >= LEAST
        return is_shared and is_few and fills_vectors and last not in bounds

    def emit(self, inits: Sequence[SSAValue | None], bounds: Bounds) -> None:
        """Emit it; `inits`: the values that the sums start from, None for those in the buffers."""
        emitter, (*outer, last) = self.emitter, self.kept
        outputs, places = range(len(inits)), range(emitter.nest.sizes[last])
        with emitter.loops(outer, bounds, innermost=False):
            start: list[SSAValue] = []
            for place in places:
                with emitter.scope():
                    emitter.indices[last] = place
                    start += [emitter.load_output(k) if init is None else init for k, init in enumerate(inits)]
            totals = self._reduce(self.reduced, start, bounds)
            for place in places:
                with emitter.scope():
                    emitter.indices[last] = place
                    for k in outputs:
                        emitter.store_output(k, totals[len(outputs) * place + k])

    def _reduce(self, loops: Sequence[int], start: list[SSAValue], bounds: Bounds) -> list[SSAValue]:
        """Reduce over `loops`, starting from `start`; return the values: those of each place, one after the other."""
        emitter, builder, (first, *rest) = self.emitter, self.builder, loops
        count = len(self.combiners)
        lower, upper = bounds.get(first, (0, emitter.nest.sizes[first]))
        attributes = None if rest else PARALLEL
        with builder.loop(lower, upper, carry=start, attributes=attributes) as (index, totals), emitter.scope():
            emitter.bind(first, index)
            following: list[SSAValue] = []
            if rest:
                neutral = [each.neutral(builder) for each in self.combiners]
                parts = self._reduce(rest, neutral * (len(start) // count), bounds)
                pairs = zip(totals, parts, strict=True)
                following = [self.combiners[n % count].combine(builder, *pair) for n, pair in enumerate(pairs)]
            else:
                for place in range(len(start) // count):
                    with emitter.scope():
                        emitter.bind(self.kept[-1], place)
                        following += emitter.body(totals[count * place : count * (place + 1)])
            builder.yield_(*following)
        return totals
