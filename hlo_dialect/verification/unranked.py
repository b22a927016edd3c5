"""Operations on tensors of unknown rank, which chlo has until shapes are inferred: their element types are checked."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import UnrankedTensorType
from xdsl.ir import Attribute, Block

from ..op import HloOp, reject
from ..ops.elementwise import ElementwiseOp
from ..shapes import DYNAMIC
from ..types import make_tensor, tensor_type

_ANY_RANK = frozenset(("hlo.custom_call", "hlo.return"))
"""Operations that tensors of unknown rank only pass through."""


def is_unranked(op: HloOp) -> bool:
    return op.name not in _ANY_RANK and any(map(_has_no_rank, (*op.operand_types, *op.result_types)))


def ranked(op: HloOp) -> HloOp:
    """
    The operation on tensors whose rank is known, which is valid where `op` may be.

    Where only results have no rank, they get the inferred one; otherwise all tensors become vectors of unknown size,
    which fit each other. Raises VerifyException for tensors that must be ranked.
    """
    unranked = [index for index, type_ in enumerate((*op.operand_types, *op.result_types)) if _has_no_rank(type_)]
    if not op.name.startswith("chlo."):
        operand = unranked[0] < len(op.operands)
        which = f"operand #{unranked[0]}" if operand else f"result #{unranked[0] - len(op.operands)}"
        reject(f"{which} has no rank, which only chlo and custom calls take")
    if isinstance(op, ElementwiseOp) and len(unranked) <= len(op.operands):
        reject(f"{op.mnemonic}_c1: some operands and results have a rank, and some do not")
    cast(Any, type(op)).get_irdl_definition().verify(op)
    operands, results, properties = list(op.operand_types), list(op.result_types), dict(op.properties)
    if any(map(_has_no_rank, operands)):
        operands, results = list(map(_vector, operands)), list(map(_vector, results))
        properties.pop("broadcast_dimensions", None)
    else:
        for index, inferred in enumerate(op.infer_types()):
            if _has_no_rank(results[index]):
                same = tensor_type(inferred).element_type == _element(results[index])
                results[index] = inferred if same else _vector(results[index])
    return type(op).create(
        operands=Block(arg_types=operands).args,
        result_types=results,
        properties=properties,
        attributes=op.attributes,
        location=op.location,
    )


def _has_no_rank(type_: Attribute) -> bool:
    return isinstance(type_, UnrankedTensorType)


def _vector(type_: Attribute) -> Attribute:
    return make_tensor((DYNAMIC,), _element(type_))


def _element(type_: Attribute) -> Attribute:
    return cast(Any, type_).element_type
