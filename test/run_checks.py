"""
Runs the checks of `make test`, all of them even when some fail, and sums them up.

    python test/run_checks.py              all checks
    python test/run_checks.py lit pytest   these
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
JOBS = "2"

CHECKS = {
    "ruff": [str(BIN / "ruff"), "check", "--quiet", "."],
    "format": [str(BIN / "ruff"), "format", "--check", "--quiet", "."],
    "imports": [str(BIN / "lint-imports")],
    "pyright": [str(BIN / "pyright")],
    "lit": [str(BIN / "lit"), "-j", JOBS, "-sv", "test/lit"],
    "pytest": [sys.executable, "-m", "pytest", "-n", JOBS, "-q"],
    # JAX on xhlo and on XLA's cpu; apart from the others, for which JAX has no platform but cpu.
    "jax": [sys.executable, "-m", "pytest", "-n", JOBS, "-q", "test/jax"],
}
"""By name, in order; each prints only what is wrong, as far as it can."""


def run_check(name: str) -> tuple[bool, float]:
    """Whether the check passed, and its seconds."""
    print(f"\n=== {name}: {' '.join(Path(word).name if word.startswith('/') else word for word in CHECKS[name])}")
    sys.stdout.flush()
    start = time.perf_counter()
    # Import-linter finds the package through the working directory.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    status = subprocess.run(CHECKS[name], cwd=ROOT, env=environment, check=False).returncode
    return status == 0, time.perf_counter() - start


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        print(f"no check is named {unknown[0]}; there are: {', '.join(CHECKS)}", file=sys.stderr)
        return 2
    results = {name: run_check(name) for name in names or CHECKS}
    print("\n=== summary")
    for name, (passed, seconds) in results.items():
        print(f"{'ok' if passed else 'FAILED':<8}{name:<10}{seconds:6.1f} s")
    failed = sum(not passed for passed, _ in results.values())
    print(f"checks: {len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
