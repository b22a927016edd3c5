"""Products with constant factors: the compiler packs them, the results have the bits of factors that are arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from xdsl.dialects import func, memref

import xhlo
from xhlo.dialects.support.kernel import kernels_of
from xhlo.hlo_dialect.dialect import make_context
from xhlo.passes.manager.pipelines import FRONT, FUSE, LOWER_LINALG
from xhlo.targets.program.pipeline import parse_source, run_passes
from xhlo.targets.program.source import read_source

Types = Sequence[str]
DTYPES = {"f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32}


def values(type_: str, seed: int) -> np.ndarray:
    *shape, element = type_.split("x")
    rng = np.random.default_rng(seed)
    sizes = tuple(map(int, shape))
    if element.startswith("f"):
        return rng.standard_normal(sizes).astype(DTYPES[element])
    return rng.integers(-100, 100, sizes).astype(DTYPES[element])


def program(body: str, given: Types, constants: Types, result: str, inside: bool) -> str:
    """@main of `body`, whose %c0, %c1, .. are constants, or arguments unless `inside`."""
    parameters = [f"%a{i}: tensor<{type_}>" for i, type_ in enumerate(given)]
    head: list[str] = []
    for i, type_ in enumerate(constants):
        if inside:
            data = values(type_, 100 + i).tobytes().hex().upper()
            head.append(f'  %c{i} = stablehlo.constant dense<"0x{data}"> : tensor<{type_}>')
        else:
            parameters.append(f"%c{i}: tensor<{type_}>")
    lines = "\n".join([*head, body.rstrip()])
    return f"func.func @main({', '.join(parameters)}) -> tensor<{result}> {{\n{lines}\n}}\n"


def dot(left: str, right: str, result: str, at: str = "[1] x [0]", batch: str = "") -> str:
    return f"""
  %r = stablehlo.dot_general {left}, {right},{batch} contracting_dims = {at} : {result}
  return %r : {result.rpartition("-> ")[2]}"""


CASES: Mapping[str, tuple[str, Types, Types, str]] = {
    "rows by columns, with edges": (
        dot("%a0", "%c0", "(tensor<100x70xf32>, tensor<70x130xf32>) -> tensor<100x130xf32>"),
        ["100x70xf32"],
        ["70x130xf32"],
        "100x130xf32",
    ),
    "few rows": (
        dot("%a0", "%c0", "(tensor<5x64xf64>, tensor<64x96xf64>) -> tensor<5x96xf64>"),
        ["5x64xf64"],
        ["64x96xf64"],
        "5x96xf64",
    ),
    "a transposed constant on the left": (
        dot("%c0", "%a0", "(tensor<64x90xf32>, tensor<64x80xf32>) -> tensor<90x80xf32>", "[0] x [0]"),
        ["64x80xf32"],
        ["64x90xf32"],
        "90x80xf32",
    ),
    "a batch": (
        dot(
            "%a0",
            "%c0",
            "(tensor<3x40x32xf32>, tensor<3x48x32xf32>) -> tensor<3x40x48xf32>",
            "[2] x [2]",
            " batching_dims = [0] x [0],",
        ),
        ["3x40x32xf32"],
        ["3x48x32xf32"],
        "3x40x48xf32",
    ),
    "bytes": (
        dot("%a0", "%c0", "(tensor<40x50xi8>, tensor<50x60xi8>) -> tensor<40x60xi32>"),
        ["40x50xi8"],
        ["50x60xi8"],
        "40x60xi32",
    ),
    "bytes on the left": (
        dot("%c0", "%a0", "(tensor<40x50xi8>, tensor<50x60xi8>) -> tensor<40x60xi32>"),
        ["50x60xi8"],
        ["40x50xi8"],
        "40x60xi32",
    ),
    "a convolution": (
        """
  %r = stablehlo.convolution(%a0, %c0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x14x14x16xf32>, tensor<3x3x16x24xf32>) -> tensor<2x14x14x24xf32>
  return %r : tensor<2x14x14x24xf32>""",
        ["2x14x14x16xf32"],
        ["3x3x16x24xf32"],
        "2x14x14x24xf32",
    ),
    "layers that share a kernel": (
        """
  %0 = stablehlo.dot_general %a0, %c0, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.tanh %0 : tensor<64x64xf32>
  %2 = stablehlo.dot_general %1, %c1, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = stablehlo.tanh %2 : tensor<64x64xf32>
  %4 = stablehlo.dot_general %3, %c0, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = stablehlo.tanh %4 : tensor<64x64xf32>
  return %5 : tensor<64x64xf32>""",
        ["64x64xf32"],
        ["64x64xf32", "64x64xf32"],
        "64x64xf32",
    ),
    "read in other ways too": (
        """
  %0 = stablehlo.dot_general %a0, %c0, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.dot_general %0, %c0, contracting_dims = [1] x [1] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.add %1, %c0 : tensor<64x64xf32>
  return %2 : tensor<64x64xf32>""",
        ["64x64xf32"],
        ["64x64xf32"],
        "64x64xf32",
    ),
}


@pytest.mark.long(4)
@pytest.mark.parametrize("name", CASES)
def test_results_have_the_same_bits(name: str) -> None:
    body, given, constants, result = CASES[name]
    arguments = [values(type_, i) for i, type_ in enumerate(given)]
    factors = [values(type_, 100 + i) for i, type_ in enumerate(constants)]
    packed = xhlo.compile(program(body, given, constants, result, inside=True))
    plain = xhlo.compile(program(body, given, constants, result, inside=False))
    np.testing.assert_array_equal(np.asarray(packed(*arguments)), np.asarray(plain(*arguments, *factors)))


def lowered(text: str) -> tuple[list[memref.GlobalOp], list[func.FuncOp]]:
    """The constants and kernels after the products were lowered."""
    ctx = make_context()
    module = parse_source(read_source(text), ctx)
    specs = (*FRONT, *FUSE, *LOWER_LINALG, "bufferize", "convert-contractions-to-vector")
    run_passes(ctx, module, specs)
    found = [op for op in module.body.block.ops if isinstance(op, memref.GlobalOp)]
    return found, list(kernels_of(module))


def test_panels_take_the_place_of_constants() -> None:
    constants, kernels = lowered(program(*CASES["layers that share a kernel"], inside=True))
    assert len(constants) == 2 and all("_panels_" in op.sym_name.data for op in constants)
    assert len(kernels) == 1 and len(kernels[0].body.block.args) == 3
    assert not any("_pack" in op.sym_name.data for op in kernels)


def test_constants_that_others_read_stay() -> None:
    constants, _ = lowered(program(*CASES["read in other ways too"], inside=True))
    names = [op.sym_name.data for op in constants]
    assert len(names) == 3 and sum("_panels_" in name for name in names) == 2


def test_constants_without_elements() -> None:
    constants, _ = lowered("""
func.func @main(%x: tensor<64x64xf32>, %y: tensor<0xf32>) -> (tensor<64x64xf32>, tensor<0xf32>) {
  %e = stablehlo.constant dense<> : tensor<0xf32>
  %s = stablehlo.constant dense<2.0> : tensor<64x64xf32>
  %r = stablehlo.dot_general %x, %s, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r, %e : tensor<64x64xf32>, tensor<0xf32>
}""")
    assert not any("_panels_" in op.sym_name.data for op in constants)


def test_narrow_floats_stay_as_they_are() -> None:
    """Their panels would take twice the memory."""
    data = "803F" * 2 + "0040" * (64 * 64 - 2)
    constants, _ = lowered(f"""
func.func @main(%x: tensor<64x64xbf16>) -> tensor<64x64xf32> {{
  %w = stablehlo.constant dense<"0x{data}"> : tensor<64x64xbf16>
  %r = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}}""")
    assert [op.sym_name.data for op in constants if "_panels_" in op.sym_name.data] == []
