"""
LLVM IR of the shortest way from a call in Python to a program: the method that Python calls is machine code, which
looks at the arguments itself, arrays of NumPy and numbers of Python.

It reads NumPy's arrays as compiled extensions do, by the fields of `PyArrayObject_fields`; where they lie differently
it is not used (`targets/cpu/direct_calls.py`).
"""

from __future__ import annotations

import re

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
    FALLBACK, NEXT, ENTRY, ALLOCATE, ARENA, INPUTS, READ, OUTPUTS, FINISH, KEEPS_LOCK, CALLS, CLASSES,
) = range(12)  # fmt: skip
PLAN_WORDS = CLASSES + 3
"""The 64-bit words of a plan before its arrays, and their number."""

PLAN = 16
"""The offset in bytes of the plan in an object that the method is of."""

DATA, RANK, SIZES, DTYPE, FLAGS = 16, 24, 32, 56, 64
"""The offsets in bytes of an array's fields."""

ROW_MAJOR = 0x101
"""NumPy's flags of an array that is row-major and aligned."""

WRITEABLE = 0x400
"""NumPy's flag of an array that may be written."""

ARRAYS, FLOATS, INTEGERS = 1, 2, 4
"""Bits of what is taken for an argument: an array, and for one without dimensions a Python float, a Python int."""

F32, F64, I32, I64 = 8, 16, 32, 64
"""Bits of how a number is stored."""

