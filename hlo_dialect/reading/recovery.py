"""
All syntax errors of a text: a parser that continues after a statement that it cannot read.

`FastParser` reads a text first and stops at the first error. Only then is it read again here, so that recovery costs
nothing when it is not needed. A statement ends where a line ends outside all brackets; one whose brackets do not close
takes the rest of its function with it. The results of a skipped statement are *poisoned*: their uses are accepted.
Errors of a statement that contains others are left out, because most of them are consequences.
"""

# The reader extends xDSL's parser, whose building blocks are private by name.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from xdsl.context import Context
from xdsl.ir import AttributeInvT, Operation, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException
from xdsl.utils.lexer import Span

from ..diagnostics import Diagnostic, file_location
from ..regular_expressions import compile_pattern
from .fast_path import FastParser, FastReader, Line
from .locations import SourcePositions
from .syntax_errors import diagnostic_of

MAX_ERRORS = 100
"""The number of errors after which the reader stops, because the rest are mostly consequences."""

MAX_TIMES_READ = 20
"""How many times as long as the text all that is read in vain may be."""

_PIECE = compile_pattern(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+(?:"|$)|//[^\n]*+|[(\[{)\]}\n]', re.MULTILINE)
_VALUES = r"%[\w$.-]+(?::[0-9]+)?(?:[ \t]*,[ \t]*%[\w$.-]+(?::[0-9]+)?)*[ \t]*="
_DEFINITION = re.compile(rf"^[ \t]*({_VALUES})", re.MULTILINE)
_AT_START = re.compile(_VALUES)
_NAME = re.compile(r"%([\w$.-]+)")
_STATEMENT = re.compile(rf"[ \t]*(?:{_VALUES}|(?:stablehlo\.|hlo\.|func\.)?return\b|func\.func\b)")
_CONTINUATION = re.compile(r"[ \t]*(?:(?:cond|do|reducer|attributes|across|applies|loc)\b|[:,(<\[{)\]>]|->)")
_FUNCTION = re.compile(r"[ \t]*func\.func\b")
_FUNCTION_LINE = re.compile(r"^[ \t]*func\.func\b", re.MULTILINE)
_SOMETHING = re.compile(r"\S")
_CLOSES = {")": "(", "]": "[", "}": "{"}


class _Abandoned(Exception):
    """The statement's brackets do not close: its function cannot be read any further."""


def syntax_errors(
    ctx: Context, text: str, positions: SourcePositions, first: Diagnostic, *, fast: bool
) -> list[Diagnostic]:
    """The errors of a text, by location, including `first`, the one at which the reader stopped."""
    try:
        parser = RecoveringParser(ctx, text, positions.filename.data, positions, fast=fast)
    except ParseError:
        return [first]
    try:
        parser.parse_module()
    except (_Abandoned, RecursionError):
        pass  # recovery takes more of the stack than reading: `first` says what is wrong
    except (ParseError, VerifyException) as error:
        if not parser.errors:
            parser.record(error)
    if all((one.severity, one.location) != (first.severity, first.location) for one in parser.errors):
        return [first, *parser.errors]  # with the same place they differ in notes and suggestions only
    return sorted(parser.errors, key=_place)


def _place(diagnostic: Diagnostic) -> tuple[int, int]:
    found = file_location(diagnostic.location)
    return (0, 0) if found is None else (found.line.data, found.column.data)


class RecoveringParser(FastParser):
    """Collects errors in `errors`, and continues after the statements that have them."""

    def __init__(self, ctx: Context, text: str, filename: str, positions: SourcePositions, *, fast: bool = True):
        self.definitions: dict[str, int] = {}
        """Where values are defined, by their names: the offset of the `%`."""
        super().__init__(ctx, text, filename, positions, fast=fast)
        self.text = text
        self.errors: list[Diagnostic] = []
        self._poisoned: set[str] = set()
        self._left = MAX_TIMES_READ * len(text)

    def record(self, error: Exception) -> None:
        found = diagnostic_of(error, self.pos, self.positions)
        if found not in self.errors:  # a function that was read inside another is read again
            self.errors.append(found)

    # Statements ------------------------------------------------------------------------------------------------

    def parse_optional_operation(self) -> Operation | None:
        while True:
            start, known = self.pos, len(self.errors)
            restore = _Snapshot(self)
            try:
                return super().parse_optional_operation()
            except (ParseError, VerifyException) as error:
                if len(self.errors) == known:
                    self.record(error)
                offset = error.span.start if isinstance(error, ParseError) and not self._resolving else start
                self._left -= max(self.pos, offset) - start
                restore()
                end = None if self._is_enough else self._end(start, offset)
            except _Abandoned:
                restore()
                end = None
            if end is None:
                end = self._next_function(start)
            self._poison(start, end)
            self._resume_behind(end)

    @property
    def _is_enough(self) -> bool:
        """Whether to stop: after many errors, or where functions that do not close are read inside each other."""
        return len(self.errors) >= MAX_ERRORS or self._left < 0

    def _end(self, start: int, offset: int) -> int | None:
        """The end of the statement at `start`, past an error in it at `offset`. None if it has no end."""
        end = statement_end(self.text, start)
        while end is not None and end < offset and _SOMETHING.search(self.text, end, offset):
            following = statement_end(self.text, end)
            if following is None or following <= end:
                return following
            end = following
        return end

    def _next_function(self, start: int) -> int:
        """The function after the one that begins at `start`. Raises _Abandoned if there is none."""
        if not self._is_enough and _FUNCTION.match(self.text, start):
            found = _FUNCTION_LINE.search(self.text, start + 1)
            if found is not None:
                # The rest may have been read already, as part of the function that does not close.
                self._left -= len(self.text) - found.start()
                return found.start()
        raise _Abandoned

    def _poison(self, start: int, end: int) -> None:
        """Accept any use of the values that the skipped text defines."""
        for definition in _DEFINITION.finditer(self.text, start, end):
            self._define_poisoned(definition[1])
        at_start = _AT_START.match(self.text, start, end)
        if at_start is not None:
            self._define_poisoned(at_start[0])

    def _define_poisoned(self, names: str) -> None:
        for name in _NAME.findall(names):
            self._poisoned.add(name)
            self.forward_ssa_references.pop(name, None)

    def _resume_behind(self, end: int) -> None:
        """Continue at `end`, or after the lines there that have no first token."""
        while True:
            try:
                self._resume_from(end)
            except ParseError as error:
                self.record(error)
                following = statement_end(self.text, end)
                if following is None or following <= end or len(self.errors) >= MAX_ERRORS:
                    raise _Abandoned from None
                self._poison(end, following)
                end = following
            else:
                return

    # Values ----------------------------------------------------------------------------------------------------

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        name = operand.operand_name
        if name in self._poisoned and name not in self.ssa_values:
            return ForwardDeclaredValue(type)
        forward = name in self.forward_ssa_references
        try:
            return super().resolve_operand(operand, type)
        except ParseError as error:
            raise self._with_note(error, name, forward) from None

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span) -> None:
        used = name in self.forward_ssa_references
        defined = name in self.ssa_values
        try:
            super()._register_ssa_definition(name, values, span)
        except ParseError as error:
            raise self._with_note(error, name, used) if used or defined else error from None
        self.definitions[name] = span.start

    def _with_note(self, error: ParseError, name: str, used: bool) -> ParseError:
        """The error with a note at the first use of a value that is not defined yet, or at its definition."""
        text = self.lexer.input.content
        if used:
            span, note = self._first_uses[name], "prior use here"
        elif name in self.definitions:
            start = self.definitions[name]
            end = start + 1 + len(name)
            span, note = Span(start, end, self.lexer.input), "previously defined here"
            if text[start:end] != f"%{name}":
                return error
            types = {str(value.type) for value in self.ssa_values.get(name, ())}
            note += f", with type {types.pop()}" if len(types) == 1 else ""
        else:
            return error
        return MultipleSpansParseError(error.span, error.msg, None, [(span, note)])

    def fast_reader(self) -> FastReader:
        return _RecordingReader(self, self.definitions)

    def _check_forward_references(self) -> None:
        for name in self.forward_ssa_references:
            if len(self.errors) < MAX_ERRORS:
                span = self._first_uses[name]
                self.record(ParseError(span, self.undefined_value(name)))
        self.forward_ssa_references = {}

    def parse_optional_region(self, arguments: Iterable[Parser.Argument] | None = None) -> Region | None:
        if not self._isolated:
            return super().parse_optional_region(arguments)
        outer, self._poisoned = self._poisoned, set()
        try:
            return super().parse_optional_region(arguments)
        finally:
            self._poisoned = outer


class _RecordingReader(FastReader):
    """A fast reader that notes where values are defined."""

    def __init__(self, parser: RecoveringParser, definitions: dict[str, int]):
        super().__init__(parser)
        self.definitions = definitions

    def _operation(self, line: Line) -> Operation | None:
        op = super()._operation(line)
        if op is not None and line.name is not None:
            self.definitions[line.name] = self.text.rfind("%", 0, line.op_start)
        return op


class _Snapshot:
    """The state that an abandoned statement may leave inconsistent; calling the snapshot restores the parser."""

    def __init__(self, parser: RecoveringParser):
        self.parser = parser
        self.scopes = (parser.ssa_values, parser.forward_ssa_references, parser._first_uses, parser._scope)
        self.sizes = (len(parser.ssa_values), len(parser._scope))
        self.blocks = (parser.blocks, parser.forward_block_references)
        self.depths = (parser.nesting, parser._region_depth, parser._isolated)
        self.state = parser._parser_state
        self.dialects = list(parser._parser_state.dialect_stack)

    def __call__(self) -> None:
        parser = self.parser
        parser.ssa_values, parser.forward_ssa_references, parser._first_uses, parser._scope = self.scopes
        values, scope = self.sizes
        while len(parser.ssa_values) > values:  # in order: the last ones were defined in this statement
            parser.ssa_values.popitem()
        del parser._scope[scope:]
        parser.blocks, parser.forward_block_references = self.blocks
        parser.nesting, parser._region_depth, parser._isolated = self.depths
        parser._parser_state = self.state
        parser._parser_state.dialect_stack[:] = self.dialects
        parser._resolving.clear()


def statement_end(text: str, start: int) -> int | None:
    """
    The end of the statement that begins at `start`: after a line that ends outside all brackets, or before a bracket
    that closes an enclosing one. None if its brackets do not close before the next function or the end of the text.
    """
    opened: list[str] = []
    for piece in _PIECE.finditer(text, start):
        character = piece[0]
        if character in "([{":
            opened.append(character)
        elif character in ")]}":
            while opened and opened[-1] != _CLOSES[character] and character == "}":
                opened.pop()
            if not opened:
                return piece.start()
            opened.pop()
        elif character == "\n":
            if not opened:
                if not _CONTINUATION.match(text, piece.end()):
                    return piece.end()
            elif _FUNCTION.match(text, piece.end()):
                return None
            elif "{" not in opened and _STATEMENT.match(text, piece.end()):
                return piece.end()
    return None if opened else len(text)
