"""
A compiled program as data: the machine code, and all that running it takes besides.

Compiling makes an image, loading makes an executable of it; between the two it can be kept as bytes (see
serialization.py). So nothing in it is an address, a Python function or an object of the compiler's IR that cannot be
written down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, LocationAttr, ModuleOp, StringAttr

from ...dialects.build.kernel import ARENA_SIZE, CHECKS, RESULT_COUNT
from ...dialects.cpu import HostCallOp
from ...hlo_dialect.types import ArrayType
from ...hlo_dialect.walking import operations_in
from ..executable import Kernel

if TYPE_CHECKING:
    from xdsl.ir import Attribute

CONSTANT_ALIGNMENT = 64
"""Bytes: what the code takes the alignment of a constant to be, at most."""


@dataclass(frozen=True)
class Check:
    """A check of the program's: it compares two of the results after those that the program returns."""

    kind: str
    results: tuple[int, ...]
    attributes: Mapping[str, Attribute]
    location: LocationAttr | None


@dataclass(frozen=True)
class HostCall:
    """A call of a function of the host program: what `cpu.host_call` states of it."""

    symbol: str
    """The name that the machine code calls."""
    target: str
    call: DictionaryAttr
    operands: ArrayAttr[Attribute]
    results: ArrayAttr[Attribute]
    location: LocationAttr


@dataclass
class Image:
    """All of a compiled program; `targets.cpu.loading.load_image` makes an executable of it."""

    code: tuple[bytes, ...]
    """Relocatable object files; the first has `void xhlo_entry(void **buffers)`."""
    data: Mapping[str, bytes | memoryview]
    """Large constants by the names that the code knows them by."""
    inputs: tuple[ArrayType, ...]
    outputs: tuple[ArrayType, ...]
    """Results of the entry, then the operands of the checks."""
    result_count: int
    arena_bytes: int
    kernels: list[Kernel]
    checks: tuple[Check, ...] = ()
    host_calls: tuple[HostCall, ...] = ()
    profiled: bool = False
    stages: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds of compile time by stage, in order."""


def checks_of(module: ModuleOp) -> tuple[Check, ...]:
    """What tests the extra results that extract-checks made of the program's checks."""
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
    """The calls of host functions in a module after convert-linalg-ext-to-scf."""
    return tuple(
        HostCall(
            op.callee.root_reference.data,
            op.target.data,
            op.call,
            op.operands_as,
            op.results_as,
            op.location,
        )
        for op in operations_in(module)
        if isinstance(op, HostCallOp)
    )


def result_count(module: ModuleOp, outputs: int) -> int:
    """The results that the program itself returns; those after them belong to its checks."""
    count = module.attributes.get(RESULT_COUNT)
    return count.value.data if isinstance(count, IntegerAttr) else outputs


def arena_bytes(module: ModuleOp) -> int:
    """What plan-buffers found that one run needs of memory."""
    size = module.attributes.get(ARENA_SIZE)
    return size.value.data if isinstance(size, IntegerAttr) else 0
