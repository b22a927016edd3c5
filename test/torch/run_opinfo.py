"""
Compile samples of each operation in torch's own list of operations, and compare with eager mode.

    python test/torch/run_opinfo.py float32 bfloat16 int64 bool [--only=masked.sum,sort] [--samples=3]

Prints a line for each operation and dtype: `ok`; `fallback` with the operations that torch ran; `wrong`; `untraced` if
AOTAutograd itself refuses the samples; `failed`. Memory that is not initialized (`empty`) differs, and so do the places of
equal elements where a sort is not stable.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

import torch
from torch._functorch.aot_autograd import aot_function
from torch.testing._internal import common_methods_invocations as invocations
from torch.utils._pytree import tree_flatten, tree_unflatten

from xhlo.frontends.torch import errors
from xhlo.frontends.torch.decompositions import table
from xhlo.frontends.torch.graphs import compile_graph
from xhlo.frontends.torch.options import Options

TOLERANCE = {torch.float32: (2e-4, 2e-5), torch.bfloat16: (2e-2, 2e-2), torch.float64: (1e-7, 1e-7)}


def samples_of(op: Any, dtype: torch.dtype, wanted: int) -> list[Any]:
    """A few samples, spread over the first 60."""
    found = [sample for sample, _ in zip(op.sample_inputs("cpu", dtype), range(60), strict=False)]
    return found[:: max(1, len(found) // wanted)][:wanted]


def outcome(op: Any, dtype: torch.dtype, wanted: int) -> str:
    """The outcome of an operation: all its samples are one graph."""
    flat = [tree_flatten((one.input, one.args, one.kwargs)) for one in samples_of(op, dtype, wanted)]
    tensors = [leaf for leaves, _ in flat for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def run(*given: torch.Tensor) -> list[torch.Tensor]:
        new, found = iter(given), []
        for leaves, structure in flat:
            own = [next(new) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            first, args, kwargs = tree_unflatten(own, structure)
            results = tree_flatten(op.op(first, *args, **kwargs))[0]
            found += [one for one in results if isinstance(one, torch.Tensor)]
        return found

    refused: list[str] = []
    errors.tell = lambda refusals: refused.extend(str(one.node.target) for one in refusals)
    reached = False

    def compiler(graph: Any, _: Any) -> Any:
        nonlocal reached
        reached = True
        compiled = compile_graph(graph, Options())
        return lambda *args: compiled(args)

    torch.manual_seed(5)
    expected = run(*[one.clone() for one in tensors])
    torch.manual_seed(5)
    try:
        compiled = aot_function(run, fw_compiler=compiler, decompositions=table())
        found = compiled(*[one.clone() for one in tensors])
    except Exception as error:
        return f"{'failed' if reached else 'untraced'}: {type(error).__name__} {' '.join(str(error).split())[:200]}"
    relative, absolute = TOLERANCE.get(dtype, (1e-4, 1e-4))
    try:
        for x, y in zip(found, expected, strict=True):
            if y.layout == torch.strided:
                torch.testing.assert_close(x, y, rtol=relative, atol=absolute, equal_nan=True)
    except AssertionError as error:
        return f"wrong: {' '.join(str(error).split())[:200]}"
    return f"fallback: {' '.join(dict.fromkeys(refused))}" if refused else "ok"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dtypes", nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=3)
    stated = parser.parse_args()
    only = set(filter(None, stated.only.split(",")))
    counts: Counter[str] = Counter()
    with torch.no_grad():
        for op in invocations.op_db:
            for dtype in (getattr(torch, name) for name in stated.dtypes):
                if (only and op.name not in only) or dtype not in op.supported_dtypes("cpu"):
                    continue
                try:
                    found = outcome(op, dtype, stated.samples)
                except Exception as error:
                    # Eager mode itself refuses it, as on machines without CUDA.
                    found = f"untraced: {type(error).__name__}"
                counts[found.partition(":")[0]] += 1
                print(f"{op.name} {op.variant_test_name} {dtype}: {found}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
