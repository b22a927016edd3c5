"""Properties of operations from plain Python values, by what the operation's definition accepts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    ArrayOfConstraint,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    f32,
)
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import (
    AllOf,
    AnyOf,
    AttrConstraint,
    BaseAttr,
    EqAttrConstraint,
    MessageConstraint,
    ParamAttrConstraint,
)
from xdsl.utils.exceptions import ParseError, VerifyException

from ...hlo_dialect.attributes import int_array, int_attr
from ...hlo_dialect.dialect import make_context
from ...hlo_dialect.reading.locations import SourcePositions
from ...hlo_dialect.reading.parser import HloParser
from ...hlo_dialect.types import dense_constant, i1, i64

Convert = Callable[[Any], Attribute]
"""From a Python value to an attribute. Raises TypeError or ValueError with what is expected."""


def _array(value: Any) -> Attribute:
    """`array<i1: ..>` of booleans, else `array<i64: ..>`."""
    if type(value) in (list, tuple) and {*map(type, value)} <= {int}:
        return int_array(value)
    numbers = np.atleast_1d(np.asarray(value))
    if numbers.dtype == np.bool_:
        return cast(Attribute, DenseArrayBase.from_list(i1, [int(number) for number in numbers]))
    if numbers.size and numbers.dtype.kind not in "iu":
        raise TypeError("expected a sequence of integers")
    return int_array([int(number) for number in numbers])


def _integer(value: Any) -> Attribute:
    if type(value) is int:
        return int_attr(value)
    kind: np.dtype[Any] = np.asarray(value).dtype
    return int_attr(int(value), i1 if kind == np.bool_ else i64)


def _boolean(value: Any) -> Attribute:
    if value not in (True, False):
        raise TypeError("expected a boolean")
    return int_attr(int(value), i1)


def _float(value: Any) -> Attribute:
    return cast(Attribute, FloatAttr(float(value), cast(AnyFloat, f32)))


def _elements(value: Any) -> Attribute:
    """Integers, such as padding and groups, are i64."""
    array = np.asarray(value)
    return dense_constant(
        array.astype(np.int64) if not isinstance(value, np.ndarray) and array.dtype.kind == "i" else array
    )


def _text(value: Any) -> Attribute:
    if not isinstance(value, str):
        raise TypeError("expected a string")
    return StringAttr(value)


def _symbol(value: Any) -> Attribute:
    return SymbolRefAttr(_text(value).data)  # pyright: ignore


def _list(value: Any) -> Attribute:
    return ArrayAttr([plain(item) for item in value])


def plain(value: Any) -> Attribute:
    """The attribute that a value stands for where the definition accepts any."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, np.ndarray):
        return _elements(cast(Any, value))
    if isinstance(value, Sequence):
        return _list(cast("Sequence[Any]", value))
    if isinstance(value, Mapping):
        return DictionaryAttr({name: plain(part) for name, part in cast("Mapping[str, Any]", value).items()})
    kind = np.asarray(value).dtype.kind
    if kind not in "biuf":
        raise TypeError(f"no attribute stands for a {type(value).__name__}")
    return _float(value) if kind == "f" else _integer(value)


_CONVERSIONS: dict[type[Attribute], Convert] = {
    DenseArrayBase: _array,
    IntegerAttr: _integer,
    FloatAttr: _float,
    DenseIntOrFPElementsAttr: _elements,
    StringAttr: _text,
    SymbolRefAttr: _symbol,
    ArrayAttr: _list,
    UnitAttr: lambda value: UnitAttr(),
}


def parse_text(text: str) -> Attribute:
    """The attribute or type that a text denotes. Raises ValueError."""
    parser = HloParser(make_context(), text, "<attribute>", SourcePositions(text, "<attribute>"))
    try:
        return parser.parse_attribute()
    except (ParseError, VerifyException) as error:
        raise ValueError(f"'{text}' is no attribute: {error}") from None


