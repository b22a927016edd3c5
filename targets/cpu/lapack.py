"""LAPACK in this process, for machine code that calls it by itself (targets/llvm_text/lapack.py)."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...hlo_dialect.custom_calls.lapack_library import (
    LapackMissing,
    address_of_routine,
    address_of_set_threads,
)
from ...hlo_dialect.custom_calls.lapack_plans import plan_of
from ...hlo_dialect.custom_calls.linked_lapack import called
from ...hlo_dialect.errors import Diagnostic, DiagnosticError
from ...lowering.convert_to_llvm.cpu import PARALLEL_FOR
from ..llvm_text.lapack import Naming, lapack_text

if TYPE_CHECKING:
    from ..program.facts import HostCall

_BEFORE = "xhlo_lapack_"
_SET_THREADS = f"{_BEFORE}set_threads"


def text_of_calls(calls: Sequence[HostCall]) -> tuple[str, Mapping[str, str]]:
    """
    LLVM IR of the functions by which a program makes these calls of LAPACK, and by symbol of those with loops that
    programs share: the rest starts others, and is not worth optimizing.
    """
    naming = Naming(_BEFORE, "", _SET_THREADS, PARALLEL_FOR, loops_apart=True)
    return lapack_text(calls, 8 * ctypes.sizeof(ctypes.c_void_p), naming)


def addresses_for(calls: Sequence[HostCall]) -> dict[str, int]:
    """The addresses of all that the functions of `text_of_calls` name. Raises DiagnosticError without LAPACK."""
    found: dict[str, int] = {}
    for call in calls:
        name = plan_of(called(call.resolve()[1])).routine
        try:
            found[f"{_BEFORE}{name}"] = address_of_routine(name)
            found[_SET_THREADS] = address_of_set_threads()
        except LapackMissing as error:
            raise DiagnosticError(Diagnostic("error", str(error), call.location)) from error
    return found
