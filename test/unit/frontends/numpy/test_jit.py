"""xhlo.jit: arguments, errors at the user's line, control flow, recompilation, inspection."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import inspect
import math
import pickle
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xhlo

X = np.arange(6.0).reshape(2, 3)
Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Layer:
    w: Any
    b: Any


@xhlo.jit
def halved(x: Any) -> Any:
    return x / 2


# Arguments and results.


def test_trees_of_arguments_and_results() -> None:
    @xhlo.jit
    def step(model: Any, data: Any, *, rate: Any = 0.5) -> Any:
        x, (y, z) = data
        return {"sum": model["a"].w @ x + model["a"].b, "point": Point(y * rate, [z, None])}, x.shape, "text"

    model = {"a": Layer(X, np.ones(2))}
    found, shape, text = step(model, (np.ones(3), [2.0, np.float32(4)]), rate=3)
    np.testing.assert_array_equal(found["sum"], X.sum(1) + 1)
    assert isinstance(found["point"], Point) and found["point"].x == 6.0 and found["point"].y[0].dtype == np.float32
    assert found["point"].y[1] is None and (shape, text) == ((3,), "text")


def test_dataclasses_come_back() -> None:
    layer = xhlo.jit(lambda layer: dataclasses.replace(layer, w=layer.w * 2))(Layer(X, X))
    assert isinstance(layer, Layer)
    np.testing.assert_array_equal(layer.w, 2 * X)


def test_static_arguments() -> None:
    traced = []

    @xhlo.jit(static_argnames=("n", "how"))
    def power(x: Any, n: int, how: str = "plain") -> Any:
        traced.append(n)
        result = x
        for _ in range(n - 1):
            result = result * x
        return result if how == "plain" else -result

    np.testing.assert_array_equal(power(X, 3), X**3)
    np.testing.assert_array_equal(power(X + 1, n=3), (X + 1) ** 3)
    np.testing.assert_array_equal(power(X, 2, how="negative"), -(X**2))
    assert traced == [3, 2]
    same = xhlo.jit(lambda x, n: x + n, static_argnames="n")
    assert [same(np.ones(1, int), n).dtype for n in (1, 1.0, True, 1)] == [int, float, int, int]
    order = xhlo.jit(lambda a, b, *rest, c=0.0: a - 10 * b - 100 * c - 1000 * sum(rest))
    for _ in range(2):
        assert order(b=2, a=1.0) == -19 and order(a=2, b=1.0) == -8
        assert order(1.0, 2, 3, c=4) == -3419 and order(1.0, 2, c=3) == -319
    with pytest.raises(TypeError, match="unhashable"):
        power(X, [2])
    with pytest.raises(ValueError, match="has no argument 'm'"):
        xhlo.jit(lambda n: n, static_argnames="m")


def test_a_compiled_function_in_another() -> None:
    inner = xhlo.jit(lambda x, n=1: x * n, static_argnames="n")
    outer = xhlo.jit(lambda x: inner(x, n=3) + xhlo.vmap(inner)(x))
    np.testing.assert_array_equal(outer(X), 4 * X)
    assert inner.cache_info().currsize == 0


def test_a_method() -> None:
    class Model:
        scale = 3.0

        @xhlo.jit(static_argnames="self")
        def __call__(self, x: Any) -> Any:
            return x * self.scale

    np.testing.assert_array_equal(Model()(X), 3 * X)


def test_arguments_that_are_not_arrays() -> None:
    with pytest.raises(TypeError, match=r"argument mode: expected an array or a number, got str; .*static_argnames"):
        xhlo.jit(lambda x, mode: x)(X, "fast")


def test_the_other_byte_order_is_copied() -> None:
    twice = xhlo.jit(lambda x: 2 * x)
    for _ in range(3):
        found = twice(X.astype(">f4"))
        assert found.dtype == np.float32 and found.dtype.isnative
        np.testing.assert_array_equal(found, 2 * X)


def test_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(halved)) is halved and copy.deepcopy([halved])[0] is halved
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(xhlo.jit(lambda x: x))
    with pytest.raises(TypeError, match="compiled functions are pickled by name, and .* has none"):
        pickle.dumps(xhlo.jit(functools.partial(np.add, 1)))


def test_threads_compile_once() -> None:
    calls: list[int] = []

    @xhlo.jit
    def function(x: Any) -> Any:
        calls.append(1)
        return x + 1

    threads = [threading.Thread(target=function, args=(X,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1


# Functions that cannot be compiled.

WRONG: dict[str, tuple[Callable[..., Any], str, str]] = {
    "if": (lambda x: 1 if x.sum() > 0 else 2, "its truth is needed here", "np.where"),
    "and": (lambda x: (x > 0).all() and x, "its truth is needed here", "np.where"),
    "float": (lambda x: float(x[0, 0]), "its value is needed here", "static_argnames"),
    "int": (lambda x: int(x[0, 0]), "its value is needed here", "astype"),
    "a size": (lambda x: np.zeros(x[0, 0].astype(int)), "as a size", "static_argnames"),
    "a shape": (lambda x: x.reshape(x[0, 0].astype(int), -1), "a shape must be a constant", "static_argnames"),
    "an axis": (lambda x: x.sum(axis=x[0, 0].astype(int)), "axis must be a constant", "static_argnames"),
    "a slice": (lambda x: x[: x[0, 0].astype(int)], "the bound of a slice must be a constant", "static_argnames"),
    "a shift": (lambda x: np.roll(x, x[0, 0].astype(int)), "a shift must be a constant", "static_argnames"),
    "repeats": (lambda x: np.repeat(x, x[0].astype(int), 1), "the number of repeats must be a constant", "static"),
    "a mask": (lambda x: x[x > 0], "size depends on the elements", "where=mask"),
    "nonzero": (lambda x: np.nonzero(x), "size of the result depends on the elements", "np.where"),
    "unique": (lambda x: np.unique(x), "size of the result depends on the elements", "outside"),
    "one argument of where": (lambda x: np.where(x > 0), "size of the result depends on the elements", "np.where"),
    "an array of objects": (lambda x: np.array([x, x], dtype=object), "its elements are needed here", "np.stack"),
    "tolist": (lambda x: x.tolist(), "its elements are needed here", ""),
    "a function that is missing": (lambda x: np.busday_count(x, x), "np.busday_count is not compiled", "outside"),
    "a ufunc that is missing": (lambda x: np.frompyfunc(abs, 1, 1)(x), "is not compiled", "outside"),
    "a function of math": (lambda x: math.sqrt(x[0, 0]), "its value is needed here", "np.sqrt in place of math.sqrt"),
    "while": (lambda x: [x := x / 2 for _ in iter(lambda: bool(x.sum() > 1), False)], "its truth", "xhlo.cond"),
    "assert": (lambda x: asserted(x), "its truth is needed here", "np.where"),
    "in": (lambda x: 1.0 in x, "its truth is needed here", "np.where"),
    "the larger one": (lambda x: max(x[0, 0], x[0, 1]), "its truth is needed here", "np.where"),
    "a range": (lambda x: [*range(x[0, 0].astype(int))], "as a size, an axis or a bound", "static_argnames"),
    "an index into a list": (lambda x: [1, 2][x[0, 0].astype(int)], "its value, as a size", "static_argnames"),
    "an index into a constant": (lambda x: X[x[0].astype(int)], "its elements are needed", "np.take_along_axis"),
    "a format": (lambda x: f"{x[0, 0]:.2f}", "to be formatted as '.2f'", "outside"),
    "a file": (lambda x: np.save("/dev/null", x), "np.save is not compiled", "outside"),
    "bins without a size": (lambda x: np.bincount(x[0].astype(int)), "size of the result depends", "minlength="),
    "an exponent": (
        lambda x: np.linalg.matrix_power(x @ x.T, x[0, 0].astype(int)),
        "the exponent of a matrix must be a constant",
        "static_argnames",
    ),
    "a length": (
        lambda x: np.fft.fft(x, x[0, 0].astype(int)),
        "the length of a transform must be a",
        "static_argnames",
    ),
    "an array that a branch changes": (
        lambda x: changed_outside(x),
        "an array from outside of a loop or branch is changed in it",
        "return the new one",
    ),
    "an axis of a batch": (lambda x: xhlo.vmap(np.sum, in_axes=3)(x), "and no axis 3", "in_axes=None"),
    "batches of two sizes": (lambda x: xhlo.vmap(np.dot)(x, x.T), "has 3 elements along axis 0", "as many elements"),
    "a key": (lambda x: {x: 1}, "as a key", "static"),
    "an argument that is changed": (lambda x: x.__setitem__(0, 1), "an argument is changed here", r"x = x.copy\(\)"),
    "an argument that is added to": (lambda x: x.__iadd__(1), "an argument is changed here", r"x = x.copy\(\)"),
    "integers that get floats": (
        lambda x: x.astype(int).__iadd__(0.5),
        "do not go into an array of int64",
        r"x = x \+ y",
    ),
    "complex order": (lambda x: (x + 1j) < 2, "complex numbers are not ordered", "real parts"),
    "where without out": (lambda x: np.sin(x, where=x > 0), "leaves elements undefined", "np.where"),
    "strings": (lambda x: np.where(x > 0, "a", "b"), "arrays of <U1 are not compiled", ""),
    "shapes": (
        lambda x: xhlo.while_loop(lambda v: v.sum() < 9, lambda v: v[0], x),
        r"takes it as float64\[2, 3\]",
        "begin",
    ),
    "a loop's condition": (
        lambda x: xhlo.while_loop(lambda v: v < 9, lambda v: v + 1, x),
        r"has shape \[2, 3\]",
        "np.all",
    ),
    "branches": (
        lambda x: xhlo.cond(x.sum() > 0, lambda v: (v, v), lambda v: v, x),
        "branch 1 returns another structure than branch 0",
        "the same tuples",
    ),
    "branches of two shapes": (
        lambda x: xhlo.cond(x.sum() > 0, lambda v: v, lambda v: v[0], x),
        r"branch 1 returns value as float64\[3\], and branch 0 returns it as float64\[2, 3\]",
        "return a value of that shape",
    ),
}


def asserted(x: Any) -> Any:
    assert (x > 0).all()
    return x


def changed_outside(x: Any) -> Any:
    total = np.zeros_like(x)

    def add(k: Any, value: Any) -> Any:
        total[0] = value[0]
        return value + k

    return xhlo.fori_loop(0, 3, add, x) + total


PLACES = {"assert": asserted, "an array that a branch changes": changed_outside}
"""The functions in which errors are, where it is not the case's own."""


