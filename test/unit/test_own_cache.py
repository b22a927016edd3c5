"""Where xhlo's own machine code is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from xhlo.targets.cache import files


def test_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(files.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert files.own_folder() == tmp_path / "caches" / "xhlo"
    assert files.cache_folder() is None
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(files.sys, "platform", "linux")
    assert files.own_folder() == tmp_path / ".cache" / "xhlo"
    monkeypatch.setattr(files.sys, "platform", "darwin")
    assert files.own_folder() == tmp_path / "Library" / "Caches" / "xhlo"
    monkeypatch.setattr(files.os, "access", lambda path, mode: False)
    assert files.own_folder() is None  # nowhere to write, and nothing to say
    monkeypatch.setenv(files.VARIABLE, str(tmp_path / "chosen"))
    assert files.own_folder() == files.cache_folder() == tmp_path / "chosen"
    monkeypatch.setenv(files.VARIABLE, "")
    assert files.own_folder() is None


def test_own_code_is_read_from_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from xhlo.targets.cpu import jit

    monkeypatch.delenv(files.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    texts: list[str] = []

    def text() -> str:
        texts.append("define void @nothing() { ret void }")
        return texts[-1]

    codes = [jit.kept_object(("a test", key), text) for key in ("one", "one", "two")]
    assert len(texts) == 2 and codes[0] == codes[1]
