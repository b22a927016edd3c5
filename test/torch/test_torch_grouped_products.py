"""Products of groups, as mixtures of experts make them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from graph_programs import each, same_as_eager
from xhlo.frontends.torch.backend import xhlo


def test_groups_along_each_dimension() -> None:
    """One group is empty; all rows belong to one, because torch leaves others as they are."""
    ends = torch.tensor([16, 16, 40], dtype=torch.int32)
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator).bfloat16()

    same_as_eager(
        each(
            lambda x, y, z, w, ends: torch._grouped_mm(x, y, ends),
            lambda x, y, z, w, ends: torch._grouped_mm(z, x.t(), ends),
            lambda x, y, z, w, ends: torch._grouped_mm(x.t(), w, ends),
            lambda x, y, z, w, ends: torch._grouped_mm(z, y),
        ),
        random(40, 16), random(3, 16, 24), random(3, 8, 16), random(40, 24), ends, rtol=2e-2, atol=2e-2,
    )  # fmt: skip


def test_gradients_of_experts() -> None:
    pytest.importorskip("transformers.integrations.moe")

    def trained(run: Any) -> list[torch.Tensor]:
        torch.manual_seed(0)
        x, weight = torch.randn(12, 5, requires_grad=True), torch.randn(3, 5, 4, requires_grad=True)
        found = run(x, weight, torch.tensor([4, 4, 9], dtype=torch.int32))
        found.sin().sum().backward()
        return [found, x.grad, weight.grad]

    product = torch.ops.transformers.grouped_mm_fallback
    compiled = torch.compile(lambda *given: product(*given), backend=xhlo, options={"strict": True})
    torch.testing.assert_close(trained(compiled), trained(product), rtol=1e-5, atol=1e-6)
