"""xhlo.Builder: operations as methods, regions, control flow, functions, and errors at the user's line."""

from __future__ import annotations

import inspect
import re
from importlib.metadata import EntryPoint
from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.frontends.builder.signatures import signature
from xhlo.hlo_dialect import dialect
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import hlo_operations
from xhlo.hlo_dialect.ops.elementwise_unary import NegateOp
from xhlo.hlo_dialect.plugins import Plugin
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def run(build: Any, *arrays: np.ndarray) -> Any:
    """The results of the program that `build(builder, *parameters)` makes."""
    b = xhlo.Builder()
    results = build(b, *(b.parameter(array) for array in arrays))
    module = b.build(*(results if isinstance(results, (tuple, list)) else [results]))
    text = print_module(module)
    assert print_module(parse_module(text)) == text
    return xhlo.compile(module)(*arrays)


@pytest.mark.parametrize("cls", hlo_operations(), ids=lambda cls: cls.name)
def test_every_operation_is_a_method(cls: Any) -> None:
    """With the names of its definition, which its text lists."""
    name = cls.name.partition(".")[2]
    stated = signature(cls)
    method = getattr(xhlo.Builder(), name)
    assert stated.text.startswith(f"{name}(") and (method.__doc__ == cls.__doc__ or cls.name == "hlo.constant")
    definition = cls.get_irdl_definition()
    for found in (*dict(definition.operands), *dict(definition.regions)):
        assert found in stated.text


CASES: dict[str, tuple[Any, Any]] = {
    "elementwise": (lambda b, x: b.maximum(b.negate(x), 0.5), np.maximum(-X, np.float32(0.5))),
    "operators": (lambda b, x: (x * 2.0 - x) / 4.0, X / 4),
    "arrays as operands": (lambda b, x: b.add(x, np.ones((2, 3), np.float32)), X + 1),
    "comparison": (lambda b, x: b.select(b.compare(x, 0.0, comparison_direction="GE"), x, b.negate(x)), np.abs(X)),
    "a shape": (lambda b, x: b.reshape(x, result_type=(3, 2)), X.reshape(3, 2)),
    "an element type": (lambda b, x: b.convert(x, result_type="i32"), X.astype(np.int32)),
    "a name of NumPy": (lambda b, x: b.convert(x, result_type="int64"), X.astype(np.int64)),
    "both": (lambda b, x: b.iota(iota_dimension=0, result_type=("i8", (4,))), np.arange(4, dtype=np.int8)),
    "text": (lambda b, x: b.convert(x, result_type="tensor<2x3xf64>"), X.astype(np.float64)),
    "lists": (lambda b, x: b.transpose(x, permutation=[1, 0]), X.T),
    "an array of integers": (
        lambda b, x: b.pad(x, 9.0, edge_padding_low=[1, 0], edge_padding_high=[0, 0], interior_padding=[0, 1]),
        np.array([[9] * 5, [-2, 9, -1, 9, 0], [1, 9, 2, 9, 3]], np.float32),
    ),
    "parts of an attribute": (
        lambda b, x: b.dot_general(x, x, lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[1]),
        X @ X.T,
    ),
    "an attribute as a mapping": (
        lambda b, x: b.gather(
            x,
            np.array([[1], [0]]),
            dimension_numbers={
                "offset_dims": [1],
                "collapsed_slice_dims": [0],
                "start_index_map": [0],
                "index_vector_dim": 1,
            },
            slice_sizes=[1, 3],
        ),
        X[[1, 0]],
    ),
    "an attribute as text": (
        lambda b, x: b.convolution(
            b.reshape(x, result_type=(1, 6, 1)),
            np.ones((2, 1, 1), np.float32),
            dimension_numbers="#hlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>",
            feature_group_count=1,
            batch_group_count=1,
            result_type=(1, 5, 1),
        ),
        (X.ravel()[1:] + X.ravel()[:-1]).reshape(1, 5, 1),
    ),
    "a region": (lambda b, x: b.reduce(x, 0.0, dimensions=[1], body=b.add), X.sum(1)),
    "a region of several values": (
        lambda b, x: b.sort([x], dimension=1, comparator=lambda a, c: b.compare(a, c, comparison_direction="GT")),
        -np.sort(-X),
    ),
    "a window": (
        lambda b, x: b.reduce_window(x, -np.inf, window_dimensions=[1, 2], body=b.maximum),
        np.maximum(X[:, 1:], X[:, :-1]),
    ),
    "two regions": (
        lambda b, x: b.select_and_scatter(
            x,
            b.slice(x, start_indices=[0, 0], limit_indices=[2, 2], strides=[1, 1]),
            0.0,
            window_dimensions=[1, 2],
            select=lambda a, c: b.compare(a, c, comparison_direction="GE"),
            scatter=b.add,
        ),
        np.array([[0, -2, -1], [0, 1, 2]], np.float32),
    ),
    "scatter": (
        lambda b, x: b.scatter(
            x,
            np.array([[1]]),
            np.ones((1, 3), np.float32),
            update_window_dims=[1],
            inserted_window_dims=[0],
            scatter_dims_to_operand_dims=[0],
            index_vector_dim=1,
            update_computation=b.add,
        ),
        X + np.array([[0], [1]], np.float32),
    ),
    "map": (lambda b, x: b.map([x, x], dimensions=[0, 1], computation=b.multiply), X * X),
    "chlo": (lambda b, x: b.erf_inv(b.constant(0.0, "f32", (2,))), np.zeros(2, np.float32)),
    "a complex constant": (
        lambda b, x: b.imag(b.constant(np.array([1 + 2j], np.complex64))),
        np.array([2], np.float32),
    ),
}


