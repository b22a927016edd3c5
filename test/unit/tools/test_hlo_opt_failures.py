"""Failing passes: the report, the reproducer, and its repetition."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from xhlo.hlo_dialect.diagnostics import op_error
from xhlo.passes.manager import registry
from xhlo.passes.manager.registry import PassEntry
from xhlo.tools import round_trip

PROGRAM = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.add %x, %x : tensor<4xf32>
  %1 = hlo.add %x, %x : tensor<4xf32>
  %2 = hlo.multiply %0, %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


def _find(module: ModuleOp, name: str):
    return next(op for op in module.walk() if op.name == name)


@dataclass(frozen=True)
class CrashPass(ModulePass):
    name = "test-crash"
    at: str = "hlo.multiply"

    def apply(self, ctx, op):
        self.visit(_find(op, self.at))

    def visit(self, op):
        raise ZeroDivisionError("the number of lanes is zero")


class RefusePass(ModulePass):
    name = "test-refuse"

    def apply(self, ctx, op):
        raise op_error(_find(op, "hlo.multiply"), "is too hard")


class GiveUpPass(ModulePass):
    name = "test-give-up"

    def apply(self, ctx, op):
        raise PassFailedException("cannot do it")


class BreakPass(ModulePass):
    """Leaves a use before the definition."""

    name = "test-break"

    def apply(self, ctx, op):
        add = _find(op, "hlo.add")
        block = add.parent
        add.detach()
        block.insert_op_before(add, block.last_op)


@pytest.fixture(autouse=True)
def _test_passes(monkeypatch: pytest.MonkeyPatch):
    """The passes above under their names, for one test."""
    known = registry.builtin_registry()
    more = registry.PassRegistry()
    for entry in known:
        more.register(entry)
    for one in (CrashPass, RefusePass, GiveUpPass, BreakPass):
        more.register(PassEntry(one.name, "xhlo", "A test.", "test", lambda one=one: one))
    monkeypatch.setattr(registry, "builtin_registry", lambda: more)
    registry.full_registry.cache_clear()
    yield
    monkeypatch.undo()
    registry.full_registry.cache_clear()


def _reproducers() -> list[Path]:
    return sorted(Path.cwd().glob("xhlo-reproducer-*.mlir"))


def test_a_crash_names_pass_and_operation_and_can_be_repeated(run_hlo_opt):
    done = run_hlo_opt(PROGRAM, "--cse", "--test-crash=at=hlo.add", "--dce")
    assert done.status == 2, "an option's value cannot hold a dot without quotes"
    done = run_hlo_opt(PROGRAM, "--cse", "--test-crash", "--dce")
    assert done.status == 3
    assert "internal error: pass 'test-crash' failed: ZeroDivisionError: the number of lanes is zero" in done.err
    assert "at 'hlo.multiply' op (input.mlir:4:" in done.err
    (reproducer,) = _reproducers()
    command = f"hlo-opt --run-reproducer {reproducer.name}"
    assert done.err.rstrip().endswith(command)
    text = reproducer.read_text()
    assert "// xhlo-pipeline: test-crash,dce\n" in text
    assert text.count("hlo.add") == 1, "the module as it was before the pass"

    again = run_hlo_opt(text, "--run-reproducer")
    assert again.status == 3
    assert "pass 'test-crash' failed" in again.err
    assert "(input.mlir:4:" in again.err, "locations survive"


def test_a_refusal_is_the_users_and_leaves_a_reproducer_on_request(run_hlo_opt):
    done = run_hlo_opt(PROGRAM, "--test-refuse")
    assert done.status == 1
    assert done.err.splitlines()[0].startswith("input.mlir:4:")
    assert "error: 'hlo.multiply' op is too hard" in done.err
    assert "Traceback" not in done.err
    assert not _reproducers()
    assert run_hlo_opt(PROGRAM, "--test-refuse", "--reproducer=why.mlir").status == 1
    assert "// xhlo-pipeline: test-refuse" in Path("why.mlir").read_text()


def test_xdsls_failed_pass_is_the_users(run_hlo_opt):
    done = run_hlo_opt(PROGRAM, "--test-give-up")
    assert done.status == 1
    assert done.err.startswith("input.mlir:1:1: error: pass 'test-give-up': cannot do it\n")


@pytest.mark.parametrize("flags", [(), ("--verify-each",)], ids=["end", "each"])
def test_an_invalid_module_is_traced_to_its_pass(run_hlo_opt, flags: tuple[str, ...]):
    done = run_hlo_opt(PROGRAM, "--cse", "--test-break", "--dce", *flags)
    assert done.status == 3
    assert "internal error: the module is invalid after pass 'test-break'" in done.err
    (reproducer,) = _reproducers()
    assert "// xhlo-pipeline: test-break,dce\n" in reproducer.read_text()


def test_a_crash_on_an_invalid_module_is_traced_to_the_pass_that_left_it(run_hlo_opt):
    """The pass that fails is not to blame."""
    done = run_hlo_opt(PROGRAM, "--cse", "--test-break", "--test-crash", "--dce", "--verify-each=false")
    assert done.status == 3
    assert "internal error: the module is invalid after pass 'test-break'" in done.err
    (reproducer,) = _reproducers()
    assert "// xhlo-pipeline: test-break,test-crash,dce\n" in reproducer.read_text()


def test_reproducer_where_the_directory_is_read_only(run_hlo_opt, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    import tempfile

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(elsewhere))
    original = Path.write_text

    def refuse_here(self: Path, *arguments, **options):
        if self.parent == Path("."):
            raise PermissionError(13, "Permission denied")
        return original(self, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", refuse_here)
    done = run_hlo_opt(PROGRAM, "--test-crash")
    assert done.status == 3
    assert str(elsewhere / "xhlo-reproducer-") in done.err


@pytest.mark.parametrize(
    ("form", "tampered", "status", "message"),
    [
        ({}, "hlo.subtract", 3, "input.mlir changes when it is printed in hlo form and read:"),
        ({"generic": True}, "hlo.subtract", 3, "input.mlir changes when it is printed in generic form and read:"),
        (
            {"spelling": "stablehlo"},
            "hlo.maximum",
            3,
            "input.mlir changes when it is printed in StableHLO form and read:",
        ),
        ({"generic": True}, "hlo.added", 1, "input.mlir (generic form):4:"),
    ],
)
def test_verify_roundtrip(run_hlo_opt, monkeypatch, form: dict, tampered: str, status: int, message: str) -> None:
    """A printer that writes a wrong operation in one of the forms is detected."""
    honest, seen = round_trip.print_module, []

    def print_module(module: ModuleOp, locations: bool, **options) -> str:
        seen.append(options)
        text = honest(module, locations=locations, **options)
        is_printed_to_be_read = len(seen) % 2 == 0 or options
        return text.replace("hlo.add", tampered) if options == form and is_printed_to_be_read else text

    assert run_hlo_opt(PROGRAM, "--verify-roundtrip").status == 0
    monkeypatch.setattr(round_trip, "print_module", print_module)
    done = run_hlo_opt(PROGRAM, "--verify-roundtrip")
    assert done.status == status
    assert message in done.err
    assert "Traceback" not in done.err
    assert ("-    %0 = hlo.add" in done.err) == (status == 3)
