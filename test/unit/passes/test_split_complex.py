"""split-complex produces programs on real numbers with the same results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from xdsl.dialects.builtin import ComplexType, TensorType

import xhlo
from hlo_programs import Program
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.hlo_dialect.verification import verify_module
from xhlo.passes.manager.pipelines import build_passes
from xhlo.passes.split_complex import layout

C = "tensor<6xcomplex<f32>>"
R = "tensor<6xf32>"


def split(text: str) -> Program:
    """The module after split-complex, which leaves no complex number."""
    program = Program(text).after("split-complex")
    for op in program.module.walk():
        for value in (*op.operands, *op.results):
            assert not (isinstance(value.type, TensorType) and isinstance(value.type.element_type, ComplexType))
    return program


def same_results(text: str, *inputs: np.ndarray, rtol: float = 1e-6) -> None:
    split(text).same_results(*inputs, rtol=rtol)


def program(body: str, result: str, type_: str = C) -> str:
    """A program of two complex numbers %a and %b that returns the parts of `result`."""
    real = type_.replace("complex<f32>", "f32")
    return f"""
func.func @main(%ar: {R}, %ai: {R}, %br: {R}, %bi: {R}) -> ({real}, {real}) {{
  %a = hlo.complex %ar, %ai : {C}
  %b = hlo.complex %br, %bi : {C}
{body}
  %re = hlo.real {result} : ({type_}) -> {real}
  %im = hlo.imag {result} : ({type_}) -> {real}
  return %re, %im : {real}, {real}
}}"""


def parts() -> list[np.ndarray]:
    return list(np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_arithmetic(name: str) -> None:
    same_results(program(f"  %c = hlo.{name} %a, %b : {C}", "%c"), *parts(), rtol=1e-5)


@pytest.mark.parametrize("name", ["negate", "exponential", "log"])
def test_functions(name: str) -> None:
    same_results(program(f"  %c = hlo.{name} %a : {C}", "%c"), *parts(), rtol=1e-5)


@pytest.mark.parametrize(
    ("op", "type_"),
    [
        ("hlo.reverse %a, dims = [0] : {C}", C),
        ("hlo.reshape %a : ({C}) -> tensor<2x3xcomplex<f32>>", "tensor<2x3xcomplex<f32>>"),
        ("hlo.broadcast_in_dim %a, dims = [1] : ({C}) -> tensor<2x6xcomplex<f32>>", "tensor<2x6xcomplex<f32>>"),
        ("hlo.slice %a [1:5:2] : ({C}) -> tensor<2xcomplex<f32>>", "tensor<2xcomplex<f32>>"),
        ("hlo.concatenate %a, %b, dim = 0 : ({C}, {C}) -> tensor<12xcomplex<f32>>", "tensor<12xcomplex<f32>>"),
        (
            "hlo.dot_general %a, %b, contracting_dims = [] x [] : ({C}, {C}) -> tensor<6x6xcomplex<f32>>",
            "tensor<6x6xcomplex<f32>>",
        ),
        ("hlo.optimization_barrier %a : {C}", C),
    ],
)
def test_movement(op: str, type_: str) -> None:
    same_results(program(f"  %c = {op.replace('{C}', C)}", "%c", type_), *parts())


@pytest.mark.parametrize("combiner", ["add", "multiply"])
def test_reductions(combiner: str) -> None:
    body = f"""
  %one = hlo.constant dense<(1.0, 0.5)> : tensor<complex<f32>>
  %c = hlo.reduce(%a init: %one) applies hlo.{combiner} across dimensions = [0]
       : ({C}, tensor<complex<f32>>) -> tensor<complex<f32>>"""
    same_results(program(body, "%c", "tensor<complex<f32>>"), *parts(), rtol=1e-5)


def test_comparison_selects() -> None:
    body = f"""
  %same = hlo.compare EQ, %a, %b : ({C}, {C}) -> tensor<6xi1>
  %c = hlo.select %same, %a, %b : tensor<6xi1>, {C}"""
    values = parts()
    values[2][:3], values[3][:3] = values[0][:3], values[1][:3]
    same_results(program(body, "%c"), *values)


def test_control_flow() -> None:
    body = f"""
  %true = hlo.constant dense<true> : tensor<i1>
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %three = hlo.constant dense<3> : tensor<i32>
  %w:2 = hlo.while(%i = %zero, %v = %a) : tensor<i32>, {C}
    cond {{
      %p = hlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      hlo.return %p : tensor<i1>
    }} do {{
      %j = hlo.add %i, %one : tensor<i32>
      %u = hlo.multiply %v, %b : {C}
      hlo.return %j, %u : tensor<i32>, {C}
    }}
  %c = "hlo.if"(%true) ({{
    %n = hlo.negate %w#1 : {C}
    hlo.return %n : {C}
  }}, {{
    hlo.return %a : {C}
  }}) : (tensor<i1>) -> {C}"""
    same_results(program(body, "%c"), *parts(), rtol=1e-4)


def test_magnitude_without_overflow() -> None:
    text = f"""
