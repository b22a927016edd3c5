"""Changes of arguments, parameters and buffers: they are made in place, and nothing reads them too early or too late."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

from xhlo.frontends.torch import calls, graphs
from xhlo.frontends.torch.backend import xhlo
from xhlo.frontends.torch.errors import FallbackWarning


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """The arguments whose new values are copied to them after a program."""
    found: list[torch.Tensor] = []
    real = calls.write

    def write(targets: Any, values: Any) -> None:
        found.extend(targets)
        real(targets, values)

    monkeypatch.setattr(calls, "write", write)
    monkeypatch.setattr(graphs, "write", write)
    return found


def twice_as_eager(function: Callable[..., Any], *arguments: torch.Tensor) -> None:
    """Two calls, compiled and in eager mode, of which the second finds what the first has changed."""
    own, others = [copy.deepcopy(arguments) for _ in range(2)]
    run = torch.compile(function, backend=xhlo)
    for _ in range(2):
        expected, found = function(*own), run(*others)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(others, own)
        assert [one.stride() for one in others] == [one.stride() for one in own]


def test_changes_are_made_in_place(copied: list[torch.Tensor]) -> None:
    def function(a: Any, b: Any, c: Any, d: Any, e: Any, place: Any) -> Any:
        a.add_(1)
        b.index_copy_(1, place, a[:, :1])
        c[:, ::2].mul_(2)
        d.zero_()
        e.mul_(a.t())
        return a.sum() + e.sum(), b * 2

    a = torch.randn(3, 4)
    twice_as_eager(function, a, a.clone(), a.clone(), a.clone(), a.t().clone().t().t(), torch.tensor([2]))
    assert copied == []


def test_values_before_and_after_a_change(copied: list[torch.Tensor]) -> None:
    """Values that are exchanged, kept from before, converted, broadcast, transposed, with gaps, negated, or complex."""

    def function(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
        before = a.clone()
        a.copy_(b)
        b.copy_(before)
        kept = c.clone()
        c.mul_(2)
        d.copy_(c)
        e.copy_(c[0, 0])
        f.copy_(f.t() + 0)
        g.add_(1)
        h.mul_(2j)
        return before, kept, c.view(-1)[1:], e, g.t()

    a = torch.randn(4, 4)
    gaps, conjugated = torch.randn(4, 8)[:, ::2], torch.randn(2, dtype=torch.complex64).conj()
    twice_as_eager(function, a, a + 1, a.clone(), a.bfloat16(), a.t(), a.clone(), gaps, conjugated)
    assert copied


def test_changes_around_what_torch_runs() -> None:
    def function(x: torch.Tensor) -> Any:
        before, turned = x.clone(), x.t()
        factors = torch.linalg.ldl_factor_ex(x * 2)[0]
        x.add_(1)
        return factors + before, turned

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        twice_as_eager(function, torch.eye(3) * 2)


def test_changes_of_sizes_that_change() -> None:
    function = torch.compile(lambda x: x.add_(x.shape[0]), backend=xhlo, dynamic=True)
    for size in (3, 5):
        x = torch.zeros(size)
        function(x)
        assert x.tolist() == [size] * size


def test_buffers_keep_their_memory(copied: list[torch.Tensor]) -> None:
    """A cache of keys, and the running statistics of a norm in training."""

    class Cache(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("keys", torch.zeros(1, 6, 4))
            self.norm = nn.BatchNorm1d(4)

        def forward(self, x: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
            self.keys[:, place] = x.detach().mean(0)
            return self.norm(x * self.keys.sum(1))

    model = Cache()
    same = copy.deepcopy(model)
    compiled = torch.compile(model, backend=xhlo)
    memory = model.keys.data_ptr()
    for number in range(3):
        x, place = torch.randn(5, 4), torch.tensor([number])
        torch.testing.assert_close(compiled(x, place), same(x, place))
    torch.testing.assert_close(dict(model.named_buffers()), dict(same.named_buffers()))
    assert (copied, model.keys.data_ptr()) == ([], memory)


OPTIMIZERS: list[Any] = [
    partial(torch.optim.SGD, lr=0.1, momentum=0.9, nesterov=True),
    partial(torch.optim.AdamW, lr=0.1, amsgrad=True),
    partial(torch.optim.RMSprop, lr=0.1, momentum=0.5, centered=True),
    partial(torch.optim.NAdam, lr=0.1),
    partial(torch.optim.Adadelta, lr=0.1),
]


@pytest.mark.parametrize("foreach", [True, False])
def test_optimizers_copy_nothing(copied: list[torch.Tensor], foreach: bool) -> None:
    """Steps of several optimizers, compiled together."""
    found: list[Any] = []
    for is_compiled in (False, True):
        torch.manual_seed(0)
        parameters = [[nn.Parameter(torch.randn(3, 2)), nn.Parameter(torch.randn(4))] for _ in OPTIMIZERS]
        optimizers = [make(own, foreach=foreach) for make, own in zip(OPTIMIZERS, parameters, strict=True)]

        def step(optimizers: list[Any] = optimizers) -> None:
            for one in optimizers:
                one.step()

        run = torch.compile(step, backend=xhlo, options={"strict": True}) if is_compiled else step
        for _ in range(2):
            for one in itertools.chain(*parameters):
                one.grad = one.detach() * 2 + 1
            # The first step makes the states.
            copied.clear()
            run()
        found.append([parameters, [one.state_dict()["state"] for one in optimizers]])
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)
    assert copied == []
