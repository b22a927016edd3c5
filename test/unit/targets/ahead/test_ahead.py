"""Programs compiled ahead of time: linked into C programs, and compared with what the JIT computes."""

from __future__ import annotations

import ctypes
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conformance
import xhlo
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.targets.ahead.archive import archive
from xhlo.targets.ahead.interface import LibraryNameError, identifier
from xhlo.targets.ahead.library import Library, compile_ahead
from xhlo.targets.ahead.machine import Machine, MachineError
from xhlo.tools import hlo_aot
from xhlo.tools.arrays import random_arrays

GCC = shutil.which("gcc")
needs_gcc = pytest.mark.skipif(GCC is None, reason="gcc is not installed")
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]

MIXED = """
func.func @main(%x: tensor<4x3xf32>, %int: tensor<4xi32>, %z: tensor<2xcomplex<f32>>, %h: tensor<5xf16>, %e: tensor<0xf32>)
    -> (tensor<4x3xf32>, tensor<i32>, tensor<2xcomplex<f32>>, tensor<5xbf16>, tensor<5xi1>, tensor<0xf32>) {
  %0 = stablehlo.exponential %x : tensor<4x3xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.reduce(%int init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  %2 = stablehlo.multiply %z, %z : tensor<2xcomplex<f32>>
  %3 = stablehlo.convert %h : (tensor<5xf16>) -> tensor<5xbf16>
  %4 = stablehlo.compare GT, %h, %h : (tensor<5xf16>, tensor<5xf16>) -> tensor<5xi1>
  %5 = stablehlo.add %e, %e : tensor<0xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<4x3xf32>, tensor<i32>, tensor<2xcomplex<f32>>, tensor<5xbf16>, tensor<5xi1>, tensor<0xf32>
}
"""


LAYER = """
func.func @main(%x: tensor<33x70xf32>, %w: tensor<70x65xf32>) -> tensor<33x65xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<33x70xf32>, tensor<70x65xf32>) -> tensor<33x65xf32>
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<33x65xf32>, tensor<f32>) -> tensor<33xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<33xf32>) -> tensor<33x65xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<33x65xf32>
  %4 = stablehlo.exponential %3 : tensor<33x65xf32>
  return %4 : tensor<33x65xf32>
}
"""
PROGRAMS = {"mixed": MIXED, "layer": LAYER}


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def make(folder: Path, program: str, *flags: str) -> None:
    (folder / "source.mlir").write_text(program)
    assert hlo_aot.main([str(folder / "source.mlir"), "-o", str(folder / "model"), *flags]) == 0


# C -------------------------------------------------------------------------------------------------------------------


@pytest.mark.long(2)
@needs_gcc
@pytest.mark.parametrize("source", PROGRAMS)
def test_a_c_program_gets_the_recorded_results(source: str, tmp_path: Path) -> None:
    make(tmp_path, PROGRAMS[source], "--emit-test", "--benchmark")
    run(["gcc", "-std=c99", *WARNINGS, "model_test.c", "libmodel.a", "-lm", "-o", "test"], tmp_path)
    assert run(["./test"], tmp_path) == "all results agree\n"
    run(["gcc", "-std=c11", *WARNINGS, "model_bench.c", "model.o", "-lm", "-o", "bench"], tmp_path)
    shown = run(["./bench", "2"], tmp_path)
    assert re.fullmatch(r"least [0-9.]+ us, mean [0-9.]+ us of 2 x [0-9]+ runs\n", shown)
    assert float(shown.split()[1]) > 0, "a run that is shorter than a step of the clock is measured, too"


