"""A run of a guarded program: opens what each kernel may access, and finds what it accessed outside."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from ....dialects.cpu import GuardOp
from ....dialects.support.guard_zones import PAGE, guarded_places
from ....hlo_dialect.types import ArrayType
from ...program.facts import Facts
from ...program.guard import GuardFacts, MemoryAccess, Port
from .faults import MAX_STRAYS, Record, faults
from .memory import CLOSED, READ, WRITE, Area, Buffer, Buffers, Constants, unmap
from .reports import last_words, outside, used_outside_life

VERBS = ("reads", "writes", "accesses")

GUARD_SYMBOL = "xhlo_guard"
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class _Running(threading.local):
    """The guarded runs of this thread, the innermost last."""

    def __init__(self) -> None:
        self.runs: list[GuardedRun] = []


_running = _Running()


@_CALLBACK
def _event(event: int, number: int, buffers: int | None) -> int:
    """The function `xhlo_guard` of compiled code; it never raises."""
    run = _running.runs[-1]
    try:
        return int(getattr(run, GuardOp.EVENTS[event])(number, buffers or 0))
    except BaseException as error:
        run.error = run.error or error
        return 0


def guard_address() -> int:
    return ctypes.cast(_event, ctypes.c_void_p).value or 0


def _arrays_area(facts: Facts, side: str) -> Area:
    """Guarded memory for the arguments, then the outputs."""
    types: list[ArrayType] = [*facts.inputs, *facts.outputs]
    names = [
        *(f"argument {i} of the program, {t.text}" for i, t in enumerate(facts.inputs)),
        *(f"result {i} of the program, {t.text}" for i, t in enumerate(facts.outputs)),
    ]
    sizes = [type_.nbytes for type_ in types]
    places, total = guarded_places(sizes, side)
    return Area(names, places, sizes, total)


class GuardedRun:
    """One run. Its buffers are closed except while an access that takes them is in progress."""

    def __init__(self, facts: Facts, guard: GuardFacts, constants: Constants, words: dict[int, bytes]):
        """`words`: what the handler says of accesses, by their numbers; made on demand for all runs of a program."""
        self.error: BaseException | None = None
        self._guard = guard
        self._constants = constants
        self._words = words
        self._record = Record()
        self._arrays = _arrays_area(facts, guard.side)
        slots = guard.slots
        self._arena = Area(
            ["a buffer of the arena"] * len(slots),
            [slot.place.start for slot in slots],
            [slot.place.stop - slot.place.start for slot in slots],
            facts.arena_bytes,
        )
        for buffer in self._arena.buffers:
            buffer.live = False
        self._buffers = Buffers((self._arrays, self._arena, constants.area))
        self._inputs = len(facts.inputs)

    @property
    def addresses(self) -> list[int]:
        """The addresses of the arguments and outputs."""
        return [buffer.start for buffer in self._arrays.buffers]

    @property
    def arena(self) -> int:
        return self._arena.start

    @contextmanager
    def running(self, pointers: Sequence[int]) -> Generator[None]:
        """
        The context of the run on arrays at `pointers`, arguments then outputs: they are copied into guarded memory, and
        outputs back. Raises GuardError.
        """
        for number, (buffer, pointer) in enumerate(zip(self._arrays.buffers, pointers, strict=True)):
            if buffer.size:
                buffer.protect(WRITE)
                buffer.fill()
                if number < self._inputs:
                    ctypes.memmove(buffer.start, pointer, buffer.size)
                buffer.protect(CLOSED)
        regions = [area.region for area in (self._arrays, self._arena, self._constants.area)]
        numbers = faults().watch(regions, self._record)
        _running.runs.append(self)
        try:
            yield
        finally:
            _running.runs.pop()
            faults().forget(numbers)
            for page in self._record.pages[: min(self._record.strays, MAX_STRAYS)]:
                if page:
                    unmap(page, PAGE)
            if self._record.count:
                self._constants.place()
        if self.error is not None:
            # No cycle of references may keep the run, and thus its memory.
            error, self.error = self.error, None
            try:
                raise error
            finally:
                del error
        for buffer, pointer in list(zip(self._arrays.buffers, pointers, strict=True))[self._inputs :]:
            if buffer.size:
                buffer.protect(READ)
                ctypes.memmove(pointer, buffer.start, buffer.size)

    # The events of `cpu.guard`: they return whether the run goes on.

    def begin(self, number: int, arena: int) -> bool:
        return self._life(number, True)

    def end(self, number: int, arena: int) -> bool:
        return self._life(number, False)

    def _life(self, number: int, live: bool) -> bool:
        buffer = self._arena.buffers[number]
        buffer.live = live
        if buffer.size:
            buffer.protect(WRITE)
            buffer.fill()
            buffer.protect(CLOSED)
        return True

    def _taken(self, access: MemoryAccess, buffers: int) -> list[tuple[Buffer, Port]]:
        """The guarded buffers at the addresses in the array `buffers`."""
        pointers = (ctypes.c_uint64 * len(access.ports)).from_address(buffers) if access.ports else ()
        pairs = ((self._buffers.holding(pointer), port) for pointer, port in zip(pointers, access.ports, strict=True))
        return [(buffer, port) for buffer, port in pairs if buffer is not None]

    def enter(self, number: int, buffers: int) -> bool:
        access = self._guard.accesses[number]
        modes: dict[Buffer, int] = {}
        for buffer, port in self._taken(access, buffers):
            if not buffer.live:
                raise used_outside_life(access, port)
            modes[buffer] = max(modes.get(buffer, READ), WRITE if port.written else READ)
        for buffer, mode in modes.items():
            if not buffer.constant:
                buffer.protect(mode)
        message = self._words.get(number)
        if message is None:
            message = self._words[number] = last_words(access)
        self._record.message_size = len(message)
        self._record.message = message
        return True

    def leave(self, number: int, buffers: int) -> bool:
        self._record.message = None
        if self.error is not None:
            return False
        access = self._guard.accesses[number]
        taken = self._taken(access, buffers)
        if self._record.count:
            raise outside(access, taken, self._buffers, self._record.address, VERBS[self._record.verb])
        for buffer, _ in taken:
            if buffer.mode == WRITE:
                changed = buffer.changed_slack()
                if changed is not None:
                    raise outside(access, taken, self._buffers, changed, "writes")
            if not buffer.constant:
                buffer.protect(CLOSED)
        return True
