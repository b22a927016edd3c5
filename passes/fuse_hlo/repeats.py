"""
Compute again, where others read it, what a row fusion has of its rows: broadcasts, indices, and cheap values.

Others then read what these follow from, one value per row or what is in memory anyway, and the row fusion does not
write them. Other row fusions over rows of that shape compute them at once; for the rest they become nodes of their own,
which loops and reductions take in.
"""

from __future__ import annotations

from xdsl.ir import OpResult, SSAValue

from ...dialects.cost import F32_BYTES, Cost
from ...hlo_dialect.op import CHEAP
from ...hlo_dialect.ops.creation import is_splat_constant
from ...hlo_dialect.types import shape_of
from ...lowering.device.cpu import CPU
from .clusters import MAX_INPUTS, MAX_OPS, Cluster, Clusters, Mode
from .graph import BlockGraph, Node, bytes_of
from .row_products import LIMITS, Limits, RowProducts
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


LARGE = 40 << 20
"""Bytes of rows that no cache, of the third level either, keeps from the fusion that writes them to one that reads."""

MOST_OPERATIONS = 64
"""Operations for an element of large rows, besides their products, up to which they are computed again."""


def repeat_large_rows(clusters: Clusters, products: str) -> None:
    """
    Compute large rows again, with the product that they come from, in the row fusions that read them: the weights of
    attention for their gradient.

    These then read the factors of the product, and one value per row. More threads compute more in the same time, but
    read no more from memory together.
    """
    nodes = clusters.graph.nodes
    for cluster in [each for each in clusters.live.values() if each.kind == "row" and products in LIMITS]:
        for number in sorted(cluster.ops, reverse=True):
            node = nodes[number]
            if node.bytes >= LARGE and node.shape == cluster.domain and clusters.home(number) == cluster.number:
                _repeat_in_users(clusters, node, LIMITS[products])


def _repeat_in_users(clusters: Clusters, node: Node, limits: Limits) -> None:
    """Compute a node's rows again in all other fusions that read them, if each of these can."""
    readers = [clusters.live[place] for place in clusters.users_of(node.index)]
    users = [reader for reader in readers if node.index not in reader.ops]
    chains = {user.number: _rows_again(clusters, node, user, limits) for user in users}
    if all(chains.values()):
        for place, chain in chains.items():
            for each in chain:
                clusters.repeat_in(each, [place], Mode.ROW)


def _rows_again(clusters: Clusters, last: Node, cluster: Cluster, limits: Limits) -> list[int]:
    """
    The nodes, users first, that a row fusion computes to have the rows that `last` computes, of values in memory of
    another shape and of what it has; none if it cannot.
    """
    nodes, rows = clusters.graph.nodes, RowShape(cluster.domain, cluster.row_dims)
    if cluster.kind != "row" or last.shape != cluster.domain:
        return []
    found: dict[int, None] = {}
    pending, inputs = [last.index], dict[SSAValue, None]()
    while pending:
        node = nodes[pending.pop()]
        found.pop(node.index, None)  # before all of its users
        found[node.index] = None
        if node.role == "dot":
            suits = RowProducts(clusters, cluster, limits).is_rows(node)
        else:
            suits = rows.role(node) in ("full", "expand", "outer") and node.shape == cluster.domain
        if not suits:
            return []
        for value in node.op.operands:
            number = clusters.graph.index.get(value.op) if isinstance(value, OpResult) else None
            if value in cluster.inputs or is_splat_constant(value) or number in cluster.ops:
                continue
            if shape_of(value) != cluster.domain:
                inputs[value] = None
            elif number is None:
                return []
            else:
                pending.append(number)
    work = sum(nodes[number].cost for number in found if nodes[number].role != "dot")
    fits = len(cluster.inputs) + len(inputs) <= MAX_INPUTS and len(cluster.ops) + len(found) <= MAX_OPS
    less = 2 * sum(map(bytes_of, inputs)) <= last.bytes
    return list(found) if fits and less and work <= MOST_OPERATIONS else []


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
