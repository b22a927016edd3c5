"""fuse-hlo: the number and kinds of kernels, the same results, little work."""

from __future__ import annotations

import random
from collections import Counter
from typing import ClassVar

import pytest
from xdsl.irdl import irdl_op_definition

from counting import calls
from fusion_programs import FRONT, program, random_program, same_results
from hlo_programs import Program
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.op import CHEAP, EXPENSIVE, HloOp
from xhlo.hlo_dialect.ops.control_flow import ReturnOp
from xhlo.hlo_dialect.ops.elementwise_unary import TranscendentalOp
from xhlo.hlo_dialect.ops.fusion import FusionOp
from xhlo.hlo_dialect.reading import parse_module
from xhlo.passes.fuse_hlo import clusters
from xhlo.passes.fuse_hlo.decisions import Verdict
from xhlo.passes.fuse_hlo.epilogues import fuse_epilogues
from xhlo.passes.fuse_hlo.graph import is_affine_reshape, role_of
from xhlo.passes.fuse_hlo.plan import plan_block
from xhlo.passes.manager.pipelines import build_passes


def fuse(text: str, pipeline: str = FRONT + "fuse-hlo"):
    """The fused module and the remarks."""
    fused = Program(text).after(pipeline)
    return fused.module, fused.messages


def kinds(text: str, pipeline: str = FRONT + "fuse-hlo") -> Counter[str]:
    module, _ = fuse(text, pipeline)
    return Counter(op.kind.data for op in module.walk() if isinstance(op, FusionOp))


MEAN = program(
    "%x: tensor<64x32xf32>, %y: tensor<64x32xf32>",
    """
  %three = hlo.constant dense<3.0> : tensor<f32>
  %b = hlo.broadcast_in_dim %three, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
  %0 = hlo.multiply %b, %x : tensor<64x32xf32>
  %1 = hlo.multiply %0, %x : tensor<64x32xf32>
  %2 = hlo.add %1, %y : tensor<64x32xf32>
  %zero = hlo.constant dense<0.0> : tensor<f32>
  %3 = hlo.reduce(%2 init: %zero) applies hlo.add across dimensions = [0, 1]
       : (tensor<64x32xf32>, tensor<f32>) -> tensor<f32>
  %n = hlo.constant dense<2048.0> : tensor<f32>
  %4 = hlo.divide %3, %n : tensor<f32>
  return %4 : tensor<f32>""",
    "tensor<f32>",
)


def softmax(shape: str, lead: str, rank: int) -> str:
    dims = list(range(rank))
    return program(
        f"%x: tensor<{shape}xf32>",
        f"""
  %ninf = hlo.constant dense<0xFF800000> : tensor<f32>
  %m = hlo.reduce(%x init: %ninf) applies hlo.maximum across dimensions = [{rank - 1}]
       : (tensor<{shape}xf32>, tensor<f32>) -> tensor<{lead}xf32>
  %nb = hlo.broadcast_in_dim %ninf, dims = [] : (tensor<f32>) -> tensor<{lead}xf32>
  %m2 = hlo.maximum %nb, %m : tensor<{lead}xf32>
  %b1 = hlo.reshape %m2 : (tensor<{lead}xf32>) -> tensor<{lead}x1xf32>
  %b2 = hlo.broadcast_in_dim %b1, dims = {dims} : (tensor<{lead}x1xf32>) -> tensor<{shape}xf32>
  %s = hlo.subtract %x, %b2 : tensor<{shape}xf32>
  %e = hlo.exponential %s : tensor<{shape}xf32>
  %z = hlo.constant dense<0.0> : tensor<f32>
  %sum = hlo.reduce(%e init: %z) applies hlo.add across dimensions = [{rank - 1}]
       : (tensor<{shape}xf32>, tensor<f32>) -> tensor<{lead}xf32>
  %c1 = hlo.broadcast_in_dim %sum, dims = {dims[:-1]} : (tensor<{lead}xf32>) -> tensor<{lead}x1xf32>
  %c2 = hlo.broadcast_in_dim %c1, dims = {dims} : (tensor<{lead}x1xf32>) -> tensor<{shape}xf32>
  %d = hlo.divide %e, %c2 : tensor<{shape}xf32>
  return %d : tensor<{shape}xf32>""",
        f"tensor<{shape}xf32>",
    )


