"""
The fusion plan of a block: decided on clusters and fixed before anything is rewritten.

`plan_block` only analyses. It orders its steps so that the inputs of each are computed before it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Literal

from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...dialects.support.kernel import UNREAD
from ...hlo_dialect.ops.creation import is_splat_constant, is_splat_op
from ...hlo_dialect.types import shape_of
from .clusters import MAX_LOOP_OPS, Cluster, Clusters
from .decisions import Decision, decisions
from .graph import BlockGraph
from .producers import ProducerFusion
from .repeats import repeat_broadcasts, repeat_indices, repeat_large_rows, repeat_values
from .row_products import fuse_row_products
from .rows import fuse_rows
from .siblings import fuse_siblings

Strategy = Literal["default", "none"]

_MEMORY_KINDS = frozenset({"host", "dot", "custom"})
"""Kinds of steps that read all operands from memory, splat constants too; custom ones contain scalar constants."""


@dataclass(frozen=True)
class Step:
    """One fusion to build, with its operations in program order, or one operation that stays outside."""

    kind: str
    """The fusion's kind, or `host`."""
    ops: tuple[Operation, ...]
    inputs: tuple[SSAValue, ...] = ()
    outputs: tuple[SSAValue, ...] = ()
    moved: frozenset[Operation] = frozenset()
    """The operations to move into the fusion; the others are cloned because another step contains them too."""
    row_dims: int = 0


@dataclass(frozen=True)
class BlockPlan:
    """The steps that replace a block, the decisions that led to them, and the operations unknown to fusion."""

    steps: tuple[Step, ...]
    decisions: tuple[Decision, ...] = ()
    unknown: tuple[Operation, ...] = ()


def plan_block(
    block: Block,
    strategy: Strategy,
    products: str = "packed",
    factors: bool = True,
    most_ops: int = MAX_LOOP_OPS,
    remarks: bool = True,
) -> BlockPlan:
    """
    Partition the block's operations into fusions; `products`: how row fusions take in products of their rows;
    `factors`: whether products take in what their factors are read through, and padded tensors are written if several
    places of them are read; `most_ops`: of one loop or reduction; `remarks`: whether the plan has its decisions.
    """
    graph = BlockGraph(block)
    if graph.unknown_ops:
        return BlockPlan((), (), tuple(graph.unknown_ops))
    clusters = Clusters.of(graph)
    clusters.most_ops, clusters.writes_pads = most_ops, factors
    decided: tuple[Decision, ...] = ()
    if strategy == "default":
        fuse_rows(clusters)
        fuse_row_products(clusters, products)
        repeat_large_rows(clusters, products)
        repeat_values(clusters)
        repeat_broadcasts(clusters)
        repeat_indices(clusters)
        clusters = _fuse_producers(clusters)
        fuse_siblings(clusters, factors)
        decided = tuple(decisions(clusters)) if remarks else ()
        _peel_reshapes(clusters)
    return BlockPlan(tuple(_Steps(clusters).build()), decided)


def _fuse_producers(clusters: Clusters) -> Clusters:
    """Run producer fusion; returns the state after it, `clusters` or a copy."""
    if len(clusters.graph.nodes) <= clusters.most_ops:
        ProducerFusion(clusters).run()
        return clusters
    # Most programs have no fusion to cut.
    from .borders import fuse_producers

    return fuse_producers(clusters)


def _peel_reshapes(clusters: Clusters) -> None:
    """Move reshapes at the border of a fusion out of it: outside they are free because the buffer is the same."""
    nodes = clusters.graph.nodes
    for cluster in list(clusters.live.values()):
        reshapes = [i for i in sorted(cluster.ops) if nodes[i].role == "reshape"]
        if len(cluster.ops) == 1:
            continue
        for number in reshapes:
            if not any(operand in cluster.ops for operand in nodes[number].operands):
                clusters.release(number, cluster)
        for number in reversed(reshapes):
            if number in cluster.ops and not any(user in cluster.ops for user in nodes[number].users):
                clusters.release(number, cluster)


