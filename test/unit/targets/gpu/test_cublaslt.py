"""cuBLASLt: requests to the library, where it is found, and calls from the runtime in streams and graphs."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import xhlo
from conformance import difference
from fake_cublaslt import NOT_INITIALIZED, NOT_SUPPORTED, FakeCublasLt
from simulated_gpu import SimulatedDriver, compile_simulated
from test_gpu_contractions import array
from test_gpu_libraries import ADD, ATTENTION, RELU, dense
from xhlo.dialects.gpu.library import SUMS, Matmul, Matrix
from xhlo.targets.gpu.runtime.device import Device
from xhlo.targets.gpu.runtime.driver import GpuUnavailableError
from xhlo.targets.gpu.runtime.host_program import LibraryStep
from xhlo.targets.gpu.serialization import serialize
from xhlo.targets.nvptx.runtime import bindings, cublaslt, cuda_driver
from xhlo.targets.nvptx.runtime.cublaslt import Algorithm, CublasLt, HeuristicResult, find_library, present_libraries
from xhlo.targets.nvptx.runtime.cuda_driver import CudaDriver
from xhlo.targets.nvptx.runtime.errors import CudaError
from xhlo.targets.simt.library import run_matmul

# The library. ---------------------------------------------------------------------------------------------------------


def matrix(rows: int, columns: int, row_major: bool, batch: int, pad: int = 0) -> Matrix:
    leading = (columns if row_major else rows) + pad
    strides = (leading, 1) if row_major else (1, leading)
    size = (rows if row_major else columns) * leading
    return Matrix(rows, columns, *strides, batch_stride=size if batch > 1 else 0, offset=pad)


def problem(
    element: str = "f32", result: str = "", batch: int = 1, layouts: str = "rr", pad: int = 0, **more: Any
) -> Matmul:
    lhs = matrix(12, 20, layouts[0] == "r", batch, pad)
    rhs = matrix(20, 8, layouts[1] == "r", batch, pad)
    return Matmul(lhs, rhs, matrix(12, 8, True, batch, pad), batch, element, result or element, **more)


def buffers_of(one: Matmul) -> list[np.ndarray]:
    ends = [(one.lhs, one.element), (one.rhs, one.element), (one.out, one.result)]
    lhs, rhs, out = (array((each.end(one.batch),), element, seed) for seed, (each, element) in enumerate(ends))
    return [lhs, rhs, *[array((one.out.columns,), one.result, 9)] * one.bias, np.full_like(out, 77)]


def address(buffer: np.ndarray) -> int:
    return buffer.ctypes.data


@pytest.mark.parametrize("layouts", ["rr", "rc", "cr", "cc"])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("pad", [0, 4])
def test_the_library_is_asked_for_what_is_meant(layouts: str, batch: int, pad: int) -> None:
    library = CublasLt(FakeCublasLt())
    for element, result in SUMS:
        for bias, activation in ((False, ""), (True, ""), (False, "relu"), (True, "relu")):
            if (element == "i8" and layouts != "rc") or (result not in ("f32", "f16", "bf16") and (bias or activation)):
                continue
            one = problem(element, result, batch, layouts, pad, bias=bias, activation=activation)
            actual = buffers_of(one)
            wanted = [each.copy() for each in actual]
            run_matmul(one, wanted)
            library.matmul(one, tuple(map(address, actual)), 1, 0, "k")
            message = difference(actual[-1], wanted[-1], None, False)
            assert not message, (one, message)


def test_a_problem_is_planned_once_and_its_bias_is_that_of_the_call() -> None:
    fake = FakeCublasLt()
    library = CublasLt(fake)
    one = problem(bias=True)
    for seed in range(3):
        lhs, rhs, _, out = buffers_of(one)
        bias = array((8,), "f32", seed)
        library.matmul(one, tuple(map(address, (lhs, rhs, bias, out))), 1, 0, "k")
        np.testing.assert_allclose(out.reshape(12, 8), lhs.reshape(12, 20) @ rhs.reshape(20, 8) + bias, rtol=1e-4)
    assert fake.calls.count("cublasLtMatmulAlgoGetHeuristic") == 1 and fake.calls.count("cublasLtCreate") == 1
    assert fake.calls.count("cublasLtMatmul") == 3


def test_the_choice_of_an_algorithm_depends_on_the_problem_alone() -> None:
    fake = FakeCublasLt()
    one = problem("bf16", pad=3)
    CublasLt(fake).matmul(one, tuple(map(address, buffers_of(one))), 1, 0, "k")
    # 32 MiB; partial sums in f32, added in a separate step; 3 elements of 2 bytes after an aligned address.
    assert fake.preference == {"kind": "preference", 1: 32 << 20, 3: 2, 5: 2, 6: 2, 7: 2, 8: 2}


def test_what_the_library_refuses_names_the_kernel() -> None:
    fake = FakeCublasLt()
    library = CublasLt(fake)
    one = problem()
    given = (one, tuple(map(address, buffers_of(one))), 1, 0, "dot_3")
    for function in ("cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"):
        fake.refuse[function] = NOT_SUPPORTED
        with pytest.raises(CudaError, match=f"CUBLAS_STATUS_NOT_SUPPORTED: kernel @dot_3: {function}"):
            library.matmul(*given)
    library.matmul(*given)
    other = FakeCublasLt()
    other.refuse["cublasLtCreate"] = NOT_INITIALIZED
    with pytest.raises(GpuUnavailableError, match="cuBLASLt does not start .CUBLAS_STATUS_NOT_INITIALIZED"):
        CublasLt(other).matmul(*given)


# Where the library is. ------------------------------------------------------------------------------------------------


_folders_of_the_system = cublaslt._folders_of_the_system


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No library is installed."""
    monkeypatch.setattr(cublaslt, "DISTRIBUTIONS", ())
    monkeypatch.setattr(cublaslt, "_folders_of_the_system", lambda: ())
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delenv(cublaslt.VARIABLE, raising=False)


