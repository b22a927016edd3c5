"""Functions that programs share: a compilation that knows one leaves out its body, and writes the same code."""

from __future__ import annotations

import numpy as np

import xhlo
from counting import calls
from xhlo.dialects.cpu import SHARED
from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.convert_contractions_to_vector.shared_function import KnownFunctions, knowing
from xhlo.passes.manager.pipelines import FUSE, LOWER_LINALG
from xhlo.targets.cpu.executable import CpuExecutable
from xhlo.targets.cpu.target import CPU
from xhlo.targets.llvm_text.module import Units, emit_units
from xhlo.targets.program.lowering import Lowering
from xhlo.targets.program.pipeline import parse_source, run_passes
from xhlo.targets.program.source import Source

Texts = dict[str, tuple[str, str]]


def products(*sizes: tuple[int, int, int]) -> str:
    """A program of matrix products, m by k by n."""
    arguments = ", ".join(
        f"%a{i}: tensor<{m}x{k}xf32>, %b{i}: tensor<{k}x{n}xf32>" for i, (m, k, n) in enumerate(sizes)
    )
    lines = [
        f"  %r{i} = hlo.dot_general %a{i}, %b{i}, contracting_dims = [1] x [0]"
        f" : (tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) -> tensor<{m}x{n}xf32>"
        for i, (m, k, n) in enumerate(sizes)
    ]
    types = ", ".join(f"tensor<{m}x{n}xf32>" for m, _, n in sizes)
    names = ", ".join(f"%r{i}" for i in range(len(sizes)))
    body = "\n".join(lines)
    return f"func.func @main({arguments}) -> ({types}) {{\n{body}\n  return {names} : {types}\n}}"


def lowered(text: str, texts: Texts | None) -> tuple[Units, int]:
    """The units of a program, and the number of shared functions whose bodies were made."""
    ctx = make_context()
    lowering = Lowering(ctx, parse_source(Source(text, "<test>"), ctx), CPU)
    assert lowering.is_plain
    known = None if texts is None else KnownFunctions(texts.get)
    with knowing(known):
        lowering.to_the_end()
    shared = [op for op in lowering.module.body.block.ops if SHARED in op.attributes]
    units = emit_units(lowering.module, known={} if known is None else known.found)
    if texts is not None and known is not None:
        texts.update(known.found)
    return units, sum(bool(op.regions[0].blocks) for op in shared)


def test_the_code_is_the_same_whatever_is_known() -> None:
    texts: Texts = {}
    program = products((64, 64, 64), (65, 300, 70), (64, 64, 64))
    plain, bodies = lowered(program, None)
    first, made = lowered(program, texts)
    again, none = lowered(program, texts)
    assert plain == first == again
    assert bodies >= made > 0 == none
    assert set(plain.shared) <= {symbol for symbol, _ in texts.values()}


def test_what_is_known_is_not_lowered_again() -> None:
    texts: Texts = {}
    program = products((64, 64, 64))
    lowered(program, None)
    first = calls(lambda: lowered(program, texts))
    assert calls(lambda: lowered(program, texts)) < 0.6 * first


def test_functions_differ_where_their_facts_do() -> None:
    texts: Texts = {}
    lowered(products((64, 64, 64)), texts)
    few = len(texts)
    # The last panel is not full, in rows or in columns.
    uneven, _ = lowered(products((61, 64, 64), (64, 64, 61)), texts)
    assert len(texts) > few
    assert uneven == lowered(products((61, 64, 64), (64, 64, 61)), None)[0]


def test_a_product_alone_is_no_loop_of_kernels() -> None:
    executable = xhlo.compile(products((48, 64, 48)))
    assert isinstance(executable, CpuExecutable)
    assert not executable.facts.loops and executable.runs_alone
    a, b = np.eye(48, 64, dtype=np.float32), np.ones((64, 48), np.float32)
    np.testing.assert_array_equal(executable(a, b), a @ b)


def bufferizing(count: int) -> int:
    """The functions called to bufferize a loop that carries `count` values."""
    type_ = "tensor<8xf32>"
    types = ", ".join(["tensor<i32>", *[type_] * count])
    starts = ", ".join(f"%s{i} = %x{i}" for i in range(count))
    body = "\n".join(f"    %n{i} = hlo.add %s{i}, %s{(i + 1) % count} : {type_}" for i in range(count))
    text = (
        f"func.func @main(%c: tensor<i32>, {', '.join(f'%x{i}: {type_}' for i in range(count))}) -> {type_} {{\n"
        f"  %r:{count + 1} = hlo.while(%i = %c, {starts}) : {types}\n   cond {{\n"
        "    %l = hlo.constant dense<10> : tensor<i32>\n"
        "    %p = hlo.compare LT, %i, %l : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    hlo.return %p : tensor<i1>\n"
        "   } do {\n    %one = hlo.constant dense<1> : tensor<i32>\n    %j = hlo.add %i, %one : tensor<i32>\n"
        f"{body}\n    hlo.return %j, {', '.join(f'%n{i}' for i in range(count))} : {types}\n   }}\n"
        f"  return %r#1 : {type_}\n}}"
    )
    ctx = make_context()
    module = parse_source(Source(text, "<test>"), ctx)
    run_passes(ctx, module, (*FUSE, *LOWER_LINALG))
    return calls(lambda: run_passes(ctx, module, ("bufferize{in-place=true donate=true}",)))


def test_bufferize_is_linear_in_the_values_of_a_loop() -> None:
    bufferizing(4)
    assert bufferizing(48) < 2.6 * bufferizing(24)