LAYERNORM = program(
    "%x: tensor<16x32xf32>, %gamma: tensor<32xf32>, %beta: tensor<32xf32>",
    """
  %z = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %z) applies hlo.add across dimensions = [1]
       : (tensor<16x32xf32>, tensor<f32>) -> tensor<16xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
  %n = hlo.constant dense<32.0> : tensor<16x1xf32>
  %mean = hlo.divide %1, %n : tensor<16x1xf32>
  %2 = hlo.broadcast_in_dim %mean, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x32xf32>
  %3 = hlo.subtract %x, %2 : tensor<16x32xf32>
  %4 = hlo.multiply %3, %3 : tensor<16x32xf32>
  %5 = hlo.reduce(%4 init: %z) applies hlo.add across dimensions = [1]
       : (tensor<16x32xf32>, tensor<f32>) -> tensor<16xf32>
  %6 = hlo.broadcast_in_dim %5, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
  %7 = hlo.divide %6, %n : tensor<16x1xf32>
  %eps = hlo.constant dense<1.0e-5> : tensor<16x1xf32>
  %8 = hlo.add %7, %eps : tensor<16x1xf32>
  %9 = hlo.rsqrt %8 : tensor<16x1xf32>
  %10 = hlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x32xf32>
  %11 = hlo.multiply %3, %10 : tensor<16x32xf32>
  %12 = hlo.broadcast_in_dim %gamma, dims = [1] : (tensor<32xf32>) -> tensor<16x32xf32>
  %13 = hlo.multiply %11, %12 : tensor<16x32xf32>
  %14 = hlo.broadcast_in_dim %beta, dims = [1] : (tensor<32xf32>) -> tensor<16x32xf32>
  %15 = hlo.add %13, %14 : tensor<16x32xf32>
  return %15 : tensor<16x32xf32>""",
    "tensor<16x32xf32>",
)

SIBLINGS = program(
    "%x: tensor<64xf32>, %y: tensor<64xf32>",
    """
  %0 = hlo.exponential %x : tensor<64xf32>
  %1 = hlo.add %0, %y : tensor<64xf32>
  %2 = hlo.multiply %0, %x : tensor<64xf32>
  return %1, %2 : tensor<64xf32>, tensor<64xf32>""",
    "(tensor<64xf32>, tensor<64xf32>)",
)

MEAN_AND_VARIANCE = program(
    "%x: tensor<16x32xf32>",
    """
  %z = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %z) applies hlo.add across dimensions = [0]
       : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
  %1 = hlo.multiply %x, %x : tensor<16x32xf32>
  %2 = hlo.reduce(%1 init: %z) applies hlo.add across dimensions = [0]
       : (tensor<16x32xf32>, tensor<f32>) -> tensor<32xf32>
  return %0, %2 : tensor<32xf32>, tensor<32xf32>""",
    "(tensor<32xf32>, tensor<32xf32>)",
)

ARGMAX = program(
    "%x: tensor<8x100xf32>",
    """
  %i = hlo.iota dim = 1 : tensor<8x100xi32>
  %ninf = hlo.constant dense<0xFF800000> : tensor<f32>
  %zero = hlo.constant dense<0> : tensor<i32>
  %sq = hlo.multiply %x, %x : tensor<8x100xf32>
  %0:2 = hlo.reduce(%sq init: %ninf), (%i init: %zero) across dimensions = [1]
       : (tensor<8x100xf32>, tensor<8x100xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
      %1 = hlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = hlo.select %1, %a, %b : tensor<i1>, tensor<f32>
      %3 = hlo.select %1, %c, %d : tensor<i1>, tensor<i32>
      hlo.return %2, %3 : tensor<f32>, tensor<i32>
    }
  return %0#1 : tensor<8xi32>""",
    "tensor<8xi32>",
)

BATCHNORM = program(
    "%x: tensor<64x32xf32>",
    """
  %z = hlo.constant dense<0.0> : tensor<f32>
  %0 = hlo.reduce(%x init: %z) applies hlo.add across dimensions = [0]
       : (tensor<64x32xf32>, tensor<f32>) -> tensor<32xf32>
  %n = hlo.constant dense<64.0> : tensor<32xf32>
  %1 = hlo.divide %0, %n : tensor<32xf32>
  %2 = hlo.broadcast_in_dim %1, dims = [1] : (tensor<32xf32>) -> tensor<64x32xf32>
  %3 = hlo.subtract %x, %2 : tensor<64x32xf32>
  return %3 : tensor<64x32xf32>""",
    "tensor<64x32xf32>",
)

