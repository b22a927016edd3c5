"""Places of buffers, by the intervals in which they are used: in the arena, or where results are written later."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from xdsl.ir import BlockArgument

from ...dialects.support.buffer_ops import byte_size
from ...dialects.support.buffers import Buffer
from .intervals import Interval

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector."""

MANY = 2048
"""Buffers of which each is compared with each other one."""


SMALL = 1 << 16
"""Bytes of an arena that leaves the memory of results alone."""


@dataclass
class ResultMemory:
    """The memory of a result of the entry, which other buffers may use until the result is written."""

    parameter: BlockArgument
    type: Buffer
    first_use: int
    held: list[Interval] = field(default_factory=list[Interval])

    def takes(self, interval: Interval) -> bool:
        """Whether a buffer finds place, at the beginning, as an array of the result's element type."""
        return (
            interval.end < self.first_use
            and not interval.repeated
            and interval.op.memref.type.element_type == self.type.element_type
            and all(other.end < interval.start or interval.end < other.start for other in self.held)
        )


def assign_offsets(intervals: list[Interval], results: Sequence[ResultMemory] = ()) -> int:
    """
    Give each buffer aligned space that is free in its whole interval; return the arena size.

    Comparing buffers with each other needs less memory, but time that grows with the square of their number.
    """
    place = _largest_first if len(intervals) <= MANY else _in_program_order
    total = place(intervals)
    if not results or total <= SMALL:
        return total
    _use_results(intervals, results)
    least = place([each for each in intervals if each.result is None])
    if least < total:
        return least
    for each in intervals:
        each.result = None
    return place(intervals)


def _use_results(intervals: list[Interval], results: Sequence[ResultMemory]) -> None:
    """Put buffers, the largest first, into the memory of the smallest results that take them."""
    by_size = sorted(results, key=lambda result: byte_size(result.type))
    sizes = [byte_size(result.type) for result in by_size]
    for interval in sorted(intervals, key=lambda item: (-item.size, item.start))[:MANY]:
        candidates = by_size[bisect_left(sizes, max(interval.size, 1)) :]
        found = next((result for result in candidates if result.takes(interval)), None)
        if found is not None:
            interval.result, interval.offset = found.parameter, 0
            found.held.append(interval)


def _largest_first(intervals: list[Interval]) -> int:
    """
    The lowest offset that is free, large buffers first.

    Greedy by size, as in Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference (2020).
    """
    placed: list[tuple[int, int, int, int]] = []  # (offset, its aligned end, first and last position), sorted
    total = 0
    for interval in sorted(intervals, key=lambda item: (-item.size, item.start)):
        offset, size, start, end = 0, interval.size, interval.start, interval.end
        for lower, upper, first, last in placed:
            if first <= end and start <= last:
                if offset + size <= lower:
                    break
                if upper > offset:
                    offset = upper
        interval.offset = offset
        upper = aligned(offset + size)
        insort(placed, (offset, upper, start, end))
        if upper > total:
            total = upper
    return total


def _in_program_order(intervals: list[Interval]) -> int:
    """Best fit: the smallest hole that the buffers dead by then have left, or new space at the end."""
    holes: list[tuple[int, int]] = []  # (size, offset), sorted; no two of them touch
    starts: dict[int, int] = {}  # the offset of each hole: its size
    ends: dict[int, int] = {}  # the end of each hole: its offset
    live: list[tuple[int, int, int]] = []  # (last position, offset, size), a heap
    total = 0

    def add_hole(offset: int, size: int) -> None:
        insort(holes, (size, offset))
        starts[offset], ends[offset + size] = size, offset

    def take_hole(offset: int) -> int:
        size = starts.pop(offset)
        del ends[offset + size], holes[bisect_left(holes, (size, offset))]
        return size

    for interval in sorted(intervals, key=lambda item: item.start):
        while live and live[0][0] < interval.start:
            _, offset, size = heappop(live)
            if offset + size in starts:
                size += take_hole(offset + size)
            if offset in ends:
                offset = ends[offset]
                size += take_hole(offset)
            add_hole(offset, size)
        size = aligned(interval.size)
        found = bisect_left(holes, (size, 0))
        if not size:
            offset = 0
        elif found < len(holes):
            _, offset = holes[found]
            if rest := take_hole(offset) - size:
                add_hole(offset + size, rest)
        else:
            offset, total = total, total + size
        interval.offset = offset
        if size:
            heappush(live, (interval.end, offset, size))
    return total


def aligned(size: int) -> int:
    """The bytes, rounded up to where the next buffer may begin."""
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
