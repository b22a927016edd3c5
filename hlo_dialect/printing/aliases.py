"""The names in the text of attributes that are kept by their alias, and the definitions before the module."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Attribute

from ...dialects.support.aliases import Alias


class AliasNames:
    """Gives each alias its name, or a similar one if that is taken."""

    def __init__(self) -> None:
        self._names: dict[Alias, str] = {}
        self._order: list[Alias] = []
        self._taken: set[str] = set()

    def name(self, alias: Alias) -> str:
        name = self._names.get(alias)
        if name is None:
            name, suffix = alias.name, 0
            while name in self._taken:
                suffix += 1
                name = f"{alias.name}_{suffix}"
            self._names[alias] = name
            self._order.append(alias)
            self._taken.add(name)
        return name

    def definitions(self, text_of: Callable[[Attribute], str]) -> str:
        """A line for each alias that was named, and for those that they use; `text_of` is the text of attributes."""
        lines: list[tuple[int, str]] = []
        for alias in self._order:  # grows with the aliases that the definitions use
            lines.append((alias.number, f"{self.name(alias)} = {text_of(alias.value)}\n"))
        return "".join(line for _, line in sorted(lines))
