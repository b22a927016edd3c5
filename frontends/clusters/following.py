"""
The commonest calls, those of one or two operands, where a trace goes on as it did before: found by one lookup.

They do what `dispatch.call` does with as little work as there is: a short operation on arrays that stay in the
processor's caches takes no longer than a few of these lookups.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import time
from typing import Any

import numpy as np

from .arrays import ClusterArray, Hooks
from .calls import Target
from .dispatch import SMALL, call, entered, given_up_bytes, is_strict, run_here
from .recorder import LOCAL, Recorder
from .storage import Storage
from .traces import GIVEN_UP, ROOT, Step

_NEW, _CLOCK = object.__new__, time.perf_counter


def _result(recorder: Recorder, step: Step) -> ClusterArray:
    """Record a call of one whole result, which is returned; as `Recorder.advance` does, without calls."""
    if step.depth == 1:
        recorder.started = _CLOCK()
    recorder.last = step
    storages = recorder.storages
    storage: Storage = _NEW(Storage)
    storage.facts = facts = step.facts
    storage.memory = storage.lease = storage.bounds = storage.origin = None
    storage.owner = recorder
    storage.slot = len(storages)
    storage.is_filled = False
    storages.append(storage)
    found: ClusterArray = _NEW(ClusterArray)
    found.storage = storage
    found.view = found.place = found.source = None
    found.is_scalar = facts.is_scalar
    return found


def _here(value: Any, size: int) -> Any:
    """An operand for NumPy itself, which is to run the call at once; None if it has no values yet, or is larger."""
    kind = type(value)
    if kind is ClusterArray:
        storage = value.storage
        if storage.owner is not None or storage.facts.nbytes > size:
            return None
        if storage.origin is not None:
            storage.origin.note_loss(storage)
        found = value.view
        if found is None:
            found = storage.base
        return found[()] if value.is_scalar else found
    return None if kind is list or kind is tuple or (kind is np.ndarray and value.nbytes > size) else value


def call_of_one(target: Target, operand: Any) -> Any:
    """A call of a function of one array."""
    recorder = LOCAL.recorder
    if GIVEN_UP and recorder.last is ROOT and (size := given_up_bytes()) >= 0 and _here(operand, size) is not None:
        return run_here(target, (operand,), {})
    with recorder.lock:
        count, last = len(recorder.storages), recorder.last
        if operand.view is None and (storage := operand.storage).owner is recorder:
            key = target, storage.slot
        else:
            key = target, recorder.array_key(operand)
        step = last.likely
        if step.key != key:
            step = last.following(key)
        if step is not None and step.is_whole and not step.given_up and not is_strict():
            return _result(recorder, step)
        if len(recorder.storages) > count:
            recorder.undo(count, len(recorder.numbers))
    return call(target, (operand,), {})


def call_of_two(target: Target, left: Any, right: Any) -> Any:
    """A call of a function of two arrays, or of an array and a number."""
    recorder = LOCAL.recorder
    if GIVEN_UP and recorder.last is ROOT and (size := given_up_bytes()) >= 0:
        first, second = _here(left, size), _here(right, size)
        if first is not None and second is not None:
            found = target.run(first, second)
            if type(found) is not np.ndarray or found.nbytes <= SMALL:
                return found
            box = [found]
            del found
            return entered(box)
    with recorder.lock:
        last = recorder.last
        count, numbers = len(recorder.storages), len(recorder.numbers)
        if type(left) is ClusterArray and left.view is None and (storage := left.storage).owner is recorder:
            first = storage.slot
        else:
            first = recorder.operand_key(left)
        if type(right) is ClusterArray and right.view is None and (storage := right.storage).owner is recorder:
            second = storage.slot
        else:
            second = recorder.operand_key(right)
        key = target, first, second
        step = last.likely
        if step.key != key:
            step = last.following(key)
        if step is not None and step.is_whole and not step.given_up and not is_strict():
            return _result(recorder, step)
        recorder.undo(count, numbers)
    return call(target, (left, right), {})


def call_in_place(target: Target, left: Any, right: Any) -> Any:
    """A call of a function of two arrays, or of an array and a number, that replaces the first."""
    recorder = LOCAL.recorder
    if GIVEN_UP and recorder.last is ROOT and (size := given_up_bytes()) >= 0:
        replaced, given = _here(left, size), _here(right, size)
        if replaced is not None and given is not None:
            target.run(replaced, given, replaced)
            left.storage.bounds = None
            return left
    with recorder.lock:
        count, numbers = len(recorder.storages), len(recorder.numbers)
        first, second = recorder.array_key(left), recorder.operand_key(right)
        key = target, first, second, ("out", (tuple, recorder.array_key(left)))
        step = recorder.last.likely
        if step.key != key:
            step = recorder.last.following(key)
        if step is not None and not step.given_up and not is_strict():
            if step.depth == 1:
                recorder.started = _CLOCK()
            recorder.last = step
            left.storage.is_filled, left.storage.bounds = False, None
            return left
        recorder.undo(count, numbers)
    return call(target, (left, right), {"out": (left,)})


Hooks.call_of_one, Hooks.call_of_two, Hooks.call_in_place = call_of_one, call_of_two, call_in_place
