"""
NumPy's functions, as code under `jit` or `autocluster` sees them: their results may enter what is traced or recorded.

That holds for calls from the user's own code (files that are not part of an installed package, of Python or of this
one), in the thread or task that asked for it. For all else a function is itself.
"""

# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# Arrays of any element type: the parameters of NumPy's types are unknown.
from __future__ import annotations

import functools
import opcode
import sys
import sysconfig
import threading
import types
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from ..builder.locations import FLOORS

Enter = Callable[[Any, tuple[Any, ...], dict[str, Any], "Entrance"], Any]
"""Calls a function of NumPy with these arguments, by its entrance; gives what the caller sees."""

TAKING = {np.asarray: "same", np.asanyarray: "same", np.array: "copy", np.ascontiguousarray: "contiguous"}
"""Functions that give their argument as an array, and how. While names are replaced, `is np.array` is true of none."""

_ENTER: ContextVar[Enter | None] = ContextVar("xhlo.entrances", default=None)
_MODULES = (np, np.linalg, np.fft, np.random)
_KINDS = (np.ufunc, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type(np.sum))
_lock = threading.RLock()  # a handler of a signal may trace meanwhile
_depth = [0]


_ROOT = Path(__file__).resolve().parent.parent.parent
_OTHERS = (
    f"{Path(sysconfig.get_path('stdlib')).resolve()}/",
    # It may be in a folder of any name: `pip install --target`.
    f"{Path(np.__file__).resolve().parent}/",
    *(f"{_ROOT / name}/" for name in FLOORS),
)
"""The folders of Python, of NumPy and of this package."""


@functools.cache
def _is_users(file: str) -> bool:
    path = Path(file)
    installed = "site-packages" in path.parts or "dist-packages" in path.parts
    return not (installed or path.name.startswith("<frozen") or str(path.resolve()).startswith(_OTHERS))


class Place:
    """
    An instruction that loads a name.

    Where results need not enter, because they are numbers or recording does not pay there, `left` is how often the name
    is to stand for NumPy's own function.
    """

    __slots__ = ("code", "enters", "left", "passes")

    def __init__(self, enters: bool, code: types.CodeType | None):
        self.enters = enters
        """Whether it is the user's own code that loads it."""
        self.code = code
        """Kept, so that its identity stays its own."""
        self.left = 0
        self.passes: Enter | None = None
        """Whom that is for: others, such as a trace of the same code, need the entrance."""

    def pass_by(self, times: int, enter: Enter) -> None:
        self.left, self.passes = times, enter


class Entrance:
    """A function of NumPy whose results enter; in all other ways the function itself."""

    def __init__(self, function: Any):
        self._function = function
        self.__doc__ = function.__doc__
        self.place = Place(False, None)
        """Where its name was loaded last."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        enter = _ENTER.get()
        if enter is None or not _is_users(sys._getframe(1).f_code.co_filename):  # pyright: ignore[reportPrivateUsage]
            return self._function(*args, **kwargs)
        return enter(self._function, args, kwargs, self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        return type(self._function)

    def __hash__(self) -> int:
        return hash(self._function)

    def __eq__(self, other: object) -> bool:
        return self._function == (other._function if type(other) is Entrance else other)

    def __repr__(self) -> str:
        return repr(self._function)

    def __reduce__(self) -> Any:
        return getattr, (sys.modules[self._function.__module__], self._function.__name__)


_LOADS = {opcode.opmap.get(name) for name in ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")}
_MANY_PLACES = 20_000
_PLACES: dict[tuple[int, int], Place] = {}
"""Instructions, by their code's identity."""


def _place(code: types.CodeType, instruction: int) -> Place:
    """
    An instruction, and whether it loads an attribute for the user's own code.

    Where another kind of instruction is under way, such as a call, code in C that has no frame of its own asks for the
    name: NumPy's generators of random numbers need NumPy's own functions.
    """
    if len(_PLACES) >= _MANY_PLACES:
        _PLACES.clear()
    found = Place(_is_users(code.co_filename) and code.co_code[instruction] in _LOADS, code)
    _PLACES[id(code), instruction] = found
    return found


def _name(names: dict[str, Any], name: str) -> property:
    """
    The attribute of a module in whose place an entrance stands; another value that somebody gave it stays.

    A property of closures, which takes two thirds of the time of a class with `__get__`.
    """
    function = names[name]
    entrance = Entrance(function)
    frame_at, known = sys._getframe, _PLACES.get  # pyright: ignore[reportPrivateUsage]

    def get(module: types.ModuleType) -> Any:
        frame = frame_at(1)
        code = frame.f_code
        place = known((id(code), frame.f_lasti)) or _place(code, frame.f_lasti)
        try:
            found = names[name]
        except KeyError:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}") from None
        if not place.enters or found is not function:
            return found
        if place.left and place.passes is _ENTER.get():
            place.left -= 1
            return found
        entrance.place = place
        return entrance

    def set_(module: types.ModuleType, value: Any) -> None:
        names[name] = function if value is entrance else value

    def delete(module: types.ModuleType) -> None:
        del names[name]

    return property(get, set_, delete)


@functools.cache
def _classes() -> list[tuple[types.ModuleType, type, type]]:
    """
    The modules, the class of each, and one that has entrances in place of the public functions.

    A module is given that class while names are replaced: this takes no time, however many names there are, and what
    the module holds is never touched.
    """

    def missing(module: types.ModuleType, name: str) -> Any:
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    def entrances(module: types.ModuleType) -> dict[str, Any]:
        names = vars(module)
        public = [name for name, found in names.items() if not name.startswith("_") and isinstance(found, _KINDS)]
        # Python 3.14 reads a module's names past its class where neither has a __getattr__.
        more = {} if "__getattr__" in names else {"__getattr__": missing}
        return {name: _name(names, name) for name in public} | more

    return [(module, type(module), type("module", (type(module),), entrances(module))) for module in _MODULES]


class entering:
    """In this block, calls of NumPy's public functions from the user's code go through `enter`."""

    def __init__(self, enter: Enter):
        self._enter = enter

    def __enter__(self) -> None:
        with _lock:
            _depth[0] += 1
            for module, _, replaced in _classes():
                if type(module) is not replaced:
                    module.__class__ = replaced
        self._token = _ENTER.set(self._enter)

    def __exit__(self, *error: object) -> None:
        _ENTER.reset(self._token)
        with _lock:
            _depth[0] -= 1
            if not _depth[0]:
                for module, original, _ in _classes():
                    module.__class__ = original
