"""
Producer-consumer fusion: the planner's step that forms loop, reduce and concatenate fusions.

Nodes are visited from the last to the first, so that all users of a node are decided before it. It then

1. joins the only fusion that uses it, if that computes it at most as often as the cost model allows;
2. or, if several loop fusions over one domain use it, merges them into one fusion with several results;
3. or is computed in each of them, if that is cheaper than writing and reading it;
4. or joins one of them and becomes an additional result of it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ...dialects.cost import ELEMENTARY, F32_BYTES, Cost
from ...hlo_dialect.op import CHEAP, FREE
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from ...hlo_dialect.ops.slicing import PadOp
from ...hlo_dialect.types import shape_of
from ...lowering.device.cpu import CPU
from .clusters import Accesses, Cluster, Clusters, Mode
from .graph import LOOP_ROLES, Node
from .sources import Sources

if TYPE_CHECKING:
    from ...hlo_dialect.ops.gather import GatherOp

FAR = 8 << 20
"""Bytes of a value that its users read from memory, so that they may rather compute an elementary function again."""

MOST_ACCESSES = 32
"""Indices at which a fusion reads a value that are told apart; values read in more places are seldom worth it."""

MANY_PADDED = 1 << 12
"""Elements of a padded tensor from which writing it takes less time than comparing indices in each place it is read."""

MOST_SURROUNDED = 2
"""Elements of a padded tensor for each one inside, up to which the others do not count."""

LEAST_RUN = 16
"""Neighbouring elements that fill a loop's vectors: fewer are padded by a copy of many of them."""

OFTEN = 4
"""Times that places of single elements are computed, from which reading them takes less time."""

FEW = 64
"""A small part of a tensor's elements is one in so many."""

NEGLIGIBLE = CPU.operations_in(CPU.launch_ns)
"""The number of repeated operations that take no longer than launching another kernel."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How a node would be computed inside a cluster."""

    mode: Mode
    accesses: Accesses
    is_result: bool
    """Whether the node can be a result of the cluster too."""


