"""The interface of a program for other languages and build systems: Python, Rust, CMake and pkg-config."""

from __future__ import annotations

from .header import ARENA_ALIGNMENT, messages
from .interface import Entry, Interface, Port
from .names import python_name, rust_name, unlike, unlike_in_capitals
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
_OF_PYTHON = ("np", "ctypes", "Path", "len", "zip", "TypeError", "RuntimeError", "ImportError")
"""Names that functions of the Python module use."""

_PYTHON_OPENMP = (
    "for _name in ('libgomp.so.1', 'libomp.so.5', 'libomp.so'):",
    "    try:",
    "        ctypes.CDLL(_name, ctypes.RTLD_GLOBAL)",
    "        break",
    "    except OSError:",
    "        pass",
    "else:",
    "    raise ImportError('OpenMP is not installed: libgomp or libomp')",
)
"""Its functions are there before the library that calls them."""

_OF_RUST = ("Block", "Arena", "ARENA_BYTES", "message", "args", "results", "memory", "code", "arena", "c_int", "c_void")
"""Names of the Rust module, besides those of its functions and constants."""

_RUST_PRELUDE = ("Some", "None", "Ok", "Err")
"""Names that no parameter can hide."""


def python_module(interface: Interface, made_for: str, file: str) -> str:
    """`model.py`: the shared library `file` beside it as functions of NumPy arrays, by ctypes."""
    lines = [
        f'"""The program {interface.name}, compiled by xhlo for {made_for}: {_listed(interface)} on NumPy arrays."""',
        "",
        "import ctypes",
        "from pathlib import Path",
        "",
        "import numpy as np",
        "",
        *(_PYTHON_OPENMP if interface.threads is Threads.OPENMP else ()),
        f"_library = ctypes.CDLL(Path(__file__).with_name({file!r}).__fspath__())",
        f"_messages = {messages(interface)!r}",
        *_python_weights(interface),
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
        "    return (ctypes.c_void_p * (len(arrays) or 1))(*(array.ctypes.data for array in arrays))",
        "",
        "",
        "def _called(function, given, arguments, results, arena_bytes):",
        "    arrays = [_checked(value, *port) for value, port in zip(given, arguments, strict=True)]",
        "    made = [np.empty(shape, dtype) for _, dtype, shape in results]",
        f"    memory = np.empty(arena_bytes + {ARENA_ALIGNMENT}, np.uint8)",
        f"    arena = -(-memory.ctypes.data // {ARENA_ALIGNMENT}) * {ARENA_ALIGNMENT}",
        "    function.argtypes = [ctypes.c_void_p] * 3",
        "    pointers = [_addresses(arrays), _addresses(made)]",
        "    code = function(*(ctypes.addressof(each) for each in pointers), arena)",
        "    if code:",
        "        raise RuntimeError(_messages.get(code, 'unknown error'))",
        "    return made[0] if len(made) == 1 else (*made,)",
    ]
    for entry in interface.entries:
        lines += ["", "", *_python_function(interface, entry)]
    return "\n".join(lines) + "\n"


def _listed(interface: Interface) -> str:
    return ", ".join(f"`{_python_entry(interface, entry)}`" for entry in interface.entries)


def _python_weights(interface: Interface) -> list[str]:
    if interface.weights is None:
        return []
    return [
        f"_weights = np.memmap(Path(__file__).parent / {interface.weights.file!r}, np.uint8, 'r')",
        f"_set_weights = _library.{interface.name}_set_weights",
        "_set_weights.argtypes = [ctypes.c_void_p, ctypes.c_uint64]",
        "if _set_weights(_weights.ctypes.data, _weights.size):",
        f"    raise ImportError(f'{{_weights.filename}} does not have the weights of {interface.name}')",
    ]


