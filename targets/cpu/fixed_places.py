"""
Optimized loops whose places in memory follow from values that LLVM's choice of registers is not to look into.

Before it selects instructions, LLVM looks for the best sums to keep in registers (loop strength reduction). It takes
the addresses of an innermost loop apart, down to the function's arguments, and tries the ways to put them together
again: for a loop over several rows of several arrays, with the steps written out, that is three quarters of the time to
make machine code. The optimizer has moved all that stays the same out of such a loop before, and addresses add two
registers. So what the loop takes from outside is frozen, which is no instruction: LLVM sees one number that stays.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

LEAST_ADDRESSES, LEAST_VALUES = 10, 3
"""The fewest addresses of a loop, and values from outside in them, for which this saves more time than it takes."""

LEAST_WRITTEN = 10
"""The same in the text, before the optimizer copies addresses for vectors and steps."""

_FUNCTION = re.compile(r"^(define .*\{\n)((?:.*\n)*?)(\}\n)", re.M)
_LABEL = re.compile(r"^([\w.]+):.*\n", re.M)
_DEFINED = re.compile(r"^  (%[\w.]+) = (?!phi )", re.M)
_NAME = re.compile(r"%[\w.]+")
_ADDRESS = re.compile(r"^  %[\w.]+ = getelementptr .*?, (ptr) (%[\w.]+), (i64) (\S+)$", re.M)
_SUM = re.compile(r"^  %[\w.]+ = (?:add|or) (?:nuw |nsw |disjoint )*(i64) (%[\w.]+), ()(%[\w.]+)$", re.M)


def with_fixed_places(text: str) -> str | None:
    """The same optimized functions with frozen values before their loops; None if that does not pay for any loop."""
    result = _FUNCTION.sub(lambda match: f"{match[1]}{_fixed(match[2])}{match[3]}", text)
    return None if result == text else result


def _fixed(body: str) -> str:
    """The body of a function; loops are blocks that go back to themselves."""
    parts, heads = _LABEL.split(body), [match[0] for match in _LABEL.finditer(body)]
    codes = parts[::2]
    outside = {name: number for number, code in enumerate(codes) for name in _DEFINED.findall(code)}
    frozen = dict[str, str]()
    for number, label in enumerate(parts[1::2], start=1):
        if not _goes_to(codes[number], label) or codes[number].count(" = getelementptr ") < LEAST_ADDRESSES:
            continue
        types = {name: type_ for name, type_ in _terms(codes[number]) if outside.get(name, number) != number}
        if len(types) >= LEAST_VALUES:
            codes[number] = _renamed(codes[number], types.keys())
            frozen |= types
    for name, type_ in frozen.items():
        definition = re.compile(rf"^  {re.escape(name)} = .*\n", re.M)
        line = f"  {_fixed_name(name)} = freeze {type_} {name}\n"
        codes[outside[name]] = definition.sub(lambda match, line=line: match[0] + line, codes[outside[name]])
    return "".join([codes[0], *(part for pair in zip(heads, codes[1:], strict=True) for part in pair)])


def _goes_to(code: str, label: str) -> bool:
    """Whether the last instruction of a block may go to a label."""
    end = code.rstrip("\n").rsplit("\n", 1)[-1]
    return f"label %{label}," in f"{end},"


def _terms(code: str) -> Iterator[tuple[str, str]]:
    """The operands of addresses and sums, with types."""
    for pattern in (_ADDRESS, _SUM):
        for type_, name, other_type, other in pattern.findall(code):
            yield name, type_
            yield other, other_type or type_


def _renamed(code: str, names: Collection[str]) -> str:
    """The instructions of a loop, whose addresses and sums have the frozen values."""

    def with_fixed_names(match: re.Match[str]) -> str:
        return _NAME.sub(lambda name: _fixed_name(name[0]) if name[0] in names else name[0], match[0])

    return _SUM.sub(with_fixed_names, _ADDRESS.sub(with_fixed_names, code))


def _fixed_name(name: str) -> str:
    return f"%fixed.{name[1:]}"
