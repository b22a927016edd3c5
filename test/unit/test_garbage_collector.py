"""Python's garbage collector where IR is built."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from xdsl.ir import Operation

from xhlo.hlo_dialect import garbage_collector
from xhlo.hlo_dialect.garbage_collector import MANY, left_behind, paused_gc
from xhlo.targets.compile import compile_source
from xhlo.targets.cpu import build
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.source import Source


class Node:
    """An object that is garbage only as a part of a circle."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def nothing_is_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without what the tests have frozen when they began."""
    gc.unfreeze()
    monkeypatch.setattr(garbage_collector, "_frozen", 0)
    yield
    gc.collect()
    gc.freeze()


def test_what_was_built_is_not_looked_through_at_once() -> None:
    collected: list[int] = []

    def note(phase: str, _: object) -> None:
        collected.append(len(gc.get_objects(0))) if phase == "start" else None

    gc.collect()
    gc.callbacks.append(note)
    try:
        with paused_gc(kept=True):
            built = [Node() for _ in range(20_000)]
        after = [Node() for _ in range(2_000)]
    finally:
        gc.callbacks.remove(note)
    assert gc.isenabled() and len(built) + len(after) == 22_000
    assert max(collected, default=0) < 20_000


def test_what_is_left_behind_is_found_at_once() -> None:
    with paused_gc():
        nodes = [Node() for _ in range(20_000)]
        first = weakref.ref(nodes[0])
        del nodes
    _ = [Node() for _ in range(2_000)]
    assert first() is None


def test_garbage_of_many_programs_is_found() -> None:
    """Else a loop that compiles programs would take all memory."""
    first: weakref.ref[Node] | None = None
    for _ in range(MANY // 20_000 + 1):
        with paused_gc(kept=True):
            nodes = [Node() for _ in range(20_000)]
        first = first or weakref.ref(nodes[0])
        del nodes
    assert first is not None and first() is None


def test_what_the_program_has_frozen_stays_so_and_is_rarely_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting visits every frozen object."""
    gc.freeze()
    frozen, count = gc.get_freeze_count(), gc.get_freeze_count
    counted: list[int] = []

    def counting() -> int:
        counted.append(50_000)
        return counted[-1]

    monkeypatch.setattr(gc, "get_freeze_count", counting)
    for _ in range(6):
        with paused_gc(kept=True):
            _ = [Node() for _ in range(20_000)]
    assert len(counted) == 2
    assert count() > frozen / 2


def test_a_compilation_leaves_no_ir_to_the_collection_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that finds everything in use would take its time in vain."""
    found: list[int] = []
    collect = build.collect_left_behind

    def noting() -> None:
        collect()
        found.append(sum(isinstance(each, Operation) for each in gc.get_objects()))

    before = sum(isinstance(each, Operation) for each in gc.get_objects())
    monkeypatch.setattr(build, "collect_left_behind", noting)
    monkeypatch.setattr(build, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(build, "default_thread_count", lambda: 2)
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = hlo.sine %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    compile_source(Source(text, "<test>"), CPU)
    assert len(found) == 1
    assert found[0] - before < 10


def test_errors_of_work_beside_the_collector_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ValueError("as expected")

    monkeypatch.setattr(build, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(build, "default_thread_count", lambda: 2)
    assert left_behind() == 0
    with paused_gc(), pytest.raises(ValueError, match="as expected"):
        _ = [Node() for _ in range(100)]
        assert left_behind() >= 100
        build.while_collecting(fail)
