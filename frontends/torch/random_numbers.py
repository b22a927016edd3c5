"""
Random numbers: torch's own generator draws them before the program runs, in the order of the graph.

A draw depends on shapes only, so the program takes its numbers as an argument; they are those of eager mode for the
same `torch.manual_seed`. Operations whose draws depend on elements are not lowered.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..builder.builder import listed
from .api import torch
from .lowering import is_torchs_own
from .registry import rules

_DRAWS = frozenset(
    """
    rand.default rand_like.default randn.default randn_like.default randint.default randint.low randint_like.default
    randint_like.low_dtype randperm.default bernoulli.p uniform.default normal_functional.default exponential.default
    cauchy.default log_normal.default geometric.default random.default random.from random.to normal.float_float
    rand.generator randn.generator randint.generator randint.low_generator randperm.generator rand_like.generator
    randn_like.generator randint_like.generator randint_like.low_generator_dtype
    """.split()
)
"""Operations whose results depend on the shapes and the numbers among their arguments, never on elements."""


_SAVES, _RESTORES = "run_and_save_rng_state", "run_with_rng_state"
"""Draws of `torch.utils.checkpoint`: the generator's state and the draw, and the draw from that state, once more."""


def draws(node: Any) -> bool:
    """Whether a node is a draw of random numbers that the program is given."""
    name = str(node.target)
    if name == _SAVES:
        return _is_known(node.args[0])
    if name == _RESTORES:
        return _is_known(node.args[1]) and node.args[0].op == "placeholder"
    return _is_known(name)


def _is_known(op: Any) -> bool:
    return str(op).removeprefix("aten.") in _DRAWS


def take_draws(graph_module: Any) -> list[Callable[[Sequence[Any]], Sequence[Any]]]:
    """
    Take the draws out of a graph: their results become its last arguments.

    Those after an operation that torch runs, and that draws numbers itself, become results of this operation instead.
    Returns functions that draw the others, in order, from the graph's own arguments.
    """
    graph = graph_module.graph
    places = {node: number for number, node in enumerate(node for node in graph.nodes if node.op == "placeholder")}
    found: list[Callable[[Sequence[Any]], Sequence[Any]]] = []
    arguments = list(places)
    last: Any = None
    """The last operation so far that torch runs and that draws numbers itself."""
    drawing = [node for node in graph.nodes if node.op == "call_function" and (draws(node) or draws_itself(node))]
    for node in drawing:
        if not draws(node):
            last = _followed(graph, node, last) if node is not drawing[-1] or last is not None else None
        elif last is None or str(node.target) == _RESTORES:
            found.append(_drawing(node, places))
            _replace(graph, node, partial(_argument, graph, arguments, node.name))
        else:
            first = last.target.add(_drawing(node, places), str(node.target) == _SAVES)
            _replace(graph, node, partial(_result, graph, last, first))
    if drawing:
        graph_module.recompile()
    return found


def _replace(graph: Any, node: Any, value: Callable[[int, Any], Any]) -> None:
    """Replace a draw by `value(number, fake)`, for each of its results."""
    if str(node.target) == _SAVES:
        parts = [value(number, None) for number in range(2)]
        for user in list(node.users):
            part = parts[user.args[1]]
            part.meta["val"] = user.meta["val"]
            user.replace_all_uses_with(part)
            graph.erase_node(user)
    else:
        node.replace_all_uses_with(value(0, node.meta["val"]))
    graph.erase_node(node)


def draws_itself(node: Any) -> bool:
    """
    Whether torch runs a node that takes numbers from the generator, as many as its operands' elements say.

    Operations of others may take some, too.
    """
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or str(target) in rules():
        return False
    return not is_torchs_own(target) or torch.Tag.nondeterministic_seeded in target.tags


class Followed:
    """An operation that draws random numbers itself, and the draws after it, as one: they keep their order."""

    __name__ = "followed"

    def __init__(self, target: Any, count: int | None):
        """`count`: the number of the operation's results if it returns several."""
        self._target = target
        self._draws: list[Callable[[Sequence[Any]], Sequence[Any]]] = []
        self._single = count is None
        self._count = 1 if count is None else count

    def __str__(self) -> str:
        return str(self._target)

    def add(self, draw: Callable[[Sequence[Any]], Sequence[Any]], saves: bool) -> int:
        """Draw after the operation. Returns the number of the first result of that draw."""
        self._draws.append(draw)
        first = self._count
        self._count += 1 + saves
        return first

    def __call__(self, before: Any, *args: Any, **kwargs: Any) -> list[Any]:
        """`before`: a value of the operation before this one that draws numbers itself."""
        found = self._target(*args, **kwargs)
        return [*((found,) if self._single else found), *(one for draw in self._draws for one in draw(()))]


