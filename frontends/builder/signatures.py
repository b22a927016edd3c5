"""Operations as Python calls: their operands by position or name, their properties and regions by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    OptOperandDef,
    OptPropertyDef,
    OptRegionDef,
    VarOperandDef,
    VarRegionDef,
)

from .properties import Convert, base_of, conversion, parameters_of

SEGMENTS = "operandSegmentSizes"


@dataclass(frozen=True)
class Argument:
    """An operand, or several: `many` holds of a variadic one."""

    name: str
    many: bool
    optional: bool


@dataclass
class Call:
    """The arguments of a call, sorted."""

    operands: list[Any] = field(default_factory=list[Any])
    """A list for a variadic operand, None for an optional one that is missing."""
    properties: dict[str, Attribute] = field(default_factory=dict[str, Attribute])
    regions: list[Any] = field(default_factory=list[Any])
    """Functions; a list of them for a variadic region."""


@dataclass(frozen=True, eq=False)
class Signature:
    """The arguments that an operation's definition states."""

    cls: type[Operation]
    operands: tuple[Argument, ...]
    properties: Mapping[str, Convert]
    required: tuple[str, ...]
    """The properties without which there is no operation."""
    flags: frozenset[str]
    """The properties that are there or not."""
    parts: Mapping[str, str]
    """The property whose parameter a name is: `offset_dims` is one of `dimension_numbers`."""
    regions: tuple[Argument, ...]
    sized: bool
    """Whether the sizes of variadic operands are a property."""

    @cached_property
    def _known(self) -> dict[tuple[Any, ...], dict[str, Attribute]]:
        """Properties by what they were made from: a program states the same ones over and over."""
        return {}

    @cached_property
    def fixed(self) -> bool:
        """Whether the number of operands is."""
        return not any(operand.many or operand.optional for operand in self.operands)

    @cached_property
    def operands_alone(self) -> int | None:
        """The number of operands if these are all that must be given."""
        return None if self.required or self.regions or not self.fixed else len(self.operands)

    @property
    def text(self) -> str:
        """`reduce(*inputs, *init_values, dimensions=, body=)`"""
        operands = [("*" if one.many else "") + one.name + ("=None" if one.optional else "") for one in self.operands]
        named = [*self.properties, *(region.name for region in self.regions)]
        return f"{self.cls.name.partition('.')[2]}({', '.join([*operands, *(f'{name}=' for name in named)])})"

    def sort(self, arguments: Sequence[Any], named: dict[str, Any]) -> Call:
        """Sort the arguments of a call. Raises TypeError, ValueError."""
        call = Call()
        if len(arguments) == len(self.operands):
            call.operands += arguments
            return self._with_names(call, named)
        if len(arguments) > len(self.operands):
            raise TypeError(f"takes {len(self.operands)} operands by position, got {len(arguments)}: {self.text}")
        for index, operand in enumerate(self.operands):
            if index < len(arguments):
                value = arguments[index]
            elif operand.name in named:
                value = named.pop(operand.name)
            elif operand.many:
                value = ()
            elif operand.optional:
                value = None
            else:
                raise TypeError(f"operand {operand.name} is missing: {self.text}")
            call.operands.append(value)
        return self._with_names(call, named)

    def _with_names(self, call: Call, named: dict[str, Any]) -> Call:
        for region in self.regions:
            if region.name not in named:
                raise TypeError(f"region {region.name} is missing: {self.text}")
            call.regions.append(named.pop(region.name))
        facts = _facts(named)
        known = None if facts is None else self._known.get(facts)
        if known is not None:
            call.properties.update(known)
        else:
            self._add_properties(call.properties, named)
            if facts is not None:
                if len(self._known) >= KEPT:
                    self._known.clear()
                self._known[facts] = dict(call.properties)
        if self.sized:
            sizes = [
                len(value) if one.many else int(value is not None)
                for one, value in zip(self.operands, call.operands, strict=True)
            ]
            call.properties[SEGMENTS] = cast(Attribute, DenseArrayBase.from_list(i32, sizes))
        return call

    def _add_properties(self, properties: dict[str, Attribute], named: dict[str, Any]) -> None:
        gathered: dict[str, dict[str, Any]] = {}
        for name, value in named.items():
            if value is None or (name in self.flags and value is False):
                continue
            if name in self.properties:
                properties[name] = _converted(name, self.properties[name], value)
            elif name in self.parts:
                gathered.setdefault(self.parts[name], {})[name] = value
            else:
                raise TypeError(f"has no argument {name}: {self.text}")
        for name, values in gathered.items():
            if name in properties:
                raise TypeError(f"takes {name} as a whole, or in parts, not both")
            properties[name] = _converted(name, self.properties[name], values)
        missing = [name for name in self.required if name not in properties]
        if missing:
            raise TypeError(f"property {missing[0]} is missing: {self.text}")


KEPT = 1024
"""The number of calls whose properties are kept, for each operation."""

_PLAIN = frozenset((int, bool, str, type(None)))
_INTEGERS = frozenset((int,))


def _facts(named: dict[str, Any]) -> tuple[Any, ...] | None:
    """A hashable form of values that make properties: numbers, words, lists of integers; None for others."""
    facts: list[Any] = []
    for name, value in named.items():
        kind = cast("type[Any]", type(value))
        if kind is list or kind is tuple:
            if not _INTEGERS.issuperset(map(type, value)):
                return None
            value = tuple(value)
        elif kind not in _PLAIN:
            return None
        facts += (name, kind, value)
    return tuple(facts)


def _converted(name: str, convert: Convert, value: Any) -> Attribute:
    try:
        return convert(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None


@cache
def signature(cls: type[Operation]) -> Signature:
    """The arguments of an operation's class."""
    definition: Any = cast(Any, cls).get_irdl_definition()
    sized = any(isinstance(option, AttrSizedOperandSegments) for option in definition.options)
    hidden = {
        option.attribute_name
        for option in definition.options
        if isinstance(option, AttrSizedOperandSegments | AttrSizedResultSegments)
    }
    properties = {name: found for name, found in definition.properties.items() if name not in hidden}
    bases = {name: base_of(found.constr) for name, found in properties.items()}
    parts = {part: name for name, base in bases.items() if base is not None for part in parameters_of(base)}
    return Signature(
        cls,
        tuple(
            Argument(
                name,
                isinstance(one, VarOperandDef) and not isinstance(one, OptOperandDef),
                isinstance(one, OptOperandDef),
            )
            for name, one in definition.operands
        ),
        {name: conversion(found.constr) for name, found in properties.items()},
        tuple(name for name, found in properties.items() if not isinstance(found, OptPropertyDef)),
        frozenset(name for name, base in bases.items() if base is UnitAttr),
        {part: name for part, name in parts.items() if part not in properties},
        tuple(
            Argument(
                name, isinstance(one, VarRegionDef) and not isinstance(one, OptRegionDef), isinstance(one, OptRegionDef)
            )
            for name, one in definition.regions
        ),
        sized,
    )
