"""Libraries compiled ahead of time: threads of the caller's, shared libraries, Python, Rust, CMake and pkg-config."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from xhlo.targets.ahead import linking
from xhlo.targets.ahead.library import compile_ahead
from xhlo.targets.ahead.linking import LinkError
from xhlo.targets.ahead.machine import Machine, MachineError
from xhlo.targets.ahead.multiversion import INSTRUCTIONS, LevelError, levels_of
from xhlo.targets.cpu import host
from xhlo.tools import hlo_aot

PROGRAM = """
func.func @main(%x: tensor<160x96xf32>, %in: tensor<96x80xf32>, %h: tensor<3xf16>)
    -> (tensor<160x80xf32>, tensor<160xf32>, tensor<3xi1>) {
  %0 = stablehlo.dot_general %x, %in, contracting_dims = [1] x [0]
    : (tensor<160x96xf32>, tensor<96x80xf32>) -> tensor<160x80xf32>
  %1 = stablehlo.tanh %0 : tensor<160x80xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [1]
    : (tensor<160x80xf32>, tensor<f32>) -> tensor<160xf32>
  %3 = stablehlo.compare GT, %h, %h : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xi1>
  return %1, %2, %3 : tensor<160x80xf32>, tensor<160xf32>, tensor<3xi1>
}
"""

THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model.h"

static int used;
struct part { model_range range; void *context; int64_t begin, end; };
static void *work(void *p) { struct part *q = p; q->range(q->context, q->begin, q->end); return NULL; }

/* Uneven parts, each on a thread of its own. */
static void uneven(model_range range, void *context, int64_t count, void *user)
{
    pthread_t threads[64];
    struct part parts[64];
    int n = 0, i;
    int64_t begin = 0;
    if (user != &used) abort();
    while (begin < count && n < 63) {
        const int64_t end = begin + 1 + n < count && n < 62 ? begin + 1 + n : count;
        parts[n] = (struct part){range, context, begin, end};
        begin = end;
        n++;
    }
    for (i = 0; i < n; i++) pthread_create(&threads[i], NULL, work, &parts[i]);
    for (i = 0; i < n; i++) pthread_join(threads[i], NULL);
    used += n > 1;
}

static float x[MODEL_X_ELEMENTS], in[MODEL_IN_ELEMENTS], r[2][MODEL_RESULT0_ELEMENTS], s[2][MODEL_RESULT1_ELEMENTS];

int main(void)
{
    uint16_t h[3] = {0, 1, 2};
    uint8_t t[3];
    size_t i;
    int k;
    void *arena = aligned_alloc(MODEL_ARENA_ALIGNMENT, (MODEL_ARENA_BYTES + 63) / 64 * 64);
    for (i = 0; i < MODEL_X_ELEMENTS; i++) x[i] = (float)(i * 7919 % 1000) / 999.0f - 0.5f;
    for (i = 0; i < MODEL_IN_ELEMENTS; i++) in[i] = (float)(i * 104729 % 1000) / 999.0f - 0.5f;
    for (k = 0; k < 2; k++) {
        model_args args = {x, in, h};
        model_results results = {r[k], s[k], t};
        model_set_parallel_for(k ? uneven : NULL, &used);
        if (model_run(&args, &results, arena) != MODEL_OK) return 1;
    }
    free(arena);
    puts(used && !memcmp(r[0], r[1], sizeof r[0]) && !memcmp(s[0], s[1], sizeof s[0]) ? "same bits" : "different");
    return 0;
}
"""


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def make(folder: Path, *flags: str) -> None:
    (folder / "source.mlir").write_text(PROGRAM)
    assert hlo_aot.main([str(folder / "source.mlir"), "-o", str(folder / "model"), *flags]) == 0


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files of the program, whose argument `in` is a keyword of Python and Rust."""
    if shutil.which("ld") is None and shutil.which("ld.lld") is None:
        pytest.skip("no linker is installed")
    folder = tmp_path_factory.mktemp("library")
    make(folder, "--threads=callback", "--python", "--rust", "--cmake", "--pkg-config", "--emit-test")
    return folder


OPENMP = """
#define main tested
#include "model_test.c"
#undef main
static char met[1000];
static void meet(void *context, int64_t begin, int64_t end)
{
    (void)context;
    for (; begin < end; begin++) met[begin]++;
}
int main(int argc, char **argv)
{
    /* Each iteration once, whether there are more of them or of threads. */
    int64_t count, at;
    omp_set_num_threads(5);
    for (count = 0; count < 1000; count += 1 + count / 3) {
        memset(met, 0, sizeof met);
        model_openmp(meet, NULL, count, NULL);
        for (at = 0; at < 1000; at++)
            if (met[at] != (at < count)) return 3;
    }
    model_set_parallel_for(model_openmp, NULL);
    return tested(argc, argv);
}
"""


@pytest.mark.long
def test_the_callers_threads_compute_the_same_bits(library: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    (library / "threads.c").write_text(THREADS)
    flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-pedantic", "-Werror", "-pthread"]
    run(library, "gcc", *flags, "threads.c", "model.o", "-lm", "-o", "threads")
    assert run(library, "./threads") == "same bits\n"
    # The header's own function, by OpenMP.
    (library / "openmp.c").write_text(OPENMP)
    openmp = ["-fopenmp", *flags[2:-1]]
    run(library, "gcc", "-std=c99", *openmp, "openmp.c", "libmodel.a", "-lm", "-o", "openmp")
    assert run(library, "./openmp") == "all results agree\n"
    if shutil.which("g++") is not None:
        (library / "openmp.cpp").write_text('#include "model.hpp"\nmodel_parallel_for used = model_openmp;\n')
        run(library, "g++", "-std=c++17", *openmp, "-fsyntax-only", "openmp.cpp")
    # Without a function the caller's thread runs the loops.
    run(library, "gcc", "-std=c99", "model_test.c", "libmodel.a", "-lm", "-o", "test")
    assert run(library, "./test") == "all results agree\n"


@pytest.mark.long
def test_openmp_runs_the_loops_itself(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if shutil.which("gcc") is None or (shutil.which("ld") is None and shutil.which("ld.lld") is None):
        pytest.skip("gcc is not installed")
    make(
        tmp_path, "--threads=openmp", "--python", "--rust", "--cmake", "--pkg-config", "--emit-test", "--print-symbols"
    )
    assert {"GOMP_parallel", "omp_get_max_threads", "omp_get_thread_num"} <= set(capfd.readouterr().out.split())
    # Each iteration once, whether there are more of them or of threads: the library's own division.
    main = (
        'static char met[1000];\n#define main tested\n#include "model_test.c"\n#undef main\n'
        "void omp_set_num_threads(int);\nvoid model_share(void (*)(void *, int64_t, int64_t), void *, int64_t);\n"
        "static void meet(void *context, int64_t begin, int64_t end) {\n    (void)context;\n"
        "    for (; begin < end; begin++) met[begin]++;\n}\n"
        "int main(int argc, char **argv) {\n    int64_t count, at;\n    omp_set_num_threads(5);\n"
        "    for (count = 0; count < 1000; count += 1 + count / 3) {\n        memset(met, 0, sizeof met);\n"
        "        model_share(meet, NULL, count);\n        for (at = 0; at < 1000; at++)\n"
        "            if (met[at] != (at < count)) return 3;\n    }\n    return tested(argc, argv);\n}\n"
    )
    (tmp_path / "main.c").write_text(main)
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fopenmp"]
    run(tmp_path, "gcc", *flags, "main.c", "model.o", "-lm", "-o", "main")
    assert run(tmp_path, "./main") == "all results agree\n"
    if shutil.which("rustc") is not None:
        (tmp_path / "top.rs").write_text("mod model;\nfn main() { assert!(model::ARENA_BYTES > 0); }\n")
        run(tmp_path, "rustc", "--edition=2021", "-L", ".", "top.rs", "-o", "top")
        run(tmp_path, "./top")
    assert "-fopenmp" in (tmp_path / "model.pc").read_text()
    assert 'INTERFACE_LINK_OPTIONS "-fopenmp"' in (tmp_path / "model-config.cmake").read_text()
    script = "import sys\nsys.path.insert(0, '.')\nimport model\nprint(len(model.ARGUMENTS))"
    assert int(run(tmp_path, sys.executable, "-P", "-c", script)) > 0


def test_openmp_is_of_systems_that_have_it(tmp_path: Path) -> None:
    for triple in ("wasm32", "x86_64-windows-msvc"):
        with pytest.raises(
            MachineError, match=f"OpenMP's threads run no loops for '{triple}': take --threads=callback"
        ):
            compile_ahead(PROGRAM, triple=triple, threads="openmp")
    with pytest.raises(MachineError, match="linked on a Mac"):
        compile_ahead(PROGRAM, triple="arm64-apple-macos", threads="openmp").write(tmp_path, ["shared"])
    for triple in ("armv7-linux-gnueabihf", "s390x-linux-gnu"):
        assert "GOMP_parallel" in compile_ahead(PROGRAM, triple=triple, threads="openmp").undefined_symbols


def test_python(library: Path) -> None:
    script = """
