"""
Calls of LAPACK without Python: compiled code calls it by itself, or has loops instead.

Each call of LAPACK gets a workspace, which plan-buffers puts into the arena.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, IntegerType, Signedness, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.support.shared_names import LINKED, PARTS, ROUTINE
from ...hlo_dialect.custom_calls.call import CONFIGURATIONS, describe_call
from ...hlo_dialect.custom_calls.lapack_library import LIBRARY
from ...hlo_dialect.custom_calls.lapack_plans import has_plan, plan_of
from ...hlo_dialect.custom_calls.linked_lapack import parts_of_plan
from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.custom_calls.registry import REGISTRY, target_of
from ...hlo_dialect.custom_calls.unblocked import UNBLOCKED
from ...hlo_dialect.expressions.tensor import Builder
from ...hlo_dialect.op import replace_op
from ...hlo_dialect.ops.algorithms.linear_algebra import CholeskyOp, TriangularSolveOp
from ...hlo_dialect.types import element_of, f32, i32, make_tensor, numpy_dtype, shape_of
from .native_calls import native_call
from .transform import direct_decompositions, linked_decompositions, unblocked_decompositions

_NOTHING: Mapping[str, IntegerAttr] = {}

_LETTERS = {"f4": "s", "f8": "d", "c8": "c", "c16": "z"}


def _letter(value: SSAValue) -> str:
    """The letter of LAPACK's names for a tensor's elements."""
    dtype = numpy_dtype(element_of(value))
    assert dtype is not None
    return _LETTERS[dtype.str[1:]]


def characters(**letters: str) -> dict[str, IntegerAttr]:
    """Attributes of LAPACK's calls that are letters."""
    return {name: IntegerAttr(ord(letter), i64) for name, letter in letters.items()}


VECTORS: Mapping[str, tuple[int, ...]] = {"syevd": (0,), "heevd": (0,), "gesdd": (2, 3), "gesvd": (2, 3)}
"""The results that are vectors, by routine."""


def routine_of(op: CustomCallOp) -> str:
    """LAPACK's name of a call's target without the letter of the type, or the target's own."""
    name = op.call_target_name.data
    return name.removeprefix("lapack_").removesuffix("_ffi")[1:] if name.startswith("lapack_") else name


def without_vectors(op: CustomCallOp) -> Mapping[str, IntegerAttr]:
    """The changed attributes of a call of LAPACK that computes vectors of which nothing is used."""
    vectors = VECTORS.get(routine_of(op), ())
    return characters(mode="N") if vectors and all(is_unused(op.results[n]) for n in vectors) else _NOTHING


def is_unused(value: SSAValue) -> bool:
    """Whether no result of the program depends on a value."""
    waiting, seen = [value], set[Operation]()
    while waiting:
        for use in waiting.pop().uses:
            op = use.operation
            if not op.results or op.regions or isinstance(op, CustomCallOp):
                return False
            if op not in seen:
                seen.add(op)
                waiting += op.results
    return True


@linked_decompositions.on(CustomCallOp)
def _linked(op: CustomCallOp) -> Sequence[Operation]:
    """
    Before: `%q, %tau = custom_call @lapack_sgeqrf_ffi(%a)`
    After:  `%q, %tau, %workspace = custom_call @xhlo.lapack(%a) {.. routine = "lapack_sgeqrf_ffi"}`
    """
    return _custom_call(op, LINKED)


@direct_decompositions.on(CustomCallOp)
def _direct(op: CustomCallOp) -> Sequence[Operation]:
    """As `_linked`, with a workspace for each part of a batch; calls of functions that took LAPACK's names stay."""
    name = op.call_target_name.data
    target = REGISTRY.find(name)
    if target is None or target.library != LIBRARY or not (name == "Eigh" or has_plan(name)):
        return ()
    target_of(op)  # refuses a wrong call
    is_direct = name == "Eigh" or not _is_short(op.operands[0])
    return _custom_call(op, LINKED, in_parts=True) if is_direct else ()


@unblocked_decompositions.on(CustomCallOp)
def unblocked_call(op: CustomCallOp) -> Sequence[Operation]:
    """
    Before: `%q, %tau = custom_call @lapack_sgeqrf_ffi(%a)`
    After:  `%q, %tau = custom_call @xhlo.unblocked(%a) {.. routine = "lapack_sgeqrf_ffi"}`
    Other calls stay.
    """
    return _custom_call(op, UNBLOCKED)


