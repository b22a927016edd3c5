"""
Operations of xDSL and ours that are defined when the first of them is made.

xDSL derives the definition of an operation, its constraints and its accessors, when the class is made. A first
compilation imports 350 classes and makes operations of 40 of them; the definitions took a ninth of its time. Here a
class waits with its definition. Whatever makes an operation asks for that first, so that an operation is always of a
defined class, and only what is asked of classes could tell: `get_irdl_definition` and `parse` define the class, and the
traits are there from the start.
"""

# pyright: reportPrivateUsage=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

import threading
from functools import cache, partial
from typing import Any

import xdsl.irdl
import xdsl.irdl.operations
from xdsl.ir import Operation
from xdsl.ir.core import OpTraits
from xdsl.irdl.operations import IRDLOperation, OpDef, get_accessors_from_op_def

OURS = (__name__.partition(".dialects.")[0] + ".", "xdsl.dialects.")
"""The modules whose classes wait; in others a mistake should be found where the operation is defined."""

_lock = threading.RLock()
_waiting: dict[type[Operation], Any] = {}
"""The classes without a definition, with the verifiers that they state or inherit."""
_accessors: dict[type[Operation], dict[str, Any]] = {}
"""Additions of definitions to classes, before the first of them is there: xDSL derives none from such a class."""

_define_now: Any = xdsl.irdl.operations.irdl_op_definition
_parse: Any = vars(Operation)["parse"].__func__


@cache
def define_late() -> None:
    """Let the operations of these modules whose classes are made from now on wait with their definitions."""
    for module in (xdsl.irdl.operations, xdsl.irdl):
        module.irdl_op_definition = _wait  # pyright: ignore[reportAttributeAccessIssue]
    Operation.parse = classmethod(_parse_defined)  # pyright: ignore[reportAttributeAccessIssue]


def _wait(cls: Any) -> Any:
    """As `irdl_op_definition`."""
    for base in reversed(cls.__mro__):
        if base in _waiting:
            _definition_of(base)  # what it inherits should be as xDSL has it
    if not cls.__module__.startswith(OURS) or not issubclass(cls, IRDLOperation):
        return _define_now(cls)
    _waiting[cls] = getattr(cls, "verify_", None)
    cls.traits = _traits_of(cls)
    setattr(cls, "get_irdl_definition", classmethod(partial(_asked, cls)))  # noqa: B010
    return cls


def _asked(cls: Any, _: Any) -> OpDef:
    return _definition_of(cls)


def _traits_of(cls: type[Operation]) -> OpTraits:
    """The traits that a class and its bases state, as xDSL finds them."""
    around = set(Operation.__mro__)
    stated = [vars(each)["traits"] for each in cls.__mro__ if each not in around and "traits" in vars(each)]
    if len(stated) == 1:
        return stated[0]
    return OpTraits(lambda: tuple(trait for traits in stated for trait in traits.gen_traits()))


def _definition_of(cls: Any) -> OpDef:
    """Define a class, if no other thread has; nor, meanwhile, a handler of a signal on this one."""
    with _lock:
        if cls in _waiting:
            accessors = _accessors.get(cls) or _derived(cls)
            # The last one tells others that all of them are there.
            for name, accessor in accessors.items():
                setattr(cls, name, accessor)
            _waiting.pop(cls, None)
    return cls.get_irdl_definition()


def _derived(cls: Any) -> dict[str, Any]:
    """The accessors of a class, the definition's at the end: those that were complete first."""
    try:
        definition = OpDef.from_pyrdl(cls)
        definition.traits = cls.traits
        made = get_accessors_from_op_def(definition, _waiting[cls])
    except Exception:
        # xDSL refuses a class that a handler has defined meanwhile; any other error is the class's own.
        if cls not in _accessors:
            raise
    else:
        made["get_irdl_definition"] = made.pop("get_irdl_definition")
        _accessors.setdefault(cls, made)
    return _accessors[cls]


def _parse_defined(cls: Any, parser: Any) -> Any:
    """`Operation.parse`, unless the definition of the class has a format."""
    if issubclass(cls, IRDLOperation):
        cls.get_irdl_definition()
    found = cls.parse.__func__
    return _parse(cls, parser) if found is _parse_defined else found(cls, parser)
