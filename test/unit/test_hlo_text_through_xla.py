"""What we write as HLO text, on XLA:CPU and read again: a few programs of those that hlo_text_conformance.py runs all of."""

from __future__ import annotations

import pytest

import conformance
from hlo_text_conformance import STAGES, cases, outcomes

pytestmark = pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)

NAMES = ("jax/cf_cond_switch", "stablehlo/cos_complex64_20_20", "tf_hlo/gather_scatter.before")


@pytest.mark.parametrize("stage", STAGES)
def test_a_written_program(stage: str) -> None:
    pytest.importorskip("jax")
    programs = cases()
    for name in NAMES:
        found = outcomes(programs[name](), stage)
        assert list(found) == ["written", "accepted", "read back", "run", "same results"]
        assert not any(found.values()), (name, found)
