"""
Assemble the kernels of the conformance programs for AMD's chips, and count those that LLVM refuses; with `--run` they run
on the SIMT interpreter with the waves of the chip, and the wrong results are counted.

    python test/amdgcn_conformance.py                           # all programs, three chips
    python test/amdgcn_conformance.py --run --every=8 gfx90a    # every eighth program, one chip

A program that the CPU target refuses as well (its sizes are unknown) is left out. The work is in a process of its own,
because LLVM aborts where it cannot select an instruction. Exits with status 1 if anything was refused or wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / "unit" / "support"))

import conformance
from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.device.amd_chips import AMD_CHIPS
from xhlo.targets.amdgcn.emission import emit_object
from xhlo.targets.amdgcn.linking import find_linker, linked
from xhlo.targets.amdgcn.target import AMDGCN
from xhlo.targets.compile import compile_source
from xhlo.targets.program.lowering import Lowering
from xhlo.targets.program.pipeline import parse_source, run_passes
from xhlo.targets.program.source import read_source
from xhlo.targets.simt.target import SIMT


def programs() -> list[tuple[str, str]]:
    """Names and texts: those that JAX exported, and StableHLO's without unknown sizes."""
    found = [(name, conformance.jax_program(name).text) for name in conformance.jax_programs()]
    static = (program.name for program in conformance.stablehlo_programs() if program.static)
    return [*found, *((name, conformance.stablehlo_text(name)) for name in static)]


def assemble(text: str, chips: Sequence[str]) -> str:
    """Compile a program to code objects; the error if that fails. Passes that do not depend on the chip run once."""
    ctx, target = make_context(), AMDGCN.configured({"chip": chips[0]})
    lowering = Lowering(ctx, parse_source(read_source(text), ctx), target)
    lowering.to("linalg")
    for chip in chips:
        module, target = lowering.module.clone(), AMDGCN.configured({"chip": chip})
        run_passes(ctx, module, target.passes_between("linalg", "llvm"))
        code = emit_object(module, AMD_CHIPS[chip])
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


def answers(works: Sequence[Callable[[], str]]) -> Iterator[str]:
    """The answers of functions in a process of their own: errors that they raise or end with."""
    done = 0
    while done < len(works):
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.close(reader)
            with os.fdopen(writer, "w") as stream:
                for work in works[done:]:
                    try:
                        text = work()
                    except Exception as error:
                        text = f"{type(error).__name__}: {error}".replace("\n", " ")
                    print(text, file=stream, flush=True)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as stream:
            for line in stream:
                done += 1
                yield line.rstrip("\n")
        _, status = os.wait()
        if status:
            done += 1
            yield f"the process ended with status {status}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chips", nargs="*", default=list(AMD_CHIPS))
    parser.add_argument("--run", action="store_true", help="run them on the interpreter instead")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth program")
    parser.add_argument("--start", type=int, default=0, metavar="N", help="from the Nth program on")
    arguments = parser.parse_args()
    chosen = programs()[arguments.start :: arguments.every]
    what = "wrong" if arguments.run else "refused"
    if arguments.run:
        works = {f"{name} {chip}": partial(run, name, text, chip) for name, text in chosen for chip in arguments.chips}
    else:
        works = {name: partial(assemble, text, arguments.chips) for name, text in chosen}
    bad = 0
    for number, (name, problem) in enumerate(zip(works, answers(list(works.values())), strict=True), 1):
        if problem:
            bad += 1
            print(f"{name}: {problem}", flush=True)
        if number % 20 == 0:
            print(f"{number} of {len(works)}", file=sys.stderr, flush=True)
    print(f"{len(chosen)} programs for {', '.join(arguments.chips)}: {bad} {what}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
