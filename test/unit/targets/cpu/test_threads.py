"""The pool of threads of parallel loops: every iteration runs once, whoever calls, and also in a child of a fork."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.targets.cpu import jit, threads
from xhlo.targets.cpu.runtime.pool import FUNCTIONS, MAX_THREADS
from xhlo.targets.cpu.runtime.system import runtime_ir
from xhlo.targets.cpu.thread_limits import default_thread_count

BODIES = """
declare void @xhlo_parallel_for(ptr, ptr, i64)

; counts[i] += 1 for each iteration.
define void @count(ptr %counts, i64 %lo, i64 %hi) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %lo, %entry ], [ %next, %loop ]
  %at = getelementptr i64, ptr %counts, i64 %i
  %before = atomicrmw add ptr %at, i64 1 monotonic
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %hi
  br i1 %more, label %loop, label %done
done:
  ret void
}

; sizes[lo] = the iterations of each chunk.
define void @note(ptr %sizes, i64 %lo, i64 %hi) {
  %size = sub i64 %hi, %lo
  %at = getelementptr i64, ptr %sizes, i64 %lo
  store i64 %size, ptr %at
  ret void
}

; The loop of counts in each iteration: counts[0..9] for each.
define void @nested(ptr %counts, i64 %lo, i64 %hi) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %lo, %entry ], [ %next, %loop ]
  call void @xhlo_parallel_for(ptr @count, ptr %counts, i64 10)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %hi
  br i1 %more, label %loop, label %done
done:
  ret void
}

; Two iterations that wait for each other, and then compute data[1 + i] * 0.5: { i64 arrived, float, float }.
define void @meet(ptr %data, i64 %lo, i64 %hi) {
entry:
  %here = atomicrmw add ptr %data, i64 1 seq_cst
  br label %wait
wait:
  %arrived = load atomic i64, ptr %data seq_cst, align 8
  %both = icmp eq i64 %arrived, 2
  br i1 %both, label %go, label %wait
go:
  %index = add i64 %lo, 2
  %at = getelementptr float, ptr %data, i64 %index
  %x = load volatile float, ptr %at
  %half = fmul float %x, 5.0e-01
  store float %half, ptr %at
  ret void
}

; A loop in a mode of arithmetic.
define void @in_mode(ptr %mode, ptr %body, ptr %data, i64 %count) {
  %before = alloca i32
  SAVE
  SET
  call void @xhlo_parallel_for(ptr %body, ptr %data, i64 %count)
  RESTORE
  ret void
}

define void @loop(ptr %body, ptr %data, i64 %count) {
  call void @xhlo_parallel_for(ptr %body, ptr %data, i64 %count)
  ret void
}
"""

IS_X86 = platform.machine() in ("x86_64", "AMD64")
MODE = {
    "SAVE": "call void @llvm.x86.sse.stmxcsr(ptr %before)",
    "SET": "call void @llvm.x86.sse.ldmxcsr(ptr %mode)",
    "RESTORE": "call void @llvm.x86.sse.ldmxcsr(ptr %before)",
}


@pytest.fixture(scope="module")
def code() -> jit.LoadedCode:
    text = BODIES
    for name, call in MODE.items():
        text = text.replace(name, call if IS_X86 else "")
    return jit.load(text, ("count", "note", "nested", "meet", "loop", "in_mode"))


@pytest.fixture
def on_threads() -> Iterator[Callable[[int], None]]:
    before = threads.thread_count()
    yield threads.set_thread_count
    threads.set_thread_count(before)


def run(code: jit.LoadedCode, body: str, data: np.ndarray, count: int) -> None:
    loop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.address("loop"))
    loop(code.address(body), data.ctypes.data, count)


@pytest.mark.parametrize("number", (1, 2, 3, 8, MAX_THREADS + 1))
def test_each_iteration_runs_once(code: jit.LoadedCode, on_threads: Any, number: int) -> None:
    on_threads(number)
    for count in (1, 2, 3, 7, 8, 9, 31, 1000):
        counts = np.zeros(count, np.int64)
        run(code, "count", counts, count)
        assert counts.tolist() == [1] * count


def test_chunks_become_smaller(code: jit.LoadedCode, on_threads: Any) -> None:
    """Each is a quarter of what is left of a share, so that threads end at about the same time."""
    on_threads(2)
    sizes = np.zeros(224, np.int64)
    run(code, "note", sizes, 224)
    first, second = sizes[:112], sizes[112:]
    assert sizes.sum() == 224
    assert first[0] == second[0] == sizes.max() == 28
    assert all(np.count_nonzero(share) > 8 for share in (first, second))


def test_a_worker_takes_part_at_each_loop(code: jit.LoadedCode, on_threads: Any) -> None:
    on_threads(2)
    for _ in range(50):
        data = np.array([0, 0, 2, 4], np.float32)
        run(code, "meet", data, 2)  # ends only if two threads are in it
        assert data[2:].tolist() == [1, 2]


def test_loops_within_loops_run_where_they_are(code: jit.LoadedCode, on_threads: Any) -> None:
    on_threads(3)
    counts = np.zeros(10, np.int64)
    run(code, "nested", counts, 100)
    assert counts.tolist() == [100] * 10
    assert threads.thread_count() == 3


def test_callers_of_several_threads_share_the_pool(code: jit.LoadedCode) -> None:
    wrong: list[list[int]] = []

    def calls(number: int) -> None:
        threads.set_thread_count(number)
        for _ in range(300):
            counts = np.zeros(40, np.int64)
            run(code, "count", counts, 40)
            if counts.tolist() != [1] * 40:
                wrong.append(counts.tolist())

    callers = [threading.Thread(target=calls, args=(2 + number % 3,)) for number in range(6)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:os.fork")  # of JAX, if another test has loaded it
def test_a_child_of_a_fork_has_its_own_workers(code: jit.LoadedCode, on_threads: Any) -> None:
    on_threads(2)
    run(code, "meet", np.zeros(4, np.float32), 2)
    child = os.fork()
    if not child:
        run(code, "meet", np.zeros(4, np.float32), 2)  # would not end without a worker
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    run(code, "meet", np.zeros(4, np.float32), 2)


ON_THE_WAY = """
@moving = internal global i64 0
@awaited = internal global i64 -1
define internal i32 @processor() {
  ret i32 0
}
define internal i1 @is.on(i32 %processor) {
  ret i1 true
}
; Note how many workers the loop waits for.
define internal void @leave.processor(i32 %processor) {
  %job = load ptr, ptr @jobs
  %active.at = getelementptr %job, ptr %job, i64 0, i32 7
  %active = load i64, ptr %active.at
  store i64 %active, ptr @awaited
  store atomic i64 1, ptr @moving seq_cst, align 8
  ret void
}
define void @until_a_worker_moves(ptr %counts, i64 %lo, i64 %hi) {
entry:
  br label %wait
wait:
  %moving = load atomic i64, ptr @moving seq_cst, align 8
  %yet = icmp eq i64 %moving, 1
  br i1 %yet, label %done, label %wait
done:
  ret void
}
define i64 @moved_awaited() {
  call void @moved_parallel_for(ptr @until_a_worker_moves, ptr null, i64 2)
  %awaited = load i64, ptr @awaited
  ret i64 %awaited
}
"""


def test_nobody_waits_for_a_worker_that_moves_to_another_processor() -> None:
    """A pool of the test's own, whose workers always wake on the processor of their caller."""
    runtime = runtime_ir(llvm.get_process_triple()).replace("@xhlo_", "@moved_")
    for name in ("i32 @processor()", "i1 @is.on(i32 %processor)", "void @leave.processor(i32 %processor)"):
        runtime, count = re.subn(rf"define internal {re.escape(name)} #0 {{.*?\n}}\n", "", runtime, flags=re.DOTALL)
        assert count == 1
    own = jit.load(runtime + ON_THE_WAY, ("moved_start_threads", "moved_awaited"))
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(own))  # its worker never ends
    assert ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_int64)(own.address("moved_start_threads"))(2)
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(own.address("moved_awaited"))() == 0


