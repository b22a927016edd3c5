"""
Attributes and types that are kept by the alias that names them, because written out they would be huge.

An alias (`!t = tuple<..>`) usually stands for the text after it. Aliases of aliases may stand for a text that grows
exponentially with their number, and every printer, hash and comparison of xDSL's attributes walks all of it. An alias
that stands for more than `MAX_PARTS` attributes, or for more than `MAX_DEPTH` levels of them, therefore stays an
attribute of its own: equal to itself, printed as its name with the definition before the module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.ir import Attribute, BuiltinAttribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

MAX_PARTS = 10_000
MAX_DEPTH = 32

_numbers = count()


@dataclass(frozen=True, eq=False)
class Alias:
    """A definition `name = value`; `number` orders the definitions, each after those that it uses."""

    name: str
    value: Attribute
    number: int


class _Aliased(BuiltinAttribute, Data[Alias]):
    """An attribute or type that is printed as the name of its alias."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Alias:
        parser.raise_error("an alias is written by its name")

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data.name)

    def print_builtin(self, printer: Printer) -> None:
        self.print_parameter(printer)


@irdl_attr_definition
class AliasedAttr(_Aliased):
    """An attribute that is kept by its alias."""

    name = "builtin.aliased_attribute"


@irdl_attr_definition
class AliasedType(_Aliased, TypeAttribute):
    """A type that is kept by its alias."""

    name = "builtin.aliased_type"


class AliasExtents:
    """The values of the aliases of one text, and how many attributes each stands for."""

    def __init__(self) -> None:
        self._extents: dict[int, tuple[int, int, Attribute]] = {}
        self._kept: dict[str, Attribute] = {}

    def parts(self, value: Attribute) -> int:
        """The number of attributes that the value of an alias stands for."""
        return self._extent(value)[0]

    def value(self, name: str, value: Attribute) -> Attribute:
        """The attribute that the alias `name` of `value` stands for: the value itself unless it is too large."""
        parts, depth = self._extent(value)
        if parts <= MAX_PARTS and depth <= MAX_DEPTH:
            self._extents[id(value)] = (parts, depth, value)
            return value
        text = str(value)  # names the aliases in it, and is as long as the text read
        kept = self._kept.get(text)
        if kept is None:
            alias = Alias(name, value, next(_numbers))
            kept = self._kept[text] = AliasedType(alias) if isinstance(value, TypeAttribute) else AliasedAttr(alias)
        return kept

    def _extent(self, attribute: Attribute) -> tuple[int, int]:
        """The number of attributes that one consists of, itself included, and how deep they are nested."""
        known = self._extents.get(id(attribute))
        if known is not None:
            return known[:2]
        parts, depth = 1, 0
        for part in _parts(attribute):
            inner_parts, inner_depth = self._extent(part)
            parts += inner_parts
            depth = max(depth, inner_depth)
        return parts, depth + 1


def _parts(attribute: Attribute) -> Iterator[Attribute]:
    match attribute:
        case ArrayAttr():
            yield from attribute
        case DictionaryAttr():
            yield from attribute.data.values()
        case ParametrizedAttribute():
            yield from attribute.parameters
        case _:
            pass
