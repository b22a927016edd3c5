"""`jax.profiler.trace`: an event for each run of a program, and for each of its kernels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xhlo
from filled_memory import run_filled
from xhlo.frontends.jax.executables import by_fingerprint
from xhlo.frontends.jax.objects import OBJECTS


def events_of(folder: Path) -> dict[str, list[Any]]:
    """The events of xhlo's devices by line."""
    (path,) = folder.rglob("*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(path))
    lines = [line for plane in data.planes if plane.name == "/device:CUSTOM:xhlo:0" for line in plane.lines]
    return {line.name: list(line.events) for line in lines}


def two_products(x):
    return jnp.tanh(x @ x) @ x


@pytest.fixture(autouse=True)
def forget_programs() -> Iterator[None]:
    """After a trace each program's next run is the caller's own, which would wait where other tests expect none."""
    yield
    jax.clear_caches()


def test_programs_and_kernels(tmp_path: Path) -> None:
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = options.host_tracer_level = 0
    x = jnp.asarray(np.eye(64, dtype=np.float32))
    compiled = jax.jit(two_products).lower(x).compile()
    before = compiled(x)
    program = by_fingerprint(bytes(compiled.runtime_executable().fingerprint).decode())
    assert program is not None
    record = OBJECTS["LoadedExecutable"].from_address(program.handle)
    assert record.direct == 1
    with jax.profiler.trace(tmp_path, profiler_options=options):
        assert record.direct == 0
        for _ in range(3):
            during = compiled(x)
        late = jax.jit(lambda x: jnp.cos(x) + 1)(x)  # compiled in the trace
    np.testing.assert_array_equal(during, before)
    assert late.shape == x.shape
    found = events_of(tmp_path)
    programs = [event.name for event in found["programs"]]
    assert programs.count("jit_two_products") == 3
    kernels = [kernel.name for kernel in xhlo.executable_of(compiled).kernels]
    shown = found["kernels"]
    for name in kernels:
        ours = [event for event in shown if event.name == name]
        assert len(ours) >= 3
        assert all(event.duration_ns >= 0 and dict(event.stats)["calls"] >= 1 for event in ours)
    for run in found["programs"][:3]:
        inside = sum(
            each.duration_ns for each in shown if run.start_ns <= each.start_ns <= run.start_ns + run.duration_ns
        )
        assert 0 < inside <= run.duration_ns
    compiled(x)
    assert record.direct == 1  # machine code runs it without Python again


OPEN = """
import tempfile
import jax
with tempfile.TemporaryDirectory() as folder:
    jax.profiler.start_trace(folder)
    jax.jit(lambda x: x + 1)(1.0)
"""


def test_a_trace_that_nobody_stops_ends_with_the_process() -> None:
    status, _, errors = run_filled(OPEN, JAX_PLATFORMS="xhlo")
    assert status == 0, errors
