"""
Calls of executables: names, trees, memory for the results, arrays of other libraries, copies.

The forms that are slower than arrays by position; test_executable.py has those.
"""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import xhlo
from filled_memory import run_filled
from xhlo.targets.program import dlpack
from xhlo.targets.program.signature import ExampleTree, Signature
from xhlo.targets.simt.target import SIMT

TEXT = """
func.func @main(%x: tensor<3xf32>, %scale: tensor<f32>) -> (tensor<3xf32>, tensor<f32>) {
  %0 = hlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<3xf32>
  %1 = hlo.multiply %x, %0 : tensor<3xf32>
  return %1, %scale : tensor<3xf32>, tensor<f32>
}
"""
X = np.arange(3, dtype=np.float32)


def one(element: str, shape: str = "3x") -> xhlo.Executable:
    """The identity."""
    kind = f"tensor<{shape}{element}>"
    return xhlo.compile(f"func.func @main(%x: {kind}) -> {kind} {{ return %x : {kind} }}")


# Names and representation ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["cpu", "simt"])
def test_arguments_by_name(target: Any) -> None:
    exe = xhlo.compile(TEXT, target)
    for y, scale in (exe(X, scale=2.0), exe(scale=2.0, x=X), exe(X, 2.0)):
        assert (y.tolist(), float(scale)) == ([0, 2, 4], 2)


