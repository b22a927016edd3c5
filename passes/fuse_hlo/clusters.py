"""
The planner's working state: the nodes of each cluster, and the dependences between clusters.

A cluster is a fusion under construction. Its number is that of one of its nodes. `reach[c]` is a bit set (a Python
integer) of the clusters that depend on `c`; the bit of a cluster that was merged into another stays set next to the
other's. Two clusters can be merged only if no third cluster is on a path between them: otherwise the fusion would need
its own result.

These sets take space and time that grow with the square of their length. So a long block is cut into windows: clusters
of two windows are never merged, and the sets hold the clusters of one window, which no path leaves and enters again.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from xdsl.ir import SSAValue

from ...hlo_dialect.ops.creation import is_splat_constant
from .graph import LOOP_ROLES, BlockGraph, Node

MAX_OPS = 200
"""Operations in one fusion: with more, register pressure and compile time cost more than memory traffic."""

MAX_LOOP_OPS = 400
"""Operations in one loop or reduction: long expressions ran faster than with 200, and compiled in about that time."""

LOOPS = frozenset({"loop", "reduce"})
"""Kinds of fusions that compute each element on its own."""

MAX_INPUTS = 32
"""Operands of one fusion: the number of streams that address registers and hardware prefetchers can follow."""

MAX_RESULTS = 16
"""Results of one fusion that fill a page: more streams written at once evict each other from the first cache."""

PAGE = 4096
"""Bytes."""

WINDOW = 8192
"""Operations of a block that are planned together, more than most programs have."""


Accesses: TypeAlias = dict[tuple[int, ...], int]
"""
The elements of a node that a fusion computes, by the nodes through which it reads them at another index than its own.

Reads through equal nodes are of equal elements, which a fusion computes once. An empty path is the fusion's own index
in row-major order, at which a node of another shape may be read too.
"""


class Mode(IntEnum):
    """At which index a fusion computes an element of an operation, relative to the index it iterates over."""

    SAME = 0
    """At the same index: may be a result of a loop fusion, or be reduced."""
    MAPPED = 1
    """At an index computed from it, possibly several times: never a result."""
    REDUCED = 2
    """At the reduced index, after the reduction: the reduction itself and its epilogue."""
    ROW = 3
    """Once per row, or once per element of the row."""


@dataclass(slots=True)
class Cluster:
    """A fusion under construction; `kind` is the fusion's, or `host` for an operation that stays outside fusions."""

    number: int
    kind: str
    domain: tuple[int, ...]
    """loop, row: the shape of the results; reduce: the shape that is reduced."""
    ops: dict[int, Mode]
    accesses: dict[int, Accesses]
    """The elements computed per node, including repeated ones."""
    inputs: dict[SSAValue, None]
    read_outside: set[int]
    """Its nodes that fill a page, without those found to be read in it only: each question looks at the others."""
    reduced: tuple[int, ...] = ()
    """reduce: the dimensions that are reduced."""
    result_shape: tuple[int, ...] = ()
    """reduce: the shape of the results."""
    row_dims: int = 0
    repeated: int = 0
    """Operations that the cluster computes more than once."""

    @property
    def elements(self) -> int:
        """The elements of the domain."""
        return math.prod(self.domain)

    def copy(self) -> Cluster:
        """A copy with nodes and inputs of its own."""
        copied = copy.copy(self)
        copied.ops, copied.accesses, copied.inputs = dict(self.ops), dict(self.accesses), dict(self.inputs)
        copied.read_outside = set(self.read_outside)
        return copied


