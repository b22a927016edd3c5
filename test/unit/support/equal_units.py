"""
Equal LLVM IR, whose machine code one test process makes once.

A tenth of the time that the suite spends in LLVM goes to texts that it has compiled before: a test compiles a program
for several numbers of threads, with a guard and without, or the same small program as another test.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

from xhlo.targets.cpu import jit

Key = tuple[bytes, int, str, str]

_objects: dict[Key, bytes] = {}

_is_on = True


def compile_equal_units_once() -> None:
    """From here on an object file for this machine is that of an equal text at the same level, if there was one."""
    vars(jit).update(
        compile_to_object=_once(jit.compile_to_object),
        _compile_alone=_once(jit._compile_alone),
    )


def compile_every_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of LLVM itself: in the rest of this test no code is that of an earlier text."""
    monkeypatch.setattr(sys.modules[__name__], "_is_on", False)


def _once(compile_: Callable[..., bytes]) -> Callable[..., bytes]:
    def compiled(text: str, timings: jit.Timings | None = None, level: int = jit.LEVEL, machine: Any = None) -> bytes:
        if machine is not None:
            return compile_(text, timings, level, machine)
        if not _is_on:
            return compile_(text, timings, level)
        key = (hashlib.sha256(text.encode()).digest(), level, jit.host_cpu(), jit.host_features())
        if key not in _objects:
            _objects[key] = compile_(text, timings, level)
        return _objects[key]

    return compiled
