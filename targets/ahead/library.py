"""Compile a program ahead of time: an object file without undefined symbols but the C library's, and its interface."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...hlo_dialect.dialect import make_context
from ...lowering.convert_to_llvm.cpu import PARALLEL_FOR
from ...passes.manager.timing import Timing
from ..cpu.host import host_triple
from ..cpu.jit import compile_with_text, link_texts
from ..llvm_text.lapack import with_lapack
from ..llvm_text.module import emit_llvm_ir
from ..program.compiler_start import compiler_start
from ..program.entry_choice import choose_entry, hide_other_functions, public_functions
from ..program.lowering import Lowering
from ..program.pipeline import parse_source
from ..program.source import Source, read_source
from .archive import archive
from .bindings import cmake_config, pkg_config, python_module, rust_module
from .cpp_header import cpp_header
from .files import write_together
from .header import c_header
from .interface import FIRST_CHECK, Entry, Interface, LibraryNameError, entry_interface, taken_macros
from .javascript import javascript_module
from .linking import shared_library
from .machine import Format, Machine, MachineError, kind_of
from .multiversion import LEVELS, checked_levels, combined
from .names import identifier, is_reserved, no_python_module
from .object_symbols import undefined_symbols
from .pipeline import AheadPipeline
from .run_function import with_run_function
from .scalable_frames import WIDEST
from .stack import stack_bytes
from .threads import Threads, between, share_functions
from .weights import WeightsFile, address_declaration, set_weights
from .weights_header import weights_header

Extra = Literal["shared", "python", "rust", "javascript", "cmake", "pkg-config"]
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
    weights: bytes = field(default=b"", repr=False)
    """The file of large constants; empty if they are part of the object file."""
    optimized: str = field(default="", repr=False)
    """The LLVM IR of the object file."""

    @property
    def name(self) -> str:
        """The prefix of its symbols."""
        return self.interface.name

    @property
    def archive(self) -> bytes:
        """The object file as a static library."""
        member = f"{self.name[:13]}.o"
        return archive({member: self.object}, {member: self.interface.symbols}, self.machine.format)

    @property
    def header(self) -> str:
        """The C header, for C99 and C++."""
        longest = 8 * WIDEST if self.machine.any_length else None
        return c_header(self.interface, self._made_for, self.stack_bytes, longest)

    @cached_property
    def stack_bytes(self) -> list[int]:
        """The stack that a run of each entry takes at most, without that of functions that the program links."""
        runs = [f"{entry.prefix}_run" for entry in self.interface.entries]
        return stack_bytes(self.optimized, self.machine, runs, between(self.name, self.interface.threads))

    @property
    def _made_for(self) -> str:
        return f"{self.machine.triple}, {', '.join(self.interface.levels) or self.machine.cpu}"

    @property
    def cpp_header(self) -> str:
        """The C++17 class around it."""
        return cpp_header(self.interface)

    @property
    def shared_library(self) -> bytes:
        """The shared library, or module of WebAssembly, made by a linker of the system. Raises LinkError."""
        return self._shared[self._file("shared")]

    @property
    def _shared(self) -> Mapping[str, bytes]:
        return shared_library(self.object, self._file("shared"), self.interface.symbols, self.machine)

    @property
    def python_module(self) -> str:
        """A Python module that runs the shared library beside it on NumPy arrays."""
        return python_module(self.interface, self._made_for, self._file("shared"))

    @property
    def rust_module(self) -> str:
        """A Rust module over the static library."""
        return rust_module(self.interface, self._made_for)

    @property
    def javascript_module(self) -> str:
        """A JavaScript module that runs the module of WebAssembly on typed arrays."""
        return javascript_module(self.interface, self._made_for)

    @property
    def undefined_symbols(self) -> list[str]:
        """The functions that the object file needs: those of libc and libm that LLVM calls."""
        return undefined_symbols(self.object, self.machine.format)

    def _file(self, what: str) -> str:
        """The name of a file, by the habits of the system: of the "object", the "static" or "shared" library."""
        windows = "windows-msvc" in self.machine.triple
        if what == "object":
            return f"{self.name}.obj" if windows else f"{self.name}.o"
        if what == "static":
            return f"{self.name}.lib" if windows else f"lib{self.name}.a"
        shared = {Format.WASM: "{}.wasm", Format.COFF: "{}.dll", Format.MACH_O: "lib{}.dylib"}
        return shared.get(self.machine.format, "lib{}.so").format(self.name)

    def _check(self, extras: Collection[Extra]) -> None:
        """
        Raise MachineError for a file that the machine's programs have no use for, LibraryNameError for one that has no
        place, whatever linkers there are.
        """
        wasm = self.machine.format is Format.WASM
        if self.interface.lapack and ("python" in extras or "javascript" in extras):
            raise MachineError("the program calls LAPACK, which only a C program links: take --no-external")
        if "python" in extras and wasm:
            raise MachineError(f"Python loads no code for {self.machine.triple}: take --javascript")
        if "javascript" in extras and not wasm:
            raise MachineError(f"JavaScript loads code for wasm32, not for {self.machine.triple}")
        linked = "shared" in extras or "python" in extras
        if linked and self.interface.threads is Threads.OPENMP and self.machine.format is Format.MACH_O:
            raise MachineError("a .dylib with OpenMP is linked on a Mac (cc -dynamiclib -fopenmp)")
        if "python" in extras and (reason := no_python_module(self.name)):
            raise LibraryNameError(f"no module of Python can be called {self.name}: {reason}")

    def files(self, extras: Collection[Extra] = ()) -> Mapping[str, bytes]:
        """
        The files that `write` makes: content by name. Raises LinkError, MachineError for a file that the machine's
        programs have no use for, LibraryNameError for one that has no place.
        """
        self._check(extras)
        name = self.name
        found = {
            self._file("object"): self.object,
            self._file("static"): self.archive,
            f"{name}.h": self.header.encode(),
            f"{name}.hpp": self.cpp_header.encode(),
        }
        if self.interface.weights is not None:
            found[f"{name}_weights.h"] = weights_header(self.interface).encode()
        if "shared" in extras or "python" in extras or "javascript" in extras:
            found |= self._shared
        if "python" in extras:
            found[f"{name}.py"] = self.python_module.encode()
        if "javascript" in extras:
            found[f"{name}.mjs"] = self.javascript_module.encode()
        if "rust" in extras:
            found[f"{name}.rs"] = self.rust_module.encode()
        if "cmake" in extras:
            found[f"{name}-config.cmake"] = cmake_config(self.interface, self._file("static")).encode()
        if "pkg-config" in extras:
            found[f"{name}.pc"] = pkg_config(self.interface, self._file("static")).encode()
        if self.interface.weights is not None:
            file = os.path.normpath(self.interface.weights.file)
            if file in found:
                raise LibraryNameError(f"the weights cannot be in {file}, which is another file of the library")
            found[file] = self.weights
        return found

    def write(self, folder: str | os.PathLike[str] = ".", extras: Collection[Extra] = ()) -> list[Path]:
        """
        Write the object file, the static library and the headers into a folder, which is made if need be; return the
        paths. `extras`: "shared" for the shared library, "python" for it with a module of Python, "javascript", "rust",
        "cmake", "pkg-config". Raises OSError, LinkError, MachineError, and then has written none of them.
        """
        return write_together(Path(folder), self.files(extras))


def compile_ahead(
    program: Any,
    name: str = "model",
    *,
    triple: str | None = None,
    cpu: str | Sequence[str] | None = None,
    threads: Threads | str = Threads.NONE,
    entries: Sequence[str] | None = None,
    weights: str | None = None,
    external: bool = True,
    timing: Timing | None = None,
) -> Library:
    """
    Compile a program for a machine that need not be this one, to code that needs neither Python nor a runtime.

    program: as for `xhlo.compile`.
    name: the prefix of all symbols.
    triple: LLVM's name of the machine and system, such as "aarch64-linux-gnu"; by default this machine's.
    cpu: LLVM's name of the CPU, with features after plus signs ("generic-rv64+v"), or "host"; by default that of
        docs/ahead-of-time.md for the machine. Several of "x86-64", "x86-64-v2" to "x86-64-v4" make a library that
        chooses at its first run.
    threads: "none"; "openmp": OpenMP's threads run the loops; "callback": a function that is given to
        `NAME_set_parallel_for` runs them.
    entries: the functions of the program that C can call, or "all" for the public ones; by default @main. One is called
        `NAME_run`, several `NAME_FUNCTION_run`.
    weights: a file for the large constants, by its path from the folder of the other files, which C gives to
        `NAME_set_weights` before the first run.
    external: whether the code may call LAPACK, by Fortran's symbols such as `dgeqrf_`; without it, factorizations are
        loops, at any size.

    Raises DiagnosticError for an invalid program, or one that calls functions of the host program, and ValueErrors:
    MachineError for a machine that is not supported, LevelError, LibraryNameError, NoWeightsError. `timing` receives
    the seconds of each stage.

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
    if levels and kind_of(triple or host_triple()) != "x86_64":
        raise MachineError(f"several levels are of x86_64, not of '{triple or host_triple()}'")
    machines = [Machine.named(triple, level) for level in levels or (cast("str | None", cpu),)]
    if Threads(threads) is Threads.OPENMP and machines[0].format not in (Format.ELF, Format.MACH_O):
        raise MachineError(f"OpenMP's threads run no loops for '{machines[0].triple}': take --threads=callback")
    if identifier(name) != name:
        reason = "C or C++ reserves it" if is_reserved(name) else "take letters, digits and underscores"
        raise LibraryNameError(f"'{name}' cannot begin the names of C functions: {reason}")
    source, timing = read_source(program), timing or Timing()
    # The choice among the versions runs on every CPU.
    machine = Machine.named(triple, LEVELS[0]) if levels else machines[0]
    file = None if weights is None else WeightsFile(weights, machine.kind.big_endian)
    made = _Compilation(source, name, machines, levels, Threads(threads), file, external, timing)
    texts, found = made.entries(_prefixes(source, name, entries))
    described = None if file is None else file.described()
    interface = Interface(name, tuple(found), Threads(threads), levels, described, made.lapack)
    code, text = _linked(interface, machine, texts, timing)
    return Library(interface, machine, code, b"" if file is None else file.content, text)


