"""A short way from a call with arrays, numbers and plain static values to its program."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Generic, TypeVar

import numpy as np

from .trees import flatten

Found = TypeVar("Found")
_NUMBERS = frozenset((bool, int, float, complex))
_PLAIN = frozenset((bool, int, float, str, type(None)))
"""The static values whose equality, beside their type, is identity."""


class Shortcuts(Generic[Found]):
    """The results of lookups, by the facts of arguments that are seen without binding them to names."""

    def __init__(self, signature: inspect.Signature, static: AbstractSet[str]):
        self._signature = signature
        self._static = static
        kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
        self._positional = [one.name for one in signature.parameters.values() if one.kind in kinds]
        self._known: dict[Hashable, tuple[Found, Callable[[Sequence[Any]], list[Any]]]] = {}

    def key(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Hashable:
        """The facts of a call; None for one that goes the long way."""
        facts: list[Any] = [*kwargs]
        if self._static:
            if len(args) > len(self._positional):
                return None
            for name, one in (*zip(self._positional, args, strict=False), *kwargs.items()):
                if name in self._static:
                    if type(one) not in _PLAIN:
                        return None
                    facts.append((type(one), one))
        for one in (*args, *kwargs.values()) if kwargs else args:
            kind = type(one)
            facts.append(kind)
            if kind is np.ndarray:
                facts.append(one.dtype)
                facts.append(one.shape)
            elif kind not in _NUMBERS and not (self._static and kind in _PLAIN):
                return None
        return tuple(facts)

    def find(self, key: Hashable) -> tuple[Found, Callable[[Sequence[Any]], list[Any]]] | None:
        """The result for these facts, and a function from the call's arguments to those of the program."""
        return self._known.get(key)

    def keep(self, key: Hashable, args: Sequence[Any], kwargs: dict[str, Any], found: Found) -> None:
        """Keep the result for a call."""
        # Their numbers stand for the arguments, to see in which order the program takes them.
        numbers = iter(range(len(args) + len(kwargs)))
        bound = self._signature.bind(*[next(numbers) for _ in args], **{name: next(numbers) for name in kwargs})
        order = flatten({name: one for name, one in bound.arguments.items() if name not in self._static})[0]
        self._known[key] = found, lambda values: [values[number] for number in order]

    def clear(self) -> None:
        self._known.clear()
