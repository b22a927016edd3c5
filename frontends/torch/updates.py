"""
Arguments that a graph changes, which AOTAutograd leaves as copies to them at the end of the graph.

A program computes their new values, in their own memory where it can.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..builder.builder import listed
from .api import torch


def take_updates(graph_module: Any) -> list[int]:
    """
    Take the copies to arguments out of a graph: their new values become its last outputs.

    Returns the numbers of these arguments, in the order of the outputs.
    """
    graph = graph_module.graph
    places = {node: number for number, node in enumerate(node for node in graph.nodes if node.op == "placeholder")}
    values: dict[Any, Any] = {}
    for node in list(graph.nodes):
        if node.op == "call_function" and node.target is torch.ops.aten.copy_.default and node.args[0] in places:
            values[node.args[0]] = node.args[1]
            node.replace_all_uses_with(node.args[1])
            graph.erase_node(node)
    changed = {argument: value for argument, value in values.items() if value is not argument}
    if changed:
        (output,) = (node for node in graph.nodes if node.op == "output")
        output.args = ((*listed(output.args[0]), *changed.values()),)
    if values:
        graph_module.recompile()
    return [places[argument] for argument in changed]


def apart(outputs: Sequence[Any], changed: Sequence[Any]) -> list[Any]:
    """Outputs, in memory of their own where they are in that of an argument that is going to change."""
    taken = {_memory(one) for one in changed}
    return [one.clone() if isinstance(one, torch.Tensor) and _memory(one) in taken else one for one in outputs]


def write(targets: Sequence[Any], values: Sequence[Any]) -> None:
    """Copy new values to tensors; autograd has nothing to do with it."""
    for target, value in zip(targets, values, strict=True):
        target.detach().copy_(value)


def _memory(tensor: Any) -> Any:
    return tensor.untyped_storage().data_ptr() if tensor.layout == torch.strided else None
