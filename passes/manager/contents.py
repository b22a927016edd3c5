"""The contents of a module: the names by which a pass states what it is for (`HloPass.only_for`)."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, ParametrizedAttribute

from ...hlo_dialect.walking import Survey, TypeFact

UNKNOWN_SIZE = "!tensor<?>"


class Contents:
    """
    The names in a module that passes state in `only_for`: of operations, types, .. Those of a kind are found when the
    first pass asks for one of that kind; most ask for operations.
    """

    def __init__(self, survey: Survey):
        self._survey = survey

    @cached_property
    def operations(self) -> frozenset[str]:
        """The names of operations (`hlo.while`) and their dialects (`hlo.*`)."""
        classes: set[type[Operation]] = set(map(type, self._survey.ops))
        names = {cls.name for cls in classes}
        return frozenset(names).union(f"{name.partition('.')[0]}.*" for name in names)

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The discardable attributes of operations (`@mhlo.xla_shape`)."""
        return frozenset(f"@{name}" for op in self._survey.ops if op.attributes for name in op.attributes)

    @cached_property
    def types(self) -> frozenset[str]:
        """The types of values and functions (`!complex`, `!tensor<?>` for one of unknown size)."""
        functions = [op.function_type for op in self._survey.ops if type(op) is FuncOp]
        # Most types have the names of another.
        return frozenset[str]().union(*set(map(_names_in, (*self._survey.types, *functions))))

    def has_any(self, only_for: Collection[str]) -> bool:
        """Whether a pass that is only for programs with one of these names (with none: for all) may change it."""
        for name in only_for:
            kind = name[0]
            if name in (self.attributes if kind == "@" else self.types if kind == "!" else self.operations):
                return True
        return not only_for


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