def test_what_it_is() -> None:
    exe = xhlo.compile(TEXT)
    assert repr(exe) == "<xhlo executable main for cpu: (x: float32[3], scale: float32[]) -> (float32[3], float32[])>"
    text = "module @step { func.func @main(%arg0: tensor<2x?xbf16>) -> tensor<2x?xbf16> { return %arg0 : tensor<2x?xbf16> } }"
    assert repr(xhlo.compile(text)) == "<xhlo executable step for cpu: (arg0: bfloat16[2, ?]) -> bfloat16[2, ?]>"
    lowered = xhlo.compile(exe.as_text("linalg"))
    assert repr(lowered) == repr(exe) and lowered(x=X, scale=1.0)[0].tolist() == [0, 1, 2]
    assert repr(xhlo.deserialize(exe.serialize())) == repr(exe)


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((X,), {}, "expected 2 arguments, got 1; missing: scale"),
        ((), {"scale": 1.0}, "expected 2 arguments, got 1; missing: x"),
        ((X, 1.0, 2.0), {}, r"expected 2 arguments, got 3; the program takes \(x: float32\[3\], scale: float32\[\]\)"),
        ((X,), {"scal": 1.0}, r"no argument is named 'scal'; the program takes \(x: "),
        ((X, 1.0), {"x": X}, r"argument 0 \('x'\) is given twice, by position and by name"),
        ((X,), {"scale": "2"}, "argument 1: expected an array of type tensor<f32>, got str"),
    ],
)
def test_wrong_calls(arguments: tuple[Any, ...], named: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        xhlo.compile(TEXT)(*arguments, **named)


# Trees -----------------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    y: Any
    scale: Any


@dataclasses.dataclass
class Inputs:
    scale: Any


def test_trees_by_example() -> None:
    exe = xhlo.compile(TEXT, in_tree=([0, {"b": Inputs(0)}],), out_tree=Pair(0, 0))
    result = exe([X, {"b": Inputs(3.0)}])
    assert isinstance(result, Pair) and result.y.tolist() == [0, 3, 6] and result.scale == 3
    assert exe(X, 3.0).scale == 3, "one by one as well"
    into = Pair(np.empty(3, np.float32), np.empty((), np.float32))
    found = exe([X, {"b": Inputs(2.0)}], out=into)
    assert found.y is into.y and into.scale == 2
    for wrong, message in (
        ([X, {"c": 1.0}], r"expected the keys \['b'\], got \['c'\]"),
        ([X], "expected a list of 2, got a list of 1"),
        ((X, {"b": Inputs(1.0)}), "expected a list of 2, got a tuple of 2"),
    ):
        with pytest.raises(TypeError, match=f"the argument does not have the structure .*{message}"):
            exe(wrong)
    assert xhlo.compile(TEXT, in_tree=({"b": 0, "a": 0},))({"a": 2.0, "b": X})[1] == 2, "keys in any order"


def test_plain_results_cost_no_tree() -> None:
    assert xhlo.compile(TEXT, out_tree=(0, 0))._unflatten is None
    assert xhlo.compile(TEXT, out_tree=[0, 0])._unflatten is not None
    assert one("f32").called_as(Signature(out_tree=ExampleTree.of((0,))))(X)[0].shape == (3,)


def test_wrong_trees() -> None:
    with pytest.raises(ValueError, match="in_tree has 3 leaves, but the program takes 2 arrays"):
        xhlo.compile(TEXT, in_tree=(0, 0, 0))
    with pytest.raises(ValueError, match="out_tree has 1 leaves, but the program returns 2 arrays"):
        xhlo.compile(TEXT, out_tree=[0])
    with pytest.raises(
        TypeError, match="in_tree= takes a PyTreeDef or a tuple with an example of each argument, got dict"
    ):
        xhlo.compile(TEXT, in_tree={"x": 0})


@pytest.fixture(scope="module")
def jax() -> Any:
    return pytest.importorskip("jax")


def step(params: Any, x: Any, unused: Any, *, scale: Any = 1.0) -> Any:
    return {"y": params["w"] @ x * scale, "x": (x,)}


PARAMS = {"w": np.ones((4, 3), np.float32)}
UNUSED = np.zeros(2, np.float32)


@pytest.mark.parametrize("form", ["lowered", "exported"])
def test_trees_of_jax(jax: Any, form: str) -> None:
    jitted = jax.jit(step)
    program = jitted.lower(PARAMS, X, UNUSED, scale=2.0) if form == "lowered" else None
    if program is None:
        import jax.export

        program = jax.export.export(jitted)(PARAMS, X, UNUSED, scale=2.0)
    exe = xhlo.compile(program)
    assert repr(exe).endswith(
        "(params['w']: float32[4, 3], x: float32[3], scale: float32[]) -> (float32[3], float32[4])>"
    )
    result = exe(PARAMS, X, UNUSED, scale=2.0)
    assert list(result) == ["x", "y"] and result["y"].tolist() == [6] * 4 and type(result["x"]) is tuple
    assert exe(PARAMS["w"], X, 2.0)["y"].tolist() == [6] * 4, "the program's own arguments"
    with pytest.raises(
        TypeError,
        match="JAX dropped the argument unused of the function" if form == "lowered" else "JAX dropped the argument 2 ",
    ):
        exe(X)
    again = pickle.loads(pickle.dumps(exe))
    assert again(PARAMS, X, UNUSED, scale=3.0)["y"].tolist() == [9] * 4


def test_modules_of_jax(jax: Any) -> None:
    lowered = jax.jit(lambda x: x * 2).lower(X)
    exe = xhlo.compile(lowered.compiler_ir("stablehlo"))
    assert exe(x=X).tolist() == [0, 2, 4]
    symbolic = jax.export.symbolic_shape("n")
    exported = jax.export.export(jax.jit(lambda x: [x + 1]))(jax.ShapeDtypeStruct(symbolic, np.float32))
    assert [y.tolist() for y in xhlo.compile(exported)(X)] == [[1, 2, 3]]


def test_a_function_of_jax_whose_constants_are_arguments(jax: Any) -> None:
    large = np.arange(64.0, dtype=np.float32)
    exe = xhlo.compile(jax.jit(lambda x: x + large[:3]).lower(X))
    assert len(exe.input_types) >= 1 and repr(exe)


# Memory for the results ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["cpu", "simt"])
def test_results_go_to_given_memory(target: Any) -> None:
    exe = xhlo.compile(TEXT, target)
    y, scale = np.zeros(3, np.float32), np.zeros((), np.float32)
    found = exe(X, 2.0, out=(y, scale))
    assert found[0] is y and found[1] is scale and y.tolist() == [0, 2, 4]
    assert exe.compile_stages is not None


def test_memory_that_overlaps_with_arguments() -> None:
    exe = xhlo.compile(
        "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
        "  %0 = hlo.reverse %x, dims = [0] : tensor<4xf32>\n  return %0, %x : tensor<4xf32>, tensor<4xf32>\n}"
    )
    memory = np.arange(8, dtype=np.float32)
    exe(memory[2:6], out=(memory[2:6], memory[4:]))
    assert memory.tolist() == [0, 1, 5, 4, 2, 3, 4, 5], "as if both were computed before either was written"


def test_given_memory_is_written_by_a_direct_call(monkeypatch: pytest.MonkeyPatch) -> None:
    exe = xhlo.compile(
        "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
        "  %0 = hlo.reverse %x, dims = [0] : tensor<4xf32>\n  return %0, %x : tensor<4xf32>, tensor<4xf32>\n}"
    )
    if exe._direct is None:
        pytest.skip("direct calls need CPython on a POSIX system")
    slow: list[Any] = []
    monkeypatch.setattr(type(exe), "call", lambda self, arguments, named, out: slow.append(out))
    memory = np.zeros((4, 4), np.float32)
    x = np.arange(4, dtype=np.float32)
    found = exe(x, out=(memory[0], memory[2]))
    assert not slow and found[1].base is memory and memory.tolist() == [[3, 2, 1, 0], [0] * 4, [0, 1, 2, 3], [0] * 4]
    read_only = np.zeros(4, np.float32)
    read_only.flags.writeable = False
    for out in ((memory[0], memory[0]), (x, memory[0]), (memory[0], read_only), (memory[0],), "memory", 5):
        slow.clear()
        exe(x, out=out)
        assert slow == [out], "memory that overlaps or is not fit is left to the call that asks"
    slow.clear()
    exe(out=(x, memory[0], memory[1]))
    assert len(slow) == 1, "memory for results is no argument"


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros(4, np.float32), r"out= for result 0: expected a float32\[3\] NumPy array, got float32\[4\]"),
        (np.zeros(3), r"got float64\[3\]"),
        (np.zeros(6, np.float32)[::2], "got one that is not row-major without gaps"),
        (np.frombuffer(bytes(12), np.float32), "got one that is read-only"),
        ([0.0, 1.0, 2.0], "out= has 3 arrays, the program returns 1"),
        ("memory", "got str"),
    ],
)
def test_wrong_memory(out: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        one("f32")(X, out=out)


# Arrays of other libraries ---------------------------------------------------------------------------------------


class Torch:
    """Like a tensor of torch: `__array__` fails for bf16, which `__dlpack__` exports."""

    def __init__(self, array: Any, device: int = dlpack.CPU, by_array: bool = False):
        self.array, self.device, self.by_array, self.asked = array, device, by_array, None

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self.by_array:
            return self.array
        raise TypeError("Got unsupported ScalarType BFloat16")

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, *, dl_device: Any = None, max_version: Any = None) -> Any:
        self.asked = dl_device
        array = self.array
        return dlpack.export(
            array, array.ctypes.data, array.shape, array.dtype, (dlpack.CPU, 0), max_version is not None
        )


