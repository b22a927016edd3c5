"""Where compiled programs and xhlo's own machine code are kept, and for how long."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from xhlo.targets.cache import files
from xhlo.targets.cpu import jit


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(files.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert files.cache_folder() == tmp_path / "caches" / "xhlo"
    assert files.program_folder() is None  # XHLO_CACHE_SIZE is 0
    monkeypatch.delenv(files.SIZE_VARIABLE)
    assert files.program_folder() == files.cache_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(files.sys, "platform", "linux")
    assert files.cache_folder() == tmp_path / ".cache" / "xhlo"
    monkeypatch.setattr(files.sys, "platform", "darwin")
    assert files.cache_folder() == tmp_path / "Library" / "Caches" / "xhlo"
    monkeypatch.setattr(files.os, "access", lambda path, mode: False)
    assert files.cache_folder() is None  # nowhere to write, and nothing to say
    monkeypatch.setenv(files.VARIABLE, str(tmp_path / "chosen"))
    assert files.cache_folder() == tmp_path / "chosen"
    monkeypatch.setenv(files.VARIABLE, "")
    assert files.cache_folder() is None


def test_own_code_is_read_from_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:

    monkeypatch.delenv(files.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    texts: list[str] = []

    def text() -> str:
        texts.append("define void @nothing() { ret void }")
        return texts[-1]

    codes = [jit.kept_object(("a test", key), text) for key in ("one", "one", "two")]
    assert len(texts) == 2 and codes[0] == codes[1]


def test_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(files.SIZE_VARIABLE, "16M")
    assert files.cache_size() == 16 << 20
    monkeypatch.delenv(files.SIZE_VARIABLE)
    assert files.cache_size() == files.DEFAULT_SIZE
    monkeypatch.setattr(files, "_warned", set())
    monkeypatch.setenv(files.SIZE_VARIABLE, "much")
    with pytest.warns(RuntimeWarning, match="XHLO_CACHE_SIZE is ignored: 'much' is no size"):
        assert files.cache_size() == files.DEFAULT_SIZE


def name_of(first: str, number: int) -> str:
    return f"{first}{number:063x}.xhlo"


def test_files_that_were_not_used_for_longest_go_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(files.SIZE_VARIABLE)
    folder, long_ago = tmp_path / "kept", time.time() - 1e6
    for number in range(10):
        files.write(folder / name_of("a", number), bytes(12_000))
        os.utime(folder / name_of("a", number), (long_ago + number, long_ago + number))
    (folder / "notes.txt").write_bytes(bytes(200_000))  # not ours
    abandoned, fresh = (folder / f".{name_of('a', 1)}.{pid}.{'0' * 16}" for pid in (1, 2))
    abandoned.write_bytes(b"x")
    os.utime(abandoned, (long_ago, long_ago))
    fresh.write_bytes(b"x")
    assert files.read(folder / name_of("a", 0)) == bytes(12_000)  # the oldest is used again
    monkeypatch.setenv(files.SIZE_VARIABLE, "100K")
    files.write(folder / name_of("0", 0), bytes(10))
    assert {path.name for path in folder.iterdir()} == {
        *(name_of("a", number) for number in (0, 4, 5, 6, 7, 8, 9)),
        *(name_of("0", 0), "notes.txt", fresh.name),
    }


def test_files_of_a_clock_that_was_ahead_are_not_kept_for_years(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(files.SIZE_VARIABLE)
    ahead = time.time() + 1e8
    for number in range(10):
        files.write(tmp_path / name_of("a", number), bytes(12_000))
        os.utime(tmp_path / name_of("a", number), (ahead, ahead))
    abandoned = tmp_path / f".{name_of('a', 1)}.1.{'0' * 16}"
    abandoned.write_bytes(b"x")
    os.utime(abandoned, (ahead, ahead))
    assert files.read(tmp_path / name_of("a", 0)) == bytes(12_000)
    monkeypatch.setenv(files.SIZE_VARIABLE, "100K")
    files.write(tmp_path / name_of("0", 0), bytes(10))
    left = {path.name for path in tmp_path.iterdir()}
    assert {name_of("a", 0), name_of("0", 0)} <= left
    assert abandoned.name not in left


def test_an_interrupt_of_the_end_of_a_write_is_not_lost(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    replace = os.replace

    def replace_and_interrupt(*arguments: Any, **options: Any) -> None:
        replace(*arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", replace_and_interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write(tmp_path / name_of("a", 0), b"whole")
    assert files.read(tmp_path / name_of("a", 0)) == b"whole"


def test_the_folder_is_looked_through_once_for_many_small_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A folder of the default size may hold tens of thousands of files, and looking at all takes as long as a compilation."""
    looked: list[int] = []
    monkeypatch.delenv(files.SIZE_VARIABLE)
    monkeypatch.setattr(files, "make_room", lambda folder, limit: looked.append(limit))
    for number in range(256):
        files.write(tmp_path / name_of("0", number), bytes(1000))
    assert len(looked) < 3
    monkeypatch.setenv(files.SIZE_VARIABLE, "1M")
    for number in range(256):  # 255 KB: a 64th of what may be kept is 16 KB, four files with the least that each takes
        files.write(tmp_path / name_of("1", number), bytes(1000))
    assert 40 < len(looked) < 120


def test_a_file_that_would_fill_the_folder_is_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(files.SIZE_VARIABLE, "80K")
    files.write(tmp_path / name_of("1", 0), bytes(11_000))
    files.write(tmp_path / name_of("1", 1), bytes(10_000))
    assert [path.name for path in tmp_path.iterdir()] == [name_of("1", 1)]


def test_functions_that_programs_share_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another process compiles only what is the program's own; a damaged file is compiled anew."""
    monkeypatch.setenv("XHLO_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(files, "_warned", set())
    shared = {"xhlo_shared_0": "define i32 @xhlo_shared_0() {\n  ret i32 7\n}\n"}
    compiled: list[str] = []
    compile_ = jit.compile_to_objects

    def recorded(texts: Sequence[str], timings: jit.Timings, levels: Sequence[int]) -> list[bytes]:
        compiled.extend(texts)
        return compile_(texts, timings, levels)

    monkeypatch.setattr(jit, "compile_to_objects", recorded)
    codes: list[bytes] = []
    for damaged in (False, False, True):
        jit._shared.clear()
        if damaged:
            (kept,) = tmp_path.glob("*.o")
            kept.write_bytes(b"no object")
            with pytest.warns(RuntimeWarning, match="written anew"):
                codes += jit.compile_units((), shared, {})
        else:
            codes += jit.compile_units((), shared, {})
    assert len(compiled) == 2 and len({*codes}) == 1
