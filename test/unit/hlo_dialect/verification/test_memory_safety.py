"""No code is made for a module whose types contradict each other: each is a diagnostic, on every target."""

from __future__ import annotations

import numpy as np
import pytest

import xhlo
from checkout import SHARED
from hlo_programs import Program
from xhlo.dialects.support.rewriting import set_type
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.op import replace_op
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.types import f32, make_tensor
from xhlo.passes.manager.places import pass_name
from xhlo.targets.program.pipeline import run_passes
from xhlo.targets.registry import get_target
from xhlo.tools import hlo_run

REPRODUCTIONS = SHARED / "reproductions" / "memory"
TARGETS = ("cpu", "simt", "reference")


@pytest.mark.long(3)
@pytest.mark.skipif(not REPRODUCTIONS.is_dir(), reason=f"the reproductions are not there: {REPRODUCTIONS}")
@pytest.mark.parametrize("target", TARGETS)
def test_reproductions_are_refused(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    for path in sorted(REPRODUCTIONS.glob("*.mlir")):
        assert hlo_run.main([f"--target={target}", str(path)]) == 1, path
        captured = capfd.readouterr()
        assert f"{path}:" in captured.err, captured.err
        assert "error: '" in captured.err
        assert "Traceback" not in captured.err


RESHAPED = """
  %s = hlo.constant dense<[{}]> : tensor<1xi32>
  %d = hlo.dynamic_reshape %x, %s : (tensor<1000xf32>, tensor<1xi32>) -> tensor<?xf32>
"""

CONTRADICTIONS = {
    "a result": "%r = hlo.abs %d : (tensor<?xf32>) -> tensor<4xf32>",
    "an operand": "%r = hlo.add %d, %y : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xf32>",
    "a slice": "%r = hlo.slice %d [1997:2001] : (tensor<?xf32>) -> tensor<4xf32>",
    "an update": "%z = hlo.constant dense<0> : tensor<i64>\n"
    "%r = hlo.dynamic_update_slice %y, %d, %z : (tensor<4xf32>, tensor<?xf32>, tensor<i64>) -> tensor<4xf32>",
    "a composite": '%r = hlo.composite "a.b" %d {decomposition = @f} : (tensor<?xf32>) -> tensor<4xf32>',
    "a branch": """%p = hlo.constant dense<true> : tensor<i1>
      %r = "hlo.if"(%p) ({ hlo.return %d : tensor<?xf32> }, { hlo.return %y : tensor<4xf32> }) : (tensor<i1>) -> tensor<4xf32>""",
    "a loop": """%r = "hlo.while"(%d) ({
      ^bb0(%a: tensor<?xf32>):
        %c = hlo.constant dense<false> : tensor<i1>
        hlo.return %c : tensor<i1>
      }, {
      ^bb0(%a: tensor<?xf32>):
        hlo.return %a : tensor<?xf32>
      }) : (tensor<?xf32>) -> tensor<4xf32>""",
    "a tuple": """%t = hlo.tuple %d, %y : tuple<tensor<?xf32>, tensor<4xf32>>
      %o = hlo.optimization_barrier %t : tuple<tensor<?xf32>, tensor<4xf32>>
      %e = hlo.get_tuple_element %o[0] : (tuple<tensor<?xf32>, tensor<4xf32>>) -> tensor<?xf32>
      %r = hlo.abs %e : (tensor<?xf32>) -> tensor<4xf32>""",
    "a complex number": """%c = hlo.complex %d, %d : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xcomplex<f32>>
      %r = hlo.real %c : (tensor<?xcomplex<f32>>) -> tensor<4xf32>""",
    "a size of a size": """%n = hlo.get_dimension_size %d, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %m = hlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %b = hlo.dynamic_broadcast_in_dim %y, %m, dims = [0] : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>
      %r = hlo.abs %b : (tensor<?xf32>) -> tensor<4xf32>""",
    "a concatenation": "%r = hlo.concatenate %d, %y, dim = 0 : (tensor<?xf32>, tensor<4xf32>) -> tensor<4xf32>",
    "a reshape": "%r = hlo.reshape %d : (tensor<?xf32>) -> tensor<4xf32>",
    "a transpose": "%r = hlo.transpose %d, dims = [0] : (tensor<?xf32>) -> tensor<4xf32>",
    "a broadcast": "%r = hlo.broadcast_in_dim %d, dims = [0] : (tensor<?xf32>) -> tensor<4xf32>",
    "a pad": "%z = hlo.constant dense<0.0> : tensor<f32>\n"
    "%r = hlo.pad %d, %z, low = [0], high = [0], interior = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<4xf32>",
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_sizes_that_become_known_and_disagree(what: str, target: str) -> None:
    text = f"""
    func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {{ func.return %x : tensor<?xf32> }}
    func.func @main(%x: tensor<1000xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
      {RESHAPED.format(1000)}
      {CONTRADICTIONS[what]}
      func.return %r : tensor<4xf32>
    }}"""
    inputs = np.ones(1000, np.float32), np.ones(4, np.float32)
    with pytest.raises(DiagnosticError) as caught:
        if target == "reference":
            Program(text).results(*inputs)
        else:
            xhlo.compile(text, target=target)
    assert all(diagnostic.location is not None for diagnostic in caught.value.diagnostics)


@pytest.mark.parametrize("size", [999, 1001, -1, 0])
def test_a_shape_that_the_operand_cannot_have(size: int) -> None:
    text = f"""
    func.func @main(%x: tensor<1000xf32>) -> tensor<?xf32> {{
      {RESHAPED.format(size)}
      func.return %d : tensor<?xf32>
    }}"""
    for target in ("cpu", "simt"):
        with pytest.raises(DiagnosticError, match="reshape_c"):
            xhlo.compile(text, target=target)


def test_a_value_of_another_type_is_no_replacement() -> None:
    module = parse_module(
        "func.func @f(%x: tensor<2xf32>) -> tensor<3xf32> {"
        "  %0 = hlo.iota dim = 0 : tensor<3xf32> func.return %0 : tensor<3xf32> }"
    )
    op = next(op for op in module.walk() if op.name == "hlo.iota")
    block = op.parent
    assert block is not None
    with pytest.raises(DiagnosticError, match=r"'hlo.iota' op has a result of type tensor<3xf32>, .* tensor<2xf32>"):
        replace_op(op, [], [block.args[0]])


@pytest.mark.parametrize("target", ["cpu", "simt", "nvptx"])
def test_every_target_verifies_before_it_makes_code(target: str) -> None:
    """No earlier pass can have noticed: the module is made invalid after the last."""
    backend, ctx = get_target(target), make_context()
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = hlo.abs %x : tensor<4xf32> func.return %0 : tensor<4xf32> }"
    module = parse_module(text, "a.mlir", ctx)
    specs = backend.passes_to("linalg")
    last = [pass_name(spec) for spec in specs].index("convert-hlo-to-linalg")
    run_passes(ctx, module, specs[:last])
    op = next(op for op in module.walk() if op.name == "hlo.abs")
    set_type(op.results[0], make_tensor((1000,), f32))
    with pytest.raises(DiagnosticError, match="abs_c1"):
        run_passes(ctx, module, specs[last:])


@pytest.mark.parametrize(
    ("shapes", "maps"),
    [
        (("memref<4xf32>", "memref<1000xf32>"), ("(d0) -> (d0)", "(d0) -> (d0)")),
        (("memref<8xf32>", "memref<8xf32>"), ("(d0) -> (d0 * 2)", "(d0) -> (d0)")),
        (("memref<8xf32>", "memref<8xf32>"), ("(d0) -> (d0 + -1)", "(d0) -> (d0)")),
    ],
)
@pytest.mark.parametrize("passes", ["convert-linalg-to-scf", "plan-gpu-kernels,map-kernels-to-gpu"])
def test_loops_stay_in_their_buffers(shapes: tuple[str, str], maps: tuple[str, str], passes: str) -> None:
    """The last check before addresses trusts no verifier, which would refuse the module when it is read."""
    x, out = shapes
    text = f"""
    func.func private @k(%x: {x}, %out: {out}) attributes {{hlo.kernel = "loop"}} {{
      linalg.generic {{indexing_maps = [affine_map<{maps[0]}>, affine_map<{maps[1]}>], iterator_types = ["parallel"]}}
        ins(%x : {x}) outs(%out : {out}) {{
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }}
      func.return
    }}
    func.func @main(%x: {x}, %out: {out}) {{
      func.call @k(%x, %out) : ({x}, {out}) -> ()
      func.return
    }}"""
    ctx = make_context()
    module = parse_module(text, "test.mlir", ctx, verify=False)
    with pytest.raises(DiagnosticError, match=r"'linalg.generic' op accesses elements .* of a buffer of"):
        run_passes(ctx, module, passes.split(","))
