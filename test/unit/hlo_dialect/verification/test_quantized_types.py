"""The verifier on quantized tensors: which operations take them, and the rules between quantization parameters."""

from __future__ import annotations

import re

import pytest

from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.verification import verify_module
from xhlo.tools.round_trip import verify_round_trip

ONE, AXIS = "!quant.uniform<i8:f32, 1.0:17>", "!quant.uniform<i8:f32:0, {0.1:-30}>"
"""One scale for the tensor; one for each index of dimension 0."""

REDUCER = '({^bb0(%a: tensor<E>, %b: tensor<E>): "hlo.return"(%a) : (tensor<E>) -> ()})'
COMPARATOR = (
    '({^bb0(%a: tensor<E>, %b: tensor<E>): %c = "hlo.compare"(%a, %b) {comparison_direction = '
    '#hlo<comparison_direction GE>} : (tensor<E>, tensor<E>) -> tensor<i1> "hlo.return"(%c) : (tensor<i1>) -> ()})'
)


def error(text: str) -> str | None:
    """The first error of a module; None if it is valid and its text reads the same."""
    context = make_context()
    try:
        module = parse_module(text, "test.mlir", context)
        verify_module(module)
    except DiagnosticError as found:
        return found.diagnostics[0].message
    verify_round_trip(module, "test.mlir", lambda text, name: parse_module(text, name, make_context()))
    return None


def operation(name: str, operands: str, attributes: str, results: str, element: str = "") -> str:
    """
    A module of one operation in MLIR's generic form; E stands for the element type, an element alone for a scalar.

    `1x2xE i64` are two types; regions stand before the attributes, which have no braces.
    """

    def types(spec: str) -> list[str]:
        spec = spec.replace("E", element.replace(" ", "")) if element else spec.replace(", ", ",")
        return [f"tensor<{type_}>" for type_ in re.findall(r"\S+", spec)]

    inputs, outputs = types(operands), types(results)
    names = [f"%x{index}" for index in range(len(inputs))]
    arguments = ", ".join(f"{value}: {type_}" for value, type_ in zip(names, inputs, strict=True))
    regions, brace, attributes = attributes.rpartition("})")
    regions = (regions + brace).replace("<E>", f"<{element}>") if regions else ""
    return f"""
    func.func @f({arguments}) {{
      %r:{len(outputs)} = "hlo.{name}"({", ".join(names)}) {regions} {{{attributes}}} : ({", ".join(inputs)})
        -> ({", ".join(outputs)})
      return
    }}"""


_UNARY = """abs cbrt ceil cosine exponential exponential_minus_one floor log log_plus_one logistic negate
    optimization_barrier round_nearest_afz round_nearest_even rsqrt sign sine sqrt tan tanh"""
_BINARY = "atan2 divide maximum minimum multiply power remainder subtract"
_WINDOW = "window_dimensions = array<i64: 1, 2>"
_GATHER = "offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1"
_SCATTER = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "

