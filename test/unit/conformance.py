"""The conformance programs beside the repository, and how their results are compared (its README says the same)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parents[3] / "shared" / "conformance"
SKIP = f"the conformance programs are not there: {ROOT}"

# The programs of JAX that this version must run; the rest use operations that it refuses.
JAX_PROGRAMS = (
    "model_mlp model_lstm model_transformer_block logistic_regression_newton k_means page_rank hmm_viterbi mandelbrot "
    "nn_activations reduce_sums reduce_logsumexp reduce_variadic reduce_extrema ew_arith ew_exp_log ew_bf16 "
    "ew_int_division_edges dot_general_dims cf_cond_switch shape_reshape_transpose"
).split()

LISTED_OPS = frozenset(
    """abs add and atan2 bitcast_convert broadcast_in_dim case cbrt ceil clamp compare complex concatenate constant
    convert cosine count_leading_zeros custom_call divide dot_general dynamic_slice dynamic_update_slice exponential
    exponential_minus_one floor get_tuple_element if imag iota is_finite log log_plus_one logistic maximum minimum
    multiply negate not optimization_barrier or pad popcnt power real reduce reduce_precision remainder reshape return
    reverse round_nearest_afz round_nearest_even rsqrt select shift_left shift_right_arithmetic shift_right_logical
    sign sine slice sqrt subtract tan tanh transpose tuple while xor""".split()
)
LISTED_TYPES = frozenset("i1 i8 i16 i32 i64 ui8 ui16 ui32 ui64 bf16 f16 f32 f64".split())
LISTED_CHLO = frozenset(("square", "erf", "erfc"))

RTOL = {"float32": 1e-4, "complex64": 1e-4, "float64": 1e-9, "bfloat16": 3e-2, "float16": 4e-3}


@dataclass(frozen=True)
class JaxProgram:
    """A program that JAX exported, with the inputs and outputs of XLA:CPU."""

    name: str
    text: str
    inputs: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]
    rtol: float | None
    signed_zeros: bool


@cache
def _manifest() -> dict[str, Any]:
    return json.loads((ROOT / "jax" / "manifest.json").read_text())


def _array(stored: np.ndarray, spec: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(ml_dtypes.bfloat16 if spec["dtype"] == "bfloat16" else spec["dtype"])
    if stored.dtype != dtype:
        stored = np.frombuffer(stored.tobytes(), dtype)
    return stored.reshape(spec["shape"])


def jax_program(name: str) -> JaxProgram:
    entry = _manifest()[name]
    with np.load(ROOT / "jax" / f"{name}.npz") as stored:
        inputs = tuple(_array(stored[f"in_{i}"], spec) for i, spec in enumerate(entry["inputs"]))
        outputs = tuple(_array(stored[f"out_{i}"], spec) for i, spec in enumerate(entry["outputs"]))
    text = (ROOT / "jax" / f"{name}.mlir").read_text()
    return JaxProgram(name, text, inputs, outputs, entry["rtol"], entry["group"] == "edge cases")


def difference(actual: np.ndarray, expected: np.ndarray, rtol: float | None, signed_zeros: bool) -> str | None:
    """What is wrong with `actual`, or None."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"got {actual.dtype}{actual.shape}, expected {expected.dtype}{expected.shape}"
    if expected.dtype.kind in "iub":
        return None if np.array_equal(actual, expected) else f"{np.sum(actual != expected)} elements differ"
    rtol = RTOL[expected.dtype.name] if rtol is None else rtol
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    got, want = actual.astype(wide), expected.astype(wide)
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True) or not np.isfinite(got[finite]).all():
        return "NaN or infinity in different places"
    if signed_zeros and not np.array_equal(np.signbit(got.real[got == 0]), np.signbit(want.real[got == 0])):
        return "zeros of different sign"
    size = np.abs(want[finite])
    scale = np.maximum(size, np.sqrt(np.mean(size**2)) if size.size else 0)
    error = np.abs(got[finite] - want[finite])
    worst = np.max(error / np.where(scale == 0, 1, scale), initial=0)
    return None if worst <= rtol else f"relative error {worst:.2e}, allowed {rtol:.0e}"


def wrong_outputs(program: JaxProgram, results: Sequence[np.ndarray]) -> dict[int, str]:
    """By output, what is wrong with the results of a program; there are as many as XLA gave."""
    pairs = enumerate(zip(results, program.outputs, strict=True))
    found = {i: difference(actual, expected, program.rtol, program.signed_zeros) for i, (actual, expected) in pairs}
    return {i: message for i, message in found.items() if message}


def _has_only(text: str, pattern: str, allowed: frozenset[str]) -> bool:
    return set(re.findall(pattern, text)) <= allowed


@cache
def stablehlo_programs() -> tuple[tuple[str, bool, bool], ...]:
    """Each file of stablehlo/: its name, whether all its operations and types are supported, whether it can be run."""
    if not ROOT.is_dir():
        return ()
    found: list[tuple[str, bool, bool]] = []
    for path in sorted((ROOT / "stablehlo").glob("*.mlir")):
        text = path.read_text()
        supported = (
            _has_only(text, r"\bstablehlo\.([a-z_0-9]+)\b", LISTED_OPS)
            and _has_only(text, r"\bchlo\.([a-z_0-9]+)\b", LISTED_CHLO)
            and _has_only(text, r"tensor<(?:[0-9?]+x)*([a-z!][\w<>!.:,-]*?)>", LISTED_TYPES)
        )
        found.append((path.stem, supported, "tensor<?" not in text and "x?" not in text))
    return tuple(found)


def stablehlo_text(name: str) -> str:
    return (ROOT / "stablehlo" / f"{name}.mlir").read_text()
