"""The vectors of extreme_rows.py: a row's extreme, with one look at NaN and the sign of a zero, without a branch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, Float32Type, IntegerType, VectorType, i32, i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.arith_ops import CmpfOp, CmpiOp, boolean_lanes
from ...dialects.support.creation import create_op
from ...dialects.support.scalar import NO_FASTMATH, Scalar, scalar_attr
from ..loop_nests.combiners import Combiner
from ..loop_nests.emission import NestEmitter
from ..loop_nests.loop_builder import LoopBuilder, buffer_of
from ..loop_nests.nest import Access

_KINDS: dict[type[Operation], tuple[type[Operation], vector.CombiningKindFlag]] = {
    arith.MaximumfOp: (arith.MaxnumfOp, vector.CombiningKindFlag.MAXNUMF),
    arith.MinimumfOp: (arith.MinnumfOp, vector.CombiningKindFlag.MINNUMF),
    arith.MaxSIOp: (arith.MaxSIOp, vector.CombiningKindFlag.MAXSI),
    arith.MinSIOp: (arith.MinSIOp, vector.CombiningKindFlag.MINSI),
    arith.MaxUIOp: (arith.MaxUIOp, vector.CombiningKindFlag.MAXUI),
    arith.MinUIOp: (arith.MinUIOp, vector.CombiningKindFlag.MINUI),
}
"""The operation of vectors, and that of the lanes of one."""

_UNSAFE = arith.FastMathFlagsAttr([FastMathFlag.NO_NANS, FastMathFlag.NO_SIGNED_ZEROS])


class RowExtreme:
    """Finds the extreme of one row, where `lanes_of_row` is not None."""

    def __init__(self, builder: LoopBuilder, emitter: NestEmitter, combiner: Combiner, loop: int, lanes: int):
        self.builder = builder
        self.emitter = emitter
        self.combiner = combiner
        self.loop = loop
        self.lanes = lanes

    def emit(self, start: SSAValue) -> SSAValue:
        """The extreme of a number and the row that is bound."""
        of_vectors, of_lanes = _KINDS[type(self.combiner.op)]
        vectors, is_float = self._load(), isinstance(self.combiner.type, Float32Type)
        flags = {"fastmath": _UNSAFE} if is_float else {}
        best = reduce(lambda x, y: self._emit(of_vectors, (x, y), x.type, **flags), vectors)
        found = self._of_lanes(best, of_lanes)
        if is_float:
            found = self._with_rules(found, vectors)
        return self.combiner.combine(self.builder, start, found)

    def _load(self) -> list[SSAValue]:
        (read,) = self.emitter.nest.inputs
        assert isinstance(read, Access)
        size, lanes = self.emitter.nest.sizes[self.loop], self.lanes
        with self.emitter.scope():
            self.emitter.indices[self.loop] = 0
            place = self.emitter.offset(read)
        root = self.emitter.roots.get(read.root, read.root)
        row = self.builder.strided_view(root, place, (size,), (1,))
        type_: VectorType[Any] = VectorType(buffer_of(root).element_type, [lanes])
        places = [*range(0, size - lanes, lanes), size - lanes]
        return [self._emit(vector.LoadOp, (row, self.builder.index(at).value), type_) for at in places]

    def _with_rules(self, found: SSAValue, vectors: Sequence[SSAValue]) -> SSAValue:
        """The extreme with the rules for NaN and the signs of zeros; `found` is any number if there is a NaN."""
        builder, is_maximum = self.builder, isinstance(self.combiner.op, arith.MaximumfOp)
        flags, words = boolean_lanes(vectors[0].type), VectorType(i32, [self.lanes])
        pairs = zip(vectors[::2], [*vectors[1::2], vectors[-1]], strict=False)
        unordered = [self._emit(CmpfOp, pair, flags, predicate=_UNORDERED, fastmath=NO_FASTMATH) for pair in pairs]
        some = reduce(lambda x, y: self._emit(arith.OrIOp, (x, y), flags), unordered)
        is_nan = self._of_lanes(some, vector.CombiningKindFlag.OR)
        bits = [self._emit(arith.BitcastOp, (each,), words) for each in vectors]
        combine = arith.AndIOp if is_maximum else arith.OrIOp
        signs = reduce(lambda x, y: self._emit(combine, (x, y), words), bits)
        none = self._emit(vector.BroadcastOp, (builder.scalar(scalar_attr(0, i32)),), words)
        negative = self._emit(CmpiOp, (signs, none), flags, predicate=_LESS)
        number = builder.on(found)
        zero = (self._sign_of(negative, is_maximum) << 31).bitcast(number.type)
        number = number.compare("eq", 0.0).select(zero, number)
        return builder.on(is_nan).select(number.constant(math.nan), number).value

    def _sign_of(self, negative: SSAValue, is_maximum: bool) -> Scalar:
        """
        The sign of a zero, as a number: 1 if all lanes are negative, or for a minimum if any is.

        The lanes are bits of one number: LLVM would choose between two zeros by a branch.
        """
        word = IntegerType(self.lanes)
        whole = self._emit(vector.BitcastOp, (negative,), VectorType(word, [1]))
        bits = self._emit(vector.ExtractOp, (whole,), word, static_position=DenseArrayBase.from_list(i64, [0]))
        count = self.builder.on(self._emit(arith.ExtUIOp, (bits,), i32))
        return (count + (1 if is_maximum else (1 << self.lanes) - 1)).shift_right_logical(self.lanes)

    def _of_lanes(self, x: SSAValue, kind: vector.CombiningKindFlag) -> SSAValue:
        element = cast("VectorType[Any]", x.type).element_type
        fastmath = _UNSAFE if isinstance(element, Float32Type) else NO_FASTMATH
        return self._emit(vector.ReductionOp, (x,), element, kind=vector.CombiningKindAttr(kind), fastmath=fastmath)

    def _emit(
        self, cls: type[Operation], operands: Sequence[SSAValue], result: Attribute, **properties: Attribute
    ) -> SSAValue:
        op = create_op(cls, operands=operands, result_types=[result], properties=properties)
        return self.builder.insert(op).results[0]


_UNORDERED, _LESS = scalar_attr(14, IntegerType(64)), scalar_attr(2, IntegerType(64))
"""Predicates of comparisons: of floats, whether one is NaN; of integers, whether the first is less."""
