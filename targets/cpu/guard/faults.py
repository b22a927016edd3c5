"""
The handler of faults (SIGSEGV) at the gaps between guarded buffers.

A fault happens on any thread, deep in compiled code, so the handler does not unwind: it notes the address in the
*record* of the run, makes the page accessible and lets the access go on. The run stops after the kernel, where its
`cpu.guard "leave"` finds the record. A fault at an address that belongs to no guarded memory gets a page too while a
kernel runs. Where there can be no page, the process prints what is known and exits with status 1: the kernel's memory
is no longer what the program expects, and there is no way back to it from a handler.

The handler is native code (LLVM IR): it calls only functions of the system, and is installed only while guarded
programs run. The offsets are those of siginfo_t and ucontext_t of 64-bit Linux.
"""

from __future__ import annotations

import ctypes
import platform
import signal
import threading
from collections.abc import Sequence
from typing import Any

from ....dialects.support.guard_zones import PAGE
from .. import jit

MAX_STRAYS = 1024
"""Pages outside of guarded memory that one run may get."""

MAX_REGIONS = 4096

READS, WRITES, ACCESSES = 0, 1, 2


class Record(ctypes.Structure):
    """The faults of a run; the handler fills in the first five fields."""

    _fields_ = (
        ("count", ctypes.c_int64),
        ("address", ctypes.c_uint64),
        ("verb", ctypes.c_int64),
        ("strays", ctypes.c_int64),
        ("pages", ctypes.c_uint64 * MAX_STRAYS),
        ("message", ctypes.c_char_p),
        ("message_size", ctypes.c_int64),
    )
    count: int
    address: int
    """The address of the first fault."""
    verb: int
    strays: int
    pages: Any
    message: bytes | None
    """For a fault that cannot be resumed; None while no kernel runs."""
    message_size: int


class Region(ctypes.Structure):
    """Guarded memory of a run that is in progress; the handler finds the record by the address."""

    _fields_ = (("start", ctypes.c_uint64), ("end", ctypes.c_uint64), ("record", ctypes.c_void_p))


class _Action(ctypes.Structure):
    """struct sigaction of the C library."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint64 * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


_FLAGS = 4 | 0x08000000
"""SA_SIGINFO, SA_ONSTACK."""

# ucontext_t.uc_mcontext.gregs[REG_ERR]: bit 1 tells writes from reads.
_VERB = (
    """
  %error.at = getelementptr i8, ptr %context, i64 192
  %error = load i64, ptr %error.at
  %bit = lshr i64 %error, 1
  %verb = and i64 %bit, 1"""
    if platform.machine() == "x86_64"
    else f"""
  %verb = add i64 0, {ACCESSES}"""
)

_HANDLER = f"""
%region = type {{ i64, i64, ptr }}
%record = type {{ i64, i64, i64, i64, [{MAX_STRAYS} x i64], ptr, i64 }}
@xhlo_guard_regions = global [{MAX_REGIONS} x %region] zeroinitializer
@xhlo_guard_used = global i64 0
@xhlo_guard_before = global [{ctypes.sizeof(_Action)} x i8] zeroinitializer, align 16

declare i32 @mprotect(ptr, i64, i32)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i64 @write(i32, ptr, i64)
declare void @_exit(i32)
declare i32 @sigaction(i32, ptr, ptr)

define internal void @note(ptr %record, i64 %address, i64 %verb) {{
  %before = atomicrmw add ptr %record, i64 1 seq_cst
  %first = icmp eq i64 %before, 0
  br i1 %first, label %fill, label %done
fill:
  %address.at = getelementptr %record, ptr %record, i64 0, i32 1
  store i64 %address, ptr %address.at
  %verb.at = getelementptr %record, ptr %record, i64 0, i32 2
  store i64 %verb, ptr %verb.at
  br label %done
done:
  ret void
}}

