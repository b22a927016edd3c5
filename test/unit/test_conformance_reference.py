"""Programs from outside, run by the reference interpreter."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from xhlo.hlo_dialect.check_calls import CheckFailure
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate

sys.path.insert(0, str(Path(__file__).parent))
import conformance

pytestmark = pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)


@pytest.mark.parametrize("name", conformance.JAX_PROGRAMS)
def test_jax_program(name: str) -> None:
    program = conformance.jax_program(name)
    results = evaluate(parse_module(program.text, name), program.inputs)
    assert not conformance.wrong_outputs(program, results)


PROGRAMS = conformance.stablehlo_programs()


@pytest.mark.parametrize("name", [name for name, supported, static in PROGRAMS if supported and static])
def test_stablehlo_program(name: str) -> None:
    """The program checks itself: a wrong result raises CheckFailure."""
    evaluate(parse_module(conformance.stablehlo_text(name), name), ())


@pytest.mark.parametrize("name", [name for name, supported, static in PROGRAMS if supported and not static])
def test_dynamic_program_is_read(name: str) -> None:
    """Programs with unknown dimensions carry no inputs: they parse, verify and print, and print back the same."""
    module = parse_module(conformance.stablehlo_text(name), name)
    text = str(module)
    assert str(parse_module(text, name)) == text


@pytest.mark.parametrize("name", [name for name, supported, _ in PROGRAMS if not supported])
def test_other_program_is_refused_by_name(name: str) -> None:
    """Or runs and holds, where the reference knows its parts after all (complex numbers); never another exception."""
    try:
        module = parse_module(conformance.stablehlo_text(name), name)
        if not module.body.block.first_op.function_type.inputs.data:  # type: ignore[union-attr]
            evaluate(module, ())
    except CheckFailure:
        raise
    except DiagnosticError as error:
        assert any(part in str(error) for part in ("'", "type")), str(error)
