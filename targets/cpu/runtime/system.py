"""
LLVM IR of the few functions of the operating system and the processor that the runtime needs: locks, sleep, threads,
one word for each thread, and the clock.
"""

from __future__ import annotations

import signal
import time

from .pool import pool_ir

STACK_BYTES = 8 << 20
"""The stack of a worker."""

SYNCHRONOUS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS", "SIGABRT")
"""The signals that a thread's own instructions raise; workers leave the others to the threads of the program."""

_POSIX = """
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sigdelset(ptr, i32)
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(KEY)
declare i32 @pthread_setspecific(KEY, ptr)
declare i32 @clock_gettime(i32, ptr)

@key = internal global i64 0

define internal void @make.locks() #0 {
  %1 = call i32 @pthread_mutex_init(ptr @lock, ptr null)
  %2 = call i32 @pthread_cond_init(ptr @work, ptr null)
  %3 = call i32 @pthread_cond_init(ptr @done, ptr null)
  ret void
}

define internal void @acquire() #0 {
  %1 = call i32 @pthread_mutex_lock(ptr @lock)
  ret void
}

define internal void @release() #0 {
  %1 = call i32 @pthread_mutex_unlock(ptr @lock)
  ret void
}

define internal void @sleep.on(ptr %condition) #0 {
  %1 = call i32 @pthread_cond_wait(ptr %condition, ptr @lock)
  ret void
}

define internal void @wake(ptr %condition) #0 {
  %1 = call i32 @pthread_cond_signal(ptr %condition)
  ret void
}

define internal void @wake.all(ptr %condition) #0 {
  %1 = call i32 @pthread_cond_broadcast(ptr %condition)
  ret void
}

define internal i1 @make.limit() #0 {
  %1 = call i32 @pthread_key_create(ptr @key, ptr null)
  %2 = icmp eq i32 %1, 0
  ret i1 %2
}

define internal i64 @own.limit() #0 {
  %1 = load KEY, ptr @key
  %2 = call ptr @pthread_getspecific(KEY %1)
  %3 = ptrtoint ptr %2 to i64
  ret i64 %3
}

define internal void @set.own.limit(i64 %limit) #0 {
  %1 = load KEY, ptr @key
  %2 = inttoptr i64 %limit to ptr
  %3 = call i32 @pthread_setspecific(KEY %1, ptr %2)
  ret void
}

; With all signals blocked but those that the worker itself raises.
define internal i1 @start.worker() #0 {
  %attributes = alloca [128 x i8], align 16
  %thread = alloca i64
  %blocked = alloca [128 x i8], align 16
  %before = alloca [128 x i8], align 16
  call i32 @sigfillset(ptr %blocked)
DELETE
  call i32 @pthread_sigmask(i32 SIG_SETMASK, ptr %blocked, ptr %before)
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 STACK_BYTES)
  %failed = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @worker, ptr null)
  call i32 @pthread_attr_destroy(ptr %attributes)
  call i32 @pthread_sigmask(i32 SIG_SETMASK, ptr %before, ptr null)
  %started = icmp eq i32 %failed, 0
  br i1 %started, label %detach, label %done
detach:
  %number = load i64, ptr %thread
  call i32 @pthread_detach(i64 %number)
  br label %done
done:
  ret i1 %started
}

define i64 @xhlo_clock() #0 {
  %time = alloca { i64, i64 }
  call i32 @clock_gettime(i32 CLOCK_ID, ptr %time)
  %seconds = load i64, ptr %time
  %at = getelementptr i8, ptr %time, i64 8
  %rest = load i64, ptr %at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}
"""

