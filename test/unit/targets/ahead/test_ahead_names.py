"""Names of programs that C, C++, Python or Rust reserve, and names that the libraries' own files use."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ahead_machines import WARNINGS, run
from xhlo.targets.ahead.interface import LibraryNameError
from xhlo.targets.ahead.library import Library, compile_ahead
from xhlo.targets.ahead.names import identifier, namespace

NAMES = """
int class or xor_eq constinit char8_t typeof _Bool co_await linux unix NULL EOF I errno stdin NAN INT_MAX M_PI FLT_MAX
int8_t size_t float model model_args model_run MODEL_OK std View Array Arena Results Program xhlo_args xhlo_results out
arena_ lambda None def given function np ctypes Path len ARGUMENTS RESULTS fn self Self super crate match loop results
args memory code message Block ARENA_BYTES Some Ok Err x X x_len X_LEN x_shape arena stack api ok
""".split()
ENTRIES = "std View Array Arena forward map np len zip lambda fn self Path run Results int linux or exp".split()

HEADERS = ("math", "stdio", "stdlib", "string", "errno", "complex", "limits", "float", "signal", "stdbool", "time")


def program(arguments: Sequence[str], results: Sequence[str], entry: str = "main") -> str:
    given = ", ".join(f"%{name}: tensor<3xf32>" for name in arguments)
    info = ", ".join(f"tensor<3xf32> {{jax.result_info = \"result['{name}']\"}}" for name in results)
    values = ", ".join(f"%{arguments[n % len(arguments)]}" for n in range(len(results)))
    types = ", ".join(["tensor<3xf32>"] * len(results))
    return f"func.func @{entry}({given}) -> ({info}) {{ return {values} : {types} }}\n"


def check(library: Library, folder: Path, call: str) -> None:
    """Compile all of a library's files without a warning, and run the Python module."""
    linker = shutil.which("ld") or shutil.which("ld.lld")
    name = library.name
    library.write(folder, ["rust", *(["python"] if linker else [])])
    headers = "".join(f"#include <{each}.h>\n" for each in HEADERS)
    (folder / "use.c").write_text(f'{headers}#include "{name}.h"\nint main(void) {{ return {name.upper()}_OK; }}\n')
    (folder / "use.cpp").write_text(f'#include <cmath>\n#include "{name}.hpp"\nint main() {{ return 0; }}\n')
    (folder / "top.rs").write_text(f'#[path = "{name}.rs"]\nmod library;\nfn main() {{}}\n')
    for compiler, standards in (("gcc", ("c99", "gnu17")), ("g++", ("c++17", "gnu++20")), ("clang++", ("c++20",))):
        if shutil.which(compiler) is not None:
            file = "use.c" if compiler == "gcc" else "use.cpp"
            for standard in standards:
                run(folder, compiler, f"-std={standard}", *WARNINGS, "-fsyntax-only", file)
    if shutil.which("rustc") is not None:
        run(folder, "rustc", "--edition=2021", "-D", "warnings", "-L", ".", "--emit=metadata", "top.rs")
    if linker:
        script = f"import sys\nsys.path.insert(0, '.')\nimport numpy as np, {name}\nx = np.ones(3, np.float32)\n{call}"
        run(folder, sys.executable, "-P", "-c", script)


@pytest.mark.long
@pytest.mark.parametrize("side", ["arguments", "results"])
def test_arguments_and_results(side: str, tmp_path: Path) -> None:
    text = program(NAMES, ["y"]) if side == "arguments" else program(["y"], NAMES)
    library = compile_ahead(text)
    ports = library.interface.arguments if side == "arguments" else library.interface.results
    assert len({port.name.lower() for port in ports}) == len(NAMES)
    count = len(library.interface.arguments)
    check(library, tmp_path, f"assert np.all(np.array(model.run(*[x] * {count})) == 1)")


@pytest.mark.long
def test_functions(tmp_path: Path) -> None:
    library = compile_ahead("".join(program(["x"], ["y"], name) for name in ENTRIES), "exp", entries=["all"])
    names = ["xint", "xxor", "lambda_", "np_", "len_", "zip_", "map", "std", "exp"]
    check(library, tmp_path, "\n".join(f"assert exp.{name}(x)[0] == 1" for name in names))
    # `exp` is a function of C, so that no namespace can be; the entry's is inside of it.
    assert "namespace exp_ {" in library.cpp_header and "namespace exp {" in library.cpp_header


def test_names_of_libraries(tmp_path: Path) -> None:
    text = program(["x"], ["y"])
    for name in ("int", "linux", "NULL"):
        with pytest.raises(LibraryNameError, match=f"'{name}' cannot begin .*: C or C\\+\\+ reserves it"):
            compile_ahead(text, name)
    for name, reason in (("random", "would hide a module of Python's own"), ("lambda", "Python reserves it")):
        with pytest.raises(LibraryNameError, match=reason):
            compile_ahead(text, name).write(tmp_path, ["python"])
    assert list(tmp_path.iterdir()) == []


def test_only_what_is_reserved_gets_another_name() -> None:
    plain = "near far index image_width IMAGE_WIDTH SIGMA EMB E x_max INTENSITY struct_ stream memory M_inv".split()
    assert [identifier(name) for name in plain] == plain
    assert [identifier(name) for name in ("or", "size_t", "I")] == ["xxor", "xsize_t", "xI"]
    plain = ["step", "softmax", "stream", "memory", "island", "execute", "expand", "model"]
    assert [namespace(name) for name in plain] == plain
    assert [namespace(name) for name in ("exp", "index", "printf", "std")] == ["exp_", "index_", "printf_", "std_"]


def test_macros_of_entries_whose_names_begin_alike() -> None:
    """An arena of the bytes that another entry needs would be too small."""
    both = program(["g_arena", "g_b", "g_b_"], ["r"], "f") + program(["B", "b"], ["r"], "f_g")
    header = compile_ahead(both, entries="all").header
    macros = [line.split()[1] for line in header.splitlines() if line.startswith("#define") and "_API" not in line]
    assert len(macros) > 40
    assert len(set(macros)) == len(macros)


def test_entries_that_differ_in_capitals_alone_are_refused() -> None:
    with pytest.raises(LibraryNameError, match="f, F cannot be told apart"):
        compile_ahead(program(["x"], ["r"], "f") + program(["x"], ["r"], "F"), entries=["f", "F"])
