"""Calls of executables and compiled functions that machine code answers from the arguments to the value of the call."""

from __future__ import annotations

import functools
import gc
import inspect
import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from copy import copy
from subprocess import run
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import xhlo
from counting import calls
from xhlo.frontends.numpy.jit import JitFunction, Options
from xhlo.targets.cpu import direct_calls
from xhlo.targets.cpu.executable import CpuExecutable

pytestmark = pytest.mark.skipif(not direct_calls.are_possible(), reason="arrays lie differently in this Python")

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def compiled(text: str, **options: Any) -> CpuExecutable:
    executable = xhlo.compile(text, **options)
    assert isinstance(executable, CpuExecutable)
    return executable


def doubled(size: int, **options: Any) -> CpuExecutable:
    return compiled(f"func.func @main(%x: tensor<{size}xf32>) -> tensor<{size}xf32> {{\n"
                    f"  %0 = hlo.add %x, %x : tensor<{size}xf32>\n  return %0 : tensor<{size}xf32>\n}}",
                    **options)  # fmt: skip


PAIR = """func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf64>) {
  %0 = hlo.reverse %x, dims = [0] : tensor<4xf32>
  %1 = hlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  return %0, %1 : tensor<4xf32>, tensor<2xf64>
}"""


def is_answered_by_machine_code(call: Callable[[], Any]) -> bool:
    """Whether calls after the first are: the function that calls, and the end of the count, are all that Python sees."""
    call()
    return calls(call) <= 2


# Executables.


@pytest.mark.parametrize("size", [0, 1, 5, 16384, 100_000])
def test_results_of_numpy_and_of_the_pool(size: int) -> None:
    assert direct_calls._allocator(), "NumPy has another table of functions"  # pyright: ignore[reportPrivateUsage]
    executable = doubled(size)
    x = np.arange(size, dtype=np.float32)
    first, second = executable(x), executable(x + 1)
    np.testing.assert_array_equal(first, x * 2)
    np.testing.assert_array_equal(second, x * 2 + 2)
    assert first.flags.writeable and first.flags.c_contiguous and type(first) is np.ndarray


def test_several_results_and_trees() -> None:
    pair, tree = compiled(PAIR), compiled(PAIR, out_tree={"a": 0, "b": 0})
    x = np.arange(4, dtype=np.float32)
    for call in (lambda: pair(x), lambda: tuple(tree(x).values())):
        a, b = call()
        assert (a.tolist(), b.tolist(), b.dtype) == ([3, 2, 1, 0], [1, 2], np.dtype(np.float64))
    assert type(pair(x)) is tuple and is_answered_by_machine_code(lambda: pair(x))


def test_a_call_left_to_python_makes_memory_once(monkeypatch: pytest.MonkeyPatch) -> None:
    executable, made = doubled(6), list[int]()
    make = CpuExecutable._memory  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(CpuExecutable, "_memory", lambda self, arrays: made.append(1) or make(self, arrays))
    x = pickle.loads(pickle.dumps(X.reshape(-1)))  # with a type of elements of its own
    for _ in range(2):
        np.testing.assert_array_equal(executable(x), 2 * x)
    assert len(made) == 2


def test_numpy_without_its_table_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_calls, "_allocator", lambda: 0)
    pair = copy(compiled(PAIR))
    x = np.arange(4, dtype=np.float32)
    assert is_answered_by_machine_code(lambda: pair(x))
    assert [each.tolist() for each in pair(x)] == [[3, 2, 1, 0], [1, 2]]


def test_memory_that_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Any:
        raise MemoryError("none left")

    made: list[Any] = []

    def first() -> Any:
        made.append(np.empty(4, np.float32))
        return made[-1]

    monkeypatch.setattr(direct_calls, "_allocator", lambda: 0)
    monkeypatch.setattr(direct_calls, "partial", lambda function, shape, dtype: first if shape == (4,) else none)
    pair, x = copy(compiled(PAIR)), np.arange(4, dtype=np.float32)
    pair(x)
    with pytest.raises(MemoryError, match="none left"):
        pair(x)
    count = sys.getrefcount(made[0])
    assert count == 2, "the result that was made before is freed"


def test_an_executable_is_freed_with_its_last_reference() -> None:
    executable = copy(doubled(3))
    x = np.ones(3, np.float32)
    executable(x)
    gc.collect()
    gc.disable()
    try:
        seen = weakref.ref(executable)
        del executable
        assert seen() is None
    finally:
        gc.enable()


