"""
A package that adds operations and a target through entry points: nothing in xhlo names it, and they are like ours.

The package is written to a directory with the metadata that pip would install, and used by a process of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from checkout import ROOT
from tool_server import ToolServer

OPERATIONS = '''
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from xhlo.hlo_dialect.ops.elementwise import ElementwiseUnaryOp, Kind
from xhlo.hlo_dialect.op import HloOp, reject
from xhlo.hlo_dialect.types import element_of, make_tensor, shape_of


@irdl_op_definition
class SoftsignOp(ElementwiseUnaryOp):
    """x / (1 + |x|). Types: float (i1)."""

    name = "activations.softsign"
    KINDS: ClassVar[Kind] = Kind.FLOAT

    def compute(self, x: Any) -> Any:
        return x / (1 + np.abs(x))


@irdl_op_definition
class OuterOp(HloOp):
    """`result[i, j] = lhs[i] * rhs[j]`. Shapes: (m), (n) to (m, n)."""

    name = "activations.outer"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)"

    def infer_types(self):
        lhs, rhs = element_of(self.lhs), element_of(self.rhs)
        if lhs != rhs:
            reject(f"outer_c1: lhs has elements of type {lhs}, rhs of {rhs}")
        return (make_tensor(shape_of(self.lhs) + shape_of(self.rhs), element_of(self.lhs)),)

    def verify_(self) -> None:
        self.verify_inferred("outer_c2")

    def reference(self, *operands: Any) -> Any:
        return np.multiply.outer(*operands)


OPS = (SoftsignOp, OuterOp)
'''

LOWERINGS = '''
from typing import Any

from xhlo.dialects.support.scalar import Scalar
from xhlo.lowering.convert_hlo_to_linalg.emission import Emitter, dims_map, identity_map, iterators, signless
from xhlo.lowering.convert_hlo_to_linalg.narrow import in_single

from .operations import OuterOp, SoftsignOp


def _softsign(op: SoftsignOp, x: Scalar) -> Scalar:
    return x / (x.abs() + 1.0)


_product = in_single(lambda op, x, y: x * y)


def _outer(op: OuterOp, emitter: Emitter) -> None:
    """`activations.outer %x, %y` reads %x at (d0) and %y at (d1)."""
    inputs = [emitter.get(operand) for operand in op.operands]
    maps = (dims_map(2, (0,)), dims_map(2, (1,)), identity_map(2))
    empty = emitter.empty(signless(op.result.type))
    results = emitter.generic(inputs, [empty], maps, iterators(2), lambda x, y, _: _product(op, x, y))
    emitter.define(op.result, results[0])


SCALARS = ((SoftsignOp, in_single(_softsign)),)
PATTERNS = ((OuterOp, _outer),)
'''

TARGET = '''
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference import evaluate
from xhlo.passes.manager.pipelines import LOWER_LINALG
from xhlo.targets.program.executable import Executable
from xhlo.targets.program.target import Target


class Abacus(Target):
    """Counts the kernels, and leaves the arithmetic to the reference interpreter."""

    name = "abacus"
    summary = "beads"
    lowering = {"linalg": LOWER_LINALG}
    options = ("math",)

    def __init__(self, math="default"):
        self.math = math

    @property
    def machine(self):
        return self.math

    @property
    def emitters(self):
        return {"beads": lambda module: "o" * sum("hlo.kernel" in op.attributes for op in module.ops) + self.math}

    def configured(self, options):
        return Abacus(**options)

    def build(self, lowering, text_at):
        lowering.to("linalg")
        return AbacusExecutable(lowering.facts, text_at)


class AbacusExecutable(Executable):
    def __call__(self, *arguments):
        self.check_count(arguments)
        return self.results(evaluate(parse_module(self.as_text(), "<abacus>", make_context()), arguments))

    def serialize(self):
        raise ValueError("beads do not keep")


ABACUS = Abacus()
'''

ENTRY_POINTS = """
[xhlo.ops]
activations = activations.operations:OPS

