"""
Bytes that programs move, beside the least that they could: `python benchmarks/least_bytes.py`.

The least is each input read once and each output written once. Traffic is counted as `hlo-run --profile` counts it:
operands and results of each kernel call, times the iterations of the loops around it; for the CPU's kernels, and for
those of a GPU. Nothing is run, and no array is made. `--only=TEXT` takes the programs whose names contain it,
`--kernels=N` lists the N kernels that move the most, `--xla` adds the count of XLA:CPU's own cost analysis, `--write`
writes benchmarks/LEAST_BYTES.md.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation

from program_lists.least_bytes import Program, programs
from xhlo.dialects.support.kernel import TRIP_COUNT, is_kernel
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.ops.control_flow import WhileOp
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.nvptx.target import nvptx
from xhlo.targets.program.facts import Kernel
from xhlo.targets.program.module_facts import kernels_of
from xhlo.targets.program.pipeline import run_passes

TITLE = """\
# Bytes beside the least

Operands and results of all kernels in MB, beside each input read once and each output written once. A training step
also writes what its backward pass reads: the more examples for the same weights, the more of it there is beside them.
"""

HEAD = """\
| program | least MB | cpu MB | ratio | kernels | gpu MB | ratio | kernels |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


@dataclass(frozen=True)
class Traffic:
    """The bytes that the kernels of a program move in one run, and their calls."""

    bytes: int
    calls: int
    kernels: tuple[tuple[int, Kernel], ...]
    """Each with its calls, those that move the most first."""


def traffic(text: str, name: str, passes: Sequence[str]) -> Traffic:
    """The traffic of the kernels as `xhlo.program` describes them after these passes."""
    context = make_context()
    module = parse_module(text, name, context)
    run_passes(context, module, passes)
    calls = _calls(module)
    found = [(calls.get(kernel.name, 0), kernel) for kernel in kernels_of(module)]
    found.sort(key=lambda each: -each[0] * each[1].bytes)
    return Traffic(sum(n * kernel.bytes for n, kernel in found), sum(n for n, _ in found), tuple(found))


def _calls(module: ModuleOp) -> dict[str, int]:
    """How often one run calls each function. Raises ValueError for a loop of unknown length around a call."""
    found: dict[str, int] = {}
    for function in module.body.block.ops:
        for call in () if is_kernel(function) else function.walk():
            if isinstance(call, func.CallOp):
                callee = call.callee.root_reference.data
                found[callee] = found.get(callee, 0) + math.prod(_lengths(call))
    return found


def _lengths(op: Operation) -> Iterator[int]:
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, (WhileOp, scf.WhileOp)):
            count = parent.attributes.get(TRIP_COUNT)
            if not isinstance(count, IntegerAttr):
                raise ValueError("the program has a loop of unknown length")
            yield count.value.data
        parent = parent.parent_op()


@dataclass(frozen=True)
class Row:
    """The bytes that one program moves."""

    name: str
    least: int
    cpu: Traffic
    gpu: Traffic
    xla: float | None

    def __str__(self) -> str:
        cells = [self.name, f"{self.least / 1e6:.1f}"]
        for each in (self.cpu, self.gpu):
            cells += [f"{each.bytes / 1e6:.1f}", f"{each.bytes / self.least:.2f}", str(each.calls)]
        return f"| {' | '.join(cells)} |" + ("" if self.xla is None else f" XLA:CPU {self.xla / self.least:.2f}")


def measured(program: Program, xla: bool) -> Row:
    lowered = jax.jit(program.function, donate_argnums=program.donated).lower(*program.arguments)
    leaves = jax.tree.leaves((lowered.in_avals, lowered.out_info))
    least = sum(math.prod(each.shape) * each.dtype.itemsize for each in leaves)
    text, name = lowered.as_text(), f"{program.name}.mlir"
    theirs: Any = lowered.compile().cost_analysis() if xla else None
    count = None if theirs is None else theirs["bytes accessed"]
    # Loops of small kernels become kernels late.
    cpu, gpu = CPU.passes_to("loops"), nvptx().passes_to("loops")
    gpu = gpu[: gpu.index("outline-block-loops") + 1]
    return Row(program.name, least, traffic(text, name, cpu), traffic(text, name, gpu), count)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--kernels", type=int, default=0)
    parser.add_argument("--xla", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = [HEAD]
    print(HEAD)
    for program in programs():
        if options.only not in program.name:
            continue
        row = measured(program, options.xla)
        rows.append(str(row))
        print(rows[-1], flush=True)
        for where, each in (("cpu", row.cpu), ("gpu", row.gpu)) if options.kernels else ():
            for calls, kernel in each.kernels[: options.kernels]:
                size = calls * kernel.bytes
                what = f"{size / 1e6:10.2f} MB {size / row.least:6.2f} x{calls:<5} {kernel.kind:8} {kernel.name}"
                print(f"    {where} {what}")
    if options.write:
        Path(__file__).with_name("LEAST_BYTES.md").write_text("\n".join([TITLE, *rows, ""]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
