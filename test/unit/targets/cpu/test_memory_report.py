"""`hlo-run --memory`: the arena, what reuse saves, and who is alive where it is fullest."""

from __future__ import annotations

from typing import Any

T = "tensor<64x64xf32>"
PROGRAM = f"""
func.func @main(%x: {T}) -> {T} {{
  %0 = hlo.dot_general %x, %x, contracting_dims = [1] x [0] : ({T}, {T}) -> {T}
  %1 = hlo.exponential %0 : {T}
  %2 = hlo.dot_general %1, %0, contracting_dims = [1] x [0] : ({T}, {T}) -> {T}
  %3 = hlo.dot_general %2, %2, contracting_dims = [1] x [0] : ({T}, {T}) -> {T}
  return %3 : {T}
}}"""


def test_the_fullest_place(run_hlo_run: Any) -> None:
    done = run_hlo_run(PROGRAM, "--memory", "--compare")
    assert done.status == 0, done.err
    assert "arguments and results 32768 bytes" in done.out
    _, table = done.out.split("arena ")
    head, *alive = table.splitlines()
    sizes = [int(line.split()[0].replace(",", "")) for line in alive]
    assert f"; {sum(sizes)} bytes alive at once, for memref<" in head
    assert sizes == sorted(sizes, reverse=True) and sizes.count(64 * 64 * 4) >= 2
    assert "(input.mlir:5:" in alive[0]


def test_targets_without_an_arena_are_refused(run_hlo_run: Any) -> None:
    done = run_hlo_run(PROGRAM, "--memory", "--target=reference")
    assert done.status == 2 and "--memory is about the target cpu" in done.err
