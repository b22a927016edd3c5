"""Builds operations on vectors of one dimension: memory accesses, arithmetic and permutations of lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.arith_ops import ON_LANES, CmpiOp, ExtSIOp, SIToFPOp, boolean_lanes
from ...dialects.cpu import DotOp
from ...dialects.support.attributes import MAY_WRAP, integer_attr
from ...dialects.support.buffers import i64_array, vector_type
from ...dialects.support.creation import create_op
from ...dialects.support.scalar import INTEGER_PREDICATES, scalar_attr, width_of
from ..loop_nests.loop_builder import Index, LoopBuilder, buffer_of
from ..loop_nests.transposed_rows import transposed

_WRAPS = {"overflowFlags": MAY_WRAP}
_EXACT = {"fastmath": arith.FastMathFlagsAttr("none")}

STEPS = 4
"""Steps whose sums do not wait for each other."""

Added: TypeAlias = Callable[[Sequence[SSAValue], Index], Sequence[SSAValue]]
"""Sums with what a step adds to them."""


def vector_type_of(value: SSAValue) -> VectorType[Any]:
    return cast("VectorType[Any]", value.type)


def is_vector(value: SSAValue) -> bool:
    return isinstance(value.type, VectorType)


def element_of(value: SSAValue) -> Any:
    """The type of a scalar, or of a vector's elements."""
    return vector_type_of(value).element_type if is_vector(value) else value.type


def lanes_of(value: SSAValue) -> int:
    return vector_type_of(value).get_shape()[0]


