"""The NumPy references of the elementwise operations, at the edges first."""

from __future__ import annotations

import math
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr
from xdsl.utils.exceptions import VerifyException

from hlo_programs import values_of
from xhlo.hlo_dialect.ops import elementwise_binary as binary
from xhlo.hlo_dialect.ops import elementwise_unary as unary
from xhlo.hlo_dialect.ops.comparison import ClampOp, CompareOp, SelectOp, comparison_direction, comparison_type
from xhlo.hlo_dialect.ops.conversion import BitcastConvertOp, ComplexOp, ConvertOp, ImagOp, RealOp, ReducePrecisionOp
from xhlo.hlo_dialect.ops.creation import ConstantOp, IotaOp
from xhlo.hlo_dialect.types import (
    dense_constant,
    element_type_of,
    f32,
    i32,
    i64,
    make_tensor,
    numpy_dtype,
    tensor_type,
)

bf16 = ml_dtypes.bfloat16
INF, NAN = math.inf, math.nan
SIGNED = (np.int8, np.int16, np.int32, np.int64)
UNSIGNED = (np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS = (bf16, np.float16, np.float32, np.float64)


@pytest.fixture(autouse=True)
def no_warnings_leak():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def run(op: type[Any], *arrays: Any, **properties: Any) -> Any:
    """The operation's reference on the arrays, after verification; dtype and shape must be the result type's."""
    made = op.infer(values_of(*arrays), properties)
    made.verify()
    before = [array.copy() for array in arrays]
    result = made.reference(*arrays)
    assert isinstance(result, np.ndarray)
    assert result.dtype == numpy_dtype(tensor_type(made.results[0]).element_type)
    assert result.shape == tensor_type(made.results[0]).get_shape()
    for array, copy in zip(arrays, before, strict=True):
        assert array.tobytes() == copy.tobytes(), "a reference never modifies an operand"
    return result


def same(result: Any, *wanted: Any) -> None:
    """Equal elements; NaN equals NaN, zeros by their sign."""
    expected = np.array(wanted, dtype=result.dtype).reshape(result.shape)
    if result.dtype == bf16:
        result, expected = result.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_array_equal(result, expected)
    if result.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(result[result == 0]), np.signbit(expected[expected == 0]))


def convert(array: Any, dtype: Any) -> Any:
    element_type = element_type_of(np.dtype(dtype))
    assert element_type is not None
    op = ConvertOp.to(values_of(array)[0], element_type)
    op.verify()
    result = op.reference(array)
    assert result.dtype == np.dtype(dtype)
    return result


# Integers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SIGNED)
def test_signed_division(dtype: Any):
    low = np.iinfo(dtype).min
    x = np.array([7, -7, 7, -7, 5, -5, 0, low, low, low], dtype)
    y = np.array([2, 2, -2, -2, 0, 0, 0, -1, 0, 1], dtype)
    same(run(binary.DivideOp, x, y), 3, -3, -3, 3, -1, -1, -1, low, -1, low)
    same(run(binary.RemainderOp, x, y), 1, -1, 1, -1, 5, -5, 0, 0, low, 0)


