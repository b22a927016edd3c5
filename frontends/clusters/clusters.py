"""
Clusters: recorded operations that run together, by NumPy in their order, or compiled as one program.

Equal clusters (the same calls on operands of the same types and places, the same results wanted) are one `Cluster`,
which is compiled when it was seen often enough. Where recording is measured to cost more than it gains, it is given up.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...targets.compile import compile_program
from ...targets.program.executable import Executable
from ..numpy.errors import TraceError
from .programs import Program
from .storage import Storage, held, number_key
from .traces import Step, forget, forget_if_many, give_up

MANY_CLUSTERS = 4096
"""The number of clusters that are remembered."""
MANY_SIZES = 8
"""The number of programs compiled for the same calls on operands of different shapes, from which each has to pay."""
COMPILE_SECONDS = 0.02
"""A rough time to compile one operation, before any was compiled."""
EAGER_SECONDS = 5e-7
"""A rough time that a call of NumPy costs on an array that records, beyond NumPy's."""
SLOW_RECORDING = 8e-6
"""The seconds that recording an operation takes at most, where the processor's caches hold none of what it needs."""
MANY_TIMES = 100
"""How much longer than recording NumPy takes where recording for nothing does not matter."""
FEW_TIMES = 10
"""The same for clusters that may be compiled when they come again, while others come where they began."""
MUCH_LOST = 5e-3
"""The seconds lost where clusters begin after which recording is given up there, however few they were."""
ENOUGH = 3
"""Runs of a compiled cluster whose least time counts: the first starts threads and gets memory."""
TRIALS = (3, 0.6), (6, 0.6), (20, 0.3), (60, 0.15)
"""
The runs of a program after which NumPy runs the cluster again, if the program takes more than this part of NumPy's
time: its first run is slow, and others may have disturbed it.
"""


@dataclass
class Settings:
    compile_after: int = 2
    """How often a cluster is recorded until it is compiled."""
    min_operations: int = 2
    must_gain: bool = True
    """Whether only what can gain time is compiled."""


SETTINGS = Settings()


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
    recording_seconds: float = float("inf")
    """The time that recording it took at least, with the user's own code between the calls."""
    numpy_seconds: float = float("inf")
    """The time that NumPy took for the operations, in the shortest run."""
    trials: int = 0
    """Runs by NumPy after it was compiled."""
    total_seconds: float = 0.0
    """All runs by NumPy."""
    compiled_seconds: float = float("inf")
    saved_seconds: float = 0.0
    rejected: str = ""
    """Why it is not compiled."""
    given_up: str = ""
    """Why it is not recorded any more."""


CLUSTERS: dict[Any, Cluster] = {}
_compiled: Counter[Any] = Counter()
"""Programs by their calls, whatever the shapes."""
_spent: list[float] = [0.0, 0.0]
"""Seconds of compiling, and operations compiled."""


@dataclass(eq=False)
class _End:
    """The cluster of a trace that ended, and where its operands are among the trace's."""

    cluster: Cluster
    inputs: list[int]
    outputs: list[int]
    numbers: list[int]


_each: list[float] = [4e-6]
"""The seconds that recording an operation takes: the least that was seen."""


def forget_clusters() -> None:
    """Forget all clusters, and what leads to them."""
    CLUSTERS.clear()
    forget()


def run_trace(last: Step, storages: list[Storage], numbers: list[Any], reason: str, seconds: float) -> None:
    """Run what is still wanted of a trace, whose recording took these seconds."""
    forget_if_many()
    live = tuple(held(storages))
    program: Program | None = None
    if live not in last.ends:
        program = Program(last, storages, numbers, live)
        last.ends[live] = _end_of(program) if program.recorded else None
    end: _End | None = last.ends[live]
    if end is None:
        return
    cluster = end.cluster
    cluster.seen += 1
    cluster.ends[reason] += 1
    _note_recording(last.depth, seconds)
    cluster.recording_seconds = min(cluster.recording_seconds, seconds)
    _note_numbers(cluster, [numbers[slot] for slot in end.numbers])
    is_trial = _is_trial(cluster)
    if cluster.executable is None or cluster.rejected or is_trial:
        program = program or Program(last, storages, numbers, live)
        if cluster.executable is None and not cluster.rejected and _is_due(last, cluster, program):
            _compile(cluster, program)
        if cluster.executable is None or cluster.rejected or is_trial:
            _replay(last, storages, cluster, program)
            return
        program.recorded.clear()
    start = time.perf_counter()
    _run_compiled(end, cluster.executable, storages, numbers)
    _note_run(last, storages, cluster, time.perf_counter() - start)


def _note_recording(depth: int, seconds: float) -> None:
    """Note how long it took to record a trace of so many operations."""
    if depth >= 8:
        _each[0] = max(1e-6, min(_each[0], seconds / depth))


def _end_of(program: Program) -> _End:
    cluster = CLUSTERS.get(program.key)
    if cluster is None:
        if len(CLUSTERS) >= MANY_CLUSTERS:
            forget_clusters()
        cluster = CLUSTERS[program.key] = _new_cluster(program)
    slots = program.slots
    inputs, outputs = ([slots[id(one)] for one in storages] for storages in (program.inputs, program.outputs))
    return _End(cluster, inputs, outputs, program.number_slots)


