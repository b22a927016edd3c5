"""
From HLO text to a `Program`: its statements and their pieces.

A statement on one line, as XLA prints it, is taken apart by one regular expression; any other, with comments, line
breaks or nested parentheses, by scanning for the pieces' ends. The pieces (a shape, a list of operands, attributes) go
through the same functions in both cases, which remember what they have read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import LocationAttr

from ...hlo_dialect.reading.locations import SourcePositions
from ...hlo_dialect.regular_expressions import compile_pattern
from .blanks import COMMENT, SPACE
from .locations import Locations
from .program import Computation, Form, Instruction, Program, Text
from .shapes import Shape, ShapeError, read_shape, shape_at

_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*+"  # a set of characters is matched faster than a class such as `\w`
_SHAPE = r"[a-z][A-Za-z0-9_]*+\[[^\]\n]*+\](?:\{[^{}\n]*+\})?+"
_NAMES = rf"(?:%?{_NAME}(?:, %?{_NAME})*+)?+"
_LINE = compile_pattern(
    rf"\s*+(ROOT )?%?({_NAME}) = ({_SHAPE}|\((?:{_SHAPE}|(?:, )?(?:/\*index=[0-9]+\*/)?)*+\)) ({_NAME})"
    rf'\((?:({_NAMES})\)|([^()\n"\']*+)\))([^\n"/]*+(?:(?:"[^"\\\n]*+"|/(?![/*]))[^\n"/]*+)*+)(?:\n|\Z)',
    re.ASCII,
)
_HEAD = re.compile(rf"(ROOT\b)?\s*%?({_NAME})\s*=\s*", re.ASCII)
_IDENTIFIER = re.compile(rf"%?({_NAME})", re.ASCII)
_OPCODE = re.compile(rf"\s*+({_NAME})\s*\(", re.ASCII)
_CLOSE = re.compile(r"""["'(){}\[\]]|/\*|//""")
_STRING = compile_pattern(r'"(?:[^"\\]|\\.)*+"' + r"|'(?:[^'\\]|\\.)*+'", re.DOTALL)
_VALUE = re.compile(r"""[^\s,(){}\[\]"'/]++""")
_METADATA = compile_pattern(r',\s*metadata=(\{(?:[^"{}]++|"(?:[^"\\]++|\\.)*+"|\{[^{}]*+\})*+\})')
_ATTRIBUTE = re.compile(r"([A-Za-z_][\w-]*+)\s*=\s*")
_PARAMETERS = compile_pattern(r"""\((?:[^()"'/]++|\([^()"'/]*+\))*+\)""")
_SIGNATURE_ARROW = re.compile(r"\s*->\s*")
_MAX_DEPTH = 256
_MAX_NESTED = 64

_NONE: Mapping[str, str] = {}
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


def parse_program(content: str, filename: str, *, metadata: bool = True) -> Program:
    """
    The program of a text. Raises DiagnosticError, at the place of the first error.

    Without `metadata` the instructions' locations are their places in the text.
    """
    return _Parser(Text(content, SourcePositions(content, filename)), metadata).program()


