"""
Compute again, where others read it, what a row fusion has of its rows: broadcasts, indices, and cheap values.

Others then read what these follow from, one value per row or what is in memory anyway, and the row fusion does not
write them. Other row fusions over rows of that shape compute them at once; for the rest they become nodes of their own,
which loops and reductions take in.
"""

from __future__ import annotations

from xdsl.ir import OpResult

from ...dialects.cost import F32_BYTES, Cost
from ...hlo_dialect.op import CHEAP
from ...lowering.device.cpu import CPU
from .clusters import Cluster, Clusters, Mode
from .graph import BlockGraph, Node
from .rows import RowShape
from .sources import Sources


def repeat_values(clusters: Clusters) -> None:
    """
    Compute again cheap values of a row fusion that others read, such as the normalized rows for a gradient.

    Only if the others move no more for what it is computed from, which the row fusion may write anyway.
    """
    nodes = clusters.graph.nodes
    for cluster in [each for each in clusters.live.values() if each.kind == "row"]:
        for number in sorted(cluster.ops, reverse=True):
            node = nodes[number]
            if node.role != "elementwise" or node.cost > CHEAP or node.shape != cluster.domain:
                continue
            users = [place for place in clusters.users_of(number) if place != cluster.number]
            if not users or number == cluster.number or len(clusters.places[number]) > 1:
                continue
            if all(_may_repeat(clusters.live[place], node) for place in users):
                kept = node.bytes * (1 + len(users))
                # The row fusion, which has the value, reads nothing for it.
                if Sources(clusters, len(users) + 1).least(node, kept) <= kept:
                    _repeat(clusters, number, [place for place in users if _has_rows_of(clusters.live[place], node)])


def _may_repeat(cluster: Cluster, node: Node) -> bool:
    """Whether a fusion can compute a value of rows for itself in the time that reading it takes."""
    if cluster.kind not in ("loop", "reduce") and not _has_rows_of(cluster, node):
        return False
    return CPU.hides(Cost(F32_BYTES * cluster.elements, cluster.repeated + node.cost * node.elements))


def _repeat(clusters: Clusters, number: int, rows: list[int]) -> None:
    """Compute a node of a row fusion in those `rows` too; for other users it becomes a node of its own."""
    clusters.repeat_in(number, rows, Mode.ROW)
    home = clusters.home(number)
    rest = [place for place in clusters.users_of(number) if place not in rows and place != home]
    if number != home and rest:
        clusters.compute_apart(number, rest)


def repeat_broadcasts(clusters: Clusters) -> None:
    """Compute broadcasts of a row fusion again where others read them, which then read one value per row instead."""
    nodes = clusters.graph.nodes
    for cluster in [each for each in clusters.live.values() if each.kind == "row"]:
        for number in sorted(cluster.ops):
            if nodes[number].role != "broadcast" or len(clusters.places[number]) > 1:
                continue
            users = [place for place in clusters.users_of(number) if place != cluster.number]
            rows = [place for place in users if _takes(clusters.live[place], nodes[number])]
            rest = [place for place in users if place not in rows]
            if not users or number == cluster.number:
                continue
            if any(clusters.live[place].kind not in ("loop", "reduce") for place in rest):
                continue
            _repeat(clusters, number, rows)


def repeat_indices(clusters: Clusters) -> None:
    """Compute again what follows from indices alone, such as a causal mask, where others read it of a row fusion."""
    nodes, counted = clusters.graph.nodes, _counted(clusters.graph)
    for cluster in [each for each in clusters.live.values() if each.kind == "row"] if counted else ():
        for number in sorted(counted & cluster.ops.keys(), reverse=True):
            users = [place for place in clusters.users_of(number) if place != cluster.number]
            if not users or len(clusters.places[number]) > 1:
                continue
            rows = [place for place in users if _has_rows_of(clusters.live[place], nodes[number])]
            _repeat(clusters, number, rows)


def _counted(graph: BlockGraph) -> set[int]:
    """The nodes that cheaply follow from indices and constants."""
    found: set[int] = set()
    for node in graph.nodes:
        made = [graph.index.get(value.op) if isinstance(value, OpResult) else None for value in node.op.operands]
        follows = any(number in found for number in made) and all(
            number in found or (number is not None and graph.nodes[number].role == "constant") for number in made
        )
        if node.role == "iota" or (node.role == "elementwise" and node.cost <= CHEAP and follows):
            found.add(node.index)
    return found


def _has_rows_of(cluster: Cluster, node: Node) -> bool:
    """Whether a row fusion computes a node of another one at the same places of its own rows."""
    return cluster.kind == "row" and RowShape(cluster.domain, cluster.row_dims).role(node) in ("full", "lead")


def _takes(cluster: Cluster, node: Node) -> bool:
    """Whether a row fusion computes a broadcast of another one along its own rows."""
    return cluster.kind == "row" and RowShape(cluster.domain, cluster.row_dims).role(node) in ("expand", "outer")
