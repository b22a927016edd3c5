"""
Reductions by an operation of several steps, such as the product of complex numbers: in the lanes of vectors, and tasks.

    reduce(%x: 1048576) by f  ->  reduce(reduce(reshape(%x): 16x1024x64) along 1 by f: 16x64) by f

HLO leaves the order open, and where and how often the initial value is: f and that value are to be a monoid. Here they
also have to commute, which shows in f's operations; that the initial value changes nothing is tried with some numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, Operation, SSAValue

from ...hlo_dialect.attributes import int_array
from ...hlo_dialect.expressions.tensor import Builder, Tensor, concatenate
from ...hlo_dialect.op import HloOp
from ...hlo_dialect.ops.creation import ConstantOp
from ...hlo_dialect.ops.elementwise import ElementwiseBinaryOp, ElementwiseUnaryOp
from ...hlo_dialect.ops.elementwise_binary import AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, XorOp
from ...hlo_dialect.ops.reduction import ReduceOp
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import Array, constant_array, element_of, is_float, is_integer, make_tensor, shape_of
from ...hlo_dialect.walking import reads_its_own
from .rewrite import OPEN_REDUCTION, Rewrite, assumes, simplifications

LANES = 64
"""Elements that are combined side by side: some vectors, because each operation waits for the one before."""

TASKS = 16
"""Parts for threads, of a reduction of few rows."""

LEAST = 8 * LANES
"""Elements of a row that make lanes worth it."""

FEW = 32
"""Rows from which threads have enough work."""

MOST_OPERATIONS = 32

_COMMUTATIVE = (AddOp, AndOp, MaximumOp, MinimumOp, MultiplyOp, OrOp, XorOp)

_TRIED = (0.5, -1.25, 3.0, 1e-3, -1e3, 7.0, 0.0, 2.0)
_TRIED_INTEGERS = (1, -1, 3, 0, 100, -77, 12, 2)


@simplifications.on(ReduceOp)
@assumes(OPEN_REDUCTION)
def reduce_in_lanes(op: Operation) -> Rewrite | None:
    """
    A long reduction of rows by an operation of several steps is one of as many parts as vectors and threads take.

    The parts begin with the initial value too, which changes nothing. They change the order, which HLO leaves open.
    """
    assert isinstance(op, ReduceOp)
    shape, rank = shape_of(op.inputs[0]), len(shape_of(op.inputs[0]))
    first = rank - len(op.dims)
    if not is_static(shape) or sorted(op.dims) != list(range(first, rank)):
        return None
    rows, size = math.prod(shape[:first]), math.prod(shape[first:])
    if size < LEAST or not rows or not _is_monoid(op):
        return None
    parts = TASKS if rows < FEW and size >= LEAST * TASKS else 1
    depth = size // (parts * LANES)
    whole = depth * parts * LANES
    builder = Builder()
    kept = shape[:first]
    flat = [x.reshape((*kept, size)) for x in builder.tensors(op.inputs)]

    def box(x: Tensor, start: int, end: int) -> Tensor:
        return x if (start, end) == (0, size) else x.slice([*(0 for _ in kept), start], [*kept, end])

    split = [box(x, 0, whole).reshape((*kept, parts, depth, LANES)) for x in flat]
    partial = [x.reshape((*kept, parts * LANES)) for x in _reduced(builder, op, split, len(kept) + 1)]
    if whole < size:
        rest = [box(x, whole, size) for x in flat]
        partial = [concatenate(pair, len(kept)) for pair in zip(partial, rest, strict=True)]
    results = _reduced(builder, op, partial, len(kept))
    return Rewrite(builder.ops, [result.value for result in results])


def _reduced(builder: Builder, op: ReduceOp, inputs: Sequence[Tensor], dim: int) -> list[Tensor]:
    """The same reduction of other values along one dimension."""
    kept = [size for at, size in enumerate(inputs[0].shape) if at != dim]
    made = ReduceOp.create(
        operands=[*(x.value for x in inputs), *op.init_values],
        result_types=[make_tensor(tuple(kept), element_of(x.value)) for x in inputs],
        properties={"dimensions": int_array([dim])},
        regions=[op.body.clone()],
    )
    made.location = op.location
    builder.insert(made)
    return builder.tensors(made.results)


def _is_monoid(op: ReduceOp) -> bool:
    """
    Whether the reducer takes several steps, commutes, and the initial values are constants that it leaves out. It reads
    no values around it.
    """
    block, count = op.body.block, op.input_count
    ops = [inner for inner in block.ops if inner is not block.last_op]
    known = sum(not isinstance(inner, ConstantOp) for inner in ops) <= count
    if known or len(ops) > MOST_OPERATIONS or not all(_is_plain(inner) for inner in ops):
        return False
    if not reads_its_own(block):
        return False
    types = [element_of(x) for x in op.inputs]
    if types != [element_of(x) for x in op.outs] or not all(is_float(x) or is_integer(x) for x in types):
        return False
    return _commutes(block, count) and _starts_neutral(op, block)


def _is_plain(op: Operation) -> bool:
    return isinstance(op, (ElementwiseBinaryOp, ElementwiseUnaryOp, ConstantOp)) and not op.regions


def _commutes(block: Block, count: int) -> bool:
    """Whether the reducer computes the same with its two tuples of arguments exchanged."""
    numbers: dict[object, int] = {}

    def number(key: object) -> int:
        return numbers.setdefault(key, len(numbers))

    def results(order: Sequence[int]) -> list[int]:
        values: dict[SSAValue, int] = {block.args[at]: number(place) for place, at in enumerate(order)}
        for op in block.ops:
            given = [values[value] for value in op.operands]
            if op is block.last_op:
                return given
            operands = sorted(given) if isinstance(op, _COMMUTATIVE) else given
            properties = tuple(sorted((name, str(value)) for name, value in op.properties.items()))
            values[op.results[0]] = number((op.name, str(op.results[0].type), properties, tuple(operands)))
        return []

    both = list(range(2 * count))
    return results(both) == results(both[count:] + both[:count])


def _starts_neutral(op: ReduceOp, block: Block) -> bool:
    """Whether the initial values are constants that change none of some numbers that come after them."""
    starts: list[Array] = []
    arrays: list[Array] = []
    for at, value in enumerate(op.init_values):
        if not isinstance(value.owner, ConstantOp):
            return False
        init = constant_array(value.owner.dense)
        tried = _TRIED if is_float(element_of(value)) else _TRIED_INTEGERS
        # Another permutation for each operand, so that no two are equal everywhere.
        arrays.append(np.roll(np.array(tried), 3 * at).astype(init.dtype))
        starts.append(np.broadcast_to(init, (len(tried),)))
    given: dict[SSAValue, Array] = dict(zip(block.args, (*starts, *arrays), strict=True))
    found = _computed(block, given)
    return found is not None and all(np.array_equal(a, b) for a, b in zip(found, arrays, strict=True))


def _computed(block: Block, given: Mapping[SSAValue, Array]) -> list[Array] | None:
    """The reducer's results for arrays of arguments."""
    values = dict(given)
    for op in block.ops:
        if op is block.last_op:
            return [values[value] for value in op.operands]
        if isinstance(op, ConstantOp):
            dense: DenseIntOrFPElementsAttr = op.dense
            values[op.result] = np.broadcast_to(constant_array(dense), (len(_TRIED),))
            continue
        assert isinstance(op, HloOp)
        try:
            result = op.reference(*(values[value] for value in op.operands))
        except NotImplementedError:
            return None
        values[op.results[0]] = np.asarray(result)
    return None
