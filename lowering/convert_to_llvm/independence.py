"""The functions outlined of kernels whose buffers do not alias, as far as those that start them tell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ArrayAttr, IntAttr, MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ...dialects.cpu import HostCallOp, ParallelForOp
from ...dialects.llvm_loops import ACCESS_GROUPS, AccessGroupAttr
from ...dialects.support.classes import one_of
from ...dialects.support.kernel import PART, Kernel, is_kernel
from ...dialects.support.views import root_buffer
from ...hlo_dialect.walking import operations_in
from .builder import NO_PROPERTIES

_uses_functions = one_of(ParallelForOp, func.CallOp, HostCallOp)


def uses_in(functions: Iterable[func.FuncOp]) -> dict[func.FuncOp, list[Operation]]:
    """The operations of each function that start parallel bodies, and those that call functions."""
    return {function: list(filter(_uses_functions, operations_in(function))) for function in functions}


def independent_bodies(uses: Mapping[func.FuncOp, Sequence[Operation]]) -> dict[str, set[int]]:
    """
    The parallel bodies and parts of kernels whose memref parameters alias only as those of their kernel may: wherever
    one is started, the captured memrefs are views of different buffers, each a kernel parameter or a stack slot. With
    each the parameters that may share a buffer, as `Kernel.shared` says.

    `uses`: all functions, with their `uses_in`.
    """
    defined = [function for function in uses if function.body.blocks]
    parts = {function.sym_name.data for function in defined if PART in function.attributes}
    shared = {function.sym_name.data: set(Kernel(function).shared) for function in defined if is_kernel(function)}
    bodies = _independent(uses, shared, _started)
    return bodies | _independent(uses, shared | bodies, lambda op: _called(op, parts))


def _started(op: Operation) -> tuple[str, Sequence[SSAValue]] | None:
    """The body that an operation starts, and what it passes."""
    return (op.callee.root_reference.data, op.captures) if type(op) is ParallelForOp else None


def _called(op: Operation, parts: Collection[str]) -> tuple[str, Sequence[SSAValue]] | None:
    """The part of a kernel that an operation calls, and what it passes."""
    if type(op) is func.CallOp and op.callee.string_value() in parts:
        return op.callee.string_value(), op.arguments
    return None


def _independent(
    uses: Mapping[func.FuncOp, Sequence[Operation]],
    known: Mapping[str, Collection[int]],
    use: Callable[[Operation], tuple[str, Sequence[SSAValue]] | None],
) -> dict[str, set[int]]:
    """
    The functions that `use` finds whose parameters are independent, with those that may share a buffer; `known`: the
    same of the functions that use them.
    """
    found: dict[str, set[int]] = {}
    dependent: set[str] = set()
    for function, ops in uses.items():
        own = known.get(function.sym_name.data)
        shared = {function.body.blocks[0].args[number] for number in own or ()} if ops else set[SSAValue]()
        for op in ops:
            used = use(op)
            if used is not None:
                name, values = used
                if not _differ(values, function, own is not None):
                    dependent.add(name)
                found.setdefault(name, set()).update(
                    i for i, value in enumerate(values) if root_buffer(value) in shared
                )
    return {name: shared for name, shared in found.items() if name not in dependent}


def _differ(values: Sequence[SSAValue], function: func.FuncOp, has_own_parameters: bool) -> bool:
    roots: list[SSAValue] = [root_buffer(value) for value in values if isinstance(value.type, MemRefType)]
    for root in roots:
        parameter = isinstance(root, BlockArgument) and root.owner is function.body.first_block
        if not (parameter and has_own_parameters) and type(root.owner) is not memref.AllocaOp:
            return False
    return len(set(roots)) == len(roots)


@lru_cache(maxsize=256)
def access_group_attributes(groups: tuple[int, ...]) -> Mapping[str, Attribute]:
    """The attribute of an access in these parallel loops."""
    if not groups:
        return NO_PROPERTIES
    return {ACCESS_GROUPS: ArrayAttr([AccessGroupAttr(IntAttr(group)) for group in groups])}
