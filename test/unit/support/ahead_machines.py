"""Programs for other machines, run by emulators: what is installed, and how a program is built and run there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from xhlo.targets.ahead.c_programs import Recorded, test_program
from xhlo.targets.ahead.library import Library
from xhlo.tools.arrays import RTOL

WARNINGS = ("-Wall", "-Wextra", "-pedantic", "-Werror")


@dataclass(frozen=True)
class Emulated:
    """A machine, a compiler of C for it, and the command that runs its programs here."""

    triple: str
    compiler: str
    runner: tuple[str, ...] = ()
    cpu: str | None = None

    @property
    def missing(self) -> str | None:
        """The tool that is not installed."""
        return next((tool for tool in (self.compiler, *self.runner[:1]) if shutil.which(tool) is None), None)


def _linux(machine: str, system: str, *flags: str, runner: str | None = None, cpu: str | None = None) -> Emulated:
    tools = f"{machine.replace('armv7', 'arm')}-linux-{system}"
    command = (runner or f"qemu-{machine}", *flags, "-L", f"/usr/{tools}")
    return Emulated(f"{machine}-linux-{system}", f"{tools}-gcc", command, cpu)


EMULATED = {
    "x86-64": Emulated("x86_64-linux-gnu", "gcc", cpu="x86-64"),
    "aarch64": _linux("aarch64", "gnu"),
    "aarch64+sve": _linux("aarch64", "gnu", "-cpu", "max,sve-max-vq=4", cpu="generic+sve"),
    "armv7": _linux("armv7", "gnueabihf", runner="qemu-arm"),
    "riscv64": _linux("riscv64", "gnu"),
    "riscv64+v": _linux("riscv64", "gnu", "-cpu", "rv64,v=true,vlen=128,vext_spec=v1.0", cpu="generic-rv64+v"),
    "s390x": _linux("s390x", "gnu"),
}


def run(folder: Path, *command: str) -> str:
    """The output of a command that has to succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_recorded(machine: Emulated, library: Library, folder: Path, recorded: Sequence[Recorded], *flags: str) -> str:
    """Build the C program that checks recorded results, and run it: what it prints."""
    library.write(folder)
    (folder / "recorded.c").write_text(test_program(library.interface, recorded, RTOL))
    archive = f"lib{library.name}.a"
    run(folder, machine.compiler, "-std=c99", *WARNINGS, *flags, "recorded.c", archive, "-lm", "-o", "recorded")
    done = subprocess.run([*machine.runner, "./recorded"], cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr


_NODE = """
import { readFileSync, writeFileSync } from "node:fs";
import { load } from "./NAME.mjs";
const program = await load(readFileSync("NAME.wasm"));
const types = [TYPES];
const read = (type, n) => { const { buffer, byteOffset, byteLength } = readFileSync(`in${n}`);
    return new type(buffer.slice(byteOffset, byteOffset + byteLength)); };
program.run(...types.map(read)).forEach((array, n) => writeFileSync(`out${n}`, new Uint8Array(array.buffer)));
"""


MEMORY64 = "--experimental-wasm-memory64"


@cache
def node_flags(triple: str) -> tuple[str, ...]:
    """The flag that node needs for memories of 64 bits until its version 24."""
    known = subprocess.run(["node", MEMORY64, "-e", ""], capture_output=True).returncode == 0
    return (MEMORY64,) if triple.startswith("wasm64") and known else ()


def run_in_node(library: Library, folder: Path, inputs: Sequence[Any], results: Sequence[Any]) -> list[np.ndarray]:
    """Run a module of WebAssembly; `results` give the types of what it returns."""
    library.write(folder, ["javascript"])
    for number, array in enumerate(inputs):
        (folder / f"in{number}").write_bytes(np.ascontiguousarray(array).tobytes())
    text = (folder / f"{library.name}.mjs").read_text()
    types = [part.partition(",")[0] for part in text.partition("results:")[0].split("type: ")[1:]]
    (folder / "use.mjs").write_text(_NODE.replace("NAME", library.name).replace("TYPES", ", ".join(types)))
    run(folder, "node", *node_flags(library.machine.triple), "use.mjs")
    return [
        np.frombuffer((folder / f"out{number}").read_bytes(), array.dtype).reshape(array.shape)
        for number, array in enumerate(results)
    ]