@pytest.mark.parametrize("case", WRONG)
def test_errors_say_what_is_needed_and_what_to_write(case: str) -> None:
    function, reason, remedy = WRONG[case]
    with pytest.raises(xhlo.TraceError, match=reason) as caught:
        xhlo.jit(function)(X)
    place, *lines = str(caught.value).splitlines()
    first = inspect.getsourcelines(PLACES.get(case, function))[1]
    last = first + 8
    found = re.match(rf"{re.escape(__file__)}:(\d+):(\d+): ", place)
    assert found is not None and first <= int(found[1]) <= last
    assert lines[1].index("^") == 2 + int(found[2]) - 1
    assert re.search(remedy, str(caught.value))


def test_errors_of_numpy_are_numpys() -> None:
    for function, error, message in (
        (lambda x: x + np.ones(4), ValueError, "broadcast"),
        (lambda x: x.reshape(4, 4), ValueError, "cannot reshape array of size 6"),
        (lambda x: x.sum(axis=5), np.exceptions.AxisError, "axis 5 is out of bounds"),
        (lambda x: x[7], IndexError, "index 7 is out of bounds for axis 0 with size 2"),
        (lambda x: x @ x, ValueError, "mismatch in its core dimension"),
        (lambda x: x[0, 0, 0], IndexError, "too many indices"),
        (lambda x: x.frobnicate(), AttributeError, "no attribute 'frobnicate'"),
    ):
        with pytest.raises(error, match=message):
            xhlo.jit(function)(X)


