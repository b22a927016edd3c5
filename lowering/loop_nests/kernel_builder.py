"""
The insertion point of a kernel's operations, its constants, and the notations of scalars and indices.

An index expression, such as `row * width + column`, inserts the operations that compute it and folds constants: its
operands are values or plain numbers.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import UNKNOWN_LOC, FloatAttr, IntegerAttr, IntegerType, LocationAttr, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.gpu.functions import GpuFuncOp
from ...dialects.support.attributes import MAY_WRAP, integer_attr
from ...dialects.support.buffers import INDEX
from ...dialects.support.classes import one_of
from ...dialects.support.creation import append, create_op
from ...dialects.support.editing import insert_before
from ...dialects.support.kernel import UNPREDICTABLE
from ...dialects.support.scalar import Scalar, scalar_attr

_is_constant = one_of(arith.ConstantOp)

OpT = TypeVar("OpT", bound=Operation)

SIGNED_COMPARISONS = {2: (-1, -1), 3: (-1, 0), 4: (1, -1), 5: (1, 0)}
"""By the numbers of slt, sle, sgt and sge: sign and rest in `sign * (lhs - rhs) + rest >= 0`, where one holds."""


class KernelScalar(Scalar):
    """A scalar whose operators insert at its builder's insertion point; constants are shared by the kernel."""

    __slots__ = ("builder",)

    def __init__(self, builder: KernelBuilder, value: SSAValue):
        super().__init__(builder.top, value)
        self.builder = builder

    def _insert(self, op: Operation) -> None:
        self.builder.insert(op)

    def _at(self, value: SSAValue) -> Scalar:
        return KernelScalar(self.builder, value)

    def constant(self, value: float | int, type_: Attribute | None = None) -> Scalar:
        return self._at(self.builder.scalar(scalar_attr(value, self.type if type_ is None else type_)))


class IndexValue:
    """
    A value of type index under construction.

    `+ - *` fold known operands. `//` and `%` take non-negative numbers. `< <= > >=` compare signed numbers and
    always insert a comparison. `==` tests whether two Python objects are the same value.
    """

    __slots__ = ("builder", "value")

    def __init__(self, builder: KernelBuilder, value: SSAValue):
        self.builder = builder
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndexValue) and self.value is other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def _add(self, lhs: Index, rhs: Index) -> Index:
        lhs, rhs = known(lhs), known(rhs)
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs + rhs
        if lhs == 0:
            return rhs
        return lhs if rhs == 0 else self.builder.binary(arith.AddiOp, lhs, rhs)

    def _mul(self, lhs: Index, rhs: Index) -> Index:
        lhs, rhs = known(lhs), known(rhs)
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs * rhs
        if lhs == 0 or rhs == 0:
            return 0
        if lhs == 1:
            return rhs
        return lhs if rhs == 1 else self.builder.binary(arith.MuliOp, lhs, rhs)

    def _sub(self, lhs: Index, rhs: Index) -> Index:
        lhs, rhs = known(lhs), known(rhs)
        if isinstance(lhs, int) and isinstance(rhs, int):
            return lhs - rhs
        return lhs if rhs == 0 else self.builder.binary(arith.SubiOp, lhs, rhs)

    def __add__(self, other: Index) -> Index:
        return self._add(self, other)

    def __radd__(self, other: int) -> Index:
        return self._add(other, self)

    def __sub__(self, other: Index) -> Index:
        return self._sub(self, other)

    def __rsub__(self, other: int) -> Index:
        return self._sub(other, self)

    def __mul__(self, other: Index) -> Index:
        return self._mul(self, other)

    def __rmul__(self, other: int) -> Index:
        return self._mul(other, self)

    def __floordiv__(self, other: int) -> Index:
        lhs = known(self)
        if isinstance(lhs, int):
            return lhs // other
        return lhs if other == 1 else self.builder.binary(arith.DivUIOp, lhs, other)

    def __mod__(self, other: int) -> Index:
        lhs = known(self)
        if isinstance(lhs, int):
            return lhs % other
        return 0 if other == 1 else self.builder.binary(arith.RemUIOp, lhs, other)

    def __lshift__(self, other: Index) -> IndexValue:
        return self.builder.binary(arith.ShLIOp, self, other)

    def __rshift__(self, other: Index) -> IndexValue:
        """Logical shift to the right."""
        return self.builder.binary(arith.ShRUIOp, self, other)

    def max(self, other: Index) -> IndexValue:
        """The greater of two signed numbers; does not fold."""
        return self.builder.binary(arith.MaxSIOp, self, other)

    def compare(self, predicate: str, other: Index) -> Scalar:
        """A comparison: eq, ne, and signed (unsigned) lt, le, gt, ge (ult, ule, ugt, uge)."""
        return KernelScalar(self.builder, self.value).compare(predicate, self.builder.index(other).value)

    def __lt__(self, other: Index) -> Scalar:
        return self.compare("lt", other)

    def __le__(self, other: Index) -> Scalar:
        return self.compare("le", other)

    def __gt__(self, other: Index) -> Scalar:
        return self.compare("gt", other)

    def __ge__(self, other: Index) -> Scalar:
        return self.compare("ge", other)

    def below(self, bound: Index) -> Scalar:
        """Whether the number is between 0 and `bound - 1`: one unsigned comparison."""
        return self.compare("ult", bound)

    def cast_to(self, type_: Attribute) -> SSAValue:
        """`arith.index_cast` to an integer type."""
        return KernelScalar(self.builder, self.value).cast(arith.IndexCastOp, type_).value


