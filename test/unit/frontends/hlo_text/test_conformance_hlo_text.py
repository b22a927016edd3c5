"""The conformance programs as HLO text, before and after XLA's optimizations: results as XLA:CPU's."""

from __future__ import annotations

import pytest

import conformance
import xhlo

pytestmark = pytest.mark.skipif(not (conformance.ROOT / "hlo_text").is_dir(), reason=conformance.SKIP)


def _programs(folder: str) -> list[str]:
    return sorted(path.name.removesuffix(".hlo") for path in (conformance.ROOT / folder).glob("*.hlo"))


@pytest.mark.long(15)
@pytest.mark.sample(6)
@pytest.mark.parametrize("name", _programs("hlo_text"))
def test_jax(name: str) -> None:
    expected = conformance.jax_program(name.rpartition(".")[0])
    results = xhlo.compile(conformance.ROOT / "hlo_text" / f"{name}.hlo")(*expected.inputs)
    found = results if isinstance(results, tuple) else (results,)
    assert conformance.wrong_outputs(expected, found) == {}


@pytest.mark.long(4)
@pytest.mark.sample(4)
@pytest.mark.parametrize("name", _programs("tf_hlo"))
def test_tensorflow(name: str) -> None:
    inputs, outputs, rtol = conformance.tensorflow_program(name.rpartition(".")[0])
    results = xhlo.compile(conformance.ROOT / "tf_hlo" / f"{name}.hlo")(*inputs)
    found = results if isinstance(results, tuple) else (results,)
    for actual, expected in zip(found, outputs, strict=True):
        assert conformance.difference(actual, expected, rtol, False) is None
