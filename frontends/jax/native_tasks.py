"""
The plugin's machine code of runs that a call does not wait for, tasks: a task runs on a worker, a thread of the plugin,
as soon as the runs that write its inputs have ended.

Workers run machine code only, which waits for nothing, so every task ends. There are as many as the threads of a
parallel loop; one is started when no other is free.
"""

from __future__ import annotations

import ctypes
import signal
from typing import Any

from ...targets.cpu.runtime.system import STACK_BYTES, SYNCHRONOUS
from . import native_events
from .c_api import Code
from .native import I32, I64, PTR, VOID, WRITER, Emitter, ir
from .native_events import LOCK
from .objects import OBJECTS

MOST_TASKS = 32
"""Tasks that may be begun and not ended; a call that would make another waits. XLA:CPU has the same bound."""

MOST_BYTES = 256 << 20
"""Bytes of outputs of such tasks, if there is more than one."""

SHORT_NS = 50_000
"""Nanoseconds of a run below which a call waits for it: about the cost of waking one thread and then another."""

TASK_WORDS = ctypes.sizeof(OBJECTS["Task"]) // 8

RUNTIME = ("xhlo_clock", "xhlo_thread_limit", "xhlo_limit_threads", "xhlo_arithmetic_mode", "xhlo_set_arithmetic_mode")
"""The functions of the CPU's runtime that tasks call."""

QUEUE_WORDS = ctypes.sizeof(OBJECTS["Queue"]) // 8
_QUEUE = ir.ArrayType(I64, QUEUE_WORDS + LOCK.count)

MACHINE, HOST = ("xhlo_machine_tasks", _QUEUE), ("xhlo_host_tasks", _QUEUE)
"""The queues of tasks that machine code runs, and of those that Python runs (`host_runs.py`)."""

MOST_HOST_THREADS = 64
HOST_THREADS = ("xhlo_host_threads", ir.ArrayType(I64, MOST_HOST_THREADS))

MUTEX, ROOM = ("xhlo_task_mutex", LOCK), ("xhlo_task_room", LOCK)

_NO_MEMORY = b"out of memory: no room for the scratch memory of a program"


def words_of_task(e: Emitter, count: Any, results: Any) -> Any:
    """The size of a task and its arrays, in words."""
    b = e.build
    both = b.add(count, results)
    return b.add(b.add(b.mul(both, I64(2)), b.mul(results, I64(3))), I64(TASK_WORDS + 1))


def pointers_of(e: Emitter, task: Any) -> Any:
    return e.slot(task, TASK_WORDS)


def storages_of(e: Emitter, task: Any, both: Any) -> Any:
    return e.slot(task, e.build.add(both, I64(TASK_WORDS + 1)))


def copies_of(e: Emitter, task: Any, both: Any) -> Any:
    return e.slot(task, e.build.add(e.build.mul(both, I64(2)), I64(TASK_WORDS + 1)))


def emit_tasks(e: Emitter) -> None:
    e.declare("xhlo_clock", I64)
    e.declare("xhlo_thread_limit", I64)
    e.declare("xhlo_limit_threads", VOID, I64)
    e.declare("xhlo_arithmetic_mode", I32)
    e.declare("xhlo_set_arithmetic_mode", VOID, I32)
    _emit_expected_time(e)
    _emit_run(e)
    _emit_end(e)
    _emit_queue(e)
    _emit_takes(e)
    _emit_workers(e)
    _emit_room(e)
    _emit_locks(e)


def _emit_expected_time(e: Emitter) -> None:
    with e.function("xhlo_expected_time", I64, I64, I64, I64) as (before, taken, at_once):
        # The nanoseconds that the next run is expected to take. A thread that was woken is slower than the caller's, so
        # that a run of about the limit does not tell on which the next should be. A program leaves the caller's thread
        # when several runs took longer; on another it stays for some thirty runs, then the caller's is tried again.
        b = e.build
        near = [b.icmp_signed(">=", taken, I64(SHORT_NS)), b.icmp_signed("<", taken, I64(2 * SHORT_NS))]
        more = b.add(before, b.lshr(before, I64(4)))
        rising = b.select(b.icmp_signed("<", more, I64(SHORT_NS)), more, taken)
        least = b.select(b.icmp_signed("<", taken, before), taken, before)
        falling = b.sub(least, b.lshr(least, I64(6)))
        kept = b.select(b.not_(e.is_zero(at_once)), rising, falling)
        b.ret(b.select(b.and_(*near), kept, taken))


