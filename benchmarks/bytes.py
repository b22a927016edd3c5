"""
Kernels and the bytes that they move, for the programs of compile_time.py: calls in one run, and operands and results.

`python benchmarks/bytes.py --json=before.json` records; `--against=before.json` compares with a record, and exits with
1 if a program moves more bytes than it did. `--only=TEXT` takes the programs whose names contain it. `--write` writes
benchmarks/BYTES.md, with the least that each program could move: each input read once, each output written once.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

import xhlo
from program_lists.compiled import CONFORMANCE, compile_programs


def inputs_of(name: str, executable: Any) -> list[np.ndarray]:
    """The program's own inputs where it has some, else ones."""
    stored = CONFORMANCE / f"{name}.npz"
    types = executable.input_types
    if not stored.exists():
        return [np.ones(type_.shape, type_.dtype) for type_ in types]
    with np.load(stored) as arrays:
        given = [arrays[f"in_{i}"] for i in range(len(types))]
    return [
        (array if array.dtype == type_.dtype else np.frombuffer(array.tobytes(), type_.dtype)).reshape(type_.shape)
        for array, type_ in zip(given, types, strict=True)
    ]


def count(name: str, text: str) -> tuple[int, int, int]:
    """(kernels run, bytes moved, bytes of inputs and outputs) in one run."""
    executable = xhlo.compile(text, profile=True)
    executable(*inputs_of(name, executable))
    kernels = executable.kernels
    types = (*executable.input_types, *executable.output_types)
    least = sum(math.prod(type_.shape) * np.dtype(type_.dtype).itemsize for type_ in types)
    return sum(k.calls for k in kernels), sum(k.calls * k.bytes for k in kernels), least


def page(found: dict[str, list[int]], before: dict[str, list[int]]) -> str:
    """The table of all programs, those with the most bytes above the least first."""
    head = ["program", "kernels", "bytes", "least", *(("kernels before", "bytes before", "ratio") if before else ())]
    rows = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]

    def row(name: str, now: list[int], old: list[int] | None) -> str:
        cells = [name, *(f"{number:,}" for number in now)]
        if old is not None:
            cells += [f"{old[0]:,}", f"{old[1]:,}", f"{now[1] / max(1, old[1]):.2f}"]
        return "| " + " | ".join(cells + [""] * (len(head) - len(cells))) + " |"

    for name in sorted(found, key=lambda name: (found[name][2] - found[name][1], name)):
        rows.append(row(name, found[name], before.get(name)))
    shared = [name for name in found if name in before]
    old = [sum(before[name][which] for name in shared) for which in (0, 1)] if shared else None
    rows.append(row("all", [sum(each[which] for each in found.values()) for which in range(3)], old))
    text = (
        "Kernels that one run calls, and the bytes of their operands and results, as `hlo-run --profile` counts them;\n"
        "the least is each input and output once. Kernels that read parts of an input may stay below it. Before: the\n"
        "counts of the first measurement, `--against` a record."
    )
    return "\n".join(["# Kernels and bytes moved", "", text, "", *rows, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    before: dict[str, list[int]] = json.loads(options.against.read_text()) if options.against else {}
    found: dict[str, list[int]] = {}
    more: list[str] = []
    print(
        f"{'kernels':>8} {'bytes':>12}" + (f" {'before':>8} {'bytes':>12} {'ratio':>6}" if before else "") + "  program"
    )
    for name, text in compile_programs():
        if options.only not in name:
            continue
        found[name] = list(count(name, text))
        line = f"{found[name][0]:>8} {found[name][1]:>12}"
        if name in before:
            old = before[name]
            line += f" {old[0]:>8} {old[1]:>12} {found[name][1] / max(1, old[1]):>6.2f}"
            if found[name][1] > old[1]:
                more.append(name)
        print(f"{line}  {name}")
    shared = [name for name in found if name in before]
    for what, which in (("kernels", 0), ("bytes", 1)):
        total = sum(each[which] for each in found.values())
        ratio = sum(found[n][which] for n in shared) / max(1, sum(before[n][which] for n in shared)) if shared else 0
        print(f"{what} in all: {total}" + (f", {ratio:.3f} of before" if shared else ""))
    if options.json:
        options.json.write_text(json.dumps(found))
    if options.write:
        Path(__file__).with_name("BYTES.md").write_text(page(found, before))
    for name in more:
        print(f"moves more bytes than before: {name}")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
