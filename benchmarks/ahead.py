"""
Programs compiled ahead of time: start-up and size of a convnet, and speed beside ONNX Runtime and the JIT.

    python benchmarks/ahead.py start                a convnet for MNIST: time to its first result, size of its object
    python benchmarks/ahead.py speed                four models on one thread, beside ONNX Runtime on one
    python benchmarks/ahead.py tflite               the same beside TensorFlow Lite
    python benchmarks/ahead.py threads              the same with OpenMP, beside the JIT

Needs gcc, and the packages of the extra `bench`; TensorFlow for its models. Weights are part of the models in all
systems. Blocks of calls alternate; times are minima. A program starts as a process that runs and ends; the time of one
that does nothing is taken off.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Arrays = Sequence[np.ndarray]

MODELS = ("mlp", "residual_block", "attention", "transformer_block")

PEERS = {"speed": "ONNX Runtime", "tflite": "TensorFlow Lite", "threads": "JIT"}

OPENMP = """
#include "model.h"
void use_openmp(void) { model_set_parallel_for(model_openmp, NULL); }
"""

START = """
#include <stdio.h>
#include "model.h"
WEIGHTS_HEADER
static float image[MODEL_ARG0_ELEMENTS], scores[MODEL_RESULT0_ELEMENTS];
static _Alignas(64) unsigned char arena[MODEL_ARENA_BYTES];
int main(int argc, char **argv)
{
    model_args args = {image};
    model_results results = {scores};
    if (argc > 1) return 0;
    MAP_WEIGHTS
    if (model_run(&args, &results, arena) != MODEL_OK) return 1;
    return scores[0] != scores[0];
}
"""


def built(folder: Path, library: Any, *sources: str) -> Any:
    """The library, with C sources beside it, loaded into this process."""
    library.write(folder)
    command = ["gcc", "-O2", "-fopenmp", "-shared", "-fPIC", *sources, "model.o", "-lm", "-o", "model.so"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "model.so"))


def caller(loaded: Any, library: Any, arguments: Arrays, results: Arrays) -> Callable[[], Any]:
    """A call of a loaded library on arrays."""
    arena = np.zeros(library.interface.arena_bytes + 64, np.uint8)
    start = arena.__array_interface__["data"][0]
    pointers = [
        (ctypes.c_void_p * len(arrays))(*(array.__array_interface__["data"][0] for array in arrays))
        for arrays in (arguments, results)
    ]
    function = loaded.model_run
    function.argtypes = [ctypes.c_void_p] * 3
    given = (*map(ctypes.addressof, pointers), start + -start % 64)

    def call(held: Any = (arena, pointers, arguments, results)) -> None:
        if function(*given):
            raise RuntimeError("model_run refuses to run")

    return call


def minima(calls: dict[str, Callable[[], Any]], blocks: int = 12, seconds: float = 0.3) -> dict[str, float]:
    """The least seconds of a call of each, in blocks that alternate."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(blocks):
        for name, call in calls.items():
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                start = time.perf_counter()
                call()
                least[name] = min(least[name], time.perf_counter() - start)
    return least


def speed(peer: str) -> None:
    import jax

    import xhlo
    from peers import functions
    from peers.rows import BY_NAME, WEIGHTS

    threads = peer == "threads"
    print(f"{'model':20}{'ahead':>10}{PEERS[peer]:>17}{'ratio':>8}   milliseconds")
    for name in MODELS:
        row = BY_NAME[name]
        everything = [np.ascontiguousarray(array) for array in row.arguments()]
        first = WEIGHTS.get(name, len(everything))
        arguments, weights = everything[:first], everything[first:]
        program = jax.jit(with_weights(getattr(functions, name), weights)).lower(*arguments)
        library = xhlo.compile_ahead(program, cpu="host", threads="callback" if threads else "none")
        executable = xhlo.compile(program)
        expected: Any = executable(*arguments)
        results = [np.zeros_like(array) for array in (expected if isinstance(expected, tuple) else (expected,))]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "threads.c").write_text(OPENMP)
            loaded = built(Path(folder), library, *(["threads.c"] if threads else []))
            if threads:
                loaded.use_openmp()
            calls = {"ahead": caller(loaded, library, arguments, results)}
            if threads:
                calls["peer"] = lambda executable=executable, arguments=arguments: executable(*arguments)
            elif peer == "tflite":
                from peers.on_tflite import call_of

                calls["peer"] = call_of(row, arguments, weights)
            else:
                calls["peer"] = onnx_call(row, everything)
            calls["ahead"]()
            least = minima(calls)
        one = expected[0] if isinstance(expected, tuple) else expected
        same = results[0].tobytes() == np.asarray(one).tobytes()
        ratio = least["peer"] / least["ahead"]
        bits = "" if same else "   OTHER BITS THAN THE JIT"
        print(f"{name:20}{1e3 * least['ahead']:10.3f}{1e3 * least['peer']:17.3f}{ratio:8.2f}{bits}")


def with_weights(function: Callable[..., Any], weights: Arrays) -> Callable[..., Any]:
    """A model whose last arguments are constants."""
    return lambda *arguments: function(*arguments, *weights)


def onnx_call(row: Any, arguments: Sequence[np.ndarray]) -> Callable[[], Any]:
    """ONNX Runtime on one thread."""
    import onnxruntime

    from peers.on_onnxruntime import converted, model_of

    model, fed = model_of(row, converted(row, tuple(arguments)))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, fed)


def start() -> None:
    import jax

    import xhlo

    generator = np.random.default_rng(0)
    sizes = [(3, 3, 1, 32), (3, 3, 32, 64), (3136, 128), (128, 10)]
    weights = [generator.standard_normal(size, np.float32) * 0.05 for size in sizes]

    def scores(image: Any) -> Any:
        x = image[None, :, :, None]
        for kernel in weights[:2]:
            x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.lax.reduce_window(jax.nn.relu(x), -np.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jax.nn.log_softmax(jax.nn.relu(x.reshape(1, -1) @ weights[2]) @ weights[3])

    program = jax.jit(scores).lower(np.zeros((28, 28), np.float32))
    for file in (None, "model.weights"):
        library = xhlo.compile_ahead(program, weights=file)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            library.write(folder)
            text = START.replace("WEIGHTS_HEADER", '#include "model_weights.h"' if file else "")
            text = text.replace(
                "MAP_WEIGHTS",
                'if (model_map_weights("PATH")) return 2;'.replace("PATH", str(folder / "model.weights"))
                if file
                else "",
            )
            (folder / "start.c").write_text(text)
            subprocess.run(
                ["gcc", "-O2", "-std=c11", "start.c", "model.o", "-lm", "-o", "start"], cwd=folder, check=True
            )
            calls = {"run": partial(started, folder), "nothing": partial(started, folder, "nothing")}
            times = minima(calls, 6, 0.5)
        taken, empty = 1e3 * (times["run"] - times["nothing"]), 1e3 * times["nothing"]
        print(f"constants in {file or 'the object'}: the first result after {taken:.2f} ms, beside {empty:.2f} for a")
        print(f"    program that does nothing; the object has {len(library.object):,} bytes")


def started(folder: Path, *arguments: str) -> None:
    """Run the program to its end."""
    pid = os.posix_spawn(str(folder / "start"), ["start", *arguments], {}, file_actions=())
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError(f"the program ends with {status}")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    what = sys.argv[1:]
    if what == ["start"]:
        start()
    elif len(what) == 1 and what[0] in PEERS:
        # libgomp's threads watch about as long as the JIT's, 50 us, before they sleep: later the other system works.
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
        speed(what[0])
    else:
        sys.exit(str(__doc__))