def _emit_run(e: Emitter) -> None:
    with e.function("xhlo_task_run", I64, PTR) as (task,):
        # 0 if there is no memory for it: then nothing has happened.
        b = e.build
        program = e.get(task, "Task.program")
        both = b.add(e.get(program, "LoadedExecutable.num_inputs"), e.get(program, "LoadedExecutable.num_outputs"))
        pointers, copies = pointers_of(e, task), copies_of(e, task, both)
        capacity = e.get(program, "LoadedExecutable.arena_bytes")
        arena = b.alloca(PTR)
        b.store(PTR(None), arena)
        with e.when(b.not_(e.is_zero(capacity))):
            scratch = e.call("xhlo_allocate", capacity)
            with e.when(e.is_zero(e.number(scratch))):
                b.ret(I64(0))
            b.store(scratch, arena)
        e.put(pointers, both, e.number(b.load(arena, typ=PTR)))
        with e.loop(e.get(task, "Task.copies")) as index:
            copy = e.slot(copies, b.mul(index, I64(3)))
            e.call("memcpy", e.pointer(e.item(copy, 0)), e.pointer(e.item(copy, 1)), e.item(copy, 2))
        start = e.call("xhlo_clock")
        e.call_pointer(e.get(program, "LoadedExecutable.entry"), VOID, pointers)
        taken = b.sub(e.call("xhlo_clock"), start)
        at_once = b.zext(e.is_zero(e.get(task, "Task.event")), I64)
        before = e.get(program, "LoadedExecutable.nanoseconds")
        e.set(program, "LoadedExecutable.nanoseconds", e.call("xhlo_expected_time", before, taken, at_once))
        with e.when(b.not_(e.is_zero(capacity))):
            e.call("xhlo_free", b.load(arena, typ=PTR), capacity)
        b.ret(I64(1))


def _emit_end(e: Emitter) -> None:
    with e.function("xhlo_task_end", VOID, PTR) as (task,):
        # Drop what the task has held, then let its event happen: who waits for it finds the inputs free.
        b = e.build
        program, event = e.get(task, "Task.program"), e.get(task, "Task.event")
        count, results = (e.get(program, f"LoadedExecutable.num_{what}puts") for what in ("in", "out"))
        storages = storages_of(e, task, b.add(count, results))
        with e.loop(count) as index:
            storage = e.item(storages, index)
            with e.when(b.not_(e.is_zero(storage))):
                e.call("xhlo_storage_drop", e.pointer(storage))
        with e.loop(results) as index:
            e.call("xhlo_storage_release", e.pointer(e.item(storages, b.add(count, index))), I64(WRITER))
        e.set(event, "Event.error", e.get(task, "Task.error"))
        e.call("pthread_mutex_lock", e.variable(*MUTEX))
        _add(e, "xhlo_tasks", I64(-1))
        _add(e, "xhlo_task_bytes", b.neg(e.get(task, "Task.bytes")))
        waiting = b.not_(e.is_zero(b.load(e.variable("xhlo_waiting_for_room"), typ=I64)))
        with e.when(waiting):
            e.call("pthread_cond_broadcast", e.variable(*ROOM))
        e.call("pthread_mutex_unlock", e.variable(*MUTEX))
        e.call("free", task)
        e.call("xhlo_event_set", e.pointer(event))
        # The last access to the program, which lives until then.
        b.atomic_rmw("sub", e.place(program, "LoadedExecutable.pending"), I64(1), "release")


def _add(e: Emitter, variable: str, value: Any) -> None:
    """Add to a variable under the lock."""
    place = e.variable(variable)
    e.build.store(e.build.add(e.build.load(place, typ=I64), value), place)


