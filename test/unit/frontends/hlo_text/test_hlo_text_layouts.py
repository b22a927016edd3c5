"""Layouts in HLO text: what a bitcast between them means, and that they are kept and written back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import xhlo
from hlo_texts import program
from xhlo.frontends.hlo_text.shapes import Shape, ShapeError, read_shape, shape_text
from xhlo.frontends.hlo_text.writing.module import write_module
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate


def address(shape: Shape, index: tuple[int, ...]) -> int:
    """The place of an element in memory, computed digit by digit as XLA's page on tiled layouts defines it."""
    order = range(len(shape.dims)) if shape.layout is None else reversed(shape.layout)
    digits = [(index[dim], shape.dims[dim]) for dim in order]
    for tile in shape.tiles:
        digits = [(0, 1)] * (len(tile) - len(digits)) + digits
        outside, rest = digits[: -len(tile)], digits[-len(tile) :]
        joined: list[tuple[int, int, int]] = []
        at, extent = 0, 1
        for size, (digit, count) in zip(tile, rest, strict=True):
            at, extent = at * count + digit, extent * count
            if size > 0:
                joined.append((at, extent, size))
                at, extent = 0, 1
        digits = [
            *outside,
            *((at // size, math.ceil(extent / size)) for at, extent, size in joined),
            *((at % size, size) for at, _, size in joined),
        ]
    place = 0
    for digit, count in digits:
        place = place * count + digit
    return place


def bitcast(x: np.ndarray, before: str, after: str) -> np.ndarray:
    """The meaning of a bitcast: each element of the result is the one at its address; padding is zero."""
    source, target = read_shape(before), read_shape(after)
    memory = {address(source, index): x[index] for index in np.ndindex(*x.shape)}
    return np.array([memory.get(address(target, index), 0) for index in np.ndindex(*target.dims)], x.dtype).reshape(
        target.dims
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f32[2,3]{0,1}", "f32[6]{0}"),
        ("f32[2,3]{0,1}", "f32[3,2]{1,0}"),
        ("f32[2,3]", "f32[2,3]{0,1}"),
        ("f32[2,3,4]{1,2,0}", "f32[4,6]{0,1}"),
        ("f32[2,3,4]{0,2,1}", "f32[3,4,2]{2,1,0}"),
        ("f32[1,6]{0,1}", "f32[2,3]{1,0}"),
        ("f32[4,6]{1,0:T(2,3)}", "f32[24]{0}"),
        ("f32[24]{0}", "f32[6,4]{0,1:T(2,3)}"),
        ("f32[4,6]{1,0:T(2,3)}", "f32[6,4]{0,1:T(2,3)}"),
        ("f32[3,5]{1,0:T(2,2)}", "f32[4,6]{1,0:T(2,2)}"),
        ("f32[3,5]{1,0:T(2,2)}", "f32[24]{0}"),
        ("f32[7,9]{0,1:T(4,4)(2,1)}", "f32[96]{0:T(8)}"),
        ("f32[8,8]{1,0:T(4,4)(2,1)}", "f32[64]{0}"),
        ("f32[2,3,4]{2,1,0:T(*,4)}", "f32[6,4]{1,0:T(2,2)}"),
        ("f32[5]{0:T(2,4)}", "f32[2,8]{1,0}"),
        ("f32[]{:T(4)}", "f32[4]{0}"),
        ("f32[16,4]{1,0:T(8,128)S(1)}", "f32[16,128]{1,0:T(8,128)}"),
    ],
)
def test_a_bitcast_reads_memory(before: str, after: str) -> None:
    dims = read_shape(before).dims
    x = np.arange(1, 1 + math.prod(dims), dtype=np.float32).reshape(dims)
    text = program(f"  a = {before} parameter(0)\n  ROOT b = {after} bitcast(a)")
    (found,) = evaluate(parse_module(text, "x.hlo"), [x])
    np.testing.assert_array_equal(found, bitcast(x, before, after))


def test_a_bitcast_of_another_width_reads_bytes() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    text = program(
        "  a = f32[2,3]{0,1} parameter(0)\n  w = u16[3,2,2]{2,1,0} bitcast(a)\n  b = f32[3,2]{1,0:T(3,2)} bitcast(w)\n"
        "  ROOT t = (u16[3,2,2], f32[3,2]) tuple(w, b)"
    )
    halves, again = evaluate(parse_module(text, "x.hlo"), [x])
    np.testing.assert_array_equal(halves, np.ascontiguousarray(x.T).view(np.uint16).reshape(3, 2, 2))
    np.testing.assert_array_equal(again, x.T)


LAYOUTS = program(
    """
  a = f32[2,3]{0,1} parameter(0)
  b = f32[4,3]{1,0:T(8,128)} parameter(1)
  c = f32[2,3]{1,0} copy(a)
  d = f32[3,2]{0,1} transpose(c), dimensions={1,0}
  e = f32[2,3]{0,1} add(a, c)
  k = f32[2,3]{0,1} constant({ { 1, 2, 3 }, { 4, 5, 6 } })
  f = f32[2,3]{0,1} multiply(e, k)
  g = f32[4,2]{0,1:T(4,2)S(1)} dot(b, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  h = (f32[2,3]{0,1}, f32[2,3]) sort(f, c), dimensions={1}, to_apply=less
  i = f32[2,3]{0,1} get-tuple-element(h), index=0
  j = u32[2,3]{0,1} bitcast-convert(i)
  ROOT t = (u32[2,3]{0,1}, f32[4,2]{0,1:T(4,2)S(1)}) tuple(j, g)""",
    header=", entry_computation_layout={(f32[2,3]{0,1}, f32[4,3]{1,0:T(8,128)})->(u32[2,3]{0,1}, f32[4,2]{0,1:T(4,2)S(1)})}",
    before="""
less {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  z = f32[] parameter(2)
  w = f32[] parameter(3)
  ROOT r = pred[] compare(x, y), direction=LT
}""",
)


def _arguments() -> list[Any]:
    numbers = np.random.default_rng(0)
    return [numbers.normal(size=shape).astype(np.float32) for shape in ((2, 3), (4, 3))]


def test_layouts_are_kept_and_written_back() -> None:
    module = parse_module(LAYOUTS, "x.hlo")
    shown = print_module(module)
    for expected in (
        'hlo.add %a, %a {mhlo.xla_shape = "f32[2,3]{0,1}"}',
        'mhlo.xla_shape = "f32[4,2]{0,1:T(4,2)S(1)}"',
        'mhlo.xla_shape = "(f32[2,3]{0,1}, f32[2,3]{1,0})"',
        "mhlo.xla_entry_computation_parameter_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[1, 0]>",
        '%b: tensor<4x3xf32> {mhlo.xla_shape = "f32[4,3]{1,0:T(8,128)}"}',
    ):
        assert expected in shown, (expected, shown)
    assert print_module(parse_module(shown, "x.mlir")) == shown
    written = write_module(module)
    for expected in (
        "entry_computation_layout={(f32[2,3]{0,1}, f32[4,3]{1,0:T(8,128)})->(u32[2,3]{0,1}, f32[4,2]{0,1:T(4,2)S(1)})}",
        "%a = f32[2,3]{0,1} parameter(0)",
        "%b = f32[4,3]{1,0:T(8,128)} parameter(1)",
        "%d = f32[3,2]{0,1} transpose(",
        "%k = f32[2,3]{0,1} constant(",
        "= (f32[2,3]{0,1}, f32[2,3]{1,0}) sort(",
        "%i = f32[2,3]{0,1} get-tuple-element(",
        "%j = u32[2,3]{0,1} bitcast-convert(",
    ):
        assert expected in written, (expected, written)
    again = parse_module(written, "x.hlo")
    assert write_module(again) == written
    hlo = pytest.importorskip("jaxlib._hlo")
    assert "T(4,2)S(1)" in hlo.hlo_module_from_text(written).to_string()


def test_layouts_do_not_change_results() -> None:
    arguments = _arguments()
    bits, product = xhlo.compile(LAYOUTS)(*arguments)
    a, b = arguments
    wanted = np.sort((a + a) * np.arange(1, 7, dtype=np.float32).reshape(2, 3), axis=1)
    np.testing.assert_array_equal(bits.view(np.float32), wanted)
    np.testing.assert_allclose(product, b @ a.T, rtol=1e-5)


def test_layouts_keep_no_equal_operations_apart() -> None:
    text = program(
        "  a = f32[2,3]{0,1} parameter(0)\n  b = f32[2,3]{0,1} exponential(a)\n  c = f32[2,3]{1,0} exponential(a)\n"
        "  ROOT d = f32[2,3]{0,1} multiply(b, c)"
    )
    assert xhlo.compile(text).as_text("hlo-text").count(" exponential(") == 1


def test_an_entry_without_the_attribute_has_the_layouts_of_its_instructions() -> None:
    text = program("  a = f32[2,3]{0,1} parameter(0)\n  ROOT b = f32[2,3]{1,0} negate(a)")
    assert "->f32[2,3]{1,0}}" in write_module(parse_module(text, "x.hlo"))
    assert "={(f32[2,3]{0,1})" in write_module(parse_module(text, "x.hlo"))


def test_layouts_of_arrays_that_passes_split_are_left_out() -> None:
    text = program("  a = c64[2,3]{0,1} parameter(0)\n  ROOT b = c64[2,3]{0,1} negate(a)")
    written = xhlo.compile(text).as_text("hlo-text")
    assert "f32[2,3,2]{2,1,0} parameter(0)" in written
    hlo = pytest.importorskip("jaxlib._hlo")
    hlo.hlo_module_from_text(written)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("f32[2,3]{0,0}", "does not order 2 dimensions"),
        ("f32[2,3]{1,0:T(0,2)}", "is no tile"),
        ("f32[2,3]{1,0:T(2,*)}", "is no tile"),
        ("f32[2,3]{1,0:8,128}", "is no list of tiles"),
    ],
)
def test_wrong_layouts(shape: str, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        read_shape(shape)
    with pytest.raises(DiagnosticError, match=message):
        parse_module(program(f"  ROOT a = {shape} parameter(0)"), "x.hlo")


def test_shapes_are_written_as_they_are_read() -> None:
    for text in (
        "f32[2,3]{1,0}", "s4[8]{0:E(4)}", "bf16[<=8,128]{1,0:T(8,128)(2,1)}", "f32[]{:T(128)}",
        "(f32[2]{0}, (pred[]), token[])", "f32[4,4]{0,1:T(2,2)L(1024)S(1)}", "(f32[2,2]{0,1:T(2,2)})",
    ):  # fmt: skip
        assert shape_text(read_shape(text)) == text
