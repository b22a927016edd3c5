"""
Matrix products by class beside OpenBLAS (NumPy) and oneDNN and MKL (torch): `python benchmarks/product_classes.py`.

The three alternate in one process with `--threads` threads each; the time is the least processor time of a call, which
other work on the machine disturbs little, or with several threads the least wall time. Every result is compared with
NumPy's in float64. `--only 4096x4096,bf16` measures the classes whose names contain one of these words.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

SQUARE = [(n, n, n) for n in (256, 512, 1024, 2048)]
FEW_ROWS = [(m, n, n) for n in (1024, 4096) for m in (1, 2, 3, 4, 8, 16, 32, 64)]
TALL_AND_WIDE = [
    (16384, 64, 64),
    (64, 64, 16384),
    (64, 16384, 64),
    (1024, 1024, 32),
    (1024, 1024, 128),
    (1024, 4, 1024),
]
FEW_COLUMNS = [(4096, 4096, 1), (4096, 4096, 4), (1024, 1024, 8)]
BATCHES = [(1000, 8, 8, 8), (1000, 16, 16, 16), (128, 32, 32, 32), (64, 64, 64, 64), (32, 1, 64, 512)]

Case = tuple[str, tuple[int, ...], str, str]
"""Its name, [batch,] m, k, n, the types of both factors, and whether B is stored transposed ("tb") or not ("")."""


def cases() -> Iterator[Case]:
    for sizes in (*SQUARE, *FEW_ROWS, *TALL_AND_WIDE, *FEW_COLUMNS, *BATCHES):
        yield "x".join(map(str, sizes)), sizes, "f32", ""
    for sizes in FEW_ROWS:
        yield "x".join(map(str, sizes)) + " tb", sizes, "f32", "tb"
    for types in ("f64", "bf16", "f16", "i8", "f32,bf16", "f32,i8"):
        for sizes in ((1, 2048, 2048), (8, 2048, 2048), (128, 2048, 2048), (1024, 1024, 1024)):
            yield f"{'x'.join(map(str, sizes))} {types}", sizes, types, ""


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="classes whose names contain one of these words, between commas")
    parser.add_argument("--threads", type=int, default=1, help="threads of each side")
    parser.add_argument("--repeat", type=int, default=25, help="blocks of each side")
    return parser.parse_args()


def time_of(run: Callable[[], Any], calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(calls):
        run()
    return (clock() - start) / calls


def sides(sizes: tuple[int, ...], types: str, layout: str) -> dict[str, Callable[[], Any]]:
    """The functions that run the case, by side; sides that lack it are left out."""
    import jax
    import jax.numpy as jnp
    import ml_dtypes
    import numpy as np
    import torch

    import xhlo

    dtypes = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8}
    first, second = (types.split(",") * 2)[:2]
    *batch, m, k, n = sizes
    rng = np.random.default_rng(0)

    def drawn(shape: tuple[int, ...], type_: str) -> Any:
        if type_ == "i8":
            return rng.integers(-128, 128, shape, dtype=np.int8)
        return rng.standard_normal(shape).astype(dtypes[type_])

    transposed = layout == "tb"
    a, b = drawn((*batch, m, k), first), drawn((*batch, *((n, k) if transposed else (k, n))), second)

    def product(x: Any, y: Any) -> Any:
        y = y.swapaxes(-1, -2) if transposed else y.astype(x.dtype) if first != second else y
        return jnp.matmul(x, y, preferred_element_type=jnp.int32) if first == "i8" else x @ y

    def tensor(x: Any) -> Any:
        if x.dtype == ml_dtypes.bfloat16:
            return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(x)

    with jax.enable_x64("f64" in types):
        executable = xhlo.compile(jax.jit(product).lower(a, b))
    wanted = a.astype(np.float64) @ (b.swapaxes(-1, -2) if transposed else b).astype(np.float64)
    error = np.abs(np.asarray(executable(a, b)).astype(np.float64) - wanted).max()
    assert error <= (2e-2 if "16" in types.split(",")[0] else 1e-4) * np.abs(wanted).max(), error
    runs: dict[str, Callable[[], Any]] = {"xhlo": lambda: executable(a, b)}
    if types in ("f32", "f64"):
        runs["OpenBLAS"] = lambda: a @ (b.swapaxes(-1, -2) if transposed else b)
    ta, tb = tensor(a), tensor(b)
    if first == "i8":
        if m > 16:  # torch's condition
            runs["torch"] = lambda: torch._int_mm(ta, tb)
    elif first != second:
        runs["torch"] = lambda: ta @ tb.to(ta.dtype)
    else:
        runs["torch"] = lambda: ta @ (tb.transpose(-1, -2) if transposed else tb)
    return runs


def main() -> None:
    options = parsed()
    variables = ("XHLO_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    os.environ.update(dict.fromkeys(variables, str(options.threads)), XHLO_CACHE_SIZE="0", JAX_PLATFORMS="cpu")
    import torch

    torch.set_num_threads(options.threads)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    print("| class | xhlo ms | OpenBLAS | torch | x best |\n| --- | ---: | ---: | ---: | ---: |")
    for name, *case in cases():
        if not any(word in name for word in options.only.split(",")):
            continue
        runs = sides(*case)
        calls = {side: max(1, int(0.003 / max(1e-7, time_of(run, 2, clock)))) for side, run in runs.items()}
        times: dict[str, list[float]] = {side: [] for side in runs}
        for _ in range(options.repeat):
            for side, run in runs.items():
                times[side].append(time_of(run, calls[side], clock))
        found = {side: min(each) for side, each in times.items()}
        cells = [f"{found[side] * 1e3:.4g}" if side in found else "-" for side in ("xhlo", "OpenBLAS", "torch")]
        best = min((t for side, t in found.items() if side != "xhlo"), default=float("nan"))
        print(f"| {name} | {' | '.join(cells)} | {found['xhlo'] / best:.2f} |", flush=True)


if __name__ == "__main__":
    main()