_IR = """
; Whether an object is an array of the class, row-major and aligned, of the wanted dtype, rank and sizes. An array
; is described by a word of bits, for what is taken for it, and then its bytes, its dtype, rank and sizes.
define internal i1 @xhlo_is_planned(ptr %object, ptr %class, ptr %wanted) alwaysinline nounwind {
start:
  %its.class.place = getelementptr i8, ptr %object, i64 8
  %its.class = load ptr, ptr %its.class.place, align 8
  %is.array = icmp eq ptr %its.class, %class
  %taken = load i64, ptr %wanted, align 8
  %bit = and i64 %taken, ARRAYS
  %takes.arrays = icmp ne i64 %bit, 0
  %may.be = and i1 %is.array, %takes.arrays
  br i1 %may.be, label %compare, label %no
compare:
  %dtype.place = getelementptr i8, ptr %object, i64 DTYPE
  %dtype = load i64, ptr %dtype.place, align 8
  %wanted.dtype.place = getelementptr i64, ptr %wanted, i64 2
  %wanted.dtype = load i64, ptr %wanted.dtype.place, align 8
  %same.dtype = icmp eq i64 %dtype, %wanted.dtype
  %flags.place = getelementptr i8, ptr %object, i64 FLAGS
  %flags = load i32, ptr %flags.place, align 4
  %both = and i32 %flags, ROW_MAJOR
  %row.major = icmp eq i32 %both, ROW_MAJOR
  %rank.place = getelementptr i8, ptr %object, i64 RANK
  %short.rank = load i32, ptr %rank.place, align 4
  %rank = sext i32 %short.rank to i64
  %wanted.rank.place = getelementptr i64, ptr %wanted, i64 3
  %wanted.rank = load i64, ptr %wanted.rank.place, align 8
  %same.rank = icmp eq i64 %rank, %wanted.rank
  %first = and i1 %same.dtype, %row.major
  %alike = and i1 %first, %same.rank
  %sizes.place = getelementptr i8, ptr %object, i64 SIZES
  %sizes = load ptr, ptr %sizes.place, align 8
  %wanted.sizes = getelementptr i64, ptr %wanted, i64 4
  br i1 %alike, label %size, label %no
size:
  %dimension = phi i64 [ 0, %compare ], [ %next.dimension, %same ]
  %is.size = icmp ult i64 %dimension, %rank
  br i1 %is.size, label %same, label %yes
same:
  %size.place = getelementptr i64, ptr %sizes, i64 %dimension
  %one = load i64, ptr %size.place, align 8
  %wanted.size.place = getelementptr i64, ptr %wanted.sizes, i64 %dimension
  %other = load i64, ptr %wanted.size.place, align 8
  %next.dimension = add i64 %dimension, 1
  %same.size = icmp eq i64 %one, %other
  br i1 %same.size, label %size, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; The words after those of an array: its bits, bytes, dtype, rank and sizes.
define internal ptr @xhlo_after(ptr %words) alwaysinline nounwind {
  %rank.place = getelementptr i64, ptr %words, i64 3
  %rank = load i64, ptr %rank.place, align 8
  %length = add i64 %rank, 4
  %after = getelementptr i64, ptr %words, i64 %length
  ret ptr %after
}

; Whether a number of Python is taken: then it is stored at %place. One that is out of range is not.
define internal i1 @xhlo_number(ptr %object, ptr %numbers, i64 %taken, ptr %place) nounwind {
start:
  %overflow = alloca i32, align 4
  %class.place = getelementptr i8, ptr %object, i64 8
  %class = load ptr, ptr %class.place, align 8
  %float.class = load ptr, ptr %numbers, align 8
  %integer.class.place = getelementptr ptr, ptr %numbers, i64 1
  %integer.class = load ptr, ptr %integer.class.place, align 8
  %is.float = icmp eq ptr %class, %float.class
  %float.bit = and i64 %taken, FLOATS
  %takes.floats = icmp ne i64 %float.bit, 0
  %float.is.taken = and i1 %is.float, %takes.floats
  br i1 %float.is.taken, label %float, label %no.float
float:
  %value = call double @PyFloat_AsDouble(ptr %object)
  %float.f64.bit = and i64 %taken, F64
  %float.is.f64 = icmp ne i64 %float.f64.bit, 0
  br i1 %float.is.f64, label %as.it.is, label %narrow
as.it.is:
  store double %value, ptr %place, align 8
  br label %yes
narrow:
  %narrow.value = fptrunc double %value to float
  %its.size = call double @llvm.fabs.f64(double %value)
  %new.size = call float @llvm.fabs.f32(float %narrow.value)
  %was.finite = fcmp olt double %its.size, 0x7FF0000000000000
  %is.infinite = fcmp oeq float %new.size, 0x7FF0000000000000
  %overflows = and i1 %was.finite, %is.infinite
  store float %narrow.value, ptr %place, align 4
  br i1 %overflows, label %no, label %yes
no.float:
  %is.integer = icmp eq ptr %class, %integer.class
  %integer.bit = and i64 %taken, INTEGERS
  %takes.integers = icmp ne i64 %integer.bit, 0
  %integer.is.taken = and i1 %is.integer, %takes.integers
  br i1 %integer.is.taken, label %integer, label %no
integer:
  %whole = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %far = load i32, ptr %overflow, align 4
  %is.near = icmp eq i32 %far, 0
  br i1 %is.near, label %near, label %no
near:
  %i64.bit = and i64 %taken, I64
  %is.i64 = icmp ne i64 %i64.bit, 0
  br i1 %is.i64, label %as.i64, label %no.i64
as.i64:
  store i64 %whole, ptr %place, align 8
  br label %yes
no.i64:
  %i32.bit = and i64 %taken, I32
  %is.i32 = icmp ne i64 %i32.bit, 0
  br i1 %is.i32, label %as.i32, label %no.i32
as.i32:
  %half = trunc i64 %whole to i32
  %again = sext i32 %half to i64
  %in.range = icmp eq i64 %again, %whole
  store i32 %half, ptr %place, align 4
  ret i1 %in.range
no.i32:
  %f64.bit = and i64 %taken, F64
  %is.f64 = icmp ne i64 %f64.bit, 0
  br i1 %is.f64, label %as.f64, label %as.f32
as.f64:
  %double = sitofp i64 %whole to double
  store double %double, ptr %place, align 8
  br label %yes
as.f32:
  %single = sitofp i64 %whole to float
  store float %single, ptr %place, align 4
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; Puts the addresses of the elements of arrays into %pointers, and numbers into %places, and gives the words after
; theirs, or null if one is not as planned. %classes: the class of arrays, of floats and of integers.
define internal ptr @xhlo_addresses(ptr %objects, i64 %count, ptr %classes, ptr %arrays, ptr %pointers, ptr %places)
    alwaysinline nounwind {
start:
  %class = load ptr, ptr %classes, align 8
  %numbers = getelementptr ptr, ptr %classes, i64 1
  br label %array
array:
  %number = phi i64 [ 0, %start ], [ %next.number, %planned ]
  %wanted = phi ptr [ %arrays, %start ], [ %next.wanted, %planned ]
  %more = icmp ult i64 %number, %count
  br i1 %more, label %look, label %done
look:
  %object.place = getelementptr ptr, ptr %objects, i64 %number
  %object = load ptr, ptr %object.place, align 8
  %fits = call i1 @xhlo_is_planned(ptr %object, ptr %class, ptr %wanted)
  br i1 %fits, label %array.data, label %look.again
array.data:
  %data.place = getelementptr i8, ptr %object, i64 DATA
  %array.pointer = load ptr, ptr %data.place, align 8
  br label %planned
look.again:
  %taken = load i64, ptr %wanted, align 8
  %only.arrays = icmp eq i64 %taken, ARRAYS
  br i1 %only.arrays, label %no, label %look.for.number
look.for.number:
  %place = getelementptr i64, ptr %places, i64 %number
  %is.number = call i1 @xhlo_number(ptr %object, ptr %numbers, i64 %taken, ptr %place)
  br i1 %is.number, label %planned, label %no
planned:
  %data = phi ptr [ %array.pointer, %array.data ], [ %place, %look.for.number ]
  %pointer.place = getelementptr ptr, ptr %pointers, i64 %number
  store ptr %data, ptr %pointer.place, align 8
  %next.wanted = call ptr @xhlo_after(ptr %wanted)
  %next.number = add i64 %number, 1
  br label %array
done:
  ret ptr %wanted
no:
  ret ptr null
}

; Whether arrays may be written: those from %first on are writeable, and share no memory with those before them.
define internal i1 @xhlo_may_be_written(ptr %objects, i64 %first, i64 %count, ptr %arrays, ptr %pointers) nounwind {
start:
  br label %array
array:
  %number = phi i64 [ 0, %start ], [ %next.number, %next ]
  %words = phi ptr [ %arrays, %start ], [ %next.words, %next ]
  %more = icmp ult i64 %number, %count
  br i1 %more, label %look, label %yes
look:
  %is.result = icmp uge i64 %number, %first
  br i1 %is.result, label %result, label %next
result:
  %object.place = getelementptr ptr, ptr %objects, i64 %number
  %object = load ptr, ptr %object.place, align 8
  %flags.place = getelementptr i8, ptr %object, i64 FLAGS
  %flags = load i32, ptr %flags.place, align 4
  %bit = and i32 %flags, WRITEABLE
  %is.writeable = icmp ne i32 %bit, 0
  %begin.place = getelementptr i64, ptr %pointers, i64 %number
  %begin = load i64, ptr %begin.place, align 8
  %bytes.place = getelementptr i64, ptr %words, i64 1
  %bytes = load i64, ptr %bytes.place, align 8
  %end = add i64 %begin, %bytes
  br i1 %is.writeable, label %other, label %no
other:
  %before = phi i64 [ 0, %result ], [ %next.before, %compare ]
  %its.words = phi ptr [ %arrays, %result ], [ %its.next.words, %compare ]
  %is.before = icmp ult i64 %before, %number
  br i1 %is.before, label %compare, label %next
compare:
  %its.begin.place = getelementptr i64, ptr %pointers, i64 %before
  %its.begin = load i64, ptr %its.begin.place, align 8
  %its.bytes.place = getelementptr i64, ptr %its.words, i64 1
  %its.bytes = load i64, ptr %its.bytes.place, align 8
  %its.end = add i64 %its.begin, %its.bytes
  %begins.inside = icmp ult i64 %its.begin, %end
  %ends.inside = icmp ult i64 %begin, %its.end
  %shares = and i1 %begins.inside, %ends.inside
  %its.next.words = call ptr @xhlo_after(ptr %its.words)
  %next.before = add i64 %before, 1
  br i1 %shares, label %no, label %other
next:
  %next.words = call ptr @xhlo_after(ptr %words)
  %next.number = add i64 %number, 1
  br label %array
yes:
  ret i1 true
no:
  ret i1 false
}

; A method of Python (METH_FASTCALL | METH_KEYWORDS) of objects that have a plan: calls with positional arguments that
; are arrays or numbers as planned run the program, on results that are made here, or are the arguments from the number
; READ on. Its plan, a bytearray, has the next plan, which is tried if they are not as planned. After the last one, and
; for keywords, the object's function in Python is called with all arguments.
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
  br i1 %only.read, label %begin.results, label %may.be.written
may.be.written:
  %may = call i1 @xhlo_may_be_written(ptr %objects, i64 %read, i64 %inputs, ptr %arrays, ptr %pointers)
  br i1 %may, label %begin.results, label %unfit
unfit:
  call void @llvm.stackrestore.p0(ptr %saved)
  br label %another
begin.results:
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
  br i1 %is.made, label %made, label %failed
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
failed:
  %left = phi i64 [ %number, %check ], [ %outputs, %several ], [ %before, %free ]
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
  %arena = alloca i8, i64 %arena.bytes, align 64
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
    # Numbers stand in the text by the names of this module.
    text = re.sub(r"\b[A-Z][A-Z0-9_]{2,}\b", lambda found: str(globals().get(found[0], found[0])), _IR)
    return "".join([*declared, text])
