"""Prints, for some seeds, digests of the LLVM text and of the results: they depend on nothing but the program."""

from __future__ import annotations

import hashlib
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from random_checks import compiled_results
from random_programs import LARGE, SMALL, random_program

import xhlo

SEEDS = [(SMALL, seed) for seed in range(5000, 5008)] + [(LARGE, seed) for seed in range(5000, 5012)]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def main() -> None:
    for profile, seed in SEEDS:
        program = random_program(random.Random(seed), profile)
        text = xhlo.compile(program.text).as_text("llvm")
        results = compiled_results(program.text, program.inputs, verify=False)
        print(seed, digest(program.text.encode()), digest(text.encode()), *(digest(r.tobytes()) for r in results))


if __name__ == "__main__":
    main()
