"""Where the outputs of a graph come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .api import torch
from .memory import memory_order


@dataclass(frozen=True)
class Constant:
    """An output that no run changes: None, a number."""

    value: Any


@dataclass(frozen=True)
class View:
    """An output that is an argument of the graph, or a view of its memory."""

    argument: int
    layout: tuple[tuple[int, ...], tuple[int, ...], int] | None
    """Shape, strides and offset; None for the argument itself."""


@dataclass(frozen=True)
class Computed:
    """An output that the program computes, by its number among the program's results."""

    number: int


def _base(node: Any) -> Any:
    """The node whose memory a node is a view of, itself if it is none."""
    while node.op == "call_function" and getattr(node.target, "is_view", False) and node.args:
        source = node.args[0]
        if not isinstance(source, torch.fx.Node) or not isinstance(source.meta.get("val"), torch.Tensor):
            break
        if (
            node.meta["val"].dtype != source.meta["val"].dtype
            or node.meta["val"].is_conj()
            or node.meta["val"].is_neg()
        ):
            break
        node = source
    return node


def sources(
    outputs: Sequence[Any], arguments: Sequence[Any], changed: Sequence[Any] = ()
) -> tuple[list[Any], list[Any]]:
    """
    The source of each output, and the nodes that the program computes.

    Memory of the arguments `changed` has other values when the program is done.
    """
    places = {node: number for number, node in enumerate(arguments) if node not in changed}
    computed: dict[Any, int] = {}
    found: list[Any] = []
    for one in outputs:
        if not isinstance(one, torch.fx.Node):
            found.append(Constant(one))
            continue
        fake = one.meta.get("val")
        if not isinstance(fake, torch.Tensor):
            if one in places:
                found.append(View(places[one], None))
            else:
                found.append(Constant(fake))
            continue
        base = _base(one)
        if base in places and not (base.meta["val"].is_conj() or base.meta["val"].is_neg()):
            layout = None if base is one else _layout(fake, base.meta["val"])
            found.append(View(places[base], layout))
        else:
            found.append(Computed(computed.setdefault(one, len(computed))))
    return found, list(computed)


def _layout(fake: Any, base: Any) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    offset = int(fake.storage_offset()) - int(base.storage_offset())
    return tuple(map(int, fake.shape)), tuple(map(int, fake.stride())), offset


def order_of(fake: Any) -> list[int] | None:
    """The order of a tensor's dimensions in memory; None if it is row-major, or not dense."""
    shape, strides = tuple(map(int, fake.shape)), tuple(map(int, fake.stride()))
    order = memory_order(shape, strides)
    return None if order is None or order == list(range(len(shape))) else order
