"""Linear algebra compiled ahead of time: calls of LAPACK by its symbols, beside the JIT's results."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.hlo_dialect.custom_calls.lapack_library import LapackMissing, routine
from xhlo.hlo_dialect.custom_calls.lapack_plans import has_plan
from xhlo.hlo_dialect.custom_calls.registry import REGISTRY
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.targets.ahead.library import Library, compile_ahead
from xhlo.targets.cpu import jit
from xhlo.tools import hlo_aot

REAL = {"f32": "f32", "f64": "f64", "complex<f32>": "f32", "complex<f64>": "f64"}
LETTER = {"f32": "s", "f64": "d", "complex<f32>": "c", "complex<f64>": "z"}
L, U, V, N, S, A, R = (ord(letter) for letter in "LUVNSAR")
BIG = 65
"""Rows of matrices that are too large for loops of the program's own."""


def calls(element: str) -> list[tuple[str, dict[str, Any], list[str], list[str]]]:
    """A call of each routine: name, attributes, types of operands and of results."""
    real, is_complex = REAL[element], element.startswith("complex")
    wide = f"complex<{real}>"

    def t(*shape: int, of: str = element) -> str:
        return f"tensor<{'x'.join([*map(str, (2, *shape)), of])}>"

    info, pairs = t(of="i32"), 1 if is_complex else 2
    symmetric, orthogonal = ("he", "un") if is_complex else ("sy", "or")
    thin = [t(5, 4), t(4, of=real), t(5, 4), t(4, 4), info]
    whole = [t(3, 5), t(3, of=real), t(3, 3), t(5, 5), info]
    n = BIG
    return [
        ("potrf", {"uplo": L}, [t(n, n)], [t(n, n), info]),
        ("getrf", {}, [t(n, 3)], [t(n, 3), t(3, of="i32"), info]),
        ("trsm", {"side": L, "uplo": L, "trans_x": N, "diag": N}, [t(n, n), t(n, 2)], [t(n, 2)]),
        ("trsm", {"side": R, "uplo": U, "trans_x": ord("C"), "diag": U}, [t(n, n), t(2, n)], [t(2, n)]),
        ("geqrf", {}, [t(130, 66)], [t(130, 66), t(66)]),
        ("geqp3", {}, [t(4, 5), t(5, of="i32")], [t(4, 5), t(5, of="i32"), t(4)]),
        (f"{orthogonal}gqr", {}, [t(5, 4), t(3)], [t(5, 4)]),
        (f"{orthogonal}mqr", {"left": True, "transpose": True}, [t(5, 3), t(3), t(5, 2)], [t(5, 2)]),
        (f"{orthogonal}mqr", {"left": False, "transpose": False}, [t(5, 3), t(3), t(2, 5)], [t(2, 5)]),
        ("gesdd", {"mode": S}, [t(5, 4)], thin),
        ("gesdd", {"mode": A}, [t(3, 5)], whole),
        ("gesdd", {"mode": N}, [t(3, 5)], whole),
        ("gesvd", {"mode": S}, [t(5, 4)], thin),
        ("gesvd", {"mode": A}, [t(3, 5)], whole),
        (f"{symmetric}evd", {"mode": V, "uplo": L}, [t(40, 40)], [t(40, 40), t(40, of=real), info]),
        ("geev", {"compute_left": V, "compute_right": V}, [t(6, 6)], [t(6)] * pairs + [t(6, 6, of=wide)] * 2 + [info]),
        ("geev", {"compute_left": N, "compute_right": V}, [t(6, 6)], [t(6)] * pairs + [t(6, 6, of=wide)] * 2 + [info]),
        ("gees", {"mode": V, "sort": N}, [t(6, 6)], [t(6, 6), t(6, 6), *[t(6)] * pairs, info, info]),
        ("gees", {"mode": N, "sort": N}, [t(6, 6)], [t(6, 6), t(6, 6), *[t(6)] * pairs, info, info]),
        ("gehrd", {"low": 1, "high": 5}, [t(5, 5)], [t(5, 5), t(4), info]),
        (f"{symmetric}trd", {"uplo": U}, [t(5, 5)], [t(5, 5), t(5, of=real), t(4, of=real), t(4), info]),
        ("gtsv", {}, [t(5)] * 3 + [t(5, 2)], [t(5)] * 3 + [t(5, 2), info]),
    ]


