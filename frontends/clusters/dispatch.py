"""
Calls of NumPy on arrays that record: recorded, or run by NumPy at once.

A call is run by NumPy the first time that it is met for operands of some types. Its result teaches what the next such
call returns, so that shapes, dtypes, views and errors are NumPy's own, and nothing is inferred.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
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
from .programs import refusal
from .recorder import LOCAL, LONG_LIST, Recorder, fill
from .storage import Number, Read, Storage, facts_of
from .traces import GIVEN_UP, LONG_WAYS, OFTEN, ROOT, At, NumberAt, Step, is_given_up

LIMIT = 320
"""The number of operations after which a cluster ends at the latest."""
LOOP = 128
"""That after which it ends where it began, in a loop of the user's: so that iterations make equal clusters."""
SNAPSHOTS = 1 << 28
"""Bytes of copies of plain arrays after which a cluster ends."""
MANY_CALLS = 20000
"""The number of calls that are remembered."""
SMALL = 1 << 16
"""Bytes of a result up to which an array that does not record is handed back where recording is given up."""

_KNOWN: dict[Any, Known] = {}

_FLOATING_POINT_ERRORS: Any = getattr(umath, "_extobj_contextvar", None)
"""NumPy's np.errstate, whose object is compared faster than np.geterr() is called."""
_OURS = (__name__.rpartition(".clusters.")[0], "numpy.")
"""The modules that stand between the user's code and a call."""
_BETWEEN = frozenset(
    f"{_OURS[0]}.{name}"
    for name in ("clusters.arrays", "clusters.context", "clusters.dispatch", "clusters.following", "numpy.entrances")
)
"""Those of them that lead to a call that may be given up."""


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
            one = Read(value.storage, value.found_place())
            self.reads.append(one)
            self.arrays.append(value)
            if value.view is None:
                return value.storage.facts, one
            return (value.view.shape, value.view.strides, value.view.dtype), one
        if with_numbers and (kind is float or kind is int or kind is complex or isinstance(value, np.number)):
            number = Number(value)
            self.numbers.append(number)
            return number_kind(value), number
        if kind is np.ndarray:
            if element_type_of(value.dtype) is None:
                raise NotRecordable(f"an array of {value.dtype}")
            # Nothing writes to it, and it is copied when the call is recorded.
            one = Read(Storage(facts_of(value.shape, value.dtype), value), None)
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
        if np.may_share_memory(value, one.storage.base):
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
        return holding(found)
    try:
        result = result_of(found)
    except NotRecordable:
        return holding(np.ascontiguousarray(found))
    storage = Storage(result.facts, result.stored(found))
    return ClusterArray(storage, found)


def made(storage: Storage) -> ClusterArray:
    """The array of all of a new storage."""
    return ClusterArray(storage, None, storage.facts.is_scalar)


def holding(array: np.ndarray[Any, Any], is_scalar: bool = False) -> ClusterArray:
    """An array that records, of row-major memory that nobody else has."""
    return made(Storage(facts_of(array.shape, array.dtype, is_scalar), array))


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
        return holding(np.array(box[0]), is_scalar=True)
    return _wrapped(box, arrays)