def _custom_call(op: CustomCallOp, target: str, in_parts: bool = False) -> Sequence[Operation]:
    """The call becomes one of `target`; vectors that nothing uses are not computed. `in_parts`: by several threads."""
    name = op.call_target_name.data
    if name == "Eigh":
        return _eigh(op)
    if not has_plan(name):
        return ()
    changed = without_vectors(op)
    stated: dict[str, Attribute] = {}
    for place in CONFIGURATIONS:
        entries = op.properties.get(place) or op.attributes.get(place)
        if isinstance(entries, DictionaryAttr):
            stated.update(entries.data)
    stated |= {**changed, ROUTINE: StringAttr(name)}
    types: list[Attribute] = list(op.result_types)
    if target == LINKED:
        called = describe_call(op)
        letters = {key: value.value.data for key, value in changed.items()}
        plan = plan_of(replace(called, attributes={**called.attributes, **letters}))
        parts = parts_of_plan(plan) if in_parts else 1
        if parts > 1:
            stated[PARTS] = IntegerAttr(parts, i64)
        types.append(make_tensor((parts * plan.nbytes,), IntegerType(8, Signedness.UNSIGNED)))
    call = native_call(op, target, list(op.operands), types, stated)
    replace_op(op, [call], list(call.results)[: len(op.results)])
    return [call]


def _eigh(op: CustomCallOp) -> Sequence[Operation]:
    """XLA's `Eigh` becomes LAPACK's syevd or heevd."""
    matrix = op.operands[0]
    letter = _letter(matrix)
    name = f"lapack_{letter}{'he' if letter in 'cz' else 'sy'}evd_ffi"
    stated = characters(mode="V", uplo="L" if describe_call(op).backend_config.startswith("1") else "U")
    info = make_tensor(shape_of(matrix)[:-2], i32)
    call = native_call(op, name, [matrix], [*op.result_types, info], stated)
    replace_op(op, [call], list(call.results)[:2])
    return [call]


@direct_decompositions.on(CholeskyOp)
@linked_decompositions.on(CholeskyOp)
@unblocked_decompositions.on(CholeskyOp)
def _cholesky(op: CholeskyOp) -> Sequence[Operation]:
    """
    Before: `cholesky %a, lower`
    After:  `custom_call @lapack_spotrf_ffi(%a)`, zeros in the other triangle, NaN in matrices that are not
            positive-definite, and in those where LAPACK finds no NaN
    """
    if _is_short(op.a):
        return _widened(op, op.a)
    builder = Builder.before(op)
    shape = shape_of(op.a)
    info_type = make_tensor(shape[:-2], i32)
    stated = characters(uplo="L" if op.is_lower else "U")
    call = native_call(op, f"lapack_{_letter(op.a)}potrf_ffi", [op.a], [op.a.type, info_type], stated)
    builder.insert(call)
    factor, info = builder.tensors(call.results)
    n, batch = shape[-1], range(len(shape) - 2)
    triangle = np.tril(np.ones((n, n), np.bool_))
    kept = builder.constant(triangle if op.is_lower else triangle.T.copy()).broadcast(
        shape, (len(shape) - 2, len(shape) - 1)
    )
    zero = builder.splat(0.0, factor.type)
    masked = kept.select(factor, zero)
    # A NaN reaches the last element of the diagonal.
    last = factor.slice([0] * len(batch) + [n - 1, n - 1], list(shape)).reshape(shape[:-2]) if n else None
    good = info.equals(0) if last is None else info.equals(0) & last.equals(last)
    none = builder.splat(math.nan, factor.type)
    return builder.replace(op, good.broadcast(shape, batch).select(masked, none))


@linked_decompositions.on(TriangularSolveOp)
@unblocked_decompositions.on(TriangularSolveOp)
def _triangular_solve(op: TriangularSolveOp) -> Sequence[Operation]:
    """Shorter floats are solved in f32, as the JIT does; others by the decomposition into a call."""
    return _widened(op, *op.operands) if _is_short(op.operands[0]) else ()


def _is_short(value: SSAValue) -> bool:
    """Whether LAPACK has no routines for floats as short as a tensor's."""
    dtype = numpy_dtype(element_of(value))
    return dtype is not None and dtype.str[1:] not in _LETTERS


def _widened(op: Operation, *operands: SSAValue) -> Sequence[Operation]:
    """The operation on operands converted to f32, and its result converted back."""
    builder = Builder.before(op)
    wide = [each.convert(f32) for each in builder.tensors(operands)]
    new = type(op).create(
        operands=[each.value for each in wide],
        result_types=[wide[-1].type],
        properties=op.properties,
        attributes=op.attributes,
        location=op.location,
    )
    builder.insert(new)
    (result,) = builder.tensors(new.results)
    return builder.replace(op, result.convert(element_of(op.results[0])))
