"""
The largest errors of the elementary and special functions, in units in the last place (ulp) of the exact result.

    python benchmarks/accuracy.py                       # on the CPU: all f16 and bf16 values, 2**24 of f32
    python benchmarks/accuracy.py --target=simt         # the GPU's formulas, interpreted: 2**16 of f32
    python benchmarks/accuracy.py sine chlo.erf --count=65536

Exact results are NumPy's and SciPy's in f64, whose own errors are below a millionth of an f32's ulp. `BOUNDS` are what
docs/numbers.md states; a measurement above them ends with exit status 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

import ml_dtypes
import numpy as np
import scipy.special as special

import xhlo

DTYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
}
Function = Callable[..., Any]

FUNCTIONS: dict[str, Function] = {
    "exponential": np.exp,
    "exponential_minus_one": np.expm1,
    "log": np.log,
    "log_plus_one": np.log1p,
    "logistic": special.expit,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "sine": np.sin,
    "cosine": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "chlo.sinh": np.sinh,
    "chlo.cosh": np.cosh,
    "chlo.asin": np.arcsin,
    "chlo.acos": np.arccos,
    "chlo.atan": np.arctan,
    "chlo.asinh": np.arcsinh,
    "chlo.acosh": np.arccosh,
    "chlo.atanh": np.arctanh,
    "chlo.erf": special.erf,
    "chlo.erfc": special.erfc,
    "chlo.erf_inv": special.erfinv,
    "chlo.lgamma": lambda x: np.where(np.isinf(x), np.inf, special.gammaln(x)),
    "chlo.digamma": lambda x: np.where(x == 0, np.nan, special.digamma(x)),
    "chlo.bessel_i1e": special.i1e,
    "atan2": np.arctan2,
    "power": np.power,
}
"""The operations (of hlo unless they name another dialect) and their exact values for f64."""

BOUNDS = {
    "exponential": 1.1, "exponential_minus_one": 2.0, "log": 1.0, "log_plus_one": 1.0, "logistic": 2.5,
    "sqrt": 0.5, "rsqrt": 1.5, "cbrt": 0.6, "sine": 0.6, "cosine": 0.6, "tan": 1.3, "tanh": 2.5,
    "chlo.sinh": 2.1, "chlo.cosh": 2.1, "chlo.asin": 2.0, "chlo.acos": 1.5, "chlo.atan": 1.1,
    "chlo.asinh": 1.8, "chlo.acosh": 2.5, "chlo.atanh": 2.0, "chlo.erf": 1.5, "chlo.erfc": 2.0, "chlo.erf_inv": 0.6,
    "chlo.lgamma": 1.0, "chlo.digamma": 3.0, "chlo.bessel_i1e": 0.6, "atan2": 0.6, "power": 0.6,
}  # fmt: skip
"""For f32; 16-bit floats are computed in f32 or f64 and rounded once: `SHORT_BOUND`."""

SHORT_BOUND = 0.51

FLOORS = {"chlo.digamma": 2.0**-10, "chlo.lgamma": 2.0**-12}
"""Functions whose error next to their zeros is measured in ulps of this number instead of the result's."""

ZEROS = {
    "chlo.digamma": (1.46163214497, -0.504083008264, -1.57349847316, -2.61072086844, -3.63529336644),
    "chlo.lgamma": (1.0, 2.0, -2.45702473822, -2.74768264673, -3.14358088835, -3.95529428486, -4.03936183974),
}
"""Some zeros of functions that cancel there; equal distances miss the numbers of f32 next to these."""

BINARY = {"atan2", "power"}


def bound_of(op: str, type_: str) -> float:
    """The stated bound in ulps."""
    return BOUNDS[op] if type_ == "f32" else SHORT_BOUND


