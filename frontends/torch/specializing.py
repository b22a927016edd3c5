"""Graphs of symbolic sizes: compiled once for each combination of sizes that they are called with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...hlo_dialect.made_once import MadeOnce
from ..builder.builder import listed
from . import errors
from .api import distinct, required, torch
from .decompositions import table
from .graphs import Run, compile_graph, outputs_of, writing
from .lowering import Refusal
from .options import Options
from .partitions import partitioned
from .random_numbers import draws, draws_itself


def has_symbols(graph_module: Any) -> bool:
    """Whether sizes of a graph's arguments are symbols."""
    for node in graph_module.graph.nodes:
        if node.op != "placeholder":
            continue
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
            return True
        if isinstance(value, torch.Tensor):
            numbers = (*value.shape, *value.stride(), value.storage_offset())
            if any(isinstance(one, torch.SymInt) for one in numbers):
                return True
    return False


def _ragged(graph_module: Any) -> dict[int, list[int]]:
    """
    The numbers of a graph's arguments that are sizes of nested tensors, each standing for a list of lengths, with the
    numbers of the outputs that they are.
    """
    nodes = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
    outputs = outputs_of(graph_module.graph)
    return {
        number: [place for place, output in enumerate(outputs) if output is node]
        for number, node in enumerate(nodes)
        if isinstance(value := node.meta.get("val"), torch.SymInt) and value.node.is_nested_int()
    }


def made_symbols(graph_module: Any) -> list[Any]:
    """The nodes whose results' sizes, or numbers, are symbols that elements decide, such as `nonzero` and `item`."""
    return [node for node in graph_module.graph.nodes if node.meta.get("unbacked_bindings")]


def around_made_symbols(graph_module: Any, options: Options, changed: Sequence[int] = ()) -> Run:
    """
    A graph with nodes of `made_symbols`, which torch runs: the parts around them are compiled, those of symbols once
    for each combination of sizes. With draws of random numbers, which parts would change the order of, torch runs all.

    `changed`: as for `compile_graph`. Raises DiagnosticError if the options are strict.
    """
    refused = made_symbols(graph_module)
    random = [node for node in graph_module.graph.nodes if draws(node) or draws_itself(node)]
    reasons = [Refusal(node, "elements decide the size of its result, or a number") for node in refused]
    reasons += [Refusal(node, "it draws between operations whose sizes elements decide") for node in random]
    if options.strict:
        raise errors.refuse(reasons)
    errors.tell(reasons)

    def compile_part(part: Any) -> Run:
        return (Specializing if has_symbols(part) else compile_graph)(part, options)

    def as_it_is(args: Sequence[Any]) -> list[Any]:
        return listed(graph_module(*args))

    run = as_it_is if random else partitioned(graph_module, set(refused), compile_part)
    return writing(run, changed) if changed else run


class _Interpreter(torch.fx.Interpreter):
    """Runs a graph to trace it. Operands of graphs within it are different tensors: tracing confuses equal ones."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if isinstance(target, torch._ops.HigherOrderOperator):
            args = distinct(args)
        return torch.fx.Interpreter.call_function(self, target, args, kwargs)


KEPT = 256
"""The number of combinations of sizes whose programs a graph keeps."""


class Specializing:
    """Runs a graph of symbolic sizes, whose guards Dynamo has checked."""

    def __init__(self, graph_module: Any, options: Options, changed: Sequence[int] = ()):
        """`changed`: as for `compile_graph`."""
        self._module = graph_module
        self._options = options
        self._changed = changed
        self._known = MadeOnce[Any, Callable[[Sequence[Any]], list[Any]]](KEPT)
        self._ragged = _ragged(graph_module)

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        return self._without_ragged(args) if self._ragged else self._run(args)

    def _run(self, args: Sequence[Any]) -> list[Any]:
        key = tuple([(one.shape, one.stride()) if isinstance(one, torch.Tensor) else one for one in args])
        run = self._known.find(key) or self._known.get_or_make(key, partial(self._compiled, args))
        return run(args)

    def _without_ragged(self, args: Sequence[Any]) -> list[Any]:
        """A call without the sizes that stand for lists of lengths: each tensor has its own, which no program reads."""
        plain = list(args)
        for number in self._ragged:
            plain[number] = None
        found = self._run(plain)
        for number, places in self._ragged.items():
            for place in places:
                found[place] = args[number]
        return found

    def _compiled(self, args: Sequence[Any]) -> Callable[[Sequence[Any]], list[Any]]:
        """The graph traced again with these sizes. Numbers among the arguments are part of the key."""
        make_fx = required("torch.fx.experimental.proxy_tensor").make_fx
        preserved = required("torch.fx.traceback").preserve_node_meta

        def run(*given: Any) -> Any:
            return _Interpreter(self._module).run(*given)

        with torch.no_grad(), preserved():
            traced = make_fx(run, decomposition_table=table(), tracing_mode="fake")(*args)
        return compile_graph(traced, self._options, self._changed)
