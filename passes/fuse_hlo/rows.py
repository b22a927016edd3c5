"""
Row fusions: reductions over the trailing dimensions, with the operations around them that work on the same rows.

A softmax reads its input for the maximum, for the sum, and for the quotient. One kernel over rows reads each input once
and writes each output once, because a row stays in the cache between the steps. A loss and its gradient share rows in
the same way, without a step that reads the sum. Row fusions are formed before loops and reductions, which would take
their operations.

For rows of shape `lead + trailing`, an operation takes part as

* full: elementwise or iota, of the shape of all rows;
* lead: one value per row, elementwise or with added dimensions of one element;
* expand: a broadcast of a lead value along its row;
* outer: a broadcast of a value from outside the fusion;
* reduce: a reduction of exactly the trailing dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import TensorType

from ...dialects.cost import F32_BYTES
from ...hlo_dialect.op import CHEAP
from ...hlo_dialect.types import shape_of
from ...lowering.device.cpu import CPU
from .clusters import Cluster, Clusters, Mode
from .graph import BlockGraph, Node

RowRole = Literal["full", "lead", "expand", "outer", "reduce"]

MIN_ROWS = 8
"""Fewer rows than this leave threads idle, which costs more than the memory traffic if rows are long."""

LONG_ROW = CPU.l2_bytes // 4 // F32_BYTES
"""A row with more elements does not stay in its quarter of the L2 cache between the steps."""


LEAST_SHARED = 16
"""Elements of a row from which a reduction joins the rows only to share what both compute."""


@dataclass(frozen=True, slots=True)
class RowShape:
    """The rows of one row fusion: the shape of all rows together, and the number of dimensions that index them."""

    shape: tuple[int, ...]
    row_dims: int

    @staticmethod
    def of(node: Node) -> RowShape | None:
        """The rows of a reduction over trailing dimensions, but not all of them; None for other reductions."""
        rank, count = len(node.operand_shape), len(node.dims)
        trailing = 1 <= count < rank and tuple(sorted(node.dims)) == tuple(range(rank - count, rank))
        return RowShape(node.operand_shape, rank - count) if trailing else None

    @property
    def lead(self) -> tuple[int, ...]:
        return self.shape[: self.row_dims]

    def is_lead(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor of `shape` has one element per row."""
        count = self.row_dims
        return shape[:count] == self.lead and math.prod(shape[count:]) == 1

    def role(self, node: Node) -> RowRole | None:
        """The node's part in a fusion over these rows, or None."""
        match node.role:
            case "elementwise" | "iota":
                if node.shape == self.shape:
                    return "full"
                return "lead" if self.is_lead(node.shape) else None
            case "reshape":
                both = self.is_lead(node.shape) and self.is_lead(shape_of(node.op.operands[0]))
                return "lead" if both else None
            case "broadcast":
                in_place = node.dims[: self.row_dims] == tuple(range(self.row_dims))
                if not in_place or not self.is_lead(node.operand_shape):
                    return "outer" if node.shape == self.shape or self.is_lead(node.shape) else None
                if node.shape == self.shape:
                    return "expand"
                return "lead" if self.is_lead(node.shape) else None
            case "reduce":
                return "reduce" if RowShape.of(node) == self else None
            case _:
                return None


def row_shapes(graph: BlockGraph) -> list[RowShape]:
    """The row shapes of the block's reductions, in program order."""
    reductions = (node for node in graph.nodes if node.role == "reduce" and 0 not in node.operand_shape)
    return list(dict.fromkeys(row for node in reductions if (row := RowShape.of(node)) is not None))


def too_few_rows(row: RowShape) -> str | None:
    """Why rows of this shape are not worth a kernel, or None."""
    rows, length = math.prod(row.lead), math.prod(row.shape[row.row_dims :])
    if rows < MIN_ROWS and length > LONG_ROW:
        return f"{rows} rows of {length} elements would leave threads idle"
    if length == 1:
        return "the rows have one element"
    return None


