"""
Packages that extend xhlo: those that break, break alone; passes at named places; hooks; files of passes.

Packages are folders with the metadata that pip writes, on sys.path or PYTHONPATH.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import xhlo
from checkout import ROOT
from xhlo.hlo_dialect import formats, plugins
from xhlo.hlo_dialect.dialect import make_context
from xhlo.hlo_dialect.ops.elementwise_binary import AddOp
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.rules import Rules
from xhlo.passes.manager import places, registry
from xhlo.targets.registry import UnknownTargetError, get_target

PROGRAM = """
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = hlo.exponential %x : tensor<8xf32>
  %1 = hlo.add %0, %x : tensor<8xf32>
  return %1 : tensor<8xf32>
}
"""

Install = Callable[..., Path]


def write_package(site: Path, name: str, source: str, points: dict[str, str]) -> None:
    """A module with the metadata of an installation; `points` maps groups to lines of entry points."""
    site.mkdir(exist_ok=True)
    (site / f"{name}.py").write_text(source)
    info = site / f"{name.replace('_', '-')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("".join(f"[{group}]\n{line}\n" for group, line in points.items()))


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that installs a package for this process; what was found before is forgotten, and restored later."""
    cached = (registry.full_registry, places.package_places, plugins.fingerprint, get_target)

    def forget() -> None:
        for each in cached:
            each.cache_clear()
        importlib.invalidate_caches()

    def install(name: str, source: str, **points: str) -> Path:
        write_package(
            tmp_path / "site", name, source, {group.replace("__", "."): line for group, line in points.items()}
        )
        monkeypatch.setattr(plugins, "_said", set())
        plugins._entry_points.cache_clear()
        monkeypatch.syspath_prepend(tmp_path / "site")
        forget()
        return tmp_path / "site"

    yield install
    monkeypatch.undo()
    plugins._entry_points.cache_clear()
    forget()


BROKEN = {
    "xhlo.ops": "broken = broken_package:OPS",
    "xhlo.lowerings": "broken = broken_package:PATTERNS",
    "xhlo.scalar_lowerings": "broken = broken_package:SCALARS",
    "xhlo.decompositions": "broken = broken_package:DECOMPOSITIONS",
    "xhlo.fusion_rules": "broken = broken_package:RULES",
    "xhlo.costs": "broken = broken_package:COSTS",
    "xhlo.custom_calls": "broken = broken_package:CALLS",
    "xhlo.formats": "broken = broken_package:FORMAT",
    "xhlo.pipeline": "broken = broken_package:PIPELINE",
    "xhlo.targets": "broken = broken_package:TARGET",
    "xhlo.torch_rules": "broken = broken_package:TORCH_RULES",
    "xdsl.universe": "broken = broken_package:UNIVERSE",
}


def test_every_hook_is_documented_and_tried_here() -> None:
    assert set(BROKEN) == set(plugins.GROUPS)
    page = (ROOT / "docs" / "extending.md").read_text()
    assert not [group for group in plugins.GROUPS if f"`{group}`" not in page]


def run(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(site)))}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=site, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_a_package_that_fails_to_import_breaks_alone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_package(site, "broken_package", "import a_module_that_there_is_not\n", BROKEN)
    (site / "program.mlir").write_text(PROGRAM)
    (site / "unknown.mlir").write_text(PROGRAM.replace("hlo.exponential", "theirs.exponential"))
    error = "ModuleNotFoundError: No module named 'a_module_that_there_is_not'"
    warning = f"hlo-opt: warning: the package broken-package (broken = broken_package:UNIVERSE in xdsl.universe) is left out: {error}\n"
    done = run(site, "-m", "xhlo.tools.hlo_opt", "--version")
    assert (done.returncode, done.stderr) == (0, warning)
    done = run(site, "-m", "xhlo.tools.hlo_opt", "--fuse", "--lower=linalg", "program.mlir")
    assert done.returncode == 0 and "linalg.generic" in done.stdout
    for group in ("xhlo.lowerings", "xhlo.decompositions", "xhlo.fusion_rules", "xhlo.costs", "xhlo.pipeline"):
        assert done.stderr.count(f"in {group}) is left out: {error}") == 1, group
    done = run(site, "-m", "xhlo.tools.hlo_opt", "unknown.mlir", "--target=cpu")
    assert done.returncode == 1 and "unknown operation 'theirs.exponential'" in done.stderr
    assert "broken_package:OPS" in done.stderr
    done = run(site, "-m", "xhlo.tools.hlo_opt", "program.mlir", "--target=broken")
    assert done.returncode == 2 and f"cannot be loaded: {error}" in done.stderr
    (site / "program.py").write_text(
        "import numpy as np, xhlo\nexe = xhlo.compile('program.mlir')\nprint(exe(np.zeros(8, np.float32)).sum())\n"
    )
    done = run(site, "program.py")
    assert (done.returncode, done.stdout) == (0, "8.0\n"), done.stderr
    assert "program.py:2: PluginWarning: the package broken-package" in done.stderr


