"""
Constraints shared by several operations; each function takes the constraint's name in the operation's specification.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, SSAValue

from ..op import HloOp, reject
from ..shapes import repeated, verify_results_agree
from ..types import (
    bit_width,
    element_of,
    is_boolean,
    is_complex,
    is_float,
    is_integer,
    numpy_dtype,
    shape_of,
)
from .control_flow import all_agree, returned_types, types_text


def check_size(constraint: str, name: str, values: Sequence[int], rank: int) -> None:
    """Check that there is one entry per dimension of the operand."""
    if len(values) != rank:
        reject(f"{constraint}: {name} has {len(values)} entries, expected the operand's rank {rank}")


def check_range(constraint: str, name: str, dims: Sequence[int], rank: int) -> None:
    """Check that these are dimensions of a tensor of that rank."""
    if not all(0 <= dim < rank for dim in dims):
        reject(f"{constraint}: {name} {dims} are not all in [0, {rank})")


def check_unique(constraint: str, name: str, dims: Sequence[int]) -> None:
    if repeated(dims):
        reject(f"{constraint}: {name} {dims} are not unique")


def check_element_types(op: HloOp, constraint: str) -> None:
    """Check that the first operand and the first result have the same element type."""
    operand, result = element_of(op.operands[0]), element_of(op.results[0])
    if operand != result:
        reject(f"{constraint}: operand and result have different element types {operand} and {result}")


# -- reductions -------------------------------------------------------------------------------------------------------


def is_promotable(source: Attribute, target: Attribute) -> bool:
    """
    Whether values of `source` may be accumulated in `target`: the same kind, and no narrower.

    Spec: https://openxla.org/stablehlo/spec, is_promotable.
    """
    if source == target:
        return True
    kinds = (is_boolean, is_integer, is_float, is_complex)
    same_kind = any(kind(source) and kind(target) for kind in kinds)
    known = numpy_dtype(source) is not None and numpy_dtype(target) is not None
    return same_kind and known and bit_width(source) <= bit_width(target)


def check_init_values(scalar: str, element: str, values: Sequence[SSAValue], inits: Sequence[SSAValue]) -> None:
    """
    Check that initial values are scalars (constraint `scalar`) of their inputs' element types (constraint `element`).
    """
    for index, (value, init) in enumerate(zip(values, inits, strict=True)):
        if shape_of(init) != ():
            reject(f"{scalar}: init_value {index} of type {init.type} is no scalar")
        if element_of(value) != element_of(init):
            reject(f"{element}: input {index} has element type {element_of(value)}, its init_value {element_of(init)}")


def check_reducer(constraint: str, what: str, block: Block, inputs: Sequence[SSAValue]) -> None:
    """
    Check that the region `what` combines accumulators with elements of the inputs.

    It takes all accumulators, then all elements, and returns the accumulators: scalars to which the inputs' element
    types can be promoted.
    """
    given = tuple(argument.type for argument in block.args)
    returned = returned_types(block)
    if not (len(returned) == len(inputs) and all_agree(given, (*returned, *returned))):
        reject(
            f"{constraint}: {what} takes {types_text(given)} and returns {types_text(returned)}, expected two "
            f"arguments and one result of each of the {len(inputs)} accumulator types"
        )
    for index, (type_, value) in enumerate(zip(returned, inputs, strict=True)):
        source = element_of(value)
        if not (shape_of(type_) == () and is_promotable(source, element_of(type_))):
            reject(
                f"{constraint}: {what} returns {type_} for input {index}, which is no scalar type that {source} "
                "promotes to"
            )


def check_accumulated(op: HloOp, count: str, element: str, shape: str, inputs: int, what: str) -> None:
    """
    Check the results: one per input (constraint `count`), of the accumulators' element types and the inferred shapes.
    """
    inferred = op.infer_types()
    if len(op.results) != inputs:
        reject(f"{count}: there are {len(op.results)} results for {inputs} inputs")
    for index, (result, wanted) in enumerate(zip(op.result_types, inferred, strict=True)):
        if element_of(result) != element_of(wanted):
            reject(
                f"{element}: result {index} has element type {element_of(result)}, {what} returns {element_of(wanted)}"
            )
    verify_results_agree(op, shape)
