"""
The conformance programs compiled ahead of time and run without Python, beside the JIT's results.

    python test/unit/support/ahead_conformance.py                      all programs on this machine: equal to the bit
    python test/unit/support/ahead_conformance.py --machine=s390x      60 of them on an emulated machine: within the stated error
    python test/unit/support/ahead_conformance.py --sanitize           60 with a main program under address and undefined
    python test/unit/support/ahead_conformance.py --warnings           60 headers and programs under gcc, clang and g++

Arrays end where their pages end, and the next page cannot be accessed. Ends with 1 if a program fails; names what is not
installed, and ends with 0.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import conformance
import xhlo
from ahead_machines import EMULATED, WARNINGS, Emulated, run_in_node
from xhlo.dialects.support.kernel import CHECKS, RESULT_COUNT
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing import print_module
from xhlo.passes.manager.pipelines import FRONT
from xhlo.targets.ahead.c_programs import Recorded, benchmark_program, test_program
from xhlo.targets.ahead.library import Library, compile_ahead
from xhlo.targets.ahead.linking import LinkError
from xhlo.targets.program.pipeline import parse_source, run_passes
from xhlo.targets.program.source import read_source
from xhlo.tools.arrays import RTOL

SAMPLE = 60
WASM = ("wasm32", "wasm64")

MAIN = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int model_run(void *const *args, void *const *results, void *arena);

static size_t next(FILE *sizes)
{
    unsigned long size;
    if (fscanf(sizes, "%lu", &size) != 1) exit(90);
    return size;
}

/* Memory that ends where its last page does. */
static void *room(size_t size)
{
    const size_t page = 65536, whole = (size + page - 1) / page * page;
    char *start = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED || mprotect(start + whole, page, PROT_NONE)) exit(91);
    return start + whole - size;
}

static void *arrays[2][512];
static size_t lengths[2][512];

int main(void)
{
    FILE *sizes = fopen("sizes", "r"), *file;
    size_t counts[2], side, n, arena;
    char name[32];
    int code;
    if (!sizes) return 92;
    for (side = 0; side < 2; side++) {
        counts[side] = next(sizes);
        if (counts[side] > 512) return 93;
        for (n = 0; n < counts[side]; n++) {
            lengths[side][n] = next(sizes);
            arrays[side][n] = room(lengths[side][n]);
        }
    }
    arena = next(sizes);
    fclose(sizes);
    for (n = 0; n < counts[0]; n++) {
        snprintf(name, sizeof name, "in%lu", (unsigned long)n);
        if (!(file = fopen(name, "rb")) || fread(arrays[0][n], 1, lengths[0][n], file) != lengths[0][n]) return 94;
        fclose(file);
    }
    code = model_run(arrays[0], arrays[1], room((arena + 63) / 64 * 64));
    for (n = 0; n < counts[1]; n++) {
        snprintf(name, sizeof name, "out%lu", (unsigned long)n);
        if (!(file = fopen(name, "wb")) || fwrite(arrays[1][n], 1, lengths[1][n], file) != lengths[1][n]) return 95;
        fclose(file);
    }
    return code;
}
"""


@dataclass(frozen=True)
class Case:
    """A program with inputs, and what the JIT computes from them: the values that its checks compare included."""

    name: str
    text: str
    """The program, whose checks are results."""
    checking: str | None
    """The same with checks, if there are any: a run says which of them fails."""
    inputs: Sequence[Any]
    results: Sequence[Any]


def cases(every: int) -> Iterator[Case | str]:
    """The programs that the JIT passes, or the names of those that call Python functions."""
    programs: list[tuple[str, Callable[[], tuple[str, Sequence[Any]]]]] = []
    for name in conformance.jax_programs():
        programs.append((name, lambda name=name: _jax(name)))
    for program in conformance.stablehlo_programs():
        if program.static:
            programs.append((program.name, lambda name=program.name: (conformance.stablehlo_text(name), ())))
    for name, load in programs[::every]:
        given, inputs = load()
        try:
            text = with_checked_values(given) if "check." in given else given
            executable = xhlo.compile(text)
            yield Case(name, text, given if given is not text else None, inputs, executable.compute(inputs, None))
        except DiagnosticError as error:
            print(f"{name}: the JIT refuses it: {error}", file=sys.stderr)