[xhlo.scalar_lowerings]
activations = activations.lowerings:SCALARS

[xhlo.lowerings]
activations = activations.lowerings:PATTERNS

[xhlo.targets]
abacus = activations.target:ABACUS
cpu = activations.target:ABACUS
"""

METADATA = "Metadata-Version: 2.1\nName: activations\nVersion: 1.0\n"

PROGRAM = """
func.func @main(%x: tensor<64xf32>, %y: tensor<32xf32>) -> tensor<64x32xf32> {
  %0 = hlo.negate %x : tensor<64xf32>
  %1 = activations.softsign %0 : tensor<64xf32>
  %2 = hlo.multiply %1, %x : tensor<64xf32>
  %3 = activations.outer %2, %y : (tensor<64xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %4 = activations.softsign %3 : tensor<64x32xf32>
  %5 = hlo.add %4, %3 : tensor<64x32xf32>
  return %5 : tensor<64x32xf32>
}
"""


@dataclass(frozen=True)
class Site:
    """A directory with the program as program.mlir, and processes that find the package, in packages/ elsewhere."""

    folder: Path
    packages: Path
    server: ToolServer

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the package as pip would install it."""
    folder = tmp_path_factory.mktemp("packages")
    files = {
        "activations/__init__.py": "",
        "activations/operations.py": OPERATIONS,
        "activations/lowerings.py": LOWERINGS,
        "activations/target.py": TARGET,
        "activations-1.0.dist-info/METADATA": METADATA,
        "activations-1.0.dist-info/entry_points.txt": ENTRY_POINTS,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def site(tmp_path: Path, packages: Path, tool_server: ToolServer) -> Site:
    (tmp_path / "program.mlir").write_text(PROGRAM)
    return Site(tmp_path, packages, tool_server)


def run(site: Site, tool: str, *arguments: str, installed: bool = True) -> subprocess.CompletedProcess[str]:
    path = [ROOT, site.packages] if installed else [ROOT]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    command = [*site.server.command(tool), *arguments]
    return subprocess.run(command, cwd=site.folder, env=environment, capture_output=True, text=True, check=False)


def hlo_opt(site: Site, *arguments: str, installed: bool = True) -> subprocess.CompletedProcess[str]:
    return run(site, "hlo-opt", *arguments, installed=installed)


@pytest.mark.long
def test_its_operations_are_read_and_printed(site: Site):
    for flags in ((), ("--print-generic",)):
        done = hlo_opt(site, "program.mlir", *flags)
        assert done.returncode == 0, done.stderr
        (site / "again.mlir").write_text(done.stdout)
        assert hlo_opt(site, "again.mlir").stdout == hlo_opt(site, "program.mlir").stdout


def test_they_are_unknown_without_the_package(site: Site):
    done = hlo_opt(site, "program.mlir", installed=False)
    assert done.returncode == 1
    assert "program.mlir:4:" in done.stderr and "activations.softsign" in done.stderr


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            "%0 = activations.softsign %i : tensor<4xi32>",
            "softsign_i1: operand has element type i32, expected float",
        ),
        (
            "%0 = activations.outer %x, %i : (tensor<4xf32>, tensor<4xi32>) -> tensor<4x4xf32>",
            "outer_c1: lhs has elements of type f32, rhs of i32",
        ),
        (
            "%0 = activations.outer %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x5xf32>",
            "outer_c2: result has type tensor<4x5xf32>, expected tensor<4x4xf32>",
        ),
    ],
)
def test_their_verifiers_run(site: Site, line: str, error: str):
    program = f"func.func @f(%x: tensor<4xf32>, %i: tensor<4xi32>) {{\n  {line}\n  return\n}}\n"
    (site / "broken.mlir").write_text(program)
    done = hlo_opt(site, "broken.mlir")
    assert done.returncode == 1
    assert "broken.mlir:2:" in done.stderr and error in done.stderr


