"""The heat equation on a plate whose edges are kept at their temperature, by finite differences in place."""

from __future__ import annotations

from typing import Any

import numpy as np
from timing import compare, size


def heat(plate: Any, steps: int = 8) -> Any:
    u = plate.copy()
    for _ in range(steps):
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        u[1:-1, 1:-1] += 0.2 * (around - 4 * u[1:-1, 1:-1])
    return u


if __name__ == "__main__":
    side = int(size(1_000_000) ** 0.5)
    plate = np.zeros((side, side))
    plate[0] = 100
    compare(heat, plate)
