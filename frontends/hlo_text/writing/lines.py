"""
The instructions of a computation while they are written, and the computations of a module.

An operation with one result is an instruction; one with several is an instruction whose value is a tuple, and a
get-tuple-element for each result. Regions become computations, which take what they use from outside as parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....hlo_dialect.attributes import XLA_SHAPE
from ....hlo_dialect.diagnostics import fail
from ....hlo_dialect.ops.creation import ConstantOp
from ..shapes import layouts_of, type_text
from .rules import writers
from .values import listed, metadata_text, tuple_text

Sharding = Callable[[Mapping[str, Attribute], Operation, Attribute], str]
"""The text of the sharding that attributes of a value of a type state; empty without."""

_UNFIT = re.compile(r"[^\w.-]", re.ASCII)
_NUMBERED = re.compile(r"\.[0-9]{1,9}$")
_MAX_DEPTH = 64


class Module:
    """The computations that are written so far, callees first, and the names that are taken."""

    def __init__(self, sharding: Sharding) -> None:
        self.sharding = sharding
        self.texts: list[str] = []
        self.functions: dict[str, str] = {}
        self.symbols: dict[str, FuncOp] = {}
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}
        self.depth = 0

    def unique(self, hint: str) -> str:
        """A name that nothing else in the module has: the hint itself where it is free."""
        name = _UNFIT.sub("_", hint)
        if not name[:1].isalpha() and name[:1] != "_":
            name = f"_{name}"
        if name not in self._taken:
            self._taken.add(name)
            return name
        stem = _NUMBERED.sub("", name)
        number = self._next.get(stem, 1)
        while (candidate := f"{stem}.{number}") in self._taken:
            number += 1
        self._next[stem] = number + 1
        self._taken.add(candidate)
        return candidate

    def function(self, op: Operation, symbol: str) -> str:
        """The computation of a function, which is written at its first call."""
        if symbol not in self.functions:
            found = self.symbols.get(symbol)
            if found is None or found.is_declaration:
                fail(op, f"calls @{symbol}, which has no body")
            block = found.body.block
            self.functions[symbol] = self.computation(op, symbol, block.args, block)
        return self.functions[symbol]

    def computation(
        self,
        op: Operation,
        hint: str,
        parameters: Sequence[SSAValue],
        block: Block,
        *,
        captured: Sequence[SSAValue] = (),
        as_tuple: bool = False,
        keeps: bool = False,
    ) -> str:
        """
        Write a block as a computation of these parameters; its name.

        `captured` are parameters besides them, of values from outside; with `as_tuple` all are one tuple, with `keeps`
        the captured ones are also returned.
        """
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            fail(op, f"is nested more than {_MAX_DEPTH} deep")
        name = self.unique(hint)
        lines = Lines(self)
        lines.take([*parameters, *captured], as_tuple)
        root = lines.block(block, captured if keeps else (), as_tuple=as_tuple and keeps)
        self.texts.append(lines.text(f"%{name}", root))
        self.depth -= 1
        return name


class Lines:
    """The instructions of one computation."""

    def __init__(self, module: Module):
        self.module = module
        self.names: dict[SSAValue, str] = {}
        self.shapes: dict[str, str] = {}
        self.lines: list[tuple[str, str]] = []
        self.parameters: list[str] = []

    # The computation --------------------------------------------------------------------------------------------

    def take(self, parameters: Sequence[SSAValue], as_tuple: bool = False, layouts: Sequence[str] = ()) -> None:
        """The parameters, or one that is a tuple of them. `layouts` are row-major unless given."""
        if not as_tuple:
            for number, value in enumerate(parameters):
                hint = value.name_hint or f"Arg_{number}"
                layout = layouts[number] if layouts else ""
                self.names[value] = self._parameter(hint, self.type(value.type, value.owner, layout), number)
            return
        texts = [self.type(value.type, value.owner) for value in parameters]
        whole = self._parameter("arg_tuple", tuple_text(texts), 0)
        for number, (value, text) in enumerate(zip(parameters, texts, strict=True)):
            hint = value.name_hint or "get-tuple-element"
            self.names[value] = self.emit(text, "get-tuple-element", [whole], [f"index={number}"], "", hint)

    def _parameter(self, hint: str, shape: str, number: int) -> str:
        name = self.module.unique(hint)
        self.parameters.append(f"{name}: {shape}")
        self.lines.append((name, f"%{name} = {shape} parameter({number})"))
        self.shapes[name] = shape
        return name

    def block(self, block: Block, more: Sequence[SSAValue] = (), *, as_tuple: bool = False) -> str:
        """Write a block's operations; the name of the instruction whose value it returns, with `more` values."""
        last = block.last_op
        assert last is not None
        for op in block.ops:
            if op is not last:
                self.operation(op)
        results = [self.name(value, last) for value in (*last.operands, *more)]
        if len(results) == 1 and not as_tuple:
            return results[0]
        shape = tuple_text([self.shapes[name] for name in results])
        return self.emit(shape, "tuple", results, [], metadata_text(last.location), "tuple")

    def operation(self, op: Operation) -> None:
        """Write an operation. Raises DiagnosticError for one that HLO lacks."""
        rule = writers.get(type(op))
        if rule is None:
            fail(op, "has no form in HLO text")
        before = len(self.lines)
        rule(self, op)
        if len(self.lines) > before and len(op.results) == 1 and op.attributes:
            self.append(len(self.lines) - 1, self.module.sharding(op.attributes, op, op.results[0].type))

    def append(self, number: int, sharding: str) -> None:
        """State a sharding, if it is not empty, at the end of a line."""
        if sharding:
            name, line = self.lines[number]
            self.lines[number] = name, f"{line}, sharding={sharding}"

    def text(self, header: str, root: str) -> str:
        """The computation, `header (parameters) -> shape { .. }`."""
        body = "\n".join(f"  {'ROOT ' if name == root else ''}{line}" for name, line in self.lines)
        return f"{header} ({', '.join(self.parameters)}) -> {self.shapes[root]} {{\n{body}\n}}"

    # Values -----------------------------------------------------------------------------------------------------

    def type(self, type_: Attribute, owner: Operation | Block, layout: str = "") -> str:
        """A type's text. Raises DiagnosticError, at the operation that has such a value, for one that HLO lacks."""
        text = type_text(type_, layout)
        if text is None:
            op = owner.parent_op() if isinstance(owner, Block) else owner
            assert op is not None
            fail(op, f"has a value of type {type_}, which HLO text has no counterpart of")
        return text

    def results(self, op: Operation) -> list[str]:
        """The shapes of an operation's results, with the layouts that it states."""
        types = [result.type for result in op.results]
        layouts = layouts_of(op.attributes.get(XLA_SHAPE), types)
        return [self.type(type_, op, layout) for type_, layout in zip(types, layouts, strict=True)]

    def name(self, value: SSAValue, user: Operation) -> str:
        """The instruction of a value; constants from outside of the computation are written again."""
        found = self.names.get(value)
        if found is None:
            if not isinstance(value.owner, ConstantOp):
                fail(user, "uses a value from outside of its computation, which HLO does not allow there")
            self.operation(value.owner)
            found = self.names[value]
        return found

    def emit(
        self, shape: str, opcode: str, operands: Sequence[str], attributes: Sequence[str], metadata: str, hint: str
    ) -> str:
        """Write an instruction with operands by name; its own name."""
        name = self.module.unique(hint)
        arguments = listed([f"%{operand}" for operand in operands])
        rest = "".join(f", {each}" for each in (*attributes, metadata) if each)
        self.lines.append((name, f"%{name} = {shape} {opcode}({arguments}){rest}"))
        self.shapes[name] = shape
        return name

    def add(self, op: Operation, shape: str, opcode: str, operands: Sequence[str], *attributes: str) -> str:
        """Write an instruction of an operation; its name."""
        return self.emit(shape, opcode, operands, attributes, metadata_text(op.location), opcode)

    def operands(self, op: Operation) -> list[str]:
        return [self.name(value, op) for value in op.operands]

    def define(
        self,
        op: Operation,
        opcode: str,
        *attributes: str,
        operands: Sequence[str] | None = None,
        text: str | None = None,
    ) -> None:
        """
        Write the instruction of which the operation's results are the value, a tuple if there are several.

        `operands` are the operation's unless given; `text` stands between the parentheses instead of them.
        """
        names = self.operands(op) if operands is None else operands
        types = self.results(op)
        shape = types[0] if len(types) == 1 else tuple_text(types)
        hint = (op.results[0].name_hint or opcode) if len(types) == 1 else opcode
        name = self.emit(shape, opcode, names, attributes, metadata_text(op.location), hint)
        if text is not None:
            self.lines[-1] = name, self.lines[-1][1].replace(f" {opcode}()", f" {opcode}({text})", 1)
        self.bind(op, name)

    def bind(self, op: Operation, name: str) -> None:
        """Make an instruction the value of an operation's results, its elements if there are several and it is used."""
        if len(op.results) == 1:
            self.names[op.results[0]] = name
            return
        for number, (result, shape) in enumerate(zip(op.results, self.results(op), strict=True)):
            if result.first_use is None:
                continue  # XLA refuses instructions without users in a fusion
            hint = result.name_hint or "get-tuple-element"
            self.names[result] = self.emit(shape, "get-tuple-element", [name], [f"index={number}"], "", hint)

    def region(self, op: Operation, region: Region, hint: str) -> str:
        """A region without uses of outside values, other than constants, as a computation; its name."""
        return self.module.computation(op, hint, region.block.args, region.block)

    def tuple(self, op: Operation, names: Sequence[str]) -> str:
        """A tuple of instructions."""
        return self.add(op, tuple_text([self.shapes[name] for name in names]), "tuple", names)

    def refuse(self, op: Operation, message: str) -> NoReturn:
        fail(op, message)


def captured_values(regions: Sequence[Region]) -> list[SSAValue]:
    """The values that regions use and that are computed outside of them, in the order of their first use."""
    inside: set[int] = set()
    for region in regions:
        for block in region.blocks:
            inside.add(id(block))
        for op in region.walk():
            inside |= {id(block) for each in op.regions for block in each.blocks}
    found: dict[SSAValue, None] = {}
    for region in regions:
        for op in region.walk():
            for value in op.operands:
                owner = value.owner
                block = owner if isinstance(owner, Block) else owner.parent
                if block is not None and id(block) not in inside and not isinstance(owner, ConstantOp):
                    found[value] = None
    return list(found)
