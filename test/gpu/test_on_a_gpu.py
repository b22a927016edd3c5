"""
Programs on a real GPU: `make gpu-test`. Without a GPU the whole file is skipped, with the reason.

Tests the conformance programs and the examples against their expected results and the CPU's, the exchange of arrays
with the libraries that are installed, streams, threads, errors, profiles and the cache of machine code.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import conformance
import xhlo
from attention_programs import BFLOAT, FLOAT, HALF, Attention, AttentionGradient
from gpu_runtime_programs import CHAIN, COUNT, chain, chain_inputs
from xhlo.targets.gpu.runtime.arrays import DeviceArray
from xhlo.targets.gpu.runtime.device import Device
from xhlo.targets.gpu.runtime.driver import GpuUnavailableError
from xhlo.targets.nvptx.executable import CudaExecutable
from xhlo.targets.nvptx.runtime.device import open_device
from xhlo.tools.arrays import compare, random_arrays

ROOT = Path(__file__).resolve().parents[2]

try:
    DEVICE: Device | None = open_device()
    REASON = ""
except GpuUnavailableError as error:
    DEVICE, REASON = None, error.reason

pytestmark = pytest.mark.skipif(DEVICE is None, reason=f"no GPU: {REASON}")
needs_files = pytest.mark.skipif(not conformance.ROOT.is_dir(), reason=conformance.SKIP)

STATIC = [program.name for program in conformance.stablehlo_programs() if program.static]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.mlir"))


def run(executable: Any, *arguments: Any) -> tuple[Any, ...]:
    results = executable(*arguments)
    return results if isinstance(results, tuple) else (results,)


@needs_files
@pytest.mark.parametrize("name", conformance.jax_programs())
def test_jax_program(name: str) -> None:
    """The second run is that of a graph; it gives the same bytes."""
    program = conformance.jax_program(name)
    executable = xhlo.compile(program.text, target="gpu")
    results = run(executable, *program.inputs)
    assert not conformance.wrong_outputs(program, results)
    for once, again in zip(results, run(executable, *program.inputs), strict=True):
        assert once.tobytes() == again.tobytes()


@needs_files
@pytest.mark.parametrize("name", STATIC)
def test_stablehlo_program(name: str) -> None:
    """The program checks itself: a wrong result raises CheckFailure."""
    executable = xhlo.compile(conformance.stablehlo_text(name), target="gpu")
    executable()
    executable()


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str) -> None:
    path = ROOT / "examples" / name
    executable, on_cpu = xhlo.compile(path, target="gpu"), xhlo.compile(path)
    arguments = random_arrays(executable.input_types, 0)
    expected = run(on_cpu, *arguments)
    for results in (run(executable, *arguments), run(executable, *arguments)):
        problems = [compare(*pair).problem for pair in zip(results, expected, strict=True)]
        assert not any(problems), problems


@pytest.mark.parametrize("dtype", [FLOAT, HALF, BFLOAT])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(dtype: np.dtype[Any], causal: bool) -> None:
    """One launch, with the same bytes each time; ragged tiles of rows and of keys."""
    case = Attention(2, 3, 200, 330, 64, 80, dtype=dtype, causal=causal)
    executable = xhlo.compile(case.text(), target="gpu")
    once, again = (run(executable, *case.inputs()) for _ in range(2))
    assert once[0].tobytes() == again[0].tobytes()
    want = case.expected()[1]
    bound = {4: 1e-5, 2: 1e-2}[dtype.itemsize]
    assert np.abs(once[0].astype(np.float64) - want).max() < bound * np.abs(want).max()


@pytest.mark.parametrize("dtype", [FLOAT, BFLOAT])
def test_gradients_of_attention(dtype: np.dtype[Any]) -> None:
    case = AttentionGradient(2, 2, 200, 64, dtype)
    executable = xhlo.compile(case.text(), target="gpu")
    for got, want in zip(run(executable, *case.inputs()), case.expected(), strict=True):
        bound = {4: 1e-5, 2: 4e-2}[dtype.itemsize]
        assert np.abs(got.astype(np.float64) - want).max() < bound * np.abs(want).max()


DOUBLE = """
func.func @main(%x: tensor<1000x37xf32>) -> tensor<1000x37xf32> {
  %0 = hlo.add %x, %x : tensor<1000x37xf32>
  func.return %0 : tensor<1000x37xf32>
}
"""
X = np.random.default_rng(0).standard_normal((1000, 37)).astype(np.float32)


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    executable = xhlo.compile(DOUBLE, target="gpu")
    x = torch.from_numpy(X).cuda()
    y = executable(x + 1)
    assert isinstance(y, DeviceArray)
    taken = torch.from_dlpack(y)
    assert taken.data_ptr() == y.address
    torch.testing.assert_close(taken * 3, (x + 1) * 6)
    torch.testing.assert_close(torch.as_tensor(y, device="cuda"), (x + 1) * 2)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        z = executable(x * 4, stream=side)
        torch.testing.assert_close(torch.from_dlpack(z), x * 8)
    for _ in range(50):
        # torch's allocator frees and reuses it while our work is still pending.
        x = torch.from_dlpack(executable(x)) * 0.5
    torch.testing.assert_close(x, torch.from_numpy(X).cuda())
    with pytest.raises(TypeError, match="row-major"):
        executable(torch.zeros(37, 1000, device="cuda").t())


def test_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    executable = xhlo.compile(DOUBLE, target="gpu")
    x = cupy.asarray(X)
    for take in (cupy.from_dlpack, cupy.asarray):
        y = executable(x)
        taken = take(y)
        assert taken.data.ptr == y.address
        cupy.testing.assert_array_equal(taken, 2 * x)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        cupy.testing.assert_array_equal(cupy.asarray(executable(x + 1, stream=stream)), 2 * (x + 1))
    # A view that begins in the middle of a vector.
    flat = cupy.zeros(X.size + 1, np.float32)
    flat[1:] = x.ravel()
    cupy.testing.assert_array_equal(cupy.asarray(executable(flat[1:].reshape(X.shape))), 2 * x)


def test_jax() -> None:
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    executable = xhlo.compile(DOUBLE, target="gpu")
    x = jax.device_put(X)
    y = executable(x + 1)
    np.testing.assert_array_equal(np.asarray(jax.dlpack.from_dlpack(y) * 3), (X + 1) * 6)


def test_types_of_arrays() -> None:
    for dtype in ("bfloat16", "float8_e4m3fn", "float16", "int8", "bool", "complex64"):
        element = {"bfloat16": "bf16", "float8_e4m3fn": "f8E4M3FN", "float16": "f16", "int8": "i8", "bool": "i1"}
        type_ = f"tensor<9x{element.get(dtype, 'complex<f32>')}>"
        text = f"func.func @main(%x: {type_}) -> {type_} {{ func.return %x : {type_} }}"
        values = np.arange(9).astype(getattr(ml_dtypes, dtype, dtype))
        np.testing.assert_array_equal(xhlo.compile(text, target="gpu")(values), values)


def test_many_sets_of_addresses() -> None:
    executable = xhlo.compile(CHAIN, target="gpu")
    kept = []
    for seed in range(12):
        inputs = chain_inputs(seed)
        kept.append((inputs, executable(*executable.place(inputs))))
    for inputs, results in kept:
        for actual, wanted in zip(results, chain(*inputs), strict=True):
            np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-5)


def test_a_long_loop() -> None:
    executable = xhlo.compile(COUNT, target="gpu")
    x = np.arange(7, dtype=np.float32)
    for count in (0, 1, 100):
        np.testing.assert_array_equal(executable(np.int32(count), x), x * 0.5**count)


def test_threads() -> None:
    executable = xhlo.compile(CHAIN, target="gpu")
    wrong: list[int] = []

    def work(seed: int) -> None:
        inputs = chain_inputs(seed)
        for _ in range(50):
            results = zip(executable(*inputs), chain(*inputs), strict=True)
            wrong.extend(seed for actual, wanted in results if not np.allclose(actual, wanted, rtol=1e-5))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_profile() -> None:
    executable = xhlo.compile(ROOT / "examples" / "softmax.mlir", target="gpu", profile=True)
    (x,) = executable.place(random_arrays(executable.input_types, 0))
    for _ in range(3):
        executable(x)
    (kernel,) = executable.kernels
    # 4 MB in and out: more than a microsecond, less than a millisecond.
    assert kernel.calls == 3 and 1e3 < kernel.nanoseconds / 3 < 1e6


def test_machine_code_from_bytes_and_ptx_by_the_driver() -> None:
    executable = xhlo.compile(CHAIN, target="gpu")
    inputs = chain_inputs()
    expected = run(executable, *inputs)
    for with_cubin in (True, False):
        loaded = xhlo.deserialize(executable.serialize())
        assert isinstance(loaded, CudaExecutable)
        if not with_cubin:
            loaded.image.cubin = b""
        for actual, wanted in zip(run(loaded, *inputs), expected, strict=True):
            assert actual.tobytes() == wanted.tobytes()


def test_an_example_against_the_reference() -> None:
    from xhlo.hlo_dialect.dialect import make_context
    from xhlo.hlo_dialect.reading import parse_module
    from xhlo.hlo_dialect.reference import evaluate

    text = (ROOT / "examples" / "layernorm.mlir").read_text()
    executable = xhlo.compile(text, target="gpu")
    arguments = random_arrays(executable.input_types, 3)
    expected = evaluate(parse_module(text, "layernorm", make_context()), arguments)
    for actual, wanted in zip(run(executable, *arguments), expected, strict=True):
        assert compare(actual, wanted).problem is None
