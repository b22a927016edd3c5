"""
The dialects that a program may use, collected from the family files, and the context that knows them all.

Adding an operation edits no list: a file of `hlo_dialect/` or `dialects/` with `OPS = (...)` or `DIALECT` joins the
dialect that its operations name. Installed packages add operations through the entry point group `xhlo.ops`. Every
dialect is imported only when a program uses it, and of the dialects that are ours alone only the families that it uses.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from inspect import isclass
from typing import Any, Literal, NamedTuple, cast

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, UnregisteredAttr
from xdsl.ir import Attribute, Dialect, Operation, TypeAttribute
from xdsl.utils.exceptions import AlreadyRegisteredConstructException

from .diagnostics import HloContext
from .file_scans import scanned
from .plugins import GROUPS, Plugin, leave_out, loaded

SPELLINGS = {"stablehlo": "hlo", "mhlo": "hlo"}
"""Other names of the hlo dialect: `stablehlo.add`, `#stablehlo.dot<..>` and `!stablehlo.token` read as hlo's."""

UPSTREAM_DIALECTS = (
    "builtin",
    "func",
    "arith",
    "math",
    "scf",
    "cf",
    "tensor",
    "linalg",
    "memref",
    "vector",
    "llvm",
    "gpu",
    "affine",
    "ub",
)
"""The dialects of xDSL that the compiler's levels use."""

ANNOTATION_DIALECTS = frozenset(("sdy", "sparse_tensor"))
"""Dialects whose attributes only annotate programs (how arrays are sharded, or stored); they are kept as text."""

ENTRY_POINT_GROUP = "xhlo.ops"
"""Entry points of other packages; each loads as a `Dialect` or a sequence of operation classes."""

_COLLECTED = re.compile(r"\n(?:OPS|ATTRIBUTES|DIALECT)\b[^=\n]*=")
_COLLECTIONS = (b"\nOPS", b"\nATTRIBUTES", b"\nDIALECT")
"""How lines begin that `_COLLECTED` matches: sought first, since it takes a tenth of the time."""
_NAMED = re.compile(r"""^ +name(?: *:[^=\n]*)? = ["'](\w+)\.([\w.-]+)["']""", re.MULTILINE)
_FOLDER = os.path.dirname(os.path.realpath(__file__))


class HloConstantMaterialization(ConstantMaterializationInterface):
    """
    Makes `hlo.constant` from a folder's value, for xDSL's canonicalization, which asks the dialect of the folded op.
    """

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        from .ops.creation import ConstantOp

        if not isinstance(value, DenseIntOrFPElementsAttr) or value.get_type() != type:
            return None
        return ConstantOp.create(result_types=[type], properties={"value": cast(Attribute, value)})


class _Family(NamedTuple):
    """A file that collects operations, found without importing it."""

    dialect: str
    module: str
    names: tuple[str, ...]
    """The operations and attributes of the dialect that it defines: `hlo.add`."""


