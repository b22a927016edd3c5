"""
Constraints shared by several operations; each function takes the constraint's name in the operation's specification.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..diagnostics import fail
from ..op import HloOp, reject
from ..shapes import (
    DYNAMIC,
    Shape,
    dims_agree,
    is_static,
    largest_sizes,
    repeated,
    shape_text,
    shapes_agree,
    verify_results_agree,
)
from ..types import (
    bit_width,
    element_of,
    is_boolean,
    is_complex,
    is_float,
    is_integer,
    make_tensor,
    numpy_dtype,
    shape_of,
    tensor_type,
)
from .control_flow import all_agree, returned_types, types_text
from .quantized.types import UniformQuantizedType


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
    if operand is not result and operand != result:
        reject(f"{constraint}: operand and result have different element types {operand} and {result}")


def check_static(constraint: str, value: SSAValue) -> None:
    """Check that all sizes of a result are known, or all but one, which has a bound."""
    shape = shape_of(value)
    if is_static(shape):
        return
    type_ = tensor_type(value)
    if shape.count(DYNAMIC) > 1 or not is_static(largest_sizes(type_)):
        reject(f"{constraint}: result has type {type_}, expected known sizes, or one unknown with a bound")


# -- reductions -------------------------------------------------------------------------------------------------------


def is_promotable(source: Attribute, target: Attribute) -> bool:
    """
    Whether values of `source` may be accumulated in `target`: the same kind, and no narrower.

    Spec: https://openxla.org/stablehlo/spec, is_promotable.
    """
    if source == target:
        return True
    kinds = (is_boolean, is_integer, is_float, is_complex)
    if isinstance(source, UniformQuantizedType) and isinstance(target, UniformQuantizedType):
        return source.expressed == target.expressed and source.storage.width.data <= target.storage.width.data
    same_kind = any(kind(source) and kind(target) for kind in kinds)
    known = numpy_dtype(source) is not None and numpy_dtype(target) is not None
    return same_kind and known and bit_width(source) <= bit_width(target)


def check_init_values(
    shape: str, element: str, values: Sequence[SSAValue], inits: Sequence[SSAValue], limits: Shape = ()
) -> None:
    """
    Check that initial values are of their inputs' element types (constraint `element`), and scalars (constraint
    `shape`), or as StableHLO's verifier has it: that their dimensions are some of `limits`, in their order.
    """
    for index, (value, init) in enumerate(zip(values, inits, strict=True)):
        if not _are_some_of(shape_of(init), limits):
            kind = f"neither a scalar nor of dimensions of {shape_text(limits)}" if limits else "no scalar"
            reject(f"{shape}: init_value {index} of type {init.type} is {kind}")
        if element_of(value) != element_of(init):
            reject(f"{element}: input {index} has element type {element_of(value)}, its init_value {element_of(init)}")


def scalar_types(values: Sequence[SSAValue], times: int = 1) -> tuple[Attribute, ...]:
    """The scalar types of the values' elements, all of them `times` times."""
    return tuple(make_tensor((), element_of(value)) for value in values) * times


def _are_some_of(shape: Shape, limits: Shape) -> bool:
    """Whether the sizes occur among `limits` in their order."""
    waiting = iter(limits)
    return all(any(dims_agree(size, limit) for limit in waiting) for size in shape)


def check_reducer(
    constraint: str, what: str, block: Block, inputs: Sequence[SSAValue], inits: Sequence[SSAValue] = ()
) -> None:
    """
    Check that the region `what` combines accumulators with elements of the inputs.

    It takes all accumulators, then all elements, and returns the accumulators, of the shapes of `inits` (scalars if
    there are none), to which the inputs' element types can be promoted.
    """
    given = tuple(argument.type for argument in block.args)
    returned = returned_types(block)
    if not (len(returned) == len(inputs) and all_agree(given, (*returned, *returned))):
        reject(
            f"{constraint}: {what} takes {types_text(given)} and returns {types_text(returned)}, expected two "
            f"arguments and one result of each of the {len(inputs)} accumulator types"
        )
    shapes = [shape_of(init) for init in inits] or [()] * len(inputs)
    for index, (type_, value, shape) in enumerate(zip(returned, inputs, shapes, strict=True)):
        source = element_of(value)
        if not (shapes_agree(shape_of(type_), shape) and is_promotable(source, element_of(type_))):
            reject(
                f"{constraint}: {what} returns {type_} for input {index}, which is no "
                f"{f'{shape_text(shape)} tensor' if shape else 'scalar'} type that {source} promotes to"
            )


def refuse_shaped_accumulators(op: Operation, inits: Sequence[SSAValue]) -> None:
    """Raise DiagnosticError for initial values with dimensions: the verifier takes them, but they mean nothing."""
    for init in inits:
        if shape_of(init):
            fail(
                op,
                f"cannot run with an init_value of type {init.type}: the specification gives scalars alone a meaning",
            )


def check_accumulated(
    op: HloOp,
    count: str,
    element: str,
    shape: str,
    inputs: int,
    what: str,
    inferred: Sequence[Attribute] | None = None,
) -> None:
    """
    Check the results: one per input (constraint `count`), of the accumulators' element types and the inferred shapes.

    `inferred` are the types that `infer_types` gives, where they are known.
    """
    if inferred is None:
        inferred = op.infer_types()
    if len(op.results) != inputs:
        reject(f"{count}: there are {len(op.results)} results for {inputs} inputs")
    for index, (result, wanted) in enumerate(zip(op.result_types, inferred, strict=True)):
        if element_of(result) != element_of(wanted):
            reject(
                f"{element}: result {index} has element type {element_of(result)}, {what} returns {element_of(wanted)}"
            )
    verify_results_agree(op, shape, inferred)
