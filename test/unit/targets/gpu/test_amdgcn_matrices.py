"""Products of matrices on AMD's matrix cores: MFMA and WMMA, interpreted and assembled."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from simt_programs import run_on_simt
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.device.amd_chips import AMD_CHIPS
from xhlo.targets.amdgcn.emission import emit_assembly
from xhlo.targets.amdgcn.target import AMDGCN
from xhlo.targets.program.pipeline import run_passes

DTYPES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "i8": np.int8}
INSTRUCTIONS = {
    "gfx90a": {
        "f16": "v_mfma_f32_16x16x16f16",
        "bf16": "v_mfma_f32_16x16x16bf16_1k",
        "f32": "v_mfma_f32_16x16x4f32",
        "i8": "v_mfma_i32_16x16x16i8",
    },
    "gfx942": {
        "f16": "v_mfma_f32_16x16x16_f16",
        "bf16": "v_mfma_f32_16x16x16_bf16",
        "f32": "v_mfma_f32_16x16x4_f32",
        "i8": "v_mfma_i32_16x16x32_i8",
    },
    "gfx1100": {
        "f16": "v_wmma_f32_16x16x16_f16",
        "bf16": "v_wmma_f32_16x16x16_bf16",
        "i8": "v_wmma_i32_16x16x16_iu8",
    },
}
CASES = [(chip, element) for chip, found in INSTRUCTIONS.items() for element in found]

# The numbers of the contracting dimensions: rows of the tiles run along k, or against it.
FORMS = {"rows": (1, 0), "columns": (0, 0), "transposed": (1, 1)}


def product(element: str, m: int, n: int, k: int, dims: tuple[int, int] = (1, 0)) -> str:
    total = "i32" if element == "i8" else "f32"
    left, right = ((m, k) if dims[0] else (k, m)), ((n, k) if dims[1] else (k, n))
    a, b = (f"tensor<{rows}x{columns}x{element}>" for rows, columns in (left, right))
    return f"""
func.func @main(%a: {a}, %b: {b}) -> tensor<{m}x{n}x{total}> {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [{dims[0]}] x [{dims[1]}] : ({a}, {b}) -> tensor<{m}x{n}x{total}>
  return %0 : tensor<{m}x{n}x{total}>
}}"""


def factors(element: str, m: int, n: int, k: int, dims: tuple[int, int] = (1, 0)) -> list[Any]:
    rng = np.random.default_rng(1)
    shapes = ((m, k) if dims[0] else (k, m)), ((n, k) if dims[1] else (k, n))
    numbers = [rng.integers(-100, 100, shape) for shape in shapes]
    return [(each if element == "i8" else each / 64).astype(DTYPES[element]) for each in numbers]


def lowered(text: str, chip: str) -> ModuleOp:
    ctx = make_context()
    module = parse_module(text, "test.mlir", ctx)
    target = AMDGCN.configured({"chip": chip})
    for passes in (target.front, target.fusion(True), target.passes_between(None, "llvm")):
        run_passes(ctx, module, passes, verify=True)
    return module


@pytest.mark.long(5)
@pytest.mark.sample(2)
@pytest.mark.parametrize(("chip", "element"), CASES)
def test_products_take_the_instruction_and_agree(chip: str, element: str) -> None:
    for number, dims in enumerate(FORMS.values()):
        if number and element != "f16":
            continue
        arrays = factors(element, 70, 40, 72, dims)
        (found,) = run_on_simt(product(element, 70, 40, 72, dims), arrays, chip=chip)
        wide = np.int64 if element == "i8" else np.float64
        a, b = (x.astype(wide) for x in arrays)
        expected = (a if dims[0] else a.T) @ (b.T if dims[1] else b)
        np.testing.assert_allclose(found.astype(wide), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.long(4)
@pytest.mark.sample(2)
@pytest.mark.parametrize(("chip", "element"), CASES)
def test_products_assemble_to_the_instruction(chip: str, element: str) -> None:
    text = emit_assembly(lowered(product(element, 64, 64, 64), chip), AMD_CHIPS[chip])
    assert re.search(rf"\b{INSTRUCTIONS[chip][element]}\b", text)
