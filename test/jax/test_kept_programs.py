"""Programs of JAX that a process before compiled: kept on disk, by xhlo or by JAX, and run without a compilation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import sys, warnings
warnings.simplefilter("error")
import jax, numpy as np
jax.devices()
from xhlo.frontends.jax import executables
compiled_anew, made = executables._compiled, []
executables._compiled = lambda *given: made.append(given) or compiled_anew(*given)
f = jax.jit(lambda x, y: {"z": x @ y.T + jax.numpy.sin(x[:, :4]), "y": y + x}, donate_argnums=1)
x = np.arange(24, dtype=np.float32).reshape(4, 6)
for y in (x[:4] + 1, x[:4] + 2):
    found, sine = f(x, jax.numpy.asarray(y)), np.sin(x[:, :4])
    np.testing.assert_allclose(found["z"], x @ y.T + sine, rtol=1e-5)
    np.testing.assert_array_equal(found["y"], x + y)
compiler = "xdsl" in sys.modules
assert float(jax.pure_callback(lambda a: np.asarray(a) + 1, jax.ShapeDtypeStruct((), np.float32), np.float32(2))) == 3
compiled = f.lower(x, x).compile()
assert "sine" in compiled.as_text()
print(len(made), compiler)
"""


def output_of(program: str, **environment: str) -> str:
    """The output of a program in a process of its own."""
    given = {**os.environ, "JAX_PLATFORMS": "xhlo", **environment}
    done = subprocess.run([sys.executable, "-c", program], env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compilations(**environment: str) -> list[str]:
    """The number of programs that a process compiled, and whether it loaded the compiler before one that must be."""
    return output_of(RUN, XHLO_CACHE_SIZE="64M", **environment).split()


def test_a_second_process_compiles_only_what_calls_python(tmp_path: Path) -> None:
    count, compiler = compilations(XDG_CACHE_HOME=str(tmp_path))
    kept = list((tmp_path / "xhlo").glob("*.jax"))
    assert len(kept) == int(count) - 1 and compiler == "True"
    assert compilations(XDG_CACHE_HOME=str(tmp_path)) == ["1", "False"]


MOVED = """
import sys
import jax, numpy as np
from xhlo.frontends.jax import executables
compiled_anew, made = executables._compiled, []
executables._compiled = lambda *given: made.append(given) or compiled_anew(*given)
{lines}
print(jax.jit(lambda x: x * 3 + 1)(np.float32(2)), len(made))
"""


def test_a_program_is_found_after_its_source_was_edited(tmp_path: Path) -> None:
    for lines, compiled in (("", "1"), ("# one", "0"), ("# one\n# two", "0")):
        given = {**os.environ, "JAX_PLATFORMS": "xhlo", "XHLO_CACHE_SIZE": "64M", "XDG_CACHE_HOME": str(tmp_path)}
        (tmp_path / "program.py").write_text(MOVED.format(lines=lines))
        run = [sys.executable, str(tmp_path / "program.py")]
        done = subprocess.run(run, env=given, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["7.0", compiled]
    assert len(list((tmp_path / "xhlo").glob("*.jax"))) == 1


@pytest.mark.long
def test_the_persistent_cache_of_jax(tmp_path: Path) -> None:
    program = """
import jax, numpy as np
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
from jax._src import monitoring
hits = []
monitoring.register_event_listener(lambda name, **_: hits.append(name) if name.endswith("/cache_hits") else None)
print(float(jax.jit(lambda x: (x * 3).sum())(np.ones(4, np.float32))), len(hits))
"""
    environment = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
    assert output_of(program, **environment).split() == ["12.0", "0"]
    value, hits = output_of(program, **environment).split()
    assert value == "12.0" and int(hits) >= 1


@pytest.mark.long
def test_jax_caches_that_others_may_write_are_not_used(tmp_path: Path) -> None:
    program = """
import warnings
import jax, jax.numpy as jnp
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(jax.jit(lambda x: x * 3)(jnp.float32(2)))
print([str(each.message)[:40] for each in caught if "not trusted" in str(each.message)])
"""
    cache = tmp_path / "cache"
    assert output_of(program, JAX_COMPILATION_CACHE_DIR=str(cache)).splitlines() == ["6.0", "[]"]
    files = list(cache.glob("*-cache"))
    assert files
    for file in files:
        file.chmod(0o666)
    refused = output_of(program, JAX_COMPILATION_CACHE_DIR=str(cache)).splitlines()
    assert refused[0] == "6.0" and "not trusted" not in refused[0] and len(refused[1]) > 2
    for file in files:
        file.write_bytes(file.read_bytes()[:-40])
        file.chmod(0o600)
    assert output_of(program, JAX_COMPILATION_CACHE_DIR=str(cache)).splitlines() == ["6.0", "[]"]