def values(type_: str, count: int) -> np.ndarray:
    """All values of a 16-bit type; of f32 `count` bit patterns at equal distances, so of all exponents and signs."""
    if type_ != "f32":
        return np.arange(1 << 16, dtype=np.uint16).view(DTYPES[type_])
    step = (1 << 32) // count
    return (np.arange(count, dtype=np.uint64) * step + step // 3).astype(np.uint32).view(np.float32)


def operands(op: str, type_: str, count: int) -> list[np.ndarray]:
    """
    The values, with those next to zeros; a second operand is a permutation of them, an exponent one that keeps the
    power in range too.
    """
    x = values(type_, count)
    if type_ == "f32":
        bits = np.array(ZEROS.get(op, ()), np.float32).view(np.uint32)
        x = np.concatenate(
            [x, (bits[:, None] + np.arange(-8, 9, dtype=np.int32)).astype(np.uint32).view(x.dtype).ravel()]
        )
    if op not in BINARY:
        return [x]
    y = np.random.default_rng(0).permutation(x)
    if op == "power":
        with np.errstate(all="ignore"):
            size = np.abs(np.log2(np.abs(x.astype(np.float64))))
            near = (y.astype(np.float64) % 149 / np.where(size > 0, size, 1)).astype(x.dtype)
        y = np.where(np.arange(x.size) % 4 == 0, y, near)
    return [x, y]


def exact(op: str, inputs: Iterable[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        return FUNCTIONS[op](*(x.astype(np.float64) for x in inputs))


def program(op: str, type_: str, count: int) -> str:
    tensor = f"tensor<{count}x{type_}>"
    names = ["%x", "%y"][: 2 if op in BINARY else 1]
    given = ", ".join(f"{name}: {tensor}" for name in names)
    types = ", ".join([tensor] * len(names))
    name = op if "." in op else f"hlo.{op}"
    return (
        f"func.func @main({given}) -> {tensor} {{\n"
        f'  %0 = "{name}"({", ".join(names)}) : ({types}) -> {tensor}\n  return %0 : {tensor}\n}}'
    )


def errors(got: np.ndarray, want: np.ndarray, floor: float = 0.0) -> np.ndarray:
    """
    The distance of each result from the exact f64 value in ulps of that value, or of `floor` if larger.

    It is infinite where one is NaN and the other not, and where a value beyond the largest is not infinite.
    """
    info = ml_dtypes.finfo(got.dtype)
    result = got.astype(np.float64)
    _, exponent = np.frexp(np.maximum(np.abs(want), floor))
    spacing = np.ldexp(1.0, np.maximum(exponent - 1, int(info.minexp)) - int(info.nmant))
    largest, step = float(info.max), float(info.max) * float(info.eps) / (2 - float(info.eps))
    with np.errstate(all="ignore"):
        clipped = np.where(np.isinf(result), np.copysign(largest + step, result), result)
        distance = np.abs(clipped - want) / spacing
    beyond = np.abs(want) >= largest + step
    distance = np.where(beyond, np.where(np.isinf(result) & (result * want > 0), 0.0, np.inf), distance)
    return np.where(np.isnan(result) | np.isnan(want), np.where(np.isnan(result) & np.isnan(want), 0, np.inf), distance)


def measure(op: str, type_: str, run: Callable[[str, list[np.ndarray]], np.ndarray], count: int) -> tuple[float, str]:
    """The largest error of an operation, and where."""
    inputs = operands(op, type_, count)
    with np.errstate(all="ignore"):
        found = errors(run(program(op, type_, inputs[0].size), inputs), exact(op, inputs), FLOORS.get(op, 0.0))
    worst = int(np.argmax(found))
    return float(found[worst]), ", ".join(repr(x[worst].item()) for x in inputs)


def run_compiled(target: str) -> Callable[[str, list[np.ndarray]], np.ndarray]:
    def run(text: str, inputs: list[np.ndarray]) -> np.ndarray:
        return xhlo.compile(text, target=target)(*inputs)

    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ops", nargs="*", metavar="op", help="operations (default: all)")
    parser.add_argument("--target", choices=("cpu", "simt", "gpu"), default="cpu")
    parser.add_argument("--count", type=int, help="how many values of f32 (2**24; 2**16 on simt)")
    arguments = parser.parse_args()
    count = arguments.count or (1 << 16 if arguments.target == "simt" else 1 << 24)
    run, failed = run_compiled(arguments.target), False
    print("| operation | bound | " + " | ".join(DTYPES) + " |\n|" + " --- |" * (2 + len(DTYPES)))
    for op in arguments.ops or FUNCTIONS:
        measured = [measure(op, type_, run, count) for type_ in DTYPES]
        bound = BOUNDS[op]
        failed |= any(error > bound_of(op, type_) for (error, _), type_ in zip(measured, DTYPES, strict=True))
        print(
            f"| `{op}` | {bound:g} | " + " | ".join(f"{error:.3f} ({place})" for error, place in measured) + " |",
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
