"""Functions of tensors, compiled as one graph by AOTAutograd without Dynamo, beside torch's eager mode."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch.aot_autograd import aot_function

from xhlo.frontends.torch.backend import xhlo
from xhlo.frontends.torch.decompositions import table
from xhlo.frontends.torch.errors import FallbackWarning
from xhlo.frontends.torch.graphs import compile_graph
from xhlo.frontends.torch.options import Options

STRICT = {"strict": True}


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A function of tensors that returns a list, compiled."""

    def compiler(graph: Any, _: Any) -> Callable[..., Any]:
        run = compile_graph(graph, Options.of({**STRICT, **options}))
        return lambda *arguments: run(arguments)

    return aot_function(function, fw_compiler=compiler, decompositions=table())


def same_as_eager(function: Callable[..., Any], *arguments: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Compare all results of a function with eager's; both begin from the same seed."""
    torch.manual_seed(7)
    expected = function(*copy.deepcopy(arguments))
    torch.manual_seed(7)
    with torch.no_grad():
        found = compiled(function)(*arguments)
    for number, (x, y) in enumerate(zip(found, expected, strict=True)):
        torch.testing.assert_close(x, y, rtol=rtol, atol=atol, equal_nan=True, msg=lambda m, n=number: f"{n}: {m}")


def each(*functions: Callable[..., Any]) -> Callable[..., list[Any]]:
    """One function that returns the results of several, flat: they are compiled as one graph."""

    def all_(*arguments: Any) -> list[Any]:
        found: list[Any] = []
        for function in functions:
            one = function(*arguments)
            found += one if isinstance(one, tuple | list) else [one]
        return found

    return all_


def trained(
    model: torch.nn.Module,
    inputs: Sequence[Any],
    loss: Callable[[Any], Any],
    optimizer: Any,
    steps: int = 2,
    atol: float = 1e-5,
) -> None:
    """Train a copy of the model compiled and one in eager mode: losses, parameters and buffers agree."""
    found: list[Any] = []
    for is_compiled in (False, True):
        own = copy.deepcopy(model)
        forward = torch.compile(own, backend=xhlo, options=STRICT) if is_compiled else own
        update = optimizer(own.parameters())
        torch.manual_seed(3)
        losses: list[float] = []
        with warnings.catch_warnings():
            warnings.simplefilter("error", FallbackWarning)
            for _ in range(steps):
                update.zero_grad()
                value = loss(forward(*inputs))
                value.backward()
                update.step()
                losses.append(value.item())
        found.append((losses, dict(own.named_parameters()), dict(own.named_buffers())))
    (losses, parameters, buffers), (losses2, parameters2, buffers2) = found
    torch.testing.assert_close(losses2, losses, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(parameters2, parameters, rtol=1e-3, atol=atol)
    torch.testing.assert_close(buffers2, buffers, rtol=1e-4, atol=1e-6)
