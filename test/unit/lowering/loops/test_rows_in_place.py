"""Row kernels that keep values of a row in the row of their output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from cpu_programs import on_threads
from xhlo.lowering.convert_linalg_to_scf import row
from xhlo.targets.cpu.host import host_vector_bits

SOFTMAX = """
func.func @main(%x: tensor<RxNxf32>) -> tensor<RxNxf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1]
    : (tensor<RxNxf32>, tensor<f32>) -> tensor<Rxf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<Rxf32>) -> tensor<RxNxf32>
  %2 = stablehlo.subtract %x, %1 : tensor<RxNxf32>
  %3 = stablehlo.exponential %2 : tensor<RxNxf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<RxNxf32>, tensor<f32>) -> tensor<Rxf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<Rxf32>) -> tensor<RxNxf32>
  DIVIDED
}
"""
QUOTIENT = "%6 = stablehlo.divide %3, %5 : tensor<RxNxf32>\n return %6 : tensor<RxNxf32>"
REVERSED = (
    "%6 = stablehlo.reverse %3, dims = [1] : tensor<RxNxf32>\n"
    "%7 = stablehlo.divide %6, %5 : tensor<RxNxf32>\n return %7 : tensor<RxNxf32>"
)


def program(divided: str, rows: int, columns: int) -> str:
    return SOFTMAX.replace("DIVIDED", divided).replace("RxN", f"{rows}x{columns}").replace("Rx", f"{rows}x")


@pytest.mark.long(6)
@pytest.mark.parametrize(
    ("divided", "columns", "expected"),
    [(QUOTIENT, 512, 1), (QUOTIENT, 1040, 1), (QUOTIENT, 515, 0), (QUOTIENT, 96, 0), (REVERSED, 512, 0)],
    ids=["lines", "odd tiles", "within lines", "short", "reversed"],
)
def test_the_output_takes_the_place_of_a_row(
    divided: str, columns: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Only where its rows are whole lines, vectors too, and the last step reads each element where it writes it; the same
    bits.
    """
    found: list[Any] = []

    def counting(*arguments: Any) -> Any:
        found.append(original(*arguments))
        return found[-1]

    original = row.in_place
    monkeypatch.setattr(row, "in_place", counting)
    x = np.random.default_rng(0).normal(size=(70, columns)).astype(np.float32) * 4
    x[3, ::2], x[4], x[5, 7] = -np.inf, -np.inf, np.nan
    text = program(divided, *x.shape)
    (result,) = on_threads(text, x)
    assert sum(each is not None for each in found) == (expected if host_vector_bits() == 512 else 0)
    monkeypatch.setattr(row, "in_place", lambda *_: None)
    np.testing.assert_array_equal(result, xhlo.compile(text + "\n")(x))


@pytest.mark.long
def test_a_result_over_an_argument_that_the_last_step_reads() -> None:
    """The rows between two sorts may be written over what the first one leaves, so that no other values wait there."""
    sort = """"stablehlo.sort"(ARGUMENT) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
    }) {dimension = 0 : i64} : (tensor<RxNxf32>) -> tensor<RxNxf32>"""
    first, last = (sort.replace("ARGUMENT", name) for name in ("%given", "%7"))
    rest = f"%7 = stablehlo.subtract %6, %x : tensor<RxNxf32>\n %8 = {last}\n return %8 : tensor<RxNxf32>"
    text = program(QUOTIENT.replace("return %6 : tensor<RxNxf32>", rest), 70, 512)
    text = text.replace("@main(%x: tensor<70x512xf32>)", "@main(%given: tensor<70x512xf32>)")
    text = text.replace("%least =", f"%x = {first}\n %least =", 1).replace("RxN", "70x512")
    given = np.random.default_rng(0).normal(size=(70, 512)).astype(np.float32)
    x = np.sort(given, axis=0)
    terms = np.exp(x - x.max(1, keepdims=True))
    wanted = np.sort(terms / terms.sum(1, keepdims=True) - x, axis=0)
    np.testing.assert_allclose(xhlo.compile(text)(given), wanted, rtol=1e-5, atol=1e-6)


def test_a_program_reads_an_output_that_begins_within_a_line() -> None:
    x = np.random.default_rng(0).normal(size=(70, 512)).astype(np.float32)
    guarded = np.full(x.size + 64, 7, np.float32)
    out = guarded[5 : 5 + x.size].reshape(x.shape)
    xhlo.compile(program(QUOTIENT, *x.shape))(x, out=out)
    terms = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, terms / terms.sum(1, keepdims=True), rtol=2e-6)
    assert (guarded[:5] == 7).all() and (guarded[5 + x.size :] == 7).all()