ONE_SCALE = [
    *((name, "1x2xE", "", "1x2xE") for name in _UNARY.split()),
    *((name, "1x2xE 1x2xE", "", "1x2xE") for name in _BINARY.split()),
    ("all_gather", "1x2xE", "all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", "1x4xE"),
    (
        "all_reduce",
        "1x2xE",
        REDUCER + "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>",
        "1x2xE",
    ),
    (
        "all_to_all",
        "1x2xE",
        "split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, "
        "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>",
        "1x2xE",
    ),
    ("batch_norm_grad", "1x2xE 1xE 1xE 1xE 1x2xE", "epsilon = 0.1 : f32, feature_index = 0 : i64", "1x2xE 1xE 1xE"),
    ("batch_norm_inference", "1x2xE 1xE 1xE 1xE 1xE", "epsilon = 0.1 : f32, feature_index = 0 : i64", "1x2xE"),
    ("batch_norm_training", "1x2xE 1xE 1xE", "epsilon = 0.1 : f32, feature_index = 0 : i64", "1x2xE 1xE 1xE"),
    ("cholesky", "1x2x2xE", "lower = true", "1x2x2xE"),
    ("clamp", "1x2xE 1x2xE 1x2xE", "", "1x2xE"),
    ("collective_permute", "1x2xE", "source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>", "1x2xE"),
    (
        "compare",
        "1x2xE 1x2xE",
        "comparison_direction = #hlo<comparison_direction LT>, compare_type = #hlo<comparison_type FLOAT>",
        "1x2xi1",
    ),
    ("concatenate", "1x2xE 1x2xE", "dimension = 1 : i64", "1x4xE"),
    ("dynamic_slice", "1x4xE i64 i64", "slice_sizes = array<i64: 1, 2>", "1x2xE"),
    ("dynamic_update_slice", "1x4xE 1x2xE i64 i64", "", "1x4xE"),
    ("gather", "1x4xE 3x1xi32", f"dimension_numbers = #hlo.gather<{_GATHER}>, slice_sizes = array<i64: 1, 4>", "3x4xE"),
    ("is_finite", "1x2xE", "", "1x2xi1"),
    ("map", "1xE", '({^bb0(%a: tensor<E>): "hlo.return"(%a) : (tensor<E>) -> ()}) dimensions = array<i64: 0>', "1xE"),
    (
        "pad",
        "1x2xE E",
        "edge_padding_low = array<i64: 0, 1>, edge_padding_high = array<i64: 0, 1>, "
        "interior_padding = array<i64: 0, 0>",
        "1x4xE",
    ),
    ("reduce", "1x2xE E", REDUCER + "dimensions = array<i64: 1>", "1xE"),
    ("reduce_precision", "1x2xE", "exponent_bits = 5 : i32, mantissa_bits = 2 : i32", "1x2xE"),
    (
        "reduce_scatter",
        "1x2xE",
        REDUCER + "scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>",
        "1x1xE",
    ),
    ("reduce_window", "1x4xE E", REDUCER + _WINDOW, "1x3xE"),
    ("reverse", "1x2xE", "dimensions = array<i64: 1>", "1x2xE"),
    (
        "scatter",
        "1x2xE 3x1xi32 3x2xE",
        REDUCER + f"scatter_dimension_numbers = #hlo.scatter<{_SCATTER}index_vector_dim = 1>",
        "1x2xE",
    ),
    ("select", "1x2xi1 1x2xE 1x2xE", "", "1x2xE"),
    ("select_and_scatter", "1x4xE 1x3xE E", COMPARATOR[:-1] + ", " + REDUCER[1:] + _WINDOW, "1x4xE"),
    (
        "slice",
        "1x4xE",
        "start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 2>, strides = array<i64: 1, 1>",
        "1x2xE",
    ),
    ("sort", "1x2xE", COMPARATOR + "dimension = 1 : i64", "1x2xE"),
]


@pytest.mark.long(12)
@pytest.mark.parametrize("case", ONE_SCALE, ids=lambda case: case[0])
def test_operations_on_tensors_of_one_scale(case: tuple[str, str, str, str]) -> None:
    assert error(operation(*case, ONE)) is None
    assert (error(operation(*case, AXIS)) or "").startswith(f"'hlo.{case[0]}' op {case[0]}_i")


@pytest.mark.parametrize(
    "case",
    [
        ("complex", "2xE 2xE", "", "2xcomplex<f32>"),
        ("convert", "2xE", "", "2xf32"),
        ("fft", "2xE", "fft_type = #hlo<fft_type RFFT>, fft_length = array<i64: 2>", "2xcomplex<f32>"),
        ("imag", "2xE", "", "2xE"),
        ("real", "2xE", "", "2xE"),
        ("rng", "E E 1xi64", "rng_distribution = #hlo<rng_distribution UNIFORM>", "2xE"),
        ("and", "2xE 2xE", "", "2xE"),
        ("popcnt", "2xE", "", "2xE"),
    ],
    ids=lambda case: case[0],
)
def test_operations_without_quantized_meaning(case: tuple[str, str, str, str]) -> None:
    assert f"{case[0]}_" in (error(operation(*case, ONE)) or "")


Q, Q16 = "!quant.uniform<i8:f32,0.5:3>", "!quant.uniform<i16:f32,0.5:3>"
HALF = "!quant.uniform<i8:f16,0.5:3>"
OTHER = "!quant.uniform<i8:f32,0.5:4>"
ZERO = "!quant.uniform<i8:f32,0.5>"


def axis(dim: int, *steps: str, storage: str = "i8", real: str = "f32") -> str:
    return f"!quant.uniform<{storage}:{real}:{dim},{{{','.join(steps)}}}>"


_DOT = (
    "dot_dimension_numbers = #hlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
    "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>"
)
_CONV = (
    "dimension_numbers = #hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, "
    "feature_group_count = 1 : i64"
)
A2 = axis(0, "0.1", "0.2")

