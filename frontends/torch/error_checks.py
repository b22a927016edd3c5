"""
Checks of what factorizations report, which raise torch's errors: they compute nothing, and run when a program is done.

Between two parts of a program, each would end one, and make torch interpret the rest of the graph.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..builder.builder import listed
from .api import torch


@dataclass(frozen=True)
class ErrorCheck:
    """A check of the numbers that a factorization reports, in the function of that name."""

    name: str
    is_matrix: bool


def is_check(node: Any) -> bool:
    """Whether a node raises an error for what a factorization reports, and does nothing else."""
    return str(node.target) == "with_effects" and str(node.args[1]) == "aten._linalg_check_errors.default"


def take_checks(graph_module: Any) -> list[ErrorCheck]:
    """Take the checks out of a graph, in order: what they read becomes its last outputs."""
    graph = graph_module.graph
    found: list[ErrorCheck] = []
    numbers: list[Any] = []
    for node in list(graph.nodes):
        if node.op != "call_function" or not is_check(node):
            continue
        token, _, info, name = node.args
        found.append(ErrorCheck(name, node.kwargs["is_matrix"]))
        numbers.append(info)
        for user in list(node.users):
            assert user.target is operator.getitem, "a check returns its token"
            user.replace_all_uses_with(token)
            graph.erase_node(user)
        graph.erase_node(node)
    if found:
        (output,) = (node for node in graph.nodes if node.op == "output")
        output.args = ((*listed(output.args[0]), *numbers),)
        graph_module.recompile()
    return found


def checking(
    run: Callable[[Sequence[Any]], list[Any]], checks: Sequence[ErrorCheck]
) -> Callable[[Sequence[Any]], list[Any]]:
    """The function that runs a graph without its checks, then these, in order; its results are those of the graph."""
    check = torch.ops.aten._linalg_check_errors.default

    def checked(args: Sequence[Any]) -> list[Any]:
        found = run(args)
        count = len(found) - len(checks)
        for info, one in zip(found[count:], checks, strict=True):
            # torch's check itself takes 6 us.
            if (info if one.is_matrix else torch.count_nonzero(info)).item():
                check(info, one.name, is_matrix=one.is_matrix)
        return found[:count]

    return checked