define void @xhlo_guard_fault(i32 %signal, ptr %info, ptr %context) {{
entry:
  %address.at = getelementptr i8, ptr %info, i64 16
  %address = load i64, ptr %address.at{_VERB}
  %start.page = and i64 %address, -{PAGE}
  %page = inttoptr i64 %start.page to ptr
  %used = load volatile i64, ptr @xhlo_guard_used
  br label %scan
scan:
  %i = phi i64 [ 0, %entry ], [ %next, %miss ]
  %running = phi ptr [ null, %entry ], [ %candidate, %miss ]
  %more = icmp ult i64 %i, %used
  br i1 %more, label %look, label %outside
look:
  %region = getelementptr %region, ptr @xhlo_guard_regions, i64 %i
  %start = load volatile i64, ptr %region
  %end.at = getelementptr %region, ptr %region, i64 0, i32 1
  %end = load volatile i64, ptr %end.at
  %record.at = getelementptr %region, ptr %region, i64 0, i32 2
  %record = load volatile ptr, ptr %record.at
  %above = icmp uge i64 %address, %start
  %below = icmp ult i64 %address, %end
  %hit = and i1 %above, %below
  %next = add i64 %i, 1
  br i1 %hit, label %inside, label %other
other:
  %live = icmp ne i64 %end, 0
  br i1 %live, label %state, label %miss
state:
  %message.at = getelementptr %record, ptr %record, i64 0, i32 5
  %message = load volatile ptr, ptr %message.at
  %busy = icmp ne ptr %message, null
  %chosen = select i1 %busy, ptr %record, ptr %running
  br label %miss
miss:
  %candidate = phi ptr [ %running, %other ], [ %chosen, %state ]
  br label %scan
inside:
  %refused = call i32 @mprotect(ptr %page, i64 {PAGE}, i32 3)
  %opened = icmp eq i32 %refused, 0
  br i1 %opened, label %resume, label %pass.on
outside:
  %none = icmp eq ptr %running, null
  br i1 %none, label %pass.on, label %stray
stray:
  %strays.at = getelementptr %record, ptr %running, i64 0, i32 3
  %stray.number = atomicrmw add ptr %strays.at, i64 1 seq_cst
  %some = icmp ult i64 %stray.number, {MAX_STRAYS}
  br i1 %some, label %map, label %say
map:
  %got = call ptr @mmap(ptr %page, i64 {PAGE}, i32 3, i32 {0x2 | 0x20 | 0x100000}, i32 -1, i64 0)
  %mapped = icmp eq ptr %got, %page
  %kept = select i1 %mapped, i64 %start.page, i64 0
  %kept.at = getelementptr %record, ptr %running, i64 0, i32 4, i64 %stray.number
  store i64 %kept, ptr %kept.at
  br i1 %mapped, label %resume, label %say
resume:
  %owner = phi ptr [ %record, %inside ], [ %running, %map ]
  call void @note(ptr %owner, i64 %address, i64 %verb)
  ret void
say:
  %text.at = getelementptr %record, ptr %running, i64 0, i32 5
  %text = load ptr, ptr %text.at
  %size.at = getelementptr %record, ptr %running, i64 0, i32 6
  %size = load i64, ptr %size.at
  %written = call i64 @write(i32 2, ptr %text, i64 %size)
  call void @_exit(i32 1)
  unreachable
pass.on:
  ; The access happens again, under the action before this one.
  %reset = call i32 @sigaction(i32 {int(signal.SIGSEGV)}, ptr @xhlo_guard_before, ptr null)
  ret void
}}
"""


class Faults:
    """The handler and its table of regions; one in a process."""

    def __init__(self) -> None:
        names = ("xhlo_guard_fault", "xhlo_guard_regions", "xhlo_guard_used", "xhlo_guard_before")
        self._code = jit.load(_HANDLER, names)
        handler, regions, used, self._before = map(self._code.address, names)
        self._regions = (Region * MAX_REGIONS).from_address(regions)
        self._used = ctypes.c_int64.from_address(used)
        self._action = _Action(handler=handler, flags=_FLAGS)
        self._runs = 0
        self._lock = threading.RLock()  # a handler of a signal may run a program meanwhile

    def watch(self, regions: Sequence[tuple[int, int]], record: Record) -> list[int]:
        """Note faults in `regions` (start and end) in `record` until `forget` of the numbers returned."""
        with self._lock:
            free = (number for number in range(MAX_REGIONS) if self._regions[number].end == 0)
            numbers = [number for number, _ in zip(free, regions, strict=False)]
            if len(numbers) < len(regions):
                raise MemoryError("too many guarded programs run at once")
            for number, (start, end) in zip(numbers, regions, strict=True):
                region = self._regions[number]
                region.start, region.record = start, ctypes.addressof(record)
                region.end = end
            self._used.value = max(self._used.value, *(number + 1 for number in numbers))
            self._runs += 1
            if self._runs == 1:
                _libc.sigaction(signal.SIGSEGV, ctypes.byref(self._action), ctypes.c_void_p(self._before))
            return numbers

    def forget(self, numbers: Sequence[int]) -> None:
        with self._lock:
            for number in numbers:
                self._regions[number].end = 0
            self._runs -= 1
            if self._runs == 0:
                _libc.sigaction(signal.SIGSEGV, ctypes.c_void_p(self._before), None)


_libc = ctypes.CDLL(None, use_errno=True)
_faults: Faults | None = None
_lock = threading.RLock()


def faults() -> Faults:
    """The process's handler."""
    global _faults
    with _lock:
        if _faults is None:
            _faults = Faults()
    return _faults
