"""
Functions of the host program that compiled code calls: the targets of custom calls.

Each call site of a program has its own C function, made by ctypes, that wraps its buffers in arrays and fills the
results. It runs on the program's thread. An exception cannot pass through compiled code: it is stored, the call's
results are NaN or zero, later calls of this run do nothing, and the exception is raised at the end of the run.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...hlo_dialect.arrays import Array, ArrayType
from ...hlo_dialect.custom_calls.registry import CustomCallTarget, run_target

if TYPE_CHECKING:
    from ...hlo_dialect.custom_calls.call import CustomCall
    from ..program.facts import HostCall
    from .jit import LoadedCode

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""`void callback(void **buffers)`"""


class _Runs(threading.local):
    """The programs that the thread is running, the innermost last, with the exceptions of each program's functions."""

    def __init__(self) -> None:
        self.failures: list[list[BaseException]] = []


_runs = _Runs()


class Callbacks:
    """The functions that one program calls; they live as long as this object."""

    def __init__(self, calls: Sequence[HostCall]):
        """Raises DiagnosticError for unknown targets, and where machine code calls LAPACK and there is none."""
        self._linked: dict[str, int] = {}
        if linked := [call for call in calls if call.is_of_lapack]:
            from .lapack import addresses_for

            self._linked = addresses_for(linked)
        calls = [call for call in calls if not call.is_of_lapack]
        if calls:
            from ...hlo_dialect.custom_calls.batched_calls import compile_loops_with

            compile_loops_with(_compiled_loop)
        self._functions: dict[str, Any] = {call.symbol: _CALLBACK(_entry(call)) for call in calls}

    def __bool__(self) -> bool:
        return bool(self._functions)

    @property
    def addresses(self) -> dict[str, int]:
        """The addresses of the C functions, and of LAPACK's routines, by the names that compiled code uses."""
        made = {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in self._functions.items()}
        return self._linked | made

    @contextmanager
    def run(self) -> Generator[None]:
        """The context of a run of the program: on exit it raises the exception of a function, if any."""
        failures: list[BaseException] = []
        _runs.failures.append(failures)
        try:
            yield
        finally:
            _runs.failures.pop()
        if failures:
            try:
                raise failures[0]
            finally:
                failures.clear()


def _entry(stated: HostCall) -> Callable[[int | None], None]:
    """The Python function for a call: it takes the address of the array of buffers, and never raises."""
    target, call = stated.resolve()
    count = len(call.operands) + len(call.results)
    pointers = ctypes.c_void_p * count
    split = len(call.operands)

    def entry(address: int | None) -> None:
        buffers = pointers.from_address(address) if count and address else ()
        failures = _runs.failures[-1]
        results = [_array(*pair) for pair in zip(buffers[split:], call.results, strict=True)]
        try:
            if failures:
                _spoil(results)
            else:
                operands = [_array(*pair) for pair in zip(buffers[:split], call.operands, strict=True)]
                _fill(target, call, operands, results)
        except BaseException as error:
            failures.append(error)
            _spoil(results)

    return entry


_loops: list[LoadedCode] = []
"""Loops over batches, kept for the life of the process."""


def _compiled_loop(text: str, name: str) -> int:
    from .jit import load

    _loops.append(load(text, (name,)))
    return _loops[-1].address(name)


def _fill(target: CustomCallTarget, call: CustomCall, operands: Sequence[Array], results: Sequence[Array]) -> None:
    for operand in operands:
        operand.flags.writeable = False
    seen = operands if target.borrows else [operand.copy() for operand in operands]
    for result, value in zip(results, run_target(target, call, seen), strict=True):
        result[...] = value


def _array(address: int | None, type_: ArrayType) -> Array:
    """The array at an address."""
    if not type_.nbytes or not address:
        return np.empty(type_.shape, type_.dtype)
    memory: Any = (ctypes.c_char * type_.nbytes).from_address(address)
    bytes_: Array = np.frombuffer(memory, np.uint8)
    return bytes_.view(type_.dtype).reshape(type_.shape)


def _spoil(results: Sequence[Array]) -> None:
    """Fill the results of a failed call: NaN if the type has one, so that loops that wait for a value end."""
    for result in results:
        result[...] = np.nan if result.dtype.kind in "fc" else np.zeros((), result.dtype)