CHAIN = program(
    "%x: tensor<1024xf32>",
    "\n".join(
        f"  %{i + 1} = hlo.{name} %{i if i else 'x'} : tensor<1024xf32>"
        for i, name in enumerate(["exponential", "tanh", "log_plus_one", "negate"] * 3)
    )
    + "\n  return %12 : tensor<1024xf32>",
    "tensor<1024xf32>",
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(MEAN, {"reduce": 1}, id="mean"),
        pytest.param(softmax("16x128", "16", 2), {"row": 1}, id="softmax"),
        pytest.param(softmax("2x4x12x12", "2x4x12", 4), {"row": 1}, id="attention_softmax"),
        pytest.param(softmax("2x100000", "2", 2), {"loop": 2, "reduce": 2}, id="softmax_of_few_rows"),
        pytest.param(LAYERNORM, {"row": 1}, id="layernorm"),
        pytest.param(SIBLINGS, {"loop": 1}, id="siblings"),
        pytest.param(MEAN_AND_VARIANCE, {"reduce": 1}, id="mean_and_variance"),
        pytest.param(ARGMAX, {"reduce": 1}, id="argmax"),
        pytest.param(BATCHNORM, {"reduce": 1, "loop": 1}, id="batchnorm"),
        pytest.param(CHAIN, {"loop": 1}, id="chain"),
    ],
)
def test_kernels(text: str, wanted: dict[str, int]) -> None:
    assert kinds(text) == wanted


@pytest.mark.parametrize(
    "text", [MEAN, softmax("4x8", "4", 2), LAYERNORM, SIBLINGS, MEAN_AND_VARIANCE, ARGMAX, BATCHNORM]
)
@pytest.mark.parametrize("strategy", ["default", "none"])
def test_results_stay(text: str, strategy: str) -> None:
    same_results(text, f"{FRONT}fuse-hlo{{strategy={strategy}}},outline-kernels")


def test_every_operation_alone() -> None:
    found = kinds(MEAN, "fuse-hlo{strategy=none}")
    assert found == {"loop": 5, "reduce": 1}


def test_reasons_are_given() -> None:
    text = program(
        "%x: tensor<8x16xf32>, %w: tensor<16x512xf32>",
        """
  %0 = hlo.exponential %x : tensor<8x16xf32>
  %1 = hlo.dot_general %0, %w, contracting_dims = [1] x [0]
       : (tensor<8x16xf32>, tensor<16x512xf32>) -> tensor<8x512xf32>
  return %1 : tensor<8x512xf32>""",
        "tensor<8x512xf32>",
    )
    _, said = fuse(text)
    assert said == ["not fused hlo.exponential with hlo.dot_general: would be recomputed 512x"]


def test_expensive_producers_are_not_computed_twice() -> None:
    text = program(
        "%x: tensor<64xf32>",
        """
  %0 = hlo.exponential %x : tensor<64xf32>
  %1 = hlo.broadcast_in_dim %0, dims = [1] : (tensor<64xf32>) -> tensor<512x64xf32>
  %2 = hlo.negate %1 : tensor<512x64xf32>
  return %2 : tensor<512x64xf32>""",
        "tensor<512x64xf32>",
    )
    module, said = fuse(text)
    assert Counter(op.kind.data for op in module.walk() if isinstance(op, FusionOp)) == {"loop": 2}
    assert "not fused hlo.exponential with hlo.broadcast_in_dim: would be recomputed 512x" in said


@pytest.mark.parametrize("size, count", [(4, 1), (4096, 3)])
def test_a_kernel_writes_few_large_results(size: int, count: int) -> None:
    """40 sums that share an operand: one kernel if they are small, several if each reads memory of its own."""
    type_ = f"tensor<{size}xf32>"
    sums = [f"  %r{i} = hlo.add %x, %y{i} : {type_}" for i in range(20)]
    products = [f"  %r{i} = hlo.multiply %x, %y{i - 20} : {type_}" for i in range(20, 40)]
    names = ", ".join(f"%r{i}" for i in range(40))
    types = ", ".join([type_] * 40)
    parameters = ", ".join(["%x: " + type_, *(f"%y{i}: {type_}" for i in range(20))])
    text = program(parameters, "\n".join([*sums, *products, f"  return {names} : {types}"]), f"({types})")
    assert kinds(text) == {"loop": count}


TWO_PRODUCTS = program(
    "%x: tensor<64x96xf32>, %w: tensor<96x96xf32>",
    """
  %0 = hlo.dot_general %x, %w, contracting_dims = [1] x [0]
       : (tensor<64x96xf32>, tensor<96x96xf32>) -> tensor<64x96xf32> loc("layer.py":7:1)
  %1 = hlo.transpose %0, dims = [1, 0] : (tensor<64x96xf32>) -> tensor<96x64xf32>
  %2 = hlo.dot_general %1, %x, contracting_dims = [1] x [0]
       : (tensor<96x64xf32>, tensor<64x96xf32>) -> tensor<96x96xf32> loc("layer.py":7:1)
  %3 = hlo.tanh %2 : tensor<96x96xf32>
  return %3 : tensor<96x96xf32>""",
    "tensor<96x96xf32>",
)


