"""
Shared libraries of compiled programs, by a linker of the system.

A linker knows what differs between systems (properties of the machine, hashes of symbols, notes for the kernel), and
every system that builds C programs has one; the object file and the archive need none.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .machine import Machine


class LinkError(ValueError):
    """A shared library that cannot be linked here; the message says what to install."""


def linkers(machine: Machine) -> tuple[str, ...]:
    """The names of linkers that may link for a machine, the best first."""
    prefix = machine.triple.replace("-unknown-", "-").replace("-pc-", "-")
    own = ("ld",) if machine.is_host_kind else ()
    return ("ld.lld", *own, f"{prefix}-ld")


def shared_library(code: bytes, soname: str, exported: Sequence[str], machine: Machine) -> bytes:
    """
    The object file as a shared library that exports these functions. Raises LinkError.

    What it needs of libc and libm is left to the program that loads it.
    """
    linker = next(filter(None, map(shutil.which, linkers(machine))), None)
    if linker is None:
        raise LinkError(
            f"a shared library for {machine.triple} needs a linker, none of {', '.join(linkers(machine))} is installed"
            ": install lld, or link the object file with the machine's compiler (cc -shared)"
        )
    with tempfile.TemporaryDirectory() as folder:
        object_file, script, made = (Path(folder, name) for name in ("in.o", "exported", "out.so"))
        object_file.write_bytes(code)
        script.write_text(f"{{ global: {'; '.join(exported)}; local: *; }};\n")
        options = ["-shared", "-soname", soname, f"--version-script={script}", "-z", "noexecstack", "--build-id=none"]
        done = subprocess.run([linker, *options, str(object_file), "-o", str(made)], capture_output=True, text=True)
        if done.returncode:
            message = " ".join(done.stderr.split())
            raise LinkError(f"{Path(linker).name} cannot link the library for {machine.triple}: {message}")
        return made.read_bytes()
