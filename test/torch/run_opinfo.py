"""
Compile samples of each operation in torch's own list of operations, and compare with eager mode.

    python test/torch/run_opinfo.py float32 bfloat16 int64 bool [--only=masked.sum,sort] [--samples=3] [--backward]

--backward compares the gradients of the results' sums, weighted, with eager's.

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


def samples_of(op: Any, dtype: torch.dtype, wanted: int, backward: bool) -> list[Any]:
    """A few samples, spread over the first 60."""
    given = op.sample_inputs("cpu", dtype, requires_grad=backward)
    found = [sample for sample, _ in zip(given, range(60), strict=False)]
    return found[:: max(1, len(found) // wanted)][:wanted]


def as_exact(found: list[torch.Tensor], expected: list[torch.Tensor], run: Any) -> bool:
    """Whether results that eager mode computes differently are about as near as its own to those in f64."""
    try:
        exact = run()
    except Exception:
        return False
    for x, y, z in zip(found, expected, exact, strict=True):
        if x.is_floating_point() and (x - z).norm() > 4 * (y - z).norm() + 2e-6 * z.norm():
            return False
        if not x.is_floating_point() and not torch.equal(x, y):
            return False
    return True


def gradients(run: Any) -> Any:
    """The function that returns the gradients of a function's results in place of these."""

    def of(*given: torch.Tensor) -> list[torch.Tensor]:
        wanted = [one for one in given if one.requires_grad]
        found = [one for one in run(*given) if one.requires_grad]
        if not found:
            return []
        weights = [torch.arange(1, one.numel() + 1).view(one.shape).to(one.dtype).cos() for one in found]
        return [one for one in torch.autograd.grad(found, wanted, weights, allow_unused=True) if one is not None]

    return of


def outcome(op: Any, dtype: torch.dtype, wanted: int, backward: bool) -> str:
    """The outcome of an operation: all its samples are one graph."""
    samples = samples_of(op, dtype, wanted, backward)
    flat = [tree_flatten((one.input, one.args, one.kwargs)) for one in samples]
    tensors = [leaf for leaves, _ in flat for leaf in leaves if isinstance(leaf, torch.Tensor)]
    processed = [getattr(one, "output_process_fn_grad", lambda x: x) for one in samples]

    def run(*given: torch.Tensor) -> list[torch.Tensor]:
        new, found = iter(given), []
        for (leaves, structure), process in zip(flat, processed, strict=True):
            own = [next(new) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            first, args, kwargs = tree_unflatten(own, structure)
            value = op.op(first, *args, **kwargs)
            results = tree_flatten(process(value) if backward else value)[0]
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

    def own() -> list[torch.Tensor]:
        return [one.detach().clone().requires_grad_(backward and one.requires_grad) for one in tensors]

    torch.manual_seed(5)
    expected = (gradients(run) if backward else run)(*own())
    torch.manual_seed(5)
    try:
        compiled = aot_function(run, fw_compiler=compiler, bw_compiler=compiler, decompositions=table())
        found = (gradients(compiled) if backward else compiled)(*own())
    except Exception as error:
        return f"{'failed' if reached else 'untraced'}: {type(error).__name__} {' '.join(str(error).split())[:200]}"

    def exact() -> list[torch.Tensor]:
        wide = [one.double() if one.is_floating_point() else one for one in own()]
        torch.manual_seed(5)
        return (gradients(run) if backward else run)(*[one.detach().requires_grad_(one.requires_grad) for one in wide])

    relative, absolute = TOLERANCE.get(dtype, (1e-4, 1e-4))
    try:
        for x, y in zip(found, expected, strict=True):
            if y.layout == torch.strided:
                torch.testing.assert_close(x, y, rtol=relative, atol=absolute, equal_nan=True)
    except AssertionError as error:
        if dtype == torch.float32 and as_exact(found, expected, exact):
            return "ok"
        return f"wrong: {' '.join(str(error).split())[:200]}"
    return f"fallback: {' '.join(dict.fromkeys(refused))}" if refused else "ok"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dtypes", nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--backward", action="store_true")
    stated = parser.parse_args()
    only = set(filter(None, stated.only.split(",")))
    counts: Counter[str] = Counter()
    # Programs do not seed the generator again.
    invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
    with torch.set_grad_enabled(stated.backward):
        for op in invocations.op_db:
            if stated.backward and not op.supports_autograd:
                continue
            for dtype in (getattr(torch, name) for name in stated.dtypes):
                if (only and op.name not in only) or dtype not in op.supported_dtypes("cpu"):
                    continue
                try:
                    found = outcome(op, dtype, stated.samples, stated.backward)
                except Exception as error:
                    # Eager mode itself refuses it, as on machines without CUDA.
                    found = f"untraced: {type(error).__name__}"
                counts[found.partition(":")[0]] += 1
                print(f"{op.name} {op.variant_test_name} {dtype}: {found}", flush=True)
    print(dict(counts))


if __name__ == "__main__":
    main()