def _lesson(target: Target, found: Any, arrays: list[ClusterArray], args: Any, kwargs: Any) -> Known:
    """Learn from a result about calls with such operands."""
    out = kwargs.get("out")
    if target is ASSIGN or (target.fills and type(out) is tuple and len(out) == 1 and type(out[0]) is ClusterArray):
        return Known(target, "write")
    parts: list[Any] = list(found) if type(found) in (tuple, list) else [found]
    views = [
        isinstance(one, np.ndarray) and any(np.may_share_memory(one, a.storage.base) for a in arrays) for one in parts
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


def is_strict() -> bool:
    """Whether np.errstate asks for something at the line of an error, so that nothing is recorded."""
    if _FLOATING_POINT_ERRORS is None:
        return _raises_for_floats()
    state = _FLOATING_POINT_ERRORS.get()
    if state is not _checked[0]:
        _checked[:] = state, _raises_for_floats()
    return _checked[1]


def call(target: Target, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Record a call of NumPy, or let NumPy run it."""
    recorder = LOCAL.recorder
    if (
        GIVEN_UP
        and recorder.last is ROOT
        and (size := given_up_bytes()) >= 0
        and _are_small((*args, *kwargs.values()), size)
    ):
        return run_here(target, args, kwargs)
    if target.trace is not None and not is_strict():
        with recorder.lock:
            storages, numbers = len(recorder.storages), len(recorder.numbers)
            try:
                key = recorder.key(target, args, kwargs)
            except NotRecordable:
                # NumPy runs it, below.
                key = None
            step = recorder.last.following(key)
            if step is not None and step.is_fast and recorder.snapshots <= SNAPSHOTS:
                if not step.given_up or not is_given_up(step, users_place(), recorder.storages):
                    return recorder.advance(step, kwargs)
                recorder.undo(storages, numbers)
                return run_here(target, args, kwargs)
            recorder.undo(storages, numbers)
    return _call(target, args, kwargs)


def given_up_bytes() -> int:
    """The bytes of operands up to which NumPy runs a call at the user's place, as recording was given up; else -1."""
    frame: Any = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame.f_globals.get("__name__") in _BETWEEN and frame.f_back is not None:
        frame = frame.f_back
    found = GIVEN_UP.get((id(frame.f_code), frame.f_lasti))
    return -1 if found is None else found[0]


def _are_small(operands: Iterable[Any], size: int) -> bool:
    """Whether the arrays among the operands have their values, and no more bytes than that; none is in a list."""
    for one in operands:
        kind = type(one)
        if kind is ClusterArray:
            if one.storage.owner is not None or one.storage.facts.nbytes > size:
                return False
            if one.storage.origin is not None:
                one.storage.origin.note_loss(one.storage)
        elif kind is np.ndarray:
            if one.nbytes > size:
                return False
        elif kind is tuple or kind is list or kind is dict or (callable(one) and not isinstance(one, type)):
            return False
    return True


def run_here(target: Target, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Let NumPy run a call on operands that have their values, where recording does not pay."""
    given = [_plain(one, False) for one in args]
    stated = {name: _plain(one, False) for name, one in kwargs.items()} if kwargs else kwargs
    found = target.run(*given, **stated)
    if target.changes or kwargs:
        for one in (*args, *kwargs.values()):
            if type(one) is ClusterArray:
                one.storage.bounds = None
    if "out" in kwargs:
        return kwargs["out"][0]
    if type(found) is np.ndarray:
        if found.nbytes <= SMALL and found.base is None and not any(found is one for one in given):
            return found
        box = [found]
        del found
        return _wrapped(box, _arrays_in([*args, *kwargs.values()]))
    if isinstance(found, tuple | list):
        if all(type(one) is not np.ndarray or (one.nbytes <= SMALL and one.base is None) for one in found):
            return found
        return _wrapped([found], _arrays_in([*args, *kwargs.values()]))
    return found


def _is_often(_: Any) -> bool:
    """Whether this was asked often at the user's place, two calls above."""
    frame: Any = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    place = id(frame.f_code), frame.f_lasti
    times = LONG_WAYS[place] = LONG_WAYS.get(place, 0) + 1
    return times >= OFTEN


def _note_small(operands: Iterable[Any]) -> None:
    """Give recording up at the user's place if calls on small arrays take a long way there again and again."""
    arrays = [one for one in operands if type(one) is ClusterArray or type(one) is np.ndarray]
    size = max([one.storage.facts.nbytes if type(one) is ClusterArray else one.nbytes for one in arrays], default=0)
    if size <= SMALL:
        code, instruction = users_place()
        place = id(code), instruction
        LONG_WAYS[place] = LONG_WAYS.get(place, 0) + 1
        if LONG_WAYS[place] >= OFTEN:
            GIVEN_UP[place] = max(size, GIVEN_UP.get(place, (0,))[0]), code


def _call(target: Target, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A call that is not known to be the next step of a trace."""
    if target.is_fact:
        return target.run(*[_plain(one, False) for one in args], **kwargs)
    if target.trace is None:
        _note_small(args)
        return _eager(target, args, kwargs, f"{target.name} runs in NumPy")
    if is_strict():
        return _eager(target, args, kwargs, "np.errstate asks for errors at their line")
    try:
        found = _Arguments(target, args, kwargs)
    except NotRecordable as error:
        return _eager(target, args, kwargs, f"{target.name} has {error}")
    if any(one.storage.is_leased() for one in found.reads):
        return _eager(target, args, kwargs, "code outside of NumPy's functions holds the array")
    known = _KNOWN.get(found.key)
    if known is None:
        _note_small(args)
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
        _note_small(args)
        return _eager(target, args, kwargs, known.reason)
    if target is GET and not _is_inside(args[0], args[1]):
        return _eager(target, args, kwargs, "the bounds of an index are checked")
    return _record(known, found, args, kwargs)


def _is_inside(array: ClusterArray, key: Any) -> bool:
    """Whether the arrays of an index are known to lie inside, or are: an error comes at this line."""
    for dim, part in enumerate(key if isinstance(key, tuple) else (key,)):
        if type(part) is ClusterArray:
            bounds = part.storage.bounds
            if bounds is None:
                values = part.filled("the bounds of an index are checked")
                bounds = (int(values.min()), int(values.max())) if values.size else (0, 0)
            if part.dtype.kind not in "iu" or bounds[0] < -array.shape[dim] or bounds[1] >= array.shape[dim]:
                return False
        elif not isinstance(part, (int, slice)):
            return False
    return True


def _record(known: Known, found: _Arguments, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Record a call as a step that may be new."""
    recorder, user = LOCAL.recorder, users_place()
    for one in found.reads:
        if one.storage.owner is not None and one.storage.owner is not recorder:
            fill(one.storage, True, "another thread works on it")
    with recorder.lock:
        depth = recorder.last.depth
        if depth >= LOOP and recorder.last.first.user == user:
            recorder.flush("it began anew, in a loop")
        elif depth >= LIMIT or recorder.snapshots > SNAPSHOTS:
            recorder.flush("it is long enough")
        storages, numbers = len(recorder.storages), len(recorder.numbers)
        key = recorder.key(known.target, args, kwargs)
        step = recorder.last.following(key)
        if step is None:
            step = _new_step(recorder, known, found, user, numbers)
            if key is not None:
                recorder.last.follow(key, step)
        if is_given_up(step, user, recorder.storages):
            recorder.undo(storages, numbers)
            return run_here(known.target, args, kwargs)
        return recorder.advance(step, kwargs)


def _new_step(recorder: Recorder, known: Known, found: _Arguments, user: Any, numbers: int) -> Step:
    """The step of a call whose operands the recorder has noted: the last numbers, and arrays of other code to come."""
    for slot, one in enumerate(found.plain, len(recorder.storages)):
        one.storage.slot = slot
    given = {id(one): numbers + number for number, one in enumerate(found.numbers)}

    def at(value: Any) -> Any:
        kind = type(value)
        if kind is Read:
            return At(value.storage.slot, value.place)
        if kind is Number:
            return NumberAt(given[id(value)])
        return kind([at(item) for item in value]) if kind is tuple or kind is list else value

    args, kwargs = [at(one) for one in found.args], {name: at(one) for name, one in found.kwargs.items()}
    reads = [at(one) for one in (*found.reads, *found.plain)]
    if known.kind == "write":
        writes = [args[0] if known.target is ASSIGN else kwargs["out"][0]]
    else:
        first = len(recorder.storages) + len(found.plain)
        writes = [At(first + number, None) for number in range(len(known.results))]
    return Step(recorder.last, known, args, kwargs, reads, writes, user, known.target is not GET)


def users_place() -> Any:
    """The user's instruction: its code and where in it."""
    frame: Any = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


Hooks.call = call
Hooks.is_often = _is_often
