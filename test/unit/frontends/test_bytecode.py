"""MLIR's bytecode: written, read back, read by upstream's code, and refused where it is damaged."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conformance
import xhlo
from xhlo.frontends.bytecode.encoding import BytecodeError, Cursor, UnknownEncodingError, varint
from xhlo.frontends.bytecode.reading import text_of
from xhlo.frontends.bytecode.writing import write_bytecode
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.pipeline import run_passes

PROGRAM = """
func.func @main(%x: tensor<4x6xf32> {jax.arg_info = "x\\22"}) -> (tensor<4xf32>, tensor<4x6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %big = stablehlo.constant dense<"0x000102030405060708090A0B0C0D0E0F10111213141516170001020304050607"> : tensor<8xi32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32> loc(callsite("inner"("f.py":3:7) at fused<"m">["g.py":1:2, "h"]))
  %i = stablehlo.constant dense<0> : tensor<i32>
  %loop:2 = stablehlo.while(%k = %i, %y = %x) : tensor<i32>, tensor<4x6xf32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %go = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %k, %one : tensor<i32>
      %new = stablehlo.exponential %y : tensor<4x6xf32>
      stablehlo.return %next, %new : tensor<i32>, tensor<4x6xf32>
    }
  return %sum, %loop#1 : tensor<4xf32>, tensor<4x6xf32>
}
"""

BRANCHES = """
llvm.func @f(%c: i1, %x: i32) -> i32 {
  llvm.cond_br %c, ^left(%x : i32), ^right
^right:
  %two = llvm.mlir.constant(2 : i32) : i32
  llvm.br ^left(%two : i32)
^left(%v: i32):
  llvm.return %v : i32
}
"""


def _same(first: Any, second: Any) -> None:
    assert first.is_structurally_equivalent(second)
    locations = [[str(op.location) for op in module.walk()] for module in (first, second)]
    assert locations[0] == locations[1]


def _round_trip(text: str, **options: Any) -> None:
    module = parse_module(text)
    _same(module, parse_module(text_of(write_bytecode(module, **options))))


@pytest.fixture(scope="module")
def mlir() -> Any:
    """MLIR's Python bindings, with a context that knows StableHLO."""
    ir = pytest.importorskip("jaxlib.mlir.ir")
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, stablehlo

    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.allow_unregistered_dialects = True
    chlo.register_dialect(context)
    stablehlo.register_dialect(context)
    context.module = lambda source: ir.Module.parse(source, context)
    return context


def test_numbers() -> None:
    for value in (0, 1, 127, 128, 2**14 - 1, 2**14, 2**35, 2**49 + 5, 2**56 - 1, 2**56, 2**64 - 1):
        data = varint(value)
        cursor = Cursor(data + b"rest")
        assert (cursor.varint(), cursor.left) == (value, 4)
    assert [len(varint(1 << bits)) for bits in (0, 6, 7, 55, 56, 63)] == [1, 1, 2, 8, 9, 9]


@pytest.mark.parametrize("text", [PROGRAM, BRANCHES, "module {}", "module @named attributes {a.b = 1 : i32} {}"])
def test_round_trip(text: str) -> None:
    _round_trip(text)
    _round_trip(text, spelling="stablehlo")


def test_levels_of_the_pipeline() -> None:
    module = parse_module(PROGRAM)
    for specs in (CPU.passes_to("linalg", fuse=True), CPU.passes_between("linalg", "llvm")):
        run_passes(make_context(), module, specs)
        again = parse_module(text_of(write_bytecode(module)))
        assert print_module(again, generic=True).count("\n") == print_module(module, generic=True).count("\n")
        assert [op.name for op in again.walk()] == [op.name for op in module.walk()]


@pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)
def test_conformance_programs(mlir: Any) -> None:
    programs = conformance.stablehlo_programs()
    for program in programs[::40]:
        module = parse_module(conformance.stablehlo_text(program.name))
        data = write_bytecode(module, "stablehlo")
        _same(module, parse_module(text_of(data)))
        if "quant" not in program.name:
            # `!quant` is no dialect of jaxlib's.
            assert str(mlir.module(data)) == str(mlir.module(print_module(module, spelling="stablehlo")))


