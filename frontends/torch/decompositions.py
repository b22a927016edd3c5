"""Which operations AOTAutograd replaces by simpler ones before they are lowered: all that have no rule."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from . import random_numbers
from .api import required, torch
from .registry import compositions, rules


@cache
def table() -> dict[Any, Callable[..., Any]]:
    """Decompositions by overload."""
    # The references of Python register theirs when they are imported.
    required("torch._refs")
    required("torch._refs.nn.functional")
    required("torch._refs.special")
    required("torch._refs.fft")
    known = required("torch._decomp").decomposition_table
    lowered = rules()
    kept = {f"aten.{name}" for name in random_numbers.KEPT}
    found = {
        op: function
        for op, function in known.items()
        if str(op) not in lowered and str(op) not in kept and isinstance(op, torch._ops.OpOverload)
    }
    found |= dict(_of_lists())
    found |= {op: function for name, function in compositions().items() if (op := _overload(name)) is not None}
    found |= random_numbers.decompositions()
    return found


def _overload(name: str) -> Any:
    """The operation of a name, `aten.add.Tensor`; None if this version of torch does not have it."""
    library, packet, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, library), packet, None), overload, None)


def _of_lists() -> list[tuple[Any, Callable[..., Any]]]:
    """`_foreach_add` and its like: the operation of one tensor, on each of a list."""
    aten = torch.ops.aten
    found: list[tuple[Any, Callable[..., Any]]] = []
    for name in dir(aten):
        if not name.startswith("_foreach_") or name.endswith("_"):
            continue
        single = getattr(aten, name.removeprefix("_foreach_"), None)
        packet = getattr(aten, name)
        if single is None or name in ("_foreach_norm", "_foreach_copy", "_foreach_max", "_foreach_powsum"):
            continue
        for overload in packet.overloads():
            if "out" not in overload:
                op = getattr(packet, overload)
                found.append((op, _on_each(op, single)))
    return found


def _on_each(op: Any, single: Any) -> Callable[..., Any]:
    names = [argument.name for argument in op._schema.arguments]
    lists = {
        argument.name for argument in op._schema.arguments if str(argument.type) in ("List[Tensor]", "List[number]")
    }

    def each(*args: Any, **kwargs: Any) -> list[Any]:
        stated = dict(zip(names, args, strict=False)) | kwargs
        many = {name: value for name, value in stated.items() if name in lists and value is not None}
        rest = {name: value for name, value in stated.items() if name not in many}
        # The number of `_foreach_pow.ScalarAndTensor` comes before the list.
        length = len(next(iter(many.values())))
        return [
            _call(single, names, {**rest, **{name: value[i] for name, value in many.items()}}) for i in range(length)
        ]

    return each


def _call(single: Any, names: list[str], stated: dict[str, Any]) -> Any:
    """By position: the arguments of one tensor's operation have other names. `alpha` and `value` keep theirs."""
    named = {name: value for name, value in stated.items() if name in ("alpha", "value")}
    return single(*[stated[name] for name in names if name in stated and name not in named], **named)
