"""Decompose hlo operations that are defined in terms of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...hlo_dialect.custom_calls.operations import CustomCallOp
from ...hlo_dialect.diagnostics import fail
from ...hlo_dialect.expressions.tensor import Decomposition
from ...hlo_dialect.hlo_pass import HloPass
from ...hlo_dialect.rules import Rules
from ...hlo_dialect.shapes import has_known_shape
from ...hlo_dialect.walking import operations_in

decompositions = Rules[Decomposition]("decompose-hlo", __package__, "xhlo.decompositions")
short_float_decompositions = Rules[Decomposition]("decompose-hlo{short-floats=true}", __package__)
"""The decomposition for targets that multiply f16 and bf16 directly."""
bfloat_dot_decompositions = Rules[Decomposition]("decompose-hlo{bfloat-dots=true}", __package__)
any_size_decompositions = Rules[Decomposition]("decompose-hlo{any-size=true}", __package__)
"""Those of `native_decompositions` that depend on sizes, for any."""
linked_decompositions = Rules[Decomposition]("decompose-hlo{workspaces=true}", __package__)
"""Calls of LAPACK with a workspace, for targets whose code calls it without a runtime."""
direct_decompositions = Rules[Decomposition]("decompose-hlo{direct-calls=true}", __package__)
"""The same for calls of one matrix, and of small batches."""
unblocked_decompositions = Rules[Decomposition]("decompose-hlo{any-size=true}: LAPACK", __package__)
"""Rules that turn LAPACK's remaining calls into calls of loops, for programs without LAPACK."""
native_decompositions = Rules[Decomposition]("decompose-hlo{native-calls=true}", __package__)
"""
Operations as calls of targets that convert-hlo-to-linalg lowers to loops, where they can be; else the operation stays,
and its decomposition comes next.
"""


@dataclass(frozen=True)
class DecomposeHloPass(HloPass):
    """
    Replace composed operations (batch_norm, fft, rng, ..) by simpler hlo.

    Before: `%0 = hlo.dot %a, %b : ..`     After: `%0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : ..`
    Assumes: no chlo. The new operations are decomposed as well.
    Leaves: no operation that has a decomposition, unless the decomposition keeps it unchanged.

    short-floats=true keeps f16/bf16 convolutions, for targets that multiply these types directly;
    bfloat-dots=true those of bf16 whose features are multiplied in pairs.
    native-calls=true makes calls of fft, of sorts whose first elements are used, of sums that are the places of a
    mask's true elements, and of factorizations of small matrices, for targets with loops for these; with any-size=true
    of all matrices, and of LAPACK's other routines, for programs without LAPACK.
    workspaces=true gives calls of LAPACK a result more, the memory that the routine needs; direct-calls=true does so
    with memory for each of the parts of a batch that threads take, for targets with a runtime that has threads.
    """

    name = "decompose-hlo"

    short_floats: bool = False
    bfloat_dots: bool = False
    native_calls: bool = False
    any_size: bool = False
    workspaces: bool = False
    direct_calls: bool = False

    def run(self, ctx: Context, module: ModuleOp) -> None:
        def rule_of(op: Operation) -> Decomposition | None:
            short = short_float_decompositions.get(type(op)) if self.short_floats else None
            pairs = bfloat_dot_decompositions.get(type(op)) if self.bfloat_dots else None
            return short or pairs or decompositions.get(type(op))

        waiting = list(operations_in(module))
        waiting.reverse()  # in the order of the program, so that the first operation is the one that is refused
        while waiting:
            op = waiting.pop()
            if _is_call_of_ours(op):
                continue
            for rule in (*self._rules_of(type(op)), rule_of(op)):
                if rule is None or op.parent is None:
                    continue
                if not all(map(has_known_shape, (*op.operand_types, *op.result_types))):
                    fail(op, f"has values of unknown size: {self.name} needs static shapes")
                waiting += reversed([inner for new in rule(op) for inner in new.walk()])

    def _rules_of(self, op_type: type[Operation]) -> Sequence[Decomposition | None]:
        """The rules of a class that make calls, in their order."""
        native = native_decompositions.get(op_type) if self.native_calls else None
        if self.any_size:
            native = any_size_decompositions.get(op_type) or native
        linked = linked_decompositions.get(op_type) if self.workspaces else None
        if self.direct_calls:
            linked = direct_decompositions.get(op_type)
        return native, linked, unblocked_decompositions.get(op_type) if self.any_size else None


_OF_LAPACK = ("xhlo.cholesky", "xhlo.triangular_solve")
"""The targets of ours that LAPACK has, as `custom_calls/triangular.py` names them."""


def _is_call_of_ours(op: Operation) -> bool:
    """
    Whether an operation is a call of a target of ours, such as `xhlo.top_k`, that no rule replaces by another. The
    rules for calls are LAPACK's: a top-k would import forty modules for them.
    """
    if type(op) is not CustomCallOp:
        return False
    name = op.call_target_name.data
    return name.startswith("xhlo.") and name not in _OF_LAPACK
