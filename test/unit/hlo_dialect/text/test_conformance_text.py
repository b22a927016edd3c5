"""
The conformance programs as text: each reads back as the same module in every form; jaxlib reads our output as the same
module as the original; broken copies are refused with a diagnostic.
"""

from __future__ import annotations

import random

import pytest

import conformance
from checkout import LIT
from jax_mlir import shared_context
from test_fuzz_text import broken
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.tools.fuzzing.checks import FORMS, check_text
from xhlo.tools.fuzzing.programs import Program


def _texts() -> dict[str, str]:
    """Every program of the conformance folder and of our own round-trip tests."""
    found = {program.name: conformance.stablehlo_text(program.name) for program in conformance.stablehlo_programs()}
    for name in conformance.jax_programs():
        found[f"jax_{name}"] = (conformance.ROOT / "jax" / f"{name}.mlir").read_text()
    for path in sorted((LIT / "hlo_dialect" / "round_trip").glob("*.mlir")):
        for index, part in enumerate(path.read_text().split("// -----")):
            found[f"lit_{path.stem}_{index}"] = part
    return found


TEXTS = _texts()
NAMES = list(TEXTS)
CHUNK = 20
CHUNKS = [NAMES[first : first + CHUNK] for first in range(0, len(NAMES), CHUNK)]


@pytest.mark.long(7)
@pytest.mark.sample(17)
@pytest.mark.parametrize("turn", range(len(FORMS)))
@pytest.mark.parametrize("names", CHUNKS, ids=lambda names: names[0])
def test_text_is_a_fixpoint(names: list[str], turn: int) -> None:
    """In one turn each program has one form, in all turns every form. (test_reading.py reads each back in any run.)"""
    for number, name in enumerate(names):
        try:
            check_text(Program(TEXTS[name], [], []), [FORMS[(number + turn) % len(FORMS)]])
        except Exception as error:
            error.add_note(name)
            raise


def _as_jaxlib_reads(text: str) -> str:
    """The module in MLIR's generic form, without locations. Raises ValueError."""
    ir = pytest.importorskip("jaxlib.mlir.ir")
    with shared_context(unregistered=True):
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            raise ValueError(str(error)) from None
        return module.operation.get_asm(print_generic_op_form=True, enable_debug_info=False)


@pytest.mark.long(5)
@pytest.mark.sample(3)
@pytest.mark.parametrize("turn", [0, 1])
@pytest.mark.parametrize("names", CHUNKS, ids=lambda names: names[0])
def test_jaxlib_reads_what_is_printed_as_the_same_module(names: list[str], turn: int) -> None:
    """In one turn every second program is printed in the generic form, in the other turn the others are."""
    for number, name in enumerate(names):
        if '"check.' in TEXTS[name]:
            continue  # jaxlib lacks that dialect, and reads its operations in the generic form only.
        try:
            wanted = _as_jaxlib_reads(TEXTS[name])
        except ValueError:
            continue  # Operations that only we have, or forms of another version of StableHLO.
        module = parse_module(TEXTS[name], name, make_context())
        generic = (number + turn) % 2 == 1
        printed = print_module(module, spelling="stablehlo", generic=generic)
        assert _as_jaxlib_reads(printed) == wanted, (name, generic)


MUTATIONS = 2
"""Broken copies of each of about 390 programs in one turn."""


@pytest.mark.long(5)
@pytest.mark.sample(7)
@pytest.mark.parametrize("turn", range(4))
@pytest.mark.parametrize("names", CHUNKS, ids=lambda names: names[0])
def test_broken_programs_are_refused(names: list[str], turn: int) -> None:
    """A broken copy may still be a valid program, which prints; there is never another exception."""
    for name in names:
        numbers = random.Random(f"{name} {turn}")
        for _ in range(MUTATIONS):
            text = broken(numbers, TEXTS[name])
            try:
                print_module(parse_module(text, name, make_context()))
            except DiagnosticError:
                pass
            except Exception as error:
                error.add_note(f"{name}:\n{text}")
                raise
