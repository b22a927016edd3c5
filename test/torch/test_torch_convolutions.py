"""Convolutions of few positions and many features, which are products of matrices, and their gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from graph_programs import compiled
from xhlo.frontends.torch import graphs


def _step(x: Any, w: Any, t: Any, k: Any) -> list[Any]:
    given = [one.clone().requires_grad_() for one in (x, w, t, k)]
    x, w, t, k = given
    found = [
        F.conv2d(x, w, stride=(2, 1), padding=(1, 2), dilation=(1, 2)),
        F.conv2d(x, k, stride=2),
        F.conv_transpose2d(x, t, stride=(3, 2), padding=(1, 0), output_padding=(2, 0), dilation=(2, 1)),
        F.conv1d(x[:1, :, 0], w[:, :, 0], padding=2),
    ]
    return [*found, *torch.autograd.grad([(one * one.detach().cos()).sum() for one in found], given)]


def test_few_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    x, w, t = torch.randn(2, 16, 3, 2), torch.randn(40, 16, 3, 2), torch.randn(16, 5, 3, 2)
    k = torch.randn(40, 16, 1, 1)
    texts: list[str] = []
    real = graphs.executable_of

    def executable_of(module: Any, options: Any) -> Any:
        texts.append(str(module))
        return real(module, options)

    monkeypatch.setattr(graphs, "executable_of", executable_of)
    expected = _step(x, w, t, k)
    found = compiled(_step)(x, w, t, k)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    assert all("hlo.convolution" not in text for text in texts)


def test_results_that_reach_beyond_the_windows() -> None:
    """A transposed convolution whose output padding is its stride or more: its gradient leaves results out."""
    torch.manual_seed(0)
    x, t = torch.randn(2, 4, 5, 6), torch.randn(4, 3, 2, 3)

    def step(x: Any, t: Any) -> list[Any]:
        given = [one.clone().requires_grad_() for one in (x, t)]
        found = F.conv_transpose2d(*given, stride=(1, 2), padding=1, output_padding=(2, 3), dilation=(3, 4))
        return [found, *torch.autograd.grad((found * found.detach().cos()).sum(), given)]

    for one, other in zip(compiled(step)(x, t), step(x, t), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
