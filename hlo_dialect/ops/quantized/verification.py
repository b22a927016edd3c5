"""
The constraints on quantized operands and results, and on their quantization parameters.

Everything else about such an operation is checked on the same operation on expressed values, or on stored integers for
`bitcast_convert`; operations with regions, and those that pass values on, compare element types themselves.

Spec: https://openxla.org/stablehlo/spec, Quantized types, and the constraints of each operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import Signedness
from xdsl.ir import Attribute

from ...op import HloOp, reject
from ...shapes import dims_agree, is_static
from ...types import element_of, is_float, shape_of
from ..contraction import DotGeneralOp
from ..convolution import ConvolutionBase
from ..dynamism.dynamic_shapes import DynamicBroadcastInDimOp
from ..movement import BroadcastInDimOp, TransposeOp
from .arithmetic import expressed_type, quantized_element, storage_type
from .semantics import on_types
from .types import UniformQuantizedType

_PASS_ON = frozenset(
    """all_gather all_reduce all_to_all async_done async_start case collective_broadcast collective_permute composite
    constant cross-replica-sum custom_call get_tuple_element if infeed map optimization_barrier outfeed recv reduce
    reduce_scatter reduce_window return scan scatter select_and_scatter send sort tuple uniform_dequantize
    uniform_quantize while""".split()
)
"""Operations whose own verifiers hold for quantized tensors as well."""

_PER_AXIS = frozenset(
    """add bitcast_convert broadcast_in_dim case composite constant convolution custom_call
    dot_general dynamic_broadcast_in_dim dynamic_conv dynamic_reshape get_dimension_size get_tuple_element if infeed
    outfeed recv reshape return send transpose tuple uniform_dequantize uniform_quantize while""".split()
)
"""Operations on tensors with a scale for each index of a dimension; others need one scale for the whole tensor."""

_REAL_ONLY = frozenset("complex convert fft imag real rng rng_bit_generator".split())
"""Operations on floats that the specification does not define on quantized tensors."""

_CHLO_MOVES = frozenset("constant_like ragged_dot scan top_k".split())
"""Operations of chlo on quantized tensors, broadcasts aside."""

_ONE_ELEMENT_TYPE = {
    **dict.fromkeys("dynamic_slice pad reverse slice".split(), 1),
    **dict.fromkeys("dynamic_gather gather".split(), 23),
    "concatenate": 5,
    "dynamic_pad": 1,
    "dynamic_update_slice": 1,
    "real_dynamic_slice": 1,
}
"""Operations that move single elements, whose scale and zero point stay: the number of the constraint that says so."""

_BASELINE = {
    "abs": 2,
    "batch_norm_grad": 2,
    "batch_norm_inference": 2,
    "batch_norm_training": 2,
    "clamp": 2,
    "select": 2,
}
"""The number of the constraint that storage and expressed types are the same, where it is not the first."""


def verify_quantized(op: HloOp) -> None:
    """Check an operation with quantized operands or results. Raises VerifyException."""
    name = op.name.partition(".")[2]
    for what, types in (("i", op.operand_types), ("o", op.result_types)):
        for index, type_ in enumerate(types):
            element = quantized_element(type_)
            if element is None:
                continue
            constraint = f"{name}_{what}{index + 1}"
            if name in _REAL_ONLY or (op.name.startswith("chlo.") and not _is_quantizable_chlo(name)):
                reject(f"{constraint}: {type_} is quantized; uniform_dequantize it before")
            _verify_type(constraint, type_, element)
            if element.per_axis and not _takes_per_axis(name, what, index):
                reject(f"{constraint}: {type_} has a scale for each index of a dimension, expected one scale")
    _RULES.get(name, _verify_alike)(op)
    if name in _PASS_ON:
        op.verify_()
    else:
        on_types(op, storage_type if name == "bitcast_convert" else expressed_type).verify_()


def _is_quantizable_chlo(name: str) -> bool:
    """Whether chlo has the operation on quantized tensors: broadcasts of most operations of hlo, and structure."""
    return (
        name.startswith("broadcast_") and name not in ("broadcast_complex", "broadcast_zeta")
    ) or name in _CHLO_MOVES


def _takes_per_axis(name: str, what: str, index: int) -> bool:
    if name in ("dot_general", "convolution", "dynamic_conv") and (what, index) == ("i", 0):
        return False
    return name in _PER_AXIS


def _verify_type(constraint: str, type_: Attribute, element: UniformQuantizedType) -> None:
    storage, (low, high) = element.storage, element.limits
    if storage.signedness.data is Signedness.SIGNED or storage.width.data not in (2, 4, 8, 16, 32):
        reject(f"{constraint}: {type_} is stored in {storage}, expected i or u of 2, 4, 8, 16 or 32 bits")
    if not all(low <= zero.data <= high for zero in element.zero_points):
        reject(f"{constraint}: {type_} has a zero point that is not in its storage range {low}:{high}")
    if not element.per_axis:
        return
    shape, axis, count = shape_of(type_), element.axis.data, len(element.scales)
    if not (axis < len(shape) and dims_agree(shape[axis], count)):
        reject(f"{constraint}: {type_} has no index in dimension {axis} for each of {count} scales")


# -- rules ------------------------------------------------------------------------------------------------------------


def _verify_alike(op: HloOp) -> None:
    """
    The constraints of most operations: all floats among operands and results are quantized, with one storage type and
    one expressed type; where elements only move, with one scale and zero point.
    """
    name = op.name.partition(".")[2]
    if name in _PASS_ON or name in ("bitcast_convert", "get_dimension_size"):
        return
    elements = [element_of(type_) for type_ in (*op.operand_types, *op.result_types)]
    values = [element for element in elements if isinstance(element, UniformQuantizedType) or is_float(element)]
    moves = name in _ONE_ELEMENT_TYPE
    constraint = f"{name}_c{_ONE_ELEMENT_TYPE[name] if moves else _BASELINE.get(name, 1)}"
    for element in values[1:]:
        if moves and element != values[0]:
            reject(f"{constraint}: operands and results have different element types {values[0]} and {element}")
        if _baseline(element) != _baseline(values[0]):
            reject(f"{constraint}: {values[0]} and {element} differ in more than scale and zero point")


def _baseline(element: Attribute) -> tuple[Attribute, ...]:
    """The parts of a type that are not quantization parameters."""
    if isinstance(element, UniformQuantizedType):
        return element.storage, element.range, element.expressed
    return (element,)


def _elements(op: HloOp) -> list[Attribute]:
    """The element types of the first two operands and the result."""
    return [element_of(value) for value in (*op.operands[:2], op.results[0])]


def _verify_add(op: HloOp) -> None:
    elements = [element for element in _elements(op) if isinstance(element, UniformQuantizedType)]
    if len(elements) != 3:
        reject("add_c2: operands and result are not all quantized")
    lhs, rhs, result = elements
    _verify_equal("add_c3", "storage types", [(element.storage, element.range) for element in elements])
    _verify_equal("add_c4", "expressed types", [element.expressed for element in elements])
    if (lhs.per_axis or rhs.per_axis) != result.per_axis:
        reject(f"add_c5: the result's type {result} has a scale for each index of a dimension, or one of the operands'")
    for number, what, element in ((6, "lhs", lhs), (7, "rhs", rhs)):
        if element.per_axis and element.axis != result.axis:
            reject(f"add_c{number}: {what} is quantized along {element.axis.data}, the result along {result.axis.data}")


def _verify_equal(constraint: str, what: str, values: Sequence[object]) -> None:
    if any(value != values[0] for value in values):
        reject(f"{constraint}: operands and result have different {what}")


def _verify_product(op: HloOp, name: str, first: int) -> None:
    """
    The constraints that dot_general and convolutions share: `first` is the number of the one on which operands are
    quantized, then on storage types, expressed types, scales per axis and hybrid operations.
    """
    lhs, rhs, result = _elements(op)
    quantized, storage, expressed, granularity, hybrid = (f"{name}_c{number}" for number in _PRODUCT_NUMBERS[first])
    if not isinstance(rhs, UniformQuantizedType) or (
        isinstance(lhs, UniformQuantizedType) != isinstance(result, UniformQuantizedType)
    ):
        reject(f"{quantized}: rhs is quantized, and lhs and result both or neither; got {lhs}, {rhs} and {result}")
    if not isinstance(lhs, UniformQuantizedType) or not isinstance(result, UniformQuantizedType):
        if not lhs == rhs.expressed == result:
            reject(f"{hybrid}: lhs and result have element types {lhs} and {result}, rhs stands for {rhs.expressed}")
        return
    if lhs.storage != rhs.storage:
        reject(f"{storage}: lhs is stored in {lhs.storage}, rhs in {rhs.storage}")
    _verify_equal(expressed, "expressed types", [lhs.expressed, rhs.expressed, result.expressed])
    if result.per_axis and not rhs.per_axis:
        reject(f"{granularity}: the result has a scale for each index of a dimension, rhs one for all")


_PRODUCT_NUMBERS = {14: (14, 17, 18, 19, 20), 28: (28, 31, 32, 33, 34)}


def _verify_dot_general(op: HloOp) -> None:
    rhs = element_of(op.operands[1])
    if isinstance(rhs, UniformQuantizedType):
        if any(zero.data for zero in rhs.zero_points):
            reject(f"dot_general_c15: rhs of type {op.operands[1].type} has a zero point other than 0")
        contracting = cast(DotGeneralOp, op).dot_dimension_numbers.rhs_contracting
        if rhs.per_axis and rhs.axis.data in contracting:
            reject(f"dot_general_c16: rhs is quantized along {rhs.axis.data}, which is contracted")
    _verify_product(op, "dot_general", 14)


def _verify_convolution(op: HloOp) -> None:
    name, (_, rhs, result) = op.name.partition(".")[2], _elements(op)
    numbers = cast(ConvolutionBase, op).dimension_numbers
    for number, what, element, dim in (
        (29, "rhs", rhs, numbers.kernel.feature),
        (30, "result", result, numbers.output.feature),
    ):
        if isinstance(element, UniformQuantizedType) and element.per_axis and element.axis.data != dim:
            reject(f"{name}_c{number}: {what} is quantized along {element.axis.data}, its output features are {dim}")
    _verify_product(op, name, 28)


def _verify_moved(op: HloOp) -> tuple[UniformQuantizedType, UniformQuantizedType] | None:
    """Check that nothing but the quantization dimension differs; the types, when quantized along one."""
    name, source, target = op.name.partition(".")[2], element_of(op.operands[0]), element_of(op.results[0])
    if isinstance(source, UniformQuantizedType) and isinstance(target, UniformQuantizedType):
        along = source.per_axis and target.per_axis
        whole = not (along and "broadcast" in name)  # the constraint 6 of broadcasts is on scales and zero points
        parts = [
            (*_baseline(element), *((element.scales, element.zero_points) if whole else ()))
            for element in (source, target)
        ]
        if parts[0] == parts[1] and source.per_axis == target.per_axis:
            return (source, target) if along else None
    reject(f"{name}_c1: operand and result have different element types {source} and {target}")


def _verify_transpose(op: HloOp) -> None:
    if (found := _verify_moved(op)) is None:
        return
    source, target, dims = found[0].axis.data, found[1].axis.data, cast(TransposeOp, op).dims
    if not (target < len(dims) and dims[target] == source):
        reject(f"transpose_c4: operand is quantized along {source}, the result along {target}, with dims = {dims}")


def _verify_reshape(op: HloOp) -> None:
    name = op.name.partition(".")[2]
    if (found := _verify_moved(op)) is None:
        return
    shapes = shape_of(op.operands[0]), shape_of(op.results[0])
    source, target = (shape[: element.axis.data + 1] for shape, element in zip(shapes, found, strict=True))
    before = all(map(is_static, (source, target))) and math.prod(source[:-1]) != math.prod(target[:-1])
    if before or not dims_agree(source[-1], target[-1]):
        reject(
            f"{name}_c3: the dimensions of {op.operands[0].type} up to the quantized one are not those of "
            f"{op.results[0].type}"
        )


def _verify_broadcast(op: HloOp) -> None:
    name = op.name.partition(".")[2]
    if (found := _verify_moved(op)) is None:
        return
    source, target = found
    dims = cast(BroadcastInDimOp | DynamicBroadcastInDimOp, op).dims
    axis, wanted = source.axis.data, target.axis.data
    if not (axis < len(dims) and dims[axis] == wanted):
        reject(f"{name}_c6: operand is quantized along {axis}, the result along {wanted}, with dims = {dims}")
    scales, zeros = set(target.scales), set(target.zero_points)
    if len(source.scales) == 1 and (scales != set(source.scales) or zeros != set(source.zero_points)):
        reject(f"{name}_c6: the scales and zero points of {target} are not those of {source}")


_RULES: dict[str, Callable[[HloOp], object]] = {
    "add": _verify_add,
    "broadcast_in_dim": _verify_broadcast,
    "convolution": _verify_convolution,
    "dot_general": _verify_dot_general,
    "dynamic_broadcast_in_dim": _verify_broadcast,
    "dynamic_conv": _verify_convolution,
    "dynamic_reshape": _verify_reshape,
    "reshape": _verify_reshape,
    "transpose": _verify_transpose,
}
"""The constraints on quantization parameters of single operations."""
