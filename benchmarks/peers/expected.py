"""Write a row's results in float64: `python -m peers.expected ROW FILE`."""

from __future__ import annotations

import sys

import numpy as np

from .on_jax import expected
from .rows import BY_NAME

if __name__ == "__main__":
    np.savez(sys.argv[2], *expected(BY_NAME[sys.argv[1]]))
