"""Run a case on one platform, and check that no other platform compiles anything meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
from jax._src import compiler

from cases import Case

COMPILED_ON: list[str] = []
"""The platforms of all executables that JAX compiled or loaded from a cache, in order."""


def _watch(name: str) -> None:
    original = getattr(compiler, name)

    def watching(*arguments: Any, **options: Any) -> Any:
        COMPILED_ON.append(arguments[0].platform)
        return original(*arguments, **options)

    setattr(compiler, name, watching)


_watch("compile_or_get_cached")


@contextmanager
def only_on(platform: str) -> Iterator[None]:
    """
    Run every computation on the platform's first device. Raises AssertionError if another platform compiled something.
    """
    before = len(COMPILED_ON)
    with jax.default_device(jax.devices(platform)[0]):
        yield
    others = {name for name in COMPILED_ON[before:] if name != platform}
    assert not others, f"{platform} was asked, but an executable was compiled for {others}"


def run(case: Case, platform: str, jit: bool = True) -> Any:
    """The results of a case, jitted or operation by operation."""
    device = jax.devices(platform)[0]
    with jax.enable_x64(case.x64), only_on(platform):
        arguments = [
            argument if i in case.static else jax.device_put(argument, device)
            for i, argument in enumerate(case.made_arguments())
        ]
        function = case.function
        if jit:
            options = case.reference_options if platform == "cpu" else {}
            function = jax.jit(function, static_argnums=case.static, compiler_options=options)
        results = jax.block_until_ready(function(*arguments))
    for leaf in jax.tree.leaves(results):
        if isinstance(leaf, jax.Array):
            assert {each.platform for each in leaf.devices()} == {platform}, f"a result lies on {leaf.devices()}"
    return results
