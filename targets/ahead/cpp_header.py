"""The C++17 classes around a library."""

from __future__ import annotations

from .interface import Entry, Interface, Port
from .names import namespace, unlike

_ARRAYS = """\
/// A row-major array of known sizes, which belongs to others.
template <typename T, std::size_t... Sizes>
class View {
public:
    static constexpr std::size_t rank = sizeof...(Sizes);
    static constexpr std::size_t count = (std::size_t{1} * ... * Sizes);

    explicit View(T *data) noexcept : data_(data) {}

    /// All elements of a vector, std::array, std::span or array, which live at least as long. Throws
    /// std::invalid_argument if they are not `count`.
    template <typename Elements, typename = std::enable_if_t<!std::is_same_v<std::decay_t<Elements>, View>>,
              typename = decltype(std::data(std::declval<Elements &>()))>
    View(Elements &&elements) : data_(std::data(elements)) {
        if (std::size(elements) != count) throw std::invalid_argument("an array has another number of elements");
    }

    T *data() const noexcept { return data_; }
    static constexpr std::size_t size() noexcept { return count; }
    T *begin() const noexcept { return data_; }
    T *end() const noexcept { return data_ + count; }
    T &operator[](std::size_t number) const { return data_[number]; }

    /// The element at an index for each dimension.
    template <typename... Indices>
    T &operator()(Indices... indices) const {
        static_assert(sizeof...(Indices) == rank, "an array has one index for each dimension");
        std::size_t at = 0;
        ((at = at * Sizes + static_cast<std::size_t>(indices)), ...);
        return data_[at];
    }

private:
    T *data_;
};

/// A row-major array of known sizes, zeros at first.
template <typename T, std::size_t... Sizes>
class Array {
public:
    T *data() noexcept { return elements_.data(); }
    const T *data() const noexcept { return elements_.data(); }
    static constexpr std::size_t size() noexcept { return View<T, Sizes...>::count; }
    T *begin() noexcept { return data(); }
    const T *begin() const noexcept { return data(); }
    T *end() noexcept { return data() + size(); }
    const T *end() const noexcept { return data() + size(); }
    T &operator[](std::size_t number) { return elements_[number]; }
    const T &operator[](std::size_t number) const { return elements_[number]; }

    /// The element at an index for each dimension.
    template <typename... Indices>
    T &operator()(Indices... indices) {
        return View<T, Sizes...>(data())(indices...);
    }
    template <typename... Indices>
    const T &operator()(Indices... indices) const {
        return View<const T, Sizes...>(data())(indices...);
    }

private:
    std::vector<T> elements_ = std::vector<T>(size());
};

"""


def cpp_header(interface: Interface) -> str:
    """`model.hpp`: a class that owns the arena, arrays of the right sizes and views, in a namespace for each entry."""
    name, upper, outer = interface.name, interface.upper, namespace(interface.name)
    lines = [
        f"// The program {name} for C++17.",
        "#pragma once",
        "",
        "#include <cstddef>",
        "#include <iterator>",
        "#include <memory>",
        "#include <new>",
        "#include <stdexcept>",
        "#include <type_traits>",
        "#include <utility>",
        "#include <vector>",
        "",
        f'#include "{name}.h"',
        "",
        f"namespace {outer} {{",
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
    lines += _ARRAYS.splitlines()
    for entry in interface.entries:
        inner = unlike(interface.short(entry), _TAKEN) if len(interface.entries) > 1 else ""
        classes = _classes(interface, entry, f"::{outer}::", f"{inner}::" if inner else "")
        lines += [*([f"namespace {inner} {{", ""] if inner else []), *classes, *(["}", ""] if inner else [])]
    lines.append(f"}}  // namespace {outer}")
    return "\n".join(lines) + "\n"


_TAKEN = ("Arena", "View", "Array", "Results", "Program", "std")
"""Names in the library's namespace: an entry's namespace is not called so."""


def _parameters(interface: Interface, port: Port) -> str:
    """The parameters of the templates for an array: its element type and sizes."""
    return ", ".join([interface.c_type(port), *map(str, port.shape)])


def _classes(interface: Interface, entry: Entry, outer: str, inner: str) -> list[str]:
    """
    The classes of an entry. Names of the program are fields and parameters, which hide all others: what follows one has
    the names of its namespaces, with which `outer` and `inner` end.
    """
    name, upper, prefix = interface.name, interface.upper, entry.prefix
    given = ", ".join(f"{outer}View<const {_parameters(interface, port)}> {port.name}" for port in entry.arguments)
    names = [port.name for port in entry.arguments]
    args, results = unlike("xhlo_args", names), unlike("xhlo_results", names)
    return [
        "/// The results of a run, row-major.",
        "struct Results {",
        *[f"    {outer}Array<{_parameters(interface, port)}> {port.name};  // {port.type}" for port in entry.results],
        "};",
        "",
        "/// Runs the program on an arena of its own: one object for each thread.",
        "class Program {",
        "public:",
        f"    Program() : arena_({entry.upper}_ARENA_BYTES) {{}}",
        "",
        "    /// Run on arrays of the sizes that the header states, into `results`. Throws std::invalid_argument"
        + (", and" if entry.checks else "."),
        *(["    /// std::runtime_error where a check of the program fails."] if entry.checks else []),
        f"    void run(const {prefix}_args &args, Results &results) {{",
        f"        {prefix}_results out{{}};",
        *(["        (void)results;"] if not entry.results else []),
        *[f"        out.{port.name} = results.{port.name}.data();" for port in entry.results],
        f"        const int code = {prefix}_run(&args, &out, arena_.get());",
        *(
            [f"        if (code >= {upper}_CHECK) throw std::runtime_error({name}_message(code));"]
            if entry.checks
            else []
        ),
        f"        if (code != {upper}_OK) throw std::invalid_argument({name}_message(code));",
        "    }",
        "",
        "    /// The results of arrays, whose numbers of elements are checked.",
        f"    Results operator()({given}) {{",
        f"        ::{prefix}_args {args}{{}};",
        f"        {outer}{inner}Results {results};",
        *[f"        {args}.{port.name} = {port.name}.data();" for port in entry.arguments],
        f"        this->run({args}, {results});",
        f"        return {results};",
        "    }",
        "",
        "private:",
        "    Arena arena_;",
        "};",
        "",
    ]