def test_nothing_is_left_of_a_call() -> None:
    executable, tree = doubled(7), compiled(PAIR, out_tree=[0, 0])
    x, y = np.ones(7, np.float32), np.ones(4, np.float32)

    def counts() -> tuple[int, ...]:
        plans = executable._plan, tree._plan  # pyright: ignore[reportPrivateUsage]
        gc.collect()
        return *map(sys.getrefcount, (x, y, x.dtype, np.ndarray, *plans)), sys.getallocatedblocks()

    for _ in range(20):
        executable(x), tree(y)
    before = counts()
    for _ in range(1000):
        executable(x), tree(y)
        with pytest.raises(TypeError):
            executable(y)
    after = counts()
    assert all(abs(now - then) < 500 for now, then in zip(after, before, strict=True)), (before, after)


NESTED = """
import sys, threading
import numpy as np
import xhlo

class Pair(tuple):
    depth = 0

    def __new__(cls, items):
        if cls.depth:
            cls.depth -= 1
            executable(x)
        return super().__new__(cls, items)

class Tree:
    num_leaves = 2

    def flatten_up_to(self, tree):
        return list(tree)

    def unflatten(self, leaves):
        return Pair(leaves)

executable, x = xhlo.compile(sys.stdin.read(), out_tree=Tree()), np.eye(7, 4000, dtype=np.float32)
assert 15000 < executable.facts.arena_bytes and type(executable(x)) is Pair and executable._direct is not None
threading.stack_size(1 << 20)
Pair.depth = 120
thread = threading.Thread(target=executable, args=(x,))
thread.start()
thread.join()
assert Pair.depth == 0
"""


