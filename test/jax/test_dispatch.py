"""Calls return before their programs have run: order, donation, errors, callbacks, threads, forks and the end."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

from xhlo.frontends.jax import entries, executables, host_runs, native_tasks
from xhlo.frontends.jax.c_api import ARGUMENTS, ENTRY_NAMES
from xhlo.frontends.jax.entries import dispatch
from xhlo.frontends.jax.native_calls import loaded

XHLO = jax.devices("xhlo")[0]
X = np.arange(6, dtype=np.float32).reshape(2, 3)
LIMIT = 120
"""Seconds after which a wait in these tests has failed."""


class Gate:
    """A jitted identity whose result is not there before `open`."""

    def __init__(self) -> None:
        self._opened = threading.Event()

        def wait(x: Any) -> Any:
            assert self._opened.wait(LIMIT)
            return np.asarray(x)

        self.pass_ = jax.jit(lambda x: jax.pure_callback(wait, jax.ShapeDtypeStruct(x.shape, x.dtype), x))

    def open(self) -> None:
        self._opened.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    with jax.default_device(XHLO):
        yield made
    made.open()


@pytest.fixture(autouse=True)
def on_xhlo() -> Iterator[None]:
    with jax.default_device(XHLO):
        yield


def tasks() -> int:
    return loaded().variable("tasks").value


def record_of(name: str) -> Any:
    """The record that machine code reads, of the program of that name that was loaded last."""
    return [program for program in host_runs.PROGRAMS.values() if program.compiled.name == name][-1].record


def seem_long(function: Callable[..., Any], *arguments: Any) -> Any:
    """The jitted function, whose next run machine code leaves to a worker."""
    compiled = function.lower(*arguments).compile()
    record_of(f"jit_{function.__name__}").nanoseconds = 10**9
    return compiled


def test_a_call_returns_before_its_results_are_there(gate: Gate) -> None:
    y = gate.pass_(X)
    z = jnp.sin(y) @ y.T
    assert not y.is_ready() and not z.is_ready() and y.shape == X.shape
    gate.open()
    np.testing.assert_allclose(z, np.sin(X) @ X.T, rtol=1e-5)
    assert y.is_ready() and jax.block_until_ready((y, z))[0] is y


def test_long_programs_run_on_workers() -> None:
    @jax.jit
    def long_chain(x: Any) -> Any:
        return jnp.cumsum(jnp.sort(x * 2 + 1))

    x = jax.device_put(np.arange(50.0, dtype=np.float32))
    compiled, right = seem_long(long_chain, x), np.cumsum(np.arange(50, dtype=np.float32) * 2 + 1)
    results: list[Any] = []
    for _ in range(10):
        record_of("jit_long_chain").nanoseconds = 10**9
        results.append(compiled(x))
    for result in results:
        np.testing.assert_allclose(result, right)
    # It has turned out to be short: from now on it runs at once.
    compiled(x).block_until_ready()
    assert compiled(x).is_ready()


def test_programs_of_about_the_limit_stay_on_their_thread() -> None:
    """Runs take longer on a thread that was woken: what is short on the caller's thread returns to it."""
    expected, limit = loaded().expected_time, native_tasks.SHORT_NS

    def runs_at_once(estimate: int, at_once: int, woken: int, runs: int) -> list[bool]:
        found: list[bool] = []
        for _ in range(runs):
            found.append(estimate < limit)
            estimate = expected(estimate, at_once if found[-1] else woken, int(found[-1]))
        return found

    assert expected(45_000, 60_000, 1) < limit  # one slow run
    assert all(runs_at_once(10_000, 45_000, 90_000, 50))
    assert runs_at_once(10**9, 45_000, 90_000, 50)[-10:] == [True] * 10
    assert runs_at_once(10**9, 80_000, 90_000, 200).count(True) < 10
    assert expected(10_000, 10**6, 1) == 10**6 and expected(10**6, 10_000, 0) == 10_000


def test_donated_results_are_updated_in_place_before_they_are_there(gate: Gate) -> None:
    step = jax.jit(lambda x, y: (x + y, y.sum()), donate_argnums=0)
    x, first = gate.pass_(X) + 0, jax.device_put(X)
    place = x.unsafe_buffer_pointer()
    for _ in range(5):
        before = x
        x, total = step(x, first)
        assert before.is_deleted()
    assert not x.is_ready() and not total.is_ready() and x.unsafe_buffer_pointer() == place
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(before)
    gate.open()
    np.testing.assert_array_equal(x, 6 * X)
    assert total == X.sum()


