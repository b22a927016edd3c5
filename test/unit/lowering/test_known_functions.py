"""Functions that programs share: a compilation that knows one leaves out its body, and writes the same code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr

import xhlo
from counting import calls
from xhlo.dialects.cpu import SHARED
from xhlo.dialects.support.buffers import Buffer, buffer_of_text, buffer_text
from xhlo.hlo_dialect.dialect import make_context
from xhlo.lowering.convert_contractions_to_vector.panel_of_a import PanelOfA
from xhlo.lowering.convert_contractions_to_vector.shared_function import KnownFunctions, knowing
from xhlo.passes.manager.pipelines import FUSE, LOWER_LINALG
from xhlo.targets.cache import files
from xhlo.targets.cache.files import write
from xhlo.targets.cpu import build, host, jit, known_code
from xhlo.targets.cpu.executable import CpuExecutable
from xhlo.targets.cpu.target import CPU
from xhlo.targets.cpu.vector_loops import written_out
from xhlo.targets.llvm_text.module import Units, emit_units
from xhlo.targets.program.lowering import Lowering
from xhlo.targets.program.pipeline import parse_source, run_passes
from xhlo.targets.program.source import Source
from xhlo.targets.program.target import Target


class Symbols(dict[str, str]):
    """The facts that compilations leave to later ones: symbols by key, and the scratch buffers of kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.scratch: dict[str, Sequence[Buffer]] = {}


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


def lowered(text: str, symbols: Symbols | None, target: Target = CPU) -> tuple[Units, int]:
    """The units of a program, and the number of shared functions whose bodies were made, without whole kernels."""
    ctx = make_context()
    lowering = Lowering(ctx, parse_source(Source(text, "<test>"), ctx), target)
    assert lowering.is_plain
    kept = Symbols() if symbols is None else symbols
    known = KnownFunctions(kept.get, kept.scratch.__getitem__, target.machine)
    with knowing(known):
        lowering.to_the_end()
    shared = [op for op in lowering.module.body.block.ops if SHARED in op.attributes and op.regions[0].blocks]
    keys = [op.attributes[SHARED] for op in shared]
    units = emit_units(lowering.module, known=known.found)
    kept.update(known.found)
    kept.scratch |= known.scratch
    return units, sum(not isinstance(key, StringAttr) or key.data not in known.scratch for key in keys)


def test_the_code_is_the_same_whatever_is_known() -> None:
    symbols = Symbols()
    program = products((64, 64, 64), (65, 300, 70), (64, 64, 64))
    plain, bodies = lowered(program, None)
    first, made = lowered(program, symbols)
    again, none = lowered(program, symbols)
    assert plain == first
    assert plain.texts == again.texts and not again.shared
    assert bodies >= made > 0 == none
    assert set(plain.shared) == {*symbols.values()}


ARENA = "tensor<300x320xf32>"
BESIDE = f"""func.func @main(%a: {ARENA}, %b: tensor<320x320xf32>, %c: tensor<300x133xf32>) -> (tensor<320x133xf32>, {ARENA}) {{
  %0 = hlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({ARENA}, tensor<320x320xf32>) -> {ARENA}
  %1 = hlo.tanh %0 : {ARENA}
  %2 = hlo.dot_general %1, %c, contracting_dims = [0] x [0] : ({ARENA}, tensor<300x133xf32>) -> tensor<320x133xf32>
  %3 = hlo.dot_general %1, %b, contracting_dims = [1] x [0] : ({ARENA}, tensor<320x320xf32>) -> {ARENA}
  return %2, %3 : tensor<320x133xf32>, {ARENA}
}}"""


def test_whole_kernels_are_found_by_what_they_compute() -> None:
    """In other programs, under other names, with the buffers that they need in the same places of the arena."""
    symbols = Symbols()
    plain, _ = lowered(BESIDE, None)
    lowered(products((300, 320, 320)), symbols)  # the second product of the other program, there with another name
    some, _ = lowered(BESIDE, symbols)
    again, _ = lowered(BESIDE, symbols)
    assert plain.texts == some.texts == again.texts
    assert not again.shared and {*some.shared} < {*plain.shared}
    assert any(symbols.scratch.values())


def test_buffers_as_words() -> None:
    for text in ("f32", "4x8xbf16", "262144xi8", "3xindex"):
        assert buffer_text(buffer_of_text(text)) == text
    for text in ("", "4x", "4xf33", "-1xf32", "?xf32", "4 xf32"):
        with pytest.raises(ValueError, match="is no buffer"):
            buffer_of_text(text)


