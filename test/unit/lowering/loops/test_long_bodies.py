"""Elementwise kernels with long bodies, whose loops are of whole vectors: the last one may overlap the one before it."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import on_threads, type_of


def program(shape: tuple[int, ...], dtype: type[np.generic], steps: int) -> str:
    """x = sin(k y) + e^(-x^2) and y = cos(x) + y, some times: the functions of an element wait for each other."""
    type_ = type_of(np.empty(shape, dtype))
    text = f"func.func @main(%x0: {type_}, %y0: {type_}) -> ({type_}, {type_}) {{\n"
    for k in range(1, steps):
        text += f"""%k{k} = stablehlo.constant dense<{k}.0> : {type_}
          %a{k} = stablehlo.multiply %k{k}, %y{k - 1} : {type_}
          %b{k} = stablehlo.sine %a{k} : {type_}
          %c{k} = stablehlo.multiply %x{k - 1}, %x{k - 1} : {type_}
          %d{k} = stablehlo.negate %c{k} : {type_}
          %e{k} = stablehlo.exponential %d{k} : {type_}
          %x{k} = stablehlo.add %b{k}, %e{k} : {type_}
          %f{k} = stablehlo.cosine %x{k} : {type_}
          %y{k} = stablehlo.add %f{k}, %y{k - 1} : {type_}\n"""
    return f"{text} return %x{steps - 1}, %y{steps - 1} : {type_}, {type_} }}"


@pytest.mark.long(12)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(15,), (100,), (515,), (528,), (1000,), (3, 40), (20011,), (40, 530)])
def test_elements_have_the_bits_that_they_have_in_whole_vectors(
    shape: tuple[int, ...], dtype: type[np.float32 | np.float64]
) -> None:
    random = np.random.default_rng(0)
    count = int(np.prod(shape))
    x, y = random.standard_normal((2, count + -count % 1024)).astype(dtype)
    whole = on_threads(program(x.shape, dtype, 4), x, y)
    found = on_threads(program(shape, dtype, 4), x[:count].reshape(shape), y[:count].reshape(shape))
    for part, all_ in zip(found, whole, strict=True):
        assert part.tobytes() == all_[:count].tobytes()
    a, b = x.astype(np.float64), y.astype(np.float64)
    for k in range(1, 4):
        a = np.sin(k * b) + np.exp(-a * a)
        b = np.cos(a) + b
    np.testing.assert_allclose(whole[0], a, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(whole[1], b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [15, 40, 100, 515, 1000, 20011])
def test_every_element_of_a_long_body_is_added_once(size: int, dtype: type[np.float32 | np.float64]) -> None:
    """The sum of log(1 + e^x), whose loop may have the sums of several vectors."""
    x = np.random.default_rng(0).standard_normal((3, size)).astype(dtype)
    element = type_of(x[0, 0])
    text = f"""func.func @main(%x: {type_of(x)}) -> {type_of(x[:, 0])} {{
      %zero = stablehlo.constant dense<0.0> : {element}
      %0 = stablehlo.exponential %x : {type_of(x)}
      %1 = stablehlo.log_plus_one %0 : {type_of(x)}
      %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1]
        : ({type_of(x)}, {element}) -> {type_of(x[:, 0])}
      return %2 : {type_of(x[:, 0])} }}"""
    (found,) = on_threads(text, x)
    expected = np.log1p(np.exp(x.astype(np.float64))).sum(1)
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype is np.float32 else 1e-13)


def test_what_is_written_in_place_is_computed_once() -> None:
    """A loop's state of 200 elements, each of which goes through a long body that is written over it."""
    state = np.linspace(-1, 1, 200, dtype=np.float32)
    type_ = type_of(state)
    text = f"""func.func @main(%x: {type_}, %y: {type_}, %end: tensor<f32>) -> ({type_}, tensor<f32>) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0:2 = stablehlo.while(%s = %zero, %x0 = %x) : tensor<f32>, {type_}
        cond {{
          %1 = stablehlo.compare LT, %s, %end : (tensor<f32>, tensor<f32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        }} do {{
          %half = stablehlo.constant dense<0.3> : {type_}
          %2 = stablehlo.sine %x0 : {type_}
          %3 = stablehlo.exponential %2 : {type_}
          %4 = stablehlo.cosine %3 : {type_}
          %5 = stablehlo.exponential %4 : {type_}
          %6 = stablehlo.sine %5 : {type_}
          %7 = stablehlo.multiply %6, %half : {type_}
          %8 = stablehlo.add %x0, %7 : {type_}
          %9 = stablehlo.reduce(%8 init: %zero) applies stablehlo.add across dimensions = [0] :
              ({type_}, tensor<f32>) -> tensor<f32>
          stablehlo.return %9, %8 : tensor<f32>, {type_}
        }}
      return %0#1, %0#0 : {type_}, tensor<f32> }}"""
    found, total = on_threads(text, state, state, np.float32(190))
    expected, sums = state.astype(np.float64), 0.0
    while sums < 190:
        expected = expected + 0.3 * np.sin(np.exp(np.cos(np.exp(np.sin(expected)))))
        sums = expected.sum()
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    np.testing.assert_allclose(total, sums, rtol=1e-4)


@pytest.mark.long(14)
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("size", [18, 20, 24, 27, 60])
def test_rests_of_short_loops(size: int, element: str) -> None:
    """Elementary functions in loops of some vectors and a rest: stored, and reduced along either dimension and both."""
    given, rows = f"tensor<7x{size}x{size}x{element}>", f"tensor<7x{size}x{element}>"
    x = np.random.default_rng(1).standard_normal((7, size)).astype(np.float32 if element == "f32" else np.float64)
    text = f"""func.func @main(%x: {rows}) -> ({given}, {rows}, {rows}, tensor<7x{element}>) {{
      %zero = stablehlo.constant dense<0.0> : tensor<{element}>
      %low = stablehlo.constant dense<-9.0> : tensor<{element}>
      %a = stablehlo.broadcast_in_dim %x, dims = [0, 1] : ({rows}) -> {given}
      %b = stablehlo.broadcast_in_dim %x, dims = [0, 2] : ({rows}) -> {given}
      %p = stablehlo.multiply %a, %b : {given}
      %t = stablehlo.tanh %p : {given}
      %c = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1] :
        ({given}, tensor<{element}>) -> {rows}
      %r = stablehlo.reduce(%t init: %low) applies stablehlo.maximum across dimensions = [2] :
        ({given}, tensor<{element}>) -> {rows}
      %s = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1, 2] :
        ({given}, tensor<{element}>) -> tensor<7x{element}>
      return %t, %c, %r, %s : {given}, {rows}, {rows}, tensor<7x{element}> }}"""
    y = x.astype(np.float64)
    want = np.tanh(y[:, :, None] * y[:, None])
    names = {"%t": want, "%c": want.sum(1), "%r": want.max(2), "%s": want.sum((1, 2))}
    bound = 1e-4 if element == "f32" else 1e-12
    for got, expected in zip(on_threads(text, x), names.values(), strict=True):
        np.testing.assert_allclose(got, expected, rtol=bound, atol=bound)
    # Each by itself: a kernel that reduces what it does not store.
    for name, expected in list(names.items())[1:]:
        type_ = "tensor<7x" + ("" if name == "%s" else f"{size}x") + f"{element}>"
        head, _, rest = text.partition(") -> (")
        alone = f"{head}) -> {type_} {{{rest.partition(') {')[2].partition('return')[0]}return {name} : {type_} }}"
        np.testing.assert_allclose(on_threads(alone, x)[0], expected, rtol=bound, atol=bound)
