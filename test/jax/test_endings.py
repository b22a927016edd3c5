"""The end of a process with runs and compilations in progress, and after it."""

from __future__ import annotations

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

from filled_memory import FILLED, run_alone


def run(code: str, **variables: str) -> tuple[int, str, str]:
    return run_alone(code, JAX_PLATFORMS="xhlo", XHLO_NUM_DEVICES="1", **variables)


ENDING = """
import threading
import jax, numpy as np
go = threading.Event()
def slowly(x):
    assert go.wait(120)
    return np.asarray(x)
@jax.jit
def last(x):
    x = jax.pure_callback(slowly, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    jax.debug.print("printed {}", x[1])
    return x
y = last(np.arange(4.0, dtype=np.float32))
for _ in range(9):
    y = y + 1
print("end", y.is_ready(), flush=True)
threading.Timer(0.05, go.set).start()
"""


@pytest.mark.parametrize("variables", [{}, FILLED], ids=["", "filled"])
def test_the_interpreter_ends_after_the_runs(variables: dict[str, str]) -> None:
    assert run(ENDING, **variables) == (0, "end False\nprinted 1.0\n", "")


INTERRUPTED_END = """
import atexit
@atexit.register
def after_the_end():
    print("dispatcher", loaded().variable("dispatcher").value)
import jax
jax.jit(lambda x: x + 1)(1.0)
from xhlo.frontends.jax import plugin
from xhlo.frontends.jax.native_calls import loaded
rest, tracing_end = plugin._rest, plugin.tracing.end
def interrupted_rest(native, longest):
    plugin._rest = rest
    raise KeyboardInterrupt
def interrupted_end(nothing):
    plugin.tracing.end = tracing_end
    raise KeyboardInterrupt
plugin._rest, plugin.tracing.end = interrupted_rest, interrupted_end
class Late:
    def __del__(self):
        print("traces end", plugin.tracing.end is tracing_end)
late = Late()
"""


def test_interrupts_do_not_end_the_end() -> None:
    assert run(INTERRUPTED_END) == (0, "dispatcher 0\ntraces end True\n", "")


INTERRUPTED_COMPILATION = """
import gc, os, signal, time
import jax
signal.signal(signal.SIGINT, signal.default_int_handler)
jax.devices()
from xhlo.frontends.jax import executables
def compile_for_ever(*_):
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        time.sleep(0.001)
executables.kept_program = compile_for_ever
lowered = jax.jit(lambda x: x + 2).lower(jax.ShapeDtypeStruct((3,), "float32"))
try:
    lowered.compile()
except KeyboardInterrupt:
    print("interrupted")
# The client goes with the interpreter, and waits for its threads.
del lowered
jax.clear_caches()
gc.collect()
"""


def test_the_interpreter_ends_compilations_that_were_interrupted() -> None:
    assert run(INTERRUPTED_COMPILATION) == (0, "interrupted\n", "")


AFTER_THE_END = """
import atexit
import jax
jax.devices()
atexit._run_exitfuncs()
try:
    jax.numpy.arange(3) + 1
except RuntimeError as error:
    print(error)
"""


def test_calls_after_the_exit_handlers_say_so() -> None:
    status, output, _ = run(AFTER_THE_END)
    assert "xhlo has ended: the functions that run at the interpreter's exit" in output and not status
