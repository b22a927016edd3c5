"""Mutations of a program's text: bytes, tokens, lines and numbers, as a damaged file or a wrong generator has them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

_TOKEN = re.compile(r'"[^"\n]*"|[%#@!^]?[\w.$-]+(?:#\d+)?|->|\s+|.', re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.%#@])-?[0-9]+(?![\w.])")
_SIZE = re.compile(r"(?<=[<x])(?:[0-9]+|\?)(?=x)|(?<=[\[,])[0-9]+(?=[\],])")
_TYPE = re.compile(r"tensor<[^<>\n]*>|\b[a-z]+[0-9]+\[[0-9,]*\]")
"""A type of MLIR, or a shape of HLO text."""

NUMBERS = ("0", "1", "2", "-1", "3", "7", "64", "65", "255", "65536", "2147483647", "2147483648", "-2147483648",
           "1099511627776", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
           "1" * 40, "1" * 5000)  # fmt: skip
"""Integers at the edges of what something takes."""

_PIECES = ('"', "<", ">", "{", "}", "(", ")", "[", "]", "%", "^", "@", "#", "!", "\\", "//", "\0", "?", "x", ":", "->",
           "\n", "dense<", "loc(", "tensor<", "affine_map<", "{-#", "é", "￿")  # fmt: skip


def changed_bytes(numbers: random.Random, data: bytes) -> bytes:
    """One to four bytes, or a range of them, replaced, inserted or removed; or the end cut off."""
    found = bytearray(data)
    for _ in range(numbers.randint(1, 4)):
        place = numbers.randrange(len(found) + 1)
        match numbers.randrange(5):
            case 0:
                found[place : place + 1] = bytes([numbers.randrange(256)])
            case 1:
                found[place:place] = bytes([numbers.randrange(32, 127)])
            case 2:
                del found[place : place + numbers.randint(1, 8)]
            case 3:
                found[place:place] = numbers.choice(_PIECES).encode() * numbers.choice((1, 1, 1, 2, 100))
            case _:
                if numbers.random() < 0.2:
                    del found[place:]
    return bytes(found)


def changed_tokens(numbers: random.Random, text: str) -> str:
    """One to three tokens removed, doubled, exchanged or replaced, or the end cut off."""
    tokens = _TOKEN.findall(text)
    for _ in range(numbers.randint(1, 3)):
        if not tokens:
            break
        place, other = numbers.randrange(len(tokens)), numbers.randrange(len(tokens))
        match numbers.randrange(6):
            case 0:
                del tokens[place]
            case 1:
                tokens.insert(place, tokens[place])
            case 2:
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case 3:
                tokens[place] = tokens[other]
            case 4:
                integers = [index for index, token in enumerate(tokens) if token.isdigit()]
                if integers:
                    tokens[numbers.choice(integers)] = numbers.choice(("0", "1", "2", "7", "-1"))
            case _:
                if numbers.random() < 0.3:
                    del tokens[place:]
    return "".join(tokens)


def changed_lines(numbers: random.Random, text: str) -> str:
    """A few lines removed, doubled, exchanged, moved or joined."""
    lines = text.split("\n")
    for _ in range(numbers.randint(1, 3)):
        place, other = numbers.randrange(len(lines)), numbers.randrange(len(lines))
        match numbers.randrange(5):
            case 0:
                if len(lines) > 1:
                    del lines[place]
            case 1:
                lines[place:place] = [lines[place]] * numbers.choice((1, 1, 50))
            case 2:
                lines[place], lines[other] = lines[other], lines[place]
            case 3:
                lines.insert(other, lines.pop(place))
            case _:
                lines[place : place + 2] = [" ".join(lines[place : place + 2])]
    return "\n".join(lines)


def changed_numbers(numbers: random.Random, text: str) -> str:
    """One to three integers replaced by others, at the edges of what something takes."""
    for _ in range(numbers.randint(1, 3)):
        text = _replaced(numbers, text, _NUMBER, NUMBERS)
    return text


def changed_types(numbers: random.Random, text: str) -> str:
    """The sizes of a type changed, at one place or wherever the type is; or one type put for another."""
    types = list(dict.fromkeys(_TYPE.findall(text)))
    if not types:
        return text
    old = numbers.choice(types)
    new = _replaced(numbers, old, _SIZE, (*NUMBERS[:12], "?")) if numbers.random() < 0.6 else numbers.choice(types)
    if numbers.random() < 0.1:
        new = old.replace("<", "<" + "1x" * numbers.choice((60, 64, 65, 100)), 1)
    return text.replace(old, new, -1 if numbers.random() < 0.6 else 1)


def _replaced(numbers: random.Random, text: str, pattern: re.Pattern[str], by: Sequence[str]) -> str:
    places = list(pattern.finditer(text))
    if not places:
        return text
    place = numbers.choice(places)
    return text[: place.start()] + numbers.choice(by) + text[place.end() :]


_CHANGES: Sequence[Callable[[random.Random, str], str]] = (
    changed_tokens, changed_tokens, changed_lines, changed_numbers, changed_types,
)  # fmt: skip


def mutated(numbers: random.Random, text: str) -> bytes:
    """The text with one kind of change, now and then with two."""
    for _ in range(numbers.choice((1, 1, 1, 2))):
        text = numbers.choice(_CHANGES)(numbers, text)
    data = text.encode()
    return changed_bytes(numbers, data) if numbers.random() < 0.25 else data