# Control flow, compiled and in Python.


def both(function: Callable[..., Any], *arrays: Any) -> None:
    wanted = function(*arrays)
    actual = xhlo.jit(function)(*arrays)
    for want, have in zip(*((one if isinstance(one, tuple) else (one,)) for one in (wanted, actual)), strict=True):
        np.testing.assert_allclose(have, want)


def test_control_flow() -> None:
    for sign in (1.0, -1.0):
        both(lambda x: xhlo.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x), sign * X)
    for index in (-1, 0, 1, 5):
        both(lambda i, x: xhlo.switch(i, [lambda v: v, lambda v: v * 2, lambda v: v * 3], x), np.int64(index), X)
    both(lambda x: xhlo.while_loop(lambda s: s[1] < 100, lambda s: (s[0] * 2, s[1] + s[0].sum()), (x, 0.0))[0], X)
    both(lambda x: xhlo.fori_loop(0, 5, lambda i, v: v + i, x), X)
    both(lambda x: xhlo.scan(lambda c, row: (c + row, (c * row).sum()), np.zeros(3), x), X)
    both(lambda x: xhlo.scan(lambda c, row: (c + row, c), np.zeros(3), x, reverse=True), X)
    both(lambda x: xhlo.map(lambda row: row / row.max(), x), X)


