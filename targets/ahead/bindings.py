"""The interface of a program for other languages and build systems: Python, Rust, CMake and pkg-config."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence

from .header import ARENA_ALIGNMENT
from .interface import Interface, Port
from .threads import Threads

_SIZES = (8, 16, 32, 64)
_NUMPY = {
    "float": "float32",
    "double": "float64",
    "complex64": "complex64",
    "complex128": "complex128",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in _SIZES},
}
_RUST = {
    "float": "f32",
    "double": "f64",
    "complex64": "[f32; 2]",
    "complex128": "[f64; 2]",
    **{f"int{bits}_t": f"i{bits}" for bits in _SIZES},
    **{f"uint{bits}_t": f"u{bits}" for bits in _SIZES},
}
_RUST_KEYWORDS = frozenset(
    """
    Self abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if
    impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try type
    typeof unsafe unsized use virtual where while yield
    """.split()
)
_RESERVED = frozenset(("arena", "np", "ctypes", "run"))
"""Names that the modules use themselves."""


def python_module(interface: Interface, made_for: str) -> str:
    """`model.py`: the shared library beside it as a function of NumPy arrays, by ctypes."""
    arguments = _names(interface.arguments, keyword.iskeyword)
    tables = [
        f"{title} = ({' '.join(f'({port.name!r}, {_dtype(port)!r}, {port.shape!r}),' for port in ports)})"
        for title, ports in (("ARGUMENTS", interface.arguments), ("RESULTS", interface.results))
    ]
    lines = [
        f'"""The program {interface.name}, compiled by xhlo for {made_for}: `run` on NumPy arrays."""',
        "",
        "import ctypes",
        "from pathlib import Path",
        "",
        "import numpy as np",
        "",
        *tables,
        '"""(name, element type, shape) of each; narrow floats are unsigned integers of their size."""',
        f"ARENA_BYTES = {max(interface.arena_bytes, 1)}",
        "",
        f'_library = ctypes.CDLL(str(Path(__file__).with_name("lib{interface.name}.so")))',
        f"_run = _library.{interface.name}_run",
        "_run.argtypes = [ctypes.c_void_p] * 3",
        "_run.restype = ctypes.c_int",
        "",
        "",
        "def _checked(value, name, dtype, shape):",
        "    array = np.require(value, requirements=['C', 'A'])",
        "    if array.dtype != dtype or array.shape != shape:",
        '        raise TypeError(f"{name} is {array.dtype}{list(array.shape)}, not {dtype}{list(shape)}")',
        "    return array",
        "",
        "",
        "def _addresses(arrays):",
        "    return (ctypes.c_void_p * max(len(arrays), 1))(*(array.ctypes.data for array in arrays))",
        "",
        "",
        f"def run({', '.join(arguments)}):",
        f'    """{_signature(interface)}',
        "",
        '    Raises TypeError for an array of another type or shape. Runs on several threads may go on at once."""',
        f"    given = ({''.join(f'{name}, ' for name in arguments)})",
        "    arrays = [_checked(value, *port) for value, port in zip(given, ARGUMENTS, strict=True)]",
        "    results = [np.empty(shape, dtype) for _, dtype, shape in RESULTS]",
        f"    memory = np.empty(ARENA_BYTES + {ARENA_ALIGNMENT}, np.uint8)",
        f"    arena = -(-memory.ctypes.data // {ARENA_ALIGNMENT}) * {ARENA_ALIGNMENT}",
        "    pointers = [_addresses(arrays), _addresses(results)]",
        "    code = _run(*map(ctypes.addressof, pointers), arena)",
        "    if code:",
        f'        raise RuntimeError(f"{interface.name}_run returned {{code}}")',
        "    return results[0] if len(results) == 1 else tuple(results)",
    ]
    return "\n".join(lines) + "\n"


def _signature(interface: Interface) -> str:
    results = ", ".join(port.type for port in interface.results)
    return f"({', '.join(f'{port.name}: {port.type}' for port in interface.arguments)}) -> ({results})."


def _dtype(port: Port) -> str:
    """NumPy's name of the elements; those of f16 and i1 have a type of their own there."""
    element = port.type.partition("tensor<")[2].rpartition(">")[0].rpartition("x")[2]
    return {"i1": "bool", "f16": "float16"}.get(element, _NUMPY[port.element])


