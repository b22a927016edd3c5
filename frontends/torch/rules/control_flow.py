"""Operations that run graphs within the graph: `torch.cond`, `while_loop` and `scan`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...builder.builder import Value
from ..dtypes import Unlowered, converted
from ..registry import lowers
from ..step import Step

Graph = Callable[..., list[Any]]
"""A graph within the graph: it is lowered where it is called."""


def _values(given: Sequence[Any]) -> list[Value]:
    if not all(isinstance(one, Value) for one in given):
        raise Unlowered("numbers among the values of control flow")
    return list(given)


def _apart(given: Sequence[Any]) -> tuple[list[Value], Callable[[Sequence[Value]], list[Any]]]:
    """The values among operands, and the function that puts the numbers back, such as sizes, which no run changes."""

    def together(values: Sequence[Value]) -> list[Any]:
        rest = iter(values)
        return [next(rest) if isinstance(one, Value) else one for one in given]

    return [one for one in given if isinstance(one, Value)], together


def _alike(found: Sequence[Any], fakes: Sequence[Any]) -> list[Value]:
    """The results of one graph in the dtypes that all graphs of an operation give."""
    return [converted(one, fake.dtype) for one, fake in zip(_values(found), fakes, strict=True)]


def _truth(found: Any) -> Value:
    """A number as a condition."""
    (value,) = _values([found])
    return value.reshape(())


@lowers("cond")
def cond(step: Step, pred: Any, on_true: Graph, on_false: Graph, operands: Sequence[Any]) -> Any:
    given, together = _apart(operands)

    def branch(graph: Graph) -> Graph:
        return lambda *values: _alike(graph(*together(values)), step.results)

    return step.builder.cond(_truth(pred), branch(on_true), branch(on_false), *given)


@lowers("while_loop")
def while_loop(step: Step, goes_on: Graph, body: Graph, carried: Sequence[Any], added: Sequence[Any]) -> Any:
    return step.builder.while_loop(
        lambda *values: _truth(goes_on(*values, *added)[0]),
        lambda *values: _alike(body(*values, *added), step.results),
        *_values(carried),
    )


@lowers("scan")
def scan(step: Step, body: Graph, first: Sequence[Any], inputs: Sequence[Any], added: Sequence[Any]) -> Any:
    count = len(first)
    if not inputs or not all(one.shape[0] for one in _values(inputs)):
        raise Unlowered("a scan over nothing")

    def one(carries: list[Value], elements: list[Value]) -> tuple[list[Value], list[Value]]:
        found = _alike(body(*carries, *elements, *added), step.results)
        return found[:count], found[count:]

    carries, stacks = step.builder.scan(one, _values(first), _values(inputs))
    return [*carries, *stacks]
