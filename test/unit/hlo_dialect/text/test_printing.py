"""Printing modules: constants bit for bit, names, result groups, spellings, locations."""

from __future__ import annotations

from io import StringIO
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import Attribute
from xdsl.printer import Printer

from xhlo.hlo_dialect.printing import print_module, print_operation
from xhlo.hlo_dialect.printing.constants import dense_text
from xhlo.hlo_dialect.printing.printer import HloPrinter
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.types import bf16, dense_constant, element_type_of, f16, f32, f64, make_tensor

# Hypothesis would look for constants in each file of xhlo and of the tests, for seconds in each process, before the
# first test; there is no setting yet (its issue 4627). They are no likelier to be wrong here than other numbers.
vars(providers)["is_local_module_file"] = lambda path: False

BITS = {
    np.dtype(np.float16): np.uint16,
    np.dtype(ml_dtypes.bfloat16): np.uint16,
    np.dtype(np.float32): np.uint32,
    np.dtype(np.float64): np.uint64,
}


def text_of(array: np.ndarray, shape: tuple[int, ...] | None = None) -> str:
    element_type = element_type_of(array.dtype)
    assert element_type is not None
    return dense_text(dense_constant(array, make_tensor(array.shape if shape is None else shape, element_type)))


def read_constant(text: str, type_: Attribute) -> DenseIntOrFPElementsAttr[Any]:
    value = parse_module(f"module attributes {{t.a = dense<{text}> : {type_}}} {{\n}}").attributes["t.a"]
    assert isinstance(value, DenseIntOrFPElementsAttr)
    return value


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array(0.0, np.float32), "0.000000e+00"),
        (np.array(-0.0, np.float32), "-0.000000e+00"),
        (np.array(1.5, np.float64), "1.500000e+00"),
        (np.array(0.1, np.float32), "1.000000e-01"),
        (np.array(1 / 3, np.float32), "0.333333343"),
        (np.array(1 / 3, np.float64), "0.33333333333333331"),
        (np.array(np.inf, np.float32), "0x7F800000"),
        (np.array(-np.inf, np.float16), "0xFC00"),
        (np.array(np.nan, ml_dtypes.bfloat16), "0x7FC0"),
        (np.array([True, False]), "[true, false]"),
        (np.array([[1, -2], [3, 4]], np.int8), "[[1, -2], [3, 4]]"),
        (np.array(255, np.uint8), "255"),
        (np.array([7, 7, 7], np.int32), "7"),
        (np.array(1 + 2j, np.complex64), "(1.000000e+00,2.000000e+00)"),
        (np.empty((0, 3), np.float32), ""),
    ],
)
def test_constants_are_written_as_mlir_writes_them(array: np.ndarray, text: str) -> None:
    found = text_of(array)
    if "." in text and "e" not in text:
        # The shortest decimal; how its exponent is written is free.
        assert float(found) == float(text) or abs(float(found) - float(text)) < 1e-8
    else:
        assert found == text


def test_a_splat_of_any_size_is_one_element() -> None:
    assert text_of(np.array([2.0], np.float32), (1 << 30, 1 << 30)) == "2.000000e+00"


def test_long_constants_are_bytes() -> None:
    array = np.arange(1000, dtype=np.int16)
    text = text_of(array)
    assert text.startswith('"0x0000010002')
    assert read_constant(text, make_tensor((1000,), element_type_of(array.dtype) or f32)) == dense_constant(array)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(BITS, key=str)), st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=8))
def test_every_float_reads_back_bit_for_bit(dtype: np.dtype[Any], bits: list[int]) -> None:
    width = dtype.itemsize * 8
    array = np.array([value % (1 << width) for value in bits], BITS[dtype]).view(dtype)
    constant = dense_constant(array)
    assert read_constant(dense_text(constant), constant.get_type()) == constant


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.floats(width=32), st.floats(width=32)), min_size=1, max_size=5))
def test_every_complex_number_reads_back(parts: list[tuple[float, float]]) -> None:
    constant = dense_constant(np.array(parts, np.float32).view(np.complex64).reshape(-1))
    assert read_constant(dense_text(constant), constant.get_type()) == constant


