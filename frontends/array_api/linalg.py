"""The extension of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from .functions import FUNCTIONS, of_numpy

LINALG: dict[str, Any] = {
    name: of_numpy(getattr(np.linalg, name))
    for name in (
        "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose "
        "outer pinv qr slogdet solve svd svdvals tensordot trace vector_norm"
    ).split()
}
LINALG["vecdot"] = FUNCTIONS["vecdot"]
