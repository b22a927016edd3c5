"""
The recorder of each thread: calls of NumPy are kept in order until a value is needed, then run as one cluster.

A call is run by NumPy the first time that it is met for operands of some types. Its result teaches what the next such
call returns, so that shapes, dtypes, views and errors are NumPy's own, and nothing is inferred.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy._core import umath

from ...hlo_dialect.types import element_type_of
from .arrays import ClusterArray, Hooks
from .calls import (
    ASSIGN,
    GET,
    Known,
    NotRecordable,
    Result,
    Target,
    known_bounds,
    number_kind,
    result_of,
    static_key,
)
from .clusters import Recorded, refusal, run_cluster
from .storage import Handle, Number, Read, Storage

LIMIT = 320
"""The number of operations after which a cluster ends at the latest."""
LOOP = 128
"""That after which it ends where it began, in a loop of the user's: so that iterations make equal clusters."""
SNAPSHOTS = 1 << 28
"""Bytes of copies of plain arrays after which a cluster ends."""
MANY_CALLS = 20000
"""The number of calls that are remembered."""
LONG_LIST = 64

_KNOWN: dict[Any, Known] = {}

_FLOATING_POINT_ERRORS: Any = getattr(umath, "_extobj_contextvar", None)
"""NumPy's np.errstate, whose object is compared faster than np.geterr() is called."""
_OURS = (__name__.rpartition(".clusters.")[0], "numpy.")
"""The modules that stand between the user's code and a call."""


class Failed:
    """In place of a recorder: the error of a cluster that did not end, whose arrays have no values."""

    def __init__(self, error: BaseException):
        self.error = error


