"""hlo-fuzz: checks, shrinking, exit status."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from xhlo.hlo_dialect.arrays import Array
from xhlo.hlo_dialect.ops.elementwise_unary import FloorOp
from xhlo.targets.cpu.target import Cpu
from xhlo.targets.cpu.threads import thread_count
from xhlo.targets.program.lowering import Lowering
from xhlo.tools import hlo_fuzz
from xhlo.tools.fuzzing import hostile, settings
from xhlo.tools.fuzzing.isolation import Limits
from xhlo.tools.fuzzing.operations import random_program
from xhlo.tools.fuzzing.programs import PROFILES
from xhlo.tools.fuzzing.shrinking import failure, shrunk

# JAX, which other tests load into this process, warns of forks; the forked checks run none of its code.
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")


def test_programs_that_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert hlo_fuzz.main(["--count=3", "--seed=5", "--check=text"]) == 0
    assert capsys.readouterr() == ("", "3 programs, 0 failed\n")


def test_padding_takes_part_in_sums_of_windows() -> None:
    """Half of the elements of this program's windows lie between those of the operand, and are initial values."""
    assert hlo_fuzz.main(["--profile=large", "--seed=894265", "--count=1"]) == 0


def test_print_names_each_program_by_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    assert hlo_fuzz.main(["--print", "--count=2", "--seed=3", "--profile=shared"]) == 0
    printed = capsys.readouterr().out
    first = random_program(random.Random(3), PROFILES["shared"]).text
    assert printed.startswith(f"// shared 3\n{first}\n// shared 4\n")


def test_the_profiles_of_the_command_line_are_those_there_are() -> None:
    assert tuple(PROFILES) == settings.PROFILES


FLOORS = """func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.floor %0 : tensor<4xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<4xf32>
  %3 = stablehlo.negate %y : tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}
"""


def test_a_wrong_operation_is_found_and_the_program_made_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a reference that is off by one in floor, only floor and an operation that squares it are left."""
    right = FloorOp.compute
    monkeypatch.setattr(FloorOp, "compute", lambda op, x: right(op, x) + 1)
    (tmp_path / "floors.mlir").write_text(FLOORS)
    np.savez(tmp_path / "in.npz", in_0=np.float32([3, 1, 4, 1]), in_1=np.float32([5, 9, 2, 6]))
    status = hlo_fuzz.main([str(tmp_path / "floors.mlir"), f"--inputs={tmp_path / 'in.npz'}", "--shrink"])
    printed, summary = capsys.readouterr()
    assert (status, summary) == (1, "1 programs, 1 failed\n")
    program = printed[printed.index("builtin.module") :]
    assert "stablehlo.floor" in program
    assert "stablehlo.add" not in program and "stablehlo.negate" not in program


def test_bits_that_depend_on_the_number_of_threads_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sum.mlir").write_text(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = hlo.add %x, %x : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n"
    )
    assert hlo_fuzz.main([str(tmp_path / "sum.mlir"), "--check=threads"]) == 0

    def doubled(x: Array) -> Array:
        return x + x + np.float32(1e-6 if thread_count() == 3 else 0)

    def build(target: Cpu, lowering: Lowering, text_at: object) -> object:
        return doubled

    monkeypatch.setattr(Cpu, "build", build)
    assert hlo_fuzz.main([str(tmp_path / "sum.mlir"), "--check=threads"]) == 1
    assert "3 threads compute other bits than one" in capsys.readouterr().out


def test_a_check_that_holds_leaves_the_program_as_it_is() -> None:
    program = random_program(random.Random(1))
    assert failure(program, "text") is None
    assert shrunk(program, "text") is program


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.mlir", "b.mlir"], "one file at a time"),
        (["--inputs=x.npz"], "--inputs goes with a file"),
        (["a.mlir", "--count=3"], "not for a file"),
        (["--check=nothing"], "--check"),
    ],
)
def test_wrong_command_lines(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert hlo_fuzz.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert hlo_fuzz.main(["nowhere.mlir"]) == 1
    assert capsys.readouterr().err.startswith("hlo-fuzz: error: ")


@pytest.mark.parametrize("text", [b"func.func @main() {\n\x00\x01 }", b"\xff\xfe", b"ML\xefR"])
def test_binary_files_have_no_place_to_name(text: bytes) -> None:
    assert hostile.problem(hostile.Case(("hlo-opt",), text), Limits()) is None
