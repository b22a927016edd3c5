"""Fixtures of the tests of the backend for PyTorch; without PyTorch they are skipped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'xhlo[torch-test]'")


@pytest.fixture(autouse=True)
def forget_graphs() -> Iterator[None]:
    """Dynamo keeps what it compiled by code object, and gives up after some compilations of one."""
    import torch

    torch.manual_seed(0)
    yield
    torch._dynamo.reset()
