"""The pass registry finds passes by their files, imports none of them early, and refuses duplicate names."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from types import SimpleNamespace

import pytest
from xdsl.passes import ModulePass

from checkout import ROOT
from xhlo.hlo_dialect import plugins
from xhlo.passes.manager import registry
from xhlo.passes.manager.pipelines import FRONT, FUSE, FUSE_NONE, PipelineError, build_passes, pipeline_text
from xhlo.passes.manager.registry import (
    DuplicatePassError,
    PassEntry,
    PassRegistry,
    UnknownPassError,
    get_pass,
    list_passes,
)
from xhlo.targets.registry import OWN_TARGETS, UnknownTargetError, get_target

OWN = [entry for entry in list_passes() if entry.origin == "xhlo"]


def _camel_case(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))


@pytest.mark.parametrize("entry", OWN, ids=lambda entry: entry.name)
def test_own_pass_keeps_the_naming_rule(entry: PassEntry):
    pass_type = entry.load()
    assert issubclass(pass_type, ModulePass)
    assert pass_type.name == entry.name
    words = entry.name.replace("-", "_")
    assert entry.home.split(".", 1)[1] in (
        f"passes.{words}",
        f"passes.{words}.transform",
        f"lowering.{words}",
        f"lowering.{words}.conversion",
    )
    wanted = _camel_case(entry.name).lower() + "pass"
    assert pass_type.__name__.lower() == wanted, "class names differ from the pass's in capitals only"
    assert entry.summary, "the class has no docstring"


def test_xdsls_passes_are_there_by_their_names():
    from xdsl.transforms import get_all_passes

    assert set(get_all_passes()) <= {entry.name for entry in list_passes()}
    assert get_pass("cse").name == "cse"


def test_a_taken_name_raises():
    passes = PassRegistry()
    entry = PassEntry("cse", "xhlo", "", "one", lambda: get_pass("cse"))
    passes.register(entry)
    with pytest.raises(DuplicatePassError, match="the pass name 'cse' of two is taken by one"):
        passes.register(PassEntry("cse", "plugin", "", "two", entry.load))


def test_scan_finds_name_and_summary_without_import():
    text = '''
@dataclass(frozen=True)
class SortBlocksPass(HloPass):
    """
    Blocks in dominance order. More is said
    here.
    """

    name = "sort-blocks"
    strategy: str = "default"


class Helper(Base):
    name = "not-a-pass"
'''
    (found,) = registry.scan_source(text, "no.such.module")
    assert (found.name, found.summary) == ("sort-blocks", "Blocks in dominance order.")
    with pytest.raises(ModuleNotFoundError):
        found.load()


def test_listing_imports_no_compiler():
    code = (
        "import sys; from xhlo.passes.manager.registry import list_passes; list_passes(); print('xdsl' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


class _Point(importlib.metadata.EntryPoint):
    """The entry point of an installed package whose universe has the passes `ADDED`."""

    def load(self) -> object:
        return SimpleNamespace(all_passes=ADDED)


ADDED: dict[str, object] = {}


@pytest.fixture
def plugin_passes(monkeypatch: pytest.MonkeyPatch):
    """A function that installs the passes of a plugin; the registry is restored after the test."""

    def install(**passes: object) -> None:
        monkeypatch.setitem(ADDED, *next((name.replace("_", "-"), load) for name, load in passes.items()))
        points = importlib.metadata.EntryPoints([_Point("package", "package.universe:UNIVERSE", "xdsl.universe")])
        monkeypatch.setattr(plugins, "_entry_points", lambda path: points)
        registry.full_registry.cache_clear()

    yield install
    monkeypatch.undo()
    registry.full_registry.cache_clear()


def test_plugins_bring_passes(plugin_passes):
    plugin_passes(my_pass=lambda: get_pass("cse"))
    assert get_pass("my-pass").name == "cse"
    assert [entry.name for entry in list_passes() if entry.origin == "plugin"] == ["my-pass"]


def test_a_plugin_cannot_take_a_name(plugin_passes):
    plugin_passes(cse=lambda: get_pass("cse"))
    with pytest.warns(plugins.PluginWarning, match=r"'cse' of package \(package.universe:UNIVERSE\) is taken by xDSL"):
        assert get_pass("cse") is {entry.name: entry for entry in list_passes()}["cse"].load()


def test_unknown_pass_proposes_others():
    with pytest.raises(UnknownPassError, match="no pass is named 'canonicalise'; did you mean 'canonicalize'"):
        get_pass("canonicalise")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "no pass is named 'nothing'"),
        ("cse{x=1}", "pass 'cse': x is no option; it takes no options"),
        ("fuse-hlo{stratgy=none}", "pass 'fuse-hlo': stratgy is no option; did you mean 'strategy'?"),
        ("fuse-hlo{x=1}", "x is no option; its options are strategy=default|none, .*, most-ops=a whole number"),
        ("fuse-hlo{strategy=some}", "pass 'fuse-hlo': strategy is default|none, not 'some'"),
        ("fuse-hlo{strategy=none most-ops=1,2}", "pass 'fuse-hlo': most-ops is a whole number, not '1,2'"),
        ("fuse-hlo{strategy}", "pass 'fuse-hlo': strategy needs a value: default|none"),
        ("plan-gpu-kernels{chip=h100}", "pass 'plan-gpu-kernels': no chip is named 'h100'"),
        ("cse{", "syntax of the pass pipeline"),
        ("cse dce", "syntax of the pass pipeline"),
        ("@", "syntax of the pass pipeline"),
    ],
)
def test_wrong_pipelines(text: str, message: str):
    with pytest.raises(PipelineError, match=message.replace("|", r"\|")):
        build_passes(text)


def test_pipelines_print_as_they_read():
    text = "cse,canonicalize,dce"
    assert pipeline_text(build_passes(text)) == text
    assert pipeline_text(build_passes(f"builtin.module({text})")) == text


@pytest.mark.parametrize("target", list(map(get_target, OWN_TARGETS)), ids=lambda target: target.name)
def test_every_pipeline_can_be_built(target):
    for fuse in (FUSE, FUSE_NONE):
        specs = (*FRONT, *fuse, *target.passes_between(None, target.last_stage))
        assert [one.name for one in build_passes(specs)] == [spec.split("{")[0] for spec in specs]


def test_stages_of_a_target_add_up():
    cpu = get_target("cpu")
    assert cpu.passes_between(None, "llvm") == (
        *cpu.passes_between(None, "linalg"),
        *cpu.passes_between("linalg", "llvm"),
    )
    with pytest.raises(UnknownTargetError, match="no target is named 'abacus'; there are: cpu"):
        get_target("abacus")
