"""
Many calls: threads, memory, and how a process ends.

Small by default; XHLO_STRESS=10 makes ten times as many calls.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

TIMES = int(os.environ.get("XHLO_STRESS", "1"))
THREADS = 8
PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


def newton(x: Any) -> Any:
    return lax.while_loop(lambda s: jnp.abs(s * s - x) > 1e-3 * x, lambda s: (s + x / s) / 2, x)


PROGRAMS: list[tuple[Callable[..., Any], list[np.ndarray], Callable[..., Any]]] = [
    (lambda x: x * 2 + 1, [np.arange(4, dtype=np.float32)], lambda x: x * 2 + 1),
    (lambda x, y: x @ y, [np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((4, 2), np.float32)], np.matmul),
    (lambda x: jnp.sort(x)[::-1], [np.array([3, 1, 2], np.int32)], lambda x: np.sort(x)[::-1]),
    (lambda x: jnp.cumsum(x, 1), [np.arange(6, dtype=np.int32).reshape(2, 3)], lambda x: np.cumsum(x, 1)),
    (newton, [np.float32(49)], np.sqrt),
    (lambda x: jax.grad(lambda x: (x**3).sum())(x), [np.arange(3, dtype=np.float32)], lambda x: 3 * x**2),
    (lambda x: (x.sum(0), x.max()), [np.arange(2000, dtype=np.float32).reshape(20, 100)], lambda x: (x.sum(0), x.max())),
    (lambda x: jax.pure_callback(lambda x: np.asarray(x) * 5, jax.ShapeDtypeStruct((3,), jnp.float32), x),
     [np.ones(3, np.float32)], lambda x: x * 5),
]  # fmt: skip
"""Functions, their arguments, and NumPy's results."""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc to read the memory from")
def test_calls_do_not_grow() -> None:
    function = jax.jit(lambda x, y: (x * 2 + y, y.sum()))
    x = jax.device_put(np.ones(1000, np.float32))
    y = np.ones(1000, np.float32)

    def calls(count: int) -> None:
        for _ in range(count):
            function(x, y)[0].block_until_ready()
        gc.collect()

    calls(2000)
    before = resident()
    calls(10_000 * TIMES)
    assert resident() < before * 1.05


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc to read the memory from")
def test_compilations_do_not_grow() -> None:
    """Different programs, each called and dropped."""

    def compilations(first: int, count: int) -> None:
        for i in range(first, first + count):
            value = jax.jit(lambda x, i=i: x * i + jnp.float32(i))(np.ones(4, np.float32))
            assert float(value[0]) == 2 * i
        jax.clear_caches()
        gc.collect()

    compilations(1, 60)
    before = resident()
    compilations(100, 60 * TIMES)
    assert resident() < before * 1.05


def test_threads() -> None:
    """Different programs from threads, nothing compiled before."""
    functions = [(jax.jit(function), arguments, check(*arguments)) for function, arguments, check in PROGRAMS]
    wrong: list[str] = []
    start = threading.Barrier(THREADS)

    def work(seed: int) -> None:
        order = np.random.default_rng(seed).integers(0, len(functions), 100 * TIMES)
        start.wait()
        for number in order:
            function, arguments, expected = functions[number]
            try:
                got = function(*arguments)
                jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-3), got, expected)
            except Exception as error:  # The failure of a thread is the test's failure.
                wrong.append(f"program {number}: {type(error).__name__}: {error}")
                return

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads), "threads hang"
    assert not wrong, wrong


def test_threads_that_compile() -> None:
    """Each thread compiles programs of its own, some with donation."""
    wrong: list[str] = []

    def work(seed: int) -> None:
        for i in range(6 * TIMES):
            scale = seed * 100 + i
            value = jax.jit(lambda x, s=scale: jnp.cumsum(x) + s, donate_argnums=0)(jnp.ones(5, jnp.float32))
            if value.tolist() != [scale + k + 1 for k in range(5)]:
                wrong.append(f"{scale}: {value}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads) and not wrong, wrong


ENDS = {
    "with arrays alive": "x = jnp.arange(1000.0); y = jax.jit(jnp.sin)(x); keep = [x, y]",
    "without waiting": "f = jax.jit(lambda x: jnp.tanh(x @ x)); x = jnp.ones((300, 300))\nfor _ in range(20): x = f(x)",
    "while a thread calls": """
import threading
f = jax.jit(lambda x: x * 2 + 1)
x = jnp.ones(4); f(x)
def work():
    while True: f(x)
for _ in range(4): threading.Thread(target=work, daemon=True).start()
import time; time.sleep(0.3)""",
    "while a thread compiles": """
import threading
def work():
    for i in range(10**6): jax.jit(lambda x: x * i)(jnp.ones(3))
threading.Thread(target=work, daemon=True).start()
import time; time.sleep(0.5)""",
    "while a callback sleeps": """
import threading, time, numpy as np
f = jax.jit(lambda x: jax.pure_callback(lambda x: (time.sleep(1), np.asarray(x))[1], jax.ShapeDtypeStruct((3,), jnp.float32), x))
threading.Thread(target=lambda: f(jnp.ones(3)), daemon=True).start()
time.sleep(0.3)""",
    "in a long program": """
import threading, time
f = jax.jit(lambda x: jax.lax.fori_loop(0, 20000, lambda i, x: jnp.tanh(x * 1.01), x))
x = jnp.ones(64); f(x)
threading.Thread(target=lambda: [f(x) for _ in range(10**6)], daemon=True).start()
time.sleep(0.3)""",
    "while a thread with the interpreter's lock calls": """
import atexit, ctypes, threading, time
ended = threading.Event()
atexit.register(lambda: (ended.set(), time.sleep(0.5)))
# The plugin's own handler is registered after this one, and so runs before it.
x = jnp.ones(3)
from xhlo.frontends.jax.plugin import plugin
entry = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(plugin().api.Client_PlatformName)
threading.Thread(target=lambda: (ended.wait(), entry(None)), daemon=True).start()""",
    "while it waits for a thread that destroys": """
import atexit, ctypes, threading
def destroy():
    thread = threading.Thread(target=entry, args=(None,))
    thread.start()
    thread.join()
atexit.register(destroy)
x = jnp.ones(3)
from xhlo.frontends.jax.plugin import plugin
entry = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(plugin().api.LoadedExecutable_Destroy)""",
    "after an error": "try: jnp.ones(3) + jnp.ones(4)\nexcept TypeError: pass",
    "by sys.exit": "x = jnp.ones(3); import sys; sys.exit(0)",
}


THREADS_OF_THE_END = {name for name, program in ENDS.items() if "daemon" in program}
"""A thread that is in JAX when the interpreter ends may make jaxlib abort, on XLA's platforms too; it must not hang."""


@pytest.mark.long(10)
@pytest.mark.parametrize("name", ENDS)
def test_the_process_ends(name: str) -> None:
    program = f"import jax, jax.numpy as jnp\n{ENDS[name]}\nprint('end', flush=True)"
    environment = {**os.environ, "JAX_PLATFORMS": "xhlo"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=240)
    assert name == "by sys.exit" or done.stdout.splitlines()[-1:] == ["end"]
    assert "Traceback" not in done.stderr, done.stderr
    if name not in THREADS_OF_THE_END:
        assert done.returncode == 0, done.stderr