@pytest.mark.long(3)
@pytest.mark.parametrize("case", CASES)
def test_calls(case: str) -> None:
    build, wanted = CASES[case]
    actual = run(build, X)
    assert actual.dtype == wanted.dtype
    np.testing.assert_allclose(actual, wanted, rtol=1e-6)


# Control flow and functions.


def test_while_loop() -> None:
    def power(b: xhlo.Builder, x: Any) -> Any:
        return b.while_loop(lambda n, v: n < 5, lambda n, v: (n + 1, v * x), b.constant(0, "i32"), x)

    count, result = run(power, X)
    assert count == 5
    np.testing.assert_allclose(result, X**6, rtol=1e-6)


@pytest.mark.parametrize("chosen", [True, False])
def test_cond(chosen: bool) -> None:
    build = lambda b, p, x: b.cond(p, lambda v: b.tanh(v), lambda v: v + 1.0, x)  # noqa: E731
    np.testing.assert_allclose(run(build, np.array(chosen), X), np.tanh(X) if chosen else X + 1, rtol=1e-5)


@pytest.mark.parametrize(("index", "factor"), [(-4, 1), (0, 1), (1, 2), (2, 3), (9, 3)])
def test_switch_clamps_its_index(index: int, factor: int) -> None:
    build = lambda b, i, x: b.switch(i, [lambda v, k=k: v * k for k in (1.0, 2.0, 3.0)], x)  # noqa: E731
    np.testing.assert_array_equal(run(build, np.int32(index).reshape(()), X), factor * X)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse: bool) -> None:
    def cumulative(b: xhlo.Builder, x: Any) -> Any:
        start = b.constant(0.0, "f32", (3,))
        body = lambda carries, elements: ([carries[0] + elements[0]], [carries[0] + elements[0]])  # noqa: E731
        (total,), (sums,) = b.scan(body, [start], [x], reverse=reverse)
        return total, sums

    x = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    total, sums = run(cumulative, x)
    wanted = np.cumsum(x[::-1], 0)[::-1] if reverse else np.cumsum(x, 0)
    np.testing.assert_allclose(sums, wanted, rtol=1e-5)
    np.testing.assert_allclose(total, x.sum(0), rtol=1e-5)
    b = xhlo.Builder()
    with pytest.raises(ValueError, match="scan: expected inputs of one length"):
        b.scan(lambda c, e: (c, []), [], [b.parameter("f32", (2,)), b.parameter("f32", (3,))])


def test_functions_call_each_other() -> None:
    def build(b: xhlo.Builder, x: Any) -> Any:
        @b.function("twice", X)
        def twice(v: Any) -> Any:
            return v + v

        @b.function("both", X)
        def both(v: Any) -> Any:
            return twice(v), v * v

        double, square = both(x)
        return b.call(twice, double), square

    quadruple, square = run(build, X)
    np.testing.assert_array_equal(quadruple, 4 * X)
    np.testing.assert_array_equal(square, X * X)


def test_custom_calls() -> None:
    def build(b: xhlo.Builder, x: Any) -> Any:
        return b.custom_call(x, call_target_name="builder_flip", result_type=X.dtype.name)

    xhlo.register_custom_call("builder_flip", lambda call, x: x[:, ::-1])
    np.testing.assert_array_equal(run(build, X), X[:, ::-1])