class Recorder:
    """The operations that a thread recorded."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.log: list[Recorded] = []
        self.snapshots = 0
        self.is_running = False

    def add(self, one: Recorded) -> None:
        with self.lock:
            if self.log and (
                len(self.log) >= LIMIT
                or self.snapshots > SNAPSHOTS
                or (len(self.log) >= LOOP and one.place == self.log[0].place)
            ):
                self.flush("it began anew, in a loop" if one.place == self.log[0].place else "it is long enough")
            self.log.append(one)
            for read in one.reads:
                read.storage.pending = self
            for read in one.writes:
                read.storage.pending, read.storage.is_filled, read.storage.bounds = self, False, one.known.bounds

    def flush(self, reason: str) -> None:
        """Run what is recorded. Raises what NumPy raises, and MemoryError, KeyboardInterrupt."""
        with self.lock:
            if self.is_running:
                raise RuntimeError("a value of a cluster is needed by code that interrupts the cluster's run")
            log, self.log, self.snapshots = self.log, [], 0
            storages = {id(read.storage): read.storage for one in log for read in (*one.reads, *one.writes)}
            self.is_running = True
            state: Failed | None = None
            try:
                run_cluster(log, reason)
            except BaseException as error:
                state = Failed(error)
                raise
            finally:
                self.is_running = False
                for storage in storages.values():
                    storage.pending = None if state is None or storage.is_filled else state
                    storage.is_filled = storage.pending is None


class _Local(threading.local):
    def __init__(self) -> None:
        self.recorder = Recorder()


_LOCAL = _Local()


def _fill(storage: Storage, writing: bool, reason: str) -> None:
    while (pending := storage.pending) is not None and (writing or not storage.is_filled):
        if isinstance(pending, Failed):
            raise RuntimeError("this array has no values: the run that computes them ended early") from pending.error
        pending.flush(reason)


# Arguments.


class _Arguments:
    """The arguments of a call as they are kept, their key, and the arrays among them."""

    def __init__(self, target: Target, args: Sequence[Any], kwargs: dict[str, Any]):
        self._with_numbers = target.with_numbers
        self.reads: list[Read] = []
        self.arrays: list[ClusterArray] = []
        self.numbers: list[Number] = []
        self.plain: list[Read] = []
        """Arrays of other code, whose storage is not made yet."""
        keys: list[Any] = [target]
        kept: list[Any] = []
        for value in args:
            key, one = self.encode(value, self._with_numbers)
            keys.append(key)
            kept.append(one)
        self.args = kept
        self.kwargs: dict[str, Any] = {}
        for name, value in kwargs.items():
            key, self.kwargs[name] = self.encode(value, False)
            keys.append((name, key))
        self.key = tuple(keys)

    def encode(self, value: Any, with_numbers: bool) -> tuple[Any, Any]:
        kind = type(value)
        if kind is ClusterArray:
            array = value.array
            one = Read(value.handle.storage, value.view)
            self.reads.append(one)
            self.arrays.append(value)
            return (array.shape, array.strides, array.dtype, value.is_scalar), one
        if with_numbers and (kind is float or kind is int or kind is complex or isinstance(value, np.number)):
            number = Number(value)
            self.numbers.append(number)
            return number_kind(value), number
        if kind is np.ndarray:
            if element_type_of(value.dtype) is None:
                raise NotRecordable(f"an array of {value.dtype}")
            one = Read(None, value)  # pyright: ignore[reportArgumentType]  # nothing asks a plain array for its storage
            self.plain.append(one)
            return (value.shape, value.strides, value.dtype, "plain"), one
        if kind in (tuple, list):
            if len(value) > LONG_LIST:
                raise NotRecordable("a long list")
            parts = [self.encode(item, False) for item in value]
            return (kind, *[key for key, _ in parts]), kind([one for _, one in parts])
        return static_key(value), value

    def count(self) -> int:
        """The number of arrays."""
        return len(self.reads) + len(self.plain)

    def snapshot(self) -> int:
        """Copy arrays of other code, which may change them before the cluster runs. Returns the bytes."""
        if not self.plain:
            return 0
        for one in self.plain:
            assert one.view is not None
            one.storage, one.view = Storage(np.array(one.view, order="C")), None
            self.reads.append(one)
        return sum(one.storage.base.nbytes for one in self.plain)


def _plain(value: Any, outside: bool) -> Any:
    """The arguments for NumPy itself."""
    kind = type(value)
    if kind is ClusterArray:
        if outside:
            return value.shared("a function takes it")
        return value.array[()] if value.is_scalar else value.array
    if kind in (tuple, list):
        return kind([_plain(item, outside) for item in value])
    if kind is dict:
        return {key: _plain(item, outside) for key, item in value.items()}
    return value


def _arrays_in(value: Any) -> list[ClusterArray]:
    if type(value) is ClusterArray:
        return [value]
    if type(value) is dict:
        value = list(value.values())
    if type(value) in (tuple, list):
        return [one for item in value for one in _arrays_in(item)]
    return []


# Results.


def _entered(box: Any, number: int, arrays: Sequence[ClusterArray]) -> Any:
    """A result of a call on the arrays, held by the box alone, as an array that records; others as they are."""
    value = box[number]
    if type(value) is not np.ndarray:
        return value
    for one in arrays:
        if value is one.array:
            return one
        if np.may_share_memory(value, one.handle.storage.base):
            return one.part(value)
    del value
    return entered(box, number)


def entered(box: Any, number: int = 0) -> Any:
    """An array of NumPy that only the box holds, as one that records; others as they are."""
    if type(box[number]) is not np.ndarray or sys.getrefcount(box[number]) > 2:
        return box[number]
    found = box[number]
    if element_type_of(found.dtype) is None or not found.flags.writeable:
        return found
    if found.base is not None:
        found = found.copy(order="K")
    if found.flags.c_contiguous:
        return made(Storage(found))
    try:
        result = result_of(found)
    except NotRecordable:
        return made(Storage(np.ascontiguousarray(found)))
    storage = Storage(result.stored(found))
    return ClusterArray(_handle(storage), found)


def _handle(storage: Storage) -> Handle:
    handle = Handle(storage)
    storage.handle = weakref.ref(handle)
    return handle


def made(storage: Storage) -> ClusterArray:
    """The array of all of a new storage."""
    return ClusterArray(_handle(storage))


def _wrapped(box: list[Any], arrays: Sequence[ClusterArray]) -> Any:
    """The result in the box, or the results in its tuple or list, as arrays that record."""
    found = box[0]
    if isinstance(found, tuple):
        parts = [_entered(found, number, arrays) for number in range(len(found))]
        return found._make(parts) if hasattr(found, "_fields") else tuple(parts)  # pyright: ignore
    if type(found) is list:
        return [_entered(found, number, arrays) for number in range(len(found))]
    del found
    return _entered(box, 0, arrays)


# Calls.


def _run_now(target: Target, args: Any, kwargs: Any, reason: str) -> tuple[list[Any], list[ClusterArray]]:
    """Let NumPy run a call, after what it needs. Returns its result in a list, and the arrays among the arguments."""
    arrays = _arrays_in(list(args)) + _arrays_in(kwargs)
    changes = target.changes or "out" in kwargs
    for one in arrays:
        one.filled(reason, writing=changes)
    outside = any(callable(one) and not isinstance(one, type) for one in args)
    given = [_plain(one, outside) for one in args]
    stated = {name: _plain(one, outside) for name, one in kwargs.items()}
    return [target.run(*given, **stated)], arrays


def _eager(target: Target, args: Any, kwargs: Any, reason: str) -> Any:
    return _wrapped(*_run_now(target, args, kwargs, reason))


def _learn(arguments: _Arguments, target: Target, args: Any, kwargs: Any) -> Any:
    box, arrays = _run_now(target, args, kwargs, f"{target.name} is met for the first time with such operands")
    if len(_KNOWN) > MANY_CALLS:
        _KNOWN.clear()
    known = _lesson(target, box[0], arrays, args, kwargs)
    if (known.kind == "call" and not target.fills) or (known.kind == "view" and arguments.count() > 1):
        known.is_checked = False
        if known.kind == "view":
            parts: Any = box[0] if isinstance(box[0], tuple | list) else box
            known.results = [Result(one.shape, one.dtype, None, False) for one in parts]
    _KNOWN[arguments.key] = known
    if known.kind == "call" and known.container is None and known.results[0].is_scalar:
        # As the next such call returns it, so that what is done with it is met now, and not then.
        return ClusterArray(_handle(Storage(np.array(box[0]))), None, True)
    return _wrapped(box, arrays)


def _lesson(target: Target, found: Any, arrays: list[ClusterArray], args: Any, kwargs: Any) -> Known:
    """Learn from a result about calls with such operands."""
    out = kwargs.get("out")
    if target is ASSIGN or (target.fills and type(out) is tuple and len(out) == 1 and type(out[0]) is ClusterArray):
        return Known(target, "write")
    parts: list[Any] = list(found) if type(found) in (tuple, list) else [found]
    views = [
        isinstance(one, np.ndarray) and any(np.may_share_memory(one, a.handle.storage.base) for a in arrays)
        for one in parts
    ]
    if parts and all(views):
        return Known(target, "view")
    kinds = all(isinstance(one, np.ndarray | np.generic) and element_type_of(one.dtype) is not None for one in parts)
    if out is not None or not parts or any(views) or not kinds:
        return Known(target, "eager", reason=f"{target.name} gives what is not an array, or not a new one")
    if target.run == np.power and found.dtype.kind in "iu" and isinstance(args[1], np.ndarray):
        return Known(target, "eager", reason="a negative power of an integer would be an error")
    try:
        results = [result_of(one) for one in parts]
    except NotRecordable as error:
        return Known(target, "eager", reason=str(error))
    axis = kwargs.get("axis", args[1] if len(args) > 1 else -1 if "argsort" in target.name else None)
    bounds = known_bounds(target, arrays, axis)
    return Known(target, "call", results, type(found) if type(found) in (tuple, list) else None, bounds)


def _raises_for_floats() -> bool:
    """Whether np.errstate asks for something at the line of an error in arithmetic."""
    return any(how not in ("warn", "ignore") for how in np.geterr().values())


_checked: list[Any] = [None, False]
"""The object of np.errstate that was looked at last, and what it said."""


def _is_strict() -> bool:
    if _FLOATING_POINT_ERRORS is None:
        return _raises_for_floats()
    state = _FLOATING_POINT_ERRORS.get()
    if state is not _checked[0]:
        _checked[:] = state, _raises_for_floats()
    return _checked[1]


def call(target: Target, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Record a call of NumPy, or let NumPy run it."""
    if target.is_fact:
        return target.run(*[_plain(one, False) for one in args], **kwargs)
    if target.trace is None:
        return _eager(target, args, kwargs, f"{target.name} runs in NumPy")
    if _is_strict():
        return _eager(target, args, kwargs, "np.errstate asks for errors at their line")
    try:
        found = _Arguments(target, args, kwargs)
    except NotRecordable as error:
        return _eager(target, args, kwargs, f"{target.name} has {error}")
    if any(one.storage.is_leased() for one in found.reads):
        return _eager(target, args, kwargs, "code outside of NumPy's functions holds the array")
    known = _KNOWN.get(found.key)
    if known is None:
        return _learn(found, target, args, kwargs)
    if not known.is_checked:
        # Not before it is met again: code that never repeats does not pay for it.
        known.is_checked = True
        known.reason = refusal(target, found.args, found.kwargs, known.results)
        known.kind = "eager" if known.reason else known.kind
    if known.kind == "view":
        given = [_plain(one, False) for one in args]
        box = [target.run(*given, **{name: _plain(one, False) for name, one in kwargs.items()})]
        return _wrapped(box, found.arrays)
    if known.kind == "eager":
        return _eager(target, args, kwargs, known.reason)
    if target is GET and not _is_inside(args[0], args[1]):
        return _eager(target, args, kwargs, "the bounds of an index are checked")
    return _record(known, found)


