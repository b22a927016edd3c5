"""Arguments whose elements repeat in memory, by strides of 0, are passed as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from xhlo.frontends.torch import calls
from xhlo.frontends.torch.backend import xhlo
from xhlo.frontends.torch.memory import Stored, stored


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of arguments, as programs read them, that were copied into another layout."""
    found: list[tuple[int, ...]] = []
    real = calls._laid_out

    def laid_out(tensor: Any, wanted: Any) -> Any:
        given = real(tensor, wanted)
        if given is not tensor:
            found.append(tuple(given.shape))
        return given

    monkeypatch.setattr(calls, "_laid_out", laid_out)
    return found


def as_eager(function: Callable[..., Any], *arguments: torch.Tensor, **options: Any) -> None:
    run = torch.compile(function, backend=xhlo, options=options or None)
    torch.testing.assert_close(run(*arguments), function(*arguments))


@pytest.mark.parametrize("target", ["cpu", "simt"])
def test_repeated_elements_are_not_copied(copied: list[tuple[int, ...]], target: str) -> None:
    def function(a: Any, b: Any, c: Any, d: Any) -> Any:
        return a + b, c * 2, d.sum(1), a.reshape(-1)

    x = torch.randn(3, 4)
    b, d = torch.randn(4, 3).t()[:, None].expand(3, 2, 4), x[:, None].expand(3, 5, 4)
    as_eager(function, x[:, None].expand(3, 2, 4), b, torch.tensor(3.0).expand(2, 5), d, target=target)
    assert copied == []


def test_gaps_are_copied_once(copied: list[tuple[int, ...]]) -> None:
    as_eager(lambda x: x * 2, torch.randn(3, 8)[:, ::2, None].expand(3, 4, 100))
    assert copied == [(3, 4, 1)]


@pytest.mark.parametrize("dynamic", [False, True])
def test_layouts_that_change_between_calls(dynamic: bool) -> None:
    run = torch.compile(lambda x, y: x + y, backend=xhlo, dynamic=dynamic)
    for rows in (3, 5):
        x, y = torch.randn(rows, 4), torch.randn(4)
        for one in (x, y.expand(rows, 4), x[:, :1].expand(rows, 4), torch.randn(4, rows).t()):
            torch.testing.assert_close(run(x, one), x + one)


def test_gradients_and_values_kept_for_them() -> None:
    def function(x: Any, y: Any) -> Any:
        wide = (x.sin().sum(0, keepdim=True)).expand(3, 4)
        return (wide * y).exp(), wide

    def gradients(run: Callable[..., Any]) -> list[Any]:
        torch.manual_seed(0)
        x, y = torch.randn(3, 4, requires_grad=True), torch.randn(3, 1, requires_grad=True)
        found = run(x, y.expand(3, 4))
        torch.autograd.backward(found, [torch.randn(3, 4), torch.randn(3, 4)])
        return [*found, x.grad, y.grad]

    torch.testing.assert_close(gradients(torch.compile(function, backend=xhlo)), gradients(function))


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax"])
def test_scatters_and_gathers_by_an_expanded_index(copied: list[tuple[int, ...]], reduce: str) -> None:
    index = torch.tensor([2, 0, 2, 1, 2])[:, None].expand(5, 4)

    def function(x: Any, index: Any, source: Any) -> Any:
        return x.scatter_reduce(0, index, source, reduce), x.gather(0, index)

    as_eager(function, torch.randn(3, 4), index, torch.randn(5, 4))
    assert copied == []


def test_the_part_that_is_read() -> None:
    assert stored(torch.zeros(3).expand(2, 3)) == (Stored((1, 3), [0, 1]), (0, 1))
    assert stored(torch.zeros(3, 2).t()[None].expand(4, 2, 3)) == (Stored((1, 2, 3), [0, 2, 1]), (0, 1, 2))
    assert stored(torch.zeros(0, 1).expand(0, 5))[0] == Stored((0, 5), [0, 1])
    assert stored(torch.zeros(3, 4)[:, ::2, None].expand(3, 2, 5)) == (Stored((3, 2, 1), [0, 1, 2]), (2, 1, 0))