class OnlyDlpack:
    def __init__(self, array: Any, strides: tuple[int, ...] | None = None):
        self.array, self.strides = array, strides

    def __dlpack__(self) -> Any:
        array = self.array
        return dlpack.export(array, array.ctypes.data, array.shape, array.dtype, (dlpack.CPU, 0), False)


def test_arrays_of_other_libraries() -> None:
    x = X.astype(ml_dtypes.bfloat16)
    exe = one("bf16")
    assert exe(Torch(x)).tolist() == exe(OnlyDlpack(x)).tolist() == exe(Torch(x, by_array=True)).tolist() == [0, 1, 2]
    far = Torch(x, device=dlpack.CUDA)
    assert exe(far).tolist() == [0, 1, 2] and far.asked == (dlpack.CPU, 0), "its library copies it"
    assert one("f32", "")(OnlyDlpack(np.array(3, np.float32))) == 3
    assert one("f32", "0x")(OnlyDlpack(np.zeros(0, np.float32))).shape == (0,)
    with pytest.raises(TypeError, match="argument 0: expected dtype bfloat16"):
        exe(OnlyDlpack(X))


def test_tensors_of_torch() -> None:
    torch = pytest.importorskip("torch")
    exe = one("bf16")
    assert exe(torch.arange(3, dtype=torch.bfloat16)).tolist() == [0, 1, 2]


def test_arrays_that_cannot_be_read() -> None:
    class Sparse:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise RuntimeError("call to_dense() first")

    with pytest.raises(
        TypeError, match=r"argument 0: Sparse cannot be read as an array: call to_dense\(\) first"
    ) as caught:
        one("f32")(Sparse())
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_bytes_in_the_other_order() -> None:
    exe = xhlo.compile(TEXT)
    y, scale = exe(X.astype(">f4"), np.array(2, ">f4"))
    assert (y.tolist(), scale.tolist(), y.dtype.isnative) == ([0, 2, 4], 2, True)


