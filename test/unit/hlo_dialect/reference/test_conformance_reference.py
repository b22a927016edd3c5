"""The conformance programs, run by the reference interpreter."""

from __future__ import annotations

import pytest

import conformance
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate

pytestmark = pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)


@pytest.mark.long(4)
@pytest.mark.parametrize("name", conformance.jax_programs())
def test_jax_program(name: str) -> None:
    program = conformance.jax_program(name)
    results = evaluate(parse_module(program.text, name), program.inputs)
    assert not conformance.wrong_outputs(program, results)


@pytest.mark.long(4)
@pytest.mark.parametrize("name", [program.name for program in conformance.stablehlo_programs() if program.static])
def test_stablehlo_program(name: str) -> None:
    """The program checks itself: a wrong result raises CheckFailure."""
    evaluate(parse_module(conformance.stablehlo_text(name), name), ())
