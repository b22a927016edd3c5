"""Executables kept in a folder: found again, never trusted when damaged, never needed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import xhlo
from xhlo.hlo_dialect.made_once import MadeOnce
from xhlo.targets import compile as compiling
from xhlo.targets.cache import executables, files

PROGRAM = """
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = hlo.add %x, %x : tensor<5xf32>
  func.return %0 : tensor<5xf32>
}
"""
X = np.arange(5, dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XHLO_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.delenv("XHLO_CACHE_SIZE")
    return tmp_path / "kept"


@pytest.fixture(autouse=True)
def _no_cache_in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_CACHE", MadeOnce(0))
    monkeypatch.setattr(files, "_warned", set())


def passes_ran(executable: xhlo.Executable) -> bool:
    return "convert-to-llvm" in executable.compile_stages


def test_the_second_time_nothing_is_compiled(folder: Path) -> None:
    first = xhlo.compile(PROGRAM)
    assert passes_ran(first)
    second = xhlo.compile(PROGRAM)
    assert not passes_ran(second)
    np.testing.assert_array_equal(second(X), 2 * X)
    assert second.as_text("llvm") == first.as_text("llvm")


def test_other_programs_and_options_are_others(folder: Path) -> None:
    xhlo.compile(PROGRAM)
    xhlo.compile(PROGRAM, profile=True)
    xhlo.compile(PROGRAM.replace("add", "multiply"))
    assert len(list(folder.glob("*.xhlo"))) == 3


def test_a_file_of_another_program_is_not_used(folder: Path) -> None:
    """As where files are restored under wrong names: each is whole, but the code of another program."""
    xhlo.compile(PROGRAM)
    (path,) = folder.glob("*.xhlo")
    contents = path.read_bytes()
    path.unlink()
    xhlo.compile(PROGRAM.replace("add", "multiply"))
    (other,) = folder.glob("*.xhlo")
    other.write_bytes(contents)
    with pytest.warns(RuntimeWarning, match="is not used and will be written anew"):
        again = xhlo.compile(PROGRAM.replace("add", "multiply"))
    np.testing.assert_array_equal(again(X), X * X)


def test_other_processes_find_it(folder: Path) -> None:
    xhlo.compile(PROGRAM)
    """Without loading the compiler."""
    code = f"""
import sys, numpy as np, xhlo
e = xhlo.compile({PROGRAM!r})
e(np.ones(5, np.float32))
print('convert-to-llvm' in e.compile_stages or 'xdsl' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "False", done.stderr


@pytest.mark.parametrize("damage", [b"", b"no executable", None])
def test_damaged_files_are_written_anew(folder: Path, damage: bytes | None) -> None:
    xhlo.compile(PROGRAM)
    (kept,) = folder.glob("*.xhlo")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if damage is None else damage)
    with pytest.warns(RuntimeWarning, match="is not used and will be written anew"):
        executable = xhlo.compile(PROGRAM)
    assert passes_ran(executable)
    np.testing.assert_array_equal(executable(X), 2 * X)
    assert not passes_ran(xhlo.compile(PROGRAM))


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XHLO_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.delenv("XHLO_CACHE_SIZE")
    with pytest.warns(RuntimeWarning, match="cannot be") as warned:
        executable = xhlo.compile(PROGRAM)
        xhlo.compile(PROGRAM.replace("add", "multiply"))
    np.testing.assert_array_equal(executable(X), 2 * X)
    reasons = [str(each.message) for each in warned]
    assert len(reasons) == 2 and "cannot be read" in reasons[0] and "cannot be written" in reasons[1]


def test_a_change_of_the_compiler_makes_other_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    xhlo.compile(PROGRAM)
    monkeypatch.setattr(executables, "compiler_fingerprint", lambda: "another")
    assert passes_ran(xhlo.compile(PROGRAM))


def test_programs_of_registered_functions_are_not_kept(folder: Path) -> None:
    text = """
func.func @main(%x: tensor<5xf32>) -> tensor<5xf32> {
  %0 = hlo.custom_call @kept_twice(%x) : (tensor<5xf32>) -> tensor<5xf32>
  func.return %0 : tensor<5xf32>
}
"""
    xhlo.register_custom_call("kept_twice", lambda call, x: 2 * x)
    try:
        np.testing.assert_array_equal(xhlo.compile(text)(X), 2 * X)
        assert not list(folder.glob("*.xhlo"))
    finally:
        from xhlo.hlo_dialect.custom_calls.registry import REGISTRY

        REGISTRY.remove("kept_twice")


