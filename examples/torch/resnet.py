"""
A training loop of a small ResNet, compiled by xhlo and in torch's eager mode.

    pip install 'xhlo[torch]'
    python examples/torch/resnet.py

Only the backend's name differs from a program for any other backend.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.short = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(outputs) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.second(y)) + self.norms[2](self.short(x)))


def resnet() -> nn.Module:
    stem = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)]
    blocks = [Residual(16, 16, 1), Residual(16, 32, 2)]
    return nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 4))


def train(backend: str, steps: int = 4) -> list[float]:
    """Losses of a model that learns which quarter of an image is bright."""
    torch.manual_seed(0)
    model = resnet()
    forward = torch.compile(model, backend=backend)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses: list[float] = []
    for _ in range(steps):
        labels = torch.randint(0, 4, (16,))
        images = torch.rand(16, 3, 16, 16)
        for image, label in zip(images, labels.tolist(), strict=True):
            row, column = 8 * (label // 2), 8 * (label % 2)
            image[:, row : row + 8, column : column + 8] += 1
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    found, expected = train("xhlo"), train("eager")
    for step, (x, y) in enumerate(zip(found, expected, strict=True)):
        print(f"step {step}: loss {x:.4f}, eager {y:.4f}")
    assert all(abs(x - y) <= 1e-3 * abs(y) for x, y in zip(found, expected, strict=True))
