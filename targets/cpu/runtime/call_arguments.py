"""
LLVM IR that looks at the arguments of a call in Python: whether they are as planned, and where their elements are.

It reads NumPy's arrays as compiled extensions do, by the fields of `PyArrayObject_fields`; where they lie differently
direct calls are not used (`targets/cpu/direct_calls.py`). The elements of NumPy's scalars, such as `np.float32(2)`, are
in the objects.
"""

from __future__ import annotations

DATA, RANK, SIZES, DTYPE, FLAGS = 16, 24, 32, 56, 64
"""The offsets in bytes of an array's fields."""

ROW_MAJOR = 0x101
"""NumPy's flags of an array that is row-major and aligned."""

WRITEABLE = 0x400
"""NumPy's flag of an array that may be written."""

SCALAR_CLASS, VALUE = 16, 16
"""The offsets of the class of scalars in a dtype, and of the element in a scalar."""

ARRAYS, FLOATS, INTEGERS, SCALARS = 1, 2, 4, 128
"""
Bits of what is taken for an argument: an array, and for one without dimensions a Python float, a Python int, a scalar
of NumPy of the wanted dtype.
"""

F32, F64, I32, I64 = 8, 16, 32, 64
"""Bits of how a number is stored."""

ARGUMENTS_IR = """
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

; Whether an object is a scalar of the wanted dtype, and such scalars are taken.
define internal i1 @xhlo_is_scalar(ptr %object, i64 %taken, ptr %wanted) alwaysinline nounwind {
  %class.place = getelementptr i8, ptr %object, i64 8
  %class = load ptr, ptr %class.place, align 8
  %dtype.place = getelementptr i64, ptr %wanted, i64 2
  %dtype = load ptr, ptr %dtype.place, align 8
  %scalar.class.place = getelementptr i8, ptr %dtype, i64 SCALAR_CLASS
  %scalar.class = load ptr, ptr %scalar.class.place, align 8
  %is.scalar = icmp eq ptr %class, %scalar.class
  %bit = and i64 %taken, SCALARS
  %takes.scalars = icmp ne i64 %bit, 0
  %is.taken = and i1 %is.scalar, %takes.scalars
  ret i1 %is.taken
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

; Puts the addresses of the elements of arrays and scalars into %pointers, and numbers into %places, and gives the words
; after theirs, or null if one is not as planned. %classes: the class of arrays, of floats and of integers.
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
  br i1 %only.arrays, label %no, label %look.for.scalar
look.for.scalar:
  %is.scalar = call i1 @xhlo_is_scalar(ptr %object, i64 %taken, ptr %wanted)
  br i1 %is.scalar, label %scalar.data, label %look.for.number
scalar.data:
  %scalar.pointer = getelementptr i8, ptr %object, i64 VALUE
  br label %planned
look.for.number:
  %place = getelementptr i64, ptr %places, i64 %number
  %is.number = call i1 @xhlo_number(ptr %object, ptr %numbers, i64 %taken, ptr %place)
  br i1 %is.number, label %planned, label %no
planned:
  %data = phi ptr [ %array.pointer, %array.data ], [ %scalar.pointer, %scalar.data ], [ %place, %look.for.number ]
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
"""
