"""hlo-opt as users of mlir-opt expect it: nested pipelines, dumps, statistics, help, completion, expectations."""

from __future__ import annotations

import io
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from xhlo.passes.manager.pipelines import PipelineError, build_passes, pipeline_text
from xhlo.tools import colours, hlo_fuzz, hlo_opt, hlo_run
from xhlo.tools.command_line import Option
from xhlo.tools.completion import SHELLS, completion_script, values_of

TWO = """func.func @one(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = hlo.add %x, %x : tensor<4xf32>
  %1 = hlo.add %x, %x : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""

# Pipelines -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("builtin.module(func.func(cse,canonicalize),inline)", "func.func(cse,canonicalize),inline"),
        ("func.func(cse),builtin.module(inline)", None),
        ("builtin.module( func.func( cse , dce ) , func.func(cse) )", "func.func(cse,dce,cse)"),
        ("gpu.module(gpu.func(cse),func.func(dce)),any(cse)", None),
        ('func.func(fuse-hlo{strategy="none"}),decompose-hlo{short-floats=true}', 'func.func(fuse-hlo{strategy="none"}),decompose-hlo{short_floats=true}'),
        ("builtin.module()", ""),
    ],
)  # fmt: skip
def test_nested_pipelines(text: str, printed: str | None) -> None:
    assert pipeline_text(build_passes(text)) == (text if printed is None else printed)
    again = pipeline_text(build_passes(text))
    assert pipeline_text(build_passes(again)) == again


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func(cse", "'(' is never closed"),
        ("func.func(cse))", "nothing is open that ')' closes"),
        ("func.func(cse]", "nothing is open that ']' closes"),
        ("func.fun(cse)", "'func.fun' is no anchor; those are builtin.module, func.func"),
        ("func.func(cse) dce", "expected a comma before 'dce'"),
        ("func.func(inline)", "pass 'inline' works on a whole module: write it outside of func.func(..)"),
        ("func.func(nothing)", "no pass is named 'nothing'"),
        ("func.func(cse{)", "nothing is open that ')' closes"),
    ],
)
def test_wrong_nesting(text: str, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        build_passes(text)
    assert message in str(caught.value)


def test_the_caret_of_a_wrong_pipeline(run_hlo_opt) -> None:
    done = run_hlo_opt(TWO, "--pass-pipeline=builtin.module(func.func(cse),nest(dce))")
    assert done.status == 2
    text, caret = done.err.splitlines()[1:3]
    assert text[caret.index("^") :].startswith("nest(")


def test_a_nested_pass_runs_on_each_function_and_sees_nothing_else(run_hlo_opt) -> None:
    done = run_hlo_opt(TWO, "-pass-pipeline=builtin.module(func.func(cse))", "-mlir-print-ir-after-all")
    assert done.status == 0, done.err
    assert done.out.count("hlo.add") == 2
    assert "IR Dump After cse ('func.func' operation: @one)" in done.err
    assert "IR Dump After cse ('func.func' operation: @two)" in done.err
    assert "builtin.module" not in done.err
    assert done.out.index("@one") < done.out.index("@two")
    whole = run_hlo_opt(
        TWO, "--pass-pipeline=func.func(cse)", "--mlir-print-ir-after=cse", "--mlir-print-ir-module-scope"
    )
    assert whole.err.count("builtin.module") == 2


def test_a_nested_pass_that_fails_leaves_the_module_whole(run_hlo_opt, monkeypatch: pytest.MonkeyPatch) -> None:
    from xhlo.passes.manager.registry import get_pass

    def fail_at_two(self, ctx, module) -> None:
        if "@two" in str(module):
            raise ValueError("two")

    monkeypatch.setattr(get_pass("cse"), "apply", fail_at_two)
    done = run_hlo_opt(
        TWO, "--pass-pipeline=func.func(cse)", "-mlir-print-ir-after-failure", "-mlir-print-ir-module-scope"
    )
    assert done.status == 1
    assert "IR Dump After cse Failed ('func.func' operation: @two)" in done.err
    assert 0 < done.err.index("func.func @one") < done.err.index("func.func private @two")
    assert "pass 'cse' failed: ValueError: two" in done.err


# Reports of passes --------------------------------------------------------------------------------------------------


def test_dumps_as_files(run_hlo_opt, tmp_path: Path) -> None:
    pipeline = "--pass-pipeline=builtin.module(func.func(cse,canonicalize),inline)"
    done = run_hlo_opt(f"builtin.module @m {{\n{TWO}}}", pipeline, "--mlir-print-ir-tree-dir=tree")
    assert (done.status, done.err) == (0, "")
    files = sorted(str(path.relative_to("tree")) for path in Path("tree").rglob("*.mlir"))
    assert files == [
        "builtin_module_m/0_inline.mlir",
        "builtin_module_m/func_func_one/0_0_cse.mlir",
        "builtin_module_m/func_func_one/0_1_canonicalize.mlir",
        "builtin_module_m/func_func_two/0_0_cse.mlir",
        "builtin_module_m/func_func_two/0_1_canonicalize.mlir",
    ]
    assert Path("tree/builtin_module_m/func_func_one/0_0_cse.mlir").read_text().count("hlo.add") == 1
    run_hlo_opt(TWO, "--cse", "--dce", "--print-ir-tree-dir=changes", "--print-ir-after-change")
    assert [path.name for path in Path("changes").rglob("*.mlir")] == ["0_cse.mlir"]
    Path("taken").write_text("")
    done = run_hlo_opt(TWO, "--cse", "--print-ir-tree-dir=taken")
    assert done.status == 1
    assert done.err.startswith("error: cannot write taken/")


def test_statistics_pipeline_and_debug_output(run_hlo_opt) -> None:
    done = run_hlo_opt(
        TWO,
        "--cse",
        "--inline",
        "--mlir-pass-statistics",
        "--dump-pass-pipeline",
        "--debug-only=inline",
        "--mlir-disable-threading",
    )
    assert done.status == 0, done.err
    lines = done.err.splitlines()
    assert lines[0] == "builtin.module(cse,inline)"
    assert lines[1].startswith("[inline] 6 operations before, 3 after, -1 func.func -1 func.return -1 hlo.add, ")
    assert lines[2:] == [
        "  before   after  pass",
        "       7       6  cse: -1 hlo.add",
        "       6       3  inline: -1 func.func -1 func.return -1 hlo.add",
    ]


def test_debug_only_shows_the_remarks_of_a_pass(run_hlo_opt) -> None:
    program = TWO.replace("%1 = hlo.add %x", "%1 = hlo.multiply %0")
    assert "remark" in run_hlo_opt(program, "--fuse-hlo", "--debug-only=fuse-hlo").err
    assert "remark" not in run_hlo_opt(program, "--fuse-hlo", "--debug-only=cse").err
    done = run_hlo_opt(program, "--debug-only=fusehlo")
    assert (done.status, done.err.splitlines()[0]) == (
        2,
        "hlo-opt: error: --debug-only: no pass is named 'fusehlo'; did you mean 'fuse-hlo'?",
    )


def test_timing_has_the_imports_and_adds_up(run_hlo_opt) -> None:
    start = time.perf_counter()
    done = run_hlo_opt(TWO, "--cse", "--timing")
    passed = (time.perf_counter() - start) * 1e3
    rows = {name: float(ms) for ms, _, name in (line.split(None, 2) for line in done.err.splitlines()[1:])}
    assert next(iter(rows)) == "import"
    assert {"read", "cse", "print", "other", "total"} <= set(rows)
    assert sum(rows.values()) - rows["total"] == pytest.approx(rows["total"], abs=0.01 * len(rows))
    assert rows["total"] <= passed


# Expectations --------------------------------------------------------------------------------------------------------

WRONG = "  %1 = hlo.add %x, %nothing : tensor<4xf32>"
MESSAGE = "undefined value"


@pytest.mark.parametrize(
    "comment",
    [
        "{wrong} // expected-error {{{{{message}}}}}",
        "// expected-error@+1 {{{{{message}}}}}\n{wrong}",
        "// expected-error @+1 {{{{{message}}}}}\n{wrong}",
        "// expected-error@below {{{{{message}}}}}\n{wrong}",
        "// expected-error @below{{{{{message}}}}}\n{wrong}",
        "//expected-error  @below   {{{{{message}}}}}\n{wrong}",
        "{wrong}\n// expected-error@-1 {{{{{message}}}}}",
        "{wrong}\n// expected-error @above {{{{{message}}}}}",
        "// expected-error-re @below {{{{use {{{{[a-z ]+}}}} value}}}}\n{wrong}",
        "// expected-error-re@+2 {{{{use {{{{.*}}}}defined}}}}\n\n{wrong}",
        "// expected-error @below 1 {{{{{message}}}}}\n{wrong}",
    ],
)
@pytest.mark.parametrize("flag", ["-verify-diagnostics", "--verify-diagnostics=all"])
def test_spellings_of_expected_errors(run_hlo_opt, comment: str, flag: str) -> None:
    text = comment.format(wrong=WRONG, message=MESSAGE)
    program = f"func.func @main(%x: tensor<4xf32>) {{\n{text}\n  return\n}}\n"
    assert run_hlo_opt(program, flag, "-split-input-file").err == ""
    wrong = program.replace("{{use", "{{abuse").replace("{{undefined", "{{redefined")
    assert run_hlo_opt(wrong, flag).status == 1


# Help ----------------------------------------------------------------------------------------------------------------


def test_help_of_a_pass_has_its_documentation_and_options() -> None:
    for words in (["--help=fuse-hlo"], ["--help", "fuse-hlo"], ["-h", "--", "--fuse-hlo"]):
        text = _out(words)
        assert text.startswith("--fuse-hlo: a pass of xhlo\n\nPartition every block into fusions")
        assert "strategy=      default|none; by default default\n" in text
        assert "epilogues=     none|dots|all; by default all\n" in text
    assert "It takes no options" in _out(["--help=cse"])
    assert "must be given" in _out(["--help=apply-individual-rewrite"])
    assert "also --mlir-timing" in _out(["--help=mlir-timing"])


def _out(words: list[str]) -> str:
    import contextlib

    with contextlib.redirect_stdout(io.StringIO()) as stream:
        assert hlo_opt.main(words) == 0
    return stream.getvalue()


def test_every_pass_of_ours_has_help() -> None:
    from xhlo.passes.manager.registry import list_passes
    from xhlo.tools.pass_help import pass_text

    for entry in list_passes():
        if entry.origin == "xhlo":
            text = pass_text(entry.name)
            assert "has no documentation" not in text
            for word in ("Literal", "None", "tuple", "<class"):
                assert f"  {word}" not in text.partition("Options, written")[2], entry.name


def test_the_help_lists_aliases_and_dialects_and_suggests_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert "\n                                  also --mlir-timing\n" in _out(["--help"])
    assert _out(["--show-dialects"]).startswith(
        "Available dialects: affine, amdgpu, arith, builtin, cf, check, chlo, cpu"
    )
    assert hlo_opt.main(["--help=cs"]) == 2
    assert "no pass is named 'cs'; did you mean 'cse'" in capsys.readouterr().err


# Completion ----------------------------------------------------------------------------------------------------------


def complete_in_bash(script: str, line: str) -> list[str]:
    """The completions that bash proposes at the end of a line."""
    words = line.split(" ")
    driver = f"""{script}
COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({" ".join(map(repr, words))}); COMP_CWORD={len(words) - 1}
_hlo_opt; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "--norc", "-c", driver], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_completion_in_bash() -> None:
    script = _out(["--completion=bash"])
    assert complete_in_bash(script, "hlo-opt --mlir-print-op") == ["--mlir-print-op-generic"]
    assert complete_in_bash(script, "hlo-opt -mlir-print-op") == ["--mlir-print-op-generic"]
    assert complete_in_bash(script, "hlo-opt --fuse-h") == ["--fuse-hlo"]
    assert complete_in_bash(script, "hlo-opt --fuse --lower=l") == ["linalg", "loops", "llvm"]
    assert complete_in_bash(script, "hlo-opt --math f") == ["fast"]
    assert complete_in_bash(script, "hlo-opt --print-ir-after=cse,fuse-li") == ["cse,fuse-linalg"]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("tool", [hlo_opt, hlo_run, hlo_fuzz], ids=lambda tool: tool.__name__.rpartition(".")[2])
def test_every_option_is_completed(tool, shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main([f"--completion={shell}"]) == 0
    script = capsys.readouterr().out
    name = tool.__name__.rpartition(".")[2].replace("_", "-")
    options = hlo_opt.command_line().options if tool is hlo_opt else tool.OPTIONS
    for option in options:
        if len(option.name) > 1:
            assert {"bash": f"--{option.name}", "zsh": f"*--{option.name}", "fish": f"-l {option.name} "}[
                shell
            ] in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)
    assert name in script