def test_the_library_of_a_wheel_is_found(nowhere: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_library() is None and present_libraries() == "never"
    with pytest.raises(
        GpuUnavailableError, match=r"cuBLASLt, which is not installed: `pip install xhlo\[gpu-libraries\]`"
    ):
        CublasLt()
    folder = tmp_path / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    (folder / "libcublasLt.so.13").write_bytes(b"")
    information = tmp_path / "nvidia_cublas-13.1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-cublas\nVersion: 13.1\n")
    (information / "RECORD").write_text("nvidia/cu13/lib/libcublasLt.so.13,,\nnvidia/cu13/include/cublasLt.h,,\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert find_library() == str(folder / "libcublasLt.so.13")
    older = tmp_path / "nvidia" / "cublas" / "lib" / "libcublasLt.so.12"
    older.parent.mkdir(parents=True)
    older.write_bytes(b"")
    cublaslt._installed.cache_clear()
    assert find_library() == str(folder / "libcublasLt.so.13")
    monkeypatch.setattr(cublaslt, "DISTRIBUTIONS", ("nvidia-cublas",))
    assert find_library() == str(folder / "libcublasLt.so.13") and present_libraries() == "auto"
    with pytest.raises(GpuUnavailableError, match="cuBLASLt cannot be loaded from"):
        CublasLt()
    monkeypatch.setattr(sys, "path", [])
    assert find_library() is None
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere{os.pathsep}{folder}")
    monkeypatch.setattr(cublaslt, "_folders_of_the_system", _folders_of_the_system)
    assert find_library() == str(folder / "libcublasLt.so.13")


def test_a_library_that_is_newer_than_the_driver_is_left_alone(nowhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    both = ["/a/libcublasLt.so.13", "/b/libcublasLt.so.12"]
    monkeypatch.setattr(cublaslt, "_installed", lambda *places: tuple(both))
    for version, found in ((13, both[0]), (14, both[0]), (12, both[1]), (None, both[0]), (11, None)):
        monkeypatch.setattr(cublaslt, "driver_major", lambda version=version: version)
        assert find_library() == found
        assert present_libraries() == ("never" if found is None else "auto")


def test_the_drivers_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, bindings.MODULE, None)
    assert cublaslt.driver_major() is None
    for status, version, major in ((0, 12080, 12), (0, 13000, 13), (0, 0, None), (35, None, None)):
        api = SimpleNamespace(cuDriverGetVersion=lambda found=(status, version): found)
        monkeypatch.setattr(cublaslt, "load_bindings", lambda api=api: api)
        assert cublaslt.driver_major() == major


def test_the_choice_of_the_user_counts(nowhere: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cublaslt.VARIABLE, "always")
    assert present_libraries() == "always"
    executable: Any = xhlo.compile(dense("f32", ADD + RELU), target="gpu")
    assert [type(step) for step in executable.image.host.steps] == [LibraryStep]
    monkeypatch.setenv(cublaslt.VARIABLE, "sometimes")
    with pytest.raises(GpuUnavailableError, match="XHLO_GPU_LIBRARIES is one of never, auto, always, not 'sometimes'"):
        present_libraries()


REAL = os.environ.get("XHLO_TEST_CUBLASLT") or find_library()


@pytest.mark.skipif(REAL is None, reason="cuBLASLt is not installed")
def test_the_real_library_takes_our_numbers() -> None:
    """Descriptors need no device: attributes that are set are read back, and their sizes are the library's."""
    real: Any = ctypes.CDLL(str(REAL))
    library = CublasLt(real)
    for element, result in SUMS:
        plan = library.describe(problem(element, result, batch=3, layouts="cr", pad=4))
        sizes = {number: ctypes.c_size_t() for number in (*range(9), 10)}
        for number, size in sizes.items():
            status = real.cublasLtMatmulDescGetAttribute(
                plan.description, number, None, ctypes.c_size_t(0), ctypes.byref(size)
            )
            assert status == 0
        assert [sizes[number].value for number in (3, 4, 7, 8)] == [4, 4, 4, 8]
        read = [_read(real.cublasLtMatmulDescGetAttribute, plan.description, number, 4) for number in (0, 1, 3, 4, 7)]
        total = SUMS[element, result]
        assert read == [cublaslt.COMPUTE_TYPES[total], cublaslt.DATA_TYPES[total], 0, 1, 1]
        rhs = [_read(real.cublasLtMatrixLayoutGetAttribute, plan.layouts[0], number, size) for number, size in LAYOUT]
        assert rhs == [cublaslt.DATA_TYPES[element], 0, 8, 20, 12, 3, 240]
        lhs = [_read(real.cublasLtMatrixLayoutGetAttribute, plan.layouts[1], number, size) for number, size in LAYOUT]
        assert lhs == [cublaslt.DATA_TYPES[element], 0, 12, 20, 16, 3, 320]
        preference = library.preference(plan.problem)
        read = [
            _read(real.cublasLtMatmulPreferenceGetAttribute, preference, number, size) for number, size in PREFERENCE
        ]
        assert read == [32 << 20, 2, *[min(16, 4 * size) for size in SIZES[element, result]]]
    plan = library.describe(problem(bias=True, activation="relu"))
    assert _read(real.cublasLtMatmulDescGetAttribute, plan.description, 7, 4) == 6
    assert (ctypes.sizeof(Algorithm), ctypes.sizeof(HeuristicResult)) == (64, 96)


LAYOUT = ((0, 4), (1, 4), (2, 8), (3, 8), (4, 8), (5, 4), (6, 8))


PREFERENCE = ((1, 8), (3, 4), (5, 4), (6, 4), (7, 4), (8, 4))
BYTES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "i8": 1, "i32": 4}
SIZES = {(element, result): (*[BYTES[element]] * 2, *[BYTES[result]] * 2) for element, result in SUMS}


