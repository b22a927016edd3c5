"""The first program of a process imports only the modules that concern its operations. Counted, not timed."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from xdsl.ir import Operation

from checkout import ROOT
from xhlo.hlo_dialect import installed, rules
from xhlo.hlo_dialect.dialect import hlo_dialect, hlo_operations, make_context
from xhlo.hlo_dialect.hlo_pass import HloPass
from xhlo.hlo_dialect.reading import parse_module
from xhlo.hlo_dialect.walking import Survey
from xhlo.passes.expand_math import calls, integers
from xhlo.passes.expand_math.transform import REPLACED
from xhlo.passes.manager.contents import Contents
from xhlo.passes.manager.registry import PassEntry, builtin_registry, scan_source
from xhlo.passes.simplify_hlo.rewrite import approximations, simplifications
from xhlo.targets.cpu.host import host_vector_bits
from xhlo.targets.cpu.target import CPU
from xhlo.targets.program.pipeline import run_passes

COLD = """
import sys
import numpy as np
import xhlo
text = open("examples/softmax.mlir").read()
xhlo.compile(text)(np.ones((512, 1024), np.float32))
print(*sys.modules)
"""

COUNTED = f"""
import gc
collections = []
gc.callbacks.append(lambda phase, found: collections.append(found["collected"]))
from xhlo.dialects.support import definitions
formats, read = [], definitions._read
definitions._read = lambda text, op_def: [formats.append(text), read(text, op_def)][1]
import os
from xhlo.hlo_dialect import file_scans
from xhlo.targets.cache import kept
kept.__file__ = os.path.join(os.environ["XHLO_CACHE_DIR"], "kept.py")  # not that which other processes have kept
opened, load = [], file_scans._contents
file_scans._contents = lambda path: [opened.append(path), load(path)][1]
gc.collect()
collections.clear()
{COLD.replace("print(*sys.modules)", "")}
from xhlo.targets.cache.definitions import DEFINITIONS
print(DEFINITIONS.compiled, len(opened), len(formats), len([found for found in collections if found > 1000]))
"""

NOT_NEEDED = """
concurrent.futures difflib fractions importlib.metadata ml_dtypes xdsl.dialects.vector xdsl.transforms.canonicalize
xhlo.dialects.gpu.nvvm xhlo.dialects.gpu.rocdl
xhlo.hlo_dialect.collectives.exchanges xhlo.hlo_dialect.collectives.process_groups
xhlo.hlo_dialect.custom_calls.batched_calls xhlo.hlo_dialect.custom_calls.lapack_library
xhlo.hlo_dialect.custom_calls.lapack_plans
xhlo.hlo_dialect.ops.algorithms.fourier xhlo.hlo_dialect.ops.convolution xhlo.hlo_dialect.ops.gather
xhlo.hlo_dialect.ops.quantized.arithmetic xhlo.hlo_dialect.ops.scatter xhlo.hlo_dialect.ops.sort
xhlo.hlo_dialect.ops.tuples
xhlo.hlo_dialect.sharding.attributes xhlo.lowering.convert_contractions_to_vector.kernel
xhlo.lowering.convert_hlo_to_linalg.gather xhlo.lowering.convert_linalg_ext_to_scf.conversion
xhlo.passes.decompose_hlo.fourier xhlo.passes.resolve_dynamic_shapes xhlo.passes.schedule_kernels.rematerialize
xhlo.passes.simplify_hlo.indexing xhlo.passes.split_complex.transform xhlo.passes.unroll_loops
xhlo.targets.program.guard xhlo.targets.program.unknown_sizes
""".split()


TOOL = """
import dataclasses, importlib, io, sys
plain, process = [], dataclasses._process_class
def note(cls, *rest):
    plain.extend([cls.__module__] * ("exec" not in vars(dataclasses)))
    return process(cls, *rest)
