"""
Functions of the host program that compiled code calls: the targets of custom calls.

Each call site of a program has one C function of its own, made by ctypes, that wraps the buffers it is handed in arrays
and fills the results. It runs on the thread that runs the program. What a function raises cannot pass through compiled
code: it is kept, the call's results are NaN or zero, later calls of this run do nothing, and the run ends with it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...hlo_dialect.custom_calls.batched_calls import compile_loops_with
from ...hlo_dialect.custom_calls.call import CustomCall
from ...hlo_dialect.custom_calls.registry import CustomCallTarget, run_target
from ...hlo_dialect.types import Array, ArrayType

if TYPE_CHECKING:
    from ..program.facts import HostCall
    from .jit import LoadedCode

_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
"""`void callback(void **buffers)`"""


class _Runs(threading.local):
    """The programs that the thread is running, the innermost last: what each one's functions have raised."""

    def __init__(self) -> None:
        self.failures: list[list[BaseException]] = []


_runs = _Runs()


class Callbacks:
    """The functions that one program calls; they live as long as this object."""

    def __init__(self, calls: Sequence[HostCall]):
        """Raises DiagnosticError for unknown targets."""
        if calls:
            compile_loops_with(_compiled_loop)
        self._functions: dict[str, Any] = {call.symbol: _CALLBACK(_entry(call)) for call in calls}

    def __bool__(self) -> bool:
        return bool(self._functions)

    @property
    def addresses(self) -> dict[str, int]:
        """By the names that compiled code calls them."""
        return {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in self._functions.items()}

    @contextmanager
    def run(self) -> Generator[None]:
        """Around a run of the program: raises afterwards what one of its functions raised."""
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
    """The Python function behind a call: it takes the address of the array of buffers, and never raises."""
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
"""Loops over batches, for as long as the process lives."""


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
    """What a failed call leaves behind: NaN where there is one, so that loops that wait for a value do not go on."""
    for result in results:
        result[...] = np.nan if result.dtype.kind in "fc" else np.zeros((), result.dtype)
