"""
Facts about a compiled program, besides its code: the arrays it takes, its kernels, checks, host calls and memory.

They contain no addresses, Python functions or IR, so that executables can be serialized (see fields.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    LocationAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.dialects.func import FuncOp

from ...dialects.cpu import HostCallOp
from ...dialects.support.kernel import ARENA_SIZE, CHECKS, HOST_CALLS, PROGRAM, RESULT_COUNT, is_kernel
from ...hlo_dialect.custom_calls.call import CustomCall, call_of
from ...hlo_dialect.custom_calls.registry import REGISTRY, CustomCallTarget
from ...hlo_dialect.diagnostics import Diagnostic, DiagnosticError
from ...hlo_dialect.types import ArrayType
from ...hlo_dialect.walking import operations_in
from .guard import GuardFacts

if TYPE_CHECKING:
    from xdsl.ir import Attribute


@dataclass
class Kernel:
    """Facts about one kernel of a program; `calls` and `nanoseconds` count in a program compiled to profile."""

    name: str
    kind: str
    ops: int
    """The number of its hlo operations."""
    bytes: int
    """Bytes of its operands and results, the minimum that one call moves."""
    flops: int
    """Floating-point operations of one call, an elementary function counted as one."""
    sites: int
    """The number of call sites in the program."""
    target: str = ""
    """The custom call target of a kernel of kind "library" or "callback"."""
    library: str = ""
    """The library of a kernel of kind "library"."""
    calls: int = 0
    nanoseconds: int = 0


@dataclass(frozen=True)
class Check:
    """A check in the program: it compares two of the extra results after the program's own."""

    kind: str
    results: tuple[int, ...]
    attributes: Mapping[str, Attribute]
    location: LocationAttr | None


@dataclass(frozen=True)
class HostCall:
    """A call of a function of the host program, as `cpu.host_call` states it."""

    symbol: str
    """The symbol that the machine code calls."""
    target: str
    call: DictionaryAttr
    operands: ArrayAttr[Attribute]
    results: ArrayAttr[Attribute]
    location: LocationAttr

    def resolve(self) -> tuple[CustomCallTarget, CustomCall]:
        """The function and its arguments. Raises DiagnosticError if it is not registered in this process."""
        target = REGISTRY.find(self.target)
        if target is None:
            message = f"the program calls the target '{self.target}', which is not registered"
            raise DiagnosticError(Diagnostic("error", message, self.location))
        return target, call_of(self.target, self.call.data, self.operands.data, self.results.data, self.location)


@dataclass
class Facts:
    """All facts about a program; `Lowering` fills them in."""

    inputs: tuple[ArrayType, ...] = ()
    outputs: tuple[ArrayType, ...] = ()
    """The results of the entry, then the operands of the checks."""
    result_count: int = 0
    """The number of outputs that the program returns; later ones belong to its checks."""
    checks: tuple[Check, ...] = ()
    kernels: list[Kernel] = field(default_factory=list[Kernel])
    host_calls: tuple[HostCall, ...] = ()
    arena_bytes: int = 0
    """Bytes of one run's intermediate buffers."""
    loops: bool = False
    """Whether the host program repeats kernels, so that their sum is no estimate of the time."""
    profiled: bool = False
    guard: GuardFacts | None = None
    """Present in guard mode."""
    stages: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds of compile time by stage, in order."""
    name: str = ""
    """The program's name: its module's, else that of the entry."""
    names: tuple[str, ...] = ()
    """The arguments' names, empty for those without; none at all if the program does not have them."""


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
        found = [op.description for op in operations_in(module) if isinstance(op, HostCallOp)]
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
        if isinstance(value, StringAttr):
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
    return any(
        isinstance(op, (scf.ForOp, scf.WhileOp))
        for function in module.body.block.ops
        if isinstance(function, FuncOp) and not is_kernel(function)
        for op in operations_in(function)
    )


def arena_bytes(module: ModuleOp) -> int:
    """The bytes of one run's arena, from plan-buffers."""
    size = module.attributes.get(ARENA_SIZE)
    return size.value.data if isinstance(size, IntegerAttr) else 0