def test_decisions_are_about_operations() -> None:
    """Two products with one location: each decision refers to its own operations, before any is printed."""
    module = parse_module(TWO_PRODUCTS, "<test>", make_context())
    block = next(iter(module.body.block.ops)).body.block
    first, transpose, second, tanh, _ = block.ops
    apart, moved, product = plan_block(block, "default").decisions
    assert plan_block(block, "default", remarks=False).decisions == ()
    assert (apart.verdict, apart.node, apart.user) == (Verdict.APART, first, transpose)
    assert (moved.verdict, moved.node, moved.user) == (Verdict.APART, transpose, second)
    assert moved.reason == "would be recomputed 96x"
    assert (product.verdict, product.node, product.user) == (Verdict.APART, second, tanh)
    assert first.location == second.location
    with pytest.raises(AttributeError):
        product.reason = "another"  # pyright: ignore


def test_an_epilogue_is_a_decision_about_its_own_product() -> None:
    module, _ = fuse(TWO_PRODUCTS, "fuse-hlo{epilogues=none}")
    block = next(iter(module.body.block.ops)).body.block
    products = [op for op in block.walk() if op.name == "hlo.dot_general"]
    (joined,) = fuse_epilogues(block, (), convolutions=True)
    assert joined.verdict is Verdict.EPILOGUE
    assert (joined.node, joined.user.name, joined.saved) == (products[1], "hlo.tanh", 2 * 96 * 96 * 4)


def test_no_cycle_through_a_contraction() -> None:
    """%0 is used by the dot and by the add that needs the dot: a fusion of %0 and %2 would need its own result."""
    text = program(
        "%x: tensor<8x8xf32>",
        """
  %0 = hlo.exponential %x : tensor<8x8xf32>
  %1 = hlo.dot_general %0, %0, contracting_dims = [1] x [0]
       : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = hlo.add %0, %1 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>""",
        "tensor<8x8xf32>",
    )
    module, said = fuse(text)
    assert Counter(op.kind.data for op in module.walk() if isinstance(op, FusionOp)) == {"loop": 1, "dot": 1}
    assert "not fused hlo.exponential with hlo.add: hlo.dot_general needs the one and is needed by the other" in said


def test_a_new_elementwise_operation_fuses() -> None:
    @irdl_op_definition
    class GeluOp(TranscendentalOp):
        name = "hlo.test_gelu"

    context = make_context()
    module = parse_module(SIBLINGS, "<test>", context)
    old = next(op for op in module.walk() if op.name == "hlo.exponential")
    new = GeluOp.create(operands=list(old.operands), result_types=list(old.result_types))
    old.parent.insert_op_before(new, old)
    old.results[0].replace_all_uses_with(new.results[0])
    for each in build_passes("fuse-hlo"):
        each.apply(context, module)
    fusions = [op for op in module.walk() if isinstance(op, FusionOp)]
    assert len(fusions) == 1
    assert role_of(new) == "elementwise"
    assert "hlo.test_gelu" in [op.name for op in fusions[0].body.block.ops]


TWO_REDUCTIONS = program(
    "%x: tensor<64x32xf32>, %z: tensor<f32>",
    """
  %0 = hlo.tanh %x : tensor<64x32xf32>
  %1 = hlo.reduce(%0 init: %z) applies hlo.add across dimensions = [0]
       : (tensor<64x32xf32>, tensor<f32>) -> tensor<32xf32>
  %2 = hlo.reduce(%0 init: %z) applies hlo.add across dimensions = [1]
       : (tensor<64x32xf32>, tensor<f32>) -> tensor<64xf32>
  return %1, %2 : tensor<32xf32>, tensor<64xf32>""",
    "(tensor<32xf32>, tensor<64xf32>)",
)


