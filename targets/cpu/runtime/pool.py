"""
LLVM IR of the threads that run parallel loops: one pool for all threads of the process that call compiled code.

A loop is a *job* on its caller's stack, in a list that the workers read. Its iterations are cut into one *share* for
each thread, and the shares into *chunks*: a thread takes the chunks of its own share, which it often has in its caches
from the loop before, then those of the others. So a caller waits only for chunks in progress, never for a worker that
the system has not scheduled yet, and a loop runs to its end even if there are no workers at all, as after a fork.
Chunks become smaller towards the end of a share, so that the last thread has little left when the others are done.
Idle workers watch for new jobs for a few microseconds, then sleep; so does a caller whose last chunks are elsewhere.

Each thread has a *limit*, the number of threads of its loops. Workers have the limit 1, as callers inside of a loop,
so nested loops run where they are.

The functions of the operating system are those of `system.py`.
"""

from __future__ import annotations

WATCH_NS = 50_000
"""Nanoseconds that an idle worker watches for a job, or a caller for the end of its own, before it sleeps."""

CHUNKS = 4
"""
A chunk is this part of what is left of its share, or one iteration: smaller chunks wait less for a thread that was
interrupted, and cost more calls.
"""

MAX_THREADS = 256
"""The most threads of one loop; its shares are on the stack."""

_STATE = """
; The caller's function, its context, shares, their number; then, under the lock: workers that may still join, those
; that have joined, those at work, the next job of the list. Last the caller's mode of arithmetic and its processor.
%job = type { ptr, ptr, ptr, i64, i64, i64, i64, ptr, i32, i32 }
; The next iteration and the end, in a cache line of its own.
%share = type { i64, i64, [6 x i64] }

@lock = internal global [128 x i8] zeroinitializer, align 64
@work = internal global [128 x i8] zeroinitializer, align 64
@done = internal global [128 x i8] zeroinitializer, align 64
; Under the lock:
@jobs = internal global ptr null, align 64
@workers = internal global i64 0
@asleep = internal global i64 0
@waiting = internal global i64 0
; Read without it:
@number.of.jobs = internal global i64 0, align 64
@watching = internal global i64 0, align 64
@default.limit = internal global i64 1, align 64

attributes #0 = { nounwind }
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
"""

