"""
The part of the reader that says which name was meant: of types, attributes, aliases and cases of an enumeration.
"""

# The reader extends xDSL's parser, whose building blocks are private by name.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from xdsl.parser import Parser
from xdsl.utils.lexer import Span
from xdsl.utils.str_enum import StrEnum

from ..diagnostics.suggestions import did_you_mean, type_suggestion

_FoundT = TypeVar("_FoundT")
_ALIAS = re.compile(r"^[#!][\w$.-]+(?=[ \t]*=)", re.MULTILINE)


class SuggestingParser(Parser):
    """xDSL's parser with the nearest known name in its messages."""

    def expect(self, try_parse: Callable[[], _FoundT | None], error_message: str) -> _FoundT:
        found = try_parse()
        if found is not None:
            return found
        if try_parse == self.parse_optional_type:
            error_message = error_message.removesuffix(".") + type_suggestion(self._current_token.text)
        self.raise_error(error_message)

    def raise_error(self, msg: str, *place: Any, **named: Any) -> NoReturn:
        if msg.endswith("argument or type"):  # of a function's arguments
            msg += type_suggestion(self._current_token.text)
        super().raise_error(msg, *place, **named)

    def _raise_wrong_str_enum_value_error(self, enum_type: type[StrEnum], span: Span) -> NoReturn:  # pyright: ignore
        cases = [str(case) for case in enum_type]
        written = span.text.strip('"')
        expected = ", ".join(f"`{case}`" for case in cases[:-1])
        expected += f"{', or ' if expected else ''}`{cases[-1]}`"
        near = did_you_mean(written, cases, cutoff=0.5)
        self.raise_error(f"expected {expected}, got '{written}'{near}", span)

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: Any) -> Any:
        alias = f"{'!' if is_type else '#'}{attr_or_dialect_name}"
        punctuated = self._current_token.text == "<"
        if "." not in attr_or_dialect_name and not punctuated and alias not in self.attribute_aliases:
            near = did_you_mean(alias, _ALIAS.findall(self.lexer.input.content))
            self.raise_error(f"undefined symbol alias '{alias}'{near}", self._span_behind(alias))
        return super()._parse_extended_type_or_attribute(attr_or_dialect_name, is_type)

    def _parse_dialect_type_or_attribute_body(
        self, attr_name: str, is_type: bool, is_opaque: bool, starting_opaque_pos: int | None
    ) -> Any:
        known = self.ctx.get_optional_type(attr_name) if is_type else self.ctx.get_optional_attr(attr_name)
        if known is None:
            message = f"'{attr_name}' is not registered{self._nearest(attr_name, is_type)}"
            self.raise_error(message, self._span_behind(attr_name.rpartition(".")[2] if is_opaque else attr_name))
        return super()._parse_dialect_type_or_attribute_body(attr_name, is_type, is_opaque, starting_opaque_pos)

    def _nearest(self, name: str, is_type: bool) -> str:
        prefix, _, rest = name.partition(".")
        dialect = "hlo" if prefix in ("stablehlo", "mhlo") else prefix
        names = [found.name.partition(".") for found in (self.ctx.loaded_types if is_type else self.ctx.loaded_attrs)]
        near = did_you_mean(rest, [own for owner, _, own in names if owner == dialect], f"{prefix}.")
        dialects = ("stablehlo", *self.ctx.registered_dialect_names)
        return near or ("" if prefix in dialects else did_you_mean(prefix, dialects))

    def _span_behind(self, text: str) -> Span:
        """The place of a name that was read just before."""
        content = self.lexer.input.content
        start = content.rfind(text, 0, self._current_token.span.start)
        if start < 0:
            return self._current_token.span
        begin = start - (content[start - 1 : start] in ("#", "!"))
        return Span(begin, start + len(text), self.lexer.input)
