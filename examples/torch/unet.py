"""
Steps of a small U-Net in the manner of Stable Diffusion: it denoises an image under a text's embedding.

    pip install 'xhlo[torch]'
    python examples/torch/unet.py

Residual blocks know the time by an embedding; transformers attend to the image itself and to the text. Each step takes
the model's noise from the image (DDIM, with guidance: the text's noise against that of no text). Only the backend's
name differs from a program for any other backend.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

TIMES, STEPS, GUIDANCE = 1000, 4, 3.0
SIZE, CONTEXT, WORDS = 16, 24, 6


class Residual(nn.Module):
    """Two convolutions; the time's embedding is added between them."""

    def __init__(self, inputs: int, outputs: int, times: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(4, inputs), nn.GroupNorm(4, outputs)])
        self.first, self.second = nn.Conv2d(inputs, outputs, 3, 1, 1), nn.Conv2d(outputs, outputs, 3, 1, 1)
        self.time = nn.Linear(times, outputs)
        self.short = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        y = self.first(F.silu(self.norms[0](x))) + self.time(F.silu(time))[:, :, None, None]
        return self.short(x) + self.second(F.silu(self.norms[1](y)))


class Attention(nn.Module):
    """Attention of the image's places to a sequence."""

    def __init__(self, size: int, context: int, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.out = nn.Linear(size, size, bias=False), nn.Linear(size, size)
        self.kv = nn.Linear(context, 2 * size, bias=False)

    def forward(self, x: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        parts = (self.q(x), *self.kv(context).chunk(2, -1))
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in parts)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Transformer(nn.Module):
    """Attention to the image and to the text, and a gated perceptron."""

    def __init__(self, size: int, context: int) -> None:
        super().__init__()
        self.enter, self.norms = nn.GroupNorm(4, size), nn.ModuleList(nn.LayerNorm(size) for _ in range(3))
        self.own, self.cross = Attention(size, size), Attention(size, context)
        self.gate, self.leave = nn.Linear(size, 8 * size), nn.Linear(4 * size, size)

    def forward(self, image: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        x = self.enter(image).flatten(2).transpose(1, 2)
        y = self.norms[0](x)
        x = x + self.own(y, y)
        x = x + self.cross(self.norms[1](x), context)
        value, gate = self.gate(self.norms[2](x)).chunk(2, -1)
        x = x + self.leave(value * F.gelu(gate))
        return image + x.transpose(1, 2).reshape(image.shape)


class UNet(nn.Module):
    """Two levels of the image's size, with connections from the way down to the way up."""

    def __init__(self, channels: int = 16, context: int = CONTEXT) -> None:
        super().__init__()
        wide, times = 2 * channels, 4 * channels
        self.channels = channels
        self.time = nn.Sequential(nn.Linear(channels, times), nn.SiLU(), nn.Linear(times, times))
        self.enter = nn.Conv2d(4, channels, 3, 1, 1)
        self.down = nn.ModuleList([Residual(channels, channels, times), Residual(channels, wide, times)])
        self.smaller = nn.Conv2d(channels, channels, 3, 2, 1)
        self.middle = nn.ModuleList([Residual(wide, wide, times), Residual(wide, wide, times)])
        self.attention = nn.ModuleList(Transformer(wide, context) for _ in range(3))
        self.up = nn.ModuleList([Residual(2 * wide, wide, times), Residual(wide + channels, channels, times)])
        self.larger = nn.Conv2d(wide, wide, 3, 1, 1)
        self.leave = nn.Sequential(nn.GroupNorm(4, channels), nn.SiLU(), nn.Conv2d(channels, 4, 3, 1, 1))

    def forward(self, image: torch.Tensor, time: torch.Tensor, context: torch.Tensor) -> torch.Tensor:
        half = self.channels // 2
        waves = time[:, None] * torch.exp(-math.log(10000) * torch.arange(half) / half)
        embedding = self.time(torch.cat([waves.cos(), waves.sin()], -1))
        first = self.down[0](self.enter(image), embedding)
        second = self.attention[0](self.down[1](self.smaller(first), embedding), context)
        x = self.middle[1](self.attention[1](self.middle[0](second, embedding), context), embedding)
        x = self.attention[2](self.up[0](torch.cat([x, second], 1), embedding), context)
        x = self.larger(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return self.leave(self.up[1](torch.cat([x, first], 1), embedding))


@torch.no_grad()
def denoise(backend: str) -> torch.Tensor:
    """An image from noise, with random weights."""
    torch.manual_seed(0)
    model = torch.compile(UNet().eval(), backend=backend)
    kept = torch.cumprod(1 - torch.linspace(0.00085**0.5, 0.012**0.5, TIMES) ** 2, 0)
    text = torch.cat([torch.zeros(1, WORDS, CONTEXT), torch.randn(1, WORDS, CONTEXT)])
    image = torch.randn(1, 4, SIZE, SIZE)
    places = list(range(TIMES - 1, 0, -TIMES // STEPS))
    for place, following in zip(places, [*places[1:], 0], strict=True):
        plain, guided = model(image.repeat(2, 1, 1, 1), torch.full((2,), float(place)), text).chunk(2)
        noise = plain + GUIDANCE * (guided - plain)
        clean = (image - (1 - kept[place]).sqrt() * noise) / kept[place].sqrt()
        image = kept[following].sqrt() * clean + (1 - kept[following]).sqrt() * noise
    return image


if __name__ == "__main__":
    found, expected = denoise("xhlo"), denoise("eager")
    error = ((found - expected).norm() / expected.norm()).item()
    print(
        f"image of mean {found.mean():.4f}, eager {expected.mean():.4f}; relative difference below 1e-4: {error < 1e-4}"
    )
    assert error < 1e-4
