"""
Runs a program in one stream: CUDA graphs of its segments, with the host's loops and branches between them.

A segment runs command by command the first time, and as a CUDA graph from then on: launching a graph costs a few
microseconds regardless of the number of its kernels, launching kernels from Python 3 to 5 microseconds each. A graph
holds addresses. Those of the arena and of constants do not change; those of arguments and results are the caller's, and
usually alternate among a few, because freed arrays are reused. So a segment has a few graphs, keyed by their addresses;
if none fits, the least recently used one is updated: only kernels that take arguments or results change, 2 to 3
microseconds each. Copying arguments and results to fixed addresses instead would double the time of a memory-bound
program.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .device import CHECK, Device, StreamState
from .driver import Changeable, Command, CopyOnDevice, CopyToHost, GpuError, Launch, LibraryCall, RecordEvent
from .host_program import CopyStep, HostCallStep, LaunchStep, LibraryStep, ReadStep
from .plan import Branch, EventMark, Item, Loop, Part, Segment
from .streams import Stream

GRAPHS = "XHLO_GPU_GRAPHS"
"""The environment variable that, set to 0, disables graphs: every run enqueues command by command."""

MAX_GRAPHS = 4
"""
The maximum number of graphs per segment and stream: arguments and results may alternate among that many sets of
addresses.
"""

MIN_COMMANDS = 2
"""The fewest commands of a graph; a single command is enqueued directly."""

Spent = Callable[[str, int], None]
"""Called with a kernel's name and the nanoseconds of one call."""

HostFunction = Callable[[Sequence[int], Stream], None]
"""Runs a function of the host program on buffers at device addresses, in a stream."""


class _Replays:
    """The graphs of one segment."""

    def __init__(self) -> None:
        self.runs = 0
        self.graphs: OrderedDict[tuple[int, ...], tuple[Any, list[Command]]] = OrderedDict()
        """The graph and its commands, by the addresses of the segment's slots."""
        self.events: list[int] = []


