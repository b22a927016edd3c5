"""
The conformance programs, compiled for the CPU, in guard mode: no kernel accesses memory outside of its buffers. Some of
JAX's run without it too, where buffers share memory.
"""

from __future__ import annotations

import pytest

import conformance
import xhlo

pytestmark = pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)

STATIC = [program.name for program in conformance.stablehlo_programs() if program.static]


@pytest.mark.long(30)
@pytest.mark.parametrize(
    ("name", "guard"),
    [
        *((name, True) for name in conformance.jax_programs()),
        *((name, False) for name in conformance.jax_programs()[::8]),
    ],
)
def test_jax_program(name: str, guard: bool) -> None:
    program = conformance.jax_program(name)
    results = xhlo.compile(program.text, guard=guard)(*program.inputs)
    results = results if isinstance(results, tuple) else (results,)
    assert len(results) == len(program.outputs)
    assert not conformance.wrong_outputs(program, results)


@pytest.mark.long(18)
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", STATIC)
def test_stablehlo_program(name: str) -> None:
    """The program checks itself: a wrong result raises CheckFailure."""
    xhlo.compile(conformance.stablehlo_text(name), guard=True)()
