"""Print digests of the LLVM text and of the results for some seeds: they depend on nothing but the program."""

from __future__ import annotations

import hashlib
import random

import xhlo
from xhlo.tools.fuzzing.operations import random_program
from xhlo.tools.fuzzing.programs import LARGE, SMALL

SEEDS = [(SMALL, seed) for seed in range(5000, 5008)] + [(LARGE, seed) for seed in range(5000, 5012)]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def main() -> None:
    for profile, seed in SEEDS:
        program = random_program(random.Random(seed), profile)
        executable = xhlo.compile(program.text)
        text, results = executable.as_text("llvm"), executable(*program.inputs)
        results = results if isinstance(results, tuple) else (results,)
        print(seed, digest(program.text.encode()), digest(text.encode()), *(digest(r.tobytes()) for r in results))


if __name__ == "__main__":
    main()
