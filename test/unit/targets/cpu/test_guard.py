"""Guard mode: broken kernels are named, whatever they access; sound programs run as they do without it."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

import xhlo
from checkout import SUPPORT
from xhlo.dialects.cpu import GuardOp
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu import host
from xhlo.targets.cpu.executable import CpuExecutable
from xhlo.targets.cpu.guard import memory as memory_of_runs
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.executable import Executable
from xhlo.targets.program.guard import GuardError
from xhlo.targets.program.lowering import Lowering
from xhlo.tools import hlo_run

EXP = """
func.func @main(%x: tensor<300xf32>) -> tensor<300xf32> {
  %0 = stablehlo.exponential %x : tensor<300xf32>
  return %0 : tensor<300xf32>
}"""

Breaker = Callable[[ModuleOp], None]


def kernel_ops(module: ModuleOp) -> list[Operation]:
    """The operations of all functions but the entry."""
    functions = [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.sym_name.data != "main"]
    return [op for function in functions for op in function.walk()]


def index_constants(number: int, new: int) -> Breaker:
    """Replace an index in kernels: a bound, or the start of loops."""

    def change(module: ModuleOp) -> None:
        found = [op for op in kernel_ops(module) if isinstance(op, arith.ConstantOp) and op.result.type == IndexType()]
        chosen = [op for op in found if op.value.value.data == number]  # pyright: ignore
        assert chosen
        for op in chosen:
            op.properties["value"] = IntegerAttr(new, IndexType())

    return change


def no_clamps(module: ModuleOp) -> None:
    """Indices go through as they come."""
    found = [op for op in kernel_ops(module) if isinstance(op, (arith.MaxSIOp, arith.MinSIOp))]
    assert found
    for op in found:
        op.results[0].replace_all_uses_with(op.operands[0])


def broken(text: str, change: Breaker, fuse: bool = True, guard: str = "end") -> Executable:
    """A program whose loops are changed before they become machine code."""
    ctx = make_context()
    lowering = Lowering(ctx, parse_module(text, "broken.mlir", ctx), CPU, guard=guard, fuse=fuse)
    lowering.to("loops")
    change(lowering.module)
    return CPU.build(lowering, str)


def failure(executable: Executable, *inputs: Any) -> str:
    with pytest.raises(GuardError) as caught:
        executable(*inputs)
    return str(caught.value)


@pytest.mark.parametrize("bound", [301, 303, 320, 2300, 300 + (1 << 20)])
def test_reads_past_the_end(bound: int) -> None:
    message = failure(broken(EXP, index_constants(300, bound)), np.ones(300, np.float32))
    found = re.fullmatch(
        r"broken.mlir:3:8: error: 'hlo.exponential' op reads outside of operand 0, tensor<300xf32>, of kernel "
        r"@loop_fusion_0: at byte (\d+) of 1200",
        message,
    )
    assert found is not None
    # A long loop reads several vectors at once, in any order.
    assert 1200 <= int(found[1]) < (1200 + 64 if bound > 1 << 20 else 1201)


@pytest.mark.parametrize("vector_bits", [512, 256, 128])
def test_passes_with_options_are_guarded(vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "host_vector_bits", lambda: vector_bits)
    message = failure(broken(EXP, index_constants(300, 301)), np.ones(300, np.float32))
    assert message.endswith("at byte 1200 of 1200")


def test_reads_before_the_start() -> None:
    executable = broken(EXP, index_constants(0, -5), guard="start")
    assert failure(executable, np.ones(300, np.float32)).endswith(
        "operand 0, tensor<300xf32>, of kernel @loop_fusion_0: at byte -20 of 1200"
    )


def test_the_error_notes_the_call() -> None:
    with pytest.raises(GuardError) as caught:
        broken(EXP, index_constants(300, 301))(np.ones(300, np.float32))
    (note,) = caught.value.diagnostics[0].notes
    assert note.message == "kernel @loop_fusion_0 is called here"


IOTA = """
func.func @main() -> tensor<300xf32> {
  %0 = stablehlo.iota dim = 0 : tensor<300xf32>
  %1 = stablehlo.negate %0 : tensor<300xf32>
  return %1 : tensor<300xf32>
}"""


@pytest.mark.parametrize(
    ("bound", "guard", "byte"),
    [
        (301, "end", 1200),  # In the gap.
        (301, "start", 1200),  # In the slack after the buffer.
        (2000, "start", 4096),  # In both, and that in the gap is found first.
    ],
)
def test_writes_past_the_end_of_a_buffer_of_the_arena(bound: int, guard: str, byte: int) -> None:
    executable = broken(IOTA, first_function(index_constants(300, bound)), fuse=False, guard=guard)
    message = failure(executable)
    assert message.startswith("broken.mlir:3:8: error: 'hlo.iota' op writes outside of result 0, tensor<300xf32>, of")
    assert message.endswith(f"at byte {byte} of 1200")


def test_writes_before_the_start_of_a_buffer_of_the_arena() -> None:
    """They are in the slack before the buffer."""
    message = failure(broken(IOTA, first_function(index_constants(0, -3)), fuse=False))
    assert "'hlo.iota' op writes outside of result 0" in message and message.endswith("at byte -12 of 1200")


def first_function(change: Breaker) -> Breaker:
    """Apply a change to the first kernel alone."""

    def apply(module: ModuleOp) -> None:
        others = [op for op in module.body.block.ops if isinstance(op, FuncOp)][2:]
        for op in others:
            op.detach()
        change(module)
        module.body.block.add_ops(others)

    return apply


def test_writes_past_the_end_of_a_result() -> None:
    executable = broken(IOTA, index_constants(300, 301))
    assert "writes outside of result 0, tensor<300xf32>, of kernel @loop_fusion_0: at byte 1200" in failure(executable)


SLICE = """
func.func @main(%x: tensor<8x128xf32>, %i: tensor<i64>) -> tensor<1x128xf32> {
  %z = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.dynamic_slice %x, %i, %z, sizes = [1, 128]
    : (tensor<8x128xf32>, tensor<i64>, tensor<i64>) -> tensor<1x128xf32>
  return %0 : tensor<1x128xf32>
}"""


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (8, "reads outside of operand 0, tensor<8x128xf32>, of kernel @loop_fusion_0: at byte 4... of 4096"),
        (-1, "reads outside of operand 0, tensor<8x128xf32>, of kernel @loop_fusion_0: at byte -[0-9]+ of 4096"),
        (-(1 << 30), "accesses memory in kernel @loop_fusion_0 that is far from every buffer"),
    ],
)
def test_an_index_without_its_clamp(index: int, expected: str) -> None:
    executable = broken(SLICE, no_clamps)
    x = np.arange(1024, dtype=np.float32).reshape(8, 128)
    np.testing.assert_array_equal(executable(x, np.int64(7)), x[7:])
    message = failure(executable, x, np.int64(index))
    assert re.fullmatch(f"broken.mlir:4:8: error: 'hlo.dynamic_slice' op {expected}", message)
    np.testing.assert_array_equal(executable(x, np.int64(3)), x[3:4])  # Nothing of the failure is left.


def test_an_address_that_no_page_can_have_ends_the_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"import sys; sys.path[:0] = {[str(Path(__file__).parent), str(SUPPORT)]!r}\n"
        "import numpy as np, test_guard as t\n"
        "t.broken(t.SLICE, t.no_clamps)(np.zeros((8, 128), np.float32), np.int64(1 << 53))\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 1
    assert run.stderr == (
        "broken.mlir:4:8: error: 'hlo.dynamic_slice' op accesses memory in kernel @loop_fusion_0 that is far from "
        "every buffer\n"
    )


def test_reads_past_the_end_of_a_constant() -> None:
    text = """
    func.func @main(%i: tensor<i64>) -> tensor<2xf32> {
      %x = stablehlo.constant dense<[1.0, 2.0, 3.0, 5.0, 7.0, 9.0, 4.0, 1.5]> : tensor<8xf32>
      %0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<8xf32>, tensor<i64>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    executable = broken(text, no_clamps)
    np.testing.assert_array_equal(executable(np.int64(5)), [9, 4])
    for _ in range(2):
        message = failure(executable, np.int64(7))
        assert "'hlo.dynamic_slice' op reads outside of" in message and "at byte 32 of 32" in message


def test_writes_to_an_operand_that_is_only_read() -> None:
    def change(module: ModuleOp) -> None:
        (load,) = (op for op in kernel_ops(module) if isinstance(op, memref.LoadOp))
        (store,) = (op for op in kernel_ops(module) if isinstance(op, memref.StoreOp))
        store.operands[1] = load.memref

    message = failure(broken(EXP, change), np.ones(300, np.float32))
    assert "writes operand 0, tensor<300xf32>, of kernel @loop_fusion_0, which may only be read: at byte 0" in message


def test_use_of_a_buffer_after_its_planned_life() -> None:
    def change(module: ModuleOp) -> None:
        events = {op.event.data: op for op in module.walk() if isinstance(op, GuardOp)}
        events["end"].detach()
        block = events["begin"].parent
        assert block is not None
        block.insert_op_after(events["end"], events["begin"])

    message = failure(broken(IOTA, change, fuse=False))
    assert "op uses result 0, tensor<300xf32>, of kernel @loop_fusion_0 outside of the time for which" in message


def test_kernels_on_several_threads() -> None:
    size = 1 << 20
    executable = broken(EXP.replace("300", str(size)), index_constants(size, size + 64))
    message = failure(executable, np.ones(size, np.float32))
    assert "outside of operand 0" in message and "at byte 4194304" in message


HOISTED = """
func.func @main(%x: tensor<300000xf32>, %n: tensor<i32>) -> (tensor<300000xf32>, tensor<300000xf32>) {
  %zero = hlo.constant dense<0> : tensor<i32>
  %0:3 = hlo.while(%i = %zero, %a = %x, %b = %x) : tensor<i32>, tensor<300000xf32>, tensor<300000xf32> cond {
    %more = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %more : tensor<i1>
  } do {
    %one = hlo.constant dense<1> : tensor<i32>
    %next = hlo.add %i, %one : tensor<i32>
    %c = hlo.negate %x : tensor<300000xf32>
    %r = hlo.reverse %a, dims = [0] : tensor<300000xf32>
    %d = hlo.add %b, %r : tensor<300000xf32>
    hlo.return %next, %c, %d : tensor<i32>, tensor<300000xf32>, tensor<300000xf32>
  }
  return %0#1, %0#2 : tensor<300000xf32>, tensor<300000xf32>
}"""


@pytest.mark.parametrize("guard", ["start", "end"])
def test_copies_by_threads(guard: Literal["start", "end"]) -> None:
    """A loop that copies a buffer of the arena on several threads accesses that buffer, not the arena's first one."""
    x = np.arange(300000, dtype=np.float32)
    negative, total = xhlo.compile(HOISTED, guard=guard).compute([x, np.asarray(3, np.int32)], None)
    np.testing.assert_array_equal(negative, -x)
    np.testing.assert_array_equal(total, x - x[::-1])


LOOP = """
func.func @main(%x: tensor<300xf32>) -> tensor<300xf32> {
  %n = stablehlo.constant dense<1000000.0> : tensor<f32>
  %0 = stablehlo.while(%a = %x) : tensor<300xf32> cond {
    %1 = stablehlo.slice %a [7:8] : (tensor<300xf32>) -> tensor<1xf32>
    %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>
    %3 = stablehlo.compare LT, %2, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  } do {
    %4 = stablehlo.add %a, %a : tensor<300xf32>
    stablehlo.return %4 : tensor<300xf32>
  }
  return %0 : tensor<300xf32>
}"""


def test_a_loop_stops_at_the_failure() -> None:
    """It would never end without the kernel's result, nor with the values that a failure leaves."""

    def change(module: ModuleOp) -> None:
        index_constants(300, 301)(module)
        for op in kernel_ops(module):
            if isinstance(op, arith.AddfOp):
                op.results[0].replace_all_uses_with(op.operands[0])

    assert "'hlo.add' op" in failure(broken(LOOP, change), np.ones(300, np.float32))


@pytest.mark.parametrize("text", [EXP, LOOP])
@pytest.mark.parametrize("target", ["cpu", "simt"])
def test_sound_programs(text: str, target: str) -> None:
    x = np.linspace(1, 2, 300, dtype=np.float32)
    before = x.copy()
    np.testing.assert_array_equal(xhlo.compile(text, target, guard=True)(x), xhlo.compile(text, target)(x))
    np.testing.assert_array_equal(x, before)


def test_empty_arrays() -> None:
    text = """
    func.func @main(%x: tensor<0x4xf32>) -> (tensor<0x4xf32>, tensor<4xf32>) {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.exponential %x : tensor<0x4xf32>
      %1 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
        : (tensor<0x4xf32>, tensor<f32>) -> tensor<4xf32>
      return %0, %1 : tensor<0x4xf32>, tensor<4xf32>
    }"""
    empty, zeros = xhlo.compile(text, guard=True)(np.zeros((0, 4), np.float32))
    assert empty.shape == (0, 4) and not zeros.any()


def test_profiles_count_calls() -> None:
    executable = xhlo.compile(EXP, guard=True, profile=True)
    for _ in range(3):
        executable(np.ones(300, np.float32))
    assert [kernel.calls for kernel in executable.kernels] == [3]


def test_calls_of_the_host_program() -> None:
    """A function may run another guarded program, and its exception is that of the run."""
    inner = xhlo.compile(EXP, guard=True)

    @xhlo.custom_call("test_guard.nested")
    def nested(call: xhlo.CustomCall, x: np.ndarray) -> np.ndarray:
        if x[0] < 0:
            raise ArithmeticError("negative")
        return inner(x)

    text = """
    func.func @main(%x: tensor<300xf32>) -> tensor<300xf32> {
      %0 = stablehlo.custom_call @test_guard.nested(%x) {api_version = 4 : i32} : (tensor<300xf32>) -> tensor<300xf32>
      %1 = stablehlo.negate %0 : tensor<300xf32>
      return %1 : tensor<300xf32>
    }"""
    executable = xhlo.compile(text, guard=True)
    np.testing.assert_allclose(executable(np.zeros(300, np.float32)), -np.ones(300))
    with pytest.raises(xhlo.CustomCallError, match="negative"):
        executable(np.full(300, -1, np.float32))


def test_runs_at_once() -> None:
    """Each run has its own failure."""
    executable, good = broken(SLICE, no_clamps), xhlo.compile(LOOP, guard=True)
    x = np.ones((8, 128), np.float32)
    found: list[object] = []

    def call(number: int) -> None:
        for _ in range(20):
            good(np.ones(300, np.float32))
            try:
                executable(x, np.int64(number))
                found.append(number < 8)
            except GuardError:
                found.append(number >= 8)

    threads = [threading.Thread(target=call, args=(number,)) for number in (3, 8, 5, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 80


def test_memory_goes_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a collection of cycles, after a failure too."""
    gone: list[int] = []
    monkeypatch.setattr(memory_of_runs, "unmap", lambda address, size: gone.append(size))  # pyright: ignore
    executable, x = broken(SLICE, no_clamps), np.ones((8, 128), np.float32)
    gc.disable()
    try:
        executable(x, np.int64(7))
        assert len(gone) == 2  # Arguments with results, and the arena.
        try:
            executable(x, np.int64(8))
        except GuardError as error:
            gone.append(len(str(error)))
        assert len(gone) == 5
    finally:
        gc.enable()


def test_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = xhlo.compile(EXP)
    monkeypatch.setenv("XHLO_GUARD", "1")
    guarded = xhlo.compile(EXP)
    assert plain.facts.guard is None and guarded.facts.guard is not None
    assert isinstance(guarded, CpuExecutable) and not guarded.runs_alone
    assert xhlo.compile(EXP, guard=False) is plain
    with pytest.raises(ValueError, match="not serialized"):
        guarded.serialize()
    with pytest.raises(xhlo.DiagnosticError, match="guard mode is for the targets cpu and simt"):
        xhlo.compile(EXP, target="gpu")


def test_hlo_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    build = type(CPU).build

    def spoil(self: Any, lowering: Lowering, text_at: Callable[[str], str]) -> Executable:
        lowering.to("loops")
        index_constants(300, 301)(lowering.module)
        return build(self, lowering, text_at)

    monkeypatch.setattr(type(CPU), "build", spoil)
    file = tmp_path / "spoilt.mlir"
    file.write_text(EXP + "\n// hlo-run --guard\n")
    assert hlo_run.main(["--guard", str(file)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith(
        "spoilt.mlir:3:8: error: 'stablehlo.exponential' op reads outside of operand 0, tensor<300xf32>, of kernel "
        "@loop_fusion_0: at byte 1200 of 1200"
    )
    assert lines[1] == "  %0 = stablehlo.exponential %x : tensor<300xf32>"
