"""XLA's semantics at the edges, one named test for each: results of the CPU and of the reference."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cpu_programs import DTYPES, FLOATS, INTEGERS, SIGNED, TARGETS, UNSIGNED, apply, run, same

INF, NAN = np.inf, np.nan
pytestmark = pytest.mark.parametrize("target", TARGETS)


def array(type_: str, *numbers: Any) -> np.ndarray:
    return np.array(numbers, DTYPES[type_])


def unary(op: str, type_: str, x: Any, target: str) -> np.ndarray:
    t = f"tensor<{len(x)}x{type_}>"
    return apply(f"hlo.{op} %x0 : {t}", [array(type_, *x)], t, target)


def binary(op: str, type_: str, x: Any, y: Any, target: str) -> np.ndarray:
    t = f"tensor<{len(x)}x{type_}>"
    return apply(f"hlo.{op} %x0, %x1 : {t}", [array(type_, *x), array(type_, *y)], t, target)


def convert(source: str, result: str, x: Any, target: str) -> np.ndarray:
    t = f"tensor<{len(x)}x{result}>"
    return apply(f"hlo.convert %x0 : (tensor<{len(x)}x{source}>) -> {t}", [array(source, *x)], t, target)


def compare(direction: str, kind: str, type_: str, x: Any, y: Any, target: str) -> np.ndarray:
    t, result = f"tensor<{len(x)}x{type_}>", f"tensor<{len(x)}xi1>"
    op = f"hlo.compare {direction}, %x0, %x1, {kind} : ({t}, {t}) -> {result}"
    return apply(op, [array(type_, *x), array(type_, *y)], result, target)


def reduce(combiner: str, type_: str, x: Any, init: Any, target: str) -> np.ndarray:
    op = f"hlo.reduce(%x0 init: %x1) applies hlo.{combiner} across dimensions = [0]"
    op += f" : (tensor<{len(x)}x{type_}>, tensor<{type_}>) -> tensor<{type_}>"
    return apply(op, [array(type_, *x), np.array(init, DTYPES[type_])], f"tensor<{type_}>", target)


# Integers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", INTEGERS)
def test_integer_division_by_zero_sets_all_bits(type_: str, target: str) -> None:
    info = np.iinfo(DTYPES[type_])
    ones = -1 if type_ in SIGNED else info.max
    same(binary("divide", type_, [0, 1, 5, info.max, info.min], [0] * 5, target), [ones] * 5)


@pytest.mark.parametrize("type_", INTEGERS)
def test_integer_remainder_by_zero_is_the_dividend(type_: str, target: str) -> None:
    info = np.iinfo(DTYPES[type_])
    x = [0, 1, 5, info.max, info.min]
    same(binary("remainder", type_, x, [0] * 5, target), x)


@pytest.mark.parametrize("type_", SIGNED)
def test_smallest_integer_divided_by_minus_one_is_itself(type_: str, target: str) -> None:
    least = np.iinfo(DTYPES[type_]).min
    same(binary("divide", type_, [least, least + 1], [-1, -1], target), [least, -(least + 1)])
    same(binary("remainder", type_, [least, 5], [-1, -1], target), [0, 0])


@pytest.mark.parametrize("type_", SIGNED)
def test_integer_division_truncates_and_the_remainder_has_the_dividend_sign(type_: str, target: str) -> None:
    x, y = [7, -7, 7, -7], [2, 2, -2, -2]
    same(binary("divide", type_, x, y, target), [3, -3, -3, 3])
    same(binary("remainder", type_, x, y, target), [1, -1, 1, -1])


@pytest.mark.parametrize("type_", SIGNED)
def test_smallest_integer_is_its_own_negative_and_absolute_value(type_: str, target: str) -> None:
    least = np.iinfo(DTYPES[type_]).min
    same(unary("negate", type_, [least], target), [least])
    same(unary("abs", type_, [least], target), [least])
    same(unary("sign", type_, [least, 0, 5], target), [-1, 0, 1])


@pytest.mark.parametrize("type_", INTEGERS)
def test_integer_sums_and_products_wrap(type_: str, target: str) -> None:
    info = np.iinfo(DTYPES[type_])
    same(binary("add", type_, [info.max], [1], target), [info.min])
    same(binary("subtract", type_, [info.min], [1], target), [info.max])
    same(binary("multiply", type_, [info.max], [2], target), [info.max - 1 if type_ in UNSIGNED else -2])


@pytest.mark.parametrize("type_", INTEGERS)
def test_shifts_past_the_width(type_: str, target: str) -> None:
    """Amounts are unsigned: -1 exceeds every width."""
    info, width = np.iinfo(DTYPES[type_]), DTYPES[type_].itemsize * 8
    past = [width, width + 1, info.max, -1 if type_ in SIGNED else info.max]
    high, low = (info.min, 5) if type_ in SIGNED else (info.max, 5)
    for x in (high, low):
        same(binary("shift_left", type_, [x] * 4, past, target), [0] * 4)
        same(binary("shift_right_logical", type_, [x] * 4, past, target), [0] * 4)
    ones = -1 if type_ in SIGNED else info.max
    same(binary("shift_right_arithmetic", type_, [high] * 4, past, target), [ones] * 4)
    same(binary("shift_right_arithmetic", type_, [low] * 4, past, target), [0] * 4)


@pytest.mark.parametrize("type_", SIGNED)
def test_integer_power_of_a_negative_exponent_is_the_truncated_reciprocal(type_: str, target: str) -> None:
    same(binary("power", type_, [1, -1, -1, 2, -3, 0], [-5, -3, -4, -1, -2, -1], target), [1, -1, 1, 0, 0, 0])


@pytest.mark.parametrize("type_", INTEGERS)
def test_count_of_bits_of_zero(type_: str, target: str) -> None:
    width = DTYPES[type_].itemsize * 8
    same(unary("count_leading_zeros", type_, [0, 1], target), [width, width - 1])
    same(unary("popcnt", type_, [0, np.iinfo(DTYPES[type_]).max], target), [0, width - (type_ in SIGNED)])


def test_boolean_arithmetic_is_or_and_and(target: str) -> None:
    x, y = [False, False, True, True], [False, True, False, True]
    same(binary("add", "i1", x, y, target), [False, True, True, True])
    same(binary("multiply", "i1", x, y, target), [False, False, False, True])
    same(binary("maximum", "i1", x, y, target), [False, True, True, True])
    same(binary("minimum", "i1", x, y, target), [False, False, False, True])
    same(compare("LT", "UNSIGNED", "i1", x, y, target), [False, True, False, False])


# Conversions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("result", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_float_to_integer_saturates_and_nan_is_zero(source: str, result: str, target: str) -> None:
    info = np.iinfo(DTYPES[result])
    same(convert(source, result, [INF, -INF, NAN, -0.0, 2.9], target), [info.max, info.min, 0, 0, 2])
    wide = {"f16": 65504.0, "bf16": 1e30, "f32": 1e30, "f64": 1e300}[source]
    if wide > info.max:
        same(convert(source, result, [wide], target), [info.max])
    if -wide < info.min:
        same(convert(source, result, [-wide, -1.5], target), [info.min, -1 if result in SIGNED else 0])


def test_float_to_integer_at_the_exact_ends(target: str) -> None:
    below = float(np.nextafter(np.float32(2**31), np.float32(0)))
    same(convert("f32", "i32", [2.0**31, below, -(2.0**31)], target), [2**31 - 1, int(below), -(2**31)])
    same(convert("f64", "i32", [2147483647.5, -2147483648.5, -2147483649.0], target), [2**31 - 1, -(2**31), -(2**31)])
    same(convert("f64", "ui64", [2.0**64, 2.0**63, -0.9], target), [2**64 - 1, 2**63, 0])
    same(convert("f64", "i64", [2.0**63, -(2.0**63)], target), [2**63 - 1, -(2**63)])


def test_anything_but_zero_is_true(target: str) -> None:
    for type_ in FLOATS:
        tiny = float(ml_dtypes.finfo(DTYPES[type_]).smallest_subnormal)
        wanted = [False, False, True, True, True, True]
        same(convert(type_, "i1", [0.0, -0.0, NAN, INF, tiny, 0.5], target), wanted)
    for type_ in INTEGERS:
        same(convert(type_, "i1", [0, 1, 2, np.iinfo(DTYPES[type_]).max - 1], target), [False, True, True, True])


def test_integer_conversions_wrap_and_extend_by_the_source(target: str) -> None:
    same(convert("i32", "i8", [200, -129, 256], target), [-56, 127, 0])
    same(convert("i8", "ui32", [-1], target), [2**32 - 1])
    same(convert("ui8", "i32", [255], target), [255])
    same(convert("i1", "i8", [True], target), [1])


def test_integers_round_once_to_narrow_floats(target: str) -> None:
    """Through f32 or f64 these would round to a tie, and then to the wrong neighbour."""
    same(convert("i64", "f16", [2049 + 0, 2051], target), [2048.0, 2052.0])
    tie_and_a_bit = 2**40 + 2**32 + 1
    same(convert("i64", "bf16", [tie_and_a_bit, -tie_and_a_bit], target), [2.0**40 + 2.0**33, -(2.0**40) - 2.0**33])
    same(convert("ui64", "bf16", [2**63 + 2**55 + 1], target), [2.0**63 + 2.0**56])
    same(convert("f64", "bf16", [1 + 2**-8 + 2**-40, 1 + 2**-8], target), [1 + 2**-7, 1.0])
    same(convert("f64", "f16", [1 + 2**-11 + 2**-40, 1 + 2**-11], target), [1 + 2**-10, 1.0])


@pytest.mark.parametrize("type_", ["bf16", "f16", "f32"])
def test_halves_round_to_even(type_: str, target: str) -> None:
    eps = float(ml_dtypes.finfo(DTYPES[type_]).eps)
    same(convert("f64", type_, [1 + eps / 2, 1 + 3 * eps / 2], target), [1.0, 1 + 2 * eps])


# Floats ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", FLOATS)
def test_nan_wins_in_maximum_and_minimum(type_: str, target: str) -> None:
    x, y = [NAN, 1.0, NAN, INF], [1.0, NAN, INF, NAN]
    assert np.isnan(binary("maximum", type_, x, y, target).astype(np.float64)).all()
    assert np.isnan(binary("minimum", type_, x, y, target).astype(np.float64)).all()


@pytest.mark.parametrize("count", [1, 5, 67])
@pytest.mark.parametrize("type_", FLOATS)
def test_nan_goes_through_reductions(type_: str, count: int, target: str) -> None:
    """At every position, in the lanes of vectors and in the remainder."""
    for place in sorted({0, count // 2, count - 1}):
        x = [1.0] * count
        x[place] = NAN
        for combiner, init in (("maximum", -INF), ("minimum", INF), ("add", 0.0)):
            assert np.isnan(float(reduce(combiner, type_, x, init, target))), (combiner, place)


@pytest.mark.parametrize("type_", FLOATS)
def test_reductions_of_nothing_are_the_initial_value(type_: str, target: str) -> None:
    for combiner, init in (("maximum", -INF), ("minimum", INF), ("add", 0.0), ("add", -0.0), ("multiply", 1.0)):
        same(reduce(combiner, type_, [], init, target), init)


@pytest.mark.parametrize("type_", FLOATS)
def test_zeros_are_ordered_in_maximum_and_minimum(type_: str, target: str) -> None:
    same(binary("maximum", type_, [0.0, -0.0, -0.0], [-0.0, 0.0, -0.0], target), [0.0, 0.0, -0.0])
    same(binary("minimum", type_, [0.0, -0.0, 0.0], [-0.0, 0.0, 0.0], target), [-0.0, -0.0, 0.0])


@pytest.mark.parametrize("type_", FLOATS)
def test_signed_zeros_are_kept(type_: str, target: str) -> None:
    zeros = [0.0, -0.0]
    for op in ("sine", "tan", "tanh", "exponential_minus_one", "log_plus_one", "cbrt", "sqrt", "sign", "ceil", "floor"):
        same(unary(op, type_, zeros, target), zeros)
    for op in ("round_nearest_even", "round_nearest_afz"):
        same(unary(op, type_, [-0.0, -0.25, 0.25], target), [-0.0, -0.0, 0.0])
    same(unary("negate", type_, zeros, target), [-0.0, 0.0])
    same(unary("abs", type_, [-0.0], target), [0.0])
    same(binary("add", type_, [-0.0, -0.0], [0.0, -0.0], target), [0.0, -0.0])
    same(binary("subtract", type_, [0.0, -0.0], [0.0, 0.0], target), [0.0, -0.0])
    same(binary("remainder", type_, [-4.0, 4.0], [2.0, -2.0], target), [-0.0, 0.0])
    same(unary("rsqrt", type_, zeros, target), [INF, -INF])


def test_a_constant_keeps_the_sign_of_zero(target: str) -> None:
    """Beside equal constants of the other sign, which a cache might confuse with it."""
    text = """func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
      %p = hlo.constant dense<0.0> : tensor<3xf32>
      %n = hlo.constant dense<-0.0> : tensor<3xf32>
      %0 = hlo.add %x, %p : tensor<3xf32>
      %1 = hlo.add %x, %n : tensor<3xf32>
      %2 = hlo.maximum %x, %p : tensor<3xf32>
      %3 = hlo.maximum %x, %n : tensor<3xf32>
      func.return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
    }"""
    got = run(text, [array("f32", -0.0, -0.0, -1.0)], target)
    for one, wanted in zip(got, ([0.0, 0.0, -1.0], [-0.0, -0.0, -1.0], [0.0] * 3, [-0.0] * 3), strict=True):
        same(one, wanted)


@pytest.mark.parametrize("type_", FLOATS)
def test_denormals_are_kept(type_: str, target: str) -> None:
    info = ml_dtypes.finfo(DTYPES[type_])
    least, normal = float(info.smallest_subnormal), float(info.smallest_normal)
    x = [least, -least, normal / 2, 3 * least]
    same(binary("add", type_, x, [0.0] * 4, target), x)
    same(binary("multiply", type_, x, [1.0, -1.0, 2.0, 1.0], target), [least, least, normal, 3 * least])
    same(binary("divide", type_, [normal, normal], [2.0, -4.0], target), [normal / 2, -normal / 4])
    same(binary("maximum", type_, x, [0.0] * 4, target), [least, 0.0, normal / 2, 3 * least])
    same(unary("negate", type_, x, target), [-v for v in x])
    same(unary("sine", type_, x, target), x)
    same(reduce("add", type_, [least] * 37, 0.0, target), 37 * least)
    same(compare("GT", "FLOAT", type_, x, [0.0] * 4, target), [True, False, True, True])
    same(convert(type_, "f64", x, target), x)
    same(convert("f64", type_, x, target), x)


def test_results_below_the_normal_numbers_are_denormal(target: str) -> None:
    for type_ in ("f32", "f64"):
        least = float(np.finfo(DTYPES[type_]).smallest_subnormal)
        got = unary("exponential", type_, [-100.0 if type_ == "f32" else -740.0], target)
        assert 0 < got[0] < np.finfo(DTYPES[type_]).tiny and got[0] >= least


@pytest.mark.parametrize("type_", FLOATS)
def test_division_by_zero_and_invalid_operations(type_: str, target: str) -> None:
    same(binary("divide", type_, [1.0, -1.0, 0.0, 1.0], [0.0, 0.0, 0.0, -0.0], target), [INF, -INF, NAN, -INF])
    same(binary("subtract", type_, [INF, INF], [INF, -INF], target), [NAN, INF])
    same(binary("remainder", type_, [INF, 5.0, 5.0], [2.0, 0.0, INF], target), [NAN, NAN, 5.0])
    same(unary("sqrt", type_, [-1.0, INF, -INF], target), [NAN, INF, NAN])
    same(unary("log", type_, [0.0, -0.0, -1.0, INF], target), [-INF, -INF, NAN, INF])
    same(unary("sine", type_, [INF, -INF, NAN], target), [NAN] * 3)
    same(unary("logistic", type_, [INF, -INF, NAN], target), [1.0, 0.0, NAN])
    same(unary("tanh", type_, [INF, -INF, NAN], target), [1.0, -1.0, NAN])


@pytest.mark.parametrize("type_", FLOATS)
def test_power_of_special_values(type_: str, target: str) -> None:
    x = [NAN, 1.0, -1.0, 0.0, -0.0, -0.0, -2.0, -8.0, INF, -INF, -INF]
    y = [0.0, NAN, INF, -1.0, -3.0, 3.0, 3.0, 0.5, -1.0, 3.0, -3.0]
    wanted = [1.0, 1.0, 1.0, INF, -INF, -0.0, -8.0, NAN, 0.0, -INF, -0.0]
    same(binary("power", type_, x, y, target), wanted)


@pytest.mark.parametrize("type_", FLOATS)
def test_comparisons_with_nan(type_: str, target: str) -> None:
    x, y = [NAN, 1.0, NAN], [1.0, NAN, NAN]
    for direction in ("EQ", "LT", "LE", "GT", "GE"):
        same(compare(direction, "FLOAT", type_, x, y, target), [False] * 3)
    same(compare("NE", "FLOAT", type_, x, y, target), [True] * 3)


@pytest.mark.parametrize("type_", FLOATS)
def test_total_order(type_: str, target: str) -> None:
    """-NaN < -inf < -1 < -0 < 0 < 1 < inf < NaN."""
    x = [-NAN, -INF, -1.0, -0.0, 0.0, 1.0, INF, NAN]
    lower, higher = array(type_, *x[:-1]), array(type_, *x[1:])
    t, result = f"tensor<7x{type_}>", "tensor<7xi1>"
    for direction, wanted in (("LT", True), ("GT", False), ("EQ", False), ("NE", True)):
        op = f"hlo.compare {direction}, %x0, %x1, TOTALORDER : ({t}, {t}) -> {result}"
        same(apply(op, [lower, higher], result, target), [wanted] * 7)
    same(compare("EQ", "TOTALORDER", type_, x, x, target), [True] * 8)


@pytest.mark.parametrize("type_", FLOATS)
def test_weak_order(type_: str, target: str) -> None:
    """-inf < -1 < -0 = 0 < 1 < inf < NaN = -NaN"""
    x = np.array([NAN, -NAN, -INF, -1.0, -0.0, 0.0, 1.0, INF], DTYPES[type_])
    ranks = np.array([5, 5, 0, 1, 2, 2, 3, 4])
    lhs, rhs = np.repeat(x, 8), np.tile(x, 8)
    for direction, relation in (("EQ", np.equal), ("NE", np.not_equal), ("LT", np.less), ("GE", np.greater_equal)):
        wanted = relation(np.repeat(ranks, 8), np.tile(ranks, 8))
        same(compare(direction, "WEAKORDER", type_, lhs, rhs, target), wanted)


def test_sort_in_the_weak_order_keeps_equal_elements_in_place(target: str) -> None:
    x, places = array("f32", NAN, 1.0, 0.0, -NAN, -0.0, INF), np.arange(6, dtype=np.int32)
    text = """func.func @main(%x: tensor<6xf32>, %i: tensor<6xi32>) -> tensor<6xi32> {
      %0:2 = "hlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
        %1 = hlo.compare LT, %a, %b, WEAKORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        hlo.return %1 : tensor<i1>
      }) : (tensor<6xf32>, tensor<6xi32>) -> (tensor<6xf32>, tensor<6xi32>)
      func.return %0#1 : tensor<6xi32>
    }"""
    same(run(text, [x, places], target)[0], [2, 4, 1, 5, 0, 3])


@pytest.mark.parametrize("type_", FLOATS)
def test_clamp_of_nan_and_crossed_bounds(type_: str, target: str) -> None:
    """minimum(maximum(x, low), high): the upper bound wins, and any NaN gives NaN."""
    t = f"tensor<4x{type_}>"
    low, x, high = array(type_, 3.0, 0.0, NAN, 0.0), array(type_, 2.0, NAN, 0.0, 5.0), array(type_, 1.0, 1.0, 1.0, NAN)
    same(apply(f"hlo.clamp %x0, %x1, %x2 : {t}", [low, x, high], t, target), [1.0, NAN, NAN, NAN])


@pytest.mark.parametrize("type_", FLOATS)
def test_halves_round_to_even_or_away(type_: str, target: str) -> None:
    x = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, INF, NAN]
    same(unary("round_nearest_even", type_, x, target), [0.0, 2.0, 2.0, -0.0, -2.0, -2.0, INF, NAN])
    same(unary("round_nearest_afz", type_, x, target), [1.0, 2.0, 3.0, -1.0, -2.0, -3.0, INF, NAN])


def test_the_largest_number_below_one_half_rounds_to_zero(target: str) -> None:
    """floor(x + 0.5) would give 1."""
    for type_ in ("f32", "f64"):
        x = float(np.nextafter(DTYPES[type_].type(0.5), DTYPES[type_].type(0)))
        same(unary("round_nearest_afz", type_, [x, -x], target), [0.0, -0.0])
        odd = 2.0 ** (23 if type_ == "f32" else 52) + 1
        same(unary("round_nearest_afz", type_, [odd, -odd], target), [odd, -odd])


@pytest.mark.parametrize("type_", FLOATS)
def test_sign_keeps_zero_and_nan(type_: str, target: str) -> None:
    same(unary("sign", type_, [NAN, 0.0, -0.0, INF, -3.0], target), [NAN, 0.0, -0.0, 1.0, -1.0])


def test_bits_of_nan_survive_moves_and_casts(target: str) -> None:
    """NaNs with a payload, and a signalling NaN."""
    bits = np.array([0x7FC12345, 0xFF800001, 0x7F800001, 0x80000001], np.uint32).view(np.int32)
    t, i = "tensor<4xf32>", "tensor<4xi32>"
    x = apply(f"hlo.bitcast_convert %x0 : ({i}) -> {t}", [bits], t, target)
    assert x.view(np.int32).tolist() == bits.tolist()
    text = f"""func.func @main(%x: {i}) -> {i} {{
      %0 = hlo.bitcast_convert %x : ({i}) -> {t}
      %1 = hlo.reverse %0, dims = [0] : {t}
      %2 = hlo.bitcast_convert %1 : ({t}) -> {i}
      func.return %2 : {i}
    }}"""
    same(run(text, [bits], target)[0], bits[::-1])


def test_reduce_precision_overflows_and_underflows(target: str) -> None:
    t = "tensor<6xf32>"
    x = array("f32", 65519.0, 65520.0, 2.0**-15, -(2.0**-15), NAN, 1 + 2.0**-11)
    wanted = [65504.0, INF, 0.0, -0.0, NAN, 1.0]
    same(apply(f"hlo.reduce_precision %x0, format = e5m10 : {t}", [x], t, target), wanted)


@pytest.mark.parametrize("type_", FLOATS)
def test_reduce_precision_without_a_mantissa_has_no_nan(type_: str, target: str) -> None:
    x, t = array(type_, NAN, -NAN, INF, -INF, 1.25, 3.5), f"tensor<6x{type_}>"
    same(apply(f"hlo.reduce_precision %x0, format = e5m0 : {t}", [x], t, target), [INF, INF, INF, -INF, 1.0, 4.0])


# Indices and emptiness -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("index", "start", "wanted"), [("i32", -5, 0), ("i32", 99, 4), ("ui8", 255, 4), ("i64", -(2**63), 0), ("ui64", 2**64 - 1, 4)])  # fmt: skip
def test_dynamic_slices_stay_inside(index: str, start: int, wanted: int, target: str) -> None:
    x, at = np.arange(7, dtype=np.float32), np.array(start, DTYPES[index])
    t, i, part = "tensor<7xf32>", f"tensor<{index}>", "tensor<3xf32>"
    op = f"hlo.dynamic_slice %x0, %x1, sizes = [3] : ({t}, {i}) -> {part}"
    same(apply(op, [x, at], part, target), x[wanted : wanted + 3])
    update = np.full(3, -1, np.float32)
    updated = x.copy()
    updated[wanted : wanted + 3] = update
    op = f"hlo.dynamic_update_slice %x0, %x1, %x2 : ({t}, {part}, {i}) -> {t}"
    same(apply(op, [x, update, at], t, target), updated)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 5)])
def test_empty_arrays(shape: tuple[int, ...], target: str) -> None:
    t = f"tensor<{''.join(f'{n}x' for n in shape)}f32>"
    x = np.zeros(shape, np.float32)
    text = f"""func.func @main(%x: {t}, %s: tensor<f32>) -> ({t}, {t}, tensor<f32>) {{
      %0 = hlo.exponential %x : {t}
      %1 = hlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> {t}
      %2 = hlo.add %0, %1 : {t}
      %3 = hlo.reduce(%2 init: %s) applies hlo.add across dimensions = {list(range(len(shape)))} : ({t}, tensor<f32>) -> tensor<f32>
      func.return %2, %x, %3 : {t}, {t}, tensor<f32>
    }}"""
    got = run(text, [x, np.array(2.5, np.float32)], target)
    assert got[0].shape == got[1].shape == shape
    same(got[2], 2.5)


def test_a_dot_over_nothing_is_zero(target: str) -> None:
    op = (
        "hlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>"
    )
    got = apply(op, [np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32)], "tensor<2x3xf32>", target)
    same(got, np.zeros((2, 3)))


def test_iota_wraps(target: str) -> None:
    t = "tensor<300xui8>"
    same(apply(f"hlo.iota dim = 0 : {t}", [], t, target), np.arange(300).astype(np.uint8))
