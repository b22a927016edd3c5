"""Libraries for other machines: byte orders, formats of object files, what a CPU has no instructions for."""

from __future__ import annotations

import ctypes
import random
import re
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conformance
import xhlo
from ahead_machines import EMULATED, run, run_in_node, run_recorded
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.ahead.c_programs import Recorded
from xhlo.targets.ahead.library import compile_ahead
from xhlo.targets.ahead.machine import KINDS, Machine, full_triple
from xhlo.targets.ahead.pipeline import AheadPipeline
from xhlo.targets.ahead.threads import Threads
from xhlo.targets.cpu import host, jit
from xhlo.targets.cpu.target import CPU
from xhlo.targets.llvm_text.module import emit_llvm_ir
from xhlo.targets.program.pipeline import run_passes
from xhlo.tools import hlo_opt
from xhlo.tools.arrays import random_arrays

BITS = """
func.func @main(%x: tensor<6xf32>, %d: tensor<3xf64>, %b: tensor<5x4xi8>, %h: tensor<6x2xf16>, %w: tensor<300xf16>,
                %q: tensor<7xi4>, %s: tensor<40xi64>)
    -> (tensor<6x4xi8>, tensor<3x2xi32>, tensor<5xf32>, tensor<6xi32>, tensor<300xf16>, tensor<7xi4>, tensor<2xui64>,
        tensor<9xui32>, tensor<40xi64>, tensor<40xi32>, tensor<16xcomplex<f32>>, tensor<8xf64>, tensor<7xf8E4M3FN>,
        tensor<8xi16>, tensor<12x12xf32>) {
  %0 = stablehlo.bitcast_convert %x : (tensor<6xf32>) -> tensor<6x4xi8>
  %1 = stablehlo.bitcast_convert %d : (tensor<3xf64>) -> tensor<3x2xi32>
  %2 = stablehlo.bitcast_convert %b : (tensor<5x4xi8>) -> tensor<5xf32>
  %3 = stablehlo.bitcast_convert %h : (tensor<6x2xf16>) -> tensor<6xi32>
  %4 = stablehlo.tanh %w : tensor<300xf16>
  %5 = stablehlo.add %q, %q : tensor<7xi4>
  %state = stablehlo.constant dense<[12345678901234567, 98765432109876]> : tensor<2xui64>
  %6:2 = "stablehlo.rng_bit_generator"(%state) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}
    : (tensor<2xui64>) -> (tensor<2xui64>, tensor<9xui32>)
  %i = stablehlo.iota dim = 0 : tensor<40xi32>
  %7:2 = "stablehlo.sort"(%s, %i) ({
    ^bb0(%l: tensor<i64>, %r: tensor<i64>, %l1: tensor<i32>, %r1: tensor<i32>):
    %less = stablehlo.compare LT, %l, %r : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<40xi64>, tensor<40xi32>) -> (tensor<40xi64>, tensor<40xi32>)
  %re = stablehlo.constant dense<[1.0, 2.5, -3.0, 4.0, 1.0, 2.0, 3.0, 4.0, 0.5, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, -4.0]>
    : tensor<16xf32>
  %half = stablehlo.slice %w [0:16] : (tensor<300xf16>) -> tensor<16xf16>
  %im = stablehlo.convert %half : (tensor<16xf16>) -> tensor<16xf32>
  %z = stablehlo.complex %re, %im : tensor<16xcomplex<f32>>
  %8 = stablehlo.fft %z, type = FFT, length = [16] : (tensor<16xcomplex<f32>>) -> tensor<16xcomplex<f32>>
  %table = stablehlo.constant dense<[1.1, 2.2, 3.3, 4.4, 5.5, 6.6, 7.7, 1e10]> : tensor<8xf64>
  %9 = stablehlo.sine %table : tensor<8xf64>
  %wide = stablehlo.convert %q : (tensor<7xi4>) -> tensor<7xf32>
  %10 = stablehlo.convert %wide : (tensor<7xf32>) -> tensor<7xf8E4M3FN>
  %k = stablehlo.constant dense<[1, -2, 300, -400, 5, 6, 7, 32767]> : tensor<8xi16>
  %11 = stablehlo.abs %k : tensor<8xi16>
  %part = stablehlo.slice %w [0:144] : (tensor<300xf16>) -> tensor<144xf16>
  %flat = stablehlo.convert %part : (tensor<144xf16>) -> tensor<144xf32>
  %a = stablehlo.reshape %flat : (tensor<144xf32>) -> tensor<12x12xf32>
  %12 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0]
    : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
  return %0, %1, %2, %3, %4, %5, %6#0, %6#1, %7#0, %7#1, %8, %9, %10, %11, %12
    : tensor<6x4xi8>, tensor<3x2xi32>, tensor<5xf32>, tensor<6xi32>, tensor<300xf16>, tensor<7xi4>, tensor<2xui64>,
      tensor<9xui32>, tensor<40xi64>, tensor<40xi32>, tensor<16xcomplex<f32>>, tensor<8xf64>, tensor<7xf8E4M3FN>,
      tensor<8xi16>, tensor<12x12xf32>
}
"""


