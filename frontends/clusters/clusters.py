"""
Clusters: recorded operations that run together, by NumPy in their order, or compiled as one program.

Equal clusters (the same calls on operands of the same types and places, the same results wanted) are one `Cluster`,
which is compiled when it was seen often enough.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...targets.compile import compile_program
from ...targets.program.executable import Executable
from ..builder.builder import Builder
from ..numpy.arrays import TracedArray, astype, broadcast_to
from ..numpy.errors import TraceError
from . import layouts
from .calls import ASSIGN, Known, Result, Target
from .storage import Number, Read, Storage

MANY_CLUSTERS = 4096
"""The number of clusters that are remembered."""
MANY_SIZES = 8
"""The number of programs compiled for the same calls on operands of different shapes, from which each has to pay."""
COMPILE_SECONDS = 0.02
"""A rough time to compile one operation, before any was compiled."""


@dataclass
class Settings:
    compile_after: int = 2
    """How often a cluster is recorded until it is compiled."""
    min_operations: int = 2


SETTINGS = Settings()


@dataclass
class Recorded:
    """A call that was recorded."""

    known: Known
    args: list[Any]
    kwargs: dict[str, Any]
    """Arrays in them are `Read`, also in lists; numbers are `Number`."""
    reads: list[Read]
    writes: list[Read]
    numbers: list[Number]
    place: Any
    """The user's code, and the instruction in it."""


@dataclass
class Cluster:
    """The facts that equal clusters share."""

    operations: list[str]
    places: list[tuple[str, int]]
    """The files and lines of the operations."""
    seen: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    """Why it ended."""
    values: list[Any] = field(default_factory=list)
    """The numbers that it was run with last."""
    varying: set[int] = field(default_factory=set)
    """The numbers that were seen to change: parameters of the program."""
    executable: Executable | None = None
    compilations: int = 0
    compile_seconds: float = 0.0
    runs: int = 0
    """Runs of the compiled program."""
    numpy_seconds: float = float("inf")
    """The shortest run."""
    total_seconds: float = 0.0
    """All runs by NumPy."""
    compiled_seconds: float = float("inf")
    saved_seconds: float = 0.0
    rejected: str = ""
    """Why it is not compiled."""


CLUSTERS: dict[Any, Cluster] = {}
_compiled: Counter[Any] = Counter()
"""Programs by their calls, whatever the shapes."""
_spent: list[float] = [0.0, 0.0]
"""Seconds of compiling, and operations compiled."""


def run_cluster(log: list[Recorded], reason: str) -> None:
    """Run what was recorded, and is still wanted; empties the list."""
    kept = _wanted(log)
    log.clear()
    if not kept:
        return
    program = _Program(kept)
    cluster = CLUSTERS.get(program.key)
    if cluster is None:
        if len(CLUSTERS) >= MANY_CLUSTERS:
            CLUSTERS.clear()
        cluster = CLUSTERS[program.key] = _new_cluster(program)
    cluster.seen += 1
    cluster.ends[reason] += 1
    _note_numbers(cluster, program)
    if cluster.executable is None and not cluster.rejected and _is_due(cluster, program):
        _compile(cluster, program)
    start = time.perf_counter()
    if cluster.executable is not None and not cluster.rejected:
        program.run(cluster.executable, cluster.varying)
        _note_run(cluster, time.perf_counter() - start)
    else:
        program.replay()
        seconds = time.perf_counter() - start
        cluster.numpy_seconds = min(cluster.numpy_seconds, seconds)
        cluster.total_seconds += seconds


def _wanted(log: list[Recorded]) -> list[Recorded]:
    """Without the operations whose results nobody can ask for."""
    live: dict[int, bool] = {}
    kept: list[Recorded] = []
    for one in reversed(log):
        if any(live.setdefault(id(write.storage), write.storage.is_live()) for write in one.writes):
            kept.append(one)
            for read in one.reads:
                live[id(read.storage)] = True
    return kept[::-1]


def _new_cluster(program: _Program) -> Cluster:
    places = {(one.place[0].co_filename, _line(*one.place)): None for one in program.recorded}
    return Cluster([one.known.target.name for one in program.recorded], list(places))


