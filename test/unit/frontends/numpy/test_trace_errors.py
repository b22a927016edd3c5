"""Programs that xhlo.jit refuses: each error shows the user's line with a caret, and what to write instead."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo

X = np.arange(4.0)
TABLE = np.arange(10.0)


def without_else(x: Any) -> Any:
    if x.sum() > 0:  # here
        y = x
    return y


def of_two_shapes(x: Any) -> Any:
    if x.sum() > 0:  # here
        y = x
    else:
        y = x[:2]
    return y


def appended(x: Any) -> Any:
    out = []
    for i in range(x[0].astype(int) + 3):
        out.append(x * i)
    return np.stack(out)  # here


def written_to_a_global(x: Any) -> Any:
    TABLE[0] = x[0]  # here
    return x


def indexing_a_global(x: Any) -> Any:
    return TABLE[x.astype(int)]  # here


def scanned_without_a_pair(x: Any) -> Any:
    return xhlo.scan(lambda c, e: c + e, 0.0, x)  # here


def switched_by_an_array(x: Any) -> Any:
    return xhlo.switch(x.astype(int), [lambda: 1.0, lambda: 2.0])  # here


def counted(x: Any) -> Any:
    return np.arange(x[0])  # here


def drawn(x: Any) -> Any:
    return np.random.permutation(x)  # here


def without_a_shape(x: Any) -> Any:
    x = x.copy()
    x.shape = (2, 2)  # here
    return x


def of_memory(x: Any) -> Any:
    return x.tobytes()  # here


def of_another_type(x: Any) -> Any:
    return np.emath.sqrt(x)  # here


def of_text(x: Any) -> Any:
    return np.array_repr(x)  # here


def joined(x: Any) -> Any:
    return np.union1d(x, x + 1)  # here


def kept(x: Any) -> Any:
    positive = x[x > 0]  # here
    return positive


def bits_of_another_size(x: Any) -> Any:
    return x.view(np.float32)  # here


WRONG: dict[Callable[..., Any], tuple[str, str]] = {
    without_else: ("y is returned, and has a value only in one of the branches", "give it a value before the `if`"),
    of_two_shapes: (r"y is returned, and is float64\[4\] in one branch", "values of one shape"),
    appended: ("made in a loop or branch of the run is used outside", r"out\[i\] = x in place of out.append"),
    written_to_a_global: ("its value is needed", "keep it as an array"),
    indexing_a_global: ("its elements are needed", r"np.take\(constant, i, axis=0\) in place of constant\[i\]"),
    scanned_without_a_pair: ("returns no pair of a carry and a value to stack", "return carry, None"),
    switched_by_an_array: (r"the index of a switch has shape \(4,\)", "np.choose"),
    counted: ("the bounds of np.arange depend on the function's arguments", "static_argnames"),
    drawn: ("np.random.permutation draws once", "draw the numbers outside"),
    without_a_shape: ("the shape of an array is assigned", r"x = x.reshape\(\(2, 2\)\)"),
    of_memory: ("'tobytes' of arrays is not there", "outside of the compiled function"),
    of_another_type: ("its dtype depends on the elements", r"np.sqrt of x.astype\(complex\)"),
    of_text: ("it makes text", "on the results"),
    joined: ("the size of the result depends on the elements", "size="),
    kept: ("the size of the result depends on the elements", r"np.nonzero\(mask, size=..\)"),
    bits_of_another_size: ("their sizes differ", "x.astype"),
}


@pytest.mark.parametrize("function", WRONG, ids=lambda one: one.__name__)
def test_wrong_programs(function: Any) -> None:
    reason, remedy = WRONG[function]
    lines, first = inspect.getsourcelines(function)
    line = first + next(number for number, text in enumerate(lines) if text.endswith("# here\n"))
    place = rf"test_trace_errors.py:{line}:\d+: error: "
    with pytest.raises(xhlo.TraceError, match=rf"{place}[^\n]*{reason}[^\n]*\n.*\n *\^\n  instead: [^\n]*{remedy}"):
        xhlo.jit(function, autograph=function in (without_else, of_two_shapes, appended))(X)


@pytest.mark.parametrize("argument", [X, "text"])
def test_no_frames_of_ours(argument: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def frames() -> set[str]:
        with pytest.raises(TypeError) as caught:
            xhlo.jit(counted)(argument)
        return {frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(caught.value.__traceback__)}

    assert frames() == {__name__}
    monkeypatch.setenv("XHLO_TRACEBACK", "full")
    assert "xhlo.frontends.numpy.jit" in frames()


def test_what_is_written_instead() -> None:
    found = xhlo.jit(lambda i: (np.take(TABLE, i, axis=0), np.eye(3)[i]))(np.array([2, 0]))
    np.testing.assert_array_equal(found[0], TABLE[[2, 0]])
    np.testing.assert_array_equal(found[1], np.eye(3)[[2, 0]])


def test_arrays_of_other_types_are_named() -> None:
    with pytest.raises(TypeError, match="argument x: arrays of <U1 are not compiled"):
        xhlo.jit(lambda x: x)(np.array(["a"]))