func.func @main(%re: {R}, %im: {R}) -> {R} {{
  %z = hlo.complex %re, %im : {C}
  %0 = hlo.abs %z : ({C}) -> {R}
  return %0 : {R}
}}"""
    re = np.array([3e38, 0.0, 1e-30, np.inf, 3.0, -5.0], np.float32)
    im = np.array([1e38, 0.0, 1e-30, np.nan, 4.0, 12.0], np.float32)
    module = split(text).module
    (actual,) = evaluate(module, (re, im))
    wanted = np.hypot(re.astype(np.float64), im.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(actual, wanted, rtol=5e-7)


@pytest.mark.parametrize(
    "name",
    [
        *("sort", "scatter_add", "scatter_set", "scatter_multiply", "gather", "columns"),
        *("box", "pad", "pad_one", "stack", "argsort"),
    ],
)
def test_indexing_and_sorting_are_xlas(name: str) -> None:
    """Operations with regions carry both parts of each tensor; pads, boxes and gathers move pairs."""
    functions: dict[str, Callable[..., Any]] = {
        "sort": lambda a: jnp.sort(a, axis=0),
        "scatter_add": lambda a: a.at[1].add(2j),
        "scatter_set": lambda a: a.at[jnp.array([0, 2])].set(1j),
        "scatter_multiply": lambda a: a.at[1, 2].multiply(2j),
        "gather": lambda a: a[jnp.array([3, 1])],
        "columns": lambda a: jnp.take(a, jnp.array([[3, 9], [1, 0]]), 1, mode="clip"),
        "box": lambda a: lax.dynamic_slice(a, (a[0, 0].real.astype(int), 3), (2, 3)),
        "pad": lambda a: lax.pad(a * a, np.complex64(), [(1, -2, 1), (-1, 2, 0)]),
        "pad_one": lambda a: lax.pad(a, np.complex64(1), [(1, 2, 1), (0, 2, 0)]),
        "stack": lambda a: jnp.stack([a, -a, a * a], -1).reshape(4, 18),
        "argsort": lambda a: jnp.argsort(a, axis=1),
    }
    rng = np.random.default_rng(0)
    z = (rng.standard_normal((4, 6)) + 1j * rng.standard_normal((4, 6))).astype(np.complex64)
    z[1] = z[2].real
    function = jax.jit(functions[name])
    context = make_context()
    module = parse_module(function.lower(z).as_text(), "<test>", context)
    for each in build_passes("inline,flatten-tuples,decompose-hlo,split-complex"):
        each.apply(context, module)
    verify_module(module)
    (got,) = evaluate(module, [z.view(np.float32).reshape(4, 6, 2)])
    want = np.asarray(function(z))
    if want.dtype == np.complex64:
        want = want.view(np.float32).reshape(got.shape)
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_what_is_joined_again_and_again_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty rotations have a million ways from the result to the argument."""
    moved: list[object] = []
    original = layout._moved
    monkeypatch.setattr(layout, "_moved", lambda op, *rest: moved.append(op) or original(op, *rest))

    def joined(x: Any) -> Any:
        for at in range(1, 21):
            x = np.concatenate([x[at:], x[:at][::-1]])
        return x

    x = np.arange(64) * (1 - 2j)
    np.testing.assert_array_equal(xhlo.jit(joined)(x), joined(x))
    assert 20 < len(moved) < 200


def test_joins_of_any_depth() -> None:
    def joined(x: Any) -> Any:
        x = x * x
        for _ in range(150):
            x = np.concatenate([x, x[:1] * 2])
        return x

    x = np.arange(1, 4) * (1 - 2j)
    np.testing.assert_allclose(xhlo.jit(joined)(x), joined(x), rtol=1e-12)


def test_a_slice_of_one_number() -> None:
    one = "tensor<complex<f32>>"
    text = f"""func.func @main(%x: {one}) -> {one} {{
  %0 = hlo.dynamic_slice %x, sizes = [] : ({one}) -> {one}
  return %0 : {one}
}}"""
    assert xhlo.compile(text)(np.complex64(1 + 2j)) == 1 + 2j
