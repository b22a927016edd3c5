"""Variables without a value after control flow that only the run decides."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

from ...builder.locations import callers_location
from ..errors import TraceError


class Undefined:
    """Stands for the value of a variable that has none; any use is an error that says why."""

    def __init__(self, name: str, reason: str = "", remedy: str = ""):
        self.__dict__["_undefined"] = name, reason, remedy
        self.__dict__["_place"] = callers_location() if reason else None

    @property
    def reason(self) -> str:
        """Why there is no value; empty if none was assigned."""
        return self.__dict__["_undefined"][1]

    def fail(self, *_: Any, **__: Any) -> NoReturn:
        name, reason, remedy = self.__dict__["_undefined"]
        if not reason:
            raise UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")
        raise TraceError(f"{name} is used here, and {reason}", remedy)

    def returned(self) -> NoReturn:
        """Raise the error of a function that returns it, at the control flow that left it without a value."""
        name, reason, remedy = self.__dict__["_undefined"]
        if not reason:
            self.fail()
        raise TraceError(f"{name} is returned, and {reason}", remedy, self.__dict__["_place"])

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__array") or not name.startswith("__"):
            self.fail()
        raise AttributeError(name)


_OPERATORS = [name for name in dir(operator) if name.startswith("__") and name.endswith("__")]
_OTHERS = ["call", "iter", "bool", "len", "float", "int", "setitem", "getitem", "array", "array_ufunc", "hash", "eq"]
_OWN = ("__class__", "__doc__", "__name__", "__file__", "__loader__", "__spec__", "__package__", "__builtins__")

for _name in {*_OPERATORS, *(f"__r{name[2:]}" for name in _OPERATORS), *(f"__{name}__" for name in _OTHERS)} - {*_OWN}:
    setattr(Undefined, _name, Undefined.fail)
