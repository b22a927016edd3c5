"""
Assemble the kernels of the conformance programs for AMD's chips, and count those that LLVM refuses; with `--run` they
also run on the SIMT interpreter with the waves of the chip, and the wrong results are counted.

    python test/amdgcn_conformance.py                           # all programs, three chips
    python test/amdgcn_conformance.py --run --every=8 gfx90a    # every eighth program, one chip

A program that the CPU target refuses as well (its sizes are unknown) is left out. Each program has a process of its own:
LLVM aborts where it cannot select an instruction. Exits with status 1 if anything was refused or wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / "unit"))

import conformance
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.device.amd_chips import AMD_CHIPS
from xhlo.targets.amdgcn.emission import emit_object
from xhlo.targets.amdgcn.linking import find_linker, linked
from xhlo.targets.amdgcn.target import AMDGCN
from xhlo.targets.compile import compile_source
from xhlo.targets.program.lowering import Lowering
from xhlo.targets.program.pipeline import parse_source
from xhlo.targets.program.source import read_source
from xhlo.targets.simt.target import SIMT


def programs() -> list[tuple[str, str]]:
    """Names and texts: those that JAX exported, and StableHLO's without unknown sizes."""
    found = [(name, conformance.jax_program(name).text) for name in conformance.jax_programs()]
    static = (program.name for program in conformance.stablehlo_programs() if program.static)
    return [*found, *((name, conformance.stablehlo_text(name)) for name in static)]


def assemble(text: str, chip: str) -> str:
    """Compile a program to a code object; the error if that fails."""
    source, ctx, target = read_source(text), make_context(), AMDGCN.configured({"chip": chip})
    lowering = Lowering(ctx, parse_source(source, ctx), target)
    lowering.to_the_end()
    code = emit_object(lowering.module, AMD_CHIPS[chip])
    if find_linker() is not None:
        linked(code)
    return ""


def run(name: str, text: str, chip: str) -> str:
    """Run a program on the interpreter; what is wrong with its results. StableHLO's programs check themselves."""
    executable = compile_source(read_source(text), SIMT.configured({"chip": chip}))
    if name not in conformance.jax_programs():
        executable()
        return ""
    program = conformance.jax_program(name)
    results = executable(*program.inputs)
    arrays = [np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]
    return "; ".join(conformance.wrong_outputs(program, arrays).values())


def alone(work: Callable[[], str]) -> str:
    """The answer of a function in a process of its own: an error that it raises or ends with."""
    with tempfile.TemporaryFile() as answer:
        child = os.fork()
        if child == 0:
            try:
                text = work()
            except (DiagnosticError, Exception) as error:
                text = f"{type(error).__name__}: {error}"
            os.write(answer.fileno(), text.encode())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        answer.seek(0)
        said = answer.read().decode()
        return said if status == 0 else f"the process ended with status {status}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chips", nargs="*", default=list(AMD_CHIPS))
    parser.add_argument("--run", action="store_true", help="also run on the interpreter")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth program")
    parser.add_argument("--start", type=int, default=0, metavar="N", help="from the Nth program on")
    arguments = parser.parse_args()
    chosen = programs()[arguments.start :: arguments.every]
    refused, wrong = 0, 0
    for chip in arguments.chips:
        for name, text in chosen:
            if problem := alone(lambda text=text, chip=chip: assemble(text, chip)):
                refused += 1
                print(f"{chip} {name}: {problem}", flush=True)
            if arguments.run and (problem := alone(lambda n=name, t=text, chip=chip: run(n, t, chip))):
                wrong += 1
                print(f"{chip} {name}: runs wrong: {problem}", flush=True)
    ran = f", {wrong} wrong" if arguments.run else ""
    print(f"{len(chosen)} programs for {', '.join(arguments.chips)}: {refused} refused{ran}")
    return 1 if refused or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
