"""The C header of a program (C99 and C++), and the C++ class around it (C++17)."""

from __future__ import annotations

from collections.abc import Sequence

from .interface import Interface, Port
from .threads import Threads

ARENA_ALIGNMENT = 64
"""Bytes; the widest vector."""


def c_header(interface: Interface, made_for: str) -> str:
    """`model.h`; `made_for` names the machine."""
    name, upper = interface.name, interface.upper
    guard = f"{upper}_H"
    lines = [
        f"/* The program {name}, compiled by xhlo for {made_for}. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *_complex_types(interface),
        *_structure(interface, "args", interface.arguments, "const "),
        *_structure(interface, "results", interface.results, ""),
        "/* Bytes of the memory that a run uses for its intermediate values, and their alignment. */",
        f"#define {upper}_ARENA_BYTES {_literal(max(interface.arena_bytes, 1))}",
        f"#define {upper}_ARENA_ALIGNMENT {ARENA_ALIGNMENT}u",
        "",
        *_constants(interface),
        *_parallel_for(interface),
        "enum {",
        f"    {upper}_OK = 0,",
        f"    {upper}_NULL_POINTER = 1,    /* an argument, a result or the arena is null */",
        f"    {upper}_MISALIGNED_ARENA = 2, /* the arena is not aligned to {upper}_ARENA_ALIGNMENT */",
        f"    {upper}_UNSUPPORTED_CPU = 3   /* this CPU has none of the levels of a library of several */",
        "};",
        "",
        "/*",
        " * Run the program. Arrays are row-major and aligned to their elements; results do not overlap arguments, the",
        " * arena or each other. Allocates nothing and keeps nothing: calls on different arenas and results may run at",
        f" * once. Returns {upper}_OK, or another value of the enumeration, and then has written nothing.",
        " */",
        f"int {name}_run(const {name}_args *args, const {name}_results *results, void *arena);",
        "",
        f"static inline const char *{name}_message(int code)",
        "{",
        f'    return code == {upper}_OK ? "success"',
        f'         : code == {upper}_NULL_POINTER ? "an argument, a result or the arena is null"',
        f'         : code == {upper}_MISALIGNED_ARENA ? "the arena is not aligned"',
        f'         : code == {upper}_UNSUPPORTED_CPU ? "the library has no version for this CPU"',
        '         : "unknown error";',
        "}",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _parallel_for(interface: Interface) -> list[str]:
    """The declarations for programs whose loops the caller's threads run."""
    if interface.threads is Threads.NONE:
        return []
    name = interface.name
    return [
        "/* A loop: its iterations from begin to end, on any thread. */",
        f"typedef void (*{name}_range)(void *context, int64_t begin, int64_t end);",
        "/*",
        " * Runs a loop: calls range on parts of [0, count) that cover each iteration once, from any threads, and",
        " * returns when all are done. However it is divided, the results have the same bits.",
        " */",
        f"typedef void (*{name}_parallel_for)({name}_range range, void *context, int64_t count, void *user);",
        "/*",
        " * Let the loops of all later runs be run by function, which gets user; by the calling thread if it is null.",
        " * The only state of the library: set it while no run goes on.",
        " */",
        f"void {name}_set_parallel_for({name}_parallel_for function, void *user);",
        "",
    ]


def _literal(number: int) -> str:
    """An unsigned constant that C99 takes."""
    return f"{number}u" if number < 1 << 32 else f"{number}ull"


def _complex_types(interface: Interface) -> list[str]:
    lines: list[str] = []
    for element, part in (("complex64", "float"), ("complex128", "double")):
        if any(port.element == element for port in (*interface.arguments, *interface.results)):
            lines += [f"typedef struct {{ {part} re, im; }} {interface.name}_{element};", ""]
    return lines


def _structure(interface: Interface, what: str, ports: Sequence[Port], const: str) -> list[str]:
    """A structure of pointers; C has no empty ones."""
    fields = [f"    {const}{interface.c_type(port)} *{port.name}; /* {port.type} */" for port in ports]
    if not fields:
        fields = [f"    {const}void *unused; /* there are none */"]
    return ["typedef struct {", *fields, f"}} {interface.name}_{what};", ""]


def _constants(interface: Interface) -> list[str]:
    lines: list[str] = []
    for port in (*interface.arguments, *interface.results):
        prefix = f"{interface.upper}_{port.name.upper()}"
        lines += [
            f"#define {prefix}_RANK {len(port.shape)}",
            f"#define {prefix}_SHAPE {{ {', '.join(map(str, port.shape)) or '1'} }}",
            f"#define {prefix}_ELEMENTS {_literal(port.count)}",
            f"#define {prefix}_BYTES {_literal(port.nbytes)}",
            "",
        ]
    return lines


def cpp_header(interface: Interface) -> str:
    """`model.hpp`: a class that owns the arena, and arrays of the right sizes."""
    name, upper = interface.name, interface.upper
    lines = [
        f"// The program {name} for C++17.",
        "#pragma once",
        "",
        "#include <cstdlib>",
        "#include <memory>",
        "#include <new>",
        "#include <stdexcept>",
        "#include <vector>",
        "",
        f'#include "{name}.h"',
        "",
        f"namespace {name} {{",
        "",
        "/// The results of a run, row-major.",
        "struct Results {",
        *[
            f"    std::vector<{interface.c_type(port)}> {port.name} ="
            f" std::vector<{interface.c_type(port)}>({port.count});  // {port.type}"
            for port in interface.results
        ],
        "};",
        "",
        "/// Runs the program on an arena of its own: one object for each thread.",
        "class Program {",
        "public:",
        f"    Program() : arena_(::operator new({upper}_ARENA_BYTES, std::align_val_t({upper}_ARENA_ALIGNMENT))) {{}}",
        "",
        "    /// Run on arrays of the sizes that the header states, into `results`. Throws std::invalid_argument.",
        f"    void run(const {name}_args &args, Results &results) {{",
        f"        {name}_results out{{}};",
        *[f"        out.{port.name} = results.{port.name}.data();" for port in interface.results],
        f"        const int code = {name}_run(&args, &out, arena_.get());",
        f"        if (code != {upper}_OK) throw std::invalid_argument({name}_message(code));",
        "    }",
        "",
        "private:",
        "    struct Free {",
        "        void operator()(void *p) const noexcept {",
        f"            ::operator delete(p, std::align_val_t({upper}_ARENA_ALIGNMENT));",
        "        }",
        "    };",
        "    std::unique_ptr<void, Free> arena_;",
        "};",
        "",
        f"}}  // namespace {name}",
    ]
    return "\n".join(lines) + "\n"
