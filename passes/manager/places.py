"""
Passes at named places of the pipeline: `before:fuse-hlo`, `after:simplify-hlo`.

    xhlo.compile(program, pipeline={"before:fuse-hlo": "my-pass{limit=3}", "after:fuse-linalg": MyPass()})

Installed packages place passes through the entry point group `xhlo.pipeline`; each entry point is a mapping of that
form. They run in every compilation: of `xhlo.compile`, `xhlo.jit`, the tools and JAX.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from inspect import isclass
from typing import TYPE_CHECKING, Any, TypeAlias

from .pipelines import PipelineError, build_passes, parse_specs

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from .nesting import AnyPass

PassLike: TypeAlias = "str | ModulePass | type[ModulePass]"
"""A pass as text (`my-pass{limit=3}`, also several), as an object, or its class, for its defaults."""

Placement: TypeAlias = "Mapping[str, PassLike | Sequence[PassLike]]"
"""Passes by place: `before:` or `after:` and the name of a pass of the pipeline."""

Spec: TypeAlias = "str | AnyPass"
"""One pass of a pipeline: its text, or the pass itself."""

ENTRY_POINT_GROUP = "xhlo.pipeline"


@dataclass(frozen=True)
class Places:
    """Passes by place, each with its options."""

    passes: Mapping[str, tuple[AnyPass, ...]] = field(default_factory=dict[str, "tuple[AnyPass, ...]"])

    def around(self, specs: Sequence[Spec]) -> tuple[Spec, ...]:
        """The passes of a pipeline, with those of each place beside the pass that the place names."""
        if not self.passes:
            return tuple(specs)
        found: list[Spec] = []
        for spec in specs:
            name = pass_name(spec)
            found += (*self.passes.get(f"before:{name}", ()), spec, *self.passes.get(f"after:{name}", ()))
        return tuple(found)

    def and_then(self, later: Places) -> Places:
        """These passes, then `later` ones at the same place."""
        places = dict.fromkeys((*self.passes, *later.passes))
        return Places({place: (*self.passes.get(place, ()), *later.passes.get(place, ())) for place in places})

    @property
    def key(self) -> tuple[object, ...]:
        """Equal where the passes are: for caches in this process."""
        return tuple((place, tuple(map(_Key, self.passes[place]))) for place in sorted(self.passes))

    @property
    def text(self) -> tuple[str, ...] | None:
        """The same as text, for caches outside of this process; None if a pass is known in this process only."""
        if not self.passes:
            return ()
        from .nesting import NestedPass
        from .registry import find_pass

        found: list[str] = []
        for place, passes in sorted(self.passes.items()):
            for one in passes:
                entry = find_pass(one.name)
                if entry is None or isinstance(one, NestedPass) or entry.load() is not type(one) or not _is_stated(one):
                    return None
                found.append(f"{place}={one.pipeline_pass_spec()}")
        return tuple(found)


@dataclass(frozen=True, eq=False)
class _Key:
    """A pass that equals others with the same options, if its class states them as fields; else only itself."""

    one: AnyPass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and (self.one is other.one or (_is_stated(self.one) and self.one == other.one))

    def __hash__(self) -> int:
        return hash(type(self.one))


def _is_stated(one: AnyPass) -> bool:
    """Whether the fields of a dataclass hold all options of a pass."""
    return "__dataclass_fields__" in vars(type(one)) or not vars(one)


def pass_name(spec: Spec) -> str:
    """The name of the pass that a spec describes."""
    return spec.partition("{")[0] if isinstance(spec, str) else spec.name


def read_places(given: Placement, known: Collection[str]) -> Places:
    """
    The passes of a mapping; `known` are the names of the pipeline's passes.

    Raises PipelineError (a ValueError) for places and passes that there are not, TypeError for other objects.
    """
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"pipeline= takes a mapping from places to passes, got {type(given).__name__}")
    places: dict[str, tuple[AnyPass, ...]] = {}
    for place, passes in given.items():
        side, colon, name = str(place).partition(":")
        if side not in ("before", "after") or not colon:
            raise PipelineError(f"no place is named {place!r}: expected before:PASS or after:PASS")
        if name not in known:
            raise PipelineError(
                f"no place is named {place!r}: the pipeline has no pass '{name}'{_similar(name, known)}"
            )
        several: Iterable[Any] = passes if isinstance(passes, (list, tuple)) else (passes,)
        places[place] = tuple(one for each in several for one in _built(each))
    return Places(places)


def _built(one: Any) -> list[AnyPass]:
    from xdsl.passes import ModulePass

    if isinstance(one, str):
        return build_passes([str(spec) for spec in parse_specs(one)])
    if isclass(one) and issubclass(one, ModulePass):
        return [one()]
    if isinstance(one, ModulePass):
        return [one]
    raise TypeError(f"expected a pass or its text, got {type(one).__name__}")


def _similar(name: str, known: Collection[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=2)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else f"; it has {', '.join(known)}"


@cache
def package_places() -> Places:
    """The passes that installed packages place; what cannot be placed is left out with a warning."""
    from ...hlo_dialect.plugins import leave_out, loaded
    from .registry import find_pass

    found = Places()
    for plugin, given in loaded(ENTRY_POINT_GROUP):
        try:
            for place in given:
                name = str(place).partition(":")[2]
                found = found.and_then(read_places({place: given[place]}, (name,) if find_pass(name) else ()))
        except Exception as error:
            leave_out(plugin, error)
    return found
