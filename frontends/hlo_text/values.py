"""The values of attributes in HLO text: lists, windows, ranges of slices, groups of replicas, .."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np

from ...hlo_dialect.regular_expressions import compile_pattern

_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.DOTALL)
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_INT = re.compile(r"-?[0-9]{1,19}")
_INTS = re.compile(r"\{\s*(-?[0-9]{1,19}(?:\s*,\s*-?[0-9]{1,19})*)?\s*\}")
_RANGE = re.compile(r"\[\s*(-?[0-9]{1,19})\s*:\s*(-?[0-9]{1,19})\s*(?::\s*(-?[0-9]{1,19})\s*)?\]")
_IOTA = re.compile(r"\[([0-9, ]+)\]<=\[([0-9, ]+)\](?:T\(([0-9, ]+)\))?")
_NAMES = re.compile(r"\{\s*(%?[A-Za-z_][\w.-]*(?:\s*,\s*%?[A-Za-z_][\w.-]*)*)?\s*\}")
_WINDOW = re.compile(r"\{\s*((?:\w+=[^\s{}=]+\s*)*)\}")
_ALIAS = re.compile(r"\{([0-9,\s]*)\}\s*:\s*\(\s*([0-9]{1,9})\s*,\s*\{([0-9,\s]*)\}\s*(?:,\s*([a-z-]+)\s*)?\)")
_DONOR = re.compile(r"\(\s*([0-9]{1,9})\s*,\s*\{([0-9,\s]*)\}\s*\)")
_PAIR = compile_pattern(
    r'\s*([\w.-]+)\s*=\s*("(?:[^"\\]|\\.)*+"|\{(?:[^{}"]|"(?:[^"\\]|\\.)*+")*+\}|[^\s,{}"]+)\s*(?:,|$)'
)
_PADDING = re.compile(r"(-?[0-9]{1,19})_(-?[0-9]{1,19})(?:_([0-9]{1,19}))?")
_MAX_DEVICES = 1 << 24


class UnexpectedValueError(Exception):
    """A text is not the value that an attribute takes; the message says what is expected."""


def unquoted(text: str) -> str:
    """The characters that a quoted text stands for."""
    inner = text[1:-1] if text[:1] in "\"'" and len(text) >= 2 else text

    if "\\" not in inner:
        return inner

    def character(match: re.Match[bytes]) -> bytes:
        octal, digits, other = match.groups()
        if other is not None:
            return _ESCAPES.get(other, other)
        return bytes([int(octal, 8) & 255 if octal is not None else int(digits, 16)])

    # The escapes stand for bytes of UTF-8.
    return _ESCAPE.sub(character, inner.encode()).decode(errors="replace")


def read_int(text: str) -> int:
    if _INT.fullmatch(text) is None or not -(1 << 63) <= int(text) < 1 << 63:
        raise UnexpectedValueError("an integer")
    return int(text)


def read_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UnexpectedValueError("a number") from None


def read_bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise UnexpectedValueError("true or false")
    return text == "true"


@lru_cache(maxsize=4096)
def read_ints(text: str) -> tuple[int, ...]:
    """`{1, 2}`"""
    match = _INTS.fullmatch(text)
    if match is None:
        raise UnexpectedValueError("a list of integers, {0,1}")
    return tuple(read_int(number.strip()) for number in match[1].split(",")) if match[1] else ()


def read_names(text: str) -> tuple[str, ...]:
    """`{%a, %b}`"""
    match = _NAMES.fullmatch(text)
    if match is None:
        raise UnexpectedValueError("a list of computations, {%f, %g}")
    return tuple(name.strip().lstrip("%") for name in match[1].split(",")) if match[1] else ()


def read_words(text: str) -> tuple[str, ...]:
    """`{highest,default}`"""
    return read_names(text)


@lru_cache(maxsize=4096)
def read_ranges(text: str) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Starts, limits and strides of `{[0:4], [1:8:2]}`."""
    inner = text[1:-1].strip() if text.startswith("{") and text.endswith("}") else "?"
    found: list[tuple[int, int, int]] = []
    while inner:
        match = _RANGE.match(inner)
        if match is None:
            raise UnexpectedValueError("ranges, {[start:limit:stride], ..}")
        found.append((read_int(match[1]), read_int(match[2]), read_int(match[3] or "1")))
        inner = inner[match.end() :].lstrip().removeprefix(",").lstrip()
    starts, limits, strides = zip(*found, strict=True) if found else ((), (), ())
    return starts, limits, strides


def read_padding(text: str) -> tuple[tuple[int, int, int], ...]:
    """Low, high and interior padding of each dimension in `0_1x2_2_1`."""
    found: list[tuple[int, int, int]] = []
    for piece in text.split("x") if text else ():
        match = _PADDING.fullmatch(piece)
        if match is None:
            raise UnexpectedValueError(
                "padding, low_high or low_high_interior of each dimension, with 'x' between them"
            )
        found.append((read_int(match[1]), read_int(match[2]), read_int(match[3] or "0")))
    return tuple(found)


def _by_x(text: str) -> tuple[int, ...]:
    return tuple(read_int(number) for number in text.split("x"))