PLACED = """
from xdsl.passes import ModulePass

class Speaks(ModulePass):
    name = "speaks"

    def apply(self, ctx, op):
        print("a pass of a package")

PIPELINE = {"before:fuse-hlo": Speaks}
"""


@pytest.mark.long
def test_jax_runs_beside_a_broken_package(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    site = tmp_path / "site"
    write_package(site, "broken_package", "1 / 0\n", BROKEN)
    (site / "program.py").write_text("import jax.numpy as jnp\nprint(float((jnp.arange(4.0) + 1).sum()))\n")
    os.environ["JAX_PLATFORMS"], before = "xhlo", os.environ.get("JAX_PLATFORMS")
    try:
        write_package(site, "placing_package", PLACED, {"xhlo.pipeline": "looks = placing_package:PIPELINE"})
        # The plugin of JAX is found by an entry point of ours, which a checkout on PYTHONPATH lacks.
        write_package(site, "xhlo_plugin", "", {"jax_plugins": "xhlo = xhlo.frontends.jax.jax_plugin"})
        done = run(site, "program.py")
    finally:
        del os.environ["JAX_PLATFORMS"]
        if before is not None:
            os.environ["JAX_PLATFORMS"] = before
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "10.0"), done.stderr
    assert "a pass of a package" in done.stdout
    assert "PluginWarning: the package broken-package" in done.stderr
    assert "ZeroDivisionError: division by zero" in done.stderr


TYPES = """
from xdsl.ir import Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import IRDLOperation, irdl_attr_definition, irdl_op_definition, operand_def, result_def

@irdl_attr_definition
class TicketType(ParametrizedAttribute, TypeAttribute):
    name = "desk.ticket"

@irdl_attr_definition
class UrgentAttr(ParametrizedAttribute):
    name = "desk.urgent"

@irdl_op_definition
class TakeOp(IRDLOperation):
    name = "desk.take"
    ticket = operand_def(TicketType)
    result = result_def(TicketType)
    assembly_format = "$ticket attr-dict `:` type($ticket) `->` type($result)"

DIALECT = Dialect("desk", [TakeOp], [TicketType, UrgentAttr])
"""


def test_types_and_attributes_of_a_package_load_like_operations(install: Install) -> None:
    """The type comes before any operation of its dialect."""
    install("desk_types", TYPES, xhlo__ops="desk = desk_types:DIALECT")
    text = """
    func.func @f(%t: !desk.ticket) -> !desk.ticket attributes {how = #desk.urgent} {
      %0 = desk.take %t : !desk.ticket -> !desk.ticket
      return %0 : !desk.ticket
    }
    """
    module = parse_module(text, "f.mlir", make_context())
    function = next(iter(module.ops))
    assert type(function.function_type.inputs.data[0]).__name__ == "TicketType"
    assert type(function.attributes["how"]).__name__ == "UrgentAttr"


@pytest.mark.parametrize(
    ("source", "warned"),
    [
        ("DIALECT = 3", "expected a Dialect, or a sequence of operation classes, got int"),
        ("DIALECT = [int]", "<class 'int'> is no operation class"),
        (
            "from xhlo.hlo_dialect.ops.elementwise_binary import AddOp\nDIALECT = [AddOp]",
            "there is another one: Operation hlo.add has already been loaded",
        ),
        ("import sys\nsys.exit('no licence')", "SystemExit: no licence"),
    ],
)
def test_what_is_no_dialect_is_left_out(install: Install, source: str, warned: str) -> None:
    install("odd_package", source, xhlo__ops="odd = odd_package:DIALECT")
    sys.modules.pop("odd_package", None)
    ctx = make_context()
    ctx.load_registered_dialect("hlo")
    with pytest.warns(xhlo.PluginWarning, match="the package odd-package") as caught:
        assert ctx.get_optional_op("odd.op") is None
    assert warned in str(caught[0].message)
    assert Path(caught[0].filename) == Path(__file__), "the warning is at the user's line"


def test_a_rule_for_an_operation_that_has_one_is_left_out(install: Install) -> None:
    install(
        "sums_package",
        "from xhlo.hlo_dialect.ops.elementwise_binary import AddOp, MultiplyOp\nRULES = [(AddOp, 'theirs'), (MultiplyOp, 'theirs')]",
        test__rules="sums = sums_package:RULES",
    )
    table = Rules[str]("test", group="test.rules")
    table.add({AddOp: "ours"})
    with pytest.warns(xhlo.PluginWarning, match=r"test has two rules for hlo.add: .*, .* test.rules of sums-package"):
        assert table.get(AddOp) == "ours"