@needs_gcc
def test_a_wrong_result_is_found(tmp_path: Path) -> None:
    make(tmp_path, MIXED, "--emit-test")
    text = (tmp_path / "model_test.c").read_text()
    start = text.index("expected0[")
    changed = re.sub(r"0x[0-9a-f]+u", "0x4000000040000000u", text[start:], count=1)
    (tmp_path / "model_test.c").write_text(text[:start] + changed)
    run(["gcc", "-std=c99", "model_test.c", "model.o", "-lm", "-o", "test"], tmp_path)
    done = subprocess.run(["./test"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0].startswith("result0[")
    assert done.stdout.splitlines()[-1].endswith("elements differ")


CPP = """
#include <cstdio>
#if __cplusplus >= 202002L
#include <span>
#endif
#include "model.hpp"
int main() {
    const float x[12] = {0};
    const int32_t n[4] = {1, 2, 3, 4};
    const model_complex64 z[2] = {{0.0f, 1.0f}, {2.0f, 0.0f}};
    const uint16_t h[5] = {0};
    model::Program program;
    model::Results results;
    program.run({x, n, z, h, nullptr}, results);
    std::printf("%g %d %g\\n", double(results.result0[11]), results.result1[0], double(results.result2[0].re));
    try {
        program.run({nullptr, n, z, h, nullptr}, results);
    } catch (const std::invalid_argument &error) {
        std::puts(error.what());
    }
    const std::vector<float> ones(12, 1.0f), few(11);
    const model::View<const float, 0> none(nullptr);
    const model::Results same = program(std::vector<float>(12, 1.0f), n, z, h, none);
#if __cplusplus >= 202002L
    const std::span<const float> spanned(same.result0);
    if (spanned.size() != 12 || program(std::span(ones), std::span(n), z, h, none).result0[7] != spanned[7]) return 1;
#endif
    std::printf("%.4f %zu\\n", double(same.result0(3, 2)), same.result5.size());
    try {
        program(few, n, z, h, none);
    } catch (const std::invalid_argument &error) {
        std::puts(error.what());
    }
}
"""


@pytest.mark.long
@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_the_class_for_cpp(tmp_path: Path) -> None:
    make(tmp_path, MIXED)
    (tmp_path / "use.cpp").write_text(CPP)
    for standard in ("c++17", "c++20"):
        run(["g++", f"-std={standard}", *WARNINGS, "use.cpp", "model.o", "-o", "use"], tmp_path)
        assert run(["./use"], tmp_path) == (
            "1 10 -1\nan argument, a result or the arena is null\n2.7183 0\nan array has another number of elements\n"
        )


# Against the JIT -----------------------------------------------------------------------------------------------------


def call(library: Library, folder: Path, arguments: list[np.ndarray], results: list[np.ndarray]) -> int:
    """Link the library into a shared object and run it."""
    (folder / "m.o").write_bytes(library.object)
    run(["gcc", "-shared", "-Wl,-z,defs", "-o", "m.so", "m.o", "-lm"], folder)
    pointers = [(ctypes.c_void_p * max(1, len(arrays)))(*map(address, arrays)) for arrays in (arguments, results)]
    arena = np.zeros(library.interface.arena_bytes + 64, np.uint8)
    function = getattr(ctypes.CDLL(str(folder / "m.so")), f"{library.name}_run")
    function.argtypes = [ctypes.c_void_p] * 3
    return function(*pointers, address(arena) + -address(arena) % 64)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def jax_names() -> list[str]:
    return sorted(conformance._manifest()) if conformance.ROOT.exists() else []


@pytest.mark.long(8)
@needs_gcc
@pytest.mark.sample(6)
@pytest.mark.parametrize("name", jax_names())
def test_programs_of_jax_agree_with_the_jit_to_the_bit(name: str, tmp_path: Path) -> None:
    program = conformance.jax_program(name)
    executable = xhlo.compile(program.text)
    if executable.facts.host_calls:
        with pytest.raises(DiagnosticError, match="which only a process with xhlo has: it is not compiled ahead"):
            compile_ahead(program.text)
        return
    library = compile_ahead(program.text, cpu="host")
    assert set(library.undefined_symbols) <= {"memcpy", "memset", "memmove", "sin", "cos", "tan"}
    found: Any = executable(*program.inputs)
    expected = found if isinstance(found, tuple) else (found,)
    results = [np.zeros_like(array) for array in expected]
    assert call(library, tmp_path, [np.ascontiguousarray(array) for array in program.inputs], results) == 0
    for result, wanted in zip(results, expected, strict=True):
        assert result.tobytes() == wanted.tobytes()


# Other machines ------------------------------------------------------------------------------------------------------

ELF_MACHINES = {"x86_64": 62, "aarch64": 183, "armv7": 40, "riscv64": 243}
CROSS = {
    "aarch64": ("aarch64-linux-gnu-gcc", ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]),
    "armv7": ("arm-linux-gnueabihf-gcc", ["qemu-arm", "-L", "/usr/arm-linux-gnueabihf"]),
    "riscv64": ("riscv64-linux-gnu-gcc", ["qemu-riscv64", "-L", "/usr/riscv64-linux-gnu"]),
}


