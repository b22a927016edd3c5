"""The conformance programs, compiled for the CPU."""

from __future__ import annotations

import pytest

import conformance
import xhlo

pytestmark = pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)

STATIC = [program.name for program in conformance.stablehlo_programs() if program.static and not program.quantized]


@pytest.mark.parametrize("name", conformance.jax_programs())
def test_jax_program(name: str) -> None:
    program = conformance.jax_program(name)
    results = xhlo.compile(program.text)(*program.inputs)
    results = results if isinstance(results, tuple) else (results,)
    assert len(results) == len(program.outputs)
    assert not conformance.wrong_outputs(program, results)


@pytest.mark.parametrize("name", STATIC)
def test_stablehlo_program(name: str) -> None:
    """The program checks itself: a wrong result raises CheckFailure."""
    xhlo.compile(conformance.stablehlo_text(name))()