RULES = [
    # The type itself, checked where an operation uses it.
    ("add_i1", "add", "2x!quant.uniform<si8:f32,0.5> 2xf32", "", "2xf32"),
    ("add_i1", "add", "2x!quant.uniform<i3:f32,0.5> 2xf32", "", "2xf32"),
    ("add_i1", "add", "2x!quant.uniform<i8:f32,0.5:300> 2xf32", "", "2xf32"),
    ("add_i1", "add", f"2x{axis(1, '0.5', '0.5')} 2xf32", "", "2xf32"),
    ("add_i1", "add", f"3x{A2} 2xf32", "", "2xf32"),
    ("abs_c2", "abs", f"2x{Q}", "", f"2x{HALF}"),
    ("abs_c2", "abs", f"2x{Q}", "", "2xf32"),
    ("select_c2", "select", f"2xi1 2x{Q} 2x{Q}", "", f"2x{Q16}"),
    ("sort_c2", "sort", f"2x{Q}", COMPARATOR.replace("<E>", f"<{Q}>"), f"2x{HALF}"),
    ("reverse_c1", "reverse", f"2x{Q}", "dimensions = array<i64: 0>", f"2x{OTHER}"),
    ("add_c2", "add", f"2x{Q} 2x{Q}", "", "2xf32"),
    ("add_c3", "add", f"2x{Q} 2x{Q16}", "", f"2x{Q}"),
    ("add_c4", "add", f"2x{Q} 2x{HALF}", "", f"2x{Q}"),
    ("add_c5", "add", f"2x{A2} 2x{Q}", "", f"2x{Q}"),
    ("add_c5", "add", f"2x{Q} 2x{Q}", "", f"2x{A2}"),
    ("add_c6", "add", f"2x2x{A2} 2x2x{Q}", "", f"2x2x{axis(1, '0.1', '0.2')}"),
    ("add_c7", "add", f"2x2x{Q} 2x2x{A2}", "", f"2x2x{axis(1, '0.1', '0.2')}"),
    ("bitcast_convert_c1", "bitcast_convert", f"2x{Q}", "", f"2x{Q16}"),
    ("broadcast_in_dim_c1", "broadcast_in_dim", f"2x{Q}", "broadcast_dimensions = array<i64: 0>", f"2x{OTHER}"),
    ("broadcast_in_dim_c6", "broadcast_in_dim", f"2x{A2}", "broadcast_dimensions = array<i64: 0>",
     f"2x2x{axis(1, '0.1', '0.2')}"),
    ("broadcast_in_dim_c6", "broadcast_in_dim", f"1x{axis(0, '0.1')}", "broadcast_dimensions = array<i64: 0>",
     f"2x{A2}"),
    ("dynamic_broadcast_in_dim_c1", "dynamic_broadcast_in_dim", f"2x{Q} 1xi64",
     "broadcast_dimensions = array<i64: 0>", f"2x{OTHER}"),
    ("dynamic_broadcast_in_dim_c6", "dynamic_broadcast_in_dim", f"2x{A2} 2xi64",
     "broadcast_dimensions = array<i64: 0>", f"2x2x{axis(1, '0.1', '0.2')}"),
    ("transpose_c1", "transpose", f"2x2x{Q}", "permutation = array<i64: 1, 0>", f"2x2x{OTHER}"),
    ("transpose_c1", "transpose", f"2x2x{A2}", "permutation = array<i64: 1, 0>", f"2x2x{axis(1, '0.1', '0.3')}"),
    ("transpose_c4", "transpose", f"2x2x{A2}", "permutation = array<i64: 1, 0>", f"2x2x{A2}"),
    ("reshape_c1", "reshape", f"2x{Q}", "", f"2x{OTHER}"),
    ("reshape_c1", "reshape", f"2x{A2}", "", f"2x{axis(0, '0.1:1', '0.2')}"),
    ("reshape_c3", "reshape", f"2x3x2x{A2}", "", f"3x2x2x{axis(1, '0.1', '0.2')}"),
    ("dynamic_reshape_c3", "dynamic_reshape", f"2x3x2x{A2} 3xi64", "", f"3x2x2x{axis(1, '0.1', '0.2')}"),
    ("dot_general_c14", "dot_general", f"2x3x4xf32 2x4x5x{ZERO}", _DOT, f"2x3x5x{Q}"),
    ("dot_general_c15", "dot_general", f"2x3x4xf32 2x4x5x{Q}", _DOT, "2x3x5xf32"),
    ("dot_general_c16", "dot_general", f"2x3x2x{Q} 2x2x5x{axis(1, '0.1', '0.2')}", _DOT, f"2x3x5x{A2}"),
    ("dot_general_c17", "dot_general", f"2x3x4x{Q16} 2x4x5x{ZERO}", _DOT, f"2x3x5x{Q}"),
    ("dot_general_c18", "dot_general", f"2x3x4x{HALF} 2x4x5x{ZERO}", _DOT, f"2x3x5x{Q}"),
    ("dot_general_c19", "dot_general", f"2x3x4x{Q} 2x4x5x{ZERO}", _DOT, f"2x3x5x{A2}"),
    ("dot_general_c20", "dot_general", f"2x3x4xf16 2x4x5x{ZERO}", _DOT, "2x3x5xf16"),
    ("dot_general_i1", "dot_general", f"2x3x4x{A2} 2x4x5x{ZERO}", _DOT, f"2x3x5x{Q}"),
    ("convolution_c28", "convolution", f"1x4x1xf32 3x1x1x{Q}", _CONV, f"1x2x1x{Q}"),
    ("convolution_c29", "convolution", f"1x4x1xf32 3x1x1x{axis(1, '0.1')}", _CONV, "1x2x1xf32"),
    ("convolution_c30", "convolution", f"1x4x1x{Q} 3x1x1x{axis(2, '0.1')}", _CONV, f"1x2x1x{axis(0, '0.1')}"),
    ("convolution_c31", "convolution", f"1x4x1x{Q16} 3x1x1x{Q}", _CONV, f"1x2x1x{Q}"),
    ("convolution_c32", "convolution", f"1x4x1x{HALF} 3x1x1x{Q}", _CONV, f"1x2x1x{Q}"),
    ("convolution_c33", "convolution", f"1x4x1x{Q} 3x1x1x{Q}", _CONV, f"1x2x1x{axis(2, '0.1')}"),
    ("convolution_c34", "convolution", f"1x4x1xf16 3x1x1x{Q}", _CONV, "1x2x1xf16"),
    ("dynamic_conv_c28", "dynamic_conv", f"1x4x1xf32 3x1x1x{Q} 1x2xi64", _CONV, f"1x2x1x{Q}"),
    ("dynamic_conv_c29", "dynamic_conv", f"1x4x1xf32 3x1x1x{axis(1, '0.1')} 1x2xi64", _CONV, "1x2x1xf32"),
]  # fmt: skip


