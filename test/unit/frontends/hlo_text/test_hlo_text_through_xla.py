"""Programs that we write as HLO text, on XLA:CPU and read again: a few of those in hlo_text_conformance.py."""

from __future__ import annotations

import pytest

import conformance
from hlo_text_conformance import STAGES, cases, outcomes

pytestmark = pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)

NAMES = ("jax/cf_cond_switch", "stablehlo/cos_complex64_20_20", "tf_hlo/gather_scatter.before")


def test_written_programs() -> None:
    """One test for both stages: what takes longest is to import JAX and to start XLA."""
    pytest.importorskip("jax")
    programs = cases()
    for stage in STAGES:
        for name in NAMES:
            found = outcomes(programs[name](), stage)
            assert list(found) == ["written", "accepted", "read back", "run", "same results"]
            assert not any(found.values()), (stage, name, found)
