"""
Parts of frames whose size only the CPU that runs the code knows: spilled vectors of SVE and of RISC-V's V.

LLVM does not count them as part of a frame: they are read from the prologues in its assembly. Source: the Arm
Architecture Reference Manual (ADDVL, ADDPL, RDVL); the RISC-V ISA manual, volume I (vlenb).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

WIDEST = 256
"""The bytes of the widest vectors that are counted with: SVE's limit, and more than most CPUs with V have."""

_LABEL = re.compile(r'^"?([^\s"#.][^\s"]*?)"?:')
_PREDICATES = 8
"""A predicate has a bit for each byte of a vector."""


_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "slli": lambda x, y: x << y,
    **{f"sh{bits}add": lambda x, y, bits=bits: (x << bits) + y for bits in (1, 2, 3)},
}
"""The instructions of RISC-V by which LLVM multiplies the length of vectors."""


class UnknownFrame(RuntimeError):
    """A prologue that is not understood: a failure of the compiler."""


class _Number(NamedTuple):
    """The contents of a register."""

    value: int
    scales: bool
    """Whether it follows from the length of vectors."""


_UNKNOWN = _Number(-1, True)
"""The result of an instruction on the length of vectors that is not in `_ARITHMETIC`."""


def scalable_bytes(assembly: str) -> Mapping[str, int]:
    """
    The bytes that each function of an assembly text takes for vectors of `WIDEST` bytes, besides its frame. Raises
    UnknownFrame.
    """
    found: dict[str, int] = {}
    registers = dict[str, _Number]()
    name = ""
    for line in assembly.splitlines():
        if label := _LABEL.match(line):
            name, registers = label[1], {}
        elif line.startswith("\t") and not line.startswith("\t."):
            words = re.split(r"//|#(?!-?\d)", line)[0].replace(",", " ").split()
            if len(words) > 1:
                found[name] = found.get(name, 0) + _taken(words[0], words[1], words[2:], registers)
    return {name: size for name, size in found.items() if size}


def _taken(operation: str, to: str, rest: Sequence[str], registers: dict[str, _Number]) -> int:
    """The bytes by which an instruction lowers the stack pointer, as far as they follow from the length of vectors."""
    if operation in ("addvl", "addpl") and to == "sp":
        return max(0, -int(rest[1].strip("#"))) * WIDEST // (_PREDICATES if operation == "addpl" else 1)
    if operation == "sub" and [to, rest[0]] == ["sp", "sp"]:
        number = registers.get(rest[1])
        if number is _UNKNOWN:
            raise UnknownFrame("a prologue computes a multiple of the length of vectors in an unknown way")
        return number.value if number is not None and number.scales else 0
    number = _number(operation, rest, registers)
    if number is None and any(word in registers and registers[word].scales for word in rest):
        number = _UNKNOWN
    registers.pop(to, None)
    if number is not None:
        registers[to] = number
    return 0


def _number(operation: str, rest: Sequence[str], registers: Mapping[str, _Number]) -> _Number | None:
    """The result of an instruction on the length of vectors and constants; None for any other instruction."""
    match operation, *rest:
        case "csrr", "vlenb":
            return _Number(WIDEST, True)
        case "rdvl", factor:
            return _Number(int(factor.strip("#")) * WIDEST, True)
        case "li", constant:
            return _Number(int(constant, 0), False)
        case _, first, second if operation in _ARITHMETIC:
            x, y = (registers.get(word) or _constant(word) for word in (first, second))
            if x is None or y is None or x is _UNKNOWN or y is _UNKNOWN:
                return None
            return _Number(_ARITHMETIC[operation](x.value, y.value), x.scales or y.scales)
        case _:
            return None


def _constant(word: str) -> _Number | None:
    return _Number(int(word, 0), False) if re.fullmatch(r"-?(0x[0-9a-f]+|[0-9]+)", word) else None