@pytest.mark.parametrize("type_", [f16, bf16, f32, f64], ids=str)
@pytest.mark.parametrize("value", [0.1, 1 / 3, -0.0, 1e-40, 65504.0, float("inf"), float("nan")])
def test_float_attributes_read_back(type_: Any, value: float) -> None:
    module = parse_module("module {\n}")
    attribute = FloatAttr(value, type_)
    module.attributes["t.a"] = attribute
    again = parse_module(print_module(module)).attributes["t.a"]
    assert isinstance(again, FloatAttr)
    wanted, found = (type_.pack((number.value.data,)) for number in (attribute, again))
    assert found == wanted


def test_large_constants_are_elided_on_request() -> None:
    module = parse_module(
        "module attributes {t.a = dense<[1, 2, 3]> : tensor<3xi32>, t.b = dense<1> : tensor<9xi32>} {\n}"
    )
    text = print_module(module, elide_larger_than=2)
    assert "a = dense_resource<__elided__> : tensor<3xi32>" in text
    assert "b = dense<1> : tensor<9xi32>" in text
    assert "dense<[1, 2, 3]>" in print_module(module, elide_larger_than=3)


PROGRAM = """
func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %pair:2 = stablehlo.optimization_barrier %x, %x : tensor<4xf32>, tensor<4xf32>
  %0:2 = stablehlo.optimization_barrier %pair#1, %pair#0 : tensor<4xf32>, tensor<4xf32>
  %sum = stablehlo.add %0#0, %0#1 : tensor<4xf32> loc("a.py":3:7)
  %sum_0 = stablehlo.add %sum, %sum : tensor<4xf32> loc("a.py":3:7)
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%sum init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %d = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0], precision = [HIGH, DEFAULT] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %sum_0 : tensor<4xf32>
}
"""


def test_results_share_a_name_and_hints_are_kept() -> None:
    text = print_module(parse_module(PROGRAM))
    assert "%pair:2 = hlo.optimization_barrier %x, %x" in text
    assert "%0:2 = hlo.optimization_barrier %pair#1, %pair#0" in text
    assert "%sum = hlo.add %0#0, %0#1" in text
    assert "%sum_1 = hlo.add %sum, %sum" in text
    assert print_module(parse_module(text)) == text


def test_stablehlo_spelling_names_no_hlo() -> None:
    module = parse_module(PROGRAM)
    for generic in (False, True):
        text = print_module(module, spelling="stablehlo", generic=generic)
        assert " hlo." not in text
        assert '"hlo.' not in text
        assert "#hlo" not in text
        assert print_module(parse_module(text)) == print_module(module)


def test_every_byte_of_a_string_is_printed_as_xdsl_prints_it() -> None:
    """Alone and in one literal: escapes of quotes, control characters and bytes past ASCII."""
    for literal in (*(bytes([byte]) for byte in range(256)), bytes(range(256)), b""):
        ours, theirs = StringIO(), StringIO()
        HloPrinter(ours).print_bytes_literal(literal)
        Printer(theirs).print_bytes_literal(literal)
        assert ours.getvalue() == theirs.getvalue()


def test_locations_are_printed_once_behind_the_module() -> None:
    module = parse_module(PROGRAM, "p.mlir")
    text = print_module(module, locations=True)
    assert text.count('loc("a.py":3:7)') == 1
    again = parse_module(text, "other.mlir")
    assert print_module(again, locations=True) == text


def test_any_operation_can_be_printed() -> None:
    module = parse_module(PROGRAM)
    (func,) = module.ops
    assert print_operation(func).startswith("func.func @main(%x: tensor<4xf32>, %p: tensor<i1>)")


def test_the_same_module_prints_the_same_text() -> None:
    assert print_module(parse_module(PROGRAM), locations=True) == print_module(parse_module(PROGRAM), locations=True)
