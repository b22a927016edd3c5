"""Where arrays are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xhlo.hlo_dialect import arrays


class Own(np.ndarray[Any, Any]):
    """A subclass with more in its instances."""


class Stranger:
    """No array, which says where one is."""

    def __init__(self, array: Any):
        self.__array_interface__ = array.__array_interface__


WHOLE = np.arange(24.0).reshape(4, 6)


@pytest.mark.parametrize(
    "array",
    [WHOLE, WHOLE[1:, ::2], WHOLE.T, np.zeros(0), np.array(3, np.int8), WHOLE.view(Own)[2:], Stranger(WHOLE)],
)
def test_read_as_stated(array: Any) -> None:
    assert arrays.address_of(array) == array.__array_interface__["data"][0]


def test_elsewhere_as_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_DATA", arrays._DATA + 8)
    assert arrays._choose() is arrays._stated_address