PASSES = """
from dataclasses import dataclass
from xdsl.universe import Universe
from xhlo.hlo_dialect.hlo_pass import HloPass

seen = []

@dataclass(frozen=True)
class LookPass(HloPass):
    \"\"\"Looks at the module.\"\"\"
    name = "look-at-it"
    times: int = 1

    def run(self, ctx, module):
        seen.append((self.times, sorted({op.name for op in module.walk()} & {"hlo.add", "hlo.fusion", "linalg.generic"})))

def broken():
    raise ImportError("no such engine")

UNIVERSE = Universe(all_dialects={}, all_passes={"look-at-it": lambda: LookPass, "cse": lambda: LookPass, "engine": broken})
PIPELINE = {"before:fuse-hlo": "look-at-it{times=2}", "after:fuse-linalg": [LookPass, "look-at-it"]}
WRONG = {"before:fuse-hlo": "look-at-it{often=true}"}
NOWHERE = {"before:fuse-it": LookPass}
"""


def test_packages_place_passes(install: Install) -> None:
    install(
        "looking_package",
        PASSES,
        xdsl__universe="looks = looking_package:UNIVERSE",
        xhlo__pipeline="a = looking_package:PIPELINE\nb = looking_package:WRONG\nc = looking_package:NOWHERE",
    )
    with pytest.warns(xhlo.PluginWarning) as caught:
        exe = xhlo.compile(PROGRAM + "// with the package's passes")
    messages = "\n".join(str(warning.message) for warning in caught)
    assert "pass name 'cse' of looks (looking_package:UNIVERSE) is taken by xDSL" in messages
    assert "pass 'look-at-it': " in messages and "often" in messages
    assert "no place is named 'before:fuse-it'" in messages
    module = sys.modules["looking_package"]
    linalg = (1, ["linalg.generic"])
    assert module.seen == [(2, ["hlo.add"]), linalg, linalg]
    module.seen.clear()
    exe.as_text("fused")
    assert module.seen == [(2, ["hlo.add"])]
    with pytest.raises(ValueError, match="pass 'engine' of looks .* cannot be loaded: ImportError: no such engine"):
        xhlo.compile(PROGRAM, pipeline={"after:cse": "engine"})


def negates(name: str) -> type:
    """A class of passes that replace hlo.add by hlo.subtract."""
    from xdsl.passes import ModulePass

    from xhlo.hlo_dialect.op import replace_op
    from xhlo.hlo_dialect.ops.elementwise_binary import SubtractOp

    class Negates(ModulePass):
        def apply(self, ctx, op):
            for each in list(op.walk()):
                if isinstance(each, AddOp):
                    new = SubtractOp.create(operands=list(each.operands), result_types=[each.result.type])
                    replace_op(each, [new], new.results)

    Negates.name = name
    return Negates


def test_compile_takes_passes_at_places() -> None:
    x = np.linspace(0, 1, 8, dtype=np.float32)
    changed = xhlo.compile(PROGRAM, pipeline={"before:fuse-hlo": negates("negates")()})
    np.testing.assert_allclose(changed(x), np.exp(x) - x, rtol=1e-6)
    np.testing.assert_allclose(xhlo.compile(PROGRAM)(x), np.exp(x) + x, rtol=1e-6)
    assert "hlo.subtract" in changed.as_text("fused") and "hlo.add" in changed.as_text("hlo")
    same = {"after:simplify-hlo": "dce,cse"}
    assert xhlo.compile(PROGRAM, pipeline=same) is xhlo.compile(PROGRAM, pipeline=dict(same))
    assert xhlo.compile(PROGRAM, pipeline=same) is not xhlo.compile(PROGRAM)


def test_passes_that_are_no_dataclasses_are_told_apart() -> None:
    from xdsl.passes import ModulePass

    class Says(ModulePass):
        name = "says"

        def __init__(self, word: str, said: list[str]):
            self.word, self.said = word, said

        def apply(self, ctx, op):
            self.said.append(self.word)

    said: list[str] = []
    one = Says("one", said)
    assert one == Says("two", said), "xDSL compares the fields of dataclasses, and there are none"
    executables = [xhlo.compile(PROGRAM, pipeline={"before:cse": each}) for each in (one, Says("two", said), one)]
    assert said == ["one", "two"] and executables[0] is executables[2] is not executables[1]