def test_a_new_operation_states_its_cost() -> None:
    """An operation is computed in each of two fusions if its class states that it is cheap, and only once if not."""

    @irdl_op_definition
    class PolynomialOp(TranscendentalOp):
        name = "test.polynomial"

    @irdl_op_definition
    class FlipOp(TranscendentalOp):
        name = "test.flip"
        COST: ClassVar[int] = CHEAP

    for cls, verdicts in ((PolynomialOp, [Verdict.APART] * 2), (FlipOp, [Verdict.REPEATED] * 2)):
        module = parse_module(TWO_REDUCTIONS, "<test>", make_context())
        block = next(iter(module.body.block.ops)).body.block
        old = block.first_op
        new = cls.create(operands=list(old.operands), result_types=list(old.result_types))
        block.insert_op_before(new, old)
        old.results[0].replace_all_uses_with(new.results[0])
        old.detach()
        old.erase()
        assert [decision.verdict for decision in plan_block(block, "default").decisions] == verdicts
    assert PolynomialOp.COST == HloOp.COST == EXPENSIVE


def test_unknown_operations_are_refused_by_name() -> None:
    text = program(
        "%x: tensor<4xi32>",
        """
  %0 = hlo.tuple %x : tuple<tensor<4xi32>>
  %1 = hlo.get_tuple_element %0[0] : (tuple<tensor<4xi32>>) -> tensor<4xi32>
  return %1 : tensor<4xi32>""",
        "tensor<4xi32>",
    )
    with pytest.raises(DiagnosticError, match=r"'hlo.tuple' op is not supported by fuse-hlo"):
        fuse(text, "fuse-hlo")


@pytest.mark.parametrize(
    ("source", "target", "affine"),
    [
        ((12,), (3, 4), True),
        ((3, 4), (12,), False),
        ((1, 3), (3,), True),
        ((3,), (1, 3, 1), True),
        ((6, 4), (2, 3, 4), True),
        ((6, 4), (2, 12), False),
        ((2, 0), (0,), False),
        ((), (1, 1), True),
    ],
)
def test_affine_reshapes(source: tuple[int, ...], target: tuple[int, ...], affine: bool) -> None:
    assert is_affine_reshape(source, target) == affine


@pytest.mark.long(3)
@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(40))
def test_random_programs_keep_their_results(seed: int) -> None:
    rng = random.Random(seed)
    same_results(random_program(rng, rng.randint(5, 60)), FRONT + "fuse-hlo,outline-kernels", seed)


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(40, 60))
def test_random_programs_without_simplification(seed: int) -> None:
    rng = random.Random(seed)
    same_results(random_program(rng, rng.randint(5, 60)), "fuse-hlo,outline-kernels", seed)


@pytest.mark.parametrize("seed", range(60, 66))
def test_windows_keep_results(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block longer than a window: fusions that end at its border, operations repeated after it."""
    monkeypatch.setattr(clusters, "WINDOW", 7)
    rng = random.Random(seed)
    same_results(random_program(rng, 40), FRONT + "fuse-hlo,outline-kernels", seed)


@pytest.mark.long(3)
@pytest.mark.parametrize("seed", range(66, 74))
def test_borders_keep_results(seed: int) -> None:
    """Fusions that are cut, several times, beside reductions, rows and what is computed again."""
    rng = random.Random(seed)
    same_results(random_program(rng, 60), f"{FRONT}fuse-hlo{{most-ops={rng.randint(1, 6)}}},outline-kernels", seed)


@pytest.mark.parametrize("most", [7, 20])
def test_parts_are_no_longer_than_allowed(most: int) -> None:
    """Also where a fusion is many times too long, so that it is cut in several rounds."""
    lines = [f"  %{i} = hlo.sine {f'%{i - 1}' if i else '%x'} : tensor<4xf32>" for i in range(150)]
    text = program("%x: tensor<4xf32>", "\n".join([*lines, "  return %149 : tensor<4xf32>"]), "tensor<4xf32>")
    module, _ = fuse(text, f"fuse-hlo{{most-ops={most}}}")
    sizes = [len(list(op.body.block.ops)) - 1 for op in module.walk() if isinstance(op, FusionOp)]
    assert sum(sizes) == 150 and max(sizes) <= most and len(sizes) == -(-150 // most)


def test_a_bound_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one operation, not 0"):
        build_passes("fuse-hlo{most-ops=0}")


def test_fusion_takes_linear_time() -> None:
    def work(count: int) -> int:
        context = make_context()
        module = parse_module(random_program(random.Random(7), count), "<test>", context)
        (fusion,) = build_passes("fuse-hlo")
        return calls(lambda: fusion.apply(context, module))

    small, large = work(250), work(1000)
    assert large < 5 * small
    assert large < 1000 * 1000, "430 calls an operation"


def test_terminators_of_fusions() -> None:
    module, _ = fuse(MEAN)
    fusion = next(op for op in module.walk() if isinstance(op, FusionOp))
    assert isinstance(fusion.body.block.last_op, ReturnOp)