def test_what_others_hold_is_not_overwritten(gate: Gate) -> None:
    """A view, the same array twice, and a run that has not read the array yet."""
    step = jax.jit(lambda x, y: x * 2 + y, donate_argnums=0)
    x = jax.device_put(X) + 0
    view = np.asarray(x)
    later = gate.pass_(x)
    y = jnp.sum(x * later)
    z = step(x, later)
    twice = jax.device_put(X) + later
    twice = step(twice, twice)
    assert not z.is_ready()
    gate.open()
    np.testing.assert_array_equal(z, 3 * X)
    np.testing.assert_array_equal(view, X)
    np.testing.assert_array_equal(twice, 6 * X)
    assert y == np.sum(X * X)


def test_arrays_and_programs_may_go_before_their_runs(gate: Gate) -> None:
    def forget() -> Any:
        program = jax.jit(lambda x: jnp.tanh(x) * 3)
        x = gate.pass_(X)
        dropped, kept = program(x), program(x)
        x.delete()
        del dropped
        return kept

    kept = forget()
    jax.clear_caches()
    gc.collect()
    gate.open()
    np.testing.assert_allclose(kept, np.tanh(X) * 3, rtol=1e-5)


class Dying:
    """A program that is destroyed while others are, as by a collection of garbage."""

    def __init__(self, pending: int):
        self.pending = pending
        self.destroys: list[int] = []

    @property
    def record(self) -> Dying:
        while self.destroys:
            destroy(self.destroys.pop())
        return self


def destroy(handle: int) -> None:
    arguments = ARGUMENTS["LoadedExecutable_Destroy"](executable=handle)
    assert not dispatch(ENTRY_NAMES.index("LoadedExecutable_Destroy"), ctypes.addressof(arguments))


def test_a_program_with_runs_stays_when_others_are_destroyed_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = Dying(1), Dying(1), Dying(0)
    monkeypatch.setattr(executables, "_executables", {1: first, 2: second, 3: third})
    monkeypatch.setattr(executables, "_dying", type(executables._dying)())  # pyright: ignore[reportPrivateUsage]
    destroy(1)
    first.pending, first.destroys = 0, [3]
    destroy(2)
    assert list(executables._dying) == [second]  # pyright: ignore[reportPrivateUsage]


def failing() -> Any:
    def broken(_: Any) -> Any:
        raise ValueError("no sine today")

    return jax.jit(lambda x: jax.pure_callback(broken, jax.ShapeDtypeStruct(x.shape, x.dtype), x))


WAITS: dict[str, Callable[[Any], Any]] = {
    "block": lambda y: y.block_until_ready(),
    "blocks": lambda y: jax.block_until_ready([y, jnp.ones(3)]),
    "asarray": np.asarray,
    "DLPack": np.from_dlpack,
    "get": jax.device_get,
    "copy": lambda y: jax.device_put(y, jax.devices("xhlo")[1]).block_until_ready(),
    "next": lambda y: (y * 2).block_until_ready(),
    "donated": lambda y: jax.jit(lambda y: (y * 2, y.sum()), donate_argnums=0)(y)[1].block_until_ready(),
    "callback": lambda y: Gate().pass_(y).block_until_ready(),
}


@pytest.mark.parametrize("name", WAITS)
def test_errors_come_where_results_are_waited_for(name: str) -> None:
    y = failing()(X)
    with pytest.raises(jax.errors.JaxRuntimeError, match="error: custom call 'xhlo_python_callback': .*no sine today"):
        WAITS[name](y)
    assert jnp.sum(jax.device_put(X)) == X.sum()


def test_a_run_without_memory_fails_and_the_next_goes_on() -> None:
    @jax.jit
    def scratch(x: Any) -> Any:
        return jnp.sort(jnp.sin(x) @ x.T)

    x = jax.device_put(np.ones((64, 64), np.float32))
    compiled = seem_long(scratch, x)
    record = record_of("jit_scratch")
    usual, record.arena_bytes = record.arena_bytes, 1 << 60
    y = compiled(x)
    with pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED"):
        y.block_until_ready()
    record.arena_bytes = usual
    assert compiled(x).block_until_ready().shape == (64, 64)


def test_a_program_that_needs_too_much_memory_exhausts_resources() -> None:
    with pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED: .* more than the limit"):
        jax.jit(lambda: jnp.zeros((1 << 44,), jnp.int8))()


def test_dlpack_and_views_wait(gate: Gate) -> None:
    y, opened = gate.pass_(X), threading.Timer(0.01, gate.open)
    opened.start()
    np.testing.assert_array_equal(np.from_dlpack(y), X)
    np.testing.assert_array_equal(jax.dlpack.from_dlpack(y) + 1, X + 1)


