"""Values that are made once for a key, by whatever asks for them."""

from __future__ import annotations

import threading

import pytest

from xhlo.hlo_dialect.made_once import MadeOnce


def test_a_value_is_made_once() -> None:
    kept = MadeOnce[str, object]()
    first = kept.get_or_make("a", object)
    assert kept.get_or_make("a", object) is first
    assert kept.find("a") is first
    assert kept.find("b") is None


def test_those_used_last_stay() -> None:
    kept = MadeOnce[int, int](2)
    for key in (1, 2, 1, 3):
        kept.get_or_make(key, lambda key=key: 10 * key)
    assert kept.values() == [10, 30]


def test_what_fails_is_made_again() -> None:
    kept = MadeOnce[str, int]()
    with pytest.raises(ZeroDivisionError):
        kept.get_or_make("a", lambda: 1 // 0)
    assert kept.get_or_make("a", lambda: 3) == 3


def test_making_may_ask_for_the_same_value() -> None:
    kept = MadeOnce[str, str]()
    assert kept.get_or_make("a", lambda: kept.get_or_make("a", lambda: "inner") + " outer") == "inner"
    assert kept.values() == ["inner"]


def test_threads_share_one_making() -> None:
    kept, calls, begun, go_on = MadeOnce[str, int](), list[int](), threading.Event(), threading.Event()

    def make() -> int:
        calls.append(1)
        begun.set()
        go_on.wait()
        return len(calls)

    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(kept.get_or_make("a", make))) for _ in range(3)]
    threads[0].start()
    begun.wait()
    for thread in threads[1:]:
        thread.start()
    go_on.set()
    for thread in threads:
        thread.join()
    assert (results, calls) == ([1, 1, 1], [1])


def test_makings_that_need_each_other_do_not_wait_for_each_other() -> None:
    kept, both = MadeOnce[str, str](), threading.Barrier(2)
    results: list[str] = []

    def ask(key: str, other: str) -> None:
        def make() -> str:
            both.wait()
            return key + kept.get_or_make(other, lambda: other)

        results.append(kept.get_or_make(key, make))

    threads = [threading.Thread(target=ask, args=pair, daemon=True) for pair in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(results) == 2
