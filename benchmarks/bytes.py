"""
Kernels and the bytes that they move, for the programs of compile_time.py: calls in one run, and operands and results.

`python benchmarks/bytes.py --json=before.json` records; `--against=before.json` compares with a record, and exits with
1 if a program moves more bytes than it did. `--only=TEXT` takes the programs whose names contain it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import xhlo
from compile_programs import CONFORMANCE, compile_programs


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


def count(name: str, text: str) -> tuple[int, int]:
    """(kernels run, bytes moved) in one run."""
    executable = xhlo.compile(text, profile=True)
    executable(*inputs_of(name, executable))
    kernels = executable.kernels
    return sum(kernel.calls for kernel in kernels), sum(kernel.calls * kernel.bytes for kernel in kernels)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--only", default="")
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
    for name in more:
        print(f"moves more bytes than before: {name}")
    return 1 if more else 0


if __name__ == "__main__":
    sys.exit(main())
