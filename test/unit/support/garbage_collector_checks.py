"""
Checks of Python's garbage collector where IR is built, in a process of their own: a collection looks through all that a
process holds, and thousands of tests hold much.
"""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from typing import Any

import pytest
from xdsl.ir import Operation

from own_process import Checks
from xhlo.hlo_dialect.garbage_collector import MANY, left_behind, paused_gc
from xhlo.targets.compile import compile_source
from xhlo.targets.cpu import build
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.source import Source

check = Checks()


class Node:
    """An object that is garbage only as part of a reference cycle."""

    def __init__(self) -> None:
        self.own = self


@check
def what_was_built_is_not_looked_through_at_once() -> None:
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


@check
def what_is_left_behind_is_found_at_once() -> None:
    with paused_gc():
        nodes = [Node() for _ in range(20_000)]
        first = weakref.ref(nodes[0])
        del nodes
    _ = [Node() for _ in range(2_000)]
    assert first() is None


@check
def garbage_of_many_programs_is_found() -> None:
    """Otherwise a loop that compiles programs would use up all memory."""
    first: weakref.ref[Node] | None = None
    for _ in range(MANY // 20_000 + 1):
        with paused_gc(kept=True):
            nodes = [Node() for _ in range(20_000)]
        first = first or weakref.ref(nodes[0])
        del nodes
    assert first is not None and first() is None


@check
def a_compilation_leaves_no_ir_to_the_collection_after_it() -> None:
    """A collection that finds everything in use is wasted time."""
    found: list[int] = []
    collect = build.collect_left_behind

    def operations() -> int:
        types = Counter(map(type, gc.get_objects()))
        return sum(count for each, count in types.items() if issubclass(each, Operation))

    def noting() -> None:
        collect()
        found.append(operations())

    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = hlo.sine %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "collect_left_behind", noting)
        patch.setattr(build, "WORTH_A_THREAD", 0)
        patch.setattr(build, "default_thread_count", lambda: 2)
        before = operations()
        compile_source(Source(text, "<test>"), CPU)
    assert len(found) == 1
    assert found[0] - before < 10


@check
def a_compilation_frees_its_ir_by_itself() -> None:
    """A collection would look through every part of it."""

    def operations() -> int:
        return sum(isinstance(each, Operation) for each in gc.get_objects())

    # Without functions that programs share, which are built only where they are not known.
    text = """func.func @main(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<8xf32> {
      %zero = hlo.constant dense<0.0> : tensor<f32>
      %a = hlo.sine %x : tensor<8x4xf32>
      %0 = hlo.atan2 %a, %y : tensor<8x4xf32>
      %1 = hlo.tanh %0 : tensor<8x4xf32>
      %2 = hlo.reduce(%1 init: %zero) applies hlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
      return %2 : tensor<8xf32>
    }"""
    built: list[int] = []
    emit = build.emit_units

    def noting(*args: Any, **options: Any) -> Any:
        built.append(operations())
        return emit(*args, **options)

    gc.disable()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(build, "emit_units", noting)
            before = operations()
            compile_source(Source(text, "<test>"), CPU)
            left = operations() - before
    finally:
        gc.enable()
    assert built[0] - before > 200
    assert left < 50


@check
def errors_of_work_beside_the_collector_are_raised() -> None:
    def fail() -> None:
        raise ValueError("as expected")

    assert left_behind() == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "WORTH_A_THREAD", 0)
        patch.setattr(build, "default_thread_count", lambda: 2)
        with paused_gc(), pytest.raises(ValueError, match="as expected"):
            _ = [Node() for _ in range(100)]
            assert left_behind() >= 100
            build.while_collecting(fail)


@check
def an_interrupt_of_the_pause_leaves_the_collector_on() -> None:
    class Interrupted:
        """The module `gc`, whose disable() Ctrl-C follows."""

        def __getattr__(self, name: str) -> Any:
            return getattr(gc, name)

        def disable(self) -> None:
            gc.disable()
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xhlo.hlo_dialect.garbage_collector.gc", Interrupted())
        with pytest.raises(KeyboardInterrupt), paused_gc():
            pass
    assert gc.isenabled()
    assert left_behind() == 0


@check
def what_the_program_has_frozen_stays_so_and_is_rarely_counted() -> None:
    """Counting visits every frozen object. The last check, since what it freezes stays so."""
    gc.freeze()
    frozen, count = gc.get_freeze_count(), gc.get_freeze_count
    counted: list[int] = []

    def counting() -> int:
        counted.append(50_000)
        return counted[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "get_freeze_count", counting)
        for _ in range(6):
            with paused_gc(kept=True):
                _ = [Node() for _ in range(20_000)]
    assert len(counted) == 2
    assert count() > frozen / 2


if __name__ == "__main__":
    check.main()