def test_upstream_reads_what_is_written(mlir: Any) -> None:
    module = parse_module(PROGRAM)
    text = print_module(module, spelling="stablehlo", locations=True)
    expected = mlir.module(text).operation.get_asm(enable_debug_info=True)
    assert mlir.module(write_bytecode(module, "stablehlo")).operation.get_asm(enable_debug_info=True) == expected
    branches = str(mlir.module(write_bytecode(parse_module(BRANCHES))))
    assert "llvm.cond_br %arg0, ^bb2(%arg1 : i32), ^bb1" in branches


def test_every_door_reads_what_upstream_writes(mlir: Any, run_hlo_opt: Any) -> None:
    from jaxlib.mlir.dialects import stablehlo

    module = mlir.module(PROGRAM)
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    artifact = stablehlo.serialize_portable_artifact(module, "1.0.0")
    x = np.linspace(-1, 0, 24, dtype=np.float32).reshape(4, 6)
    for data in (written.getvalue(), artifact, write_bytecode(parse_module(PROGRAM))):
        done = run_hlo_opt(data)
        assert (done.status, done.err) == (0, "")
        assert "hlo.while" in done.out
        np.testing.assert_allclose(xhlo.compile(data)(x)[0], x.sum(1), rtol=1e-6)
    with pytest.raises(UnknownEncodingError, match="the dialect vhlo's own"):
        text_of(artifact)


def test_the_tool_writes_a_file(run_hlo_opt: Any, tmp_path: Path) -> None:
    out = tmp_path / "out.mlirbc"
    done = run_hlo_opt(PROGRAM, "--fuse", "--emit-bytecode", "-o", str(out))
    assert (done.status, done.err) == (0, "")
    fused = run_hlo_opt(out.read_bytes())
    assert "hlo.fusion" in fused.out
    assert run_hlo_opt(PROGRAM + "// -----\n" + BRANCHES, "--split-input-file", "--emit=bytecode").status == 1


def test_damaged_bytes_are_refused() -> None:
    data = write_bytecode(parse_module(PROGRAM))
    chance = random.Random(7)
    outcomes = {"read": 0, "refused": 0}
    damaged = [data[:size] for size in range(4, len(data), 9)]
    for _ in range(400):
        copy = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            copy[chance.randrange(4, len(copy))] = chance.choice((0, 1, 0xFF, chance.randrange(256)))
        damaged.append(bytes(copy))
    for each in damaged:
        try:
            parse_module(text_of(each))
        except (BytecodeError, UnknownEncodingError, DiagnosticError) as error:
            assert str(error)
            outcomes["refused"] += 1
        else:
            outcomes["read"] += 1
    assert outcomes["refused"] > 300


def test_repetition_is_bounded() -> None:
    """Dictionaries of dictionaries stand for a text that doubles with each."""
    head = b"ML\xefR" + varint(4) + b"x\0"
    name = varint(2) + varint(0)
    entries = [name, *(varint(1) + varint(2) + (varint(0) + varint(number)) * 2 for number in range(40))]
    offsets = varint(len(entries)) + varint(0) + varint(0) + varint(len(entries))
    offsets += b"".join(varint(len(entry) << 1 | 1) for entry in entries)
    sections = {
        0: varint(1) + varint(8) + b"builtin\0",
        1: varint(1) + varint(0) + varint(0),
        2: b"".join(entries),
        3: offsets,
        4: varint(0),
    }
    data = head + b"".join(bytes([kind]) + varint(len(part)) + part for kind, part in sections.items())
    with pytest.raises(BytecodeError, match="too long for the size of its bytecode"):
        text_of(data)


def test_locations_within_attributes() -> None:
    within = '[{at = loc("f.py":3:7)}, loc(unknown), [loc(callsite("g" at fused<{in = loc("h.py":1:2)}>["i"]))]]'
    _round_trip(f'module attributes {{test.here = loc("a.py":1:2), test.list = {within}}} {{}}')


def test_attributes_kept_by_their_alias_are_refused() -> None:
    nested = "".join(f"!t{level + 1} = tuple<!t{level}, !t{level}>\n" for level in range(20))
    text = f"!t0 = tuple<i32, i32>\n{nested}func.func private @f(!t20)\n"
    with pytest.raises(DiagnosticError, match="kept by its alias"):
        write_bytecode(parse_module(text))