def _prefixes(source: Source, name: str, entries: Sequence[str] | None) -> Mapping[str | None, str]:
    """The beginnings of symbols by entry, None for @main. Raises LibraryNameError, DiagnosticError."""
    if entries is None:
        return {None: name}
    chosen = [entries] if isinstance(entries, str) else list(entries)
    if chosen == ["all"]:
        chosen = public_functions(parse_source(source, make_context()))
    if len(chosen) == 1:
        return {chosen[0]: name}
    prefixes: dict[str | None, str] = {entry: f"{name}_{identifier(entry.removeprefix('@'))}" for entry in chosen}
    if not chosen:
        raise LibraryNameError("the library has no function: name one, or none for @main")
    if len({prefix.upper() for prefix in prefixes.values()}) < len(chosen):
        raise LibraryNameError(f"the functions {', '.join(chosen)} cannot be told apart by their names in C")
    return prefixes


@dataclass
class _Compilation:
    """The settings that all functions and versions of a library share."""

    source: Source
    name: str
    machines: Sequence[Machine]
    levels: Sequence[str]
    threads: Threads
    file: WeightsFile | None
    external: bool
    timing: Timing
    lapack: bool = False
    """Whether a function calls LAPACK."""

    def entries(self, prefixes: Mapping[str | None, str]) -> tuple[list[str], list[Entry]]:
        """The LLVM IR and the interface of each entry."""
        texts: list[str] = []
        found: list[Entry] = []
        for function, prefix in prefixes.items():
            first_check = FIRST_CHECK + sum(len(entry.checks) for entry in found)
            # Those of the entry `a` with an argument `b_c` begin like those of `a_b` with `c`.
            macros = taken_macros((self.name, *prefixes.values())).union(*(entry.macros for entry in found))
            versions = [self._version(function, prefix, machine, macros, first_check) for machine in self.machines]
            text, entry = versions[0]
            if self.levels:
                entry = replace(entry, arena_bytes=max(each.arena_bytes for _, each in versions))
                text = combined(prefix, dict(zip(self.levels, (text for text, _ in versions), strict=True)))
            texts.append(text)
            found.append(entry)
        return texts, found

    def _version(
        self, function: str | None, prefix: str, machine: Machine, macros: frozenset[str], first_check: int
    ) -> tuple[str, Entry]:
        """An entry for one CPU."""
        with compiler_start():
            ctx = make_context()
            with self.timing.stage("read"):
                module = parse_source(self.source, ctx)
                if function is None:
                    hide_other_functions(module)
                else:
                    choose_entry(module, function)
            lowering = Lowering(ctx, module, AheadPipeline(machine, self.threads, self.external), self.timing)
            lowering.to_the_end()
            facts = lowering.facts
            for call in facts.host_calls:
                if not call.is_of_lapack:
                    raise DiagnosticError(Diagnostic("error", _refusal(call.target), call.location))
            self.lapack |= bool(facts.host_calls)
            entry = entry_interface(prefix, facts, macros, first_check)
            with self.timing.stage("emit LLVM IR"):
                taken = self.file is not None and self.file.take(lowering.module, self.name)
                text = emit_llvm_ir(lowering.module, big_endian=machine.kind.big_endian)
                text = with_run_function(text, entry, self.name, taken)
                text = with_lapack(text, facts.host_calls, machine.kind.pointer_bits)
        return machine.header + (address_declaration(self.name) if taken else "") + text, entry


