"""The recorder of each thread: calls of NumPy are kept in order until a value is needed, then run as one cluster."""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import ClusterArray, Hooks
from .calls import ASSIGN, NotRecordable, Result, Target, number_kind, static_key
from .clusters import run_trace
from .storage import Storage, facts_of
from .traces import ROOT, Step

LONG_LIST = 64
"""The length from which a list is no argument that is recorded."""
_NUMBER = number_kind(0.0)
_INTEGERS = {number: number_kind(number) for number in range(-256, 1025)}


class Failed:
    """In place of a recorder: the error of a cluster that did not end, whose arrays have no values."""

    def __init__(self, error: BaseException):
        self.error = error


class Recorder:
    """The trace that a thread records: its last step, the storages and the numbers that it met."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.last = ROOT
        self.storages: list[Storage] = []
        self.numbers: list[Any] = []
        self.plain: list[np.ndarray[Any, Any]] = []
        """The arrays of other code that the call under way takes."""
        self.snapshots = 0
        self.started = 0.0
        self.is_running = False

    # Keys.

    def key(self, target: Target, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """
        The key of a call among the next steps, whose operands are noted; None if it is to be looked at closely.

        A storage that the trace met is known by its number, a new one by its type. Raises NotRecordable.
        """
        key: list[Any] = [target]
        with_numbers = target.with_numbers
        for value in args:
            kind = type(value)
            if kind is ClusterArray:
                one = self.array_key(value)
                if one is None:
                    return None
                key.append(one)
            elif kind is float and with_numbers:
                self.numbers.append(value)
                key.append(_NUMBER)
            elif value is None:
                key.append(None)
            else:
                one = self._other(value, kind, with_numbers)
                if one is None:
                    return None
                key.append(one)
        for name, value in kwargs.items():
            one = self._other(value, type(value), False)
            if one is None:
                return None
            key.append((name, one))
        return tuple(key)

    def array_key(self, value: ClusterArray) -> Any:
        """The key of an array, which is noted; None if it is to be looked at closely."""
        storage = value.storage
        owner = storage.owner
        if owner is self:
            one = storage.slot
        elif owner is None and storage.lease is None:
            storage.owner = self
            storage.slot = len(self.storages)
            self.storages.append(storage)
            one = storage.facts
        else:
            return None
        return one if value.view is None else (one, value.place or value.found_place())

    def operand_key(self, value: Any) -> Any:
        """The key of an operand, array or number, which is noted; None if it is to be looked at closely."""
        kind = type(value)
        if kind is ClusterArray:
            return self.array_key(value)
        one = _NUMBER if kind is float else _INTEGERS.get(value) if kind is int else None
        if one is not None:
            self.numbers.append(value)
        return one

    def _other(self, value: Any, kind: type, with_numbers: bool) -> Any:
        """The key of an argument; None if it is to be looked at closely."""
        if kind is ClusterArray:
            return self.array_key(value)
        if kind is int and with_numbers:
            self.numbers.append(value)
            return number_kind(value)
        if kind is int:
            return int, value
        if kind is tuple or kind is list:
            if len(value) > LONG_LIST:
                return None
            if len(value) == 1 and type(value[0]) is ClusterArray:
                one = self.array_key(value[0])
                return one if one is None else (kind, one)
            parts = [self._other(item, type(item), False) for item in value]
            return None if None in parts else (kind, *parts)
        if kind is np.ndarray:
            self.plain.append(value)
            return "plain", value.shape, value.strides, value.dtype
        if with_numbers and (kind is float or kind is complex or isinstance(value, np.number)):
            self.numbers.append(value)
            return number_kind(value)
        try:
            return "static", static_key(value)
        except NotRecordable:
            return None

    def undo(self, storages: int, numbers: int) -> None:
        """Note no more than so many operands."""
        for one in self.storages[storages:]:
            one.owner = None
        del self.storages[storages:], self.numbers[numbers:]
        self.plain.clear()

    # Steps.

    def advance(self, step: Step, kwargs: dict[str, Any]) -> Any:
        """Record a call. Returns its result."""
        if not self.last.depth:
            self.started = time.perf_counter()
        self.last = step
        known = step.known
        if self.plain:
            self._copy_plain()
        if known.kind == "write":
            storage = self.storages[step.writes[0].slot]
            storage.is_filled, storage.bounds = False, None
            return None if known.target is ASSIGN else kwargs["out"][0]
        if known.container is None:
            return self._result(known.results[0], known.bounds)
        return known.container([self._result(one, known.bounds) for one in known.results])

    def _result(self, result: Result, bounds: tuple[int, int] | None) -> ClusterArray:
        """An array whose values are to come."""
        storage = Storage(result.facts)
        storage.owner = self
        storage.slot = len(self.storages)
        storage.is_filled = False
        self.storages.append(storage)
        if bounds is not None:
            storage.bounds = bounds
        return ClusterArray(storage, None if result.order is None else result.view(storage.base), result.is_scalar)

    def _copy_plain(self) -> None:
        """Copy arrays of other code, which may change them before the cluster runs."""
        for one in self.plain:
            copied = np.array(one, order="C")
            self.snapshots += copied.nbytes
            storage = Storage(facts_of(copied.shape, copied.dtype), copied)
            storage.owner, storage.slot = self, len(self.storages)
            self.storages.append(storage)
        self.plain.clear()

    def flush(self, reason: str) -> None:
        """Run what is recorded. Raises what NumPy raises, and MemoryError, KeyboardInterrupt."""
        with self.lock:
            if self.is_running:
                raise RuntimeError("a value of a cluster is needed by code that interrupts the cluster's run")
            last, storages, numbers = self.last, self.storages, self.numbers
            if last is ROOT:
                return
            seconds = time.perf_counter() - self.started
            self.last, self.storages, self.numbers, self.snapshots = ROOT, [], [], 0
            self.is_running = True
            state: Failed | None = None
            try:
                run_trace(last, storages, numbers, reason, seconds)
            except BaseException as error:
                state = Failed(error)
                raise
            finally:
                self.is_running = False
                for storage in storages:
                    storage.owner = None if state is None or storage.is_filled else state
                    storage.is_filled = storage.owner is None


class _Local(threading.local):
    def __init__(self) -> None:
        self.recorder = Recorder()


LOCAL = _Local()


def fill(storage: Storage, writing: bool, reason: str) -> None:
    """Run what is recorded of a storage, for reading or (true) for writing, and why."""
    while (owner := storage.owner) is not None and (writing or not storage.is_filled):
        if isinstance(owner, Failed):
            raise RuntimeError("this array has no values: the run that computes them ended early") from owner.error
        owner.flush(reason)
    if writing:
        storage.bounds = None


def flush(reason: str) -> None:
    """Run what this thread recorded."""
    LOCAL.recorder.flush(reason)


Hooks.fill = fill