def triple(machine: str) -> str:
    return f"{machine}-linux-{'gnueabihf' if machine == 'armv7' else 'gnu'}"


@pytest.mark.parametrize("machine", ELF_MACHINES)
def test_objects_are_for_the_machine_and_the_same_each_time(machine: str) -> None:
    objects = [compile_ahead(MIXED, triple=triple(machine)).object for _ in range(2)]
    assert objects[0] == objects[1]
    assert struct.unpack_from("<H", objects[0], 18) == (ELF_MACHINES[machine],)


@pytest.mark.parametrize(
    ("machine", "source"),
    [("aarch64", "mixed"), ("aarch64", "layer"), ("armv7", "mixed"), ("armv7", "layer"), ("riscv64", "layer")],
)
def test_emulated_machines_get_the_recorded_results(machine: str, source: str, tmp_path: Path) -> None:
    compiler, emulator = CROSS[machine]
    for tool in (compiler, emulator[0]):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    make(tmp_path, PROGRAMS[source], "--emit-test", f"--target={triple(machine)}")
    run([compiler, "-std=c99", *WARNINGS, "model_test.c", "libmodel.a", "-lm", "-o", "test"], tmp_path)
    assert run([*emulator, "./test"], tmp_path) == "all results agree\n"


@pytest.mark.parametrize(("cpu", "bits"), [("x86-64", 128), ("x86-64-v3", 256), ("x86-64-v4", 512), ("znver4", 512)])
def test_the_width_of_vectors_is_that_of_the_cpu(cpu: str, bits: int) -> None:
    assert Machine.named("x86_64-linux-gnu", cpu).vector_bits == bits


