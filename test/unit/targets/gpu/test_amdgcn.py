"""AMD GPUs: programs on the interpreter with waves of 32 and 64, their LLVM IR, machine code for three chips."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from conformance import difference
from emulated_gpu import run_emulated
from hlo_programs import Program
from simt_programs import check_on_simt
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.lowering.device.amd_chips import AMD_CHIPS
from xhlo.targets.amdgcn import linking
from xhlo.targets.amdgcn.emission import emit_assembly, emit_object
from xhlo.targets.amdgcn.executable import HipExecutable
from xhlo.targets.amdgcn.target import AMDGCN
from xhlo.targets.program.pipeline import run_passes
from xhlo.targets.program.target import TargetOptionError
from xhlo.targets.registry import get_target

WAVES = {"gfx90a": 64, "gfx1100": 32}
RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


SOFTMAX = """
func.func @main(%x: tensor<12x200xf32>) -> tensor<12x200xf32> {
  %lowest = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %m = hlo.reduce(%x init: %lowest) applies hlo.maximum across dimensions = [1] : (tensor<12x200xf32>, tensor<f32>) -> tensor<12xf32>
  %b = hlo.broadcast_in_dim %m, dims = [0] : (tensor<12xf32>) -> tensor<12x200xf32>
  %d = hlo.subtract %x, %b : tensor<12x200xf32>
  %e = hlo.exponential %d : tensor<12x200xf32>
  %s = hlo.reduce(%e init: %zero) applies hlo.add across dimensions = [1] : (tensor<12x200xf32>, tensor<f32>) -> tensor<12xf32>
  %t = hlo.broadcast_in_dim %s, dims = [0] : (tensor<12xf32>) -> tensor<12x200xf32>
  %r = hlo.divide %e, %t : tensor<12x200xf32>
  return %r : tensor<12x200xf32>
}
"""

COLUMNS = """
func.func @main(%x: tensor<300x9xf32>, %y: tensor<5x6xf64>) -> (tensor<9xf32>, tensor<5xf64>) {
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %one = hlo.constant dense<1.0> : tensor<f64>
  %s = hlo.reduce(%x init: %zero) applies hlo.add across dimensions = [0] : (tensor<300x9xf32>, tensor<f32>) -> tensor<9xf32>
  %p = hlo.reduce(%y init: %one) applies hlo.multiply across dimensions = [1] : (tensor<5x6xf64>, tensor<f64>) -> tensor<5xf64>
  return %s, %p : tensor<9xf32>, tensor<5xf64>
}
"""

ELEMENTWISE = """
func.func @main(%x: tensor<1000xf32>, %h: tensor<1000xbf16>) -> (tensor<1000xf32>, tensor<1000xbf16>) {
  %t = hlo.tanh %x : tensor<1000xf32>
  %s = hlo.sine %t : tensor<1000xf32>
  %l = hlo.logistic %s : tensor<1000xf32>
  %g = hlo.add %h, %h : tensor<1000xbf16>
  %e = hlo.exponential %g : tensor<1000xbf16>
  return %l, %e : tensor<1000xf32>, tensor<1000xbf16>
}
"""

DOT = """
func.func @main(%a: tensor<40x72xf32>, %b: tensor<72x48xf32>, %c: tensor<48xf32>) -> tensor<40x48xf32> {
  %d = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<40x72xf32>, tensor<72x48xf32>) -> tensor<40x48xf32>
  %e = hlo.broadcast_in_dim %c, dims = [1] : (tensor<48xf32>) -> tensor<40x48xf32>
  %r = hlo.add %d, %e : tensor<40x48xf32>
  return %r : tensor<40x48xf32>
}
"""

HALF_DOT = DOT.replace("f32", "f16")

CONVOLUTION = """
func.func @main(%x: tensor<2x10x10x3xf32>, %w: tensor<3x3x3x8xf32>) -> tensor<2x8x8x8xf32> {
  %0 = hlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x10x10x3xf32>, tensor<3x3x3x8xf32>) -> tensor<2x8x8x8xf32>
  return %0 : tensor<2x8x8x8xf32>
}
"""

SCATTER_AND_SORT = """
func.func @main(%x: tensor<20xf32>, %i: tensor<64x1xi32>, %u: tensor<64xf32>) -> (tensor<20xf32>, tensor<64xf32>) {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<20xf32>, tensor<64x1xi32>, tensor<64xf32>) -> tensor<20xf32>
  %1 = "stablehlo.sort"(%u) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<20xf32>, tensor<64xf32>
}
"""

LOOP_AND_BITS = """
func.func @main(%n: tensor<i32>, %x: tensor<7xf32>, %k: tensor<2xui64>) -> (tensor<7xf32>, tensor<6xui32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<7xf32>
  %i, %r = stablehlo.while(%a = %zero, %b = %x) : tensor<i32>, tensor<7xf32>
    cond {
      %c = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %d = stablehlo.add %a, %one : tensor<i32>
      %e = stablehlo.multiply %b, %half : tensor<7xf32>
      stablehlo.return %d, %e : tensor<i32>, tensor<7xf32>
    }
  %s, %bits = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<6xui32>)
  return %r, %bits : tensor<7xf32>, tensor<6xui32>
}
"""

PROGRAMS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "softmax": (SOFTMAX, (floats(12, 200),)),
    "columns": (COLUMNS, (floats(300, 9), RNG.standard_normal((5, 6)))),
    "elementwise": (ELEMENTWISE, (floats(1000), floats(1000))),
    "dot": (DOT, (floats(40, 72), floats(72, 48), floats(48))),
    "half dot": (HALF_DOT, (floats(40, 72), floats(72, 48), floats(48))),
    "convolution": (CONVOLUTION, (floats(2, 10, 10, 3), floats(3, 3, 3, 8))),
    "scatter and sort": (SCATTER_AND_SORT, (floats(20), RNG.integers(0, 20, (64, 1)), floats(64))),
    "loop and bits": (LOOP_AND_BITS, (5, floats(7), np.array([3, 9]))),
}


def of_types(text: str, inputs: tuple[Any, ...]) -> list[np.ndarray]:
    """The inputs in the types of the program's arguments."""
    return [
        np.asarray(value).astype(type_.dtype)
        for value, type_ in zip(inputs, xhlo.compile(text, "simt").input_types, strict=True)
    ]