_LINUX_PROCESSORS = """
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)

define internal i32 @processor() #0 {
  %1 = call i32 @sched_getcpu()
  ret i32 %1
}

define internal i1 @is.on(i32 %processor) #0 {
  %here = call i32 @sched_getcpu()
  %1 = icmp eq i32 %here, %processor
  ret i1 %1
}

; Move this thread to another of its processors: without this processor in its set it is moved at once, and with the
; whole set again it may go anywhere later.
define internal void @leave.processor(i32 %processor) #0 {
  %possible = icmp ult i32 %processor, 1024
  br i1 %possible, label %ask, label %done
ask:
  %all = alloca [128 x i8], align 16
  %others = alloca [128 x i8], align 16
  %unknown = call i32 @sched_getaffinity(i32 0, i64 128, ptr %all)
  %unknown.too = call i32 @sched_getaffinity(i32 0, i64 128, ptr %others)
  %neither = or i32 %unknown, %unknown.too
  %known = icmp eq i32 %neither, 0
  br i1 %known, label %move, label %done
move:
  %number = zext i32 %processor to i64
  %place = lshr i64 %number, 3
  %at = getelementptr i8, ptr %others, i64 %place
  %bit.number = and i64 %number, 7
  %bit = shl i64 1, %bit.number
  %mask = trunc i64 %bit to i8
  %without = xor i8 %mask, -1
  %byte = load i8, ptr %at
  %left = and i8 %byte, %without
  store i8 %left, ptr %at
  %refused = call i32 @sched_setaffinity(i32 0, i64 128, ptr %others)
  %moved = icmp eq i32 %refused, 0
  br i1 %moved, label %restore, label %done
restore:
  %1 = call i32 @sched_setaffinity(i32 0, i64 128, ptr %all)
  br label %done
done:
  ret void
}
"""

_NO_PROCESSORS = """
define internal i32 @processor() #0 {
  ret i32 -1
}

define internal i1 @is.on(i32 %processor) #0 {
  ret i1 false
}

define internal void @leave.processor(i32 %processor) #0 {
  ret void
}
"""

_WINDOWS = """
declare void @InitializeSRWLock(ptr)
declare void @AcquireSRWLockExclusive(ptr)
declare void @ReleaseSRWLockExclusive(ptr)
declare void @InitializeConditionVariable(ptr)
declare i32 @SleepConditionVariableSRW(ptr, ptr, i32, i32)
declare void @WakeConditionVariable(ptr)
declare void @WakeAllConditionVariable(ptr)
declare i32 @TlsAlloc()
declare ptr @TlsGetValue(i32)
declare i32 @TlsSetValue(i32, ptr)
declare ptr @CreateThread(ptr, i64, ptr, ptr, i32, ptr)
declare i32 @CloseHandle(ptr)
declare i32 @QueryPerformanceCounter(ptr)
declare i32 @QueryPerformanceFrequency(ptr)

@key = internal global i32 0

define internal void @make.locks() #0 {
  call void @InitializeSRWLock(ptr @lock)
  call void @InitializeConditionVariable(ptr @work)
  call void @InitializeConditionVariable(ptr @done)
  ret void
}

define internal void @acquire() #0 {
  call void @AcquireSRWLockExclusive(ptr @lock)
  ret void
}

define internal void @release() #0 {
  call void @ReleaseSRWLockExclusive(ptr @lock)
  ret void
}

define internal void @sleep.on(ptr %condition) #0 {
  %1 = call i32 @SleepConditionVariableSRW(ptr %condition, ptr @lock, i32 -1, i32 0)
  ret void
}

define internal void @wake(ptr %condition) #0 {
  call void @WakeConditionVariable(ptr %condition)
  ret void
}

define internal void @wake.all(ptr %condition) #0 {
  call void @WakeAllConditionVariable(ptr %condition)
  ret void
}

define internal i1 @make.limit() #0 {
  %1 = call i32 @TlsAlloc()
  store i32 %1, ptr @key
  %2 = icmp ne i32 %1, -1
  ret i1 %2
}

define internal i64 @own.limit() #0 {
  %1 = load i32, ptr @key
  %2 = call ptr @TlsGetValue(i32 %1)
  %3 = ptrtoint ptr %2 to i64
  ret i64 %3
}

define internal void @set.own.limit(i64 %limit) #0 {
  %1 = load i32, ptr @key
  %2 = inttoptr i64 %limit to ptr
  %3 = call i32 @TlsSetValue(i32 %1, ptr %2)
  ret void
}

; 0x10000: the size is that of the reserved stack.
define internal i1 @start.worker() #0 {
  %thread = call ptr @CreateThread(ptr null, i64 STACK_BYTES, ptr @worker, ptr null, i32 65536, ptr null)
  %started = icmp ne ptr %thread, null
  br i1 %started, label %close, label %done
close:
  %1 = call i32 @CloseHandle(ptr %thread)
  br label %done
done:
  ret i1 %started
}

define i64 @xhlo_clock() #0 {
  %count = alloca i64
  %rate = alloca i64
  %1 = call i32 @QueryPerformanceCounter(ptr %count)
  %2 = call i32 @QueryPerformanceFrequency(ptr %rate)
  %ticks = load i64, ptr %count
  %per.second = load i64, ptr %rate
  %seconds = udiv i64 %ticks, %per.second
  %left = urem i64 %ticks, %per.second
  %whole = mul i64 %seconds, 1000000000
  %left.product = mul i64 %left, 1000000000
  %rest = udiv i64 %left.product, %per.second
  %now = add i64 %whole, %rest
  ret i64 %now
}
"""

