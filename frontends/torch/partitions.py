"""Graphs with operations that are not lowered: the parts around them are compiled, torch runs the rest."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..builder.builder import listed
from .api import required, torch

_partitioner: Any = required("torch.fx.passes.infra.partitioner")
_support: Any = required("torch.fx.passes.operator_support")


def partitioned(
    graph_module: Any, refused: set[Any], compile_part: Callable[[Any], Callable[[Sequence[Any]], list[Any]]]
) -> Callable[[Sequence[Any]], list[Any]]:
    """The function that runs a graph, with compiled parts around the refused nodes."""

    class Supported(_support.OperatorSupportBase):
        def is_node_supported(self, submodules: Any, node: Any) -> bool:
            return node.op == "call_function" and node not in refused and not _follows(node, refused)

    parts = _partitioner.CapabilityBasedPartitioner(graph_module, Supported(), allows_single_node_partition=True)
    fused = parts.partition_and_fuse()
    for node in list(fused.graph.nodes):
        if node.op == "call_module" and node.target.startswith("fused_"):
            part = getattr(fused, node.target)
            delattr(fused, node.target)
            setattr(fused, node.target, _module(part, compile_part(part)))
    fused.recompile()

    def run(args: Sequence[Any]) -> list[Any]:
        return listed(fused(*args))

    return run


def _follows(node: Any, refused: set[Any]) -> bool:
    """Whether a node takes one of several results of a refused one."""
    return node.target is operator.getitem and node.args[0] in refused


def _module(part: Any, run: Callable[[Sequence[Any]], list[Any]]) -> Any:
    """A compiled part as a module of the graph."""
    (output,) = (node for node in part.graph.nodes if node.op == "output")
    single = not isinstance(output.args[0], tuple | list)

    class Part(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            found = run(args)
            return found[0] if single else found

    return Part()
