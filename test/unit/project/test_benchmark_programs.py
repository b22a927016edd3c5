"""The list of JAX programs that benchmarks time, and the check of their results."""

from __future__ import annotations

from collections import Counter

import jax
import numpy as np
import pytest

import xla_programs
from jax_programs import CLASSES, JaxProgram, entries


def test_the_list_has_programs_of_each_class() -> None:
    names = [entry.name for entry in entries()]
    assert len(names) >= 60
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert all(len(file.PROGRAMS.entries) >= 4 for file in CLASSES)
    assert [entry.name for entry in entries("lstm,gru")] == ["recurrent.gru", "recurrent.lstm"]


def test_arguments_follow_from_the_name() -> None:
    (entry,) = entries("recurrent.lstm")
    first, second = (entry.make().arguments for _ in range(2))
    assert all(np.array_equal(a, b) and a.dtype == np.float32 for a, b in zip(first, second, strict=True))


def test_both_sides_run_a_program() -> None:
    (entry,) = entries("indexing.window_of_each")
    program = entry.make()
    sides, seconds = xla_programs.sides_of(program, "python")
    xla_programs.check(program, *(run() for run in sides))
    assert len(seconds) == 2


def test_a_wrong_result_is_found() -> None:
    right = jax.numpy.arange(1000.0)
    strict, loose = (JaxProgram("p", abs, (), tolerance=tolerance) for tolerance in (1e-3, 1e-2))
    xla_programs.check(strict, np.asarray(right), right)
    wrong = np.asarray(right).copy()
    wrong[3] += 1000
    with pytest.raises(xla_programs.WrongResult, match=r"p: 0\.10% of a result differs"):
        xla_programs.check(strict, wrong, right)
    xla_programs.check(loose, wrong, right)
    wrong[:5] = np.nan
    with pytest.raises(xla_programs.WrongResult):
        xla_programs.check(loose, wrong, right)
    with pytest.raises(ValueError):
        xla_programs.check(strict, (right, right), right)
