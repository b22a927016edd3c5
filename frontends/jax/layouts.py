"""
Memory layouts of a program's arguments and results, which JAX asks for with `mhlo.layout_mode`.

Compiled programs compute on row-major arrays. An argument that lies in memory in another order of dimensions is the
row-major array of the permuted shape; the program transposes it back, which usually becomes part of a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint, Rewriter

from ...hlo_dialect.attributes import ENTRY_LAYOUTS, order_attribute
from ...hlo_dialect.entry import find_entry
from ...hlo_dialect.expressions.tensor import Builder, Tensor
from ...hlo_dialect.types import make_tensor
from .c_api import Code
from .compiled import Layouts
from .entries import PluginError

LAYOUT = "mhlo.layout_mode"
_SHARDINGS = ("sdy.sharding", "mhlo.sharding")
_TEXT = re.compile(r"\{([0-9, ]*)\}")


def read_layouts(module: ModuleOp) -> tuple[Layouts, Layouts]:
    """
    The layouts that @main's arguments and results are to have; "auto" is row-major. Raises PluginError for tiles.
    """
    main = find_entry(module)
    if main is None:
        return [], []
    inputs, outputs = main.function_type.inputs.data, main.function_type.outputs.data
    return _read(main.arg_attrs, inputs), _read(main.res_attrs, outputs)


def _read(attributes: ArrayAttr[DictionaryAttr] | None, types: Sequence[Attribute]) -> Layouts:
    found: Layouts = [None] * len(types)
    for index, entry in enumerate(() if attributes is None else attributes.data):
        mode, type_ = entry.data.get(LAYOUT), types[index]
        if isinstance(mode, StringAttr) and mode.data not in ("default", "auto") and isinstance(type_, TensorType):
            found[index] = _order(mode.data, len(type_.get_shape()))
    return found


def _order(text: str, rank: int) -> list[int] | None:
    match = _TEXT.fullmatch(text)
    if match is None:
        raise PluginError(Code.UNIMPLEMENTED, f"xhlo does not support the memory layout {text}: it has no tiles")
    order = [int(each) for each in match[1].split(",") if each.strip()]
    if sorted(order) != list(range(rank)):
        raise PluginError(Code.INVALID_ARGUMENT, f"the memory layout {text} does not order {rank} dimensions")
    return None if order == list(reversed(range(rank))) else order


def state_layouts(module: ModuleOp, layouts: tuple[Layouts, Layouts]) -> None:
    """Record the layouts in the attributes from which jaxlib reads them."""
    main = find_entry(module)
    assert main is not None
    types = (main.function_type.inputs.data, main.function_type.outputs.data)
    for name, of_types, orders in zip(ENTRY_LAYOUTS, types, layouts, strict=True):
        module.attributes[name] = ArrayAttr(list(map(_stated, of_types, orders)))


def _stated(type_: Attribute, order: list[int] | None) -> Attribute:
    rank = len(type_.get_shape()) if isinstance(type_, TensorType) else 0
    return order_attribute(list(reversed(range(rank))) if order is None else order)


def physical_shape(shape: Sequence[int], order: Sequence[int] | None) -> tuple[int, ...]:
    """The shape of the row-major array that an array with this layout is in memory."""
    return tuple(shape) if order is None else tuple(shape[axis] for axis in reversed(order))


def apply_layouts(module: ModuleOp, layouts: tuple[Layouts, Layouts]) -> None:
    """Change the types of @main's arguments and results to the arrays in memory, and transpose inside."""
    main = find_entry(module)
    assert main is not None
    for name in ENTRY_LAYOUTS:
        module.attributes.pop(name, None)
    block = main.body.block
    b = Builder(InsertPoint.at_start(block))
    for argument, order in zip(block.args, layouts[0], strict=True):
        if order is None:
            continue
        uses = list(argument.uses)
        physical = _physical(argument.type, order)
        changed = Rewriter.replace_value_with_new_type(argument, physical)
        back = [len(order) - 1 - order.index(axis) for axis in range(len(order))]
        logical = Tensor(b, changed).transpose(back).value
        for use in uses:
            use.operation.operands[use.index] = logical
    end = block.last_op
    assert isinstance(end, func.ReturnOp)
    b = Builder(InsertPoint.before(end))
    for index, order in enumerate(layouts[1]):
        if order is not None:
            end.operands[index] = Tensor(b, end.operands[index]).transpose(list(reversed(order))).value
    inputs, outputs = [argument.type for argument in block.args], [value.type for value in end.operands]
    main.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
    for name, orders in (("arg_attrs", layouts[0]), ("res_attrs", layouts[1])):
        found = main.properties.get(name)
        if isinstance(found, ArrayAttr):
            entries = cast("ArrayAttr[DictionaryAttr]", found).data
            main.properties[name] = ArrayAttr(list(map(_without_layout, entries, orders)))


def _physical(type_: Attribute, order: Sequence[int]) -> Attribute:
    tensor = cast("TensorType[Any]", type_)
    return make_tensor(physical_shape(tensor.get_shape(), order), tensor.element_type)


def _without_layout(attributes: DictionaryAttr, order: list[int] | None) -> DictionaryAttr:
    """A sharding of one device says nothing, and is about dimensions that were permuted."""
    if order is None:
        return attributes
    kept: Mapping[str, Attribute] = attributes.data
    return DictionaryAttr({name: value for name, value in kept.items() if name not in (LAYOUT, *_SHARDINGS)})
