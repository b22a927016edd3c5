"""
Products join the row fusion of their rows: attention becomes one kernel that never has all of its scores in memory.

A product whose result has the rows' shape is computed tile by tile before the steps that read it, and one that
contracts the rows' elements after them. Both multiply each row by a factor that no row dimension but
batches moves; the kernel packs it once. Steps between a product and the rows, such as a scaling or a transpose of the
rows, join with it.

A product that contracts the rows of each matrix of a batch, as the gradients of attention's keys and values do, joins
too: each tile of rows adds its part. One task then takes all rows of a matrix. Rows that another fusion computes for
such a product alone, as a softmax does whose gradient follows from the same exponentials, are computed again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, OpResult

from ...dialects.cost import F32_BYTES, Cost
from ...hlo_dialect.ops.contraction import DotGeneralOp
from ...hlo_dialect.ops.creation import is_splat_constant
from ...hlo_dialect.ops.movement import TransposeOp
from ...hlo_dialect.types import element_of, is_float, numpy_dtype, shape_of
from ...lowering.device.cpu import CPU
from .clusters import Cluster, Clusters, Mode
from .graph import Node

LEAST = 16
"""Rows of a matrix, and elements of a row, below which a product is no better in a row kernel."""

LEAST_MATRICES = 8
"""Matrices of rows below which a product that sums over them would leave threads idle."""

MOST_SUMMED = 256
"""Columns of such a product, which each tile packs."""

Members = dict[int, None]


@dataclass(frozen=True)
class Limits:
    """The products that a target's row kernels take in."""

    longest_row: float = math.inf
    largest_factor: float = math.inf
    """Elements of one matrix by which all rows are multiplied."""
    widest: float = math.inf
    """Elements of a factor for each element of a row: what is contracted before, or columns of the result after."""
    least_matrices: int = LEAST_MATRICES
    """Matrices of rows from which they sum over the rows of each."""
    streams: bool = False
    """Whether they compute rows again for each step, so that rows are products, and products contract them."""


LIMITS = {"packed": Limits(8192, 1 << 19), "streamed": Limits(widest=256, least_matrices=1, streams=True)}
"""
By the value of fuse-hlo's option. A processor keeps a tile of at least eight rows in its L2 cache, and each tile reads
the packed factor again, from L2 or L3. A block of a GPU has a tile of the factors in shared memory, and sums in
registers.
"""


def fuse_row_products(clusters: Clusters, mode: str) -> None:
    """Let products join the row fusions of the block, producers first."""
    for cluster in [each for each in clusters.live.values() if each.kind == "row"]:
        if cluster.row_dims != len(cluster.domain) - 1:
            continue
        if mode not in LIMITS:
            keep_apart(clusters, cluster, "the target's row kernels do not multiply")
        elif LEAST <= cluster.domain[-1] <= LIMITS[mode].longest_row:
            RowProducts(clusters, cluster, LIMITS[mode]).take()


def keep_apart(clusters: Clusters, cluster: Cluster, reason: str) -> None:
    """Note why the products around a row fusion are not part of it."""
    for dot, inner, is_user in _around(clusters, cluster):
        clusters.graph.refused.setdefault((inner, dot) if is_user else (dot, inner), reason)


def _around(clusters: Clusters, cluster: Cluster) -> Iterator[tuple[int, int, bool]]:
    """The products next to a row fusion: each with the operation of the fusion that it feeds, or reads."""
    nodes = clusters.graph.nodes
    for index in sorted(cluster.ops):
        found = [(number, False) for number in nodes[index].operands] + [(user, True) for user in nodes[index].users]
        for number, is_user in found:
            rows = nodes[index if is_user else number]
            if nodes[number].role == "dot" and number not in cluster.ops and rows.shape == cluster.domain:
                yield number, index, is_user


