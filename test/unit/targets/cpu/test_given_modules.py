"""A module that its maker gives away is compiled to what its text is, without reading that; and it is verified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import xhlo.targets.compile as compiling
from xhlo.hlo_dialect.errors import DiagnosticError
from xhlo.hlo_dialect.made_once import MadeOnce
from xhlo.hlo_dialect.reading.module import parse_module

PROGRAM = """func.func @main(%x: tensor<5x7xf32>, %y: tensor<7xf32>) -> tensor<5xf32> {
  %0 = hlo.broadcast_in_dim %y, dims = [1] : (tensor<7xf32>) -> tensor<5x7xf32>
  %1 = hlo.multiply %x, %0 : tensor<5x7xf32>
  %2 = hlo.constant dense<0.0> : tensor<f32>
  %3 = hlo.reduce(%1 init: %2) applies hlo.add across dimensions = [1] : (tensor<5x7xf32>, tensor<f32>) -> tensor<5xf32>
  func.return %3 : tensor<5xf32>
}
"""


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XHLO_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiling, "_CACHE", MadeOnce(4))


def test_a_given_module_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = compiling.compile_source(
        compiling.read_source(parse_module(PROGRAM)), compiling.get_target("cpu").present()
    )

    def read(*_: Any) -> ModuleOp:
        raise AssertionError("the text was read")

    monkeypatch.setattr(compiling, "parse_source", read)
    found = compiling.compile_program(parse_module(PROGRAM), given=True)
    assert found.serialize() == wanted.serialize()
    x, y = np.arange(35, dtype=np.float32).reshape(5, 7), np.arange(7, dtype=np.float32)
    np.testing.assert_array_equal(np.asarray(found(x, y)), x @ y)
    # Another module of the same text is found by it.
    assert compiling.compile_program(parse_module(PROGRAM), given=True) is found
    with pytest.raises(AssertionError, match="the text was read"):
        compiling.compile_program(parse_module(PROGRAM.replace("add", "maximum")))


def test_a_given_module_is_verified() -> None:
    text = PROGRAM.replace("across dimensions = [1]", "across dimensions = [2]")
    with pytest.raises(DiagnosticError, match="reduce_c4"):
        compiling.compile_program(parse_module(text, verify=False), given=True)
