"""
The meaning of operations on quantized tensors, and their reference on stored integers.

An operation treats its quantized tensors in one of three ways:

* it moves, chooses or carries elements (`STORED`): the same operation on the stored integers;
* it is a contraction of quantized tensors: exact sums of integers, scaled once (`Contraction`);
* it computes: the operation on the expressed values, its operands dequantized and its results quantized
  . Hybrid operations, with a float lhs and a quantized rhs, do that too.

Operations with regions apply them to quantized elements; `accumulators` says to which types they convert operands
first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Attribute, Block, BlockArgument

from ...op import HloOp
from ...types import Array, element_of, f64, make_tensor, shape_of
from .arithmetic import Contraction, dequantize, expressed_type, quantize, quantized_element, zero_points

STORED = frozenset(
    f"hlo.{name}"
    for name in """all_gather all_reduce all_to_all async_done async_start bitcast_convert broadcast
    broadcast_in_dim case collective_broadcast collective_permute composite concatenate constant custom_call
    dynamic_broadcast_in_dim dynamic_gather dynamic_pad dynamic_reshape dynamic_slice dynamic_update_slice
    gather get_dimension_size get_tuple_element if infeed map optimization_barrier outfeed pad
    real_dynamic_slice recv reduce reduce_scatter reduce_window reshape return reverse scatter select
    select_and_scatter send set_dimension_size slice sort torch_index_select transpose tuple while""".split()
)
"""Operations on stored integers, which do not compute elements themselves."""


def on_types(op: HloOp, convert: Callable[[Attribute], Attribute]) -> HloOp:
    """The operation on operands and results of the types that `convert` gives for those of a quantized operation."""
    return _with_types(op, list(map(convert, op.operand_types)), list(map(convert, op.result_types)))


def _with_types(op: HloOp, operands: Sequence[Attribute], results: Sequence[Attribute]) -> HloOp:
    return type(op).create(
        operands=Block(arg_types=operands).args,
        result_types=results,
        properties=op.properties,
        attributes=op.attributes,
        location=op.location,
    )


def moves_stored(op: HloOp) -> bool:
    """Whether the operation is that on the stored integers; a select only between values of the result's type."""
    if op.name == "hlo.select":
        return all(element_of(value) == element_of(op.results[0]) for value in op.operands[1:])
    return op.name in STORED


def compute_quantized(op: HloOp, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    """The reference of an operation without regions that has quantized operands or results, on stored integers."""
    elements = list(map(quantized_element, (*op.operand_types, *op.result_types)))
    contraction = Contraction.of(op, elements)
    if contraction is not None:
        return (_contract(op, contraction, operands),)
    if op.name.startswith("hlo.uniform_") or moves_stored(op):
        results = op.reference(*operands)
        return results if isinstance(results, tuple) else (results,)
    real = [
        array if element is None else dequantize(array, element)
        for array, element in zip(operands, elements, strict=False)
    ]
    results = on_types(op, expressed_type).reference(*real)
    results = results if isinstance(results, tuple) else (results,)
    pairs = zip(results, elements[len(operands) :], strict=True)
    return tuple(array if element is None else quantize(array, element) for array, element in pairs)


def _contract(op: HloOp, contraction: Contraction, operands: tuple[Array, ...]) -> Array:
    factors = [
        array.astype("f8") - zero_points(element, array.ndim)
        for array, element in zip(operands[:2], (contraction.lhs, contraction.rhs), strict=True)
    ]
    wide = [make_tensor(shape_of(value), f64) for value in (*op.operands[:2], op.results[0])]
    plain = _with_types(op, [*wide[:2], *op.operand_types[2:]], wide[2:])
    total = plain.reference(*factors, *operands[2:])
    assert isinstance(total, np.ndarray), "a contraction has one result"
    return contraction.requantize(total)


def accumulators(op: HloOp) -> Sequence[BlockArgument | None]:
    """
    For each operand the argument of the region to whose element type it is converted before the region is applied;
    None for operands that the operation takes as they are.
    """
    arguments = list(op.regions[-1].block.args) if op.regions else []
    count = len(arguments) // 2
    match op.name:
        case "hlo.reduce" | "hlo.reduce_window":
            return arguments
        case "hlo.scatter":
            return [*arguments[:count], None, *arguments[count:]]
        case "hlo.select_and_scatter":
            return [None, arguments[1], arguments[0]]
        case "hlo.all_reduce" | "hlo.reduce_scatter":
            return arguments[:1] * len(op.operands)
        case _:
            return [None] * len(op.operands)


def promote(op: HloOp, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    """The operands of an operation with regions, quantized ones converted to the accumulators' types."""
    promoted: list[Array] = []
    for array, type_, argument in zip(operands, op.operand_types, accumulators(op), strict=True):
        source, target = quantized_element(type_), None if argument is None else quantized_element(argument.type)
        if source is not None and target is not None and source != target:
            array = quantize(dequantize(array, source), target)
        promoted.append(array)
    return tuple(promoted)