def test_elementwise_ones_fuse_and_others_are_kernels(site: Site):
    done = hlo_opt(site, "program.mlir", "--fuse", "--fuse-remarks", "--outline-kernels")
    assert done.returncode == 0, done.stderr
    before, kernel, after = done.stdout.split("func.func private")[1:]
    assert [name in before for name in ("hlo.negate", "activations.softsign", "hlo.multiply")] == [True] * 3
    assert 'hlo.kernel = "custom"' in kernel and "activations.outer" in kernel
    assert [name in after for name in ("activations.softsign", "hlo.add")] == [True] * 2
    assert "fused hlo.negate into the loop fusion of activations.softsign" in done.stderr
    assert (
        "not fused activations.outer with activations.softsign: activations.outer is a kernel of its own" in done.stderr
    )


@pytest.mark.parametrize("flags", [("--lower=linalg",), ("--fuse", "--lower")])
def test_they_are_lowered(site: Site, flags: tuple[str, ...]):
    done = hlo_opt(site, "program.mlir", *flags)
    assert done.returncode == 0, done.stderr
    assert not re.findall(r"\b(?:activations|hlo)\.(?!kernel)\w+", done.stdout)


def test_they_compile_and_agree_with_the_reference(site: Site):
    done = run(site, "hlo-run", "program.mlir", "--compare=reference")
    assert done.returncode == 0, done.stderr
    assert " ok" in done.stdout
    (site / "program.py").write_text(
        "import numpy as np, xhlo\n"
        "exe = xhlo.compile('program.mlir')\n"
        "x, y = np.linspace(-3, 3, 64, dtype=np.float32), np.linspace(-1, 2, 32, dtype=np.float32)\n"
        "softsign = lambda v: v / (1 + abs(v))\n"
        "outer = np.multiply.outer(softsign(-x) * x, y)\n"
        "np.testing.assert_allclose(exe(x, y), softsign(outer) + outer, rtol=1e-5, atol=1e-6)\n"
        "print(*(kernel.kind for kernel in exe.kernels))\n"
    )
    done = run(site, "python", "program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["loop", "custom", "loop"]


def test_its_target_lowers_and_emits(site: Site):
    done = hlo_opt(site, "program.mlir", "--fuse", "--target=abacus", "--lower")
    assert done.returncode == 0, done.stderr
    assert "linalg.generic" in done.stdout and "scf." not in done.stdout
    done = hlo_opt(site, "program.mlir", "--fuse", "--target=abacus", "--emit=beads", "--math=fast")
    assert (done.returncode, done.stdout.strip()) == (0, "ooofast"), done.stderr
    done = hlo_opt(site, "program.mlir", "--target=abacus", "--emit=ptx")
    assert (
        done.returncode == 2
        and "target abacus does not emit ptx; it emits mlir, bytecode, hlo-text, beads" in done.stderr
    )


def test_its_target_runs(site: Site):
    done = run(site, "hlo-run", "program.mlir", "--target=abacus", "--compare=cpu")
    assert done.returncode == 0, done.stderr
    assert "abacus against cpu:" in done.stdout and " ok" in done.stdout
    (site / "program.py").write_text(
        "import xhlo\n"
        "exe = xhlo.compile('program.mlir', target='abacus')\n"
        "print(type(exe).__name__, exe.as_text('beads'), len(exe.kernels), exe.input_types[0].shape)\n"
        "print(type(xhlo.compile('program.mlir')).__name__)\n"
    )
    done = run(site, "python", "program.py")
    assert done.stdout.splitlines() == ["AbacusExecutable ooodefault 3 (64,)", "CpuExecutable"], done.stderr


def test_its_target_is_unknown_without_the_package(site: Site):
    done = hlo_opt(site, "program.mlir", "--target=abacus", installed=False)
    assert done.returncode == 2
    assert "no target is named 'abacus'; there are: cpu, nvptx, amdgcn, simt" in done.stderr
    done = run(site, "hlo-run", "program.mlir", "--target=abacus", installed=False)
    assert done.returncode == 2
    assert "--target is one of cpu, nvptx, amdgcn, simt, gpu, reference, not 'abacus'" in done.stderr
