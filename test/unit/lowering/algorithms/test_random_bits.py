"""rng_bit_generator equals XLA:CPU's bit for bit; rng has the right bounds and moments."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import xhlo
from cpu_programs import DTYPES, TARGETS, run
from jax_mlir import shared_context
from xhlo.hlo_dialect.numbers.random_bits import philox, split_dimension, threefry

jax = pytest.importorskip("jax")
ALGORITHMS = ("DEFAULT", "PHILOX", "THREE_FRY")
SHAPES: list[tuple[int, ...]] = [(), (7,), (3, 5), (1,), (4,), (5, 4), (3, 4, 5), (2, 0), (33,)]
STATES = ([1, 2, 3], [2**64 - 1, 2**64 - 2, 2**64 - 1], [2**63 + 12345, 2**32 - 1, 5])
NUMBERS = ["i8", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "bf16", "f16", "f32", "f64"]


def bits_program(algorithm: str, words: int, outputs: list[str]) -> str:
    """One generator for each output type, all with the same state."""
    state = f"tensor<{words}xui64>"
    ops = "\n".join(
        f"%{2 * k}, %{2 * k + 1} = stablehlo.rng_bit_generator %s, algorithm = {algorithm} : ({state}) -> ({state}, {t})"
        for k, t in enumerate(outputs)
    )
    results = ", ".join(f"%{k}" for k in range(2 * len(outputs)))
    types = ", ".join(f"{state}, {type_}" for type_ in outputs)
    return f"func.func @main(%s: {state}) -> ({types}) {{\n{ops}\nreturn {results} : {types}\n}}"


def tensor(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"


def by_xla(text: str) -> Callable[[np.ndarray[Any, Any]], list[np.ndarray[Any, Any]]]:
    """The program compiled by XLA:CPU."""
    mlir: Any = import_module("jax._src.interpreters.mlir")
    xla_client: Any = import_module("jax._src.lib").xla_client
    ir: Any = import_module("jaxlib.mlir.ir")

    device = jax.devices("cpu")[0]
    with shared_context():
        code = mlir.module_to_bytecode(ir.Module.parse(text))
    executable = device.client.compile_and_load(code, [device], xla_client.CompileOptions())

    def call(state: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
        with jax.enable_x64(True):
            results = executable.execute_sharded([jax.device_put(state, device)])
        return [np.asarray(shards[0]) for shards in results.disassemble_into_single_device_arrays()]

    return call


@pytest.mark.long(4)
@pytest.mark.sample(turn=[0])
@pytest.mark.parametrize("turn", range(3))
@pytest.mark.parametrize("algorithm, words", [("DEFAULT", 2), ("PHILOX", 2), ("PHILOX", 3), ("THREE_FRY", 2)])
def test_bits_are_those_of_xla(algorithm: str, words: int, turn: int) -> None:
    """In one turn each shape has one element type, in all turns every type."""
    shapes = SHAPES if algorithm != "DEFAULT" else SHAPES[:3]
    elements = ("ui8", "ui32", "ui64")
    outputs = [tensor(shape, elements[(number + turn) % 3]) for number, shape in enumerate(shapes)]
    text = bits_program(algorithm, words, [*outputs, tensor((3, 5), "ui16")])
    theirs, ours = by_xla(text), xhlo.compile(text)
    for numbers in STATES:
        state = np.array(numbers[:words], np.uint64)
        want = theirs(state)
        for results in (ours(state), run(text, [state], "reference")):
            for got, wanted in zip(results, want, strict=True):
                np.testing.assert_array_equal(got, wanted, err_msg=f"{wanted.dtype} {wanted.shape}")


@pytest.mark.long(3)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_elements_of_every_type_are_the_bits(algorithm: str) -> None:
    """Signed numbers and floats have the bits of the unsigned ones."""
    elements = ["i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]
    text = bits_program(algorithm, 2, [tensor((5, 3), element) for element in elements])
    plain = bits_program(algorithm, 2, [tensor((5, 3), f"ui{width}") for width in (8, 16, 32, 64)])
    state = np.array([11, 12], np.uint64)
    bits = {a.dtype.itemsize: a for a in run(plain, [state], "reference")[1::2]}
    for target in TARGETS:
        for element, got in zip(elements, run(text, [state], target)[1::2], strict=True):
            assert got.dtype == DTYPES[element]
            same = bits[got.dtype.itemsize]
            np.testing.assert_array_equal(got.view(same.dtype), same, err_msg=f"{target} {element}")


def test_a_state_without_a_meaning_is_refused() -> None:
    text = """func.func @main(%s: tensor<1x2xf32>) -> tensor<2xui32> {
      %0:2 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<2xui32>)
      return %0#1 : tensor<2xui32>
    }"""
    with pytest.raises(xhlo.DiagnosticError, match="cannot run with a state of type tensor<1x2xf32>"):
        xhlo.compile(text)


def test_jax_calls_it() -> None:
    key = np.array([1, 2, 3, 4], np.uint32)
    for algorithm in jax.lax.RandomAlgorithm.__members__.values():
        lowered = jax.jit(lambda k, a=algorithm: jax.lax.rng_bit_generator(k, (9,), np.uint32, a)).lower(key)
        want = [np.asarray(x) for x in lowered.compile()(key)]
        for target in TARGETS:
            for got, wanted in zip(run(lowered.as_text(), [key], target), want, strict=True):
                np.testing.assert_array_equal(got, wanted)


def test_published_answers() -> None:
    """The known-answer vectors of Random123 for counters and keys of zeros and of ones."""

    def word(value: int) -> Any:
        return np.array([value], np.uint32)

    zero, ones = word(0), word(0xFFFFFFFF)
    with np.errstate(over="ignore"):
        assert [int(x[0]) for x in threefry((zero, zero), (zero, zero))] == [0x6B200159, 0x99BA4EFE]
        assert [int(x[0]) for x in threefry((ones, ones), (ones, ones))] == [0x1CB996FC, 0xBB002BE7]
        found = [int(x[0]) for x in philox((zero, zero), (zero,) * 4)]
        assert found == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
        found = [int(x[0]) for x in philox((ones, ones), (ones,) * 4)]
        assert found == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.parametrize("shape, dim", [((3, 4, 6), 1), ((3, 5, 5), 1), ((7,), 0), ((1, 1), 0), ((3, 0), 1)])
def test_split_dimension(shape: tuple[int, ...], dim: int) -> None:
    assert split_dimension(shape) == dim


def rng_program(element: str, distribution: str) -> str:
    types = f"tensor<60x50x{element}>, tensor<7x{element}>"
    scalar = f"tensor<{element}>"
    return f"""
    func.func @main(%a: {scalar}, %b: {scalar}) -> ({types}) {{
      %m = hlo.constant dense<[60, 50]> : tensor<2xi64>
      %n = hlo.constant dense<7> : tensor<1xi32>
      %0 = hlo.rng %a, %b, %m, distribution = {distribution} : ({scalar}, {scalar}, tensor<2xi64>) -> tensor<60x50x{element}>
      %1 = hlo.rng %a, %b, %n, distribution = {distribution} : ({scalar}, {scalar}, tensor<1xi32>) -> tensor<7x{element}>
      return %0, %1 : {types}
    }}"""


@pytest.mark.long(5)
@pytest.mark.sample(element=("i1", "i8", "ui32", "bf16", "f32"))
@pytest.mark.parametrize("element", [*NUMBERS, "i1"])
def test_uniform(element: str) -> None:
    """Numbers in [a, b) with the right mean; different for each operation, the same in each run."""
    low, high = (0, 1) if element == "i1" else (-7, 9) if element[0] != "u" else (250, 254)
    a, b = np.array(low).astype(DTYPES[element]), np.array(high).astype(DTYPES[element])
    text = rng_program(element, "UNIFORM")
    results = {target: run(text, [a, b], target) for target in TARGETS}
    for target in TARGETS:
        numbers, others = results[target]
        wide = numbers.astype(np.float64)
        assert wide.min() >= low
        assert wide.max() < high
        if element != "i1":
            whole = element[0] in "iu"
            spread = math.sqrt(((high - low) ** 2 - whole) / 12)
            assert abs(wide.mean() - (low + high - whole) / 2) < 4 * spread / math.sqrt(wide.size)
            assert abs(wide.std() - spread) < 0.05 * spread
            assert (numbers.ravel()[:7] != others).any()
    for cpu, reference in zip(results["cpu"], results["reference"], strict=True):
        np.testing.assert_array_equal(cpu, reference)


@pytest.mark.long(2)
@pytest.mark.sample(element=("bf16", "f64"))
@pytest.mark.parametrize("element", ["bf16", "f16", "f32", "f64"])
def test_normal(element: str) -> None:
    a, b = np.array(3.0).astype(DTYPES[element]), np.array(0.5).astype(DTYPES[element])
    text = rng_program(element, "NORMAL")
    numbers = {target: run(text, [a, b], target)[0].astype(np.float64) for target in TARGETS}
    wide = numbers["cpu"]
    assert abs(wide.mean() - 3) < 4 * 0.5 / math.sqrt(wide.size)
    assert abs(wide.std() - 0.5) < 0.03
    assert abs(((wide - 3) ** 4).mean() / 0.5**4 - 3) < 0.5
    tolerance = {"bf16": 2e-2, "f16": 2e-3, "f32": 2e-6, "f64": 1e-13}[element]
    np.testing.assert_allclose(wide, numbers["reference"], atol=tolerance)


def test_empty_interval() -> None:
    for element in ("i32", "f32"):
        a, b = np.array(5).astype(DTYPES[element]), np.array(5).astype(DTYPES[element])
        for target in TARGETS:
            assert (run(rng_program(element, "UNIFORM"), [a, b], target)[0] == 5).all()