def _count(e: Emitter, queue: Any, field: str, value: Any) -> None:
    """Add to a number of a queue under the lock."""
    e.set(queue, f"Queue.{field}", e.build.add(e.get(queue, f"Queue.{field}"), value))


def _work_of(e: Emitter, queue: Any) -> Any:
    """The condition variable that a queue's workers wait on."""
    return e.slot(queue, QUEUE_WORDS)


def _emit_queue(e: Emitter) -> None:
    e.declare("xhlo_worker_start", I64)
    e.declare("xhlo_work", VOID, I64)
    with e.function("xhlo_task_push", VOID, PTR) as (task,):
        # The task waits for nothing any more but a worker.
        b = e.build
        is_machine = e.is_zero(e.get(task, "Task.host"))
        queue = b.select(is_machine, e.variable(*MACHINE), e.variable(*HOST))
        e.set(task, "Task.next", 0)
        e.call("pthread_mutex_lock", e.variable(*MUTEX))
        last = e.get(queue, "Queue.last")
        with b.if_else(e.is_zero(last)) as (empty, some):
            with empty:
                e.set(queue, "Queue.first", task)
            with some:
                e.set(last, "Task.next", task)
        e.set(queue, "Queue.last", task)
        _count(e, queue, "queued", I64(1))
        with b.if_else(b.icmp_signed("<=", e.get(queue, "Queue.queued"), e.get(queue, "Queue.idle"))) as (free, busy):
            with free:
                e.call("pthread_cond_signal", _work_of(e, queue))
            with busy:
                few = b.icmp_signed("<", e.get(queue, "Queue.workers"), e.get(queue, "Queue.most"))
                with e.when(few):
                    _count(e, queue, "workers", e.call("xhlo_worker_start"))
        alone = b.and_(is_machine, e.is_zero(e.get(queue, "Queue.workers")))
        e.call("pthread_mutex_unlock", e.variable(*MUTEX))
        # The system has no thread left: the tasks run here.
        with e.when(alone):
            e.call("xhlo_work", I64(0))

    with e.function("xhlo_input_ready", VOID, PTR, PTR) as (task, error):
        # An input of a task is there, or it failed with an error.
        b = e.build
        with e.when(b.not_(e.is_zero(e.number(error)))):
            copy = e.number(e.call("xhlo_error_copy", error))
            first = b.extract_value(b.cmpxchg(e.place(task, "Task.error"), I64(0), copy, "acq_rel", "monotonic"), 1)
            with e.when(b.not_(first)):
                e.call("xhlo_error_destroy", e.pointer(copy))
        before = b.atomic_rmw("sub", e.place(task, "Task.missing"), I64(1), "acq_rel")
        with e.when(b.icmp_unsigned("==", before, I64(1))):
            e.call("xhlo_task_push", task)


def _emit_takes(e: Emitter) -> None:
    with e.function("xhlo_task_take", PTR, PTR, I64) as (queue, waits):
        # The next task, on this thread as on its caller's; null if there is none and this thread does not wait.
        b = e.build

        def is_empty() -> Any:
            return e.is_zero(e.get(queue, "Queue.first"))

        e.call("pthread_mutex_lock", e.variable(*MUTEX))
        with e.repeat(lambda: b.and_(is_empty(), b.not_(e.is_zero(waits)))):
            _count(e, queue, "idle", I64(1))
            e.call("pthread_cond_wait", _work_of(e, queue), e.variable(*MUTEX))
            _count(e, queue, "idle", I64(-1))
        task = e.get(queue, "Queue.first")
        with e.when(b.not_(e.is_zero(task))):
            rest = e.get(task, "Task.next")
            e.set(queue, "Queue.first", rest)
            with e.when(e.is_zero(rest)):
                e.set(queue, "Queue.last", 0)
            _count(e, queue, "queued", I64(-1))
        e.call("pthread_mutex_unlock", e.variable(*MUTEX))
        with e.when(b.not_(e.is_zero(task))):
            e.call("xhlo_limit_threads", e.get(task, "Task.threads"))
            e.call("xhlo_set_arithmetic_mode", b.trunc(e.get(task, "Task.mode"), I32))
        b.ret(e.pointer(task))

    with e.function("xhlo_host_task", PTR, I64) as (number,):
        # The next task of Python's; the caller, the thread of that number, waits for it.
        e.put(e.variable(*HOST_THREADS), number, e.call("pthread_self"))
        e.build.ret(e.call("xhlo_task_take", e.variable(*HOST), I64(1)))


