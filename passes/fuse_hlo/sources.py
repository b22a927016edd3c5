"""
The bytes that fusions move if each computes a cheap value again, instead of one writing it and all reading it.

The operands of its computation may be in memory anyway, or cheap to compute again, or have to be written for it.
"""

from __future__ import annotations

from xdsl.ir import OpResult, SSAValue

from ...hlo_dialect.op import CHEAP
from ...hlo_dialect.ops.creation import is_splat_constant
from .clusters import Cluster, Clusters
from .graph import LOOP_ROLES, Node, bytes_of

_PARTIAL = frozenset({"movement", "gather"})
"""Roles of operations that may read a part of their operand."""

MOST_VISITED = 64
"""The most values to look at when following what a value is computed from."""


class Sources:
    """The search backwards from one node, which `fusions` are to compute."""

    def __init__(self, clusters: Clusters, fusions: int):
        self.clusters = clusters
        self.nodes = clusters.graph.nodes
        self.fusions = fusions
        self.visited = 0
        self.last = 0
        """The node: fusions are decided from the last node to the first."""

    def least(self, node: Node, limit: int) -> int:
        """The bytes moved more than if one fusion computed the node; some number above `limit` if more than that."""
        self.last = node.index
        return self._of_operands(node, limit, set())

    def _of_operands(self, reader: Node, limit: int, seen: set[SSAValue]) -> int:
        """As `least`, for what is not among the values `seen`, to which it adds its own."""
        total = 0
        for value in dict.fromkeys(reader.op.operands):
            if value in seen or is_splat_constant(value):
                continue
            if total > limit:
                break
            seen.add(value)
            total += self._of(value, reader, limit - total, seen)
        return total

    def _of(self, value: SSAValue, reader: Node, limit: int, seen: set[SSAValue]) -> int:
        index = self.clusters.graph.index
        number = index.get(value.op) if isinstance(value, OpResult) else None
        source = None if number is None else self.nodes[number]
        if source is None:
            return _size(value, reader) * (self.fusions - 1)
        clusters, home = self.clusters, self.clusters.home(source.index)
        users = [place for place in clusters.users_of(source.index) if place != home]
        others = [each for each in map(clusters.live.__getitem__, users) if reader.index not in each.ops]
        is_apart = any(map(self._is_decided, others))
        if clusters.live[home].kind == "row":
            is_written = bool(others) or reader.index not in clusters.live[home].ops
        elif source.role in LOOP_ROLES:
            # All of one user's kernel may compute it, two write it or compute it at little cost.
            is_written = is_apart and len(others) > (source.cost <= CHEAP)
        else:
            # The node may be the epilogue of a product that nothing else reads, which is not written then.
            is_written = is_apart or source.role not in ("dot", "custom")
        kept = _size(value, reader) * (self.fusions - 1 if is_written else self.fusions + 1)
        if source.role not in LOOP_ROLES:
            return kept
        self.visited += 1
        if source.cost > CHEAP or self.visited > MOST_VISITED:
            return kept
        within = set(seen)
        again = self._of_operands(source, min(kept, limit), within)
        if again > kept:
            return kept
        seen |= within
        return again

    def _is_decided(self, cluster: Cluster) -> bool:
        """Whether a fusion can no longer become part of another loop."""
        return max(cluster.ops) > self.last or cluster.kind != "loop"


def _size(value: SSAValue, reader: Node) -> int:
    """The bytes that a node reads of an operand."""
    return min(bytes_of(value), reader.bytes) if reader.role in _PARTIAL else bytes_of(value)
