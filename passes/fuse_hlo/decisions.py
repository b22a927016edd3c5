"""Why each producer is or is not fused with each of its users: data until it is printed as a remark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from xdsl.ir import Operation

from ...hlo_dialect.diagnostics import Diagnostic
from .clusters import MAX_INPUTS, MAX_RESULTS, Cluster, Clusters
from .graph import LOOP_ROLES, Node
from .producers import ProducerFusion
from .rows import RowShape, too_few_rows

_COMPUTED: frozenset[str] = LOOP_ROLES | {"reduce", "dot", "update", "concatenate", "custom"}


class Verdict(Enum):
    """The outcome of a decision about a producer and a user."""

    FUSED = "fused {node} into the {fusion} fusion of {user}: saves {saved}"
    REPEATED = "fused {node} again into the {fusion} fusion of {user}: saves {saved}"
    EPILOGUE = "fused {node} with {user}, its epilogue: saves {saved}"
    APART = "not fused {node} with {user}: {reason}"


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict and the operations that it concerns; these outlive the rewrite, detached from the module."""

    verdict: Verdict
    node: Operation
    user: Operation
    """The user; the last one if a fusion holds several."""
    fusion: str = ""
    """FUSED, REPEATED: the kind of the fusion."""
    saved: int = 0
    """Bytes of memory traffic saved; all verdicts but APART."""
    reason: str = ""
    """APART: the reason."""

    def remark(self) -> Diagnostic:
        """The decision in words, at the producer."""
        text = self.verdict.value.format(
            node=self.node.name,
            user=self.user.name,
            fusion=self.fusion,
            saved=size_in_words(self.saved),
            reason=self.reason,
        )
        return Diagnostic("remark", text, self.node.location)


def decisions(clusters: Clusters) -> Iterator[Decision]:
    """One decision per fusion that computes both a producer and its users, and one per user outside them."""
    rules = ProducerFusion(clusters)
    nodes = clusters.graph.nodes
    for node in nodes:
        if node.role not in _COMPUTED or node.role == "reshape":
            continue
        places = clusters.places[node.index]
        for place in places:
            yield from _fused(clusters, node, clusters.live[place])
        for user in node.users:
            if nodes[user].role in _COMPUTED and not all(
                node.index in clusters.live[place].ops for place in clusters.places[user]
            ):
                reason = _reason(clusters, rules, node, nodes[user])
                yield Decision(Verdict.APART, node.op, nodes[user].op, reason=reason)


def _fused(clusters: Clusters, node: Node, cluster: Cluster) -> Iterator[Decision]:
    users = [clusters.graph.nodes[user] for user in node.users if user in cluster.ops]
    if not users:
        return
    stays = any(user not in cluster.ops for user in node.users) and clusters.home(node.index) == cluster.number
    saved = node.bytes * (len(users) + (0 if stays else 1))
    verdict = Verdict.REPEATED if len(clusters.places[node.index]) > 1 else Verdict.FUSED
    yield Decision(verdict, node.op, users[-1].op, cluster.kind, saved)


def _reason(clusters: Clusters, rules: ProducerFusion, node: Node, user: Node) -> str:
    pair, graph = (node.index, user.index), clusters.graph
    known = graph.apart.get(pair) or graph.refused.get(pair)
    if known:
        return known
    target = clusters.live[clusters.home(user.index)]
    own = clusters.live[clusters.home(node.index)]
    fit = rules.fit(node, target) if own.kind != "row" else None
    if isinstance(fit, str):
        few = _few_rows(node)
        return f"{fit}; {few}" if few and node.role == "reduce" else fit
    if not clusters.fits(own, target):
        most = clusters.bound(own, target)
        return f"the fusion would have more than {most} operations, {MAX_INPUTS} operands or {MAX_RESULTS} results"
    between = clusters.indirect_path(own, target)
    if between is not None:
        other = clusters.graph.nodes[max(clusters.live[between].ops)].op.name
        return f"{other} needs the one and is needed by the other"
    if own.kind == "row":
        return "its row fusion ends here: the user does not work on the same rows"
    readers = len(clusters.users_of(node.index))
    return f"{readers} fusions use it, and computing it in each costs more than keeping it"


def _few_rows(node: Node) -> str | None:
    row = RowShape.of(node)
    return None if row is None else too_few_rows(row)


def size_in_words(count: int) -> str:
    """A byte count as printed in a remark: exact below 10,000, then in KB (1000 bytes) or MB (1,000,000 bytes)."""
    if count < 10_000:
        return f"{count} bytes"
    if count < 10_000_000:
        return f"{count / 1000:.1f} KB"
    return f"{count / 1_000_000:.1f} MB"