@pytest.fixture(scope="module")
def recorded() -> Recorded:
    """Inputs of BITS, and what this machine computes."""
    executable = xhlo.compile(BITS)
    inputs = random_arrays(executable.facts.inputs, 3)
    results: Any = executable(*inputs)
    return Recorded(inputs, results)


@pytest.mark.long
@pytest.mark.parametrize("name", ["x86-64", "s390x", "riscv64+v"])
def test_bits_on_emulated_machines(name: str, recorded: Recorded, tmp_path: Path) -> None:
    machine = EMULATED[name]
    if machine.missing:
        pytest.skip(f"{machine.missing} is not installed")
    library = compile_ahead(BITS, triple=machine.triple, cpu=machine.cpu)
    assert set(library.undefined_symbols) <= {"memcpy", "memset", "memmove"}
    assert run_recorded(machine, library, tmp_path, [recorded]) == "all results agree\n"


def wasm_linker() -> bool:
    return shutil.which("node") is not None and any(shutil.which(f"wasm-ld{end}") for end in ("", "-14", "-16", "-19"))


@pytest.mark.parametrize("triple", ["wasm32", "wasm64"])
def test_bits_in_node(triple: str, recorded: Recorded, tmp_path: Path) -> None:
    if not wasm_linker():
        pytest.skip("node or wasm-ld is not installed")
    library = compile_ahead(BITS, triple=triple)
    assert set(library.undefined_symbols) <= {"memcpy", "memset", "memmove"}
    found = run_in_node(library, tmp_path, recorded.inputs, recorded.expected)
    for result, expected in zip(found, recorded.expected, strict=True):
        if expected.dtype.name in conformance.RTOL:
            assert conformance.difference(result, expected, None, False) is None
        else:
            assert result.tobytes() == expected.tobytes()


# Formats of object files ---------------------------------------------------------------------------------------------

TANGENT = """
func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.tan %x : tensor<3xf64>
  return %0 : tensor<3xf64>
}
"""
FORMATS = {
    "arm64-apple-macos": ("Mach-O arm64", "_model_run in model.o", ["tan"], ["model.o", "libmodel.a"]),
    "x86_64-apple-darwin": ("Mach-O 64-bit x86-64", "_model_run in model.o", ["tan"], ["model.o", "libmodel.a"]),
    "x86_64-windows-msvc": ("COFF-x86-64", "model_run in model.o", ["_fltused", "tan"], ["model.obj", "model.lib"]),
    "aarch64-windows-msvc": ("COFF-ARM64", "model_run in model.o", ["tan"], ["model.obj", "model.lib"]),
    "x86_64-w64-mingw32": ("COFF-x86-64", "model_run in model.o", ["tan"], ["model.o", "libmodel.a"]),
}


@pytest.mark.long(5)
@pytest.mark.parametrize("triple", FORMATS)
def test_object_files_of_other_systems(triple: str, tmp_path: Path) -> None:
    library = compile_ahead(TANGENT, triple=triple)
    form, armap, undefined, files = FORMATS[triple]
    assert library.undefined_symbols == undefined
    made = library.write(tmp_path)
    assert [path.name for path in made[:2]] == files
    assert "#define MODEL_API __declspec(dllimport)" in library.header
    readers = [shutil.which(tool) or shutil.which(f"{tool}-14") for tool in ("llvm-readobj", "llvm-nm")]
    if None in readers:
        pytest.skip("llvm-readobj and llvm-nm are not installed")
    readobj, nm = map(str, readers)
    assert f"Format: {form}\n" in run(tmp_path, readobj, "--file-headers", files[0])
    assert f"{armap}\n" in run(tmp_path, nm, "--print-armap", files[1])
    defined = run(tmp_path, nm, "--defined-only", "--extern-only", files[0]).split()
    assert ("_model_run" if "apple" in triple else "model_run") in defined


