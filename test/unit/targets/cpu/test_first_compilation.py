"""The time between a process's start and its first result: the engine is made beside it."""

from __future__ import annotations

import threading

import pytest

from xhlo.targets.cpu import early_engine


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
