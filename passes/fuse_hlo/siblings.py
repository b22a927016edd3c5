"""
Sibling fusion: merge fusions over the same indices that read the same large value into one with several results.

Producer fusion unites the users of a value that it can compute inside them. Here the shared value comes from memory (an
argument, a contraction's result), and the gain is reading it once instead of twice, or, where each fusion takes another
part of it, one kernel instead of two.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, OpResult, SSAValue

from ...hlo_dialect.types import shape_of
from .clusters import Cluster, Clusters
from .factors import is_reversal
from .producers import can_unite, signature


def fuse_siblings(clusters: Clusters, factors: bool) -> None:
    """
    Merge fusions with the same signature that share an operand: reductions one of the shape of their domain, loops one
    of at least as many elements. `factors`: what reverses filters moves into the convolutions that read them instead.
    """
    readers: dict[SSAValue, list[int]] = {}
    for number, cluster in clusters.live.items():
        if cluster.kind in ("loop", "reduce") and not (factors and is_reversal(cluster, clusters)):
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
        if not _is_shared(value, cluster, clusters):
            continue
        keep = first.setdefault(signature(cluster), cluster)
        if keep is cluster:
            continue
        if can_unite(clusters, keep, cluster):
            clusters.absorb(keep, cluster)
            merged_into[cluster.number] = keep.number
        elif not clusters.fits(keep, cluster):
            first[signature(cluster)] = cluster  # the other is full


def _is_shared(value: SSAValue, cluster: Cluster, clusters: Clusters) -> bool:
    """Whether sharing an operand is a reason to merge the cluster with another."""
    type_: Attribute = value.type
    if not isinstance(type_, TensorType):
        return False
    shape = shape_of(value)
    if shape == cluster.domain:
        return True
    # A loop may be the epilogue of a product of its own.
    return (
        cluster.kind == "loop"
        and math.prod(shape) >= cluster.elements > 0
        and not any(other is not value and _is_product(other, clusters) for other in cluster.inputs)
    )


def _is_product(value: SSAValue, clusters: Clusters) -> bool:
    number = clusters.graph.index.get(value.op) if isinstance(value, OpResult) else None
    return number is not None and clusters.graph.nodes[number].role in ("dot", "custom")