def test_triples_have_all_of_their_parts() -> None:
    assert [
        full_triple(triple) for triple in ("wasm32", "s390x-linux-gnu", "x86_64-windows-msvc", "x86_64-w64-mingw32")
    ] == [
        "wasm32-unknown-unknown",
        "s390x-unknown-linux-gnu",
        "x86_64-pc-windows-msvc",
        "x86_64-w64-windows-gnu",
    ]
    assert full_triple("arm64-apple-macos") == "arm64-apple-macosx11.0"


# Types and operations that a CPU has no instructions for -------------------------------------------------------------


def loaded(text: str, options: str, name: str, result: Any, *arguments: Any) -> Any:
    """A function of arith and math, as code for this machine."""
    ctx = make_context()
    module = parse_module(text, "<text>", ctx)
    run_passes(ctx, module, [f"convert-to-llvm{{{options}}}"])
    code = jit.load(emit_llvm_ir(module), (name,))
    return code, ctypes.CFUNCTYPE(result, *arguments)(code.address(name))


def test_fma_without_the_instruction_rounds_once() -> None:
    generator = random.Random(5)
    for type_, c_type, bits, spread in (("f32", ctypes.c_float, 24, 20), ("f64", ctypes.c_double, 53, 120)):
        text = f"""func.func @fused(%x: {type_}, %y: {type_}, %z: {type_}) -> {type_} {{
          %0 = math.fma %x, %y, %z : {type_}
          return %0 : {type_}
        }}"""
        code, function = loaded(text, "soft-fma=true", "fused", c_type, c_type, c_type, c_type)
        for _ in range(2000):
            x, y = (generator.getrandbits(bits) * 2.0 ** -generator.randrange(spread) for _ in range(2))
            # Products that the addition nearly cancels, and such that it rounds.
            z = -float(c_type(x * y).value) * generator.choice([1.0, 1.0, 2.0**-bits, 2.0**bits, 0.75])
            z = float(c_type(z).value)
            exact = Fraction(x) * Fraction(y) + Fraction(z)
            expected = np.float32(float(exact)) if type_ == "f32" and exact.denominator < 1 << 52 else float(exact)
            if type_ == "f32" and Fraction(float(exact)) != exact:
                continue
            assert function(x, y, z) == float(expected), (x, y, z)
        for x, y, z, expected in ((float("inf"), 2.0, 1.0, float("inf")), (1e30, 1e30, -float("inf"), -float("inf"))):
            assert function(x, y, z) == expected
        assert np.isnan(function(float("inf"), 0.0, 1.0))
        assert code is not None


EXTREMES = """
func.func @main(%x: tensor<40xf64>, %y: tensor<40xf64>) -> (tensor<40xf64>, tensor<40xf64>, tensor<f64>) {
  %0 = stablehlo.maximum %x, %y : tensor<40xf64>
  %1 = stablehlo.minimum %x, %y : tensor<40xf64>
  %c = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
  %2 = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [0] : (tensor<40xf64>, tensor<f64>) -> tensor<f64>
  return %0, %1, %2 : tensor<40xf64>, tensor<40xf64>, tensor<f64>
}
"""