def _read(function: Any, descriptor: Any, number: int, size: int) -> int:
    value, written = ctypes.c_uint64(), ctypes.c_size_t()
    status = function(descriptor, number, ctypes.byref(value), ctypes.c_size_t(size), ctypes.byref(written))
    assert (status, written.value) == (0, size)
    return value.value


# The runtime. ---------------------------------------------------------------------------------------------------------

MLP = """
func.func @main(%x: tensor<24x40xf32>, %w: tensor<40x16xf32>, %b: tensor<16xf32>) -> (tensor<24x16xf32>, tensor<24x16xf32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<24x40xf32>, tensor<40x16xf32>) -> tensor<24x16xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<24x16xf32>
  %2 = stablehlo.add %0, %1 : tensor<24x16xf32>
  %3 = stablehlo.tanh %2 : tensor<24x16xf32>
  %4 = stablehlo.negate %3 : tensor<24x16xf32>
  return %2, %4 : tensor<24x16xf32>, tensor<24x16xf32>
}
"""


def mlp(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sums = x @ w + b
    return sums, -np.tanh(sums)


def mlp_inputs(seed: int) -> list[np.ndarray]:
    return [array((24, 40), "f32", seed), array((40, 16), "f32", seed + 1), array((16,), "f32", seed + 2)]


def check_runs(executable: Any) -> None:
    """Each run uses other addresses, so that graphs must be updated."""
    kept = []
    for seed in range(8):
        inputs = mlp_inputs(seed)
        placed = executable.place(inputs)
        kept.append((inputs, placed, executable(*placed)))
    for inputs, _, results in kept:
        for actual, wanted in zip(results, mlp(*inputs), strict=True):
            np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_programs_with_calls_run_singly_and_in_graphs() -> None:
    driver = SimulatedDriver()
    executable = compile_simulated(MLP, Device(driver), libraries="always")
    check_runs(executable)
    assert any(line.startswith("library dot_0") for line in driver.log) and "graph" in driver.log


def test_calls_are_timed_as_their_kernel() -> None:
    executable = compile_simulated(MLP, libraries="always", profile=True)
    executable(*mlp_inputs(0))
    times = {kernel.name: kernel.calls for kernel in executable.kernels}
    assert times["dot_0"] == 1 and all(times.values())


def test_executables_with_calls_are_bytes_and_back() -> None:
    executable = compile_simulated(ATTENTION, libraries="always")
    loaded: Any = xhlo.deserialize(serialize(executable.image, None, "nvptx"))
    assert loaded.image.host == executable.image.host and len(loaded.image.host.steps) == 2
    assert [step.problem.batch for step in loaded.image.host.steps] == [3, 3]


class RecordingDriver(SimulatedDriver):
    """A driver whose graphs may hold work captured from a stream: a list of functions."""

    def _perform(self, command: Any) -> None:
        if isinstance(command, list):
            for work in command:
                work()
        else:
            super()._perform(command)


@pytest.fixture
def through_the_bindings(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], tuple[Any, FakeCublasLt]]]:
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.bindings") is None:
        pytest.skip("the package cuda-bindings is not installed")
    import cuda.bindings.driver as real

    from fake_cuda import RESULTS, FakeCuda

    recording: dict[int, list[Callable[[], None]]] = {}

    class RecordingCuda(FakeCuda):
        def _cuStreamBeginCapture(self, stream: Any, mode: Any) -> None:
            assert mode == real.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
            recording[int(stream)] = []

        def _cuStreamEndCapture(self, stream: Any) -> Any:
            return recording.pop(int(stream))

        def _cuGraphAddChildGraphNode(self, graph: Any, after: Any, count: int, child: Any) -> Any:
            return self._add(graph, after, count, list(child))

        def _cuGraphExecChildGraphNodeSetParams(self, executable: Any, node: Any, child: Any) -> None:
            self._change(executable, node, list(child))

    for name in ("cuStreamEndCapture", "cuGraphAddChildGraphNode"):
        monkeypatch.setitem(RESULTS, name, 1)

    def make() -> tuple[Any, FakeCublasLt]:
        gpu = RecordingDriver()
        fake, library = RecordingCuda(gpu), FakeCublasLt(gpu.bytes_at)
        monkeypatch.setitem(sys.modules, bindings.MODULE, fake)
        monkeypatch.setattr(cuda_driver, "CublasLt", lambda: CublasLt(library))

        def later(stream: int, work: Callable[[], None]) -> None:
            if stream in recording:
                recording[stream].append(work)
            else:
                gpu._put(stream, work)

        library.later = later
        return fake, library

    yield make


