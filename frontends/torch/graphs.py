"""A graph of ATen operations, compiled: the whole program, or the parts that are lowered, with the rest in torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...hlo_dialect.donation import state_donations
from ...hlo_dialect.garbage_collector import paused_gc
from ...targets.compile import compile_program
from ...targets.program.dump import dump
from ...targets.program.entry import entry_of
from ...targets.program.executable import Executable
from ...targets.program.source import read_source
from ...targets.registry import get_target
from ..builder.builder import listed
from . import errors
from .calls import Argument, Plan, Result, caller
from .dtypes import converted
from .error_checks import checking, is_check, take_checks
from .lowering import GraphLowering, is_plain
from .memory import dense_strides, memory_order, stored
from .options import Options
from .partitions import partitioned
from .random_numbers import take_draws
from .results import order_of, sources
from .step import broadcast
from .updates import apart, write

Run = Callable[[Sequence[Any]], list[Any]]

_HOST, _ANY = frozenset(("cpu",)), frozenset(("cpu", "cuda"))
"""The devices whose tensors programs for CPUs take, and those for other targets."""


def outputs_of(graph: Any) -> list[Any]:
    """The arguments of a graph's output node."""
    (node,) = (one for one in graph.nodes if one.op == "output")
    return listed(node.args[0])


class Lowering:
    """A graph on the way to a program."""

    def __init__(self, graph_module: Any, target: str, changed: Sequence[int] = ()):
        """`changed`: the numbers of the arguments whose new values are the last outputs."""
        graph = graph_module.graph
        self.inputs = [node for node in graph.nodes if node.op == "placeholder"]
        self.changed = [self.inputs[number] for number in changed]
        outputs = outputs_of(graph)
        count = len(outputs) - len(changed)
        self.sources, self.computed = sources(outputs[:count], self.inputs, self.changed)
        self.values = outputs[count:]
        used = _needed([*self.computed, *self.values])
        self.lowering = lowering = GraphLowering(
            graph_module, lambda node: stored(node.meta["val"])[0], devices=_HOST if target == "cpu" else _ANY
        )
        for node in self.inputs:
            value = node.meta.get("val")
            if node in used and is_plain(value) and lowering.elsewhere(value) is None:
                lowering.parameter(node)
        for node in graph.nodes:
            if node not in used or node in lowering.values:
                continue
            if node.op == "get_attr":
                lowering.constant(node)
            elif node.op == "call_function":
                lowering.operation(node)

    def module(self) -> ModuleOp:
        """
        The program: new values of arguments, which lie in memory as these do, then what outputs are computed from.
        """
        results: list[Any] = []
        for argument, node in zip(self.changed, self.values, strict=True):
            fake = argument.meta["val"]
            value, order = converted(self.lowering.values[node], fake.dtype), order_of(fake)
            value = broadcast(value, tuple(map(int, fake.shape)))
            results.append(value if order is None else value.transpose(order))
        for node in self.computed:
            value, order = self.lowering.values[node], order_of(node.meta["val"])
            results.append(value if order is None else value.transpose(order))
        module = self.lowering.builder.build(*results)
        numbers = {node: number for number, node in enumerate(self.lowering.arguments)}
        places = {numbers[node]: place for place, node in enumerate(self.changed) if node in numbers}
        if places:
            state_donations(entry_of(module), places)
        return module

    def plan(self) -> Plan:
        """How tensors are passed to the program."""
        places = {node: number for number, node in enumerate(self.inputs)}
        return Plan(
            [_argument(places[node], node.meta["val"]) for node in self.lowering.arguments],
            [_result(node.meta["val"]) for node in (*self.changed, *self.computed)],
            self.sources,
            [places[node] for node in self.changed],
        )


def _argument(number: int, fake: Any) -> Argument:
    shape = tuple(map(int, fake.shape))
    return Argument(number, shape, stored(fake)[1], fake.dtype, fake.is_conj() or fake.is_neg())


def _result(fake: Any) -> Result:
    shape, strides = tuple(map(int, fake.shape)), tuple(map(int, fake.stride()))
    # Eager mode's along dimensions of size 1, too, which decide how `view` and others that ask for them go on.
    dense = memory_order(shape, strides) is not None
    return Result(shape, strides if dense else dense_strides(shape, None), fake.dtype)


def _needed(nodes: Sequence[Any]) -> set[Any]:
    """The nodes that some nodes depend on, and themselves."""
    found: set[Any] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        waiting += node.all_input_nodes
    return found


def executable_of(module: ModuleOp, options: Options) -> Executable:
    """Compile a program as `xhlo.compile` does, and take its module; its dumps are named torch."""
    if options.dump is not None:
        dump("torch", read_source(module), get_target(options.target).present(), options.dump)
    return compile_program(
        module, options.target, math=options.math, autotune=options.autotune, tuning=options.tuning, given=True
    )


@paused_gc()
def compile_graph(graph_module: Any, options: Options, changed: Sequence[int] = ()) -> Run:
    """
    Compile a graph whose nodes know their types and shapes.

    The arguments of the numbers `changed` take the values of the last outputs, which are not returned.

    Raises DiagnosticError for an operation that is not lowered if the options are strict.
    """
    drawn = take_draws(graph_module)
    run = _compiled(graph_module, options, changed)
    return (lambda args: run([*args, *(one for draw in drawn for one in draw(args))])) if drawn else run


def _compiled(graph_module: Any, options: Options, changed: Sequence[int]) -> Run:
    lowered = Lowering(graph_module, options.target, changed)
    refusals = lowered.lowering.causes
    if refusals:
        missed = [one for one in refusals if not is_check(one.node)]
        if not missed:
            # The program ends before an error is raised, which arguments must not have changed for.
            checks = take_checks(graph_module)
            run = checking(_compiled(graph_module, options, ()), checks)
            return writing(run, changed) if changed else run
        if options.strict:
            raise errors.refuse(missed)
        errors.tell(missed)
        run = partitioned(graph_module, {one.node for one in refusals}, lambda part: compile_graph(part, options))
        return writing(run, changed) if changed else run
    plan = lowered.plan()
    return caller(executable_of(lowered.module(), options) if plan.results else None, plan)


def writing(run: Run, changed: Sequence[int]) -> Run:
    """The function that copies the last outputs to arguments."""

    def written(args: Sequence[Any]) -> list[Any]:
        targets = [args[number] for number in changed]
        found = apart(run(args), targets)
        count = len(found) - len(targets)
        write(targets, found[count:])
        return found[:count]

    return written
