"""The programs of the rules' lit tests, run by the reference before and after: every rewrite computes the same."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from checkout import LIT
from hlo_programs import Program
from xhlo.hlo_dialect.entry import entry_tensors, find_entry
from xhlo.hlo_dialect.types import element_of, numpy_dtype, shape_of


def functions(name: str) -> list[str]:
    """The functions of a lit test, each as a program."""
    _, *texts = (LIT / "passes" / "simplify_hlo" / f"{name}.mlir").read_text().split("\nfunc.func @")
    return ["func.func @main(" + text.partition("(")[2].partition("\n}")[0] + "\n}" for text in texts]


def inputs(module: ModuleOp, seed: int) -> list[np.ndarray]:
    """Random arguments: integers from -12 to 12, edges of their types among them, so that some indices are outside."""
    entry = find_entry(module)
    assert entry is not None
    draw = np.random.default_rng(seed)
    found: list[np.ndarray] = []
    for type_ in entry_tensors(entry)[0]:
        dtype, shape = numpy_dtype(element_of(type_)), shape_of(type_)
        assert dtype is not None
        if dtype.kind == "f":
            found.append(draw.normal(size=shape).astype(dtype))
            continue
        if dtype.kind == "b":
            found.append(draw.random(size=shape) < 0.5)
            continue
        array = draw.integers(0 if dtype.kind == "u" else -12, 12, shape).astype(dtype)
        if array.size > 2 and seed % 2:
            array.flat[:2] = np.iinfo(dtype).min, np.iinfo(dtype).max
        found.append(array)
    return found


@pytest.mark.long(7)
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        "bounds",
        "counters",
        "integers",
        "slices",
        "partial_reduction",
        "convolution",
        "products",
        "cancellation",
        "selection",
        "movement",
        "picks",
        "padded_sums",
    ],
)
def test_results_stay(name: str, fast: bool) -> None:
    for text in functions(name):
        program = Program(text).after("simplify-hlo{math=fast}" if fast else "simplify-hlo")
        for seed in range(3):
            arguments = inputs(Program(text).module, seed)
            if any(array.dtype.kind == "f" for array in arguments):
                program.same_results(*arguments, rtol=2e-5, atol=2e-5)
            else:
                program.same_bits(*arguments)