@pytest.mark.long(3)
@pytest.mark.spread(2)
@pytest.mark.parametrize("chip", WAVES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_on_the_interpreter(name: str, chip: str) -> None:
    text, inputs = PROGRAMS[name]
    check_on_simt(text, of_types(text, inputs), chip=chip)


@pytest.mark.long(3)
@pytest.mark.spread(2)
@pytest.mark.parametrize("chip", WAVES)
@pytest.mark.parametrize("name", ("softmax", "columns", "elementwise"))
def test_llvm_ir_of_the_kernels(name: str, chip: str) -> None:
    """Shuffles by DPP, swizzle and bpermute, barriers, stacks in an address space of their own."""
    text, inputs = PROGRAMS[name]
    arrays = of_types(text, inputs)
    pairs = zip(run_emulated(text, arrays, chip=chip), Program(text).results(*arrays), strict=True)
    wrong = [message for got, want in pairs if (message := difference(got, np.asarray(want), None, False))]
    assert not wrong


def lowered(text: str, chip: str) -> Any:
    ctx, target = make_context(), AMDGCN.configured({"chip": chip})
    module = parse_module(text, "<text>", ctx)
    run_passes(ctx, module, target.passes_to("llvm"))
    return module


@pytest.mark.parametrize("chip", AMD_CHIPS)
def test_machine_code(chip: str) -> None:
    module = lowered(SOFTMAX, chip)
    text = emit_assembly(module, AMD_CHIPS[chip])
    assert f'.amdgcn_target "amdgcn-amd-amdhsa--{chip}"' in text
    assert f".wavefront_size: {AMD_CHIPS[chip].wave}" in text
    assert ("s_or_b64 exec" in text) == (AMD_CHIPS[chip].wave == 64)
    assert "v_fma_f32" not in text.split("s_endpgm")[0].split("ds_")[0], "products and sums are not contracted"
    code = emit_object(module, AMD_CHIPS[chip])
    assert code[:4] == b"\x7fELF" and not linking.is_linked(code)
    if linking.find_linker() is not None:
        assert linking.is_linked(linking.linked(code))


SHUFFLES = """
gpu.module @kernels [#rocdl.target<chip = "CHIP">] {
  gpu.func @k(%o: memref<64xi32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %t = gpu.thread_id x
    %x = arith.index_cast %t : index to i32
    %offset = arith.constant OFFSET : i32
    %width = arith.constant WIDTH : i32
    %y, %valid = gpu.shuffle MODE %x, %offset, %width : i32
    %v = arith.extui %valid : i1 to i32
    %c = arith.constant 1000 : i32
    %w = arith.muli %v, %c : i32
    %z = arith.addi %y, %w : i32
    memref.store %z, %o[%t] : memref<64xi32>
    gpu.return
  }
}
"""


@pytest.mark.long(2)
@pytest.mark.parametrize("chip", WAVES)
def test_each_kind_of_shuffle(chip: str) -> None:
    """The LLVM IR of shuffles, by each instruction, against the interpreter."""
    from emulated_gpu import EmulatedKernels
    from xhlo.dialects.gpu.functions import GpuFuncOp
    from xhlo.passes.manager.pipelines import LOWER_ROCDL, LOWER_ROCDL_TO_LLVM
    from xhlo.targets.simt.kernel import run_kernel

    cases = [("xor", bits, WAVES[chip]) for bits in (1, 2, 3, 4, 8, 16, WAVES[chip] // 2)]
    cases += [("xor", 5, 8), ("xor", 9, 8), ("up", 3, 16), ("down", 5, WAVES[chip]), ("idx", 6, 8)]
    functions = []
    for number, (mode, offset, width) in enumerate(cases):
        text = SHUFFLES.replace("MODE", mode).replace("OFFSET", str(offset)).replace("WIDTH", str(width))
        functions.append(text.split("\n", 2)[2].rsplit("}", 1)[0].replace("@k(", f"@k{number}("))
    module = parse_module(
        f'gpu.module @kernels [#rocdl.target<chip = "{chip}">] {{\n' + "\n".join(functions) + "}", "", make_context()
    )
    want = []
    for function in (op for op in module.walk() if isinstance(op, GpuFuncOp)):
        want.append(np.zeros(64, np.int32))
        run_kernel(function, [want[-1]])
    run_passes(make_context(), module, (*LOWER_ROCDL, *LOWER_ROCDL_TO_LLVM))
    kernels = EmulatedKernels(module)
    for number, expected in enumerate(want):
        got = np.zeros(64, np.int32)
        kernels.launch(f"k{number}", (1, 1, 1), (64, 1, 1), [got])
        np.testing.assert_array_equal(got, expected, str(cases[number]))


# The target.


def test_the_chips_of_the_target() -> None:
    assert get_target("amdgcn").machine == "gfx942"
    with pytest.raises(TargetOptionError, match="no chip is named 'sm_90'; there are: gfx90a, gfx942, gfx1100"):
        AMDGCN.configured({"chip": "sm_90"})
    with pytest.raises(TargetOptionError, match="mi300x is gfx942"):
        AMDGCN.configured({"chip": "mi300x"})
    with pytest.raises(TargetOptionError, match="no option 'math'"):
        AMDGCN.configured({"math": "fast"})


def test_code_for_another_chip_is_refused() -> None:
    module = lowered(SOFTMAX, "gfx90a")
    with pytest.raises(DiagnosticError, match="is made for gfx90a, not for gfx942: give --chip=gfx90a"):
        emit_assembly(module, AMD_CHIPS["gfx942"])


def test_no_linker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linking, "find_linker", lambda: None)
    with pytest.raises(DiagnosticError, match="there is no ld.lld on PATH .* XHLO_LLD"):
        linking.linked(b"")
    assert linking.linker_version() == ""
    monkeypatch.undo()
    monkeypatch.setenv("XHLO_LLD", "no-such-linker")
    with pytest.raises(DiagnosticError, match="XHLO_LLD names no-such-linker, which is no program"):
        linking.find_linker()


def test_an_executable_is_kept() -> None:
    executable = xhlo.compile(LOOP_AND_BITS, AMDGCN.configured({"chip": "gfx90a"}))
    again = xhlo.deserialize(executable.serialize())
    assert isinstance(again, HipExecutable)
    assert again.image.chip == "gfx90a"
    assert again.image.host == executable.image.host  # pyright: ignore
    assert linking.is_linked(again.image.cubin) == (linking.find_linker() is not None)
