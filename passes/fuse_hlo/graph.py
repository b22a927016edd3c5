"""
The data flow of one block, as the fusion planner sees it: nodes in program order, their roles, users and sizes.

A role determines how an operation can be fused. The operation's class states it (`ROLE`), so that an elementwise
operation defined elsewhere fuses without changes here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.op import Role, is_elementwise, is_hlo
from ...hlo_dialect.ops.movement import ReshapeOp, TransposeOp
from ...hlo_dialect.shapes import reshape_parts
from ...hlo_dialect.types import element_of, numpy_dtype, shape_of
from ...hlo_dialect.walking import values_read
from .packages import cost_of, reason_apart

if TYPE_CHECKING:
    from ...hlo_dialect.ops.gather import GatherOp

SEVERAL = 2
"""Gathers whose rows take longer to read column by column than a result takes to be written and transposed."""

LEAST_ROW = 16
"""Elements of a row that are read in vectors."""

LOOP_ROLES: frozenset[str] = frozenset({"elementwise", "broadcast", "movement", "gather", "iota", "reshape"})
"""Roles whose result at one index is computed from operand elements at indices that follow from it."""


def role_of(op: Operation) -> Role | None:
    """The role of an operation, or None if the planner does not know it."""
    if is_elementwise(op):
        return "elementwise"
    if type(op) is func.CallOp or type(op) is func.ReturnOp:
        return "host"
    stated = op.ROLE if is_hlo(op) else None
    return "custom" if stated is None and _can_be_lowered(op) else stated


def _can_be_lowered(op: Operation) -> bool:
    """Whether convert-hlo-to-linalg has a pattern for a pure operation of another package."""
    # Imports the whole conversion, so only for operations without a role.
    from ...lowering.convert_hlo_to_linalg.emission import patterns

    return type(op) in patterns and is_side_effect_free(op)


@dataclass(slots=True)
class Node:
    """One operation of the block; sizes are those of its first result."""

    index: int
    op: Operation
    role: Role
    shape: tuple[int, ...] = ()
    elements: int = 0
    bytes: int = 0
    cost: int = 0
    dims: tuple[int, ...] = ()
    """reduce: the reduced dimensions. broadcast: the result dimension of each operand dimension."""
    operand_shape: tuple[int, ...] = ()
    """reduce, broadcast: the shape of the first operand."""
    effects: bool = False
    """A custom call with side effects, or control flow around one."""
    after_reduce: bool = False
    """An elementwise operation on a reduction's result, which can be the reduction's epilogue."""
    gathers: int = 0
    """The gathers of rows, up to `SEVERAL`, from which the elements of its own rows are computed."""
    operands: list[int] = field(default_factory=list[int])
    """The nodes of this block that the operation or one of its regions reads, each once."""
    users: list[int] = field(default_factory=list[int])
    """The nodes that read this one, each once, in program order."""


class BlockGraph:
    """The nodes of a block and their uses; a node with unneeded results has the role `dead`."""

    def __init__(self, block: Block):
        self.block = block
        self.nodes: list[Node] = []
        self.index: dict[Operation, int] = {}
        self.unknown_ops: list[Operation] = []
        self.apart: dict[tuple[int, int], str] = {}
        """Pairs of a producer and its user that a package or a border keeps in different fusions, with the reason."""
        self.refused: dict[tuple[int, int], str] = {}
        """Reasons that rules have found why a producer and its user are in different fusions."""
        for op in block.ops:
            self._add(op)
        self._order_effects()
        self._bury_dead()

    def _order_effects(self) -> None:
        """Keep calls with side effects in order: each depends on the previous one, and none is dead."""
        last: Node | None = None
        for node in self.nodes:
            node.effects = has_effects(node.op)
            if node.effects:
                if last is not None and last.index not in node.operands:
                    node.operands.append(last.index)
                    last.users.append(node.index)
                last = node

    def _bury_dead(self) -> None:
        needed_by = [len(node.users) for node in self.nodes]
        for node in reversed(self.nodes):
            if node.effects:
                continue
            if not needed_by[node.index] and (node.role != "host" or isinstance(node.op, ReshapeOp)):
                node.role = "dead"
                for operand in node.operands:
                    needed_by[operand] -= 1
        for node in self.nodes:
            if len(node.users) != needed_by[node.index]:
                node.users = [user for user in node.users if self.nodes[user].role != "dead"]

    def _add(self, op: Operation) -> None:
        role = role_of(op)
        if role is None:
            self.unknown_ops.append(op)
            role = "host"
        if op.regions and role != "host":
            _refuse_captures(op)
        node = Node(len(self.nodes), op, role)
        self.nodes.append(node)
        self.index[op] = node.index
        if op.results and isinstance(op.results[0].type, TensorType):
            node.shape, node.bytes = shape_of(op.results[0]), bytes_of(op.results[0])
            node.elements = math.prod(node.shape)
            node.cost = cost_of(op)
        if role == "reduce" or role == "broadcast":
            node.dims = int_array(op, "dimensions" if role == "reduce" else "broadcast_dimensions")
            node.operand_shape = shape_of(op.operands[0])
        elif role == "reshape" and not is_affine_reshape(shape_of(op.operands[0]), node.shape):
            node.role = "host"
        self._connect(node)

    def _connect(self, node: Node) -> None:
        nodes = self.nodes
        producers = (self.index.get(value.op) for value in values_read(node.op) if isinstance(value, OpResult))
        node.operands = list(dict.fromkeys(number for number in producers if number is not None))
        for number in node.operands:
            producer = nodes[number]
            producer.users.append(node.index)
            reason = reason_apart(producer.op, node.op) or _reason_turned(producer, node)
            if reason is not None:
                self.apart[number, node.index] = reason
            if node.role == "elementwise" and (producer.role == "reduce" or producer.after_reduce):
                node.after_reduce = node.after_reduce or producer.shape == node.shape
        node.gathers = _gathers_of(node, [nodes[number] for number in node.operands])


def _gathers_of(node: Node, producers: Sequence[Node]) -> int:
    """`Node.gathers`."""
    if node.op.name == "hlo.gather":
        return int(_takes_rows(cast("GatherOp", node.op), node.shape))
    if node.role == "elementwise" or _keeps_rows(node):
        return min(SEVERAL, sum(one.gathers for one in producers if one.shape[-1:] == node.shape[-1:]))
    return 0


def _takes_rows(op: GatherOp, shape: tuple[int, ...]) -> bool:
    """Whether the last dimension of a gather's result is the whole last dimension of its operand, and long."""
    source, dims = shape_of(op.operands[0]), op.dims
    if shape[-1:] != source[-1:] or op.sizes[-1:] != source[-1:] or not shape or shape[-1] < LEAST_ROW:
        return False
    return dims.offset_dims(len(source))[-1:] == (len(source) - 1,) and dims.window[-1:] == (len(shape) - 1,)


