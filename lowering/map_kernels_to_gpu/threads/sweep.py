"""A range of numbers divided among threads: each takes every n-th, several at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute

from ...loop_nests.kernel_builder import Index
from ...loop_nests.unrolling import UNROLL
from .builder import GpuBuilder
from .items import WRITTEN_OUT

ROLLED: dict[str, Attribute] = {UNROLL: IntegerAttr(1, IntegerType(64))}
"""The attribute of a loop that is long enough; the assembler would unroll it until it runs out of registers."""


@dataclass(frozen=True)
class Sweep:
    """
    The numbers `start + own`, `start + own + threads`, .. below `start + count`, for the thread with number `own`.

    `unroll` of them are visited together, in a fully unrolled loop: their loads are all in flight before the first is
    used. The remainder is visited one by one.
    """

    builder: GpuBuilder
    own: Index
    threads: int
    unroll: int

    def numbers(self, start: Index, count: Index) -> Iterator[tuple[Index, Index]]:
        """
        Emit the loops. The body of the `for` statement over this iterator is emitted in each of them.

        It gets the number, and its index among those visited together. `count` may be a constant or a value; it is the
        same in all threads of the block.
        """
        builder = self.builder
        whole = count // self.threads
        main = whole - whole % self.unroll
        steps = (count + (self.threads - 1)) // self.threads
        if main != 0:
            with (
                builder.loop(0, main, step=self.unroll, attributes=ROLLED) as first,
                builder.loop(0, self.unroll, attributes=WRITTEN_OUT) as number,
            ):
                yield start + self._inside(first + number), number
        if main == steps:
            return
        exact = isinstance(count, int) and count % self.threads == 0
        with builder.loop(main, steps, attributes=ROLLED) as step:
            inside = self._inside(step)
            number = start + inside
            with nullcontext() if exact else builder.when(builder.index(inside).below(count)):
                yield number, 0

    def _inside(self, step: Index) -> Index:
        return step * self.threads + self.own