_LOOP = """
define void @xhlo_parallel_for(ptr %body, ptr %context, i64 %count) #0 {
  %limit = call i64 @xhlo_thread_limit()
  %threads = call i64 @llvm.smin.i64(i64 %limit, i64 %count)
  %alone = icmp sle i64 %threads, 1
  br i1 %alone, label %here, label %share
here:
  call void %body(ptr %context, i64 0, i64 %count)
  ret void
share:
  call void @run.job(ptr %body, ptr %context, i64 %count, i64 %threads)
  ret void
}

define internal void @run.job(ptr %body, ptr %context, i64 %count, i64 %threads) noinline #0 {
entry:
  %job = alloca %job, align 64
  %shares = alloca %share, i64 %threads, align 64
  %helpers = sub i64 %threads, 1
  store ptr %body, ptr %job
  %context.at = getelementptr %job, ptr %job, i64 0, i32 1
  store ptr %context, ptr %context.at
  %shares.at = getelementptr %job, ptr %job, i64 0, i32 2
  store ptr %shares, ptr %shares.at
  %count.at = getelementptr %job, ptr %job, i64 0, i32 3
  store i64 %threads, ptr %count.at
  %seats.at = getelementptr %job, ptr %job, i64 0, i32 4
  store i64 %helpers, ptr %seats.at
  %joined.at = getelementptr %job, ptr %job, i64 0, i32 5
  store i64 0, ptr %joined.at
  %active.at = getelementptr %job, ptr %job, i64 0, i32 6
  store i64 0, ptr %active.at
  %next.at = getelementptr %job, ptr %job, i64 0, i32 7
  %mode = call i32 @xhlo_arithmetic_mode()
  %mode.at = getelementptr %job, ptr %job, i64 0, i32 8
  store i32 %mode, ptr %mode.at
  %processor = call i32 @processor()
  %processor.at = getelementptr %job, ptr %job, i64 0, i32 9
  store i32 %processor, ptr %processor.at
  br label %cut
cut:
  %t = phi i64 [ 0, %entry ], [ %t.next, %cut ]
  %t.next = add i64 %t, 1
  %lo.product = mul i64 %t, %count
  %lo = udiv i64 %lo.product, %threads
  %hi.product = mul i64 %t.next, %count
  %hi = udiv i64 %hi.product, %threads
  %share = getelementptr %share, ptr %shares, i64 %t
  store i64 %lo, ptr %share
  %end.at = getelementptr %share, ptr %share, i64 0, i32 1
  store i64 %hi, ptr %end.at
  %cut.more = icmp ult i64 %t.next, %threads
  br i1 %cut.more, label %cut, label %publish

publish:
  call void @acquire()
  br label %hire
hire:
  %workers = load i64, ptr @workers
  %few = icmp ult i64 %workers, %helpers
  br i1 %few, label %start, label %list
start:
  %started = call i1 @start.worker()
  br i1 %started, label %count.it, label %list
count.it:
  %workers.now = add i64 %workers, 1
  store i64 %workers.now, ptr @workers
  br label %hire
list:
  %before = load ptr, ptr @jobs
  store ptr %before, ptr %next.at
  store ptr %job, ptr @jobs
  %number = load i64, ptr @number.of.jobs
  %number.now = add i64 %number, 1
  store atomic i64 %number.now, ptr @number.of.jobs release, align 8
  %watching = load atomic i64, ptr @watching monotonic, align 8
  %missing = sub i64 %helpers, %watching
  %asleep = load i64, ptr @asleep
  %wanted = call i64 @llvm.smin.i64(i64 %missing, i64 %asleep)
  call void @release()
  br label %wake
wake:
  %left = phi i64 [ %wanted, %list ], [ %left.now, %wake.one ]
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %wake.one, label %run
wake.one:
  call void @wake(ptr @work)
  %left.now = sub i64 %left, 1
  br label %wake

run:
  %mine = call i64 @own.limit()
  call void @set.own.limit(i64 1)
  call void @run.shares(ptr %job, i64 0)
  call void @set.own.limit(i64 %mine)
  call void @acquire()
  br label %find
find:
  %link = phi ptr [ @jobs, %run ], [ %after, %further ]
  %at = load ptr, ptr %link
  %same = icmp eq ptr %at, %job
  br i1 %same, label %unlink, label %further
further:
  %after = getelementptr %job, ptr %at, i64 0, i32 7
  br label %find
unlink:
  %rest = load ptr, ptr %next.at
  store ptr %rest, ptr %link
  call void @release()
  ; No worker joins from here on.
  %at.work = load atomic i64, ptr %active.at acquire, align 8
  %busy = icmp ne i64 %at.work, 0
  br i1 %busy, label %wait, label %finish
wait:
  %ended = call i1 @watch(ptr %active.at, i64 0, i1 true)
  br i1 %ended, label %finish, label %sleep
sleep:
  call void @acquire()
  %waiting = load i64, ptr @waiting
  %waiting.more = add i64 %waiting, 1
  store i64 %waiting.more, ptr @waiting
  br label %check
check:
  %still = load atomic i64, ptr %active.at acquire, align 8
  %is.busy = icmp ne i64 %still, 0
  br i1 %is.busy, label %rest.now, label %woken
rest.now:
  call void @sleep.on(ptr @done)
  br label %check
woken:
  %waiting.then = load i64, ptr @waiting
  %waiting.less = sub i64 %waiting.then, 1
  store i64 %waiting.less, ptr @waiting
  call void @release()
  br label %finish
finish:
  ret void
}

; Take chunks until there are none, the own share's first.
define internal void @run.shares(ptr %job, i64 %me) #0 {
entry:
  %body = load ptr, ptr %job
  %context.at = getelementptr %job, ptr %job, i64 0, i32 1
  %context = load ptr, ptr %context.at
  %shares.at = getelementptr %job, ptr %job, i64 0, i32 2
  %shares = load ptr, ptr %shares.at
  %count.at = getelementptr %job, ptr %job, i64 0, i32 3
  %count = load i64, ptr %count.at
  br label %visit
visit:
  %turn = phi i64 [ 0, %entry ], [ %turn.next, %next ]
  %number.far = add i64 %me, %turn
  %number = urem i64 %number.far, %count
  %share = getelementptr %share, ptr %shares, i64 %number
  %end.at = getelementptr %share, ptr %share, i64 0, i32 1
  %end = load i64, ptr %end.at
  br label %look
look:
  %seen = load atomic i64, ptr %share monotonic, align 8
  %some = icmp slt i64 %seen, %end
  br i1 %some, label %take, label %next
take:
  %left = sub i64 %end, %seen
  %part = udiv i64 %left, CHUNKS
  %chunk = call i64 @llvm.smax.i64(i64 %part, i64 1)
  %lo = atomicrmw add ptr %share, i64 %chunk monotonic
  %got = icmp slt i64 %lo, %end
  br i1 %got, label %work, label %next
work:
  %far = add i64 %lo, %chunk
  %hi = call i64 @llvm.smin.i64(i64 %far, i64 %end)
  call void %body(ptr %context, i64 %lo, i64 %hi)
  br label %look
next:
  %turn.next = add i64 %turn, 1
  %more = icmp ult i64 %turn.next, %count
  br i1 %more, label %visit, label %done
done:
  ret void
}
"""

