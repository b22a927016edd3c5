"""A graph of ATen operations as a program of hlo."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import UNKNOWN_LOC, FileLineColLoc, IntAttr, LocationAttr, StringAttr

from ...hlo_dialect.diagnostics import DiagnosticError
from ..builder.builder import Builder, Value, listed
from ..builder.locations import placed_at
from .api import required, torch
from .dtypes import Unlowered, array_of, converted, element_of_dtype
from .memory import Stored
from .registry import rules
from .step import Step, broadcast


@dataclass(frozen=True)
class Refusal:
    """An operation that is not lowered."""

    node: Any
    reason: str

    @property
    def text(self) -> str:
        """The operation, the user's line, and why."""
        line = users_line(self.node)
        place = f" ({line[0]}:{line[1]})" if line else ""
        return f"{self.node.target}{place}: {self.reason}"


_fakes: Any = required("torch._subclasses.fake_tensor")
_TORCH = f"{Path(torch.__file__).parent}/"
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def users_line(node: Any) -> tuple[str, int] | None:
    """The innermost line of the user's Python that made a node; in torch itself only if there is no other."""
    found = _FRAME.findall(node.meta.get("stack_trace") or "")
    chosen = [one for one in found if not one[0].startswith(_TORCH)] or found
    return (chosen[-1][0], int(chosen[-1][1])) if chosen else None


def _location(node: Any) -> LocationAttr:
    line = users_line(node)
    return UNKNOWN_LOC if line is None else FileLineColLoc(StringAttr(line[0]), IntAttr(line[1]), IntAttr(1))


def is_constant(node: Any) -> bool:
    """
    Whether a node makes a tensor from numbers alone, such as a window or frequencies, the same in every call.

    Operations of others may read what they like.
    """
    if not is_torchs_own(node.target) or node.all_input_nodes:
        return False
    return is_plain(node.meta.get("val")) and torch.Tag.nondeterministic_seeded not in node.target.tags


def is_torchs_own(target: Any) -> bool:
    """Whether a function is an operation that torch defines, and whose tags say all that it does."""
    return isinstance(target, torch._ops.OpOverload) and target.namespace in ("aten", "prims")


def is_plain(fake: Any) -> bool:
    """Whether a value is a tensor that programs take: with strides, of a dtype that hlo has."""
    if not isinstance(fake, torch.Tensor) or fake.layout != torch.strided:
        return False
    try:
        element_of_dtype(fake.dtype)
    except Unlowered:
        return False
    return True


def whole(node: Any) -> Stored:
    """A node's value in its own shape, row-major."""
    shape = tuple(map(int, node.meta["val"].shape))
    return Stored(shape, list(range(len(shape))))


