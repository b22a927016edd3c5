"""
The plugin's machine code of runs: `PJRT_LoadedExecutable_Execute` for programs on one device that call no Python.

A short program whose inputs are there runs before the call returns, as on XLA:CPU; handing it to another thread would
take longer. Another becomes a task (`native_tasks.py`), and the buffers of its results carry its event.
"""

from __future__ import annotations

from typing import Any

from . import native_tasks
from .c_api import FUNCTIONS, TOKEN
from .native import I1, I8, I32, I64, PTR, READY, WRITER, Emitter, new
from .native_events import is_ready

NAME = "LoadedExecutable_Execute"

MACHINE, HOST = 1, 2
"""Who runs a program that machine code takes from JAX: `LoadedExecutable.direct`."""

HOST_THREAD = "xhlo-host"
"""The name of the threads that run programs for HOST."""


class _Run:
    """The run that is being emitted: its program, arguments, and a task on the stack."""

    def __init__(self, e: Emitter, args: Any):
        self.e, self.args = e, args
        self.program = e.get(args, f"{NAME}_Args.executable")
        self.count, self.results = self.of_program("num_inputs"), self.of_program("num_outputs")
        self.both = e.build.add(self.count, self.results)
        self.direct = self.of_program("direct")

    def of_program(self, field: str) -> Any:
        return self.e.get(self.program, f"LoadedExecutable.{field}")

    def leave_to_python(self) -> None:
        self.e.build.ret(self.e.call("xhlo_enter", I32(FUNCTIONS.index(NAME)), self.args))

    def prepare(self) -> None:
        """The arrays of the arguments and of the task."""
        e, args = self.e, self.args
        self.arguments = e.item(e.get(args, f"{NAME}_Args.argument_lists"), 0)
        self.outputs = e.item(e.get(args, f"{NAME}_Args.output_lists"), 0)
        self.words = native_tasks.words_of_task(e, self.count, self.results)
        self.task = e.build.alloca(I64, self.words)
        self.pointers = native_tasks.pointers_of(e, self.task)
        self.storages = native_tasks.storages_of(e, self.task, self.both)
        self.copies = native_tasks.copies_of(e, self.task, self.both)
        e.set(self.task, "Task.copies", 0)
        e.set(self.task, "Task.bytes", 0)
        e.set(self.task, "Task.program", self.program)

    def owner(self, index: Any) -> tuple[Any, Any]:
        """Whether an output is in the memory of a donated input, and the number of that input, or 0."""
        updated = self.e.item(self.of_program("updated"), index)
        is_update = self.e.build.icmp_signed(">=", updated, I64(0))
        return is_update, self.e.build.select(is_update, updated, I64(0))

    def is_given(self, index: Any) -> tuple[Any, Any, Any]:
        """The storage of an output, whether it is that of a donated input, and the number of that input, or 0."""
        b = self.e.build
        storage = self.e.item(self.storages, b.add(self.count, index))
        is_update, owner = self.owner(index)
        same = b.icmp_unsigned("==", storage, self.e.item(self.storages, owner))
        # Without inputs there is no storage to compare with, and no update either.
        return self.e.pointer(storage), b.and_(is_update, same), owner

    def drop_inputs(self, how_many: Any) -> None:
        with self.e.loop(how_many) as index:
            self.e.call("xhlo_storage_drop", self.e.pointer(self.e.item(self.storages, index)))

    def undo(self, how_many: Any) -> None:
        """Drop the memory of the first outputs, and give donated memory back."""
        e = self.e
        with e.loop(how_many) as index:
            storage, given, owner = self.is_given(index)
            with e.build.if_else(given) as (is_given, is_fresh):
                with is_given:
                    e.call("xhlo_buffer_take_back", e.pointer(e.item(self.arguments, owner)), storage)
                with is_fresh:
                    e.call("xhlo_storage_drop", storage)

    def delete_donated(self) -> None:
        e = self.e
        with (
            e.when(e.build.icmp_unsigned("==", self.of_program("has_donations"), I64(1))),
            e.loop(self.count) as index,
        ):
            flags = e.pointer(self.of_program("donated"))
            donated = e.build.load(e.build.gep(flags, [index], source_etype=I8), typ=I8)
            with e.when(e.build.not_(e.is_zero(donated))):
                e.call("xhlo_buffer_delete", e.pointer(e.item(self.arguments, index)))

    def make_buffers(self, event: Any) -> None:
        """The results, with the event that they wait for, or null."""
        e = self.e
        with e.loop(self.results) as index:
            spec = e.pointer(e.item(self.of_program("output_specs"), index))
            storage = e.pointer(e.item(self.storages, e.build.add(self.count, index)))
            made = e.call("xhlo_buffer_new", spec, storage, self.of_program("device"))
            if event is not None:
                e.set(made, "Buffer.ready", event)
            e.put(self.outputs, index, e.number(made))