_WORKER = """
define internal RESULT @worker(ptr %unused) #0 {
entry:
  call void @set.own.limit(i64 1)
  call void @acquire()
  br label %look
; Here the lock is held.
look:
  %may.move = phi i1 [ true, %entry ], [ false, %move ], [ true, %join ], [ true, %wake ], [ true, %check ]
  %first = load ptr, ptr @jobs
  br label %scan
scan:
  %job = phi ptr [ %first, %look ], [ %after, %full ]
  %none = icmp eq ptr %job, null
  br i1 %none, label %idle, label %ask
ask:
  %seats.at = getelementptr %job, ptr %job, i64 0, i32 4
  %seats = load i64, ptr %seats.at
  %free = icmp sgt i64 %seats, 0
  br i1 %free, label %place, label %full
full:
  %after.at = getelementptr %job, ptr %job, i64 0, i32 7
  %after = load ptr, ptr %after.at
  br label %scan
; The system may wake a worker where its caller runs, and let the two share a processor for a long time. On another
; processor it may have to wait for its turn, so it moves before it joins: nobody waits for a worker on its way.
place:
  %processor.at = getelementptr %job, ptr %job, i64 0, i32 9
  %processor = load i32, ptr %processor.at
  %is.callers = call i1 @is.on(i32 %processor)
  %go = and i1 %is.callers, %may.move
  br i1 %go, label %move, label %join
move:
  call void @release()
  call void @leave.processor(i32 %processor)
  call void @acquire()
  br label %look
join:
  %seats.left = sub i64 %seats, 1
  store i64 %seats.left, ptr %seats.at
  %joined.at = getelementptr %job, ptr %job, i64 0, i32 5
  %joined = load i64, ptr %joined.at
  %me = add i64 %joined, 1
  store i64 %me, ptr %joined.at
  %active.at = getelementptr %job, ptr %job, i64 0, i32 6
  %active = load i64, ptr %active.at
  %active.more = add i64 %active, 1
  store atomic i64 %active.more, ptr %active.at monotonic, align 8
  call void @release()
  %mode.at = getelementptr %job, ptr %job, i64 0, i32 8
  %mode = load i32, ptr %mode.at
  call void @xhlo_set_arithmetic_mode(i32 %mode)
  call void @run.shares(ptr %job, i64 %me)
  call void @acquire()
  ; All chunks are taken, so nobody needs to join any more. After `active` is 0 and the lock free the job is gone.
  store i64 0, ptr %seats.at
  %active.then = load i64, ptr %active.at
  %active.less = sub i64 %active.then, 1
  %waiting = load i64, ptr @waiting
  store atomic i64 %active.less, ptr %active.at release, align 8
  %last = icmp eq i64 %active.less, 0
  %somebody = icmp ne i64 %waiting, 0
  %tell = and i1 %last, %somebody
  br i1 %tell, label %wake, label %look
wake:
  call void @wake.all(ptr @done)
  br label %look

idle:
  %seen = load i64, ptr @number.of.jobs
  call void @release()
  %counted = atomicrmw add ptr @watching, i64 1 monotonic
  %news = call i1 @watch(ptr @number.of.jobs, i64 %seen, i1 false)
  %discounted = atomicrmw sub ptr @watching, i64 1 monotonic
  call void @acquire()
  br label %check
check:
  %now = load i64, ptr @number.of.jobs
  %same = icmp eq i64 %now, %seen
  br i1 %same, label %sleep, label %look
sleep:
  %asleep = load i64, ptr @asleep
  %asleep.more = add i64 %asleep, 1
  store i64 %asleep.more, ptr @asleep
  call void @sleep.on(ptr @work)
  %asleep.then = load i64, ptr @asleep
  %asleep.less = sub i64 %asleep.then, 1
  store i64 %asleep.less, ptr @asleep
  br label %check
}

; Wait until a number is (`until`), or is no longer, `value`; false after WATCH_NS.
define internal i1 @watch(ptr %place, i64 %value, i1 %until) #0 {
entry:
  %start = call i64 @xhlo_clock()
  %end = add i64 %start, WATCH_NS
  br label %look
look:
  %now = load atomic i64, ptr %place acquire, align 8
  %is = icmp eq i64 %now, %value
  %met = icmp eq i1 %is, %until
  br i1 %met, label %yes, label %pause
pause:
  PAUSE
  %time = call i64 @xhlo_clock()
  %late = icmp sge i64 %time, %end
  br i1 %late, label %no, label %look
yes:
  ret i1 true
no:
  ret i1 false
}
"""

