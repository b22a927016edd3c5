"""Lloyd's algorithm: points in clusters around their means."""

from __future__ import annotations

from typing import Any

import numpy as np
from timing import compare, size


def k_means(points: Any, centres: Any, steps: int = 3) -> Any:
    for _ in range(steps):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = np.argmin(distances, axis=1)
        member = (nearest[:, None] == np.arange(len(centres))).astype(points.dtype)
        counts = member.sum(axis=0)
        centres = np.where(counts[:, None] > 0, member.T @ points / np.maximum(counts, 1)[:, None], centres)
    return centres


if __name__ == "__main__":
    random = np.random.default_rng(0)
    middles = random.uniform(-10, 10, (6, 2))
    points = np.concatenate([random.normal(middle, 1, (size(600_000) // 6, 2)) for middle in middles])
    compare(k_means, points, points[:: len(points) // 6][:6])
