"""
Events of programs and kernels for `jax.profiler.trace`.

jaxlib asks through the PJRT profiler extension, a table of functions that ctypes makes: it creates a profiler, starts
and stops it, and collects the events as a serialized XSpace. While a trace is on, every run goes through Python. A
program on one device then runs as a second executable, compiled at its first run in a trace, whose kernels are timed.

The time of a program's run is measured, as is the sum of the times of each of its kernels in the run. When each call of
a kernel began is not: kernels are shown one after the other, in the program's order, a kernel's calls in one piece.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...hlo_dialect.outliving import outlive
from ...hlo_dialect.protocol_buffers import encode_bytes, encode_number

if TYPE_CHECKING:
    from ...targets.cpu.executable import CpuExecutable

PLANE = "/device:CUSTOM:xhlo:{}"
"""The name of a device's plane: one that TensorBoard and Perfetto show."""

EXTENSION_TYPE = 1
"""PJRT_Extension_Type_Profiler"""


@dataclass(frozen=True)
class Run:
    """One run of a program. Times are nanoseconds, since the epoch."""

    device: int
    name: str
    start: int
    end: int
    kernels: tuple[tuple[str, int, int], ...]
    """The name of each kernel, its time and its number of calls."""


@dataclass
class _State:
    is_on: bool = False
    runs: list[Run] = field(default_factory=list[Run])
    collected: Any = None
    """The bytes that jaxlib reads after it has collected them."""
    when_started: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    lock: threading.Lock = field(default_factory=threading.Lock)


_state = _State()


def is_on() -> bool:
    return _state.is_on


def when_started(action: Callable[[], None]) -> None:
    """Call `action` at the start of each trace."""
    _state.when_started.append(action)


@dataclass(frozen=True)
class Timed:
    """An executable whose kernels are timed; it counts the time of all its runs together, so one runs at a time."""

    executable: CpuExecutable
    lock: threading.RLock = field(default_factory=threading.RLock)


@contextmanager
def traced(device: int, name: str, timed: Timed | None) -> Generator[None]:
    """The context of a run in a trace; `timed` is what runs if its kernels are timed."""
    if timed is None:
        start = time.time_ns()
        yield
        _record(Run(device, name, start, time.time_ns(), ()))
        return
    with timed.lock:
        timed.executable.reset_profile()
        start = time.time_ns()
        yield
        end = time.time_ns()
        kernels = tuple((each.name, each.nanoseconds, each.calls) for each in timed.executable.kernels if each.calls)
    _record(Run(device, name, start, end, kernels))


def _record(run: Run) -> None:
    with _state.lock:
        _state.runs.append(run)


# The events as an XSpace (tensorflow/tsl/profiler/protobuf/xplane.proto). Offsets and durations are picoseconds.


def _text(number: int, value: str) -> bytes:
    return encode_bytes(number, value.encode())


def _event(metadata: int, offset: int, duration: int, calls: int) -> bytes:
    stat = encode_number(1, _CALLS) + encode_number(4, calls)
    return encode_bytes(
        4,
        encode_number(1, metadata)
        + encode_number(2, 1000 * max(0, offset))
        + encode_number(3, 1000 * duration)
        + encode_bytes(4, stat),
    )


_CALLS = 1
"""The number of the statistic "calls"."""


class _Names:
    """The metadata of events: each name has a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers) + 1)

    @property
    def encoded(self) -> bytes:
        """The entries of the map from numbers to metadata, a plane's field 4."""
        return b"".join(
            encode_bytes(4, encode_number(1, number) + encode_bytes(2, encode_number(1, number) + _text(2, name)))
            for name, number in self._numbers.items()
        )


def _line(number: int, name: str, start: int, events: bytes) -> bytes:
    return encode_bytes(3, encode_number(1, number) + _text(2, name) + encode_number(3, start) + events)


def _plane(device: int, runs: list[Run]) -> bytes:
    start = min(run.start for run in runs)
    names, programs, kernels = _Names(), b"", b""
    for run in runs:
        programs += _event(names.number(run.name), run.start - start, run.end - run.start, 1)
        at = run.start - start
        for name, nanoseconds, calls in run.kernels:
            kernels += _event(names.number(name), at, nanoseconds, calls)
            at += nanoseconds
    calls = encode_bytes(5, encode_number(1, _CALLS) + encode_bytes(2, encode_number(1, _CALLS) + _text(2, "calls")))
    lines = _line(1, "programs", start, programs) + _line(2, "kernels", start, kernels)
    return encode_bytes(1, encode_number(1, device) + _text(2, PLANE.format(device)) + lines + names.encoded + calls)


def xspace(runs: list[Run]) -> bytes:
    """A serialized XSpace: a plane for each device, with a line of its programs and one of its kernels."""
    devices = sorted({run.device for run in runs})
    return b"".join(_plane(device, [run for run in runs if run.device == device]) for device in devices)


# The table of functions. Each takes the address of its arguments, which begin with `struct_size`, and returns no error.


class _Arguments(ctypes.Structure):
    """The arguments of all functions but `create`; `first` is the profiler, the rest those of `collect_data`."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("profiler", ctypes.c_void_p),
        ("buffer", ctypes.c_void_p),
        ("buffer_size", ctypes.c_size_t),
    )


class _Create(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("options", ctypes.c_void_p),
        ("options_size", ctypes.c_size_t),
        ("profiler", ctypes.c_void_p),
    )


def _create(address: int) -> None:
    _Create.from_address(address).profiler = ctypes.addressof(_profiler)


def _start(address: int) -> None:
    del address
    with _state.lock:
        _state.runs.clear()
        _state.is_on = True
    for action in _state.when_started:
        action()


def _stop(address: int) -> None:
    del address
    _state.is_on = False


def _collect(address: int) -> None:
    arguments = _Arguments.from_address(address)
    with _state.lock:
        data = xspace(_state.runs)
    _state.collected = ctypes.create_string_buffer(data, max(1, len(data)))
    arguments.buffer, arguments.buffer_size = ctypes.addressof(_state.collected), len(data)


def _nothing(address: int) -> None:
    """For `destroy`, as there is one profiler, and for errors, as there are none."""


_profiler = ctypes.c_int64()
_kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_functions = [_kind(each) for each in (_nothing, _nothing, _nothing, _create, _nothing, _start, _stop, _collect)]
"""error_destroy, error_message, error_get_code, create, destroy, start, stop, collect_data"""


class _Table(ctypes.Structure):
    _fields_ = (("struct_size", ctypes.c_size_t), ("private", ctypes.c_void_p), ("functions", ctypes.c_void_p * 8))


class Extension(ctypes.Structure):
    """`PJRT_Profiler_Extension`"""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("type", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("profiler_api", ctypes.c_void_p),
        ("traceme_context_id", ctypes.c_int64),
    )


_table = _Table(struct_size=ctypes.sizeof(_Table))
for _number, _function in enumerate(_functions):
    _table.functions[_number] = ctypes.cast(_function, ctypes.c_void_p).value

EXTENSION = Extension(struct_size=ctypes.sizeof(Extension), type=EXTENSION_TYPE, profiler_api=ctypes.addressof(_table))
"""For the field `extension_start` of the API's table."""

outlive(EXTENSION, _table)


def end(nothing: int) -> None:
    """
    The interpreter ends: jaxlib, which may stop a trace after that, is to call a function in machine code that returns
    no error.
    """
    _table.functions[:] = [nothing] * len(_functions)
