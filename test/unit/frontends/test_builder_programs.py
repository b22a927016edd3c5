"""xhlo.Builder as a user meets it: many operations in one program, constants, functions, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.frontends.builder.builder import Builder

RNG = np.random.default_rng(1)
X = RNG.normal(size=(3, 4)).astype(np.float32)
N = RNG.integers(-9, 9, (3, 4)).astype(np.int32)
W = RNG.normal(size=(4, 2)).astype(np.float32)
K = np.array([[2], [0]], np.int32)


def argmax(b: Builder, x: Any) -> Any:
    places = b.iota(iota_dimension=1, result_type=("i32", (3, 4)))

    def body(a: Any, i: Any, c: Any, j: Any) -> Any:
        first = a >= c
        return first.select(a, c), first.select(i, j)

    return b.reduce([x, places], [-np.inf, b.constant(0, "i32")], dimensions=[1], body=body)[1]


def sorted_places(b: Builder, x: Any) -> Any:
    places = b.iota(iota_dimension=1, result_type=("i32", (3, 4)))
    return b.sort([x, places], dimension=1, is_stable=True, comparator=lambda a, c, i, j: a < c)[1]


def doubled(b: Builder, x: Any) -> Any:
    @b.function("outer", ("f32", (3, 4)))
    def outer(v: Any) -> Any:
        @b.function("inner", ("f32", (3, 4)))
        def inner(w: Any) -> Any:
            return w + 1.0, w - 1.0

        more, less = inner(v)
        return more * less

    return outer(x)


def running(b: Builder, x: Any, reverse: bool) -> Any:
    zero = b.constant(0.0, ("f32", (4,)))
    return b.scan(lambda c, e: ([c[0] + e[0]], [c[0]]), [zero], [x], reverse=reverse)[1][0]


def powers(b: Builder, n: Any) -> Any:
    zero, one = b.constant(0, ("i32", (3, 4))), b.constant(1, ("i32", (3, 4)))
    count = b.constant(0, "i32")
    return b.while_loop(lambda i, a, v: i < 3, lambda i, a, v: (i + 1, a * n, v + a), count, one, zero)[2]


BEFORE = np.concatenate([np.zeros((1, 4), np.float32), np.cumsum(X, 0)[:-1]])
PROGRAMS: dict[str, tuple[Callable[[Builder, Any, Any, Any, Any], Any], Any]] = {
    "operators": (lambda b, x, n, w, k: -((x * 2.0 + 1.0) / 4.0 - x) % 3.0, np.fmod(-((X * 2 + 1) / 4 - X), 3)),
    "arrays": (lambda b, x, n, w, k: X + x * X[0].repeat(3).reshape(4, 3).T, X + X * X[0].repeat(3).reshape(4, 3).T),
    "elementwise": (lambda b, x, n, w, k: b.tanh(b.add(x, b.sine(x))), np.tanh(X + np.sin(X))),
    "a number": (lambda b, x, n, w, k: b.maximum(x, 0), np.maximum(X, 0)),
    "clamp": (lambda b, x, n, w, k: b.clamp(-0.5, x, b.constant(0.5, "f32")), X.clip(-0.5, 0.5)),
    "compare": (lambda b, x, n, w, k: b.compare(x, 0.0, comparison_direction="GT"), X > 0),
    "select": (lambda b, x, n, w, k: b.select(x > 0.0, x, 0.0), np.maximum(X, 0)),
    "convert": (lambda b, x, n, w, k: b.convert(n, result_type="f32"), N.astype(np.float32)),
    "bits": (lambda b, x, n, w, k: b.popcnt(n), np.bitwise_count(N.view(np.uint32)).astype(np.int32)),
    "sum": (lambda b, x, n, w, k: b.reduce(x, 0.0, dimensions=[1], body=b.add), X.sum(1)),
    "several results": (lambda b, x, n, w, k: argmax(b, x), X.argmax(1)),
    "window": (
        lambda b, x, n, w, k: b.reduce_window(x, -np.inf, window_dimensions=[1, 2], body=b.maximum),
        np.maximum(X[:, :-1], X[:, 1:]),
    ),
    "sort": (lambda b, x, n, w, k: sorted_places(b, x), X.argsort(1)),
    "product": (
        lambda b, x, n, w, k: b.dot_general(x, w, lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[0]),
        X @ W,
    ),
    "transpose": (lambda b, x, n, w, k: b.transpose(x, permutation=[1, 0]), X.T),
    "reshape": (lambda b, x, n, w, k: b.reshape(x, result_type=(2, 6)), X.reshape(2, 6)),
    "slice": (lambda b, x, n, w, k: b.slice(x, start_indices=[0, 1], limit_indices=[3, 4], strides=[2, 1]), X[::2, 1:]),
    "concatenate": (lambda b, x, n, w, k: b.concatenate([x, x], dimension=0), np.concatenate([X, X])),
    "pad": (
        lambda b, x, n, w, k: b.pad(x, 9.0, edge_padding_low=[1, 0], edge_padding_high=[0, 2], interior_padding=[0, 0]),
        np.pad(X, ((1, 0), (0, 2)), constant_values=9),
    ),
    "reverse": (lambda b, x, n, w, k: b.reverse(x, dimensions=[0]), X[::-1]),
    "broadcast": (
        lambda b, x, n, w, k: b.broadcast_in_dim(x, broadcast_dimensions=[1, 2], result_type=(2, 3, 4)),
        np.broadcast_to(X, (2, 3, 4)),
    ),
    "gather": (
        lambda b, x, n, w, k: b.gather(
            x, k, offset_dims=[1], collapsed_slice_dims=[0], start_index_map=[0], index_vector_dim=1, slice_sizes=[1, 4]
        ),
        X[[2, 0]],
    ),
    "scatter": (
        lambda b, x, n, w, k: b.scatter(
            x,
            k,
            np.ones((2, 4), np.float32),
            update_window_dims=[1],
            inserted_window_dims=[0],
            scatter_dims_to_operand_dims=[0],
            index_vector_dim=1,
            update_computation=b.add,
        ),
        X + np.array([[1], [0], [1]], np.float32),
    ),
    "chlo": (lambda b, x, n, w, k: b.top_k(x, k=2)[0], -np.sort(-X, 1)[:, :2]),
    "by name": (lambda b, x, n, w, k: b.operation("chlo.square", x), X * X),
    "while": (lambda b, x, n, w, k: powers(b, n), 1 + N + N * N),
    "cond": (lambda b, x, n, w, k: b.cond(b.constant(True, "i1"), lambda v: v + 1.0, lambda v: v, x), X + 1),
    "case": (lambda b, x, n, w, k: b.case(b.constant(1, "i32"), branches=[lambda: x, lambda: x + 5.0]), X + 5),
    "switch": (lambda b, x, n, w, k: b.switch(b.constant(9, "i32"), [lambda v: v, lambda v: v * 2.0], x), X * 2),
    "scan": (lambda b, x, n, w, k: running(b, x, False), BEFORE),
    "scan in reverse": (lambda b, x, n, w, k: running(b, x, True), np.cumsum(X[::-1], 0)[::-1] - X),
    "functions": (lambda b, x, n, w, k: doubled(b, x), X * X - 1),
    "iota": (lambda b, x, n, w, k: b.iota(iota_dimension=0, result_type=("f64", (3,))), np.arange(3.0)),
    "complex": (lambda b, x, n, w, k: b.imag(b.complex(x, x + 1.0)), X + 1),
}


def test_programs() -> None:
    b = xhlo.Builder()
    arguments = [b.parameter(one.dtype, one.shape) for one in (X, N, W, K)]
    results = [program(b, *arguments) for program, _ in PROGRAMS.values()]
    found = xhlo.compile(b.build(*results))(X, N, W, K)
    for name, have, (_, want) in zip(PROGRAMS, found, PROGRAMS.values(), strict=True):
        assert have.shape == want.shape, name
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-5, err_msg=name)


def test_constants_are_of_the_type_that_is_stated() -> None:
    b = xhlo.Builder()
    text = str(
        b.build(
            b.constant(np.full(2, 2.5), "f32"),
            b.constant([1, 2], "bf16"),
            b.constant([[True, False]], "i1"),
            b.constant(np.arange(2) * 1j, "complex<f32>"),
            b.constant(7, ("i8", (2, 2))),
            b.constant(np.arange(2), ("f64", (2,))),
        )
    )
    for one in (
        "dense<2.500000e+00> : tensor<2xf32>",
        "dense<[1.000000e+00, 2.000000e+00]> : tensor<2xbf16>",
        "dense<[[true, false]]> : tensor<1x2xi1>",
        "tensor<2xcomplex<f32>>",
        "dense<7> : tensor<2x2xi8>",
        "dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf64>",
    ):
        assert one in text


def test_custom_calls_of_python() -> None:
    xhlo.register_custom_call("test.twice", lambda call, x: 2 * x)
    b = xhlo.Builder()
    x = b.parameter("f32", (3,))
    called = b.custom_call([x], call_target_name="test.twice", result_type=("f32", (3,)))
    np.testing.assert_array_equal(xhlo.compile(b.build(called))(np.ones(3, np.float32)), [2, 2, 2])


def leaked(b: Builder, x: Any) -> Any:
    kept: list[Any] = []
    b.cond(b.constant(True, "i1"), lambda: kept.append(x + 1.0) or x, lambda: x)
    return b.build(kept[0] * 2.0)


def from_another(b: Builder, x: Any) -> Any:
    return b.build(x + xhlo.Builder().parameter("f32", (2,)))


def after_the_end(b: Builder, x: Any) -> Any:
    b.build(x)
    return x + x


def called_with(*types: Any) -> Callable[[Builder, Any], Any]:
    def program(b: Builder, x: Any) -> Any:
        f = b.function("f", *types)(lambda v, *_: v)
        return f(x)

    return program


def defined_twice(b: Builder, x: Any) -> Any:
    for _ in range(2):
        b.function("f", ("f32", (2,)))(lambda v: v)
    return b.build(x)


WRONG: dict[str, tuple[Callable[[Builder, Any], Any], str]] = {
    "a value of a closed region": (leaked, "test_builder_programs.py:.*operand #0 does not dominate this use"),
    "a value of another builder": (
        from_another,
        "test_builder_programs.py:.*operand #1 is defined by an operation that",
    ),
    "an operation after the end": (after_the_end, "the program is built already: hlo.add cannot be added"),
    "built twice": (lambda b, x: (b.build(x), b.build(x)), "the program is built already"),
    "a parameter after the end": (lambda b, x: (b.build(x), b.parameter("f32")), "the program is built already"),
    "no result": (lambda b, x: b.reduce(x, 0.0, dimensions=[0], body=lambda p, q: None), r"returns \(\), expected"),
    "no function": (
        lambda b, x: b.reduce(x, 0.0, dimensions=[0], body="add"),
        "expected a function that makes a region",
    ),
    "arguments of a function": (
        called_with(("f32", (3,))),
        r"operand #0 has type tensor<2xf32>, but '@f' takes tensor<3x",
    ),
    "too few": (called_with(("f32", (2,)), "f32"), "has 1 operands, but '@f' has 2"),
    "a name twice": (defined_twice, "redefinition of symbol '@f'"),
    "text": (lambda b, x: x + "a", "expected a value, an array or a number, got str"),
    "truth": (lambda b, x: 1 if x else 2, "truth of a value is not known while the program is built"),
    "a ufunc": (lambda b, x: np.exp(x), "does not support ufuncs"),
    "a fraction": (lambda b, x: b.constant([1.5], "i32"), "1.5 is no i32"),
    "too large": (lambda b, x: b.constant(300, "i8"), "300 out of bounds for int8"),
    "a sign": (lambda b, x: b.constant(np.array([-1]), "ui64"), "-1 is no ui64"),
    "too large a float": (lambda b, x: b.constant(1e300, "f32") + b.constant([1e300], "f32"), r"1e\+300 is no f32"),
    "no number": (lambda b, x: b.constant(np.nan, "i32"), "nan is no i32"),
    "another shape": (lambda b, x: b.constant([1, 2], ("f32", (3,))), r"the array has shape \(2,\), its type is"),
    "words": (lambda b, x: b.constant(["a"], "f32"), "expected numbers"),
    "a type": (lambda b, x: b.parameter("float33"), "'float33' is no type"),
    "no type": (lambda b, x: b.parameter(3.5), "expected an element type"),
    "a negative size": (lambda b, x: b.parameter("f32", (-3,)), "negative size"),
    "a size": (lambda b, x: b.parameter("f32", (2.5,)), "expected a shape"),
    "scan without lists": (lambda b, x: b.scan(lambda c, e: (c, e), x, [x]), "expected a list of carries"),
    "a body of scan": (lambda b, x: b.scan(lambda c, e: c, [x], [x]), "returns two lists"),
    "no operation": (lambda b, x: b.expp(x), "there is no operation 'expp'"),
    "no argument": (lambda b, x: b.transpose(x, perm=[0]), r"has no argument perm: transpose\(operand, permutation=\)"),
    "an unknown target": (
        lambda b, x: xhlo.compile(b.build(b.custom_call([x], call_target_name="nope", result_type="f32"))),
        "calls the target 'nope', which is not registered",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_misuse_is_a_clear_error(name: str) -> None:
    program, message = WRONG[name]
    b = xhlo.Builder()
    with pytest.raises((TypeError, ValueError, OverflowError, AttributeError, xhlo.DiagnosticError), match=message):
        program(b, b.parameter("f32", (2,)))
