"""hlo-run: the entry, arrays on the command line and in files of all kinds, and where wrong ones are reported."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from xhlo.tools import hlo_run, run_arrays
from xhlo.tools.inline_arrays import inline_array
from xhlo.tools.streams import StreamError

PROGRAM = """func.func @main(%left: tensor<3xf32>, %right: tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>) {
  %0 = call @double(%left) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = stablehlo.subtract %0, %right : tensor<3xf32>
  %2 = stablehlo.constant dense<7> : tensor<i32>
  return %1, %2 : tensor<3xf32>, tensor<i32>
}
func.func @double(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %x : tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func @both(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0:2 = call @main(%x, %x) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<i32>)
  return %0#0 : tensor<3xf32>
}
func.func private @declared(tensor<3xf32>)
"""
REFERENCE = "--target=reference"
A, B = np.float32([5, 6, 7]), np.float32([1, 2, 4])

# The command line ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2x2xf32=1,2,3,4", np.float32([[1, 2], [3, 4]])),
        ("2x2xf32=[[1 2][3 -4e1]]", np.float32([[1, 2], [3, -40]])),
        ("2x3xi8=-7", np.full((2, 3), -7, np.int8)),
        ("f64=nan", np.array(np.nan)),
        ("i1=true", np.array(True)),
        ("3xi1=true,0,1", np.array([True, False, True])),
        ("2xui64=0xffffffffffffffff,0", np.array([2**64 - 1, 0], np.uint64)),
        ("2xcomplex<f32>=1+2j,inf", np.array([1 + 2j, np.inf], np.complex64)),
        ("2xbf16=1.5,-inf", np.array([1.5, -np.inf], ml_dtypes.bfloat16)),
        ("2xi4=-8,7", np.array([-8, 7], ml_dtypes.int4)),
        ("0x4xf32=", np.zeros((0, 4), np.float32)),
        ("tensor<2xf32>=1,2", np.float32([1, 2])),
        ("tensor<2xcomplex<f32>> = 1j", np.array([1j, 1j], np.complex64)),
    ],
)
def test_arrays_on_the_command_line(text: str, wanted: np.ndarray) -> None:
    found = inline_array(text)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("2xf32=1,x", "'x' is no number", 8),
        ("2xi32=1,2.5", "'2.5' is no whole number", 8),
        ("2xi8=1,128", "128 is not from -128 to 127", 7),
        ("2xui8=-1,1", "-1 is not from 0 to 255", 6),
        ("i1=2", "2 is not from 0 to 1", 3),
        ("3xf32=1,2", "2 values for the 3 elements of tensor<3xf32>", 6),
        ("3xf32=", "0 values for the 3 elements", 6),
        ("3xg=1", "'3xg' is no type of arrays", 0),
        ("3xindex=1", "no array has elements of type index", 0),
        ("99999999999x9999999xf32=1", "memory", 0),
    ],
)
def test_wrong_arrays_on_the_command_line(text: str, message: str, column: int) -> None:
    with pytest.raises(StreamError) as caught:
        inline_array(text)
    first, line, caret = str(caught.value).splitlines()
    assert first.startswith("--input: ")
    assert message in first
    assert (line, caret) == (text, " " * column + "^")


def test_inline_inputs_run(run_hlo_run) -> None:
    done = run_hlo_run(PROGRAM, REFERENCE, "--input=3xf32=5,6,7", "--input", "3xf32=1", "--output=out.txt")
    assert (done.status, done.err, done.out) == (0, "", "")
    assert Path("out.txt").read_text() == "result 0: float32[3]\n[ 9., 11., 13.]\nresult 1: int32[]\n7\n"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--input=3xf32=1"], "--input has 1 array (in_0); the program needs 2"),
        (["--input=3xf32=1"] * 3, "--input has 3 arrays (in_0, in_1, in_2); the program needs 2"),
        (["--input=3xf64=1", "--input=3xf32=1"], "--input: in_0 is float64[3]; the program has tensor<3xf32> there"),
    ],
)
def test_arrays_that_do_not_fit_name_the_entry(run_hlo_run, flags: list[str], message: str) -> None:
    done = run_hlo_run(PROGRAM, REFERENCE, *flags)
    assert done.status == 1
    assert done.err.startswith(f"error: {message}")
    assert "input.mlir:1:1: note: @main takes (%left: tensor<3xf32>, %right: tensor<3xf32>)\n" in done.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--input=f32=1", "--inputs=a.npz"], "use one of them"),
        (["--inputs=-", "-"], "standard input holds the program or arrays, not both"),
        (["--input=-", "--input=-"], "standard input holds the program or arrays, not both"),
    ],
)
def test_wrong_combinations(flags: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert hlo_run.main([*flags] if "-" in flags else [*flags, "p.mlir"]) == 2
    assert message in capsys.readouterr().err


# Files ---------------------------------------------------------------------------------------------------------------


def test_directories_and_single_files(run_hlo_run) -> None:
    Path("arrays").mkdir()
    np.save("arrays/in_1.npy", B)
    np.save("arrays/in_0.npy", A)
    done = run_hlo_run(PROGRAM, REFERENCE, "--inputs=arrays", "--outputs=results/")
    assert (done.status, done.err) == (0, "")
    np.testing.assert_array_equal(np.load("results/out_0.npy"), 2 * A - B)
    assert np.load("results/out_1.npy") == 7
    done = run_hlo_run(PROGRAM, REFERENCE, "--input=arrays/in_0.npy", "--input=3xf32=1,2,4", "--expect=results")
    assert done.status == 0, done.err + done.out
    done = run_hlo_run(PROGRAM, REFERENCE, "--input=@arrays", "--output=first.npy", "--output=second.npy")
    assert done.status == 0, done.err
    np.testing.assert_array_equal(np.load("first.npy"), 2 * A - B)
    assert np.load("second.npy") == 7


def test_many_files_of_a_directory_are_in_order(run_hlo_run) -> None:
    names = [f"%a{i}: tensor<i32>" for i in range(11)]
    program = f"func.func @main({', '.join(names)}) -> tensor<i32> {{\n  return %a10 : tensor<i32>\n}}\n"
    Path("arrays").mkdir()
    for i in range(11):
        np.save(f"arrays/part{i}.npy", np.int32(i))
    assert "\n10\n" in run_hlo_run(program, REFERENCE, "--inputs=arrays").out


@pytest.mark.parametrize("save", [lambda file: np.savez(file, A, B), lambda file: np.save(file, A)], ids=["npz", "npy"])
def test_standard_input(run_hlo_run, save, monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    save(data)
    data.seek(0)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=data))
    entry = [] if "PK" in str(data.getvalue()[:4]) else ["--entry=double"]
    done = run_hlo_run(PROGRAM, REFERENCE, "--inputs=-", "--output=out.npz", *entry)
    assert done.status == 0, done.err
    np.testing.assert_array_equal(np.load("out.npz")["out_0"], 2 * A if entry else 2 * A - B)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--inputs=empty"], "the directory empty has no .npy files"),
        (["--inputs=text.npy"], "cannot read arrays from text.npy: it is neither a .npz nor a .npy file\n"),
        (
            ["--inputs=objects.npy"],
            "cannot read arrays from objects.npy: it holds Python objects, which are not loaded",
        ),
        # NumPy's error is one of Python's tokenizer.
        (["--inputs=damaged.npy"], "cannot read arrays from damaged.npy: ('EOF in multi-line statement', "),
        (["--output=one.npy"], "one.npy holds one array, but there are 2 results: give a .npz file or a directory"),
        (
            ["--output=a.npy", "--output=b.npy", "--output=c.npy"],
            "--output is given 3 times, and the number of results is 2",
        ),
        (["--output=text.npy/"], "cannot make the directory text.npy/: "),
        (["--output=none/a.npz"], "cannot write none/a.npz: No such file or directory"),
    ],
)
def test_files_that_cannot_be_read_or_written(run_hlo_run, flags: list[str], message: str) -> None:
    Path("empty").mkdir()
    Path("text.npy").write_text("text")
    np.save("objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save("damaged.npy", A)
    Path("damaged.npy").write_bytes(Path("damaged.npy").read_bytes().replace(b"}", b"{"))
    done = run_hlo_run(PROGRAM, REFERENCE, *flags)
    assert done.status == 1
    assert done.err.startswith(f"hlo-run: error: {message}")


# The entry -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_another_entry(run_hlo_run, target: str) -> None:
    flags = (f"--target={target}", "--input=3xf32=5,6,7")
    assert "[10., 12., 14.]" in run_hlo_run(PROGRAM, "--entry=@double", *flags).out
    assert "[5., 6., 7.]" in run_hlo_run(PROGRAM, "--entry=both", *flags).out
    assert "result 1" in run_hlo_run(PROGRAM, "--entry=main", *flags, "--input=3xf32=1").out


def test_entries_that_cannot_be(run_hlo_run) -> None:
    done = run_hlo_run(PROGRAM, REFERENCE, "--entry=doubel")
    assert done.status == 1
    assert "error: --entry: no function is named @doubel; did you mean @double?" in done.err
    assert "; there are @main, @double, @both" in run_hlo_run(PROGRAM, REFERENCE, "--entry=zzz").err
    assert ": error: --entry: @declared has no body" in run_hlo_run(PROGRAM, REFERENCE, "--entry=declared").err
    lowered = "module attributes {xhlo.program = {}} { }"
    assert "this one is lowered" in run_hlo_run(lowered, REFERENCE, "--entry=f").err


def test_values_become_text_only_where_text_is_written(run_hlo_run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of a million values takes seconds."""
    written: list[int] = []
    monkeypatch.setattr(run_arrays, "text_of", lambda index, array: written.append(index) or f"{index}\n")
    for flags in ([], ["-o", "all.npz"], ["-o", "each/"], ["-o", "0.npy", "-o", "1.npy"]):
        assert run_hlo_run(PROGRAM, REFERENCE, *flags).status == 0
    assert written == []
    assert run_hlo_run(PROGRAM, REFERENCE, "-o", "-").out == "0\n1\n"
    assert run_hlo_run(PROGRAM, REFERENCE, "-o", "0.npy", "-o", "1.txt").status == 0
    assert written == [0, 1, 1]


def test_timing_adds_up(run_hlo_run) -> None:
    done = run_hlo_run(PROGRAM, "--timing")
    rows = [(float(ms), name) for ms, _, name in (line.split(None, 2) for line in done.err.splitlines()[1:])]
    assert rows[0][1] == "import"
    assert rows[-1][0] == pytest.approx(sum(ms for ms, _ in rows[:-1]), abs=0.01 * len(rows))
