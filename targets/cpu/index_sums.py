"""Indices as sums of products of names, which show what addresses are apart by: for `vector_loops.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

Sum = Mapping[tuple[str, ...], int]
"""Factors by products of names, in order; the empty product is a number's."""

MOST_TERMS = 8

ARITHMETIC = re.compile(r"  (%[\w.]+) = (add|sub|mul) (?:nuw |nsw )*i64 (\S+), (\S+)$")


def sums_of(code: Sequence[str], unknown: set[str]) -> dict[str, Sum | None]:
    """The integers that instructions compute in terms of names from outside, None for those of another form."""
    found: dict[str, Sum | None] = dict.fromkeys(unknown)
    for line in code:
        if match := ARITHMETIC.match(line):
            x, y = (_term(each, found) for each in (match[3], match[4]))
            if x is not None and y is not None:
                found[match[1]] = times(x, y) if match[2] == "mul" else plus(x, y, 1 if match[2] == "add" else -1)
    return found


def _term(operand: str, found: Mapping[str, Sum | None]) -> Sum | None:
    if not operand.startswith("%"):
        return {(): int(operand)} if operand != "0" else {}
    return found.get(operand, {(operand,): 1})


def plus(x: Sum, y: Sum, factor: int = 1) -> Sum:
    """The sum of x and y times a factor."""
    result = dict(x)
    for product, number in y.items():
        total = result.get(product, 0) + factor * number
        if total:
            result[product] = total
        else:
            result.pop(product, None)
    return result


def times(x: Sum, y: Sum) -> Sum | None:
    """The product; None if it has many terms."""
    result: Sum = {}
    for some, number in x.items():
        for others, another in y.items():
            result = plus(result, {tuple(sorted((*some, *others))): number * another})
    return result if len(result) <= MOST_TERMS else None


def growth(index: Sum, counter: str) -> Sum | None:
    """The amount by which an index grows with the counter; None if that is not always the same."""
    products = [(list(product), number) for product, number in index.items() if counter in product]
    for product, _ in products:
        product.remove(counter)
    if any(counter in product for product, _ in products):
        return None
    return {tuple(product): number for product, number in products}


class Values:
    """The values of sums, computed once before a function's loops."""

    def __init__(self, arguments: set[str]):
        self.arguments = arguments
        self.lines: list[str] = []
        self._names: dict[frozenset[tuple[tuple[str, ...], int]], str] = {}

    def has(self, number: Sum) -> bool:
        """Whether it can be computed there, from the function's arguments."""
        return all(name in self.arguments for product in number for name in product)

    def name(self, number: Sum) -> str:
        """A number, or the name of a value."""
        if not number.keys() - {()}:
            return str(number.get((), 0))
        key = frozenset(number.items())
        if key not in self._names:
            self.lines += self._written(number)
            self._names[key] = f"%sum.{len(self.lines)}"
        return self._names[key]

    def _written(self, number: Sum) -> Iterator[str]:
        """Instructions, the last of which defines the value of the number of lines then."""
        count, total = len(self.lines), "0"
        for product, factor in sorted(number.items()):
            value = str(factor)
            for name in product:
                count += 1
                yield f"  %sum.{count} = mul i64 {value}, {name}"
                value = f"%sum.{count}"
            count += 1
            yield f"  %sum.{count} = add i64 {total}, {value}"
            total = f"%sum.{count}"