def _is_inside(array: ClusterArray, key: Any) -> bool:
    """Whether the arrays of an index are known to lie inside, or are: an error comes at this line."""
    for dim, part in enumerate(key if isinstance(key, tuple) else (key,)):
        if type(part) is ClusterArray:
            bounds = part.handle.storage.bounds
            if bounds is None:
                values = part.filled("the bounds of an index are checked")
                bounds = (int(values.min()), int(values.max())) if values.size else (0, 0)
            if part.dtype.kind not in "iu" or bounds[0] < -array.shape[dim] or bounds[1] >= array.shape[dim]:
                return False
        elif not isinstance(part, (int, slice)):
            return False
    return True


def _record(known: Known, found: _Arguments) -> Any:
    recorder = _LOCAL.recorder
    for one in found.reads:
        if one.storage.pending is not None and one.storage.pending is not recorder:
            _fill(one.storage, True, "another thread works on it")
    arrays: list[ClusterArray] = []
    if known.kind == "write":
        writes: list[Read] = [found.args[0] if known.target is ASSIGN else found.kwargs["out"][0]]
        returned: Any = (
            None
            if known.target is ASSIGN
            else next(
                one for one in found.arrays if one.handle.storage is writes[0].storage and one.view is writes[0].view
            )
        )
    else:
        for result in known.results:
            storage = Storage(result.memory())
            view = None if result.order is None else result.view(storage.base)
            arrays.append(ClusterArray(_handle(storage), view, result.is_scalar))
        writes = [Read(one.handle.storage, None) for one in arrays]
        returned = arrays[0] if known.container is None else known.container(arrays)
    recorder.snapshots += found.snapshot()
    recorder.add(Recorded(known, found.args, found.kwargs, found.reads, writes, found.numbers, _users_place()))
    return returned


def _users_place() -> Any:
    """The user's instruction: its code and where in it."""
    frame = sys._getframe(3)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def flush(reason: str) -> None:
    """Run what this thread recorded."""
    _LOCAL.recorder.flush(reason)


Hooks.call, Hooks.fill = call, _fill