@dataclass(frozen=True)
class Window:
    """`window={size=2x2 stride=1x2 pad=0_1x0_0 lhs_dilate=.. rhs_dilate=.. rhs_reversal=1x0}`"""

    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    padding: tuple[tuple[int, int], ...] = ()
    base_dilations: tuple[int, ...] = ()
    window_dilations: tuple[int, ...] = ()
    reversal: tuple[int, ...] = ()


@lru_cache(maxsize=1024)
def read_window(text: str | None) -> Window:
    if text is None:
        return Window()
    match = _WINDOW.fullmatch(text)
    if match is None:
        raise UnexpectedValueError("a window, {size=2x2 stride=1x1 pad=0_1x0_1}")
    given: dict[str, str] = {}
    for piece in match[1].split():
        name, _, value = piece.partition("=")
        if name in given:
            raise UnexpectedValueError(f"a window with {name} once")
        given[name] = value
    names = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal")
    unknown = set(given) - set(names)
    if unknown:
        raise UnexpectedValueError(f"a window of {', '.join(names)}, not {min(unknown)}")
    if "size" not in given:
        if given:
            raise UnexpectedValueError("a window with a size")
        return Window()
    sizes = _by_x(given["size"])
    rank = len(sizes)
    padding = tuple((low, high) for low, high, _ in read_padding(given["pad"])) if "pad" in given else ((0, 0),) * rank
    lists = [_by_x(given[name]) if name in given else (1,) * rank for name in ("stride", "lhs_dilate", "rhs_dilate")]
    reversal = _by_x(given["rhs_reversal"]) if "rhs_reversal" in given else (0,) * rank
    if any(len(each) != rank for each in (padding, reversal, *lists)):
        raise UnexpectedValueError(f"a window whose entries all have {rank} dimensions, as its size")
    return Window(sizes, lists[0], padding, lists[1], lists[2], reversal)


def read_groups(text: str) -> tuple[tuple[int, ...], ...]:
    """`{{0,1},{2,3}}`, `{}`, or `[2,2]<=[2,2]T(1,0)`: rows of a reshaped and transposed iota."""
    match = _IOTA.fullmatch(text)
    if match is not None:
        return _iota_groups(*(None if each is None else tuple(map(int, each.split(","))) for each in match.groups()))
    if not (text.startswith("{") and text.endswith("}")):
        raise UnexpectedValueError("groups of replicas, {{0,1},{2,3}} or [2,2]<=[4]")
    inner = text[1:-1].strip()
    groups = re.findall(r"\{[^{}]*\}", inner)
    if re.sub(r"\{[^{}]*\}", "", inner).replace(",", "").strip():
        if groups:
            raise UnexpectedValueError("groups of replicas, {{0,1},{2,3}}")
        return (read_ints(text),)
    return tuple(read_ints(group) for group in groups)


def _iota_groups(shape: Any, dims: Any, permutation: Any) -> tuple[tuple[int, ...], ...]:
    total = int(np.prod(np.array(dims, dtype=object)))
    if not 0 < total <= _MAX_DEVICES or int(np.prod(np.array(shape, dtype=object))) != total:
        raise UnexpectedValueError("an iota of as many devices as the groups hold")
    if permutation is not None and sorted(permutation) != list(range(len(dims))):
        raise UnexpectedValueError("a permutation of the iota's dimensions")
    numbers = cast(Any, np.arange(total)).reshape(dims).transpose(permutation).reshape(-1)
    rows: Any = numbers.reshape(shape if len(shape) == 2 else (shape[0], -1))
    return tuple(tuple(map(int, row)) for row in rows)


def read_aliases(text: str) -> list[tuple[tuple[int, ...], int, tuple[int, ...], str]]:
    """Output index, operand, operand's index and kind of each entry in `{ {0}: (1, {}, may-alias) }`."""
    inner = text[1:-1].strip()
    found: list[tuple[tuple[int, ...], int, tuple[int, ...], str]] = []
    while inner:
        match = _ALIAS.match(inner)
        if match is None:
            raise UnexpectedValueError("aliases, { {output index}: (parameter, {index}, may-alias) }")
        output, index = _index(match[1]), _index(match[3])
        found.append((output, int(match[2]), index, match[4] or ""))
        inner = inner[match.end() :].lstrip().removeprefix(",").lstrip()
    return found


def read_donors(text: str) -> list[tuple[int, tuple[int, ...]]]:
    """Parameter and index of each entry in `{ (0, {}), (1, {0}) }`."""
    inner = text[1:-1].strip()
    found: list[tuple[int, tuple[int, ...]]] = []
    while inner:
        match = _DONOR.match(inner)
        if match is None:
            raise UnexpectedValueError("donated parameters, { (parameter, {index}) }")
        found.append((int(match[1]), _index(match[2])))
        inner = inner[match.end() :].lstrip().removeprefix(",").lstrip()
    return found


def _index(text: str) -> tuple[int, ...]:
    return read_ints(f"{{{text}}}")


def read_dictionary(text: str) -> dict[str, str]:
    """`{a="1",b={..}}`: the values as text, without quotes."""
    inner = text[1:-1].strip() if text.startswith("{") and text.endswith("}") else "?"
    found: dict[str, str] = {}
    while inner:
        match = _PAIR.match(inner)
        if match is None:
            raise UnexpectedValueError('a dictionary, {name="value",..}')
        found[match[1]] = unquoted(match[2]) if match[2].startswith('"') else match[2]
        inner = inner[match.end() :]
    return found
