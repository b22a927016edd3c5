"""The entry of a program: its function, and the types of its arguments and results."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, cast

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, MemRefType, ModuleOp, NameLoc, StringAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import SymbolTable

from ...dialects.support.kernel import PROGRAM, entry_name
from ...hlo_dialect.collectives.tokens import TokenType
from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError, fail
from ...hlo_dialect.entry import ENTRY, entry_tensors, find_entry
from ...hlo_dialect.shapes import is_static
from ...hlo_dialect.types import ArrayType, numpy_dtype, tensor_type, text_of


def entry_of(module: ModuleOp) -> func.FuncOp:
    """The function that a program runs. Raises DiagnosticError if there is none."""
    entry = find_entry(module)
    if entry is None:
        message = f"the module has no function @{ENTRY} to run"
        if SymbolTable.lookup_symbol(module, ENTRY) is not None:
            message += f" at the level of hlo, and no attribute {PROGRAM}, which describes that of a lowered program"
        raise DiagnosticError(Diagnostic("error", message, module.location))
    return entry


def has_unknown_sizes(module: ModuleOp) -> bool:
    """Whether the entry takes a tensor of unknown size."""
    entry = find_entry(module)
    return entry is not None and any(map(is_of_unknown_size, entry.function_type.inputs.data))


def is_of_unknown_size(type_: Attribute) -> bool:
    """Whether a type is that of tensors of unknown size."""
    return isinstance(type_, TensorType) and not is_static(type_.get_shape())


def array_type(function: Operation, type_: Attribute, what: str, unknown_sizes: bool = False) -> ArrayType:
    """
    The array type of an argument or result.

    Raises DiagnosticError if NumPy lacks the type, or, without `unknown_sizes`, the shape is dynamic.
    """
    if not isinstance(type_, TensorType):
        fail(function, f"has {what} of type {type_}; compiled programs take tensors at the entry")
    tensor = tensor_type(cast("TensorType[Any]", type_))
    dtype, shape = numpy_dtype(tensor.element_type), tensor.get_shape()
    if dtype is None:
        fail(function, f"has {what} of type {type_}, whose element type compiled programs do not support at the entry")
    if not unknown_sizes and any(size < 0 for size in shape):
        fail(function, f"has {what} of type {type_}; compiled programs need static shapes")
    return ArrayType(tuple(max(size, -1) for size in shape), dtype, text_of(tensor))


ArrayTypes = tuple[ArrayType, ...]


def entry_types(module: ModuleOp, unknown_sizes: bool = False) -> tuple[ArrayTypes, ArrayTypes]:
    """
    The entry's argument and result types without tokens, which hold no data: from the attribute xhlo.program if the
    module has it, else from the function. Raises DiagnosticError, also if the two disagree; see array_type for
    `unknown_sizes`.
    """
    program = module.attributes.get(PROGRAM)
    if isinstance(program, DictionaryAttr):
        return _stated_types(module, program)
    function = entry_of(module)
    inputs, outputs = entry_tensors(function)
    return (
        _array_types(function, "argument", inputs, unknown_sizes),
        _array_types(function, "result", outputs, unknown_sizes),
    )


def entry_names(module: ModuleOp) -> tuple[str, tuple[str, ...]]:
    """
    The program's name, its module's or else the entry's, and the names of its arguments: those of their locations, as
    JAX writes them, or of the values in the text.
    """
    name = "" if module.sym_name is None else module.sym_name.data
    entry = find_entry(module)
    if entry is None:
        return name or ENTRY, ()
    arguments = [argument for argument in entry.body.block.args if not isinstance(argument.type, TokenType)]
    return name or entry.sym_name.data, tuple(map(_argument_name, arguments))


def result_names(module: ModuleOp) -> tuple[str, ...]:
    """
    The names of the entry's results, empty for those without: JAX writes where in the result each is, as
    `jax.result_info = "result['loss']"`, which gives `loss`; a number alone is no name.
    """
    entry = find_entry(module)
    if entry is None:
        return ()
    outputs = [type_ for type_ in entry.function_type.outputs.data if not isinstance(type_, TokenType)]
    attributes = entry.res_attrs.data if entry.res_attrs is not None else ()
    if len(attributes) != len(outputs):
        return ()
    infos = [each.data.get("jax.result_info") for each in attributes]
    return tuple(_result_name(info.data) if isinstance(info, StringAttr) else "" for info in infos)


def _result_name(info: str) -> str:
    name = "_".join(re.findall(r"\w+", info.removeprefix("result")))
    return name if name and not name[0].isdigit() else ""


def _argument_name(argument: SSAValue) -> str:
    location = getattr(argument, "location", None)
    if isinstance(location, NameLoc):
        return location.desc.data
    return argument.name_hint or ""


def _array_types(function: Operation, what: str, types: Iterable[Attribute], unknown_sizes: bool = False) -> ArrayTypes:
    return tuple(
        array_type(function, type_, f"{what} {i}", unknown_sizes)
        for i, type_ in enumerate(types)
        if not isinstance(type_, TokenType)
    )


# Modules whose fusions are kernels ----------------------------------------------------------------------------------


def _stated_types(module: ModuleOp, program: DictionaryAttr) -> tuple[ArrayTypes, ArrayTypes]:
    entry = SymbolTable.lookup_symbol(module, entry_name(module))
    if entry is None:
        fail(module, f"has no function @{entry_name(module)}, which its attribute {PROGRAM} names")
    inputs, outputs = (
        cast("ArrayAttr[Attribute]", types) if isinstance(types, ArrayAttr) else ()
        for types in map(program.data.get, ("inputs", "outputs"))
    )
    found = _array_types(entry, "argument", inputs), _array_types(entry, "result", outputs)
    _check_agreement(entry, found)
    return found


def _check_agreement(entry: Operation, stated: tuple[ArrayTypes, ArrayTypes]) -> None:
    """
    Refuse an entry that takes or returns arrays of other sizes than stated; one of llvm shows only their number.
    """
    inputs, outputs = stated
    if isinstance(entry, func.FuncOp):
        types = entry.function_type
        actual = [*types.inputs.data, *types.outputs.data]
        buffers = any(isinstance(type_, MemRefType) for type_ in actual)
    elif isinstance(entry, llvm.FuncOp):
        actual, buffers = list(entry.function_type.inputs.data), True
    else:
        fail(entry, "is no function that a program can run")
    wanted = [*inputs, *outputs]
    # Below bufferize results are parameters; plan-buffers adds the arena.
    if not len(wanted) <= len(actual) <= len(wanted) + 2 * buffers:
        fail(entry, f"takes and returns {len(actual)} values, but {PROGRAM} states {len(wanted)}: change both")
    for index, (type_, array) in enumerate(zip(actual, wanted, strict=False)):
        if not isinstance(type_, (TensorType, MemRefType)):
            continue
        if _bytes_of(cast("TensorType[Attribute]", type_)) != array.nbytes:
            fail(entry, f"has {type_} as argument or result {index}, but {PROGRAM} states {array.text}: change both")


def _bytes_of(type_: TensorType[Attribute]) -> int:
    dtype = numpy_dtype(type_.element_type)
    return -1 if dtype is None else math.prod(type_.get_shape()) * dtype.itemsize
