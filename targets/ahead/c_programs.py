"""C programs around a library: one that checks recorded results, one that measures a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ...hlo_dialect.types import Array
from .header import ARENA_ALIGNMENT
from .interface import Entry, Interface, Port
from .threads import Threads

_KINDS = {"float": "OF_FLOAT", "double": "OF_DOUBLE"}
_KINDS_OF_DTYPES = {np.dtype(np.float16): "OF_HALF", np.dtype(ml_dtypes.bfloat16): "OF_BFLOAT"}

_COMPARE = """
enum kind { EXACT, OF_FLOAT, OF_DOUBLE, OF_HALF, OF_BFLOAT };

static uint16_t word(const unsigned char *bytes)
{
    uint16_t bits;
    memcpy(&bits, bytes, 2);
    return bits;
}

static double element(const void *data, size_t i, enum kind kind)
{
    const unsigned char *bytes = (const unsigned char *)data;
    if (kind == OF_DOUBLE) {
        double value;
        memcpy(&value, bytes + 8 * i, 8);
        return value;
    }
    if (kind == OF_FLOAT || kind == OF_BFLOAT) {
        uint32_t bits = 0;
        float value;
        if (kind == OF_FLOAT)
            memcpy(&bits, bytes + 4 * i, 4);
        else
            bits = (uint32_t)word(bytes + 2 * i) << 16;
        memcpy(&value, &bits, 4);
        return (double)value;
    }
    if (kind == OF_HALF) {
        const unsigned bits = word(bytes + 2 * i);
        const int exponent = (int)(bits >> 10 & 31u);
        const double mantissa = (double)(bits & 1023u);
        const double sign = bits >> 15 ? -1.0 : 1.0;
        if (exponent == 31)
            return mantissa > 0.0 ? (double)NAN : sign * (double)INFINITY;
        return sign * (exponent == 0 ? ldexp(mantissa, -24) : ldexp(mantissa + 1024.0, exponent - 25));
    }
    return (double)bytes[i];
}

