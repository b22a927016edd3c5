"""
The pretty form that most operations have: `hlo.pad %a, %b, low = [0], high = [1], interior = [0] : (t, t) -> t`.

An operation declares it: a subclass of `KeywordOp` lists its keywords, and parses and prints by that list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import BoolAttr, StringAttr
from xdsl.ir import Attribute
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from ..attributes import int_array, int_attr, int_list_text, ints, parse_int_list
from ..diagnostics.suggestions import did_you_mean
from ..op import HloOp
from .structural import (
    finish_functional,
    finish_same_type,
    print_attributes,
    print_functional,
    print_operands,
)


@dataclass(frozen=True)
class Keyword:
    """`keyword = value` after the operands: the value of a property."""

    keyword: str
    property: str
    parse: Callable[[Parser], Attribute]
    text: Callable[[Any], str]
    optional: bool = False


def int_list(keyword: str, name: str) -> Keyword:
    """`keyword = [1, 2]`: an array of i64."""
    return Keyword(keyword, name, lambda parser: int_array(parse_int_list(parser)), lambda a: int_list_text(ints(a)))


def integer(keyword: str, name: str) -> Keyword:
    """`keyword = 1`: an i64."""
    return Keyword(keyword, name, lambda parser: int_attr(parser.parse_integer()), lambda a: str(a.value.data))


def flag(keyword: str, name: str) -> Keyword:
    """`keyword = true`, or nothing."""
    return Keyword(
        keyword,
        name,
        lambda parser: BoolAttr.from_bool(parser.parse_boolean()),
        lambda a: "true" if a.value.data else "false",
        optional=True,
    )


def text(keyword: str, name: str) -> Keyword:
    """`keyword = "text"`"""
    return Keyword(keyword, name, lambda parser: StringAttr(parser.parse_str_literal()), str)


def enumeration(keyword: str, name: str, kind: Any) -> Keyword:
    """`keyword = CASE`, a case of the `EnumAttribute` class `kind`."""
    return Keyword(keyword, name, lambda parser: kind(parser.parse_str_enum(kind.enum_type)), lambda a: a.data.value)


class KeywordOp(HloOp):
    """
    An operation that is written ` %a, %b, keyword = value, .. {attributes} : (t, t) -> t`.

    It has at least one operand. Keywords come in the order of `KEYWORDS`; optional ones may be left out.
    """

    KEYWORDS: ClassVar[tuple[Keyword, ...]] = ()
    ONE_TYPE: ClassVar[bool] = False
    """Whether `: t` is written for `: (t) -> t`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands: list[UnresolvedOperand] = [parser.parse_unresolved_operand()]
        stated: dict[str, Attribute] = {}
        waiting = list(cls.KEYWORDS)
        while parser.parse_optional_punctuation(",") is not None:
            found = next((k for k in waiting if parser.parse_optional_keyword(k.keyword) is not None), None)
            if found is not None:
                parser.parse_punctuation("=")
                stated[found.property] = found.parse(parser)
                del waiting[: waiting.index(found) + 1]
                continue
            position = parser.pos
            if waiting and (word := parser.parse_optional_identifier()) is not None:
                near = did_you_mean(word, [k.keyword for k in waiting])
                parser.raise_error(
                    f"expected {' or '.join(f'`{k.keyword} =`' for k in waiting)}, got '{word}'{near}", position
                )
            if stated:
                parser.raise_error(f"expected {' or '.join(f'`{k.keyword} =`' for k in waiting) or 'no more keywords'}")
            operands.append(parser.parse_unresolved_operand())
        missing = [k.keyword for k in cls.KEYWORDS if not k.optional and k.property not in stated]
        if missing:
            parser.raise_error(f"expected `, {missing[0]} =`")
        if cls.ONE_TYPE:
            return finish_same_type(cls, parser, operands, stated)
        return finish_functional(cls, parser, operands, stated)

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        for k in self.KEYWORDS:
            if (value := self.properties.get(k.property)) is not None:
                printer.print_string(f", {k.keyword} = {k.text(value)}")
        print_attributes(printer, self, [k.property for k in self.KEYWORDS])
        if self.ONE_TYPE and self.operands[0].type == self.results[0].type:
            printer.print_string(" : ")
            printer.print_attribute(self.results[0].type)
        else:
            print_functional(printer, self)
