"""`xhlo.tensorflow` where TensorFlow is not installed; with it, test/tensorflow (make tensorflow-test)."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import xhlo
from xhlo.frontends.tensorflow.library import tensorflow
from xhlo.frontends.tensorflow.tensors import ALIGNMENT, aligned_array


def test_without_tensorflow_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    tensorflow.cache_clear()
    with pytest.raises(ImportError, match=r"pip install 'xhlo\[tensorflow\]'"):
        xhlo.tensorflow.jit(lambda x: x)


@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (5, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.bool_])
def test_results_are_at_addresses_that_tensorflow_takes(shape: tuple[int, ...], dtype: type) -> None:
    arrays = [aligned_array(shape, np.dtype(dtype)) for _ in range(5)]
    assert all(each.ctypes.data % ALIGNMENT == 0 or not each.size for each in arrays)
    assert all(each.shape == shape and each.dtype == dtype and each.flags.c_contiguous for each in arrays)
