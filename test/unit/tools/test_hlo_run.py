"""hlo-run: arrays in and out, comparison, errors. Other files test the results of programs."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from xhlo.hlo_dialect.types import Array
from xhlo.tools.arrays import compare

PROGRAM = """func.func @main(%left: tensor<3xf32>, %right: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.subtract %left, %right : tensor<3xf32>
  return %0 : tensor<3xf32>
}
"""
A, B = np.float32([5, 6, 7]), np.float32([1, 2, 4])
REFERENCE = "--target=reference"


def _run_on(run_hlo_run, arrays: dict[str, Array], program: str = PROGRAM, *flags: str):
    np.savez("in.npz", **arrays)
    done = run_hlo_run(program, REFERENCE, "--inputs=in.npz", "--outputs=out.npz", *flags)
    outputs = list(np.load("out.npz").values()) if Path("out.npz").exists() else []
    return done, outputs


@pytest.mark.parametrize(
    "arrays",
    [{"in_1": B, "in_0": A, "out_0": A}, {"right": B, "left": A}, {"first": A, "second": B}],
    ids=["numbered", "named", "in order"],
)
def test_inputs_by_number_name_or_order(run_hlo_run, arrays: dict[str, Array]):
    done, (output,) = _run_on(run_hlo_run, arrays)
    assert done.status == 0, done.err
    np.testing.assert_array_equal(output, A - B)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"in_0": A}, "in.npz has 1 array (in_0); the program needs 2: in_0 of type tensor<3xf32>, in_1"),
        ({"in_0": A, "in_1": B.astype(np.float64)}, "in_1 is float64[3]; the program has tensor<3xf32> there"),
        ({"in_0": A, "in_1": B, "in_2": B}, "in.npz has 3 arrays (in_0, in_1, in_2); the program needs 2: in_0"),
        ({"in_0": A, "in_1": B[:2]}, "in_1 is float32[2]; the program has tensor<3xf32> there"),
    ],
)
def test_inputs_that_do_not_fit(run_hlo_run, arrays: dict[str, Array], message: str):
    done, _ = _run_on(run_hlo_run, arrays)
    assert done.status == 1
    assert message in done.err


def test_inputs_that_are_no_file_of_arrays(run_hlo_run):
    Path("in.npz").write_text("text")
    done = run_hlo_run(PROGRAM, REFERENCE, "--inputs=in.npz")
    assert done.status == 1
    assert done.err.startswith("hlo-run: error: cannot read arrays from in.npz: ")
    done = run_hlo_run(PROGRAM, REFERENCE, "--inputs=none.npz")
    assert done.err == "hlo-run: error: cannot read arrays from none.npz: No such file or directory\n"


def test_types_that_numpy_lacks_are_raw_bytes(run_hlo_run):
    program = PROGRAM.replace("xf32", "xbf16")
    a, b = A.astype(ml_dtypes.bfloat16), B.astype(ml_dtypes.bfloat16)
    done, (output,) = _run_on(run_hlo_run, {"in_0": a.view(np.uint16), "in_1": b.view(np.uint16)}, program)
    assert done.status == 0, done.err
    assert output.dtype == np.uint16
    np.testing.assert_array_equal(output.view(ml_dtypes.bfloat16), a - b)
    done = run_hlo_run(program, REFERENCE, "--inputs=in.npz", "--expect=out.npz")
    assert done.status == 0, done.out + done.err


def test_scalars_may_be_stored_as_one_element(run_hlo_run):
    program = PROGRAM.replace("3xf32", "f32")
    done, (output,) = _run_on(run_hlo_run, {"in_0": A[:1], "in_1": B[:1]}, program)
    assert done.status == 0, done.err
    assert output == A[0] - B[0]


def test_random_inputs_follow_the_seed(run_hlo_run):
    first, again, other = (run_hlo_run(PROGRAM, REFERENCE, f"--seed={seed}").out for seed in (1, 1, 2))
    assert first == again != other


def test_random_inputs_that_fill_the_memory(run_hlo_run):
    done = run_hlo_run(PROGRAM.replace("<3x", "<1152921504606846976x"), REFERENCE)
    assert done.status == 1
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @other() { return }\nfunc.func @more() { return }", "no function @main"),
        ("func.func @main(%x: i32) { return }", "argument 0 of type i32; hlo-run takes tensors"),
        ("func.func @main(%x: tensor<?xf32>) { return }", "give its sizes, --shape x=N, or --inputs"),
        ("func.func @main(", "error:"),
    ],
)
def test_programs_that_cannot_be_run(run_hlo_run, text: str, message: str):
    done = run_hlo_run(text, REFERENCE)
    assert done.status == 1
    assert message in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("other.mlir",), "one file at a time"),
        (("--seed=x",), "--seed takes a number"),
        (("--rtol=-1",), "--rtol takes a number that is not negative"),
        ((REFERENCE, "--compare=reference"), "compares the target reference with itself"),
        ((REFERENCE, "--profile"), "the reference has no kernels"),
        (("--target=gpu", "--num-replicas=2"), "are for the targets cpu and reference, not gpu"),
        (("--target=abacus",), "--target is one of cpu, nvptx, amdgcn, simt, gpu, reference"),
    ],
)
def test_wrong_command_lines(run_hlo_run, flags: tuple[str, ...], message: str):
    done = run_hlo_run(PROGRAM, *flags)
    assert done.status == 2
    assert message in done.err


# The comparison ------------------------------------------------------------------------------------------------


def test_floats_are_compared_by_size_or_rms():
    want = np.float32([1e-6, 100.0])
    assert compare(want + np.float32([1e-3, 0]), want).problem is None, "small beside the RMS"
    found = compare(np.float32([1e-6, 100.1]), want)
    assert found.problem is not None
    assert "at [1]: 100.0999" in found.problem
    assert found.absolute == pytest.approx(0.1, rel=1e-3)
    assert found.relative == pytest.approx(1e-3, rel=1e-3)
    assert compare(np.float32([1e-6, 100.1]), want, rtol=1e-2).problem is None


def test_ulp_is_the_number_of_values_between():
    want = np.float32([1.0, -2.0])
    assert compare(np.nextafter(want, np.float32(np.inf)), want).ulp == 1


def test_special_values_stand_in_the_same_places():
    want = np.float32([np.nan, np.inf, -np.inf, 0.0])
    assert compare(want, want).problem is None
    assert "first at [0]" in str(compare(np.float32([0, np.inf, -np.inf, 0]), want).problem)
    assert "first at [1]" in str(compare(np.float32([np.nan, -np.inf, -np.inf, 0]), want).problem)
    assert "first at [3]" in str(compare(np.float32([np.nan, np.inf, -np.inf, np.nan]), want).problem)
    minus = np.float32([np.nan, np.inf, -np.inf, -0.0])
    assert compare(minus, want).problem is None
    assert compare(minus, want, signed_zeros=True).problem == "zeros of other signs"


def test_integers_are_equal_or_not():
    want = np.array([[1, 2], [3, 2**63 - 1]], np.int64)
    assert compare(want, want).problem is None
    found = compare(want - np.array([[0, 0], [0, 1]]), want)
    assert "1 of 4 elements differ, first at [1, 1]" in str(found.problem)
    assert compare(np.array([True]), np.array([False])).problem is not None


def test_types_and_shapes_must_agree():
    assert compare(A, A.astype(np.float64)).problem == "got float32[3], expected float64[3]"
    assert compare(A, A[:2]).problem == "got float32[3], expected float32[2]"


def test_empty_and_scalar_arrays():
    assert compare(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)).problem is None
    assert compare(np.float32(1).reshape(()), np.float32(2).reshape(())).problem is not None
    assert compare(np.int32(1).reshape(()), np.int32(2).reshape(())).problem is not None
