"""
A small GPT: training on a text, then generation with a cache of keys and values.

    pip install 'xhlo[torch]'
    python examples/torch/gpt.py

The cache has a fixed size, so that one program generates every token. Each step writes its keys and values at the
current place and masks the places that come later.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

TEXT = "the compiler reads the graph and writes the code, and the code reads the data and writes the graph. "
LETTERS = sorted(set(TEXT))
LENGTH, SIZE, HEADS = 32, 32, 4


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(SIZE) for _ in range(2))
        self.qkv, self.out = nn.Linear(SIZE, 3 * SIZE), nn.Linear(SIZE, SIZE)
        self.mlp = nn.Sequential(nn.Linear(SIZE, 4 * SIZE), nn.GELU(), nn.Linear(4 * SIZE, SIZE))

    def forward(self, x: torch.Tensor, cache: torch.Tensor | None, place: torch.Tensor | None) -> torch.Tensor:
        batch, length, _ = x.shape
        parts = self.qkv(self.norms[0](x)).chunk(3, -1)
        q, k, v = (one.view(batch, length, HEADS, -1).transpose(1, 2) for one in parts)
        if cache is None:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            cache[0].index_copy_(2, place, k)
            cache[1].index_copy_(2, place, v)
            seen = torch.arange(LENGTH) <= place
            y = F.scaled_dot_product_attention(q, cache[0], cache[1], attn_mask=seen[None, None, None])
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, SIZE))
        return x + self.mlp(self.norms[1](x))


class Gpt(nn.Module):
    def __init__(self, layers: int = 2) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(len(LETTERS), SIZE), nn.Embedding(LENGTH, SIZE)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.last = nn.Linear(SIZE, len(LETTERS))

    def forward(
        self, letters: torch.Tensor, cache: torch.Tensor | None = None, place: torch.Tensor | None = None
    ) -> torch.Tensor:
        places = torch.arange(letters.shape[1]) if place is None else place
        x = self.letters(letters) + self.places(places)
        for number, layer in enumerate(self.layers):
            x = layer(x, None if cache is None else cache[number], place)
        return self.last(x)


def train(model: nn.Module, steps: int, backend: str) -> list[float]:
    """Cross-entropies of the next letter."""
    forward = torch.compile(model, backend=backend)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    codes = torch.tensor([LETTERS.index(letter) for letter in TEXT * 4])
    losses: list[float] = []
    for _ in range(steps):
        starts = torch.randint(0, len(TEXT), (8,)).tolist()
        words = torch.stack([codes[start : start + LENGTH + 1] for start in starts])
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def generate(model: Gpt, begin: str, backend: str) -> str:
    """The most likely letters after a beginning, up to the length of the cache."""
    step = torch.compile(model, backend=backend)
    cache = torch.zeros(len(model.layers), 2, 1, HEADS, LENGTH, SIZE // HEADS)
    text = begin
    for place in range(LENGTH - 1):
        letter = torch.tensor([[LETTERS.index(text[place])]])
        scores = step(letter, cache, torch.tensor([place]))
        if place + 1 == len(text):
            text += LETTERS[int(scores.argmax())]
    return text


if __name__ == "__main__":
    results: list[tuple[list[float], str]] = []
    for backend in ("xhlo", "eager"):
        torch.manual_seed(0)
        model = Gpt()
        losses = train(model, 20, backend)
        results.append((losses, generate(model, "the ", backend)))
        print(f"{backend}: loss {losses[0]:.3f} to {losses[-1]:.3f}; {results[-1][1]!r}")
    (found, text), (expected, same) = results
    assert text == same
    assert abs(found[10] - expected[10]) <= 1e-3
