"""The places of a mask's true elements on the CPU: the sums of JAX's nonzero become loops over the mask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xhlo
from cpu_programs import on_threads, run
from hlo_programs import Program

SUM = """({
  ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
    %s = hlo.add %a, %b : tensor<TYPE>
    hlo.return %s : tensor<TYPE>
  })"""

TEXT = f"""func.func @main(%mask: tensor<NxI1>) -> tensor<ROOMxTYPE> {{
  %none = hlo.constant dense<0> : tensor<TYPE>
  %zeros = hlo.constant dense<0> : tensor<ROOMxTYPE>
  %ones = hlo.constant dense<UPDATE> : tensor<NxTYPE>
  %least = hlo.constant dense<LEAST> : tensor<NxTYPE>
  %room = hlo.constant dense<ROOM> : tensor<NxTYPE>
  %0 = hlo.convert %mask : (tensor<NxI1>) -> tensor<NxTYPE>
  %1 = "hlo.reduce_window"(%0, %none) <{{padding = dense<[[BEFORE, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: N>}}> {SUM} : (tensor<NxTYPE>, tensor<TYPE>) -> tensor<NxTYPE>
  %2 = hlo.maximum %least, %1 : tensor<NxTYPE>
  %3 = hlo.compare LT, %2, %least : (tensor<NxTYPE>, tensor<NxTYPE>) -> tensor<Nxi1>
  %4 = hlo.add %2, %room : tensor<NxTYPE>
  %5 = hlo.select %3, %4, %2 : tensor<Nxi1>, tensor<NxTYPE>
  %6 = hlo.broadcast_in_dim %5, dims = [0] : (tensor<NxTYPE>) -> tensor<Nx1xTYPE>
  %7 = "hlo.scatter"(%zeros, %6, %ones) <{{scatter_dimension_numbers = #hlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {SUM} : (tensor<ROOMxTYPE>, tensor<Nx1xTYPE>, tensor<NxTYPE>) -> tensor<ROOMxTYPE>
  %8 = "hlo.reduce_window"(%7, %none) <{{padding = dense<[[LAST, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: ROOM>}}> {SUM} : (tensor<ROOMxTYPE>, tensor<TYPE>) -> tensor<ROOMxTYPE>
  return %8 : tensor<ROOMxTYPE>
}}"""


def text_of(length: int, room: int, element: str = "i32", mask: str = "i1", update: int = 1, least: int = 0) -> str:
    words = {"BEFORE": length - 1, "LAST": room - 1, "ROOM": room, "TYPE": element, "I1": mask}
    words |= {"UPDATE": update, "LEAST": least, "Nx": f"{length}x", ": N>": f": {length}>"}
    text = TEXT
    for word, value in words.items():
        text = text.replace(word, str(value))
    return text


def masks(length: int) -> list[Any]:
    """Random ones of several densities, none, all, and true elements in a few places only."""
    rng = np.random.default_rng(length)
    found = [rng.random(length) < share for share in (0.02, 0.5, 0.97)]
    found += [np.zeros(length, bool), np.ones(length, bool), np.arange(length) % 67 == 66, np.arange(length) < 3]
    return found


def wanted(mask: Any, room: int) -> Any:
    places = np.flatnonzero(mask)[:room]
    return np.pad(places, (0, room - len(places)), constant_values=len(mask))


@pytest.mark.long(4)
@pytest.mark.parametrize("length", (1, 64, 130, 1000))
def test_places(length: int) -> None:
    """Room for fewer places than there are true elements, and for more than elements."""
    for room in {1, length // 2 + 1, length + 70}:
        text = text_of(length, room)
        program, executable = Program(text).after("decompose-hlo{native-calls=true}"), xhlo.compile(text)
        assert "xhlo.nonzero" in str(program.module)
        for mask in masks(length):
            program.same_bits(mask)
            np.testing.assert_array_equal(executable(mask), wanted(mask, room))


@pytest.mark.long(4)
@pytest.mark.parametrize("room", (1, 5000, 150_000, 300_100))
def test_tasks_of_long_masks(room: int) -> None:
    """Tasks store no place where another one does."""
    text = text_of(300_001, room)
    guarded = xhlo.compile(text, guard=True)
    for mask in masks(300_001):
        (got,) = on_threads(text, mask)
        np.testing.assert_array_equal(got, wanted(mask, room))
        np.testing.assert_array_equal(guarded(mask), got)


def test_types_of_places() -> None:
    """Places are converted to the type of the sums."""
    mask = np.arange(100) % 3 == 1
    for element in ("i64", "ui32", "i16", "i8"):
        (got,) = run(text_of(100, 50, element), [mask])
        np.testing.assert_array_equal(got, wanted(mask, 50))


@pytest.mark.long(3)
@pytest.mark.parametrize(
    "changed",
    (
        {"update": 2},  # not a number of elements
        {"mask": "i8"},  # sums of numbers that may be negative
        {"least": 1},  # moves the places of the first elements
        {"element": "i8", "length": 200},  # sums that wrap
    ),
)
def test_other_sums_stay(changed: Any) -> None:
    """Sums that look alike and are not places."""
    given = {"length": 90, "room": 40} | changed
    text = text_of(**given)
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 3, given["length"]).astype(np.int8) if "mask" in changed else rng.random(given["length"]) < 0.8
    program = Program(text).after("decompose-hlo{native-calls=true}")
    assert "xhlo.nonzero" not in str(program.module)
    assert run(text, [x])[0].tobytes() == run(text, [x], "reference")[0].tobytes()
