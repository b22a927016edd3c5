"""The contents of a module: the names by which a pass states what it is for (`HloPass.only_for`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, ParametrizedAttribute

from ...hlo_dialect.walking import Survey, TypeFact

UNKNOWN_SIZE = "!tensor<?>"


def contents_of(survey: Survey) -> frozenset[str]:
    """
    The names of operations (`hlo.while`), their dialects (`hlo.*`), their discardable attributes
    (`@mhlo.xla_shape`) and the types of their values and functions (`!complex`, `!tensor<?>` for one of unknown size).
    """
    classes: set[type[Operation]] = set(map(type, survey.ops))
    attributes = {name for op in survey.ops if op.attributes for name in op.attributes}
    functions = [op.function_type for op in survey.ops if type(op) is FuncOp]
    names = {f"@{name}" for name in attributes}
    for cls in classes:
        names |= {cls.name, f"{cls.name.partition('.')[0]}.*"}
    # Most types have the names of another.
    return frozenset(names).union(*set(map(_names_in, (*survey.types, *functions))))


def _type_names(type_: Attribute) -> frozenset[str]:
    """The names of a type and those inside it."""
    names: set[str] = set()
    waiting = [type_]
    while waiting:
        type_ = waiting.pop()
        names.add(f"!{type_.name}")
        cls = type(type_)
        if cls is TensorType:
            tensor = cast("TensorType[Attribute]", type_)
            waiting.append(tensor.element_type)
            if not tensor.has_static_shape():
                names.add(UNKNOWN_SIZE)
        elif cls is FunctionType:
            function = cast(FunctionType, type_)
            waiting += (*function.inputs.data, *function.outputs.data)
        elif cls is ArrayAttr:
            waiting += cast("ArrayAttr[Attribute]", type_).data
        elif issubclass(cls, ParametrizedAttribute):
            waiting += cast(ParametrizedAttribute, type_).parameters
    return frozenset(names)


_names_in = TypeFact(_type_names)


def has_any(only_for: Collection[str], contents: frozenset[str]) -> bool:
    """Whether a pass that is only for programs with one of these names (with none: for all) may change the program."""
    return not only_for or not contents.isdisjoint(only_for)
