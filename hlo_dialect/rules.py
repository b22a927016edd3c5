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

import os
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any, Generic, TypeVar

from xdsl.ir import Operation

from .diagnostics import Diagnostic, DiagnosticError
from .file_scans import scanned
from .plugins import Plugin, leave_out, loaded

Rule = TypeVar("Rule")
OpType = type[Operation]


class Rules(Generic[Rule]):
    """
    The rules of a pass by operation class; a class without a rule has that of its nearest base with one.

    A lookup imports the files of `package` with rules for the class or a base of it (`table.on(AddOp)`,
    `table.add({AddOp: ..})` in their text, with the name that a file of the package has for this table), so that a new
    file edits no list, and a program imports only what concerns its operations. The first
    one loads the entry points of the group `group` of other installed packages, each a sequence of (operation class,
    rule); what does not load is left out with a warning (plugins.py). `name` is the table's name in messages.
    Registering two rules for one class raises DiagnosticError, unless the table takes `several`: they are then tried in
    the order of the files' names, and last those from elsewhere, in the order of registration.
    """

    def __init__(self, name: str, package: str | None = None, group: str | None = None, several: bool = False):
        self.name = name
        self.package = package
        self.group = group
        self.several = several
        self._rules: dict[OpType, tuple[Rule, ...]] = {}
        self._places: dict[OpType, str] = {}
        self._files: dict[OpType, list[tuple[bool, str]]] = {}
        """For each rule of a class, whether it is from elsewhere, and its file in the package."""
        self._found: dict[OpType, tuple[Rule, ...]] = {}
        self._waiting: dict[str, frozenset[str]] | None = None
        """The classes for which files that are not imported have rules, by module; None before the first lookup."""
        self._complete = False
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
        found = self._found.get(op_type)
        if found is None:
            found = self.all(op_type)
        return found[0] if found else None

    def all(self, op_type: OpType) -> tuple[Rule, ...]:
        """The rules of a class, then those of its bases."""
        found = self._found.get(op_type)
        if found is None:
            self._load(op_type)
            found = tuple(rule for base in op_type.__mro__ for rule in self._rules.get(base, ()))
            self._found[op_type] = found
        return found

    def listed(self) -> dict[OpType, tuple[Rule, ...]]:
        """The rules by the class that each is registered for, in the order of the classes' names."""
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
        rules, files = self._rules.get(op_type, ()), self._files.setdefault(op_type, [])
        module = place.rpartition(":")[0]
        own = self.package is not None and module.startswith(f"{self.package}.")
        file = (not own, module if own else "")
        index = bisect_right(files, file)
        files.insert(index, file)
        self._rules[op_type] = (*rules[:index], rule, *rules[index:])
        self._places[op_type] = place
        self._found.clear()

    def _load(self, op_type: OpType | None = None) -> None:
        """Import the files with rules for the class or a base of it, or all, and at first those of other packages."""
        if self._complete:
            return
        with self._lock:
            if self._waiting is None:
                self._waiting = {} if self.package is None else self._stated_in(self.package)
                for plugin, rules in loaded(self.group) if self.group is not None else ():
                    self._add_those_of(plugin, rules)
            self._import(self._waiting, op_type)
            self._complete = not self._waiting

    def _stated_in(self, package: str) -> dict[str, frozenset[str]]:
        """`classes_by_file`, less what files register in other tables of the package."""
        bound = [(name, value) for module in _modules_of(package) for name, value in vars(module).items()]
        own = {name for name, value in bound if value is self}
        # A table without a name of its own, as in a test, may be any.
        others = {name for name, value in bound if isinstance(value, Rules)} - own if own else set[str]()
        return {
            module: frozenset[str]().union(*(names for table, names in classes.items() if table not in others))
            for module, classes in classes_by_file(package).items()
        }

    def _import(self, waiting: dict[str, frozenset[str]], op_type: OpType | None) -> None:
        names = {"*"} if op_type is None else {"*"}.union(*map(spellings, op_type.__mro__))
        for module in [name for name, classes in waiting.items() if op_type is None or not names.isdisjoint(classes)]:
            import_module(module)
            waiting.pop(module, None)

    def _add_those_of(self, plugin: Plugin, rules: Iterable[tuple[Any, Rule]]) -> None:
        try:
            for op_type, rule in rules:
                if not issubclass(op_type, Operation):
                    raise TypeError(f"{op_type.__name__} is no class of operations")
                self._import(self._waiting or {}, op_type)
                self._register(op_type, rule, f"the entry point {self.group} of {plugin.package}")
        except (TypeError, ValueError) as error:
            leave_out(plugin, f"expected pairs of an operation class and its rule: {error}")
        except DiagnosticError as error:
            leave_out(plugin, error.diagnostics[0].message)


