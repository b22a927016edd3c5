"""The C header of a library (C99 and C++)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..cpu.runtime.pool import CHUNKS, MAX_THREADS
from .interface import FIRST_CHECK, Entry, Interface, Port
from .templates import filled
from .threads import Threads

ARENA_ALIGNMENT = 64
"""Bytes; the widest vector. That of weights, too."""

CODES: Mapping[str, tuple[int, str]] = {
    "OK": (0, "success"),
    "NULL_POINTER": (1, "an argument, a result or the arena is null"),
    "MISALIGNED_ARENA": (2, "the arena is not aligned"),
    "UNSUPPORTED_CPU": (3, "the library has no version for this CPU"),
    "NO_WEIGHTS": (4, "the weights have not been set"),
    "WRONG_WEIGHTS": (5, "the weights are not those of the library"),
    "MISALIGNED_WEIGHTS": (6, "the weights are not aligned"),
    "UNREADABLE_WEIGHTS": (7, "the file of weights cannot be read"),
}
"""The error codes, and what they mean."""


_OPENMP = ("#ifdef _OPENMP", "#include <omp.h>", "#endif")

_BY_OPENMP = (
    "/*",
    " * OpenMP's threads run its loops: link with -fopenmp. However many they are, the results have the same bits.",
    " * OpenMP allocates memory when it starts them.",
    " */",
    "",
)

_LAPACK = (
    "/*",
    " * It calls LAPACK by Fortran's symbols, with integers of 32 bits: link it (-llapack -lblas, or -lopenblas).",
    " * Whether that allocates memory or starts threads, and how much stack it takes, is its affair.",
    " */",
    "",
)


def messages(interface: Interface) -> dict[int, str]:
    """The meaning of each code that a run may return."""
    found = dict(CODES.values())
    for entry in interface.entries:
        found |= enumerate(entry.checks, entry.first_check)
    return found


def c_string(text: str) -> str:
    """A literal of C, in ASCII: other bytes of the text's UTF-8 are octal numbers."""
    plain = {ord('"'): '\\"', ord("\\"): "\\\\", ord("?"): "\\?"}  # "??" begins a trigraph
    shown = (plain.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in text.encode())
    return f'"{"".join(shown)}"'