class Runner:
    """A program's runs in one stream. `run` is called with the stream's lock held and the device entered."""

    def __init__(
        self,
        device: Device,
        state: StreamState,
        functions: dict[str, Any],
        host_functions: Sequence[HostFunction],
        registers: int,
        spent: Spent | None,
    ):
        self._device, self._driver = device, device.driver
        self.state = state
        self._stream = state.stream.handle
        self._functions = functions
        self._host_functions = host_functions
        self._spent = spent
        self._register_types: dict[int, np.dtype[Any]] = {}
        self._registers = state.registers(registers) if registers else 0
        self._replays: dict[Segment, _Replays] = {}
        self._checked = os.environ.get(CHECK, "0") not in ("", "0")
        self._with_graphs = os.environ.get(GRAPHS, "1") != "0" and not self._checked

    def run(self, part: Part, addresses: Sequence[int]) -> None:
        """Run on memory at the addresses of the slots. Raises GpuError."""
        for one in part:
            match one:
                case Segment():
                    self._run_segment(one, addresses)
                case HostCallStep():
                    self._call(one, addresses)
                case Loop():
                    self.run(one.first, addresses)
                    while self._value(one.register):
                        self.run(one.again, addresses)
                case Branch():
                    self.run(one.cases.get(self._value(one.register), one.default), addresses)

    # Values for the host.

    def _value(self, register: int) -> int:
        """The value that the program last read into a register."""
        with self._device.waiting():
            self._driver.synchronize(self._stream)
        dtype = self._register_types[register]
        raw = ctypes.string_at(self._registers + 8 * register, dtype.itemsize)
        return int(np.frombuffer(raw, dtype)[0])

    def _call(self, step: HostCallStep, addresses: Sequence[int]) -> None:
        start = time.perf_counter_ns()
        places = [addresses[place.slot] + place.offset for place in step.buffers]
        self._host_functions[step.index](places, self.state.stream)
        if self._spent is not None:
            self._spent(step.kernel, time.perf_counter_ns() - start)

    # Work for the GPU.

    def _run_segment(self, segment: Segment, addresses: Sequence[int]) -> None:
        replays = self._replays.get(segment)
        if replays is None:
            replays = self._replays[segment] = self._new_replays(segment)
        self._device.note_run(segment.kernels)
        replays.runs += 1
        # Kernels are timed back to back, as they run in a graph.
        warm = replays.runs > 1 or bool(segment.timed)
        if self._with_graphs and warm and len(segment.items) >= MIN_COMMANDS:
            self._driver.launch_graph(self._graph(segment, replays, addresses), self._stream)
        else:
            self._run_singly(segment, replays, addresses)
        if segment.timed:
            self._add_times(segment, replays)

    def _new_replays(self, segment: Segment) -> _Replays:
        for item in segment.items:
            if isinstance(item, ReadStep):
                self._register_types[item.register] = np.dtype(item.dtype)
        replays = _Replays()
        replays.events = [self._driver.new_event(timed=True) for _ in range(segment.events)]
        return replays

    def _run_singly(self, segment: Segment, replays: _Replays, addresses: Sequence[int]) -> None:
        for item in segment.items:
            self._driver.enqueue(self._command(item, replays, addresses), self._stream)
            if self._checked:
                self._wait_for(item)

    def _wait_for(self, item: Item) -> None:
        """Wait for a kernel. Raises a GpuError that names the kernel."""
        try:
            self._driver.synchronize(self._stream)
        except GpuError as error:
            name = item.function if isinstance(item, LaunchStep) else None
            name = item.kernel if isinstance(item, LibraryStep) else name
            raise type(error)(error.name, error.what, name) from error

    def _graph(self, segment: Segment, replays: _Replays, addresses: Sequence[int]) -> Any:
        """A graph of the segment with these addresses."""
        key = tuple([addresses[slot] for slot in segment.slots])
        found = replays.graphs.get(key)
        if found is not None:
            replays.graphs.move_to_end(key)
            return found[0]
        if len(replays.graphs) < MAX_GRAPHS:
            commands = [self._command(item, replays, addresses) for item in segment.items]
            found = self._driver.make_graph(commands), commands
        else:
            old, found = replays.graphs.popitem(last=False)
            self._move(segment, replays, found, old, key, addresses)
        replays.graphs[key] = found
        return found[0]

    def _move(
        self,
        segment: Segment,
        replays: _Replays,
        found: tuple[Any, list[Command]],
        old: tuple[int, ...],
        new: tuple[int, ...],
        addresses: Sequence[int],
    ) -> None:
        """Change the addresses of a graph."""
        graph, commands = found
        changed: dict[int, Changeable] = {}
        for slot, before, after in zip(segment.slots, old, new, strict=True):
            if before == after:
                continue
            for position in segment.users[slot]:
                command = self._command(segment.items[position], replays, addresses)
                assert not isinstance(command, RecordEvent)
                commands[position] = changed[position] = command
        self._driver.update_graph(graph, changed)

    def _command(self, item: Item, replays: _Replays, addresses: Sequence[int]) -> Command:
        match item:
            case LaunchStep():
                return Launch(
                    self._functions[item.function],
                    item.function,
                    item.grid,
                    item.block,
                    item.shared_bytes,
                    tuple([addresses[place.slot] + place.offset for place in item.arguments]),
                )
            case LibraryStep():
                places = tuple([addresses[place.slot] + place.offset for place in item.arguments])
                return LibraryCall(item.problem, item.kernel, places, self.state.workspace())
            case CopyStep(target, source, nbytes):
                to, start = addresses[target.slot] + target.offset, addresses[source.slot] + source.offset
                return CopyOnDevice(to, start, nbytes)
            case ReadStep(register, place, dtype):
                start = addresses[place.slot] + place.offset
                return CopyToHost(self._registers + 8 * register, start, np.dtype(dtype).itemsize)
            case EventMark(number):
                return RecordEvent(replays.events[number])

    def _add_times(self, segment: Segment, replays: _Replays) -> None:
        assert self._spent is not None
        with self._device.waiting():
            self._driver.synchronize(self._stream)
        for timed in segment.timed:
            start, end = replays.events[timed.start], replays.events[timed.end]
            self._spent(timed.kernel, self._driver.elapsed_ns(start, end))

    def __del__(self) -> None:
        """The driver frees running graphs when they are done."""
        if self._device.closed:
            return
        # After a kernel fault nothing can be freed any more.
        with suppress(GpuError), self._driver.entered():
            for replays in self._replays.values():
                for graph, _ in replays.graphs.values():
                    self._driver.free_graph(graph)
                for event in replays.events:
                    self._driver.free_event(event)
