"""
Shared libraries of compiled programs, by a linker of the system.

A linker knows what differs between systems (properties of the machine, hashes of symbols, notes for the kernel), and
every system that builds C programs has one; the object file and the archive need none.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .machine import Format, Machine


class LinkError(ValueError):
    """A shared library that cannot be linked here; the message says what to install."""


_STACK = 1 << 20
"""Bytes of the stack of a module of WebAssembly, whose memory has it besides arrays."""


def linkers(machine: Machine) -> tuple[str, ...]:
    """The names of linkers that may link for a machine, the best first; LLVM's may end with a version."""
    if machine.format is Format.WASM:
        return ("wasm-ld",)
    prefix = machine.triple.replace("-unknown-", "-").replace("-pc-", "-")
    own = ("ld",) if machine.is_host_kind else ()
    # LLVM's linker has s390x only since its version 18.
    return (*(("ld.lld",) if not machine.kind.big_endian else ()), *own, f"{prefix}-ld")


def _found(name: str) -> str | None:
    """The path of a program, or of the greatest of its versions: `ld.lld-14`."""
    plain = shutil.which(name)
    if plain is not None or name not in ("ld.lld", "wasm-ld"):
        return plain
    versions: dict[int, str] = {}
    for folder in os.get_exec_path():
        for path in Path(folder).glob(f"{name}-*"):
            if match := re.fullmatch(re.escape(name) + r"-([0-9]{1,3})", path.name):
                versions.setdefault(int(match[1]), str(path))
    return versions[max(versions)] if versions else None


def shared_library(code: bytes, soname: str, exported: Sequence[str], machine: Machine) -> bytes:
    """
    The object file as a shared library that exports these functions, or as a module of WebAssembly. Raises LinkError.

    What it needs of libc and libm is left to the program that loads it.
    """
    if machine.format in (Format.MACH_O, Format.COFF):
        raise LinkError(
            f"a shared library for {machine.triple} needs that system's own libraries: link the object file there "
            "(clang -dynamiclib, or link /dll /export:..)"
        )
    linker = next(filter(None, map(_found, linkers(machine))), None)
    if linker is None:
        raise LinkError(
            f"a shared library for {machine.triple} needs a linker, none of {', '.join(linkers(machine))} is installed"
            ": install lld, or link the object file with the machine's compiler (cc -shared)"
        )
    with tempfile.TemporaryDirectory() as folder:
        object_file, script, made = (Path(folder, name) for name in ("in.o", "exported", "out.so"))
        object_file.write_bytes(code)
        if machine.format is Format.WASM:
            options = ["--no-entry", "--allow-undefined", *(f"--export={name}" for name in (*exported, "__heap_base"))]
            options += ["-z", f"stack-size={_STACK}"]
            options += ["-mwasm64"] * (machine.kind.pointer_bits == 64)
        else:
            script.write_text(f"{{ global: {'; '.join(exported)}; local: *; }};\n")
            options = [
                "-shared",
                "-soname",
                soname,
                f"--version-script={script}",
                "-z",
                "noexecstack",
                "--build-id=none",
            ]
        done = subprocess.run([linker, *options, str(object_file), "-o", str(made)], capture_output=True, text=True)
        if done.returncode:
            message = " ".join(done.stderr.split())
            raise LinkError(f"{Path(linker).name} cannot link the library for {machine.triple}: {message}")
        return made.read_bytes()