def _keeps_rows(node: Node) -> bool:
    return isinstance(node.op, TransposeOp) and node.op.dims[-1:] == (len(node.shape) - 1,)


def _reason_turned(producer: Node, user: Node) -> str | None:
    """
    Why a transpose does not join what it reads: several rows in memory for each row, which loops over the transposed
    elements would read column by column. A transpose alone is a kernel of tiles.
    """
    if producer.gathers < SEVERAL or not isinstance(user.op, TransposeOp) or _keeps_rows(user):
        return None
    return "it turns what is computed of gathered rows, which are read as rows"


def has_effects(op: Operation) -> bool:
    """Whether the operation is a custom call with side effects, or holds one."""
    inside = op.walk() if op.regions else (op,)
    return any(type(each) is CustomCallOp and not is_side_effect_free(each) for each in inside)


def _refuse_captures(op: Operation) -> None:
    """Fail if a region of a kernel's operation reads a value from outside; constants have been cloned into it."""
    inside: set[SSAValue] = set()
    nested = [inner for inner in op.walk() if inner is not op]
    for inner in op.walk():
        inside.update(inner.results)
        inside.update(argument for region in inner.regions for block in region.blocks for argument in block.args)
    if any(value not in inside for inner in nested for value in inner.operands):
        fail(op, "has a region that uses a value from outside it, which is not supported; pass it as an operand")


def bytes_of(value: SSAValue) -> int:
    """The size in bytes of a tensor of static shape; 8 bytes per element for types unknown to NumPy."""
    dtype = numpy_dtype(element_of(value))
    return math.prod(shape_of(value)) * (8 if dtype is None else dtype.itemsize)


def int_array(op: Operation, name: str) -> tuple[int, ...]:
    """The integers of a dense array property."""
    return cast("DenseArrayBase[Attribute]", op.properties[name]).get_values()  # pyright: ignore


def is_affine_reshape(source: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether a reshape is an affine index map: it splits dimensions, or inserts or removes dimensions of size 1."""
    return reshape_parts(source, target) is not None
