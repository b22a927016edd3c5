"""
The assembly formats of xDSL's operations, read when they are used first.

xDSL reads the format of every operation that a module of it defines, 180 for a small program. Hardly one is used:
`hlo_dialect/reading` and `hlo_dialect/printing` have notations of their own for hlo.
"""

from __future__ import annotations

from typing import Any

from xdsl.irdl import OpDef
from xdsl.irdl.declarative_assembly_format import FormatProgram

_read = FormatProgram.from_str

SHIPPED = frozenset(
    "arith bufferization builtin cf cpu func gpu linalg linalg_ext llvm math memref scf tensor vector".split()
)
"""Dialects whose formats are known to be right: in others a mistake should be found where the operation is defined."""


class LaterFormat:
    """Stands for the format of an operation until something of it is asked for."""

    def __init__(self, text: str, op_def: OpDef):
        self._text, self._op_def = text, op_def
        self._program: FormatProgram | None = None

    def __getattr__(self, name: str) -> Any:
        if self._program is None:
            self._program = _read(self._text, self._op_def)
        return getattr(self._program, name)


def _format(input: str, op_def: OpDef) -> Any:
    return (LaterFormat if op_def.name.partition(".")[0] in SHIPPED else _read)(input, op_def)


def read_formats_late() -> None:
    """Read the formats of operations of these dialects that are defined from now on when they are used first."""
    FormatProgram.from_str = staticmethod(_format)  # pyright: ignore[reportAttributeAccessIssue]
