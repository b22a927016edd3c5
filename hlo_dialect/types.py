"""
Element types and tensor types of the hlo dialect, and their NumPy counterparts.

Constants are `DenseIntOrFPElementsAttr` in one canonical form: the data holds either every element in row-major order,
or exactly one element when all are equal (a splat). Elements narrower than a byte take one each: an i1 is 0 or 1, an i2
or i4 has its bits at the low end and zeros above, whatever its sign, as in ml_dtypes. Build them with `dense_constant`
and read them with `constant_array`, never with xDSL's `from_list`, which expands splats.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E3M4Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E4M3Type,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    NoneAttr,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects.support.attributes import known_attribute, shape_attr
from ..dialects.support.classes import one_of
from .arrays import Array as Array
from .arrays import ArrayType as ArrayType
from .arrays import dtype_named as dtype_named
from .walking import TypeFact

HloTensor: TypeAlias = TensorType[Attribute]

_PLAIN = NoneAttr()
"""The encoding of tensors without one."""
"""The type of almost every value of the hlo dialect."""

QUANTIZED = "quant.uniform"
"""The name of the quantized element types, whose class (ops/quantized/types.py) is built from those of this file."""

i1 = IntegerType(1)
i32 = IntegerType(32)
i64 = IntegerType(64)
f32 = Float32Type()
f64 = Float64Type()
f16 = Float16Type()
bf16 = BFloat16Type()

_INT_DTYPES: dict[tuple[int, bool], str] = {
    (1, False): "bool",
    **{(width, False): f"int{width}" for width in (2, 4, 8, 16, 32, 64)},
    **{(width, True): f"uint{width}" for width in (2, 4, 8, 16, 32, 64)},
}
"""By names, of which `dtype_named` makes dtypes: the package ml_dtypes is loaded where a program has such a type."""
_NARROW_FLOAT_DTYPES: dict[type, str] = {
    Float8E3M4Type: "float8_e3m4",
    Float8E4M3Type: "float8_e4m3",
    Float8E4M3FNType: "float8_e4m3fn",
    Float8E4M3FNUZType: "float8_e4m3fnuz",
    Float8E4M3B11FNUZType: "float8_e4m3b11fnuz",
    Float8E5M2Type: "float8_e5m2",
    Float8E5M2FNUZType: "float8_e5m2fnuz",
    Float8E8M0FNUType: "float8_e8m0fnu",
    Float6E2M3FNType: "float6_e2m3fn",
    Float6E3M2FNType: "float6_e3m2fn",
    Float4E2M1FNType: "float4_e2m1fn",
}
_FLOAT_DTYPES: dict[type, str] = {
    Float16Type: "float16",
    BFloat16Type: "bfloat16",
    Float32Type: "float32",
    Float64Type: "float64",
    **_NARROW_FLOAT_DTYPES,
}
_is_float = one_of(*_FLOAT_DTYPES)
_is_narrow_float = one_of(*_NARROW_FLOAT_DTYPES)


def _as_integer(element_type: Attribute) -> IntegerType[Any, Any] | None:
    return cast("IntegerType[Any, Any]", element_type) if isinstance(element_type, IntegerType) else None


@TypeFact
def numpy_dtype(element_type: Attribute) -> np.dtype[Any] | None:
    """
    The NumPy dtype of an hlo element type, of a quantized one that of its stored integers; None for unsupported types.
    """
    if (integer := _as_integer(element_type)) is not None:
        found = _INT_DTYPES.get((integer.width.data, is_unsigned(element_type)))
    elif isinstance(element_type, ComplexType):
        inner: Any = cast("ComplexType[Any]", element_type).element_type
        parts: dict[Any, str] = {f32: "complex64", f64: "complex128"}
        found = parts.get(inner)
    elif element_type.name == QUANTIZED:
        return numpy_dtype(cast(Any, element_type).storage)
    else:
        found = _FLOAT_DTYPES.get(type(element_type))
    return None if found is None else dtype_named(found)


@cache
def element_type_of(dtype: np.dtype[Any]) -> Attribute | None:
    """The hlo element type of a NumPy dtype: the inverse of `numpy_dtype`; None where there is none."""
    for (width, unsigned), name in _INT_DTYPES.items():
        if _is_named(dtype, name):
            return IntegerType(width, Signedness.UNSIGNED if unsigned else Signedness.SIGNLESS)
    for cls, name in _FLOAT_DTYPES.items():
        if _is_named(dtype, name):
            return cast(Attribute, cls())
    if dtype == np.dtype(np.complex64):
        return ComplexType(f32)
    if dtype == np.dtype(np.complex128):
        return ComplexType(f64)
    return None


def _is_named(dtype: np.dtype[Any], name: str) -> bool:
    """Whether it is the dtype of that name: others, of another order of bytes, may have the name too."""
    return dtype.name == name and dtype == dtype_named(name)


@lru_cache(maxsize=4096)
def make_tensor(shape: tuple[int, ...], element_type: Attribute) -> HloTensor:
    """A tensor type from a cache, because xDSL does not intern attributes and each costs 8 us."""
    return known_attribute(TensorType, shape=shape_attr(shape), element_type=element_type, encoding=_PLAIN)


def tensor_type(value: SSAValue | Attribute) -> HloTensor:
    """The tensor type of a value (or of the type itself). Raises VerifyException when it is no ranked tensor."""
    # The exact classes first: abstract classes take longer to ask, and this is asked all the time.
    type_ = value.type if type(value) is OpResult or type(value) is BlockArgument else value
    if type(type_) is TensorType:
        return type_
    if isinstance(type_, SSAValue):
        type_ = type_.type
    if not isinstance(type_, TensorType):
        raise VerifyException(f"expected a ranked tensor, got {type_}")
    return cast(HloTensor, type_)


@lru_cache(maxsize=4096)
def text_of(type_: Attribute) -> str:
    """A type as text: `tensor<4xf32>`."""
    return str(type_)


def shape_of(value: SSAValue | Attribute) -> tuple[int, ...]:
    """The shape of a tensor value or type; an unknown dimension is `shapes.DYNAMIC`."""
    type_: Any = value.type if type(value) is OpResult or type(value) is BlockArgument else value
    if type(type_) is not TensorType:
        type_ = tensor_type(value)
    facts: dict[str, tuple[int, ...]] = vars(type_)
    shape = facts.get("_shape")
    if shape is None:
        # As functools.cached_property keeps what it computes.
        shape = facts["_shape"] = type_.get_shape()
    return shape


def element_of(value: SSAValue | Attribute) -> Attribute:
    """The element type of a tensor value or type."""
    return tensor_type(value).element_type


def is_float(element_type: Attribute) -> bool:
    return _is_float(element_type)


def is_narrow_float(element_type: Attribute) -> bool:
    """Whether the type is a float of 8, 6 or 4 bits: a storage type that no operation computes in."""
    return _is_narrow_float(element_type)


@cache
def is_float_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is a real float type of hlo; the `kind` of ml_dtypes' types does not tell."""
    return any(_is_named(dtype, name) for name in _FLOAT_DTYPES.values())


