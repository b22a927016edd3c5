"""The plugin's machine code that calls Python: the trampolines of entries that Python answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .c_api import ENTRY_NAMES, Code
from .native import I32, I64, PTR, VOID, Emitter, ir

PYTHON = (
    *("PyGILState_Ensure", "PyGILState_Release", "PyGILState_GetThisThreadState", "PyGILState_Check"),
    *("PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_Fetch", "PyErr_Restore", "PyErr_SetInterrupt", "PyErr_Clear"),
    "PyErr_ExceptionMatches",
    *("PyLong_FromLongLong", "PyLong_AsLongLong", "PyObject_Vectorcall", "Py_DecRef"),
)


_DECLARED = (
    ("pthread_self", I64),
    ("PyGILState_GetThisThreadState", PTR),
    ("PyGILState_Check", I32),
    ("PyEval_SaveThread", PTR),
    ("sleep", I32, I32),
    ("PyGILState_Ensure", I32),
    ("PyGILState_Release", VOID, I32),
    ("PyErr_Fetch", VOID, PTR, PTR, PTR),
    ("PyErr_Restore", VOID, PTR, PTR, PTR),
    ("PyErr_SetInterrupt", VOID),
    ("PyErr_Clear", VOID),
    ("PyErr_ExceptionMatches", I32, PTR),
    ("xhlo_error_new", PTR, I64, PTR, I64),
    ("PyLong_FromLongLong", PTR, I64),
    ("PyLong_AsLongLong", I64, PTR),
    ("PyObject_Vectorcall", PTR, PTR, PTR, I64, PTR),
    ("Py_DecRef", VOID, PTR),
)
"""Names, with the types of results and parameters."""

_ENDED = b"xhlo has ended: the functions that run at the interpreter's exit (atexit) have been called"


def emit_entry(e: Emitter) -> None:
    """
    `xhlo_enter(function, args)`: into Python and back; with the signal of an interrupt that Python asks for.

    Python runs signal handlers as it begins a function, before the dispatcher's first statement can catch what they
    raise. After an interrupt that leaves the dispatcher the call is made again; another exception, when there is no
    stack or memory left to begin it, is an error without a message.

    During shutdown the exiting thread gets an error immediately; other threads, whose request can no longer be
    answered, wait for the end. jaxlib calls some entries with the interpreter's lock held: a waiting thread releases it
    first, because the process would otherwise wait for it.
    """
    for name, *types in _DECLARED:
        e.declare(name, *types)
    with e.function("xhlo_enter", PTR, I32, PTR) as (number, args):
        b = e.build
        inside = e.variable("xhlo_inside")
        b.atomic_rmw("add", inside, I64(1), "seq_cst")
        dispatcher = b.load_atomic(e.variable("xhlo_dispatcher"), "seq_cst", 8, typ=I64)
        with e.when(e.is_zero(dispatcher)):
            _end_or_wait(e, inside)
        state = e.call("PyGILState_Ensure")
        pending = [b.alloca(PTR) for _ in range(3)]
        e.call("PyErr_Fetch", *pending)
        interrupted = e.variable("xhlo_interrupted")
        boxed = e.number(b.alloca(ir.ArrayType(PTR, 2)))
        for index, value in enumerate((b.sext(number, I64), e.number(args))):
            e.put(boxed, index, e.number(e.call("PyLong_FromLongLong", value)))
        answer = b.alloca(PTR)
        b.store(PTR(None), answer)
        again = b.alloca(I64)
        b.store(I64(1), again)
        with e.repeat(lambda: b.not_(e.is_zero(b.load(again, typ=I64)))):
            b.store(I64(0), again)
            b.store(e.call("PyObject_Vectorcall", e.pointer(dispatcher), e.pointer(boxed), I64(2), PTR(None)), answer)
            with e.when(e.is_zero(e.number(b.load(answer, typ=PTR)))):
                kind = e.pointer(b.load(e.variable("xhlo_interrupt_class"), typ=I64))
                with e.when(b.not_(e.is_zero(e.call("PyErr_ExceptionMatches", kind)))):
                    b.store(I64(1), again)
                    b.store(I64(1), interrupted)
                e.call("PyErr_Clear")
        result = b.alloca(PTR)
        with b.if_else(e.is_zero(e.number(b.load(answer, typ=PTR)))) as (failed, answered):
            with failed:
                b.store(e.call("xhlo_error_new", I64(Code.RESOURCE_EXHAUSTED), e.pointer(boxed), I64(0)), result)
            with answered:
                b.store(e.pointer(e.call("PyLong_AsLongLong", b.load(answer, typ=PTR))), result)
                e.call("Py_DecRef", b.load(answer, typ=PTR))
        error = b.load(result, typ=PTR)
        for index in range(2):
            e.call("Py_DecRef", e.pointer(e.item(boxed, index)))
        with e.when(b.not_(e.is_zero(b.load(interrupted, typ=I64)))):
            b.store(I64(0), interrupted)
            e.call("PyErr_SetInterrupt")
        e.call("PyErr_Restore", *(b.load(each, typ=PTR) for each in pending))
        e.call("PyGILState_Release", state)
        b.atomic_rmw("sub", inside, I64(1), "seq_cst")
        b.ret(error)


def _end_or_wait(e: Emitter, inside: Any) -> None:
    """During shutdown: the thread that exits gets an error, and all others wait, without the interpreter's lock."""
    b = e.build
    b.atomic_rmw("sub", inside, I64(1), "seq_cst")
    ending = b.icmp_unsigned("==", e.call("pthread_self"), b.load(e.variable("xhlo_main_thread"), typ=I64))
    with e.when(ending):
        text, size = e.text("xhlo_ended", _ENDED), I64(len(_ENDED))
        b.ret(e.call("xhlo_error_new", I64(Code.FAILED_PRECONDITION), text, size))
    # For a thread that Python does not know, or no longer knows, PyGILState_Check claims that it holds the lock.
    known = b.icmp_unsigned("!=", e.call("PyGILState_GetThisThreadState"), PTR(None))
    with e.when(b.and_(known, b.icmp_unsigned("!=", e.call("PyGILState_Check"), I32(0)))):
        e.call("PyEval_SaveThread")
    with e.repeat(lambda: ir.IntType(1)(1)):
        e.call("sleep", I32(1000))


def emit_stubs(e: Emitter, names: Sequence[str]) -> None:
    for name in names:
        with e.function(f"PJRT_{name}", PTR, PTR) as (args,):
            if name.endswith("_Destroy"):
                # Needs no answer: during shutdown jaxlib waits for its threads that destroy executables.
                dispatcher = e.build.load(e.variable("xhlo_dispatcher"), typ=I64)
                with e.when(e.is_zero(dispatcher)):
                    e.build.ret(PTR(None))
            e.build.ret(e.call("xhlo_enter", I32(ENTRY_NAMES.index(name)), args))
