"""The plugin itself: transfers, lifetimes, donation, threads, errors, saving. Run with JAX_PLATFORMS=xhlo,cpu."""

import gc
import os
import re
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
import jaxlib.xla_client
import ml_dtypes

import xhlo

DEVICE = jax.devices("xhlo")[0]


def put(value):
    return jax.device_put(value, DEVICE)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5), (2, 3, 4), (4097,), (3, 0, 2), (64, 65)])
@pytest.mark.parametrize(
    "dtype",
    [np.bool_, np.int8, np.uint64, np.float16, np.float32, np.float64, np.complex64, np.complex128]
    + [getattr(ml_dtypes, name) for name in ("bfloat16", "float8_e4m3fn", "int4", "uint4")],
)
def test_there_and_back(shape, dtype):
    value = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    with jax.enable_x64(True):
        back = np.asarray(put(value))
    assert back.dtype == value.dtype and back.shape == value.shape
    assert back.tobytes() == value.tobytes()


@pytest.mark.parametrize("view", [
    lambda a: a.T, lambda a: a[::-1], lambda a: a[:, ::2], lambda a: a[1:, 1:], lambda a: np.broadcast_to(a[0], a.shape)
])  # fmt: skip
def test_arrays_with_strides(view):
    array = view(np.arange(6000.0, dtype=np.float32).reshape(60, 100))
    np.testing.assert_array_equal(np.asarray(put(array)), array)


class Memory:
    """float32 memory that begins `offset` bytes after a multiple of 64; its arrays keep it alive."""

    def __init__(self, count, offset=0):
        self.raw = np.empty(4 * count + 128, np.uint8)
        self.address = self.raw.ctypes.data + -self.raw.ctypes.data % 64 + offset
        self.__array_interface__ = {"version": 3, "shape": (count,), "typestr": "<f4", "data": (self.address, False)}


def test_an_aligned_host_array_is_used_where_it_lies_and_lives_as_long_as_its_buffer():
    memory = Memory(100_000)
    gone, address, host = weakref.ref(memory), memory.address, np.asarray(memory)
    host[:] = np.arange(100_000)
    expected = float(host.sum())
    device = put(host)
    assert device.unsafe_buffer_pointer() == address
    del memory, host
    gc.collect()
    assert float(jnp.sum(device)) == pytest.approx(expected)
    del device
    gc.collect()
    put(np.zeros(1, np.float32)).block_until_ready()
    assert gone() is None


@pytest.mark.parametrize("count, offset", [(100_000, 16), (16, 0)])
def test_other_host_arrays_are_copied(count, offset):
    host = np.asarray(Memory(count, offset))
    host[:] = 1
    device = put(host)
    host[:] = 7
    assert float(device.max()) == 1


def test_a_view_of_a_result_lives_on_after_it():
    result = jax.jit(lambda x: x + 1)(put(np.zeros(300_000, np.float32)))
    view = np.asarray(result)
    assert not view.flags.writeable
    del result
    gc.collect()
    # These would overwrite the memory if it had been freed.
    for _ in range(4):
        jax.jit(lambda x: x * 7)(put(np.ones(300_000, np.float32))).block_until_ready()
    assert (view == 1).all()


def test_results_do_not_share_the_memory_of_arguments():
    x = put(np.ones(70_000, np.float32))
    same = jax.jit(lambda x: x)(x)
    x.delete()
    assert float(same.sum()) == 70_000


def test_donation_deletes_the_argument_and_nothing_else():
    step = jax.jit(lambda state, x: (state + x, state * 2), donate_argnums=0)
    state, x = put(np.ones((100, 100), np.float32)), put(np.full((100, 100), 3, np.float32))
    first, second = step(state, x)
    assert state.is_deleted() and not x.is_deleted()
    assert (np.asarray(first) == 4).all() and (np.asarray(second) == 2).all()
    with pytest.raises((RuntimeError, ValueError), match="argument 0 .* deleted or donated"):
        step(state, x)


def test_a_loop_that_donates_does_not_grow():
    step = jax.jit(lambda state: state * 0.5 + 1, donate_argnums=0)
    state = put(np.zeros(1 << 20, np.float32))
    for _ in range(50):
        state = step(state)
    np.testing.assert_allclose(np.asarray(state), 2.0, rtol=1e-6)