@pytest.mark.parametrize(
    ("element", "value", "expected"),
    [
        ("f32", 2, 2),
        ("f32", 2.5, 2.5),
        ("bf16", 2.5, 2.5),
        ("f8E4M3FN", 2, 2),
        ("i1", True, True),
        ("i32", -7, -7),
        ("ui8", 255, 255),
        ("i4", -8, -8),
        ("i64", -(2**63), -(2**63)),
        ("complex<f32>", 1 + 2j, 1 + 2j),
        ("complex<f64>", 3, 3),
        ("ui8", 256, None),
        ("ui8", -1, None),
        ("i4", 8, None),
        ("i32", 2.0, None),
        ("i32", True, None),
        ("i1", 1, None),
        ("f32", 1j, None),
    ],
)
def test_numbers_of_python(element: str, value: Any, expected: Any) -> None:
    exe = one(element, "")
    if expected is None:
        with pytest.raises(TypeError, match=f"argument 0: expected .*{element}.*, got the {type(value).__name__} "):
            exe(value)
    else:
        result = exe(value)
        assert result.shape == () and result == expected


def test_numbers_for_programs_of_unknown_sizes() -> None:
    exe = xhlo.compile(
        "func.func @main(%x: tensor<?xf32>, %n: tensor<i32>) -> (tensor<?xf32>, tensor<i32>) {\n"
        "  return %x, %n : tensor<?xf32>, tensor<i32>\n}",
        in_tree=({"x": 0, "n": 0},),
        out_tree={"x": 0, "n": 0},
    )
    # The example's order is that of the program.
    assert exe({"n": 3, "x": X})["n"] == 3
    assert exe(X, n=3)["x"].tolist() == [0, 1, 2]
    into = {"x": np.empty(3, np.float32), "n": np.empty((), np.int32)}
    assert exe(X, 5, out=into)["n"] is into["n"] and into["n"] == 5
    with pytest.raises(TypeError, match=r"out= for result 0: expected a float32\[2\] NumPy array, got float32\[3\]"):
        exe(X[:2], 5, out=into)


# Copies ----------------------------------------------------------------------------------------------------------


def test_copies() -> None:
    exe = xhlo.compile(TEXT)
    for again in (copy.copy(exe), copy.deepcopy({"a": [exe]})["a"][0], pickle.loads(pickle.dumps(exe))):
        assert again is not exe and repr(again) == repr(exe)
        assert again(X, scale=2.0)[0].tolist() == [0, 2, 4]
        assert again.as_text("fused") == exe.as_text("fused")


def test_pickles_of_executables_without_machine_code() -> None:
    """They are compiled again: with the same target, passes and guard."""
    text = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"
    for exe in (xhlo.compile(TEXT, "simt"), xhlo.compile(text), xhlo.compile(TEXT, guard=True)):
        again = pickle.loads(pickle.dumps(exe))
        assert (type(again), repr(again)) == (type(exe), repr(exe))
    placed = pickle.loads(pickle.dumps(xhlo.compile(TEXT, SIMT, pipeline={"before:cse": "dce"})))
    assert list(placed.maker.compile.args[1].places.passes) == ["before:cse"]


def test_pickles_are_trusted_as_bytes_are(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(xhlo.compile(TEXT))
    monkeypatch.setenv("XHLO_TRUSTED_KEYS", "keys.pem")
    with pytest.raises(ValueError, match="the executable is not signed"):
        pickle.loads(data)


def test_a_pickle_is_loaded_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "exe.pickle"
    path.write_bytes(pickle.dumps(xhlo.compile(TEXT)))
    program = (
        f"import pickle, numpy as np; print(pickle.load(open({str(path)!r}, 'rb'))(np.ones(3, np.float32), 2.0)[0])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[2. 2. 2.]\n", done.stderr


LAST_CONSUMERS = """
import atexit, ctypes, sys
import numpy as np
python = ctypes.pythonapi
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
at_exit = ctypes.CDLL(None).__cxa_atexit
at_exit.argtypes = [ctypes.c_void_p] * 3
taken = []
@atexit.register
def as_a_static_object():  # which calls the deleter when there is no interpreter any more
    place = python.PyCapsule_GetPointer(taken[0], b"dltensor")
    structure = dlpack._Managed.from_address(place)
    assert at_exit(ctypes.cast(structure.deleter, ctypes.c_void_p), place, None) == 0
from xhlo.targets.program import dlpack
class Exporting:
    def __dlpack_device__(self):
        return dlpack.CPU, 0
    def __dlpack__(self, **_):
        x = np.ones(8, np.float32)
        return dlpack.export(x, x.ctypes.data, x.shape, x.dtype, (dlpack.CPU, 0), False)
taken.append(Exporting().__dlpack__())
sys.array, sys.capsule = np.from_dlpack(Exporting()), Exporting().__dlpack__()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="__cxa_atexit of another C library")
def test_consumers_of_dlpack_may_outlive_the_interpreter() -> None:
    assert run_filled(LAST_CONSUMERS) == (0, "", "")