def _families_in(folder: str, package: str) -> Iterator[_Family]:
    """The files of `folder` that collect operations, in the order of their paths."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name.removesuffix(".py")):
        if entry.name.endswith(".py"):
            named = scanned(entry.path, entry.stat(), _collected)
            if named:
                yield _Family(named[0].partition(".")[0], f"{package}.{entry.name[:-3]}", named)
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _families_in(entry.path, f"{package}.{entry.name}")


def _collected(contents: bytes) -> tuple[str, ...]:
    """The names that a file collects, if it collects any."""
    if not any(line in contents for line in _COLLECTIONS):
        return ()
    text = contents.decode()
    if not _COLLECTED.search(text):
        return ()
    return tuple(f"{dialect}.{name}" for dialect, name in _NAMED.findall(text))


@cache
def _families() -> tuple[_Family, ...]:
    own = __package__ or "hlo_dialect"
    lower = f"{own.rpartition('.')[0]}.dialects".lstrip(".")
    return (*_families_in(os.path.join(os.path.dirname(_FOLDER), "dialects"), lower), *_families_in(_FOLDER, own))


@cache
def _homes() -> Mapping[str, tuple[str, ...]]:
    """The modules that define a name, an operation's or an attribute's, in the dialects of which xDSL has no part."""
    upstream = get_all_dialects()
    homes: dict[str, tuple[str, ...]] = {}
    for one in _families():
        for name in one.names if one.dialect not in upstream else ():
            homes[name] = (*homes.get(name, ()), one.module)
    return homes


def _collect(modules: Sequence[str]) -> tuple[list[type[Operation]], list[type[Attribute]]]:
    """The operations and attributes of these modules."""
    operations: list[type[Operation]] = []
    attributes: list[type[Attribute]] = []
    for name in modules:
        module: Any = importlib.import_module(name)
        found: Any = getattr(module, "DIALECT", None)
        if found is not None:
            dialect = cast(Dialect, found() if callable(found) else found)
            operations += dialect.operations
            attributes += dialect.attributes
        else:
            operations += getattr(module, "OPS", ())
            attributes += getattr(module, "ATTRIBUTES", ())
    return operations, attributes


@cache
def hlo_dialect() -> Dialect:
    """The hlo dialect: the `OPS` and `ATTRIBUTES` of every family file."""
    operations, attributes = _collect([one.module for one in _families() if one.dialect == "hlo"])
    return Dialect("hlo", operations, attributes, [HloConstantMaterialization()])


def hlo_operations() -> tuple[type[Operation], ...]:
    """Every operation class of the hlo dialect."""
    return tuple(hlo_dialect().operations)


def _build_dialect(name: str, upstream: Callable[[], Dialect] | None, modules: tuple[str, ...]) -> Dialect:
    """xDSL's dialect of that name, if any, with the operations of our modules added, or replacing its own."""
    base = upstream() if upstream is not None else Dialect(name)
    if not modules:
        return base
    operations, attributes = _collect(modules)
    interfaces = base._interfaces  # pyright: ignore[reportPrivateUsage]
    replaced = {op.name for op in operations}
    kept = [op for op in base.operations if op.name not in replaced]
    return Dialect(name, [*kept, *operations], [*base.attributes, *attributes], interfaces)


def _quant_dialect() -> Dialect:
    from .ops.quantized.types import UniformQuantizedType

    return Dialect("quant", [], [UniformQuantizedType])


@cache
def _dialect_factories() -> dict[str, Callable[[], Dialect]]:
    upstream = get_all_dialects()
    ours: dict[str, tuple[str, ...]] = {}
    for one in _families():
        ours[one.dialect] = (*ours.get(one.dialect, ()), one.module)
    factories: dict[str, Callable[[], Dialect]] = {
        "hlo": hlo_dialect,
        "quant": _quant_dialect,
    }
    for name in (*UPSTREAM_DIALECTS, *ours):
        build = partial(_build_dialect, name, upstream.get(name), ours.get(name, ()))
        factories.setdefault(name, lru_cache(maxsize=None)(build))
    return factories


def dialect_names() -> tuple[str, ...]:
    """The dialects that programs may use, sorted by name."""
    return tuple(sorted(_dialect_factories()))


@lru_cache(maxsize=256)
def _by_name(factory: Callable[[], Dialect]) -> tuple[Dialect, Sequence[dict[str, Any]], bool]:
    """A dialect; its operations, types and other attributes by their names; and whether these differ."""
    dialect = factory()
    operations, attributes = list(dialect.operations), list(dialect.attributes)
    types = {each.name: each for each in attributes if issubclass(each, TypeAttribute)}
    others = {each.name: each for each in attributes if not issubclass(each, TypeAttribute)}
    kinds = ({each.name: each for each in operations}, types, others)
    return dialect, kinds, sum(map(len, kinds)) == len(operations) + len(attributes)


