"""The facts about a program (facts.py) as they are read from its module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.func import FuncOp

from ...dialects.cpu import SHARED, HostCallOp
from ...dialects.support.classes import one_of
from ...dialects.support.kernel import ARENA_SIZE, ASKS, CHECKS, DONATED, HOST_CALLS, PROGRAM, RESULT_COUNT, is_kernel
from ...hlo_dialect.walking import operations_in
from .facts import Check, HostCall, Kernel

if TYPE_CHECKING:
    from xdsl.ir import Attribute

_is_loop, _is_while = one_of(scf.ForOp, scf.WhileOp), one_of(scf.WhileOp)
_is_choice = one_of(scf.IfOp, scf.IndexSwitchOp)


def checks_of(module: ModuleOp) -> tuple[Check, ...]:
    """The checks on the extra results that extract-checks made from the program's checks."""
    found = module.attributes.get(CHECKS)
    if not isinstance(found, ArrayAttr):
        return ()
    return tuple(map(_check, cast("ArrayAttr[DictionaryAttr]", found).data))


def _check(entry: DictionaryAttr) -> Check:
    places = cast("ArrayAttr[IntegerAttr[Any]]", entry.data["results"]).data
    location = entry.data.get("location")
    return Check(
        kind=cast(StringAttr, entry.data["kind"]).data,
        results=tuple(value.value.data for value in places),
        attributes=dict(cast(DictionaryAttr, entry.data["attributes"]).data),
        location=location if isinstance(location, LocationAttr) else None,
    )


def host_calls_of(module: ModuleOp) -> tuple[HostCall, ...]:
    """The calls of host functions in a module after convert-linalg-ext-to-scf, also after convert-to-llvm."""
    stated = module.attributes.get(HOST_CALLS)
    if isinstance(stated, ArrayAttr):
        found = list(cast("ArrayAttr[DictionaryAttr]", stated))
    else:
        found = [op.description for op in operations_in(module) if type(op) is HostCallOp]
    return tuple(_host_call(entry.data) for entry in found)


def _host_call(stated: Mapping[str, Any]) -> HostCall:
    symbol, target = stated["callee"].root_reference.data, stated["target"].data
    return HostCall(symbol, target, stated["call"], stated["operands_as"], stated["results_as"], stated["location"])


def kernels_of(module: ModuleOp) -> list[Kernel]:
    """The kernels that the module's attribute xhlo.program describes, in order."""
    program = module.attributes.get(PROGRAM)
    stated = program.data.get("kernels") if isinstance(program, DictionaryAttr) else None
    entries = cast("ArrayAttr[DictionaryAttr]", stated) if isinstance(stated, ArrayAttr) else ()
    return [_kernel(entry.data) for entry in entries]


def _kernel(stated: Mapping[str, Attribute]) -> Kernel:
    facts: dict[str, Any] = {"name": cast(SymbolRefAttr, stated["name"]).root_reference.data}
    for name, value in stated.items():
        if type(value) is StringAttr:
            facts[name] = value.data
        elif isinstance(value, IntegerAttr):
            facts[name] = value.value.data
    return Kernel(**facts)


def result_count(module: ModuleOp, outputs: int) -> int:
    """The number of results that the program returns; later ones belong to its checks."""
    count = module.attributes.get(RESULT_COUNT)
    return count.value.data if isinstance(count, IntegerAttr) else outputs


def has_loops(module: ModuleOp) -> bool:
    """Whether a host function has a loop around calls of kernels."""
    return _calls_in(module, _is_loop)


def has_safepoints(module: ModuleOp) -> bool:
    """Whether a host function has a loop around calls of kernels, or a kernel has one, that asks to go on."""
    return _calls_in(module, _is_while) or any(ASKS in op.attributes for op in module.body.block.ops)


def has_branches(module: ModuleOp) -> bool:
    """Whether a host function chooses between calls of kernels."""
    return _calls_in(module, _is_choice)


def _calls_in(module: ModuleOp, around: Callable[[object], bool]) -> bool:
    return any(
        around(op)
        for function in module.body.block.ops
        if isinstance(function, FuncOp) and not is_kernel(function) and SHARED not in function.attributes
        for op in operations_in(function)
    )


def donated_arguments(module: ModuleOp) -> tuple[int, ...]:
    """The use of the arguments' memory, from bufferize; see `Facts.donated`."""
    stated = module.attributes.get(DONATED)
    return tuple(cast("DenseArrayBase[Any]", stated).get_values()) if isinstance(stated, DenseArrayBase) else ()


def arena_bytes(module: ModuleOp) -> int:
    """The bytes of one run's arena, from plan-buffers."""
    size = module.attributes.get(ARENA_SIZE)
    return size.value.data if isinstance(size, IntegerAttr) else 0
