"""
Facts about a compiled program, besides its code: the arrays it takes, its kernels, checks, host calls and memory.

They contain no addresses, Python functions or IR, so that executables can be serialized (see fields.py). Nothing here
loads IR either: what runs a program that was compiled before need not (module_facts.py reads facts from IR).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...dialects.support.shared_names import LINKED
from ...hlo_dialect.arrays import ArrayType
from ...hlo_dialect.errors import Diagnostic, DiagnosticError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, LocationAttr
    from xdsl.ir import Attribute

    from ...hlo_dialect.custom_calls.call import CustomCall
    from ...hlo_dialect.custom_calls.registry import CustomCallTarget
    from .guard import GuardFacts


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

    @property
    def is_of_lapack(self) -> bool:
        """Whether compiled code makes the call by itself: the function at `symbol` calls LAPACK."""
        return self.target == LINKED

    def resolve(self) -> tuple[CustomCallTarget, CustomCall]:
        """The function and its arguments. Raises DiagnosticError if it is not registered in this process."""
        from ...hlo_dialect.custom_calls.call import call_of
        from ...hlo_dialect.custom_calls.registry import REGISTRY

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
    safepoints: bool = False
    """Whether a loop of the host program asks whether the run goes on: it may be one without end."""
    branches: bool = False
    """Whether the host program chooses between kernels, so that no run tells how long others take."""
    donated: tuple[int, ...] = ()
    """
    For each argument the number of the result that is in its memory; OVERWRITTEN or UNTOUCHED without one
    (dialects/support/shared_names.py). Empty if all are untouched.
    """
    profiled: bool = False
    guard: GuardFacts | None = None
    """Present in guard mode."""
    stages: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds of compile time by stage, in order."""
    name: str = ""
    """The program's name: its module's, else that of the entry."""
    names: tuple[str, ...] = ()
    """The arguments' names, empty for those without; none at all if the program does not have them."""
    result_names: tuple[str, ...] = ()
    """The same for results, for interfaces made ahead of time; not kept with executables."""
