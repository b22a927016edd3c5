"""The work of fuse-hlo on a program, for the user: its fusions, and the remarks on each decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...hlo_dialect.errors import Diagnostic, file_location, one_line
from ...hlo_dialect.ops.control_flow import ReturnOp
from ...hlo_dialect.ops.fusion import FusionOp
from ...hlo_dialect.walking import operations_in

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation


@dataclass(frozen=True)
class Fusion:
    """Operations that run as one kernel."""

    kind: str
    """loop, reduce, row, dot, update, concatenate, custom or kept (docs/architecture.md)."""
    operations: tuple[str, ...]
    """Their names in order, constants included."""
    inputs: tuple[str, ...]
    """The types of the values that it reads from memory."""
    outputs: tuple[str, ...]
    """The types of the values that it writes."""
    place: str
    """`file:line:column` of its last operation, empty if unknown."""

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.kind} fusion of {', '.join(self.operations)}"


@dataclass(frozen=True)
class Remark:
    """A decision of fuse-hlo about an operation and one that uses its result."""

    message: str
    file: str
    """Empty if the place is unknown; line and column are 0 then."""
    line: int
    column: int

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        return f"{place}remark: {self.message}"


def fusions_in(module: ModuleOp) -> tuple[Fusion, ...]:
    """The fusions of a module after fuse-hlo, in order."""
    return tuple(_fusion(op) for op in operations_in(module) if isinstance(op, FusionOp))


def _fusion(op: FusionOp) -> Fusion:
    operations = tuple(inner.name for inner in op.body.block.ops if not isinstance(inner, ReturnOp))
    types = [tuple(map(str, values)) for values in (op.operand_types, op.result_types)]
    return Fusion(op.kind.data, operations, types[0], types[1], _place(op))


def _place(op: Operation) -> str:
    found = file_location(op.location)
    return "" if found is None else f"{found.filename.data}:{found.line.data}:{found.column.data}"


def remark_of(diagnostic: Diagnostic) -> Remark:
    """A remark as the user sees it; for another diagnostic its severity is part of the message."""
    found = file_location(diagnostic.location)
    message = diagnostic.message
    if diagnostic.severity != "remark":
        message = one_line(Diagnostic(diagnostic.severity, message))
    if found is None:
        return Remark(message, "", 0, 0)
    return Remark(message, found.filename.data, found.line.data, found.column.data)