def test_dlpack_shares_memory_with_numpy():
    array = put(np.arange(10_000, dtype=np.int32))
    seen = np.from_dlpack(array)
    np.testing.assert_array_equal(seen, np.arange(10_000))
    del array
    gc.collect()
    np.testing.assert_array_equal(seen, np.arange(10_000))


def test_copies_between_platforms():
    value = np.random.default_rng(1).standard_normal((37, 5)).astype(np.float32)
    there = jax.device_put(put(value), jax.devices("cpu")[0])
    back = jax.device_put(there, DEVICE)
    assert back.devices() == {DEVICE}
    np.testing.assert_array_equal(np.asarray(back), value)


def test_a_program_that_cannot_be_compiled_says_where():
    def unknown(x):
        return jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    with pytest.raises(jax.errors.JaxRuntimeError, match="no_such_target") as caught:
        jax.jit(unknown)(put(np.ones(3, np.float32)))
    assert "test_plugin.py" in str(caught.value)


def test_a_callback_that_fails():
    def fail(x):
        raise ValueError("the callback's own words")

    def program(x):
        return jax.pure_callback(fail, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(jax.errors.JaxRuntimeError, match="the callback's own words"):
        jax.jit(program)(put(np.ones(3, np.float32))).block_until_ready()


def test_callbacks_in_a_loop_and_in_order():
    seen = []

    def program(x):
        def body(i, x):
            jax.experimental.io_callback(lambda i: seen.append(int(i)), None, i, ordered=True)
            return x + 1

        return jax.lax.fori_loop(0, 5, body, x)

    assert float(jax.jit(program)(put(np.float32(0)))) == 5
    jax.effects_barrier()
    assert seen == [0, 1, 2, 3, 4]


def test_threads():
    programs = [jax.jit(lambda x, k=k: jnp.cumsum(jnp.sin(x) * k)) for k in range(8)]
    x = np.linspace(0, 1, 5000, dtype=np.float32)
    expected = [np.cumsum(np.sin(x) * k, dtype=np.float64) for k in range(8)]
    failures = []

    def work(number):
        try:
            for turn in range(60):
                k = (number + turn) % 8
                np.testing.assert_allclose(np.asarray(programs[k](put(x))), expected[k], rtol=2e-4, atol=1e-4)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_what_a_compiled_program_says_of_itself():
    compiled = jax.jit(lambda x: jnp.sin(x) @ x.T).lower(put(np.ones((8, 16), np.float32))).compile()
    assert compiled.as_text().startswith("HloModule jit__lambda")
    executable = xhlo.executable_of(compiled)
    assert "hlo.fusion" in executable.as_text("fused") and "hlo.dot_general" in executable.as_text("fused")
    assert "define" in executable.as_text("llvm") and executable.kernels
    with pytest.raises(ValueError, match="platform 'cpu'"):
        xhlo.executable_of(jax.jit(lambda x: x).lower(jax.device_put(1.0, jax.devices("cpu")[0])).compile())
    assert compiled.cost_analysis()["flops"] >= 2 * 8 * 8 * 16
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == 8 * 16 * 4 and memory.output_size_in_bytes == 8 * 8 * 4
    assert memory.generated_code_size_in_bytes > 500  # Plain bytes, not code.
    assert compiled.runtime_executable().fingerprint


IMAGE, KERNEL = np.ones((1, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32)
SQUARE = np.eye(4, dtype=np.float32)


@pytest.mark.long(4)
@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (lambda x: x @ x.T, [SQUARE], r"ROOT %dot\S* = f32\[4,4\]\{1,0\} dot\(%"),
        (lambda x: jnp.sin(x) * 2 + 1, [SQUARE], r"fusion\(%\S*\), kind=kLoop, calls=%fused_computation"),
        (lambda x: x.sum(0), [np.ones((64, 64), np.float32)], r"reduce\(%\S*, %\S*\), dimensions=\{0\}"),
        (lambda x, k: jax.lax.conv(x, k, (1, 1), "SAME"), [IMAGE, KERNEL], r"f32\[1,4,8,8\]\S* convolution\("),
        (
            jnp.linalg.cholesky,
            [np.eye(600, dtype=np.float32)],
            r'custom-call\(.*routine = "lapack_spotrf_ffi"',
        ),
        (lambda x: jax.lax.fori_loop(0, x[0, 0].astype(int), lambda i, c: c * 2, x), [SQUARE], r"while\(%"),
        (lambda x: jax.lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, x), [SQUARE], r"conditional\(%"),
        (lambda x: jnp.fft.fft(x), [SQUARE], r"ROOT .* = f32\[4,4,2\]"),
        (lambda x: x + x, [SQUARE.astype(ml_dtypes.float8_e4m3fn)], r"f8e4m3fn\[4,4\]"),
        (lambda x: jax.scipy.special.gammainc(x, x), [SQUARE], r"^ENTRY %main"),
    ],
)
def test_compiled_programs_as_hlo(function, arguments, expected):
    text = jax.jit(function).lower(*map(put, arguments)).compile().as_text()
    assert re.search(expected, text, re.MULTILINE), text


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: jax.lax.psum(x, "i"), r"all-reduce\(%\S*\), channel_id=\d+, replica_groups=\{\{0,1,2,3,4,5,6,7\}\}"),
        (lambda x: jax.lax.pmax(x, "i"), r"maximum\([^)]*\)\n(.*\n)*.*all-reduce\("),
        (lambda x: jax.lax.all_gather(x, "i"), r"all-gather\(.*dimensions=\{0\}"),
        (lambda x: jax.lax.psum_scatter(x, "i", scatter_dimension=1), r"reduce-scatter\(.*dimensions=\{1\}"),
        (lambda x: jax.lax.ppermute(x, "i", [(0, 1), (1, 0)]), r"collective-permute\(.*pairs=\{\{0,1\},\{1,0\}\}"),
        (lambda x: jax.lax.all_to_all(x, "i", 1, 1, tiled=True), r"all-to-all\("),
        (lambda x: x + jax.lax.axis_index("i"), r"u32\[\] (partition|replica)-id\(\)"),
    ],
)
def test_collectives_as_hlo(function, expected):
    kinds = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((8,), ("i",), axis_types=kinds, devices=jax.devices("xhlo")[:8])
    spec = jax.sharding.PartitionSpec("i")
    mapped = jax.jit(jax.shard_map(function, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))
    text = mapped.lower(jax.ShapeDtypeStruct((16, 8), np.float32)).compile().as_text()
    assert re.search(expected, text), text


