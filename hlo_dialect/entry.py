"""The entry of a program: the function that it runs, and the tensors that it takes and returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ComplexType, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute

from ..dialects.support.kernel import COMPLEX, host_functions
from .types import element_of, make_tensor, shape_of

ENTRY = "main"


def find_entry(module: ModuleOp) -> func.FuncOp | None:
    """
    The function that a program runs: @main, or its only function besides kernels, whatever its name; None if there is
    none.
    """
    functions = list(host_functions(module))
    if len(functions) == 1 and not functions[0].is_declaration:
        return functions[0]
    return next((op for op in functions if op.sym_name.data == ENTRY and not op.is_declaration), None)


def entry_tensors(entry: func.FuncOp) -> tuple[list[Attribute], list[Attribute]]:
    """The argument and result types of an entry, with complex elements where split-complex made pairs."""
    types = entry.function_type
    return _without_pairs(types.inputs.data, entry.arg_attrs), _without_pairs(types.outputs.data, entry.res_attrs)


def _without_pairs(types: Sequence[Attribute], marks: Attribute | None) -> list[Attribute]:
    if not isinstance(marks, ArrayAttr):
        return list(types)
    entries = cast("ArrayAttr[DictionaryAttr]", marks).data
    return [
        make_tensor(shape_of(type_)[:-1], ComplexType(cast(Any, element_of(type_)))) if COMPLEX in entry.data else type_
        for type_, entry in zip(types, entries, strict=True)
    ]