# Trust ------------------------------------------------------------------------------------------------------------


def kept_file(folder: Path) -> Path:
    xhlo.compile(PROGRAM)
    (kept,) = folder.glob("*.xhlo")
    return kept


def assert_refused(message: str) -> None:
    """The entry is not used, with one warning."""
    with pytest.warns(RuntimeWarning, match=message):
        executable = xhlo.compile(PROGRAM)
    assert passes_ran(executable)
    np.testing.assert_array_equal(executable(X), 2 * X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xhlo.compile(PROGRAM)


def test_files_and_folders_are_their_owners(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XHLO_CACHE_DIR", str(folder / "deep" / "er"))
    before = os.umask(0)
    try:
        kept = kept_file(folder / "deep" / "er")
    finally:
        os.umask(before)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert {stat.S_IMODE(each.stat().st_mode) for each in (folder, folder / "deep", folder / "deep" / "er")} == {0o700}


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_files_that_others_may_write_are_not_trusted(folder: Path, mode: int) -> None:
    kept_file(folder).chmod(mode)
    with pytest.warns(RuntimeWarning, match="other users may write"):
        assert passes_ran(xhlo.compile(PROGRAM))
    # The file was written anew, in a folder that is trusted.
    assert not passes_ran(xhlo.compile(PROGRAM))


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_folders_that_others_may_write_are_not_trusted(folder: Path, mode: int) -> None:
    kept_file(folder)
    folder.chmod(mode)
    assert_refused("other users may write")


def test_a_folder_in_one_for_everyone_is_not_trusted(folder: Path) -> None:
    kept_file(folder)
    folder.parent.chmod(0o777)
    assert_refused("other users may write")


def test_the_folders_above_are_those_of_a_link_s_target(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "open" / "deep"
    target.mkdir(parents=True)
    folder.symlink_to(target)
    kept_file(folder)
    target.parent.chmod(0o777)
    assert_refused(f"other users may write {target.parent}")


@pytest.mark.parametrize("whose", ["file", "folder"])
def test_what_others_own_is_not_trusted(folder: Path, whose: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_file(folder)
    of_descriptor = os.fstat

    def other_owner(descriptor: int) -> os.stat_result:
        status = of_descriptor(descriptor)
        if stat.S_ISDIR(status.st_mode) != (whose == "folder"):
            return status
        return os.stat_result((*status[:4], status.st_uid + 1, *status[5:]))

    monkeypatch.setattr(os, "fstat", other_owner)
    assert_refused("belongs to the user")


def test_symbolic_links_are_not_trusted(folder: Path, tmp_path: Path) -> None:
    kept = kept_file(folder)
    kept.rename(tmp_path / "elsewhere")
    kept.symlink_to(tmp_path / "elsewhere")
    with pytest.warns(RuntimeWarning, match="symbolic link"):
        assert passes_ran(xhlo.compile(PROGRAM))
    assert not kept.is_symlink()


def test_a_pipe_in_the_place_of_a_file_does_not_hang(folder: Path) -> None:
    kept = kept_file(folder)
    kept.unlink()
    os.mkfifo(kept, 0o600)
    with pytest.warns(RuntimeWarning, match="no regular file"):
        assert passes_ran(xhlo.compile(PROGRAM))


def test_writers_at_the_same_time(folder: Path) -> None:
    """Readers see whole files only, while threads write the same one and a process is killed in the middle."""
    path, contents = folder / "entry", [bytes([number]) * 300_000 for number in range(4)]
    files.write(path, contents[0])
    writer = "import sys; from pathlib import Path; from xhlo.targets.cache import files\nprint(1, flush=True)\n"
    writer += f"while True: files.write(Path({str(path)!r}), bytes([1]) * 300_000)"
    done = threading.Event()
    seen: list[bytes | None] = []

    def write(number: int) -> None:
        while not done.is_set():
            files.write(path, contents[number])

    threads = [threading.Thread(target=write, args=(number,)) for number in (2, 3)]
    with subprocess.Popen([sys.executable, "-c", writer], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline()
        for thread in threads:
            thread.start()
        seen += [files.read(path) for _ in range(100)]
        process.kill()
    seen += [files.read(path) for _ in range(100)]
    done.set()
    for thread in threads:
        thread.join()
    assert all(one in contents for one in seen)
