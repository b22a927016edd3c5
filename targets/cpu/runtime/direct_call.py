"""
LLVM IR of the shortest way from a call in Python to a program: the function that Python calls is machine code, which
looks at the arrays itself.

It reads NumPy's arrays as compiled extensions do, by the fields of `PyArrayObject_fields`; where they lie differently
the function is not used (`targets/cpu/direct_calls.py`).
"""

from __future__ import annotations

PYTHON = ("PyBytes_AsString", "PyBool_FromLong", "PyEval_SaveThread", "PyEval_RestoreThread")
"""The functions of Python that it calls."""

SYMBOL = "xhlo_direct_call"

DATA, RANK, SIZES, DTYPE, FLAGS = 16, 24, 32, 56, 64
"""The offsets in bytes of an array's fields."""

ROW_MAJOR = 0x101
"""NumPy's flags of an array that is row-major and aligned."""

HEAD_WORDS = 4
"""The 64-bit words of a plan before its arrays: the entry, the class of arrays, the bytes of the arena, the arrays."""

_IR = """
declare ptr @PyBytes_AsString(ptr)
declare ptr @PyBool_FromLong(i64)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

; A function of Python (METH_FASTCALL) whose own object is the plan, as bytes: the entry of a program, the class of
; arrays, the bytes of the arena, the number of arrays, then of each its dtype, rank and sizes. True if the given
; arrays, arguments and results, are as planned: then the program has run on them. False if they are not, and nothing
; has run.
define ptr @xhlo_direct_call(ptr %self, ptr %objects, i64 %given) nounwind {
start:
  %plan = call ptr @PyBytes_AsString(ptr %self)
  %entry = load ptr, ptr %plan, align 8
  %class.place = getelementptr i64, ptr %plan, i64 1
  %class = load ptr, ptr %class.place, align 8
  %arena.place = getelementptr i64, ptr %plan, i64 2
  %arena.bytes = load i64, ptr %arena.place, align 8
  %count.place = getelementptr i64, ptr %plan, i64 3
  %count = load i64, ptr %count.place, align 8
  %slots = add i64 %count, 1
  %pointers = alloca ptr, i64 %slots, align 8
  %arrays = getelementptr i64, ptr %plan, i64 HEAD_WORDS
  %as.many = icmp eq i64 %given, %count
  br i1 %as.many, label %array, label %refuse
array:
  %number = phi i64 [ 0, %start ], [ %next.number, %next ]
  %wanted = phi ptr [ %arrays, %start ], [ %next.wanted, %next ]
  %more = icmp ult i64 %number, %count
  br i1 %more, label %look, label %run
look:
  %object.place = getelementptr ptr, ptr %objects, i64 %number
  %object = load ptr, ptr %object.place, align 8
  %its.class.place = getelementptr i8, ptr %object, i64 8
  %its.class = load ptr, ptr %its.class.place, align 8
  %is.array = icmp eq ptr %its.class, %class
  br i1 %is.array, label %compare, label %refuse
compare:
  %dtype.place = getelementptr i8, ptr %object, i64 DTYPE
  %dtype = load i64, ptr %dtype.place, align 8
  %wanted.dtype = load i64, ptr %wanted, align 8
  %same.dtype = icmp eq i64 %dtype, %wanted.dtype
  %flags.place = getelementptr i8, ptr %object, i64 FLAGS
  %flags = load i32, ptr %flags.place, align 4
  %both = and i32 %flags, ROW_MAJOR
  %row.major = icmp eq i32 %both, ROW_MAJOR
  %rank.place = getelementptr i8, ptr %object, i64 RANK
  %short.rank = load i32, ptr %rank.place, align 4
  %rank = sext i32 %short.rank to i64
  %wanted.rank.place = getelementptr i64, ptr %wanted, i64 1
  %wanted.rank = load i64, ptr %wanted.rank.place, align 8
  %same.rank = icmp eq i64 %rank, %wanted.rank
  %first = and i1 %same.dtype, %row.major
  %alike = and i1 %first, %same.rank
  %sizes.place = getelementptr i8, ptr %object, i64 SIZES
  %sizes = load ptr, ptr %sizes.place, align 8
  %wanted.sizes = getelementptr i64, ptr %wanted, i64 2
  br i1 %alike, label %size, label %refuse
size:
  %dimension = phi i64 [ 0, %compare ], [ %next.dimension, %same ]
  %is.size = icmp ult i64 %dimension, %rank
  br i1 %is.size, label %same, label %next
same:
  %size.place = getelementptr i64, ptr %sizes, i64 %dimension
  %one = load i64, ptr %size.place, align 8
  %wanted.size.place = getelementptr i64, ptr %wanted.sizes, i64 %dimension
  %other = load i64, ptr %wanted.size.place, align 8
  %next.dimension = add i64 %dimension, 1
  %same.size = icmp eq i64 %one, %other
  br i1 %same.size, label %size, label %refuse
next:
  %data.place = getelementptr i8, ptr %object, i64 DATA
  %data = load ptr, ptr %data.place, align 8
  %pointer.place = getelementptr ptr, ptr %pointers, i64 %number
  store ptr %data, ptr %pointer.place, align 8
  %next.number = add i64 %number, 1
  %next.wanted = getelementptr i64, ptr %wanted.sizes, i64 %rank
  br label %array
run:
  %arena.pointer.place = getelementptr ptr, ptr %pointers, i64 %count
  %arena = alloca i8, i64 %arena.bytes, align 64
  store ptr %arena, ptr %arena.pointer.place, align 8
  %state = call ptr @PyEval_SaveThread()
  call void %entry(ptr %pointers)
  call void @PyEval_RestoreThread(ptr %state)
  %true = call ptr @PyBool_FromLong(i64 1)
  ret ptr %true
refuse:
  %false = call ptr @PyBool_FromLong(i64 0)
  ret ptr %false
}
"""


def direct_call_ir() -> str:
    """LLVM IR of `PyObject *xhlo_direct_call(PyObject *plan, PyObject *const *arrays, Py_ssize_t count)`."""
    text = _IR
    offsets = {"DATA": DATA, "RANK": RANK, "SIZES": SIZES, "DTYPE": DTYPE, "FLAGS": FLAGS}
    for name, value in {**offsets, "ROW_MAJOR": ROW_MAJOR, "HEAD_WORDS": HEAD_WORDS}.items():
        text = text.replace(name, str(value))
    return text