# Recompilation and inspection.


def test_one_executable_for_each_combination() -> None:
    function = xhlo.jit(lambda x, s=1.0: x * s)
    for argument in (X, X + 1, X.astype(np.float32), X[:1], X):
        function(argument)
    assert function.cache_info() == (2, 3, 3)
    function(X, 2.0)
    function(X, 3.0)
    assert function.cache_info().currsize == 4
    text = function.explain()
    assert "(x: float64[2, 3]): the first call; compiled in " in text and "3 calls" in text.splitlines()[0]
    assert "x: float32[2, 3] after x: float64[2, 3]" in text
    function.cache_clear()
    assert function.cache_info() == (0, 0, 0)


def test_many_compilations_are_a_warning() -> None:
    function = xhlo.jit(lambda x: x + 1)
    with pytest.warns(UserWarning, match=r"compiled for the 9th time: x: float64\[9\] after x: float64\[8\]"):
        for size in range(1, 12):
            function(np.zeros(size))


def test_inspection() -> None:
    function = xhlo.jit(lambda x: np.exp(x).sum())
    assert "hlo.exponential" in function.compiler_ir(X)
    assert "hlo.fusion" in function.compiler_ir(X, stage="optimized_hlo")
    assert "define" in function.compiler_ir(X, stage="llvm") or "llvm." in function.compiler_ir(X, stage="llvm")
    assert function.executable(X).kernels
    assert "hlo.reduce" in str(function.lower(X).module)


def test_the_lines_of_the_function_are_in_the_program() -> None:
    function = xhlo.jit(lambda x: x * 2)
    from xhlo.hlo_dialect.printing import print_module

    assert f'"{__file__}":' in print_module(function.lower(X).module, locations=True)


@pytest.mark.parametrize(
    ("stage", "found"),
    [("optimized_hlo_dot", "digraph"), ("linalg", "linalg.generic"), ("asm", "ret"), ("ptx", ".visible .entry")],
)
def test_stages(stage: str, found: str) -> None:
    assert found in xhlo.jit(lambda x: np.exp(x) * 2).compiler_ir(X.astype(np.float32), stage=stage)