def test_extremes_without_instructions(tmp_path: Path) -> None:
    machine = EMULATED["armv7"]
    library = compile_ahead(EXTREMES, triple=machine.triple)
    if machine.missing:
        pytest.skip(f"{machine.missing} is not installed")
    numbers = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 5e-324])
    generator = np.random.default_rng(0)
    x, y = generator.choice(numbers, 40), generator.choice(numbers, 40)
    results: Any = xhlo.compile(EXTREMES)(x, y)
    assert run_recorded(machine, library, tmp_path, [Recorded([x, y], results)]) == "all results agree\n"
    for found in ("maximum", "minimum"):
        text = f"""func.func @f(%x: f64, %y: f64) -> f64 {{
          %0 = arith.{found}f %x, %y : f64
          return %0 : f64
        }}"""
        code, function = loaded(text, "soft-extremes=true", "f", ctypes.c_double, ctypes.c_double, ctypes.c_double)
        zeros = function(0.0, -0.0), function(-0.0, 0.0)
        assert [np.signbit(zero) for zero in zeros] == [found == "minimum"] * 2 and code is not None


HALVES = """
func.func @main(%h: tensor<65536xf16>, %x: tensor<300000xf32>, %d: tensor<300000xf64>)
    -> (tensor<65536xf32>, tensor<300000xf16>, tensor<300000xf16>, tensor<65536xf16>) {
  %0 = stablehlo.convert %h : (tensor<65536xf16>) -> tensor<65536xf32>
  %1 = stablehlo.convert %x : (tensor<300000xf32>) -> tensor<300000xf16>
  %2 = stablehlo.convert %d : (tensor<300000xf64>) -> tensor<300000xf16>
  %3 = stablehlo.negate %h : tensor<65536xf16>
  return %0, %1, %2, %3 : tensor<65536xf32>, tensor<300000xf16>, tensor<300000xf16>, tensor<65536xf16>
}
"""


def test_f16_without_instructions_is_exact(tmp_path: Path) -> None:
    if shutil.which("gcc") is None or not host.host_triple().startswith("x86_64"):
        pytest.skip("gcc for x86-64 is not installed")
    assert Machine.named("x86_64-linux-gnu", "x86-64").soft_half
    assert not Machine.named("x86_64-linux-gnu", "x86-64-v3").soft_half
    library = compile_ahead(HALVES, cpu="x86-64")
    assert set(library.undefined_symbols) <= {"memcpy"}
    generator = np.random.default_rng(2)
    h = np.arange(65536, dtype=np.uint16).view(np.float16)
    bits = generator.integers(0, 1 << 32, 300000, dtype=np.uint64).astype(np.uint32)
    # Half of them near f16's range, and ties.
    bits[::2] = (bits[::2] & 0x8FFFFFFF) % (1 << 29) + (0x32 << 24) | (bits[::2] & 0x80000000)
    bits[::4] &= 0xFFFFF000
    x = bits.view(np.float32)
    with np.errstate(all="ignore"):
        d = (generator.standard_normal(300000) * 10.0 ** generator.integers(-9, 6, 300000)).astype(np.float64)
        expected = [h.astype(np.float32), x.astype(np.float16), d.astype(np.float16), -h]
    results = [np.zeros_like(array) for array in expected]
    library.write(tmp_path)
    run(tmp_path, "gcc", "-shared", "-o", "m.so", "model.o", "-lm")
    pointers = [
        (ctypes.c_void_p * len(arrays))(*(array.__array_interface__["data"][0] for array in arrays))
        for arrays in ([h, x, d], results)
    ]
    arena = np.zeros(library.interface.arena_bytes + 64, np.uint8)
    start = arena.__array_interface__["data"][0]
    function = ctypes.CDLL(str(tmp_path / "m.so")).model_run
    function.argtypes = [ctypes.c_void_p] * 3
    assert function(*map(ctypes.addressof, pointers), start + -start % 64) == 0
    for result, wanted in zip(results, expected, strict=True):
        assert np.array_equal(np.isnan(result), np.isnan(wanted))
        kept = ~np.isnan(wanted)
        assert result[kept].tobytes() == wanted[kept].tobytes()


# Every stage for a machine by name -----------------------------------------------------------------------------------

PRODUCT = """
func.func @main(%x: tensor<64x64xf32>, %h: tensor<9xf16>) -> (tensor<64x64xf32>, tensor<9xf16>) {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.exponential %h : tensor<9xf16>
  return %0, %1 : tensor<64x64xf32>, tensor<9xf16>
}
"""


def emitted(folder: Path, *flags: str) -> bytes:
    """The text that hlo-opt writes."""
    (folder / "p.mlir").write_text(PRODUCT)
    output = folder / "out"
    assert hlo_opt.main([str(folder / "p.mlir"), "--target=cpu", "--fuse", "--lower", *flags, "-o", str(output)]) == 0
    return output.read_bytes()


