"""
LLVM IR of the shortest way from a call in Python to a program: the method that Python calls is machine code, which
looks at the arguments itself, arrays of NumPy and numbers of Python.
"""

from __future__ import annotations

import re

from . import call_arguments

PYTHON = {
    "PyByteArray_AsString": "ptr (ptr)",
    "PyErr_BadInternalCall": "void ()",
    "PyEval_RestoreThread": "void (ptr)",
    "PyEval_SaveThread": "ptr ()",
    "PyFloat_AsDouble": "double (ptr)",
    "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)",
    "PyObject_CallNoArgs": "ptr (ptr)",
    "PyObject_CallOneArg": "ptr (ptr, ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyTuple_Size": "i64 (ptr)",
    "Py_DecRef": "void (ptr)",
    "Py_IncRef": "void (ptr)",
}
"""The functions of Python that it calls, and their types."""

_LLVM = {
    "llvm.fabs.f32": "float (float)",
    "llvm.fabs.f64": "double (double)",
    "llvm.memcpy.p0.p0.i64": "void (ptr, ptr, i64, i1)",
    "llvm.stackrestore.p0": "void (ptr)",
    "llvm.stacksave.p0": "ptr ()",
}
"""LLVM's functions."""

SYMBOL = "xhlo_direct_call"

(
    FALLBACK, NEXT, ENTRY, ALLOCATE, ARENA, INPUTS, READ, OUTPUTS, FINISH, KEEPS_LOCK, CALLS, KEPT, CLASSES,
) = range(13)  # fmt: skip
PLAN_WORDS = CLASSES + 3
"""The 64-bit words of a plan before its arrays, and their number."""

PLAN = 16
"""The offset in bytes of the plan in an object that the method is of."""

