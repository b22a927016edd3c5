"""The time between a process's start and its first result: no collection of what stays, and the engine beside."""

from __future__ import annotations

import gc
import threading
from functools import partial

import pytest

from xhlo.hlo_dialect.garbage_collector import FEW, paused_gc
from xhlo.targets.cpu import early_engine


def _done_after(built: int, monkeypatch: pytest.MonkeyPatch, frozen: int = 0) -> list[str]:
    """The functions of gc that a pause calls in which so many objects were built."""
    done: list[str] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
    monkeypatch.setattr(gc, "get_count", lambda: (built, 0, 0))
    for name in ("freeze", "unfreeze", "enable"):
        monkeypatch.setattr(gc, name, partial(done.append, name))
    assert gc.isenabled()
    with paused_gc():
        pass
    monkeypatch.undo()
    gc.enable()
    return done


def test_what_a_pause_built_is_old_at_once_but_what_is_frozen_stays_so(monkeypatch: pytest.MonkeyPatch):
    assert _done_after(FEW, monkeypatch) == ["freeze", "unfreeze", "enable"]
    assert _done_after(FEW - 1, monkeypatch) == ["enable"]
    assert _done_after(FEW, monkeypatch, frozen=7) == ["enable"]


def _engines_made(monkeypatch: pytest.MonkeyPatch, processors: int, error: Exception | None = None) -> list[str]:
    """The threads that made the engine, when two programs were compiled."""
    threads: list[str] = []

    def make() -> None:
        threads.append(threading.current_thread().name)
        if error is not None:
            raise error

    monkeypatch.setattr(early_engine, "engine", make)
    monkeypatch.setattr(early_engine, "processors", lambda: processors)
    monkeypatch.setattr(early_engine, "_begun", threading.Event())
    for _ in range(2):
        with early_engine.engine_beside():
            pass
        assert "xhlo-engine" not in [thread.name for thread in threading.enumerate()]
    return threads


def test_the_engine_is_made_once_by_a_thread_that_ends_with_the_compilation(monkeypatch: pytest.MonkeyPatch):
    assert _engines_made(monkeypatch, 2) == ["xhlo-engine"]
    # The program's own use of the engine reports it.
    assert _engines_made(monkeypatch, 2, OSError("no memory")) == ["xhlo-engine"]
    assert _engines_made(monkeypatch, 1) == []


def test_a_process_without_room_for_a_thread_compiles_all_the_same(monkeypatch: pytest.MonkeyPatch):
    def no_room(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_room)
    assert _engines_made(monkeypatch, 2) == []
