"""Programs live as long as something can call them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch

from xhlo.frontends.torch import graphs, specializing
from xhlo.frontends.torch.backend import xhlo
from xhlo.targets.compile import _CACHE


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[Any]]:
    """The executables that graphs were compiled to."""
    found: list[weakref.ref[Any]] = []
    real = graphs.executable_of

    def executable_of(*arguments: Any) -> Any:
        executable = real(*arguments)
        found.append(weakref.ref(executable))
        return executable

    monkeypatch.setattr(graphs, "executable_of", executable_of)
    return found


def alive(made: list[weakref.ref[Any]]) -> int:
    """The number of executables that live for another reason than the process's bounded cache."""
    _CACHE.clear()
    gc.collect()
    return len({id(executable) for one in made if (executable := one()) is not None})


def test_what_dynamo_forgets_is_freed(made: list[weakref.ref[Any]]) -> None:
    layer = torch.nn.Linear(3, 2)
    for size in (2, 3):
        function = torch.compile(lambda x: layer(x).sum(), backend=xhlo, dynamic=False)
        function(torch.randn(size, 3)).backward()
        del function
        torch._dynamo.reset()
    assert (len(made), alive(made)) == (4, 0)


def test_a_graph_keeps_some_combinations_of_sizes(
    made: list[weakref.ref[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(specializing, "KEPT", 2)
    function = torch.compile(lambda x: x * x.shape[0], backend=xhlo, dynamic=True)
    for size in (3, 4, 5, 3):
        assert function(torch.ones(size)).tolist() == [size] * size
    assert (len(made), alive(made)) == (4, 2)
