"""The types of the shape dialect, and which types hold shapes and sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import IndexType, TensorType, UnrankedTensorType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition


@irdl_attr_definition
class ShapeType(ParametrizedAttribute, TypeAttribute):
    """A shape, or an error."""

    name = "shape.shape"


@irdl_attr_definition
class SizeType(ParametrizedAttribute, TypeAttribute):
    """A dimension's size, or an error."""

    name = "shape.size"


@irdl_attr_definition
class ValueShapeType(ParametrizedAttribute, TypeAttribute):
    """A value together with its shape."""

    name = "shape.value_shape"


@irdl_attr_definition
class WitnessType(ParametrizedAttribute, TypeAttribute):
    """Evidence that a constraint holds."""

    name = "shape.witness"


Kind = Callable[[Attribute], bool]


def is_shape(type_: Attribute) -> bool:
    """Whether values of the type are shapes."""
    if not isinstance(type_, TensorType):
        return isinstance(type_, ShapeType)
    tensor = cast("TensorType[Attribute]", type_)
    return isinstance(tensor.element_type, IndexType) and len(tensor.get_shape()) == 1


def is_size(type_: Attribute) -> bool:
    return isinstance(type_, SizeType | IndexType)


def is_extent_tensor(type_: Attribute) -> bool:
    return is_shape(type_) and not isinstance(type_, ShapeType)


def is_shaped(type_: Attribute) -> bool:
    return isinstance(type_, TensorType | UnrankedTensorType | ValueShapeType)


def is_type(wanted: Attribute) -> Kind:
    return lambda type_: type_ == wanted


def either(*kinds: Kind) -> Kind:
    return lambda type_: any(kind(type_) for kind in kinds)
