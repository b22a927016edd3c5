"""The C interface of a library: the names of arguments and results, and their C types."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from xdsl.dialects.builtin import UNKNOWN_LOC

from ...hlo_dialect.custom_calls.call import call_of
from ...hlo_dialect.custom_calls.markers import ASSERTION, assertion_text
from ...hlo_dialect.errors import file_location
from ...hlo_dialect.types import ArrayType
from ..program.facts import Check, Facts
from .names import identifier, unlike_in_capitals
from .threads import Threads

_ELEMENTS = {
    "float32": "float",
    "float64": "double",
    "bool": "uint8_t",
    "complex64": "complex64",
    "complex128": "complex128",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""C's types by NumPy's names; those of the complex types are structures that the header declares."""


_TAKEN = ("arena", "stack", "weights_file")
"""Words of the header's own macros, NAME_ARENA_BYTES and the like."""


FIRST_CHECK = 100
"""The code of a library's first check."""


class LibraryNameError(ValueError):
    """A name that no C function can begin with."""


@dataclass(frozen=True)
class Port:
    """An argument or result."""

    name: str
    """A C identifier."""
    element: str
    """The C type of an element; an unsigned integer of its size where C has none."""
    type: str
    """The type as hlo writes it."""
    shape: tuple[int, ...]
    nbytes: int

    @property
    def count(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Entry:
    """A function of the program that C can call."""

    prefix: str
    """The beginning of its symbols: the library's name, with the function's if there are several."""
    arguments: tuple[Port, ...]
    results: tuple[Port, ...]
    arena_bytes: int
    checks: tuple[str, ...] = ()
    """The messages of the program's checks, in order."""
    first_check: int = FIRST_CHECK
    """The code that a run returns where the first of them fails; those of the others follow."""

    @property
    def upper(self) -> str:
        """The prefix of its macros."""
        return self.prefix.upper()

    @property
    def macros(self) -> set[str]:
        """The beginnings of its ports' macros."""
        return {f"{self.prefix}_{port.name}".upper() for port in self.ports}

    @property
    def ports(self) -> tuple[Port, ...]:
        """The arguments, then the results."""
        return (*self.arguments, *self.results)


@dataclass(frozen=True)
class Weights:
    """The file of a library's large constants."""

    file: str
    """Its path from the folder of the library's other files."""
    nbytes: int
    digest: int
    """XXH64 of the whole file."""


@dataclass(frozen=True)
class Interface:
    """A library as C sees it."""

    name: str
    """The prefix of all symbols, a C identifier."""
    entries: tuple[Entry, ...]
    threads: Threads = Threads.NONE
    levels: tuple[str, ...] = ()
    """The CPUs of its versions, from the least to the greatest; none for a library of one."""
    weights: Weights | None = None
    """None if the constants are part of the object file."""
    lapack: bool = False
    """Whether the code calls LAPACK, which the user links."""

    @property
    def arguments(self) -> tuple[Port, ...]:
        """The arguments of the first entry."""
        return self.entries[0].arguments

    @property
    def results(self) -> tuple[Port, ...]:
        """The results of the first entry."""
        return self.entries[0].results

    @property
    def arena_bytes(self) -> int:
        """The arena of the first entry."""
        return self.entries[0].arena_bytes

    @property
    def upper(self) -> str:
        """The prefix of the macros that all entries share."""
        return self.name.upper()

    @property
    def symbols(self) -> tuple[str, ...]:
        """The functions that the object file defines."""
        set_parallel_for = (f"{self.name}_set_parallel_for",) if self.threads is Threads.CALLBACK else ()
        set_weights = (f"{self.name}_set_weights",) if self.weights is not None else ()
        return (*(f"{entry.prefix}_run" for entry in self.entries), *set_parallel_for, *set_weights)

    def short(self, entry: Entry) -> str:
        """The name of an entry without the library's: `run` for the only one."""
        return entry.prefix[len(self.name) + 1 :] or "run"

    def c_type(self, port: Port) -> str:
        """The type of a port's elements in the header."""
        return f"{self.name}_{port.element}" if port.element.startswith("complex") else port.element


def taken_macros(prefixes: Iterable[str]) -> frozenset[str]:
    """The beginnings, in capitals, of the header's own macros; `prefixes`: the library's, and those of its entries."""
    return frozenset(f"{prefix}_{word}".upper() for prefix in prefixes for word in _TAKEN)


def entry_interface(
    prefix: str, facts: Facts, taken: Collection[str] | None = None, first_check: int = FIRST_CHECK
) -> Entry:
    """
    The interface of a program; arguments and results have the names of its text, those without are numbered.

    taken: beginnings of macros in capitals, which none of them begins with; else those of a library of one entry.
    """
    found = facts.result_names or ("",) * facts.result_count
    results = [given or f"result{number}" for number, given in enumerate(found)]
    names = facts.names or ("",) * len(facts.inputs)
    arguments = [given or f"arg{number}" for number, given in enumerate(names)]
    # One scope in Rust and Python.
    used = set(taken_macros((prefix,)) if taken is None else taken)
    ports = (
        _ports(prefix, facts.inputs, arguments, used),
        _ports(prefix, facts.outputs[: facts.result_count], results, used),
    )
    return Entry(prefix, *ports, facts.arena_bytes, tuple(map(check_message, facts.checks)), first_check)


def check_message(check: Check) -> str:
    """`check.expect_eq failed (model.mlir:3:3)`, without the file's folder: the same wherever it is compiled."""
    text = f"check.{check.kind} failed"
    if check.kind == ASSERTION:
        text = assertion_text(call_of(ASSERTION, check.attributes, [], [], check.location or UNKNOWN_LOC))
    place = None if check.location is None else file_location(check.location)
    if place is None:
        return text
    return f"{text} ({PurePath(place.filename.data).name}:{place.line.data}:{place.column.data})"


def _ports(prefix: str, types: Sequence[ArrayType], names: Sequence[str], used: set[str]) -> tuple[Port, ...]:
    ports: list[Port] = []
    for type_, given in zip(types, names, strict=True):
        macro = unlike_in_capitals(f"{prefix}_{identifier(given)}", used)
        used.add(macro.upper())
        name = macro.removeprefix(f"{prefix}_")
        element = _ELEMENTS.get(type_.dtype.name, f"uint{8 * type_.dtype.itemsize}_t")
        ports.append(Port(name, element, type_.text, type_.shape, type_.nbytes))
    return tuple(ports)
