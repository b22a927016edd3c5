"""Folds, type inference and verifiers of the elementwise operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.test import TestOp as ValuesOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from hlo_programs import values_of
from xhlo.hlo_dialect.attributes import int_array
from xhlo.hlo_dialect.ops import elementwise_binary as binary
from xhlo.hlo_dialect.ops import elementwise_unary as unary
from xhlo.hlo_dialect.ops.comparison import SelectOp
from xhlo.hlo_dialect.ops.conversion import ComplexOp, ConvertOp, ImagOp, RealOp
from xhlo.hlo_dialect.ops.creation import ConstantOp, is_splat_of
from xhlo.hlo_dialect.ops.movement import BroadcastInDimOp
from xhlo.hlo_dialect.shapes import DYNAMIC
from xhlo.hlo_dialect.types import dense_constant, f32, i1, i32, make_tensor, numpy_dtype, tensor_type

# Folds -----------------------------------------------------------------------------------------------------------


def fold(op: type[Any], *operands: SSAValue) -> Any:
    folded = op.infer(list(operands)).fold()
    return None if folded is None else folded[0]


def splat(number: Any, like: Any) -> SSAValue:
    """A scalar constant broadcast to the type of `like`, as programs write splats."""
    type_ = tensor_type(like)
    scalar = ConstantOp.of(np.array(number, numpy_dtype(type_.element_type)))
    properties: dict[str, Any] = {"broadcast_dimensions": int_array(())}
    return BroadcastInDimOp.create(operands=[scalar.result], properties=properties, result_types=[type_]).results[0]


@pytest.mark.parametrize(
    ("op", "number", "commutes"),
    [
        (binary.AddOp, 0, True),
        (binary.SubtractOp, 0, False),
        (binary.MultiplyOp, 1, True),
        (binary.DivideOp, 1, False),
        (binary.PowerOp, 1, False),
        (binary.OrOp, 0, True),
        (binary.AndOp, -1, True),
        (binary.XorOp, 0, True),
        (binary.ShiftLeftOp, 0, False),
    ],
)
def test_neutral_elements(op: Any, number: int, commutes: bool):
    (x,) = values_of(np.zeros(4, np.int32))
    assert fold(op, x, splat(number, x)) is x
    assert (fold(op, splat(number, x), x) is x) == commutes
    assert fold(op, x, splat(5, x)) is None


def test_folds_are_exact_for_floats():
    (x,) = values_of(np.zeros(4, np.float32))
    assert fold(binary.AddOp, x, splat(0.0, x)) is None, "-0.0 + 0.0 is 0.0"
    assert fold(binary.AddOp, x, splat(-0.0, x)) is x
    assert fold(binary.SubtractOp, x, splat(0.0, x)) is x
    assert fold(binary.SubtractOp, x, splat(-0.0, x)) is None
    assert fold(binary.SubtractOp, x, x) is None, "x may be infinite"
    assert fold(binary.MultiplyOp, x, splat(0.0, x)) is None, "x may be NaN"
    assert fold(binary.MultiplyOp, x, splat(1.0, x)) is x
    assert is_splat_of(splat(0.0, x), 0.0) and not is_splat_of(splat(-0.0, x), 0.0)


def test_other_folds():
    (x,) = values_of(np.zeros(4, np.int32))
    negated = unary.NegateOp.infer([x]).result
    assert fold(unary.NegateOp, negated) is x
    zero = dense_constant(np.zeros(1, np.int32), tensor_type(x))
    assert fold(binary.SubtractOp, x, x) == zero
    assert fold(binary.XorOp, x, x) == zero
    assert fold(binary.MultiplyOp, splat(0, x), x) == zero
    assert ConvertOp.to(x, i32).fold() == (x,)
    assert ConvertOp.to(x, i1).fold() is None
    (y,) = values_of(np.zeros(4, np.int32))
    (flag,) = values_of(np.zeros((), np.bool_))
    assert fold(SelectOp, splat(True, flag), x, y) is x
    assert fold(SelectOp, splat(False, flag), x, y) is y
    assert fold(SelectOp, flag, x, x) is x
    assert fold(SelectOp, flag, x, y) is None
    (z,) = values_of(np.zeros(2, np.complex64))
    real, imag = RealOp.infer([z]).result, ImagOp.infer([z]).result
    assert fold(ComplexOp, real, imag) is z
    assert fold(ComplexOp, imag, real) is None
    assert fold(RealOp, ComplexOp.infer([real, imag]).result) is real


# Types -----------------------------------------------------------------------------------------------------------


def test_dynamic_dimensions_agree_with_any():
    x, y = ValuesOp(result_types=[make_tensor((DYNAMIC, 3), f32), make_tensor((2, DYNAMIC), f32)]).results
    op = binary.AddOp.infer([x, y])
    assert op.result_types == (make_tensor((2, 3), f32),)
    op.verify()
    binary.AddOp.create(operands=[x, y], result_types=[make_tensor((DYNAMIC, DYNAMIC), f32)]).verify()


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (lambda x, i: binary.AddOp.infer([x, i]), "add_c1: lhs and rhs have different types"),
        (lambda x, i: binary.AndOp.infer([x, x]), "and_i1: lhs has element type f32, expected boolean or integer"),
        (lambda x, i: unary.PopcntOp.infer([x]), "popcnt_i1: operand has element type f32, expected integer"),
        (
            lambda x, i: unary.ExponentialOp.infer([i]),
            "exponential_i1: operand has element type i32, expected float or complex",
        ),
        (
            lambda x, i: unary.AbsOp.create(operands=[x], result_types=[i.type]),
            "abs_c2: result has type tensor<4xi32>, expected tensor<4xf32>",
        ),
        (
            lambda x, i: unary.AbsOp.create(operands=[x], result_types=[make_tensor((5,), f32)]),
            "abs_c1: result has type tensor<5xf32>, expected tensor<4xf32>",
        ),
        (lambda x, i: SelectOp.infer([x, x, x]), "select_i1: pred has element type f32, expected boolean"),
        (lambda x, i: ComplexOp.infer([i, i]), "complex_i1: lhs has element type i32, expected f32 or f64"),
    ],
)
def test_verifiers_name_the_constraint(op: Any, message: str):
    x, i = values_of(np.zeros(4, np.float32), np.zeros(4, np.int32))
    with pytest.raises(VerifyException) as caught:
        op(x, i).verify()
    assert message in str(caught.value)