def _python_function(interface: Interface, entry: Entry) -> list[str]:
    several = len(interface.entries) > 1
    before = f"{entry.prefix.upper()}_" if several else ""
    tables = [
        f"{before}{title} = ({' '.join(f'({port.name!r}, {_dtype(port)!r}, {port.shape!r}),' for port in ports)})"
        for title, ports in (("ARGUMENTS", entry.arguments), ("RESULTS", entry.results))
    ]
    used = [table.partition(" = ")[0] for table in tables]
    arguments: list[str] = []
    for port in entry.arguments:
        arguments.append(unlike(python_name(port.name), ("given", *used, *arguments)))
    return [
        *tables,
        '"""(name, element type, shape) of each; narrow floats are unsigned integers of their size."""',
        "",
        "",
        f"def {_python_entry(interface, entry)}({', '.join(arguments)}):",
        f'    """{_signature(entry)}',
        "",
        "    Raises TypeError for an array of another type or shape, RuntimeError with the text of a check that",
        '    fails. Runs on several threads may go on at once."""',
        f"    given = ({''.join(f'{each}, ' for each in arguments)})",
        f"    return _called(_library.{entry.prefix}_run, given, {used[0]}, {used[1]}, {max(entry.arena_bytes, 1)})",
    ]


def _python_entry(interface: Interface, entry: Entry) -> str:
    return unlike(python_name(interface.short(entry)), _OF_PYTHON)


def _signature(entry: Entry) -> str:
    results = ", ".join(port.type for port in entry.results)
    return f"({', '.join(f'{port.name}: {port.type}' for port in entry.arguments)}) -> ({results})."


def _dtype(port: Port) -> str:
    """NumPy's name of the elements; those of f16 and i1 have a type of their own there."""
    element = port.type.partition("tensor<")[2].rpartition(">")[0].rpartition("x")[2]
    return {"i1": "bool", "f16": "float16"}.get(element, _NUMPY[port.element])


def rust_module(interface: Interface, made_for: str) -> str:
    """`model.rs`: safe functions over the static library, which `cargo` or `rustc -L` finds."""
    name = interface.name
    several = len(interface.entries) > 1
    run = "(args: *const *const c_void, results: *const *mut c_void, arena: *mut c_void) -> c_int;"
    lines = [
        f"//! The program {name}, compiled by xhlo for {made_for}.",
        "#![allow(dead_code, non_snake_case, clippy::too_many_arguments)]",
        "",
        "use ::std::ffi::{c_int, c_void};",
        "",
        *(['#[link(name = "lapack")]', '#[link(name = "blas")]'] if interface.lapack else []),
        *(['#[link(name = "gomp")]'] if interface.threads is Threads.OPENMP else []),
        f'#[link(name = "{name}", kind = "static")]',
        'unsafe extern "C" {',
        *(f"    fn {entry.prefix}_run{run}" for entry in interface.entries),
        *_rust_threads(interface),
        *([f"    fn {name}_set_weights(weights: *const c_void, size: u64) -> c_int;"] if interface.weights else []),
        "}",
        "",
        *_rust_weights(interface),
        f"#[repr(C, align({ARENA_ALIGNMENT}))]",
        "#[derive(Clone, Copy)]",
        f"struct Block([u8; {ARENA_ALIGNMENT}]);",
        "",
        "/// The meaning of a code that the library returns.",
        "fn message(code: c_int) -> &'static str {",
        "    match code {",
        *(f"        {code} => {_rust_string(text)}," for code, text in messages(interface).items()),
        '        _ => "unknown error",',
        "    }",
        "}",
        "",
    ]
    for entry in interface.entries:
        inner = _rust_entry(entry)
        if several:
            inner = [
                f"pub mod {rust_name(interface.short(entry))} {{",
                "    use super::*;",
                "",
                *(f"    {line}".rstrip() for line in inner),
                "}",
                "",
            ]
        lines += inner
    return "\n".join(lines).rstrip() + "\n"


