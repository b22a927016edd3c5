"""
The attributes that passes leave for later passes and for targets: of kernels, their operations, other functions, the
module.

A kernel is a function that outline-kernels makes of a fusion; `Kernel` reads what it says of itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Operation

_KIND, _ROWS, _TIED = "hlo.kernel", "hlo.row_dims", "hlo.tied"

# Of linalg operations and loops.
CONTRACTION = "xhlo.contraction"
"""A generic that multiplies and adds."""
LOOP_SIZES = "xhlo.loop_sizes"
"""The sizes of a generic's loops, where its operands do not tell them."""
PARALLEL = "xhlo.parallel"
"""An innermost loop whose iterations do not depend on each other through memory."""
VECTORIZE = "xhlo.vectorize"

# Of functions, their arguments and results.
COMPLEX = "xhlo.complex"
"""An argument or result whose last dimension, of two, makes a complex number."""
COMPLEX_OPERANDS, COMPLEX_RESULTS = "xhlo.complex_operands", "xhlo.complex_results"
"""Of a custom call: which operands and results were complex, arrays of booleans."""
INLINE = "xhlo.inline"
PARALLEL_BODY = "xhlo.parallel_body"

# Of the module.
ARENA_SIZE = "xhlo.arena_size"
"""Bytes of the entry's arena (plan-buffers)."""
CHECKS, RESULT_COUNT = "xhlo.checks", "xhlo.result_count"
"""The program's checks, and how many results are not theirs (extract-checks)."""


def is_kernel(op: Operation) -> TypeGuard[func.FuncOp]:
    """Whether an operation is the function of a kernel."""
    return isinstance(op, func.FuncOp) and _KIND in op.attributes


def kernels_of(module: ModuleOp) -> Iterator[func.FuncOp]:
    """The kernels of a module in order."""
    return (op for op in module.body.block.ops if is_kernel(op))


class Kernel:
    """What a kernel's function says of itself."""

    def __init__(self, function: func.FuncOp):
        self.attributes = function.attributes

    @staticmethod
    def mark(function: func.FuncOp, kind: StringAttr, rows: int, tied: Sequence[int]) -> None:
        """Make a function a kernel; for `kind`, `rows` and `tied` see the properties."""
        function.attributes[_KIND] = kind
        if rows:
            function.attributes[_ROWS] = IntegerAttr(rows, i64)
        if tied:
            function.attributes[_TIED] = DenseArrayBase.from_list(i64, tied)

    @property
    def kind(self) -> str:
        """The kind of its fusion: loop, reduce, row, dot, ..; empty for a function that is no kernel."""
        kind = self.attributes.get(_KIND)
        return kind.data if isinstance(kind, StringAttr) else ""

    @property
    def rows(self) -> int:
        """The leading dimensions that all operations of a row kernel share; 0 for other kinds."""
        rows = self.attributes.get(_ROWS)
        return cast("IntegerAttr[Any]", rows).value.data if isinstance(rows, IntegerAttr) else 0

    @property
    def tied(self) -> Sequence[int]:
        """The arguments that results 0, 1, .. update in place."""
        tied = self.attributes.get(_TIED)
        return cast("DenseArrayBase[Any]", tied).get_values() if isinstance(tied, DenseArrayBase) else ()


def loop_sizes(op: Operation) -> tuple[int, ...] | None:
    """The stated sizes of a generic's loops; None where its operands tell them."""
    stated = op.attributes.get(LOOP_SIZES)
    return tuple(cast("DenseArrayBase[Any]", stated).get_values()) if isinstance(stated, DenseArrayBase) else None
