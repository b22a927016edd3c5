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
from xhlo.targets.cpu.executable import CpuExecutable


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


def test_a_run_that_may_be_interrupted_has_owners_of_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[tuple[set[int], set[int]]] = []
    real = CpuExecutable.run_at

    def run_at(self: CpuExecutable, addresses: list[int], owners: Any = None) -> None:
        owned = {tensor.data_ptr() for tensors in owners for tensor in tensors}
        used.append((set(addresses), owned))
        real(self, addresses, owners)

    monkeypatch.setattr(CpuExecutable, "run_at", run_at)
    monkeypatch.setattr(CpuExecutable, "runs_alone", False)
    x, y = torch.randn(5, 7), torch.randn(7)
    compiled = torch.compile(lambda x, y: (x + y, x.T * 2), backend=xhlo)
    torch.testing.assert_close(compiled(x, y), (x + y, x.T * 2))
    assert used and all(addresses <= owned for addresses, owned in used)
