"""The entry of a program: its function, and the types of its arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ComplexType, DictionaryAttr, ModuleOp, TensorType
from xdsl.ir import Attribute

from ...dialects.support.kernel import COMPLEX
from ...hlo_dialect.collectives.host_transfers import TokenType
from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError, fail
from ...hlo_dialect.types import ArrayType, make_tensor, numpy_dtype, tensor_type

ENTRY = "main"


def find_entry(module: ModuleOp) -> func.FuncOp | None:
    """The function that a program runs; None if there is none."""
    functions = (op for op in module.body.block.ops if isinstance(op, func.FuncOp))
    return next((op for op in functions if op.sym_name.data == ENTRY and not op.is_declaration), None)


def entry_of(module: ModuleOp) -> func.FuncOp:
    """The function that a program runs. Raises DiagnosticError if there is none."""
    entry = find_entry(module)
    if entry is None:
        raise DiagnosticError(Diagnostic("error", f"the module has no function @{ENTRY} to run", module.location))
    return entry


def array_type(function: func.FuncOp, type_: Attribute, what: str, pairs: bool = False) -> ArrayType:
    """
    The array type of an argument or result; with `pairs`, made by split-complex, that of the complex numbers.

    Raises DiagnosticError if NumPy lacks the type or the shape is dynamic.
    """
    if not isinstance(type_, TensorType):
        fail(function, f"has {what} of type {type_}; compiled programs take tensors at the entry")
    tensor = tensor_type(cast("TensorType[Any]", type_))
    dtype, shape = numpy_dtype(tensor.element_type), tensor.get_shape()
    if dtype is None:
        fail(function, f"has {what} of type {type_}, whose element type compiled programs do not support at the entry")
    if any(size < 0 for size in shape):
        fail(function, f"has {what} of type {type_}; compiled programs need static shapes")
    if pairs:
        tensor = make_tensor(shape[:-1], ComplexType(cast(Any, tensor.element_type)))
        return array_type(function, tensor, what)
    return ArrayType(shape, dtype, str(tensor))


def _are_pairs(attributes: Attribute | None, count: int) -> list[bool]:
    """For each argument or result, whether split-complex made it from a complex tensor."""
    if not isinstance(attributes, ArrayAttr):
        return [False] * count
    return [COMPLEX in entry.data for entry in cast("ArrayAttr[DictionaryAttr]", attributes).data]


def entry_types(module: ModuleOp) -> tuple[tuple[ArrayType, ...], tuple[ArrayType, ...]]:
    """The entry's argument and result types without tokens, which hold no data. Raises DiagnosticError."""
    function = entry_of(module)
    inputs, outputs = function.function_type.inputs, function.function_type.outputs
    arguments = _are_pairs(function.arg_attrs, len(inputs))
    results = _are_pairs(function.res_attrs, len(outputs))
    return (
        _array_types(function, "argument", inputs.data, arguments),
        _array_types(function, "result", outputs.data, results),
    )


def _array_types(
    function: func.FuncOp, what: str, types: Sequence[Attribute], pairs: Sequence[bool]
) -> tuple[ArrayType, ...]:
    return tuple(
        array_type(function, type_, f"{what} {i}", pairs[i])
        for i, type_ in enumerate(types)
        if not isinstance(type_, TokenType)
    )
