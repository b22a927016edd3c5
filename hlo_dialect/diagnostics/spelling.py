"""Messages in the spelling of the user's program: `stablehlo.add` or `mhlo.add` for what is hlo.add inside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from xdsl.ir import Attribute

from ..errors import file_location
from .source_text import line_of

_SPELLED = re.compile(r"(?<![\w.])(stablehlo|mhlo|hlo)\.[a-z]")
_AT_PLACE = re.compile(r'"?(stablehlo|mhlo|hlo)\.')
_OURS = re.compile(r"(?<![\w.-])hlo\.(?!fusion\b|kernel\b)(?=[a-z])")
"""Names of the hlo dialect, but for those that StableHLO does not have."""


def respelled(message: str, location: Attribute, sources: Mapping[str, str]) -> str:
    """The message with hlo's names as the source spells them: at its place, or elsewhere where that says nothing."""
    if "hlo." not in message:
        return message
    spelling = _spelling_at(location, sources)
    return message if spelling == "hlo" else _OURS.sub(f"{spelling}.", message)


def _spelling_at(location: Attribute, sources: Mapping[str, str]) -> str:
    place = file_location(location)
    text = None if place is None else sources.get(place.filename.data)
    if place is not None and text is not None:
        line = line_of(text, place.line.data) or ""
        found = _AT_PLACE.match(line, max(0, place.column.data - 1))
        if found is not None:
            return found[1]
    spellings = [_first_spelling(text) for text in sources.values()]
    return next(filter(None, spellings), "hlo")


@lru_cache(maxsize=8)
def _first_spelling(text: str) -> str | None:
    found = _SPELLED.search(text)
    return None if found is None else found[1]
