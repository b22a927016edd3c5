"""
The syntax, an example and the constraints of each operation, for docs/ops.md.

All come from the table of constraints (`hlo_dialect/explanations/`): the syntax is the example with its operands named
as the class names them, and with words for its types and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation
from xdsl.irdl.operations import OperandDef, VarOperandDef

from ..hlo_dialect.explanations import all_sections
from ..hlo_dialect.explanations.table import Section
from ..hlo_dialect.printing import print_module
from ..hlo_dialect.reading import parse_module

_TYPE = re.compile(r"(?<![\w!.])(?:!?[a-z]\w*(?:\.[a-z]\w*)*<|!)")
_SHORT_TYPE = re.compile(r"!?[\w.]*")
_ELEMENT_TYPES = ("tensor", "tuple", "complex", "vector", "memref")
_NUMBERS = (
    (re.compile(r"dense<[^>]*>"), "dense<..>"),
    (re.compile(r"\[\[[-0-9, \[\]]*\]\]"), "[[int, ..], ..]"),
    (re.compile(r"\[-?[0-9]+:[-0-9:, ]*\]"), "[int:int:int, ..]"),
    (re.compile(r"\[-?[0-9]+(?:, -?[0-9]+)*\]"), "[int, ..]"),
    (re.compile(r"(?<=array<i64: )[-0-9, ]+"), "int, .."),
    (re.compile(r"(?<== )-?[0-9]+\b(?!\.)"), "int"),
    (re.compile(r"(?<== )-?[0-9]+\.[0-9e+-]+"), "float"),
)


def examples_text(operations: Iterable[type[Operation]]) -> str:
    """The last part of the page: a section for each operation."""
    first: dict[str, Section] = {}
    for section in all_sections():
        first.setdefault(section.op, section)
    parts = [_operation(cls, first[cls.name]) for cls in sorted(operations, key=lambda cls: cls.name)]
    return "\n".join(parts)


def _operation(cls: type[Operation], section: Section) -> str:
    lines = [f"### {cls.name}", "", "```text", syntax_of(section), "```", "", "```mlir", section.body, "```", ""]
    texts: dict[str, str] = {}
    for other in all_sections():
        for one in other.constraints if other.op == cls.name else ():
            texts.setdefault(one.name, one.text)
    lines += [f"* `{name}`: {text}" for name, text in texts.items()]
    return "\n".join([*lines, ""] if texts else lines)


def syntax_of(section: Section) -> str:
    """The operation of an example as its printer writes it, with words for operands, types and numbers."""
    module = parse_module(section.program)
    op = next(one for one in module.walk() if one.name == section.op)
    _name_values(op)
    text = _statement(module, op)
    for pattern, word in _NUMBERS:
        text = pattern.sub(word, text)
    return without_types(text)


def _name_values(op: Operation) -> None:
    """Name the operands and results as the class does."""
    if not isinstance(op, IRDLOperation):
        return
    definition = op.get_irdl_definition()
    for definitions, values in ((definition.operands, op.operands), (definition.results, op.results)):
        singles = all(type(kind) is OperandDef or not isinstance(kind, VarOperandDef) for _, kind in definitions)
        for index, value in enumerate(values):
            if len(definitions) == len(values) and singles:
                value.name_hint = definitions[index][0]
            elif definitions:
                value.name_hint = f"{definitions[0][0]}{index}"
    for number, region in enumerate(op.regions):
        for index, argument in enumerate(region.block.args if region.blocks else ()):
            argument.name_hint = f"arg{number}{index}"


def _statement(module: ModuleOp, op: Operation) -> str:
    """The lines of the operation in the printed module, the bodies of its regions left out."""
    text = print_module(module, spelling="stablehlo")
    name = re.escape(f"stable{op.name}" if op.name.startswith("hlo.") and op.name != "hlo.fusion" else op.name)
    found = re.search(rf'^( *)(?:%[^\n]*? = )?"?(?:{name}|{re.escape(op.name)})"?(?=[ (<])[^\n]*', text, re.MULTILINE)
    if found is None:
        return op.name
    indent = found[1]
    lines = [found[0][len(indent) :]]
    if found[0].rstrip().endswith("{"):
        for line in text[found.end() + 1 :].split("\n"):
            if line.startswith(f"{indent}}}") or not line.startswith(f"{indent} "):
                lines += ["  ..", line[len(indent) :]]
                if not line.rstrip().endswith("{"):
                    break
    return "\n".join(lines)


def without_types(text: str) -> str:
    """The text with `type` for each type: names with angle brackets, balanced, that are not attributes."""
    parts: list[str] = []
    position = 0
    while (found := _TYPE.search(text, position)) is not None:
        name = found[0].removesuffix("<")
        if name not in _ELEMENT_TYPES and not name.startswith("!"):
            parts.append(text[position : found.end()])
            position = found.end()
            continue
        parts.append(text[position : found.start()] + "type")
        position = _end_of_type(text, found.start())
    return "".join(parts) + text[position:]


def _end_of_type(text: str, start: int) -> int:
    short = _SHORT_TYPE.match(text, start)
    position = start if short is None else short.end()
    if text[position : position + 1] != "<":
        return position
    depth = 0
    while position < len(text):
        depth += {"<": 1, ">": -1}.get(text[position], 0)
        position += 1
        if depth == 0:
            break
    return position
