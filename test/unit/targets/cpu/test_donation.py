"""Donated arguments of executables: results are in their memory, or in other memory where that is not theirs to give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from xhlo.dialects.support.shared_names import OVERWRITTEN, UNTOUCHED

UPDATE = """
func.func @main(%x: tensor<64x32xf32> {tf.aliasing_output = 0 : i32}, %i: tensor<i32>) -> tensor<64x32xf32> {
  %zero = hlo.constant dense<0> : tensor<i32>
  %row = hlo.constant dense<3.0> : tensor<1x32xf32>
  %0 = hlo.dynamic_update_slice %x, %row, %i, %zero
       : (tensor<64x32xf32>, tensor<1x32xf32>, tensor<i32>, tensor<i32>) -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}"""

FIVE = np.array(5, np.int32)


def zeros() -> Any:
    return np.zeros((64, 32), np.float32)


@pytest.fixture(scope="module")
def update() -> Any:
    return xhlo.compile(UPDATE)


def test_the_result_is_the_argument(update: Any) -> None:
    x = zeros()
    assert update(x, FIVE) is x and update(x, 7) is x
    assert x.sum() == 2 * 3 * 32 and (x[5] == 3).all() and (x[7] == 3).all()
    again = xhlo.deserialize(update.serialize())
    assert again(x, np.array(9, np.int32)) is x and (x[9] == 3).all()


def test_memory_that_is_not_to_be_given(update: Any) -> None:
    frozen = zeros()
    frozen.flags.writeable = False
    for given in (frozen, zeros()[:, ::-1], [[0.0] * 32] * 64):
        result = update(np.asarray(given, np.float32), FIVE)
        assert (result[5] == 3).all() and result.sum() == 96
    assert not frozen.any()


def test_out_decides(update: Any) -> None:
    x, y = zeros(), zeros()
    assert update(x, FIVE, out=y) is y and (y[5] == 3).all() and not x.any()
    assert update(x, FIVE, out=x) is x and (x[5] == 3).all()
    both = np.zeros((65, 32), np.float32)
    result = update(both[:64], FIVE, out=both[1:])
    assert (both[6] == 3).all() and both.sum() == 96 and np.shares_memory(result, both)


def compiled(arguments: str, body: str, results: str) -> Any:
    return xhlo.compile(f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}")


T = "tensor<64x32xf32>"
DONATED = f"{T} {{jax.buffer_donor = true}}"


@pytest.mark.parametrize(
    ("arguments", "body", "results", "places"),
    [
        (f"%x: {DONATED}, %y: {T}", f"%0 = hlo.add %x, %y : {T}\nreturn %0 : {T}", T, (0, UNTOUCHED)),
        (f"%x: {DONATED}, %y: {DONATED}", f"return %y, %x : {T}, {T}", f"{T}, {T}", (1, 0)),
        (f"%x: {T} {{jax.buffer_donor = false}}", f"%0 = hlo.abs %x : {T}\nreturn %0 : {T}", T, ()),
        (
            f"%x: {DONATED}",
            f"%0 = hlo.transpose %x, dims = [1, 0] : ({T}) -> tensor<32x64xf32>\nreturn %0 : tensor<32x64xf32>",
            "tensor<32x64xf32>",
            (),
        ),
        (
            f"%x: {DONATED}, %i: tensor<i32>",
            f"""%row = hlo.constant dense<3.0> : tensor<1x32xf32>
  %0 = hlo.dynamic_update_slice %x, %row, %i, %i : ({T}, tensor<1x32xf32>, tensor<i32>, tensor<i32>) -> {T}
  %1 = hlo.reverse %0, dims = [0] : {T}
  %2 = hlo.dynamic_update_slice %1, %row, %i, %i : ({T}, tensor<1x32xf32>, tensor<i32>, tensor<i32>) -> {T}
  return %2 : {T}""",
            T,
            (OVERWRITTEN, UNTOUCHED),
        ),
    ],
    ids=["elementwise", "swap", "not_donated", "another_type", "scratch"],
)
def test_what_becomes_of_arguments(arguments: str, body: str, results: str, places: tuple[int, ...]) -> None:
    """By name of the result, and the values are those without donation."""
    program = compiled(arguments, body, results)
    plain = compiled(arguments.replace("{jax.buffer_donor = true}", ""), body, results)
    assert program.facts.donated == places and plain.facts.donated == ()
    random: Any = np.random.default_rng(0)
    given: list[Any] = [
        np.array(2, type_.dtype) if not type_.shape else random.standard_normal(type_.shape).astype(type_.dtype)
        for type_ in program.input_types
    ]
    wanted = plain(*given)
    found = program(*(each.copy() for each in given))
    np.testing.assert_array_equal(found, wanted)


def test_one_array_twice() -> None:
    add = compiled(f"%x: {DONATED}, %y: {T}", f"%0 = hlo.add %x, %y : {T}\nreturn %0 : {T}", T)
    x = np.ones((64, 32), np.float32)
    assert (add(x, x) == 2).all() and (x == 1).all()


def test_jit_updates_donated_arguments_in_place() -> None:
    def put(state: Any, i: Any) -> Any:
        new = state.copy()
        new[i] = 3.0
        return new

    step = xhlo.jit(put, donate_argnames="state")
    first = np.zeros(5000, np.float32)
    second = step(first, 5)
    assert np.shares_memory(first, second) and second[5] == 3
    third = step(second, 6)
    assert np.shares_memory(second, third) and third[5] == third[6] == 3
    with pytest.raises(ValueError, match="argument state was donated to an earlier call"):
        step(second, 7)


def test_hlo_run_keeps_its_inputs(run_hlo_run: Any) -> None:
    """It compares with, and runs again, the inputs as they were."""
    text = UPDATE.replace("return %0", "%1 = hlo.add %0, %x : tensor<64x32xf32>\n  return %1")
    done = run_hlo_run(text, "--compare", "--repeat=2")
    assert done.status == 0, done.out + done.err
