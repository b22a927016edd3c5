"""Compile a program ahead of time: an object file without undefined symbols but the C library's, and its interface."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.garbage_collector import paused_gc
from ...lowering.convert_to_llvm.cpu import PARALLEL_FOR
from ...passes.manager.timing import Timing
from ..cpu.c_library import symbols
from ..cpu.jit import compile_to_object, link_texts
from ..llvm_text.module import emit_llvm_ir
from ..program.lowering import Lowering
from ..program.pipeline import parse_source
from ..program.source import Source, read_source
from .archive import archive
from .bindings import cmake_config, pkg_config, python_module, rust_module
from .header import c_header, cpp_header
from .interface import Interface, LibraryNameError, identifier, interface_of
from .linking import shared_library
from .machine import Machine, MachineError
from .multiversion import LEVELS, checked_levels, combined
from .pipeline import AheadPipeline
from .run_function import with_run_function
from .threads import Threads, parallel_for

Extra = Literal["shared", "python", "rust", "cmake", "pkg-config"]
"""A file that is written besides the object file, the static library and the headers."""


@dataclass(frozen=True)
class Library:
    """
    A program compiled ahead of time: what `compile_ahead` returns.

    >>> import xhlo
    >>> library = xhlo.compile_ahead("func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {return %x : tensor<3xf32>}")
    >>> library.name, [(port.name, port.element, port.count) for port in library.interface.arguments]
    ('model', [('x', 'float', 3)])
    >>> sorted(library.files())
    ['libmodel.a', 'model.h', 'model.hpp', 'model.o']
    """

    interface: Interface
    machine: Machine
    """The machine; that of the least level of several."""
    object: bytes = field(repr=False)
    """The relocatable object file, position-independent."""

    @property
    def name(self) -> str:
        """The prefix of its symbols."""
        return self.interface.name

    @property
    def archive(self) -> bytes:
        """The object file as a static library."""
        member = f"{self.name[:13]}.o"
        return archive({member: self.object}, {member: self.interface.symbols})

    @property
    def header(self) -> str:
        """The C header, for C99 and C++."""
        return c_header(self.interface, self._made_for)

    @property
    def _made_for(self) -> str:
        return f"{self.machine.triple}, {', '.join(self.interface.levels) or self.machine.cpu}"

    @property
    def cpp_header(self) -> str:
        """The C++17 class around it."""
        return cpp_header(self.interface)

    @property
    def shared_library(self) -> bytes:
        """The shared library, made by a linker of the system. Raises LinkError."""
        return shared_library(self.object, f"lib{self.name}.so", self.interface.symbols, self.machine)

    @property
    def python_module(self) -> str:
        """A Python module that runs the shared library beside it on NumPy arrays."""
        return python_module(self.interface, self._made_for)

    @property
    def rust_module(self) -> str:
        """A Rust module over the static library."""
        return rust_module(self.interface, self._made_for)

    @property
    def undefined_symbols(self) -> list[str]:
        """The functions that the object file needs: those of libc and libm that LLVM calls."""
        found = set(symbols(self.object))
        return sorted(name for name, defined in found if not defined and (name, True) not in found)

    def files(self, extras: Collection[Extra] = ()) -> Mapping[str, bytes]:
        """The files that `write` makes: content by name. Raises LinkError."""
        name = self.name
        found = {
            f"{name}.o": self.object,
            f"lib{name}.a": self.archive,
            f"{name}.h": self.header.encode(),
            f"{name}.hpp": self.cpp_header.encode(),
        }
        if "shared" in extras or "python" in extras:
            found[f"lib{name}.so"] = self.shared_library
        if "python" in extras:
            found[f"{name}.py"] = self.python_module.encode()
        if "rust" in extras:
            found[f"{name}.rs"] = self.rust_module.encode()
        if "cmake" in extras:
            found[f"{name}-config.cmake"] = cmake_config(self.interface).encode()
        if "pkg-config" in extras:
            found[f"{name}.pc"] = pkg_config(self.interface).encode()
        return found

    def write(self, folder: str | os.PathLike[str] = ".", extras: Collection[Extra] = ()) -> list[Path]:
        """
        Write the object file, the static library and the headers into a folder, which is made if need be; return the
        paths. `extras`: "shared" for the shared library, "python" for it with a module of Python, "rust", "cmake",
        "pkg-config". Raises OSError, LinkError. No file is left half-written.
        """
        made: list[Path] = []
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, content in self.files(extras).items():
            path = Path(folder, name)
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                file.write(content)
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
            made.append(path)
        return made


def compile_ahead(
    program: Any,
    name: str = "model",
    *,
    triple: str | None = None,
    cpu: str | Sequence[str] | None = None,
    threads: Threads | str = Threads.NONE,
    timing: Timing | None = None,
) -> Library:
    """
    Compile a program for a machine that need not be this one, to code that needs neither Python nor a runtime.

    `program`: as for `xhlo.compile`. `name`: the prefix of all symbols. `triple`: LLVM's name of the machine and
    system, such as "aarch64-linux-gnu"; this machine's by default. `cpu`: LLVM's name of the CPU, "x86-64-v3" where
    the machine is x86_64 and none is named, or "host"; or several of "x86-64", "x86-64-v2" to "x86-64-v4", for a
    library that chooses at its first run. `threads`: "none", or "callback" for a library whose loops are run by the
    function that is given to `NAME_set_parallel_for`.

    Raises DiagnosticError for an invalid program, or one that calls functions of the host program, MachineError for a
    machine that is not supported, LevelError, LibraryNameError; all are ValueErrors. `timing` receives the seconds of
    each stage.

    >>> import xhlo
    >>> library = xhlo.compile_ahead('''
    ... func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    ...   %0 = hlo.add %x, %x : tensor<3xf32>
    ...   return %0 : tensor<3xf32>
    ... }''', "twice", triple="aarch64-linux-gnu")
    >>> "int twice_run(const twice_args *args, const twice_results *results, void *arena);" in library.header
    True
    """
    levels = () if cpu is None or isinstance(cpu, str) else checked_levels(cpu)
    machines = [Machine.named(triple, level) for level in levels or (cast("str | None", cpu),)]
    if levels and not machines[0].triple.startswith("x86_64"):
        raise MachineError(f"several levels are of x86_64, not of '{machines[0].triple}'")
    if identifier(name) != name:
        raise LibraryNameError(f"'{name}' cannot begin the names of C functions: take letters, digits and underscores")
    source, timing = read_source(program), timing or Timing()
    versions = [_version(source, name, machine, Threads(threads), timing) for machine in machines]
    # The choice among the versions runs on every CPU.
    machine = Machine.named(triple, LEVELS[0]) if levels else machines[0]
    interface = versions[0].interface
    text = versions[0].text
    if levels:
        arena_bytes = max(version.interface.arena_bytes for version in versions)
        interface = replace(interface, arena_bytes=arena_bytes, levels=levels)
        text = combined(name, {level: version.text for level, version in zip(levels, versions, strict=True)})
    if interface.threads is Threads.CALLBACK:
        text = link_texts([text.replace(f"@{PARALLEL_FOR}(", f"@{name}_share("), machine.header + parallel_for(name)])
    llvm: dict[str, float] = {}
    code = compile_to_object(text, llvm, machine=machine.target_machine)
    timing.seconds.update((f"LLVM {stage}", seconds) for stage, seconds in llvm.items())
    return Library(interface, machine, code)


@dataclass(frozen=True)
class _Version:
    """The program for one CPU."""

    interface: Interface
    text: str


def _version(source: Source, name: str, machine: Machine, threads: Threads, timing: Timing) -> _Version:
    with paused_gc():
        ctx = make_context()
        with timing.stage("read"):
            module = parse_source(source, ctx)
        lowering = Lowering(ctx, module, AheadPipeline(machine, threads), timing)
        lowering.to_the_end()
        facts = lowering.facts
        for call in facts.host_calls:
            message = f"the program calls '{call.target}', which only a process with xhlo has: it is not compiled ahead"
            raise DiagnosticError(Diagnostic("error", message, call.location))
        interface = interface_of(name, facts, threads)
        with timing.stage("emit LLVM IR"):
            text = machine.header + with_run_function(emit_llvm_ir(lowering.module), interface)
    return _Version(interface, text)
