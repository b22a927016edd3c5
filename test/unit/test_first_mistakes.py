"""What beginners write, and the messages that tell them what to write instead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module

BODY = "-> tensor<4xf32> { return %x : tensor<4xf32> }"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"func.func main(%x: tensor<4xf32>) {BODY}", "expect symbol name, which begins with @: @main"),
        (f"func.func @main(x: tensor<4xf32>) {BODY}", "an argument is written with %, as in %x: tensor<4xf32>"),
        (f"func.func @main(%x: tensor<4,f32>) {BODY}", "separated by x, as in tensor<4x8xf32>"),
        (
            "func.func @main(%x: tensor<4xf32>, %c: tensor<f32>) -> tensor<f32> {\n"
            "  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.multipy across dimensions = [0] : "
            "(tensor<4xf32>, tensor<f32>) -> tensor<f32>\n  return %0 : tensor<f32>\n}",
            "a binary operation after 'applies'; did you mean 'stablehlo.multiply'?",
        ),
    ],
)
def test_a_message_says_what_to_write(text: str, message: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        parse_module(text, ctx=make_context())
    assert message in str(caught.value)


PROGRAM = """
func.func @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.add %x, %0 : tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
"""


def test_dash_i_may_be_repeated_and_take_values(run_hlo_run) -> None:
    np.save("x.npy", np.ones((2, 3), np.float32))
    wanted = "result 0: float32[2, 3]\n[[2., 3., 4.],\n [2., 3., 4.]]\n"
    done = run_hlo_run(PROGRAM, "--target=reference", "-i", "x.npy", "-i", "3xf32=1,2,3")
    assert (done.status, done.err, done.out) == (0, "", wanted)
    done = run_hlo_run(PROGRAM, "--target=reference", "-i", "3xf32=1,2,3")
    assert done.status == 1 and "--input has 1 array (in_0); the program needs 2" in done.err
    # A file may have such a name.
    np.savez("a=b.npz", x=np.ones((2, 3), np.float32), y=np.array([1, 2, 3], np.float32))
    assert run_hlo_run(PROGRAM, "--target=reference", "-i", "a=b.npz").out == wanted


def test_an_array_of_objects_is_named_as_such(run_hlo_run) -> None:
    np.save("objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert Path("objects.npy").exists()
    done = run_hlo_run(PROGRAM, "--target=reference", "-i", "objects.npy")
    assert (
        done.err
        == "hlo-run: error: cannot read arrays from objects.npy: it holds Python objects, which are not loaded\n"
    )