def test_calls_in_streams_and_in_graphs_of_cuda(through_the_bindings: Callable[[], tuple[Any, FakeCublasLt]]) -> None:
    fake, library = through_the_bindings()
    check_runs(compile_simulated(MLP, Device(CudaDriver()), libraries="always"))
    wanted = {
        "cuStreamBeginCapture",
        "cuGraphAddChildGraphNode",
        "cuGraphExecChildGraphNodeSetParams",
        "cuGraphDestroy",
    }
    assert wanted <= set(fake.calls)
    assert library.calls.count("cublasLtCreate") == 1
    assert fake.calls.count("cuStreamBeginCapture") == fake.calls.count("cuStreamEndCapture")


def test_a_refused_call_names_its_kernel(through_the_bindings: Callable[[], tuple[Any, FakeCublasLt]]) -> None:
    _, library = through_the_bindings()
    executable = compile_simulated(MLP, Device(CudaDriver()), libraries="always")
    library.refuse["cublasLtMatmul"] = NOT_SUPPORTED
    with pytest.raises(CudaError, match="CUBLAS_STATUS_NOT_SUPPORTED: kernel @dot_0: "):
        executable(*mlp_inputs(0))
    results = executable(*mlp_inputs(1))
    np.testing.assert_allclose(results[0], mlp(*mlp_inputs(1))[0], rtol=1e-4, atol=1e-5)