def test_serialized_executables_run_again():
    from jax.experimental import serialize_executable

    compiled = jax.jit(lambda x: jnp.tanh(x) + 1).lower(put(np.ones(7, np.float32))).compile()
    payload, in_tree, out_tree = serialize_executable.serialize(compiled)
    again = serialize_executable.deserialize_and_load(payload, in_tree, out_tree, execution_devices=[DEVICE])
    np.testing.assert_allclose(np.asarray(again(put(np.zeros(7, np.float32)))), 1.0)


def run(program: str, **environment: str) -> str:
    """The output of a program in a process of its own."""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
        env=os.environ | {"JAX_PLATFORMS": "xhlo"} | environment,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_damaged_executables_are_refused():
    compiled = jax.jit(lambda x: jnp.tanh(x) + 1).lower(put(np.ones(7, np.float32))).compile()
    client, options = DEVICE.client, jaxlib.xla_client.CompileOptions()
    data = client.serialize_executable(compiled.runtime_executable())
    random, refused = np.random.default_rng(0), 0
    for at in random.integers(0, len(data), 200):
        wrong = bytearray(data)
        wrong[at] ^= int(random.integers(1, 256))
        for each in (bytes(wrong), data[:at]):
            try:
                client.deserialize_executable(each, jaxlib._jax.DeviceList((DEVICE,)), options)
            except jax.errors.JaxRuntimeError:
                refused += 1
    assert refused > 390  # some bytes are jaxlib's own, which has no checksum


