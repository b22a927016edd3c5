"""The NumPy references, type inference, folds and verifiers of the structural operations, against plain loops."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr
from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import VerifyException

from structural_ops import (
    I,
    binary,
    broadcast,
    dot,
    fusion,
    if_op,
    iota,
    pad,
    reduce_op,
    region,
    run_lifted,
    slice_op,
    sum_over,
    t,
    values,
    while_op,
)
from xhlo.hlo_dialect.attributes import DotDimensionNumbersAttr, Precision, PrecisionAttr, int_array, int_attr
from xhlo.hlo_dialect.custom_calls.operations import CustomCallOp
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.ops.constraints import is_promotable
from xhlo.hlo_dialect.ops.contraction import DotGeneralOp
from xhlo.hlo_dialect.ops.control_flow import CaseOp, OptimizationBarrierOp
from xhlo.hlo_dialect.ops.dynamic import DynamicSliceOp, DynamicUpdateSliceOp
from xhlo.hlo_dialect.ops.elementwise_binary import AddOp, MaximumOp, SubtractOp
from xhlo.hlo_dialect.ops.movement import ReshapeOp, ReverseOp, TransposeOp
from xhlo.hlo_dialect.ops.reduction import ReduceOp, single_combiner
from xhlo.hlo_dialect.ops.slicing import ConcatenateOp
from xhlo.hlo_dialect.ops.tuples import GetTupleElementOp, TupleOp
from xhlo.hlo_dialect.shapes import DYNAMIC
from xhlo.hlo_dialect.types import bf16, f32, f64, i1, i32, i64, shape_of


class TestMovement:
    @pytest.mark.parametrize(
        ("shape", "dims", "result"),
        [((), (), (2, 3)), ((3,), (1,), (2, 3)), ((1, 3), (2, 0), (3, 4, 5)), ((2, 1), (0, 2), (2, 3, 4))],
    )
    def test_broadcast(self, shape: I, dims: I, result: I) -> None:
        operand = iota(*shape)
        op = broadcast(t(*shape), dims, t(*result))
        op.verify()
        got = op.reference(operand)
        assert got.shape == result
        for index in np.ndindex(result):
            source = tuple(0 if shape[k] == 1 else index[dims[k]] for k in range(len(shape)))
            assert got[index] == operand[source]

    @pytest.mark.parametrize(
        ("start", "limit", "strides"), [((0, 1), (4, 6), (1, 1)), ((1, 0), (4, 6), (2, 4)), ((2, 2), (2, 6), (1, 3))]
    )
    def test_slice(self, start: I, limit: I, strides: I) -> None:
        op = slice_op(t(4, 6), start, limit, strides)
        op.verify()
        got = op.reference(iota(4, 6))
        assert got.shape == shape_of(op.results[0])
        for i, j in np.ndindex(got.shape):
            assert got[i, j] == iota(4, 6)[start[0] + i * strides[0], start[1] + j * strides[1]]

    @pytest.mark.parametrize(
        ("low", "high", "interior"),
        [
            ((0, 1), (2, 1), (1, 2)),
            ((-1, -2), (0, 0), (0, 2)),
            ((0, 0), (-2, -1), (1, 0)),
            ((-5, 3), (3, -3), (2, 0)),
            ((0, 0), (0, 0), (0, 0)),
            ((3, 0), (-5, 0), (0, 0)),
        ],
    )
    def test_pad(self, low: I, high: I, interior: I) -> None:
        op = pad(t(2, 3), low, high, interior)
        op.verify()
        operand, value = iota(2, 3), np.float32(-1)
        shape = shape_of(op.results[0])
        expected = np.full(shape, value)
        for index in np.ndindex(2, 3):
            place = tuple(low[d] + index[d] * (interior[d] + 1) for d in range(2))
            if all(0 <= place[d] < shape[d] for d in range(2)):
                expected[place] = operand[index]
        np.testing.assert_array_equal(op.reference(operand, np.asarray(value)), expected)

    def test_pad_of_empty_dimension_has_no_interior(self) -> None:
        op = pad(t(0), (1,), (2,), (5,))
        assert shape_of(op.results[0]) == (3,)
        assert op.reference(iota(0), np.asarray(np.float32(7))).tolist() == [7, 7, 7]

    def test_transpose_reshape_reverse_concatenate(self) -> None:
        x = iota(2, 3, 4)
        transpose = TransposeOp.infer(values(t(2, 3, 4)), {"permutation": int_array((2, 0, 1))})
        assert shape_of(transpose.results[0]) == (4, 2, 3)
        assert transpose.reference(x)[3, 1, 2] == x[1, 2, 3]
        reshape = ReshapeOp.create(operands=values(t(2, 3, 4)), result_types=[t(6, 4)])
        reshape.verify()
        assert reshape.reference(x)[5, 3] == x[1, 2, 3]
        reverse = ReverseOp.infer(values(t(2, 3, 4)), {"dimensions": int_array((0, 2))})
        assert reverse.reference(x)[0, 1, 0] == x[1, 1, 3]
        concatenate = ConcatenateOp.infer(values(t(2, 3), t(2, 1)), {"dimension": int_attr(1)})
        assert shape_of(concatenate.results[0]) == (2, 4)
        assert concatenate.reference(iota(2, 3), iota(2, 1))[1].tolist() == [3, 4, 5, 1]

    def test_dynamic_dimensions_pass(self) -> None:
        broadcast(t(DYNAMIC), (1,), t(2, 3)).verify()
        concatenated = ConcatenateOp.infer(values(t(2, DYNAMIC), t(2, 3)), {"dimension": int_attr(1)})
        assert shape_of(concatenated.results[0]) == (2, DYNAMIC)
        TransposeOp.create(
            operands=values(t(DYNAMIC, 3)), result_types=[t(3, 5)], properties={"permutation": int_array((1, 0))}
        ).verify()
        ReshapeOp.create(operands=values(t(DYNAMIC, 3)), result_types=[t(7)]).verify()

    def test_folds(self) -> None:
        assert broadcast(t(2, 3), (0, 1), t(2, 3)).fold() is not None
        assert broadcast(t(2, 2), (1, 0), t(2, 2)).fold() is None
        transpose = TransposeOp.infer(values(t(2, 3, 4)), {"permutation": int_array((2, 0, 1))})
        back = TransposeOp.infer(transpose.results, {"permutation": int_array((1, 2, 0))})
        assert back.fold() == (transpose.operands[0],)
        assert transpose.fold() is None
        reshape = ReshapeOp.create(operands=values(t(6)), result_types=[t(2, 3)])
        assert ReshapeOp.create(operands=reshape.results, result_types=[t(6)]).fold() == (reshape.operands[0],)
        assert slice_op(t(4), (0,), (4,), (1,)).fold() is not None
        assert slice_op(t(4), (0,), (4,), (2,)).fold() is None
        assert pad(t(4), (0,), (0,), (0,)).fold() is not None
        assert pad(t(4), (1,), (-1,), (0,)).fold() is None
        assert ConcatenateOp.infer(values(t(4)), {"dimension": int_attr(0)}).fold() is not None
        assert ReverseOp.infer(values(t(1, 3)), {"dimensions": int_array((0,))}).fold() is not None


class TestDynamic:
    @pytest.mark.parametrize("start", [(-5, 0), (1, 1), (9, 2)])
    def test_slice_and_update_clamp(self, start: I) -> None:
        x = iota(4, 5)
        starts = [np.asarray(np.int32(s)) for s in start]
        op = DynamicSliceOp.infer(values(t(4, 5), t(of=i32), t(of=i32)), {"slice_sizes": int_array((2, 3))})
        op.verify()
        first = [min(max(start[0], 0), 2), min(max(start[1], 0), 2)]
        box = (slice(first[0], first[0] + 2), slice(first[1], first[1] + 3))
        np.testing.assert_array_equal(op.reference(x, *starts), x[box])
        update = DynamicUpdateSliceOp.infer(values(t(4, 5), t(2, 3), t(of=i32), t(of=i32)))
        update.verify()
        expected = x.copy()
        expected[box] = -1
        np.testing.assert_array_equal(update.reference(x, np.full((2, 3), -1, np.float32), *starts), expected)
        assert x[0, 0] == 0, "the operand is never written"

    def test_large_unsigned_start(self) -> None:
        op = DynamicSliceOp.infer(values(t(4), t(of=i64)), {"slice_sizes": int_array((2,))})
        assert op.reference(iota(4), np.asarray(np.uint64(2**64 - 1))).tolist() == [2, 3]

    def test_folds(self) -> None:
        op = DynamicSliceOp.infer(values(t(4), t(of=i64)), {"slice_sizes": int_array((4,))})
        assert op.fold() == (op.operands[0],)
        update = DynamicUpdateSliceOp.infer(values(t(4), t(4), t(of=i64)))
        assert update.fold() == (update.operands[1],)


class TestReduce:
    @pytest.mark.parametrize("dims", [(), (0,), (1,), (2,), (0, 2), (0, 1, 2)])
    def test_sum(self, dims: I) -> None:
        op = reduce_op(t(2, 3, 5), dims, AddOp)
        op.verify()
        (got,) = op.reference_with_regions(run_lifted, iota(2, 3, 5), np.asarray(np.float32(10)))
        np.testing.assert_array_equal(got, iota(2, 3, 5).sum(axis=dims) + 10)

    def test_order_of_elements_is_kept(self) -> None:
        """Concatenation of decimal digits is associative and not commutative."""
        scalar = t(of=i64)

        def last_of(block: Block) -> Sequence[SSAValue]:
            return [block.args[1]]

        op = ReduceOp.infer(
            values(t(7, of=i64), scalar), {"dimensions": int_array((0,))}, [region([scalar] * 2, last_of)]
        )
        (got,) = op.reference_with_regions(run_lifted, np.arange(7), np.asarray(np.int64(-1)))
        assert got == 6

    def test_max_keeps_nan(self) -> None:
        op = reduce_op(t(4), (0,), MaximumOp)
        x = np.array([1, np.nan, 3, 2], np.float32)
        (got,) = op.reference_with_regions(run_lifted, x, np.asarray(np.float32(-np.inf)))
        assert np.isnan(got)

    def test_integers_wrap_and_narrow_floats_round_once(self) -> None:
        op = reduce_op(t(3, of=i32), (0,), AddOp)
        (got,) = op.reference_with_regions(run_lifted, np.array([2**31 - 1, 1, 1], np.int32), np.asarray(np.int32(0)))
        assert got.dtype == np.int32 and got == -(2**31) + 1
        op = reduce_op(t(1000, of=bf16), (0,), AddOp)
        ones = np.ones(1000, ml_dtypes.bfloat16)
        (got,) = op.reference_with_regions(run_lifted, ones, np.asarray(0, ml_dtypes.bfloat16))
        assert got.dtype == ml_dtypes.bfloat16 and float(got) == 1000

    def test_empty_gives_the_initial_value(self) -> None:
        for combiner in (AddOp, MaximumOp):
            op = reduce_op(t(2, 0), (1,), combiner)
            (got,) = op.reference_with_regions(run_lifted, iota(2, 0), np.asarray(np.float32(7)))
            assert got.tolist() == [7, 7]

    def test_single_combiner(self) -> None:
        assert isinstance(single_combiner(reduce_op(t(4), (0,), AddOp).regions[0]), AddOp)

    def test_is_promotable(self) -> None:
        assert is_promotable(bf16, f32) and is_promotable(i32, i64) and is_promotable(f32, f32)
        assert not is_promotable(f64, f32) and not is_promotable(i1, i32) and not is_promotable(i32, f32)


class TestDot:
    @pytest.mark.parametrize(
        ("lhs", "rhs", "numbers"),
        [
            ((3, 4, 5, 6), (6, 3, 7, 5), DotDimensionNumbersAttr.of([0], [1], [3, 2], [0, 3])),
            ((2, 3), (3, 4), DotDimensionNumbersAttr.of([], [], [1], [0])),
            ((2,), (3,), DotDimensionNumbersAttr.of()),
            ((3,), (3,), DotDimensionNumbersAttr.of([], [], [0], [0])),
            ((2, 0), (0, 3), DotDimensionNumbersAttr.of([], [], [1], [0])),
        ],
    )
    def test_sums_of_products(self, lhs: I, rhs: I, numbers: DotDimensionNumbersAttr) -> None:
        op = dot(t(*lhs), t(*rhs), numbers)
        op.verify()
        x, y = iota(*lhs) % 7, iota(*rhs) % 5
        got = op.reference(x, y)
        assert got.shape == shape_of(op.results[0])
        batches = len(numbers.lhs_batching)
        depths = [range(lhs[dim]) for dim in numbers.lhs_contracting]
        for index in np.ndindex(got.shape):
            total = 0.0
            for depth in itertools.product(*depths):
                left, right = [0] * len(lhs), [0] * len(rhs)
                for place, dims in ((left, numbers.lhs_batching), (right, numbers.rhs_batching)):
                    for k, dim in enumerate(dims):
                        place[dim] = index[k]
                for k, (a, b) in enumerate(zip(numbers.lhs_contracting, numbers.rhs_contracting, strict=True)):
                    left[a] = right[b] = depth[k]
                for k, dim in enumerate(op.lhs_free):
                    left[dim] = index[batches + k]
                for k, dim in enumerate(op.rhs_free):
                    right[dim] = index[batches + len(op.lhs_free) + k]
                total += x[tuple(left)] * y[tuple(right)]
            assert got[index] == total

    def test_accumulator_types(self) -> None:
        numbers = DotDimensionNumbersAttr.of([], [], [0], [0])
        i8 = type(i32)(8)
        wide = dot(t(3, of=i8), t(3, of=i8), numbers, t(of=i32))
        wide.verify()
        assert wide.reference(*[np.full(3, 127, np.int8)] * 2) == 3 * 127 * 127
        same = dot(t(3, of=i8), t(3, of=i8), numbers)
        assert same.reference(*[np.full(3, 127, np.int8)] * 2) == np.int8(3)
        booleans = dot(t(2, of=i1), t(2, of=i1), numbers)
        got = booleans.reference(np.array([True, True]), np.array([True, True]))
        assert got.dtype == np.bool_ and bool(got)
        ones = np.ones(1000, ml_dtypes.bfloat16)
        assert float(dot(t(1000, of=bf16), t(1000, of=bf16), numbers).reference(ones, ones)) == 1000


class TestTuplesAndCalls:
    def test_tuple(self) -> None:
        op = TupleOp.infer(values(t(2), t(of=i32)))
        op.verify()
        got = GetTupleElementOp.infer(op.results, {"index": int_attr(1, i32)})
        got.verify()
        assert got.results[0].type == t(of=i32)
        assert got.fold() == (op.operands[1],)
        one, two = iota(2), np.asarray(np.int32(3))
        assert got.reference(*op.reference(one, two)) == (two,)

    def test_annotations_are_identities(self) -> None:
        op = CustomCallOp.create(
            operands=values(t(2)), result_types=[t(2)], properties={"call_target_name": StringAttr("Sharding")}
        )
        op.verify()
        assert op.fold() == tuple(op.operands)
        with pytest.raises(DiagnosticError, match="'foo', which is not registered"):
            CustomCallOp.create(properties={"call_target_name": StringAttr("foo")}).reference()

    def test_barrier(self) -> None:
        op = OptimizationBarrierOp.infer(values(t(2), t(3)))
        op.verify()
        assert op.reference(iota(2), iota(3))[1].shape == (3,)


precision = PrecisionAttr(Precision.DEFAULT)
high = PrecisionAttr(Precision.HIGH)
unit_dot = DotDimensionNumbersAttr.of([], [], [0], [0])

INVALID: list[tuple[str, Any]] = [
    ("broadcast_in_dim_c1", lambda: broadcast(t(3), (0,), t(3, of=f64))),
    ("broadcast_in_dim_c2", lambda: broadcast(t(3), (), t(3))),
    ("broadcast_in_dim_c3", lambda: broadcast(t(3), (1,), t(3))),
    ("broadcast_in_dim_c4", lambda: broadcast(t(3, 3), (0, 0), t(3, 3))),
    ("broadcast_in_dim_c5", lambda: broadcast(t(2), (0,), t(3))),
    ("reshape_c1", lambda: ReshapeOp.create(operands=values(t(3)), result_types=[t(3, of=f64)])),
    ("reshape_c2", lambda: ReshapeOp.create(operands=values(t(3)), result_types=[t(4)])),
    (
        "transpose_c1",
        lambda: TransposeOp.create(
            operands=values(t(3)), result_types=[t(3, of=f64)], properties={"permutation": int_array((0,))}
        ),
    ),
    ("transpose_c2", lambda: TransposeOp.infer(values(t(3, 4)), {"permutation": int_array((0, 0))})),
    (
        "transpose_c3",
        lambda: TransposeOp.create(
            operands=values(t(3, 4)), result_types=[t(3, 4)], properties={"permutation": int_array((1, 0))}
        ),
    ),
    ("slice_c2", lambda: slice_op(t(3), (0, 0), (3,), (1,))),
    ("slice_c3", lambda: slice_op(t(3), (0,), (4,), (1,))),
    ("slice_c3", lambda: slice_op(t(3), (2,), (1,), (1,))),
    ("slice_c4", lambda: slice_op(t(3), (0,), (3,), (0,))),
    ("concatenate_c1", lambda: ConcatenateOp.infer(values(t(3), t(3, of=f64)), {"dimension": int_attr(0)})),
    ("concatenate_c2", lambda: ConcatenateOp.infer(values(t(3, 2), t(3, 3)), {"dimension": int_attr(0)})),
    ("concatenate_c3", lambda: ConcatenateOp.infer([], {"dimension": int_attr(0)})),
    ("concatenate_c4", lambda: ConcatenateOp.infer(values(t(3)), {"dimension": int_attr(1)})),
    ("pad_c2", lambda: pad(t(3), (), (0,), (0,))),
    ("pad_c3", lambda: pad(t(3), (0,), (0,), (-1,))),
    ("pad_c4", lambda: pad(t(3), (-2,), (-2,), (0,))),
    ("reverse_c2", lambda: ReverseOp.infer(values(t(3)), {"dimensions": int_array((0, 0))})),
    ("reverse_c3", lambda: ReverseOp.infer(values(t(3)), {"dimensions": int_array((1,))})),
    ("dynamic_slice_c2", lambda: DynamicSliceOp.infer(values(t(3)), {"slice_sizes": int_array((1,))})),
    (
        "dynamic_slice_c3",
        lambda: DynamicSliceOp.infer(values(t(3, 3), t(of=i32), t(of=i64)), {"slice_sizes": int_array((1, 1))}),
    ),
    ("dynamic_slice_c4", lambda: DynamicSliceOp.infer(values(t(3), t(of=i32)), {"slice_sizes": int_array((4,))})),
    ("dynamic_update_slice_c2", lambda: DynamicUpdateSliceOp.infer(values(t(3), t(1, of=f64), t(of=i32)))),
    ("dynamic_update_slice_c3", lambda: DynamicUpdateSliceOp.infer(values(t(3), t(1, 1), t(of=i32)))),
    ("dynamic_update_slice_c4", lambda: DynamicUpdateSliceOp.infer(values(t(3), t(1)))),
    ("dynamic_update_slice_c6", lambda: DynamicUpdateSliceOp.infer(values(t(3), t(4), t(of=i32)))),
    ("dot_general_c1", lambda: dot(t(3), t(3), DotDimensionNumbersAttr.of([0], [], [], []))),
    ("dot_general_c2", lambda: dot(t(3), t(3), DotDimensionNumbersAttr.of([], [], [0], []))),
    ("dot_general_c3", lambda: dot(t(3), t(3), DotDimensionNumbersAttr.of([0], [0], [0], [0]))),
    ("dot_general_c4", lambda: dot(t(3, 3), t(3), DotDimensionNumbersAttr.of([0], [0], [1], [0]))),
    ("dot_general_c6", lambda: dot(t(3), t(3), DotDimensionNumbersAttr.of([], [], [1], [0]))),
    ("dot_general_c8", lambda: dot(t(3), t(3), DotDimensionNumbersAttr.of([], [], [0], [1]))),
    ("dot_general_c9", lambda: dot(t(3), t(4), DotDimensionNumbersAttr.of([0], [0], [], []))),
    ("dot_general_c10", lambda: dot(t(3), t(4), unit_dot)),
    (
        "dot_general_c11",
        lambda: DotGeneralOp.infer(
            values(t(3), t(3)), {"dot_dimension_numbers": unit_dot, "precision_config": ArrayAttr([high])}
        ),
    ),
    ("dot_general_c12", lambda: dot(t(3), t(3), unit_dot, t(1))),
    ("dot_general_c13", lambda: dot(t(3), t(3, of=i32), unit_dot)),
    ("reduce_c4", lambda: reduce_op(t(3), (1,), AddOp)),
    ("reduce_c5", lambda: reduce_op(t(3), (0, 0), AddOp)),
    (
        "reduce_c2",
        lambda: ReduceOp.infer(
            values(t(3), t(of=f64)), {"dimensions": int_array((0,))}, [region([t(), t()], binary(AddOp))]
        ),
    ),
    (
        "reduce_c6",
        lambda: ReduceOp.infer(
            values(t(3), t()), {"dimensions": int_array((0,))}, [region([t(of=i32)] * 2, binary(AddOp))]
        ),
    ),
    (
        "reduce_c7",
        lambda: ReduceOp.create(
            operands=values(t(3), t()),
            result_types=[t(3)],
            properties={"dimensions": int_array((0,))},
            regions=[region([t(), t()], binary(AddOp))],
        ),
    ),
    ("if_i1", lambda: if_op(t(of=i32), [t(2)], [t(2)], [t(2)])),
    ("if_c2", lambda: if_op(t(of=i1), [t(2)], [t(3)], [t(2)])),
    ("if_c3", lambda: if_op(t(of=i1), [t(2)], [t(2)], [t(3)])),
    ("case_c1", lambda: CaseOp.create(operands=values(t(of=i32)))),
    ("while_c1", lambda: while_op([t(2)], t(), [t(2)])),
    ("while_c2", lambda: while_op([t(2)], t(of=i1), [t(3)])),
    (
        "tuple_c1",
        lambda: TupleOp.create(operands=values(t(2)), result_types=[TupleOp.infer(values(t(3))).results[0].type]),
    ),
    (
        "get_tuple_element_c1",
        lambda: GetTupleElementOp.infer(TupleOp.infer(values(t(2))).results, {"index": int_attr(1, i32)}),
    ),
    (
        "custom_call_i5",
        lambda: CustomCallOp.create(
            properties={"call_target_name": StringAttr("f"), "api_version": IntegerAttr(9, 32)}
        ),
    ),
    ("fusion_c1", lambda: fusion("blob", lambda block: block.args[:1])),
    ("fusion_c4", lambda: fusion("row", lambda block: block.args[:1])),
    ("fusion_c4", lambda: fusion("loop", lambda block: block.args[:1], row_dims=1)),
    ("fusion_c5", lambda: fusion("loop", lambda block: block.args)),
    ("fusion_c5", lambda: fusion("reduce", lambda block: block.args[:1])),
    ("fusion_c5", lambda: fusion("dot", lambda block: block.args[:1])),
    ("fusion_c6", lambda: fusion("row", sum_over(0), row_dims=2)),
]


@pytest.mark.parametrize(("constraint", "make"), INVALID, ids=[f"{i}-{name}" for i, (name, _) in enumerate(INVALID)])
def test_invalid(constraint: str, make: Any) -> None:
    with pytest.raises(VerifyException, match=f"{constraint}:"):
        make().verify()


def test_valid_fusions() -> None:
    fusion("row", sum_over(1), row_dims=1).verify()
    fusion("reduce", sum_over(0)).verify()
    fusion("loop", lambda block: block.args[:1]).verify()


def test_subtract_is_no_commutative_combiner() -> None:
    """The short form may name only commutative combiners; for others, the reference keeps the operands' order."""
    op = reduce_op(t(2), (0,), SubtractOp)
    (got,) = op.reference_with_regions(run_lifted, np.array([5, 3], np.float32), np.asarray(np.float32(0)))
    assert got == -2
