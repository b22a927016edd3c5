"""
Programs for several devices on one CPU: each device is a thread that runs the same machine code.

    program = compile_replicated(text, num_replicas=1, num_partitions=4)
    results = program([[x0], [x1], [x2], [x3]])

The same in single steps, for a caller with its own buffers and a parsed module:

    shardings = partition(ctx, module, num_replicas, num_partitions)      # rewrites the module: one device's program
    shardings.parameters[0].text, shardings.outputs[0].op_sharding        # how arguments and results are split
    executable = build(ctx, module, ..)                                   # its types are those of the parts
    run_on_devices(
        lambda number: executable.run_at(addresses[number]),
        num_replicas, num_partitions, independent=not has_collectives(executable),
    )

`run_on_devices` calls a function once per device, each in its own thread; the threads meet in the program's collectives
(hlo_dialect/custom_calls/rendezvous.py).
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...hlo_dialect.attributes import int_attr
from ...hlo_dialect.custom_calls.collective_calls import MEETINGS
from ...hlo_dialect.custom_calls.rendezvous import DeviceGrid, DeviceReleased, running_on
from ...hlo_dialect.printing import print_module
from ...hlo_dialect.sharding.tilings import Tiling
from ...hlo_dialect.threads import next_of, start_daemon
from ...hlo_dialect.types import Array, i32
from ...passes.partition_spmd.transform import output_tilings, parameter_tilings
from ..compile import compile_source
from ..program.pipeline import run_passes
from ..program.source import Source, read_source
from .executable import CpuExecutable
from .stops import STOPS
from .target import CPU
from .threads import set_thread_count, thread_count

T = TypeVar("T")
_Task = Callable[[], None]


class _Worker:
    """A thread that runs one task after the other; threads are kept for the next program."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[_Task] = queue.SimpleQueue()
        self.ident = start_daemon(self._work)
        """The number of the thread, as threading.get_ident() has it."""

    def run(self, task: _Task) -> None:
        self._tasks.put(task)

    def _work(self) -> None:
        while True:
            self._tasks.get()()