@pytest.mark.parametrize("dtype", UNSIGNED)
def test_unsigned_division(dtype: Any):
    high = np.iinfo(dtype).max
    x, y = np.array([7, high, 5, 0, high], dtype), np.array([2, 2, 0, 0, high], dtype)
    same(run(binary.DivideOp, x, y), 3, high // 2, high, high, 1)
    same(run(binary.RemainderOp, x, y), 1, high % 2, 5, 0, 0)


@pytest.mark.parametrize("dtype", (*SIGNED, *UNSIGNED))
def test_wrapping(dtype: Any):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    same(run(binary.AddOp, np.array([high], dtype), np.array([1], dtype)), low)
    same(run(binary.SubtractOp, np.array([low], dtype), np.array([1], dtype)), high)
    assert run(binary.MultiplyOp, np.array([high], dtype), np.array([high], dtype))[0] == 1
    assert run(unary.NegateOp, np.array(1, dtype)) == (-1 if low < 0 else high)


@pytest.mark.parametrize("dtype", SIGNED)
def test_smallest_integer_is_its_own_negative(dtype: Any):
    low = np.iinfo(dtype).min
    same(run(unary.AbsOp, np.array([low, -3, 0], dtype)), low, 3, 0)
    same(run(unary.NegateOp, np.array([low], dtype)), low)
    same(run(unary.SignOp, np.array([low, 0, 9], dtype)), -1, 0, 1)


@pytest.mark.parametrize("dtype", (*SIGNED, *UNSIGNED))
def test_shifts_past_the_width(dtype: Any):
    width = np.dtype(dtype).itemsize * 8
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    ones = -1 if low < 0 else high
    top = low if low < 0 else 1 << (width - 1)
    x = np.array([1, 1, top, top, 3, top], dtype)
    y = np.array([width - 1, width, width - 1, width, ones, ones], dtype)
    same(run(binary.ShiftLeftOp, x, y), top, 0, 0, 0, 0, 0)
    same(run(binary.ShiftRightLogicalOp, x, y), 0, 0, 1, 0, 0, 0)
    same(run(binary.ShiftRightArithmeticOp, x, y), 0, 0, ones, ones, 0, ones)


@pytest.mark.parametrize("dtype", (*SIGNED, *UNSIGNED))
def test_bit_counts(dtype: Any):
    width = np.dtype(dtype).itemsize * 8
    ones = -1 if np.iinfo(dtype).min < 0 else np.iinfo(dtype).max
    x = np.array([0, 1, 6, ones], dtype)
    same(run(unary.CountLeadingZerosOp, x), width, width - 1, width - 3, 0)
    same(run(unary.PopcntOp, x), 0, 1, 2, width)
    same(run(unary.NotOp, x), ones, ones - 1, ones - 6, 0)


def test_integer_power():
    x = np.array([-1, -1, -3, 1, -2, 0, 0, 3, -1], np.int32)
    y = np.array([1, 0, -3, -3, 3, 0, -1, 40, -4], np.int32)
    same(run(binary.PowerOp, x, y), -1, 1, 0, 1, -8, 1, 0, np.int64(pow(3, 40, 2**32)).astype(np.int32), 1)
    same(run(binary.PowerOp, np.array(3, np.uint8), np.array(255, np.uint8)), pow(3, 255, 256))


def test_booleans():
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    for either in (binary.AddOp, binary.OrOp, binary.MaximumOp):
        same(run(either, x, y), False, True, True, True)
    for both in (binary.MultiplyOp, binary.AndOp, binary.MinimumOp):
        same(run(both, x, y), False, False, False, True)
    same(run(binary.XorOp, x, y), False, True, True, False)
    same(run(unary.NotOp, x), True, True, False, False)


# Floats ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
def test_maximum_and_minimum(dtype: Any):
    x, y = np.array([NAN, 1, 0.0, -0.0, -0.0, INF, 2], dtype), np.array([1, NAN, -0.0, 0.0, -0.0, -INF, 3], dtype)
    same(run(binary.MaximumOp, x, y), NAN, NAN, 0.0, 0.0, -0.0, INF, 3)
    same(run(binary.MinimumOp, x, y), NAN, NAN, -0.0, -0.0, -0.0, -INF, 2)
    low, high = np.array(-1, dtype), np.array(1, dtype)
    same(run(ClampOp, low, np.array([-5, 0.5, 7, NAN, INF], dtype), high), -1, 0.5, 1, NAN, 1)


@pytest.mark.parametrize("dtype", FLOATS)
def test_signs_and_rounding(dtype: Any):
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -0.25, 0.0, -0.0, INF, -INF, NAN], dtype)
    same(run(unary.SignOp, x), 1, 1, 1, -1, -1, -1, 0.0, -0.0, 1, -1, NAN)
    same(run(unary.RoundNearestAfzOp, x), 1, 2, 3, -1, -2, -0.0, 0.0, -0.0, INF, -INF, NAN)
    same(run(unary.RoundNearestEvenOp, x), 0, 2, 2, -0.0, -2, -0.0, 0.0, -0.0, INF, -INF, NAN)
    same(run(unary.FloorOp, x), 0, 1, 2, -1, -2, -1, 0.0, -0.0, INF, -INF, NAN)
    same(run(unary.CeilOp, x), 1, 2, 3, -0.0, -1, -0.0, 0.0, -0.0, INF, -INF, NAN)
    same(run(unary.AbsOp, x), 0.5, 1.5, 2.5, 0.5, 1.5, 0.25, 0.0, 0.0, INF, INF, NAN)
    same(run(unary.IsFiniteOp, x), *[True] * 8, False, False, False)


