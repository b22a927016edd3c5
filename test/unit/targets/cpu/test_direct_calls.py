"""Calls that machine code answers: what it takes, what it leaves to Python, and what both must agree on."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

import xhlo
from counting import calls
from filled_memory import run_filled
from xhlo.targets.cpu import direct_calls, executable
from xhlo.targets.cpu.executable import CpuExecutable

pytestmark = pytest.mark.skipif(not direct_calls.are_possible(), reason="arrays lie differently in this Python")

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def compiled(text: str) -> CpuExecutable:
    executable = xhlo.compile(text)
    assert isinstance(executable, CpuExecutable)
    return executable


@pytest.fixture(scope="module")
def doubled() -> CpuExecutable:
    return compiled("func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n"
                    "  %0 = hlo.add %x, %x : tensor<2x3xf32>\n  return %0 : tensor<2x3xf32>\n}")  # fmt: skip


def test_a_call_is_direct(doubled: CpuExecutable) -> None:
    assert doubled._direct is not None  # pyright: ignore[reportPrivateUsage]
    doubled(X)
    # The lambda and the end of the count; neither the call nor its allocation is a function of Python.
    assert calls(lambda: doubled(X)) <= 2


def out_of_line() -> Any:
    memory = np.zeros(X.nbytes + 1, np.uint8)
    memory[1:] = np.frombuffer(X.tobytes(), np.uint8)
    return memory[1:].view(np.float32).reshape(X.shape)


class Kind(np.ndarray[Any, Any]):
    pass


@pytest.mark.parametrize(
    ("given", "is_direct"),
    [
        (X, True),
        (np.frombuffer(X.tobytes(), np.float32).reshape(2, 3), True),  # read-only
        (np.concatenate([X, X])[:2], True),
        (X.T.copy().T, False),
        (np.repeat(X, 2, 1)[:, ::2], False),
        (X.astype(">f4"), False),
        (out_of_line(), False),
        (X.view(Kind), False),
        (np.broadcast_to(X[:1] * 0 + X[0], (2, 3)), False),
    ],
)
def test_what_is_taken_as_it_is(doubled: CpuExecutable, given: Any, is_direct: bool) -> None:
    direct = doubled._direct  # pyright: ignore[reportPrivateUsage]
    assert direct is not None
    result = np.full((2, 3), 7, np.float32)
    assert (direct(given, result) is not None) is is_direct
    expected = np.asarray(given, np.float32) * 2
    np.testing.assert_array_equal(result, expected if is_direct else np.full_like(result, 7))
    np.testing.assert_array_equal(doubled(given), expected)


@pytest.mark.parametrize("by_name", [False, True])
def test_arrays_that_are_out_of_line_are_copied(
    doubled: CpuExecutable, monkeypatch: pytest.MonkeyPatch, by_name: bool
) -> None:
    """Machine code reads elements where their type may lie, also of a program that Python calls."""
    profiled = cast(CpuExecutable, xhlo.compile(doubled.as_text("hlo"), profile=True))
    places: list[int] = []
    run = profiled._run  # pyright: ignore[reportPrivateUsage]

    def watched(pointers: list[int], held: object) -> None:
        places.extend(pointers[:2])
        run(pointers, held)

    monkeypatch.setattr(profiled, "_run", watched)
    result = profiled(x=out_of_line()) if by_name else profiled(out_of_line())
    np.testing.assert_array_equal(result, X * 2)
    assert len(places) == 2 and all(place % X.itemsize == 0 for place in places)


@pytest.mark.parametrize(
    "arguments",
    [(), (X, X), (None,), (1.0,), (X.tolist(),), (X[0],), (X[None],), (X.T,), (X.astype(np.float64),), (X.view("i4"),)],
)
def test_what_is_refused(doubled: CpuExecutable, arguments: tuple[Any, ...]) -> None:
    direct = doubled._direct  # pyright: ignore[reportPrivateUsage]
    assert direct is not None
    assert direct(*arguments, np.empty((2, 3), np.float32)) is None
    with pytest.raises(TypeError, match="argument"):
        doubled(*arguments)


def test_results_of_several_types_and_ranks() -> None:
    executable = compiled(
        "func.func @main(%x: tensor<3xbf16>, %i: tensor<ui8>, %e: tensor<0x2xi64>)"
        " -> (tensor<3xbf16>, tensor<ui8>, tensor<0x2xi64>, tensor<1x3xbf16>) {\n"
        "  %0 = hlo.add %x, %x : tensor<3xbf16>\n  %1 = hlo.add %i, %i : tensor<ui8>\n"
        "  %2 = hlo.reshape %0 : (tensor<3xbf16>) -> tensor<1x3xbf16>\n"
        "  return %0, %1, %e, %2 : tensor<3xbf16>, tensor<ui8>, tensor<0x2xi64>, tensor<1x3xbf16>\n}"
    )
    assert executable._direct is not None  # pyright: ignore[reportPrivateUsage]
    x = np.array([1, 2, 3], ml_dtypes.bfloat16)
    a, b, c, d = executable(x, np.array(200, np.uint8), np.empty((0, 2), np.int64))
    assert (a.dtype, a.tolist(), b.shape, int(b), c.shape, d.tolist()) == (
        x.dtype,
        [2, 4, 6],
        (),
        144,
        (0, 2),
        [[2, 4, 6]],
    )
    assert not np.shares_memory(a, d)


def test_no_thread_waits_once_a_run_has_ended_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    product = compiled("func.func @main(%x: tensor<400x400xf32>) -> tensor<400x400xf32> {\n"
                       "  %0 = hlo.dot_general %x, %x, contracting_dims = [1] x [0] : "
                       "(tensor<400x400xf32>, tensor<400x400xf32>) -> tensor<400x400xf32>\n"
                       "  return %0 : tensor<400x400xf32>\n}")  # fmt: skip
    assert product.may_take_long
    x = np.eye(400, dtype=np.float32)
    for seconds, waits in ((0.2, True), (0.01, False)):
        times = iter((1.0, 1.0 + seconds))
        monkeypatch.setattr(executable, "time", SimpleNamespace(monotonic=times.__next__))
        np.testing.assert_array_equal(product(x), x)
        assert product.may_take_long is waits


def test_a_run_of_a_short_branch_says_nothing_of_others() -> None:
    program = compiled("""
        func.func @main(%p: tensor<i1>, %x: tensor<400x400xf32>) -> tensor<400x400xf32> {
          %0 = "stablehlo.if"(%p) ({
            %1 = hlo.dot_general %x, %x, contracting_dims = [1] x [0]
              : (tensor<400x400xf32>, tensor<400x400xf32>) -> tensor<400x400xf32>
            "stablehlo.return"(%1) : (tensor<400x400xf32>) -> ()
          }, {
            %2 = hlo.negate %x : tensor<400x400xf32>
            "stablehlo.return"(%2) : (tensor<400x400xf32>) -> ()
          }) : (tensor<i1>) -> tensor<400x400xf32>
          return %0 : tensor<400x400xf32>
        }""")
    assert program.facts.branches and program.may_take_long
    x = np.eye(400, dtype=np.float32)
    np.testing.assert_array_equal(program(np.array(False), x), -x)
    assert program.may_take_long
    assert cast(CpuExecutable, xhlo.deserialize(program.serialize())).facts.branches


def test_trees_are_returned_as_trees(doubled: CpuExecutable) -> None:
    tree = xhlo.compile(doubled.as_text("hlo"), out_tree={"y": 0})
    np.testing.assert_array_equal(tree(X)["y"], 2 * X)
    np.testing.assert_array_equal(doubled(X), 2 * X)


def test_intermediate_buffers_on_the_stack_of_several_threads() -> None:
    executable = compiled(
        "func.func @main(%x: tensor<64x300xf32>) -> tensor<64x300xf32> {\n"
        "  %0 = hlo.constant dense<0xFF800000> : tensor<f32>\n"
        "  %1 = hlo.reduce(%x init: %0) applies hlo.maximum across dimensions = [0]"
        " : (tensor<64x300xf32>, tensor<f32>) -> tensor<300xf32>\n"
        "  %2 = hlo.broadcast_in_dim %1, dims = [1] : (tensor<300xf32>) -> tensor<64x300xf32>\n"
        "  %3 = hlo.subtract %x, %2 : tensor<64x300xf32>\n  return %3 : tensor<64x300xf32>\n}"
    )
    assert 0 < executable.facts.arena_bytes <= direct_calls.MOST_ON_STACK
    assert executable._direct is not None  # pyright: ignore[reportPrivateUsage]
    x = np.random.default_rng(0).random((64, 300), np.float32)
    results: list[Any] = []

    def work(number: int) -> None:
        results.extend((number, executable(x * number)) for _ in range(20))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80
    for number, result in results:
        np.testing.assert_array_equal(result, x * number - (x * number).max(0))


def squares(n: int) -> str:
    """(x^T x)^T (x^T x) of 8 by n elements."""
    return (
        f"func.func @main(%x: tensor<8x{n}xf32>) -> tensor<{n}x{n}xf32> {{\n"
        "  %0 = hlo.dot_general %x, %x, contracting_dims = [0] x [0]"
        f" : (tensor<8x{n}xf32>, tensor<8x{n}xf32>) -> tensor<{n}x{n}xf32>\n"
        "  %1 = hlo.dot_general %0, %0, contracting_dims = [0] x [0]"
        f" : (tensor<{n}x{n}xf32>, tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>\n"
        f"  return %1 : tensor<{n}x{n}xf32>\n}}"
    )


def is_direct_once(executable: CpuExecutable, x: Any) -> bool:
    """Whether machine code answers a call."""
    before = executable._plan.calls  # pyright: ignore[reportPrivateUsage]
    executable(x)
    return executable._plan.calls == before + 1  # pyright: ignore[reportPrivateUsage]


def test_a_kept_arena_of_several_threads() -> None:
    """One call at a time has it; the others are Python's."""
    executable = compiled(squares(200))
    assert direct_calls.MOST_ON_STACK < executable.facts.arena_bytes <= direct_calls.MOST_KEPT
    x = np.random.default_rng(0).random((8, 200), np.float32)
    expected = {number: executable(x * number) for number in range(1, 5)}
    assert is_direct_once(executable, x)
    wrong: list[int] = []

    def work(number: int) -> None:
        given = x * number
        wrong.extend(number for _ in range(50) if not np.array_equal(executable(given), expected[number]))

    threads = [threading.Thread(target=work, args=(number,)) for number in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert is_direct_once(executable, x), "the last call has given it back"


def test_programs_share_kept_arenas() -> None:
    """However many programs there are, few arenas are kept; each of them is as large as its programs need."""
    sizes = range(direct_calls.MOST_ON_STACK + 1, direct_calls.MOST_KEPT + 1, 4093)
    arenas = [(size, direct_calls.arena_for_calls(size)) for size in sizes]
    assert all(arena.nbytes >= size for size, arena in arenas)
    different = {arena.place: arena.nbytes for _, arena in arenas}
    assert len(different) == 5 * direct_calls.ARENAS
    assert sum(different.values()) < 4 << 20
    executables = [compiled(squares(200)) for _ in range(direct_calls.ARENAS + 1)]
    x = np.ones((8, 200), np.float32)
    assert all(np.array_equal(each(x), executables[0](x)) and is_direct_once(each, x) for each in executables)


def test_a_kept_arena_comes_back_without_memory_for_results(monkeypatch: pytest.MonkeyPatch) -> None:
    from xhlo.targets.cpu import memory

    executable = compiled(squares(200))
    x = np.ones((8, 200), np.float32)
    executable(x)
    take = memory.POOL.take_block

    def none(size: int) -> Any:
        raise MemoryError("none left")

    monkeypatch.setattr(memory.POOL, "take_block", none)
    with pytest.raises(MemoryError, match="none left"):
        executable(x)
    monkeypatch.setattr(memory.POOL, "take_block", take)
    np.testing.assert_array_equal(executable(x), np.full((200, 200), 64 * 200, np.float32))
    assert is_direct_once(executable, x)


def test_programs_that_need_more_than_the_entry_are_called_by_python() -> None:
    large = compiled(squares(600))
    assert large.facts.arena_bytes > direct_calls.MOST_KEPT
    assert large._direct is None  # pyright: ignore[reportPrivateUsage]
    x = np.eye(8, 600, dtype=np.float32)
    np.testing.assert_array_equal(large(x), np.eye(600, dtype=np.float32) * (np.arange(600) < 8))
    profiled = xhlo.compile(large.as_text("hlo"), profile=True)
    assert isinstance(profiled, CpuExecutable)
    assert profiled._direct is None  # pyright: ignore[reportPrivateUsage]


LATE = """
import os
import sys
import numpy as np
import xhlo
f = xhlo.compile('func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {'
                 ' %0 = hlo.add %x, %x : tensor<2xf32> return %0 : tensor<2xf32> }')
x = np.ones(2, np.float32)
f(x)
f(x)
class Late:
    call, argument, write = f, x, os.write
    def __del__(self):
        self.write(1, b"called " + bytes(self.call(self.argument).data))
sys.late = Late()
"""


def test_an_object_that_outlives_the_modules_may_call() -> None:
    assert run_filled(LATE) == (0, "called \0\0\0@\0\0\0@", "")