def test_kernels_that_only_start_others_are_not_optimized() -> None:
    units, _ = lowered(products((256, 256, 256)), None)
    (kernel,) = (text for text in units.shared.values() if "xhlo_parallel_for" in text)
    assert jit.level_of_shared(kernel) == jit.QUICK and kernel.count("\ndefine hidden") == 1
    assert kernel.count("\ndefine internal") > 1 and "dot_0" not in kernel


def test_kernels_differ_where_their_facts_do() -> None:
    """Other element types, and other options of the target."""
    symbols, program = Symbols(), products((64, 64, 64))
    lowered(program, symbols)
    for text, target in ((program.replace("f32", "f64"), CPU), (program, CPU.configured({"math": "fast"}))):
        few = len(symbols.scratch)
        lowered(text, symbols, target)
        assert len(symbols.scratch) == few + 1


TWICE = """func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = stablehlo.dot %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.dot_general %b, %a, contracting_dims = [1] x [0]
    : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
}"""


def test_a_program_may_have_equal_kernels() -> None:
    symbols = Symbols()
    plain, _ = lowered(TWICE, symbols)
    again, _ = lowered(TWICE, symbols)
    assert plain.texts == again.texts and len(symbols.scratch) == 1 and not again.shared


LOOP = """func.func @main(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %n = hlo.constant dense<100> : tensor<i32>
  %zero = hlo.constant dense<0> : tensor<i32>
  %one = hlo.constant dense<1> : tensor<i32>
  %0:2 = hlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<64x64xf32>
  cond {
    %c = hlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    hlo.return %c : tensor<i1>
  } do {
    %y = hlo.dot_general %x, %a, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %j = hlo.add %i, %one : tensor<i32>
    hlo.return %j, %y : tensor<i32>, tensor<64x64xf32>
  }
  return %0#1 : tensor<64x64xf32>
}"""


def test_kernels_in_programs_with_loops_stay_with_them() -> None:
    symbols = Symbols()
    lowered(LOOP, symbols)
    assert symbols and not symbols.scratch


FOURIER = """func.func @main(%x: tensor<ROWSx12xcomplex<f64>>) -> tensor<ROWSx12xcomplex<f64>> {
  %0 = stablehlo.fft %x, type = FFT, length = [12] : (tensor<ROWSx12xcomplex<f64>>) -> tensor<ROWSx12xcomplex<f64>>
  return %0 : tensor<ROWSx12xcomplex<f64>>
}"""
CHOLESKY = """func.func @main(%x: tensor<ROWSx5x5xf32>) -> tensor<ROWSx5x5xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<ROWSx5x5xf32>
  return %0 : tensor<ROWSx5x5xf32>
}"""
LU = """func.func @main(%x: tensor<ROWSx5xf32>) -> (tensor<ROWSx5xf32>, tensor<5xi32>) {
  %0:3 = hlo.custom_call @xhlo.getrf(%x) : (tensor<ROWSx5xf32>) -> (tensor<ROWSx5xf32>, tensor<5xi32>, tensor<i32>)
  return %0#0, %0#1 : tensor<ROWSx5xf32>, tensor<5xi32>
}"""
SOLVE = """func.func @main(%a: tensor<FEWxFEWxf32>, %b: tensor<FEWx2xf32>) -> tensor<FEWx2xf32> {
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false,
    transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<FEWxFEWxf32>, tensor<FEWx2xf32>) -> tensor<FEWx2xf32>
  return %0 : tensor<FEWx2xf32>
}"""


TOP_K = """func.func @main(%x: tensor<2xROWS0xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
  %0:2 = chlo.top_k(%x, k = 3) : tensor<2xROWS0xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xi32>
}"""


SORT = """func.func @main(%x: tensor<2xROWS0xf32>) -> tensor<2xROWS0xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %l = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<2xROWS0xf32>) -> tensor<2xROWS0xf32>
  return %0 : tensor<2xROWS0xf32>
}"""
SORT_PAIRS = """func.func @main(%x: tensor<ROWS0xi16>, %y: tensor<ROWS0xf64>) -> tensor<ROWS0xf64> {
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i16>, %b: tensor<i16>, %c: tensor<f64>, %d: tensor<f64>):
    %l = stablehlo.compare GT, %a, %b : (tensor<i16>, tensor<i16>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<ROWS0xi16>, tensor<ROWS0xf64>) -> (tensor<ROWS0xi16>, tensor<ROWS0xf64>)
  return %0#1 : tensor<ROWS0xf64>
}"""
PROGRAMS = {
    "fourier": FOURIER,
    "cholesky": CHOLESKY,
    "lu": LU,
    "solve": SOLVE,
    "top_k": TOP_K,
    "sort": SORT,
    "sort_pairs": SORT_PAIRS,
}