_ON = re.compile(r"(\w+)\.on\(([^)]*)\)")
_TABLE = re.compile(r"(\w+)\.add\(\s*\{(.*?)\}\s*\)", re.DOTALL)
_CLASS_NAME = re.compile(r"(?:\b[a-z_]\w*\.)?[A-Z]\w*|\*")
_ALIAS = re.compile(r" as (\w+)")  # `\bas` takes ten times as long


def spellings(class_: type) -> set[str]:
    """A class as a file may name it: `LoadOp`, or with one of the modules that it is in, `memref.LoadOp`."""
    name = class_.__name__
    return {name, *(f"{module}.{name}" for module in class_.__module__.split("."))}


def files_of(package: str) -> list[str]:
    """The modules of a package, in the order of their names."""
    return [f"{package}.{name}" for name in _texts_in(package)]


def _texts_in(package: str) -> dict[str, str]:
    """The files with the text of a package's modules by their names, in the order of the names."""
    found: dict[str, str] = {}
    with os.scandir(import_module(package).__path__[0]) as entries:
        for entry in entries:
            if entry.name.endswith(".py") and entry.name != "__init__.py":
                found[entry.name[:-3]] = entry.path
            elif entry.is_dir() and os.path.isfile(text := os.path.join(entry.path, "__init__.py")):
                found[entry.name] = text
    return dict(sorted(found.items()))


def import_files(package: str) -> list[ModuleType]:
    """Import every file of a package, in the order of their names; the modules."""
    return [import_module(name) for name in files_of(package)]


def _modules_of(package: str) -> list[ModuleType]:
    """The modules of a package that are imported."""
    return [module for name, module in list(sys.modules.items()) if name.startswith(f"{package}.")]


@cache
def classes_by_file(package: str) -> Mapping[str, Mapping[str, frozenset[str]]]:
    """
    The names of the classes that each file of a package may register rules for, by module, in the order of their names,
    and by the name that the file has for the table.

    A name has the module that the file states before it (`memref.LoadOp`), unless the file renames that. Files are
    read, not imported. `*` stands for any class, where the text does not tell: `.on(*OPS)`, or a table that is
    computed.
    """
    return {f"{package}.{name}": scanned(path, os.stat(path), _classes_in) for name, path in _texts_in(package).items()}


def _classes_in(contents: bytes) -> dict[str, frozenset[str]]:
    """See `classes_by_file`."""
    text = contents.decode()
    renamed = set(_ALIAS.findall(text))
    found: dict[str, set[str]] = {}
    stated = [(table, _CLASS_NAME.findall(classes)) for table, classes in _ON.findall(text)]
    for table, entries in _TABLE.findall(text):
        key = entries.partition(":")[0].strip()
        stated.append((table, _CLASS_NAME.findall(entries.replace("*", "")) if key[-2:] == "Op" else ["*"]))
    for table, classes in stated:
        bare = [each.rpartition(".")[2] for each in classes if each.partition(".")[0] in renamed]
        # A table that the file renames may be any.
        found.setdefault("" if table in renamed else table, set()).update(classes, bare)
    return {table: frozenset(classes) for table, classes in found.items()}


def _caller() -> str:
    """`module:line` of the code that registers."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    return f"{frame.f_globals['__name__']}:{frame.f_lineno}"