def _enumeration(cls: type[EnumAttribute[Any]]) -> Convert:
    members: Any = cls.enum_type
    attributes: dict[str, Attribute] = {member.value: cls(member) for member in members}

    def convert(value: Any) -> Attribute:
        try:
            return attributes[members(value).value]
        except ValueError:
            raise ValueError(f"expected one of {', '.join(attributes)}") from None

    return convert


def parameters_of(cls: type[Attribute]) -> dict[str, AttrConstraint]:
    """The names of an attribute's parameters, which may be given in its stead, and their constraints."""
    if not issubclass(cls, ParametrizedAttribute) or cls in _CONVERSIONS:
        return {}
    return {name: definition.constr for name, definition in cls.get_irdl_definition().parameters}


@lru_cache(maxsize=1024)
def _parametrized(cls: type[ParametrizedAttribute], *parameters: Attribute) -> Attribute:
    """An attribute from a cache, as `int_array`: dimension numbers repeat over and over in a program."""
    return cls.new(parameters)


def _structure(cls: type[ParametrizedAttribute]) -> Convert:
    """An attribute from a mapping of its parameters, of which lists may be left out; or from its text."""
    constraints = parameters_of(cls)
    convert = {name: conversion(constraint) for name, constraint in constraints.items()}

    def whole(value: Any) -> Attribute:
        if isinstance(value, str):
            return parse_text(value)
        if not isinstance(value, Mapping):
            raise TypeError(f"expected a mapping of {', '.join(convert)}")
        given = cast("Mapping[str, Any]", value)
        unknown = [name for name in given if name not in convert]
        if unknown:
            raise TypeError(f"has no {unknown[0]}; there are {', '.join(convert)}")
        missing = [
            name for name, one in constraints.items() if base_of(one) is not DenseArrayBase and name not in given
        ]
        if missing:
            raise TypeError(f"there is no {missing[0]}; expected {', '.join(convert)}, of which lists may be left out")
        return _parametrized(cls, *[make(given.get(name, ())) for name, make in convert.items()])

    return whole


@cache
def base_of(constraint: AttrConstraint) -> type[Attribute] | None:
    """The class of the attributes that a constraint accepts, the first if there are several; None for any."""
    match constraint:
        case BaseAttr():
            return constraint.attr
        case ParamAttrConstraint():
            return constraint.base_attr
        case EqAttrConstraint():
            return type(constraint.attr)
        case MessageConstraint():
            return base_of(constraint.constr)
        case AllOf() | AnyOf():
            return base_of(constraint.attr_constrs[0])
        case ArrayOfConstraint():
            return ArrayAttr
        case _:
            return None


_PYTHONS = frozenset((bool, int, float, str, list, tuple, dict))


@cache
def conversion(constraint: AttrConstraint) -> Convert:
    """The conversion to the attributes that a constraint accepts."""
    make = _conversion(constraint)

    def convert(value: Any) -> Attribute:
        return make(value) if type(value) in _PYTHONS or not isinstance(value, Attribute) else value

    return convert


def _conversion(constraint: AttrConstraint) -> Convert:
    stated: Any = constraint
    if isinstance(constraint, ArrayOfConstraint):
        element = conversion(stated.elem_range_constraint.constr)
        return lambda value: ArrayAttr([element(item) for item in ([value] if isinstance(value, str) else value)])
    base: Any = base_of(constraint)
    if base is IntegerAttr and isinstance(constraint, ParamAttrConstraint):
        accepts_bits = any(isinstance(one, AllOf) for one in stated.param_constrs)
        return _boolean if accepts_bits else _integer
    if base is None:
        return plain
    known = _CONVERSIONS.get(base)
    if known is not None:
        return known
    if issubclass(base, EnumAttribute):
        return _enumeration(cast(Any, base))
    return _structure(base) if issubclass(base, ParametrizedAttribute) else plain