import sys
import numpy as np
import model
assert not any(name.split(".")[0] in ("xhlo", "xdsl", "llvmlite") for name in sys.modules)
x, w = np.linspace(-1, 1, 160 * 96, dtype="f4").reshape(160, 96), np.full((96, 80), 0.01, "f4")
result, sums, flags = model.run(x, w, np.zeros(3, "f2"))
np.testing.assert_allclose(result, np.tanh(x @ w), rtol=1e-4, atol=1e-6)
np.testing.assert_allclose(sums, result.sum(1), rtol=1e-5, atol=1e-5)
print(flags)
try:
    model.run(x, w[:1], np.zeros(3, "f2"))
except TypeError as error:
    print(error)
"""
    shown = run(library, sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, '.'){script}")
    assert shown == "[False False False]\nin is float32[1, 80], not float32[96, 80]\n"


def test_rust(library: Path) -> None:
    if shutil.which("rustc") is None:
        pytest.skip("rustc is not installed")
    (library / "main.rs").write_text(
        """mod model;
fn main() {
    let (x, w, h) = (vec![0.5f32; model::X_LEN], vec![0.01f32; model::IN__LEN], [0u16; model::H_LEN]);
    let (mut r, mut s, mut t) = (vec![0f32; model::RESULT0_LEN], vec![0f32; model::RESULT1_LEN], [1u8; 3]);
    let mut arena = model::Arena::new();
    model::run(&x, &w, &h, &mut r, &mut s, &mut t, &mut arena).unwrap();
    println!("{:.5}", r[0]);
    println!("{:?}", model::run(&x[1..], &w, &h, &mut r, &mut s, &mut t, &mut arena));
}
"""
    )
    run(library, "rustc", "--edition=2021", "-D", "warnings", "-L", ".", "main.rs", "-o", "main")
    assert run(library, "./main") == f'{np.tanh(0.48):.5f}\nErr("x")\n'


def test_build_systems(library: Path) -> None:
    if shutil.which("cmake") is not None:
        (library / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.13)\nproject(p C)\nfind_package(model CONFIG REQUIRED)\n"
            "find_package(model CONFIG REQUIRED PATHS .)\n"
            "add_executable(built model_test.c)\ntarget_link_libraries(built model)\n"
        )
        run(library, "cmake", f"-Dmodel_DIR={library}", "-B", "built.d", ".")
        run(library, "cmake", "--build", "built.d")
        assert run(library, "built.d/built") == "all results agree\n"
    flags = (library / "model.pc").read_text()
    assert "Cflags: -I${pcfiledir}\nLibs: ${pcfiledir}/libmodel.a -lm\n" in flags


def test_only_the_interface_is_exported(library: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    symbols = run(library, "nm", "-D", "--defined-only", "libmodel.so").split()[2::3]
    assert sorted(symbols) == ["model_run", "model_set_parallel_for"]


def test_a_missing_linker_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(linking, "LLVM_FOLDER", tmp_path)
    (tmp_path / "s.mlir").write_text(PROGRAM)
    command = [
        str(tmp_path / "s.mlir"),
        "-o",
        str(tmp_path / "out" / "model"),
        "--shared",
        "--target=aarch64-linux-gnu",
    ]
    assert hlo_aot.main(command) == 1
    assert "needs a linker, none of ld.lld, aarch64-linux-gnu-ld is installed: install lld" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    with pytest.raises(LinkError):
        _ = compile_ahead(PROGRAM, triple="aarch64-linux-gnu").shared_library


def test_the_dots_of_a_named_cpu() -> None:
    cpus = ("x86-64-v3", "x86-64-v4", "cascadelake", "cooperlake", "znver4", "emeraldrapids", "sierraforest")
    assert {cpu: Machine.named("x86_64-linux-gnu", cpu).dots for cpu in cpus} == {
        "x86-64-v3": ("pair-dots",),
        "x86-64-v4": ("pair-dots",),
        "cascadelake": ("byte-dots", "pair-dots"),
        "cooperlake": ("byte-dots", "pair-dots", "bfloat-dots"),
        "znver4": ("byte-dots", "pair-dots", "bfloat-dots"),
        "emeraldrapids": ("byte-dots", "pair-dots"),
        "sierraforest": ("byte-dots", "pair-dots"),
    }
    assert Machine.named("aarch64-linux-gnu", None).dots == ()


CONVERT = """
func.func @main(%x: tensor<64xf32>) -> tensor<64xbf16> {
  %0 = stablehlo.convert %x : (tensor<64xf32>) -> tensor<64xbf16>
  return %0 : tensor<64xbf16>
}
"""

# Several levels ------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_versions_for_several_levels(tmp_path: Path) -> None:
    if shutil.which("gcc") is None or host.host_triple().partition("-")[0] != "x86_64":
        pytest.skip("gcc for x86-64 is not installed")
    make(tmp_path, "--multiversion=v3,x86-64-v2", "--threads=callback", "--emit-test")
    header = (tmp_path / "model.h").read_text()
    assert "xhlo for" in header and "x86-64-v2, x86-64-v3. */" in header
    run(tmp_path, "gcc", "-std=c99", "-Wall", "-Werror", "model_test.c", "libmodel.a", "-lm", "-o", "test")
    assert run(tmp_path, "./test") == "all results agree\n"
    if (emulator := shutil.which("qemu-x86_64")) is None:
        return
    assert run(tmp_path, emulator, "-cpu", "Nehalem", "./test") == "all results agree\n"
    make(tmp_path, "--multiversion=v3,v4", "--emit-test")
    run(tmp_path, "gcc", "-std=c99", "model_test.c", "model.o", "-lm", "-o", "test")
    done = subprocess.run([emulator, "-cpu", "Nehalem", "./test"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "no version for this CPU" in done.stdout + done.stderr


def test_the_choice_of_a_version_needs_no_assembler(tmp_path: Path) -> None:
    """LLVM assembles for this kind of machine only, but makes such libraries on any."""
    for triple in ("x86_64-apple-darwin", "x86_64-windows-msvc"):
        assert " asm " not in compile_ahead(CONVERT, triple=triple, cpu=("x86-64-v2", "x86-64-v3")).optimized
    if shutil.which("as") is None or host.host_triple().partition("-")[0] != "x86_64":
        return
    for instruction in INSTRUCTIONS:
        lines = "".join(f"{line}\n" for _, line in instruction.code)
        (tmp_path / "code.s").write_text(f".text\n{lines}")
        run(tmp_path, "as", "code.s", "-o", "code.o")
        code = (tmp_path / "code.o").read_bytes()
        assert instruction.bytes in code


def test_levels_are_checked() -> None:
    assert levels_of("x86-64-v4,v2") == ("x86-64-v2", "x86-64-v4")
    for wrong, message in (("v2", "two levels"), ("v2,v2", "two levels"), ("v3,znver4", "not for 'znver4'")):
        with pytest.raises(LevelError, match=message):
            levels_of(wrong)
    with pytest.raises(MachineError, match="several levels are of x86_64"):
        compile_ahead(PROGRAM, triple="aarch64-linux-gnu", cpu=("x86-64-v2", "x86-64-v3"))


def test_no_conversion_of_a_named_cpu_flushes_subnormals() -> None:
    assert "-avxneconvert" in Machine.named("x86_64-linux-gnu", "sierraforest").features
    # The machine code of the program for a CPU with vcvtneps2bf16 is that for one without.
    codes = [compile_ahead(CONVERT, triple="x86_64-linux-gnu", cpu=cpu).object for cpu in ("cascadelake", "cooperlake")]
    assert codes[0] == codes[1]
