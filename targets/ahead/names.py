"""Names that C, C++, Rust and Python reserve, and names that they take in their place."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Collection, Iterable

_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await
    co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires restrict return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile
    wchar_t while xor xor_eq
    """.split()
)
"""The keywords of C23 and C++20."""

_MACROS = re.compile(
    r"NULL|EOF|WEOF|I|BUFSIZ|NAN|INFINITY|HUGE_VAL[FL]?|MATH_(ERRNO|ERREXCEPT)|FP_[A-Z]+|errno|std(in|out|err)|complex"
    r"|imaginary|noreturn|([SU]?CHAR|U?(SHRT|INT|LONG|LLONG|INTMAX|INTPTR)|S?SIZE|PTRDIFF|RAND|WCHAR|WINT)_(MAX|MIN|BIT)"
    r"|(FLT|L?DBL)_[A-Z0-9_]+|U?INT(_LEAST|_FAST)?\d+_(MAX|MIN|C)|LC_[A-Z]+|SEEK_(SET|CUR|END)|CLOCKS_PER_SEC"
    r"|M_(E|LOG2E|LOG10E|LN2|LN10|PI|PI_2|PI_4|1_PI|2_PI|2_SQRTPI|SQRT2|SQRT1_2)"
    r"|SIG(ABRT|FPE|ILL|INT|SEGV|TERM)|SIG_(DFL|ERR|IGN)|EXIT_(SUCCESS|FAILURE)|EDOM|ERANGE|EILSEQ|EINVAL|ENOMEM|TIME_UTC"
    r"|linux|unix|i386"  # with -std=gnu11, compilers' default
)
"""Macros of the C library and of compilers: a field of such a name becomes something else."""

_TYPES = re.compile(r"u?int(_least|_fast)?\d+_t|u?int(max|ptr)_t|s?size_t|ptrdiff_t")
"""Types of the headers: a field of such a name hides the type from those that follow."""

_FUNCTIONS = re.compile(
    r"(a?(cos|sin|tan)h?|atan2|exp|exp2|exp10|expm1|frexp|ilogb|ldexp|log|log10|log1p|log2|logb|modf|scalbl?n|cbrt|fabs"
    r"|hypot|pow|sqrt|erfc?|[lt]?gamma|ceil|floor|nearbyint|l?l?rint|l?l?round|trunc|fmod|remainder|remquo|copysign|nan"
    r"|nextafter|nexttoward|fdim|fmax|fmin|fma|finite|j0|j1|jn|y0|y1|yn)[fl]?"
    r"|l?l?abs|abort|atexit|ato[fil]l?|bsearch|[cm]alloc|realloc|free|exit|getenv|l?l?div|mblen|mbtowc|wctomb|qsort|s?rand"
    r"|s?random|system|index|rindex|bcmp|bcopy|bzero|wcs\w+|mbs\w+|wmem\w+"
    r"|mem(ccpy|chr|cmp|cpy|mem|move|set|pcpy)|str(n?cat|n?cmp|n?cpy|r?chr|coll|error|c?spn|len|pbrk|str|xfrm|dup|tok|sep)"
    r"|strto[dfl][dl]?|strtoull?|to(lower|upper|ascii)"
    r"|is(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit|ascii|finite|inf|nan|normal)"
    r"|ffs|clock|c?time|asctime|difftime|gmtime|localtime|mktime|remove|rename|tmpfile|tmpnam|f(open|close|read|write|seek)"
    r"|f(tell|flush)|setv?buf|f?gets|f?puts|f?getw?c|getw?char|f?putw?c|putw?char|ungetw?c|rewind|perror"
    r"|v?[fs]?n?w?(printf|scanf)|signal|raise|setlocale|localeconv|longjmp|select|open|close|read|write|pipe|dup2?|fork"
    r"|exec[lv]p?e?|kill|wait|u?sleep|alarm|pause|access|link|unlink|chdir|nice|sync|swab|s?brk|stat|main|std"
)
"""Functions of the C library, as which no namespace can be called, and two other names at their place."""

_RUST = frozenset(
    """
    Self abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if
    impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try type
    typeof unsafe unsized use virtual where while yield
    """.split()
)


def identifier(text: str) -> str:
    """A name for C and C++ like the text: other characters become underscores, and a reserved one follows an x."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    while not name or not name[0].isalpha() or is_reserved(name):  # `or` becomes `xor` first
        name = f"x{name}"
    return name


def is_reserved(name: str) -> bool:
    """Whether a name means something else in C or C++."""
    return name in _KEYWORDS or any(names.fullmatch(name) for names in (_MACROS, _TYPES))


def namespace(name: str) -> str:
    """The name of a namespace in C++, with an underscore more where a function of the C library has it."""
    return f"{name}_" if _FUNCTIONS.fullmatch(name) else name


def unlike(name: str, taken: Collection[str]) -> str:
    """The name, with underscores more until it is none of those taken."""
    while name in taken:
        name += "_"
    return name


def unlike_in_capitals(name: str, taken: Iterable[str]) -> str:
    """The same for names of which macros or constants in capitals are made."""
    used = {each.upper() for each in taken}
    while name.upper() in used:
        name += "_"
    return name


def rust_name(name: str) -> str:
    """The name, with an underscore more where Rust reserves it."""
    return f"{name}_" if name in _RUST else name


def python_name(name: str) -> str:
    """The name, with an underscore more where Python reserves it."""
    return f"{name}_" if keyword.iskeyword(name) else name


def no_python_module(name: str) -> str | None:
    """Why no Python module can have a name, if so."""
    if keyword.iskeyword(name):
        return "Python reserves it"
    return "its file would hide a module of Python's own" if name in sys.stdlib_module_names else None