def test_an_operation_of_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """No list names it."""

    other = type("OtherOp", (NegateOp,), {"name": "other.opposite"})
    plugin = Plugin(EntryPoint("other", "other:OPS", "xhlo.ops"))
    monkeypatch.setattr(dialect, "loaded", lambda group: [(plugin, (other,))])
    b = xhlo.Builder()
    x = b.parameter("f32", (2,))
    assert b.operation("other.opposite", x).shape == (2,)


# Types.


def test_types_as_python_writes_them() -> None:
    b = xhlo.Builder()
    stated = [
        ("i8",),
        ("int8",),
        (np.int8,),
        (np.dtype("i1"),),
        ("tensor<i8>",),
        (np.zeros((), np.int8),),
        (("i8", ()),),
    ]
    assert {str(b.parameter(*one).type) for one in stated} == {"tensor<i8>"}
    assert str(b.parameter("bfloat16", (2, None)).type) == "tensor<2x?xbf16>"
    with pytest.raises(ValueError, match="'float7' is no type"):
        b.parameter("float7")


def test_names_of_values() -> None:
    b = xhlo.Builder("step")
    module = b.build(b.negate(b.parameter("f32", name="weights")))
    assert "@step(%weights: tensor<f32>)" in print_module(module)


# Errors.


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "shapes": (lambda b, x: b.add(x, b.iota(iota_dimension=0, result_type=("f32", (2,)))), DiagnosticError, "add_c1"),
    "element types": (lambda b, x: b.add(x, b.convert(x, result_type="i32")), DiagnosticError, "add_c1"),
    "a constraint": (lambda b, x: b.transpose(x, permutation=[0, 0]), DiagnosticError, "transpose_c2"),
    "a stated type": (lambda b, x: b.reshape(x, result_type=(7,)), DiagnosticError, "reshape_c2: operand has 6"),
    "a region": (
        lambda b, x: b.reduce(x, 0.0, dimensions=[1], body=lambda a, c: b.is_finite(a)),
        DiagnosticError,
        "reduce_",
    ),
    "no type": (lambda b, x: b.reshape(x), TypeError, r"hlo.reshape: .*state result_type="),
    "too many": (lambda b, x: b.negate(x, x), TypeError, "takes 1 operands by position, got 2: negate.operand"),
    "too few": (lambda b, x: b.add(x), TypeError, "operand rhs is missing: add.lhs, rhs"),
    "no property": (lambda b, x: b.transpose(x), TypeError, "property permutation is missing"),
    "no such property": (lambda b, x: b.negate(x, axis=1), TypeError, "has no argument axis"),
    "an enumeration": (lambda b, x: b.compare(x, x, comparison_direction="LESS"), ValueError, "one of EQ, NE, GE"),
    "no integers": (
        lambda b, x: b.transpose(x, permutation=[0.5]),
        TypeError,
        "permutation: expected a sequence of int",
    ),
    "no region": (lambda b, x: b.reduce(x, 0.0, dimensions=[1]), TypeError, "region body is missing"),
    "a part of an attribute": (
        lambda b, x: b.dot_general(x, x, dot_dimension_numbers={"lhs": [1]}),
        TypeError,
        "dot_dimension_numbers: has no lhs; there are lhs_batching_dimensions",
    ),
    "no value": (lambda b, x: b.negate("x"), TypeError, "expected a value, an array or a number, got str"),
    "no operation": (lambda b, x: b.frobnicate(x), AttributeError, "no operation 'frobnicate' in the dialects hlo"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_say_what_is_wrong(case: str) -> None:
    build, error, message = WRONG[case]
    b = xhlo.Builder()
    x = b.parameter("f32", (2, 3))
    with pytest.raises(error, match=message):
        build(b, x)


def test_errors_are_at_the_users_line() -> None:
    b = xhlo.Builder()
    x, y = b.parameter("f32", (2, 3)), b.parameter("f32", (3,))
    with pytest.raises(DiagnosticError) as caught:
        here = line() + 1
        b.subtract(x, y)
    assert str(caught.value).startswith(f"{__file__}:{here}:")

    with pytest.raises(DiagnosticError, match="multiply_c1") as caught:
        there = line() + 1
        _ = x * y
    assert str(caught.value).startswith(f"{__file__}:{there}:")


def test_errors_of_later_stages_are_at_the_users_line() -> None:
    b = xhlo.Builder()
    here = line() + 1
    z = b.custom_call(b.parameter("f32"), call_target_name="nobody", result_type="f32")
    with pytest.raises(DiagnosticError, match=re.escape(f"{__file__}:{here}:")):
        xhlo.compile(b.build(z))


def test_a_program_is_built_once() -> None:
    b = xhlo.Builder()
    b.build(b.parameter("f32"))
    with pytest.raises(ValueError, match="built already"):
        b.build()
