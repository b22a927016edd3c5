"""Matrices that are transposed by shuffles of their rows."""

import numpy as np
import pytest

from xhlo.lowering.loop_nests.transposed_rows import BLOCK, transposed

SHAPES = [(4, 4, 32, 1), (8, 8, 32, 1), (16, 16, 32, 1), (8, 8, 64, 1), (4, 16, 32, 1), (8, 32, 16, 2), (2, 8, 64, 4)]
"""Rows, lanes, bits of a lane, and lanes of an entry."""


@pytest.mark.parametrize(("size", "lanes", "bits", "unit"), [*SHAPES, (64, 64, 8, 1), (1, 16, 32, 1)])
def test_columns_of_matrices_abreast(size: int, lanes: int, bits: int, unit: int) -> None:
    rows = np.arange(size * lanes).reshape(size, lanes)
    found = transposed(list(rows), lanes, bits, lambda x, y, mask: np.concatenate([x, y])[list(mask)], unit)
    matrices = rows.reshape(size, -1, size, unit)  # [row, matrix, column, lane]
    assert (np.stack(found).reshape(matrices.shape) == matrices.transpose(2, 1, 0, 3)).all()


@pytest.mark.parametrize(("size", "lanes", "bits", "unit"), SHAPES)
def test_shuffles_stay_in_blocks_or_move_them(size: int, lanes: int, bits: int, unit: int) -> None:
    """Others need a table, and are long to select."""
    block = BLOCK // bits

    def shuffled(x: None, y: None, mask: object) -> None:
        numbers = np.array(mask)  # pyright: ignore[reportArgumentType]
        stays = (numbers % lanes // block == np.arange(lanes) // block).all()
        moves = (numbers.reshape(-1, block) % block == np.arange(block)).all()
        assert stays or moves

    transposed([None] * size, lanes, bits, shuffled, unit)
