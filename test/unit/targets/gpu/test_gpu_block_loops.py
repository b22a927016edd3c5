"""Recurrences as one kernel, with the loop inside: results, launches, PTX, and loops that stay in the host program."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from conformance import difference
from emulated_gpu import run_emulated
from simt_programs import check_on_simt, gpu_level
from test_gpu_reductions import ptx_of
from xhlo.dialects.gpu.functions import GpuFuncOp, GpuLaunchFuncOp
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.lowering.device.chips import get_chip
from xhlo.targets.nvptx.assembler import assemble, assemblers


def loop(steps: int, state: dict[str, str], body: str, *, reverse: bool = False) -> str:
    """A loop over steps: `state` has the type and the start of each carried value, `body` yields the next ones."""
    names = list(state)
    types = ["i32", *(kind for kind, _ in map(str.split, state.values()))]
    starts = ["%i = %first", *(f"%{name} = {state[name].split()[1]}" for name in names)]
    last, test, by = (0, "GE", "-1") if reverse else (steps, "LT", "1")
    return f"""
  %first = stablehlo.constant dense<{steps - 1 if reverse else 0}> : tensor<i32>
  %all:{len(types)} = stablehlo.while({", ".join(starts)}) : {", ".join(f"tensor<{each}>" for each in types)}
  cond {{
    %last = stablehlo.constant dense<{last}> : tensor<i32>
    %goes = stablehlo.compare {test}, %i, %last, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %goes : tensor<i1>
  }} do {{
    %z = stablehlo.constant dense<0> : tensor<i32>
    %by = stablehlo.constant dense<{by}> : tensor<i32>
    %next = stablehlo.add %i, %by : tensor<i32>{body}
    stablehlo.return %next, {", ".join(f"%{name}_next" for name in names)} : {
        ", ".join(f"tensor<{each}>" for each in types)
    }
  }}"""


def step_input(steps: int, batch: int, size: int, e: str) -> str:
    return f"""
    %slice = stablehlo.dynamic_slice %xs, %i, %z, %z, sizes = [1, {batch}, {size}]
        : (tensor<{steps}x{batch}x{size}x{e}>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x{batch}x{size}x{e}>
    %x = stablehlo.reshape %slice : (tensor<1x{batch}x{size}x{e}>) -> tensor<{batch}x{size}x{e}>"""


def stacked(steps: int, batch: int, size: int, e: str) -> str:
    return f"""
    %row = stablehlo.reshape %h_next : (tensor<{batch}x{size}x{e}>) -> tensor<1x{batch}x{size}x{e}>
    %ys_next = stablehlo.dynamic_update_slice %ys, %row, %i, %z, %z
        : (tensor<{steps}x{batch}x{size}x{e}>, tensor<1x{batch}x{size}x{e}>, tensor<i32>, tensor<i32>, tensor<i32>)
        -> tensor<{steps}x{batch}x{size}x{e}>"""


def lstm(steps: int, batch: int, inputs: int, units: int, e: str = "f32", reverse: bool = False) -> str:
    state, gates, stack = f"{batch}x{units}x{e}", f"{batch}x{4 * units}x{e}", f"{steps}x{batch}x{units}x{e}"
    parts = "".join(
        f"""
    %{name} = stablehlo.slice %sum [0:{batch}, {n * units}:{(n + 1) * units}] : (tensor<{gates}>) -> tensor<{state}>
    %{name}_on = stablehlo.{function} %{name} : tensor<{state}>"""
        for n, (name, function) in enumerate(zip("afgo", ("logistic", "logistic", "tanh", "logistic"), strict=True))
    )
    body = f"""{step_input(steps, batch, inputs, e)}
    %xw = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<{batch}x{inputs}x{e}>, tensor<{inputs}x{4 * units}x{e}>) -> tensor<{gates}>
    %hu = stablehlo.dot_general %h, %u, contracting_dims = [1] x [0]
        : (tensor<{state}>, tensor<{units}x{4 * units}x{e}>) -> tensor<{gates}>
    %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<{4 * units}x{e}>) -> tensor<{gates}>
    %both = stablehlo.add %xw, %hu : tensor<{gates}>
    %sum = stablehlo.add %both, %bias : tensor<{gates}>{parts}
    %kept = stablehlo.multiply %f_on, %c : tensor<{state}>
    %new = stablehlo.multiply %a_on, %g_on : tensor<{state}>
    %c_next = stablehlo.add %kept, %new : tensor<{state}>
    %shown = stablehlo.tanh %c_next : tensor<{state}>
    %h_next = stablehlo.multiply %o_on, %shown : tensor<{state}>{stacked(steps, batch, units, e)}"""
    carried = {"h": f"{state} %h0", "c": f"{state} %c0", "ys": f"{stack} %none"}
    return f"""
