"""The time between a process's start and its first result: the engine is made beside it."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable

import pytest

from xhlo.hlo_dialect import threads
from xhlo.targets.cpu import early_engine


def _engines_made(monkeypatch: pytest.MonkeyPatch, processors: int, error: Exception | None = None) -> list[bool]:
    """For each time that the engine was made, when two programs were compiled: whether another thread made it."""
    made: list[bool] = []

    def make() -> None:
        made.append(threading.get_ident() != threading.main_thread().ident)
        if error is not None:
            raise error

    monkeypatch.setattr(early_engine, "engine", make)
    monkeypatch.setattr(early_engine, "processors", lambda: processors)
    monkeypatch.setattr(early_engine, "_begun", threading.Event())
    for _ in range(2):
        with early_engine.engine_beside():
            pass
        assert not threads._going  # pyright: ignore[reportPrivateUsage]
    return made


def test_the_engine_is_made_once_by_a_thread_that_ends_with_the_compilation(monkeypatch: pytest.MonkeyPatch):
    assert _engines_made(monkeypatch, 2) == [True]
    # The program's own use of the engine reports it.
    assert _engines_made(monkeypatch, 2, OSError("no memory")) == [True]
    assert _engines_made(monkeypatch, 1) == []


def test_a_process_without_room_for_a_thread_compiles_all_the_same(monkeypatch: pytest.MonkeyPatch):
    def no_room(work: Callable[..., object], arguments: tuple[object, ...]) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", no_room)
    assert _engines_made(monkeypatch, 2) == []