class ProducerFusion:
    """Runs the step on `clusters`; afterwards `fit` also explains why a producer and a user are not fused."""

    def __init__(self, clusters: Clusters):
        self.clusters = clusters
        self.nodes = clusters.graph.nodes

    def run(self) -> None:
        for node in reversed(self.nodes):
            if node.role not in LOOP_ROLES and node.role not in ("reduce", "concatenate"):
                continue
            own = self.clusters.live.get(node.index)
            if own is not None and own.kind != "row" and len(own.ops) == 1 and node.users:
                self._place(node, own)

    def _place(self, node: Node, own: Cluster) -> None:
        users = self._without(node)
        if len(users) > 1 and node.role in LOOP_ROLES:
            self._unite_users(node, users)
            users = self._without(node)
        fits = {user: self.fit(node, self.clusters.live[user]) for user in users}
        taken = {user: fit for user, fit in fits.items() if isinstance(fit, Fit)}
        if len(users) == 1:
            for user, fit in taken.items():
                self._join(node, own, self.clusters.live[user], fit)
        elif len(taken) == len(users) and self._worth_repeating(node, taken):
            self._repeat(node, taken)
        elif not self._join_as_result(node, own, users, taken) and node.cost == FREE and taken:
            self._repeat_beside(node, taken)

    def _without(self, node: Node) -> list[int]:
        """The users of a node that do not compute it themselves."""
        return [user for user in self.clusters.users_of(node.index) if node.index not in self.clusters.live[user].ops]

    # -- decisions ---------------------------------------------------------------------------------

    def _unite_users(self, node: Node, users: list[int]) -> None:
        """Merge the loop fusions (or reductions) over one domain that use `node` at their own index."""
        clusters = self.clusters
        first: dict[tuple[object, ...], Cluster] = {}
        for number in users:
            cluster = clusters.live[number]
            fit = self.fit(node, cluster)
            if not isinstance(fit, Fit) or fit.mode is not Mode.SAME:
                continue
            key = signature(cluster)
            keep = first.setdefault(key, cluster)
            if keep is cluster:
                continue
            if can_unite(clusters, keep, cluster):
                clusters.absorb(keep, cluster)
            elif not clusters.fits(keep, cluster):
                first[key] = cluster  # the other is full

    def _worth_repeating(self, node: Node, taken: dict[int, Fit]) -> bool:
        """
        Whether to compute a node in each of its users instead of writing it once and reading it in each.

        Each user then reads what the node is computed from. That is worth it if all users but one compute so few
        elements that these cost nothing, such as a probe of one place.
        """
        if len(taken) > 8:
            return False
        many = [number for number, fit in taken.items() if not self._takes_few(node, number, fit)]
        if len(many) <= 1 and self._fits_in_all(node, taken):
            return True
        if node.cost > CHEAP and not _is_far(node, taken):
            return False
        if node.cost == FREE:
            return True
        if node.cost <= CHEAP and not all(_can_repeat(self.clusters.live[number], 1) for number in taken):
            return False
        kept = node.bytes * (1 + len(taken))
        least = Sources(self.clusters, len(taken)).least(node, kept)
        if node.cost <= CHEAP:
            return least <= kept
        work = min(node.cost, ELEMENTARY.loop) * node.elements * (len(taken) - 1)
        return least < kept and CPU.hides(Cost(kept - least, work))

    def _fits_in_all(self, node: Node, taken: dict[int, Fit]) -> bool:
        """Whether the fusions stay within their limits with the node."""
        live = self.clusters.live
        return all(self.clusters.fits(live[node.index], live[number]) for number in taken)

    def _takes_few(self, node: Node, number: int, fit: Fit) -> bool:
        """Whether a fusion computes a small part of a node's elements, in less time than launching a kernel takes."""
        count = _count(fit.accesses)
        work = self.clusters.live[number].repeated + node.cost * count
        return count * FEW <= node.elements and work <= NEGLIGIBLE

    def _repeat(self, node: Node, taken: dict[int, Fit]) -> None:
        for number, fit in taken.items():
            # An elementary function is paid for by its own bytes.
            self.clusters.live[number].repeated += node.cost * _count(fit.accesses) if node.cost <= CHEAP else 0
        self.clusters.duplicate(node.index, {c: (f.mode, f.accesses) for c, f in taken.items()})

    def _repeat_beside(self, node: Node, taken: dict[int, Fit]) -> None:
        """
        Recompute a free node, which some user needs in memory, in the fusions that can.

        Only if that reads less than the node itself: a broadcast or an iota, not a transpose.
        """
        if node.role not in ("broadcast", "iota"):
            return
        own = self.clusters.live[node.index]
        targets = {c: (f.mode, f.accesses) for c, f in taken.items()}
        self.clusters.duplicate(node.index, targets)
        self.clusters.live[node.index] = own
        self.clusters.places[node.index].append(node.index)

    def _join_as_result(self, node: Node, own: Cluster, users: list[int], taken: dict[int, Fit]) -> bool:
        clusters = self.clusters
        for number, fit in taken.items():
            if not fit.is_result or any(other != number and clusters.reaches(other, number) for other in users):
                continue
            return self._join(node, own, clusters.live[number], fit)
        return False

    def _join(self, node: Node, own: Cluster, cluster: Cluster, fit: Fit) -> bool:
        if not self.clusters.fits(own, cluster):
            return False
        if node.role == "reduce" and cluster.kind == "loop":
            cluster.kind = "reduce"
            cluster.domain, cluster.reduced, cluster.result_shape = own.domain, own.reduced, node.shape
            for index in cluster.ops:
                cluster.ops[index] = Mode.REDUCED
        own.ops[node.index] = fit.mode
        own.accesses[node.index] = fit.accesses
        cluster.repeated += _repeated_operations(node, _count(fit.accesses))
        self.clusters.absorb(cluster, own)
        return True

    # -- rules -------------------------------------------------------------------------------------

    def fit(self, node: Node, cluster: Cluster) -> Fit | str:
        """How `cluster`, which uses `node`, would compute it, or a text saying why it cannot."""
        apart = self.clusters.graph.apart
        asked = (apart.get((node.index, user)) for user in node.users if user in cluster.ops) if apart else ()
        if reason := next(filter(None, asked), None):
            return reason
        if node.role == "reduce":
            return self._fit_reduce(node, cluster)
        if node.role == "concatenate" and self._is_part(node, cluster):
            return Fit(Mode.MAPPED, {(): node.elements}, False)
        if node.role not in LOOP_ROLES:
            return f"{node.op.name} is a kernel of its own, its result is in memory"
        if cluster.kind not in ("loop", "reduce", "concatenate") and not self._is_place(node, cluster):
            return self._refusal(node, cluster)
        uses = self._uses(node, cluster)
        if isinstance(uses, str):
            return uses
        same, accesses, reduced = uses
        if reduced:
            if accesses:
                return "it is needed before and after the reduction"
            if node.role not in ("elementwise", "broadcast", "iota"):
                return f"the epilogue of a reduction is elementwise, {node.op.name} is not"
            return Fit(Mode.REDUCED, {(): node.elements}, True)
        refused = self._too_much_work(node, cluster, _count(accesses))
        if refused:
            return refused
        mode = Mode.SAME if same and node.shape == cluster.domain else Mode.MAPPED
        return Fit(mode, accesses, mode is Mode.SAME and cluster.kind == "loop")

    def _is_part(self, node: Node, cluster: Cluster) -> bool:
        """Whether a concatenation is a part of another and nothing else, so that it writes to its place in that."""
        value = node.op.results[0]
        user = value.get_user_of_unique_use()
        return cluster.kind == "concatenate" and user is not None and user.name == node.op.name

    def _is_place(self, node: Node, cluster: Cluster) -> bool:
        """Whether an update in place uses a node for the place alone, a number that its kernel computes."""
        if cluster.kind != "update" or node.elements != 1 or node.role != "elementwise":
            return False
        users = [number for number in node.users if number in cluster.ops]
        return all(cluster.ops[number] is Mode.MAPPED or _is_start(node, self.nodes[number]) for number in users)

    def _uses(self, node: Node, cluster: Cluster) -> tuple[bool, Accesses, bool] | str:
        """
        (read at the cluster's own index, where it is read before a reduction, read after the reduction); or a text
        saying why not.
        """
        same, reduced, surrounded = False, False, False
        accesses: Accesses = {}
        value = node.op.results[0]
        for number in node.users:
            mode = cluster.ops.get(number)
            if mode is None:
                continue
            user = self.nodes[number]
            if user.role == "elementwise":
                if user.shape != node.shape:
                    return f"it is a scalar operand of {user.op.name}, computed once"
                if mode is not Mode.REDUCED:
                    accesses.update(cluster.accesses[number])
                same = same or mode is Mode.SAME
                reduced = reduced or mode is Mode.REDUCED
            elif user.role == "reduce":
                if value in user.op.operands[len(user.op.results) :]:
                    return "it is the initial value of a reduction, computed once"
                same = True
            elif _is_start(node, user):
                accesses[number,] = 1
            elif self._is_surrounded(node, user):
                surrounded, paths = True, cluster.accesses[number].items()
                accesses.update({(number, *path): count * node.elements // user.elements for path, count in paths})
            elif user.role == "gather" and not (user.op.name == "hlo.gather" and value is not user.op.operands[0]):
                return f"{user.op.name} reads it at an index known only at run time"
            elif user.role == "concatenate":
                accesses[number,] = node.elements * list(user.op.operands).count(value)
            elif mode is Mode.REDUCED:
                return f"it would be computed through {user.op.name} after the reduction"
            elif user.elements == node.elements and (user.role == "reshape" or _is_one_index(user)):
                accesses.update(cluster.accesses[number])
            else:
                accesses.update({(number, *path): count for path, count in cluster.accesses[number].items()})
        if same:
            accesses[()] = node.elements
        if surrounded and _count(accesses) > 2 * node.elements:
            return f"its border would be told apart {_count(accesses) // node.elements}x"
        if len(accesses) > MOST_ACCESSES:
            accesses = {(node.index, node.index): _count(accesses)}
        return same, accesses, reduced

    def _is_surrounded(self, node: Node, user: Node) -> bool:
        """
        Whether a pad adds a few elements around a node, which is computed as often as it is read where the pad is read;
        convolutions and poolings read it themselves.
        """
        if not isinstance(user.op, PadOp) or node.op.results[0] is not user.op.operand or not user.op.surrounds:
            return False
        if not 0 < user.elements <= MOST_SURROUNDED * node.elements or 1 < _whole_run(user.op) < LEAST_RUN:
            return False
        return not any(self.nodes[reader].role in ("custom", "dot") for reader in user.users)

    def _too_much_work(self, node: Node, cluster: Cluster, evaluations: int) -> str | None:
        is_written = self.clusters.writes_pads and node.op.name == "hlo.pad" and node.elements >= MANY_PADDED
        if is_written and evaluations >= 2 * node.elements:
            return f"its border would be told apart {evaluations // node.elements}x"
        repeated = _repeated_operations(node, evaluations)
        if repeated == 0:
            return None
        if node.after_reduce and node.role == "elementwise":
            return "it is computed once in the epilogue of the reduction before it"
        if repeated <= NEGLIGIBLE:
            return None
        if evaluations >= OFTEN * node.elements and self._is_place_of_elements(node, cluster):
            return f"places of single elements would be computed {-(-evaluations // max(1, node.elements))}x"
        if node.cost <= CHEAP and _can_repeat(cluster, repeated):
            return None
        return f"would be recomputed {-(-evaluations // max(1, node.elements))}x"

    def _is_place_of_elements(self, node: Node, cluster: Cluster) -> bool:
        """
        Whether a fusion gathers single elements at places that follow from a node: nothing hides what computes them in
        its inner loop, which has one place for each element, not for each row.
        """
        waiting, seen = [node], {node.index}
        while waiting:
            each = waiting.pop()
            value = each.op.results[0]
            for number in each.users:
                if number not in cluster.ops or number in seen:
                    continue
                user = self.nodes[number]
                if user.op.name == "hlo.gather":
                    if value is user.op.operands[1] and cast("GatherOp", user.op).sizes[-1] == 1:
                        return True
                elif user.role in ("elementwise", "broadcast", "reshape", "movement"):
                    seen.add(number)
                    waiting.append(user)
        return False

    def _fit_reduce(self, node: Node, cluster: Cluster) -> Fit | str:
        if cluster.kind == "loop":
            if cluster.domain != node.shape:
                return "a reduction is not computed again at every index of a loop over another shape"
            if any(self.nodes[i].role not in ("elementwise", "broadcast", "iota") for i in cluster.ops):
                return "the epilogue of a reduction is elementwise, this fusion moves data too"
            if any(mode is not Mode.SAME for mode in cluster.ops.values()):
                return "the epilogue of a reduction reads it at its own index only"
        elif cluster.kind == "reduce":
            if (cluster.domain, cluster.reduced) != (node.operand_shape, node.dims):
                return "the two reductions differ in shape or dimensions"
        else:
            return self._refusal(node, cluster)
        for number in node.users:
            mode = cluster.ops.get(number)
            if mode is None:
                continue
            if self.nodes[number].role != "elementwise" or self.nodes[number].shape != node.shape:
                return f"{self.nodes[number].op.name} reads the reduction's result at another index"
            if cluster.kind == "reduce" and mode is not Mode.REDUCED:
                return "one of the two reductions needs the result of the other"
        return Fit(Mode.REDUCED, {(): node.elements}, True)

    def _refusal(self, node: Node, cluster: Cluster) -> str:
        user = next((self.nodes[i] for i in node.users if i in cluster.ops), None)
        name = user.op.name if user is not None else "it"
        match cluster.kind:
            case "dot" if (times := _times_read(node, user)) > 1:
                return f"would be recomputed {times}x"
            case "dot" | "custom":
                return f"{name} is a kernel of its own, its operands are in memory"
            case "update":
                return f"{name} works in place on values in memory"
            case "row":
                if node.role in ("elementwise", "broadcast", "iota"):
                    return "the row fusion works on rows of another shape"
                return f"a row fusion holds elementwise operations, broadcasts and reductions, not {node.op.name}"
            case _ if user is not None and user.op.name == "hlo.reshape":
                return "the reshape costs nothing where it is, between kernels"
            case _:
                return f"{name} is not part of a kernel"


def _is_far(node: Node, taken: dict[int, Fit]) -> bool:
    """Whether a value is too large for caches to keep it for its users, which compute it at their own index."""
    return node.role == "elementwise" and node.bytes >= FAR and all(fit.mode is Mode.SAME for fit in taken.values())


def _count(accesses: Accesses) -> int:
    return sum(accesses.values())


def _is_one_index(user: Node) -> bool:
    """Whether a gather reads each element at a single index, so that its indices are those of its result."""
    if user.op.name != "hlo.gather":
        return False
    gather = cast("GatherOp", user.op)  # few programs need the class
    indices = shape_of(gather.operands[1])
    return math.prod(gather.sizes) == 1 and math.prod(indices[gather.dims.vector_dim :][:1]) == 1


def _whole_run(pad: PadOp) -> int:
    """The number of neighbouring elements that a pad moves together: those of the last dimensions, which stay whole."""
    around = zip(reversed(pad.low), reversed(pad.high), reversed(shape_of(pad.operand)), strict=True)
    return math.prod(size for _, _, size in itertools.takewhile(lambda each: each[0] == each[1] == 0, around))


def _is_start(node: Node, user: Node) -> bool:
    """Whether a number is where a slice begins, and nothing else of it."""
    op, value = user.op, node.op.results[0]
    if node.elements != 1 or not isinstance(op, (DynamicSliceOp, DynamicUpdateSliceOp)):
        return False
    return value not in op.operands[: 2 if isinstance(op, DynamicUpdateSliceOp) else 1]


def _repeated_operations(node: Node, evaluations: int) -> int:
    """The number of operations repeated when the node's elements are computed `evaluations` times in total."""
    return node.cost * max(0, evaluations - node.elements)


def _can_repeat(cluster: Cluster, operations: int) -> bool:
    """
    Whether the operations that the cluster repeats, plus `operations`, cost less than one memory access per element.
    """
    return CPU.hides(Cost(F32_BYTES * cluster.elements, cluster.repeated + operations))


def _times_read(node: Node, user: Node | None) -> int:
    """
    The number of times a product reads each element of its operand: once per free index of the other operand. 1 for a
    convolution, for which it is not counted.
    """
    op = user.op if user is not None else None
    if not isinstance(op, DotGeneralOp):
        return 1
    is_lhs = op.operands[0] is node.op.results[0]
    other, free = (op.operands[1], op.rhs_free) if is_lhs else (op.operands[0], op.lhs_free)
    return math.prod(shape_of(other)[dim] for dim in free)


def signature(cluster: Cluster) -> tuple[object, ...]:
    """Fusions with equal signatures iterate over the same indices and can be merged into one with several results."""
    if cluster.kind == "loop":
        return ("loop", cluster.domain)
    if cluster.kind == "reduce":
        return ("reduce", cluster.domain, cluster.reduced, cluster.result_shape)
    return (cluster.kind, cluster.number)


def can_unite(clusters: Clusters, keep: Cluster, other: Cluster) -> bool:
    """
    Whether two fusions with the same signature can be merged: no cycle, within the limits, no value read at another
    index.
    """
    if keep.kind not in ("loop", "reduce") or not clusters.mergeable(keep, other):
        return False
    if clusters.reaches(keep.number, other.number) or clusters.reaches(other.number, keep.number):
        return keep.kind == "loop" and _reads_at_same_index(clusters, keep, other)
    return True


def _reads_at_same_index(clusters: Clusters, one: Cluster, other: Cluster) -> bool:
    """Whether each reads the other's results by elementwise operations alone, at the fusion's own index."""
    nodes = clusters.graph.nodes
    for source, target in ((one, other), (other, one)):
        for index in source.ops:
            for user in nodes[index].users:
                if user not in target.ops or user in source.ops or index in target.ops:
                    continue
                elementwise = nodes[user].role == "elementwise" and nodes[user].shape == nodes[index].shape
                if not elementwise or target.ops[user] is not Mode.SAME or source.ops[index] is not Mode.SAME:
                    return False
    return True
