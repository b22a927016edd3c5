"""One custom call, as seen by the function that implements its target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, Operation

from ...dialects.support.kernel import COMPLEX_OPERANDS, COMPLEX_RESULTS
from ..diagnostics import fail
from ..shapes import is_static
from ..types import Array, ArrayType, constant_array, make_tensor, numpy_dtype, tensor_type, text_of

CONFIGURATIONS = ("mhlo.attributes", "mhlo.backend_config", "backend_config")
"""Dictionaries in which exporters put a call's attributes; entries of later ones replace those of earlier ones."""

_COMPLEX = {"operand": COMPLEX_OPERANDS, "result": COMPLEX_RESULTS}
"""Attributes that split-complex sets: the operands and results that are now pairs of real numbers."""


@dataclass(frozen=True)
class CustomCall:
    """
    Everything that a target's function is told about the call, except for the arrays.

    >>> import numpy as np
    >>> import xhlo
    >>> def describe(call: xhlo.CustomCall, x):
    ...     print(call.target, call.attributes["scale"], call.results[0].text)
    ...     return x * call.attributes["scale"]
    >>> xhlo.register_custom_call("docs.describe", describe)
    >>> exe = xhlo.compile('''func.func @main(%x: tensor<2xf64>) -> tensor<2xf64> {
    ...   %0 = hlo.custom_call @docs.describe(%x) {
    ...     mhlo.backend_config = {scale = 2.0 : f64}, api_version = 4 : i32
    ...   } : (tensor<2xf64>) -> tensor<2xf64>
    ...   return %0 : tensor<2xf64>
    ... }''')
    >>> exe(np.ones(2))
    docs.describe 2.0 tensor<2xf64>
    array([2., 2.])
    """

    target: str
    attributes: Mapping[str, Any]
    """The entries of the call's dictionaries as Python values: int, float, str, bytes, tuple, dict, NumPy arrays, .."""
    backend_config: str
    """backend_config where it is a string."""
    operands: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]
    """The shapes and dtypes that the function must return."""
    operand_types: tuple[Attribute, ...] = ()
    result_types: tuple[Attribute, ...] = ()
    """The same as hlo types."""
    location: LocationAttr | None = field(default=None, compare=False)


def python_value(attribute: Attribute) -> Any:
    """An attribute as a Python value; an attribute without a Python equivalent is returned as it is."""
    match attribute:
        case IntegerAttr():
            value = attribute.value.data
            type_ = cast(Attribute, attribute.type)
            return bool(value) if isinstance(type_, IntegerType) and type_.width.data == 1 else value  # pyright: ignore
        case FloatAttr():
            return float(attribute.value.data)
        case StringAttr():
            return attribute.data
        case BytesAttr():  # a string that has been written with escapes
            return _text_or_bytes(attribute.data)
        case SymbolRefAttr():
            return attribute.string_value()
        case DictionaryAttr():
            return {name: python_value(value) for name, value in attribute.data.items()}
        case ArrayAttr():
            return tuple(python_value(value) for value in attribute.data)
        case DenseArrayBase():
            return tuple(cast("DenseArrayBase[Any]", attribute).get_values())
        case DenseIntOrFPElementsAttr():
            dense = cast("DenseIntOrFPElementsAttr[Any]", attribute)
            return attribute if numpy_dtype(dense.get_element_type()) is None else np.array(constant_array(dense))
        case _:
            return attribute


def _text_or_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def describe_call(op: Operation) -> CustomCall:
    """
    The call that an `hlo.custom_call` makes, before or after split-complex. Tokens are left out.

    Raises DiagnosticError for operands and results that are not arrays of static shape.
    """
    operands = [_seen(op, "operand", index) for index, type_ in enumerate(op.operand_types) if not is_token(type_)]
    results = [_seen(op, "result", index) for index, type_ in enumerate(op.result_types) if not is_token(type_)]
    name = cast(StringAttr, op.properties["call_target_name"]).data
    return call_of(name, {**op.properties, **op.attributes}, operands, results, op.location)


def call_of(
    target: str,
    stated: Mapping[str, Attribute],
    operands: Sequence[Attribute],
    results: Sequence[Attribute],
    location: LocationAttr,
) -> CustomCall:
    """The call of a target, with the operation's properties and attributes."""
    attributes: dict[str, Any] = {}
    for name in CONFIGURATIONS:
        entries = stated.get(name)
        if isinstance(entries, DictionaryAttr):
            attributes |= {key: python_value(value) for key, value in entries.data.items()}
    if "error_message" in stated:
        attributes["error_message"] = python_value(stated["error_message"])
    config = stated.get("backend_config")
    return CustomCall(
        target=target,
        attributes=attributes,
        backend_config=config.data if isinstance(config, StringAttr) else "",
        operands=tuple(map(array_type, operands)),
        results=tuple(map(array_type, results)),
        operand_types=tuple(operands),
        result_types=tuple(results),
        location=location,
    )


def array_type(type_: Attribute) -> ArrayType:
    """The array type of a tensor of static shape."""
    tensor = tensor_type(type_)
    dtype = numpy_dtype(tensor.element_type)
    assert dtype is not None, "callers look at the element type first"
    return ArrayType(tensor.get_shape(), dtype, text_of(tensor))


def _seen(op: Operation, what: str, index: int) -> Attribute:
    """The type of an operand or result in the original program: complex where split-complex made it a pair."""
    type_ = (op.operand_types if what == "operand" else op.result_types)[index]
    if not isinstance(type_, TensorType):
        fail(op, f"has {what} {index} of type {type_}; only tensors can be passed to a target")
    tensor = tensor_type(cast(Attribute, type_))
    if numpy_dtype(tensor.element_type) is None or not is_static(tensor.get_shape()):
        fail(op, f"has {what} {index} of type {type_}; a target takes and gives arrays of a known shape and dtype")
    marks = op.attributes.get(_COMPLEX[what])
    if marks is None:
        return tensor
    given = python_value(marks)
    shape, dtype = tensor.get_shape(), numpy_dtype(tensor.element_type)
    if not isinstance(given, tuple) or len(cast("tuple[Any, ...]", given)) <= index:
        fail(op, f"has no mark for {what} {index} in {_COMPLEX[what]}")
    if given[index] is not True:
        return tensor
    if shape[-1:] != (2,) or (dtype is None or dtype.str[1:] not in ("f4", "f8")):
        fail(op, f"has {what} {index} of type {type_}, which is marked as complex and holds no pairs of f32 or f64")
    return make_tensor(tensor.get_shape()[:-1], ComplexType(cast(Any, tensor.element_type)))


def is_token(type_: Attribute) -> bool:
    return type_.name == "hlo.token"


def complex_view(array: Array, seen: ArrayType) -> Array:
    """An operand as the target's function sees it: pairs of real numbers as complex ones."""
    return array if array.dtype == seen.dtype else np.ascontiguousarray(array).view(seen.dtype).reshape(seen.shape)


def stored_view(array: Array, dtype: Any) -> Array:
    """The inverse of `complex_view`, for a result."""
    return array if array.dtype == dtype else np.ascontiguousarray(array)[..., None].view(dtype)