def emit_execute(e: Emitter) -> None:
    with e.function(f"PJRT_{NAME}", PTR, PTR) as (args,):
        b = e.build
        run = _Run(e, args)
        _refuse_others(run)
        run.prepare()
        waits = _hold_inputs(run)
        _take_memory(run)
        long = b.icmp_signed(">=", run.of_program("nanoseconds"), I64(native_tasks.SHORT_NS))
        host = b.icmp_unsigned("==", run.direct, I64(HOST))
        with b.if_else(b.or_(b.or_(b.load(waits, typ=I1), long), host)) as (later, now):
            with later:
                _begin_task(run)
            with now:
                e.set(run.task, "Task.event", 0)
                with e.when(e.is_zero(e.call("xhlo_task_run", run.task))):
                    run.undo(run.results)
                    run.drop_inputs(run.count)
                    run.leave_to_python()
                run.drop_inputs(run.count)
                run.delete_donated()
                run.make_buffers(None)
                events = e.get(args, f"{NAME}_Args.device_complete_events")
                with e.when(b.not_(e.is_zero(events))):
                    e.put(events, 0, e.number(e.variable(*READY)))


def _refuse_others(run: _Run) -> None:
    """Leave to Python what machine code cannot run."""
    e, args = run.e, run.args
    b = e.build
    ours = b.and_(
        b.icmp_unsigned("!=", run.direct, I64(0)),
        b.and_(
            b.icmp_unsigned("==", e.get(args, f"{NAME}_Args.num_devices"), I64(1)),
            b.icmp_unsigned("==", e.get(args, f"{NAME}_Args.num_args"), run.count),
        ),
    )
    options = e.get(args, f"{NAME}_Args.options")
    restricted = b.and_(
        b.icmp_unsigned("==", run.of_program("has_donations"), I64(1)),
        b.not_(e.is_zero(e.get(options, "ExecuteOptions.num_non_donatable_input_indices"))),
    )
    with e.when(b.or_(b.not_(ours), restricted)):
        run.leave_to_python()


def _hold_inputs(run: _Run) -> Any:
    """Hold the memory of the inputs; the place of a flag, whether the run has to wait for one, or one has failed."""
    e, b = run.e, run.e.build
    waits = b.alloca(I1)
    b.store(I1(0), waits)
    with e.loop(run.count) as index:
        buffer = e.item(run.arguments, index)
        storage = e.call("xhlo_buffer_hold", e.pointer(buffer))
        e.put(run.storages, index, e.number(storage))
        e.put(run.pointers, index, e.get(buffer, "Buffer.data"))
        wanted = e.item(run.of_program("input_specs"), index)
        is_token = b.icmp_unsigned("==", e.get(wanted, "Spec.element_type"), I64(TOKEN))  # JAX passes any array
        alike = b.or_(b.icmp_unsigned("==", e.get(buffer, "Buffer.spec"), wanted), is_token)
        alive = b.not_(e.is_zero(e.number(storage)))
        with e.when(b.not_(b.and_(alike, alive))):
            with e.when(alive):
                e.call("xhlo_storage_drop", storage)
            run.drop_inputs(index)
            run.leave_to_python()
        event = e.get(buffer, "Buffer.ready")
        with e.when(b.not_(e.is_zero(event))):
            failed = b.not_(e.is_zero(e.get(event, "Event.error")))
            with e.when(b.or_(b.not_(is_ready(e, event)), failed)):
                b.store(I1(1), waits)
    return waits