@pytest.mark.long
def test_the_platform_can_be_reported_as_cpu():
    program = """
import jax, jax.numpy as jnp, numpy as np, xhlo
(device,) = jax.devices()
assert device.platform == jax.default_backend() == "cpu" and repr(device) == "XhloDevice(id=0)"
assert jax.devices("cpu") == jax.devices("xhlo") == [device]
x = jax.device_put(jnp.arange(6.0).reshape(2, 3), jax.local_devices(backend="cpu")[0])
print(jnp.linalg.eigvalsh(x @ x.T).round(2), jax.pure_callback(lambda a: np.asarray(a) * 2, x, x).sum())
jax.jit(lambda x: jax.debug.print("{}", x.sum()))(x)
assert np.from_dlpack(x)[1, 2] == 5 and jnp.from_dlpack(np.ones(3)).devices() == {device}
compiled = jax.jit(lambda x: x + 1, donate_argnums=0).lower(x).compile()
assert compiled.as_text().startswith("HloModule") and xhlo.executable_of(compiled).kernels
compiled(x)
assert x.is_deleted()
"""
    assert run(program, XHLO_PLATFORM_NAME="cpu", XHLO_NUM_DEVICES="1", JAX_NUM_CPU_DEVICES="1").split() == [
        "[",
        "1.",
        "54.]",
        "30.0",
        "15.0",
    ]


@pytest.mark.long(3)
@pytest.mark.parametrize(
    ("name", "platforms", "message"),
    [
        ("cpu", "xhlo,cpu", "needs JAX_PLATFORMS=xhlo, which is xhlo,cpu: there would be two platforms called cpu"),
        ("cpu", "", "needs JAX_PLATFORMS=xhlo, which is not set"),
        ("tpu", "xhlo", "XHLO_PLATFORM_NAME=tpu: the platform can be called xhlo or cpu"),
    ],
)
def test_a_name_that_does_not_fit_is_an_error(name, platforms, message):
    program = "import jax\ntry:\n    jax.devices()\nexcept RuntimeError as error:\n    print(error)"
    assert message in run(program, XHLO_PLATFORM_NAME=name, JAX_PLATFORMS=platforms)


@pytest.mark.long(2)
def test_subnormal_numbers_count_as_zeros_unless_they_are_kept():
    program = """
import jax, jax.numpy as jnp, numpy as np
seen = []
def double(x):
    seen.append(float(np.asarray(x) * np.float32(0.25)))
    return np.asarray(x)
least = np.finfo(np.float32).tiny
jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(double, x, x))(least))
x = np.full(1 << 20, least)
quarters = jax.jit(lambda x: x * 0.25)(x), jax.jit(lambda x: jnp.exp(x * 0 - 90))(x)
print([bool(np.all(np.asarray(each) == 0)) for each in quarters], seen[0] == 0, least * np.float32(0.25) > 0)
"""
    assert run(program).strip() == "[True, True] True True"
    assert run(program, XHLO_SUBNORMALS="keep").strip() == "[False, False] False True"
    wrong = "import jax\ntry:\n    jax.devices()\nexcept RuntimeError as error:\n    print(error)"
    assert "XHLO_SUBNORMALS=none: subnormal numbers are flush or keep" in run(wrong, XHLO_SUBNORMALS="none")


@pytest.mark.long
def test_the_interpreter_ends_with_buffers_alive_and_work_going_on():
    run("""
import threading, jax, numpy as np
f = jax.jit(lambda x: (x @ x).sum())
x = jax.device_put(np.ones((300, 300), np.float32))
f(x)
def work():
    while True:
        f(x)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
kept = [f(x) for _ in range(10)]
""")


