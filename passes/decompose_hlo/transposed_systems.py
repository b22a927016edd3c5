"""Triangular systems of transposed matrices: the matrices are read as they lie in memory, without a transposed copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from ...hlo_dialect.custom_calls.call import CONFIGURATIONS, describe_call
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.algorithms.linear_algebra import Transpose, TransposeAttr, TriangularSolveOp
from ...hlo_dialect.ops.movement import TransposeOp
from ...hlo_dialect.types import element_of, is_complex

_TURNED = {Transpose.NO_TRANSPOSE: Transpose.TRANSPOSE, Transpose.TRANSPOSE: Transpose.NO_TRANSPOSE}
_TURNED_LETTERS = {"N": "T", "T": "N"}


def _source(matrices: SSAValue) -> tuple[SSAValue, bool]:
    """The matrices before transposes of all of them, and whether there is an odd number of these."""
    turned = False
    while isinstance(matrices.owner, TransposeOp):
        dims = matrices.owner.dims
        last = len(dims) - 1
        if dims != (*range(last - 1), last, last - 1):
            break
        matrices, turned = matrices.owner.operands[0], not turned
    return matrices, turned


def untransposed_system(op: TriangularSolveOp) -> Sequence[Operation]:
    """
    Before: `%t = transpose %a, dims = [1, 0]; triangular_solve %t, %b {lower = true, transpose_a = NO_TRANSPOSE, ..}`
    After:  `triangular_solve %a, %b {lower = false, transpose_a = TRANSPOSE, ..}`
    """
    matrices, turned = _source(op.a)
    if matrices is op.a:
        return ()
    stated = dict(op.properties)
    if turned:
        as_turned = _TURNED.get(op.transpose, None if is_complex(element_of(matrices)) else Transpose.NO_TRANSPOSE)
        if as_turned is None:
            return ()
        stated |= {"lower": BoolAttr.from_bool(not op.is_lower), "transpose_a": TransposeAttr(as_turned)}
    new = TriangularSolveOp.create(
        operands=[matrices, op.b],
        result_types=list(op.result_types),
        properties=stated,
        attributes=op.attributes,
        location=op.location,
    )
    replace_op(op, [new], list(new.results))
    return [new]


def untransposed_call(op: CustomCallOp) -> Sequence[Operation]:
    """The same for a call of LAPACK's trsm."""
    matrices, turned = _source(op.operands[0])
    if matrices is op.operands[0]:
        return ()
    changed: dict[str, str] = {}
    if turned:
        attributes = describe_call(op).attributes
        upper, letter = attributes["uplo"] == ord("U"), chr(attributes["trans_x"])
        as_turned = _TURNED_LETTERS.get(letter, None if is_complex(element_of(matrices)) else "N")
        if as_turned is None:
            return ()
        changed = {"uplo": "L" if upper else "U", "trans_x": as_turned}
    new = CustomCallOp.create(
        operands=[matrices, *op.operands[1:]],
        result_types=list(op.result_types),
        properties=_with_letters(op.properties, changed),
        attributes=_with_letters(op.attributes, changed),
        location=op.location,
    )
    replace_op(op, [new], list(new.results))
    return [new]


def _with_letters(stated: Mapping[str, Attribute], letters: Mapping[str, str]) -> dict[str, Attribute]:
    """A call's properties or attributes, with other letters where its configurations have some."""
    found = dict(stated)
    for place in CONFIGURATIONS:
        entries = found.get(place)
        if isinstance(entries, DictionaryAttr):
            changed: dict[str, Attribute] = {
                key: IntegerAttr(ord(letters[key]), cast("IntegerType", cast("Any", value).type))
                for key, value in entries.data.items()
                if key in letters and isinstance(value, IntegerAttr)
            }
            found[place] = DictionaryAttr({**entries.data, **changed})
    return found
