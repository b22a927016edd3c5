"""The symbols of object files in every format that LLVM writes for a machine."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ..cpu.c_library import symbols as elf_symbols
from .machine import Format


def object_symbols(code: bytes, form: Format) -> list[tuple[str, bool]]:
    """
    The names of an object file as C spells them, each with whether the file defines it; of WebAssembly only those that
    it does not define.
    """
    readers = {
        Format.ELF: elf_symbols,
        Format.MACH_O: _mach_o_symbols,
        Format.COFF: _coff_symbols,
        Format.WASM: _wasm_imports,
    }
    return list(readers[form](code))


def undefined_symbols(code: bytes, form: Format) -> list[str]:
    """The functions that an object file needs, in order of their names."""
    found = set(object_symbols(code, form))
    return sorted(name for name, defined in found if not defined and (name, True) not in found)


def _text_at(code: bytes, start: int) -> str:
    return code[start : code.index(b"\0", start)].decode()


def _mach_o_symbols(code: bytes) -> Iterator[tuple[str, bool]]:
    """Source: Apple's mach-o/loader.h and mach-o/nlist.h, of 64 bits."""
    (commands,) = struct.unpack_from("<I", code, 16)
    at = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", code, at)
        if command == 2:  # LC_SYMTAB
            table, count, names, _ = struct.unpack_from("<4I", code, at + 8)
            for number in range(count):
                name, kind, _, _, _ = struct.unpack_from("<IBBHQ", code, table + 16 * number)
                if kind & 0xE0 == 0 and kind & 1:  # external, and not for a debugger
                    yield _text_at(code, names + name).removeprefix("_"), kind & 0x0E != 0
        at += size


def _coff_symbols(code: bytes) -> Iterator[tuple[str, bool]]:
    """Source: Microsoft's PE Format, sections 3 and 5.4."""
    table, count = struct.unpack_from("<8xII", code)
    names = table + 18 * count
    number = 0
    while number < count:
        at = table + 18 * number
        zeros, place, value, section, _, storage, more = struct.unpack_from("<IIIhHBB", code, at)
        if storage == 2:  # external
            name = code[at : at + 8].rstrip(b"\0").decode() if zeros else _text_at(code, names + place)
            yield name, section != 0 or value != 0
        number += 1 + more


def _wasm_imports(code: bytes) -> Iterator[tuple[str, bool]]:
    """Source: the WebAssembly core specification, section 5.5.5."""
    at = 8
    while at < len(code):
        kind = code[at]
        size, at = _leb(code, at + 1)
        if kind == 2:
            yield from _wasm_import_section(code, at)
        at += size


def _wasm_import_section(code: bytes, at: int) -> Iterator[tuple[str, bool]]:
    count, at = _leb(code, at)
    for _ in range(count):
        parts: list[str] = []
        for _ in range(2):
            length, at = _leb(code, at)
            parts.append(code[at : at + length].decode())
            at += length
        kind, at = code[at], at + 1
        if kind == 0:  # a function: its type
            _, at = _leb(code, at)
            yield parts[1], False
        elif kind == 3:  # a global: type, mutability
            at += 2
        else:  # a table, with its type, or a memory: limits
            at += kind == 1
            flags, at = _leb(code, at)
            for _ in range(1 + (flags & 1)):
                _, at = _leb(code, at)


def _leb(code: bytes, at: int) -> tuple[int, int]:
    """An unsigned number in LEB128, and the place after it."""
    value = shift = 0
    while True:
        byte = code[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