@cache
def narrow_integer_width(dtype: np.dtype[Any]) -> int | None:
    """2 or 4 for ml_dtypes' integers of that width, None for other dtypes."""
    return next((width for (width, _), name in _INT_DTYPES.items() if width in (2, 4) and _is_named(dtype, name)), None)


@TypeFact
def bit_width(element_type: Attribute) -> int:
    """
    The spec's num_bits of an element type: 1 for a boolean, both parts of a complex number, a quantized type's storage.

    Raises VerifyException for types that have none.
    """
    if isinstance(element_type, ComplexType):
        return 2 * bit_width(cast(Attribute, cast("ComplexType[Any]", element_type).element_type))
    if isinstance(element_type, AnyFloat):
        return element_type.bitwidth
    if element_type.name == QUANTIZED:
        return bit_width(cast(Any, element_type).storage)
    integer = _as_integer(element_type)
    if integer is None:
        raise VerifyException(f"elements of type {element_type} have no known width")
    return integer.width.data


def is_integer(element_type: Attribute) -> bool:
    """Whether the type is a signed or unsigned integer; i1 is a boolean and no integer (StableHLO spec, Types)."""
    integer = _as_integer(element_type)
    return integer is not None and integer.width.data != 1


def is_unsigned(element_type: Attribute) -> bool:
    integer = _as_integer(element_type)
    return integer is not None and integer.signedness.data is Signedness.UNSIGNED


