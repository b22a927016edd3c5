"""Rotations of rows, which loops read where they are."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_programs import on_threads, type_of


def rolled(name: str, x: str, shape: tuple[int, ...], dim: int, shift: int) -> str:
    """The operations of `jnp.roll`; their result is called %name."""
    cut = -shift % shape[dim]

    def part(number: int, first: int, end: int) -> tuple[str, str]:
        sizes = [end - first if at == dim else size for at, size in enumerate(shape)]
        ranges = ", ".join(f"{first}:{end}" if at == dim else f"0:{size}" for at, size in enumerate(shape))
        type_ = f"tensor<{'x'.join(map(str, sizes))}xf32>"
        return type_, f"%{name}_{number} = hlo.slice {x} [{ranges}] : ({whole}) -> {type_}\n"

    whole = f"tensor<{'x'.join(map(str, shape))}xf32>"
    (a, last), (b, first) = part(0, cut, shape[dim]), part(1, 0, cut)
    return f"{last}{first}%{name} = hlo.concatenate %{name}_0, %{name}_1, dim = {dim} : ({a}, {b}) -> {whole}\n"


@pytest.mark.long(3)
@pytest.mark.parametrize("shape", [(5, 33), (70, 100), (3, 4, 40), (2, 6, 5, 20)])
def test_sums_of_rolled_tensors(shape: tuple[int, ...]) -> None:
    """In each dimension and both directions, and of a rolled tensor again."""
    x = np.random.default_rng(1).standard_normal(shape, dtype=np.float32)
    whole, text, total, want = type_of(x), "", "%x", x
    for dim in range(len(shape)):
        for number, shift in enumerate((1, max(1, shape[dim] - 2))):
            name = f"r{dim}_{number}"
            text += rolled(name, "%x", shape, dim, shift) + f"%s{name} = hlo.add {total}, %{name} : {whole}\n"
            total, want = f"%s{name}", want + np.roll(x, shift, dim)
    text += rolled("a", total, shape, 0, 1) + rolled("b", "%a", shape, 1, 1) + f"%c = hlo.multiply %b, %x : {whole}\n"
    (got,) = on_threads(f"func.func @main(%x: {whole}) -> {whole} {{\n{text}func.return %c : {whole}\n}}", x)
    assert got.tobytes() == (np.roll(want, (1, 1), (0, 1)) * x).tobytes()


def test_rolled_components_in_a_loop() -> None:
    """The curl of a field, from its components and back, several times."""
    x = np.random.default_rng(2).standard_normal((2, 6, 24), dtype=np.float32)
    whole, part, shape = type_of(x), type_of(x[0]), (6, 24)
    components = "".join(
        f"%p{i} = hlo.slice %u [{i}:{i + 1}, 0:6, 0:24] : ({whole}) -> tensor<1x6x24xf32>\n"
        f"%u{i} = hlo.reshape %p{i} : (tensor<1x6x24xf32>) -> {part}\n"
        for i in (0, 1)
    )
    body = components + rolled("a", "%u1", shape, 0, 1) + rolled("b", "%u0", shape, 0, -1)
    text = f"""func.func @main(%x: {whole}) -> {whole} {{
      %zero = hlo.constant dense<0> : tensor<i32>
      %r:2 = hlo.while(%i = %zero, %u = %x) : tensor<i32>, {whole}
      cond {{
        %four = hlo.constant dense<4> : tensor<i32>
        %c = hlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %c : tensor<i1>
      }} do {{
        {body}
        %d0 = hlo.subtract %u0, %a : {part}
        %d1 = hlo.add %u1, %b : {part}
        %e0 = hlo.reshape %d0 : ({part}) -> tensor<1x6x24xf32>
        %e1 = hlo.reshape %d1 : ({part}) -> tensor<1x6x24xf32>
        %v = hlo.concatenate %e0, %e1, dim = 0 : (tensor<1x6x24xf32>, tensor<1x6x24xf32>) -> {whole}
        %one = hlo.constant dense<1> : tensor<i32>
        %n = hlo.add %i, %one : tensor<i32>
        hlo.return %n, %v : tensor<i32>, {whole}
      }}
      func.return %r#1 : {whole}
    }}"""
    (got,) = on_threads(text, x)
    want = x
    for _ in range(4):
        want = np.stack([want[0] - np.roll(want[1], 1, 0), want[1] + np.roll(want[0], -1, 0)])
    assert got.tobytes() == want.tobytes()


def test_rows_beyond_the_border() -> None:
    """Differences of rows, of which the last one, or the first, is repeated; and every second row of such a tensor."""
    x = np.random.default_rng(3).standard_normal((9, 40), dtype=np.float32)
    text = """func.func @main(%x: tensor<9x40xf32>) -> (tensor<9x40xf32>, tensor<4x40xf32>) {
      %first = hlo.slice %x [0:1, 0:40] : (tensor<9x40xf32>) -> tensor<1x40xf32>
      %last = hlo.slice %x [8:9, 0:40] : (tensor<9x40xf32>) -> tensor<1x40xf32>
      %all = hlo.concatenate %first, %x, %last, dim = 0 : (tensor<1x40xf32>, tensor<9x40xf32>, tensor<1x40xf32>) -> tensor<11x40xf32>
      %down = hlo.slice %all [2:11, 0:40] : (tensor<11x40xf32>) -> tensor<9x40xf32>
      %up = hlo.slice %all [0:9, 0:40] : (tensor<11x40xf32>) -> tensor<9x40xf32>
      %d = hlo.subtract %down, %up : tensor<9x40xf32>
      %odd = hlo.slice %all [3:11:2, 0:40] : (tensor<11x40xf32>) -> tensor<4x40xf32>
      %inner = hlo.slice %all [4:8, 0:40] : (tensor<11x40xf32>) -> tensor<4x40xf32>
      %s = hlo.add %odd, %inner : tensor<4x40xf32>
      func.return %d, %s : tensor<9x40xf32>, tensor<4x40xf32>
    }"""
    padded = np.pad(x, ((1, 1), (0, 0)), "edge")
    difference, total = on_threads(text, x)
    assert difference.tobytes() == (padded[2:] - padded[:-2]).tobytes()
    assert total.tobytes() == (padded[3::2] + padded[4:8]).tobytes()


@pytest.mark.parametrize("shape", [(49,), (300,), (6, 200), (2, 3, 130)])
def test_neighbours_along_the_last_dimension(shape: tuple[int, ...]) -> None:
    """Up to three places in both directions: loops read them where they are."""
    x = np.random.default_rng(3).standard_normal(shape, dtype=np.float32)
    whole, text, total, want, last = type_of(x), "", "%x", x, len(shape) - 1
    for number, shift in enumerate((1, -1, 2, -3)):
        name = f"r{number}"
        text += rolled(name, "%x", shape, last, shift) + f"%s{name} = hlo.add {total}, %{name} : {whole}\n"
        total, want = f"%s{name}", want + np.roll(x, shift, last)
    (got,) = on_threads(f"func.func @main(%x: {whole}) -> {whole} {{\n{text}func.return {total} : {whole}\n}}", x)
    assert got.tobytes() == want.tobytes()


def test_other_elements_beyond_the_border() -> None:
    """Two elements of other tensors before a slice, and one of each row after it."""
    random = np.random.default_rng(4)
    x, y, z = (random.standard_normal((5, size), dtype=np.float32) for size in (160, 2, 1))
    text = f"""func.func @main(%x: {type_of(x)}, %y: {type_of(y)}, %z: {type_of(z)}) -> {type_of(x)} {{
      %0 = hlo.slice %x [0:5, 2:159] : ({type_of(x)}) -> tensor<5x157xf32>
      %1 = hlo.concatenate %y, %0, %z, dim = 1 : ({type_of(y)}, tensor<5x157xf32>, {type_of(z)}) -> {type_of(x)}
      %2 = hlo.subtract %1, %x : {type_of(x)}
      func.return %2 : {type_of(x)}
    }}"""
    (got,) = on_threads(text, x, y, z)
    assert got.tobytes() == (np.concatenate([y, x[:, 2:159], z], 1) - x).tobytes()


@pytest.mark.parametrize("count", [4, 5, 6, 11])
@pytest.mark.parametrize("size", [100, 700])
def test_steps_of_neighbours(count: int, size: int) -> None:
    """A line and its velocity, for odd and even numbers of steps, scaled by a number that is spread before the loop."""
    random = np.random.default_rng(5)
    u, v = random.standard_normal((2, size))
    scale = np.asarray(0.25)
    whole = f"tensor<{size}xf64>"
    steps = (rolled("a", "%u", (size,), 0, 1) + rolled("b", "%u", (size,), 0, -1)).replace("xf32>", "xf64>")
    text = f"""func.func @main(%x: {whole}, %y: {whole}, %s: tensor<f64>) -> ({whole}, {whole}, tensor<i32>) {{
      %zero = hlo.constant dense<3> : tensor<i32>
      %spread = hlo.broadcast_in_dim %s, dims = [] : (tensor<f64>) -> {whole}
      %r:3 = hlo.while(%i = %zero, %u = %x, %v = %y) : tensor<i32>, {whole}, {whole}
      cond {{
        %end = hlo.constant dense<{count + 3}> : tensor<i32>
        %c = hlo.compare LT, %i, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        hlo.return %c : tensor<i1>
      }} do {{
        {steps}
        %sum = hlo.add %a, %b : {whole}
        %scaled = hlo.multiply %sum, %spread : {whole}
        %w = hlo.add %v, %scaled : {whole}
        %next = hlo.maximum %u, %w : {whole}
        %one = hlo.constant dense<1> : tensor<i32>
        %n = hlo.add %i, %one : tensor<i32>
        hlo.return %n, %next, %w : tensor<i32>, {whole}, {whole}
      }}
      func.return %r#1, %r#2, %r#0 : {whole}, {whole}, tensor<i32>
    }}"""
    got = on_threads(text, u, v, scale)
    for _ in range(count):
        v = v + (np.roll(u, 1) + np.roll(u, -1)) * scale
        u = np.maximum(u, v)
    assert got[0].tobytes() == u.tobytes() and got[1].tobytes() == v.tobytes() and got[2] == count + 3
