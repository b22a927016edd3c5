"""Programs from outside, compiled for the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import xhlo
from xhlo.hlo_dialect.diagnostics import DiagnosticError

sys.path.insert(0, str(Path(__file__).parent))
import conformance

pytestmark = pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)


@pytest.mark.parametrize("name", conformance.JAX_PROGRAMS)
def test_jax_program(name: str) -> None:
    program = conformance.jax_program(name)
    results = xhlo.compile(program.text)(*program.inputs)
    results = results if isinstance(results, tuple) else (results,)
    assert len(results) == len(program.outputs)
    assert not conformance.wrong_outputs(program, results)


PROGRAMS = conformance.stablehlo_programs()


@pytest.mark.parametrize("name", [name for name, supported, static in PROGRAMS if supported and static])
def test_stablehlo_program(name: str) -> None:
    """The program checks itself: a wrong result raises CheckFailure."""
    xhlo.compile(conformance.stablehlo_text(name))()


@pytest.mark.parametrize("name", [name for name, supported, static in PROGRAMS if not (supported and static)])
def test_other_program_is_refused_by_name(name: str) -> None:
    """Or runs, where its parts are supported after all; never another exception."""
    try:
        executable = xhlo.compile(conformance.stablehlo_text(name))
    except DiagnosticError as error:
        assert any(part in str(error) for part in ("'", "type")), str(error)
    else:
        if not executable.input_types:
            executable()
