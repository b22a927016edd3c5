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
