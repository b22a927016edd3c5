"""
Sibling fusion: merge fusions over the same indices that read the same large value into one with several results.

Producer fusion unites the users of a value that it can compute inside them. Here the shared value comes from memory (an
argument, a contraction's result), and the only gain is reading it once instead of twice.
"""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from ...hlo_dialect.types import shape_of
from .clusters import Cluster, Clusters
from .producers import can_unite, signature


def fuse_siblings(clusters: Clusters) -> None:
    """Merge loop and reduce fusions with the same signature that share an operand of the shape of their domain."""
    readers: dict[SSAValue, list[int]] = {}
    for number, cluster in clusters.live.items():
        if cluster.kind in ("loop", "reduce"):
            for value in cluster.inputs:
                readers.setdefault(value, []).append(number)
    merged_into: dict[int, int] = {}
    for value, numbers in readers.items():
        if len(numbers) > 1:
            _unite_readers(clusters, value, numbers, merged_into)


def _unite_readers(clusters: Clusters, value: SSAValue, numbers: list[int], merged_into: dict[int, int]) -> None:
    first: dict[tuple[object, ...], Cluster] = {}
    for number in sorted(numbers):
        while number in merged_into:
            number = merged_into[number]
        cluster = clusters.live[number]
        type_: Attribute = value.type
        if not isinstance(type_, TensorType) or shape_of(value) != cluster.domain:
            continue
        keep = first.setdefault(signature(cluster), cluster)
        if keep is not cluster and can_unite(clusters, keep, cluster):
            clusters.absorb(keep, cluster)
            merged_into[cluster.number] = keep.number
