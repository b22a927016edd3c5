"""Tables of rules: registration, lookup, and separation of passes."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from xhlo.hlo_dialect import rules
from xhlo.hlo_dialect.custom_calls.lapack_plans import has_plan
from xhlo.hlo_dialect.custom_calls.registry import REGISTRY
from xhlo.hlo_dialect.diagnostics import DiagnosticError
from xhlo.hlo_dialect.ops.elementwise import ElementwiseBinaryOp, ElementwiseOp
from xhlo.hlo_dialect.ops.elementwise_binary import AddOp, MultiplyOp, XorOp
from xhlo.hlo_dialect.ops.gather import GatherOp
from xhlo.hlo_dialect.plugins import Plugin
from xhlo.hlo_dialect.rules import Rules
from xhlo.lowering.convert_hlo_to_linalg.emission import scalar_patterns
from xhlo.passes.decompose_hlo.native_factors import _UNBLOCKED  # pyright: ignore[reportPrivateUsage]
from xhlo.passes.decompose_hlo.transform import (
    _OF_LAPACK,  # pyright: ignore[reportPrivateUsage]
    decompositions,
)

PROGRAM = """
func.func @main(%x: tensor<4x3xcomplex<f32>>, %i: tensor<2x1xi32>) -> tensor<2x3xcomplex<f32>> {
  %0 = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
                                          index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 3>
  }> : (tensor<4x3xcomplex<f32>>, tensor<2x1xi32>) -> tensor<2x3xcomplex<f32>>
  return %0 : tensor<2x3xcomplex<f32>>
}
"""


def test_a_class_has_its_own_rule_before_that_of_a_base():
    table = Rules[str]("test")
    table.add({AddOp: "sum", ElementwiseBinaryOp: "binary"})
    assert [table.get(cls) for cls in (AddOp, MultiplyOp, ElementwiseOp)] == ["sum", "binary", None]
    assert AddOp in table and GatherOp not in table
    assert table.missing((AddOp, GatherOp, MultiplyOp)) == [GatherOp]


def test_a_later_registration_is_found():
    table = Rules[str]("test")
    assert table.get(AddOp) is None
    assert table.on(AddOp, XorOp)("rule") == "rule"
    assert table.get(AddOp) == table.get(XorOp) == "rule"


def test_a_second_rule_is_an_error_that_names_both_places():
    table = Rules[str]("simplify-sums")
    table.add({AddOp: "one"})
    with pytest.raises(DiagnosticError) as caught:
        table.on(AddOp)("two")
    message = str(caught.value)
    assert "simplify-sums has two rules for hlo.add: " in message
    assert message.count("test_rules:") == 2
    assert table.get(AddOp) == "one"


def test_a_table_of_several_rules_keeps_their_order():
    table = Rules[str]("test", several=True)
    table.on(ElementwiseOp)("any")
    table.on(AddOp)("first")
    table.on(AddOp)("second")
    assert table.all(AddOp) == ("first", "second", "any")


def test_the_first_lookup_imports_the_files_of_the_package():
    script = """
import sys
from xhlo.passes.decompose_hlo.transform import decompositions
assert "xhlo.passes.decompose_hlo.window" not in sys.modules
from xhlo.hlo_dialect.ops.window import ReduceWindowOp
assert ReduceWindowOp in decompositions
assert "xhlo.passes.decompose_hlo.window" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_another_package_adds_rules(monkeypatch: pytest.MonkeyPatch):
    plugin = Plugin(EntryPoint("sums", "sums:RULES", "test.rules"))
    found = {"test.rules": [(plugin, [(AddOp, "theirs")])]}
    monkeypatch.setattr(rules, "loaded", lambda group: found.get(group, []))
    table = Rules[str]("test", group="test.rules")
    assert table.get(AddOp) == "theirs"


def test_a_rule_of_one_pass_does_not_reach_another():
    """With a rule of simplify-hlo for hlo.gather, split-complex of a complex gather works as before."""
    script = f"""
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.ops.gather import GatherOp
from xhlo.hlo_dialect.reading import parse_module
from xhlo.passes.simplify_hlo.rewrite import simplifications
from xhlo.passes.simplify_hlo.transform import SimplifyHloPass
from xhlo.passes.split_complex.transform import SplitComplexPass

def split(rule=None):
    asked = []
    if rule:
        simplifications.on(GatherOp)(lambda op: asked.append(op))
    context = make_context()
    module = parse_module({PROGRAM!r}, ctx=context)
    SimplifyHloPass().apply(context, module)
    SplitComplexPass().apply(context, module)
    module.verify()
    return str(module), len(asked)

before, _ = split()
after, asked = split(rule=True)
assert asked, "the rule is tried"
assert before == after and "hlo.gather" in before and "complex<" not in before, before
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_only_calls_that_no_rule_replaces_are_passed_over():
    """The targets of ours that decompose-hlo looks at are those that its rules for calls know by name."""
    ours = [name for name in REGISTRY.names() if name.startswith("xhlo.")]
    assert len(ours) > 8
    known = {name for name in ours if name in _UNBLOCKED or has_plan(name)}
    assert known and known <= {*_OF_LAPACK} <= {*ours}


def test_the_tables_of_the_passes_are_filled():
    assert AddOp in scalar_patterns and AddOp not in decompositions