@pytest.mark.long(3)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_buffers_of_other_sizes_share_functions(program: str) -> None:
    symbols = Symbols()
    sizes = (("64", "2"), ("96", "3"))
    few, many = (program.replace("ROWS", rows).replace("FEW", rank) for rows, rank in sizes)
    _, made = lowered(few, symbols)
    again, none = lowered(many, symbols)
    assert made > 0 == none
    plain, _ = lowered(many, None)
    assert again.texts == plain.texts and set(plain.shared) <= {*symbols.values()}


def convolution(size: int, features: int, stride: int) -> str:
    images, results = f"2x{size}x{size}x{features}xf32", (size - 3) // stride + 1
    filters, result = f"3x3x{features}x{features}xf32", f"2x{results}x{results}x{features}xf32"
    return f"""func.func @main(%x: tensor<{images}>, %w: tensor<{filters}>) -> tensor<{result}> {{
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{stride = [{stride}, {stride}]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<{images}>, tensor<{filters}>) -> tensor<{result}>
  return %0 : tensor<{result}>
}}"""


def test_convolutions_share_micro_kernels() -> None:
    """Where rows of images lie, how wide windows are, and by how much they move are arguments."""
    # Where registers are many, the heights of their blocks follow from their sizes, too.
    symbols, machine = Symbols(), CPU.configured({"triple": "x86_64-linux-gnu", "cpu": "x86-64-v3"})
    for number, (size, features, stride) in enumerate(((26, 64, 1), (14, 128, 1), (49, 64, 2))):
        _, made = lowered(convolution(size, features, stride), symbols, machine)
        assert (made == 0) == (number > 0)


def channels_first(size: int, channels: int) -> str:
    images, filters, results = f"2x{channels}x{size}x{size}xf32", f"32x{channels}x3x3xf32", size - 2
    result = f"2x32x{results}x{results}xf32"
    return f"""func.func @main(%x: tensor<{images}>, %w: tensor<{filters}>) -> tensor<{result}> {{
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {{}}
    {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
    : (tensor<{images}>, tensor<{filters}>) -> tensor<{result}>
  return %0 : tensor<{result}>
}}"""


def test_micro_kernels_of_few_steps_know_their_numbers() -> None:
    """The instructions around three steps, for each tap of a window, take long beside them."""
    symbols = Symbols()
    for size in (26, 50):
        _, made = lowered(channels_first(size, channels=3), symbols)
        assert made > 0


def test_numbers_of_a_panel_that_its_code_knows() -> None:
    lies = PanelOfA(row=64, step=1, loops=((3, 100, 200),))
    shared, special = (lies.form(6, b_packed=True, known=known) for known in (False, True))
    assert shared.numbers == (None, 1, None, None, None) and lies.arguments(shared) == [64, 3, 100, 200]
    assert special.numbers == (64, 1, 3, 100, 200) and not lies.arguments(special)
    assert shared.with_arguments([64, 3, 100, 200]).loops == special.with_arguments([]).loops == [(3, 100, 200)]
    packed, columns = PanelOfA(row=1, step=6), PanelOfA(row=1, step=512)
    assert packed.form(6, b_packed=True, known=False).numbers == (1, 6)
    assert columns.form(6, b_packed=True, known=False).numbers == (1, None)
    assert columns.form(6, b_packed=False, known=False).numbers == (1, 512)


def test_code_is_found_by_another_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A process that has compiled nothing lowers no product that another has; a damaged file is nothing to go by."""
    monkeypatch.setenv("XHLO_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XHLO_CACHE_SIZE", "0")
    monkeypatch.setattr(files, "_warned", set[str]())
    compiled: list[int] = []
    compile_units = build.compile_units

    def recorded(texts: Sequence[str], shared: Mapping[str, str], *rest: Any) -> tuple[bytes, ...]:
        compiled.append(len(shared))
        return compile_units(texts, shared, *rest)

    monkeypatch.setattr(build, "compile_units", recorded)
    codes: list[tuple[bytes, ...]] = []
    for number in range(3):
        known_code._symbols.clear()  # pyright: ignore[reportPrivateUsage]
        jit._shared.clear()  # pyright: ignore[reportPrivateUsage]
        if number == 2:
            for path in tmp_path.glob("*.key"):
                write(path, b"no symbol")
        with pytest.warns(RuntimeWarning, match="names no function") if number == 2 else nullcontext():
            executable = xhlo.compile(products((48, 40, 64)) + f"// {number}")
        assert isinstance(executable, CpuExecutable)
        codes.append(executable.image.code)
    assert compiled[0] == compiled[2] > 0 == compiled[1]
    assert codes[0] == codes[1] == codes[2]


def test_code_comes_with_that_of_the_functions_it_calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A function is known only as long as the code of those that it calls is kept."""
    monkeypatch.setenv("XHLO_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XHLO_CACHE_SIZE", "0")
    program = TOP_K.replace("ROWS", "70")
    x = np.arange(1400, dtype=np.float32).reshape(2, 700) % 601
    codes: list[tuple[bytes, ...]] = []
    for number in range(3):
        known_code._symbols.clear()  # pyright: ignore[reportPrivateUsage]
        jit._shared.clear()  # pyright: ignore[reportPrivateUsage]
        executable = xhlo.compile(f"{program}// {number}")
        assert isinstance(executable, CpuExecutable)
        values, places = executable(x)
        np.testing.assert_array_equal(values, [[600, 599, 598]] * 2)
        np.testing.assert_array_equal(np.take_along_axis(x, places, 1), values)
        codes.append(executable.image.code)
        for path in tmp_path.glob("*.o") if number else ():
            # The callers stay: they name another function than their own.
            if len(set(known_code._IN_CODE.findall(path.read_bytes()))) == 1:  # pyright: ignore[reportPrivateUsage]
                path.unlink()
    assert codes[0] == codes[1] == codes[2]