def _followed(graph: Any, node: Any, before: Any) -> Any:
    """A node for an operation and the draws after it, of which there are none yet, in place of the operation's."""
    fake = node.meta["val"]
    several = isinstance(fake, tuple | list)
    fakes: list[Any] = listed(fake)
    with graph.inserting_before(node):
        target = Followed(node.target, len(fakes) if several else None)
        found = graph.call_function(target, (before, *node.args), dict(node.kwargs))
    found.meta |= {"val": fakes, "stack_trace": node.meta.get("stack_trace")}
    node.replace_all_uses_with(found if several else _result(graph, found, 0, 0, fake))
    graph.erase_node(node)
    return found


def _result(graph: Any, node: Any, first: int, number: int, fake: Any) -> Any:
    """A result of an operation and the draws after it."""
    with graph.inserting_after(node):
        found = graph.call_function(operator.getitem, (node, first + number))
    found.meta["val"] = fake
    return found


def _argument(graph: Any, arguments: list[Any], name: str, number: int, fake: Any) -> Any:
    """A new last argument of a graph, for a result of a draw."""
    with graph.inserting_after(arguments[-1]) if arguments else graph.inserting_before():
        node = graph.placeholder(f"{name}_drawn_{number}")
    node.meta["val"] = fake
    arguments.append(node)
    return node


def _fills(node: Any, op: Any) -> bool:
    """
    Whether a draw fills memory that lies as its operand does: torch's kernels draw in the order of memory.

    `bernoulli_` and the masks of dropout become the overload that makes a row-major tensor, as only the source tells.
    Other draws in place become overloads whose results lie as their operands do.
    """
    sources = node.meta.get("source_fn_stack") or [(None, None)]
    return str(op) == "aten.bernoulli.p" and sources[-1][1] not in (torch.bernoulli, "bernoulli")


def _bernoulli_in_place(x: Any, p: float, **kwargs: Any) -> Any:
    if 0 in x.stride():
        # Elements that repeat, as in batches of `vmap`, cannot be written to; eager mode draws for each of them.
        x = torch.empty_like(x)
    return x.bernoulli_(p, **kwargs).contiguous()


def _drawing(node: Any, places: Mapping[Any, int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """The draw of a node. Tensors among its arguments only lend their shape, except for a generator's state."""

    def template(one: Any) -> Any:
        fake = one.meta["val"]
        return _Template(tuple(map(int, fake.shape)), tuple(map(int, fake.stride())), fake.dtype)

    target = node.target
    restores = str(target) == _RESTORES
    state = places[node.args[0]] if restores else 0
    args, kwargs = torch.fx.node.map_arg((node.args[restores:], node.kwargs), template)
    saves = str(target) == _SAVES
    # Those of `torch.utils.checkpoint` are arguments.
    if saves or restores:
        args = (_bernoulli_in_place if _fills(node, args[0]) else args[0], *args[1:])
    elif _fills(node, target):
        target = _bernoulli_in_place

    def draw(given: Sequence[Any]) -> Sequence[Any]:
        stated = [_made(one) for one in args]
        found = target(given[state], *stated, **kwargs) if restores else target(*stated, **kwargs)
        return found if saves else (found,)

    return draw


class _Template:
    def __init__(self, shape: Sequence[int], strides: Sequence[int], dtype: Any):
        self.shape, self.strides, self.dtype = shape, strides, dtype


def _made(one: Any) -> Any:
    return torch.empty_strided(one.shape, one.strides, dtype=one.dtype) if isinstance(one, _Template) else one


def _native_dropout(x: Any, p: float, train: bool | None) -> tuple[Any, Any]:
    """As torch's kernel for the CPU: a mask of booleans, which lies in memory as `x` does, and a product with it."""
    if train is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    if p == 1:
        # `dropout` draws nothing then.
        return x * 0.0, torch.zeros_like(x, dtype=torch.bool)
    mask = torch.bernoulli(torch.empty_like(x, dtype=torch.bool), 1 - p)
    return x * mask * (1 / (1 - p)), mask


def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """Decompositions that keep torch's draws."""
    return {torch.ops.aten.native_dropout.default: _native_dropout}


KEPT = frozenset(
    """
    bernoulli.p bernoulli.Tensor
    normal.float_float normal_functional.default uniform.default exponential.default randn.default rand.default
    geometric.default cauchy.default log_normal.default native_dropout.default _fused_dropout.default randn_like.default
    dropout.default rrelu_with_noise.default rrelu_with_noise_functional.default alpha_dropout.default
    rand_like.default randint_like.default randint.default
    """.split()
)
"""Operations that torch's own decompositions would replace by other draws."""
