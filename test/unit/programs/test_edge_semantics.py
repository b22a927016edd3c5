"""XLA's semantics at the edges, one named test for each: results of the CPU and of the reference."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cpu_programs import DTYPES, FLOATS, INTEGERS, SIGNED, TARGETS, UNSIGNED, Case, apply, as_one_program, run, same

INF, NAN = np.inf, np.nan
pytestmark = pytest.mark.parametrize("target", TARGETS)


def array(type_: str, *numbers: Any) -> np.ndarray:
    return np.array(numbers, DTYPES[type_])


def unary(op: str, type_: str, x: Any) -> Case:
    t = f"tensor<{len(x)}x{type_}>"
    return Case(f"hlo.{op} $0 : {t}", [array(type_, *x)], t)


def binary(op: str, type_: str, x: Any, y: Any) -> Case:
    t = f"tensor<{len(x)}x{type_}>"
    return Case(f"hlo.{op} $0, $1 : {t}", [array(type_, *x), array(type_, *y)], t)


def convert(source: str, result: str, x: Any) -> Case:
    t = f"tensor<{len(x)}x{result}>"
    return Case(f"hlo.convert $0 : (tensor<{len(x)}x{source}>) -> {t}", [array(source, *x)], t)


def compare(direction: str, kind: str, type_: str, x: Any, y: Any) -> Case:
    t, result = f"tensor<{len(x)}x{type_}>", f"tensor<{len(x)}xi1>"
    op = f"hlo.compare {direction}, $0, $1, {kind} : ({t}, {t}) -> {result}"
    return Case(op, [array(type_, *x), array(type_, *y)], result)


def reduce(combiner: str, type_: str, x: Any, init: Any) -> Case:
    op = f"hlo.reduce($0 init: $1) applies hlo.{combiner} across dimensions = [0]"
    op += f" : (tensor<{len(x)}x{type_}>, tensor<{type_}>) -> tensor<{type_}>"
    return Case(op, [array(type_, *x), np.array(init, DTYPES[type_])], f"tensor<{type_}>")


# Integers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", INTEGERS)
def test_integer_division_by_zero_sets_all_bits(type_: str, target: str) -> None:
    info = np.iinfo(DTYPES[type_])
    ones = -1 if type_ in SIGNED else info.max
    with as_one_program(target) as gives:
        gives(binary("divide", type_, [0, 1, 5, info.max, info.min], [0] * 5), [ones] * 5)


@pytest.mark.parametrize("type_", INTEGERS)
def test_integer_remainder_by_zero_is_the_dividend(type_: str, target: str) -> None:
    info = np.iinfo(DTYPES[type_])
    x = [0, 1, 5, info.max, info.min]
    with as_one_program(target) as gives:
        gives(binary("remainder", type_, x, [0] * 5), x)


@pytest.mark.parametrize("type_", SIGNED)
def test_smallest_integer_divided_by_minus_one_is_itself(type_: str, target: str) -> None:
    least = np.iinfo(DTYPES[type_]).min
    with as_one_program(target) as gives:
        gives(binary("divide", type_, [least, least + 1], [-1, -1]), [least, -(least + 1)])
        gives(binary("remainder", type_, [least, 5], [-1, -1]), [0, 0])


@pytest.mark.parametrize("type_", SIGNED)
def test_integer_division_truncates_and_the_remainder_has_the_dividend_sign(type_: str, target: str) -> None:
    x, y = [7, -7, 7, -7], [2, 2, -2, -2]
    with as_one_program(target) as gives:
        gives(binary("divide", type_, x, y), [3, -3, -3, 3])
        gives(binary("remainder", type_, x, y), [1, -1, 1, -1])


@pytest.mark.parametrize("type_", SIGNED)
def test_smallest_integer_is_its_own_negative_and_absolute_value(type_: str, target: str) -> None:
    least = np.iinfo(DTYPES[type_]).min
    with as_one_program(target) as gives:
        gives(unary("negate", type_, [least]), [least])
        gives(unary("abs", type_, [least]), [least])
        gives(unary("sign", type_, [least, 0, 5]), [-1, 0, 1])


@pytest.mark.parametrize("type_", INTEGERS)
def test_integer_sums_and_products_wrap(type_: str, target: str) -> None:
    info = np.iinfo(DTYPES[type_])
    with as_one_program(target) as gives:
        gives(binary("add", type_, [info.max], [1]), [info.min])
        gives(binary("subtract", type_, [info.min], [1]), [info.max])
        gives(binary("multiply", type_, [info.max], [2]), [info.max - 1 if type_ in UNSIGNED else -2])


@pytest.mark.parametrize("type_", INTEGERS)
def test_shifts_past_the_width(type_: str, target: str) -> None:
    """Amounts are unsigned: -1 exceeds every width."""
    info, width = np.iinfo(DTYPES[type_]), DTYPES[type_].itemsize * 8
    past = [width, width + 1, info.max, -1 if type_ in SIGNED else info.max]
    high, low = (info.min, 5) if type_ in SIGNED else (info.max, 5)
    with as_one_program(target) as gives:
        for x in (high, low):
            gives(binary("shift_left", type_, [x] * 4, past), [0] * 4)
            gives(binary("shift_right_logical", type_, [x] * 4, past), [0] * 4)
        ones = -1 if type_ in SIGNED else info.max
        gives(binary("shift_right_arithmetic", type_, [high] * 4, past), [ones] * 4)
        gives(binary("shift_right_arithmetic", type_, [low] * 4, past), [0] * 4)


@pytest.mark.long(3)
@pytest.mark.parametrize("type_", SIGNED)
def test_integer_power_of_a_negative_exponent_is_the_truncated_reciprocal(type_: str, target: str) -> None:
    with as_one_program(target) as gives:
        gives(binary("power", type_, [1, -1, -1, 2, -3, 0], [-5, -3, -4, -1, -2, -1]), [1, -1, 1, 0, 0, 0])


@pytest.mark.parametrize("type_", INTEGERS)
def test_count_of_bits_of_zero(type_: str, target: str) -> None:
    width = DTYPES[type_].itemsize * 8
    with as_one_program(target) as gives:
        gives(unary("count_leading_zeros", type_, [0, 1]), [width, width - 1])
        gives(unary("popcnt", type_, [0, np.iinfo(DTYPES[type_]).max]), [0, width - (type_ in SIGNED)])


def test_boolean_arithmetic_is_or_and_and(target: str) -> None:
    x, y = [False, False, True, True], [False, True, False, True]
    with as_one_program(target) as gives:
        gives(binary("add", "i1", x, y), [False, True, True, True])
        gives(binary("multiply", "i1", x, y), [False, False, False, True])
        gives(binary("maximum", "i1", x, y), [False, True, True, True])
        gives(binary("minimum", "i1", x, y), [False, False, False, True])
        gives(compare("LT", "UNSIGNED", "i1", x, y), [False, True, False, False])


# Conversions -----------------------------------------------------------------------------------------------------


@pytest.mark.long(3)
@pytest.mark.parametrize("result", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_float_to_integer_saturates_and_nan_is_zero(source: str, result: str, target: str) -> None:
    info = np.iinfo(DTYPES[result])
    with as_one_program(target) as gives:
        gives(convert(source, result, [INF, -INF, NAN, -0.0, 2.9]), [info.max, info.min, 0, 0, 2])
        wide = {"f16": 65504.0, "bf16": 1e30, "f32": 1e30, "f64": 1e300}[source]
        if wide > info.max:
            gives(convert(source, result, [wide]), [info.max])
        if -wide < info.min:
            gives(convert(source, result, [-wide, -1.5]), [info.min, -1 if result in SIGNED else 0])


def test_float_to_integer_at_the_exact_ends(target: str) -> None:
    below = float(np.nextafter(np.float32(2**31), np.float32(0)))
    with as_one_program(target) as gives:
        gives(convert("f32", "i32", [2.0**31, below, -(2.0**31)]), [2**31 - 1, int(below), -(2**31)])
        gives(convert("f64", "i32", [2147483647.5, -2147483648.5, -2147483649.0]), [2**31 - 1, -(2**31), -(2**31)])
        gives(convert("f64", "ui64", [2.0**64, 2.0**63, -0.9]), [2**64 - 1, 2**63, 0])
        gives(convert("f64", "i64", [2.0**63, -(2.0**63)]), [2**63 - 1, -(2**63)])


def test_anything_but_zero_is_true(target: str) -> None:
    with as_one_program(target) as gives:
        for type_ in FLOATS:
            tiny = float(ml_dtypes.finfo(DTYPES[type_]).smallest_subnormal)
            wanted = [False, False, True, True, True, True]
            gives(convert(type_, "i1", [0.0, -0.0, NAN, INF, tiny, 0.5]), wanted)
        for type_ in INTEGERS:
            gives(convert(type_, "i1", [0, 1, 2, np.iinfo(DTYPES[type_]).max - 1]), [False, True, True, True])


def test_integer_conversions_wrap_and_extend_by_the_source(target: str) -> None:
    with as_one_program(target) as gives:
        gives(convert("i32", "i8", [200, -129, 256]), [-56, 127, 0])
        gives(convert("i8", "ui32", [-1]), [2**32 - 1])
        gives(convert("ui8", "i32", [255]), [255])
        gives(convert("i1", "i8", [True]), [1])


def test_integers_round_once_to_narrow_floats(target: str) -> None:
    """Through f32 or f64 these would round to a tie, and then to the wrong neighbour."""
    with as_one_program(target) as gives:
        gives(convert("i64", "f16", [2049 + 0, 2051]), [2048.0, 2052.0])
        tie_and_a_bit = 2**40 + 2**32 + 1
        gives(convert("i64", "bf16", [tie_and_a_bit, -tie_and_a_bit]), [2.0**40 + 2.0**33, -(2.0**40) - 2.0**33])
        gives(convert("ui64", "bf16", [2**63 + 2**55 + 1]), [2.0**63 + 2.0**56])
        gives(convert("f64", "bf16", [1 + 2**-8 + 2**-40, 1 + 2**-8]), [1 + 2**-7, 1.0])
        gives(convert("f64", "f16", [1 + 2**-11 + 2**-40, 1 + 2**-11]), [1 + 2**-10, 1.0])


@pytest.mark.parametrize("type_", ["bf16", "f16", "f32"])
def test_halves_round_to_even(type_: str, target: str) -> None:
    eps = float(ml_dtypes.finfo(DTYPES[type_]).eps)
    with as_one_program(target) as gives:
        gives(convert("f64", type_, [1 + eps / 2, 1 + 3 * eps / 2]), [1.0, 1 + 2 * eps])


# Floats ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("type_", FLOATS)
def test_nan_wins_in_maximum_and_minimum(type_: str, target: str) -> None:
    x, y = [NAN, 1.0, NAN, INF], [1.0, NAN, INF, NAN]
    with as_one_program(target) as gives:
        gives(binary("maximum", type_, x, y), [NAN] * 4)
        gives(binary("minimum", type_, x, y), [NAN] * 4)


@pytest.mark.long(5)
@pytest.mark.parametrize("count", [1, 5, 67])
@pytest.mark.parametrize("type_", FLOATS)
def test_nan_goes_through_reductions(type_: str, count: int, target: str) -> None:
    """At every position, in the lanes of vectors and in the remainder."""
    with as_one_program(target) as gives:
        for place in sorted({0, count // 2, count - 1}):
            x = [1.0] * count
            x[place] = NAN
            for combiner, init in (("maximum", -INF), ("minimum", INF), ("add", 0.0)):
                gives(reduce(combiner, type_, x, init), NAN)


@pytest.mark.parametrize("type_", FLOATS)
def test_reductions_of_nothing_are_the_initial_value(type_: str, target: str) -> None:
    with as_one_program(target) as gives:
        for combiner, init in (("maximum", -INF), ("minimum", INF), ("add", 0.0), ("add", -0.0), ("multiply", 1.0)):
            gives(reduce(combiner, type_, [], init), init)


@pytest.mark.parametrize("type_", FLOATS)
def test_zeros_are_ordered_in_maximum_and_minimum(type_: str, target: str) -> None:
    with as_one_program(target) as gives:
        gives(binary("maximum", type_, [0.0, -0.0, -0.0], [-0.0, 0.0, -0.0]), [0.0, 0.0, -0.0])
        gives(binary("minimum", type_, [0.0, -0.0, 0.0], [-0.0, 0.0, 0.0]), [-0.0, -0.0, 0.0])


@pytest.mark.long(3)
@pytest.mark.parametrize("type_", FLOATS)
def test_signed_zeros_are_kept(type_: str, target: str) -> None:
    zeros = [0.0, -0.0]
    with as_one_program(target) as gives:
        for op in (
            "sine",
            "tan",
            "tanh",
            "exponential_minus_one",
            "log_plus_one",
            "cbrt",
            "sqrt",
            "sign",
            "ceil",
            "floor",
        ):
            gives(unary(op, type_, zeros), zeros)
        for op in ("round_nearest_even", "round_nearest_afz"):
            gives(unary(op, type_, [-0.0, -0.25, 0.25]), [-0.0, -0.0, 0.0])
        gives(unary("negate", type_, zeros), [-0.0, 0.0])
        gives(unary("abs", type_, [-0.0]), [0.0])
        gives(binary("add", type_, [-0.0, -0.0], [0.0, -0.0]), [0.0, -0.0])
        gives(binary("subtract", type_, [0.0, -0.0], [0.0, 0.0]), [0.0, -0.0])
        gives(binary("remainder", type_, [-4.0, 4.0], [2.0, -2.0]), [-0.0, 0.0])
        gives(unary("rsqrt", type_, zeros), [INF, -INF])


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


@pytest.mark.long(3)
@pytest.mark.parametrize("type_", FLOATS)
def test_denormals_are_kept(type_: str, target: str) -> None:
    info = ml_dtypes.finfo(DTYPES[type_])
    least, normal = float(info.smallest_subnormal), float(info.smallest_normal)
    x = [least, -least, normal / 2, 3 * least]
    with as_one_program(target) as gives:
        gives(binary("add", type_, x, [0.0] * 4), x)
        gives(binary("multiply", type_, x, [1.0, -1.0, 2.0, 1.0]), [least, least, normal, 3 * least])
        gives(binary("divide", type_, [normal, normal], [2.0, -4.0]), [normal / 2, -normal / 4])
        gives(binary("maximum", type_, x, [0.0] * 4), [least, 0.0, normal / 2, 3 * least])
        gives(unary("negate", type_, x), [-v for v in x])
        gives(unary("sine", type_, x), x)
        gives(reduce("add", type_, [least] * 37, 0.0), 37 * least)
        gives(compare("GT", "FLOAT", type_, x, [0.0] * 4), [True, False, True, True])
        gives(convert(type_, "f64", x), x)
        gives(convert("f64", type_, x), x)


def test_results_below_the_normal_numbers_are_denormal(target: str) -> None:
    for type_ in ("f32", "f64"):
        least = float(np.finfo(DTYPES[type_]).smallest_subnormal)
        t, x = f"tensor<1x{type_}>", array(type_, -100.0 if type_ == "f32" else -740.0)
        got = apply(f"hlo.exponential %x0 : {t}", [x], t, target)
        assert 0 < got[0] < np.finfo(DTYPES[type_]).tiny and got[0] >= least


@pytest.mark.long(3)
@pytest.mark.parametrize("type_", FLOATS)
def test_division_by_zero_and_invalid_operations(type_: str, target: str) -> None:
    with as_one_program(target) as gives:
        gives(binary("divide", type_, [1.0, -1.0, 0.0, 1.0], [0.0, 0.0, 0.0, -0.0]), [INF, -INF, NAN, -INF])
        gives(binary("subtract", type_, [INF, INF], [INF, -INF]), [NAN, INF])
        gives(binary("remainder", type_, [INF, 5.0, 5.0], [2.0, 0.0, INF]), [NAN, NAN, 5.0])
        gives(unary("sqrt", type_, [-1.0, INF, -INF]), [NAN, INF, NAN])
        gives(unary("log", type_, [0.0, -0.0, -1.0, INF]), [-INF, -INF, NAN, INF])
        gives(unary("sine", type_, [INF, -INF, NAN]), [NAN] * 3)
        gives(unary("logistic", type_, [INF, -INF, NAN]), [1.0, 0.0, NAN])
        gives(unary("tanh", type_, [INF, -INF, NAN]), [1.0, -1.0, NAN])


@pytest.mark.parametrize("type_", FLOATS)
def test_power_of_special_values(type_: str, target: str) -> None:
    x = [NAN, 1.0, -1.0, 0.0, -0.0, -0.0, -2.0, -8.0, INF, -INF, -INF]
    y = [0.0, NAN, INF, -1.0, -3.0, 3.0, 3.0, 0.5, -1.0, 3.0, -3.0]
    wanted = [1.0, 1.0, 1.0, INF, -INF, -0.0, -8.0, NAN, 0.0, -INF, -0.0]
    with as_one_program(target) as gives:
        gives(binary("power", type_, x, y), wanted)


@pytest.mark.parametrize("type_", FLOATS)
def test_comparisons_with_nan(type_: str, target: str) -> None:
    x, y = [NAN, 1.0, NAN], [1.0, NAN, NAN]
    with as_one_program(target) as gives:
        for direction in ("EQ", "LT", "LE", "GT", "GE"):
            gives(compare(direction, "FLOAT", type_, x, y), [False] * 3)
        gives(compare("NE", "FLOAT", type_, x, y), [True] * 3)


@pytest.mark.parametrize("type_", FLOATS)
def test_total_order(type_: str, target: str) -> None:
    """-NaN < -inf < -1 < -0 < 0 < 1 < inf < NaN."""
    x = [-NAN, -INF, -1.0, -0.0, 0.0, 1.0, INF, NAN]
    with as_one_program(target) as gives:
        for direction, wanted in (("LT", True), ("GT", False), ("EQ", False), ("NE", True)):
            gives(compare(direction, "TOTALORDER", type_, x[:-1], x[1:]), [wanted] * 7)
        gives(compare("EQ", "TOTALORDER", type_, x, x), [True] * 8)


@pytest.mark.long(3)
@pytest.mark.parametrize("type_", FLOATS)
def test_weak_order(type_: str, target: str) -> None:
    """-inf < -1 < -0 = 0 < 1 < inf < NaN = -NaN"""
    x = np.array([NAN, -NAN, -INF, -1.0, -0.0, 0.0, 1.0, INF], DTYPES[type_])
    ranks = np.array([5, 5, 0, 1, 2, 2, 3, 4])
    lhs, rhs = np.repeat(x, 8), np.tile(x, 8)
    with as_one_program(target) as gives:
        for direction, relation in (("EQ", np.equal), ("NE", np.not_equal), ("LT", np.less), ("GE", np.greater_equal)):
            wanted = relation(np.repeat(ranks, 8), np.tile(ranks, 8))
            gives(compare(direction, "WEAKORDER", type_, lhs, rhs), wanted)


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
    with as_one_program(target) as gives:
        gives(unary("round_nearest_even", type_, x), [0.0, 2.0, 2.0, -0.0, -2.0, -2.0, INF, NAN])
        gives(unary("round_nearest_afz", type_, x), [1.0, 2.0, 3.0, -1.0, -2.0, -3.0, INF, NAN])


def test_the_largest_number_below_one_half_rounds_to_zero(target: str) -> None:
    """floor(x + 0.5) would give 1."""
    with as_one_program(target) as gives:
        for type_ in ("f32", "f64"):
            x = float(np.nextafter(DTYPES[type_].type(0.5), DTYPES[type_].type(0)))
            gives(unary("round_nearest_afz", type_, [x, -x]), [0.0, -0.0])
            odd = 2.0 ** (23 if type_ == "f32" else 52) + 1
            gives(unary("round_nearest_afz", type_, [odd, -odd]), [odd, -odd])


@pytest.mark.parametrize("type_", FLOATS)
def test_sign_keeps_zero_and_nan(type_: str, target: str) -> None:
    with as_one_program(target) as gives:
        gives(unary("sign", type_, [NAN, 0.0, -0.0, INF, -3.0]), [NAN, 0.0, -0.0, 1.0, -1.0])


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
