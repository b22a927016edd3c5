"""Why each producer is or is not in one fusion with each of its users: the planner's decisions in words."""

from __future__ import annotations

from collections.abc import Iterator

from ...hlo_dialect.diagnostics import Diagnostic
from .clusters import MAX_INPUTS, MAX_OPS, Cluster, Clusters
from .cost import size_in_words
from .graph import LOOP_ROLES, Node
from .producers import ProducerFusion
from .rows import RowShape, too_few_rows

_COMPUTED: frozenset[str] = LOOP_ROLES | {"reduce", "dot", "update", "concatenate", "custom"}


def remarks(clusters: Clusters) -> Iterator[Diagnostic]:
    """One remark for each operation that is fused with users, one for each user that it is not fused with."""
    rules = ProducerFusion(clusters)
    nodes = clusters.graph.nodes
    for node in nodes:
        if node.role not in _COMPUTED or node.role == "reshape":
            continue
        places = clusters.places[node.index]
        apart: list[Node] = []
        for user in node.users:
            if nodes[user].role in _COMPUTED and not all(
                node.index in clusters.live[place].ops for place in clusters.places[user]
            ):
                apart.append(nodes[user])
        for place in places:
            text = _fused(clusters, node, clusters.live[place])
            if text:
                yield Diagnostic("remark", text, node.op.location)
        for user in apart:
            reason = _reason(clusters, rules, node, user)
            yield Diagnostic("remark", f"not fused {node.op.name} with {user.op.name}: {reason}", node.op.location)


def _fused(clusters: Clusters, node: Node, cluster: Cluster) -> str | None:
    users = [clusters.graph.nodes[user] for user in node.users if user in cluster.ops]
    if not users:
        return None
    stays = any(user not in cluster.ops for user in node.users) and clusters.home(node.index) == cluster.number
    saved = node.bytes * (len(users) + (0 if stays else 1))
    kind = f"{cluster.kind} fusion of {users[-1].op.name}"
    again = " again" if len(clusters.places[node.index]) > 1 else ""
    return f"fused {node.op.name}{again} into the {kind}: saves {size_in_words(saved)}"


def _reason(clusters: Clusters, rules: ProducerFusion, node: Node, user: Node) -> str:
    target = clusters.live[clusters.home(user.index)]
    own = clusters.live[clusters.home(node.index)]
    fit = rules.fit(node, target) if own.kind != "row" else None
    if isinstance(fit, str):
        few = _few_rows(node)
        return f"{fit}; {few}" if few and node.role == "reduce" else fit
    if not clusters.fits(own, target):
        return f"the fusion would have more than {MAX_OPS} operations or {MAX_INPUTS} operands"
    between = clusters.indirect_path(own, target)
    if between is not None:
        other = clusters.graph.nodes[max(clusters.live[between].ops)].op.name
        return f"{other} needs the one and is needed by the other"
    if own.kind == "row":
        return "its row fusion ends here: the user does not work on the same rows"
    readers = len(clusters.users_of(node.index))
    return f"{readers} fusions use it, and computing it in each costs more than keeping it"


def _few_rows(node: Node) -> str | None:
    rank, count = len(node.operand_shape), len(node.dims)
    if not 1 <= count < rank or tuple(sorted(node.dims)) != tuple(range(rank - count, rank)):
        return None
    return too_few_rows(RowShape(node.operand_shape, rank - count))