def _emit_workers(e: Emitter) -> None:
    e.declare("xhlo_error_new", PTR, I64, PTR, I64)
    with e.function("xhlo_work", VOID, I64) as (waits,):
        # Run tasks, as long as there are any, or for ever.
        b = e.build
        text = e.text("xhlo_no_memory", _NO_MEMORY)
        taken = b.alloca(PTR)
        b.store(e.call("xhlo_task_take", e.variable(*MACHINE), waits), taken)
        with e.repeat(lambda: b.not_(e.is_zero(e.number(b.load(taken, typ=PTR))))):
            task = b.load(taken, typ=PTR)
            with e.when(e.is_zero(e.get(task, "Task.error"))):
                done = e.call("xhlo_task_run", task)
                with e.when(e.is_zero(done)):
                    size = I64(len(_NO_MEMORY))
                    e.set(task, "Task.error", e.call("xhlo_error_new", I64(Code.RESOURCE_EXHAUSTED), text, size))
            e.call("xhlo_task_end", task)
            b.store(e.call("xhlo_task_take", e.variable(*MACHINE), waits), taken)

    with e.function("xhlo_worker", PTR, PTR):
        _emit_block_signals(e)
        e.call("xhlo_work", I64(1))

    e.declare("pthread_attr_init", I32, PTR)
    e.declare("pthread_attr_setstacksize", I32, PTR, I64)
    e.declare("pthread_attr_destroy", I32, PTR)
    e.declare("pthread_create", I32, PTR, PTR, PTR, PTR)
    e.declare("pthread_detach", I32, I64)
    with e.function("xhlo_worker_start", I64) as ():
        # The number of workers started: 1 or 0.
        b = e.build
        attributes, thread = b.alloca(LOCK), b.alloca(I64)
        e.call("pthread_attr_init", attributes)
        e.call("pthread_attr_setstacksize", attributes, I64(STACK_BYTES))
        worker = e.declare("xhlo_worker", PTR, PTR)
        failed = e.call("pthread_create", thread, attributes, worker, PTR(None))
        e.call("pthread_attr_destroy", attributes)
        with e.when(b.icmp_unsigned("!=", failed, I32(0))):
            b.ret(I64(0))
        e.call("pthread_detach", b.load(thread, typ=I64))
        b.ret(I64(1))


def _emit_block_signals(e: Emitter) -> None:
    """Leave all signals to the threads of the program but those that the worker itself raises."""
    e.declare("sigfillset", I32, PTR)
    e.declare("sigdelset", I32, PTR, I32)
    e.declare("pthread_sigmask", I32, I32, PTR, PTR)
    blocked = e.build.alloca(LOCK)
    e.call("sigfillset", blocked)
    for name in SYNCHRONOUS:
        e.call("sigdelset", blocked, I32(int(getattr(signal, name))))
    e.call("pthread_sigmask", I32(int(signal.SIG_SETMASK)), blocked, PTR(None))


def _emit_stop(e: Emitter) -> None:
    e.declare("sleep", I32, I32)
    with e.function("xhlo_stop_at_end", VOID) as ():
        # When the interpreter ends, threads that go on calling wait for its end; but not those whose runs it waits for.
        b = e.build
        me = e.call("pthread_self")
        with e.when(b.icmp_unsigned("==", me, b.load(e.variable("xhlo_main_thread"), typ=I64))):
            b.ret_void()
        threads = e.variable(*HOST_THREADS)
        with e.loop(I64(MOST_HOST_THREADS)) as index, e.when(b.icmp_unsigned("==", me, e.item(threads, index))):
            b.ret_void()
        known = b.icmp_unsigned("!=", e.call("PyGILState_GetThisThreadState"), PTR(None))
        with e.when(b.and_(known, b.icmp_unsigned("!=", e.call("PyGILState_Check"), I32(0)))):
            e.call("PyEval_SaveThread")
        with e.repeat(lambda: ir.IntType(1)(1)):
            e.call("sleep", I32(1000))


