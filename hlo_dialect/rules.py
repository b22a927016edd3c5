"""
Tables of rules by the class of an operation: how a pass finds its rule for an operation.

A table is an object that one pass owns. It is defined in a file of the pass's package, and the other files of the
package register in it:

    decompositions = Rules[Decomposition]("decompose-hlo", __package__)

    @decompositions.on(DynamicGatherOp)
    def _dynamic_gather(op: DynamicGatherOp) -> Sequence[Operation]: ...

    scalars.add({AndOp: lambda op, x, y: x & y, OrOp: lambda op, x, y: x | y})
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from threading import RLock
from types import ModuleType
from typing import Any, Generic, TypeVar

from xdsl.ir import Operation

from .diagnostics import Diagnostic, DiagnosticError
from .plugins import Plugin, leave_out, loaded

Rule = TypeVar("Rule")
OpType = type[Operation]


class Rules(Generic[Rule]):
    """
    The rules of a pass by operation class; a class without a rule has that of its nearest base with one.

    The first lookup imports every file of `package`, so that a new file edits no list, and then loads the entry points
    of the group `group` of other installed packages, each a sequence of (operation class, rule); what does not load is
    left out with a warning (plugins.py). `name` is the table's name in messages. Registering two rules for one class
    raises DiagnosticError, unless the table takes `several`: they are then tried in the order of registration.
    """

    def __init__(self, name: str, package: str | None = None, group: str | None = None, several: bool = False):
        self.name = name
        self.package = package
        self.group = group
        self.several = several
        self._rules: dict[OpType, tuple[Rule, ...]] = {}
        self._places: dict[OpType, str] = {}
        self._found: dict[OpType, tuple[Rule, ...]] = {}
        self._complete = package is None and group is None
        self._lock = RLock()

    def on(self, *op_types: OpType) -> Callable[[Rule], Rule]:
        """Decorator: the function is the rule of these classes."""
        place = _caller()

        def register(rule: Rule) -> Rule:
            for op_type in op_types:
                self._register(op_type, rule, place)
            return rule

        return register

    def add(self, rules: Mapping[OpType, Rule]) -> None:
        """Register a rule for each class: for tables of trivial cases."""
        place = _caller()
        for op_type, rule in rules.items():
            self._register(op_type, rule, place)

    def get(self, op_type: OpType) -> Rule | None:
        """The rule of a class, None without."""
        found = self.all(op_type)
        return found[0] if found else None

    def all(self, op_type: OpType) -> tuple[Rule, ...]:
        """The rules of a class, then those of its bases."""
        if not self._complete:
            self._load()
        found = self._found.get(op_type)
        if found is None:
            found = tuple(rule for base in op_type.__mro__ for rule in self._rules.get(base, ()))
            self._found[op_type] = found
        return found

    def listed(self) -> dict[OpType, tuple[Rule, ...]]:
        """The rules by the class that each is registered for, in the order of the classes' names."""
        if not self._complete:
            self._load()
        return dict(sorted(self._rules.items(), key=lambda item: item[0].__name__))

    def __contains__(self, op_type: OpType) -> bool:
        return bool(self.all(op_type))

    def __bool__(self) -> bool:
        """Whether there are any rules."""
        if not self._complete:
            self._load()
        return bool(self._rules)

    def missing(self, op_types: Iterable[OpType]) -> list[OpType]:
        """The classes without a rule."""
        return [op_type for op_type in op_types if op_type not in self]

    def _register(self, op_type: OpType, rule: Rule, place: str) -> None:
        if op_type in self._rules and not self.several:
            first = self._places[op_type]
            message = f"{self.name} has two rules for {op_type.name}: one in {first}, one in {place}"
            raise DiagnosticError(Diagnostic("error", message))
        self._rules[op_type] = (*self._rules.get(op_type, ()), rule)
        self._places[op_type] = place
        self._found.clear()

    def _load(self) -> None:
        with self._lock:
            if self._complete:
                return
            if self.package is not None:
                import_files(self.package)
            for plugin, rules in loaded(self.group) if self.group is not None else ():
                self._add_those_of(plugin, rules)
            self._complete = True

    def _add_those_of(self, plugin: Plugin, rules: Iterable[tuple[Any, Rule]]) -> None:
        try:
            for op_type, rule in rules:
                if not issubclass(op_type, Operation):
                    raise TypeError(f"{op_type.__name__} is no class of operations")
                self._register(op_type, rule, f"the entry point {self.group} of {plugin.package}")
        except (TypeError, ValueError) as error:
            leave_out(plugin, f"expected pairs of an operation class and its rule: {error}")
        except DiagnosticError as error:
            leave_out(plugin, error.diagnostics[0].message)


def import_files(package: str) -> list[ModuleType]:
    """Import every file of a package, in the order of their names; the modules."""
    return [import_module(f"{package}.{file.name}") for file in iter_modules(import_module(package).__path__)]


def _caller() -> str:
    """`module:line` of the code that registers."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    return f"{frame.f_globals['__name__']}:{frame.f_lineno}"
