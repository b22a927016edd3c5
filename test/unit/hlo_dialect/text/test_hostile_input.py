"""
Hostile input ends: text of every bad shape at a size where anything quadratic would be seen, programs that need more
memory than there is, interrupts, and a sample of what `hlo-fuzz` makes.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from counting import calls
from tool_server import ToolServer
from xhlo.hlo_dialect import machine_memory
from xhlo.hlo_dialect.diagnostics import DiagnosticError, file_location
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.errors import MemoryLimitError
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.passes.manager.pass_manager import PassManager
from xhlo.passes.manager.pipelines import build_passes
from xhlo.targets.compile import compile_program
from xhlo.tools import hlo_fuzz
from xhlo.tools.fuzzing.hostile import MODES
from xhlo.tools.fuzzing.isolation import Limits, isolated

# JAX, which other tests load into this process, warns of forks; the forked tools run none of its code.
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")


def body(lines: str, arguments: str = "%x: tensor<4xf32>") -> str:
    return f"func.func @main({arguments}) -> tensor<4xf32> {{\n{lines}\n  return %x : tensor<4xf32>\n}}\n"


def functions(count: int, inside: str) -> str:
    return "".join(f"func.func private @f{i}(%x: tensor<4xf32>) {{\n{inside}\n" for i in range(count))


GROWING: dict[str, Callable[[int], str]] = {
    "digits of a constant": lambda n: body(f"  %0 = stablehlo.constant dense<{'1' * n}> : tensor<i32>"),
    "digits of a size": lambda n: body(f"  %0 = stablehlo.abs %x : tensor<{'1' * n}xf32>"),
    "digits of a width": lambda n: body(f"  %0 = stablehlo.abs %x : tensor<4xi{'1' * n}>"),
    "newlines": lambda n: body("\n" * n + "%"),
    "operations on one line": lambda n: body(" ".join(f"%a{i} = stablehlo.negate %x : tensor<4xf32>" for i in range(n // 8))),
    "quotes": lambda n: body('\\"' * n),
    "escaped quotes": lambda n: body('"' + '\\"' * n),
    "functions": lambda n: functions(n // 8, "  return\n}"),
    "functions that do not close": lambda n: functions(n // 8, "  %0 = "),
    "closing brackets": lambda n: "]\n" * n,
    "undefined values": lambda n: body("\n".join(f"  %{i} = stablehlo.negate %u{i} : tensor<4xf32>" for i in range(n // 8))),
    "undefined blocks": lambda n: "func.func @main() {\n" + "".join(f"^b{i}:\n  cf.br ^u{i}\n" for i in range(n // 8)) + "}\n",
    "location aliases": lambda n: (
        body("  %a = stablehlo.abs %x : tensor<4xf32> loc(#loc0)")
        + "\n".join(f'#loc{i} = loc("a"(#loc{i + 1}))' for i in range(n // 8))
        + f"\n#loc{n // 8} = loc(unknown)\n"
    ),
    "nested attributes": lambda n: body(f"  %0 = stablehlo.abs %x {{a.b = {'[' * n}1{']' * n}}} : tensor<4xf32>"),
    "nested types": lambda n: body(f"  %0 = stablehlo.abs %x : {'tuple<' * n}f32{'>' * n}"),
    "nested locations": lambda n: body("  %0 = stablehlo.abs %x : tensor<4xf32> loc(" + "callsite(" * n + "unknown" + ' at "b")' * n + ")"),
    "nested modules": lambda n: "module {\n" * n + "}\n" * n,
    "nested literals": lambda n: body(f"  %0 = stablehlo.constant dense<{'[' * n}1{']' * n}> : tensor<i32>"),
    "parentheses in a map": lambda n: body(f"  %0 = stablehlo.abs %x {{a.b = affine_map<(d0) -> ({'(' * n}d0{')' * n})>}} : tensor<4xf32>"),
    "dimensions": lambda n: f"func.func private @f(tensor<{'1x' * n}f32>)\n",
    "attributes": lambda n: body(f"  %0 = stablehlo.abs %x {{{', '.join(f'a{i} = {i}' for i in range(n // 4))}}} : tensor<4xf32>"),
    "operands": lambda n: body(
        f"  stablehlo.custom_call @f({', '.join(['%x'] * (n // 4))}) : ({', '.join(['tensor<4xf32>'] * (n // 4))}) -> ()"
    ),
    "a chain": lambda n: body(
        "  %0 = stablehlo.abs %x : tensor<4xf32>\n"
        + "\n".join(f"  %{i} = stablehlo.negate %{i - 1} : tensor<4xf32>" for i in range(1, n // 8))
    ),
}  # fmt: skip


def read(text: str) -> None:
    try:
        print_module(parse_module(text, "hostile.mlir", make_context()), locations=True)
    except DiagnosticError as error:
        assert all(file_location(diagnostic.location) is not None for diagnostic in error.diagnostics)


@pytest.mark.long(15)
@pytest.mark.parametrize("name", GROWING)
def test_work_grows_with_the_length_of_the_text(name: str) -> None:
    """Calls of functions are counted, which no load of the machine changes; what regular expressions do is not."""
    small, large = (calls(lambda size=size: read(GROWING[name](size))) for size in (1000, 4000))
    assert large < 6 * small + 20_000


@pytest.mark.long(4)
@pytest.mark.parametrize("name", ["digits of a size", "quotes", "escaped quotes", "newlines", "digits of a constant"])
def test_scanning_is_linear(name: str) -> None:
    """A megabyte takes seconds; anything quadratic would take hours."""
    outcome = isolated(lambda: read(GROWING[name](1_000_000)) or 0, Limits(seconds=20))
    assert outcome.status == 0, outcome


def test_a_sign_without_a_name_is_named() -> None:
    with pytest.raises(DiagnosticError, match="expected a name or a number after '%'"):
        parse_module(body("  %\n"), "hostile.mlir", make_context())


# Aliases -------------------------------------------------------------------------------------------------------------


def nested(kind: str, opening: str, closing: str, leaf: str, depth: int) -> str:
    """Aliases of which each has ten of the one before."""
    lines = [f"{kind}a0 = {leaf}"]
    lines += [f"{kind}a{i} = {opening}{', '.join([f'{kind}a{i - 1}'] * 10)}{closing}" for i in range(1, depth)]
    return "\n".join(lines) + "\n"


# Written out, each of the first three has over 10^15 parts.
ALIASES = {
    "tuples": nested("!", "tuple<", ">", "tensor<f32>", 17) + "func.func @main(%x: !a16) -> !a16 {\n  return %x : !a16\n}\n",
    "arrays": nested("#", "[", "]", "1 : i32", 17) + "module attributes {a.b = #a16, a.c = [#a16, #a15]} {\n}\n",
    "functions": "!a0 = i32\n"
    + "".join(f"!a{i} = (!a{i - 1}) -> !a{i - 1}\n" for i in range(1, 53))
    + "module attributes {a.b = !a52} {\n}\n",
    "a chain": "#a0 = 1 : i32\n" + "".join(f"#a{i} = [#a{i - 1}]\n" for i in range(1, 3000)) + "module attributes {a.b = #a2999} {\n}\n",
    "locations": "#loc0 = loc(unknown)\n"
    + "".join(f"#loc{i} = loc(fused[{', '.join([f'#loc{i - 1}'] * 10)}])\n" for i in range(1, 60))
    + "module {\n} loc(#loc59)\n",
}  # fmt: skip


@pytest.mark.long
@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ALIASES)
@pytest.mark.parametrize("locations", [False, True])
def test_nested_aliases_stay_aliases(name: str, locations: bool) -> None:
    module = parse_module(ALIASES[name], "aliases.mlir", make_context())
    text = print_module(module, locations=locations)
    assert len(text) < 1_000_000
    again = parse_module(text, "aliases.mlir", make_context())
    assert print_module(again, locations=locations) == text
    assert print_module(module.clone(), locations=locations) == text


def test_an_error_about_a_large_type_is_short() -> None:
    text = nested("!", "tuple<", ">", "tensor<f32>", 12)
    text += "func.func @main(%x: !a11) -> !a11 {\n  %0 = stablehlo.abs %x : !a11\n  return %0 : !a11\n}\n"
    with pytest.raises(DiagnosticError) as raised:
        parse_module(text, "aliases.mlir", make_context())
    assert "tuple<!a" in str(raised.value) and len(str(raised.value)) < 5000


def test_equal_aliases_are_equal() -> None:
    def definitions(name: str) -> str:
        return nested("!", "tuple<", ">", "tensor<f32>", 12).replace("!a", f"!{name}")

    text = definitions("s") + definitions("t") + "func.func @main(%x: !s11) -> !t11 {\n  return %x : !t11\n}\n"
    printed = print_module(parse_module(text, "aliases.mlir", make_context()))
    assert "!s10 = " in printed or "!s8 = " in printed
    assert "!t" not in printed


# The fast reader -----------------------------------------------------------------------------------------------------


def test_static_and_dynamic_types_of_one_rank_are_told_apart() -> None:
    text = (
        "func.func @main(%a: tensor<2xf32>, %b: tensor<?xf32>, %s: tensor<1xi64>) {\n"
        "  %0 = stablehlo.abs %a : tensor<2xf32>\n  %1 = stablehlo.abs %b : tensor<?xf32>\n"
        "  %2 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<?xf32>\n"
        "  %3 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<3xf32>\n"
        "  %4 = stablehlo.abs %a : tensor<2xf32>\n  return\n}\n"
    )
    fast, general = (print_module(parse_module(text, "t.mlir", make_context(), fast=fast)) for fast in (True, False))
    assert fast == general


# Limits --------------------------------------------------------------------------------------------------------------

HUGE = "tensor<1099511627776xf32>"
TOO_LARGE = {
    "iota": f"  %0 = stablehlo.iota dim = 0 : {HUGE}",
    "broadcast": f"  %0 = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> {HUGE}",
    "sort": f"""  %1 = stablehlo.iota dim = 0 : {HUGE}
  %0 = "stablehlo.sort"(%1) <{{dimension = 0 : i64}}> ({{
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }}) : ({HUGE}) -> {HUGE}""",
}


@pytest.mark.parametrize("name", TOO_LARGE)
@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_what_needs_too_much_memory_is_refused(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"func.func @main(%f: tensor<f32>) -> {HUGE} {{\n{TOO_LARGE[name]}\n  return %0 : {HUGE}\n}}\n"
    with pytest.raises(MemoryLimitError, match="of memory, more than the limit") as raised:
        if target == "reference":
            evaluate(parse_module(text, "huge.mlir", make_context()), [np.ones((), np.float32)])
        else:
            compile_program(text)
    assert file_location(raised.value.diagnostics[0].location) is not None


def test_the_limit_on_memory_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "func.func @main() -> tensor<1000xf32> {\n  %0 = stablehlo.iota dim = 0 : tensor<1000xf32>\n  return %0 : tensor<1000xf32>\n}\n"
    module = parse_module(text, "small.mlir", make_context())
    monkeypatch.setenv("XHLO_MAX_MEMORY", "3K")
    with pytest.raises(DiagnosticError, match="needs 4000 bytes of memory, more than the limit of 3072 bytes"):
        evaluate(module, [])
    monkeypatch.setenv("XHLO_MAX_MEMORY", "4000")
    assert evaluate(module, [])[0].shape == (1000,)
    monkeypatch.setenv("XHLO_MAX_MEMORY", "much")
    with pytest.raises(DiagnosticError, match="XHLO_MAX_MEMORY: 'much' is no size"):
        evaluate(module, [])


@pytest.mark.parametrize(
    ("text", "size"), [("4096", 4096), ("2k", 2048), ("512M", 512 << 20), ("8GiB", 8 << 30), ("1TB", 1 << 40)]
)
def test_sizes_in_text(text: str, size: int) -> None:
    assert machine_memory.parse_size(text) == size


@pytest.mark.parametrize("shape", ["1x" * 65, "4294967296x4294967296x", "0x9223372036854775807x4x"])
def test_what_no_array_can_be_is_refused_by_passes_and_reference(shape: str) -> None:
    type_ = f"tensor<{shape}f32>"
    text = f"func.func @main(%x: {type_}) -> {type_} {{\n  %0 = stablehlo.abs %x : {type_}\n  return %0 : {type_}\n}}\n"
    ctx = make_context()
    module = parse_module(text, "rank.mlir", ctx)
    assert parse_module(print_module(module), "rank.mlir", ctx) is not None
    for run in (lambda: PassManager(ctx, build_passes("simplify-hlo")).run(module), lambda: evaluate(module, [])):
        with pytest.raises(DiagnosticError, match="at most 64 dimensions|not counted by 64 bits"):
            run()


def test_a_list_of_more_dimensions_than_an_array_has_is_read() -> None:
    type_ = f"tensor<{'1x' * 70}2xi32>"
    text = f"func.func @main() -> {type_} {{\n  %0 = stablehlo.constant dense<{'[' * 71}1, 2{']' * 71}> : {type_}\n  return %0 : {type_}\n}}\n"
    printed = print_module(parse_module(text, "deep.mlir", make_context()))
    assert print_module(parse_module(printed, "deep.mlir", make_context())) == printed


# Levels --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plan-buffers", "instrument-kernels", "map-kernels-to-gpu", "convert-linalg-to-scf"])
def test_passes_on_buffers_refuse_tensors(name: str) -> None:
    ctx = make_context()
    module = parse_module(body("  %0 = stablehlo.abs %x : tensor<4xf32>"), "level.mlir", ctx)
    with pytest.raises(DiagnosticError, match=f"{name} comes after bufferize") as raised:
        PassManager(ctx, build_passes(name)).run(module)
    assert file_location(raised.value.diagnostics[0].location) is not None


def test_a_failure_of_a_pass_of_xdsl_is_no_failure_of_ours() -> None:
    ctx = make_context()
    module = parse_module(body("  %0 = stablehlo.abs %x : tensor<4xf32>"), "level.mlir", ctx)
    with pytest.raises(DiagnosticError, match="xDSL's") as raised:
        PassManager(ctx, build_passes("convert-func-to-x86-func")).run(module)
    assert file_location(raised.value.diagnostics[0].location) is not None


# Interrupts ----------------------------------------------------------------------------------------------------------

# A shell's background job ignores SIGINT, and its children inherit that.
LISTEN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"

ENDLESS = (
    LISTEN
    + """import threading