def integers_of(element_type: Attribute) -> range:
    """The numbers that an integer type holds."""
    bits = bit_width(element_type)
    return range(1 << bits) if is_unsigned(element_type) else range(-1 << bits - 1, 1 << bits - 1)


def is_declared_signed(element_type: Attribute) -> bool:
    """Whether the type is `si32` or the like: StableHLO writes signed integers without a sign."""
    integer = _as_integer(element_type)
    return integer is not None and integer.signedness.data is Signedness.SIGNED


def is_boolean(element_type: Attribute) -> bool:
    integer = _as_integer(element_type)
    return integer is not None and integer.width.data == 1


def is_complex(element_type: Attribute) -> bool:
    return type(element_type) is ComplexType


def holds_quantized(type_: Attribute) -> bool:
    """Whether a type is that of a tensor of quantized elements."""
    return isinstance(type_, TensorType) and cast("HloTensor", type_).element_type.name == QUANTIZED


def dense_constant(array: Array, type_: HloTensor | None = None) -> DenseIntOrFPElementsAttr[Any]:
    """
    A constant attribute in canonical form from an array.

    `type_` gives the tensor type; without it the array's own shape and dtype do. An array of one element
    with a larger `type_` makes a splat without expanding it.
    """
    if type_ is None:
        element_type = element_type_of(array.dtype)
        if element_type is None:
            raise ValueError(f"hlo has no element type for the NumPy dtype {array.dtype}")
        type_ = make_tensor(array.shape, element_type)
    flat = np.ascontiguousarray(array).reshape(-1)
    if (width := narrow_integer_width(flat.dtype)) is not None:
        flat = flat.view(np.uint8) & np.uint8((1 << width) - 1)
    if flat.size > 1:
        raw = flat.view(np.uint8).reshape(flat.size, -1)
        if (raw == raw[0]).all():
            flat = flat[:1]
    data = flat.tobytes()
    if len(data) > _WIDEST_ELEMENT:
        return DenseIntOrFPElementsAttr(cast(Any, type_), BytesAttr(data))
    known = _splats.get((id(type_), data))
    if known is None:
        if len(_splats) >= _MOST_SPLATS:
            _splats.clear()
        known = _splats[id(type_), data] = DenseIntOrFPElementsAttr(cast(Any, type_), BytesAttr(data))
    return known


_WIDEST_ELEMENT = 16
_MOST_SPLATS = 4096
_splats: dict[tuple[int, bytes], DenseIntOrFPElementsAttr[Any]] = {}
"""Constants of few bytes by the identity of their type, which they keep: programs have few, and make them often."""


def is_splat(attr: DenseIntOrFPElementsAttr[Any]) -> bool:
    """Whether the constant is stored as one element (also true of every one-element constant)."""
    dtype = numpy_dtype(attr.get_element_type())
    return dtype is not None and len(attr.data.data) == dtype.itemsize


def constant_array(attr: DenseIntOrFPElementsAttr[Any]) -> Array:
    """
    The constant's value as a read-only array of the full shape; a splat is a broadcast view that takes no memory.

    Raises ValueError when the element type has no NumPy counterpart.
    """
    dtype = numpy_dtype(attr.get_element_type())
    if dtype is None:
        raise ValueError(f"hlo does not support constants of element type {attr.get_element_type()}")
    shape = attr.get_shape()
    flat = np.frombuffer(attr.data.data, dtype=dtype)
    if flat.size == 1 and math.prod(shape) != 1:
        return np.broadcast_to(flat.reshape(()), shape)
    return flat.reshape(shape)