func.func @main(%xs: tensor<{steps}x{batch}x{inputs}x{e}>, %w: tensor<{inputs}x{4 * units}x{e}>,
    %u: tensor<{units}x{4 * units}x{e}>, %b: tensor<{4 * units}x{e}>, %h0: tensor<{state}>, %c0: tensor<{state}>)
    -> (tensor<{stack}>, tensor<{state}>, tensor<{state}>) {{
  %none = stablehlo.constant dense<0.0> : tensor<{stack}>{loop(steps, carried, body, reverse=reverse)}
  return %all#3, %all#1, %all#2 : tensor<{stack}>, tensor<{state}>, tensor<{state}>
}}"""


def normalized(steps: int, batch: int, units: int) -> str:
    """A recurrence with sums over a row, whose weights lie as `h @ w.T` reads them."""
    state, row = f"{batch}x{units}xf32", f"{batch}xf32"
    body = f"""{step_input(steps, batch, units, "f32")}
    %hw = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1]
        : (tensor<{state}>, tensor<{units}x{units}xf32>) -> tensor<{state}>
    %sum = stablehlo.add %x, %hw : tensor<{state}>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %square = stablehlo.multiply %sum, %sum : tensor<{state}>
    %length = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<{state}>, tensor<f32>) -> tensor<{row}>
    %root = stablehlo.rsqrt %length : tensor<{row}>
    %roots = stablehlo.broadcast_in_dim %root, dims = [0] : (tensor<{row}>) -> tensor<{state}>
    %h_next = stablehlo.multiply %sum, %roots : tensor<{state}>"""
    return f"""
func.func @main(%xs: tensor<{steps}x{batch}x{units}xf32>, %w: tensor<{units}x{units}xf32>, %h0: tensor<{state}>)
    -> tensor<{state}> {{{loop(steps, {"h": f"{state} %h0"}, body)}
  return %all#1 : tensor<{state}>
}}"""


def covariance(steps: int, size: int) -> str:
    """A recurrence of small matrices, one product after the other."""
    matrix = f"{size}x{size}xf32"
    body = f"""
    %fp = stablehlo.dot_general %f, %p, contracting_dims = [1] x [0]
        : (tensor<{matrix}>, tensor<{matrix}>) -> tensor<{matrix}>
    %fpf = stablehlo.dot_general %fp, %f, contracting_dims = [1] x [1]
        : (tensor<{matrix}>, tensor<{matrix}>) -> tensor<{matrix}>
    %p_next = stablehlo.add %fpf, %q : tensor<{matrix}>"""
    return f"""
func.func @main(%f: tensor<{matrix}>, %q: tensor<{matrix}>, %p0: tensor<{matrix}>) -> tensor<{matrix}> {{{
        loop(steps, {"p": f"{matrix} %p0"}, body)
    }
  return %all#1 : tensor<{matrix}>
}}"""


def repeated(steps: int, batch: int, units: int) -> str:
    """A loop in each step of another one."""
    state = f"{batch}x{units}xf32"
    inner = f"""
    %hw = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0]
        : (tensor<{state}>, tensor<{units}x{units}xf32>) -> tensor<{state}>
    %h_next = stablehlo.tanh %hw : tensor<{state}>"""
    renamed = re.sub(r"%(first|all|i|last|goes|z|by|next)\b", r"%inner_\1", loop(4, {"h": f"{state} %g"}, inner))
    body = f"""{renamed}
    %g_next = stablehlo.add %inner_all#1, %h0 : tensor<{state}>"""
    return f"""
func.func @main(%w: tensor<{units}x{units}xf32>, %h0: tensor<{state}>) -> tensor<{state}> {{{
        loop(steps, {"g": f"{state} %h0"}, body)
    }
  return %all#1 : tensor<{state}>
}}"""


def twice(steps: int, units: int) -> str:
    """The same recurrence from two starts."""
    state = f"{units}xf32"
    body = f"""
    %hw = stablehlo.dot_general %h, %w, contracting_dims = [0] x [0]
        : (tensor<{state}>, tensor<{units}x{units}xf32>) -> tensor<{state}>
    %h_next = stablehlo.tanh %hw : tensor<{state}>"""
    again = loop(steps, {"h": f"{state} %h1"}, body)
    again = re.sub(r"%(first|all|i|last|goes|z|by|next)\b", r"%again_\1", again)
    return f"""
func.func @main(%w: tensor<{units}x{units}xf32>, %h0: tensor<{state}>, %h1: tensor<{state}>)
    -> (tensor<{state}>, tensor<{state}>) {{{loop(steps, {"h": f"{state} %h0"}, body)}{again}
  return %all#1, %again_all#1 : tensor<{state}>, tensor<{state}>
}}"""