class _Workers:
    """The process's idle workers."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._lock = threading.RLock()  # a handler of a signal may run a program meanwhile

    def take(self, count: int) -> list[_Worker]:
        with self._lock:
            taken = self._idle[:count]
            del self._idle[:count]
            while len(taken) < count:
                taken.append(_Worker())
            return taken

    def give_back(self, workers: Sequence[_Worker]) -> None:
        with self._lock:
            self._idle.extend(workers)

    def forget(self) -> None:
        """The child of a fork has none of the threads, and no other thread that holds the lock."""
        self._idle, self._lock = [], threading.RLock()


_workers = _Workers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_workers.forget)


def has_collectives(executable: CpuExecutable) -> bool:
    """Whether the program has collectives, in which its devices wait for each other."""
    return any(kernel.target in MEETINGS for kernel in executable.kernels)


def run_on_devices(
    run: Callable[[int], T], num_replicas: int, num_partitions: int, *, independent: bool = False
) -> list[T]:
    """
    Call `run(n)` for each device n = replica * num_partitions + partition in its own thread; return the results.

    Programs that `run` calls meet in their collectives. If one fails, those that wait for it are released, and its
    exception is raised here. Thread-safe, and reentrant from `run`. If the caller knows that the devices are
    `independent` (see `has_collectives`), they run one after the other on its own thread, which is cheaper.
    """
    grid = DeviceGrid(num_replicas, num_partitions)
    count = num_replicas * num_partitions
    if independent:
        return [_run_alone(grid, number, run) for number in range(count)]
    results: list[Any] = [None] * count
    errors: list[BaseException | None] = [None] * count
    done: queue.SimpleQueue[int] = queue.SimpleQueue()
    # The teams of all devices together have the size of the caller's team.
    team = max(1, thread_count() // count)

    def task(number: int) -> None:
        try:
            set_thread_count(team)
            with running_on(grid, number):
                results[number] = run(number)
        except BaseException as error:
            errors[number] = error
        grid.end(grid.devices[number], errors[number])
        done.put(number)

    workers = _workers.take(count)
    for number, worker in enumerate(workers):
        worker.run(lambda number=number: task(number))
    try:
        for _ in range(count):
            next_of(done)
    except BaseException as error:  # On an interrupt the devices must not wait for each other forever.
        grid.fail(error)
        STOPS.ask_threads({worker.ident for worker in workers})
        raise
    _workers.give_back(workers)
    _raise_first([error for error in errors if error is not None])
    return results


def _run_alone(grid: DeviceGrid, number: int, run: Callable[[int], T]) -> T:
    with running_on(grid, number):
        return run(number)


def _raise_first(errors: Sequence[BaseException]) -> None:
    """Raise the failure that was the cause, not those of devices that were only released."""
    if errors:
        raise next((error for error in errors if not _was_released(error)), errors[0])


def _was_released(error: BaseException | None) -> bool:
    return error is not None and (isinstance(error, DeviceReleased) or _was_released(error.__cause__))


@dataclass
class Shardings:
    """
    How the arguments and results of a program are split among partitions; see `Tiling.text` and `Tiling.op_sharding`.
    """

    parameters: list[Tiling]
    outputs: list[Tiling]


class ReplicatedExecutable:
    """A callable that takes the arguments of each device and returns the results of each. Thread-safe."""

    def __init__(self, executable: CpuExecutable, num_replicas: int, num_partitions: int, shardings: Shardings):
        self.executable = executable
        """The program of one device."""
        self.shardings = shardings
        self.num_replicas = num_replicas
        self.num_partitions = num_partitions
        self._independent = not has_collectives(executable)

    def __call__(self, arguments: Sequence[Sequence[Any]]) -> list[tuple[Array, ...]]:
        """Run on all devices; device n is partition n % num_partitions of replica n // num_partitions."""
        count = self.num_replicas * self.num_partitions
        if len(arguments) != count:
            raise TypeError(f"expected the arguments of {count} devices, got those of {len(arguments)}")

        def run(number: int) -> tuple[Array, ...]:
            results: Array | tuple[Array, ...] = self.executable(*arguments[number])
            return results if isinstance(results, tuple) else (results,)

        return run_on_devices(run, self.num_replicas, self.num_partitions, independent=self._independent)


def state_grid(module: ModuleOp, num_replicas: int, num_partitions: int) -> None:
    """Record in the module the number of devices for which it is compiled."""
    module.attributes["mhlo.num_replicas"] = int_attr(num_replicas, i32)
    module.attributes["mhlo.num_partitions"] = int_attr(num_partitions, i32)


def partition(ctx: Context, module: ModuleOp, num_replicas: int, num_partitions: int) -> Shardings:
    """
    Rewrite a parsed module, in place, to the program of one device; a module that is already one is unchanged.

    Raises DiagnosticError for invalid or unsupported shardings.
    """
    state_grid(module, num_replicas, num_partitions)
    if num_partitions > 1:
        passes = ("inline", "convert-quantized-to-integer", "propagate-shardings", "partition-spmd")
        # The program of one device is shown as HLO, which has no operations of chlo.
        run_passes(ctx, module, (*passes, "convert-chlo-to-hlo{complete=true}"))
    return Shardings(parameter_tilings(module), output_tilings(module))


def compile_replicated(
    program: Any, num_replicas: int, num_partitions: int, *, profile: bool = False, guard: bool | str | None = None
) -> ReplicatedExecutable:
    """
    Compile a program for a grid of devices of this CPU.

    `program` is anything that `xhlo.compile` takes. With shardings and several partitions it is a program on whole
    arrays, and is partitioned; otherwise it is the program of one device, whose collectives name the others. `guard`:
    see `targets.compile.compile_program`. Raises DiagnosticError for an invalid program, or collectives that do not fit
    the grid.
    """
    shardings = Shardings([], [])

    def prepare(ctx: Context, module: ModuleOp) -> Source:
        nonlocal shardings
        shardings = partition(ctx, module, num_replicas, num_partitions)
        return Source(print_module(module), source.filename)

    source = read_source(program)
    executable = compile_source(source, CPU, profile, prepare, guard)
    assert isinstance(executable, CpuExecutable)
    return ReplicatedExecutable(executable, num_replicas, num_partitions, shardings)