_IR = """
; A method of Python (METH_FASTCALL | METH_KEYWORDS) of objects that have a plan: calls with positional arguments that
; are arrays or numbers as planned run the program, on results that are made here, or are the arguments from the number
; READ on. Its plan, a bytearray, has the next plan, which is tried if they are not as planned. After the last one, and
; for keywords, the object's function in Python is called with all arguments. A call takes an arena that is too large
; for the stack from the place KEPT; another one meanwhile finds none there, and goes on as if it did not fit.
define ptr @xhlo_direct_call(ptr %self, ptr %objects, i64 %given, ptr %keywords) nounwind {
start:
  %plan.place = getelementptr i8, ptr %self, i64 PLAN
  %first = load ptr, ptr %plan.place, align 8
  %has.plan = icmp ne ptr %first, null
  br i1 %has.plan, label %begin, label %none
none:
  call void @PyErr_BadInternalCall()
  ret ptr null
begin:
  %first.words = call ptr @PyByteArray_AsString(ptr %first)
  %by.name = icmp ne ptr %keywords, null
  br i1 %by.name, label %refuse, label %try
try:
  %plan = phi ptr [ %first, %begin ], [ %next.plan, %another ]
  %words = call ptr @PyByteArray_AsString(ptr %plan)
  %next.place = getelementptr i64, ptr %words, i64 NEXT
  %next.plan = load ptr, ptr %next.place, align 8
  %inputs.place = getelementptr i64, ptr %words, i64 INPUTS
  %inputs = load i64, ptr %inputs.place, align 8
  %as.many = icmp eq i64 %given, %inputs
  br i1 %as.many, label %look, label %another
another:
  %is.last = icmp eq ptr %next.plan, null
  br i1 %is.last, label %refuse, label %try
look:
  %classes = getelementptr i64, ptr %words, i64 CLASSES
  %outputs.place = getelementptr i64, ptr %words, i64 OUTPUTS
  %outputs = load i64, ptr %outputs.place, align 8
  %saved = call ptr @llvm.stacksave.p0()
  %buffers = add i64 %inputs, %outputs
  %slots = add i64 %buffers, 1
  %pointers = alloca ptr, i64 %slots, align 8
  %places = alloca i64, i64 %inputs, align 8
  %arrays = getelementptr i64, ptr %words, i64 PLAN_WORDS
  %after = call ptr @xhlo_addresses(ptr %objects, i64 %inputs, ptr %classes, ptr %arrays, ptr %pointers,
                                   ptr %places)
  %fit = icmp ne ptr %after, null
  br i1 %fit, label %written, label %unfit
written:
  %read.place = getelementptr i64, ptr %words, i64 READ
  %read = load i64, ptr %read.place, align 8
  %only.read = icmp eq i64 %read, %inputs
  br i1 %only.read, label %look.for.arena, label %may.be.written
may.be.written:
  %may = call i1 @xhlo_may_be_written(ptr %objects, i64 %read, i64 %inputs, ptr %arrays, ptr %pointers)
  br i1 %may, label %look.for.arena, label %unfit
unfit:
  call void @llvm.stackrestore.p0(ptr %saved)
  br label %another
look.for.arena:
  %kept.word = getelementptr i64, ptr %words, i64 KEPT
  %kept.place = load ptr, ptr %kept.word, align 8
  %is.kept = icmp ne ptr %kept.place, null
  br i1 %is.kept, label %take.arena, label %begin.results
take.arena:
  %taken = atomicrmw xchg ptr %kept.place, ptr null acquire
  %is.taken = icmp ne ptr %taken, null
  br i1 %is.taken, label %begin.results, label %unfit
begin.results:
  %kept = phi ptr [ null, %look.for.arena ], [ %taken, %take.arena ]
  call void @Py_IncRef(ptr %plan)
  %results = alloca ptr, i64 %outputs, align 8
  %result.pointers = getelementptr ptr, ptr %pointers, i64 %inputs
  %allocate.place = getelementptr i64, ptr %words, i64 ALLOCATE
  %allocate = load ptr, ptr %allocate.place, align 8
  %class = load ptr, ptr %classes, align 8
  br label %result
result:
  %number = phi i64 [ 0, %begin.results ], [ %next.number, %made ]
  %of.result = phi ptr [ %after, %begin.results ], [ %of.next, %made ]
  %more = icmp ult i64 %number, %outputs
  br i1 %more, label %make, label %run
make:
  %maker = load ptr, ptr %of.result, align 8
  %dtype.place = getelementptr i64, ptr %of.result, i64 2
  %dtype = load ptr, ptr %dtype.place, align 8
  %rank.place = getelementptr i64, ptr %of.result, i64 3
  %rank = load i64, ptr %rank.place, align 8
  %sizes = getelementptr i64, ptr %of.result, i64 4
  %by.numpy = icmp eq ptr %maker, null
  br i1 %by.numpy, label %numpy, label %python
numpy:
  %short.rank = trunc i64 %rank to i32
  call void @Py_IncRef(ptr %dtype)
  %new = call ptr %allocate(ptr %class, ptr %dtype, i32 %short.rank, ptr %sizes, ptr null, ptr null, i32 0, ptr null)
  br label %check
python:
  %called = call ptr @PyObject_CallNoArgs(ptr %maker)
  br label %check
check:
  %array = phi ptr [ %new, %numpy ], [ %called, %python ]
  %is.made = icmp ne ptr %array, null
  br i1 %is.made, label %made, label %none.made
made:
  %result.place = getelementptr ptr, ptr %results, i64 %number
  store ptr %array, ptr %result.place, align 8
  %data.place = getelementptr i8, ptr %array, i64 DATA
  %data = load ptr, ptr %data.place, align 8
  %pointer.place = getelementptr ptr, ptr %result.pointers, i64 %number
  store ptr %data, ptr %pointer.place, align 8
  %next.number = add i64 %number, 1
  %of.next = getelementptr i64, ptr %sizes, i64 %rank
  br label %result
none.made:
  br i1 %is.kept, label %keep.arena, label %failed
keep.arena:
  store atomic ptr %kept, ptr %kept.place release, align 8
  br label %failed
failed:
  %left = phi i64 [ %number, %none.made ], [ %number, %keep.arena ], [ %outputs, %several ], [ %before, %free ]
  %is.left = icmp ne i64 %left, 0
  br i1 %is.left, label %free, label %give.up
free:
  %before = sub i64 %left, 1
  %freed.place = getelementptr ptr, ptr %results, i64 %before
  %freed = load ptr, ptr %freed.place, align 8
  call void @Py_DecRef(ptr %freed)
  br label %failed
give.up:
  call void @Py_DecRef(ptr %plan)
  ret ptr null
run:
  %entry.place = getelementptr i64, ptr %words, i64 ENTRY
  %entry = load ptr, ptr %entry.place, align 8
  %arena.place = getelementptr i64, ptr %words, i64 ARENA
  %arena.bytes = load i64, ptr %arena.place, align 8
  %on.stack = select i1 %is.kept, i64 0, i64 %arena.bytes
  %stack.arena = alloca i8, i64 %on.stack, align 64
  %arena = select i1 %is.kept, ptr %kept, ptr %stack.arena
  %arena.pointer.place = getelementptr ptr, ptr %pointers, i64 %buffers
  store ptr %arena, ptr %arena.pointer.place, align 8
  %keeps.place = getelementptr i64, ptr %words, i64 KEEPS_LOCK
  %keeps = load i64, ptr %keeps.place, align 8
  %keeps.lock = icmp ne i64 %keeps, 0
  br i1 %keeps.lock, label %short, label %long
short:
  call void %entry(ptr %pointers)
  br label %ran
long:
  %state = call ptr @PyEval_SaveThread()
  call void %entry(ptr %pointers)
  call void @PyEval_RestoreThread(ptr %state)
  br label %ran
ran:
  br i1 %is.kept, label %give.back, label %count
give.back:
  store atomic ptr %kept, ptr %kept.place release, align 8
  br label %count
count:
  %calls.place = getelementptr i64, ptr %words, i64 CALLS
  %calls = load i64, ptr %calls.place, align 8
  %one.more = add i64 %calls, 1
  store i64 %one.more, ptr %calls.place, align 8
  %finish.place = getelementptr i64, ptr %words, i64 FINISH
  %finish = load ptr, ptr %finish.place, align 8
  %as.they.are = icmp eq ptr %finish, null
  %is.one = icmp eq i64 %outputs, 1
  %is.array = and i1 %as.they.are, %is.one
  br i1 %is.array, label %one, label %several
one:
  %only = load ptr, ptr %results, align 8
  br label %end
several:
  %tuple = call ptr @PyTuple_New(i64 %outputs)
  %has.tuple = icmp ne ptr %tuple, null
  br i1 %has.tuple, label %fill, label %failed
fill:
  %filled = phi i64 [ 0, %several ], [ %next.filled, %filling ]
  %is.filled = icmp ult i64 %filled, %outputs
  br i1 %is.filled, label %filling, label %full
filling:
  %item.place = getelementptr ptr, ptr %results, i64 %filled
  %item = load ptr, ptr %item.place, align 8
  %ignored = call i32 @PyTuple_SetItem(ptr %tuple, i64 %filled, ptr %item)
  %next.filled = add i64 %filled, 1
  br label %fill
full:
  br i1 %as.they.are, label %end, label %finishing
finishing:
  ; What makes the value may call programs too, whose arenas follow on this stack.
  call void @llvm.stackrestore.p0(ptr %saved)
  %finished = call ptr @PyObject_CallOneArg(ptr %finish, ptr %tuple)
  call void @Py_DecRef(ptr %tuple)
  br label %end
end:
  %value = phi ptr [ %only, %one ], [ %tuple, %full ], [ %finished, %finishing ]
  call void @Py_DecRef(ptr %plan)
  ret ptr %value
refuse:
  %fallback.place = getelementptr i64, ptr %first.words, i64 FALLBACK
  %fallback = load ptr, ptr %fallback.place, align 8
  br i1 %by.name, label %names, label %with.self
names:
  %named = call i64 @PyTuple_Size(ptr %keywords)
  br label %with.self
with.self:
  %more.given = phi i64 [ 0, %refuse ], [ %named, %names ]
  %all.given = add i64 %given, %more.given
  %with.it = add i64 %all.given, 1
  %stack = alloca ptr, i64 %with.it, align 8
  store ptr %self, ptr %stack, align 8
  %others = getelementptr ptr, ptr %stack, i64 1
  %bytes = mul i64 %all.given, 8
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %others, ptr align 8 %objects, i64 %bytes, i1 false)
  %positional = add i64 %given, 1
  %answer = call ptr @PyObject_Vectorcall(ptr %fallback, ptr %stack, i64 %positional, ptr %keywords)
  ret ptr %answer
}
"""


def direct_call_ir() -> str:
    """LLVM IR of `PyObject *xhlo_direct_call(PyObject *self, PyObject *const *given, Py_ssize_t, PyObject *names)`."""
    declared = [f"declare {type_.replace('(', f'@{name}(')}\n" for name, type_ in (PYTHON | _LLVM).items()]
    # In the texts the numbers of both modules have their names.
    numbers = {**vars(call_arguments), **globals()}
    text = "".join([*declared, call_arguments.ARGUMENTS_IR, _IR])
    return re.sub(r"\b[A-Z][A-Z0-9_]{2,}\b", lambda found: str(numbers.get(found[0], found[0])), text)
