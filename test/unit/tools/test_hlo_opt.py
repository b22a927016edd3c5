"""hlo-opt as a program: output, errors, exit status. test/lit/tools shows its flags on IR."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkout import ROOT, SUPPORT

MAIN = "from xhlo.tools.hlo_opt import main; raise SystemExit(main())"

PROGRAM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  %1 = stablehlo.add %x, %x : tensor<4xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


def start(*arguments: str, **options) -> subprocess.CompletedProcess[bytes]:
    """hlo-opt in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", MAIN, *arguments], cwd=ROOT, capture_output=True, check=False, **options
    )


def test_reads_standard_input():
    done = start("--cse", input=PROGRAM.encode())
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"hlo.add") == 1


def test_help_is_quick_and_loads_no_compiler():
    code = (
        "import sys; from counting import calls; from xhlo.tools.hlo_opt import main; work = calls(lambda: main(['--help'])); "
        "print('xdsl' in sys.modules, 'numpy' in sys.modules, len([name for name in sys.modules if 'xhlo' in name]), work)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=SUPPORT, capture_output=True, text=True, check=True)
    xdsl, numpy, modules, work = done.stdout.splitlines()[-1].split()
    assert (xdsl, numpy) == ("False", "False")
    assert int(modules) < 32
    assert int(work) < 100_000


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe\x00garbage", "input.mlir is not UTF-8 text: byte 0 is 0xff"),
        (b"ML\xefR\x03rest", "input.mlir is no valid MLIR bytecode: a string has no end at byte 5"),
        (b"func.func\x00", "input.mlir is not text: byte 9 is zero"),
    ],
)
def test_binary_input(run_hlo_opt, data: bytes, message: str):
    done = run_hlo_opt(data)
    assert done.status == 1
    assert message in done.err
    assert "Traceback" not in done.err


def test_errors_have_place_line_and_caret(run_hlo_opt):
    done = run_hlo_opt(PROGRAM.replace("stablehlo.multiply", "stablehlo.multiplied"))
    assert done.status == 1
    assert done.out == ""
    place, line, caret = done.err.splitlines()[:3]
    assert place.startswith("input.mlir:4:")
    assert ": error: " in place
    assert line.lstrip().startswith("%2 =")
    assert caret.strip() == "^" + "~" * (len("stablehlo.multiplied") - 1)


def test_byte_order_mark_and_windows_lines(run_hlo_opt):
    done = run_hlo_opt("\ufeff" + PROGRAM.replace("\n", "\r\n"), "--cse")
    assert done.status == 0, done.err


def test_several_files(run_hlo_opt, tmp_path: Path):
    (tmp_path / "other.mlir").write_text(PROGRAM.replace("@main", "@other"))
    done = run_hlo_opt(PROGRAM, "other.mlir")
    assert done.status == 0
    first, second = done.out.split("// -----\n")
    assert "@main" in first
    assert "@other" in second


def test_output_appears_whole_or_not_at_all(run_hlo_opt, tmp_path: Path):
    target = tmp_path / "out.mlir"
    target.write_text("before")
    assert run_hlo_opt("not a program", "-o", str(target)).status == 1
    assert target.read_text() == "before"
    assert run_hlo_opt(PROGRAM, "-o", str(target)).status == 0
    assert "hlo.multiply" in target.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["input.mlir", "out.mlir"]


def test_output_to_a_device(run_hlo_opt):
    assert run_hlo_opt(PROGRAM, "-o", os.devnull).status == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_full_disk_is_said():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", MAIN],
            cwd=ROOT,
            input=PROGRAM.encode(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.decode() == "hlo-opt: error: cannot write standard output: No space left on device\n"


def test_closed_pipe_is_said():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", MAIN],
        cwd=ROOT,
        input=PROGRAM.encode(),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 1
    assert done.stderr.decode() == "hlo-opt: error: standard output was closed before everything was written\n"


def test_remarks_only_on_request(run_hlo_opt, monkeypatch: pytest.MonkeyPatch):
    from xhlo.hlo_dialect.diagnostics import Diagnostic, engine_of
    from xhlo.passes.manager.registry import get_pass

    def remark(self, ctx, op):
        first = next(iter(next(iter(op.ops)).body.block.ops))
        engine_of(ctx).emit(Diagnostic("remark", "fused two", first.location))
        engine_of(ctx).emit(Diagnostic("warning", "slow", first.location))

    monkeypatch.setattr(get_pass("cse"), "apply", remark)
    assert "remark" not in run_hlo_opt(PROGRAM, "--cse").err
    done = run_hlo_opt(PROGRAM, "--cse", "--fuse-remarks")
    lines = done.err.splitlines()
    assert lines[0].startswith("input.mlir:2:")
    assert lines[0].endswith("remark: fused two")
    assert "warning: slow" in lines[1], "a remark takes one line"


def test_split_file_keeps_line_numbers(run_hlo_opt):
    done = run_hlo_opt(f"{PROGRAM}\n// -----\n{PROGRAM}\n// -----\nfunc.func @broken(", "--split-input-file")
    assert done.status == 1
    assert done.out.count("@main") == 2
    assert "input.mlir:17:" in done.err


def test_lower_reaches_stages_in_order():
    from xhlo.passes.manager.pipelines import FRONT, FUSE, FUSE_NONE
    from xhlo.targets.cpu.target import CPU
    from xhlo.tools.hlo_opt import command_line
    from xhlo.tools.opt_settings import pipeline_of

    def specs(*words: str) -> tuple[str, ...]:
        return tuple(step.spec for step in pipeline_of(command_line().parse(words), CPU)[0])

    linalg, llvm = CPU.passes_between(None, "linalg"), CPU.passes_between(None, "llvm")
    front, fuse = tuple(map(CPU.tune, FRONT)), tuple(map(CPU.tune, FUSE))
    assert specs("--fuse") == (*front, *fuse)
    assert specs("--fuse", "--lower") == (*front, *fuse, *llvm)
    assert specs("--lower=linalg") == (*front, *FUSE_NONE, *linalg)
    assert specs("--fuse", "--lower=linalg", "--cse", "--lower") == (
        *front, *fuse, *linalg, "cse", *CPU.passes_between("linalg", "llvm")
    )  # fmt: skip
    assert specs("--cse={}", "--dce=a=1 b=2", "-p", "x,y") == ("cse{}", "dce{a=1 b=2}", "x,y")
    assert specs("-p", "cse,fuse-hlo", "--lower=linalg") == ("cse,fuse-hlo", *linalg)


def test_passes_are_found_by_their_names(run_hlo_opt, monkeypatch: pytest.MonkeyPatch):
    """To emit LLVM IR a module is lowered unless the pipeline does it: by a pass of that name, not a longer one."""
    from xhlo.passes.manager import registry

    class Other(registry.get_pass("cse")):
        name = "do-not-convert-to-llvm"

    entry = registry.PassEntry(Other.name, "plugin", "", "a package", lambda: Other)
    monkeypatch.setattr(registry, "list_passes", lambda: (entry,))
    monkeypatch.setattr(
        registry, "find_pass", lambda name, found=registry.find_pass: entry if name == entry.name else found(name)
    )
    done = run_hlo_opt(PROGRAM, "--pass-pipeline=do-not-convert-to-llvm", "--emit=llvm")
    assert done.status == 0, done.err
    assert "define" in done.out
