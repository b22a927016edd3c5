"""Libraries of several functions, constants in a file, and linear algebra without LAPACK."""

from __future__ import annotations

import ctypes
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xhlo
from ahead_machines import EMULATED, WARNINGS, run, run_recorded
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.targets.ahead.c_programs import Recorded
from xhlo.targets.ahead.library import Library, compile_ahead
from xhlo.targets.ahead.object_symbols import object_symbols
from xhlo.targets.ahead.weights import digest
from xhlo.tools import hlo_aot

WEIGHTS = np.random.default_rng(4).standard_normal((64, 32)).astype(np.float32)
CONSTANT = f'dense<"0x{WEIGHTS.tobytes().hex().upper()}"> : tensor<64x32xf32>'
HALVES = f'dense<"0x{WEIGHTS.astype(np.float16).tobytes().hex().upper()}"> : tensor<64x32xf16>'
PROGRAM = f"""
func.func public @forward(%x: tensor<64x32xf32>, %weights_file: tensor<2xf32>) -> (tensor<64x32xf32>, tensor<2xf32>) {{
  %w = stablehlo.constant {CONSTANT}
  %0 = stablehlo.multiply %x, %w : tensor<64x32xf32>
  return %0, %weights_file : tensor<64x32xf32>, tensor<2xf32>
}}
func.func public @import(%x: tensor<64x32xf32>, %z: tensor<complex<f32>>) -> (tensor<64x32xf32>, tensor<complex<f32>>) {{
  %w = stablehlo.constant {CONSTANT}
  %h = stablehlo.constant {HALVES}
  %0 = stablehlo.subtract %x, %w : tensor<64x32xf32>
  %1 = stablehlo.convert %h : (tensor<64x32xf16>) -> tensor<64x32xf32>
  %2 = stablehlo.add %0, %1 : tensor<64x32xf32>
  return %2, %z : tensor<64x32xf32>, tensor<complex<f32>>
}}
func.func private @other(%x: tensor<2xf32>) -> tensor<2xf32> {{ return %x : tensor<2xf32> }}
"""

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def make(folder: Path, *flags: str) -> None:
    (folder / "source.mlir").write_text(PROGRAM)
    assert hlo_aot.main([str(folder / "source.mlir"), "-o", str(folder / "model"), *flags]) == 0


def test_only_the_entry_is_compiled() -> None:
    """A function that the program exports, but C does not call, would take its name from the user's program."""
    program = """
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }
func.func @exp(%x: tensor<3xf32>) -> tensor<3xf32> { return %x : tensor<3xf32> }
"""
    library = compile_ahead(program)
    assert library.interface.symbols == ("model_run",)
    names = [name for name, defined in object_symbols(library.object, library.machine.format) if defined]
    assert "model_run" in names and "exp" not in names


# Several functions ---------------------------------------------------------------------------------------------------


@pytest.mark.long(2)
@needs_gcc
@pytest.mark.parametrize("flags", [["--entry=all"], ["--entry=forward,@import", "--weights"]])
def test_c_and_cpp_call_each_function(flags: list[str], tmp_path: Path) -> None:
    make(tmp_path, *flags, "--emit-test", "--benchmark")
    run(tmp_path, "gcc", "-std=c99", *WARNINGS, "model_test.c", "libmodel.a", "-lm", "-o", "test")
    assert run(tmp_path, "./test") == "all results agree\n"
    run(tmp_path, "gcc", "-std=c99", *WARNINGS, "model_bench.c", "model.o", "-lm", "-o", "bench")
    assert [line.partition(":")[0] for line in run(tmp_path, "./bench", "1").splitlines()] == ["forward", "import"]
    (tmp_path / "use.cpp").write_text(
        '#include "model.hpp"\n'
        + ('#include "model_weights.h"\n' if "--weights" in flags else "")
        + "int main() { model::forward::Program a; model::import::Program b; (void)a; (void)b; return 0; }\n"
    )
    if shutil.which("g++") is not None:
        run(tmp_path, "g++", "-std=c++17", *WARNINGS, "use.cpp", "libmodel.a", "-o", "use")
        run(tmp_path, "./use")


