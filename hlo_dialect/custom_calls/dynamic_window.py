"""
`stablehlo.dynamic_reduce_window`, which jax.export writes for windows of symbolic sizes: cumulative sums and the like.

Operands: N inputs and N initial values, then window dimensions, strides, dilations of inputs and of windows, and
padding (rank x 2). The called computation is the body of the `reduce_window` that the call becomes.
Source: openxla/stablehlo, stablehlo/dialect/ExperimentalOps.h.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue

from ..attributes import int_array
from ..diagnostics import fail
from ..op import replace_op
from ..ops.creation import constant_of
from ..ops.window import ReduceWindowOp
from ..shapes import types_agree
from ..types import Array, dense_constant, element_of, make_tensor
from .call import CustomCall
from .called_computations import called_region
from .registry import CustomCallTarget

NAME = "stablehlo.dynamic_reduce_window"
LISTS = 5
"""The number of operands that describe the window."""


def reduce_window_of(
    op: Operation, lists: Sequence[Array | None], operands: Sequence[SSAValue] | None = None
) -> ReduceWindowOp | None:
    """
    The reduce_window that a call stands for, with the window that the last five operands have; None while they are not
    known. `operands` are other values for the inputs and initial values, whose shapes are known.

    Raises DiagnosticError for a call of another form, and VerifyException for a window that does not fit.
    """
    arrays = op.operands[:-LISTS] if operands is None else operands
    if len(op.operands) < LISTS + 2 or len(arrays) % 2:
        fail(op, f"calls '{NAME}', which takes inputs, as many initial values, and {LISTS} lists of sizes")
    known = [one for one in lists if one is not None]
    if len(known) < LISTS:
        return None
    window, strides, base, dilations, padding = known
    scalars = [make_tensor((), element_of(value)) for value in arrays[: len(arrays) // 2]]
    region = called_region(op, NAME, [*scalars, *scalars], "combine two of each input")
    return ReduceWindowOp.infer(
        arrays,
        {
            "window_dimensions": int_array(tuple(map(int, window))),
            "window_strides": int_array(tuple(map(int, strides))),
            "base_dilations": int_array(tuple(map(int, base))),
            "window_dilations": int_array(tuple(map(int, dilations))),
            "padding": dense_constant(np.asarray(padding, np.int64), make_tensor(padding.shape, i64)),
        },
        [region],
        op.location,
    )


def made_static(op: Operation) -> ReduceWindowOp | None:
    """Replace a call whose window is constant. Raises DiagnosticError if its results have other types."""
    new = reduce_window_of(op, [constant_of(value) for value in op.operands[-LISTS:]])
    if new is None:
        return None
    for ours, stated in zip(new.result_types, op.result_types, strict=True):
        if not types_agree(ours, stated):
            fail(op, f"has a result of type {stated}, but the window gives {ours}")
    replace_op(op, [new], new.results)
    return new


def _decompose(op: Operation) -> Sequence[Operation]:
    new = made_static(op)
    if new is None:
        fail(op, f"calls '{NAME}' with a window that is not known at compile time")
    return [new]


def _refuse(call: CustomCall, *_: Array) -> Array:
    raise NotImplementedError(f"{call.target} is run as reduce_window")


TARGETS = (CustomCallTarget(NAME, _refuse, None, _decompose),)