def with_checked_values(text: str) -> str:
    """The program with the values that its checks compare as results, and without checks."""
    ctx = make_context()
    module = parse_source(read_source(text), ctx)
    run_passes(ctx, module, FRONT[: FRONT.index("extract-checks") + 1])
    for name in (CHECKS, RESULT_COUNT):
        module.attributes.pop(name, None)
    return print_module(module)


def _jax(name: str) -> tuple[str, Sequence[Any]]:
    program = conformance.jax_program(name)
    return program.text, program.inputs


def swapped(array: Any, machine: Emulated | None) -> bytes:
    """An array's bytes in the order of the machine."""
    content = np.ascontiguousarray(array)
    if machine is None or not machine.triple.startswith("s390x") or content.dtype.itemsize == 1:
        return content.tobytes()
    size = content.dtype.itemsize // (2 if content.dtype.kind == "c" else 1)
    return np.frombuffer(content.tobytes(), f"u{size}").byteswap().tobytes()


class Runner:
    """Builds and runs programs in a folder for one machine; this one if it is None."""

    def __init__(self, folder: Path, machine: Emulated | None, flags: Sequence[str]):
        self.folder = folder
        self.machine = machine
        self.flags = flags
        self.compiler = "gcc" if machine is None else machine.compiler
        (folder / "main.c").write_text(MAIN)
        self._built(["-O1", *flags, "-Wall", "-Wextra", "-Werror", "-c", "main.c", "-o", "main.o"])

    def _built(self, arguments: Sequence[str]) -> None:
        done = subprocess.run([self.compiler, *arguments], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)

    def _lapack(self, library: Library) -> list[str]:
        """A source with LAPACK's symbols: jumps to those of OpenBLAS, which the wheel names otherwise."""
        if not library.interface.lapack:
            return []
        wheel: Any = importlib.import_module("scipy_openblas32")
        names = [name for name in library.undefined_symbols if name.endswith("_")]
        jumps = "".join(f".globl {name}\n{name}: jmp scipy_{name}@PLT\n" for name in names)
        (self.folder / "lapack.s").write_text(f'.section .note.GNU-stack,"",@progbits\n.text\n{jumps}')
        folder = str(wheel.get_lib_dir())
        return ["lapack.s", f"{folder}/libscipy_openblas.so", f"-Wl,-rpath,{folder}"]

    def results(self, library: Library, case: Case) -> list[Any]:
        """The results that the machine computes. Raises RuntimeError."""
        (self.folder / "model.o").write_bytes(library.object)
        self._built([*self.flags, "main.o", "model.o", *self._lapack(library), "-lm", "-o", "program"])
        contents = [swapped(array, self.machine) for array in case.inputs]
        sizes = [[len(content) for content in contents], [port.nbytes for port in library.interface.results]]
        numbers = [number for side in sizes for number in (len(side), *side)] + [max(library.interface.arena_bytes, 1)]
        (self.folder / "sizes").write_text(" ".join(map(str, numbers)))
        for number, content in enumerate(contents):
            (self.folder / f"in{number}").write_bytes(content)
        command = [*(() if self.machine is None else self.machine.runner), "./program"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=600)
        if done.returncode or done.stderr:
            raise RuntimeError(f"the program ends with {done.returncode} {done.stderr}")
        found: list[Any] = []
        for number, expected in enumerate(case.results):
            data = np.frombuffer((self.folder / f"out{number}").read_bytes(), expected.dtype).reshape(expected.shape)
            found.append(np.frombuffer(swapped(data, self.machine), expected.dtype).reshape(expected.shape))
        return found


def difference(found: Any, expected: Any, exact: bool) -> str | None:
    """The difference of a result from the JIT's."""
    if exact or expected.dtype.name not in conformance.RTOL:
        return None if found.tobytes() == expected.tobytes() else "other bits"
    return conformance.difference(found, expected, None, False)