import numpy as np, xhlo
from xhlo.targets.cpu.interrupts import run_left_by
text = '''
func.func @main(%x: tensor<i64>) -> tensor<i64> {
  %t = stablehlo.constant dense<true> : tensor<i1>
  %r = stablehlo.while(%i = %x) : tensor<i64>
   cond { stablehlo.return %t : tensor<i1> }
   do {
    %n = stablehlo.add %i, %i : tensor<i64>
    stablehlo.return %n : tensor<i64>
   }
  return %r : tensor<i64>
}
'''
run = xhlo.compile(text)
double = xhlo.compile("func.func @main(%x: tensor<i64>) -> tensor<i64> {\\n %0 = stablehlo.add %x, %x : tensor<i64>\\n return %0 : tensor<i64>\\n}")
try:
    print("running", flush=True)
    run(np.array(1))
except KeyboardInterrupt as interrupt:
    print("interrupted", double(np.array(4)), flush=True)
    if left := run_left_by(interrupt):
        ended = threading.Event()
        left.when_done(ended.set)
        ended.wait()
print("ended", flush=True)
"""
)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_ends_a_run_and_leaves_the_process_usable() -> None:
    process = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted 8\nended\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_while_reading_is_reported_without_a_traceback(tmp_path: Path) -> None:
    pipe = tmp_path / "program.mlir"
    os.mkfifo(pipe)
    script = f"{LISTEN}from xhlo.tools.hlo_opt import main; import sys; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(pipe), "-o", str(tmp_path / "out.mlir")], stderr=subprocess.PIPE, text=True
    )
    with pipe.open("w"), process:  # opening waits until the tool reads
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.read() == "hlo-opt: interrupted\n"
    assert process.returncode == 130
    assert not (tmp_path / "out.mlir").exists()


# Fuzzing -------------------------------------------------------------------------------------------------------------


@pytest.mark.long(3)
@pytest.mark.parametrize("mode", MODES)
def test_a_sample_of_hostile_cases(mode: str, tool_server: ToolServer) -> None:
    # Each case runs in a fork, which takes longer the more memory a process has: this one holds all tests and JAX.
    words = [f"--mode={mode}", "--count=25", "--seed=70"]
    done = subprocess.run([*tool_server.command("hlo-fuzz"), *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "25 cases, 0 failed\n")


def test_functions_inside_each_other_are_not_read_again_and_again() -> None:
    """A mutant with 150 headers of functions before one end took minutes."""
    assert hlo_fuzz.main(["--mode=mutate", "--count=1", "--seed=21066"]) == 0


@pytest.mark.long(3)
@pytest.mark.parametrize("mode", MODES)
def test_a_case_is_known_by_its_seed(mode: str) -> None:
    assert MODES[mode](random.Random(7), ()) == MODES[mode](random.Random(7), ())


def test_a_hang_and_a_crash_are_outcomes() -> None:
    def spin() -> int:
        while True:
            pass

    def die() -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def grow() -> int:
        return len(bytearray(1 << 31))

    assert isolated(spin, Limits(seconds=0.2)).out_of_time
    assert isolated(die, Limits()).signal == signal.SIGKILL
    assert "MemoryError" in isolated(grow, Limits(nbytes=1 << 30)).output
