"""Programs that were once compiled wrongly, each reduced as far as possible."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from xhlo.tools.fuzzing.checks import compiled_results, reference_results


def check(text: str, *inputs: np.ndarray) -> None:
    """Assert that both pipelines are valid after every pass and compute the same as the reference."""
    want = reference_results(text, inputs)
    for fuse in (True, False):
        for got, wanted in zip(compiled_results(text, inputs, fuse), want, strict=True):
            np.testing.assert_array_equal(got, wanted, strict=True)


def test_scalar_reshaped() -> None:
    check(
        """
        func.func @main(%x: tensor<i32>, %y: tensor<1x1xi32>) -> (tensor<1x1x1xi32>, tensor<i32>, tensor<1xi32>) {
          %0 = hlo.reshape %x : (tensor<i32>) -> tensor<1x1x1xi32>
          %1 = hlo.reshape %y : (tensor<1x1xi32>) -> tensor<i32>
          %2 = hlo.reshape %x : (tensor<i32>) -> tensor<1xi32>
          func.return %0, %1, %2 : tensor<1x1x1xi32>, tensor<i32>, tensor<1xi32>
        }
        """,
        np.array(7, np.int32),
        np.array([[8]], np.int32),
    )


def test_constant_without_elements_that_a_comparison_became() -> None:
    check(
        """
        func.func @main(%x: tensor<2x0xui16>) -> tensor<2x0xi1> {
          %0 = hlo.compare LT, %x, %x, UNSIGNED : (tensor<2x0xui16>, tensor<2x0xui16>) -> tensor<2x0xi1>
          func.return %0 : tensor<2x0xi1>
        }
        """,
        np.empty((2, 0), np.uint16),
    )


def test_constant_without_elements() -> None:
    check(
        """
        func.func @main() -> (tensor<0xf32>, tensor<0x3xi8>) {
          %0 = hlo.constant dense<> : tensor<0xf32>
          %1 = hlo.constant dense<> : tensor<0x3xi8>
          %2 = hlo.add %0, %0 : tensor<0xf32>
          func.return %2, %1 : tensor<0xf32>, tensor<0x3xi8>
        }
        """
    )


def test_bf16_moves_without_arithmetic() -> None:
    """LLVM reversed vectors of bfloat through f32 and called the compiler's library to round them."""
    check(
        """
        func.func @main(%x: tensor<5x2x7x13xbf16>, %y: tensor<3x40xbf16>, %i: tensor<3x40xi64>)
            -> (tensor<5x2x7x13xbf16>, tensor<40xbf16>, tensor<40xi64>, tensor<3x40xbf16>) {
          %0 = hlo.reverse %x, dims = [0, 3] : tensor<5x2x7x13xbf16>
          %big = hlo.constant dense<1.0e30> : tensor<bf16>
          %last = hlo.constant dense<1000> : tensor<i64>
          %1:2 = hlo.reduce(%y init: %big), (%i init: %last) across dimensions = [0]
              : (tensor<3x40xbf16>, tensor<3x40xi64>, tensor<bf16>, tensor<i64>) -> (tensor<40xbf16>, tensor<40xi64>)
           reducer(%a: tensor<bf16>, %b: tensor<bf16>) (%j: tensor<i64>, %k: tensor<i64>) {
            %less = hlo.compare LT, %a, %b : (tensor<bf16>, tensor<bf16>) -> tensor<i1>
            %value = hlo.select %less, %a, %b : tensor<i1>, tensor<bf16>
            %place = hlo.select %less, %j, %k : tensor<i1>, tensor<i64>
            hlo.return %value, %place : tensor<bf16>, tensor<i64>
          }
          %2 = hlo.negate %y : tensor<3x40xbf16>
          func.return %0, %1#0, %1#1, %2 : tensor<5x2x7x13xbf16>, tensor<40xbf16>, tensor<40xi64>, tensor<3x40xbf16>
        }
        """,
        np.arange(910).reshape(5, 2, 7, 13).astype(ml_dtypes.bfloat16),
        np.random.default_rng(0).permutation(120).reshape(3, 40).astype(ml_dtypes.bfloat16),
        np.arange(120).reshape(3, 40),
    )


def test_slice_of_nothing_at_the_end() -> None:
    check(
        """
        func.func @main(%x: tensor<1x17xui8>, %init: tensor<ui8>) -> (tensor<6xui8>, tensor<0x6xui8>, tensor<1x0xui8>) {
          %0 = hlo.slice %x [1:1, 0:17:3] : (tensor<1x17xui8>) -> tensor<0x6xui8>
          %1 = hlo.reduce(%0 init: %init) applies hlo.add across dimensions = [0] : (tensor<0x6xui8>, tensor<ui8>) -> tensor<6xui8>
          %2 = hlo.slice %x [0:1, 0:0] : (tensor<1x17xui8>) -> tensor<1x0xui8>
          func.return %1, %0, %2 : tensor<6xui8>, tensor<0x6xui8>, tensor<1x0xui8>
        }
        """,
        np.arange(17, dtype=np.uint8).reshape(1, 17),
        np.array(7, np.uint8),
    )


