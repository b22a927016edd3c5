"""
The table of constraints: a text, a right program and a wrong one for each; `hlo-opt --explain` prints them.

The files of this folder with a `TABLE` state them in this notation:

    ## transpose (%x: tensor<2x3xf32>)
    %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    c2: permutation has each dimension of the operand once.
      ~ [1, 0] => [1, 1]

A section is a right program: the operation, the arguments of its function, and the lines of its body; without arguments
in parentheses the lines are a whole module. The constraints follow, each with the edits (`old => new`, everywhere in
the program) that make the program wrong. An operation may have several sections; the first one is its example in
docs/ops.md. Lines that begin with `|`
instead are the body of the wrong program. `c3@2` is a constraint on what runs on a grid of 2 replicas. `## a like b`
also has the constraints of `b` whose edits fit. Operations of hlo are named without their dialect. `test/unit/hlo_dialect/verification/test_explanations.py` reads every program:
the wrong one is refused with exactly its constraint, the right one is valid.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

_TABLE = re.compile(r"^TABLE = ", re.MULTILINE)
_HEAD = re.compile(r"(?P<name>[\w.-]+)(?: like (?P<model>[\w.-]+))?(?: \((?P<arguments>.*)\))?$")
_CONSTRAINT = re.compile(r"(?P<number>[cio][0-9]+|[a-z_]+)(?:@(?P<replicas>[0-9]+))?: (?P<text>.*)$")


class TableError(Exception):
    """A mistake in a table."""


@dataclass(frozen=True)
class Explanation:
    """A constraint of the verifiers."""

    name: str
    """As messages give it: `transpose_c2`."""
    op: str
    """The operation, `hlo.transpose`."""
    text: str
    wrong: str
    """A program that breaks it, in StableHLO's spelling."""
    right: str
    """The program without the mistake."""
    replicas: int | None = None
    """For a constraint that depends on the grid: the number of replicas on which the wrong program is wrong."""


@dataclass(frozen=True)
class Section:
    """A right program with the constraints that it illustrates."""

    op: str
    body: str
    """The lines of the function's body; the module, where the section states one."""
    program: str
    constraints: tuple[Explanation, ...]


@dataclass(frozen=True)
class _Statement:
    """A constraint of a section as the table states it: what is done to the right program."""

    number: str
    text: str
    replicas: int | None
    lines: tuple[str, ...]


@cache
def sections() -> tuple[Section, ...]:
    """Every section of the tables, in the order of the files."""
    folder = Path(__file__).resolve().parent
    found: list[Section] = []
    for path in sorted(folder.glob("*.py")):
        if _TABLE.search(path.read_text(encoding="utf-8")):
            module = importlib.import_module(f".{path.stem}", __package__)
            found += _read(module.TABLE)
    return tuple(found)


def _read(table: str) -> Iterator[Section]:
    stated: dict[str, list[_Statement]] = {}
    for text in re.split(r"^## ", table, flags=re.MULTILINE)[1:]:
        head, *lines = text.strip("\n").split("\n")
        match = _HEAD.match(head)
        if match is None:
            raise TableError(f"'{head}' is no operation with arguments")
        first = next((i for i, line in enumerate(lines) if _CONSTRAINT.match(line)), len(lines))
        body = "\n".join(lines[:first]).strip("\n")
        name, arguments = match["name"], match["arguments"]
        program = _program(arguments, body)
        statements = list(_statements(lines[first:]))
        own = {one.number for one in statements}
        model = [one for one in stated.get(match["model"], ()) if one.number not in own and _applies(one, program)]
        stated.setdefault(name, []).extend(statements)
        op = name if "." in name else f"hlo.{name}"
        constraints = [_explanation(op, arguments, program, one) for one in (*statements, *model)]
        yield Section(op, body, program, tuple(constraints))


def _program(arguments: str | None, body: str) -> str:
    if arguments is None:
        return f"{body}\n"
    indented = "".join(f"  {line}\n" for line in body.split("\n"))
    return f"func.func @main({arguments}) {{\n{indented}  return\n}}\n"


def _statements(lines: list[str]) -> Iterator[_Statement]:
    starts = [i for i, line in enumerate(lines) if _CONSTRAINT.match(line)]
    for start, end in pairwise([*starts, len(lines)]):
        match = _CONSTRAINT.match(lines[start])
        assert match is not None
        replicas = None if match["replicas"] is None else int(match["replicas"])
        edits = tuple(line for line in lines[start + 1 : end] if line)
        yield _Statement(match["number"], match["text"], replicas, edits)


def _applies(statement: _Statement, program: str) -> bool:
    """Whether the edits for one program fit another."""
    return all(line.startswith("  ~ ") and line[4:].partition(" =>")[0] in program for line in statement.lines)


def _explanation(op: str, arguments: str | None, program: str, statement: _Statement) -> Explanation:
    name = f"{op.partition('.')[2].replace('-', '_')}_{statement.number}"
    wrong = _wrong(name, arguments, program, statement.lines)
    return Explanation(name, op, statement.text, wrong, program, statement.replicas)


def _wrong(constraint: str, arguments: str | None, program: str, lines: Sequence[str]) -> str:
    """The wrong program: other lines of the body, or the program with the edits."""
    if all(line.startswith("  | ") for line in lines):
        return _program(arguments, "\n".join(line[4:] for line in lines))
    for line in lines:
        if not line.startswith("  ~ ") or " =>" not in line:
            raise TableError(f"{constraint}: '{line}' is no edit")
        old, _, new = line[4:].partition(" =>")
        if old not in program:
            raise TableError(f"{constraint}: '{old}' is not in the program")
        program = program.replace(old, new.removeprefix(" "))
    return program