@pytest.mark.skipif(not IS_X86, reason="the test sets x86's mode")
def test_workers_compute_in_the_mode_of_the_caller(code: jit.LoadedCode, on_threads: Any) -> None:
    on_threads(2)
    in_mode = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
        code.address("in_mode")
    )
    smallest = np.finfo(np.float32).smallest_normal
    for mode, expected in ((0x1F80, smallest / 2), (0x9F80, 0)):  # the default; subnormal results are flushed to zero
        data = np.array([0, 0, smallest, smallest], np.float32)
        kept = ctypes.c_int32(mode)
        in_mode(ctypes.addressof(kept), code.address("meet"), data.ctypes.data, 2)
        assert data[2:].tolist() == [expected] * 2


@pytest.mark.parametrize(
    ("environment", "quota", "expected"),
    [
        ({"XHLO_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, None, 3),
        ({"OMP_NUM_THREADS": "5,2"}, None, 5),
        ({"XHLO_NUM_THREADS": ""}, "100000 100000", 1),
        ({}, "50000 100000", 1),
        ({}, "max 100000", None),
        ({}, "100000000 100000", None),
        ({}, None, None),
    ],
)
def test_number_of_threads(
    environment: dict[str, str], quota: str | None, expected: int | None, tmp_path: Path
) -> None:
    if quota is not None:
        (tmp_path / "cpu.max").write_text(quota)
    everything = len(os.sched_getaffinity(0)) if sys.platform.startswith("linux") else os.cpu_count()
    assert default_thread_count(environment, tmp_path) == (expected or everything)


def test_numbers_that_are_none(tmp_path: Path) -> None:
    for text in ("0", "-1", "two", "1.5"):
        with pytest.raises(DiagnosticError, match=f"XHLO_NUM_THREADS: '{text}' is no number of threads such as 4"):
            default_thread_count({"XHLO_NUM_THREADS": text}, tmp_path)
    with pytest.warns(RuntimeWarning, match="OMP_NUM_THREADS: 'many'"):
        default_thread_count({"OMP_NUM_THREADS": "many"}, tmp_path)
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        threads.set_thread_count(0)


SYSTEMS = {
    "x86_64-unknown-linux-gnu": "pthread_",
    "aarch64-unknown-linux-gnu": "pthread_",
    "x86_64-apple-darwin": "pthread_",
    "arm64-apple-darwin": "pthread_",
    "x86_64-pc-windows-msvc": "SRW",
}


@pytest.mark.parametrize("triple", SYSTEMS)
def test_the_runtime_compiles_for_every_system(triple: str) -> None:
    """Machine code of each system and processor, which only those run."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(runtime_ir(triple), context=llvm.create_context())
    module.triple = triple
    module.verify()
    machine = llvm.Target.from_triple(triple).create_target_machine(reloc="pic", codemodel="default")
    assembly = machine.emit_assembly(module)
    prefix = "_" if "apple" in triple else ""
    for name in ("xhlo_parallel_for", "xhlo_clock", *FUNCTIONS):
        assert f"\n{prefix}{name}:" in assembly
    assert SYSTEMS[triple] in assembly
    assert ("pthread_" in assembly) != ("windows" in triple)
    # The processor's instruction for waiting loops.
    assert ("\tpause\n" if triple.startswith("x86") else "\tyield\n") in assembly
