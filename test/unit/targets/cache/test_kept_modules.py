"""The byte code of modules that is kept in one file."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from checkout import ROOT
from xhlo.targets.cache import files, kept, modules
from xhlo.targets.cache.modules import KeptModules, kept_code

SOURCE = '"""Says so."""\n\n\ndef answer():\n    return 41\n'


def _answer(module: ModuleType) -> int:
    return module.answer()


def _never(function: object) -> object:
    """In place of `atexit.register`."""
    return function


def _other(version: tuple[int, int]) -> bytes:
    return b"12345678"


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of a package whose parts are kept, with a module and a package in it."""
    monkeypatch.setenv(files.VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(kept.atexit, "register", _never)
    monkeypatch.setattr(kept, "__file__", str(tmp_path / "kept.py"))
    (tmp_path / "__pycache__").mkdir(mode=0o700)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(modules, "_PACKAGES", frozenset(["kept_parts"]))
    folder = tmp_path / "kept_parts"
    (folder / "inner").mkdir(parents=True)
    for name in ("__init__", "part", "inner/__init__", "inner/part"):
        (folder / f"{name}.py").write_text(SOURCE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return folder


def _imported(monkeypatch: pytest.MonkeyPatch) -> tuple[list[ModuleType], KeptModules]:
    """The parts, as a new process imports them."""
    finder = KeptModules()
    monkeypatch.setattr(modules, "MODULES", finder)
    monkeypatch.setattr(sys, "meta_path", [one for one in sys.meta_path if not isinstance(one, KeptModules)])
    for name in [name for name in sys.modules if name.startswith("kept_parts")]:
        monkeypatch.delitem(sys.modules, name)
    importlib.invalidate_caches()
    with kept_code():
        found = [importlib.import_module(f"kept_parts.{name}") for name in ("part", "inner", "inner.part")]
    finder.kept.keep()
    return found, finder


def _is_kept(module: ModuleType) -> bool:
    return isinstance(module.__loader__, modules._KeptLoader)  # pyright: ignore[reportPrivateUsage]


def test_modules_are_the_same_with_kept_code(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, _ = _imported(monkeypatch)
    again, _ = _imported(monkeypatch)
    assert list(map(_is_kept, plain)) == [False] * 3 and list(map(_is_kept, again)) == [True] * 3
    for one, other in zip(plain, again, strict=True):
        assert one is not other and one.answer.__code__ == other.answer.__code__
        assert one.__doc__ == other.__doc__ == "Says so."
        for name in ("__file__", "__cached__", "__name__", "__package__", "__path__"):
            assert getattr(one, name, None) == getattr(other, name, None), name
        assert inspect.getsource(other) == SOURCE
    assert set(vars(again[0])) == set(vars(plain[0]))
    assert importlib.reload(again[0]).answer() == 41


def test_a_source_that_changes_is_compiled_again(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _imported(monkeypatch)
    source = package / "part.py"
    before = source.stat()
    source.write_text(SOURCE.replace("41", "42"))
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns - 10**9))
    changed, _ = _imported(monkeypatch)
    assert [*map(_answer, changed)] == [42, 41, 41] and [*map(_is_kept, changed)] == [False, True, True]
    again, _ = _imported(monkeypatch)
    assert [*map(_answer, again)] == [42, 41, 41] and all(map(_is_kept, again))


def test_a_source_stored_twice_in_a_second_is_not_kept(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte code states its source's time in seconds, so that of the first would do for the second."""
    add, stated = KeptModules._add_found, modules._stated  # pyright: ignore[reportPrivateUsage]

    def stored_again(self: KeptModules) -> None:
        source = package / "part.py"
        code = Path(importlib.util.cache_from_source(str(source)))
        source.write_text(SOURCE.replace("41", "42"))
        second = source.stat().st_mtime_ns // 10**9 * 10**9
        os.utime(source, ns=(second, second + 2))
        # As if the first had been stored and compiled in the same second.
        code.write_bytes(code.read_bytes()[:8] + stated((second, len(SOURCE))) + code.read_bytes()[16:])
        os.utime(code, ns=(second, second + 1))
        add(self)

    monkeypatch.setattr(KeptModules, "_add_found", stored_again)
    _imported(monkeypatch)
    monkeypatch.setattr(KeptModules, "_add_found", add)
    Path(importlib.util.cache_from_source(str(package / "part.py"))).unlink()
    again, _ = _imported(monkeypatch)
    assert [*map(_answer, again)] == [42, 41, 41] and [*map(_is_kept, again)] == [False, True, True]


def test_modules_are_kept_and_renewed_where_python_stores_no_byte_code(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    plain, finder = _imported(monkeypatch)
    assert not any(map(_is_kept, plain)) and not [*package.rglob("*.pyc")]
    assert not finder.kept.is_beside_byte_code() and not [*package.parent.glob("__pycache__/*")]
    again, _ = _imported(monkeypatch)
    assert all(map(_is_kept, again)) and plain[0].answer.__code__ == again[0].answer.__code__
    (package / "part.py").write_text(SOURCE.replace("41", "4321"))
    for kept_again in (False, True):
        changed, _ = _imported(monkeypatch)
        assert [*map(_answer, changed)] == [4321, 41, 41] and [*map(_is_kept, changed)] == [kept_again, True, True]


def test_a_source_that_changes_as_it_is_compiled_is_not_kept(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    version = modules._version  # pyright: ignore[reportPrivateUsage]

    def other_size(path: str) -> tuple[int, int] | None:
        found = version(path)
        return found and (found[0], found[1] + 1)

    monkeypatch.setattr(modules, "_version", other_size)
    _imported(monkeypatch)
    monkeypatch.setattr(modules, "_version", version)
    again, _ = _imported(monkeypatch)
    assert not any(map(_is_kept, again)) and [*map(_answer, again)] == [41] * 3


def test_moved_modules_name_their_sources(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte code that moves with its source names where that was; Python corrects it when it reads it."""
    _imported(monkeypatch)
    moved = package.parent / "elsewhere"
    moved.mkdir()
    package.rename(moved / package.name)
    monkeypatch.setattr(sys, "path", [str(moved), *sys.path])
    for kept_code_is_used in (False, True):
        found, _ = _imported(monkeypatch)
        assert [*map(_is_kept, found)] == [kept_code_is_used] * 3
        assert all(module.answer.__code__.co_filename == module.__file__ for module in found)


def test_loaders_that_hooks_for_folders_give_go_first(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _imported(monkeypatch)

    class Loader(importlib.machinery.SourceFileLoader):
        pass

    hook = importlib.machinery.FileFinder.path_hook((Loader, [".py"]))
    with monkeypatch.context() as patches:
        patches.setattr(sys, "path_hooks", [hook, *sys.path_hooks])
        patches.setattr(sys, "path_importer_cache", {})
        found, _ = _imported(monkeypatch)
        assert all(type(module.__loader__) is Loader for module in found)
    found, _ = _imported(monkeypatch)
    assert all(map(_is_kept, found))


def test_a_source_that_is_gone_is_not_found(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _imported(monkeypatch)
    (package / "part.py").unlink()
    with pytest.raises(ModuleNotFoundError):
        _imported(monkeypatch)


def test_byte_code_of_another_source_is_not_kept(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the import and the end of the process the source may change."""
    monkeypatch.setattr(modules, "_stated", _other)
    _imported(monkeypatch)
    again, _ = _imported(monkeypatch)
    assert not any(map(_is_kept, again))


def test_other_packages_and_finders_go_first(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _imported(monkeypatch)

    class Finder:
        def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
            if name != "kept_parts.part":
                return None
            loader = importlib.machinery.SourceFileLoader(name, str(package / "part.py"))
            return importlib.machinery.ModuleSpec(name, loader, origin=str(package / "part.py"))

    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    found, finder = _imported(monkeypatch)
    assert [*map(_is_kept, found)] == [False, True, True]
    assert finder.find_spec("email.parser", ["/"]) is None and finder.find_spec("kept_parts", None) is None


USED = """
import sys
import numpy as np
import xhlo
xhlo.compile(TEXT)(np.ones(4, np.float32))
loaders = [module.__spec__.loader for name, module in sys.modules.items() if name.startswith(("xhlo.t", "xdsl."))]
print(len(loaders), len([one for one in loaders if type(one).__name__ == "_KeptLoader"]))
"""


def test_a_compilation_takes_its_modules_from_one_file(tmp_path: Path) -> None:
    text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = hlo.negate %x : tensor<4xf32> return %0 : tensor<4xf32> }"
    code = f"import sys; sys.path[:0] = {[str(ROOT), *sys.path]!r}\n{USED.replace('TEXT', repr(text))}"
    environment = {"PATH": "", "XHLO_CACHE_DIR": str(tmp_path), "XHLO_CACHE_SIZE": "0"}
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    every, found = map(int, subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE).stdout.split())
    assert every > 100 and found > 0.8 * every