def _take_memory(run: _Run) -> None:
    """Memory of each output: the donated input's, if nobody else has it, or new, with a copy of that input."""
    e, b = run.e, run.e.build
    held = b.alloca(PTR)
    with e.loop(run.results) as index:
        is_update, owner = run.owner(index)
        b.store(PTR(None), held)
        with e.when(is_update):
            buffer, storage = (e.pointer(e.item(each, owner)) for each in (run.arguments, run.storages))
            b.store(e.call("xhlo_buffer_give", buffer, storage), held)
        with e.when(e.is_zero(e.number(b.load(held, typ=PTR)))):
            nbytes = e.get(e.item(run.of_program("output_specs"), index), "Spec.nbytes")
            fresh = e.call("xhlo_storage_new", nbytes)
            with e.when(e.is_zero(e.number(fresh))):
                run.undo(index)
                run.drop_inputs(run.count)
                run.leave_to_python()
            with e.when(is_update):
                number = e.get(run.task, "Task.copies")
                copy = e.slot(run.copies, b.mul(number, I64(3)))
                for place, value in enumerate((e.get(fresh, "Storage.data"), e.item(run.pointers, owner), nbytes)):
                    e.put(copy, place, value)
                e.set(run.task, "Task.copies", b.add(number, I64(1)))
                e.put(run.pointers, owner, e.get(fresh, "Storage.data"))
            e.set(run.task, "Task.bytes", b.add(e.get(run.task, "Task.bytes"), nbytes))
            b.store(fresh, held)
        storage = b.load(held, typ=PTR)
        at = b.add(run.count, index)
        e.put(run.storages, at, e.number(storage))
        e.put(run.pointers, at, e.get(storage, "Storage.data"))


def _begin_task(run: _Run) -> None:
    """Make the run a task that waits for its inputs; its results are buffers that wait for it."""
    e, b = run.e, run.e.build
    e.call("xhlo_task_begin", e.get(run.task, "Task.bytes"))
    events = e.get(run.args, f"{NAME}_Args.device_complete_events")
    asked = b.not_(e.is_zero(events))
    event = new(e, "Event", references=b.add(run.results, b.add(I64(1), b.zext(asked, I64))))
    with e.when(asked):
        e.put(events, 0, e.number(event))
    run.make_buffers(event)
    with e.loop(run.results) as index:
        # The task holds the memory that it writes, as its writer; the hold of a donated input becomes that.
        storage, given, owner = run.is_given(index)
        more = b.select(given, I64(WRITER - 1), I64(WRITER))
        b.atomic_rmw("add", e.place(storage, "Storage.references"), more, "monotonic")
        with e.when(given):
            e.put(run.storages, owner, I64(0))
    run.delete_donated()
    for field, value in {
        "event": event,
        "missing": 1,
        "error": 0,
        "threads": e.call("xhlo_thread_limit"),
        "mode": b.zext(e.call("xhlo_arithmetic_mode"), I64),
        "host": b.zext(b.icmp_unsigned("==", run.direct, I64(HOST)), I64),
        "caller": e.call("pthread_self"),
    }.items():
        e.set(run.task, f"Task.{field}", value)
    size = b.mul(run.words, I64(8))
    task = e.call("malloc", size)
    e.call("memcpy", task, run.task, size)
    b.atomic_rmw("add", e.place(run.program, "LoadedExecutable.pending"), I64(1), "monotonic")
    with e.loop(run.count) as index:
        before = e.get(e.item(run.arguments, index), "Buffer.ready")
        with e.when(b.not_(e.is_zero(before))):
            b.atomic_rmw("add", e.place(task, "Task.missing"), I64(1), "monotonic")
            e.call("xhlo_event_then", e.pointer(before), PTR(None), task)
    e.call("xhlo_input_ready", task, PTR(None))