class RowProducts:
    """The products around one row fusion."""

    def __init__(self, clusters: Clusters, cluster: Cluster, limits: Limits):
        self.clusters = clusters
        self.cluster = cluster
        self.limits = limits
        self.nodes = clusters.graph.nodes

    def take(self) -> None:
        """Join what can be joined; rows that are streamed need products on both sides."""
        if self.limits.streams and not self._streams():
            return
        self.take_producers()
        self.take_users()
        self.take_sums()

    def _streams(self) -> bool:
        """Whether rows can be streamed, which is tried on a copy; otherwise the reason is noted."""
        around = list(_around(self.clusters, self.cluster))
        if not around:
            return False
        trial = self.clusters.trial(self._near())
        inside = trial.live[self.cluster.number]
        products = RowProducts(trial, inside, self.limits)
        products.take_producers()
        before = len(inside.ops)
        products.take_users()
        if len(self.cluster.ops) < before < len(inside.ops):
            return True
        large = (self._too_large(self.nodes[dot].op, is_user) for dot, _, is_user in around)
        default = "only rows that are a product, and that a product contracts, are computed tile by tile"
        keep_apart(self.clusters, self.cluster, next(filter(None, large), default))
        return False

    def _near(self) -> dict[int, None]:
        """The row fusion, and the clusters around it that may join it."""
        live, found = self.clusters.live, {self.cluster.number: None}
        pending = [number for value in self.cluster.inputs if (number := self._number(value)) is not None]
        while pending:
            number = pending.pop()
            own = live.get(number)
            if own is None or number in found or len(own.ops) > 1:
                continue
            if math.prod(self.nodes[number].shape) == self.cluster.elements:
                found[number] = None
                pending += () if self.nodes[number].role == "dot" else self.nodes[number].operands
        users = [user for index in self.cluster.ops for user in self.nodes[index].users]
        later = [after for user in users for after in self.nodes[user].users]
        return {**found, **{number: None for number in (*users, *later) if number in live}}

    def _too_large(self, op: Operation, is_user: bool) -> str | None:
        """Why the tiles of a product's factor would not fit, or None; `is_user`: the product contracts the rows."""
        if not isinstance(op, DotGeneralOp):
            return None
        dims, shape = op.dot_dimension_numbers.lhs_contracting, shape_of(op.operands[0])
        columns = math.prod(shape_of(op.operands[1])[dim] for dim in op.rhs_free)
        wide = columns if is_user else math.prod(shape[dim] for dim in dims)
        if wide <= self.limits.widest:
            return None
        return f"its tiles would have {wide} elements for each element of a row, more than {self.limits.widest}"

    def take_producers(self) -> None:
        """Join the products whose results the fusion reads, each with the steps between."""
        for value in list(self.cluster.inputs):
            number = self._number(value)
            if number is None:
                continue
            found = self._chain(self.nodes[number], {})
            if found is not None:
                self._join(found)

    def take_users(self) -> None:
        """Join the products that contract the elements of rows."""
        for index in sorted(self.cluster.ops):
            for user in self.nodes[index].users:
                if user in self.clusters.live and self._contracts_rows(self.nodes[user], index):
                    self._join({user: None})
                    self._take_transpose(user)

    def _take_transpose(self, number: int) -> None:
        """Join the only user of a product's result if it transposes it, which a kernel that streams writes so."""
        users = self.nodes[number].users
        if self.limits.streams and len(users) == 1 and number in self.cluster.ops and users[0] in self.clusters.live:
            node = self.nodes[users[0]]
            if node.role == "movement" and isinstance(node.op, TransposeOp) and _keeps_rows(node):
                self._join({node.index: None})

    def take_sums(self) -> None:
        """Join the products that contract the rows of each matrix, with what else was read or computed of the rows."""
        if math.prod(self.cluster.domain[:-2]) < self.limits.least_matrices:
            return
        known = {number for value in self.cluster.inputs if (number := self._number(value)) is not None}
        known.update(self.cluster.ops)
        for index in sorted(known):
            for user in self._sums_of(index):
                self._join({user: None})
                self._take_transpose(user)
        for index in self._after(known):
            if sums := self._sums_of(index):
                chain = self._again(index, known)
                for user in sums if chain else ():
                    self._join({user: None}, repeated=chain)

    # Which nodes.

    def _number(self, value: object) -> int | None:
        return self.clusters.graph.index.get(value.op) if isinstance(value, OpResult) else None

    def _chain(self, node: Node, members: Members) -> Members | None:
        """
        The product and the steps from it to the rows; None if there is none.

        The steps keep the last dimension last. Nothing else reads what is computed in between.
        """
        own = self.clusters.live.get(node.index)
        if own is None or len(own.ops) > 1 or node.shape[-1:] != self.cluster.domain[-1:]:
            return None
        if math.prod(node.shape) != self.cluster.elements:
            return None
        if any(user not in self.cluster.ops and user not in members for user in node.users):
            return None
        members = {**members, node.index: None}
        if node.role == "dot":
            return members if self.is_rows(node) else None
        if not _keeps_rows(node):
            return None
        for operand in node.operands:
            found = self._chain(self.nodes[operand], members)
            if found is not None:
                return found
        return None

    def is_rows(self, node: Node) -> bool:
        """Whether the product's rows are rows of the fusion, which its right factor is shared by."""
        op = node.op
        assert isinstance(op, DotGeneralOp)
        if not _is_tileable(op) or len(op.lhs_free) < 1 or len(op.rhs_free) != 1 or not self._is_joinable(op):
            return False
        return shape_of(op.operands[0])[op.dot_dimension_numbers.lhs_contracting[0]] <= self.limits.widest

    def _contracts_rows(self, node: Node, rows: int) -> bool:
        """Whether a node is a product whose left factor are the rows that node `rows` computes."""
        op, source = node.op, self.nodes[rows]
        if not isinstance(op, DotGeneralOp) or source.shape != self.cluster.domain or not _is_tileable(op):
            return False
        reads = op.operands[0] in source.op.results and op.operands[1] not in source.op.results
        last = len(source.shape) - 1
        return (
            reads
            and op.dot_dimension_numbers.lhs_contracting == (last,)
            and len(op.lhs_free) >= 1
            and len(op.rhs_free) == 1
            and shape_of(op.operands[1])[op.rhs_free[0]] <= self.limits.widest
            and self._is_joinable(op)
        )

    def _sums_of(self, rows: int) -> list[int]:
        """The products, not in a fusion yet, that sum over the rows that node `rows` computes."""
        users = self.nodes[rows].users
        return [user for user in users if user in self.clusters.live and self._sums_rows(self.nodes[user], rows)]

    def _after(self, known: Collection[int]) -> list[int]:
        """The rows that other row fusions compute of known ones, and perhaps convert to another type."""
        found: set[int] = set()
        for _ in range(2):
            users = {user for number in (*known, *found) for user in self.nodes[number].users}
            found |= {user for user in users if user not in known and self._is_others(user)}
        return sorted(found)

    def _is_others(self, rows: int) -> bool:
        """Whether another row fusion computes these rows, elementwise."""
        node, places = self.nodes[rows], self.clusters.places[rows]
        others = [self.clusters.live[place].kind for place in places]
        return node.role == "elementwise" and node.shape == self.cluster.domain and others == ["row"]

    def _again(self, rows: int, known: Container[int]) -> list[int]:
        """The nodes that compute rows of what this fusion knows, if that takes no longer than reading them; or none."""
        found: list[int] = []
        pending = [rows]
        while pending:
            number = pending.pop()
            if number not in known and number not in found:
                if not self._is_others(number):
                    return []
                found.append(number)
                pending += self.nodes[number].operands
        work = sum(self.nodes[number].cost for number in found)
        return found if CPU.hides(Cost(F32_BYTES, work)) else []

    def _sums_rows(self, node: Node, rows: int) -> bool:
        """Whether a node is a product that sums over the rows that node `rows` computes, matrix by matrix."""
        op, source = node.op, self.nodes[rows]
        if not isinstance(op, DotGeneralOp) or source.shape != self.cluster.domain or not _is_tileable(op):
            return False
        if op.operands[0] not in source.op.results or len(op.lhs_free) != 1 or len(op.rhs_free) != 1:
            return False
        numbers, summed = op.dot_dimension_numbers, len(source.shape) - 2
        is_batch = numbers.lhs_batching == tuple(range(summed)) and numbers.lhs_contracting == (summed,)
        few = shape_of(op.operands[1])[op.rhs_free[0]] <= MOST_SUMMED
        return is_batch and few and self._is_joinable(op)

    def _is_joinable(self, op: DotGeneralOp) -> bool:
        """Whether the right factor is small, comes from elsewhere, and both are in memory or rows."""
        numbers, factor = op.dot_dimension_numbers, shape_of(op.operands[1])
        size = math.prod(size for dim, size in enumerate(factor) if dim not in numbers.rhs_batching)
        made = self._number(op.operands[1])
        if (
            size > self.limits.largest_factor
            or self._costs_more(op, size)
            or (self.limits.streams and _asks_for_tf32(op))
        ):
            return False
        if any(is_splat_constant(value) for value in op.operands):
            return False
        return made is None or made not in self.cluster.ops

    def _costs_more(self, op: DotGeneralOp, size: int) -> bool:
        """Whether the packed copy of a matrix for all rows, such as weights, is larger than the rows themselves."""
        shared = not op.dot_dimension_numbers.rhs_batching
        return shared and not self.limits.streams and size > self.cluster.elements

    def _join(self, members: Members, repeated: Sequence[int] = ()) -> None:
        """Join the members; `repeated`: nodes of another fusion that this one then computes too."""
        clusters, cluster = self.clusters, self.cluster
        # From the rows outwards, so that each is next to the fusion when it joins; all or none.
        trial = clusters.trial([cluster.number, *members], repeated)
        for state in (trial, clusters):
            for number in repeated:
                if number not in state.live[cluster.number].ops:
                    state.repeat_in(number, [cluster.number], Mode.ROW)
            for number in members:
                target, own = state.live[cluster.number], state.live[number]
                if not state.mergeable(target, own):
                    return
                own.ops[number] = Mode.ROW
                state.absorb(target, own)


