"""
The functions that loaded code may call, and what object files ask for.

LLVM's linker finds every symbol of the process. An executable that was read from a file may only name those on a closed
list: the C library's and the compiler's functions that LLVM calls where the machine has no instruction, the runtime's,
and what the executable itself declares.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from .jit import RUNTIME_FUNCTIONS

_MEMORY = "memcpy memmove memset memcmp bzero __bzero bcmp"

_MATH = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs floor fma fmax
fmaximum_num fmin fminimum_num fmod frexp ldexp llrint llround log log10 log1p log2 lrint lround nearbyint pow rint
round roundeven sin sincos sinh sqrt tan tanh trunc
"""

_COMPILER = """
__addtf3 __ashlti3 __ashrti3 __divdc3 __divsc3 __divti3 __extendbfsf2 __extendhfdf2 __extendhfsf2 __fixdfti __fixsfti
__fixunsdfti __fixunssfti __floattidf __floattisf __floatuntidf __floatuntisf __gnu_f2h_ieee __gnu_h2f_ieee __lshrti3
__modti3 __muldc3 __mulsc3 __multi3 __popcountdi2 __powidf2 __powisf2 __truncdfbf2 __truncdfhf2 __truncsfbf2
__truncsfhf2 __udivti3 __umodti3
"""

C_FUNCTIONS = frozenset(
    (
        *_MEMORY.split(),
        *(name + suffix for name in _MATH.split() for suffix in ("", "f")),
        *_COMPILER.split(),
        "_GLOBAL_OFFSET_TABLE_",
    )
)


@dataclass(frozen=True)
class _Elf:
    """The structures of object files in ELF."""

    file: struct.Struct
    """The header: offset, entry size and number of sections."""
    section: struct.Struct
    """A section: type, offset, size, the section that it links to."""
    symbol: struct.Struct
    """A symbol: offset of its name, section (0 if it is undefined)."""


_ELF = {
    b"\x7fELF\x01\x01": _Elf(struct.Struct("<32xI10xHH2x"), struct.Struct("<4xI8xIII12x"), struct.Struct("<I10xH")),
    b"\x7fELF\x02\x01": _Elf(struct.Struct("<40xQ10xHH2x"), struct.Struct("<4xI16xQQI20x"), struct.Struct("<I2xH16x")),
    b"\x7fELF\x02\x02": _Elf(struct.Struct(">40xQ10xHH2x"), struct.Struct(">4xI16xQQI20x"), struct.Struct(">I2xH16x")),
}
"""Those of 32 and of 64 bits, and of 64 bits big-endian, by the first bytes of a file."""

_SYMBOL_TABLE = 2


def symbols(code: bytes) -> Iterator[tuple[str, bool]]:
    """
    The names in an object file, each with whether the file defines it; none for formats other than ELF.

    Raises ValueError for a damaged file.
    """
    elf = _ELF.get(code[:6])
    if elf is None:
        return
    try:
        start, size, count = elf.file.unpack_from(code)
        sections: list[tuple[int, ...]] = [elf.section.unpack_from(code, start + n * size) for n in range(count)]
        for kind, offset, length, link in sections:
            if kind != _SYMBOL_TABLE:
                continue
            names = sections[link][1]
            for at in range(offset, offset + length, elf.symbol.size):
                name, section = elf.symbol.unpack_from(code, at)
                if name:
                    begin = names + name
                    yield code[begin : code.index(b"\0", begin)].decode(), section != 0
    except (struct.error, IndexError) as error:
        raise ValueError(f"the object file is damaged: {error}") from None


def check_symbols(code: Sequence[bytes], declared: Collection[str]) -> None:
    """
    Check that object files name only functions of the list, the runtime's, their own, and declared ones, which may not
    take the place of others. Raises ValueError.
    """
    found = [symbol for each in code for symbol in symbols(each)]
    own = {name for name, is_defined in found if is_defined}
    known = C_FUNCTIONS.union(RUNTIME_FUNCTIONS)
    for name in (*own, *declared):
        if name in known:
            raise ValueError(f"the executable defines '{name}' anew, which is the runtime's")
    for name, is_defined in found:
        if not is_defined and name not in known and name not in own and name not in declared:
            raise ValueError(f"the executable names the function '{name}', which executables may not call")