def test_zeros_of_both_signs() -> None:
    """Constants were cached by value, and 0.0 == -0.0 in Python."""
    text = """
    func.func @main() -> (tensor<2x7xf32>, tensor<2x7xf32>, tensor<4x7xf32>) {
      %0 = hlo.constant dense<0.0> : tensor<2x7xf32>
      %1 = hlo.constant dense<-0.0> : tensor<2x7xf32>
      %2 = hlo.concatenate %0, %1, dim = 0 : (tensor<2x7xf32>, tensor<2x7xf32>) -> tensor<4x7xf32>
      func.return %0, %1, %2 : tensor<2x7xf32>, tensor<2x7xf32>, tensor<4x7xf32>
    }
    """
    for fuse in (True, False):
        results = compiled_results(text, (), fuse)
        assert [np.signbit(r).mean() for r in results] == [0, 1, 0.5]


def test_reshape_that_leaves_one_of_its_fusions() -> None:
    """The reshape was then a result of the other fusion, which computed it at a wrong index."""
    check(
        """
        func.func @main(%x: tensor<5x13x1xui64>, %y: tensor<5x7x1xui64>, %z: tensor<7xui64>, %k: tensor<ui64>)
            -> (tensor<1x7x1xui64>, tensor<7xi1>, tensor<7x1x1x5xui64>) {
          %0 = hlo.slice %x [1:2:2, 0:13:2, 0:1] : (tensor<5x13x1xui64>) -> tensor<1x7x1xui64>
          %1 = hlo.remainder %0, %0 : tensor<1x7x1xui64>
          %2 = hlo.broadcast_in_dim %k, dims = [] : (tensor<ui64>) -> tensor<7xui64>
          %3 = hlo.reshape %0 : (tensor<1x7x1xui64>) -> tensor<7xui64>
          %4 = hlo.xor %3, %2 : tensor<7xui64>
          %5 = hlo.reshape %0 : (tensor<1x7x1xui64>) -> tensor<1x7x1x1xui64>
          %6 = hlo.count_leading_zeros %4 : tensor<7xui64>
          %7 = hlo.reshape %6 : (tensor<7xui64>) -> tensor<1x7x1xui64>
          %8 = hlo.shift_left %7, %1 : tensor<1x7x1xui64>
          %9 = hlo.compare LT, %4, %z, UNSIGNED : (tensor<7xui64>, tensor<7xui64>) -> tensor<7xi1>
          %10 = hlo.dot_general %5, %y, batching_dims = [1] x [1], contracting_dims = [3] x [2]
              : (tensor<1x7x1x1xui64>, tensor<5x7x1xui64>) -> tensor<7x1x1x5xui64>
          func.return %8, %9, %10 : tensor<1x7x1xui64>, tensor<7xi1>, tensor<7x1x1x5xui64>
        }
        """,
        np.arange(65, dtype=np.uint64).reshape(5, 13, 1),
        np.arange(35, dtype=np.uint64).reshape(5, 7, 1),
        np.arange(7, dtype=np.uint64),
        np.array(3, np.uint64),
    )


def test_inner_loop_starts_from_state_that_is_read_after_it() -> None:
    """Its result was computed in the buffer of the outer loop's state, which the body still had to read."""
    check(
        """
        func.func @main(%x: tensor<3xi32>) -> (tensor<3xi32>, tensor<3xi32>) {
          %zero = hlo.constant dense<0> : tensor<i32>
          %one = hlo.constant dense<1> : tensor<i32>
          %two = hlo.constant dense<2> : tensor<i32>
          %0:3 = hlo.while(%i = %zero, %a = %x, %d = %x) : tensor<i32>, tensor<3xi32>, tensor<3xi32>
           cond {
            %c = hlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
            hlo.return %c : tensor<i1>
          } do {
            %1:2 = hlo.while(%j = %zero, %b = %a) : tensor<i32>, tensor<3xi32>
             cond {
              %c = hlo.compare LT, %j, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
              hlo.return %c : tensor<i1>
            } do {
              %k = hlo.add %j, %one : tensor<i32>
              %2 = hlo.multiply %b, %b : tensor<3xi32>
              hlo.return %k, %2 : tensor<i32>, tensor<3xi32>
            }
            %3 = hlo.subtract %1#1, %a : tensor<3xi32>
            %n = hlo.add %i, %one : tensor<i32>
            hlo.return %n, %1#1, %3 : tensor<i32>, tensor<3xi32>, tensor<3xi32>
          }
          func.return %0#1, %0#2 : tensor<3xi32>, tensor<3xi32>
        }
        """,
        np.array([2, 3, -1], np.int32),
    )