@pytest.mark.parametrize("case", RULES, ids=[f"{index}_{case[0]}" for index, case in enumerate(RULES)])
def test_rules_between_types(case: tuple[str, str, str, str, str]) -> None:
    constraint, name, *rest = case
    message = error(operation(name, *rest)) or ""
    assert message.startswith(f"'hlo.{name}' op {constraint}: ")


@pytest.mark.long(3)
@pytest.mark.parametrize(
    "case",
    [
        ("add", f"2x{A2} 2x{Q}", "", f"2x{axis(0, '0.3', '0.4')}"),
        ("bitcast_convert", f"2x{Q}", "", "2xi8"),
        ("broadcast_in_dim", f"1x{axis(0, '0.1')}", "broadcast_dimensions = array<i64: 1>",
         f"3x2x{axis(1, '0.1', '0.1')}"),
        ("constant", "", "value = dense<[1, 2]> : tensor<2xi8>", f"2x{Q}"),
        ("custom_call", f"2x{A2}", 'call_target_name = "foo"', f"2x{A2}"),
        ("transpose", f"2x3x{A2}", "permutation = array<i64: 1, 0>", f"3x2x{axis(1, '0.1', '0.2')}"),
        ("reshape", f"1x2x{axis(1, '0.1', '0.2')}", "", f"2x{A2}"),
        ("dot_general", f"2x3x4xf32 2x4x5x{ZERO}", _DOT, "2x3x5xf32"),
        ("dot_general", f"2x3x4x{Q} 2x4x5x{axis(0, '0.1', '0.2')}", _DOT, f"2x3x5x{A2}"),
        ("convolution", f"1x4x1xf32 3x1x1x{Q}", _CONV, "1x2x1xf32"),
        ("reduce", f"2x{Q} {Q}", REDUCER.replace("<E>", f"<{Q16}>") + "dimensions = array<i64: 0>", f"{Q16}"),
        ("while", f"2x{Q}", f'({{^bb0(%a: tensor<2x{Q}>): %c = "hlo.constant"() {{value = dense<true> : tensor<i1>}} '
         f': () -> tensor<i1> "hlo.return"(%c) : (tensor<i1>) -> ()}}, {{^bb0(%a: tensor<2x{Q}>): "hlo.return"(%a) : '
         f'(tensor<2x{Q}>) -> ()}})', f"2x{Q}"),
        ("uniform_dequantize", "2x!quant.uniform<ui8<1:200>:bf16,0.25:7>", "", "2xbf16"),
    ],
    ids=lambda case: case[0],
)  # fmt: skip
def test_valid_combinations(case: tuple[str, str, str, str]) -> None:
    assert error(operation(*case)) is None


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        ("i8:f16, 105504.0", "a scale is not in the range of f16"),
        ("i4:f16, 4.9e-08", "a scale is not in the range of f16"),
        ("i8:f32, 0.0", "finite and greater than 0"),
        ("i8:f32:-1, {0.1}", "expected <storage:expressed, scale:zero_point>"),
        ("i33:f32, 0.1", "stored in 1 to 32 bits, not in 33"),
        ("i8:i32, 0.1", "stands for bf16, f16, f32 or f64, not for i32"),
    ],
)
def test_types_that_are_none(type_: str, message: str) -> None:
    assert message in (error(f"func.func @f(%a: tensor<1x!quant.uniform<{type_}>>) {{ return }}") or "")