def test_nothing_is_loaded_where_other_platforms_are_named():
    modules = run("import jax, sys; jax.devices(); print(*sys.modules)", JAX_PLATFORMS="cpu").split()
    assert "xhlo.frontends.jax.plugin" not in modules and "llvmlite" not in modules


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"invalid_key": 1}, "No such compile option: 'invalid_key'"),
        ({"xla_dump_too": "x"}, "did you mean 'xla_dump_to'"),
        ({"xla_embed_ir_in_executable": "invalid_value"}, "xla_embed_ir_in_executable, 'invalid_value' is not a valid"),
        ({"xla_dump_max_hlo_modules": 1.5}, "its type is int32"),
        ({"xla_dump_max_hlo_modules": 1 << 40}, "its type is int32"),
        ({"xla_gpu_shape_checks": "SOMETIMES"}, "there are IGNORE, RUNTIME, COMPILE_TIME"),
        ({"xla_dump_to": True}, "its type is string"),
    ],
)
def test_invalid_compile_options_are_refused(options, message):
    lowered = jax.jit(lambda x: x + 1).lower(put(np.ones(3)))
    with pytest.raises(jax.errors.JaxRuntimeError, match=message):
        lowered.compile(compiler_options=options)


def test_compile_options(tmp_path):
    options = {
        "xla_embed_ir_in_executable": True,
        "xla_dump_max_hlo_modules": -1,
        "xla_gpu_auto_spmd_partitioning_memory_budget_ratio": 0.5,
        "xla_backend_optimization_level": "1",
        "xla_gpu_shape_checks": "RUNTIME",
        "xla_dump_to": str(tmp_path),
        "xla_dump_hlo_pass_re": "cse",
    }
    assert jax.jit(lambda x: x + 1, compiler_options=options)(put(np.ones(3)))[0] == 2
    names = {path.name.split(".", 2)[2] for path in tmp_path.iterdir()}
    assert {"input.mlir", "fused.mlir"} <= names and any("cse" in name for name in names)


def test_dumps(tmp_path):
    run(
        "import jax, numpy as np; jax.jit(lambda x: x * 2 + 1)(np.ones(4, np.float32))",
        XHLO_DUMP_TO=str(tmp_path), XHLO_DUMP_PASS_RE="cse|fuse",
    )  # fmt: skip
    names = sorted(path.name.split(".", 1)[1] for path in tmp_path.iterdir())
    for stage in ("hlo.mlir", "fused.mlir", "linalg.mlir", "loops.mlir", "llvm.ll", "asm.s", "input.mlir"):
        assert any(name.endswith(stage) for name in names), names
    assert any("after_" in name and "fuse-hlo" in name for name in names), names


INTERRUPTED = """
import os, signal, threading
# A shell's background job ignores SIGINT, and its children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
import jax
from jax import lax
from xhlo.frontends.jax import entries, plugin
from xhlo.frontends.jax.native_calls import loaded

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

endless = jax.jit(lambda x: lax.while_loop(lambda i: i >= 0, lambda i: i * 0 + 1, x)).lower(1).compile()
try:
    threading.Timer(0.05, interrupt).start()
    endless(1).block_until_ready()
except KeyboardInterrupt:
    print("run")

compile_program = entries.ENTRIES["Client_Compile"]
def interrupted(arguments):
    interrupt()
    compile_program(arguments)
entries.ENTRIES["Client_Compile"] = interrupted
lowered = jax.jit(lambda x: x + 2).lower(1)
for compile_again in (lowered.compile, lambda: jax.jit(lambda x: x + 3)(1)):
    try:
        compile_again()
    except KeyboardInterrupt:
        print("compile")
entries.ENTRIES["Client_Compile"] = compile_program

first = True
def early(number, address):
    global first
    if first:
        first = False
        raise KeyboardInterrupt  # as a signal handler does while the function begins
    return entries.dispatch(number, address)
loaded().variable("dispatcher").value = id(early)
try:
    jax.jit(lambda x: x + 4)(1)
except KeyboardInterrupt:
    print("begin")
def no_stack(number, address):
    if entries.FUNCTIONS[number] == "Client_Compile":
        raise RecursionError
    return entries.dispatch(number, address)
loaded().variable("dispatcher").value = id(no_stack)
try:
    compile_again = lowered.compile()
except jax.errors.JaxRuntimeError as error:
    print(str(error).split(":")[0])
loaded().variable("dispatcher").value = id(entries.dispatch)
print(jax.jit(lambda x: x + 5)(1))
"""


def test_interrupts_reach_the_program():
    assert run(INTERRUPTED).split() == ["run", "compile", "compile", "begin", "RESOURCE_EXHAUSTED", "6"]