class RowFusion:
    """Finds the row fusions over rows of one shape and makes clusters of them."""

    def __init__(self, clusters: Clusters, row: RowShape):
        self.clusters = clusters
        self.nodes = clusters.graph.nodes
        self.row = row
        self.roles: dict[int, RowRole] = {}
        for node in self.nodes:
            cluster = clusters.live.get(node.index)
            if cluster is None or cluster.kind == "row" or node.index not in cluster.ops or len(cluster.ops) > 1:
                continue
            role = row.role(node)
            if role is not None:
                self.roles[node.index] = role

    def run(self) -> None:
        reductions = [index for index, role in self.roles.items() if role == "reduce"]
        seeds = [index for index in reductions if self._comes_back(index) or self._shares(index, self.roles)]
        if not seeds:
            return
        trial = self._trial(self._connected(seeds))
        for cluster in trial.live.values():
            fed = any(self.roles.get(i) == "expand" and self._is_fed(i, cluster) for i in cluster.ops)
            shares = any(self.roles.get(i) == "reduce" and self._shares(i, cluster.ops) for i in cluster.ops)
            if (fed or shares) and self._saves(cluster):
                self._commit(sorted(cluster.ops))

    def _shares(self, reduction: int, inside: Container[int]) -> bool:
        """Whether the rows' own elements are computed from something costly that the reduction needs too."""
        if self.row.shape[-1] < LEAST_SHARED:
            return False
        pending, before = [reduction], {reduction}
        while pending:
            for operand in self.nodes[pending.pop()].operands:
                if operand in inside and operand not in before and self.roles.get(operand) == "full":
                    before.add(operand)
                    pending.append(operand)
        costly: set[int] = set()
        for index in sorted(before - {reduction}):
            node = self.nodes[index]
            if node.cost <= CHEAP and costly.isdisjoint(node.operands):
                continue
            if any(user in inside and user not in before and self.roles.get(user) == "full" for user in node.users):
                return True
            costly.add(index)
        return False

    def _saves(self, cluster: Cluster) -> bool:
        """
        Whether the rows are read from memory, or what is reduced costs more than that.

        Rows that are computed cheaply from broadcasts, such as differences of all pairs of points, are computed again
        for each step, in loops over all rows.
        """
        shape = self.row.shape
        if any(isinstance(value.type, TensorType) and shape_of(value) == shape for value in cluster.inputs):
            return True
        pending = [i for i in cluster.ops if self.roles.get(i) == "reduce"]
        before = set(pending)
        while pending:
            for operand in self.nodes[pending.pop()].operands:
                if operand in cluster.ops and operand not in before:
                    before.add(operand)
                    pending.append(operand)
        return any(self.roles.get(i) == "full" and self.nodes[i].cost > CHEAP for i in before)

    def _comes_back(self, seed: int) -> bool:
        """Whether the reduction's result is broadcast back along its rows."""
        pending, seen = [seed], {seed}
        while pending:
            for user in self.nodes[pending.pop()].users:
                role = self.roles.get(user)
                if role == "expand":
                    return True
                if role == "lead" and user not in seen:
                    seen.add(user)
                    pending.append(user)
        return False

    def _connected(self, seeds: list[int]) -> list[int]:
        """The nodes with a role that are connected to the seeds by edges that can be inside a row fusion."""
        seen, pending = set(seeds), list(seeds)
        while pending:
            index = pending.pop()
            node = self.nodes[index]
            around = [user for user in node.users if self._inner(index, user)]
            around += [operand for operand in node.operands if self._inner(operand, index)]
            for other in around:
                if other not in seen:
                    seen.add(other)
                    pending.append(other)
        return sorted(seen)

    def _inner(self, producer: int, user: int) -> bool:
        """Whether the edge can be inside a fusion over these rows."""
        roles = self.roles
        if producer not in roles or user not in roles:
            return False
        source, target = self.nodes[producer], self.nodes[user]
        match roles[user]:
            case "expand":
                return roles[producer] in ("lead", "reduce")
            case "outer":
                return False
            case "full":
                return source.shape == self.row.shape
            case "lead":
                return self.row.is_lead(source.shape) and (target.role != "elementwise" or source.shape == target.shape)
            case "reduce":
                count = len(target.op.results)
                values = target.op.operands
                return (
                    all(value not in values[count:] for value in source.op.results) and source.shape == self.row.shape
                )

    def _trial(self, members: list[int]) -> Clusters:
        """Merge the members with their users as far as legal, on a copy of the state."""
        places = self.clusters.places
        trial = self.clusters.trial({places[index][0]: None for index in members})
        allowed = set(members)
        for index in reversed(members):
            for user in self.nodes[index].users:
                if user not in allowed or not self._inner(index, user):
                    continue
                own, other = trial.live[trial.places[index][0]], trial.live[trial.places[user][0]]
                if own is not other and self._is_legal(trial, own, other):
                    trial.absorb(other, own)
        return trial

    def _is_legal(self, trial: Clusters, one: Cluster, other: Cluster) -> bool:
        if not trial.mergeable(one, other):
            return False
        for source, target in ((one, other), (other, one)):
            if not trial.reaches(source.number, target.number):
                continue
            for index in source.ops:
                if any(u in target.ops and not self._inner(index, u) for u in self.nodes[index].users):
                    return False
        return True

    def _is_fed(self, expand: int, cluster: Cluster) -> bool:
        """Whether a reduction of the cluster reaches the broadcast through its lead operations."""
        pending = [expand]
        seen: set[int] = set()
        while pending:
            for operand in self.nodes[pending.pop()].operands:
                if operand not in cluster.ops or operand in seen:
                    continue
                seen.add(operand)
                if self.roles[operand] == "reduce":
                    return True
                if self.roles[operand] == "lead":
                    pending.append(operand)
        return False

    def _commit(self, members: list[int]) -> None:
        cluster = self.clusters.group(members)
        cluster.kind = "row"
        cluster.domain, cluster.row_dims = self.row.shape, self.row.row_dims
        for index in cluster.ops:
            cluster.ops[index] = Mode.ROW


def fuse_rows(clusters: Clusters) -> None:
    """Make the row fusions over rows of each shape, in program order of their first reductions."""
    for row in row_shapes(clusters.graph):
        if too_few_rows(row) is None:
            RowFusion(clusters, row).run()
