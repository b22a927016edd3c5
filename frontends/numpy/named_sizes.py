"""Sizes of arguments by name: `xhlo.jit(shapes={"x": "n, 4"})`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

Pattern = tuple["int | str", ...]
"""A size of each dimension: a number, a name, "_" for any; "..." for any number of dimensions."""


def _parsed(argument: str, stated: Any) -> Pattern:
    """The sizes of "n, 4", or of a tuple. Raises ValueError."""
    parts = cast(
        "Sequence[Any]", [part.strip() for part in stated.split(",")] if isinstance(stated, str) else tuple(stated)
    )
    sizes: list[int | str] = []
    for part in parts:
        text = str(part)
        if text.lstrip("-").isdigit() and int(text) >= 0:
            sizes.append(int(text))
        elif text.isidentifier() or text == "...":
            sizes.append(text)
        elif text or (len(parts) > 1 and part is not parts[-1]):
            raise ValueError(f"shapes: '{text}' in the shape of {argument} is neither a size nor a name")
    if sizes.count("...") > 1:
        raise ValueError(f"shapes: the shape of {argument} has more than one '...'")
    return tuple(sizes)


@dataclass(frozen=True)
class _Size:
    value: int
    argument: str
    dimension: int


class NamedSizes:
    """The shapes that a function states for its arguments, by their names, or by paths such as `params['w']`."""

    def __init__(self, shapes: Mapping[str, Any]):
        self._patterns = {name: _parsed(name, stated) for name, stated in shapes.items()}

    def __bool__(self) -> bool:
        return bool(self._patterns)

    @property
    def arguments(self) -> list[str]:
        return list(self._patterns)

    def check(self, arguments: Sequence[tuple[str, tuple[int, ...]]]) -> list[str]:
        """
        Check names and shapes of a call. Returns the shapes with names in place of sizes.

        Raises ValueError naming both arguments that state different sizes for one name.
        """
        known: dict[str, _Size] = {}
        return [self._checked(name, shape, known) for name, shape in arguments]

    def _checked(self, name: str, shape: tuple[int, ...], known: dict[str, _Size]) -> str:
        pattern = self._patterns.get(name)
        if pattern is None:
            return str(list(shape))
        sizes = list(pattern)
        if "..." in sizes:
            at = sizes.index("...")
            sizes[at : at + 1] = ["_"] * (len(shape) - len(sizes) + 1)
        if len(sizes) != len(shape):
            text = ", ".join(map(str, pattern))
            raise ValueError(f"argument {name} has shape {shape}, and ({text}) is stated")
        for dimension, (wanted, found) in enumerate(zip(sizes, shape, strict=True)):
            if isinstance(wanted, int):
                if wanted != found:
                    raise ValueError(
                        f"argument {name} has size {found} in dimension {dimension}, and {wanted} is stated"
                    )
            elif wanted != "_":
                first = known.setdefault(wanted, _Size(found, name, dimension))
                if first.value != found:
                    raise ValueError(
                        f"{wanted} is {found} in dimension {dimension} of argument {name}, "
                        f"and {first.value} in dimension {first.dimension} of argument {first.argument}"
                    )
        return f"[{', '.join(map(str, sizes))}]"