def test_python_and_rust_call_each_function(tmp_path: Path) -> None:
    if shutil.which("ld") is None and shutil.which("ld.lld") is None:
        pytest.skip("no linker is installed")
    make(tmp_path, "--entry=all", "--weights", "--python", "--rust")
    script = """
import sys
sys.path.insert(0, '.')
import numpy as np
import model
x = np.ones((64, 32), np.float32)
scaled, same = model.forward(x, np.zeros(2, np.float32))
moved, z = model.import_(x, np.complex64(2j))
print(f'{scaled.sum():.6f}', moved.shape, z)
"""
    shown = run(tmp_path, sys.executable, "-P", "-c", script)
    assert shown == f"{WEIGHTS.sum():.6f} (64, 32) 2j\n"
    if shutil.which("rustc") is not None:
        (tmp_path / "main.rs").write_text(
            'mod model;\n#[repr(align(64))]\nstruct File([u8; include_bytes!("model.weights").len()]);\n'
            'static WEIGHTS: File = File(*include_bytes!("model.weights"));\nfn main() {\n'
            "    let x = vec![2.0f32; model::forward::X_LEN];\n    let mut y = vec![0.0f32; x.len()];\n"
            "    let mut rest = [0.0f32; 2];\n    let mut arena = model::forward::Arena::new();\n"
            '    println!("{:?}", model::forward::run(&x, &[1.0, 2.0], &mut y, &mut rest, &mut arena));\n'
            "    model::set_weights(&WEIGHTS.0).unwrap();\n"
            "    model::forward::run(&x, &[1.0, 2.0], &mut y, &mut rest, &mut arena).unwrap();\n"
            '    println!("{} {}", y[5], model::import::ARENA_BYTES > 0);\n}\n'
        )
        run(tmp_path, "rustc", "--edition=2021", "-D", "warnings", "-L", ".", "main.rs", "-o", "main")
        shown = run(tmp_path, "./main").splitlines()
        assert shown[0] == 'Err("the weights have not been set")'
        assert float(shown[1].split()[0]) == 2 * WEIGHTS.flat[5]


def test_names_of_functions_are_checked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "source.mlir").write_text(PROGRAM)
    command = [str(tmp_path / "source.mlir"), "-o", str(tmp_path / "model")]
    assert hlo_aot.main([*command, "--entry=fordward"]) == 1
    assert "no function is named @fordward; did you mean @forward?" in capfd.readouterr().err
    assert hlo_aot.main([*command, "--entry=forward,"]) == 2
    with pytest.raises(DiagnosticError, match="no public function"):
        compile_ahead("func.func private @f(%x: tensor<f32>) -> tensor<f32> {return %x : tensor<f32>}", entries=["all"])
    library = compile_ahead(PROGRAM, entries=["forward"])
    assert library.interface.symbols == ("model_run",)
    # The macros of an argument called like one of the library's own keep apart from it.
    assert [port.name for port in library.interface.arguments] == ["x", "weights_file_"]


def test_results_have_the_names_that_jax_gives_them() -> None:
    infos = ["result['loss']", "result['layers'][0].w", "result[2]", "result", "result['x']"]
    results = ", ".join(f'tensor<2xf32> {{jax.result_info = "{info}"}}' for info in infos)
    library = compile_ahead(
        f"func.func @main(%x: tensor<2xf32>) -> ({results}) {{\n  return {', '.join(['%x'] * len(infos))} : "
        f"{', '.join(['tensor<2xf32>'] * len(infos))}\n}}"
    )
    names = [port.name for port in library.interface.results]
    assert names == ["loss", "layers_0_w", "result2", "result3", "x_"]
    assert [port.name for port in library.interface.arguments] == ["x"]


# Constants in a file -------------------------------------------------------------------------------------------------


