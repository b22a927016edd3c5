"""Nested tuples, lists, dicts and dataclasses: their leaves, and the structure that puts leaves together again."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

Structure = Any
"""Hashable: a kind of container, what tells its parts apart, and their structures; LEAF for a leaf."""

LEAF = "leaf"


@cache
def fields_of(kind: type) -> tuple[str, ...] | None:
    """The names of the parts of dataclasses and named tuples; None for other classes."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    return getattr(kind, "_fields", None) if issubclass(kind, tuple) else None


def _parts(tree: Any) -> tuple[Any, Sequence[Any]] | None:
    """The kind of a container with the names of its parts, and the parts; None for a leaf."""
    if tree is None:
        return ("none",), ()
    if isinstance(tree, tuple):
        kind = type(tree)
        return (kind if hasattr(kind, "_fields") else tuple, len(tree)), tree  # pyright: ignore
    if isinstance(tree, list):
        return (list, len(tree)), tree  # pyright: ignore
    if isinstance(tree, dict):
        keys = tuple(tree)  # pyright: ignore
        return (dict, keys), [tree[key] for key in keys]
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = fields_of(type(tree)) or ()
        return (type(tree), names), [getattr(tree, name) for name in names]
    return None


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves in order, and the structure. Raises RecursionError for a tree that holds itself."""
    leaves: list[Any] = []

    def walk(one: Any) -> Structure:
        found = _parts(one)
        if found is None:
            leaves.append(one)
            return LEAF
        kind, parts = found
        return (kind, tuple([walk(part) for part in parts]))

    structure = walk(tree)
    return leaves, structure


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The tree of that structure with these leaves."""
    return assembler(structure)(iter(leaves))


Assembler = Callable[[Iterator[Any]], Any]
"""Makes a tree of the next leaves."""


def assembler(structure: Structure) -> Assembler:
    """A function that makes trees of a structure; the structure is looked at once."""
    if structure == LEAF:
        return next
    (container, *labels), inner = structure
    parts = [assembler(one) for one in inner]
    if container == "none":
        return lambda rest: None
    if container is tuple:
        return lambda rest: tuple([part(rest) for part in parts])
    if container is list:
        return lambda rest: [part(rest) for part in parts]
    (names,) = labels
    if container is dict:
        return lambda rest: {name: part(rest) for name, part in zip(names, parts, strict=True)}
    if isinstance(names, int):
        return lambda rest: container(*[part(rest) for part in parts])
    return lambda rest: dataclasses.replace(
        _empty(container), **{name: part(rest) for name, part in zip(names, parts, strict=True)}
    )


def _empty(cls: Any) -> Any:
    """An instance whose fields are set later, whatever its constructor asks for."""
    made = object.__new__(cls)
    for field in dataclasses.fields(cls):
        object.__setattr__(made, field.name, None)
    return made


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with each leaf replaced."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [function(leaf) for leaf in leaves])


def paths(tree: Any, name: str = "") -> Iterator[str]:
    """A name for each leaf: `params['w'][0]`."""
    found = _parts(tree)
    if found is None:
        yield name
        return
    (container, labels), parts = found if len(found[0]) > 1 else ((None, ()), ())
    for number, part in enumerate(parts):
        if container is dict:
            inner = f"{name}[{labels[number]!r}]"
        elif isinstance(labels, tuple):
            inner = f"{name}.{labels[number]}"
        else:
            inner = f"{name}[{number}]"
        yield from paths(part, inner)


def flatten_as(structure: Structure, tree: Any, name: str = "") -> list[Any]:
    """
    The leaves of a tree that has this structure; a dict may have its keys in any order. Raises TypeError naming the
    part that differs; `name` is the tree's.
    """
    if structure == LEAF:
        return [tree]
    (kind, *labels), inner = structure
    if kind is dict and isinstance(tree, dict):
        keys: tuple[Any, ...] = labels[0]
        if set(tree) != set(keys):  # pyright: ignore
            raise TypeError(f"{name or 'the argument'}: expected the keys {sorted(keys)}, got {sorted(tree)}")  # pyright: ignore
        parts = [(f"{name}[{key!r}]", tree[key]) for key in keys]
    else:
        found = _parts(tree)
        if found is None or found[0] != (kind, *labels):
            expected = "None" if kind == "none" else _kind_text(kind, len(inner))
            raise TypeError(f"{name or 'the argument'}: expected {expected}, got {_described(tree)}")
        parts = [(f"{name}[{number}]", part) for number, part in enumerate(found[1])]
    return [leaf for each, (label, part) in zip(inner, parts, strict=True) for leaf in flatten_as(each, part, label)]


def _kind_text(kind: Any, count: int) -> str:
    return f"a {kind.__name__} of {count}"


def _described(tree: Any) -> str:
    return _kind_text(type(tree), len(tree)) if isinstance(tree, (tuple, list, dict)) else type(tree).__name__  # pyright: ignore