def test_a_graph_has_the_operations_and_their_values() -> None:
    text = xhlo.jit(lambda x: np.exp(x).sum()).compiler_ir(X, stage="optimized_hlo_dot")
    nodes = dict(re.findall(r'(n\d+) \[label="([^\\"]*)', text))
    edges = {(nodes[first], nodes[last]) for first, last in re.findall(r"(n\d+) -> (n\d+);", text)}
    assert {("%x", "hlo.exponential"), ("hlo.exponential", "hlo.reduce"), ("hlo.fusion", "func.return")} <= edges
    with pytest.raises(ValueError, match="no stage 'nonsense'"):
        xhlo.jit(lambda x: x).compiler_ir(X, stage="nonsense")


# Named sizes, donation, targets, unrolled loops.


def test_named_sizes() -> None:
    function = xhlo.jit(lambda x, y, z=1.0: x @ y * z, shapes={"x": "n, 3", "y": ("_", "...")})
    for rows in range(1, 12):  # sizes with a name may change without a warning
        assert function(np.ones((rows, 3)), np.ones((3, 2))).shape == (rows, 2)
    product = xhlo.jit(lambda x, y: x @ y, shapes={"x": "n, k", "y": "k, n"})
    for arguments, message in (
        ((np.ones((2, 3)), np.ones((4, 2))), "k is 4 in dimension 0 of argument y, and 3 in dimension 1 of argument x"),
        ((np.ones((2, 3)), np.ones((3, 4))), "n is 4 in dimension 1 of argument y, and 2 in dimension 0 of argument x"),
        ((np.ones(3), np.ones((3, 3))), r"argument x has shape \(3,\), and \(n, k\) is stated"),
    ):
        with pytest.raises(ValueError, match=message):
            product(*arguments)
    with pytest.raises(ValueError, match="argument x has size 4 in dimension 1, and 3 is stated"):
        function(np.ones((2, 4)), np.ones((4, 2)))
    inner = xhlo.jit(lambda p: p["w"] + p["b"], shapes={"p['w']": "n, m", "p['b']": "m"})
    with pytest.raises(ValueError, match=r"m is 2 in dimension 0 of argument p\['b'\], and 3 in dimension 1"):
        inner({"w": X, "b": np.ones(2)})
    for shapes, message in (({"q": "n"}, "has no argument 'q'"), ({"x": "n, n + 1"}, "neither a size nor a name")):
        with pytest.raises(ValueError, match=message):
            xhlo.jit(lambda x: x, shapes=shapes)


def test_donated_memory_holds_later_results() -> None:
    step = xhlo.jit(lambda state, change: state + change, donate_argnames="state")
    first = np.zeros((200, 200))
    second = step(first, 1.0)
    third = step(second, 1.0)
    assert third is first and (third == 2).all()
    with pytest.raises(ValueError, match="argument state was donated to an earlier call"):
        step(second, 1.0)
    frozen = np.zeros((200, 200))
    frozen.flags.writeable = False
    view = np.zeros((2, 200, 200))[0]
    for given in (frozen, view):
        step(given, 1.0)
        assert step(np.ones((200, 200)), 1.0) is not given and (given == 0).all()
    with pytest.raises(ValueError, match="has no argument 'other'"):
        xhlo.jit(lambda x: x, donate_argnames=("other",))
    with pytest.raises(ValueError, match="'x' is static"):
        xhlo.jit(lambda x: x, donate_argnames="x", static_argnames="x")