def check_headers(library: Library, case: Case, folder: Path) -> None:
    """Compile all that is C or C++ with warnings as errors. Raises RuntimeError."""
    library.write(folder)
    recorded = [Recorded(case.inputs, case.results)]
    (folder / "test.c").write_text(test_program(library.interface, recorded, RTOL))
    (folder / "bench.c").write_text(benchmark_program(library.interface))
    (folder / "use.cpp").write_text('#include "model.hpp"\nint main() { model::Program p; (void)p; return 0; }\n')
    for compiler, standard, file in (
        ("gcc", "c99", "test.c"),
        ("gcc", "c99", "bench.c"),
        ("gcc", "c11", "bench.c"),
        ("clang", "c99", "test.c"),
        ("clang", "c99", "bench.c"),
        ("g++", "c++17", "use.cpp"),
    ):
        if shutil.which(compiler) is None:
            continue
        command = [compiler, f"-std={standard}", *WARNINGS, "-O2", "-c", "-o", "/dev/null", file]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", choices=[*EMULATED, *WASM], help="an emulated machine")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--warnings", action="store_true")
    parser.add_argument("--every", type=int, help="only one program of so many (1 here, as many as leave 60 elsewhere)")
    given = parser.parse_args()
    if not conformance.ROOT.is_dir():
        print(f"skipped: {conformance.SKIP}")
        return 0
    machine = EMULATED.get(given.machine or "")
    missing = machine.missing if machine else shutil.which("node" if given.machine else "gcc") is None and "a tool"
    if missing:
        print(f"skipped: {missing} is not installed")
        return 0
    static = [program for program in conformance.stablehlo_programs() if program.static]
    total = len(static) + len(conformance.jax_programs())
    whole = given.machine is None and not given.sanitize and not given.warnings
    every = given.every or (1 if whole else total // SAMPLE)
    flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"] if given.sanitize else []
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runner = None if given.machine in WASM or given.warnings else Runner(folder, machine, flags)
        for case in cases(every):
            assert isinstance(case, Case)
            counts[_outcome(case, given.machine, machine, runner, folder, given.warnings)] += 1
    print(
        f"{given.machine or 'this machine'}: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    )
    return 1 if counts["wrong"] or counts["failed"] else 0


def _outcome(
    case: Case, name: str | None, machine: Emulated | None, runner: Runner | None, folder: Path, warnings: bool
) -> str:
    triple, cpu = (machine.triple, machine.cpu) if machine else ((name, None) if name else (None, "host"))
    try:
        made = [
            compile_ahead(text, triple=triple, cpu=cpu, external=name is None)
            for text in (case.text, case.checking)
            if text is not None
        ]
    except DiagnosticError as error:
        print(f"{case.name}: refused: {error.diagnostics[0].message}")
        return "refused by name"
    library = made[0]
    try:
        if warnings:
            check_headers(library, case, folder)
            return "clean"
        results = [_results(each, case, runner, folder) for each in made]
    except (RuntimeError, AssertionError, LinkError, subprocess.TimeoutExpired) as error:
        print(f"{case.name}: {str(error)[:1000]}")
        return "failed"
    # LAPACK chooses its blocks by the workspace that it gets.
    exact = name is None and not library.interface.lapack
    wrong = [
        f"{number}: {text}"
        for found in results
        for number, (result, expected) in enumerate(zip(found, case.results, strict=False))
        if (text := difference(result, expected, exact)) is not None
    ]
    if wrong:
        print(f"{case.name}: {'; '.join(wrong)}")
    return "wrong" if wrong else ("equal to the bit" if exact else "agree")


def _results(library: Library, case: Case, runner: Runner | None, folder: Path) -> list[Any]:
    """The results of a library; those that are checked by a library with checks are no results of it."""
    expected = case.results[: len(library.interface.results)]
    if runner is not None:
        return runner.results(library, replace(case, results=expected))
    return run_in_node(library, folder, case.inputs, expected)


if __name__ == "__main__":
    sys.exit(main())
