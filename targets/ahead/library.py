"""Compile a program ahead of time: an object file without undefined symbols but the C library's, and its interface."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.garbage_collector import paused_gc
from ...passes.manager.timing import Timing
from ..cpu.c_library import symbols
from ..cpu.jit import compile_to_object
from ..llvm_text.module import emit_llvm_ir
from ..program.lowering import Lowering
from ..program.pipeline import parse_source
from ..program.source import Source, read_source
from .archive import archive
from .header import c_header, cpp_header
from .interface import Interface, LibraryNameError, identifier, interface_of
from .machine import Machine
from .pipeline import AheadPipeline
from .run_function import with_run_function


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
        return c_header(self.interface, f"{self.machine.triple}, {self.machine.cpu}")

    @property
    def cpp_header(self) -> str:
        """The C++17 class around it."""
        return cpp_header(self.interface)

    @property
    def undefined_symbols(self) -> list[str]:
        """The functions that the object file needs: those of libc and libm that LLVM calls."""
        found = set(symbols(self.object))
        return sorted(name for name, defined in found if not defined and (name, True) not in found)

    def files(self) -> Mapping[str, bytes]:
        """The files that `write` makes: content by name."""
        return {
            f"{self.name}.o": self.object,
            f"lib{self.name}.a": self.archive,
            f"{self.name}.h": self.header.encode(),
            f"{self.name}.hpp": self.cpp_header.encode(),
        }

    def write(self, folder: str | os.PathLike[str] = ".") -> list[Path]:
        """
        Write the object file, the static library and the headers into a folder, which is made if need be; return the
        paths. Raises OSError. No file is left half-written.
        """
        made: list[Path] = []
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, content in self.files().items():
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
    cpu: str | None = None,
    timing: Timing | None = None,
) -> Library:
    """
    Compile a program for a machine that need not be this one, to code that needs neither Python nor a runtime.

    `program`: as for `xhlo.compile`. `name`: the prefix of all symbols. `triple`: LLVM's name of the machine and
    system, such as "aarch64-linux-gnu"; this machine's by default. `cpu`: LLVM's name of the CPU, "x86-64-v3" where
    the machine is x86_64 and none is named, or "host". The code runs on one thread.

    Raises DiagnosticError for an invalid program, or one that calls functions of the host program, MachineError for a
    machine that is not supported, LibraryNameError; both are ValueErrors. `timing` receives the seconds of each stage.

    >>> import xhlo
    >>> library = xhlo.compile_ahead('''
    ... func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    ...   %0 = hlo.add %x, %x : tensor<3xf32>
    ...   return %0 : tensor<3xf32>
    ... }''', "twice", triple="aarch64-linux-gnu")
    >>> "int twice_run(const twice_args *args, const twice_results *results, void *arena);" in library.header
    True
    """
    machine = Machine.named(triple, cpu)
    if identifier(name) != name:
        raise LibraryNameError(f"'{name}' cannot begin the names of C functions: take letters, digits and underscores")
    return _compile(read_source(program), name, machine, timing or Timing())


def _compile(source: Source, name: str, machine: Machine, timing: Timing) -> Library:
    with paused_gc():
        ctx = make_context()
        with timing.stage("read"):
            module = parse_source(source, ctx)
        lowering = Lowering(ctx, module, AheadPipeline(machine), timing)
        lowering.to_the_end()
        facts = lowering.facts
        for call in facts.host_calls:
            message = f"the program calls '{call.target}', which only a process with xhlo has: it is not compiled ahead"
            raise DiagnosticError(Diagnostic("error", message, call.location))
        interface = interface_of(name, facts)
        with timing.stage("emit LLVM IR"):
            text = machine.header + with_run_function(emit_llvm_ir(lowering.module), interface)
    llvm: dict[str, float] = {}
    code = compile_to_object(text, llvm, machine=machine.target_machine)
    timing.seconds.update((f"LLVM {stage}", seconds) for stage, seconds in llvm.items())
    return Library(interface, machine, code)