_LIMITS = """
define i64 @xhlo_thread_limit() #0 {
  %own = call i64 @own.limit()
  %unset = icmp eq i64 %own, 0
  %default = load i64, ptr @default.limit
  %limit = select i1 %unset, i64 %default, i64 %own
  ret i64 %limit
}

define void @xhlo_limit_threads(i64 %count) #0 {
  %possible = call i64 @llvm.smin.i64(i64 %count, i64 MAX_THREADS)
  call void @set.own.limit(i64 %possible)
  ret void
}

; Once in a process.
define i1 @xhlo_start_threads(i64 %count) #0 {
  %possible = call i64 @llvm.smin.i64(i64 %count, i64 MAX_THREADS)
  store i64 %possible, ptr @default.limit
  call void @make.locks()
  %made = call i1 @make.limit()
  ret i1 %made
}

; In a child of a fork, which has only the thread that forked.
define void @xhlo_forget_threads() #0 {
  store ptr null, ptr @jobs
  store i64 0, ptr @workers
  store i64 0, ptr @asleep
  store i64 0, ptr @waiting
  store i64 0, ptr @watching
  call void @make.locks()
  ret void
}
"""

FUNCTIONS = (
    *("xhlo_thread_limit", "xhlo_limit_threads", "xhlo_start_threads", "xhlo_forget_threads"),
    *("xhlo_arithmetic_mode", "xhlo_set_arithmetic_mode"),
)
"""The functions that Python and the plugin for JAX call."""


def pool_ir(pause: str, worker_result: str) -> str:
    """
    LLVM IR of the pool; `xhlo_parallel_for(void (*body)(void *context, i64 lo, i64 hi), void *context, i64 count)`
    calls body on disjoint ranges that together are [0, count).

    `pause` is the machine's instruction for loops that wait; `worker_result` is the type that the main function of a
    thread returns.
    """
    text = _STATE + _LOOP + _WORKER + _LIMITS
    values = {"CHUNKS": CHUNKS, "WATCH_NS": WATCH_NS, "MAX_THREADS": MAX_THREADS, "PAUSE": pause}
    for name, value in {**values, "RESULT": worker_result}.items():
        text = text.replace(name, str(value))
    return text