def _refusal(target: str) -> str:
    """The message about a call of a function that no C program has."""
    return f"the program calls '{target}', which only a process with xhlo has: it is not compiled ahead"


_HIDDEN = re.compile(r"^((?:define|declare) |@[^=]+ = (?:external )?)hidden ", re.MULTILINE)
"""Functions and data of LLVM IR that only the library itself may use."""


def _linked(interface: Interface, machine: Machine, texts: list[str], timing: Timing) -> tuple[bytes, str]:
    """The object file of all entries, with the functions that they share, and its optimized LLVM IR."""
    name = interface.name
    if interface.threads is not Threads.NONE:
        texts = [text.replace(f"@{PARALLEL_FOR}(", f"@{name}_share(") for text in texts]
        texts.append(machine.header + share_functions(name, interface.threads))
    if interface.weights is not None:
        texts.append(machine.header + set_weights(name, interface.weights, machine.kind.big_endian))
    text = link_texts(texts) if len(texts) > 1 else texts[0]
    if machine.format is Format.COFF:
        # Its libraries list their exports; LLVM makes directives of this that linkers before its version 15 refuse.
        text = _HIDDEN.sub(r"\1", text)
    llvm: dict[str, float] = {}
    made = compile_with_text(text, llvm, machine.target_machine)
    timing.seconds.update((f"LLVM {stage}", seconds) for stage, seconds in llvm.items())
    return made