def _emit_room(e: Emitter) -> None:
    e.declare("PyGILState_GetThisThreadState", PTR)
    e.declare("PyGILState_Check", I32)
    e.declare("PyEval_SaveThread", PTR)
    e.declare("PyEval_RestoreThread", VOID, PTR)
    _emit_stop(e)
    tasks, bytes_ = e.variable("xhlo_tasks"), e.variable("xhlo_task_bytes")

    with e.function("xhlo_task_begin", VOID, I64) as (size,):
        # Count a task whose outputs take `size` new bytes, when there is room for it. Workers release memory by
        # functions that may need Python's lock.
        b = e.build

        def full() -> Any:
            count = b.load(tasks, typ=I64)
            many = b.icmp_signed(">=", count, I64(MOST_TASKS))
            after = b.add(b.load(bytes_, typ=I64), size)
            large = b.and_(b.icmp_signed(">", count, I64(0)), b.icmp_signed(">", after, I64(MOST_BYTES)))
            return b.or_(many, large)

        def wait() -> None:
            _add(e, "xhlo_waiting_for_room", I64(1))
            with e.repeat(full):
                e.call("pthread_cond_wait", e.variable(*ROOM), e.variable(*MUTEX))
            _add(e, "xhlo_waiting_for_room", I64(-1))

        with e.when(b.not_(e.is_zero(b.load_atomic(e.variable("xhlo_ending"), "seq_cst", 8, typ=I64)))):
            e.call("xhlo_stop_at_end")
        e.call("pthread_mutex_lock", e.variable(*MUTEX))
        with e.when(full()):
            e.call("pthread_mutex_unlock", e.variable(*MUTEX))
            state = b.alloca(PTR)
            b.store(PTR(None), state)
            known = b.icmp_unsigned("!=", e.call("PyGILState_GetThisThreadState"), PTR(None))
            with e.when(b.and_(known, b.icmp_unsigned("!=", e.call("PyGILState_Check"), I32(0)))):
                b.store(e.call("PyEval_SaveThread"), state)
            e.call("pthread_mutex_lock", e.variable(*MUTEX))
            wait()
            with e.when(b.icmp_unsigned("!=", b.load(state, typ=PTR), PTR(None))):
                # Other threads that have Python's lock may want this one.
                _add(e, "xhlo_tasks", I64(1))
                _add(e, "xhlo_task_bytes", size)
                e.call("pthread_mutex_unlock", e.variable(*MUTEX))
                e.call("PyEval_RestoreThread", b.load(state, typ=PTR))
                b.ret_void()
        _add(e, "xhlo_tasks", I64(1))
        _add(e, "xhlo_task_bytes", size)
        e.call("pthread_mutex_unlock", e.variable(*MUTEX))


def _emit_locks(e: Emitter) -> None:
    with e.function("xhlo_prepare_locks", VOID) as ():
        # Once in a process, and in the child of a fork, which has no workers.
        e.call("xhlo_prepare_pool")
        for lock in (MUTEX, native_events.MUTEX):
            e.call("pthread_mutex_init", e.variable(*lock), PTR(None))
        for condition in (ROOM, native_events.CHANGED):
            e.call("pthread_cond_init", e.variable(*condition), PTR(None))
        for queue in (MACHINE, HOST):
            e.call("pthread_cond_init", _work_of(e, e.variable(*queue)), PTR(None))
            for field in ("workers", "idle"):
                e.set(e.variable(*queue), f"Queue.{field}", 0)
        for name in ("xhlo_waiting_for_room", "xhlo_event_waiters"):
            e.build.store(I64(0), e.variable(name))