def test_what_is_known_is_not_lowered_again() -> None:
    symbols = Symbols()
    program = products((64, 64, 64))
    lowered(program, None)
    first = calls(lambda: lowered(program, symbols))
    assert calls(lambda: lowered(program, symbols)) < 0.7 * first


def test_functions_differ_where_their_facts_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "host_vector_bits", lambda: 512)  # blocks of 256 bits do not divide 64 rows
    symbols = Symbols()
    lowered(products((64, 64, 64)), symbols)
    few = len(symbols)
    # The last panel is not full, in rows or in columns.
    uneven, _ = lowered(products((61, 64, 64), (64, 64, 61)), symbols)
    assert len(symbols) > few
    plain, _ = lowered(products((61, 64, 64), (64, 64, 61)), None)
    assert uneven.texts == plain.texts and {*uneven.shared} <= {*plain.shared} <= {*symbols.values()}


def test_micro_kernels_are_simplified_alone() -> None:
    """Whole blocks, those with fewer rows, and those with fewer columns too, which a mask leaves out."""
    for sizes, masked in (((56, 64, 64), False), ((57, 32, 63), False), ((600, 600, 250), True)):
        units, _ = lowered(products(sizes), None)
        blocks = [text for text in units.shared.values() if "llvm.fma" in text]
        assert {*map(jit.level_of_shared, blocks)} == {jit.IN_VECTORS}
        assert any("llvm.masked.store" in text for text in blocks) == masked
        assert None not in map(written_out, blocks)


def test_simplified_micro_kernels_take_several_steps_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of few registers, whose loop is marked: what simplifies functions alone would leave it as it is."""
    monkeypatch.setattr(host, "host_vector_bits", lambda: 256)
    units, _ = lowered(products((128, 128, 128)), None)
    blocks = [text for text in units.shared.values() if "llvm.fma" in text]
    assert blocks
    for block in blocks:
        assert jit.level_of_shared(block) == jit.IN_VECTORS
        products_of_step = block.count("call <8 x float> @llvm.fma")
        # Four steps, and one for the rest, in the text and in machine code.
        for found in (written_out(block) or "", jit.optimize(block, level=jit.IN_VECTORS)):
            assert found.count("call <8 x float> @llvm.fma") == 5 * products_of_step


def test_scalar_code_gets_the_whole_optimizer() -> None:
    loop = 'br label %l, !llvm.loop !0\n!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.parallel_accesses", !2}'
    vector = "%v = load <16 x float>, ptr %p"
    assert jit.level_of_shared(vector) == jit.IN_VECTORS
    for text in ("%v = load float, ptr %p", f"{vector}\n{loop}", f"{vector}\ndefine internal float @f() alwaysinline"):
        assert jit.level_of_shared(text) == jit.LEVEL


def test_simplified_code_has_the_same_results() -> None:
    text = """define void @f(ptr noalias %x, ptr noalias %y, i64 %n) {
b0:
  br label %b1
b1:
  %i = phi i64 [ 0, %b0 ], [ %next, %b1 ]
  %p = getelementptr float, ptr %x, i64 %i
  %v = load <4 x float>, ptr %p, align 4
  %w = fadd <4 x float> %v, %v
  %q = getelementptr float, ptr %y, i64 %i
  store <4 x float> %w, ptr %q, align 4
  %next = add nsw i64 %i, 4
  %more = icmp slt i64 %next, 8
  br i1 %more, label %b1, label %b2
b2:
  ret void
}"""
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    jit.call(jit.load(jit.compile_to_object(text, level=jit.IN_VECTORS), ["f"]), "f", x, y)
    np.testing.assert_array_equal(y, 2 * x)


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
