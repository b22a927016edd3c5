"""Programs of JAX that a process before compiled: kept on disk, and run without a compilation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def compilations(**environment: str) -> list[str]:
    """The number of programs that a process compiled, and whether it loaded the compiler before one that must be."""
    given = {**os.environ, "JAX_PLATFORMS": "xhlo", "XHLO_CACHE_SIZE": "64M", **environment}
    done = subprocess.run([sys.executable, "-c", RUN], env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


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
