"""A range of numbers shared out between threads: each takes every n-th, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute, SSAValue

from ...loop_nests.loop_builder import Index
from ...loop_nests.unrolling import UNROLL
from .builder import GpuBuilder
from .items import WRITTEN_OUT

ROLLED: dict[str, Attribute] = {UNROLL: IntegerAttr(1, IntegerType(64))}
"""The mark of a loop that is long enough as it is; the assembler would repeat it until it lacks registers."""

Visit = Callable[[Index, Index], None]
"""Emits what is done for a number; the second argument says which of those that are taken together it is."""


@dataclass(frozen=True)
class Sweep:
    """
    The numbers `start + own`, `start + own + threads`, .. below `start + count`, for the thread with number `own`.

    `unroll` of them are visited together, in a loop that is unrolled wholly: their loads are all on their way before
    the first is used. What is left is visited one by one.
    """

    builder: GpuBuilder
    own: Index
    threads: int
    unroll: int

    def emit(self, start: Index, count: Index, visit: Visit) -> None:
        """`count` may be known to the compiler, or to the block alone; all threads have the same."""
        builder = self.builder
        whole = builder.div(count, self.threads)
        main = builder.sub(whole, builder.rem(whole, self.unroll))
        steps = builder.div(builder.add(count, self.threads - 1), self.threads)
        exact = isinstance(count, int) and count % self.threads == 0
        if main != 0:
            self._together(start, main, visit)
        if not (isinstance(main, int) and main == steps):
            self._singly(start, main, steps, None if exact else count, visit)

    def _together(self, start: Index, upper: Index, visit: Visit) -> None:
        builder = self.builder

        def group(first: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            def one(number: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
                visit(builder.add(start, self._inside(builder.add(first, number))), number)
                return ()

            builder.loop(0, self.unroll, one, attributes=WRITTEN_OUT)
            return ()

        builder.loop(0, upper, group, step=self.unroll, attributes=ROLLED)

    def _singly(self, start: Index, lower: Index, upper: Index, count: Index | None, visit: Visit) -> None:
        builder = self.builder

        def one(step: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            inside = self._inside(step)
            number = builder.add(start, inside)
            if count is None:
                visit(number, 0)
            else:
                builder.when(builder.compare("ult", inside, count), lambda: visit(number, 0))
            return ()

        builder.loop(lower, upper, one, attributes=ROLLED)

    def _inside(self, step: Index) -> Index:
        return self.builder.add(self.builder.mul(step, self.threads), self.own)
