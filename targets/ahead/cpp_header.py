"""The C++17 classes around a library."""

from __future__ import annotations

from .interface import Entry, Interface


def cpp_header(interface: Interface) -> str:
    """`model.hpp`: a class that owns the arena, and arrays of the right sizes, in a namespace for each entry."""
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
        "/// Memory for the intermediate values of a run.",
        "class Arena {",
        "public:",
        "    explicit Arena(std::size_t bytes)",
        f"        : start_(::operator new(bytes, std::align_val_t({upper}_ARENA_ALIGNMENT))) {{}}",
        "    void *get() const noexcept { return start_.get(); }",
        "",
        "private:",
        "    struct Free {",
        "        void operator()(void *p) const noexcept {",
        f"            ::operator delete(p, std::align_val_t({upper}_ARENA_ALIGNMENT));",
        "        }",
        "    };",
        "    std::unique_ptr<void, Free> start_;",
        "};",
        "",
    ]
    for entry in interface.entries:
        inner = f"namespace {interface.short(entry)} {{" if len(interface.entries) > 1 else ""
        lines += [*([inner, ""] if inner else []), *_classes(interface, entry), *(["}", ""] if inner else [])]
    lines.append(f"}}  // namespace {name}")
    return "\n".join(lines) + "\n"


def _classes(interface: Interface, entry: Entry) -> list[str]:
    name, upper, prefix = interface.name, interface.upper, entry.prefix
    return [
        "/// The results of a run, row-major.",
        "struct Results {",
        *[
            f"    std::vector<{interface.c_type(port)}> {port.name} ="
            f" std::vector<{interface.c_type(port)}>({port.count});  // {port.type}"
            for port in entry.results
        ],
        "};",
        "",
        "/// Runs the program on an arena of its own: one object for each thread.",
        "class Program {",
        "public:",
        f"    Program() : arena_({entry.upper}_ARENA_BYTES) {{}}",
        "",
        "    /// Run on arrays of the sizes that the header states, into `results`. Throws std::invalid_argument.",
        f"    void run(const {prefix}_args &args, Results &results) {{",
        f"        {prefix}_results out{{}};",
        *[f"        out.{port.name} = results.{port.name}.data();" for port in entry.results],
        f"        const int code = {prefix}_run(&args, &out, arena_.get());",
        f"        if (code != {upper}_OK) throw std::invalid_argument({name}_message(code));",
        "    }",
        "",
        "private:",
        "    Arena arena_;",
        "};",
        "",
    ]