/* The number of elements that differ: by more than the tolerance, relative to the larger of the element and the RMS. */
static size_t differences(const char *name, const void *actual, const void *expected, size_t count, enum kind kind,
                          double tolerance)
{
    double squares = 0.0;
    size_t finite = 0, found = 0, i;
    for (i = 0; i < count; i++) {
        const double value = element(expected, i, kind);
        if (value - value == 0.0) {
            squares += value * value;
            finite++;
        }
    }
    for (i = 0; i < count; i++) {
        const double a = element(actual, i, kind), e = element(expected, i, kind);
        const double rms = finite ? sqrt(squares / (double)finite) : 0.0;
        const double scale = fabs(e) > rms ? fabs(e) : rms;
        /* Not `==` alone: NaN agrees with NaN, and equal infinities have no difference. */
        const int same = !(a < e) && !(a > e) && ((a - a == a - a) == (e - e == e - e) || a - a != a - a);
        if (same || fabs(a - e) <= tolerance * scale)
            continue;
        if (found++ == 0)
            printf("%s[%lu] is %.17g, expected %.17g\\n", name, (unsigned long)i, a, e);
    }
    return found;
}
"""


@dataclass(frozen=True)
class Recorded:
    """Inputs of an entry, and the results for them."""

    inputs: Sequence[Array]
    expected: Sequence[Array]


def test_program(interface: Interface, recorded: Sequence[Recorded], tolerances: Mapping[str, float]) -> str:
    """
    A C99 `main` that runs each entry on recorded inputs, compares with recorded results, and exits with 0 or 1.

    `tolerances`: relative, by NumPy's name of the element type; types that are not in it must agree to the bit.
    """
    lines = [
        f"/* Runs {interface.name} on recorded inputs and compares with recorded results. */",
        "#include <math.h>",
        "#include <stdio.h>",
        "#include <string.h>",
        "",
        *_includes(interface),
        *([_COMPARE] if any(entry.results for entry in interface.entries) else []),
        _ARENA_START.format(upper=interface.upper),
    ]
    for entry, data in zip(interface.entries, recorded, strict=True):
        lines += _test_of(interface, entry, data, tolerances)
    lines += [
        "int main(int argc, char **argv)",
        "{",
        "    size_t found = 0;",
        *_map_weights(interface),
        *_use_openmp(interface),
        *(f"    found += test_{entry.prefix}();" for entry in interface.entries),
        '    printf(found ? "%lu elements differ\\n" : "all results agree\\n", (unsigned long)found);',
        "    return found ? 1 : 0;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _test_of(interface: Interface, entry: Entry, recorded: Recorded, tolerances: Mapping[str, float]) -> list[str]:
    """The data of an entry, and a function that returns the number of elements that differ."""
    prefix = entry.prefix
    lines = [
        *_data(f"{prefix}_in", recorded.inputs),
        *_data(f"{prefix}_expected", recorded.expected),
        *_memory(entry),
        f"static size_t test_{prefix}(void)",
        "{",
        *_calls(interface, entry, constant=True),
        "    size_t found = 0;",
        f"    const int code = {prefix}_run(&args, &results, arena_start({prefix}_arena));",
        f"    if (code != {interface.upper}_OK) {{",
        f'        printf("%s\\n", {interface.name}_message(code));',
        "        return 1;",
        "    }",
    ]
    for number, (port, array) in enumerate(zip(entry.results, recorded.expected, strict=True)):
        kind, count, tolerance = _comparison(port, array, tolerances)
        arrays = f"{prefix}_out{number}, {prefix}_expected{number}"
        lines.append(f'    found += differences("{port.name}", {arrays}, {count}u, {kind}, {tolerance!r});')
    return [*lines, "    return found;", "}", ""]


def _includes(interface: Interface) -> list[str]:
    weights = [f'#include "{interface.name}_weights.h"'] if interface.weights is not None else []
    return [f'#include "{interface.name}.h"', *weights]


def _map_weights(interface: Interface) -> list[str]:
    """Statements of `main` that map the file of weights, which an argument may name."""
    if interface.weights is None:
        return ["    (void)argc;", "    (void)argv;"]
    return [
        f'    const int mapped = {interface.name}_map_weights(argc > 1 ? argv[1] : "{interface.weights.file}");',
        f"    if (mapped != {interface.upper}_OK) {{",
        f'        printf("%s\\n", {interface.name}_message(mapped));',
        "        return 1;",
        "    }",
    ]


def _comparison(port: Port, array: Array, tolerances: Mapping[str, float]) -> tuple[str, int, float]:
    """The kind of element to compare, the number of such elements, and the tolerance."""
    tolerance = tolerances.get(array.dtype.name)
    if tolerance is None:
        return "EXACT", array.nbytes, 0.0
    if array.dtype.kind == "c":
        return ("OF_FLOAT" if array.dtype.itemsize == 8 else "OF_DOUBLE"), 2 * port.count, tolerance
    return _KINDS_OF_DTYPES.get(array.dtype) or _KINDS[port.element], port.count, tolerance


_MEASURE = """
static double seconds(void)
{
#if defined(_WIN32)
    LARGE_INTEGER now, rate;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&rate);
    return (double)now.QuadPart / (double)rate.QuadPart;
#elif defined(CLOCK_MONOTONIC)
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#else
    return (double)clock() / CLOCKS_PER_SEC; /* C99 knows the time of the processor only */
#endif
}

