"""
Attributes and operations of functions that a compilation makes again and again.

xDSL verifies every attribute that is made, which takes as long as an operation; those that recur are made once.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar, cast

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, Region, SSAValue

from .creation import create_op

AttributeT = TypeVar("AttributeT", bound=ParametrizedAttribute)

PRIVATE = StringAttr("private")

MAY_WRAP = arith.IntegerOverflowAttr("none")
"""Nothing is known about the overflow of an operation."""

_LIMIT = 4096


class AttributeNumbers:
    """
    Numbers of attributes, the same for equal ones, for keys of many of them: the hash of an attribute takes a call for
    each of its parts, and few attributes are many objects.
    """

    def __init__(self) -> None:
        self._objects: dict[int, tuple[Attribute, int]] = {}
        """By identity; it keeps the objects, so that this is theirs."""
        self._values: dict[Attribute, int] = {}

    def __call__(self, attribute: Attribute) -> int:
        known = self._objects.get(id(attribute))
        if known is None:
            number = self._values.setdefault(attribute, len(self._values))
            known = self._objects[id(attribute)] = (attribute, number)
        return known[1]


def known_attribute(cls: type[AttributeT], **parameters: Attribute) -> AttributeT:
    """An attribute of parameters that are right by the types of their classes, for which xDSL does not look then."""
    attribute = object.__new__(cls)
    vars(attribute).update(parameters)
    return attribute


@lru_cache(maxsize=4096)
def shape_attr(shape: tuple[int, ...]) -> ArrayAttr[IntAttr]:
    """The sizes in a type of tensors or buffers."""
    return ArrayAttr(map(IntAttr, shape))


_function_types: dict[tuple[int, ...], FunctionType] = {}
"""By the identities of their types, which they keep."""


_integers: dict[tuple[int, type, int], IntegerAttr[Any]] = {}
"""By value, its class and the identity of the type, which they keep: a hash of a type takes as long as all else."""


def integer_attr(value: int, type_: Attribute = i64) -> IntegerAttr[Any]:
    """`value : type_`, an integer type or index."""
    key = (value, type(value), id(type_))
    found = _integers.get(key)
    if found is None:
        if len(_integers) >= 2 * _LIMIT:
            _integers.clear()
        found = _integers[key] = IntegerAttr(value, cast(Any, type_))
    return found


_floats: dict[tuple[bytes, int], FloatAttr[Any]] = {}
"""By the bits of the value and the identity of the type, which they keep."""


def float_attr(value: float, type_: Attribute) -> FloatAttr[Any]:
    """`value : type_`, a type of floats."""
    key = (struct.pack("<d", value), id(type_))
    found = _floats.get(key)
    if found is None:
        if len(_floats) >= _LIMIT:
            _floats.clear()
        found = _floats[key] = FloatAttr(value, cast(Any, type_))
    return found


@lru_cache(maxsize=1024)
def string_attr(text: str) -> StringAttr:
    """A string that recurs, such as a name."""
    return StringAttr(text)


@lru_cache(maxsize=1024)
def symbol(name: str) -> SymbolRefAttr:
    """`@name`"""
    return SymbolRefAttr(name)


def function_type(inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> FunctionType:
    """`(inputs) -> outputs`"""
    key = (*map(id, inputs), 0, *map(id, outputs))
    found = _function_types.get(key)
    if found is None:
        if len(_function_types) >= _LIMIT:
            _function_types.clear()
        found = _function_types[key] = FunctionType.from_lists(inputs, outputs)
    return found


def call_op(name: str, operands: Sequence[SSAValue], result_types: Sequence[Attribute] = ()) -> func.CallOp:
    """A call of the function `name`, as the constructor of `CallOp` makes it, in a third of its time."""
    return create_op(func.CallOp, operands=operands, result_types=result_types, properties={"callee": symbol(name)})


def return_op(values: Sequence[SSAValue] = ()) -> func.ReturnOp:
    """The end of a function, as the constructor of `ReturnOp` makes it."""
    return create_op(func.ReturnOp, operands=values)


def function_op(
    name: str, inputs: Sequence[Attribute], outputs: Sequence[Attribute], body: Region, visibility: StringAttr = PRIVATE
) -> func.FuncOp:
    """A function, as the constructor of `FuncOp` makes it."""
    properties = {
        "sym_name": string_attr(name),
        "function_type": function_type(inputs, outputs),
        "sym_visibility": visibility,
    }
    return create_op(func.FuncOp, properties=properties, regions=[body])
