"""fuse-hlo: the clusters of a chain of operations, what they reach, and what is read outside of them."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp

from hlo_programs import Program
from xhlo.hlo_dialect.ops.fusion import FusionOp
from xhlo.passes.fuse_hlo import clusters
from xhlo.passes.fuse_hlo.graph import BlockGraph


def chain(count: int, size: int = 4) -> str:
    """A program of `count` operations, each of which reads the one before it."""
    type_ = f"tensor<{size}xf32>"
    lines = [f"  %{i} = hlo.sine {f'%{i - 1}' if i else '%x'} : {type_}" for i in range(count)]
    body = "\n".join([*lines, f"  return %{count - 1} : {type_}"])
    return f"func.func @main(%x: {type_}) -> {type_} {{\n{body}\n}}"


def clusters_of(text: str) -> clusters.Clusters:
    """One cluster for each operation of a program."""
    function = next(op for op in Program(text).module.walk() if isinstance(op, FuncOp))
    return clusters.Clusters.of(BlockGraph(function.body.block))


def test_fusions_stay_in_their_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "WINDOW", 10)
    fused = Program(chain(30)).after("inline,simplify-hlo,cse,fuse-hlo").module
    assert [op.kind.data for op in fused.walk() if isinstance(op, FusionOp)] == ["loop"] * 3


def test_a_merged_cluster_reaches_what_its_parts_reached() -> None:
    """In a chain no sets of other clusters change; going through all of them each time took cubic time."""
    state = clusters_of(chain(60))
    before = list(state.reach)
    for number in reversed(range(59)):
        state.absorb(state.live[59], state.live[number])
    assert state.reach == before


def test_the_results_of_a_long_fusion_are_found_without_its_inner_nodes() -> None:
    """Each merge asks for them; going through all nodes each time took two thirds of the pass."""
    state = clusters_of(chain(60, 1024))
    for number in reversed(range(59)):
        assert state.live[59].read_outside == {59} and state.fits(state.live[59], state.live[number])
        state.absorb(state.live[59], state.live[number])
    state.release(0, state.live[59])
    assert state.live[59].read_outside == {59} and state.live[0].read_outside == {0}
    state.release(59, state.live[59])
    (rest,) = (cluster for cluster in state.live.values() if len(cluster.ops) == 58)
    assert rest.read_outside == {58}