class _Steps:
    """Orders the clusters and makes a step from each."""

    def __init__(self, clusters: Clusters):
        self.clusters = clusters
        self.graph = clusters.graph
        self.nodes = clusters.graph.nodes

    def build(self) -> list[Step]:
        steps: list[Step] = []
        for cluster in self._ordered():
            first = self.nodes[next(iter(cluster.ops))]
            if first.role == "dead":
                continue
            if first.role == "constant":
                steps.extend(self._constant(first.index))
            elif cluster.kind == "host":
                steps.append(Step("host", (first.op,)))
            else:
                steps.append(self._fusion(cluster))
        return steps

    def _ordered(self) -> list[Cluster]:
        """Producers before users; among ready clusters, the one that ends first in the program."""
        clusters, live = self.clusters, self.clusters.live
        waiting: dict[int, int] = {}
        readers: dict[int, list[int]] = {number: [] for number in live}
        for number, cluster in live.items():
            sources = {
                clusters.home(operand)
                for index in cluster.ops
                for operand in self.nodes[index].operands
                if operand not in cluster.ops
            }
            waiting[number] = len(sources)
            for source in sources:
                readers[source].append(number)
        last = {number: max(cluster.ops) for number, cluster in live.items()}
        ready = [(last[number], number) for number, count in waiting.items() if count == 0]
        heapq.heapify(ready)
        ordered: list[Cluster] = []
        while ready:
            _, number = heapq.heappop(ready)
            ordered.append(live[number])
            for reader in readers[number]:
                waiting[reader] -= 1
                if waiting[reader] == 0:
                    heapq.heappush(ready, (last[reader], reader))
        assert len(ordered) == len(live), "the fusion plan has a cycle"
        return ordered

    def _constant(self, number: int) -> list[Step]:
        """A constant stays outside for users that read it from memory; a fusion fills a large splat."""
        op = self.nodes[number].op
        if not is_splat_op(op) or UNREAD in op.attributes:
            return [Step("host", (op,))]
        if not any(self._from_memory(op.results[0], place) for place in self.clusters.users_of(number)):
            return []
        if self.nodes[number].elements == 1:
            return [Step("host", (op,))]
        return [Step("loop", (op,), (), tuple(op.results), frozenset())]

    def _from_memory(self, value: SSAValue, place: int) -> bool:
        cluster = self.clusters.live[place]
        if cluster.kind in _MEMORY_KINDS:
            return cluster.kind != "custom" or shape_of(value) != ()
        return cluster.kind == "update" and self.nodes[next(iter(cluster.ops))].op.operands[0] is value

    def _fusion(self, cluster: Cluster) -> Step:
        ops = [self.nodes[i].op for i in sorted(cluster.ops)]
        inside = {result for op in ops for result in op.results}
        inputs: dict[SSAValue, None] = {}
        if cluster.kind == "update":
            inputs[ops[-1].operands[0]] = None  # the first operand's buffer is the result's
        for op in ops:
            for value in op.operands:
                if value in inside or value in inputs:
                    continue
                if not is_splat_constant(value) or self._from_memory(value, cluster.number):
                    inputs[value] = None
        outputs = [result for op in ops for result in op.results if self._is_output(result, cluster)]
        moved = frozenset(op for op in ops if self.clusters.home(self.graph.index[op]) == cluster.number)
        return Step(cluster.kind, tuple(ops), tuple(inputs), tuple(outputs), moved, cluster.row_dims)

    def _is_output(self, result: OpResult, cluster: Cluster) -> bool:
        number = self.graph.index[result.op]
        if self.clusters.home(number) != cluster.number:
            return False
        for use in result.uses:
            user = self.graph.index.get(use.operation)
            if user is None:  # inside a region of a control flow operation
                outer = self.graph.block.find_ancestor_op_in_block(use.operation)
                user = None if outer is None else self.graph.index[outer]
            if user is None or self.nodes[user].role == "dead":
                continue
            if any(number not in self.clusters.live[place].ops for place in self.clusters.places[user]):
                return True
        return False
