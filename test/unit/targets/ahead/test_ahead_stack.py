"""The stack of programs compiled ahead of time: what the header states, beside what runs take."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ahead_machines import WARNINGS, run
from xhlo.targets.ahead.library import compile_ahead
from xhlo.targets.ahead.machine import Machine
from xhlo.targets.ahead.scalable_frames import WIDEST, UnknownFrame, scalable_bytes
from xhlo.targets.ahead.stack import StackError, stack_bytes

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")

MEASURE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include "model.h"

enum { PAINT = 0x5a, MARGIN = 65536 };

static MODEL_ALIGNED unsigned char arena[MODEL_ARENA_BYTES + MODEL_ARENA_ALIGNMENT];
static float x[MODEL_X_ELEMENTS], y[MODEL_RESULT0_ELEMENTS];
static int code;

static unsigned char *stack;
static size_t taken;

/* Paints the stack below this frame, runs, and looks how far the paint is gone. */
static void *once(void *unused)
{
    const model_args args = { x };
    const model_results results = { y };
    unsigned char here = 0;
    unsigned char *volatile top = &here;
    size_t below = (size_t)(top - stack) - 512, n;
    for (n = 0; n < below; n++) stack[n] = PAINT;
    code = model_run(&args, &results, arena);
    for (n = 0; n < below && stack[n] == PAINT; n++) {}
    taken = n < below ? below + 512 - n : 0;
    return unused;
}

int main(void)
{
    const size_t size = (MODEL_STACK_BYTES + MARGIN + 4095) / 4096 * 4096;
    pthread_attr_t attributes;
    pthread_t thread;
    stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED) return 90;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, stack, size)) return 91;
    if (pthread_create(&thread, &attributes, once, NULL) || pthread_join(thread, NULL)) return 92;
    printf("%d %lu %lu\n", code, (unsigned long)taken, (unsigned long)MODEL_STACK_BYTES);
    return 0;
}
"""

PROGRAMS = {
    "softmax": """
func.func @main(%x: tensor<6x1000xf32>) -> tensor<6x1000xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<6x1000xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<6x1000xf32>, tensor<f32>) -> tensor<6xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<6xf32>) -> tensor<6x1000xf32>
  %0 = stablehlo.divide %e, %b : tensor<6x1000xf32>
  return %0 : tensor<6x1000xf32>
}""",
    "product": """
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.dot %x, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}""",
    "sort": """
func.func @main(%x: tensor<4x500xf32>) -> tensor<4x500xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4x500xf32>) -> tensor<4x500xf32>
  return %0 : tensor<4x500xf32>
}""",
}


@pytest.mark.long(3)
@needs_gcc
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_takes_no_more_stack_than_the_header_states(name: str, tmp_path: Path) -> None:
    library = compile_ahead(PROGRAMS[name], cpu="host")
    library.write(tmp_path)
    source = MEASURE.replace("MODEL_ALIGNED", "__attribute__((aligned(64)))")
    (tmp_path / "measure.c").write_text(source)
    # The dynamic linker's lazy binding saves all registers on the stack.
    flags = ("-std=c11", "-O1", "-Wl,-z,now")
    run(tmp_path, "gcc", *flags, *WARNINGS, "measure.c", "libmodel.a", "-lm", "-lpthread", "-o", "measure")
    code, taken, stated = map(int, run(tmp_path, "./measure").split())
    # The frame of the caller, and what libm and libc take, count here too.
    assert code == 0 and taken <= stated + 1024, (taken, stated)
    assert stated <= 2 * taken + 2048, "a bound that is far from what runs take"


TEXT = """
define internal void @inner(ptr %p) nounwind {
  %a = alloca [1000 x i32], align 64
  call void @outside(ptr %a, ptr %p)
  ret void
}
define void @outer(ptr %p) nounwind {
  %a = alloca [500 x i32], align 4
  call void @outside(ptr %a, ptr @inner)
  ret void
}
declare void @outside(ptr, ptr) nounwind
attributes #0 = { nounwind }
"""


@pytest.mark.long(3)
@pytest.mark.parametrize("triple", ["x86_64-linux-gnu", "armv7-linux-gnueabihf", "s390x-linux-gnu", "wasm32"])
def test_the_deepest_chain_counts_with_functions_whose_address_is_taken(triple: str) -> None:
    text = TEXT.replace(") nounwind {", ") #0 {")
    machine = Machine.named(triple)
    outer, inner = stack_bytes(machine.header + text, machine, ["outer", "inner"])
    assert inner >= 4000 and outer >= 2000 + inner and outer < 8000
    with pytest.raises(StackError, match="calls itself"):
        stack_bytes(machine.header + text.replace("ptr %a, ptr %p", "ptr %a, ptr @outer"), machine, ["outer"])


def test_an_argument_may_be_called_stack() -> None:
    text = "func.func @main(%stack: tensor<3xf32>) -> tensor<3xf32> {return %stack : tensor<3xf32>}"
    header = compile_ahead(text, threads="callback").header
    assert "#define MODEL_STACK_BYTES" in header and "#define MODEL_STACK__BYTES 12u" in header


RISCV = """
f:                                      # @f
	addi	sp, sp, -48
	csrr	a3, vlenb
	li	a4, 5
	mul	a3, a3, a4
	sub	sp, sp, a3
.LBB0_1:
	lui	a0, 2
	sub	sp, sp, a0
	ret
g:
	csrr	t0, vlenb
	slli	t1, t0, 1
	add	t0, t0, t1
	sub	sp, sp, t0
h:
	sub	sp, sp, a3
"""
SVE = """
f:                                      // @f
	sub	sp, sp, #64
	addvl	sp, sp, #-3
	addpl	sp, sp, #-1	// for a predicate
	addvl	x8, sp, #2
	addvl	sp, sp, #3
"""


def test_spilled_vectors_of_any_length_count() -> None:
    assert scalable_bytes(RISCV) == {"f": 5 * WIDEST, "g": 3 * WIDEST}
    assert scalable_bytes(SVE) == {"f": 3 * WIDEST + WIDEST // 8}
    with pytest.raises(UnknownFrame):
        scalable_bytes(RISCV.replace("mul", "mulh"))
    lengths = {
        cpu: Machine.named(f"{cpu.partition(' ')[0]}-linux-gnu", cpu.partition(" ")[2] or None).any_length
        for cpu in ("riscv64", "riscv64 generic-rv64+v", "aarch64", "aarch64 generic+sve", "x86_64 x86-64-v4")
    }
    assert [cpu for cpu, found in lengths.items() if found] == ["riscv64 generic-rv64+v", "aarch64 generic+sve"]


def test_the_header_says_for_which_vectors_the_stack_is() -> None:
    header = compile_ahead(PROGRAMS["sort"], triple="riscv64-linux-gnu", cpu="generic-rv64+v").header
    assert "for CPUs whose vectors have 2048 bits at most" in header
