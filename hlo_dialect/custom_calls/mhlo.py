"""
Operations that StableHLO lacks and exporters write as custom calls of MHLO's names: `mhlo.erf`, `mhlo.asin`, ..

Each is replaced by the chlo operation of that name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Operation

from ..attributes import int_attr
from ..diagnostics import fail
from ..op import HloOp, replace_op
from ..types import Array, is_float, make_tensor, tensor_type
from .call import CustomCall, describe_call
from .registry import CustomCallTarget

if TYPE_CHECKING:
    from ..expressions.tensor import Tensor

_FUNCTIONS = ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "erf", "sinh", "tan")
_MOST = 1 << 31


def _chlo(name: str) -> type[Operation] | None:
    """The class of a chlo operation."""
    from ..dialect import make_context

    return make_context().get_optional_op(name)


def _elementwise(name: str) -> CustomCallTarget:
    """`mhlo.<name>`: `chlo.<name>` of one operand."""
    chlo_name = f"chlo.{name}"

    def function(call: CustomCall, x: Array) -> Any:
        op_type = _chlo(chlo_name)
        assert op_type is not None and issubclass(op_type, HloOp)
        block = Block(arg_types=call.operand_types)
        return op_type.create(operands=block.args, result_types=call.result_types).reference(x)

    def decomposition(op: Operation) -> Sequence[Operation]:
        op_type = _chlo(chlo_name)
        if op_type is None:
            fail(op, f"stands for '{chlo_name}', which this version does not have")
        new = op_type.create(operands=list(op.operands), result_types=list(op.result_types), location=op.location)
        replace_op(op, [new], list(new.results))
        return [new]

    return CustomCallTarget(f"mhlo.{name}", function, _check_elementwise, decomposition)


def _check_elementwise(call: CustomCall) -> str | None:
    if len(call.operands) != 1 or call.results != call.operands or call.operands[0].dtype.kind not in "fcV":
        return "it takes floats or complex numbers and gives as many"
    return None


def sort_keys(values: Array) -> Array:
    """Integers in the order of the values: NaN of either sign above and below all, zeros by their sign."""
    if values.dtype.kind in "iub":
        return values.astype(np.uint64) if values.dtype.kind == "u" else values.astype(np.int64)
    wide = values if values.dtype.itemsize == 8 else values.astype(np.float32)
    signed: Any = np.dtype(f"i{wide.dtype.itemsize}")
    bits = np.ascontiguousarray(wide).view(signed)
    return np.where(bits < 0, bits ^ np.iinfo(signed).max, bits)


def _top_k(call: CustomCall, x: Array) -> tuple[Array, Array]:
    """The k largest (or smallest) elements of the last dimension in order, and their indices; ties take the first."""
    keys = sort_keys(x)
    if call.attributes.get("largest", True):
        keys = ~keys
    order = np.argsort(keys, axis=-1, kind="stable")[..., : call.results[0].shape[-1]]
    return np.take_along_axis(x, order, axis=-1), order.astype(call.results[1].dtype)


def _check_top_k(call: CustomCall) -> str | None:
    k = call.attributes.get("k")
    if len(call.operands) != 1 or len(call.results) != 2 or not call.operands[0].shape:
        return "it takes an array and gives values and indices"
    x, (values, indices) = call.operands[0], call.results
    if not isinstance(k, int) or not 0 <= k <= x.shape[-1]:
        return f"attribute k is {k!r}, expected a number of at most {x.shape[-1]}"
    shape = (*x.shape[:-1], k)
    if x.dtype.kind == "c" or values.dtype != x.dtype or values.shape != shape or indices.shape != shape:
        return f"the results are {values.text} and {indices.text}, expected shape {list(shape)}"
    if indices.dtype.kind not in "iu" or math.prod(shape) >= _MOST:
        return f"the indices are {indices.text}, expected integers"
    return None


def _decomposed_top_k(op: Operation) -> Sequence[Operation]:
    """
    The chlo operation, whose indices are i32. The smallest elements are the largest of the values with another sign, or
    of the complements of integers: that turns the order round, NaN and the signs of zeros included.
    """
    from ..chlo.structural import TopKOp
    from ..expressions.tensor import Builder

    call = describe_call(op)
    types = [tensor_type(result) for result in op.results]
    builder = Builder.before(op)
    (x,) = builder.tensors(op.operands)
    smallest = not call.attributes.get("largest", True)
    if smallest and call.operands[0].dtype.name == "float8_e8m0fnu":
        return []  # it has no signs

    def turned(values: Tensor) -> Tensor:
        return values if not smallest else -values if is_float(values.element) else ~values

    found = TopKOp.create(
        operands=[turned(x).value],
        result_types=[types[0], make_tensor(call.results[1].shape, i32)],
        properties={"k": int_attr(int(call.attributes["k"]))},
    )
    builder.insert(found)
    values, indices = builder.tensors(found.results)
    return builder.replace(op, turned(values), indices.convert(types[1].element_type))


TARGETS = (
    *map(_elementwise, _FUNCTIONS),
    CustomCallTarget("mhlo.topk", _top_k, _check_top_k, _decomposed_top_k, library="NumPy", borrows=True),
)
