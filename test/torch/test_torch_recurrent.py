"""Recurrent layers: a loop for each layer and direction, whose results, states and gradients are eager mode's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops.scan import scan

import xhlo
from xhlo.frontends.torch.backend import xhlo as backend

LAYERS: dict[str, Callable[[], nn.Module]] = {
    "lstm": partial(nn.LSTM, 3, 4, 2, batch_first=True, dropout=0.5),
    "projected": partial(nn.LSTM, 3, 4, bidirectional=True, proj_size=2),
    "gru": partial(nn.GRU, 3, 4, bidirectional=True),
    "tanh": partial(nn.RNN, 3, 4, bias=False),
    "relu": partial(nn.RNN, 3, 4, nonlinearity="relu"),
}


@pytest.fixture(autouse=True)
def recurrent() -> Iterator[None]:
    """Dynamo takes recurrent layers into its graphs only if it is told to."""
    torch._dynamo.reset()
    with torch._dynamo.config.patch(allow_rnn=True):
        yield


def with_gradients(function: Callable[..., Any], model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """The results, and the gradients of the input and the parameters; after the same seed."""
    own = x.clone().requires_grad_()
    torch.manual_seed(5)
    outputs, state = function(own)
    results = [outputs, *(state if isinstance(state, tuple) else [state])]
    loss = sum((one * torch.linspace(-1, 2, one.shape[-1])).sum() for one in results)
    gradients = torch.autograd.grad(loss, [own, *model.parameters()])
    return [*(one.detach() for one in results), *gradients]


@pytest.mark.parametrize("name", LAYERS)
def test_layers_and_gradients(name: str) -> None:
    torch.manual_seed(0)
    model, x = LAYERS[name](), torch.randn(5, 2, 3)
    found = with_gradients(torch.compile(model, backend=backend), model, x)
    torch.testing.assert_close(found, with_gradients(model, model, x))


def test_graphs_do_not_grow_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from xhlo.frontends.torch import backend as module

    sizes: list[int] = []
    real = module.compile_graph

    def counted(graph_module: Any, *rest: Any) -> Any:
        sizes.append(len(graph_module.graph.nodes))
        return real(graph_module, *rest)

    monkeypatch.setattr(module, "compile_graph", counted)
    model = nn.GRU(2, 3)
    for length in (3, 9):
        torch._dynamo.reset()
        torch.compile(model, backend=backend, dynamic=False)(torch.randn(length, 1, 2))[0].sum().backward()
    assert sizes[:2] == sizes[2:]


def test_packed_sequences() -> None:
    model = nn.LSTM(3, 4)

    def function(x: Any) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3]))
        return nn.utils.rnn.pad_packed_sequence(model(packed)[0])[0]

    x = torch.randn(5, 2, 3)
    torch.testing.assert_close(torch.compile(function, backend=backend)(x), function(x))


def test_exported_layers() -> None:
    model, x = nn.LSTM(3, 4, bidirectional=True).eval(), torch.randn(6, 2, 3)
    found = xhlo.compile(torch.export.export(model, (x,)))(x.numpy())
    outputs, state = model(x)
    for one, expected in zip(found, (outputs, *state), strict=True):
        torch.testing.assert_close(torch.from_numpy(one), expected)


def test_loops_and_branches_with_sizes_that_change() -> None:
    def function(x: Any) -> Any:
        def step(carried: Any, one: Any) -> Any:
            a, b = carried
            return (a + one, b * 2 + one.reshape(x.shape[1])), a - b

        # Both first values become one tensor.
        state, outputs = scan(step, (x.new_zeros(x.shape[1]), x.new_zeros(x.shape[1])), x)
        rows = x.shape[0]
        return state, torch.cond(
            x.detach().sum() > 0, lambda y: y.sum(0) * rows, lambda y: y[0] - rows, (outputs.detach(),)
        )

    x = torch.randn(4, 3, requires_grad=True)
    run = torch.compile(function, backend=backend, dynamic=True, options={"strict": True})
    torch.testing.assert_close(run(x), function(x))
