"""C programs around a library: one that checks recorded results, one that measures a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ml_dtypes
import numpy as np

from ...hlo_dialect.types import Array
from .interface import Interface, Port

_KINDS = {"float": "FLOAT", "double": "DOUBLE"}
_KINDS_OF_DTYPES = {np.dtype(np.float16): "HALF", np.dtype(ml_dtypes.bfloat16): "BFLOAT"}

_COMPARE = """
enum kind { EXACT, FLOAT, DOUBLE, HALF, BFLOAT };

static double element(const void *data, size_t i, enum kind kind)
{
    const unsigned char *bytes = (const unsigned char *)data;
    if (kind == DOUBLE) {
        double value;
        memcpy(&value, bytes + 8 * i, 8);
        return value;
    }
    if (kind == FLOAT || kind == BFLOAT) {
        uint32_t bits = 0;
        float value;
        if (kind == FLOAT)
            memcpy(&bits, bytes + 4 * i, 4);
        else
            bits = ((uint32_t)bytes[2 * i] | (uint32_t)bytes[2 * i + 1] << 8) << 16;
        memcpy(&value, &bits, 4);
        return (double)value;
    }
    if (kind == HALF) {
        const unsigned bits = (unsigned)bytes[2 * i] | (unsigned)bytes[2 * i + 1] << 8;
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


def test_program(
    interface: Interface, inputs: Sequence[Array], expected: Sequence[Array], tolerances: Mapping[str, float]
) -> str:
    """
    A C99 `main` that runs the program on recorded inputs, compares with recorded results, and exits with 0 or 1.

    `tolerances`: relative, by NumPy's name of the element type; types that are not in it must agree to the bit.
    """
    lines = [
        f"/* Runs {interface.name} on recorded inputs and compares with recorded results. */",
        "#include <math.h>",
        "#include <stdio.h>",
        "#include <string.h>",
        "",
        f'#include "{interface.name}.h"',
        _COMPARE,
        *_data("in", inputs),
        *_data("expected", expected),
        *_memory(interface),
        "int main(void)",
        "{",
        *_calls(interface, "in", constant=True),
        "    size_t found = 0;",
        f"    const int code = {interface.name}_run(&args, &results, arena_start(arena));",
        f"    if (code != {interface.upper}_OK) {{",
        f'        printf("%s\\n", {interface.name}_message(code));',
        "        return 1;",
        "    }",
    ]
    for number, (port, array) in enumerate(zip(interface.results, expected, strict=True)):
        kind, count, tolerance = _comparison(port, array, tolerances)
        lines.append(
            f'    found += differences("{port.name}", out{number}, expected{number}, {count}u, {kind}, {tolerance!r});'
        )
    lines += [
        '    printf(found ? "%lu elements differ\\n" : "all results agree\\n", (unsigned long)found);',
        "    return found ? 1 : 0;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _comparison(port: Port, array: Array, tolerances: Mapping[str, float]) -> tuple[str, int, float]:
    """The kind of element to compare, the number of such elements, and the tolerance."""
    tolerance = tolerances.get(array.dtype.name)
    if tolerance is None:
        return "EXACT", array.nbytes, 0.0
    if array.dtype.kind == "c":
        return ("FLOAT" if array.dtype.itemsize == 8 else "DOUBLE"), 2 * port.count, tolerance
    return _KINDS_OF_DTYPES.get(array.dtype) or _KINDS[port.element], port.count, tolerance


def benchmark_program(interface: Interface) -> str:
    """A C99 `main` that runs the program on zeros, `argv[1]` times (100), and prints the least and the mean time."""
    lines = [
        f"/* Measures {interface.name} on arguments that are zero. */",
        "#include <stdio.h>",
        "#include <stdlib.h>",
        "#include <time.h>",
        "",
        f'#include "{interface.name}.h"',
        "",
        *[f"static uint64_t in{n}[{_words(port)}];" for n, port in enumerate(interface.arguments)],
        *_memory(interface),
        "static double seconds(void)",
        "{",
        "    struct timespec now;",
        "    timespec_get(&now, TIME_UTC);",
        "    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;",
        "}",
        "",
        "int main(int argc, char **argv)",
        "{",
        *_calls(interface, "in", constant=False),
        "    const long runs = argc > 1 ? strtol(argv[1], NULL, 10) : 100;",
        "    double least = 1e30, total = 0.0;",
        "    long i;",
        "    for (i = 0; i < runs; i++) {",
        "        const double start = seconds();",
        f"        const int code = {interface.name}_run(&args, &results, arena_start(arena));",
        "        const double taken = seconds() - start;",
        f"        if (code != {interface.upper}_OK) {{",
        f'            printf("%s\\n", {interface.name}_message(code));',
        "            return 1;",
        "        }",
        "        total += taken;",
        "        least = taken < least ? taken : least;",
        "    }",
        "    if (runs > 0)",
        '        printf("least %.3f us, mean %.3f us of %ld runs\\n", 1e6 * least, 1e6 * total / (double)runs, runs);',
        "    return 0;",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _words(port: Port) -> int:
    return max(1, -(-port.nbytes // 8))


def _data(prefix: str, arrays: Sequence[Array]) -> list[str]:
    """Arrays as words of 64 bits, which aligns them to any element."""
    lines: list[str] = []
    for number, array in enumerate(arrays):
        content = np.ascontiguousarray(array).tobytes()
        words = np.frombuffer(content.ljust(max(8, -(-len(content) // 8) * 8), b"\0"), "<u8").tolist()
        lines.append(f"static const uint64_t {prefix}{number}[{len(words)}] = {{")
        for start in range(0, len(words), 6):
            lines.append("    " + " ".join(f"0x{word:x}u," for word in words[start : start + 6]))
        lines.append("};")
    return lines


def _memory(interface: Interface) -> list[str]:
    """The results and the arena, static, so that a program of any size fits."""
    lines = [f"static uint64_t out{n}[{_words(port)}];" for n, port in enumerate(interface.results)]
    upper = interface.upper
    return [
        *lines,
        f"static unsigned char arena[{upper}_ARENA_BYTES + {upper}_ARENA_ALIGNMENT];",
        "",
        "static void *arena_start(unsigned char *memory)",
        "{",
        f"    return memory + ({upper}_ARENA_ALIGNMENT - (uintptr_t)memory % {upper}_ARENA_ALIGNMENT)"
        f" % {upper}_ARENA_ALIGNMENT;",
        "}",
        "",
    ]


def _calls(interface: Interface, prefix: str, constant: bool) -> list[str]:
    """The structures of a call."""
    const = "const " if constant else ""
    name = interface.name
    arguments = [
        f"(const {interface.c_type(port)} *)({const}void *){prefix}{n}" for n, port in enumerate(interface.arguments)
    ]
    results = [f"({interface.c_type(p)} *)(void *)out{n}" for n, p in enumerate(interface.results)]
    return [
        f"    const {name}_args args = {{ {', '.join(arguments) or 'NULL'} }};",
        f"    const {name}_results results = {{ {', '.join(results) or 'NULL'} }};",
    ]