@dataclass
class Clusters:
    """All clusters of a block. `places[n]` are the clusters that compute node n: several if it is duplicated."""

    graph: BlockGraph
    live: dict[int, Cluster] = field(default_factory=dict[int, Cluster])
    places: list[list[int]] = field(default_factory=list[list[int]])
    reach: list[int] = field(default_factory=list[int])
    members: list[int] = field(default_factory=list[int])
    """For each cluster, the bits of all that were merged into it, and its own."""
    most_ops: int = MAX_LOOP_OPS
    """Operations in one loop or reduction."""
    writes_pads: bool = False
    """Whether a padded tensor is written for readers of several places, as for loops of vectors."""

    @staticmethod
    def of(graph: BlockGraph) -> Clusters:
        """The initial state: every node in its own cluster."""
        clusters = Clusters(graph)
        for node in graph.nodes:
            clusters.live[node.index] = single(node)
            clusters.places.append([node.index])
        clusters.reach = [0] * len(graph.nodes)
        for node in reversed(graph.nodes):
            seen = 0
            for user in node.users:
                if _same_window(node.index, user):
                    seen |= clusters.reach[user] | _bit(user)
            clusters.reach[node.index] = seen
        clusters.members = [_bit(node.index) for node in graph.nodes]
        return clusters

    def trial(self, changing: Iterable[int], repeated: Iterable[int] = ()) -> Clusters:
        """
        A copy of the state on which the clusters `changing` may be merged, and compute the nodes `repeated` too.

        It shares the other clusters with this state.
        """
        live, places = dict(self.live), list(self.places)
        for number in changing:
            live[number] = live[number].copy()
            for index in live[number].ops:
                places[index] = list(places[index])
        for index in repeated:
            places[index] = list(places[index])
        return Clusters(self.graph, live, places, list(self.reach), list(self.members), self.most_ops, self.writes_pads)

    def users_of(self, number: int) -> list[int]:
        """The clusters that read node `number`, in the order of its users; its own cluster included."""
        found: dict[int, None] = {}
        for user in self.graph.nodes[number].users:
            for place in self.places[user]:
                found[place] = None
        return list(found)

    def reaches(self, source: int, target: int) -> bool:
        return _same_window(source, target) and bool(self.reach[source] >> target % WINDOW & 1)

    def indirect_path(self, source: Cluster, target: Cluster) -> int | None:
        """A third cluster on a path from `source` to `target`, or None."""
        if not self.reaches(source.number, target.number):
            return None
        for index in source.ops:
            if self.home(index) != source.number:
                continue  # others read it from there
            for user in self.users_of(index):
                if user == source.number or user == target.number or index in self.live[user].ops:
                    continue
                if self.reaches(user, target.number):
                    return user
        return None

    def home(self, number: int) -> int:
        """
        The cluster that provides node `number` to others: the only one that computes it, or the last if it is
        duplicated.
        """
        return self.places[number][-1]

    def mergeable(self, one: Cluster, other: Cluster) -> bool:
        """Whether the two can be merged without a cycle and within the limits."""
        return (
            self.fits(one, other) and self.indirect_path(one, other) is None and self.indirect_path(other, one) is None
        )

    def fits(self, one: Cluster, other: Cluster) -> bool:
        """Whether the two together stay within the limits, and no rule of another package keeps them apart."""
        if len(one.ops) + len(other.ops) > self.bound(one, other) or not _same_window(one.number, other.number):
            return False
        if self.graph.apart and self._kept_apart(one, other):
            return False
        if len(one.ops) + len(other.ops) > MAX_RESULTS and len(self._read_outside(one, other)) > MAX_RESULTS:
            return False
        if len(one.inputs) + len(other.inputs) <= MAX_INPUTS:
            return True
        joined = dict.fromkeys([*one.inputs, *other.inputs])
        inside = [v for v in joined if self._inside(v, one) or self._inside(v, other)]
        return len(joined) - len(inside) <= MAX_INPUTS

    def bound(self, one: Cluster, other: Cluster) -> int:
        """The most operations that the two together may have."""
        return self.most_ops if one.kind in LOOPS and other.kind in LOOPS else MAX_OPS

    def _read_outside(self, one: Cluster, other: Cluster) -> set[int]:
        """The nodes of the two together that others read, and that fill a page."""
        nodes, these, those = self.graph.nodes, one.ops, other.ops
        return {
            index
            for index in one.read_outside | other.read_outside
            if any(user not in these and user not in those for user in nodes[index].users)
        }

    def _kept_apart(self, one: Cluster, other: Cluster) -> bool:
        few, many = (one, other) if len(one.ops) <= len(other.ops) else (other, one)
        nodes, apart, those = self.graph.nodes, self.graph.apart, many.ops
        return any(
            any(user in those and (index, user) in apart for user in nodes[index].users)
            or any(producer in those and (producer, index) in apart for producer in nodes[index].operands)
            for index in few.ops
        )

    def _inside(self, value: SSAValue, cluster: Cluster) -> bool:
        number = self.graph.index.get(value.owner)  # pyright: ignore[reportArgumentType, reportCallIssue]
        return number is not None and number in cluster.ops

    def absorb(self, keep: Cluster, gone: Cluster) -> None:
        """Merge `gone` into `keep`: nodes, inputs and reachability. The caller sets the modes that change."""
        for index, mode in gone.ops.items():
            keep.ops[index] = min(mode, keep.ops.get(index, mode))
            keep.accesses[index] = {**gone.accesses[index], **keep.accesses.get(index, {})}
            places = self.places[index]
            places[places.index(gone.number)] = keep.number
            if len(places) > 1:  # the last place stays last: it is the node's home
                self.places[index] = list(dict.fromkeys(reversed(places)))[::-1]
        keep.inputs.update(gone.inputs)
        self._drop_inner_inputs(keep)
        keep.read_outside = self._read_outside(keep, gone)
        keep.repeated += gone.repeated
        del self.live[gone.number]
        self._joined_reach(keep.number, (gone.number,))

    def _drop_inner_inputs(self, cluster: Cluster) -> None:
        for value in [v for v in cluster.inputs if self._inside(v, cluster)]:
            del cluster.inputs[value]

    def _joined_reach(self, keep: int, gone: Iterable[int]) -> None:
        reach = self.reach
        own = self.members[keep]
        union = reach[keep] | own
        members = own
        all_above = True
        for number in gone:
            union |= reach[number]
            members |= self.members[number]
            all_above = all_above and self.reaches(number, keep)
        self.members[keep] = members
        if all_above and union & ~members == reach[keep] & ~members:
            return  # whatever reaches a new member already reaches all that the cluster reaches
        reach[keep] = union & ~members
        # Sets of other windows have nothing to do with these.
        first, end = keep - keep % WINDOW, keep - keep % WINDOW + WINDOW
        for number in self.live:
            if first <= number < end and reach[number] & members and number != keep:
                reach[number] |= union

    def duplicate(self, number: int, targets: dict[int, tuple[Mode, Accesses]]) -> None:
        """Compute node `number` in each of the clusters `targets`, with these modes, instead of in its own cluster."""
        self.places[number] = [*(place for place in self.places[number] if place != number), *targets]
        own = self.live.pop(number)
        for target, (mode, accesses) in targets.items():
            self._compute_in(self.live[target], own, mode, accesses)

    def repeat_in(self, number: int, targets: Iterable[int], mode: Mode) -> None:
        """Compute node `number`, which another cluster provides, in each of the clusters `targets` too."""
        own = single(self.graph.nodes[number])
        for target in targets:
            self.places[number].insert(0, target)
            self._compute_in(self.live[target], own, mode, own.accesses[number])

    def compute_apart(self, number: int, readers: Iterable[int]) -> None:
        """Compute node `number`, which another cluster has, in a cluster of its own too, for the clusters `readers`."""
        home = self.home(number)
        self.live[number] = own = single(self.graph.nodes[number])
        self.members[home] &= ~_bit(number)
        self.members[number] = _bit(number)
        self.places[number].append(number)
        self.reach[number] = 0
        for place in readers:
            if _same_window(number, place):
                self.reach[number] |= self.reach[place] | self.members[place]
        if _same_window(home, number) and any(self._inside(value, self.live[home]) for value in own.inputs):
            self.reach[home] |= _bit(number) | self.reach[number]

    def _compute_in(self, cluster: Cluster, own: Cluster, mode: Mode, accesses: Accesses) -> None:
        cluster.ops[own.number] = mode
        cluster.accesses[own.number] = accesses
        cluster.inputs.update(own.inputs)
        cluster.read_outside |= own.read_outside
        self._drop_inner_inputs(cluster)

    def release(self, number: int, cluster: Cluster) -> None:
        """
        Move a node at the border of `cluster` to a cluster of its own.

        It gets one even if other clusters compute it too: they may compute it at another index and so cannot provide
        it.
        """
        del cluster.ops[number]
        cluster.read_outside.discard(number)
        nodes = self.graph.nodes
        cluster.read_outside |= {i for i in nodes[number].operands if i in cluster.ops and nodes[i].bytes >= PAGE}
        if number == cluster.number:
            # The node's own cluster takes the number.
            self._renumber(cluster, next((i for i in cluster.ops if i not in self.live), -1 - number))
        self.places[number].remove(cluster.number)
        if number not in self.places[number]:
            self.places[number].append(number)
            self.live[number] = single(self.graph.nodes[number])

    def _renumber(self, cluster: Cluster, number: int) -> None:
        del self.live[cluster.number]
        # The node that is released is no longer among its operations.
        for index in (*cluster.ops, cluster.number):
            places = self.places[index]
            places[places.index(cluster.number)] = number
        cluster.number = number
        self.live[number] = cluster

    def group(self, members: list[int]) -> Cluster:
        """Merge single-node clusters into the first; the caller has found them mergeable on a copy of this state."""
        keep = self.live[members[0]]
        for number in members[1:]:
            gone = self.live.pop(number)
            keep.ops.update(gone.ops)
            keep.accesses.update(gone.accesses)
            keep.inputs.update(gone.inputs)
            keep.read_outside |= gone.read_outside
            self.places[number] = [keep.number]
        self._drop_inner_inputs(keep)
        self._joined_reach(keep.number, members[1:])
        return keep


def _same_window(one: int, other: int) -> bool:
    return one // WINDOW == other // WINDOW


def _bit(number: int) -> int:
    return 1 << number % WINDOW


def single(node: Node) -> Cluster:
    """The cluster that consists of one node."""
    kind, mode, domain = "host", Mode.SAME, node.shape
    match node.role:
        case "reduce":
            kind, mode, domain = "reduce", Mode.REDUCED, node.operand_shape
        case "dot" | "update" | "concatenate" | "custom":
            kind = node.role
        case "reshape" | "host" | "constant" | "dead":
            kind = "host"
        case role:
            assert role in LOOP_ROLES, f"role {role} has no fusion kind"
            kind = "loop"
    inputs = dict.fromkeys(v for v in node.op.operands if not is_splat_constant(v))
    return Cluster(
        node.index,
        kind,
        domain,
        {node.index: mode},
        {node.index: {(): node.elements}},
        inputs,
        {node.index} if node.bytes >= PAGE else set(),
        reduced=node.dims if kind == "reduce" else (),
        result_shape=node.shape,
    )
