"""A short way from a call with arrays, numbers and plain static values to its program."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import inspect
import itertools
from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Generic, TypeVar

import numpy as np

from ...targets.program.trees import fields_of, flatten, map_leaves

Found = TypeVar("Found")
_NUMBERS = frozenset((bool, int, float, complex, *(np.dtype(code).type for code in "?bhilqBHILQefdFD")))
"""The types of numbers, which say all that a program depends on."""
_PLAIN = frozenset((bool, int, float, str, type(None)))
"""The static values whose equality, beside their type, is identity."""


def is_large(leaf: Any) -> bool:
    """Whether a leaf is an int of Python that i64 does not hold: its value decides the type of the argument."""
    return type(leaf) is int and not -(2**63) <= leaf < 2**63


class Shortcuts(Generic[Found]):
    """The results of lookups, by the facts of arguments that are seen without binding them to names."""

    def __init__(self, signature: inspect.Signature, static: AbstractSet[str]):
        self._signature = signature
        self._static = static
        kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
        self._positional = [one.name for one in signature.parameters.values() if one.kind in kinds]
        self._known: dict[Hashable, tuple[Found, list[int] | None]] = {}

    def facts(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Hashable, list[Any]] | None:
        """The facts of a call, and the leaves of what is not static; None for a call that goes the long way."""
        facts: list[Any] = [len(args), *kwargs] if kwargs else []
        leaves: list[Any] = []
        given: Any = args
        if self._static:
            if len(args) > len(self._positional):
                return None
            given = []
            for name, one in (*zip(self._positional, args, strict=False), *kwargs.items()):
                if name not in self._static:
                    given.append(one)
                elif type(one) in _PLAIN:
                    facts.append((name, type(one), one))
                else:
                    return None
        elif kwargs:
            given = (*args, *kwargs.values())
        return (tuple(facts), leaves) if _see(given, facts, leaves) else None

    def find(self, facts: Hashable, leaves: list[Any]) -> tuple[Found, list[Any]] | None:
        """The result for these facts, and the leaves in the order of the program's arguments."""
        known = self._known.get(facts)
        if known is None:
            return None
        found, order = known
        return found, leaves if order is None else [leaves[number] for number in order]

    def keep(self, facts: Hashable, args: Sequence[Any], kwargs: dict[str, Any], found: Found) -> None:
        """Keep the result for a call."""
        # Their numbers stand for the leaves, to see in which order the program takes them.
        numbers = itertools.count()
        names = [*self._positional[: len(args)], *[None] * (len(args) - len(self._positional)), *kwargs]
        stand = [
            one if name in self._static else map_leaves(lambda leaf: next(numbers), one)
            for name, one in zip(names, (*args, *kwargs.values()), strict=True)
        ]
        bound = self._signature.bind(*stand[: len(args)], **dict(zip(kwargs, stand[len(args) :], strict=True)))
        order = flatten({name: one for name, one in bound.arguments.items() if name not in self._static})[0]
        self._known[facts] = found, None if order == sorted(order) else order

    def clear(self) -> None:
        self._known.clear()


def _see(values: Iterable[Any], facts: list[Any], leaves: list[Any]) -> bool:
    """Add the facts of values and of what they hold, and their leaves; False for what is none of the plain kinds."""
    for one in values:
        kind = type(one)
        facts.append(kind)
        if kind is np.ndarray:
            facts.append(one.dtype)
            facts.append(one.shape)
            leaves.append(one)
        elif kind in _NUMBERS:
            if kind is int and is_large(one):
                return False
            leaves.append(one)
        elif kind is tuple or kind is list:
            facts.append(len(one))
            if not _see(one, facts, leaves):
                return False
        elif kind is dict:
            facts.append(tuple(one))
            if not _see(one.values(), facts, leaves):
                return False
        elif one is not None:
            names = fields_of(kind)
            if names is None or not _see([getattr(one, name) for name in names], facts, leaves):
                return False
    return True