class _Parser:
    def __init__(self, text: Text, metadata: bool):
        self.text = text
        self.content = text.content
        self.pos = 0
        self.locations = Locations(text, metadata)
        self.found = Program(text)
        self.nested: list[Instruction] = []
        """The instructions among the operands of the one that is read, operands first."""
        self.forms: dict[tuple[str, str, str], tuple[Form, LocationAttr | None]] = {}
        """Forms and stated locations of instructions on one line, by the texts of shape, opcode and attributes."""

    # Characters and brackets ------------------------------------------------------------------------------------

    def skip(self, offset: int) -> int:
        """The end of the space and the comments that begin at an offset."""
        return cast(Any, SPACE.match(self.content, offset)).end()

    def expect(self, character: str, offset: int, where: str) -> int:
        """The place after a character that must follow."""
        offset = self.skip(offset)
        if not self.content.startswith(character, offset):
            raise self.text.error(f"expected '{character}' {where}", offset)
        return offset + len(character)

    def closing(self, offset: int) -> int:
        """The place after the bracket that closes the one at `offset`."""
        open_ = [(self.content[offset], offset)]
        at = offset + 1
        while open_:
            match = _CLOSE.search(self.content, at)
            if match is None:
                raise self.text.error(f"'{open_[-1][0]}' is not closed", open_[-1][1])
            at, found = match.end(), match[0]
            if found in _BRACKETS:
                open_.append((found, match.start()))
                if len(open_) > _MAX_DEPTH:
                    raise self.text.error(f"brackets are nested more than {_MAX_DEPTH} deep", match.start())
            elif found in ('"', "'", "/*", "//"):
                at = self._skipped(match.start(), found)
            elif _BRACKETS[open_[-1][0]] != found:
                raise self.text.error(f"'{open_[-1][0]}' is not closed before '{found}'", open_[-1][1])
            else:
                open_.pop()
        return at

    def _skipped(self, offset: int, opening: str) -> int:
        """The end of the string or comment that begins at an offset."""
        pattern = _STRING if opening in "\"'" else COMMENT
        match = pattern.match(self.content, offset)
        if match is None:
            raise self.text.error(
                "the string is not closed" if opening in "\"'" else "the comment is not closed", offset
            )
        return match.end()

    # The program ------------------------------------------------------------------------------------------------

    def program(self) -> Program:
        self.pos = self.skip(0)
        if self.content.startswith("HloModule", self.pos):
            self.header()
        found = self.found
        while self.pos < len(self.content):
            self.computation()
            self.pos = self.skip(self.pos)
        if not found.computations:
            raise self.text.error("the module has no computations", self.pos)
        if found.entry is None:
            found.entry = list(found.computations.values())[-1]
        return found

    def header(self) -> None:
        """`HloModule name, attribute=value, ..`, and the tables of files and stack frames."""
        at = self.skip(self.pos + len("HloModule"))
        match = _IDENTIFIER.match(self.content, at)
        if match is None:
            raise self.text.error("expected the module's name after 'HloModule'", at)
        self.found.name, self.found.offset = match[1], at
        end = self.attributes_end(match.end())
        self.found.attributes = self.attributes(self.content[match.end() : end], match.end())
        self.pos = self.locations.read_tables(self.skip(end))

    def computation(self) -> None:
        """`ENTRY %name (a: f32[2]) -> f32[2] { .. }`"""
        content = self.content
        is_entry = re.compile(r"ENTRY\b").match(content, self.pos) is not None
        at = self.skip(self.pos + len("ENTRY")) if is_entry else self.pos
        match = _IDENTIFIER.match(content, at)
        if match is None:
            raise self.text.error("expected the name of a computation", at)
        found = Computation(match[1], at)
        at, result, place = self.signature(match.end(), match[1])
        self.pos = self.expect("{", at, f"at the beginning of computation {found.name}")
        self.instructions(found)
        if found.root is None:
            raise self.text.error(f"computation {found.name} has no instructions", found.offset)
        if sorted(found.parameters) != list(range(len(found.parameters))):
            numbers = ", ".join(map(str, sorted(found.parameters)))
            raise self.text.error(f"the parameters of {found.name} are not numbered 0, 1, ..: {numbers}", found.offset)
        stated = [found.parameters[number].shape for number in range(len(found.parameters))]
        found.shapes = [shape for shape in stated if shape is not None]
        if result is not None and found.root.shape is not None and not result.matches(found.root.shape):
            raise self.text.error(f"computation {found.name} does not return its root's shape", place)
        end = self.attributes_end(self.pos)
        thread = self.attributes(content[self.pos : end], self.pos)
        if set(thread) - {"execution_thread"}:
            raise self.text.error(f"computation {found.name} has unknown attributes: {', '.join(thread)}", self.pos)
        self.pos = end
        if found.name in self.found.computations:
            raise self.text.error(f"there are two computations named {found.name}", found.offset)
        self.found.computations[found.name] = found
        if is_entry:
            if self.found.entry is not None:
                raise self.text.error(f"there are two entries, {self.found.entry.name} and {found.name}", found.offset)
            self.found.entry = found

    def signature(self, offset: int, name: str) -> tuple[int, Shape | None, int]:
        """The end of `(a: f32[2]) -> f32[2]` if it is there, and the shape of the result, with its place."""
        at = self.skip(offset)
        if not self.content.startswith("(", at):
            return at, None, at
        simple = _PARAMETERS.match(self.content, at)
        end = self.closing(at) if simple is None else simple.end()
        arrow = _SIGNATURE_ARROW.match(self.content, end)
        if arrow is None:
            raise self.text.error(f"expected '->' and the shape that {name} returns", end)
        shape, end = self.shape_at(arrow.end())
        return end, shape, arrow.end()

    def shape_at(self, offset: int) -> tuple[Shape, int]:
        try:
            return shape_at(self.content, offset)
        except ShapeError as error:
            raise self.text.error(error.message, error.offset) from None

    # Instructions -----------------------------------------------------------------------------------------------

    def instructions(self, into: Computation) -> None:
        """The statements up to the brace that closes the computation."""
        content, known = self.content, dict[str, Instruction]()
        root = False
        while True:
            # Statements on one line first, with the space before them: the others are rare.
            match = _LINE.match(content, self.pos)
            if match is None:
                self.pos = self.skip(self.pos)
                if content.startswith("}", self.pos):
                    self.pos += 1
                    break
                match = _LINE.match(content, self.pos)
            at = self.pos
            is_root, one = self.scanned() if match is None else self.instruction(match)
            if self.nested:
                for each in self.nested:
                    self.add(each, into, known)
                self.nested = []
            self.add(one, into, known)
            if is_root:
                if root:
                    raise self.text.error(f"{into.name} has two instructions marked ROOT", self.skip(at))
                into.root, root = one, True
        if not root and into.instructions:
            into.root = into.instructions[-1]

    def add(self, one: Instruction, into: Computation, known: dict[str, Instruction]) -> None:
        """Append an instruction, whose operands must be known."""
        if one.name in known:
            raise self.text.error(f"{into.name} has two instructions named {one.name}", one.offset)
        opcode = one.form.opcode
        if opcode == "parameter":
            self.parameter(into, one)
        elif opcode != "constant":
            for name in one.operands:
                if name not in known:
                    raise self.text.error(f"'{opcode}': there is no instruction {name} before it", one.offset)
        known[one.name] = one
        into.instructions.append(one)

    def parameter(self, into: Computation, one: Instruction) -> None:
        number = one.operands[0].strip()
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            raise self.text.error(f"'parameter': '{number[:40]}' is no number of a parameter", one.offset)
        if one.shape is None:
            raise self.text.error("'parameter': expected a shape", one.offset)
        if int(number) in into.parameters:
            raise self.text.error(f"'parameter': {into.name} has two parameters {number}", one.offset)
        into.parameters[int(number)] = one

    def instruction(self, match: re.Match[str]) -> tuple[bool, Instruction]:
        """A statement on one line."""
        root, name, shape, opcode, names, operands, attributes = match.groups()
        key = shape, opcode, attributes
        known = self.forms.get(key)
        if known is None:
            known = self.form(match, shape, opcode, attributes)
            if known is None:
                self.pos = self.skip(self.pos)
                return self.scanned()
            self.forms[key] = known
        form, location = known
        if opcode == "parameter" or opcode == "constant":
            arguments = (operands if names is None else names,)
        elif names is None:
            arguments = self.operands(operands, match.start(6))
        else:
            arguments = names.replace("%", "").split(", ") if names else ()
        offset = match.start(4)
        if location is None:
            location = self.text.positions.location(offset)
        self.pos = match.end()
        return root is not None, Instruction(name, form, arguments, location, offset, match.start(7))

    def form(
        self, match: re.Match[str], shape: str, opcode: str, attributes: str
    ) -> tuple[Form, LocationAttr | None] | None:
        """The form of a statement on one line, and the location that it states; None if it needs to be scanned."""
        metadata = ""
        if attributes and (at := attributes.find(", metadata={")) >= 0:
            found = _METADATA.match(attributes, at)
            if found is not None:
                metadata = found[1]
                attributes = attributes[:at] + attributes[found.end() :]
        try:
            found = _form_of_line(shape, opcode, attributes.rstrip())
        except ShapeError as error:
            raise self.text.error(error.message, match.start(3) + error.offset) from None
        return None if found is None else (found, self.locations.stated(metadata, match.start(4)))

    def scanned(self) -> tuple[bool, Instruction]:
        """A statement that is not on one line, or holds comments, strings or nested parentheses."""
        content = self.content
        match = _HEAD.match(content, self.pos)
        if match is None:
            raise self.text.error("expected an instruction, `name = shape opcode(operands)`, or '}'", self.pos)
        shape, opcode, offset, names, after = self.right_side(self.skip(match.end()))
        end = self.attributes_end(after)
        attributes = dict(self.attributes(content[after:end], after))
        location = self.locations.location(attributes.pop("metadata", ""), offset)
        self.pos = end
        form = Form(shape, opcode, attributes)
        return match[1] is not None, Instruction(match[2], form, names, location, offset, after)

    def right_side(self, at: int, depth: int = 0) -> tuple[Shape | None, str, int, Sequence[str], int]:
        """The shape, the opcode and its place, the operands, and the end of `f32[2]{0} add(%a, %b)`."""
        shape: Shape | None = None
        opcode = _OPCODE.match(self.content, at)
        if opcode is None:
            shape, at = self.shape_at(at)
            opcode = _OPCODE.match(self.content, self.skip(at))
        if opcode is None:
            raise self.text.error("expected an opcode and its operands in parentheses", self.skip(at))
        first = opcode.end()
        after = self.closing(first - 1)
        text = self.content[first : after - 1]
        names = (text,) if opcode[1] in ("parameter", "constant") else self.operands(text, first, depth)
        return shape, opcode[1], opcode.start(1), names, after

    def operands(self, text: str, offset: int, depth: int = 0) -> Sequence[str]:
        """The names in `%a, f32[2]{0} %b, /*index=5*/%c`; instructions in place of names get names."""
        names = _names(text)
        if names is not None:
            return names
        found: list[str] = []
        at, end = self.skip(offset), offset + len(text)
        while at < end:
            name, at = self.operand(at, depth)
            found.append(name)
            if at < end:
                at = self.skip(self.expect(",", at, "between operands"))
        return found

    def operand(self, at: int, depth: int) -> tuple[str, int]:
        """The name of an operand, after its shape if that is there, and where the next thing begins."""
        start, match = at, _IDENTIFIER.match(self.content, at)
        if match is None or self.content.startswith("[", match.end()):
            at = self.skip(self.shape_at(at)[1])
            match = _IDENTIFIER.match(self.content, at)
        if match is None:
            raise self.text.error("expected the name of an operand", at)
        after = self.skip(match.end())
        return self.inner(start, depth + 1) if self.content.startswith("(", after) else (match[1], after)

    def inner(self, at: int, depth: int) -> tuple[str, int]:
        """An instruction in place of an operand: it has no attributes, and gets a name here."""
        if depth > _MAX_NESTED:
            raise self.text.error(f"operands are nested more than {_MAX_NESTED} deep", at)
        shape, opcode, offset, names, after = self.right_side(at, depth)
        name = f"{opcode}.at.{offset}"
        location = self.locations.location("", offset)
        self.nested.append(Instruction(name, Form(shape, opcode, _NONE), names, location, offset, after))
        return name, self.skip(after)

    # Attributes -------------------------------------------------------------------------------------------------

    def attributes(self, text: str, offset: int) -> Mapping[str, str]:
        """The attributes in `, a=1, b={..}`, each as text."""
        found = _attributes_of_line(text)
        return self.scanned_attributes(text, offset) if found is None else found

    def scanned_attributes(self, text: str, offset: int) -> dict[str, str]:
        found: dict[str, str] = {}
        at, end = self.skip(offset), offset + len(text)
        while at < end:
            at = self.skip(self.expect(",", at, "before an attribute"))
            match = _ATTRIBUTE.match(self.content, at)
            if match is None:
                raise self.text.error("expected an attribute, `name=value`", at)
            value_end = self.value_end(match.end())
            if match[1] in found:
                raise self.text.error(f"the attribute {match[1]} is given twice", at)
            found[match[1]] = self.content[match.end() : value_end]
            at = self.skip(value_end)
        return found

    def attributes_end(self, offset: int) -> int:
        """The end of the attributes that begin at an offset."""
        end = offset
        while self.content.startswith(",", at := self.skip(end)):
            match = _ATTRIBUTE.match(self.content, self.skip(at + 1))
            if match is None:
                raise self.text.error("expected an attribute, `name=value`", self.skip(at + 1))
            end = self.value_end(match.end())
        return end

    def value_end(self, offset: int) -> int:
        """The end of a value: words, strings and bracketed texts without space between them."""
        end = offset
        while end < len(self.content):
            character = self.content[end]
            if character in _BRACKETS:
                end = self.closing(end)
            elif character in "\"'":
                end = self._skipped(end, character)
            elif (match := _VALUE.match(self.content, end)) is not None:
                end = match.end()
            else:
                break
        if end == offset:
            raise self.text.error("expected the attribute's value", offset)
        return end


