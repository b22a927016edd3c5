"""
The memory of training steps beside XLA:CPU: `python benchmarks/memory.py`.

A run takes scratch memory beside arguments and results: xhlo's arena, and XLA's `temp_size_in_bytes`, which leaves out
what XLA's library calls allocate. The values in the arena leave out the kernels' own scratch (the panels of products)
in the same way; the first ratio compares these. The whole is arena, arguments, and those results that are in no donated
argument's memory. Nothing is run. `--only=TEXT` takes the programs whose names contain it, `--donate` donates the first
argument, `--write` writes benchmarks/MEMORY.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from jax_programs import entries
from jax_programs.program import JaxProgram
from program_lists.memory import STEPS
from program_lists.networks import TRAINING
from xhlo.dialects.support.buffer_ops import byte_size
from xhlo.dialects.support.buffers import Buffer
from xhlo.dialects.support.kernel import entry_name
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.passes.manager.places import pass_name
from xhlo.passes.plan_buffers.intervals import Positions
from xhlo.passes.plan_buffers.offsets import assign_offsets
from xhlo.passes.plan_buffers.transform import hoist_kernel_buffers, result_memory
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.module_facts import donated_arguments
from xhlo.targets.program.pipeline import run_passes

HEAD = """\
| training step | xhlo arena MB | values in it | XLA:CPU temp | ratio | xhlo whole MB | XLA:CPU | ratio |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def training_steps(only: str) -> Iterator[JaxProgram]:
    yield from (program for make in (*TRAINING, *STEPS) if only in (program := make()).name)
    yield from (entry.make() for entry in entries("training.") if only in entry.name)


@dataclass(frozen=True)
class Measured:
    """Bytes of one program."""

    scratch: int
    values: int
    """The arena without the kernels' own scratch."""
    whole: int
    xla_scratch: int
    xla_whole: int


def measured(program: JaxProgram, donate: bool) -> Measured:
    with jax.enable_x64(program.x64):
        lowered = jax.jit(program.function, donate_argnums=0 if donate else ()).lower(*program.arguments)
    theirs: Any = lowered.compile().memory_analysis()
    their_own = theirs.argument_size_in_bytes + theirs.output_size_in_bytes - theirs.alias_size_in_bytes
    context = make_context()
    module = parse_module(lowered.as_text(), f"{program.name}.mlir", context)
    specs = CPU.passes_to("loops")
    planner = [pass_name(spec) for spec in specs].index("plan-buffers")
    run_passes(context, module, specs[:planner])
    entry = next(op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data == entry_name(module))
    values = _arena(module, entry)
    hoist_kernel_buffers(module)
    arena = _arena(module, entry)
    buffers = [byte_size(cast(Buffer, type_)) for type_ in entry.function_type.inputs]
    inputs = len(jax.tree.leaves(program.arguments))
    placed = sum(buffers[inputs + number] for number in donated_arguments(module) if number >= 0)
    return Measured(
        arena,
        values,
        arena + sum(buffers) - placed,
        theirs.temp_size_in_bytes,
        theirs.temp_size_in_bytes + their_own,
    )


def _arena(module: ModuleOp, entry: func.FuncOp) -> int:
    positions = Positions(entry)
    return assign_offsets(positions.intervals(), result_memory(module, entry, positions))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--donate", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = [HEAD]
    print(HEAD)
    for program in training_steps(options.only):
        found = measured(program, options.donate)
        rows.append(
            f"| {program.name} | {found.scratch / 1e6:.2f} | {found.values / 1e6:.2f} | {found.xla_scratch / 1e6:.2f} "
            f"| {found.values / max(1, found.xla_scratch):.2f} | {found.whole / 1e6:.2f} | {found.xla_whole / 1e6:.2f} "
            f"| {found.whole / max(1, found.xla_whole):.2f} |"
        )
        print(rows[-1], flush=True)
    if options.write:
        Path(__file__).with_name("MEMORY.md").write_text("\n".join(["# Memory of training steps", "", *rows, ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
