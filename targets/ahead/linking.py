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
from collections.abc import Mapping, Sequence
from pathlib import Path

from .archive import archive
from .machine import VERSIONS, Format, Machine, kind_of
from .object_symbols import object_symbols, undefined_symbols


class LinkError(ValueError):
    """A shared library that cannot be linked here; the message says what to install."""


LLVM_FOLDER = Path("/usr/lib")
"""The folder where Debian has its versions of LLVM."""

_STACK = 1 << 20
"""Bytes of the stack of a module of WebAssembly, whose memory has it besides arrays."""


def linkers(machine: Machine) -> tuple[str, ...]:
    """The names of linkers that may link for a machine, the best first; LLVM's may end with a version."""
    own_format = {Format.WASM: "wasm-ld", Format.MACH_O: "ld64.lld", Format.COFF: "lld-link"}.get(machine.format)
    if own_format is not None:
        return (own_format,)
    prefix = machine.triple.replace("-unknown-", "-").replace("-pc-", "-")
    own = ("ld",) if machine.is_host_kind else ()
    # LLVM's linker has s390x only since its version 18.
    return (*(("ld.lld",) if not machine.kind.big_endian else ()), *own, f"{prefix}-ld")


def _found(name: str) -> str | None:
    """The path of a program, or of the greatest of its versions: `ld.lld-14`, or that of an LLVM in /usr/lib."""
    plain = shutil.which(name)
    if plain is not None or name not in ("ld.lld", "wasm-ld", "ld64.lld", "lld-link"):
        return plain
    versions: dict[int, str] = {}
    for path in LLVM_FOLDER.glob(f"llvm-*/bin/{name}"):
        if match := re.search(r"llvm-([0-9]{1,3})/", str(path)):
            versions.setdefault(int(match[1]), str(path))
    for folder in os.get_exec_path():
        for path in Path(folder).glob(f"{name}-*"):
            if match := re.fullmatch(re.escape(name) + r"-([0-9]{1,3})", path.name):
                versions.setdefault(int(match[1]), str(path))
    return versions[max(versions)] if versions else None


def shared_library(code: bytes, soname: str, exported: Sequence[str], machine: Machine) -> Mapping[str, bytes]:
    """
    The object file as a shared library that exports these functions, or as a module of WebAssembly, by its name, and
    what programs link in place of a DLL. Raises LinkError.

    Functions of libc and libm come from the program that loads it; a library for macOS names libSystem, which has
    both, and a DLL can need nothing.
    """
    linker = next(filter(None, map(_found, linkers(machine))), None)
    if linker is None:
        raise LinkError(
            f"a shared library for {machine.triple} needs a linker, none of {', '.join(linkers(machine))} is installed"
            f": install lld, or link the object file {_BY_HAND[machine.format]}"
        )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "in.o").write_bytes(code)
        options = _OPTIONS[machine.format](Path(folder), code, soname, exported, machine)
        done = subprocess.run([linker, *options], cwd=folder, capture_output=True, text=True)
        made = Path(folder, soname)
        if done.returncode or not made.exists():
            message = " ".join((done.stderr or done.stdout).split())
            hint = f"; link {_BY_HAND[machine.format]}" if machine.format is Format.COFF else ""
            raise LinkError(f"{Path(linker).name} cannot link the library for {machine.triple}: {message}{hint}")
        found = {soname: made.read_bytes()}
        if machine.format is Format.COFF:
            found[_import_library(soname, machine)] = Path(folder, _IMPORTS).read_bytes()
        return found


_IMPORTS = "imports.lib"


def _import_library(soname: str, machine: Machine) -> str:
    """The name that linkers of the system expect of what stands for a DLL."""
    name = soname.removesuffix(".dll")
    return f"{name}_dll.lib" if "windows-msvc" in machine.triple else f"lib{name}.dll.a"


def _elf(folder: Path, code: bytes, soname: str, exported: Sequence[str], machine: Machine) -> list[str]:
    (folder / "exported").write_text(f"{{ global: {'; '.join(exported)}; local: *; }};\n")
    hardening = ["-z", "noexecstack", "--build-id=none"]
    return ["-shared", "-soname", soname, "--version-script=exported", *hardening, "in.o", "-o", soname]


def _wasm(folder: Path, code: bytes, soname: str, exported: Sequence[str], machine: Machine) -> list[str]:
    options = ["--no-entry", "--allow-undefined", *(f"--export={name}" for name in (*exported, "__heap_base"))]
    wide = ["-mwasm64"] * (machine.kind.pointer_bits == 64)
    return [*options, "-z", f"stack-size={_STACK}", *wide, "in.o", "-o", soname]


def _mach_o(folder: Path, code: bytes, soname: str, exported: Sequence[str], machine: Machine) -> list[str]:
    """A description of libSystem (TAPI's version 4) stands for the library, which only Apple's systems have."""
    kind = kind_of(machine.triple)
    name, version = {"aarch64": "arm64"}.get(kind, kind), VERSIONS[kind]
    needed = ", ".join(f"_{symbol}" for symbol in [*undefined_symbols(code, machine.format), "dyld_stub_binder"])
    (folder / "libSystem.tbd").write_text(
        f"--- !tapi-tbd\ntbd-version: 4\ntargets: [ {name}-macos ]\ninstall-name: '/usr/lib/libSystem.B.dylib'\n"
        f"exports:\n  - targets: [ {name}-macos ]\n    symbols: [ {needed.replace('_dyld', 'dyld')} ]\n...\n"
    )
    system = ["-dylib", "-arch", name, "-platform_version", "macos", version, version]
    names = [option for symbol in exported for option in ("-exported_symbol", f"_{symbol}")]
    return [*system, "-install_name", f"@rpath/{soname}", *names, "in.o", "libSystem.tbd", "-o", soname]


def _coff(folder: Path, code: bytes, soname: str, exported: Sequence[str], machine: Machine) -> list[str]:
    """`_fltused` only says that floats are used; the C runtime defines it, which the library does without."""
    from .windows_support import support_object

    # A library: what nothing calls is left out.
    members = {"support.obj": support_object(machine)}
    names_in = {
        "support.obj": [name for name, defined in object_symbols(members["support.obj"], Format.COFF) if defined]
    }
    (folder / "support.lib").write_bytes(archive(members, names_in, Format.COFF))
    kind = {"x86_64": "x64", "aarch64": "arm64"}[kind_of(machine.triple)]
    names = [f"/export:{symbol}" for symbol in exported]
    # Without a time stamp the same object gives the same bytes.
    plain = ["/nologo", "/dll", "/noentry", f"/implib:{_IMPORTS}", "/nodefaultlib", "/Brepro", f"/machine:{kind}"]
    # Programs look for the DLL by the name of this file.
    return [*plain, *names, f"/alternatename:_fltused={exported[0]}", "in.o", "support.lib", f"/out:{soname}"]


_OPTIONS = {Format.ELF: _elf, Format.WASM: _wasm, Format.MACH_O: _mach_o, Format.COFF: _coff}
_BY_HAND = {
    Format.ELF: "with the machine's compiler (cc -shared)",
    Format.WASM: "with wasm-ld --no-entry",
    Format.MACH_O: "on a Mac (cc -dynamiclib)",
    Format.COFF: "on Windows (link /dll /noentry /export:..)",
}
"""How to link without lld."""
