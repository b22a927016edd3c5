"""The resources of kernels, as ptxas reports them (`ptxas -v`)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class KernelResources:
    """One kernel's use of registers (32 bits each) and memory, in bytes per thread unless stated otherwise."""

    name: str
    registers: int = 0
    """Registers per thread."""
    spill_stores: int = 0
    """Bytes of registers that are spilled to local memory."""
    spill_loads: int = 0
    stack: int = 0
    """Local memory: dynamically indexed arrays, and spills."""
    shared: int = 0
    """Bytes of shared memory per block."""
    barriers: int = 0
    """Barriers per block, of 16."""

    @property
    def spills(self) -> bool:
        return bool(self.spill_stores or self.spill_loads)


_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_PROPERTIES = re.compile(r"Function properties for '?([^':\s]+)'?")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r": Used (\d+) registers(.*)")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")


def parse_resources(log: str) -> tuple[KernelResources, ...]:
    """The kernels of a log of `ptxas -v` or of nvJitLink with `-Xptxas=-v`, sorted by name."""
    kernels: dict[str, KernelResources] = {}
    entry = described = ""
    for line in log.splitlines():
        if match := _ENTRY.search(line):
            entry = described = match[1]
            kernels[entry] = KernelResources(entry)
        elif match := _PROPERTIES.search(line):
            described = match[1]
        elif described not in kernels:
            continue  # a function that is no kernel
        elif match := _STACK.search(line):
            stack, stores, loads = map(int, match.groups())
            kernels[described] = replace(kernels[described], stack=stack, spill_stores=stores, spill_loads=loads)
        elif match := _USED.search(line):
            barriers, shared = _BARRIERS.search(match[2]), _SHARED.search(match[2])
            kernels[entry] = replace(
                kernels[entry],
                registers=int(match[1]),
                barriers=int(barriers[1]) if barriers else 0,
                shared=int(shared[1]) if shared else 0,
            )
    return tuple(kernels[name] for name in sorted(kernels))


_COLUMNS = ("registers", "spill stores", "spill loads", "stack", "shared", "barriers")


def resources_table(kernels: Iterable[KernelResources]) -> str:
    """A table with a line per kernel; memory in bytes."""
    rows = [(k.name, k.registers, k.spill_stores, k.spill_loads, k.stack, k.shared, k.barriers) for k in kernels]
    width = max([len("kernel"), *(len(row[0]) for row in rows)])
    lines = [f"{'kernel':<{width}}  " + "  ".join(_COLUMNS)]
    for name, *numbers in rows:
        cells = (f"{number:>{len(column)}}" for number, column in zip(numbers, _COLUMNS, strict=True))
        lines.append(f"{name:<{width}}  " + "  ".join(cells))
    return "\n".join(lines) + "\n"
