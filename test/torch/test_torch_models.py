"""Training: forward, backward and the optimizer, compiled and in torch's eager mode."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from graph_programs import trained
from torch_models import Language, ResNet


def cross_entropy(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(scores.flatten(0, -2), labels.flatten())


def test_perceptron() -> None:
    model = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Dropout(0.2), nn.Linear(8, 3))
    labels = torch.tensor([0, 1, 2, 1])
    trained(model, [torch.randn(4, 6)], partial(cross_entropy, labels=labels), partial(torch.optim.SGD, lr=0.1))


def test_resnet() -> None:
    labels = torch.tensor([3, 7])
    loss = partial(cross_entropy, labels=labels)
    trained(ResNet(), [torch.randn(2, 3, 20, 20)], loss, partial(torch.optim.SGD, lr=0.05, momentum=0.9))


def test_language_model() -> None:
    words, labels = torch.randint(0, 50, (2, 12)), torch.randint(0, 50, (2, 12))
    trained(Language(1), [words], partial(cross_entropy, labels=labels), partial(torch.optim.SGD, lr=0.1))


CONFIGURATION = {
    "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 50,
}  # fmt: skip


@pytest.mark.sample(name=("Llama",))
@pytest.mark.parametrize("name", ["Llama", "Bert", "Mamba"])
def test_transformers(name: str) -> None:
    """Random weights; the loss and the gradients are eager's."""
    transformers = pytest.importorskip("transformers")
    configuration = getattr(transformers, f"{name}Config")(**CONFIGURATION)
    model = getattr(transformers, f"{name}ForMaskedLM" if name == "Bert" else f"{name}ForCausalLM")(configuration)
    words = torch.randint(0, 50, (2, 8))

    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, words: torch.Tensor) -> torch.Tensor:
            return self.model(input_ids=words, labels=words).loss

    trained(Loss(), [words], lambda loss: loss, partial(torch.optim.SGD, lr=0.1), steps=1)
