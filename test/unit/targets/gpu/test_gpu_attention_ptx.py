"""Attention as machine code: no kernel spills registers on any generation of chips that has asynchronous copies."""

from __future__ import annotations

import re

import pytest

from attention_programs import BFLOAT, HALF, Attention, AttentionGradient
from test_gpu_contractions_ptx import ptx_of
from xhlo.lowering.device.chips import get_chip
from xhlo.targets.nvptx.assembler import MISSING, assemble, assemblers

PROGRAMS = {
    "bf16, causal": Attention(4, 32, 4096, 4096, 128, 128, dtype=BFLOAT, causal=True),
    "f16, narrow": Attention(4, 32, 4096, 4096, 64, 64, dtype=HALF),
    "f32": Attention(4, 32, 4096, 4096, 128, 128),
    "gradients, bf16": AttentionGradient(4, 32, 4096, 128, BFLOAT),
}


@pytest.mark.long
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "chip"),
    [("bf16, causal", "sm_80"), ("bf16, causal", "sm_100"), ("f32", "sm_90"), ("gradients, bf16", "sm_90")],
)
def test_no_kernel_spills(name: str, chip: str) -> None:
    ptx = ptx_of(PROGRAMS[name], chip)
    if next(assemblers(), None) is None:
        pytest.skip(f"the PTX is made but not assembled: {MISSING}")
    kernels = assemble(ptx, get_chip(chip)).kernels
    assert kernels and not [kernel.name for kernel in kernels if kernel.spills]


def test_scores_stay_in_registers() -> None:
    """Weights are multiplied as they are: no local memory, and no shared memory between the two products."""
    ptx = ptx_of(PROGRAMS["f16, narrow"], "sm_90")
    # Three passes compute a tile of 64 keys from 64 columns: 4 x 8 products. The last one multiplies 4 x 8 more.
    assert ptx.count("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") == 4 * 32
    assert ".local" not in ptx
    assert re.search(r"cp\.async\.cg\.shared\.global .*, 16;", ptx) and re.search(r"cp\.async\.wait_group\s+1;", ptx)
    assert "st.global.v2.b32" in ptx