def c_header(interface: Interface, made_for: str, stack_bytes: Sequence[int], longest: int | None = None) -> str:
    """
    `model.h`; `made_for` names the machine, `stack_bytes` are the entries', `longest` the bits of the longest vectors
    that these are for, where the code is for vectors of any length.
    """
    name, upper = interface.name, interface.upper
    guard = f"{upper}_H"
    lines = [
        f"/* The program {name}, compiled by xhlo for {made_for}. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stddef.h>",
        "#include <stdint.h>",
        *(_OPENMP if interface.threads is Threads.CALLBACK else ()),
        "",
        f"/* Define {upper}_DLL where the library is a DLL of Windows. */",
        f"#if defined(_WIN32) && defined({upper}_DLL)",
        f"#define {upper}_API __declspec(dllimport)",
        "#else",
        f"#define {upper}_API",
        "#endif",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        *_complex_types(interface),
        "enum {",
        *_codes(interface),
        "};",
        "",
        "/* The alignment in bytes of the memory that a run uses, and of weights. */",
        f"#define {upper}_ARENA_ALIGNMENT {ARENA_ALIGNMENT}u",
        "",
        *(_LAPACK if interface.lapack else ()),
        *_parallel_for(interface),
        *_weights(interface),
    ]
    for entry, most in zip(interface.entries, stack_bytes, strict=True):
        lines += _entry(interface, entry, most, longest)
    lines += [
        "/* The meaning of a code, in words. */",
        f"static inline const char *{name}_message(int code)",
        "{",
        "    switch (code) {",
        *(f"    case {code}: return {c_string(text)};" for code, text in messages(interface).items()),
        '    default: return "unknown error";',
        "    }",
        "}",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _codes(interface: Interface) -> list[str]:
    """The constants of the enumeration."""
    found = dict(CODES)
    if any(entry.checks for entry in interface.entries):
        found["CHECK"] = (FIRST_CHECK, "and those that follow: checks of the program that failed, in their order")
    last = list(found)[-1]
    return [
        f"    {interface.upper}_{name} = {number}{' ' if name == last else ','} /* {text} */"
        for name, (number, text) in found.items()
    ]


def _entry(interface: Interface, entry: Entry, stack_bytes: int, longest: int | None) -> list[str]:
    """The declarations of a function of the program."""
    prefix, upper = entry.prefix, interface.upper
    return [
        *_structure(interface, entry, "args", entry.arguments, "const "),
        *_structure(interface, entry, "results", entry.results, ""),
        "/* Bytes of the memory that a run uses for its intermediate values. */",
        f"#define {entry.upper}_ARENA_BYTES {literal(max(entry.arena_bytes, 1))}",
        "/* Bytes of stack that a run takes at most, besides what functions take that are not in this library. */",
        *([] if longest is None else [f"/* That is for CPUs whose vectors have {longest} bits at most. */"]),
        f"#define {entry.upper}_STACK_BYTES {literal(stack_bytes)}",
        "",
        *_constants(interface, entry),
        "/*",
        " * Run the program. Arrays are row-major and aligned to their elements; results do not overlap arguments, the",
        " * arena or each other. Allocates nothing and keeps nothing: calls on different arenas and results may run at",
        f" * once. Returns {upper}_OK, or another value of the enumeration, and then has written nothing.",
        *_about_checks(interface, entry),
        " */",
        f"{upper}_API int {prefix}_run(const {prefix}_args *args, const {prefix}_results *results, void *arena);",
        "",
    ]


def _about_checks(interface: Interface, entry: Entry) -> list[str]:
    """The lines of a comment about a program with checks of its own."""
    if not entry.checks:
        return []
    last = entry.first_check + len(entry.checks) - 1
    return [
        f" * Where a check of the program fails, returns {entry.first_check} to {last} for the first such, which",
        f" * {interface.name}_message describes, and the results are not to be used.",
    ]


_BY_CALLBACK = """\
/* A loop: its iterations from begin to end, on any thread. */
typedef void (*NAME_range)(void *context, int64_t begin, int64_t end);
/*
 * Runs a loop: calls range on parts of [0, count) that cover each iteration once, from any threads, and
 * returns when all are done. However it is divided, the results have the same bits.
 */
typedef void (*NAME_parallel_for)(NAME_range range, void *context, int64_t count, void *user);
/*
 * Let the loops of all later runs be run by function, which gets user; by the calling thread if it is null.
 * It is state of the library: set it while no run goes on.
 */
UPPER_API void NAME_set_parallel_for(NAME_parallel_for function, void *user);

#ifdef _OPENMP
/*
 * Such a function, of OpenMP's threads. As in the JIT each thread begins with a share of its own, which is
 * often in its caches from the loop before, and then takes parts of the others': nobody waits long for one
 * that the system has interrupted.
 */
static inline void NAME_openmp(NAME_range range, void *context, int64_t count, void *user)
{
    enum { most = MAX_THREADS, line = 64 / sizeof(int64_t) };
    int64_t next[most * line], part;
    int threads = omp_get_max_threads(), share;
    (void)user;
    threads = threads < most ? threads : most;
    threads = threads < count ? threads : (int)count;
    if (threads <= 1) {
        range(context, 0, count);
        return;
    }
    part = count / (CHUNKS * threads);
    part = part ? part : 1;
    for (share = 0; share < threads; share++)
        next[share * line] = count * share / threads;
    #pragma omp parallel num_threads(threads)
    {
        const int own = omp_get_thread_num();
        int other;
        for (other = 0; other < threads; other++) {
            const int at = (own + other) % threads;
            const int64_t end = count * (at + 1) / threads;
            for (;;) {
                int64_t begin;
                #if _OPENMP >= 201107
                #pragma omp atomic capture
                #else
                #pragma omp critical(NAME_share)
                #endif
                { begin = next[at * line]; next[at * line] += part; }
                if (begin >= end)
                    break;
                range(context, begin, part < end - begin ? begin + part : end);
            }
        }
    }
}
#endif

"""


def _parallel_for(interface: Interface) -> list[str]:
    """The declarations for programs whose loops the caller's threads run."""
    if interface.threads is Threads.NONE:
        return []
    if interface.threads is Threads.OPENMP:
        return list(_BY_OPENMP)
    text = filled(_BY_CALLBACK, NAME=interface.name, UPPER=interface.upper, MAX_THREADS=MAX_THREADS, CHUNKS=CHUNKS)
    return text.splitlines()


def _weights(interface: Interface) -> list[str]:
    """The declarations for programs whose constants are in a file."""
    weights = interface.weights
    if weights is None:
        return []
    name, upper = interface.name, interface.upper
    return [
        f"/* The constants are in a file of so many bytes, whose XXH64 is this; {name}_weights.h maps it. */",
        f"#define {upper}_WEIGHTS_FILE_BYTES {literal(weights.nbytes)}",
        f"#define {upper}_WEIGHTS_FILE_HASH 0x{weights.digest:016x}ull",
        "/*",
        " * Let all later runs take their constants from this memory, which holds the file, is aligned to",
        f" * {upper}_ARENA_ALIGNMENT, stays as it is and is only read. Compares size and hash. It is state of the",
        " * library: set it while no run goes on.",
        " */",
        f"{upper}_API int {name}_set_weights(const void *weights, uint64_t size);",
        "",
    ]


def literal(number: int) -> str:
    """An unsigned constant that C99 takes."""
    return f"{number}u" if number < 1 << 32 else f"{number}ull"


def _complex_types(interface: Interface) -> list[str]:
    lines: list[str] = []
    for element, part in (("complex64", "float"), ("complex128", "double")):
        if any(port.element == element for entry in interface.entries for port in entry.ports):
            lines += [f"typedef struct {{ {part} re, im; }} {interface.name}_{element};", ""]
    return lines


def _structure(interface: Interface, entry: Entry, what: str, ports: Sequence[Port], const: str) -> list[str]:
    """A structure of pointers; C has no empty ones."""
    fields = [f"    {const}{interface.c_type(port)} *{port.name}; /* {port.type} */" for port in ports]
    if not fields:
        fields = [f"    {const}void *unused; /* there are none */"]
    return ["typedef struct {", *fields, f"}} {entry.prefix}_{what};", ""]


def _constants(interface: Interface, entry: Entry) -> list[str]:
    lines: list[str] = []
    for port in entry.ports:
        prefix = f"{entry.upper}_{port.name.upper()}"
        lines += [
            f"#define {prefix}_TYPE {c_string(port.type)}",
            f"#define {prefix}_ELEMENT {interface.c_type(port)}",
            f"#define {prefix}_RANK {len(port.shape)}",
            f"#define {prefix}_SHAPE {{ {', '.join(map(str, port.shape)) or '1'} }}",
            f"#define {prefix}_ELEMENTS {literal(port.count)}",
            f"#define {prefix}_BYTES {literal(port.nbytes)}",
            "",
        ]
    return lines
