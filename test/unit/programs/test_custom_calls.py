"""Custom calls of registered functions: on the reference and, as callbacks, on the CPU."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import xhlo
from hlo_programs import Program
from xhlo.hlo_dialect import rules
from xhlo.hlo_dialect.custom_calls import registry
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.printing import print_module
from xhlo.hlo_dialect.reading import parse_module
from xhlo.passes.manager.pass_manager import PassManager
from xhlo.passes.manager.pipelines import build_passes
from xhlo.tools.run_driver import profile_table

X = np.arange(4, dtype=np.float32)


def program(body: str, arguments: str = "%x: tensor<4xf32>", result: str = "tensor<4xf32>") -> str:
    return f"func.func @main({arguments}) -> {result} {{\n{body}\n return %r : {result} }}"


def call(target: str, more: str = "") -> str:
    return program(f"%r = stablehlo.custom_call @{target}(%x) {{{more}}} : (tensor<4xf32>) -> tensor<4xf32>")


def reference(text: str, *arrays: Any) -> Any:
    return Program(text).results(*arrays)[0]


def both(text: str, *arrays: Any) -> Any:
    compiled, expected = xhlo.compile(text)(*arrays), reference(text, *arrays)
    np.testing.assert_array_equal(compiled, expected)
    return compiled


@pytest.fixture
def register() -> Iterator[Any]:
    """Registers functions for one test."""
    names: list[str] = []

    def add(name: str, function: Any, **options: Any) -> None:
        xhlo.register_custom_call(name, function, **options)
        names.append(name)

    yield add
    for name in names:
        registry.REGISTRY.remove(name)


@pytest.mark.long(3)
@pytest.mark.parametrize(
    "config",
    [
        "api_version = 4 : i32, backend_config = {scale = 3.0 : f64}",
        'backend_config = "", mhlo.backend_config = {scale = 3.0 : f32}',
        "mhlo.attributes = {scale = 3 : i64}",
    ],
)
def test_attributes_however_they_are_written(register: Any, config: str) -> None:
    register("scaled", lambda call, x: (x * call.attributes["scale"]).astype(x.dtype))
    np.testing.assert_array_equal(both(call("scaled", config), X), 3 * X)


def test_the_call_is_described(register: Any) -> None:
    seen: list[Any] = []

    def function(call: xhlo.CustomCall, x: Any) -> Any:
        seen.append(call)
        return np.zeros((2,), np.uint8), np.ones((3,), np.complex64)

    register("describe", function)
    text = program(
        '%r, %s = stablehlo.custom_call @describe(%x) {backend_config = "text", mhlo.attributes = {a = [1 : i32, true], b = "c", d = dense<[1, 2]> : tensor<2xi64>}} : (tensor<4xf32>) -> (tensor<2xui8>, tensor<3xcomplex<f32>>)',
        result="tensor<2xui8>",
    )
    both(text, X)
    for one in seen:
        assert one.target == "describe" and one.backend_config == "text"
        assert (
            one.attributes["a"] == (1, True) and one.attributes["b"] == "c" and one.attributes["d"].tolist() == [1, 2]
        )
        assert [(r.shape, r.dtype) for r in one.results] == [((2,), np.uint8), ((3,), np.complex64)]


@pytest.mark.parametrize("element", ["i1", "i4", "ui4", "i8", "ui16", "i64", "bf16", "f8E5M2", "f64", "complex<f64>"])
def test_every_type_and_empty_arrays(register: Any, element: str) -> None:
    register("reversed", lambda call, x: x[::-1])
    for size in (0, 1, 5):
        type_ = f"tensor<{size}x{element}>"
        text = program(f"%r = stablehlo.custom_call @reversed(%x) : ({type_}) -> {type_}", f"%x: {type_}", type_)
        exe = xhlo.compile(text)
        x = np.arange(size).astype(exe.input_types[0].dtype)
        assert exe(x).tolist() == x[::-1].tolist() == reference(text, x).tolist()


def test_unknown_targets_are_refused_by_name_before_anything_runs(register: Any) -> None:
    ran: list[int] = []
    register("runs", lambda call, x: ran.append(1) or x)
    text = program(
        "%0 = stablehlo.custom_call @runs(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "%r = stablehlo.custom_call @malloc(%0) : (tensor<4xf32>) -> tensor<4xf32>"
    )
    for attempt in (lambda: xhlo.compile(text), lambda: reference(text, X)):
        with pytest.raises(xhlo.DiagnosticError, match=r":3:\d+: error: .*target 'malloc', which is not registered"):
            attempt()
    assert not ran


def test_what_a_function_raises_ends_the_run_on_both_targets(register: Any) -> None:
    def function(call: xhlo.CustomCall, x: Any) -> Any:
        raise KeyError("missing")

    later: list[int] = []
    register("raises", function)
    register("later", lambda call, x: later.append(1) or x)
    text = program(
        "%0 = stablehlo.custom_call @raises(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "%r = stablehlo.custom_call @later(%0) : (tensor<4xf32>) -> tensor<4xf32>"
    )
    exe = xhlo.compile(text)
    for attempt in (lambda: exe(X), lambda: reference(text, X), lambda: exe(X)):
        with pytest.raises(
            xhlo.CustomCallError, match=r":2:\d+: error: custom call 'raises': KeyError: 'missing'"
        ) as info:
            attempt()
        assert isinstance(info.value.__cause__, KeyError)
    assert not later


def test_an_interrupt_comes_through(register: Any) -> None:
    def function(call: xhlo.CustomCall, x: Any) -> Any:
        raise KeyboardInterrupt

    register("interrupts", function)
    with pytest.raises(KeyboardInterrupt):
        xhlo.compile(call("interrupts"))(X)


@pytest.mark.parametrize("wrong", [np.zeros(3, np.float32), np.zeros(4), (), (X, X), None, "text"])
def test_results_that_do_not_fit(register: Any, wrong: Any) -> None:
    register("wrong", lambda call, x: wrong)
    for attempt in (lambda: xhlo.compile(call("wrong"))(X), lambda: reference(call("wrong"), X)):
        with pytest.raises(xhlo.CustomCallError, match="custom call 'wrong' returned"):
            attempt()


def test_a_function_may_keep_and_cannot_change_what_it_gets(register: Any) -> None:
    kept: list[Any] = []
    register("keeps", lambda call, x: kept.append(x) or x + 1)
    exe = xhlo.compile(
        program(
            "%0 = stablehlo.add %x, %x : tensor<4xf32>\n%r = stablehlo.custom_call @keeps(%0) : (tensor<4xf32>) -> tensor<4xf32>"
        )
    )
    exe(X)
    exe(-X)
    assert [array.tolist() for array in kept] == [(2 * X).tolist(), (-2 * X).tolist()]


def test_a_check_is_asked_before_anything_runs(register: Any) -> None:
    register("checked", lambda call, x: x, check=lambda call: None if call.attributes.get("ok") else "it is not ok")
    both(call("checked", "mhlo.attributes = {ok = true}"), X)
    for attempt in (lambda: xhlo.compile(call("checked")), lambda: reference(call("checked"), X)):
        with pytest.raises(xhlo.DiagnosticError, match="calls 'checked' wrongly: it is not ok"):
            attempt()


def test_a_name_is_taken_once(register: Any) -> None:
    register("mine", lambda call, x: x)
    with pytest.raises(ValueError, match="registered already"):
        xhlo.register_custom_call("mine", lambda call, x: x)
    np.testing.assert_array_equal(xhlo.compile(call("mine"))(X), X)
    xhlo.register_custom_call("mine", lambda call, x: -x, replace=True)
    np.testing.assert_array_equal(xhlo.compile(call("mine"))(X), -X)


def test_calls_with_effects_stay_and_keep_their_order(register: Any) -> None:
    ran: list[str] = []
    register("effect", lambda call, *x: ran.append(call.backend_config))
    register("unused", lambda call, x: ran.append("unused") or x)

    def effect(name: str, operand: str = "") -> str:
        types = "(tensor<4xf32>)" if operand else "()"
        return f'stablehlo.custom_call @effect({operand}) {{backend_config = "{name}", has_side_effect = true}} : {types} -> ()'

    text = program(
        f"{effect('a', '%x')}\n%0 = stablehlo.custom_call @unused(%x) : (tensor<4xf32>) -> tensor<4xf32>\n"
        f"{effect('b')}\n%r = stablehlo.add %x, %x : tensor<4xf32>\n{effect('c', '%r')}\n{effect('d', '%x')}"
    )
    xhlo.compile(text)(X)
    assert ran == ["a", "b", "c", "d"]


def test_calls_in_loops_and_branches(register: Any) -> None:
    register("next", lambda call, x: x + 1)
    text = """func.func @main(%x: tensor<i32>) -> tensor<i32> {
      %c = stablehlo.constant dense<100> : tensor<i32>
      %r = stablehlo.while(%i = %x) : tensor<i32>
        cond { %p = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1> }
        do { %n = stablehlo.custom_call @next(%i) : (tensor<i32>) -> tensor<i32>
          stablehlo.return %n : tensor<i32> }
      return %r : tensor<i32> }"""
    assert both(text, np.array(0, np.int32)) == 100


def test_programs_that_run_programs_in_threads(register: Any) -> None:
    inner = xhlo.compile(program("%r = stablehlo.multiply %x, %x : tensor<4xf32>"))

    def function(call: xhlo.CustomCall, x: Any) -> Any:
        if x[0] < 0:
            raise ValueError("negative")
        return inner(x)

    register("squared", function)
    exe, wrong = xhlo.compile(call("squared")), []

    def work(sign: int) -> None:
        for step in range(200):
            x = np.full(4, sign * (step + 1), np.float32)
            try:
                if not np.array_equal(exe(x), x * x) or sign < 0:
                    wrong.append(step)
            except xhlo.CustomCallError:
                if sign > 0:
                    wrong.append(step)

    threads = [threading.Thread(target=work, args=(sign,)) for sign in (1, -1, 1, -1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_nothing_is_left_behind(register: Any) -> None:
    from xhlo.targets import compile as compiling

    register("fails", lambda call, x: 1 / 0)
    exe = xhlo.compile(call("fails"))
    callbacks = weakref.ref(exe._callbacks)
    with pytest.raises(xhlo.CustomCallError):
        exe(X)
    compiling._CACHE.clear()
    del exe
    gc.collect()
    assert callbacks() is None


def test_kernels_and_profiles_name_what_is_called(register: Any) -> None:
    register("mine.too", lambda call, x: x)
    exe = xhlo.compile(call("mine.too"), profile=True)
    exe(X)
    (kernel,) = exe.kernels
    assert (kernel.kind, kernel.target, kernel.library, kernel.calls) == ("callback", "mine.too", "", 1)
    assert "call_mine.too_0 [callback]" in profile_table(exe)
    exe = xhlo.compile(
        "func.func @main(%a: tensor<600x600xf32>) -> tensor<600x600xf32> {%0 = stablehlo.cholesky %a : tensor<600x600xf32> return %0 : tensor<600x600xf32>}"
    )
    (kernel,) = (kernel for kernel in exe.kernels if kernel.library)
    assert kernel.kind == "library" and "LAPACK" in kernel.library


def test_marks_are_their_operands() -> None:
    for name in ("Sharding", "SPMDFullToShardShape", "xla.sdy.FuncResultSharding"):
        exe = xhlo.compile(call(name))
        assert not exe.kernels
        np.testing.assert_array_equal(exe(X), X)
        np.testing.assert_array_equal(reference(call(name), X), X)


def test_shape_assertions() -> None:
    text = program(
        "%0 = stablehlo.constant dense<3> : tensor<i32>\n"
        'stablehlo.custom_call @shape_assertion(%p, %0) {error_message = "size {0} is odd", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()\n'
        "%r = stablehlo.add %x, %x : tensor<4xf32>",
        "%x: tensor<4xf32>, %p: tensor<i1>",
    )
    both(text, X, np.array(True))
    for attempt in (lambda: xhlo.compile(text)(X, np.array(False)), lambda: reference(text, X, np.array(False))):
        with pytest.raises(xhlo.CustomCallError, match="size 3 is odd"):
            attempt()


def test_composites_run_their_decomposition() -> None:
    text = (
        "func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = stablehlo.add %x, %x : tensor<4xf32> return %0 : tensor<4xf32> }\n"
        + program('%r = stablehlo.composite "my.twice" %x {decomposition = @f} : (tensor<4xf32>) -> tensor<4xf32>')
    )
    np.testing.assert_array_equal(both(text, X), 2 * X)


def test_top_k_is_restored_from_its_composite() -> None:
    def inlined(attributes: str, result: str = "tensor<2xf32>, tensor<2xi32>") -> str:
        text = f"""func.func private @f(%x: tensor<4xf32>) -> ({result}) {{
          %0:2 = chlo.top_k(%x, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
          %1 = stablehlo.add %0#0, %0#0 : tensor<2xf32>
          return %1, %0#1 : tensor<2xf32>, tensor<2xi32>
        }}
        func.func @main(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>) {{
          %r:2 = stablehlo.composite "chlo.top_k" %x {{composite_attributes = {attributes}, decomposition = @f}} : (tensor<4xf32>) -> ({result})
          return %r#0, %r#1 : tensor<2xf32>, tensor<2xi32>
        }}"""
        ctx = make_context()
        module = parse_module(text, "composite.mlir", ctx)
        PassManager(ctx, build_passes("inline")).run(module)
        return print_module(module)

    assert "hlo.add" not in inlined("{k = 2 : i64}")
    for other in ("{}", "{k = 3 : i64}", "{k = dense<2> : tensor<i64>}", "{k = 2 : i64, order = 1 : i64}"):
        assert "hlo.add" in inlined(other), "its name is that of top_k, and it is something else"


@pytest.mark.parametrize("name", ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "erf", "sinh", "tan"])
def test_functions_of_mhlo_are_those_of_chlo(name: str) -> None:
    x = np.array([0.25, 0.5, -0.75, 1.5], np.float32)
    text = call(f"mhlo.{name}", "mhlo.attributes = {}, mhlo.version = 1 : i64")
    exe = xhlo.compile(text)
    assert all(not kernel.target for kernel in exe.kernels)
    np.testing.assert_allclose(exe(x), reference(text, x), rtol=1e-6)


def test_texts_of_any_bytes(register: Any) -> None:
    """xDSL reads a text with escaped bytes as bytes."""
    seen: list[Any] = []
    register("texts", lambda call, x: (seen.append(call.attributes), x)[1])
    text = call("texts", r'mhlo.attributes = {a = "\C3\A9", b = "\FF", c = "\22"}')
    xhlo.compile(text)(np.zeros(4, np.float32))
    assert seen == [{"a": "é", "b": b"\xff", "c": '"'}]


@pytest.mark.parametrize("largest", [True, False])
def test_top_k_of_mhlo(largest: bool) -> None:
    x = np.array([[3, np.nan, -0.0, 0.0, 3, -np.inf], [1, 2, 3, 4, 5, 6]], np.float32)
    text = (
        program(
            f"%r, %i = stablehlo.custom_call @mhlo.topk(%x) {{mhlo.attributes = {{k = 3 : i64, largest = {str(largest).lower()}}}, mhlo.version = 1 : i64}} : (tensor<2x6xf32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)",
            "%x: tensor<2x6xf32>",
            "tensor<2x3xf32>",
        )
        .replace("return %r : tensor<2x3xf32>", "return %r, %i : tensor<2x3xf32>, tensor<2x3xi32>")
        .replace("-> tensor<2x3xf32> {", "-> (tensor<2x3xf32>, tensor<2x3xi32>) {")
    )
    exe = xhlo.compile(text)
    assert not [kernel for kernel in exe.kernels if kernel.target], "no call of a Python function"
    values, indices = exe(x)
    assert indices.tolist() == ([[1, 0, 4], [5, 4, 3]] if largest else [[5, 2, 3], [0, 1, 2]])
    np.testing.assert_array_equal(values, np.take_along_axis(x, indices, -1))


def test_tokens_order_calls(register: Any) -> None:
    register("after", lambda call, x: x + 1)
    text = program(
        "%t = stablehlo.create_token : !stablehlo.token\n"
        "%r, %u = stablehlo.custom_call @after(%x, %t) : (tensor<4xf32>, !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)"
    )
    np.testing.assert_array_equal(both(text, X), X + 1)


def test_threads_wait_for_the_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that asks for targets while another thread loads them finds them."""
    made, found = registry.Registry(), list[Any]()
    other = threading.Thread(target=lambda: found.append(made.find("test.target")))

    class File:
        TARGETS = (registry.CustomCallTarget("test.target"),)

    def files(package: str) -> list[Any]:
        other.start()
        other.join(0.1)
        assert made.find("test.target") is None, "what is loaded may ask, too"
        return [File]

    monkeypatch.setattr(rules, "import_files", files)
    assert made.find("test.target") is File.TARGETS[0]
    other.join()
    assert found == [File.TARGETS[0]]
