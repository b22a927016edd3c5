"""The plugin's machine code of events: what waits for the end of runs, and for host memory that is no longer used."""

from __future__ import annotations

from typing import Any

from .native import I1, I8, I32, I64, PTR, READY, VOID, Emitter, ir, new

LOCK = ir.ArrayType(I64, 16)
"""Room for a mutex or a condition variable of any system's."""

MUTEX, CHANGED = ("xhlo_event_mutex", LOCK), ("xhlo_event_changed", LOCK)


def declare_locks(e: Emitter) -> None:
    e.declare("pthread_mutex_init", I32, PTR, PTR)
    e.declare("pthread_mutex_lock", I32, PTR)
    e.declare("pthread_mutex_unlock", I32, PTR)
    e.declare("pthread_cond_init", I32, PTR, PTR)
    e.declare("pthread_cond_wait", I32, PTR, PTR)
    e.declare("pthread_cond_signal", I32, PTR)
    e.declare("pthread_cond_broadcast", I32, PTR)


def is_ready(e: Emitter, event: Any) -> Any:
    """Whether an event has happened; acquires what its setter did before."""
    static = e.build.icmp_unsigned("==", e.pointer(event) if event.type != PTR else event, e.variable(*READY))
    flag = e.build.atomic_rmw("or", e.place(event, "Event.ready"), I64(0), "acquire")
    return e.build.or_(static, e.build.not_(e.is_zero(flag)))


def emit_events(e: Emitter) -> None:
    declare_locks(e)
    e.declare("xhlo_error_new", PTR, I64, PTR, I64)
    e.declare("xhlo_error_destroy", VOID, PTR)
    e.declare("xhlo_input_ready", VOID, PTR, PTR)
    with e.function("xhlo_error_copy", PTR, PTR) as (error,):
        # An error of its own for each receiver; null for null.
        with e.when(e.is_zero(e.number(error))):
            e.build.ret(PTR(None))
        text, size = e.pointer(e.get(error, "Error.message")), e.get(error, "Error.size")
        e.build.ret(e.call("xhlo_error_new", e.get(error, "Error.code"), text, size))

    with e.function("xhlo_event_drop", VOID, PTR) as (event,):
        b = e.build
        before = b.atomic_rmw("sub", e.place(event, "Event.references"), I64(1), "acq_rel")
        with e.when(b.icmp_unsigned("==", before, I64(1))):
            e.call("xhlo_error_destroy", e.pointer(e.get(event, "Event.error")))
            e.call("free", event)

    _emit_set(e)
    _emit_wait(e)
    _emit_then(e)
    with e.function("PJRT_Event_Destroy", PTR, PTR) as (args,):
        event = e.get(args, "Event_Destroy_Args.event")
        with e.when(e.build.icmp_unsigned("!=", e.pointer(event), e.variable(*READY))):
            e.call("xhlo_event_drop", e.pointer(event))
    with e.function("PJRT_Event_IsReady", PTR, PTR) as (args,):
        event = e.get(args, "Event_IsReady_Args.event")
        e.set(args, "Event_IsReady_Args.is_ready", e.build.zext(is_ready(e, event), I8))
    for name in ("Event_Error", "Event_Await"):
        # The error of an event may be asked for only after it has happened; waiting for it does no harm.
        with e.function(f"PJRT_{name}", PTR, PTR) as (args,):
            event = e.get(args, f"{name}_Args.event")
            with e.when(e.build.icmp_unsigned("==", e.pointer(event), e.variable(*READY))):
                e.build.ret(PTR(None))
            e.build.ret(e.call("xhlo_event_wait", e.pointer(event)))
    with e.function("PJRT_Event_OnReady", PTR, PTR) as (args,):
        event = e.get(args, "Event_OnReady_Args.event")
        function = e.pointer(e.get(args, "Event_OnReady_Args.callback"))
        e.call("xhlo_event_then", e.pointer(event), function, e.pointer(e.get(args, "Event_OnReady_Args.user_arg")))


