"""Gradients of resized images: sums of neighbours, with nothing added at places that overlap."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from xhlo.frontends.torch import backend as module
from xhlo.frontends.torch.backend import xhlo

LAST = torch.channels_last


@pytest.mark.parametrize(
    ("layout", "stated"),
    [
        (LAST, {"scale_factor": 1.7, "mode": "bilinear"}),
        (torch.contiguous_format, {"size": (13, 4), "mode": "bicubic", "align_corners": True}),
        # More neighbours than are added one by one, and elements that no output reads.
        (LAST, {"size": (90, 2), "mode": "bilinear"}),
        (LAST, {"scale_factor": 2.0}),
        (torch.contiguous_format, {"scale_factor": (1.7, 3.0)}),
        (LAST, {"size": (4, 15), "mode": "nearest-exact"}),
        (torch.contiguous_format, {"scale_factor": 0.6, "recompute_scale_factor": True}),
    ],
)
def test_gradients(monkeypatch: pytest.MonkeyPatch, layout: torch.memory_format, stated: dict[str, Any]) -> None:
    targets: list[str] = []
    real = module.compile_graph

    def seen(graph_module: Any, *rest: Any) -> Any:
        targets.extend(str(node.target) for node in graph_module.graph.nodes)
        return real(graph_module, *rest)

    monkeypatch.setattr(module, "compile_graph", seen)
    torch._dynamo.reset()
    x = torch.randn(2, 3, 6, 7, dtype=torch.float64).contiguous(memory_format=layout).requires_grad_()
    function = partial(F.interpolate, **stated)
    expected, found = function(x), torch.compile(function, backend=xhlo)(x)
    gradient = torch.randn_like(expected)
    by = [torch.autograd.grad(one, x, gradient)[0] for one in (expected, found)]
    torch.testing.assert_close(by[1], by[0])
    assert by[1].stride() == by[0].stride()
    assert not [one for one in targets if "index_put" in one]


@pytest.mark.parametrize(
    ("shape", "stated"),
    [
        ((7,), {"scale_factor": 2.3, "mode": "linear"}),
        ((7,), {"size": 21, "mode": "nearest"}),
        ((3, 4, 5), {"scale_factor": 2, "mode": "trilinear", "align_corners": True}),
        ((3, 4, 5), {"scale_factor": (2, 1.5, 0.7), "mode": "nearest-exact"}),
        ((3, 4, 5), {"size": (6, 2, 5), "mode": "nearest"}),
    ],
)
def test_gradients_of_lines_and_volumes(shape: tuple[int, ...], stated: dict[str, Any]) -> None:
    torch._dynamo.reset()
    x = torch.randn(2, 3, *shape, dtype=torch.float64, requires_grad=True)
    function = partial(F.interpolate, **stated)
    expected, found = function(x), torch.compile(function, backend=xhlo)(x)
    torch.testing.assert_close(found, expected)
    gradient = torch.randn_like(expected)
    by = [torch.autograd.grad(one, x, gradient)[0] for one in (expected, found)]
    torch.testing.assert_close(by[1], by[0])


def test_gradients_of_others_may_be_infinite() -> None:
    x = torch.randn(1, 1, 4, 5, requires_grad=True)
    function = partial(F.interpolate, size=(7, 9), mode="bilinear")
    gradient = torch.randn(1, 1, 7, 9)
    gradient[0, 0, 3, 3] = torch.inf
    by = [torch.autograd.grad(run(x), x, gradient)[0] for run in (function, torch.compile(function, backend=xhlo))]
    torch.testing.assert_close(by[1], by[0], equal_nan=True)
