"""
Where to cut a loop or a reduction of more operations than one kernel may have: where the fewest bytes cross.

Producer fusion takes in producers until the fusion is full, wherever in an expression that is. So it first runs on a
copy of the state, without that end. Each fusion that becomes too large there is cut in an order of its operations in
which producers come before users. Users on one side of a border are then kept apart from producers on the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from xdsl.ir import OpResult, SSAValue

from ...dialects.cost import Cost
from ...hlo_dialect.op import CHEAP
from ...hlo_dialect.ops.creation import is_splat_constant
from ...lowering.device.cpu import CPU
from .clusters import LOOPS, Cluster, Clusters
from .decisions import size_in_words
from .graph import BlockGraph, Node, bytes_of
from .producers import ProducerFusion

_HORIZON = 4
"""How many full fusions are seen at once; what comes before them is cut in another round."""

_KERNEL = 4096
"""The bytes that another border has to save, so that fewer kernels are preferred: small, not measured."""


def fuse_producers(clusters: Clusters) -> Clusters:
    """Run producer fusion, and cut what becomes too long; returns the state after it, `clusters` or a copy."""
    graph, most = clusters.graph, clusters.most_ops
    while True:
        whole = clusters.trial(clusters.live)
        whole.most_ops = _HORIZON * most
        ProducerFusion(whole).run()
        long = [each for each in whole.live.values() if each.kind in LOOPS and len(each.ops) > most]
        if not long:
            whole.most_ops = most
            return whole
        known = len(graph.apart)
        for cluster in long:
            _cut(graph, cluster, most)
        if len(graph.apart) == known:
            break
    ProducerFusion(clusters).run()
    return clusters


def _cut(graph: BlockGraph, cluster: Cluster, most: int) -> None:
    """Cut a fusion into parts of at most `most` operations: keep producers apart from users in another part."""
    orders = [_Order(graph, cluster, order, most) for order in _orders(graph, cluster)]
    _, best = min((order.narrowest(), index) for index, order in enumerate(orders))
    graph.apart.update(orders[best].apart())


def _orders(graph: BlockGraph, cluster: Cluster) -> tuple[list[int], list[int]]:
    """The operations in the order of the program, and so that each expression ends before the next begins."""
    nodes, placed = graph.nodes, dict[int, None]()
    pending = [number for number in sorted(cluster.ops) if not any(user in cluster.ops for user in nodes[number].users)]
    pending.reverse()
    while pending:
        missing = [each for each in nodes[pending[-1]].operands if each in cluster.ops and each not in placed]
        if missing:
            pending.extend(reversed(missing))
        else:
            placed[pending.pop()] = None
    return sorted(cluster.ops), list(placed)


class _Order:
    """The operations of a fusion in one order, what crosses a border before each, and the borders chosen."""

    def __init__(self, graph: BlockGraph, cluster: Cluster, order: list[int], most: int):
        self.graph = graph
        self.order = order
        self.most = most
        self.position = {number: position for position, number in enumerate(order)}
        self.again = self._computed_again(cluster)
        self.borders: list[int] = []
        """The positions where parts begin, and the end."""

    def _computed_again(self, cluster: Cluster) -> set[int]:
        """Values that each part computes for itself from operands of the fusion in the time that reading them takes."""
        work: dict[int, int] = {}
        for number in self.order:
            node = self.graph.nodes[number]
            made = [each for each in node.operands if each in cluster.ops]
            if node.cost > CHEAP or not all(each in work for each in made):
                continue
            total = node.cost + sum(work[each] for each in made)
            if CPU.hides(Cost(node.bytes, total * node.elements)):
                work[number] = total
        return set(work)

    def narrowest(self) -> int:
        """Choose the borders that the fewest bytes cross in all, and return these."""
        widths, end = self._widths(), len(self.order)
        least, before = [0] * (end + 1), [0] * (end + 1)
        for position in range(1, end + 1):
            first = max(0, position - self.most)
            found = min(least[first:position])
            before[position] = least.index(found, first)
            least[position] = found + (widths[position] + _KERNEL if position < end else 0)
        self.borders = [end]
        while self.borders[-1]:
            self.borders.append(before[self.borders[-1]])
        self.borders.reverse()
        return least[end]

    def _widths(self) -> list[int]:
        """For each position, the bytes that a border there writes and reads."""
        change = [0] * (len(self.order) + 1)
        for (first, last), size in self._spans():
            change[first + 1] += size
            change[last + 1] -= size
        widths, width = list[int](), 0
        for each in change:
            width += each
            widths.append(width)
        return widths

    def _spans(self) -> Iterator[tuple[tuple[int, int], int]]:
        """The first and last position at which each value is computed or read, and the bytes that a border adds."""
        last = dict[SSAValue, int]()
        first = dict[SSAValue, int]()
        for position in reversed(range(len(self.order))):
            node = self.graph.nodes[self.order[position]]
            result = node.op.results[0]
            read = max(position, last.get(result, position)) if node.index in self.again else position
            for value in node.op.operands:
                if not is_splat_constant(value):
                    first[value] = position
                    last[value] = max(read, last.get(value, read))
        for value, end in last.items():
            number = self.graph.index.get(value.op) if isinstance(value, OpResult) else None
            if number not in self.position:
                yield (first[value], end), bytes_of(value)
            elif number not in self.again:
                node = self.graph.nodes[number]
                written = any(user not in self.position for user in node.users)
                yield (self.position[number], end), bytes_of(value) * (1 if written else 2)

    def apart(self) -> Iterator[tuple[tuple[int, int], str]]:
        """The pairs of a producer and its user that a border is between, with the reason."""
        nodes = self.graph.nodes
        for start, end in pairwise(self.borders):
            crossing = [
                (node, users)
                for node in map(nodes.__getitem__, self.order[start:end])
                if node.index not in self.again and (users := self._users_from(node, end))
            ]
            moved = size_in_words(sum(node.bytes for node, _ in crossing))
            reason = f"the fusion would have more than {self.most} operations, and is cut where {moved} cross"
            for node, users in crossing:
                for user in users:
                    yield (node.index, user), reason

    def _users_from(self, node: Node, position: int) -> list[int]:
        return [user for user in node.users if self.position.get(user, -1) >= position]
