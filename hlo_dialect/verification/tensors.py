"""The constraints on tensor types that hold for all operations: which elements there are, and which sizes are known."""

# pyright: reportPrivateUsage=false
# Reads the tuple of operands, of which xDSL's public view is made anew for each look.
from __future__ import annotations

from functools import cache
from typing import cast

from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ..op import HloOp
from ..ops.constraints import check_static
from ..shapes import is_static
from ..types import QUANTIZED, is_declared_signed, numpy_dtype, shape_of, tensor_type

_SIZES = {
    "dynamic_broadcast_in_dim": (1,),
    "dynamic_conv": (2,),
    "dynamic_gather": (2,),
    "dynamic_iota": (0,),
    "dynamic_pad": (2, 3, 4),
    "dynamic_reshape": (1,),
    "real_dynamic_slice": (1, 2, 3),
    "rng": (2,),
}
"""The operands that hold sizes or positions in the dimensions of another type: how many there are must be known."""

_INTEGER_SIZES = frozenset(("dynamic_conv", "dynamic_gather"))
"""Operations whose sizes are integers, and not `index`."""

_STATIC_RESULTS = frozenset(("infeed", "recv"))
"""Operations whose results have sizes that nothing else says."""

_CHECKED = frozenset(f"hlo.{name}" for name in (*_SIZES, *_STATIC_RESULTS))
"""Operations of which more is checked than the elements."""


def has_plain_tensors(op: Operation) -> bool:
    """Whether all operands and results are ranked tensors of elements that every operation may have in this place."""
    for value in (*op._operands, *op.results):
        type_ = value._type
        if type(type_) is not TensorType:
            return False
        facts: dict[str, bool] = vars(type_)
        plain = facts.get("_is_plain")
        if plain is None:
            # As functools.cached_property keeps what it computes.
            plain = facts["_is_plain"] = _is_plain(type_.element_type)
        if not plain:
            return False
    return op.name not in _CHECKED


def verify_tensors(op: HloOp) -> None:
    """Raise VerifyException for tensors of elements that StableHLO lacks, or of sizes that must be known."""
    name = op.name.partition(".")[2]
    sizes = _SIZES.get(name, ())
    for index, type_ in enumerate(op.operand_types):
        if isinstance(type_, TensorType):
            allows_index = name == "return" or (index in sizes and name not in _INTEGER_SIZES)
            _verify_tensor(f"{name}_i{index + 1}", cast(Attribute, type_), allows_index, index in sizes)
    for index, (result, type_) in enumerate(zip(op.results, op.result_types, strict=True)):
        if isinstance(type_, TensorType):
            _verify_tensor(f"{name}_o{index + 1}", cast(Attribute, type_), False, False)
            if name in _STATIC_RESULTS:
                check_static(f"{name}_o{index + 1}", result)


def _verify_tensor(constraint: str, type_: Attribute, allows_index: bool, static: bool) -> None:
    element = tensor_type(type_).element_type
    if not (_is_element(element) or (allows_index and isinstance(element, IndexType))):
        raise VerifyException(f"{constraint}: StableHLO has no tensors of {element}")
    if static and not is_static(shape_of(type_)):
        raise VerifyException(f"{constraint}: {type_} has an unknown size, expected a static shape")


@cache
def _is_plain(element: Attribute) -> bool:
    return _is_element(element) and element.name != QUANTIZED


@cache
def _is_element(element: Attribute) -> bool:
    if element.name == QUANTIZED:
        return True
    return numpy_dtype(element) is not None and not is_declared_signed(element)