def attribute(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value} : i64"


def program(made: Sequence[tuple[str, dict[str, Any], list[str], list[str]]]) -> str:
    """A program that makes the calls, each on arguments of its own, and returns all results."""
    arguments: list[str] = []
    lines: list[str] = []
    results: list[tuple[str, str]] = []
    for number, (name, stated, operands, types) in enumerate(made):
        given = [f"%a{len(arguments) + place}" for place in range(len(operands))]
        arguments += operands
        config = ", ".join(f"{key} = {attribute(value)}" for key, value in stated.items())
        lines.append(
            f"%r{number}:{len(types)} = hlo.custom_call @{name}({', '.join(given)}) {{mhlo.backend_config = {{{config}}}, "
            f"api_version = 4 : i32}} : ({', '.join(operands)}) -> ({', '.join(types)})"
        )
        results += [(f"%r{number}#{place}", type_) for place, type_ in enumerate(types)]
    return (
        f"func.func @main({', '.join(f'%a{n}: {type_}' for n, type_ in enumerate(arguments))}) -> "
        f"({', '.join(type_ for _, type_ in results)}) {{\n" + "\n".join(lines) + "\n"
        f"return {', '.join(name for name, _ in results)} : {', '.join(type_ for _, type_ in results)}\n}}\n"
    )


def lapack_calls(element: str) -> list[tuple[str, dict[str, Any], list[str], list[str]]]:
    return [(f"lapack_{LETTER[element]}{name}_ffi", a, b, c) for name, a, b, c in calls(element)]


def values(types: Sequence[Any], seed: int) -> list[Any]:
    """Arguments: square matrices are symmetric or Hermitian and positive-definite."""
    rng = np.random.default_rng(seed)
    return [_value(type_, rng) for type_ in types]


def _value(type_: Any, rng: np.random.Generator) -> Any:
    shape, dtype = type_.shape, type_.dtype
    x = _normal(rng, shape)
    if dtype.kind == "c":
        x = x + 1j * _normal(rng, shape)
    if dtype.kind == "i":
        return np.zeros(shape, dtype)
    if len(shape) > 2 and shape[-1] == shape[-2]:
        x = x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])
    return x.astype(dtype)


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return rng.standard_normal(shape)


def ran(library: Library, inputs: Sequence[Any], results: Sequence[Any]) -> list[Any]:
    """The results of the library's code with OpenBLAS in this process, where its stack is this thread's."""
    try:
        found = {name: routine(name.removesuffix("_")) for name in library.undefined_symbols if name.endswith("_")}
    except LapackMissing as error:
        pytest.skip(str(error))
    imports = {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in found.items()}
    code = jit.load(library.object, ("model_run",), imports)
    run: Any = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(code.address("model_run"))
    given = [np.ascontiguousarray(x) for x in inputs]
    filled: list[Any] = [np.full(x.shape, 77, x.dtype) for x in results]
    arena: Any = np.empty(library.interface.arena_bytes + 64, np.uint8)
    start = -arena.ctypes.data % 64
    addresses = [(ctypes.c_void_p * len(side))(*(x.ctypes.data for x in side)) for side in (given, filled)]
    assert run(*addresses, arena[start:].ctypes.data) == 0
    return filled


def compared(text: str, inputs: Sequence[Any] | None = None, seed: int = 3) -> Library:
    """Compare with the JIT, which calls the same LAPACK from Python."""
    executable = xhlo.compile(text)
    inputs = values(executable.input_types, seed) if inputs is None else inputs
    expected = executable.compute(inputs, None)
    library = compile_ahead(text, cpu="host")
    for found, wanted in zip(ran(library, inputs, expected), expected, strict=True):
        tolerance = 2e-3 if wanted.dtype in (np.float32, np.complex64) else 1e-9
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    return library


