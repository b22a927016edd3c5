"""
Ranges of a function's integers, and whether its index arithmetic fits into 32 bits.

A 64-bit address costs a GPU thread two registers, and a 64-bit division a hundred instructions. If every index value of
a function, computed exactly, fits into 32 bits, i32 arithmetic has the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

from xdsl.dialects import arith, cf, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType, StridedLayoutAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.gpu.registers import RegisterOp
from ...dialects.support.buffers import Buffer, row_major
from ...hlo_dialect.walking import reverse_postorder

Range: TypeAlias = "tuple[int, int]"
"""The least and the greatest value, signed."""

Facts: TypeAlias = "dict[SSAValue, Range]"

LEAST, GREATEST = -(2**31), 2**31 - 1


class IndexRanges:
    """
    The ranges of the integers of a region with unstructured control flow; None: unknown.

    Blocks are visited in reverse postorder, definitions before uses except along back edges. Loops are recognized in
    the form that convert-loops-to-cf produces: a header that compares an argument with a bound. The operands of a
    conditional branch's comparison have narrower ranges in its successors.
    """

    def __init__(self, region: Region):
        self.ranges: dict[SSAValue, Range | None] = {}
        self._facts: dict[Block, Facts] = {}
        """Per block: ranges that hold there and are narrower than those of the values."""
        for block in reverse_postorder(region):
            for number, argument in enumerate(block.args):
                self.ranges[argument] = self._argument(block, number)
            self._facts[block] = facts = self._facts_at(block)
            for op in block.ops:
                for result in op.results:
                    if _is_integer(result):
                        self.ranges[result] = self._result(op, result, facts)

    def of(self, value: SSAValue) -> Range | None:
        return self.ranges.get(value)

    # Facts from branches

    def _facts_at(self, block: Block) -> Facts:
        """Facts at the end of all predecessors, and the condition of the branch if there is only one."""
        before = [one for one in block.predecessors() if one in self._facts]
        if not before:
            return {}
        first, *others = (self._facts[one] for one in before)
        facts = {value: found for value, found in first.items() if all(one.get(value) == found for one in others)}
        last = before[0].last_op
        alone = len(before) == 1 and len(tuple(block.predecessors())) == 1
        if alone and isinstance(last, cf.ConditionalBranchOp) and last.then_block is not last.else_block:
            self._learn(last.cond, last.then_block is block, facts)
        return facts

    def _learn(self, condition: SSAValue, holds: bool, facts: Facts) -> None:
        """Narrow the operands of a comparison with a known result, and of a conjunction that is true."""
        owner = condition.owner
        if isinstance(owner, arith.AndIOp) and holds:
            for part in owner.operands:
                self._learn(part, holds, facts)
        elif isinstance(owner, arith.CmpiOp):
            a, b = (facts.get(value, self._known(value)) for value in owner.operands)
            if a is not None and b is not None:
                narrowed = _narrowed(owner.predicate.value.data, holds, a, b)
                facts.update(zip(owner.operands, narrowed, strict=True))

    # Block arguments

    def _argument(self, block: Block, number: int) -> Range | None:
        """The union over all incoming edges; a loop counter is limited by its bound."""
        argument = block.args[number]
        if not _is_integer(argument):
            return None
        merged: Range | None = None
        for operand in _incoming(block, number):
            if operand in self.ranges or not _is_step(operand, argument):
                found = self.ranges.get(operand)
            else:
                found = self._counted(block, argument, operand)
            if found is None:
                return _whole(argument.type)
            merged = found if merged is None else (min(merged[0], found[0]), max(merged[1], found[1]))
        return merged or _whole(argument.type)

    def _counted(self, header: Block, argument: SSAValue, next_: SSAValue) -> Range | None:
        """The range of a counter at the end of an iteration: at most the bound minus one, plus the step."""
        last = header.last_op
        if not isinstance(last, cf.ConditionalBranchOp):
            return None
        test, step = last.cond.owner, cast(arith.AddiOp, next_.owner).rhs
        bounded = isinstance(test, arith.CmpiOp) and test.predicate.value.data == _SLT and test.lhs is argument
        if not bounded:
            return None
        bound, by = self._known(cast(arith.CmpiOp, test).rhs), self._known(step)
        if bound is None or by is None or by[0] < 0:
            return None
        first = [self.ranges.get(value) for value in _incoming(header, cast(Any, argument).index) if value is not next_]
        lows = [found[0] for found in first if found is not None]
        if len(lows) != len(first) or not lows:
            return None
        return min(lows), max(min(lows), bound[1] - 1 + by[1])

    def _known(self, value: SSAValue) -> Range | None:
        """The range of a value, also if it is a constant defined in a later block."""
        owner = value.owner
        return _constant(owner) if isinstance(owner, arith.ConstantOp) else self.ranges.get(value)

    # Results

    def _result(self, op: Operation, result: SSAValue, facts: Facts) -> Range | None:
        found: Range | None = None
        if isinstance(op, arith.ConstantOp):
            found = _constant(op)
        elif isinstance(op, RegisterOp) and op.range is not None:
            low, high = op.range.get_values()
            found = int(low), int(high) - 1
        elif isinstance(op, memref.DimOp):
            found = _extent_of(op)
        else:
            rule = _RULES.get(type(op))
            chosen = op.operands[1:] if isinstance(op, arith.SelectOp) else op.operands
            ranges = [facts.get(value, self.ranges.get(value)) for value in chosen]
            known = [one for one in ranges if one is not None]
            if rule is not None and len(known) == len(ranges):
                found = rule(*known)
        whole = _whole(result.type)
        if whole is not None and (found is None or found[0] < whole[0] or found[1] > whole[1]):
            return whole
        return found


# For arith.cmpi: inverse predicates, and signed forms of the unsigned ones.
_NEGATED = {0: 1, 1: 0, 2: 5, 3: 4, 4: 3, 5: 2, 6: 9, 7: 8, 8: 7, 9: 6}
_EQ, _SLT, _SLE, _SGT, _SGE, _ULT, _ULE, _UGT, _UGE = 0, 2, 3, 4, 5, 6, 7, 8, 9
_SIGNED = {_ULT: _SLT, _ULE: _SLE, _UGT: _SGT, _UGE: _SGE}


def _narrowed(predicate: int, holds: bool, a: Range, b: Range) -> tuple[Range, Range]:
    """The narrowed ranges of both operands of a comparison; unchanged if it implies nothing, or is impossible."""
    if not holds:
        predicate = _NEGATED[predicate]
    if predicate in _SIGNED:
        # Negative numbers are huge as unsigned ones, so none is below a non-negative number.
        if predicate in (_ULT, _ULE) and b[0] >= 0:
            a = max(a[0], 0), a[1]
        if predicate in (_UGT, _UGE) and a[0] >= 0:
            b = max(b[0], 0), b[1]
        if a[0] < 0 or b[0] < 0:
            return a, b
        predicate = _SIGNED[predicate]
    less = {_SLT: 1, _SLE: 0}.get(predicate)
    greater = {_SGT: 1, _SGE: 0}.get(predicate)
    new_a, new_b = a, b
    if less is not None:
        new_a, new_b = (a[0], min(a[1], b[1] - less)), (max(b[0], a[0] + less), b[1])
    elif greater is not None:
        new_a, new_b = (max(a[0], b[0] + greater), a[1]), (b[0], min(b[1], a[1] - greater))
    elif predicate == _EQ:
        new_a = new_b = (max(a[0], b[0]), min(a[1], b[1]))
    return (new_a, new_b) if new_a[0] <= new_a[1] and new_b[0] <= new_b[1] else (a, b)


def _is_integer(value: SSAValue) -> bool:
    return isinstance(value.type, IndexType | IntegerType)


def _whole(type_: Attribute) -> Range | None:
    """All values of an integer type; None for index, whose width is to be determined."""
    if not isinstance(type_, IntegerType):
        return None
    width = cast("IntegerType[Any, Any]", type_).width.data
    return -(2 ** (width - 1)), 2 ** (width - 1) - 1


def _incoming(block: Block, number: int) -> list[SSAValue]:
    """The values of an argument on all edges into its block."""
    found: list[SSAValue] = []
    for before in block.predecessors():
        last = before.last_op
        if isinstance(last, cf.BranchOp):
            found.append(last.arguments[number])
        elif isinstance(last, cf.ConditionalBranchOp):
            if last.then_block is block:
                found.append(last.then_arguments[number])
            if last.else_block is block:
                found.append(last.else_arguments[number])
        elif isinstance(last, cf.SwitchOp):
            edges = [(last.default_block, last.default_operands)]
            edges += list(zip(last.case_blocks, last.case_operand, strict=True))
            found += [operands[number] for target, operands in edges if target is block]
    return found


def _is_step(value: SSAValue, argument: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, arith.AddiOp) and owner.lhs is argument


def _constant(op: arith.ConstantOp) -> Range | None:
    if not isinstance(op.value, IntegerAttr):
        return None
    value = cast("IntegerAttr[Any]", op.value).value.data
    return value, value


def _extent_of(op: memref.DimOp) -> Range | None:
    sizes = cast(Buffer, op.source.type).get_shape()
    return 0, max(sizes, default=0)


# Rules: the range of a result from those of the operands; None if unknown.


def _add(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def _subtract(a: Range, b: Range) -> Range:
    return a[0] - b[1], a[1] - b[0]


def _multiply(a: Range, b: Range) -> Range:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _divide_unsigned(a: Range, b: Range) -> Range | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return a[0] // max(b[1], 1), a[1] // max(b[0], 1)


def _rest_unsigned(a: Range, b: Range) -> Range | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return 0, min(a[1], max(b[1] - 1, 0))


def _divide(a: Range, b: Range) -> Range | None:
    """A quotient, rounded in any direction: dividing by at least 1 does not increase the magnitude."""
    if b[0] < 1:
        return None
    low = a[0] // b[1] if a[0] >= 0 else a[0] // b[0]
    high = -(-a[1] // b[0]) if a[1] >= 0 else -(-a[1] // b[1])
    return low, high


def _divide_positive(a: Range, b: Range) -> Range | None:
    return _divide(a, b) if a[0] >= 0 else None


def _rest(a: Range, b: Range) -> Range | None:
    """The sign is that of the dividend."""
    if b[0] < 1:
        return None
    most = b[1] - 1
    return max(min(a[0], 0), -most), min(max(a[1], 0), most)


def _join(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


def _least(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), min(a[1], b[1])


def _greatest(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), max(a[1], b[1])


def _greatest_unsigned(a: Range, b: Range) -> Range | None:
    return _greatest(a, b) if a[0] >= 0 and b[0] >= 0 else None


def _at_most(a: Range, b: Range) -> Range | None:
    """The unsigned minimum, and `and`: at most an operand that is never negative."""
    bounds = [one[1] for one in (a, b) if one[0] >= 0]
    return (0, min(bounds)) if bounds else None


def _or(a: Range, b: Range) -> Range | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return 0, 2 ** max(a[1], b[1]).bit_length() - 1


def _shift_left(a: Range, b: Range) -> Range | None:
    return _multiply(a, (1 << b[0], 1 << b[1])) if b[0] >= 0 and b[1] < 64 else None


def _shift_right(a: Range, b: Range) -> Range | None:
    return _join((a[0] >> b[0], a[1] >> b[1]), (a[0] >> b[1], a[1] >> b[0])) if b[0] >= 0 and b[1] < 64 else None


def _shift_right_positive(a: Range, b: Range) -> Range | None:
    return _shift_right(a, b) if a[0] >= 0 else None


def _same(a: Range) -> Range:
    return a


def _if_positive(a: Range) -> Range | None:
    return a if a[0] >= 0 else None


_RULES: dict[type[Operation], Callable[..., Range | None]] = {
    arith.AddiOp: _add,
    arith.SubiOp: _subtract,
    arith.MuliOp: _multiply,
    arith.DivUIOp: _divide_unsigned,
    arith.RemUIOp: _rest_unsigned,
    arith.CeilDivUIOp: _divide_positive,
    arith.DivSIOp: _divide,
    arith.FloorDivSIOp: _divide,
    arith.CeilDivSIOp: _divide,
    arith.RemSIOp: _rest,
    arith.MinSIOp: _least,
    arith.MaxSIOp: _greatest,
    arith.MinUIOp: _at_most,
    arith.MaxUIOp: _greatest_unsigned,
    arith.SelectOp: _join,
    arith.AndIOp: _at_most,
    arith.OrIOp: _or,
    arith.XOrIOp: _or,
    arith.ShLIOp: _shift_left,
    arith.ShRSIOp: _shift_right,
    arith.ShRUIOp: _shift_right_positive,
    arith.IndexCastOp: _same,
    arith.ExtSIOp: _same,
    arith.ExtUIOp: _if_positive,
    arith.TruncIOp: _same,
}


# The width of index.

_ARITHMETIC = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
_NSW = arith.IntegerOverflowAttr((arith.IntegerOverflowFlag.NSW,))
_NSW_NUW = arith.IntegerOverflowAttr((arith.IntegerOverflowFlag.NSW, arith.IntegerOverflowFlag.NUW))


def narrow_indices(region: Region) -> bool:
    """
    Whether all index values of a region, and the offsets in its buffers, fit into 32 bits.

    If they do, marks its index arithmetic as free of overflow in 32 bits.
    """
    if not all(_fits(value.type) for block in region.blocks for value in _values(block)):
        return False
    if not all(_takes_any_width(op) for block in region.blocks for op in block.ops):
        return False
    ranges = IndexRanges(region).ranges
    for value, found in ranges.items():
        if isinstance(value.type, IndexType) and (found is None or found[0] < LEAST or found[1] > GREATEST):
            return False
    for block in region.blocks:
        for op in block.ops:
            if isinstance(op, _ARITHMETIC) and isinstance(op.result.type, IndexType) and op.result in ranges:
                operands = [cast(Range, ranges[value])[0] for value in op.operands]
                result = cast(Range, ranges[op.result])[0]
                op.properties["overflowFlags"] = _NSW_NUW if min(*operands, result) >= 0 else _NSW
    return True


def _values(block: Block) -> list[SSAValue]:
    return [*block.args, *(result for op in block.ops for result in op.results)]


def _takes_any_width(op: Operation) -> bool:
    """Whether the operation allows any width for its index operands."""
    indices = any(isinstance(value.type, IndexType) for value in op.operands)
    return not indices or op.name.startswith(("arith.", "memref.", "vector.", "cf."))


def _fits(type_: Attribute) -> bool:
    """Whether the element offsets of a memref fit; other types do unless they hold index values."""
    if isinstance(type_, VectorType):
        return not isinstance(cast("VectorType[Any]", type_).element_type, IndexType)
    if not isinstance(type_, MemRefType):
        return True
    buffer = cast(Buffer, type_)
    if isinstance(buffer.element_type, IndexType):
        return False
    shape = buffer.get_shape()
    layout = buffer.layout
    strides = layout.get_strides() if isinstance(layout, StridedLayoutAttr) else row_major(shape)
    if any(size < 0 for size in shape) or any(stride is None for stride in strides):
        return False
    reach = sum((size - 1) * abs(cast(int, stride)) for size, stride in zip(shape, strides, strict=True) if size)
    return reach <= GREATEST
