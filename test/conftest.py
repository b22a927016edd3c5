"""Fixtures that several test files share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from xhlo.tools import hlo_opt, hlo_run


@dataclass(frozen=True)
class Outcome:
    """The exit status and output of a tool."""

    status: int
    out: str
    err: str


Tool = Callable[..., Outcome]


@pytest.fixture
def run_hlo_opt(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """`run_hlo_opt(text, "--cse", ..)`: hlo-opt in this process, in a directory of its own, on `input.mlir`."""
    return _runner(hlo_opt.main, capsys, tmp_path, monkeypatch)


@pytest.fixture
def run_hlo_run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """The same for hlo-run."""
    return _runner(hlo_run.main, capsys, tmp_path, monkeypatch)


def _runner(
    main: Callable[[list[str]], int],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Tool:
    monkeypatch.chdir(tmp_path)

    def run(source: str | bytes, *arguments: str) -> Outcome:
        data = source.encode() if isinstance(source, str) else source
        (tmp_path / "input.mlir").write_bytes(data)
        capsys.readouterr()
        status = main(["input.mlir", *arguments])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run
