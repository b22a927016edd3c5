"""
JAX's approx_max_k and approx_min_k, `ApproxTopK`: exact here, which the operation allows.

Operands are the values and their companions (indices), then an initial value for each; the results are their
first elements along `reduction_dim`, as the called computation orders them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import Operation, Region

from ..attributes import int_attr
from ..expressions.tensor import Builder
from ..ops.sort import SortOp
from ..types import Array, shape_of
from .call import CustomCall, describe_call
from .called_computations import called_region
from .mhlo import sort_keys
from .registry import CustomCallTarget

NAME = "ApproxTopK"


def _top_k(call: CustomCall, values: Array, indices: Array, initial: Array, _: Array) -> tuple[Array, Array]:
    """For a comparator `>` or `<` of the values, which the initial value tells apart: -inf or +inf."""
    dimension = int(call.attributes["reduction_dim"])
    keys = sort_keys(values)
    order = np.argsort(~keys if initial < 0 else keys, axis=dimension, kind="stable")
    order = np.take(order, np.arange(call.results[0].shape[dimension]), axis=dimension)
    return np.take_along_axis(values, order, axis=dimension), np.take_along_axis(indices, order, axis=dimension)


def _check(call: CustomCall) -> str | None:
    if len(call.operands) != 4 or len(call.results) != 2:
        return "it takes values, indices and an initial value of each, and gives values and indices"
    values, dimension = call.operands[0], call.attributes.get("reduction_dim")
    if not isinstance(dimension, int) or not 0 <= dimension < len(values.shape):
        return f"attribute reduction_dim is {dimension!r}, expected a dimension of {values.text}"
    for given, initial, result in zip(call.operands[:2], call.operands[2:], call.results, strict=True):
        count = result.shape[dimension] if len(result.shape) == len(given.shape) else -1
        shape = (*given.shape[:dimension], count, *given.shape[dimension + 1 :])
        if given.shape != values.shape or result.shape != shape or not 0 <= count <= given.shape[dimension]:
            return f"the result {result.text} is not the first part of {given.text} along dimension {dimension}"
        if initial.shape != () or not given.dtype == initial.dtype == result.dtype:
            return f"{given.text} comes with the initial value {initial.text} and the result {result.text}"
    return None


def _decompose(op: Operation) -> Sequence[Operation]:
    """A stable sort with the called computation, and its first elements."""
    dimension = int(describe_call(op).attributes["reduction_dim"])
    operands, builder = op.operands[:2], Builder(location=op.location)
    sort = SortOp.create(
        operands=operands,
        result_types=[value.type for value in operands],
        properties={"dimension": int_attr(dimension), "is_stable": BoolAttr.from_bool(True)},
        regions=[_comparator(op)],
    )
    builder.insert(sort)
    pairs = zip(builder.tensors(sort.results), op.results, strict=True)
    return builder.replace(op, *(x.first(shape_of(result)) for x, result in pairs))


def _comparator(op: Operation) -> Region:
    """A copy of the called computation's body."""
    wanted = [value.type for value in op.operands[2:] for _ in range(2)]
    return called_region(op, NAME, wanted, "compare two of each value")


TARGETS = (CustomCallTarget(NAME, _top_k, _check, _decompose),)