_SIMPLE_NAMES = compile_pattern(_NAMES, re.ASCII)
_SHAPED_NAMES = compile_pattern(rf"(?:{_SHAPE} )?+%?({_NAME})(?:, |\Z)", re.ASCII)
_INDEX = re.compile(r"/\*index=[0-9]+\*/")


def _names(text: str) -> Sequence[str] | None:
    """The operands of a line as XLA prints them; None for any other form."""
    if "/*" in text:
        text = _INDEX.sub("", text)
    if _SIMPLE_NAMES.fullmatch(text):
        return text.replace("%", "").split(", ") if text else ()
    found: list[str] = []
    at = 0
    while at < len(text):
        match = _SHAPED_NAMES.match(text, at)
        if match is None:
            return None
        found.append(match[1])
        at = match.end()
    return found


_QUOTED = r'"[^"\\\n]*+"'
_BRACES = rf'\{{(?:[^"{{}}/]++|{_QUOTED}|\{{(?:[^"{{}}/]++|{_QUOTED}|\{{[^"{{}}/]*+\}})*+\}})*+\}}'
_PLAIN_ATTRIBUTE = compile_pattern(
    rf", ([A-Za-z_][\w-]*+)=((?:[^\s,(){{}}\[\]\"'/]++|{_BRACES}|{_QUOTED}|\[[^\[\]{{}}\"]*+\]|\([^(){{}}\"]*+\))++)"
)


@lru_cache(maxsize=1 << 13)
def _form_of_line(shape: str, opcode: str, attributes: str) -> Form | None:
    """The form of a line as XLA prints it; None where the attributes have any other form. Raises ShapeError."""
    stated = _attributes_of_line(attributes)
    return None if stated is None else Form(read_shape(shape), opcode, stated)


@lru_cache(maxsize=1 << 13)
def _attributes_of_line(text: str) -> Mapping[str, str] | None:
    """The attributes of a text as XLA prints it; None for any other form, and where one is repeated."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _PLAIN_ATTRIBUTE.match(text, at)
        if match is None or match[1] in found:
            return None
        found[match[1]] = match[2]
        at = match.end()
    return found