def arguments(text: str) -> list[Any]:
    """Small numbers for the entry."""
    rng, kinds = np.random.default_rng(0), {"f32": np.float32, "bf16": ml_dtypes.bfloat16}
    function: Any = parse_module(text, "test.mlir", make_context()).body.block.first_op
    found: list[Any] = []
    for argument in function.body.block.args:
        shape: tuple[int, ...] = argument.type.get_shape()
        found.append((rng.standard_normal(shape) * 0.3).astype(kinds[str(argument.type.element_type)]))
    return found


def launches(text: str, chip: str = "sm_90") -> tuple[int, int]:
    """The launches of a program whose loops are all in kernels, and the blocks of the last one."""
    module, _ = gpu_level(text, chip=chip)
    calls = [op for op in module.walk() if isinstance(op, GpuLaunchFuncOp)]
    assert not any(op.name == "scf.while" for op in module.walk() if _is_on_host(op)), "the loop is in a kernel"
    (*_, function) = (op for op in module.walk() if isinstance(op, GpuFuncOp))
    return len(calls), function.properties["known_grid_size"].get_values()[0]  # pyright: ignore


def _is_on_host(op: Any) -> bool:
    while op is not None and not isinstance(op, GpuFuncOp):
        op = op.parent_op()
    return op is None


RECURRENCES = {
    "lstm": (lstm(40, 1, 9, 20), 1),
    "lstm of many units": (lstm(20, 1, 6, 100), 1),
    "batch": (lstm(20, 32, 16, 24), 32),
    "odd batch": (lstm(20, 7, 5, 9), 7),
    "reverse": (lstm(20, 3, 8, 8, reverse=True), 3),
    "bf16": (lstm(20, 2, 16, 16, "bf16"), 2),
    "sums over rows": (normalized(20, 1, 40), 1),
    "sums over rows of a batch": (normalized(20, 5, 40), 5),
    "loop in a loop": (repeated(16, 17, 8), 1),
    "small matrices": (covariance(20, 6), 1),
}
"""Programs, and the blocks of their loop."""


@pytest.mark.long(10)
@pytest.mark.parametrize("name", RECURRENCES)
def test_a_recurrence_is_one_kernel(name: str) -> None:
    text, blocks = RECURRENCES[name]
    count, grid = launches(text)
    # A launch may fill what the steps write, or compute a product of all of them.
    assert count <= 3 and grid == blocks
    check_on_simt(text, arguments(text), rtol=2e-2 if "bf16" in name else None)


@pytest.mark.long(3)
@pytest.mark.parametrize("chip", ["sm_75", "gfx942", "gfx1100"])
def test_other_chips_run_the_same_kernel(chip: str) -> None:
    text = lstm(20, 3, 8, 12)
    assert launches(text, chip)[1] == 3
    check_on_simt(text, arguments(text), chip=chip)


@pytest.mark.long(4)
@pytest.mark.parametrize("chip", ["sm_90", "gfx942"])
@pytest.mark.parametrize("text", [lstm(12, 2, 8, 12), normalized(12, 1, 40)], ids=["lstm", "lanes"])
def test_the_llvm_ir_computes_the_same(text: str, chip: str) -> None:
    inputs = arguments(text)
    want = evaluate(parse_module(text, "test.mlir", make_context()), inputs)
    for got, expected in zip(run_emulated(text, inputs, chip=chip), want, strict=True):
        assert difference(got, np.asarray(expected), 1e-4, False) is None


@pytest.mark.long
def test_the_whole_recurrence_is_one_entry_without_a_stack() -> None:
    ptx = ptx_of(lstm(50, 1, 40, 100), "sm_90")
    assert ptx.count(".visible .entry") == 1
    assert ".local" not in ptx and "ld.shared" in ptx and "bar" in ptx
    if next(assemblers(), None) is not None:
        assert not any(resources.stack for resources in assemble(ptx, get_chip("sm_90")).kernels)


def test_large_steps_stay_launches() -> None:
    text = lstm(20, 1, 1024, 1024)
    module, _ = gpu_level(text)
    assert any(op.name == "scf.while" for op in module.walk() if _is_on_host(op))


@pytest.mark.long
def test_blocks_run_tiles_in_each_step_of_a_loop() -> None:
    text = repeated(2, 64, 80)
    module, _ = gpu_level(text)
    assert sum(op.name == "scf.while" for op in module.walk() if _is_on_host(op)) == 1
    grids = [op.properties["known_grid_size"].get_values()[0] for op in module.walk() if isinstance(op, GpuFuncOp)]  # pyright: ignore
    assert 64 in grids
    check_on_simt(text, arguments(text))


def test_equal_loops_are_one_kernel() -> None:
    text = twice(20, 12)
    module, _ = gpu_level(text)
    loops = [op for op in module.walk() if isinstance(op, GpuFuncOp) and any(x.name == "scf.while" for x in op.walk())]
    assert len(loops) == 1
    check_on_simt(text, arguments(text))