dataclasses._process_class = note
sys.argv[1:] = WORDS
shown, sys.stdout = sys.stdout, io.StringIO()
status = importlib.import_module(f"xhlo.tools.{sys.argv[1]}").main(sys.argv[2:])
print(status, "xdsl" in sys.modules, *[name for name in plain if name.startswith("xdsl")], file=shown)
"""


def _cold(environment: dict[str, str], code: str = COLD) -> list[str]:
    """The modules that a process has imported after its first result, which it prints."""
    # Without site: what other packages on the path import at start does not count.
    path = [entry for entry in sys.path if "site-packages" in entry]
    code = f"import sys; sys.path[:0] = {[str(ROOT), *path]!r}\n{code}"
    command = [sys.executable, "-S", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment).stdout.split()


FIRST_OF_A_SORT = """
import sys
import xhlo
xhlo.compile('''func.func @main(%x: tensor<32xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %i = hlo.iota dim = 0 : tensor<32xi32>
  %0:2 = "hlo.sort"(%x, %i) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = hlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    hlo.return %p : tensor<i1>
  }) : (tensor<32xf32>, tensor<32xi32>) -> (tensor<32xf32>, tensor<32xi32>)
  %1 = hlo.slice %0#0 [0:4] : (tensor<32xf32>) -> tensor<4xf32>
  %2 = hlo.slice %0#1 [0:4] : (tensor<32xi32>) -> tensor<4xi32>
  return %1, %2 : tensor<4xf32>, tensor<4xi32>
}''')
print(*sys.modules)
"""


FIRST_PRODUCT = """
import sys
import xhlo
xhlo.compile('''func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.multiply %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}''')
print(*sys.modules)
"""


def test_a_product_of_elements_imports_no_elementary_functions_and_no_rules_for_fast_math(tmp_path: Path):
    loaded = _cold({"XHLO_CACHE_DIR": str(tmp_path), "PATH": ""}, FIRST_PRODUCT)
    assert "xhlo.passes.expand_math.transform" in loaded
    wrong = (
        *("xhlo.passes.expand_math.calls", "xhlo.passes.expand_math.exponential", "xhlo.passes.expand_math.extremes"),
        *("xhlo.passes.simplify_hlo.approximations", "xhlo.passes.simplify_hlo.convolution"),
        *("xhlo.hlo_dialect.ops.convolution", "xhlo.hlo_dialect.ops.check_calls"),
    )
    assert not set(loaded).intersection(wrong)


def test_operations_that_functions_replace_are_told_by_their_names():
    tables = (calls.BODIES, calls.WITH_LIBRARY, calls.WITH_SCALINGS, calls.NO_LIBRARY, integers.DIVISIONS)
    for op_type in frozenset[type[Operation]]().union(*tables):
        assert op_type.name.startswith(REPLACED), op_type.name


def test_a_lookup_in_one_table_leaves_files_for_others_of_the_package():
    (multiply,) = (op for op in hlo_operations() if op.name == "hlo.multiply")
    files = [table._stated_in("xhlo.passes.simplify_hlo") for table in (simplifications, approximations)]  # pyright: ignore[reportPrivateUsage]
    plain, fast = (stated["xhlo.passes.simplify_hlo.approximations"] for stated in files)
    assert multiply.__name__ in fast and multiply.__name__ not in plain


def test_the_first_elements_of_a_sort_import_no_factorizations(tmp_path: Path):
    loaded = _cold({"XHLO_CACHE_DIR": str(tmp_path), "PATH": ""}, FIRST_OF_A_SORT)
    assert "xhlo.lowering.convert_linalg_ext_to_scf.top_k" in loaded
    wrong = (
        "decompose_hlo.native_factors",
        "convert_linalg_ext_to_scf.unblocked",
        "convert_linalg_ext_to_scf.few_sides",
    )
    assert [name for name in loaded if name.endswith(wrong)] == []


FIRST_ADDITION = """
import sys
import xhlo
xhlo.compile('''func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}''')
print(*sys.modules)
"""


def test_a_first_addition_imports_no_reductions(tmp_path: Path):
    loaded = _cold({"XHLO_CACHE_DIR": str(tmp_path), "PATH": ""}, FIRST_ADDITION)
    wrong = ("convert_linalg_to_scf.reduction", "convert_linalg_to_scf.row", "convert_linalg_to_scf.iterated")
    assert "xhlo.lowering.convert_linalg_to_scf.conversion" in loaded
    assert [name for name in loaded if name.endswith(wrong)] == []


def test_a_first_softmax_imports_what_it_needs_and_a_kept_one_no_compiler(tmp_path: Path):
    environment = {"XHLO_CACHE_DIR": str(tmp_path), "PATH": ""}
    loaded = _cold(environment)
    assert [name for name in NOT_NEEDED if name in loaded] == []
    # Vectors below 512 bits take five more, for loops and polynomials that these suit.
    assert len([name for name in loaded if name.startswith("xhlo")]) < 361 + 5 * (host_vector_bits() < 512)
    assert len(loaded) < 701
    kept = _cold(environment)
    assert [name for name in ("xdsl", "html", *NOT_NEEDED) if name in kept] == []
    assert len(kept) < 324


def test_a_first_compilation_compiles_no_methods_and_reads_few_formats_and_no_sources(tmp_path: Path):
    environment = {"XHLO_CACHE_DIR": str(tmp_path), "PATH": ""}
    compiled, opened, *_ = map(int, _cold(environment, COUNTED))
    assert compiled > 500 and opened > 200  # the first of this version of Python
    for path in tmp_path.glob("*.xhlo"):
        path.unlink()
    compiled, opened, formats, collections = map(int, _cold(environment, COUNTED))
    assert (compiled, opened, collections) == (0, 0, 0)
    assert formats <= 1  # that of `return`


@pytest.mark.parametrize("words", [("hlo_opt", "--fuse", "--lower"), ("hlo_run",)])
def test_tools_define_the_classes_of_xdsl_with_kept_code(words: tuple[str, ...], tmp_path: Path):
    environment = {"XHLO_CACHE_DIR": str(tmp_path), "PATH": ""}
    code = TOOL.replace("WORDS", repr([*words, "examples/softmax.mlir"]))
    assert _cold(environment, code) == ["0", "True"]


def test_hlo_opt_imports_no_passes_that_are_for_other_programs(tmp_path: Path):
    code = TOOL.replace("WORDS", repr(["hlo_opt", "--fuse", "--lower", "examples/softmax.mlir"]))
    code = code.replace('print(status, "xdsl" in sys.modules,', "print(*sys.modules,")
    loaded = _cold({"XHLO_CACHE_DIR": str(tmp_path), "PATH": ""}, code)
    others = (
        "convert_contractions_to_vector.kernel",
        "split_complex",
        "tile_loops",
        "unroll_loops",
        "propagate_shardings",
    )
    assert [name for name in loaded if name.startswith("xhlo") and any(other in name for other in others)] == []


def _tables() -> list[rules.Rules[object]]:
    homes = (
        *("frontends.batching.batcher", "frontends.hlo_text.writing.rules", "lowering.convert_chlo_to_hlo.rules"),
        *("lowering.convert_hlo_to_linalg.emission", "lowering.convert_linalg_ext_to_scf.conversion"),
        *("lowering.convert_nvvm_to_llvm.conversion", "lowering.convert_to_llvm.builder"),
        *("passes.convert_quantized_to_integer.transform", "passes.decompose_hlo.transform"),
        *("passes.partition_spmd.parts", "passes.propagate_shardings.rules", "passes.simplify_hlo.rewrite"),
        "passes.split_complex.arithmetic",
    )
    modules = [importlib.import_module(f"xhlo.{home}") for home in homes]
    return [value for module in modules for value in vars(module).values() if isinstance(value, rules.Rules)]


def test_the_files_of_a_table_say_for_which_classes_they_have_rules():
    tables = _tables()
    assert len(tables) >= 16
    for table in tables:
        assert table.package is not None
        files = rules.classes_by_file(table.package)
        for op_type in table.listed():
            home = table._places[op_type].rpartition(":")[0]  # pyright: ignore[reportPrivateUsage]
            if home in files:
                stated = table._stated_in(table.package)[home]  # pyright: ignore[reportPrivateUsage]
                assert not stated.isdisjoint({*rules.spellings(op_type), "*"}), f"{home} hides {op_type.__name__}"


def test_a_lookup_of_one_class_finds_the_rule_that_the_whole_table_has():
    for table in _tables():
        for op_type in table.listed():
            alone = rules.Rules[object](table.name, table.package, several=table.several)
            alone._rules, alone._places = table._rules, table._places  # pyright: ignore[reportPrivateUsage]
            assert alone.all(op_type) == table.all(op_type)


def test_operations_are_found_by_name_without_their_dialect():
    context = make_context()
    found = [context.get_optional_op(op.name) for op in hlo_operations()]
    assert found == list(hlo_operations())
    assert "hlo" not in [dialect.name for dialect in context.loaded_dialects]
    for attribute in hlo_dialect().attributes:
        lookup = (
            context.get_optional_type if attribute.name in ("hlo.token", "hlo.future") else context.get_optional_attr
        )
        assert lookup(attribute.name) is attribute
    # The whole dialect can be loaded afterwards.
    assert context.get_dialect("hlo") is hlo_dialect()
    assert context.get_optional_op("hlo.no_such_operation") is None


def test_the_text_of_a_pass_states_what_it_is_for():
    stated = [entry for entry in builtin_registry() if entry.only_for]
    assert len(stated) >= 13
    for entry in builtin_registry():
        if entry.origin == "xhlo":
            assert tuple(getattr(entry.load(), "only_for", ())) == entry.only_for, entry.name


def test_scanned_passes_may_be_for_any_program():
    text = 'class AbPass(HloPass):\n    """Do."""\n\n    name = "a-b"\n    only_for = (\n        "!x",\n        "y.z",\n    )\n'
    (found,) = scan_source(text, "no.such.module")
    assert found.only_for == ("!x", "y.z")
    (found,) = scan_source(text.replace("only_for", "other"), "no.such.module")
    assert found.only_for == ()


CONTENTS = """
func.func @main(%z: tensor<4xcomplex<f32>>, %t: tuple<tensor<?xf32>, !stablehlo.token>) -> tensor<4xf32> {
  %0 = stablehlo.real %z {mhlo.xla_shape = "f32[4]{0}"} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_contents_of_a_module():
    module = parse_module(CONTENTS, ctx=make_context())
    contents = Contents(Survey.of(module))
    assert contents.operations >= {"hlo.real", "hlo.*", "func.return"} and "hlo.while" not in contents.operations
    assert contents.attributes == {"@mhlo.xla_shape"}
    assert contents.types >= {"!complex", "!tuple", "!hlo.token", "!tensor<?>"}
    assert contents.has_any(()) and contents.has_any(("!complex", "chlo.*")) and not contents.has_any(("chlo.*",))
    assert contents.has_any(("@mhlo.xla_shape",)) and not contents.has_any(("@xhlo.contraction", "!quant.uniform"))


def _front() -> list[PassEntry]:
    names = [spec.partition("{")[0] for spec in CPU.passes_to("llvm")]
    return [entry for entry in builtin_registry() if entry.only_for and entry.name in names]


@pytest.mark.parametrize("example", ["softmax", "mlp_training_step", "running_example"])
def test_a_pass_that_is_for_other_programs_changes_nothing(example: str):
    context = make_context()
    module = parse_module((ROOT / "examples" / f"{example}.mlir").read_text(), ctx=context)
    skipped = [entry for entry in _front() if not Contents(Survey.of(module)).has_any(entry.only_for)]
    assert len(skipped) >= 8
    before = str(module)
    for entry in skipped:
        cast(HloPass, entry.load()()).run(context, module)
        assert str(module) == before, entry.name


def test_a_pass_runs_once_the_program_has_what_it_is_for():
    text = """
func.func @main(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = chlo.square %x : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}
"""
    context = make_context()
    module = parse_module(text, ctx=context)
    run_passes(context, module, ("flatten-tuples", "convert-chlo-to-hlo", "split-complex"))
    assert "complex<" not in str(module) and "chlo" not in str(module)


def _installed(folder: Path, name: str, points: str | None) -> None:
    info = folder / f"{name}-2.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.5\n")
    if points is not None:
        (info / "entry_points.txt").write_text(points)