@pytest.mark.long
@pytest.mark.sample(2)
@pytest.mark.parametrize("element", LETTER)
def test_every_routine_is_called_as_the_jit_calls_it(element: str) -> None:
    made = lapack_calls(element)
    names = {name for name in REGISTRY.names() if re.fullmatch(f"lapack_{LETTER[element]}.*_ffi", name)}
    assert {name for name, *_ in made} == names and all(map(has_plan, names))
    library = compared(program(made))
    assert f"{LETTER[element]}gees_" in library.undefined_symbols


def test_matrices_that_are_not_finite_get_no_call() -> None:
    made = [each for each in lapack_calls("f32") if each[0][8:-4] in ("gesdd", "gesvd", "geev")]
    text = program(made)
    inputs = values(xhlo.compile(text).input_types, 5)
    for number, x in enumerate(inputs):
        x[number % 2, 1, 1] = np.nan if number % 3 else np.inf
    compared(text, inputs)


@pytest.mark.long
def test_operations_and_other_names_call_lapack() -> None:
    n = BIG
    text = f"""
func.func @main(%a: tensor<2x{n}x{n}xf64>, %b: tensor<2x{n}x9xf64>, %c: tensor<3x3xcomplex<f32>>, %d: tensor<4x4xf16>)
    -> (tensor<2x{n}x{n}xf64>, tensor<2x{n}x9xf64>, tensor<3x3xcomplex<f32>>, tensor<4x4xf16>, tensor<2x{n}x{n}xf64>,
        tensor<2x{n}xf64>, tensor<2x{n}x9xf64>, tensor<2x9xf64>, tensor<3x3xcomplex<f32>>) {{
  %0 = hlo.cholesky %a, lower = true : tensor<2x{n}x{n}xf64>
  %1 = "hlo.triangular_solve"(%a, %b) {{left_side = true, lower = true, unit_diagonal = false,
    transpose_a = #hlo<transpose TRANSPOSE>}} : (tensor<2x{n}x{n}xf64>, tensor<2x{n}x9xf64>) -> tensor<2x{n}x9xf64>
  %2 = hlo.cholesky %c, lower = false : tensor<3x3xcomplex<f32>>
  %3 = hlo.cholesky %d, lower = true : tensor<4x4xf16>
  %4:2 = hlo.custom_call @Eigh(%a) {{backend_config = "1,1,100,1e-6"}}
    : (tensor<2x{n}x{n}xf64>) -> (tensor<2x{n}x{n}xf64>, tensor<2x{n}xf64>)
  %5:2 = hlo.custom_call @Qr(%b) : (tensor<2x{n}x9xf64>) -> (tensor<2x{n}x9xf64>, tensor<2x9xf64>)
  %6 = "hlo.triangular_solve"(%c, %c) {{left_side = false, lower = false, unit_diagonal = true,
    transpose_a = #hlo<transpose ADJOINT>}}
    : (tensor<3x3xcomplex<f32>>, tensor<3x3xcomplex<f32>>) -> tensor<3x3xcomplex<f32>>
  return %0, %1, %2, %3, %4#0, %4#1, %5#0, %5#1, %6 : tensor<2x{n}x{n}xf64>, tensor<2x{n}x9xf64>,
    tensor<3x3xcomplex<f32>>, tensor<4x4xf16>, tensor<2x{n}x{n}xf64>, tensor<2x{n}xf64>, tensor<2x{n}x9xf64>,
    tensor<2x9xf64>, tensor<3x3xcomplex<f32>>
}}
"""
    inputs = values(xhlo.compile(text).input_types, 7)
    library = compared(text, inputs)
    assert {"dtrsm_", "cpotrf_", "dsyevd_", "dgeqrf_", "ctrsm_"} & set(library.undefined_symbols) == {
        "dtrsm_",
        "dsyevd_",
    }
    inputs[0][1, 4, 4] = -1.0  # not positive-definite
    inputs[2][0, 0] = np.nan
    compared(text, inputs)
    large = compile_ahead("""func.func @main(%a: tensor<400x400xf64>) -> tensor<400x400xf64> {
      %0 = hlo.cholesky %a, lower = true : tensor<400x400xf64>
      return %0 : tensor<400x400xf64>
    }""")
    assert "dpotrf_" in large.undefined_symbols


