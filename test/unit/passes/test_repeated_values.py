"""Values that fusions compute again, products read reshaped, and reversed filters: the lit programs, executed."""

from __future__ import annotations

import numpy as np
import pytest

from checkout import LIT
from cpu_programs import run
from hlo_programs import Program
from xhlo.hlo_dialect.entry import entry_tensors, find_entry
from xhlo.hlo_dialect.types import shape_of

NAMES = ("repeats", "reversed_filters", "epilogues")


def functions(name: str) -> list[str]:
    """The functions of a lit test that take floats, each as a program."""
    _, *texts = next((LIT / "passes" / "fuse_hlo").rglob(f"{name}.mlir")).read_text().split("\nfunc.func @")
    programs = ["func.func @main(" + text.partition("(")[2].partition("\n}")[0] + "\n}" for text in texts]
    return [text for text in programs if "xi" not in text and "f64" not in text]


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_results_agree_with_the_reference(name: str) -> None:
    draw = np.random.default_rng(0)
    texts = functions(name)
    assert len(texts) >= 2
    for text in texts:
        entry = find_entry(Program(text).module)
        assert entry is not None
        inputs = [draw.normal(size=shape_of(type_)).astype(np.float32) * 0.1 for type_ in entry_tensors(entry)[0]]
        for found, want in zip(run(text, inputs), run(text, inputs, "reference"), strict=True):
            np.testing.assert_allclose(found, want, rtol=2e-4, atol=1e-4 * float(np.abs(want).max()))