def test_a_donating_call_within_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """As from a signal's handler, or an object that a collection of garbage destroys."""
    from xhlo.frontends.numpy import donation

    step = xhlo.jit(lambda state, change: state + change, donate_argnames="state")
    make, results = donation._another, dict[str, Any]()

    def interrupted(*facts: Any) -> Any:
        monkeypatch.setattr(donation, "_another", make)
        results["inner"] = step(np.ones((20, 20)), 5.0)
        return make(*facts)

    monkeypatch.setattr(donation, "_another", interrupted)
    work = threading.Thread(target=lambda: results.update(outer=step(np.zeros((20, 20)), 3.0)), daemon=True)
    work.start()
    work.join(60)
    assert not work.is_alive(), "the call waits for itself"
    assert (results["inner"] == 6).all() and (results["outer"] == 3).all()


def test_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from simulated_gpu import compile_simulated
    from xhlo.frontends.numpy import jit
    from xhlo.hlo_dialect.printing import print_module

    def compile_here(module: Any, target: str) -> Any:
        assert target == "gpu"
        return compile_simulated(print_module(module))

    monkeypatch.setattr(jit, "compile_program", compile_here)
    function = xhlo.jit(lambda x, s: (np.exp(x).sum(0) * s, x), target="gpu")
    total, same = function(X, 2.0)
    assert type(total) is type(same) is np.ndarray
    np.testing.assert_allclose(total, np.exp(X).sum(0) * 2)


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    from xhlo.targets.nvptx.runtime import cuda_driver

    def missing(*_: Any) -> Any:
        raise xhlo.GpuUnavailableError("there is no CUDA driver on this machine")

    monkeypatch.setattr(cuda_driver, "device_count", missing)
    with pytest.raises(xhlo.GpuUnavailableError, match="the gpu target cannot run here: there is no CUDA driver"):
        xhlo.jit(lambda x: x * 5, target="gpu")(X)
    with pytest.raises(ValueError, match="abacus"):
        xhlo.jit(lambda x: x, target="abacus")(X)


def test_unrolled_loops_are_a_warning() -> None:
    def count(x: Any) -> Any:
        for _ in range(600):
            x = np.sin(
                x,
            )
        return x

    with pytest.warns(
        UserWarning, match=r"a loop is unrolled.*: for _ in range\(600\):\n  instead: xhlo.fori_loop"
    ) as all_:
        xhlo.jit(count).lower(X)
    assert [one.lineno for one in all_] == [inspect.getsourcelines(count)[1] + 1]


def test_arrays_that_the_function_makes_and_fills() -> None:
    def function(x: Any) -> Any:
        y = np.zeros(4)
        for k in range(3):
            y[k + 1 :] += x[: 3 - k]
        return y, np.asarray(x) * 2, np.array([x[0], x[1]]), np.array([1.0, 2.0])

    for have, want in zip(xhlo.jit(function)(X[1]), function(X[1]), strict=True):
        np.testing.assert_allclose(have, want)


def test_products_with_transposed_operands() -> None:
    t, u = np.arange(24.0).reshape(2, 3, 4), np.arange(24.0).reshape(2, 4, 3) - 7

    def function(t: Any, u: Any) -> Any:
        return (
            t.transpose(0, 2, 1) @ u.transpose(0, 2, 1),
            t[0].T @ t[0],
            np.tensordot(t.transpose(2, 0, 1), u, ([0, 1], [1, 0])),
        )

    for have, want in zip(xhlo.jit(function)(t, u), function(t, u), strict=True):
        np.testing.assert_allclose(have, want)


def test_small_powers_are_products() -> None:
    text = xhlo.jit(lambda x: x**3 + x**2 + x**4).compiler_ir(X, stage="hlo")
    assert "hlo.power" not in text and text.count("hlo.multiply") == 5


def test_a_function_may_call_itself_with_an_array_of_its_own() -> None:
    given, results = [np.ones(size) for size in range(4)], list[Any]()

    @xhlo.jit
    def function(x: Any) -> Any:
        return x + function(given[x.size - 1]).sum() if x.size > 1 else 2 * x

    thread = threading.Thread(target=lambda: results.append(function(given[3])), daemon=True)
    thread.start()
    thread.join(60)
    np.testing.assert_array_equal(results, [[7.0, 7.0, 7.0]])