def xxh64(data: bytes) -> int:
    """XXH64 with seed 0, as its specification has it."""
    p1, p2, p3, p4, p5 = (
        0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
    )  # fmt: skip
    mask = (1 << 64) - 1

    def turned(x: int, bits: int) -> int:
        return (x << bits | x >> (64 - bits)) & mask

    def mixed(state: int, word: int) -> int:
        return turned((state + word * p2) & mask, 31) * p1 & mask

    at = 0
    if len(data) >= 32:
        lanes = [(p1 + p2) & mask, p2, 0, -p1 & mask]
        for at in range(0, len(data) - 31, 32):
            lanes = [mixed(s, int.from_bytes(data[at + 8 * n : at + 8 * n + 8], "little")) for n, s in enumerate(lanes)]
        at += 32
        h = sum(turned(s, bits) for s, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & mask
        for s in lanes:
            h = ((h ^ mixed(0, s)) * p1 + p4) & mask
    else:
        h = p5
    h = (h + len(data)) & mask
    for byte in data[at:]:  # enough for tails below four bytes
        h = turned(h ^ (byte * p5 & mask), 11) * p1 & mask
    h = (h ^ h >> 33) * p2 & mask
    h = (h ^ h >> 29) * p3 & mask
    return h ^ h >> 32


def test_the_hash_is_xxh64() -> None:
    assert xxh64(b"") == 0xEF46DB3751D8E999 and xxh64(b"abc") == 0x44BC2CF5AD770999
    for size in (32, 64, 96, 4096):
        data = bytes(n * n % 251 for n in range(size))
        assert digest(data) == xxh64(data)


def set_weights(folder: Path, library: Library) -> Any:
    """The library's function, loaded into this process."""
    (folder / "m.o").write_bytes(library.object)
    run(folder, "gcc", "-shared", "-Wl,-z,defs", "-o", "m.so", "m.o", "-lm")
    return ctypes.CDLL(str(folder / "m.so"))


@needs_gcc
def test_weights_are_checked(tmp_path: Path) -> None:
    library = compile_ahead(PROGRAM, entries=["all"], weights="w.bin")
    stated = library.interface.weights
    assert stated is not None
    # The constant that both functions use is there once.
    assert len(library.weights) == stated.nbytes == WEIGHTS.nbytes * 3 // 2
    assert stated.digest == xxh64(library.weights)
    assert len(library.object) < WEIGHTS.nbytes
    loaded = set_weights(tmp_path, library)
    function = loaded.model_set_weights
    function.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    room = np.zeros(stated.nbytes + 128, np.uint8)
    start = -room.__array_interface__["data"][0] % 64
    memory = room[start : start + stated.nbytes]
    memory[:] = np.frombuffer(library.weights, np.uint8)
    address = memory.__array_interface__["data"][0]
    x = np.ones((64, 32), np.float32)
    pair, result, rest = np.zeros(2, np.float32), np.zeros_like(x), np.zeros(2, np.float32)
    arena = np.zeros(library.interface.arena_bytes + 64, np.uint8)
    begin = arena.__array_interface__["data"][0]
    pointers = [
        (ctypes.c_void_p * 2)(*(array.__array_interface__["data"][0] for array in arrays))
        for arrays in ((x, pair), (result, rest))
    ]
    loaded.model_forward_run.argtypes = [ctypes.c_void_p] * 3
    call = [*map(ctypes.addressof, pointers), begin + -begin % 64]
    assert loaded.model_forward_run(*call) == 4  # no weights
    assert function(None, stated.nbytes) == 1
    assert function(address + 8, stated.nbytes) == 6
    assert function(address, stated.nbytes - 64) == 5
    memory[77] ^= 1
    assert function(address, stated.nbytes) == 5
    memory[77] ^= 1
    assert function(address, stated.nbytes) == 0
    assert loaded.model_forward_run(*call) == 0
    assert np.array_equal(result, WEIGHTS)


def test_weights_have_a_file_of_their_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "source.mlir").write_text(PROGRAM)
    command = [str(tmp_path / "source.mlir"), "-o", str(tmp_path / "model"), "--entry=all"]
    assert hlo_aot.main([*command, f"--weights={tmp_path / 'model.h'}"]) == 1
    assert "the weights cannot be in model.h, which is another file of the library" in capfd.readouterr().err
    assert hlo_aot.main([*command, f"--weights={tmp_path / 'none' / 'w.bin'}"]) == 1
    assert f"cannot write {tmp_path / 'none' / 'w.bin'}: No such file or directory" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["source.mlir"]


@pytest.mark.parametrize("name", ["s390x"])
def test_weights_are_in_the_machines_byte_order(name: str, tmp_path: Path) -> None:
    machine = EMULATED[name]
    if machine.missing:
        pytest.skip(f"{machine.missing} is not installed")
    library = compile_ahead(PROGRAM, entries=["import"], triple=machine.triple, weights="model.weights")
    stored = (WEIGHTS.astype(">f4").tobytes(), WEIGHTS.astype(">f2").tobytes())
    assert library.weights in (stored[0] + stored[1], stored[1] + stored[0])
    x = np.linspace(-1, 1, 64 * 32, dtype=np.float32).reshape(64, 32)
    expected = x - WEIGHTS + WEIGHTS.astype(np.float16).astype(np.float32)
    z = np.array(1 - 2j, np.complex64)
    assert run_recorded(machine, library, tmp_path, [Recorded([x, z], [expected, z])]) == "all results agree\n"


# Linear algebra ------------------------------------------------------------------------------------------------------

FACTORS = """
func.func @main(%a: tensor<150x150xf64>, %b: tensor<150x5xf64>) -> (tensor<150x150xf64>, tensor<150x5xf64>,
                tensor<150x150xf64>, tensor<150xi32>) {
  %0 = stablehlo.cholesky %a, lower = true : tensor<150x150xf64>
  %1 = "stablehlo.triangular_solve"(%0, %b) {left_side = true, lower = true, unit_diagonal = false,
    transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<150x150xf64>, tensor<150x5xf64>) -> tensor<150x5xf64>
  %2:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a) {mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>],
    result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>], api_version = 4 : i32}
    : (tensor<150x150xf64>) -> (tensor<150x150xf64>, tensor<150xi32>, tensor<i32>)
  return %0, %1, %2#0, %2#1 : tensor<150x150xf64>, tensor<150x5xf64>, tensor<150x150xf64>, tensor<150xi32>
}
"""


@pytest.mark.long
@needs_gcc
def test_matrices_of_any_size_are_factored_without_lapack(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    half = generator.standard_normal((150, 150))
    a, b = half @ half.T + 150 * np.eye(150), generator.standard_normal((150, 5))
    executable = xhlo.compile(FACTORS)  # by LAPACK
    results: Any = executable(a, b)
    library = compile_ahead(FACTORS, external=False)
    assert set(library.undefined_symbols) <= {"memcpy", "memset"}
    shown = run_recorded(EMULATED["x86-64"], library, tmp_path, [Recorded([a, b], results)])
    assert shown == "all results agree\n"
