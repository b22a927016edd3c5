"""
Write what this process makes of some programs, which depends neither on PYTHONHASHSEED nor on the number of threads:

    python seed_outputs.py FOLDER

`lowered`: modules with remarks, and assembly; `random`: digests of the LLVM dialect and of results of random programs;
`mlir`, `ptx` and, with ptxas, `cubin`: a program for GPUs.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from checkout import ROOT, SHARED
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing.printer import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.lowering import Lowering
from xhlo.tools.fuzzing.operations import random_program
from xhlo.tools.fuzzing.programs import LARGE, SMALL
from xhlo.tools.hlo_opt import main as hlo_opt

CONFORMANCE = SHARED / "conformance" / "jax"
SOFTMAX, TRAINING = (ROOT / "examples" / f"{name}.mlir" for name in ("softmax", "mlp_training_step"))
PROGRAMS = [
    each
    for each in (SOFTMAX, TRAINING, CONFORMANCE / "model_lstm.mlir", CONFORMANCE / "hmm_viterbi.mlir")
    if each.exists()
]
SEEDS = [(SMALL, seed) for seed in range(5000, 5008)] + [(LARGE, seed) for seed in range(5000, 5012)]
FORMS = ("mlir", "ptx", "cubin") if shutil.which("ptxas") else ("mlir", "ptx")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def print_lowered() -> None:
    for path in PROGRAMS:
        assert hlo_opt(["--fuse", "--fuse-remarks", "--lower", str(path)]) == 0
    assert hlo_opt(["--fuse", "--lower", "--emit=asm", str(SOFTMAX)]) == 0


def print_random() -> None:
    for profile, seed in SEEDS:
        program, ctx = random_program(random.Random(seed), profile), make_context()
        lowering = Lowering(ctx, parse_module(program.text, "<text>", ctx), CPU)
        lowering.to("llvm")
        texts = [program.text, print_module(lowering.module)]
        results = CPU.build(lowering, lambda _: "")(*program.inputs)
        results = results if isinstance(results, tuple) else (results,)
        print(seed, *(digest(each.encode()) for each in texts), *(digest(each.tobytes()) for each in results))


def write_gpu(folder: Path) -> None:
    """The lowered program, and what is emitted from it."""
    source = [str(TRAINING), "--fuse", "--lower"]
    for form in FORMS:
        assert hlo_opt([*source, "--target=nvptx", f"--emit={form}", "-o", str(folder / form)]) == 0
        source = [str(folder / "mlir")]


def main(folder: Path) -> None:
    for name, print_ in (("lowered", print_lowered), ("random", print_random)):
        with (folder / name).open("w", encoding="utf-8") as stream, redirect_stdout(stream), redirect_stderr(stream):
            print_()
    write_gpu(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