def _rust_entry(entry: Entry) -> list[str]:
    names: list[str] = []
    for port in entry.ports:
        name = unlike(rust_name(port.name), (*_OF_RUST, *_RUST_PRELUDE, f"{entry.prefix}_run"))
        names.append(unlike_in_capitals(name, [*names, *(f"{each.name}_LEN" for each in entry.ports)]))
    arguments, results = names[: len(entry.arguments)], names[len(entry.arguments) :]
    ports = list(zip(names, entry.ports, strict=True))
    parameters = [f"{shown}: &[{_RUST[port.element]}]" for shown, port in ports[: len(arguments)]]
    parameters += [f"{shown}: &mut [{_RUST[port.element]}]" for shown, port in ports[len(arguments) :]]
    return [
        "/// Bytes of the memory that a run uses for its intermediate values.",
        f"pub const ARENA_BYTES: usize = {max(entry.arena_bytes, 1)};",
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
        "/// Run on row-major slices. The error names a slice of another length, or says which check failed.",
        f"pub fn run({', '.join([*parameters, 'arena: &mut Arena'])}) -> Result<(), &'static str> {{",
        *(
            f"    if {shown}.len() != {shown.upper()}_LEN {{\n        return Err({_quoted(shown)});\n    }}"
            for shown, _ in ports
        ),
        f"    let args: [*const c_void; {max(len(arguments), 1)}] = "
        f"[{', '.join(f'{shown}.as_ptr().cast()' for shown in arguments) or '::std::ptr::null()'}];",
        f"    let results: [*mut c_void; {max(len(results), 1)}] = "
        f"[{', '.join(f'{shown}.as_mut_ptr().cast()' for shown in results) or '::std::ptr::null_mut()'}];",
        "    let memory = arena.0.as_mut_ptr().cast();",
        f"    let code = unsafe {{ {entry.prefix}_run(args.as_ptr(), results.as_ptr(), memory) }};",
        "    if code == 0 { Ok(()) } else { Err(message(code)) }",
        "}",
        "",
    ]


def _rust_weights(interface: Interface) -> list[str]:
    if interface.weights is None:
        return []
    return [
        f"/// Take the constants from the file's content, aligned to {ARENA_ALIGNMENT} bytes, before the first run.",
        "pub fn set_weights(weights: &'static [u8]) -> Result<(), &'static str> {",
        f"    let code = unsafe {{ {interface.name}_set_weights(weights.as_ptr().cast(), weights.len() as u64) }};",
        "    if code == 0 { Ok(()) } else { Err(message(code)) }",
        "}",
        "",
    ]


def _rust_threads(interface: Interface) -> list[str]:
    if interface.threads is not Threads.CALLBACK:
        return []
    ranges = 'extern "C" fn(context: *mut c_void, begin: i64, end: i64)'
    function = f'Option<extern "C" fn(range: {ranges}, context: *mut c_void, count: i64, user: *mut c_void)>'
    return [
        "    /// Loops of later runs are run by `function`; set it while no run goes on.",
        f"    pub fn {interface.name}_set_parallel_for(function: {function}, user: *mut c_void);",
    ]


def _rust_string(text: str) -> str:
    """A literal of Rust."""
    shown = "".join(each if each.isprintable() else f"\\u{{{ord(each):x}}}" for each in text.replace("\\", "\\\\"))
    return _quoted(shown.replace('"', '\\"'))


def _quoted(text: str) -> str:
    return f'"{text}"'


def cmake_config(interface: Interface, file: str) -> str:
    """`model-config.cmake`: `find_package(model CONFIG)` with the folder in `model_DIR` gives the target `model`."""
    name, lapack = interface.name, "lapack;blas;" if interface.lapack else ""
    openmp = '\n    INTERFACE_LINK_OPTIONS "-fopenmp"' if interface.threads is Threads.OPENMP else ""
    return f"""# In CMakeLists.txt:
#   find_package({name} CONFIG REQUIRED PATHS folder)
#   target_link_libraries(program {name})
if(NOT TARGET {name})
  add_library({name} STATIC IMPORTED GLOBAL)
  set_target_properties({name} PROPERTIES
    IMPORTED_LOCATION "${{CMAKE_CURRENT_LIST_DIR}}/{file}"
    INTERFACE_INCLUDE_DIRECTORIES "${{CMAKE_CURRENT_LIST_DIR}}"{openmp}
    INTERFACE_LINK_LIBRARIES "{lapack}$<$<PLATFORM_ID:Linux>:m>")
endif()
"""


def pkg_config(interface: Interface, file: str) -> str:
    """`model.pc`, for a folder on PKG_CONFIG_PATH. The static library has its path: a shared one may be beside it."""
    name, lapack = interface.name, " -llapack -lblas" if interface.lapack else ""
    openmp = " -fopenmp" if interface.threads is Threads.OPENMP else ""
    return f"""Name: {name}
Description: The program {name}, compiled by xhlo
Version: 0
Cflags: -I${{pcfiledir}}
Libs: ${{pcfiledir}}/{file}{lapack}{openmp} -lm
"""