def _line(code: Any, instruction: int) -> int:
    line = list(code.co_positions())[instruction // 2][0]
    return line or code.co_firstlineno


def _note_numbers(cluster: Cluster, program: _Program) -> None:
    """Numbers that changed become parameters; from the second such time all."""
    values = [number.key() for number in program.numbers]
    changed = {
        index for index, pair in enumerate(zip(cluster.values, values, strict=False)) if pair[0] != pair[1]
    } - cluster.varying
    cluster.values = values
    if changed:
        cluster.varying |= set(range(len(values))) if cluster.varying else changed
        cluster.executable = None


def _is_due(cluster: Cluster, program: _Program) -> bool:
    if cluster.seen < SETTINGS.compile_after or len(program.recorded) < SETTINGS.min_operations:
        return False
    if _compiled[tuple(cluster.operations)] < MANY_SIZES:
        return True
    each = _spent[0] / _spent[1] if _spent[1] else COMPILE_SECONDS
    return cluster.total_seconds > each * len(program.recorded)


def _note_run(cluster: Cluster, seconds: float) -> None:
    cluster.runs += 1
    cluster.compiled_seconds = min(cluster.compiled_seconds, seconds)
    if cluster.numpy_seconds < float("inf"):
        cluster.saved_seconds += cluster.numpy_seconds - seconds
        if cluster.runs >= 3 and cluster.compiled_seconds > 1.1 * cluster.numpy_seconds:
            cluster.rejected = "slower than NumPy"


def _compile(cluster: Cluster, program: _Program) -> None:
    start = time.perf_counter()
    try:
        cluster.executable = compile_program(program.trace(cluster.varying), "cpu")
    except Exception as error:
        # A program that NumPy can run must not end because it cannot be compiled. The report says why.
        cluster.rejected = getattr(error, "reason", None) or f"{type(error).__name__}: {error}"
        if not isinstance(error, TraceError):
            warnings.warn(f"a cluster is not compiled and runs in NumPy: {cluster.rejected}", RuntimeWarning, 2)
        return
    seconds = time.perf_counter() - start
    cluster.compilations += 1
    cluster.compile_seconds += seconds
    _compiled[tuple(cluster.operations)] += 1
    _spent[0] += seconds
    _spent[1] += len(program.recorded)


def _given(value: Any, read: Any) -> Any:
    """Arguments with what each operand stands for."""
    kind = type(value)
    if kind is Read or kind is Number:
        return read(value)
    if kind is tuple or kind is list:
        return kind([_given(item, read) for item in value])
    return value


class _Program:
    """The operations of one cluster, with their operands."""

    def __init__(self, recorded: list[Recorded]):
        self.recorded = recorded
        self.numbers = [number for one in recorded for number in one.numbers]
        self.storages: list[Storage] = []
        """In the order in which they are met."""
        inputs: dict[int, Storage] = {}
        written: dict[int, Storage] = {}
        places: dict[int, int] = {}
        parts: list[Any] = []
        for one in recorded:
            operands: list[Any] = [one.known]
            # A result is not read, an array that is written in place is.
            for operand in (*one.reads, *one.writes):
                storage = operand.storage
                if id(storage) not in places:
                    places[id(storage)] = len(self.storages)
                    self.storages.append(storage)
                operands.append((places[id(storage)], operand.place()))
            for operand in one.reads:
                if id(operand.storage) not in written:
                    inputs[id(operand.storage)] = operand.storage
            for operand in one.writes:
                written[id(operand.storage)] = operand.storage
            parts.append(tuple(operands))
        self.inputs = list(inputs.values())
        """Those that are read before they are written."""
        self.outputs = [storage for storage in written.values() if storage.is_live()]
        wanted = set(map(id, self.outputs))
        types = tuple([(one.base.shape, one.base.dtype, id(one) in wanted) for one in self.storages])
        self.key = tuple(parts), types

    def replay(self) -> None:
        """Let NumPy run the operations in their order; memory that nobody asks for is free after its last use."""
        # Emptied, because views among the operands keep memory too.
        waiting = self.recorded
        waiting.reverse()
        last: dict[int, int] = {}
        for number, one in enumerate(waiting):
            for operand in (*one.reads, *one.writes):
                last.setdefault(id(operand.storage), number)
        written = {id(write.storage): write.storage for one in waiting for write in one.writes}
        with np.errstate(all="ignore"):
            while waiting:
                one = waiting.pop()
                _run(one)
                for operand in (*one.reads, *one.writes):
                    if last[id(operand.storage)] == len(waiting):
                        operand.storage.release()
        for storage in written.values():
            storage.is_filled = True

    def trace(self, varying: set[int]) -> Any:
        """The program: parameters are the inputs, then the numbers that vary. Raises TraceError."""
        return _Trace(self, varying).module

    def run(self, executable: Executable, varying: set[int]) -> None:
        """Run the compiled program."""
        numbers = [np.asarray(self.numbers[index].value) for index in sorted(varying)]
        found = executable(*[one.base for one in self.inputs], *numbers)
        results: list[Any] = list(found) if isinstance(found, tuple) else [found]
        del found
        # Views among the operands would keep memory in its place.
        self.recorded.clear()
        for storage in self.outputs:
            storage.take(results.pop(0))
            storage.is_filled = True


def _run(one: Recorded) -> None:
    def read(operand: Any) -> Any:
        return operand.array() if type(operand) is Read else operand.value

    known, target = one.known, one.known.target
    args = [_given(value, read) for value in one.args]
    kwargs = {name: _given(value, read) for name, value in one.kwargs.items()}
    if known.kind == "write":
        target.run(*args, **kwargs)
    elif target.fills and not all(write.storage.is_alone() for write in one.writes):
        memory = zip(known.results, one.writes, strict=True)
        target.run(*args, **kwargs, out=tuple([result.view(write.storage.base) for result, write in memory]))
    else:
        found = target.run(*args, **kwargs)
        results = [found] if known.container is None else found
        for result, write, value in zip(known.results, one.writes, results, strict=True):
            write.storage.take(np.asarray(result.stored(value)))


def refusal(target: Target, args: list[Any], kwargs: dict[str, Any], results: list[Result]) -> str:
    """
    Why a call is not compiled to these results; empty if it is.

    A trace knows no elements: what it gives has a shape that depends on none.
    """
    assert target.trace is not None
    b = Builder()

    def read(operand: Any) -> Any:
        return operand.value if type(operand) is Number else TracedArray(b, b.parameter(operand.array()))

    try:
        found = target.trace(
            *[_given(one, read) for one in args], **{name: _given(one, read) for name, one in kwargs.items()}
        )
    except Exception as error:
        # Whatever it is, NumPy runs the call.
        return getattr(error, "reason", None) or f"{type(error).__name__}: {error}"
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

    def __init__(self, program: _Program, varying: set[int]):
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
        for one in program.recorded:
            self._call(one)
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
