"""The code of dataclasses' methods that is kept from one process to the next."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from xhlo.targets.cache import definitions, files
from xhlo.targets.cache.definitions import Definitions, kept_definitions

TEXT = "def f(x):\n  return x + 1"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv(files.VARIABLE, str(tmp_path))
    monkeypatch.setattr(files, "_warned", set())
    monkeypatch.setattr(definitions.atexit, "register", lambda function: function)
    return tmp_path


def _point() -> type[Any]:
    @dataclass(frozen=True, order=True)
    class Point:
        x: int
        y: list[int] = field(default_factory=list)
        z: int = field(default=3, kw_only=True)

    return Point


def _codes(cls: type[Any]) -> dict[str, CodeType]:
    return {name: value.__code__ for name, value in vars(cls).items() if inspect.isfunction(value)}


def test_classes_are_the_same_with_kept_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = _point()
    for compiled in (True, False):
        found = Definitions()
        monkeypatch.setattr(definitions, "DEFINITIONS", found)
        with kept_definitions():
            first, second = _point(), _point()
        assert (found.compiled > 0) == compiled
        found.keep()
        assert _codes(first) == _codes(plain)
        assert inspect.signature(first) == inspect.signature(plain)
        assert repr(first(1, [2], z=4)) == repr(plain(1, [2], z=4))
        assert first(1) == first(1) and first(1) < first(2) and hash(first(1, 2)) == hash(plain(1, 2))
        with pytest.raises(dataclasses.FrozenInstanceError):
            first(1).x = 2
        shared = [name for name, code in _codes(first).items() if code is _codes(second)[name]]
        assert set(shared) <= {"__repr__"}  # functions of other modules, such as reprlib's wrapper


def test_only_classes_inside_have_it() -> None:
    with kept_definitions():
        with kept_definitions():
            pass
        assert "exec" in vars(dataclasses)
    assert "exec" not in vars(dataclasses)


def test_two_processes_add_to_one_file(folder: Path) -> None:
    first, second = Definitions(), Definitions()
    first.code_of(TEXT)
    second.code_of(TEXT.replace("1", "2"))
    first.keep()
    second.keep()
    third = Definitions()
    for number in "12":
        names: dict[str, Any] = {}
        exec(third.code_of(TEXT.replace("1", number)), names)
        assert names["f"](1) == 1 + int(number)
    assert third.compiled == 0
    assert third.code_of(TEXT) is not third.code_of(TEXT)


def test_what_no_process_uses_makes_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "LIMIT", 1)
    for text in (TEXT, TEXT.replace("1", "2")):
        found = Definitions()
        found.code_of(text)
        found.keep()
    last = Definitions()
    last.code_of(TEXT.replace("1", "2"))
    assert last.compiled == 0
    last.code_of(TEXT)
    assert last.compiled == 1


def test_a_file_that_others_may_write_is_not_executed(folder: Path) -> None:
    found = Definitions()
    found.code_of(TEXT)
    found.keep()
    (path,) = folder.glob("*.code")
    path.chmod(0o666)
    with pytest.warns(RuntimeWarning, match="is not trusted"):
        again = Definitions()
        again.code_of(TEXT)
    assert again.compiled == 1


def test_a_damaged_file_is_written_anew(folder: Path) -> None:
    found = Definitions()
    found.code_of(TEXT)
    found.keep()
    (path,) = folder.glob("*.code")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    again = Definitions()
    with pytest.warns(RuntimeWarning, match="is damaged"):
        again.code_of(TEXT)
    again.keep()
    last = Definitions()
    last.code_of(TEXT)
    assert last.compiled == 0