# The mode of arithmetic (rounding, subnormal numbers) is the caller's on every thread: else results would depend on
# which thread computes them.
_X86 = """
declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

; Without the flags of exceptions that have happened.
define i32 @xhlo_arithmetic_mode() #0 {
  %place = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %place)
  %all = load i32, ptr %place
  %mode = and i32 %all, -64
  ret i32 %mode
}

define void @xhlo_set_arithmetic_mode(i32 %mode) #0 {
  %place = alloca i32
  store i32 %mode, ptr %place
  call void @llvm.x86.sse.ldmxcsr(ptr %place)
  ret void
}
"""

_ARM = """
declare void @llvm.aarch64.hint(i32)
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)

define i32 @xhlo_arithmetic_mode() #0 {
  %all = call i64 @llvm.aarch64.get.fpcr()
  %mode = trunc i64 %all to i32
  ret i32 %mode
}

define void @xhlo_set_arithmetic_mode(i32 %mode) #0 {
  %all = zext i32 %mode to i64
  call void @llvm.aarch64.set.fpcr(i64 %all)
  ret void
}
"""

_OTHER = """
define i32 @xhlo_arithmetic_mode() #0 {
  ret i32 0
}

define void @xhlo_set_arithmetic_mode(i32 %mode) #0 {
  ret void
}
"""


def runtime_ir(triple: str) -> str:
    """LLVM IR of the whole runtime for a machine and an operating system."""
    machine = triple.split("-")[0]
    if machine in ("x86_64", "amd64"):
        processor, pause = _X86, "call void @llvm.x86.sse2.pause()"
    elif machine in ("aarch64", "arm64"):
        processor, pause = _ARM, "call void @llvm.aarch64.hint(i32 1)"
    else:
        processor, pause = _OTHER, ""
    if "windows" in triple:
        return pool_ir(pause, "i32") + _windows() + _NO_PROCESSORS + processor
    places = _LINUX_PROCESSORS if "linux" in triple else _NO_PROCESSORS
    return pool_ir(pause, "ptr") + _posix("darwin" in triple or "macos" in triple) + places + processor


def _windows() -> str:
    return _WINDOWS.replace("STACK_BYTES", str(STACK_BYTES))


def _posix(is_darwin: bool) -> str:
    """The numbers are this system's; the types are those of Darwin or of the others."""
    numbers = [int(getattr(signal, name)) for name in SYNCHRONOUS]
    values = {
        "DELETE": "\n".join(f"  call i32 @sigdelset(ptr %blocked, i32 {number})" for number in numbers),
        "KEY": "i64" if is_darwin else "i32",
        "SIG_SETMASK": str(int(signal.SIG_SETMASK)),
        "STACK_BYTES": str(STACK_BYTES),
        "CLOCK_ID": str(time.CLOCK_MONOTONIC),
    }
    text = _POSIX
    for name, value in values.items():
        text = text.replace(name, value)
    return text
