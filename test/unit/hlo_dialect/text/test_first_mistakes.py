"""Mistakes of beginners, and the messages that tell them what to write instead."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import xhlo
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


class Model:
    """Stands in for a model of PyTorch."""


@pytest.mark.parametrize(
    ("module", "program", "message"),
    [
        ("here", lambda x: x, "got function: xhlo.jit compiles NumPy code, and jax.jit(f).lower(*arguments)"),
        ("here", type("Jitted", (), {"lower": None})(), "got Jitted: pass what its method `lower` returns"),
        ("torch.nn.modules", Model(), "torch.export.export(model, arguments) gives a program"),
        ("onnx", Model(), "ONNX models are not read"),
        ("here", 3, "returns, got int"),
    ],
)
def test_objects_of_other_kinds_are_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, module: str, program: object, message: str
) -> None:
    monkeypatch.setattr(Model, "__module__", module)
    with pytest.raises(TypeError, match=re.escape(message)):
        xhlo.compile(program)


def test_an_empty_program_is_a_program_without_main() -> None:
    for text in ("", " "):
        with pytest.raises(DiagnosticError, match="the module has no function @main to run"):
            xhlo.compile(text)


def test_other_binary_formats_are_named_as_such(run_hlo_run) -> None:
    message = "is binary, in no format that is read: those are MLIR's text and bytecode"
    with pytest.raises(DiagnosticError, match=f"<bytes> {message}"):
        xhlo.compile(b"\x08\x07\x12\x07pytorch")
    assert f"input.mlir {message}" in run_hlo_run(b"\x08\x07\x12\x07pytorch").err


def test_a_misspelled_name_of_the_package_is_suggested() -> None:
    with pytest.raises(AttributeError) as caught:
        xhlo.complie  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("complie", xhlo)


def test_the_mask_of_an_array_is_not_lost() -> None:
    executable = xhlo.compile("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }")
    with pytest.raises(TypeError, match="the mask of a masked array would be lost"):
        executable(np.ma.masked_array(np.ones(2, np.float32), [True, False]))
