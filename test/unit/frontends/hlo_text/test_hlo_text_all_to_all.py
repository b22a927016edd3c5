"""An all_to_all that splits and joins different dimensions, written with HLO's, which knows one."""

from __future__ import annotations

import numpy as np
import pytest

from xhlo.frontends.hlo_text.format import write
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.reference.replicas import evaluate_replicas


@pytest.mark.parametrize(("split", "joined"), [(0, 0), (0, 1), (1, 0), (2, 0), (0, 2), (1, 2)])
def test_written_and_read_back(split: int, joined: int) -> None:
    shape = [2, 4, 6]
    result = list(shape)
    result[split] //= 2
    result[joined] *= 2
    types = "x".join(map(str, shape)), "x".join(map(str, result))
    text = f"""module attributes {{mhlo.num_replicas = 2 : i32}} {{
  func.func @main(%x: tensor<{types[0]}xf32>, %y: tensor<{types[0]}xi8>) -> (tensor<{types[1]}xf32>, tensor<{types[1]}xi8>) {{
    %0:2 = "stablehlo.all_to_all"(%x, %y) <{{split_dimension = {split} : i64, concat_dimension = {joined} : i64,
      split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}}>
      : (tensor<{types[0]}xf32>, tensor<{types[0]}xi8>) -> (tensor<{types[1]}xf32>, tensor<{types[1]}xi8>)
    return %0#0, %0#1 : tensor<{types[1]}xf32>, tensor<{types[1]}xi8>
  }}
}}"""
    module = parse_module(text, "x.mlir")
    written = write(module)
    inputs = [[(np.arange(48) + 50 * at).reshape(shape).astype(dtype) for dtype in ("f4", "i1")] for at in range(2)]
    expected = evaluate_replicas(module, inputs)
    for ours, theirs in zip(evaluate_replicas(parse_module(written, "x.hlo"), inputs), expected, strict=True):
        for mine, right in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine, right)
    hlo = pytest.importorskip("jaxlib._hlo")
    assert "all-to-all" in hlo.hlo_module_from_text(written).to_string()