def _run_compiled(end: _End, executable: Executable, storages: list[Storage], numbers: list[Any]) -> None:
    given: list[Any] = [storages[slot].base for slot in end.inputs]
    given += [np.asarray(numbers[end.numbers[index]]) for index in sorted(end.cluster.varying)]
    found = executable(*given)
    # Others than the storages would keep memory in its place.
    given.clear()
    results: list[Any] = list(found) if isinstance(found, tuple) else [found]
    del found
    for slot in end.outputs:
        storages[slot].take(results.pop(0))
        storages[slot].is_filled = True


def _replay(last: Step, storages: list[Storage], cluster: Cluster, program: Program) -> None:
    """Let NumPy run it."""
    seconds = program.replay()
    cluster.numpy_seconds = min(cluster.numpy_seconds, seconds)
    cluster.total_seconds += seconds
    if cluster.executable is not None and not cluster.rejected:
        cluster.trials += 1
    elif cluster.numpy_seconds < MANY_TIMES * last.depth * _each[0] and (
        cluster.rejected or len(cluster.operations) < SETTINGS.min_operations or _cannot_gain(last, cluster)
    ):
        _weigh(last, storages, cluster, 0.0, cluster.seen)
    elif SETTINGS.must_gain and cluster.numpy_seconds < FEW_TIMES * last.depth * _each[0]:
        _weigh(last, storages, cluster, 0.0, 0)


def _is_trial(cluster: Cluster) -> bool:
    """Whether NumPy is to run a compiled cluster, to see how long it takes."""
    if cluster.trials >= len(TRIALS) or cluster.runs < TRIALS[cluster.trials][0]:
        return False
    ours = cluster.compiled_seconds + len(cluster.operations) * _each[0]
    if ours > TRIALS[cluster.trials][1] * cluster.numpy_seconds:
        return True
    cluster.trials += 1
    return False


def _weigh(last: Step, storages: list[Storage], cluster: Cluster, gain: float, times: int) -> None:
    """Note what a run gained without the cost of recording; give recording up where it loses."""
    begin = last.first.beginning
    assert begin is not None
    each = max(_each[0], min(cluster.recording_seconds / last.depth, SLOW_RECORDING))
    begin.gain += gain - last.depth * (each - EAGER_SECONDS)
    begin.times += 1
    is_often = (times >= 4 and times.bit_count() == 1) or (begin.times >= 16 and begin.times.bit_count() == 1)
    # Equal clusters may begin at other places too, of which each is given up by itself.
    if not is_often and begin.gain > -MUCH_LOST:
        return
    if begin.gain >= 0:
        for one in storages:
            if one.origin is not None:
                one.origin.gains = True
        return
    give_up(last, storages)
    if cluster.runs:
        ways = f"and the program {cluster.compiled_seconds * 1e6:.0f}, NumPy {cluster.numpy_seconds * 1e6:.0f}"
    else:
        few = len(cluster.operations) < SETTINGS.min_operations
        why = "so few operations are not compiled" if few else f"and NumPy {cluster.numpy_seconds * 1e6:.0f}"
        ways = f"for nothing: {cluster.rejected or why}"
    cluster.given_up = f"recording takes {last.depth * each * 1e6:.0f} us {ways}"


def _new_cluster(program: Program) -> Cluster:
    places = {(one.place[0].co_filename, _line(*one.place)): None for one in program.recorded}
    return Cluster([one.known.target.name for one in program.recorded], list(places))


def _line(code: Any, instruction: int) -> int:
    line = list(code.co_positions())[instruction // 2][0]
    return line or code.co_firstlineno


def _note_numbers(cluster: Cluster, values: list[Any]) -> None:
    """Numbers that changed become parameters; from the second such time all."""
    if values == cluster.values and 0 not in values:
        return
    changed = {
        index
        for index, pair in enumerate(zip(cluster.values, values, strict=False))
        if number_key(pair[0]) != number_key(pair[1])
    } - cluster.varying
    cluster.values = values
    if changed:
        cluster.varying |= set(range(len(values))) if cluster.varying else changed
        cluster.executable = None


def _cannot_gain(last: Step, cluster: Cluster) -> bool:
    """Whether recording takes longer than NumPy, so that no program would be fast enough."""
    return SETTINGS.must_gain and cluster.numpy_seconds < last.depth * _each[0]


def _is_due(last: Step, cluster: Cluster, program: Program) -> bool:
    if cluster.seen < SETTINGS.compile_after or _cannot_gain(last, cluster):
        return False
    count = len(program.recorded)
    if count >= SETTINGS.min_operations and _compiled[tuple(cluster.operations)] < MANY_SIZES:
        return True
    each = max(COMPILE_SECONDS, _spent[0] / _spent[1] if _spent[1] else 0.0)
    return cluster.total_seconds > (1 if count >= SETTINGS.min_operations else 2) * each * count


def _note_run(last: Step, storages: list[Storage], cluster: Cluster, seconds: float) -> None:
    cluster.runs += 1
    cluster.compiled_seconds = min(cluster.compiled_seconds, seconds)
    if cluster.numpy_seconds < float("inf"):
        cluster.saved_seconds += cluster.numpy_seconds - seconds
        if cluster.runs < ENOUGH:
            return
        if cluster.compiled_seconds > 1.1 * cluster.numpy_seconds:
            cluster.rejected = "slower than NumPy"
        _weigh(last, storages, cluster, cluster.numpy_seconds - cluster.compiled_seconds, cluster.runs)


def _compile(cluster: Cluster, program: Program) -> None:
    start = time.perf_counter()
    try:
        cluster.executable = compile_program(program.trace(cluster.varying), "cpu", given=True)
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