class GraphLowering:
    """Lowers the nodes of one graph, in order."""

    def __init__(
        self,
        graph_module: Any,
        stored: Callable[[Any], Stored] = whole,
        builder: Builder | None = None,
        devices: frozenset[str] | None = None,
    ):
        """
        `stored`: the elements of a placeholder that the program is given. `builder`: that of the program that the
        graph is a part of. `devices`: the kinds of devices whose tensors the program can read and return, or None for
        one that is not run.
        """
        self._devices = devices
        self._module = graph_module
        self._stored = stored
        self.builder = builder or Builder()
        self.values: dict[Any, Any] = {}
        self.refusals: list[Refusal] = []
        self.arguments: list[Any] = []

    @property
    def causes(self) -> list[Refusal]:
        """The operations that are not lowered themselves, rather than for want of an operand."""
        unknown = {one.node for one in self.refusals}
        return [one for one in self.refusals if not unknown & set(one.node.all_input_nodes)]

    def parameter(self, node: Any) -> None:
        """A node whose value the program is given."""
        fake = node.meta["val"]
        found = self._stored(node)
        shape, order = found.shape, found.order
        given = tuple(shape[dim] for dim in order)
        value = self.builder.parameter(element_of_dtype(fake.dtype), given, name=re.sub(r"\W", "_", node.name))
        if order != list(range(len(order))):
            value = value.transpose([order.index(dim) for dim in range(len(order))])
        value = broadcast(value, tuple(map(int, fake.shape)))
        self.values[node] = value
        self.arguments.append(node)

    def elsewhere(self, value: Any) -> str | None:
        """Why the program cannot read or return a node's value, if that is a tensor on another device."""
        if self._devices is None or not isinstance(value, torch.Tensor) or value.device.type in self._devices:
            return None
        remedy = "; options={'target': 'gpu'} compiles for it" if value.device.type == "cuda" else ""
        return f"a tensor on the device {value.device}{remedy}"

    def constant(self, node: Any) -> None:
        """A tensor that belongs to the graph, or a graph within it, which becomes a function of values."""
        owner: Any = self._module
        for part in node.target.split("."):
            owner = getattr(owner, part)
        self.values[node] = self.tensor(owner) if isinstance(owner, torch.Tensor) else partial(self._within, owner)

    def _within(self, graph_module: Any, *given: Any) -> list[Any]:
        """The results of a graph within this one, whose operations go where the builder is. Raises Unlowered."""
        inner = GraphLowering(graph_module, builder=self.builder)
        values = iter(given)
        for node in graph_module.graph.nodes:
            if node.op == "placeholder":
                inner.values[node] = next(values)
            elif node.op == "get_attr":
                inner.constant(node)
            elif node.op == "call_function":
                inner.operation(node)
        for one in inner.refusals:
            raise Unlowered(f"{one.node.target}, which it runs, is not compiled: {one.reason}")
        (output,) = (node for node in graph_module.graph.nodes if node.op == "output")
        return [inner.values[one] if isinstance(one, torch.fx.Node) else one for one in listed(output.args[0])]

    def tensor(self, tensor: Any) -> Value:
        """A tensor of torch as a constant."""
        return self.builder.constant(array_of(tensor), element_of_dtype(tensor.dtype), tuple(tensor.shape))

    def operation(self, node: Any) -> None:
        """Lower one operation. Without a rule, its results are refused, and the program takes them as arguments."""
        with placed_at(_location(node)):
            try:
                self.values[node] = self._lowered(node)
            except Unlowered as error:
                self.refusals.append(Refusal(node, str(error)))
            except DiagnosticError as error:
                # The verifier's word on what a rule built.
                self.refusals.append(Refusal(node, str(error).splitlines()[0]))

    def _lowered(self, node: Any) -> Any:
        for fake in (*(one.meta.get("val") for one in node.all_input_nodes), *listed(node.meta.get("val"))):
            if (why := self.elsewhere(fake)) is not None:
                raise Unlowered(why)
        if node.target is operator.getitem:
            several, number = node.args
            if several not in self.values:
                raise Unlowered(f"its operand {several.name} is not lowered")
            return self.values[several][number]
        rule = rules().get(str(node.target))
        if rule is None:
            if is_constant(node):
                with _fakes.unset_fake_temporarily():
                    return self.tensor(node.target(*node.args, **node.kwargs))
            raise Unlowered("there is no rule for this operation")
        arguments: list[Any] = []

        def value(one: Any) -> Any:
            if one not in self.values:
                fake = one.meta.get("val")
                if isinstance(fake, torch.Tensor) and not is_plain(fake):
                    raise Unlowered(f"a tensor of {fake.dtype}, {fake.layout}")
                raise Unlowered(f"its operand {one.name} is not lowered")
            if isinstance(self.values[one], Value):
                arguments.append(one.meta["val"])
            return self.values[one]

        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), value)
        arguments += [one for one in node.args if isinstance(one, bool | int | float | complex)]
        used = frozenset(user.args[1] for user in node.users if user.target is operator.getitem)
        results = rule(Step(self.builder, node.meta.get("val"), arguments, used), *args, **kwargs)
        return _checked(results, node.meta.get("val"))


def _checked(results: Any, fakes: Any) -> Any:
    """The results with the dtypes that torch states. Raises Unlowered where the shape is another one."""
    if isinstance(fakes, tuple | list):
        several = listed(results)
        expected: list[Any] = listed(fakes)
        if len(several) != len(expected):
            raise Unlowered("its rule gives another number of results")
        return tuple(None if fake is None else _checked(one, fake) for one, fake in zip(several, expected, strict=True))
    if not isinstance(results, Value):
        return results
    shape = tuple(map(int, fakes.shape))
    if results.shape != shape:
        raise Unlowered(f"its rule gives the shape {results.shape} in place of {shape}")
    return converted(results, fakes.dtype)
