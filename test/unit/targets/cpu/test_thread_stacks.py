"""The stacks of our threads, where a program asks for small ones for its own."""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from xhlo.hlo_dialect.threads import STACK, own_stacks
from xhlo.targets.cpu import early_engine, interrupts, jit, replicated

SMALL = 32768
"""The smallest that Python takes."""

FUNCTION = "define i32 @f{}() {{\n  ret i32 1\n}}\n"


def _stack_size() -> int:
    size = threading.stack_size(0)
    threading.stack_size(size)
    return size


def _compile_two() -> None:
    jit.compile_to_objects([FUNCTION.format(1), FUNCTION.format(2)], {}, [3, 3])


def _make_engine() -> None:
    with early_engine.engine_beside():
        pass


def _run_on_devices() -> None:
    assert replicated.run_on_devices(lambda number: number, 1, 2) == [0, 1]


def _run_interruptibly() -> None:
    interrupts.run_interruptibly(lambda: None, None)


@pytest.fixture
def stacks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the stacks of the threads that a test starts, where the user has asked for small ones."""
    sizes: list[int] = []
    start, start_new = threading.Thread.start, _thread.start_new_thread

    def note(thread: threading.Thread) -> None:
        sizes.append(_stack_size())
        start(thread)

    def note_new(work: Callable[..., object], arguments: tuple[Any, ...]) -> int:
        sizes.append(_stack_size())
        return start_new(work, arguments)

    monkeypatch.setattr(threading.Thread, "start", note)
    monkeypatch.setattr(_thread, "start_new_thread", note_new)
    monkeypatch.setattr(early_engine, "_begun", threading.Event())
    monkeypatch.setattr(early_engine, "processors", lambda: 2)
    monkeypatch.setattr(jit, "default_thread_count", lambda: 2)
    monkeypatch.setattr(replicated, "_workers", replicated._Workers())  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(interrupts, "_worker", None)
    return sizes


@pytest.mark.parametrize("work", [_compile_two, _make_engine, _run_on_devices, _run_interruptibly])
def test_our_threads_have_stacks_of_their_own_size(work: Callable[[], None], stacks: list[int]) -> None:
    before = threading.stack_size(SMALL)
    try:
        work()
        assert _stack_size() == SMALL
    finally:
        threading.stack_size(before)
    assert stacks and set(stacks) == {STACK}


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_a_fork_starts_threads_with_the_users_size() -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with own_stacks():
            entered.set()
            leave.wait(0.2)

    before = threading.stack_size(SMALL)
    try:
        thread = threading.Thread(target=hold)
        thread.start()
        entered.wait()
        child = os.fork()
        if not child:
            with own_stacks():
                mine = _stack_size()
            os._exit(int((mine, _stack_size()) != (STACK, SMALL)))
        assert os.waitpid(child, 0)[1] == 0
        leave.set()
        thread.join()
    finally:
        threading.stack_size(before)


@pytest.mark.parametrize("asked", [0, 2 * STACK])
def test_larger_stacks_than_ours_and_the_default_are_left(asked: int) -> None:
    before = threading.stack_size(asked)
    try:
        with own_stacks():
            assert _stack_size() == asked
        assert _stack_size() == asked
    finally:
        threading.stack_size(before)


@pytest.mark.filterwarnings("ignore:.*fork")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_handler_may_compile_and_fork_while_threads_start() -> None:
    """A signal may come at any time, so also on the thread that has the lock."""
    before = threading.stack_size(SMALL)
    try:
        with own_stacks():
            with own_stacks():
                assert _stack_size() == STACK
            child = os.fork()
            if not child:
                os._exit(int(_stack_size() != STACK))
        assert os.waitpid(child, 0)[1] == 0
        assert _stack_size() == SMALL
    finally:
        threading.stack_size(before)