def _emit_set(e: Emitter) -> None:
    with e.function("xhlo_tell", VOID, PTR, PTR, PTR) as (function, argument, error):
        # Call a callback, with an error of its own, or tell a task that an input is there.
        with e.when(e.is_zero(e.number(function))):
            e.call("xhlo_input_ready", argument, error)
            e.build.ret_void()
        e.call_pointer(e.number(function), VOID, e.call("xhlo_error_copy", error), argument)

    with e.function("xhlo_event_set", VOID, PTR) as (event,):
        # The event happens, with the error that it has been given, if any; drops the setter's reference.
        b = e.build
        waiting = b.alloca(I64)
        with e.locked(e.place(event, "Event.lock")):
            b.atomic_rmw("xchg", e.place(event, "Event.ready"), I64(1), "seq_cst")
            b.store(e.get(event, "Event.callbacks"), waiting)
            e.set(event, "Event.callbacks", 0)
        waiters = b.atomic_rmw("or", e.variable("xhlo_event_waiters"), I64(0), "seq_cst")
        with e.when(b.not_(e.is_zero(waiters))):
            e.call("pthread_mutex_lock", e.variable(*MUTEX))
            e.call("pthread_cond_broadcast", e.variable(*CHANGED))
            e.call("pthread_mutex_unlock", e.variable(*MUTEX))
        error = e.pointer(e.get(event, "Event.error"))
        with e.repeat(lambda: b.not_(e.is_zero(b.load(waiting, typ=I64)))):
            callback = e.pointer(b.load(waiting, typ=I64))
            function, argument = (e.pointer(e.get(callback, f"Callback.{field}")) for field in ("function", "argument"))
            e.call("xhlo_tell", function, argument, error)
            b.store(e.get(callback, "Callback.next"), waiting)
            e.call("free", callback)
        e.call("xhlo_event_drop", event)


def _emit_wait(e: Emitter) -> None:
    with e.function("xhlo_event_wait", PTR, PTR) as (event,):
        # Until the event has happened; returns a copy of its error, or null.
        b = e.build
        with e.when(b.not_(is_ready(e, event))):
            waiters = e.variable("xhlo_event_waiters")
            e.call("pthread_mutex_lock", e.variable(*MUTEX))
            b.atomic_rmw("add", waiters, I64(1), "seq_cst")
            with e.repeat(lambda: b.not_(is_ready(e, event))):
                e.call("pthread_cond_wait", e.variable(*CHANGED), e.variable(*MUTEX))
            b.atomic_rmw("sub", waiters, I64(1), "seq_cst")
            e.call("pthread_mutex_unlock", e.variable(*MUTEX))
        b.ret(e.call("xhlo_error_copy", e.pointer(e.get(event, "Event.error"))))

    with e.function("xhlo_buffer_wait", PTR, PTR) as (buffer,):
        # Until the run that writes the buffer has ended; returns its error, or null.
        event = e.get(buffer, "Buffer.ready")
        with e.when(e.is_zero(event)):
            e.build.ret(PTR(None))
        e.build.ret(e.call("xhlo_event_wait", e.pointer(event)))


def _emit_then(e: Emitter) -> None:
    with e.function("xhlo_event_then", VOID, PTR, PTR, PTR) as (event, function, argument):
        # Call the function when the event has happened, at once if it has.
        b = e.build
        with e.when(b.icmp_unsigned("==", event, e.variable(*READY))):
            e.call("xhlo_tell", function, argument, PTR(None))
            b.ret_void()
        now = b.alloca(I1)
        b.store(is_ready(e, event), now)
        with e.when(b.not_(b.load(now, typ=I1))), e.locked(e.place(event, "Event.lock")):
            late = e.is_zero(e.get(event, "Event.ready"))
            b.store(b.not_(late), now)
            with e.when(late):
                rest = e.get(event, "Event.callbacks")
                callback = new(e, "Callback", function=function, argument=argument, next=rest)
                e.set(event, "Event.callbacks", callback)
        with e.when(b.load(now, typ=I1)):
            e.call("xhlo_tell", function, argument, e.pointer(e.get(event, "Event.error")))