@pytest.mark.parametrize(
    ("pipeline", "error", "message"),
    [
        ({"before:fuse-hlp": "cse"}, ValueError, "the pipeline has no pass 'fuse-hlp'; did you mean 'fuse-hlo'"),
        ({"fuse-hlo": "cse"}, ValueError, "no place is named 'fuse-hlo': expected before:PASS or after:PASS"),
        ({"before:fuse-hlo": "csee"}, ValueError, "no pass is named 'csee'; did you mean 'cse'"),
        ({"before:fuse-hlo": "cse{"}, ValueError, "syntax of the pass pipeline"),
        ({"before:fuse-hlo": 3}, TypeError, "expected a pass or its text, got int"),
        ("cse", TypeError, "takes a mapping from places to passes, got str"),
    ],
)
def test_wrong_places(pipeline: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        xhlo.compile(PROGRAM, pipeline=pipeline)


def test_what_a_foreign_pass_leaves_is_verified() -> None:
    from xdsl.passes import ModulePass

    class Spoils(ModulePass):
        name = "spoils"

        def apply(self, ctx, op):
            for each in op.walk():
                if isinstance(each, AddOp):
                    each.operands = [each.operands[0]]

    with pytest.raises(Exception, match="the module is invalid after pass 'spoils'"):
        xhlo.compile(PROGRAM, pipeline={"before:fuse-hlo": Spoils})


def test_the_disk_cache_knows_places_and_packages(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = plugins.fingerprint()
    site = install("costly_package", "COSTS = ()\n", xhlo__costs="a = costly_package:COSTS")
    first = plugins.fingerprint()
    assert len(first) == len(before) + 1 and "costly_package.py" in "".join(first)
    plugins.fingerprint.cache_clear()
    (site / "costly_package.py").write_text("COSTS = []  # changed\n")
    assert plugins.fingerprint() != first
    cpu = get_target("cpu")
    assert cpu.with_passes({"before:cse": "dce"}).places.text == ("before:cse=dce",)
    assert cpu.with_passes({"before:cse": negates("dce")}).places.text is None, "another class of that name"
    assert cpu.with_passes({"before:cse": negates("mine")}).places.text is None


PASS_FILE = PASSES.partition("def broken")[0].replace("look-at-it", "look-again")


def test_a_file_of_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str], no_files: None) -> None:
    from xhlo.tools.hlo_opt import main

    path, program = tmp_path / "my_pass.py", tmp_path / "f.mlir"
    path.write_text(PASS_FILE)
    program.write_text(PROGRAM)
    assert main([f"--load={path}", "--look-again=times=3", str(program)]) == 0
    (module,) = [module for name, module in sys.modules.items() if name.startswith("loaded_") and "my_pass" in name]
    assert module.seen == [(3, ["hlo.add"])]
    registry.full_registry.cache_clear()
    registry._of_files.clear()
    assert main(["--load", str(path), "--list-passes"]) == 0
    assert "look-again" in (out := capsys.readouterr().out) and "Looks at the module." in out
    assert main([f"--load={path}", str(program)]) == 2
    assert f"the pass name 'look-again' of {path} is taken by {path}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, r"cannot read .*p\.py: No such file or directory"),
        ("x = 1", r"p\.py defines no pass: no class derived from ModulePass or HloPass that has a name"),
        (
            "import nothing_here",
            r"cannot load .*p\.py: ModuleNotFoundError: No module named 'nothing_here' \(.*p\.py:1\)",
        ),
        ("def f(:", r"cannot load .*p\.py: SyntaxError: "),
    ],
)
def test_wrong_files_of_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str | None, message: str
) -> None:
    import re

    from xhlo.tools.hlo_opt import main

    path = tmp_path / "p.py"
    if source is not None:
        path.write_text(source)
    assert main([f"--load={path}", "--version"]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_unknown_targets_and_wrong_ones(install: Install) -> None:
    install("odd_target", "TARGET = 3", xhlo__targets="odd = odd_target:TARGET")
    with pytest.raises(UnknownTargetError, match="no instance of a class derived from Target, but 3"):
        get_target("odd")


def test_warnings_can_be_errors(install: Install) -> None:
    install("broken_calls", "1 / 0", xhlo__ops="x = broken_calls:X")
    with warnings.catch_warnings(), pytest.raises(xhlo.PluginWarning):
        warnings.simplefilter("error", xhlo.PluginWarning)
        make_context().get_optional_op("x.y")


def test_what_is_no_format_is_left_out(install) -> None:
    before = formats.formats()
    install("odd_formats", "FORMAT = 3\n", xhlo__formats="odd = odd_formats:FORMAT")
    formats.formats.cache_clear()
    with pytest.warns(plugins.PluginWarning, match="odd-formats .* is left out: expected a Format.*, got int"):
        assert [each.name for each in formats.formats()] == [each.name for each in before]
    formats.formats.cache_clear()