/* Prints the time of a call: of samples that take a millisecond or more, however short a call is. */
static int measure(const char *title, int (*call)(void), long samples)
{
    double least = 1e30, total = 0.0;
    long runs = 1, sample = -1, i;
    while (sample < samples) {
        const double start = seconds();
        double taken;
        for (i = 0; i < runs; i++) {
            const int code = call();
            if (FAILED(code)) {
                printf("%s%s\\n", title, NAME_message(code));
                return 1;
            }
        }
        taken = seconds() - start;
        if (sample < 0 && taken < 1e-3 && runs < 1 << 30) {
            runs *= 2;
            continue;
        }
        if (sample++ >= 0) {
            total += taken;
            least = taken < least ? taken : least;
        }
    }
    if (samples > 0)
        printf("%sleast %.3f us, mean %.3f us of %ld x %ld runs\\n", title, 1e6 * least / (double)runs,
               1e6 * total / (double)samples / (double)runs, samples, runs);
    return 0;
}
"""


def benchmark_program(interface: Interface) -> str:
    """
    A C99 `main` that measures each entry on zeros in `argv[1]` samples (100), and prints the least and the mean time
    of a run. A sample has as many runs as take a millisecond. Compiled with OpenMP, its threads run the loops.
    """
    checked = any(entry.checks for entry in interface.entries)
    ok, check = f"{interface.upper}_OK", f"{interface.upper}_CHECK"
    failed = f"code != {ok} && code < {check}" if checked else f"code != {ok}"
    lines = [
        f"/* Measures {interface.name} on arguments that are zero. */",
        "#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)",
        "#define _POSIX_C_SOURCE 200112L /* for clock_gettime */",
        "#endif",
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "#include <time.h>",
        "#if defined(_WIN32)",
        "#include <windows.h>",
        "#endif",
        "",
        *_includes(interface),
        "",
        _ARENA_START.format(upper=interface.upper),
        _MEASURE.strip().replace("NAME_message", f"{interface.name}_message").replace("FAILED(code)", failed),
        "",
    ]
    for entry in interface.entries:
        lines += _benchmark_of(interface, entry)
    named = _map_weights(interface) if interface.weights is not None else []
    several = len(interface.entries) > 1
    measures = [
        f'measure("{f"{interface.short(entry)}: " if several else ""}", call_{entry.prefix}, samples)'
        for entry in interface.entries
    ]
    lines += [
        "int main(int argc, char **argv)",
        "{",
        "    const long samples = argc > 1 ? strtol(argv[1], NULL, 10) : 100;",
        *(line.replace("argc > 1 ? argv[1]", "argc > 2 ? argv[2]") for line in named),
        *_use_openmp(interface),
        f"    return {' || '.join(measures)};",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _benchmark_of(interface: Interface, entry: Entry) -> list[str]:
    """A function that calls an entry, and returns its code."""
    prefix = entry.prefix
    return [
        *(f"static {_storage(port)[0]} {prefix}_in{n}[{_storage(port)[1]}];" for n, port in enumerate(entry.arguments)),
        *_memory(entry),
        f"static int call_{prefix}(void)",
        "{",
        *_calls(interface, entry, constant=False),
        f"    return {prefix}_run(&args, &results, arena_start({prefix}_arena));",
        "}",
        "",
    ]


def _use_openmp(interface: Interface) -> list[str]:
    """Statements of `main` that let OpenMP's threads run the loops."""
    if interface.threads is not Threads.CALLBACK:
        return []
    return ["#ifdef _OPENMP", f"    {interface.name}_set_parallel_for({interface.name}_openmp, NULL);", "#endif"]


_ARENA_START = """static void *arena_start(unsigned char *memory)
{{
    return memory + ({upper}_ARENA_ALIGNMENT - (uintptr_t)memory % {upper}_ARENA_ALIGNMENT) % {upper}_ARENA_ALIGNMENT;
}}
"""


def _storage(port: Port) -> tuple[str, int]:
    """The C type of an array's words, unsigned integers that align it to its elements, and their number."""
    parts = 2 if port.element.startswith("complex") else 1
    count = max(1, port.count * parts)
    return f"uint{8 * (port.nbytes // count if port.nbytes else 1)}_t", count


def _data(prefix: str, arrays: Sequence[Array]) -> list[str]:
    """Arrays as unsigned integers of their elements' size, whose bytes each machine puts in its own order."""
    lines: list[str] = []
    for number, array in enumerate(arrays):
        size = array.dtype.itemsize // (2 if array.dtype.kind == "c" else 1)
        words = np.frombuffer(np.ascontiguousarray(array).tobytes(), f"<u{size}").tolist() or [0]
        lines.append(f"static const uint{8 * size}_t {prefix}{number}[{len(words)}] = {{")
        per_line = 24 // size
        for start in range(0, len(words), per_line):
            lines.append("    " + " ".join(f"0x{word:x}u," for word in words[start : start + per_line]))
        lines.append("};")
    return lines


def _memory(entry: Entry) -> list[str]:
    """The results and the arena, static, so that a program of any size fits."""
    lines = [
        f"static {_storage(port)[0]} {entry.prefix}_out{n}[{_storage(port)[1]}];"
        for n, port in enumerate(entry.results)
    ]
    return [*lines, f"static unsigned char {entry.prefix}_arena[{entry.upper}_ARENA_BYTES + {ARENA_ALIGNMENT}];", ""]


def _calls(interface: Interface, entry: Entry, constant: bool) -> list[str]:
    """The structures of a call."""
    const = "const " if constant else ""
    prefix = entry.prefix
    arguments = [
        f"(const {interface.c_type(port)} *)({const}void *){prefix}_in{n}" for n, port in enumerate(entry.arguments)
    ]
    results = [f"({interface.c_type(port)} *)(void *){prefix}_out{n}" for n, port in enumerate(entry.results)]
    return [
        f"    const {prefix}_args args = {{ {', '.join(arguments) or 'NULL'} }};",
        f"    const {prefix}_results results = {{ {', '.join(results) or 'NULL'} }};",
    ]
