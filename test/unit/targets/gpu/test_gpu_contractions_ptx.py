"""
Contractions as machine code: every kind of kernel assembles for every generation of chips, and spills no registers.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from test_gpu_contractions import Dot
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.device.chips import get_chip
from xhlo.passes.manager.pipelines import FRONT, FUSE
from xhlo.targets.nvptx.assembler import MISSING, assemble, assemblers
from xhlo.targets.nvptx.emission import emit_ptx
from xhlo.targets.nvptx.target import nvptx
from xhlo.targets.program.pipeline import run_passes

PRODUCTS = {
    "f32": Dot(4096, 4096, 4096),
    "f32 of uneven sizes": Dot(4097, 4095, 1021),
    "f64": Dot(1024, 1024, 1024, "f64"),
    "matrix and vector": Dot(4096, 1, 4096),
    "bf16": Dot(8192, 8192, 8192, "bf16"),
    "bf16, both transposed": Dot(8192, 8192, 8192, "bf16", transposed=(True, True)),
    "bf16, few tiles": Dot(128, 256, 4096, "bf16"),
    "bf16, 2048": Dot(1024, 2048, 1024, "bf16", transposed=(False, True)),
    "f16, unaligned rows": Dot(2047, 1023, 511, "f16", transposed=(False, True)),
    "f16, rows aligned to 4 bytes": Dot(4094, 4094, 2046, "f16"),
    "i8": Dot(4096, 4096, 4096, "i8", "i32", transposed=(False, True)),
    "tf32": Dot(4096, 4096, 4096, tf32=True, transposed=(False, True)),
}


@cache
def ptx_of(program: Any, chip: str) -> str:
    """`program`: has a `text`, as `Dot`."""
    target = nvptx(chip)
    module = parse_module(program.text(), "test.mlir", ctx := make_context())
    specs = (*map(target.tune, (*FRONT, *FUSE)), *target.passes_between(None, target.last_stage))
    run_passes(ctx, module, specs)
    return emit_ptx(module, get_chip(chip), get_chip(chip).ptx)


SOME = ("f32", "bf16", "f16, unaligned rows")
"""The cases for chips that differ little from others."""


@pytest.mark.long(15)
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "chip"),
    [(name, "sm_90") for name in PRODUCTS] + [(name, chip) for name in SOME for chip in ("sm_75", "sm_80", "sm_100")],
)
def test_no_kernel_spills(name: str, chip: str) -> None:
    ptx = ptx_of(PRODUCTS[name], chip)
    if next(assemblers(), None) is None:
        pytest.skip(f"the PTX is made but not assembled: {MISSING}")
    kernels = assemble(ptx, get_chip(chip)).kernels
    assert kernels and not [kernel.name for kernel in kernels if kernel.spills]


def test_the_large_product_is_a_pipeline_of_tensor_cores() -> None:
    """Copies of 16 bytes that bypass L1, four 8 x 8 fragments per load, 128 products per iteration."""
    ptx = ptx_of(PRODUCTS["bf16"], "sm_90")
    assert ptx.count("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") == 128
    assert re.search(r"cp\.async\.cg\.shared\.global .*, 16;", ptx) and re.search(r"cp\.async\.wait_group\s+1;", ptx)
    assert "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16" in ptx
    assert ".extern .shared" in ptx, "three stages are more than a block has without asking for it"
    assert "st.global.v4.b32" in ptx


def test_f32_reads_and_multiplies_in_vectors() -> None:
    ptx = ptx_of(PRODUCTS["f32"], "sm_90")
    assert ptx.count("fma.rn.f32") == 512, "8 products of 64 sums"
    assert ptx.count("ld.shared.v4.b32") >= 32
    assert "ld.global.nc.v4.b32" in ptx and "st.global.v4.b32" in ptx
    assert ".minnctapersm 2" in ptx