def test_columns_of_which_the_second_is_taken_at_a_computed_place() -> None:
    """Both are written by one loop, which stood before the place was read."""
    check(
        """
        func.func @main(%x: tensor<40x3xi32>, %i: tensor<i32>) -> tensor<40x2xi32> {
          %0 = hlo.iota dim = 0 : tensor<40x1xi32>
          %zero = hlo.constant dense<0> : tensor<i32>
          %1 = hlo.dynamic_slice %x, %zero, %i, sizes = [40, 1] : (tensor<40x3xi32>, tensor<i32>, tensor<i32>) -> tensor<40x1xi32>
          %2 = hlo.concatenate %0, %1, dim = 1 : (tensor<40x1xi32>, tensor<40x1xi32>) -> tensor<40x2xi32>
          func.return %2 : tensor<40x2xi32>
        }
        """,
        np.arange(120, dtype=np.int32).reshape(40, 3),
        np.array(2, np.int32),
    )


@pytest.mark.parametrize("low", ["[0, 1, 0]", "[0, 0, 1]", "[1, 1, 0]"])
@pytest.mark.parametrize("type_", ["f32", "i8", "i1"])
def test_pads_that_are_parts_of_a_concatenation(low: str, type_: str) -> None:
    """They were written to the beginning of the result."""
    outer, row, column = (int(number) for number in low.strip("[]").split(","))
    sizes = (70 - outer, 3 - row, 12 - column)
    shape = "x".join(map(str, sizes))
    rng = np.random.default_rng(0)
    dtype = {"f32": np.float32, "i8": np.int8, "i1": np.bool_}[type_]
    one = {"f32": "1.0", "i8": "1", "i1": "true"}[type_]
    check(
        f"""
        func.func @main(%x: tensor<{shape}x{type_}>, %y: tensor<1x3x12x{type_}>) -> tensor<72x3x12x{type_}> {{
          %one = hlo.constant dense<{one}> : tensor<{type_}>
          %0 = hlo.pad %x, %one, low = {low}, high = [0, 0, 0], interior = [0, 0, 0]
            : (tensor<{shape}x{type_}>, tensor<{type_}>) -> tensor<70x3x12x{type_}>
          %1 = hlo.concatenate %y, %0, %y, dim = 0
            : (tensor<1x3x12x{type_}>, tensor<70x3x12x{type_}>, tensor<1x3x12x{type_}>) -> tensor<72x3x12x{type_}>
          func.return %1 : tensor<72x3x12x{type_}>
        }}
        """,
        rng.integers(0, 2 if type_ == "i1" else 90, sizes).astype(dtype),
        rng.integers(0, 2 if type_ == "i1" else 90, (1, 3, 12)).astype(dtype),
    )


def test_a_loop_of_products_of_matrices_with_themselves() -> None:
    """tile-loops found that the rows of such a product depend on each other too late."""
    x = np.random.default_rng(0).integers(-4, 5, (3, 16, 8)).astype(np.float32)
    check(
        """
        func.func @main(%x: tensor<3x16x8xf32>) -> tensor<3x16x16xf32> {
          %zero = hlo.constant dense<0> : tensor<i32>
          %none = hlo.constant dense<0.0> : tensor<3x16x16xf32>
          %r:2 = hlo.while(%i = %zero, %out = %none) : tensor<i32>, tensor<3x16x16xf32>
          cond {
            %three = hlo.constant dense<3> : tensor<i32>
            %more = hlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
            hlo.return %more : tensor<i1>
          } do {
            %at = hlo.constant dense<0> : tensor<i32>
            %part = hlo.dynamic_slice %x, %i, %at, %at, sizes = [1, 16, 8] : (tensor<3x16x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x8xf32>
            %a = hlo.reshape %part : (tensor<1x16x8xf32>) -> tensor<16x8xf32>
            %p = hlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x16xf32>
            %row = hlo.reshape %p : (tensor<16x16xf32>) -> tensor<1x16x16xf32>
            %next = hlo.dynamic_update_slice %out, %row, %i, %at, %at : (tensor<3x16x16xf32>, tensor<1x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x16x16xf32>
            %one = hlo.constant dense<1> : tensor<i32>
            %j = hlo.add %i, %one : tensor<i32>
            hlo.return %j, %next : tensor<i32>, tensor<3x16x16xf32>
          }
          func.return %r#1 : tensor<3x16x16xf32>
        }
        """,
        x,
    )