Index: TypeAlias = int | IndexValue
"""A constant, or a value of type index."""

Value: TypeAlias = SSAValue | Scalar | IndexValue
"""A value in any notation."""


def known(value: Index) -> Index:
    """A constant of the kernel as a Python number; any other value unchanged."""
    if not isinstance(value, int):
        number = known_number(value.value)
        return value if number is None else number
    return value


def known_number(value: SSAValue) -> int | None:
    """The number of an integer constant."""
    owner: Any = value.owner
    if not _is_constant(owner):
        return None
    number = owner.properties["value"]
    return number.value.data if type(number) is IntegerAttr else None


def value_of(value: Value) -> SSAValue:
    return value if isinstance(value, SSAValue) else value.value


class KernelBuilder:
    """
    Inserts operations into a kernel: before an anchor at its top level, or at the end of the block being built.

    Constants are in the kernel once each, at its top; new operations take the location of the operation being lowered.
    For an operation of a host function, `before`, its block takes the place of the top level.
    """

    def __init__(self, kernel: func.FuncOp | GpuFuncOp, before: Operation | None = None):
        self.top: Block = kernel.body.block if before is None else cast(Block, before.parent)
        self.block: Block = self.top
        self.anchor = before or cast(Operation, self.top.last_op)
        self.location: LocationAttr = self.anchor.location
        self._constants: dict[Attribute, SSAValue] = {}
        self._known: dict[int, tuple[Attribute, SSAValue]] = {}
        """The constants by the identity of attributes, which it keeps: a hash of one takes as long as an operation."""

    def insert_at(self, op: Operation) -> None:
        """Insert before `op` from now on, with its location."""
        self.anchor = op
        self.location = op.location

    def insert(self, op: OpT) -> OpT:
        if op.location is UNKNOWN_LOC:
            op.location = self.location
        if self.block is self.top:
            insert_before(op, self.anchor)
        else:
            append(self.block, op)
        return op

    def scalar(self, value: IntegerAttr[Any] | FloatAttr[Any]) -> SSAValue:
        """A constant, once per kernel."""
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        found = self._constants.get(value)
        if found is None:
            op = create_op(arith.ConstantOp, result_types=[cast(Attribute, value.type)], properties={"value": value})
            insert_before(op, cast(Operation, self.top.first_op))
            found = self._constants[value] = op.result
        self._known[id(value)] = (value, found)
        return found

    def index(self, value: Index | SSAValue) -> IndexValue:
        """A number or value as an IndexValue."""
        if isinstance(value, IndexValue):
            return value
        return IndexValue(self, self.scalar(integer_attr(value, INDEX)) if isinstance(value, int) else value)

    def on(self, value: SSAValue) -> Scalar:
        """A value as a KernelScalar."""
        return KernelScalar(self, value)

    def binary(self, cls: type[Operation], lhs: Index, rhs: Index) -> IndexValue:
        """An operation on two indices, without folding."""
        operands = [self.index(lhs).value, self.index(rhs).value]
        properties: dict[str, Attribute] = {}
        if cls in (arith.AddiOp, arith.MuliOp, arith.SubiOp, arith.ShLIOp):
            properties["overflowFlags"] = MAY_WRAP
        op = create_op(cls, operands=operands, result_types=[INDEX], properties=properties)
        (result,) = self.insert(op).results
        return IndexValue(self, result)

    def min(self, lhs: Index, rhs: Index) -> Index:
        """The smaller of two signed numbers."""
        lhs, rhs = known(lhs), known(rhs)
        if isinstance(lhs, int) and isinstance(rhs, int):
            return min(lhs, rhs)
        return self.binary(arith.MinSIOp, lhs, rhs)

    def select(self, condition: Value, first: Index, second: Index, unpredictable: bool = False) -> IndexValue:
        """`arith.select` of two indices; an unpredictable one does not become a branch."""
        either = self.index(first).value, self.index(second).value
        selected = self.on(value_of(condition)).select(*either).value
        if unpredictable:
            cast(Operation, selected.owner).attributes[UNPREDICTABLE] = UnitAttr()
        return IndexValue(self, selected)

    def to_index(self, value: SSAValue, unsigned: bool) -> IndexValue:
        """An integer as an index of 64 bits."""
        if cast(IntegerType, value.type).width.data < 64:
            value = self.on(value).cast(arith.ExtUIOp if unsigned else arith.ExtSIOp, i64).value
        return IndexValue(self, self.on(value).cast(arith.IndexCastOp, INDEX).value)
