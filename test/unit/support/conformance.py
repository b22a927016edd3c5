"""The conformance programs beside the repository, and the comparison of results that their README specifies."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from checkout import SHARED

ROOT = SHARED / "conformance"
SKIP = f"the conformance programs are not there: {ROOT}"

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


def tensorflow_program(name: str) -> tuple[list[np.ndarray], list[np.ndarray], float | None]:
    """The inputs, the outputs and the tolerance of a program in tf_hlo/."""
    folder = ROOT / "tf_hlo"
    entry = json.loads((folder / "manifest.json").read_text())[name]
    with np.load(folder / f"{name}.npz") as stored:
        inputs, outputs = (
            [_array(stored[f"{kind}_{i}"], spec) for i, spec in enumerate(entry[f"{kind}puts"])]
            for kind in ("in", "out")
        )
    return inputs, outputs, entry["rtol"]


def difference(actual: np.ndarray, expected: np.ndarray, rtol: float | None, signed_zeros: bool) -> str | None:
    """The difference of `actual` from the expected array, or None."""
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
    """The differences of a program's outputs from XLA's, by output; empty if all agree."""
    pairs = enumerate(zip(results, program.outputs, strict=True))
    found = {i: difference(actual, expected, program.rtol, program.signed_zeros) for i, (actual, expected) in pairs}
    return {i: message for i, message in found.items() if message}


def jax_programs() -> tuple[str, ...]:
    """The names of the programs in jax/; none if the folder is absent."""
    return tuple(_manifest()) if ROOT.is_dir() else ()


@dataclass(frozen=True)
class StablehloProgram:
    """A file of stablehlo/: it checks itself, unless it has unknown dimensions."""

    name: str
    static: bool


@cache
def _stablehlo_texts() -> dict[str, str]:
    """The programs of stablehlo/ by name; a file of several has a number for each. Their entry is called @main."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "stablehlo").glob("*.mlir")):
        parts = path.read_text().split("// -----")
        for index, part in enumerate(parts):
            text = part if "@main" in part else re.sub(r"(func\.func (?:public )?)@\w+", r"\1@main", part, count=1)
            found[path.stem if len(parts) == 1 else f"{path.stem}.{index}"] = text
    return found


@cache
def stablehlo_programs() -> tuple[StablehloProgram, ...]:
    """All programs of stablehlo/; none if the folder is absent."""
    return tuple(StablehloProgram(name, "?" not in text) for name, text in _stablehlo_texts().items())


def stablehlo_text(name: str) -> str:
    return _stablehlo_texts()[name]