@pytest.mark.long
def test_no_fact_of_this_machine_is_in_code_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = [
        ("--triple=aarch64-linux-gnu", "--emit=llvm"),
        ("--triple=x86_64-linux-gnu", "--cpu=x86-64-v2", "--emit=obj"),
    ]
    before = [emitted(tmp_path, *each) for each in flags] + [compile_ahead(PRODUCT, triple=flags[0][0][9:]).object]
    monkeypatch.setattr(host, "host_features", lambda: "+sse2")
    monkeypatch.setattr(host, "host_cpu", lambda: "pentium4")
    monkeypatch.setattr(host, "host_vector_bits", lambda: 256)
    monkeypatch.setattr(host, "host_dots", lambda: ["byte-dots"])
    monkeypatch.setenv("XHLO_NUM_THREADS", "1")
    after = [emitted(tmp_path, *each) for each in flags] + [compile_ahead(PRODUCT, triple=flags[0][0][9:]).object]
    assert before == after
    assert b'target triple = "aarch64-unknown-linux-gnu"' in before[0]
    assert before[1][:4] == b"\x7fELF"


def test_blocks_of_products_are_sized_by_the_machine(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    vectors = {}
    for triple, cpu in (
        ("aarch64-linux-gnu", "generic"),
        ("x86_64-linux-gnu", "x86-64-v2"),
        ("s390x-linux-gnu", "z14"),
    ):
        text = emitted(tmp_path, f"--triple={triple}", f"--cpu={cpu}", "--emit=llvm").decode()
        # In one function: panels of two heights have one each.
        functions = text.split("\ndefine ")
        vectors[triple[:5]] = max(each.count("fma.v4f32") or each.count("fmul <4 x float>") for each in functions)
    # Thirty-two registers hold more sums than sixteen.
    assert vectors["aarch"] > vectors["x86_6"] and vectors["s390x"] == vectors["aarch"]
    (tmp_path / "p.mlir").write_text(PRODUCT)
    for flags, message in (
        (["--triple=vax"], "programs are not compiled for 'vax': the machines are x86_64"),
        (["--target=nvptx", "--cpu=znver4"], "--cpu is about the target cpu"),
    ):
        assert hlo_opt.main([str(tmp_path / "p.mlir"), *flags]) == 2
        assert message in capfd.readouterr().err


def test_llvm_has_nothing_to_say_about_vectors_of_unknown_length(capfd: pytest.CaptureFixture[str]) -> None:
    """It cannot unroll loops of them, and says so on standard error if it is asked to."""
    program = """func.func @main(%x: tensor<64xf32>) -> tensor<32xf32> {
  %0 = stablehlo.slice %x [0:64:2] : (tensor<64xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}"""
    machines = [Machine.named("riscv64-linux-gnu", cpu) for cpu in ("generic-rv64+v", "generic-rv64")]
    assert [machine.scalable for machine in machines] == [True, False]
    assert "vscale" in compile_ahead(program, triple=machines[0].triple, cpu="generic-rv64+v").optimized
    assert capfd.readouterr().err == ""


def test_every_kind_of_machine_is_known_to_llvm() -> None:
    for name, kind in KINDS.items():
        machine = Machine.named(f"{name}-unknown-linux-gnu" if "wasm" not in name else name)
        pointer = "e" if not kind.big_endian else "E"
        assert str(machine.target_machine.target_data).startswith(pointer)
        assert machine.vector_bits == (256 if name == "x86_64" else 128)


def test_this_machines_cpu_gets_the_tiles_of_the_jit() -> None:
    machine = Machine.named(None, "host")
    spec = "convert-contractions-to-vector"
    pipelines = (AheadPipeline(machine, Threads.CALLBACK), CPU, AheadPipeline(machine))
    bits = {f"vector-bits={machine.vector_bits}"}
    many, jit, one = (set(re.findall(r"[\w-]+=\w+", pipeline.tune(spec))) - bits for pipeline in pipelines)
    # Without threads no tile has to be small for others to have work.
    assert many == jit and one - many == {"tiles=1"}
