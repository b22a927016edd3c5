"""
The functions of the PJRT C API that Python serves: how they are registered, called, and how they fail.

An entry takes its argument structure, fills in the results, and raises an exception for an error.
"""

from __future__ import annotations

import ctypes
import threading
import time
import traceback
from collections.abc import Callable, Generator, Hashable, Iterable
from contextlib import contextmanager
from typing import Any

from .c_api import ARGUMENTS, ENTRY_NAMES, Code
from .native_calls import loaded

Entry = Callable[[Any], None]

ENTRIES: dict[str, Entry] = {}
"""By the names of the API's functions, without their prefix."""


class PluginError(Exception):
    """An error reported to JAX: a code of `c_api.Code` and a message. JAX raises it as JaxRuntimeError."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


class ForwardedError(Exception):
    """Another function of the API returned this error: its handle is passed on."""

    def __init__(self, handle: int):
        super().__init__(handle)
        self.handle = handle


def entry(name: str) -> Callable[[Entry], Entry]:
    """Register a function as the API's function of that name."""

    def register(function: Entry) -> Entry:
        ENTRIES[name] = function
        return function

    return register


_later: list[Callable[[], None]] = []


def load_later(load: Callable[[], None]) -> None:
    """Call `load` when a function is called that nobody has registered yet: it loads the files that register more."""
    _later.append(load)


def entry_of(name: str) -> Entry | None:
    """The function that serves an entry; None if there is none."""
    found = ENTRIES.get(name)
    if found is None:
        for load in _later:
            load()  # again for each function that there is not; what is loaded stays
        found = ENTRIES.get(name)
    return found


def new_error(code: int, message: str) -> int:
    """The handle of a new `PJRT_Error`, which its receiver destroys."""
    text = message.encode(errors="replace")
    return int(loaded().error_new(code, ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value, len(text)))


def error_of(error: BaseException) -> int:
    """The handle of a `PJRT_Error` for an exception."""
    match error:
        case ForwardedError():
            return error.handle
        case PluginError():
            return new_error(error.code, str(error))
        case MemoryError():
            return new_error(Code.RESOURCE_EXHAUSTED, str(error) or "out of memory")
        case NotImplementedError():
            return new_error(Code.UNIMPLEMENTED, str(error))
        case _:
            from ...hlo_dialect.diagnostics import DiagnosticError  # xDSL takes a while to load

            if isinstance(error, DiagnosticError):
                return new_error(Code.INVALID_ARGUMENT, str(error))
            return new_error(Code.INTERNAL, "".join(traceback.format_exception(error)).rstrip())


_LONG = frozenset(("Client_Compile", "LoadedExecutable_Execute", "Executable_DeserializeAndLoad"))
"""The functions that an interrupt ends; the others are short."""


def dispatch(number: int, address: int) -> int:
    """Call the entry of the function with that number in the table. Returns an error's handle, or 0."""
    name = ENTRY_NAMES[number]
    while True:
        try:
            function = entry_of(name)
            if function is None:
                raise PluginError(Code.UNIMPLEMENTED, f"xhlo does not implement PJRT_{name}")
            function(ARGUMENTS[name].from_address(address))
        except KeyboardInterrupt:
            _interrupt_later()
            if name in _LONG:
                return new_error(Code.CANCELLED, "interrupted")
            # JAX ends the process where a question about a device or a buffer fails: it is answered first.
        except BaseException as error:  # Nothing may pass through the C frames that called.
            return error_of(error)
        else:
            return 0


_compiling: set[int] = set()
"""The threads that compile: jaxlib's, for which the main thread waits until Ctrl-C."""


@contextmanager
def compiling() -> Generator[None]:
    """The context of a compilation, which `end_compilations` ends."""
    thread = threading.get_ident()
    _compiling.add(thread)
    try:
        yield
    finally:
        _compiling.discard(thread)


def end_compilations() -> None:
    """
    Raise SystemExit in the threads that compile, and wait until they no longer do.

    The interpreter's end would end such a thread anywhere, and jaxlib's client waits for ever for the one that it lost.
    """
    for thread in list(_compiling):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(SystemExit))
    while _compiling:
        time.sleep(0.001)


def _interrupt_later() -> None:
    """
    Have machine code signal an interrupt when this entry has returned.

    The exception would otherwise end here: none passes through the C frames that called. JAX's Python code gets it
    while it handles the error CANCELLED.
    """
    loaded().variable("interrupted").value = 1


_texts: dict[bytes, Any] = {}


def text(value: str | bytes) -> tuple[int, int]:
    """Address and length of a string that is never moved or freed."""
    raw = value.encode() if isinstance(value, str) else value
    kept = _texts.get(raw)
    if kept is None:
        kept = _texts.setdefault(raw, ctypes.create_string_buffer(raw))  # another thread's, if it was first
    return ctypes.addressof(kept), len(raw)


def read_text(address: int, size: int) -> str:
    return ctypes.string_at(address, size).decode() if size else ""


class Kept:
    """
    ctypes objects that live as long as their owner, for the addresses that the API returns.

    Numbers and bytes that are asked for again have the same address: answers to queries take memory once.
    """

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._known: dict[Hashable, int] = {}

    def keep(self, made: Any) -> int:
        self._objects.append(made)
        return ctypes.addressof(made)

    def numbers(self, values: Iterable[int], type_: Any = ctypes.c_int64) -> int:
        """The address of an array; never null."""
        key = (type_, *values)
        if key not in self._known:
            self._known[key] = self.keep((type_ * max(1, len(key) - 1))(*key[1:]))
        return self._known[key]

    def bytes(self, value: bytes) -> int:
        if value not in self._known:
            self._known[value] = self.keep(ctypes.create_string_buffer(value, len(value) + 1))
        return self._known[value]
