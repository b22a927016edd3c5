"""Triangular systems of transposed matrices read the matrices as they lie in memory, for every side and triangle."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import xhlo
from hlo_programs import Program
from xhlo.hlo_dialect.custom_calls.operations import CustomCallOp
from xhlo.hlo_dialect.ops.movement import TransposeOp

KINDS = ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")
FLAGS = list(itertools.product((True, False), (True, False), KINDS))


def matrices_and_sides(dtype: str) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    a: Any = rng.standard_normal((3, 4, 4)) / 4 + 2 * np.eye(4)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal((3, 4, 4)) / 4
    return a.astype(dtype), rng.standard_normal((3, 4, 4)).astype(dtype)


def program(a: Any, solve: str, transposes: int) -> str:
    type_ = f"tensor<3x4x4x{'complex<f32>' if a.dtype.kind == 'c' else 'f32'}>"
    turns = [f"  %t{k + 1} = hlo.transpose %t{k}, dims = [0, 2, 1] : ({type_}) -> {type_}" for k in range(transposes)]
    return "\n".join(
        [
            f"func.func @main(%t0: {type_}, %b: {type_}) -> {type_} {{",
            *turns,
            f"  %x = {solve.replace('%a', f'%t{transposes}')} : ({type_}, {type_}) -> {type_}",
            f"  return %x : {type_}\n}}",
        ]
    )


def reads_a_copy(decomposed: Program) -> bool:
    """Whether the call that solves the systems takes transposed matrices."""
    (call,) = (op for op in decomposed.module.walk() if isinstance(op, CustomCallOp))
    return isinstance(call.operands[0].owner, TransposeOp)


@pytest.mark.parametrize("dtype", ["f4", "c8"])
@pytest.mark.parametrize(("left", "lower", "kind"), FLAGS)
def test_operations(dtype: str, left: bool, lower: bool, kind: str) -> None:
    a, b = matrices_and_sides(dtype)
    solve = f'"hlo.triangular_solve"(%a, %b) {{left_side = {left}, lower = {lower}, unit_diagonal = {left is lower}, '.lower()
    solve += f"transpose_a = #hlo<transpose {kind}>}}"
    for transposes in (1, 2):
        text = program(a, solve, transposes)
        decomposed = Program(text).after("decompose-hlo{native-calls=true}")
        stays = transposes == 1 and kind == "ADJOINT" and dtype == "c8"
        assert reads_a_copy(decomposed) == stays
        want = Program(text).results(a, b)[0]
        np.testing.assert_allclose(decomposed.results(a, b)[0], want, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(xhlo.compile(text)(a, b), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["f4", "c8"])
@pytest.mark.parametrize(("left", "lower", "kind"), FLAGS)
def test_calls_of_lapack(dtype: str, left: bool, lower: bool, kind: str) -> None:
    a, b = matrices_and_sides(dtype)
    letters = {"side": "RL"[left], "uplo": "UL"[lower], "trans_x": kind[0].replace("A", "C"), "diag": "N"}
    stated = ", ".join(f"{name} = {ord(letter)} : ui8" for name, letter in letters.items())
    solve = f"stablehlo.custom_call @lapack_{'s' if dtype == 'f4' else 'c'}trsm_ffi(%a, %b) "
    solve += f'{{backend_config = "", mhlo.backend_config = {{{stated}}}}}'
    text = program(a, solve, 1)
    decomposed = Program(text).after("decompose-hlo{native-calls=true}")
    assert reads_a_copy(decomposed) == (kind == "ADJOINT" and dtype == "c8")
    np.testing.assert_allclose(xhlo.compile(text)(a, b), Program(text).results(a, b)[0], rtol=1e-4, atol=1e-4)


def test_a_transpose_of_the_batch_stays() -> None:
    type_ = "tensor<4x4x4xf32>"
    text = f"""func.func @main(%a: {type_}, %b: {type_}) -> {type_} {{
      %t = hlo.transpose %a, dims = [1, 0, 2] : ({type_}) -> {type_}
      %x = "hlo.triangular_solve"(%t, %b) {{left_side = true, lower = true, unit_diagonal = true,
        transpose_a = #hlo<transpose NO_TRANSPOSE>}} : ({type_}, {type_}) -> {type_}
      return %x : {type_}
    }}"""
    assert reads_a_copy(Program(text).after("decompose-hlo{native-calls=true}"))