class VectorBuilder:
    """Inserts operations on vectors at a LoopBuilder's insertion point."""

    def __init__(self, builder: LoopBuilder):
        self.builder = builder

    def load(self, source: SSAValue, indices: Sequence[Index], lanes: int, mask: SSAValue | None = None) -> SSAValue:
        """The `lanes` elements from these indices on; zeros, unread, where a mask is not set."""
        operands = [source, *(self.builder.index(i).value for i in indices)]
        element = buffer_of(source).element_type
        type_ = vector_type(element, lanes)
        if mask is not None:
            zeros = self.splat(self.builder.scalar(scalar_attr(0, element)), lanes)
            return self._inserted(vector.MaskedLoadOp, [*operands, mask, zeros], type_)
        return self.builder.insert(create_op(vector.LoadOp, operands=operands, result_types=[type_])).result

    def store(self, value: SSAValue, target: SSAValue, indices: Sequence[Index], mask: SSAValue | None = None) -> None:
        """Write a vector from these indices on, or the lanes of it where a mask is set."""
        place = [target, *(self.builder.index(i).value for i in indices)]
        if mask is not None:
            self.builder.insert(create_op(vector.MaskedStoreOp, operands=[*place, mask, value]))
        else:
            self.builder.insert(create_op(vector.StoreOp, operands=[value, *place]))

    def mask(self, count: Index, lanes: int) -> SSAValue:
        """A mask that is set in the first `count` lanes."""
        operands = [self.builder.index(count).value]
        return self._inserted(vector.CreateMaskOp, operands, vector_type(i1, lanes))

    def store_past_caches(self, value: SSAValue, target: SSAValue, indices: Sequence[Index]) -> None:
        """Store at an address that is a multiple of the vector's size; other threads see it after a fence."""
        operands = [value, target, *(self.builder.index(i).value for i in indices)]
        op = create_op(vector.StoreOp, operands=operands, properties={"nontemporal": BoolAttr.from_bool(True)})
        size = lanes_of(value) * width_of(element_of(value)) // 8
        op.attributes["alignment"] = integer_attr(size, i64)
        self.builder.insert(op)

    def splat(self, value: SSAValue, lanes: int) -> SSAValue:
        """A scalar, or a vector of one element, in every lane."""
        op = create_op(vector.BroadcastOp, operands=[value], result_types=[vector_type(element_of(value), lanes)])
        return self.builder.insert(op).vector

    def multiply_add(self, x: SSAValue, y: SSAValue, total: SSAValue) -> SSAValue:
        """`total + x * y`, rounded once if of floats."""
        if not isinstance(vector_type_of(total).element_type, IntegerType):
            return self._inserted(vector.FMAOp, [x, y, total], total.type)
        return self.add(self._inserted(arith.MuliOp, [x, y], total.type, _WRAPS), total)

    def dot(self, x: SSAValue, y: SSAValue, total: SSAValue, unsigned: bool) -> SSAValue:
        """Add products of neighbouring lanes to each lane of `total`, see `cpu.dot`; `unsigned`: x is unsigned."""
        return self.builder.insert(DotOp.make(x, y, total, unsigned)).result

    def add(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The sum of two scalars or vectors."""
        if isinstance(element_of(x), IntegerType):
            return self._inserted(arith.AddiOp, [x, y], x.type, _WRAPS)
        return self._inserted(arith.AddfOp, [x, y], x.type, _EXACT)

    def subtract(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self._inserted(arith.SubiOp, [x, y], x.type, _WRAPS)

    def least(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The smaller one of two unsigned numbers."""
        return self._inserted(arith.MinUIOp, [x, y], x.type)

    def greatest(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The greater one of two unsigned numbers."""
        return self._inserted(arith.MaxUIOp, [x, y], x.type)

    def conjunction(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self._inserted(arith.AndIOp, [x, y], x.type)

    def union(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self._inserted(arith.OrIOp, [x, y], x.type)

    def difference(self, x: SSAValue, y: SSAValue) -> SSAValue:
        """The lanes of a mask that another one, a part of it, has not."""
        return self._inserted(arith.XOrIOp, [x, y], x.type)

    def total(self, x: SSAValue) -> SSAValue:
        """The sum of all lanes of a vector of integers."""
        kind = vector.CombiningKindAttr(vector.CombiningKindFlag.ADD)
        return self._inserted(vector.ReductionOp, [x], element_of(x), {"kind": kind, **_EXACT})

    def compare(self, predicate: str, x: SSAValue, y: SSAValue) -> SSAValue:
        """A mask of the lanes whose integers compare so."""
        predicates = {"predicate": integer_attr(INTEGER_PREDICATES[predicate], i64)}
        return self._inserted(CmpiOp, [x, y], boolean_lanes(x.type), predicates)

    def counted(self, counts: SSAValue, mask: SSAValue) -> SSAValue:
        """Counts with one more in each lane that is set: a mask is -1 there as an integer."""
        return self.subtract(counts, self._inserted(ExtSIOp, [mask], counts.type))

    def bits(self, mask: SSAValue) -> SSAValue:
        """The lanes of a mask as bits of an integer, the first lane in the lowest bit."""
        word = IntegerType(lanes_of(mask))
        whole = self._inserted(vector.BitcastOp, [mask], vector_type(word, 1))
        place: dict[str, Any] = {"static_position": DenseArrayBase.from_list(i64, [0])}
        return self._inserted(vector.ExtractOp, [whole], word, place)

    def numbers(self, element: IntegerType, lanes: int) -> SSAValue:
        """The number of each lane."""
        type_ = vector_type(element, lanes)
        return self.builder.scalar(cast(Any, DenseIntOrFPElementsAttr.from_list(cast(Any, type_), list(range(lanes)))))

    def constant(self, value: Attribute, lanes: int) -> SSAValue:
        """The number of an attribute in each lane; a constant, once per kernel."""
        number = cast("IntegerAttr[Any] | FloatAttr[Any]", value)
        type_ = cast(Any, vector_type(number.type, lanes))
        return self.builder.scalar(cast(Any, DenseIntOrFPElementsAttr.from_list(type_, [number.value.data])))

    def inlined(self, block: Block, arguments: Sequence[SSAValue]) -> list[SSAValue]:
        """As `LoopBuilder.inline`, for vectors; the operations are those of a `ScalarBlock` that is alone."""
        lanes = lanes_of(arguments[0])
        mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
        for op in block.ops:
            if op is block.last_op:
                break
            if isinstance(op, arith.ConstantOp):
                mapping[op.result] = self.constant(op.value, lanes)
                continue
            (result,) = op.results
            cls = ON_LANES.get(type(op), type(op))
            operands = [mapping[operand] for operand in op.operands]
            mapping[result] = self._inserted(cls, operands, vector_type(result.type, lanes), op.properties)
        assert block.last_op is not None
        return [mapping[value] for value in block.last_op.operands]

    def halves(self, pairs: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The even and the odd elements of a vector of bf16, as f32."""
        lanes = lanes_of(pairs) // 2
        bits = self.bitcast(pairs, i32, lanes)
        sixteen, upper = (self.splat(self.builder.scalar(scalar_attr(n, i32)), lanes) for n in (16, -(1 << 16)))
        even = self._inserted(arith.ShLIOp, [bits, sixteen], bits.type, _WRAPS)
        return self.bitcast(even, f32, lanes), self.bitcast(self.conjunction(bits, upper), f32, lanes)

    def bitcast(self, value: SSAValue, element: Attribute, lanes: int) -> SSAValue:
        """The same bits as a vector of another element type."""
        type_ = vector_type(element, lanes)
        return value if value.type == type_ else self._inserted(vector.BitcastOp, [value], type_)

    def widened(self, value: SSAValue, element: Attribute) -> SSAValue:
        """A scalar or vector, each element extended to a wider type."""
        narrow = element_of(value)
        if narrow == element:
            return value
        wide = vector_type(element, lanes_of(value)) if is_vector(value) else element
        if not isinstance(narrow, IntegerType):
            return self._inserted(arith.ExtFOp, [value], wide)
        to_integer, to_float = (ExtSIOp, SIToFPOp) if is_vector(value) else (arith.ExtSIOp, arith.SIToFPOp)
        return self._inserted(to_integer if isinstance(element, IntegerType) else to_float, [value], wide)

    def shuffled(self, x: SSAValue, y: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """The vector of these lanes of x and y, numbered through both."""
        op = create_op(
            vector.ShuffleOp,
            operands=[x, y],
            result_types=[vector_type(vector_type_of(x).element_type, len(lanes))],
            properties={"mask": i64_array(tuple(lanes))},
        )
        return self.builder.insert(op).result

    def part(self, value: SSAValue, first: int, lanes: int) -> SSAValue:
        """Some neighbouring lanes."""
        return value if lanes == lanes_of(value) else self.shuffled(value, value, range(first, first + lanes))

    def folded(self, value: SSAValue, combine: Callable[[SSAValue, SSAValue], SSAValue]) -> SSAValue:
        """All lanes of a vector, combined by halves to a vector of one."""
        length = lanes_of(value)
        while length > 1:
            length //= 2
            value = combine(self.part(value, 0, length), self.part(value, length, length))
        return value

    def joined(self, parts: Sequence[SSAValue]) -> SSAValue:
        """The vectors one after the other; they are a power of two of one length."""
        found = list(parts)
        while len(found) > 1:
            pairs = zip(found[::2], found[1::2], strict=True)
            found = [self.shuffled(x, y, range(2 * lanes_of(x))) for x, y in pairs]
        return found[0]

    def transposed(self, rows: Sequence[SSAValue], unit: int = 1) -> list[SSAValue]:
        """
        The columns of a square matrix of `len(rows)` rows, a power of two. Longer rows are several matrices abreast.

        `unit`: neighbouring lanes that are one entry.
        """
        bits = width_of(element_of(rows[0]))
        return transposed(rows, lanes_of(rows[0]), bits, self.shuffled, unit)

    def sum_of_steps(self, added: Added, count: Index, zeros: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """The sums, from `zeros` on, to which each of `count` steps adds; the sums of some steps do not wait."""
        builder, each = self.builder, len(zeros)
        whole = count // STEPS * STEPS
        with builder.loop(0, whole, step=STEPS, carry=[*zeros] * STEPS) as (first, sums):
            parts = [added(sums[part * each : (part + 1) * each], first + part) for part in range(STEPS)]
            builder.yield_(*(total for part in parts for total in part))
        totals = list(sums[:each])
        for part in range(1, STEPS):
            totals = [self.add(x, y) for x, y in zip(totals, sums[part * each : (part + 1) * each], strict=True)]
        with builder.loop(whole, count, carry=totals) as (step, sums):
            builder.yield_(*added(sums, step))
        return sums

    def _inserted(
        self, cls: type[Operation], operands: list[SSAValue], type_: Attribute, properties: dict[str, Any] | None = None
    ) -> SSAValue:
        op = create_op(cls, operands=operands, result_types=[type_], properties=dict(properties or {}))
        return self.builder.insert(op).results[0]


def powers_of_two(count: int, most: int) -> list[tuple[int, int]]:
    """The parts of 0..count-1, as first number and length: as few as possible, each a power of two up to `most`."""
    parts: list[tuple[int, int]] = []
    first = 0
    while first < count:
        length = min(most, 1 << (count - first).bit_length() - 1)
        parts.append((first, length))
        first += length
    return parts
