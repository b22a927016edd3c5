"""
Programs of several replicas and partitions in the reference: one interpreter for each process of the grid.

Processes run in threads of their own, but one at a time and in a fixed order: each runs until it ends or waits for
others in a collective. So results do not depend on timing, and processes that wait for ever are found at once.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, Region

from ..collectives.base import CollectiveOp
from ..collectives.exchanges import ProcessNumberOp
from ..collectives.host_transfers import InfeedOp, OutfeedOp, RecvOp, SendOp
from ..collectives.process_groups import ProcessId
from ..collectives.tokens import TOKEN
from ..diagnostics import Diagnostic, DiagnosticError, fail, op_message
from ..shapes import shapes_agree
from ..threads import own_stacks
from ..types import Array, element_of, numpy_dtype, shape_of
from .interpreter import Environment, Handler, refuse
from .showing import ShowingInterpreter


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
    interpreter = ShowingInterpreter(module)
    return Grid(interpreter, [_entry(module, entry)] * len(inputs), inputs, num_partitions).run()


class _Stopped(BaseException):
    """Ends the thread of a process whose grid has failed elsewhere."""


@dataclass(eq=False)
class _Process:
    """A process and its state: it runs, waits (`waits_in`, in `group`), or is done."""

    id: ProcessId
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    waits_in: CollectiveOp | RecvOp | None = None
    group: tuple[ProcessId, ...] = ()
    given: tuple[Array, ...] = ()
    collected: list[tuple[Array, ...]] = field(default_factory=list[tuple[Array, ...]])
    results: tuple[Array, ...] = ()
    error: BaseException | None = None
    done: bool = False

    @property
    def text(self) -> str:
        return f"process (replica {self.id[0]}, partition {self.id[1]})"


class Grid:
    """
    The processes of one run, and whose turn it is.

    Each runs a function of its own. send and recv are joined by the channel's number, whichever processes they are in.
    Infeed operations take the data of `infeed` in order; without it there is no host to exchange data with.
    """

    def __init__(
        self,
        interpreter: ShowingInterpreter,
        functions: Sequence[FuncOp],
        inputs: Sequence[Sequence[Array]],
        partitions: int,
        infeed: Sequence[tuple[Array, ...]] | None = None,
    ):
        self.interpreter = interpreter
        self.functions = functions
        self.one_program = len(set(functions)) == 1
        self.inputs = inputs
        self.partitions = partitions
        self.replicas = len(inputs) // partitions
        self.processes = {id: _Process(id) for id in (divmod(number, partitions) for number in range(len(inputs)))}
        self.infeed = None if infeed is None else deque(infeed)
        self.channels: dict[int, deque[tuple[Array, ...]]] = defaultdict(deque)
        self.stopped = False
        self.returned = threading.Semaphore(0)
        """Released by a process that hands its turn back."""

    def run(self) -> list[tuple[Array, ...]]:
        processes = list(self.processes.values())
        threads = [
            threading.Thread(target=self._run_process, args=each, daemon=True)
            for each in zip(processes, self.functions, self.inputs, strict=True)
        ]
        with own_stacks():
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
            if isinstance(op, RecvOp):
                sent = self.channels[op.channel_handle.handle]
                if sent:
                    process.waits_in, process.collected, found = None, [sent.popleft()], True
                continue
            group = [self.processes[id] for id in process.group]
            if all(self._meet(op, member.waits_in) and member.group == process.group for member in group):
                collected = [member.given for member in group]
                for member in group:
                    member.waits_in, member.collected = None, collected
                found = True
        return found

    def _meet(self, first: Operation, second: Operation | None) -> bool:
        """Whether two processes wait in one collective: one operation, or in different functions, alike ones."""
        if first is second or second is None or self.one_program:
            return first is second
        return type(first) is type(second) and first.properties == second.properties

    # In the thread of a process --------------------------------------------------------------------------------

    def _run_process(self, process: _Process, function: FuncOp, inputs: Sequence[Array]) -> None:
        process.turn.acquire()
        try:
            if not self.stopped:
                process.results = _ProcessInterpreter(self, process).call(function, inputs)
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
        process.group, process.given = member.group, operands
        self._wait(process, op)
        return member.index, process.collected

    def receive(self, process: _Process, op: RecvOp) -> tuple[Array, ...]:
        """Wait for what a process sends through the channel of `op`."""
        process.group = ()
        self._wait(process, op)
        return process.collected[0]

    def _wait(self, process: _Process, op: CollectiveOp | RecvOp) -> None:
        process.waits_in = op
        self.returned.release()
        process.turn.acquire()
        if self.stopped:
            raise _Stopped


class _ProcessInterpreter(ShowingInterpreter):
    """The interpreter of one process."""

    def __init__(self, grid: Grid, process: _Process):
        super().__init__(grid.interpreter.module, grid.interpreter.probes)
        self.grid = grid
        self.process = process

    def _handler(self, op: Operation) -> Handler | None:
        hosted = self.grid.infeed is not None
        match op:
            case CollectiveOp():
                return self._run_collective
            case SendOp() if hosted or not op.to_host:
                return self._send
            case RecvOp() if hosted or not op.to_host:
                return lambda op, operands, environment: (*self.grid.receive(self.process, cast(RecvOp, op)), TOKEN)
            case InfeedOp() if hosted:
                return self._read_infeed
            case OutfeedOp() if hosted:
                return lambda op, operands, environment: (TOKEN,)
            case _:
                pass
        if isinstance(op, ProcessNumberOp):
            number = op.number(self.process.id)
            return lambda op, operands, environment: (number,)
        return super()._handler(op)

    def _send(self, op: Operation, operands: tuple[Array, ...], environment: Environment) -> tuple[Array, ...]:
        assert isinstance(op, SendOp)
        self.grid.channels[op.channel_handle.handle].append(operands[:-1])
        return (TOKEN,)

    def _read_infeed(self, op: Operation, operands: tuple[Array, ...], environment: Environment) -> tuple[Array, ...]:
        if not self.grid.infeed:
            refuse(op, "the infeed holds no more data")
        found, types = self.grid.infeed.popleft(), op.result_types[:-1]
        fits = len(found) == len(types) and all(map(_fits, found, types))
        if not fits:
            shown = ", ".join(f"{array.dtype}{list(array.shape)}" for array in found)
            fail(op, f"reads {shown} from the infeed, its results are {', '.join(map(str, types))}")
        return (*found, TOKEN)

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


def _fits(array: Array, type_: Attribute) -> bool:
    return array.dtype == numpy_dtype(element_of(type_)) and shapes_agree(array.shape, shape_of(type_))


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
        others = others or "data that no process sends"
        notes.append(Diagnostic("note", f"{process.text} waits here in '{op.name}' for {others}", op.location))
    message = f"never ends: {len(waiting)} processes wait for others that are not in the same operation and group"
    return DiagnosticError(Diagnostic("error", op_message(first, message), first.location, tuple(notes)))