class ProgramContext(HloContext):
    """A context that reads StableHLO's names as hlo's and asks installed packages before it rejects a name."""

    def __init__(self, allow_unregistered: bool = False):
        super().__init__(allow_unregistered)
        self._plugins_loaded = False
        self._families: dict[str, tuple[Mapping[str, type[Operation]], Mapping[str, type[Attribute]]]] = {}
        """The definitions that were taken from single files of dialects not loaded as a whole, by module."""

    def load_registered_dialect(self, name: str) -> None:
        """As xDSL does, for all operations and attributes at once, if the context has none of these names yet."""
        factory = self._registered_dialects.get(name)
        if factory is not None:
            dialect, kinds, differ = _by_name(factory)
            loaded = (self._loaded_ops, self._loaded_types, self._loaded_attrs)
            if differ and all(have.keys().isdisjoint(new) for have, new in zip(loaded, kinds, strict=True)):
                self._loaded_dialects[dialect.name] = dialect
                for have, new in zip(loaded, kinds, strict=True):
                    have.update(new)
                return
        super().load_registered_dialect(name)

    def _get_known_op(self, name: str) -> type[Operation] | None:
        return self._loaded_ops.get(name) or self._of_family(name, 0) or super()._get_known_op(name)

    def _of_family(self, name: str, part: Literal[0, 1]) -> Any:
        """The operation (0) or attribute (1) of that name in one of its files, without the rest of its dialect."""
        for module in _homes().get(name, ()):
            family = self._families.get(module)
            if family is None:
                operations, attributes = _collect([module])
                family = {op.name: op for op in operations}, {attribute.name: attribute for attribute in attributes}
                self._families[module] = family
            if name in family[part]:
                return family[part][name]
        return None

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        name = _respell(name)
        known = self._get_known_op(name) or next(
            filter(None, (self._get_known_op(f"{dialect}.{name}") for dialect in reversed(dialect_stack))), None
        )
        if known is None and self._load_plugins():
            known = self._get_known_op(name)
        return known or super().get_optional_op(name, dialect_stack=dialect_stack)

    def get_optional_type(self, name: str) -> type[TypeAttribute] | None:
        name = _respell(name)
        found = self._loaded_types.get(name) or self._of_family(name, 1)
        if found is not None and issubclass(found, TypeAttribute):
            return found
        if self._is_foreign(name, self._loaded_types):
            self._load_plugins()
        return super().get_optional_type(name)

    def get_optional_attr(self, name: str) -> type[Attribute] | None:
        respelled = _respell(name)
        found = self._loaded_attrs.get(respelled) or self._of_family(respelled, 1)
        if found is not None and not issubclass(found, TypeAttribute):
            return found
        if self._is_foreign(respelled, self._loaded_attrs):
            self._load_plugins()
        found = super().get_optional_attr(respelled)
        if found is None and name.partition(".")[0] in ANNOTATION_DIALECTS:
            found = self._loaded_attrs[name] = _annotation(name)
        return found

    def _is_foreign(self, name: str, known: Mapping[str, object]) -> bool:
        """Whether a type or attribute can only be another package's: no dialect of ours has its prefix."""
        prefix = name.partition(".")[0]
        return name not in known and prefix not in self._registered_dialects and prefix not in ANNOTATION_DIALECTS

    def _load_plugins(self) -> bool:
        """Load the dialects of installed packages, once. True when there was something to load."""
        if self._plugins_loaded:
            return False
        self._plugins_loaded = True
        found = list(loaded(ENTRY_POINT_GROUP))
        for plugin, value in found:
            self._load_dialect_of(plugin, value)
        return bool(found)

    def _load_dialect_of(self, plugin: Plugin, value: Any) -> None:
        """Load a package's operations and attributes; those that cannot be loaded are left out, with a warning."""
        attributes = list(value.attributes) if isinstance(value, Dialect) else ()
        try:
            operations = list(value.operations if isinstance(value, Dialect) else value)
        except TypeError:
            leave_out(plugin, f"expected {GROUPS[ENTRY_POINT_GROUP]}, got {type(value).__name__}")
            return
        _load_each(plugin, attributes, Attribute, self.load_attr_or_type)
        _load_each(plugin, operations, Operation, self.load_op)


def _load_each(plugin: Plugin, classes: Sequence[Any], base: type, load: Callable[[Any], None]) -> None:
    kind = base.__name__.lower()
    for one in classes:
        try:
            if isclass(one) and issubclass(one, base):
                load(one)
            else:
                leave_out(plugin, f"{one!r} is no {kind} class")
        except AlreadyRegisteredConstructException as error:
            leave_out(plugin, f"there is another one: {error}")


@lru_cache(maxsize=256)
def _annotation(name: str) -> type[Attribute]:
    """The class of an attribute of another system's dialect; making a class takes as long as many operations."""
    return UnregisteredAttr.with_name_and_type(name, False)


def _respell(name: str) -> str:
    dialect, dot, rest = name.partition(".")
    rest = "bounds" if rest == "type_extensions" else rest
    return f"{SPELLINGS[dialect]}.{rest}" if dot and dialect in SPELLINGS else name


def make_context(allow_unregistered: bool = False) -> HloContext:
    """A context with every dialect of the compiler's levels registered; each is imported at its first use."""
    ctx = ProgramContext(allow_unregistered)
    for name, factory in _dialect_factories().items():
        ctx.register_dialect(name, factory)
    return ctx