def test_rounding_half_away_does_not_round_twice():
    below_half = np.nextafter(np.float32(0.5), np.float32(0))
    same(run(unary.RoundNearestAfzOp, np.array([below_half, 8388609.0], np.float32)), 0.0, 8388609.0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_division(dtype: Any):
    x, y = np.array([1, -1, 0, 5.5, -5.5, 1, INF], dtype), np.array([0, 0, 0, 2, 2, INF, 2], dtype)
    same(run(binary.DivideOp, x, y), INF, -INF, NAN, 2.75, -2.75, 0, INF)
    same(run(binary.RemainderOp, x, y), NAN, NAN, NAN, 1.5, -1.5, 1, NAN)


def test_power_is_that_of_c():
    x, y = np.array([1, NAN, -1, -8, 0.0, -0.0], np.float32), np.array([NAN, 0, INF, 1 / 3, -1, -3], np.float32)
    same(run(binary.PowerOp, x, y), 1, 1, 1, NAN, INF, -INF)


@pytest.mark.parametrize("dtype", FLOATS)
def test_poles_and_zeros(dtype: Any):
    x = np.array([0.0, -0.0, INF, -1], dtype)
    same(run(unary.LogOp, x), -INF, -INF, INF, NAN)
    same(run(unary.RsqrtOp, x), INF, -INF, 0, NAN)
    same(run(unary.SqrtOp, x), 0.0, -0.0, INF, NAN)
    same(run(unary.LogPlusOneOp, x), 0.0, -0.0, INF, -INF)
    same(run(unary.TanhOp, np.array([-0.0, INF, -INF, NAN], dtype)), -0.0, 1, -1, NAN)
    same(run(unary.LogisticOp, np.array([-INF, INF, 0, NAN], dtype)), 0, 1, 0.5, NAN)
    same(run(unary.CbrtOp, np.array([-0.0, INF], dtype)), -0.0, INF)
    # NumPy leaves it to the C library on some processors, whose result may be the next number.
    cubes = run(unary.CbrtOp, np.array([-8, 27], dtype))
    np.testing.assert_allclose(cubes.astype(np.float64), [-2, 3], rtol=float(ml_dtypes.finfo(dtype).eps))


@pytest.mark.parametrize(
    ("op", "function"),
    [
        (unary.ExponentialOp, np.exp),
        (unary.ExponentialMinusOneOp, np.expm1),
        (unary.LogPlusOneOp, np.log1p),
        (unary.SineOp, np.sin),
        (unary.CosineOp, np.cos),
        (unary.TanOp, np.tan),
        (unary.TanhOp, np.tanh),
        (unary.LogisticOp, lambda x: 1 / (1 + np.exp(-x))),
    ],
)
@pytest.mark.parametrize("dtype", (bf16, np.float16, np.float32))
def test_transcendental_functions_round_once(op: Any, function: Any, dtype: Any):
    x = np.random.default_rng(0).uniform(-0.99, 1.5, 2000).astype(dtype)
    result, exact = run(op, x), function(x.astype(np.float64))
    size = np.abs(result)
    spacing = np.nextafter(size, np.array(INF, dtype)).astype(np.float64) - size.astype(np.float64)
    assert (np.abs(result.astype(np.float64) - exact) <= 0.5001 * spacing).all()


def test_logistic_keeps_small_values():
    same(run(unary.LogisticOp, np.array([-100.0, -700.0])), math.exp(-100), math.exp(-700))


def test_narrow_floats_round_once_per_operation():
    x, y = np.array([256, 1.0078125], bf16), np.array([1.0, 1.0078125], bf16)
    same(run(binary.AddOp, x, y), 256, 2.015625)
    # The exact product 1.01568603515625 is nearer to 1.015625 than to the next bf16.
    same(run(binary.MultiplyOp, x, y), 256, 1.015625)
    same(run(binary.AddOp, np.array(65504, np.float16), np.array(16, np.float16)), INF)


# Comparison and choice -------------------------------------------------------------------------------------------


def compare(direction: str, x: Any, y: Any, kind: str | None = None) -> list[bool]:
    properties: dict[str, Any] = {"comparison_direction": comparison_direction(direction)}
    if kind is not None:
        properties["compare_type"] = comparison_type(kind)
    return run(CompareOp, x, y, **properties).tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_is_unordered(dtype: Any):
    x, y = np.array([NAN, NAN, 0.0, 1], dtype), np.array([NAN, 1, -0.0, 2], dtype)
    assert compare("EQ", x, y) == [False, False, True, False]
    assert compare("NE", x, y) == [True, True, False, True]
    assert compare("LT", x, y) == [False, False, False, True]
    assert compare("GE", x, y, "FLOAT") == [False, False, True, False]


@pytest.mark.parametrize("dtype", FLOATS)
def test_total_order(dtype: Any):
    rising = np.array([-NAN, -INF, -1, -0.0, 0.0, 1, INF, NAN], dtype)
    rising[0] = np.copysign(rising[0], np.array(-1, dtype))
    rising[-1] = np.copysign(rising[-1], np.array(1, dtype))
    assert all(compare("LT", rising[:-1], rising[1:], "TOTALORDER"))
    assert all(compare("EQ", rising, rising, "TOTALORDER"))


def test_compare_integers_booleans_and_complex():
    for kind in ("SIGNED", "UNSIGNED", "TOTALORDER"):  # the element type decides
        assert compare("LT", np.array([-1], np.int8), np.array([1], np.int8), kind) == [True]
    assert compare("LT", np.array([255], np.uint8), np.array([1], np.uint8)) == [False]
    assert compare("LT", np.array([False, True]), np.array([True, True]), "UNSIGNED") == [True, False]
    x, y = np.array([1 + 2j, 1 + 2j], np.complex64), np.array([1 + 2j, 1 - 2j], np.complex64)
    assert compare("EQ", x, y) == [True, False]
    assert compare("NE", x, y) == [False, True]


def test_select():
    x, y = np.array([1, 2], bf16), np.array([3, 4], bf16)
    same(run(SelectOp, np.array([True, False]), x, y), 1, 4)
    same(run(SelectOp, np.array(False), x, y), 3, 4)


# Conversion ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", (*SIGNED, *UNSIGNED))
def test_float_to_integer_saturates(source: Any, target: Any):
    low, high = np.iinfo(target).min, np.iinfo(target).max
    x = np.array([INF, -INF, NAN, 1.75, -0.5], source)
    same(convert(x, target), high, low, 0, 1, 0)


def test_float_to_integer_near_the_ends():
    x = np.array([2.0**63, -(2.0**63), 2.0**64, 127.9, -128.9])
    same(convert(x[:3], np.int64), 2**63 - 1, -(2**63), 2**63 - 1)
    same(convert(x[:3], np.uint64), 2**63, 0, 2**64 - 1)
    same(convert(x[3:], np.int8), 127, -128)


def test_conversions_to_boolean_and_back():
    same(convert(np.array([0.0, -0.0, 0.25, NAN]), np.bool_), False, False, True, True)
    same(convert(np.array([0, 256], np.int32), np.bool_), False, True)
    same(convert(np.array([False, True]), bf16), 0, 1)


def test_integers_wrap():
    same(convert(np.array([300, -1], np.int32), np.uint8), 44, 255)
    same(convert(np.array([200], np.uint8), np.int8), -56)


def test_one_rounding():
    # Just above the midpoint of two bf16: rounding to f32 first would give the midpoint, and then the even one.
    just_above = 1 + 2.0**-8 + 2.0**-40
    same(convert(np.array([just_above, -just_above]), bf16), 1.0078125, -1.0078125)
    same(
        convert(np.array([2**32 + 2**24 + 1, -(2**32 + 2**24 + 1)], np.int64), bf16),
        2.0**32 + 2**25,
        -(2.0**32) - 2**25,
    )
    same(convert(np.array([2**63 + 2**55 + 1], np.uint64), bf16), 2.0**63 + 2**56)
    same(convert(np.array([2**31 - 1], np.int32), np.float16), INF)
    same(convert(np.array([16777217], np.int32), np.float32), 16777216)
    same(convert(np.array([1e300, 1e-300, NAN, -INF]), bf16), INF, 0, NAN, -INF)


def test_complex():
    real, imag = np.array([1, 3], np.float32), np.array([2, -4], np.float32)
    z = run(ComplexOp, real, imag)
    assert z.dtype == np.complex64 and z.tolist() == [1 + 2j, 3 - 4j]
    same(run(RealOp, z), 1, 3)
    same(run(ImagOp, z), 2, -4)
    same(run(ImagOp, real), 0, 0)
    same(run(unary.AbsOp, z), np.float32(math.sqrt(5)), 5)
    same(convert(z, np.float64), 1, 3)
    same(convert(real, np.complex128), 1, 3)
    assert run(binary.MultiplyOp, z, z).tolist() == [-3 + 4j, -7 - 24j]
    np.testing.assert_allclose(run(unary.ExponentialOp, z), np.exp(z), rtol=1e-6)
    np.testing.assert_allclose(run(unary.SignOp, np.array([0, 3 + 4j])), [0, 0.6 + 0.8j], rtol=1e-15)
    small = run(unary.LogPlusOneOp, np.array([1e-20 + 1e-30j]))
    np.testing.assert_allclose([small[0].real, small[0].imag], [1e-20, 1e-30], rtol=1e-14)


def reduce_precision(array: Any, exponent: int, mantissa: int) -> Any:
    return run(
        ReducePrecisionOp, array, exponent_bits=IntegerAttr(exponent, i32), mantissa_bits=IntegerAttr(mantissa, i32)
    )


def test_reduce_precision_to_existing_formats():
    bits = np.random.default_rng(1).integers(0, 2**32, 20000, dtype=np.uint32)
    x = bits.view(np.float32)
    x = x[np.isfinite(x)]
    with np.errstate(all="ignore"):
        as_bf16, as_f16 = x.astype(bf16).astype(np.float32), x.astype(np.float16).astype(np.float32)
    normal = np.abs(as_bf16) >= np.finfo(np.float32).tiny
    np.testing.assert_array_equal(reduce_precision(x, 8, 7)[normal], as_bf16[normal])
    normal = np.abs(as_f16) >= np.finfo(np.float16).tiny
    np.testing.assert_array_equal(reduce_precision(x, 5, 10)[normal], as_f16[normal])


@pytest.mark.parametrize("dtype", FLOATS)
def test_reduce_precision_edges(dtype: Any):
    x = np.array([INF, -INF, NAN, 0.0, -0.0, 1.75, 100], dtype)
    same(reduce_precision(x, 3, 1), INF, -INF, NAN, 0.0, -0.0, 2, INF)
    same(reduce_precision(x, 11, 52), *x)


def test_bitcast():
    def bitcast(array: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
        op = BitcastConvertOp.create(
            operands=values_of(array),
            result_types=[make_tensor(shape, element_type_of(np.dtype(dtype)))],  # type: ignore
        )
        op.verify()
        result = op.reference(array)
        assert result.shape == shape and result.dtype == np.dtype(dtype)
        return result

    assert bitcast(np.array([1.0, -0.0], np.float32), np.uint32, (2,)).tolist() == [0x3F800000, 0x80000000]
    assert bitcast(np.array(1.0, np.float32), np.int32, ()).item() == 0x3F800000
    parts = bitcast(np.array([0x04030201, 5], np.int32), np.uint8, (2, 4))
    assert parts.tolist() == [[1, 2, 3, 4], [5, 0, 0, 0]]
    assert bitcast(parts, np.int32, (2,)).tolist() == [0x04030201, 5]
    assert bitcast(np.array(0x0201, np.int16), np.int8, (2,)).tolist() == [1, 2]
    assert bitcast(np.array([1, 2], np.int8), np.int16, ()).item() == 0x0201


# Creation --------------------------------------------------------------------------------------------------------


def iota(shape: tuple[int, ...], dtype: Any, dimension: int) -> Any:
    element_type = element_type_of(np.dtype(dtype))
    assert element_type is not None
    properties = {"iota_dimension": IntegerAttr(dimension, i64)}
    op = IotaOp.create(properties=properties, result_types=[make_tensor(shape, element_type)])
    op.verify()
    result = op.reference()
    assert result.dtype == np.dtype(dtype) and result.shape == shape
    return result


def test_iota():
    assert iota((2, 3), np.int32, 1).tolist() == [[0, 1, 2]] * 2
    assert iota((2, 3), bf16, 0).tolist() == [[0] * 3, [1] * 3]
    assert iota((300,), np.uint8, 0)[-1] == 299 % 256
    assert iota((0, 2), np.float32, 0).size == 0


def test_constant():
    op = ConstantOp.of(np.array([5], bf16), make_tensor((2, 3), element_type_of(np.dtype(bf16))))  # type: ignore
    op.verify()
    assert op.reference().tolist() == [[5] * 3] * 2
    wrong = ConstantOp.create(properties={"value": dense_constant(np.zeros(2))}, result_types=[make_tensor((2,), f32)])
    with pytest.raises(VerifyException, match="constant_c1"):
        wrong.verify()


# Empty and scalar shapes -----------------------------------------------------------------------------------------

UNARY = list(unary.OPS)
BINARY = list(binary.OPS)


@pytest.mark.long(5)
@pytest.mark.parametrize("op", UNARY + BINARY, ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", (np.bool_, np.int8, np.uint64, *FLOATS, np.complex64), ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("shape", [(), (0, 3), (1, 2)])
def test_every_type_that_verifies_runs(op: Any, dtype: Any, shape: tuple[int, ...]):
    arrays = [np.ones(shape, dtype)] * (1 if op in UNARY else 2)
    try:
        op.infer(values_of(*arrays)).verify()
    except VerifyException as error:
        assert "_i1: " in str(error)
        return
    if op is binary.RemainderOp and dtype is np.complex64:
        with pytest.raises(Exception, match="no reference for complex numbers"):
            run(op, *arrays)
        return
    run(op, *arrays)