# Mistakes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--target=sparcv9-linux-gnu"],
            "programs are not compiled for 'sparcv9-linux-gnu': the machines are x86_64, aarch64, armv7",
        ),
        (
            ["--target=armv7-windows-msvc"],
            "'armv7-windows-msvc' has object files in COFF: programs for armv7 are compiled to ELF",
        ),
        (["--target=wasm32", "--python"], "Python loads no code for wasm32: take --javascript"),
        (["--javascript"], "JavaScript loads code for wasm32, not for"),
        (
            ["--target=aarch64-linux-gnu", "--cpu=generic+wings"],
            "LLVM knows no feature '+wings' of 'aarch64-linux-gnu'",
        ),
        (["--weights"], "the program has no constant of 4096 bytes or more to be kept in model.weights"),
        (["--entry=main,main"], "the functions main, main cannot be told apart by their names in C"),
        (["--target=aarch64-linux-gnu", "--cpu=host"], "the CPU 'host' is none of 'aarch64-linux-gnu': name one"),
        (["--target=x86_64-linux-gnu", "--cpu=i4004"], "LLVM knows no CPU 'i4004' of 'x86_64-linux-gnu'"),
        (["--target=aarch64-linux-gnu", "--cpu=x86-64-v3"], "LLVM knows no CPU 'x86-64-v3' of 'aarch64-linux-gnu'"),
        (["--cpu=+avx2"], "a feature of"),
        (["--target="], "programs are not compiled for ''"),
        (["--target=x86_64-linux-gnu; true"], "programs are not compiled for 'x86_64-linux-gnu; true'"),
        (["--target=x86_64-linux-gnux32"], "'x86_64-linux-gnux32' has pointers of 32 bits: x86_64 has 64"),
        (["-o", "a/my-model"], "'my-model' cannot begin the names of C functions"),
        (["--emit-test=missing.npz"], "cannot read arrays from missing.npz: No such file or directory"),
    ],
)
def test_mistakes_are_named(flags: list[str], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source.mlir"
    source.write_text(MIXED)
    assert hlo_aot.main([str(source), "-o", str(tmp_path / "model"), *flags]) == 1
    assert capfd.readouterr().err.startswith(f"hlo-aot: error: {message}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source.mlir"]


def test_an_invalid_program_is_located(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "source.mlir"
    source.write_text("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %y : tensor<4xf32>\n}\n")
    assert hlo_aot.main([str(source), "-o", str(tmp_path / "model")]) == 1
    assert f"{source}:2:10: error: " in capfd.readouterr().err


def test_a_command_line_without_a_name(capfd: pytest.CaptureFixture[str]) -> None:
    assert hlo_aot.main(["-"]) == 2
    assert "needs --output, which names the library" in capfd.readouterr().err
    assert hlo_aot.main(["program.mlir", "-o", "folder/"]) == 2
    assert "--output takes a path that ends with the library's name, not 'folder/'" in capfd.readouterr().err


def test_all_files_are_written_or_none(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, folder = tmp_path / "source.mlir", tmp_path / "made"
    source.write_text(MIXED)
    (folder / "model.hpp").mkdir(parents=True)
    (folder / "model.o").write_text("before")
    (folder / "model.o").chmod(0o640)
    assert hlo_aot.main([str(source), "-o", str(folder / "model")]) == 1
    assert capfd.readouterr().err == f"hlo-aot: error: cannot write {folder / 'model.hpp'}: Is a directory\n"
    with pytest.raises(IsADirectoryError):
        compile_ahead(MIXED).write(folder)
    assert {path.name for path in folder.iterdir()} == {"model.hpp", "model.o"}
    assert (folder / "model.o").read_text() == "before"
    (folder / "model.hpp").rmdir()
    assert hlo_aot.main([str(source), "-o", str(folder / "model")]) == 0
    assert {path.name for path in folder.iterdir()} == {"model.o", "libmodel.a", "model.h", "model.hpp"}
    assert (folder / "model.o").stat().st_mode & 0o777 == 0o640


# Parts ---------------------------------------------------------------------------------------------------------------


def test_names_of_the_library(tmp_path: Path) -> None:
    library = compile_ahead(
        "func.func @main(%int: tensor<2xf32>, %a.b: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %0 = stablehlo.add %int, %a.b : tensor<2xf32>\n  return %0 : tensor<2xf32>\n}"
    )
    assert [port.name for port in library.interface.arguments] == ["xint", "a_b"]
    assert [path.name for path in library.write(tmp_path / "made")] == ["model.o", "libmodel.a", "model.h", "model.hpp"]
    assert [identifier(text) for text in ("", "3d", "_x", "é", "ok")] == ["x", "x3d", "x_x", "x_", "ok"]
    with pytest.raises(LibraryNameError):
        compile_ahead(MIXED, "new")
    with pytest.raises(MachineError):
        compile_ahead(MIXED, triple="sparcv9")
    with pytest.raises(LibraryNameError, match="the library has no function"):
        compile_ahead(MIXED, entries=[])
    with pytest.raises(ValueError, match="threads are one of none, openmp, callback, not 'many'"):
        compile_ahead(MIXED, threads="many")


def test_arrays_need_the_alignment_of_their_elements_only(tmp_path: Path) -> None:
    if GCC is None:
        pytest.skip("gcc is not installed")
    library = compile_ahead(LAYER, cpu="host")
    executable = xhlo.compile(LAYER)
    arguments = random_arrays(executable.facts.inputs, 1)
    expected: Any = executable(*arguments)
    shifted = [np.frombuffer(bytearray(4) + array.tobytes(), np.uint8)[4:] for array in arguments]
    result = np.zeros(expected.nbytes + 4, np.uint8)[4:]
    assert call(library, tmp_path, shifted, [result]) == 0
    assert result.tobytes() == expected.tobytes()


def test_archives_have_members_of_even_length_and_a_table_of_symbols() -> None:
    made = archive({"a.o": b"odd", "b.o": b"even"}, {"a.o": ["f"], "b.o": ["g", "h"]})
    assert made.startswith(b"!<arch>\n/")
    count, *offsets = struct.unpack_from(">4I", made, 68)
    assert count == 3
    assert [made[at : at + 4] for at in offsets] == [b"a.o/", b"b.o/", b"b.o/"]
    assert made[offsets[0] + 60 : offsets[0] + 64] == b"odd\n"
    with pytest.raises(ValueError, match="longer than 15 characters"):
        archive({"a_very_long_name.o": b""}, {"a_very_long_name.o": []})
