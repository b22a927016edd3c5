"""
The inner loops of the hottest kernels: their instructions, and the cycles that llvm-mca gives them on a model of a CPU.

    python benchmarks/kernels.py                          # twelve kernels of the speed table
    python benchmarks/kernels.py --only softmax --cpu=znver4 --mca=llvm-mca-19

Each program is compiled to assembly with `hlo-opt --fuse --lower --emit=asm` for this machine. The page shows the
longest of its innermost vector loops: instructions and multiply-adds of one iteration, divisions and
roots, loads and stores of the stack (spills), and the cycles of one iteration when many are in flight, with the
resource that bounds them. Loops that wait for memory take longer: KERNELS.md relates both to measured times.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from peers import functions
from peers.rows import ROWS

KERNELS = (
    "mean",
    "chain",
    "black_scholes",
    "softmax",
    "layernorm",
    "matmul_2048",
    "matmul_int8",
    "cumsum",
    "reduce_0",
    "mandelbrot",
    "sort",
    "cholesky",
)
LABEL, JUMP = re.compile(r"(\.L\w+):"), re.compile(r"\s+j\w+\s+(\.L\w+)")


@dataclass(frozen=True)
class InnerLoop:
    """The instructions of an innermost loop, as AT&T assembly."""

    lines: tuple[str, ...]

    def count(self, pattern: str) -> int:
        return sum(re.search(pattern, line) is not None for line in self.lines)

    @property
    def vectors(self) -> int:
        """Instructions on vectors."""
        return self.count(r"%[xyz]mm")


def inner_loops(assembly: str) -> Iterator[InnerLoop]:
    """The loops without jumps inside."""
    lines = assembly.split("\n")
    places: dict[str, int] = {}
    for number, line in enumerate(lines):
        label, jump = LABEL.match(line), JUMP.match(line)
        if label:
            places[label[1]] = number
        elif jump and jump[1] in places:
            body = [each.strip() for each in lines[places[jump[1]] + 1 : number + 1]]
            body = [each for each in body if each and not each.startswith((".", "#"))]
            if not any(each.startswith("j") or LABEL.match(each) for each in body[:-1]):
                yield InnerLoop(tuple(body))


def modelled(loop: InnerLoop, mca: str, cpu: str) -> str:
    """Cycles of one iteration, and the resource that is busy for longest; empty without llvm-mca."""
    if shutil.which(mca) is None:
        return ""
    text = "\n".join(line for line in loop.lines if not line.startswith("j"))
    done = subprocess.run(
        [mca, f"-mcpu={cpu}", "-iterations=200", "-mtriple=x86_64"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    cycles = int(re.findall(r"Total Cycles:\s+(\d+)", done.stdout)[0]) / 200
    names = dict(re.findall(r"^\[([\d.]+)\]\s+- (\S+)", done.stdout, re.MULTILINE))
    header, values = re.findall(r"Resource pressure per iteration:\n(.*)\n(.*)\n", done.stdout)[0]
    pressure = zip(re.findall(r"\[([\d.]+)\]", header), values.split(), strict=False)
    busy = {names[number]: float(value) for number, value in pressure if value != "-"}
    worst = max(busy, key=lambda name: busy[name])
    return f"{cycles:.1f} | {worst} {busy[worst]:.1f}"


def assembly_of(name: str) -> str:
    row = next(row for row in ROWS if row.name == name)
    function: Callable[..., Any] = getattr(functions, name)
    text = jax.jit(function).lower(*row.arguments()).as_text()
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(text)
        file.flush()
        command = [str(Path(sys.executable).with_name("hlo-opt")), file.name, "--fuse", "--lower", "--emit=asm"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(KERNELS), help="names of rows, between commas")
    parser.add_argument("--loops", type=int, default=3, help="the most loops to show of each program")
    parser.add_argument("--cpu", default="icelake-server", help="llvm-mca's model")
    parser.add_argument("--mca", default="llvm-mca", help="the program llvm-mca")
    options = parser.parse_args()
    print("| program | instructions | on vectors | multiply-adds | divisions | of the stack | cycles | busiest |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for name in options.only.split(","):
        found = sorted(inner_loops(assembly_of(name)), key=lambda loop: -loop.vectors)[: options.loops]
        for loop in found:
            if not loop.vectors:
                continue
            counts = [loop.count(r"\bvfn?m(add|sub)|vpdp"), loop.count(r"^v(div|sqrt)"), loop.count(r"\(%rsp\)")]
            shown = " | ".join(str(each) for each in (len(loop.lines), loop.vectors, *counts))
            print(f"| {name} | {shown} | {modelled(loop, options.mca, options.cpu) or '- | -'} |", flush=True)


if __name__ == "__main__":
    main()