# Without LAPACK ------------------------------------------------------------------------------------------------------


def test_without_lapack_there_are_loops_and_others_are_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = program([each for each in lapack_calls("f64") if each[0] == "lapack_dgees_ffi"])
    assert compile_ahead(text, triple="riscv64-linux-gnu", external=False).undefined_symbols == ["memcpy", "memset"]
    t = "tensor<3xf64>"
    other = program([("tridiagonal_solve_perturbed_ffi", {}, [t, t, t, "tensor<3x1xf64>"], ["tensor<3x1xf64>"])])
    with pytest.raises(DiagnosticError, match="'tridiagonal_solve_perturbed_ffi', which only a process with xhlo has"):
        compile_ahead(other, external=False)
    assert compile_ahead(text, triple="riscv64-linux-gnu").undefined_symbols == ["dgees_", "memset"]
    factors = program([each for each in lapack_calls("f64") if each[0] == "lapack_dgetrf_ffi"])
    (tmp_path / "lu.mlir").write_text(factors)
    for flags, symbols in (([], "dgetrf_"), (["--no-external"], "memcpy")):
        assert hlo_aot.main([str(tmp_path / "lu.mlir"), "-o", str(tmp_path / "lu"), "--print-symbols", *flags]) == 0
        assert capsys.readouterr().out == f"{symbols}\n"


def test_the_test_program_expects_what_the_loops_compute(tmp_path: Path) -> None:
    """Their eigenvectors and singular vectors may have other signs than LAPACK's."""
    matrices, values = "tensor<3x4x4xf32>", "tensor<3x4xf32>"
    call = ("lapack_ssyevd_ffi", {"mode": V, "uplo": L}, [matrices], [matrices, values, "tensor<3xi32>"])
    (tmp_path / "eigen.mlir").write_text(program([call]))
    command = [str(tmp_path / "eigen.mlir"), "-o", str(tmp_path / "eigen"), "--emit-test"]
    assert hlo_aot.main([*command, "--no-external"]) == 0
    if shutil.which("gcc") is not None:
        subprocess.run(["gcc", "eigen_test.c", "eigen.o", "-lm", "-o", "test"], cwd=tmp_path, check=True)
        assert subprocess.run(["./test"], cwd=tmp_path, capture_output=True).stdout == b"all results agree\n"


def test_python_functions_are_refused_by_name_and_place(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "calls.mlir").write_text("""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}""")
    assert hlo_aot.main([str(tmp_path / "calls.mlir"), "-o", str(tmp_path / "calls")]) == 1
    shown = capfd.readouterr().err
    assert "calls.mlir:2:8: error: " in shown
    assert (
        "calls the target 'xla_ffi_python_cpu_callback', which is a Python function of the process that made" in shown
    )


def test_build_systems_are_told_to_link_lapack() -> None:
    text = program([each for each in lapack_calls("f32") if each[0] == "lapack_sgees_ffi"])
    library = compile_ahead(text)
    files = library.files(["cmake", "pkg-config", "rust"])
    assert b"-llapack -lblas -lm" in files["model.pc"] and b'"lapack;blas;' in files["model-config.cmake"]
    assert b'link(name = "lapack")' in files["model.rs"] and "link it (-llapack" in library.header
    with pytest.raises(ValueError, match="calls LAPACK, which only a C program links: take --no-external"):
        library.files(["python"])
