"""The code of dataclasses' methods that is kept from one process to the next."""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from xhlo.targets.cache import definitions, files, kept
from xhlo.targets.cache.definitions import Definitions, kept_definitions

TEXT = "def f(x):\n  return x + 1"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv(files.VARIABLE, str(tmp_path))
    monkeypatch.setattr(files, "_warned", set())
    monkeypatch.setattr(kept.atexit, "register", lambda function: function)
    monkeypatch.setattr(kept.sys, "dont_write_bytecode", True)
    monkeypatch.setattr(kept, "__file__", str(tmp_path / "kept.py"))  # without byte code beside it
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
        found.kept.keep()
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
    first.kept.keep()
    second.kept.keep()
    third = Definitions()
    for number in "12":
        names: dict[str, Any] = {}
        exec(third.code_of(TEXT.replace("1", number)), names)
        assert names["f"](1) == 1 + int(number)
    assert third.compiled == 0
    assert third.code_of(TEXT) is not third.code_of(TEXT)


def test_what_no_process_uses_makes_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LIMIT", 1)
    for text in (TEXT, TEXT.replace("1", "2")):
        found = Definitions()
        found.code_of(text)
        found.kept.keep()
    last = Definitions()
    last.code_of(TEXT.replace("1", "2"))
    assert last.compiled == 0
    last.code_of(TEXT)
    assert last.compiled == 1


def test_a_file_that_others_may_write_is_not_executed(folder: Path) -> None:
    found = Definitions()
    found.code_of(TEXT)
    found.kept.keep()
    (path,) = folder.glob("*.code")
    path.chmod(0o666)
    with pytest.warns(RuntimeWarning, match="is not trusted"):
        again = Definitions()
        again.code_of(TEXT)
    assert again.compiled == 1


def test_a_damaged_file_is_written_anew(folder: Path) -> None:
    found = Definitions()
    found.code_of(TEXT)
    found.kept.keep()
    (path,) = folder.glob("*.code")
    data = path.read_bytes()
    again = Definitions()
    path.write_bytes(data[:60] + b"?" + data[61:])  # in the table
    with pytest.warns(RuntimeWarning, match="is damaged"):
        again.code_of(TEXT)
    again.kept.keep()
    for expected in (0, 1, 0):
        last = Definitions()
        last.code_of(TEXT)
        assert last.compiled == expected
        last.kept.keep()
        if not expected:
            path.write_bytes(data[:-1] + b"?")  # in the value: found where it is used
    assert path.read_bytes()[:-1] == data[:-1]


def test_it_is_beside_byte_code_where_python_writes_that(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept.sys, "dont_write_bytecode", False)
    (folder / "__pycache__").mkdir(0o700)
    for text, number in ((TEXT, 1), (TEXT, 0), (TEXT.replace("1", "2"), 1)):
        found = Definitions()
        found.code_of(text)
        found.kept.keep()
        assert found.compiled == number
    assert not list(folder.glob("*.code"))
    assert [path.name[-8:] for path in (folder / "__pycache__").iterdir()] == [".methods"]
    # Read from there also by a process that would not write it, and what that adds goes before.
    monkeypatch.setattr(kept.sys, "dont_write_bytecode", True)
    found = Definitions()
    found.code_of(TEXT)
    assert found.compiled == 0
    found.kept.add(TEXT, compile("changed", "<string>", "exec"))
    found.kept.keep()
    assert list(folder.glob("*.code")) and Definitions().code_of(TEXT).co_names == ("changed",)


def test_byte_code_that_others_may_write_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept.sys, "dont_write_bytecode", False)
    (folder / "__pycache__").mkdir(0o700)
    (folder / "__pycache__").chmod(0o777)
    found = Definitions()
    found.code_of(TEXT)
    found.kept.keep()
    assert list(folder.glob("*.code")) and not list((folder / "__pycache__").iterdir())


def test_nothing_is_kept_where_the_variable_is_empty(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept.sys, "dont_write_bytecode", False)
    monkeypatch.setenv(files.VARIABLE, "")
    (folder / "__pycache__").mkdir(0o700)
    found = Definitions()
    found.code_of(TEXT)
    found.kept.keep()
    assert not list((folder / "__pycache__").iterdir())


