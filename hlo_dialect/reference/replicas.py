"""
Programs of several replicas and partitions in the reference: one interpreter for each process of the grid.

Processes run in threads of their own, but one at a time and in a fixed order: each runs until it ends or waits for
others in a collective. So results do not depend on timing, and processes that wait for ever are found at once.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region

from ..collectives.base import CollectiveOp
from ..collectives.exchanges import ProcessNumberOp
from ..collectives.process_groups import ProcessId
from ..diagnostics import Diagnostic, DiagnosticError, fail, op_message
from ..types import Array
from .interpreter import Environment, Handler, Interpreter


def evaluate_replicas(
    module: ModuleOp, inputs: Sequence[Sequence[Array]], *, num_partitions: int = 1, entry: str = "main"
) -> list[tuple[Array, ...]]:
    """
    The results of `entry` in every process of a grid, which exchange data in collective operations.

    `inputs` holds the arguments of each process: all partitions of replica 0, then those of replica 1, and so on; its
    length is the number of processes. The results have the same order.

    Raises ValueError when the processes do not make up replicas of `num_partitions`, TypeError when inputs do not fit
    the function, DiagnosticError where the program cannot go on: an operation without semantics, or processes that
    wait for others that never come.
    """
    if num_partitions < 1 or not inputs or len(inputs) % num_partitions:
        raise ValueError(f"{len(inputs)} processes do not make replicas of {num_partitions} partitions")
    return _Grid(module, inputs, num_partitions, entry).run()


class _Stopped(BaseException):
    """Ends the thread of a process whose grid has failed elsewhere."""


@dataclass(eq=False)
class _Process:
    """A process and its state: it runs, waits (`waits_in`, in `group`), or is done."""

    id: ProcessId
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    waits_in: CollectiveOp | None = None
    group: tuple[ProcessId, ...] = ()
    given: tuple[Array, ...] = ()
    collected: list[tuple[Array, ...]] = field(default_factory=list[tuple[Array, ...]])
    results: tuple[Array, ...] = ()
    error: BaseException | None = None
    done: bool = False

    @property
    def text(self) -> str:
        return f"process (replica {self.id[0]}, partition {self.id[1]})"


class _Grid:
    """The processes of one run, and whose turn it is."""

    def __init__(self, module: ModuleOp, inputs: Sequence[Sequence[Array]], partitions: int, entry: str):
        self.module = module
        self.entry = _entry(module, entry)
        self.inputs = inputs
        self.partitions = partitions
        self.replicas = len(inputs) // partitions
        self.processes = {id: _Process(id) for id in (divmod(number, partitions) for number in range(len(inputs)))}
        self.stopped = False
        self.returned = threading.Semaphore(0)
        """Released by a process that hands its turn back."""

    def run(self) -> list[tuple[Array, ...]]:
        processes = list(self.processes.values())
        threads = [
            threading.Thread(target=self._run_process, args=pair, daemon=True)
            for pair in zip(processes, self.inputs, strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            self._take_turns(processes)
        finally:
            self.stopped = True
            for process in processes:
                process.turn.release()
            for thread in threads:
                thread.join()
        return [process.results for process in processes]

    def _take_turns(self, processes: Sequence[_Process]) -> None:
        """Let each process run to its next collective, in order, until all are done. Raises what a process raised."""
        while not all(process.done for process in processes):
            ready = [process for process in processes if not process.done and process.waits_in is None]
            for process in ready:
                process.turn.release()
                self.returned.acquire()
                if process.error is not None:
                    raise process.error
            if not self._complete(processes) and not ready:
                raise _stuck([process for process in processes if not process.done], self.processes)

    def _complete(self, processes: Sequence[_Process]) -> bool:
        """Let go every group whose processes all wait in one operation. Whether there was one."""
        found = False
        for process in processes:
            op = process.waits_in
            if op is None:
                continue
            group = [self.processes[id] for id in process.group]
            if all(member.waits_in is op and member.group == process.group for member in group):
                collected = [member.given for member in group]
                for member in group:
                    member.waits_in, member.collected = None, collected
                found = True
        return found

    # In the thread of a process --------------------------------------------------------------------------------

    def _run_process(self, process: _Process, inputs: Sequence[Array]) -> None:
        process.turn.acquire()
        try:
            if not self.stopped:
                process.results = _ProcessInterpreter(self, process).call(self.entry, inputs)
        except _Stopped:
            pass
        except BaseException as error:
            process.error = error
        process.done = True
        self.returned.release()

    def gather(
        self, process: _Process, op: CollectiveOp, operands: tuple[Array, ...]
    ) -> tuple[int, list[tuple[Array, ...]]]:
        """Wait for the group of `process` in `op`: its place there, and the operands of all. (-1, []): in none."""
        op.check_grid(self.replicas, self.partitions)
        member = op.membership(process.id, self.replicas, self.partitions)
        if member is None:
            return -1, []
        process.waits_in, process.group, process.given = op, member.group, operands
        self.returned.release()
        process.turn.acquire()
        if self.stopped:
            raise _Stopped
        return member.index, process.collected


class _ProcessInterpreter(Interpreter):
    """The interpreter of one process."""

    def __init__(self, grid: _Grid, process: _Process):
        super().__init__(grid.module)
        self.grid = grid
        self.process = process

    def _handler(self, op: Operation) -> Handler | None:
        if isinstance(op, CollectiveOp):
            return self._run_collective
        if isinstance(op, ProcessNumberOp):
            number = op.number(self.process.id)
            return lambda op, operands, environment: (number,)
        return super()._handler(op)

    def _run_collective(
        self, op: Operation, operands: tuple[Array, ...], environment: Environment
    ) -> tuple[Array, ...]:
        assert isinstance(op, CollectiveOp)
        index, inputs = self.grid.gather(self.process, op, operands)

        def run(region: Region, *arguments: Array) -> tuple[Array, ...]:
            return self._run_region(region, environment, arguments)

        if index < 0:
            return op.absent(operands)
        return self._results(op, lambda: op.run_group(run, inputs, index))


def _entry(module: ModuleOp, name: str) -> FuncOp:
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == name:
            return op
    fail(module, f"has no function @{name}")


def _stuck(waiting: Sequence[_Process], processes: dict[ProcessId, _Process]) -> DiagnosticError:
    """The message about processes that wait forever: where each is, and which processes it waits for."""
    first = waiting[0].waits_in
    assert first is not None
    notes: list[Diagnostic] = []
    for process in waiting:
        op = process.waits_in
        assert op is not None
        missing = [
            processes[id]
            for id in process.group
            if processes[id].waits_in is not op or processes[id].group != process.group
        ]
        others = ", ".join(other.text + (", which has ended" if other.done else "") for other in missing)
        notes.append(Diagnostic("note", f"{process.text} waits here in '{op.name}' for {others}", op.location))
    message = f"never ends: {len(waiting)} processes wait for others that are not in the same operation and group"
    return DiagnosticError(Diagnostic("error", op_message(first, message), first.location, tuple(notes)))
