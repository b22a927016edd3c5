"""
A program in HLO text, taken apart: computations, and their instructions as pieces of the text.

Nothing here knows opcodes: an instruction has a name, a shape, an opcode, operands and attributes by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr

from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...hlo_dialect.reading.locations import SourcePositions
from .shapes import Shape


@dataclass(frozen=True)
class Text:
    """The text that is read, for errors at their place."""

    content: str
    positions: SourcePositions

    def error(self, message: str, offset: int) -> DiagnosticError:
        """An error at an offset into the text."""
        place = self.positions.location(min(offset, len(self.content)))
        return DiagnosticError(Diagnostic("error", message, place))


@dataclass(slots=True, eq=False)
class Form:
    """All of an instruction but its name, its operands and its place: instructions of equal text share it."""

    shape: Shape | None
    """None where the text leaves it out, to be inferred."""
    opcode: str
    attributes: Mapping[str, str]
    """The text of each attribute, without metadata."""


@dataclass(slots=True, eq=False)
class Instruction:
    """`name = shape opcode(operands), attribute=value, ..`"""

    name: str
    form: Form
    operands: Sequence[str]
    """The names of the operands; the text between the parentheses for parameters and constants."""
    location: LocationAttr
    offset: int
    """The place of the opcode in the text."""
    attributes_offset: int

    @property
    def shape(self) -> Shape | None:
        return self.form.shape

    @property
    def opcode(self) -> str:
        return self.form.opcode

    @property
    def attributes(self) -> Mapping[str, str]:
        return self.form.attributes


@dataclass(slots=True)
class Computation:
    """A named list of instructions, callees first. Instructions use only those before them."""

    name: str
    offset: int
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    root: Instruction | None = None
    parameters: dict[int, Instruction] = field(default_factory=dict[int, Instruction])
    shapes: Sequence[Shape] = ()
    """Those of the parameters in order."""


@dataclass(slots=True)
class Program:
    """All of the text."""

    text: Text
    name: str = ""
    offset: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    computations: dict[str, Computation] = field(default_factory=dict[str, Computation])
    entry: Computation | None = None
