"""The backend: `torch.compile(model, backend="xhlo")`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from .api import required
from .decompositions import table
from .functions import replace_functions
from .graphs import compile_graph
from .options import Options
from .specializing import Specializing, around_made_symbols, has_symbols, made_symbols
from .updates import take_updates


def _compiled(graph_module: Any, example_inputs: Sequence[Any], options: Options) -> Callable[..., Any]:
    """The compiler of forward, backward and inference graphs that AOTAutograd calls."""
    changed = take_updates(graph_module)
    if made_symbols(graph_module):
        run = around_made_symbols(graph_module, options, changed)
    else:
        run = (Specializing if has_symbols(graph_module) else compile_graph)(graph_module, options, changed)

    def boxed(args: list[Any]) -> list[Any]:
        found = run(args)
        # The caller hands over its references.
        args.clear()
        return found

    boxed._boxed_call = True  # pyright: ignore[reportFunctionMemberAccess]
    return boxed


def xhlo(
    graph_module: Any,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """
    Compile one of Dynamo's graphs: what `torch.compile(model, backend="xhlo", options={..})` calls.

    options: see `Options`. Raises ValueError for an unknown option or mode.
    """
    if mode not in (None, "default"):
        raise ValueError(f"mode: xhlo has no mode '{mode}'; leave it out, or give options=")
    stated = Options.of(options)
    compiler = partial(_compiled, options=stated)
    aot = required("torch._dynamo.backends.common").aot_autograd
    functorch = required("functorch.compile")
    backend = aot(
        fw_compiler=compiler,
        bw_compiler=compiler,
        inference_compiler=compiler,
        decompositions=table,
        partition_fn=functorch.min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )
    replace_functions(graph_module)
    return backend(graph_module, example_inputs)
