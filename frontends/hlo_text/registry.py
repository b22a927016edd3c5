"""The conversions of opcodes by name: functions in the files of `opcodes/`, each `(Step) -> Value`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ...hlo_dialect.rules import import_files

Convert = Callable[[Any], Any]
"""From a `Step` to a `Value`."""

COMMON = frozenset((
    "sharding", "frontend_attributes", "statistics", "parameter_replication", "control-predecessors", "origin",
    "metadata", "backend_config", "original_value",
))  # fmt: skip
"""Attributes that every instruction may have."""


@dataclass(frozen=True)
class Opcode:
    """The conversion of an opcode, the attributes that it takes, and its number of operands (None: any)."""

    convert: Convert
    attributes: frozenset[str]
    operands: int | None


_OPCODES: dict[str, Opcode] = {}


def opcode(names: str, attributes: str = "", operands: int | None = None) -> Callable[[Convert], Convert]:
    """A decorator: the function converts these opcodes, named with spaces between them."""

    def register(convert: Convert) -> Convert:
        for name in names.split():
            if name in _OPCODES:
                raise ValueError(f"there are two conversions of the opcode {name}")
            _OPCODES[name] = Opcode(convert, COMMON | frozenset(attributes.split()), operands)
        return convert

    return register


@cache
def opcodes() -> Mapping[str, Opcode]:
    """All opcodes that are read."""
    import_files(f"{(__package__ or '')}.opcodes")
    return _OPCODES