def test_entry_points_are_looked_for_in_text_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    _installed(tmp_path, "other_package", "[console_scripts]\nother = other:main\n[xhlo.nothing]\na = math:pi\n")
    _installed(tmp_path, "quiet", None)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    points = installed.InstalledPoints(tuple(sys.path))
    assert [point.value for point in points.select(group="xhlo.nothing")] == ["math:pi"]
    assert list(points.select(group="xhlo.no_such_group")) == []
    assert installed.version_of("quiet") == "2.5"


def test_the_passes_of_xdsl_itself_need_no_entry_points(tmp_path: Path):
    for name in ("xdsl", "xdsl_more"):
        _installed(tmp_path, name, "[xdsl.universe]\nall = xdsl.universe:XDSL_UNIVERSE\n")
    assert installed._groups_on((str(tmp_path),)) == {"xdsl.universe"}  # pyright: ignore[reportPrivateUsage]
    shutil.rmtree(tmp_path / "xdsl_more-2.5.dist-info")
    assert installed._groups_on((str(tmp_path),)) == frozenset()  # pyright: ignore[reportPrivateUsage]


def test_packages_of_other_finders_are_asked_for(monkeypatch: pytest.MonkeyPatch):
    class Finder:
        def find_spec(self, *given: object) -> None:
            return None

        def find_distributions(self, *given: object) -> list[object]:
            return []

    finder = Finder()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    points = installed.InstalledPoints(tuple(sys.path))
    assert points._groups is None  # pyright: ignore[reportPrivateUsage]
    assert list(points.select(group="xhlo.no_such_group")) == []