def test_files_of_another_python_are_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Definitions()
    found.code_of(TEXT)
    found.kept.keep()
    monkeypatch.setattr(kept, "_FORMAT", b"1new!")
    again = Definitions()
    again.code_of(TEXT)
    assert again.compiled == 1


def test_a_system_without_owners_of_files_keeps_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "__pycache__").mkdir(0o700)
    monkeypatch.setattr(kept.sys, "dont_write_bytecode", False)
    monkeypatch.setattr(kept, "SUPPORTED", False)
    monkeypatch.setattr(files, "SUPPORTED", False)
    monkeypatch.delenv(files.VARIABLE)
    found = Definitions()
    found.code_of(TEXT)
    found.kept.keep()
    assert [path.name for path in folder.iterdir()] == ["__pycache__"] and not list((folder / "__pycache__").iterdir())


def test_a_folder_for_caches_that_cannot_be_asked_for_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Path.exists raises an error for it, as for a folder in another user's home."""
    for variable in (files.VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(files.VARIABLE, raising=False)
        monkeypatch.setenv(variable, f"{folder}/{'x' * 300}")
        found = Definitions()
        found.code_of(TEXT)
        with pytest.warns(RuntimeWarning, match="cannot be written"):
            found.kept.keep()
        monkeypatch.setattr(files, "_warned", set[str]())


def test_a_file_that_is_cut_short_or_closed_later_has_no_values(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does one on a network that another machine has replaced; one in memory would end the process."""
    monkeypatch.setattr(files, "READ_AHEAD", 0)
    first = Definitions()
    first.code_of(TEXT)
    first.code_of(TEXT.replace("1", "2"))
    first.kept.keep()
    (path,) = folder.glob("*.code")
    found = Definitions()
    found.code_of(TEXT)
    assert found.compiled == 0
    os.truncate(path, path.stat().st_size - 1)
    found.code_of(TEXT.replace("1", "2"))
    assert found.compiled == 1
    parts = found.kept._opened()[0]._contents  # pyright: ignore[reportPrivateUsage]
    os.close(parts._descriptor)  # pyright: ignore[reportPrivateUsage]
    parts._descriptor = -1  # pyright: ignore[reportPrivateUsage]
    names: dict[str, Any] = {}
    exec(found.code_of(TEXT), names)
    assert names["f"](1) == 2 and found.compiled == 2


def test_byte_code_elsewhere_has_a_file_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for prefix in (None, str(folder / "prefix")):
        monkeypatch.setattr(sys, "pycache_prefix", prefix)
        found = Definitions()
        found.code_of(TEXT)
        found.kept.keep()
        assert found.compiled == 1


def test_the_size_of_the_folder_for_caches_is_not_that_beside_byte_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept.sys, "dont_write_bytecode", False)
    monkeypatch.setenv(files.SIZE_VARIABLE, "1")
    (folder / "__pycache__").mkdir(0o700)
    for number in (1, 0):
        found = Definitions()
        found.code_of(TEXT)
        found.kept.keep()
        assert found.compiled == number


def test_a_file_is_closed_also_when_modules_have_lost_their_names(tmp_path: Path) -> None:
    """As they do when the process ends."""
    (tmp_path / "file").touch()
    with open(tmp_path / "file", "rb") as file:
        parts = files.Parts(file)
    descriptor = parts._descriptor  # pyright: ignore[reportPrivateUsage]
    closes = files.Parts.__del__
    FunctionType(closes.__code__, {}, argdefs=closes.__defaults__)(parts)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    parts._descriptor = -1  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("ahead", [0, 5, 1000])
def test_parts_are_the_same_with_what_was_read_before(
    ahead: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "READ_AHEAD", ahead)
    contents = bytes(range(40))
    (tmp_path / "file").write_bytes(bytes(files.START) + contents)
    with open(tmp_path / "file", "rb") as file:
        parts = files.Parts(file)
    for start, end in ((0, 3), (3, 8), (5, 7), (2, 9), (30, 40), (36, 50), (0, 40), (60, 70), (1, 1)):
        assert parts.read(start, end) == contents[start:end]
