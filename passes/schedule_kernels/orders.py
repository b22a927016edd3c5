"""Orders of a block's operations in which fewer bytes may be alive at once than in the program's."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence

from .flow import Flow

Key = Callable[[int, int], tuple[int, int]]
"""(bytes that an operation adds, its place in the program): the operation of the least key goes first."""


def orders(flow: Flow) -> Iterator[list[int]]:
    """Orders other than the program's, all with producers before users."""
    for key in (_frees_first, _least_first):
        yield _forward(flow, key)
        yield _backward(flow, key)
    yield _depth_first(flow)


def _frees_first(added: int, place: int) -> tuple[int, int]:
    return int(added > 0), place


def _least_first(added: int, place: int) -> tuple[int, int]:
    return added, place


def _forward(flow: Flow, key: Key) -> list[int]:
    """From the first operation on: of those that can run, the one of the least key."""
    size = _sizes(flow)
    left = [len(readers) + (value in flow.kept) for value, readers in enumerate(flow.read_by)]
    added = [sum(made.size for made in makes) for makes in flow.makes]
    for number, reads in enumerate(flow.reads):
        added[number] -= sum(size[value] for value in reads if left[value] == 1)
    queue = _Queue(flow.sources, key, added, range(len(flow.ops)))
    while (number := queue.next()) is not None:
        for value in flow.reads[number]:
            left[value] -= 1
            if left[value] == 1 and value not in flow.kept:
                (reader,) = (each for each in flow.read_by[value] if not queue.done[each])
                queue.add(reader, -size[value])
        queue.release(flow.readers[number])
    return queue.order


def _backward(flow: Flow, key: Key) -> list[int]:
    """From the last operation back: of those that nothing waits for, the one that leaves least alive before it."""
    size = _sizes(flow)
    alive = [value in flow.kept for value in range(len(flow.read_by))]
    last = len(flow.ops) - 1
    added = [sum(size[value] for value in reads if not alive[value]) for reads in flow.reads]
    for number, makes in enumerate(flow.makes):
        added[number] -= sum(made.size for made in makes)
    queue = _Queue(flow.readers, key, added, [last - number for number in range(last + 1)])
    while (number := queue.next()) is not None:
        for value in flow.reads[number]:
            if not alive[value]:
                alive[value] = True
                for reader in flow.read_by[value]:
                    queue.add(reader, -size[value])
        queue.release(flow.sources[number])
    return queue.order[::-1]


class _Queue:
    """The operations that can be next, each once what it waits for is done, by keys that may fall."""

    def __init__(self, waits_for: Sequence[Sequence[int]], key: Key, added: list[int], places: Sequence[int]):
        self.order: list[int] = []
        self.done = [False] * len(places)
        self._waiting = [len(others) for others in waits_for]
        self._key, self._added, self._places = key, added, places
        self._heap = [self._entry(number) for number, count in enumerate(self._waiting) if not count]
        heapq.heapify(self._heap)

    def _entry(self, number: int) -> tuple[tuple[int, int], int]:
        return self._key(self._added[number], self._places[number]), number

    def add(self, number: int, added: int) -> None:
        """Note that an operation adds fewer bytes than before."""
        self._added[number] += added
        if not self._waiting[number] and not self.done[number]:
            heapq.heappush(self._heap, self._entry(number))

    def release(self, numbers: Sequence[int]) -> None:
        """Note that one of the operations that each of these waits for is done."""
        for number in numbers:
            self._waiting[number] -= 1
            if not self._waiting[number]:
                heapq.heappush(self._heap, self._entry(number))

    def next(self) -> int | None:
        while self._heap:
            _, number = heapq.heappop(self._heap)
            if not self.done[number]:  # else an entry from before its key fell
                self.done[number] = True
                self.order.append(number)
                return number
        return None


def _depth_first(flow: Flow) -> list[int]:
    """Each operation right after those that it needs and that were not needed before."""
    order: list[int] = []
    seen = [False] * len(flow.ops)
    for root in range(len(flow.ops)):
        if flow.readers[root]:
            continue
        stack = [(root, iter(flow.sources[root]))]
        seen[root] = True
        while stack:
            number, rest = stack[-1]
            following = next((each for each in rest if not seen[each]), None)
            if following is None:
                stack.pop()
                order.append(number)
            else:
                seen[following] = True
                stack.append((following, iter(flow.sources[following])))
    return order


def _sizes(flow: Flow) -> list[int]:
    size = [0] * len(flow.read_by)
    for makes in flow.makes:
        for made in makes:
            size[made.value] = made.size
    return size