def _is_tileable(op: DotGeneralOp) -> bool:
    """Whether the product is large enough for tiles, of one contracted dimension, in floats of at most 32 bits."""
    numbers = op.dot_dimension_numbers
    lhs, rhs = shape_of(op.operands[0]), shape_of(op.operands[1])
    elements = [element_of(value) for value in (*op.operands, op.results[0])]
    sizes = [numpy_dtype(element) for element in elements if is_float(element)]
    narrow = len(sizes) == len(elements) and all(size is not None and 2 <= size.itemsize <= 4 for size in sizes)
    return (
        narrow
        and len(numbers.lhs_contracting) == 1
        and lhs[numbers.lhs_contracting[0]] >= LEAST
        and math.prod(rhs[dim] for dim in op.rhs_free) >= LEAST
        and max((lhs[dim] for dim in op.lhs_free), default=0) >= LEAST
    )


def _asks_for_tf32(op: DotGeneralOp) -> bool:
    """Whether the program allows products of tf32, which tensor cores compute and streamed rows do not."""
    return "tf32" in str(op.properties.get("algorithm", ""))


def _keeps_rows(node: Node) -> bool:
    """Whether a node computes rows from rows, in any order: elementwise, a transpose of rows, or a reshape of them."""
    match node.role:
        case "elementwise":
            return True
        case "movement":
            op = node.op
            return isinstance(op, TransposeOp) and op.dims[-1] == len(op.dims) - 1
        case "reshape":
            source = shape_of(node.op.operands[0])
            return [size for size in source if size != 1] == [size for size in node.shape if size != 1]
        case _:
            return False