def rust_module(interface: Interface, made_for: str) -> str:
    """`model.rs`: a safe function over the static library, which `cargo` or `rustc -L` finds."""
    name = interface.name
    arguments = _names(interface.arguments, _RUST_KEYWORDS.__contains__)
    results = _names(interface.results, _RUST_KEYWORDS.__contains__, arguments)
    ports = [*zip(arguments, interface.arguments, strict=True), *zip(results, interface.results, strict=True)]
    parameters = [f"{shown}: &[{_RUST[port.element]}]" for shown, port in ports[: len(arguments)]]
    parameters += [f"{shown}: &mut [{_RUST[port.element]}]" for shown, port in ports[len(arguments) :]]
    lines = [
        f"//! The program {name}, compiled by xhlo for {made_for}.",
        "#![allow(dead_code, clippy::too_many_arguments)]",
        "",
        "use std::ffi::{c_int, c_void};",
        "",
        f'#[link(name = "{name}", kind = "static")]',
        'extern "C" {',
        f"    fn {name}_run(args: *const *const c_void, results: *const *mut c_void, arena: *mut c_void) -> c_int;",
        *_rust_threads(interface),
        "}",
        "",
        "/// Bytes of the memory that a run uses for its intermediate values.",
        f"pub const ARENA_BYTES: usize = {max(interface.arena_bytes, 1)};",
        "",
        f"#[repr(C, align({ARENA_ALIGNMENT}))]",
        "#[derive(Clone, Copy)]",
        f"struct Block([u8; {ARENA_ALIGNMENT}]);",
        "",
        "/// The memory of a run; one for each thread.",
        "pub struct Arena(Vec<Block>);",
        "",
        "impl Arena {",
        "    pub fn new() -> Self {",
        f"        let blocks = (ARENA_BYTES + {ARENA_ALIGNMENT - 1}) / {ARENA_ALIGNMENT};",
        f"        Arena(vec![Block([0; {ARENA_ALIGNMENT}]); blocks])",
        "    }",
        "}",
        "",
        "impl Default for Arena {",
        "    fn default() -> Self {",
        "        Self::new()",
        "    }",
        "}",
        "",
        *(f"pub const {shown.upper()}_LEN: usize = {port.count}; // {port.type}" for shown, port in ports),
        "",
        "/// Run on row-major slices. The name of a slice of another length is the error.",
        f"pub fn run({', '.join([*parameters, 'arena: &mut Arena'])}) -> Result<(), &'static str> {{",
        *(
            f"    if {shown}.len() != {shown.upper()}_LEN {{\n        return Err({_quoted(shown)});\n    }}"
            for shown, _ in ports
        ),
        f"    let args: [*const c_void; {max(len(arguments), 1)}] = "
        f"[{', '.join(f'{shown}.as_ptr().cast()' for shown in arguments) or 'std::ptr::null()'}];",
        f"    let results: [*mut c_void; {max(len(results), 1)}] = "
        f"[{', '.join(f'{shown}.as_mut_ptr().cast()' for shown in results) or 'std::ptr::null_mut()'}];",
        f"    let code = unsafe {{ {name}_run(args.as_ptr(), results.as_ptr(), arena.0.as_mut_ptr().cast()) }};",
        '    if code == 0 { Ok(()) } else { Err("arena") }',
        "}",
    ]
    return "\n".join(lines) + "\n"


def _rust_threads(interface: Interface) -> list[str]:
    if interface.threads is Threads.NONE:
        return []
    ranges = 'extern "C" fn(context: *mut c_void, begin: i64, end: i64)'
    function = f'Option<extern "C" fn(range: {ranges}, context: *mut c_void, count: i64, user: *mut c_void)>'
    return [
        "    /// Loops of later runs are run by `function`; set it while no run goes on.",
        f"    pub fn {interface.name}_set_parallel_for(function: {function}, user: *mut c_void);",
    ]


def _quoted(text: str) -> str:
    return f'"{text}"'


def _names(ports: Sequence[Port], reserved: Callable[[str], bool], taken: Sequence[str] = ()) -> list[str]:
    """The names of ports, with an underscore after those that a language reserves or that are taken."""
    used, names = {*taken, *_RESERVED}, list[str]()
    for port in ports:
        name = port.name
        while reserved(name) or name in used:
            name += "_"
        used.add(name)
        names.append(name)
    return names


def cmake_config(interface: Interface) -> str:
    """`model-config.cmake`: `find_package(model CONFIG)` with the folder in `model_DIR` gives the target `model`."""
    name = interface.name
    return f"""add_library({name} STATIC IMPORTED)
set_target_properties({name} PROPERTIES
  IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}}/lib{name}.a"
  INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}}"
  INTERFACE_LINK_LIBRARIES "$<$<PLATFORM_ID:Linux>:m>")
"""


def pkg_config(interface: Interface) -> str:
    """`model.pc`, for a folder on PKG_CONFIG_PATH."""
    name = interface.name
    return f"""Name: {name}
Description: The program {name}, compiled by xhlo
Version: 0
Cflags: -I${{pcfiledir}}
Libs: -L${{pcfiledir}} -l{name} -lm
"""