def test_values_that_are_completed() -> None:
    assert values_of(Option("a", "", takes="required", metavar="x|y"), ()) == ("x", "y")
    assert values_of(Option("a", "", takes="required", metavar="sm_NN[a]"), ()) == ()
    assert values_of(Option("a", "", takes="required", metavar="PASS,.."), ("cse",)) == ("cse",)
    quoted = completion_script("t", _line("it's [a: b]"), (), "zsh")
    assert "[it'\"'\"'s \\[a\\: b\\]]" in quoted


def _line(help_: str):
    from xhlo.tools.command_line import CommandLine

    return CommandLine([Option("name", help_)])


# Colours -------------------------------------------------------------------------------------------------------------


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_only_on_a_terminal_and_unless_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    file = tmp_path / "a.mlir"
    file.write_text("func.func @f() {\n  nothing\n  return\n}\n")

    def printed(stream: io.StringIO) -> str:
        monkeypatch.setattr("sys.stderr", stream)
        assert hlo_opt.main([str(file)]) == 1
        return stream.getvalue()

    plain = printed(io.StringIO())
    bright = printed(_Terminal())
    assert "\033[" not in plain
    assert "\033[1;31merror: " in bright
    assert "\033[1;32m^~~~~~~\033[0m" in bright
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed(_Terminal()) == plain
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert printed(_Terminal()) == plain
    assert (
        colours.coloured("x.mlir:1:2: note: why\nplain: text\n")
        == "\033[1mx.mlir:1:2: \033[1;36mnote: \033[0m\033[1mwhy\033[0m\nplain: text\n"
    )


# Verification --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "count"),
    [
        (["--cse", "--dce", "--cse"], 4),
        (["--cse", "--dce", "--cse", "--verify-each=false"], 2),
        (["-p", ",".join(["cse"] * 9)], 2),
        (["-p", ",".join(["cse"] * 9), "--verify-each"], 10),
        (["--fuse"], 2),
        (["--fuse", "-verify-each=true"], 20),
    ],
)
def test_verification_after_each_pass(
    run_hlo_opt, monkeypatch: pytest.MonkeyPatch, flags: list[str], count: int
) -> None:
    from xhlo.hlo_dialect import verification
    from xhlo.passes.manager import pass_manager

    calls: list[object] = []
    verify = verification.verify_module
    for place in (verification, pass_manager):
        monkeypatch.setattr(place, "verify_module", lambda module: (calls.append(module), verify(module)))
    assert run_hlo_opt(TWO, *flags).status == 0
    assert len(calls) == count
