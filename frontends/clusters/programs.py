"""
The program of a cluster: its operations on their operands, run by NumPy in their order, or traced to be compiled.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..builder.builder import Builder
from ..numpy.arrays import TRACE, TracedArray, astype, broadcast_to
from ..numpy.errors import TraceError
from . import layouts
from .calls import ASSIGN, Result, Target
from .storage import Number, Read, Storage
from .traces import Recorded, Step, recorded


def _given(value: Any, read: Any) -> Any:
    """Arguments with what each operand stands for."""
    kind = type(value)
    if kind is Read or kind is Number:
        return read(value)
    if kind is tuple or kind is list:
        return kind([_given(item, read) for item in value])
    return value


class Program:
    """The operations of a trace whose results somebody can ask for, with their operands."""

    def __init__(self, last: Step, storages: Sequence[Storage], numbers: Sequence[Any], live: Sequence[bool]):
        all_numbers = [Number(value) for value in numbers]
        self.live = {id(one): is_live for one, is_live in zip(storages, live, strict=True)}
        self.recorded = _wanted(recorded(last, storages, all_numbers), self.live)
        self.slots = {id(one): slot for slot, one in enumerate(storages)}
        """The numbers of the storages in the trace."""
        kept = {id(one) for call in self.recorded for one in _numbers([*call.args, *call.kwargs.values()])}
        self.number_slots = [slot for slot, one in enumerate(all_numbers) if id(one) in kept]
        self.numbers = [all_numbers[slot] for slot in self.number_slots]
        self.storages: list[Storage] = []
        """In the order in which they are met."""
        inputs: dict[int, Storage] = {}
        written: dict[int, Storage] = {}
        places: dict[int, int] = {}
        parts: list[Any] = []
        for one in self.recorded:
            operands: list[Any] = [one.known]
            # A result is not read, an array that is written in place is.
            for operand in (*one.reads, *one.writes):
                storage = operand.storage
                if id(storage) not in places:
                    places[id(storage)] = len(self.storages)
                    self.storages.append(storage)
                operands.append((places[id(storage)], operand.place))
            for operand in one.reads:
                if id(operand.storage) not in written:
                    inputs[id(operand.storage)] = operand.storage
            for operand in one.writes:
                written[id(operand.storage)] = operand.storage
            parts.append(tuple(operands))
        self.inputs = list(inputs.values())
        """Those that are read before they are written."""
        self.outputs = [storage for storage in written.values() if self.live[id(storage)]]
        wanted = set(map(id, self.outputs))
        types = tuple([(one.facts.shape, one.facts.dtype, id(one) in wanted) for one in self.storages])
        self.key = tuple(parts), types

    def replay(self) -> float:
        """
        Let NumPy run the operations in their order; memory that nobody asks for is free after its last use.

        Returns the seconds that they took, without what surrounds them.
        """
        # Emptied, because views among the operands keep memory too.
        waiting = self.recorded
        waiting.reverse()
        last: dict[int, int] = {}
        for number, one in enumerate(waiting):
            for operand in (*one.reads, *one.writes):
                last.setdefault(id(operand.storage), number)
        written = {id(write.storage): write.storage for one in waiting for write in one.writes}
        seconds = 0.0
        with np.errstate(all="ignore"):
            while waiting:
                one = waiting.pop()
                seconds += run_one(one)
                for operand in (*one.reads, *one.writes):
                    if last[id(operand.storage)] == len(waiting) and not self.live[id(operand.storage)]:
                        operand.storage.release()
        for storage in written.values():
            storage.is_filled = True
        return seconds

    def trace(self, varying: set[int]) -> Any:
        """The program: parameters are the inputs, then the numbers that vary. Raises TraceError."""
        return _Trace(self, varying).module


def _wanted(log: list[Recorded], live: dict[int, bool]) -> list[Recorded]:
    """Without the operations whose results nobody can ask for."""
    live = dict(live)
    kept: list[Recorded] = []
    for one in reversed(log):
        if any(live[id(write.storage)] for write in one.writes):
            kept.append(one)
            for read in one.reads:
                live[id(read.storage)] = True
    return kept[::-1]


def _numbers(value: Any) -> list[Number]:
    if type(value) is Number:
        return [value]
    return [one for item in value for one in _numbers(item)] if type(value) in (tuple, list) else []


def run_one(one: Recorded) -> float:
    """Let NumPy run a call. Returns the seconds that it took."""

    def read(operand: Any) -> Any:
        return operand.array() if type(operand) is Read else operand.value

    known, target = one.known, one.known.target
    args = [_given(value, read) for value in one.args]
    kwargs = {name: _given(value, read) for name, value in one.kwargs.items()}
    if known.kind == "call" and target.fills and not all(write.storage.is_alone() for write in one.writes):
        memory = zip(known.results, one.writes, strict=True)
        kwargs["out"] = tuple([result.view(write.storage.base) for result, write in memory])
        start = time.perf_counter()
        target.run(*args, **kwargs)
        return time.perf_counter() - start
    start = time.perf_counter()
    found = target.run(*args, **kwargs)
    seconds = time.perf_counter() - start
    if known.kind == "call":
        results = [found] if known.container is None else found
        for result, write, value in zip(known.results, one.writes, results, strict=True):
            write.storage.take(np.asarray(result.stored(value)))
    return seconds


def refusal(target: Target, args: list[Any], kwargs: dict[str, Any], results: list[Result]) -> str:
    """
    Why a call is not compiled to these results; empty if it is.

    A trace knows no elements: what it gives has a shape that depends on none.
    """
    assert target.trace is not None
    b = Builder()

    def read(operand: Any) -> Any:
        return operand.value if type(operand) is Number else TracedArray(b, b.parameter(operand.array()))

    outside = TRACE.set(b)
    try:
        found = target.trace(
            *[_given(one, read) for one in args], **{name: _given(one, read) for name, one in kwargs.items()}
        )
    except Exception as error:
        # Whatever it is, NumPy runs the call.
        return getattr(error, "reason", None) or f"{type(error).__name__}: {error}"
    finally:
        TRACE.reset(outside)
    given = found if isinstance(found, tuple | list) else [found]
    return _difference(target, given, results) if len(given) == len(results) else "another number of results"


def _difference(target: Target, found: Sequence[Any], results: Sequence[Result]) -> str:
    for value, result in zip(found, results, strict=True):
        if (value.shape, value.dtype) != (result.shape, result.dtype):
            return (
                f"{target.name} is compiled to {value.dtype}{list(value.shape)}, where NumPy gives "
                f"{result.dtype}{list(result.shape)}"
            )
    return ""


class _Trace:
    """A cluster as a program."""

    def __init__(self, program: Program, varying: set[int]):
        b = self._builder = Builder()
        self._values = {
            id(one): TracedArray(b, b.parameter(one.base, name=f"x{index}")) for index, one in enumerate(program.inputs)
        }
        self._numbers: dict[int, Any] = {id(one): one.value for one in program.numbers}
        for index in sorted(varying):
            number = program.numbers[index]
            traced = TracedArray(b, b.parameter(np.asarray(number.value), name=f"n{index}"))
            traced.weak = None if isinstance(number.value, np.generic) else type(number.value)
            self._numbers[id(number)] = traced
        outside = TRACE.set(b)
        try:
            for one in program.recorded:
                self._call(one)
        finally:
            TRACE.reset(outside)
        self.module = b.build(*[self._values[id(one)].value for one in program.outputs])

    def _read(self, operand: Any) -> Any:
        if type(operand) is Number:
            return self._numbers[id(operand)]
        return layouts.read(self._values[id(operand.storage)], operand)

    def _call(self, one: Recorded) -> None:
        known, target = one.known, one.known.target
        assert target.trace is not None
        args = [_given(value, self._read) for value in one.args]
        kwargs = {name: _given(value, self._read) for name, value in one.kwargs.items()}
        if known.kind == "write":
            self._write(one, args, kwargs)
            return
        found = target.trace(*args, **kwargs)
        results: Sequence[Any] = [found] if known.container is None else found
        wrong = _difference(target, results, known.results)
        if wrong:
            known.kind, known.reason = "eager", wrong
            raise TraceError(wrong)
        for result, write, value in zip(known.results, one.writes, results, strict=True):
            self._values[id(write.storage)] = result.stored(value)

    def _write(self, one: Recorded, args: list[Any], kwargs: dict[str, Any]) -> None:
        (write,) = one.writes
        base = self._values[id(write.storage)]
        old = layouts.read(base, write)
        where = kwargs.pop("where", True)
        kwargs.pop("out", None)
        if one.known.target is ASSIGN:
            _, new, *rest = args
            where = rest[0] if rest else True
        else:
            assert one.known.target.trace is not None
            new = one.known.target.trace(*args, **kwargs)
        new = _as_elements(old, new)
        if where is not True:
            mask = where if isinstance(where, TracedArray) else old.like(self._builder.constant(where))
            chosen = broadcast_to(astype(mask, bool), old.shape).value
            new = old.like(chosen.select(new.value, old.value))
        self._values[id(write.storage)] = layouts.write(base, write, new)


def _as_elements(old: TracedArray, new: Any) -> TracedArray:
    """A value as the elements of an array: converted and broadcast, without leading dimensions of size 1."""
    if not isinstance(new, TracedArray):
        new = old.like(old.builder.constant(np.asarray(new).astype(old.dtype)))
    while new.ndim > old.ndim and new.shape[0] == 1:
        new = new.reshape(new.shape[1:])
    return broadcast_to(astype(new, old.dtype), old.shape)