def test_effects_keep_their_order_and_are_waited_for(gate: Gate) -> None:
    seen: list[float] = []

    @jax.jit
    def note(x: Any) -> Any:
        io_callback(lambda x: seen.append(float(x)), None, x, ordered=True)
        jax.debug.callback(lambda x: seen.append(-float(x)), x)
        return x

    x = gate.pass_(X)
    note(x[0, 0] + 1)
    assert seen == []
    gate.open()
    for number in (2, 3):  # JAX itself waits for an ordered effect before it calls for the next
        note(x[0, 0] + number)
    jax.effects_barrier()
    assert [each for each in seen if each > 0] == [1, 2, 3] and sorted(seen) == [-3, -2, -1, 1, 2, 3]


def test_callbacks_may_call_jax(gate: Gate) -> None:
    """Programs, programs that call back, and what another callback still has to make."""
    other = Gate()

    def work(x: Any) -> Any:
        x = jax.device_put(np.asarray(x), XHLO)
        other.open()
        return np.asarray(second * inner(x) + jnp.sum(x @ x.T))

    inner = jax.jit(lambda x: jax.pure_callback(lambda x: np.asarray(x) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
    outer = jax.jit(lambda x: jax.pure_callback(work, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1)
    first = outer(gate.pass_(X))
    second = other.pass_(X)
    gate.open()
    np.testing.assert_allclose(first, X * X * 2 + np.sum(X @ X.T) + 1)


def test_a_call_waits_when_too_many_have_not_run(gate: Gate) -> None:
    x = gate.pass_(X)

    def open_when_full() -> None:
        while tasks() < native_tasks.MOST_TASKS:
            threading.Event().wait(0.001)
        gate.open()

    opener = threading.Thread(target=open_when_full)
    opener.start()
    for _ in range(3 * native_tasks.MOST_TASKS):
        x = x + 1
        assert tasks() <= native_tasks.MOST_TASKS
    np.testing.assert_array_equal(x, X + 3 * native_tasks.MOST_TASKS)
    opener.join()


def test_threads_call_at_once(gate: Gate) -> None:
    x = gate.pass_(X)
    wrong: list[int] = []

    def work(number: int) -> None:
        with jax.default_device(XHLO):
            y = x * number
            for _ in range(3):
                y = jnp.sin(y) + x
            right = X * number
            for _ in range(3):
                right = np.sin(right) + X
            if not np.allclose(y, right, rtol=1e-4, atol=1e-5):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    gate.open()
    for thread in threads:
        thread.join()
    assert not wrong


def test_calls_of_lapack_that_take_long_are_not_waited_for(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    @jax.jit
    def values(x: Any) -> Any:
        # Nobody knows how long a program with a loop takes until it has run.
        return jnp.linalg.eigvalsh(x) + jax.lax.while_loop(lambda y: y < x[0, 0], lambda y: 2 * y, 1.0)

    symmetric = np.outer(range(40), range(40)).astype(np.float32)  # small ones need no library
    monkeypatch.setattr(executables, "SLOW", 0.0)
    right = values(symmetric)
    assert record_of("jit_values").direct == host_runs.HOST
    later = values(gate.pass_(symmetric))
    assert not later.is_ready()
    monkeypatch.setattr(executables, "SLOW", 1e9)
    gate.open()
    np.testing.assert_array_equal(later, right)
    # That run was short.
    assert record_of("jit_values").direct != host_runs.HOST
    np.testing.assert_array_equal(values(symmetric), right)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_the_child_of_a_fork_has_threads_of_its_own() -> None:
    @jax.jit
    def forked(x: Any) -> Any:
        return jnp.cumsum(x) * 2

    x = jax.device_put(np.arange(8.0, dtype=np.float32))
    gate = Gate()
    gate.open()
    compiled, call_back = seem_long(forked, x), gate.pass_.lower(x).compile()
    y = compiled(x)
    child = os.fork()
    if not child:
        # pytest's own end must not run here.
        try:
            record_of("jit_forked").nanoseconds = 10**9
            right = np.cumsum(np.arange(8)) * 2
            ends = np.array_equal(y, right) and np.array_equal(compiled(x), right) and np.array_equal(call_back(x), x)
            os._exit(0 if ends else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_thread_that_a_child_lacks_may_have_had_the_lock_of_the_pool() -> None:
    lock = loaded().variable("pool_lock")
    child = os.fork()
    if not child:
        try:
            signal.alarm(60)  # it would wait forever
            lock.value = 1
            loaded().prepare_locks()
            y = jax.device_put(np.ones(1 << 20, np.float32))
            os._exit(0 if np.asarray(y).sum() == 1 << 20 and not lock.value else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_that_ask_for_a_text_get_one_that_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    class Raced(dict[bytes, Any]):
        """Another thread asks for the same text right after this one has looked."""

        def get(self, key: bytes, default: Any = None) -> Any:
            found = super().get(key, default)
            if found is None and not others:
                others.append(())
                others[0] = entries.text(key)
            return found

    others: list[tuple[int, ...]] = []
    monkeypatch.setattr(entries, "_texts", Raced())
    assert entries.text("first") == others[0] == entries.text("first")