def test_arenas_of_calls_in_calls_are_not_all_on_the_stack() -> None:
    """The memory of a program is free when the value is made of its results, which may run programs in turn."""
    less_the_maximum = """
        func.func @main(%x: tensor<7x4000xf32>) -> (tensor<7x4000xf32>, tensor<f32>) {
          %0 = hlo.constant dense<0xFF800000> : tensor<f32>
          %1 = hlo.reduce(%x init: %0) applies hlo.maximum across dimensions = [0]
            : (tensor<7x4000xf32>, tensor<f32>) -> tensor<4000xf32>
          %2 = hlo.broadcast_in_dim %1, dims = [1] : (tensor<4000xf32>) -> tensor<7x4000xf32>
          %3 = hlo.subtract %x, %2 : tensor<7x4000xf32>
          return %3, %0 : tensor<7x4000xf32>, tensor<f32>
        }"""
    done = run([sys.executable, "-c", NESTED], input=less_the_maximum, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_method_looks_like_the_one_that_python_defines() -> None:
    executable = doubled(3)
    executable(np.ones(3, np.float32))  # the first call lets machine code answer
    assert str(inspect.signature(executable)) == "(*arguments, out=None, **named)"
    method = executable.__call__
    del executable
    assert method(np.ones(3, np.float32)).tolist() == [2, 2, 2]
    with pytest.raises(TypeError):
        CpuExecutable.__call__(X, X)  # pyright: ignore[reportArgumentType]
    with pytest.raises(SystemError):
        object.__new__(CpuExecutable)(X)


def test_a_class_that_calls_the_one_it_derives_from() -> None:
    class Counted(JitFunction):
        calls = 0

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return super().__call__(*args, **kwargs)

    plain, counted = xhlo.jit(lambda x: x * 2), Counted(lambda x: x * 3, Options())
    for _ in range(3):
        np.testing.assert_array_equal(plain(X), X * 2)  # puts machine code in the place of its __call__
        np.testing.assert_array_equal(counted(X), X * 3)
    np.testing.assert_array_equal(counted(x=X[::-1]), X[::-1] * 3)
    assert (counted.calls, counted.cache_info().hits, counted.cache_info().misses) == (4, 3, 1)


# Numbers.


def one_number(type_: str) -> CpuExecutable:
    return compiled(f"func.func @main(%x: tensor<{type_}>) -> tensor<{type_}> {{\n"
                    f"  %0 = hlo.add %x, %x : tensor<{type_}>\n  return %0 : tensor<{type_}>\n}}")  # fmt: skip


@pytest.mark.parametrize(
    ("type_", "dtype", "values"),
    [
        ("f32", np.float32, (1.1, -0.0, np.inf, -np.inf, np.nan, 3e38 / 2, 1e-42, 7, -3, 2**62 + 2**38)),
        ("f64", np.float64, (1.1, -0.0, np.inf, np.nan, 8e307, 5e-324, 7, 2**53 + 1, -(2**63))),
        ("i32", np.int32, (0, 1, 2**30 - 1, -(2**30))),
        ("i64", np.int64, (0, 1, 2**62 - 1, -(2**62))),
    ],
)
def test_numbers_of_python(type_: str, dtype: Any, values: tuple[Any, ...]) -> None:
    executable = one_number(type_)
    for value in values:
        assert is_answered_by_machine_code(lambda value=value: executable(value))
        expected = np.array(value).astype(dtype)
        for found in (executable(value), executable(x=value), executable(expected)):
            assert (found.dtype, found.shape) == (expected.dtype, ())
            assert found.tobytes() == np.asarray(expected + expected).tobytes() or np.isnan(value)


SCALARS = {"i1": np.bool_, "i8": np.int8, "ui16": np.uint16, "i32": np.int32, "ui64": np.uint64, "bf16": ml_dtypes.bfloat16,
           "f16": np.float16, "f32": np.float32, "f64": np.float64, "complex<f32>": np.complex64, "complex<f64>": np.complex128,
           "i4": ml_dtypes.int4}  # fmt: skip


@pytest.mark.parametrize("type_", SCALARS)
def test_scalars_of_numpy(type_: str) -> None:
    """Machine code reads them where they are; those of other types are refused, with or without it."""
    executable, kind = one_number(type_), SCALARS[type_]
    for number in (1, 0, 3):
        value = np.asarray(number).astype(kind)[()]
        assert type(value) is kind and is_answered_by_machine_code(lambda value=value: executable(value))
        found = executable(value)
        assert (found.dtype, found.shape) == (np.dtype(kind), ())
        assert found.tobytes() == executable(x=np.array(value)).tobytes()
    for other in set(SCALARS.values()) - {kind}:
        with pytest.raises(TypeError, match="argument 0: expected dtype"):
            executable(np.asarray(1).astype(other)[()])


@pytest.mark.parametrize("type_", [type_ for type_, kind in SCALARS.items() if kind.__module__ == "numpy"])
def test_scalars_of_numpy_are_arrays_to_jit(type_: str) -> None:
    """In both orders, calls of either kind are one combination, which machine code answers."""
    value = np.asarray(1).astype(SCALARS[type_])[()]
    for given in ((value, np.array(value)), (np.array(value), value)):
        function = xhlo.jit(lambda x: x * x)
        function(given[0])
        assert all(is_answered_by_machine_code(functools.partial(function, one)) for one in given)
        assert all(function(one).tobytes() == value.tobytes() for one in given)
        assert function.cache_info().currsize == 1


@pytest.mark.parametrize(
    ("type_", "values"),
    [("f32", (True, 1j, "1", None)), ("i32", (1.0, True, 2**31, -(2**31) - 1, 2**70)), ("i64", (2**63, 1.5, False))],
)
def test_numbers_that_do_not_fit(type_: str, values: tuple[Any, ...]) -> None:
    executable = one_number(type_)
    for value in values:
        with pytest.raises(TypeError, match="argument 0"):
            executable(value)


@pytest.mark.parametrize("type_", ["f32", "f64", "bf16", "complex<f32>", "i32", "ui64", "i1"])
def test_numbers_of_more_than_64_bits(type_: str) -> None:
    """Python cannot write the one of 16610 bits in decimal, and makes no float of either."""
    executable = compiled(
        f"func.func @main(%x: tensor<{type_}>) -> tensor<{type_}> {{\n  return %x : tensor<{type_}>\n}}"
    )
    for value, bits in ((10**400, 1329), (10**5000, 16610)):
        with pytest.raises(TypeError, match=f"argument 0: expected .*, got the int of {bits} bits"):
            executable(value)
    if type_ in ("f32", "f64", "bf16", "complex<f32>"):
        assert executable(2**70) == 2.0**70 and executable(-(2**70)) == -(2.0**70)


@pytest.mark.parametrize("first", [1, 2**63])
def test_an_int_that_only_ui64_holds_is_another_combination(first: int) -> None:
    function = xhlo.jit(lambda x, s: x + s)
    x = np.ones(2, np.float32)
    for scale in (first, 1, 2**63, 1, 2**63, 2**64 - 1, -(2**63)):
        np.testing.assert_array_equal(function(x, scale), x + scale)
    assert function.cache_info().currsize == 2
    for scale in (2**64, -(2**63) - 1, 10**5000):
        with pytest.raises(TypeError, match="argument s: got an int of more than 64 bits"):
            function(x, scale)


def test_a_number_that_overflows_is_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert one_number("f32")(1e300) == np.inf
    assert one_number("f64")(2**64) == 2.0**65


def test_numbers_and_arrays_are_different_combinations() -> None:
    function = xhlo.jit(lambda x, s: x * s)
    x = np.arange(4, dtype=np.float32)
    scales = (2.5, 3, np.array(2.5), np.float32(0.5), True)
    for scale in scales * 3:
        expected = x * scale
        found = function(x, scale)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    assert [is_answered_by_machine_code(lambda s=s: function(x, s)) for s in scales] == [True] * 4 + [False]


# Compiled functions.


def test_what_machine_code_answers_of_a_compiled_function() -> None:
    function = xhlo.jit(lambda x, y=3.0: (x * y, {"sum": x.sum(), "constant": 5}))
    expected = X * 3, X.sum()
    for _ in range(3):
        product, rest = function(X)
        np.testing.assert_array_equal(product, expected[0])
        assert rest == {"sum": expected[1], "constant": 5} and list(rest) == ["sum", "constant"]
    one = xhlo.jit(lambda x: x + 1)
    one(X), one(X)
    one(2.5), one(2.5)
    assert is_answered_by_machine_code(lambda: one(2.5)) and one(2.5) == 3.5
    assert is_answered_by_machine_code(lambda: one(X))
    for given in (X.T.copy().T, X[:, ::-1], X[:1], X.astype(np.int16), np.float32(2.5), True):
        assert not is_answered_by_machine_code(lambda given=given: one(given))
        np.testing.assert_array_equal(one(given), given + 1)
    np.testing.assert_array_equal(one(x=X), X + 1)


def test_counts_of_calls_are_of_all_calls() -> None:
    function = xhlo.jit(lambda x: x + 1)
    for size in (2, 3, 2, 2, 3, 2, 2):
        function(np.ones(size))
    assert function.cache_info() == (5, 2, 2)
    assert [line.split()[-2] for line in function.explain().splitlines()] == ["5", "2"]
    function.cache_clear()
    assert function.cache_info() == (0, 0, 0)
    np.testing.assert_array_equal(function(np.ones(2)), np.full(2, 2.0))
    assert function.cache_info() == (0, 1, 1)


@pytest.mark.filterwarnings("ignore:.*is compiled for the 9th time")
def test_more_combinations_than_machine_code_tries() -> None:
    function = xhlo.jit(lambda x: x * 2)
    arrays = [np.arange(size, dtype=np.float64) for size in range(12)]
    for _ in range(3):
        for x in arrays:
            np.testing.assert_array_equal(function(x), x * 2)
    by_machine = [is_answered_by_machine_code(lambda x=x: function(x)) for x in arrays]
    assert by_machine == [True] * 8 + [False] * 4
    assert function.cache_info().currsize == 12


def test_static_and_donated_arguments_are_left_to_python() -> None:
    power = xhlo.jit(lambda x, n: x**n, static_argnames="n")
    step = xhlo.jit(lambda x: x + 1, donate_argnames="x")
    for _ in range(3):
        np.testing.assert_array_equal(power(X, 2), X * X)
        np.testing.assert_array_equal(power(X, 3), X**3)
        np.testing.assert_array_equal(step(X.copy()), X + 1)


def test_threads_while_executables_are_forgotten() -> None:
    function = xhlo.jit(lambda x: (x * 2).sum(0))
    arrays = [np.full((40, size), size, np.float64) for size in (3, 5, 7)]
    wrong: list[int] = []

    def work() -> None:
        for turn in range(150):
            x = arrays[turn % 3]
            if function(x).tolist() != [80.0 * x.shape[1]] * x.shape[1]:
                wrong.append(turn)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        function.cache_clear()
    for thread in threads:
        thread.join()
    assert not wrong


def test_methods_and_calls_in_other_functions() -> None:
    inner = xhlo.jit(lambda x: x * 2)
    inner(X), inner(X)
    outer = xhlo.jit(lambda x: inner(x) + 1)
    np.testing.assert_array_equal(outer(X), X * 2 + 1)

    class Model:
        weight = 3.0

        @xhlo.jit(static_argnames="self")
        def apply(self, x: Any) -> Any:
            return x * self.weight

    np.testing.assert_array_equal(Model().apply(X), X * 3)
