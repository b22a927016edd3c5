"""The arguments that host functions give to kernels."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ...dialects.support.kernel import host_functions
from ...hlo_dialect.walking import operations_in


def arguments_of(kernels: Collection[str], module: ModuleOp) -> dict[str, list[Sequence[SSAValue]]]:
    """The arguments of each call of the `kernels`, by their names."""
    calls: dict[str, list[Sequence[SSAValue]]] = {}
    if not kernels:
        return calls
    for function in host_functions(module):
        for op in operations_in(function):
            if isinstance(op, func.CallOp) and (name := op.callee.root_reference.data) in kernels:
                calls.setdefault(name, []).append(op.arguments)
    return calls
