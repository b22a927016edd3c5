"""
Run the checks of `make test`, all of them even if some fail, and sum up.

    python test/run_checks.py              those of `make test`: all but pyright
    python test/run_checks.py lit pytest   these
    python test/run_checks.py quick        those of `make test-quick`
    python test/run_checks.py rest         those of `make test-rest`: pyright, and the cases of long tests that are left out
    python test/run_checks.py all          those of `make test-all`: all checks, with all cases of each test
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from threading import Thread
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
JOBS = "2"
PYTEST = [sys.executable, "-m", "pytest", "-n", JOBS, "--dist", "worksteal", "-q"]
SOME, REST, ALL_CASES = "--long=some", "--long=rest", "--all-cases"
"""
Options of test/conftest.py: a part of the cases of tests marked `long`, the others of these, and all, also those that
tests marked `sample` leave out.
"""

QUICK_UNITS = """
    constraints convert_hlo_to_linalg cuda_driver custom_calls docs_ops executable expressions extension fuse_linalg fusion
    gpu_compile gpu_plans hlo_opt hlo_opt_diagnostics hlo_run index_ranges interpreter layers llvm_ir loops_builder
    pjrt_layout printing registry regressions rules scalar_operations serialization simplify sort split_complex
    tool_server verification views window
    """.split()
"""The files test_*.py below test/unit that `quick` runs: at least one for each part, those that compile little."""


CHECKS = {
    "pyright": [str(BIN / "pyright")],
    "ruff": [str(BIN / "ruff"), "check", "--quiet", "."],
    "format": [str(BIN / "ruff"), "format", "--check", "--quiet", "."],
    "imports": [str(BIN / "lint-imports")],
    "lit": [str(BIN / "lit"), "-j", JOBS, "-sv", "test/lit"],
    "pytest": PYTEST,
    # JAX on xhlo and on XLA's cpu; in processes of their own: for the other tests JAX has no platform but cpu. In one
    # process, which traces and compiles JAX's own functions once; the processors are busy with the other tests.
    "jax": [*PYTEST, "-n", "1", "test/jax"],
    # A sample of `make torch-test`, where PyTorch is installed.
    "torch": [*PYTEST, "test/torch"],
}
"""The commands by name, in order; as far as they can, they print only failures."""

BESIDE = {"pyright": "", "jax": "pytest"}
"""
Checks that run while another one does, and that one; "" is the first of all. pyright takes one processor; of the tests
some wait for other processes, and the last of a check leave a processor idle.
"""

LATER = {"pyright"}
"""Checks that `make test` leaves to `make test-rest`: pyright takes a minute and a half of two processors."""

OF_SOURCES = {"pyright", "ruff", "format", "imports"}
"""The checks that run nothing of xhlo."""

QUICK = ["ruff", "format", "imports", "lit", "units"]


def environment() -> dict[str, str]:
    """The variables of all checks."""
    # import-linter finds the package through the working directory.
    found = {**os.environ, "PYTHONPATH": str(ROOT)}
    # The workers take all processors; more threads of NumPy's products would only wait for each other in loops.
    found.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Hundreds of processes import xhlo; without byte code each would compile its files, and each worker the tests.
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


@dataclass
class Run:
    """A check that was started."""

    name: str
    words: list[str]
    output: IO[Any] | None
    """The file it writes to until it is shown; None for the terminal."""
    process: subprocess.Popen[bytes] = field(init=False)
    start: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0
    _waiting: Thread = field(init=False)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(self.words, cwd=ROOT, env=environment(), stdout=self.output, stderr=self.output)
        self._waiting = Thread(target=self._wait, daemon=True)
        self._waiting.start()

    def _wait(self) -> None:
        self.process.wait()
        self.seconds = time.perf_counter() - self.start

    @property
    def has_ended(self) -> bool:
        return not self._waiting.is_alive()

    def finish(self) -> tuple[bool, float]:
        """Wait for the check and show its output. Returns whether it passed, and the seconds that it took."""
        self._waiting.join()
        if self.output is not None:
            title(self.name, self.words)
            self.output.seek(0)
            sys.stdout.buffer.write(self.output.read())
        return self.process.returncode == 0, self.seconds


def title(name: str, words: list[str]) -> None:
    shown = [Path(word).name if word.startswith("/") else word for word in words]
    print(f"\n=== {name}: {' '.join(shown[:6])}{' ..' * (len(shown) > 6)}", flush=True)


def _has(package: str) -> bool:
    """Whether a package is installed; test/torch is a folder that an import would find."""
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


def _unit(name: str) -> str:
    """The test file with this name."""
    (path,) = (ROOT / "test" / "unit").rglob(f"test_{name}.py")
    return str(path.relative_to(ROOT))


def keep_modules() -> None:
    """
    Run the compiler once. A fresh clone has no byte code yet: processes that the tests fork would each make it anew,
    and end without keeping it.
    """
    program = str(ROOT / "examples" / "softmax.mlir")
    command = [str(BIN / "hlo-opt"), "--fuse", "--lower", "--emit=obj", program, "-o", os.devnull]
    subprocess.run(command, env=environment(), cwd=ROOT, check=False)


def main(names: list[str]) -> int:
    checks = {**CHECKS, "units": [*PYTEST, *map(_unit, QUICK_UNITS)]}
    option = {("all",): ALL_CASES, ("rest",): REST}.get(tuple(names), SOME)
    tests = [name for name, words in checks.items() if words[: len(PYTEST)] == PYTEST]
    checks.update((name, [*checks[name], option]) for name in tests)
    if names == ["all"]:
        names = list(CHECKS)
    elif names == ["rest"]:
        names = [name for name in CHECKS if name in tests or name in LATER]
    names = QUICK if names == ["quick"] else names or [name for name in CHECKS if name not in LATER]
    unknown = [name for name in names if name not in checks]
    if unknown:
        print(f"no check is named {unknown[0]}; there are: all, rest, quick, {', '.join(checks)}", file=sys.stderr)
        return 2
    if "torch" in names and not _has("torch"):
        names = [name for name in names if name != "torch"]
        print("torch: skipped, PyTorch is not installed (make torch-test installs it)")
    if not OF_SOURCES.issuperset(names):
        keep_modules()
    passed: dict[str, tuple[bool, float]] = {}
    others = [name for name in names if name not in BESIDE]
    hosts = {name: BESIDE[name] or others[0] for name in names if name in BESIDE and others}
    with ExitStack() as files:
        beside: list[Run] = []
        for name in names:
            if hosts.get(name) in names:
                continue
            for other, host in hosts.items():
                if host == name:
                    beside.append(Run(other, checks[other], files.enter_context(tempfile.TemporaryFile())))
            title(name, checks[name])
            passed[name] = Run(name, checks[name], None).finish()
            for run in [run for run in beside if run.has_ended or name == others[-1]]:
                beside.remove(run)
                passed[run.name] = run.finish()
    print("\n=== summary")
    for name, (ok, seconds) in passed.items():
        print(f"{'ok' if ok else 'FAILED':<8}{name:<10}{seconds:6.1f} s")
    failed = sum(not ok for ok, _ in passed.values())
    print(f"checks: {len(passed) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
