"""
Compile samples of each operation in torch's own list of operations, and compare with eager mode.

    python test/torch/run_opinfo.py float32 bfloat16 int64 bool [--only=masked.sum,sort] [--samples=3] [--backward]
    python test/torch/run_opinfo.py float32 --backend=inductor --only=..

--backward compares the gradients of the results' sums, weighted, with eager's. --into=FILE appends the outcomes to a file,
for `benchmarks/pytorch/report.py`; operations that it has already are left out.

Prints a line for each operation and dtype: `ok`; `fallback` with the operations that torch ran; `breaks` where Dynamo ends
the graph, because a size depends on elements or Python reads a number, and the results are right; `wrong`; `failed`;
`hung` and `crashed` after --limit seconds, or if the process that runs the samples ends; `refused` where eager mode itself
refuses the samples.

Three things are compared as far as they are defined: of memory that is not initialized (`empty`) the type and the size;
of the places of equal elements that are sorted, the elements there; and of numbers that eager mode rounds more than once,
the distance to the same operation in f64.
"""

from __future__ import annotations

import argparse
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch._functorch.aot_autograd import aot_function
from torch.testing._internal import common_methods_invocations as invocations
from torch.utils._pytree import tree_flatten, tree_unflatten

from xhlo.frontends.torch import errors
from xhlo.frontends.torch.backend import xhlo
from xhlo.frontends.torch.decompositions import table
from xhlo.frontends.torch.graphs import compile_graph
from xhlo.frontends.torch.options import Options

TOLERANCE = {torch.float32: (2e-4, 2e-5), torch.bfloat16: (2e-2, 2e-2), torch.float64: (1e-7, 1e-7)}
NEAR = {torch.float32: 2e-6, torch.bfloat16: 8e-3}
"""Relative distances to f64 that are as good as eager's."""
UNINITIALIZED = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")
SORTED = {"sort": 0, "argsort": 0, "topk": 1, "kthvalue": 1}
"""Operations that choose among equal elements, with the place of `dim` among their arguments."""


def samples_of(op: Any, dtype: torch.dtype, wanted: int, backward: bool) -> list[Any]:
    """A few samples, spread over the first 60."""
    given = op.sample_inputs("cpu", dtype, requires_grad=backward)
    found = [sample for sample, _ in zip(given, range(60), strict=False)]
    return found[:: max(1, len(found) // wanted)][:wanted]


def chosen(name: str, given: torch.Tensor, args: Any, kwargs: Any, found: Any) -> Any:
    """The results of an operation that sorts, with the elements at the places in place of these."""
    number = SORTED[name]
    dim = kwargs.get("dim", args[number] if len(args) > number else -1)
    values, places = (found[:0], found) if isinstance(found, torch.Tensor) else found
    if given.ndim == 0:
        return values
    keeps = places.ndim == given.ndim
    taken = given.gather(dim, places if keeps else places.unsqueeze(dim))
    return values, taken if keeps else taken.squeeze(dim)


def as_exact(found: Sequence[Any], expected: Sequence[Any], run: Any, near: float) -> bool:
    """Whether results that eager mode computes differently are about as near as its own to those in f64."""
    try:
        exact = run()
    except Exception:
        return False
    for x, y, z in zip(found, expected, exact, strict=True):
        if x.shape != y.shape or x.dtype != y.dtype:
            return False
        if x.is_floating_point():
            fine = z.isfinite() & y.isfinite()
            if not torch.equal(x.isfinite(), y.isfinite()):
                return False
            x, y, z = (one[fine].double() for one in (x, y, z))
            if (x - z).norm() > 4 * (y - z).norm() + near * z.norm():
                return False
        elif not torch.equal(x, y):
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


class Samples:
    """The samples of an operation as one function of their tensors."""

    def __init__(self, op: Any, dtype: torch.dtype, wanted: int, backward: bool):
        self._op, self._backward = op, backward
        self._samples = samples_of(op, dtype, wanted, backward)
        self._flat = [tree_flatten((one.input, one.args, one.kwargs)) for one in self._samples]
        self._tensors = [leaf for leaves, _ in self._flat for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def run(self, *given: torch.Tensor) -> list[torch.Tensor]:
        new, found = iter(given), []
        for (leaves, structure), sample in zip(self._flat, self._samples, strict=True):
            own = [next(new) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
            first, args, kwargs = tree_unflatten(own, structure)
            value = self._op.op(first, *args, **kwargs)
            if self._backward:
                value = getattr(sample, "output_process_fn_grad", lambda x: x)(value)
            elif self._op.name in SORTED and not kwargs.get("stable"):
                value = chosen(self._op.name, first, args, kwargs, value)
            found += [one for one in tree_flatten(value)[0] if isinstance(one, torch.Tensor)]
        return found

    def tensors(self, wide: bool = False) -> list[torch.Tensor]:
        """New ones; in f64 if `wide`."""
        found = [one.detach().clone() for one in self._tensors]
        found = [one.double() if wide and one.is_floating_point() else one for one in found]
        return [
            one.requires_grad_(self._backward and old.requires_grad)
            for one, old in zip(found, self._tensors, strict=True)
        ]

    def results(self, function: Callable[..., Any], wide: bool = False) -> list[torch.Tensor]:
        torch.manual_seed(5)
        return (gradients(function) if self._backward else function)(*self.tensors(wide))


def same(op: Any, dtype: torch.dtype, samples: Samples, found: Any, expected: Any) -> str:
    """The first difference; empty if there is none."""
    relative, absolute = TOLERANCE.get(dtype, (1e-4, 1e-4))
    try:
        for x, y in zip(found, expected, strict=True):
            if op.name in UNINITIALIZED:
                assert (x.shape, x.dtype) == (y.shape, y.dtype), "another type"
            elif y.layout == torch.strided:
                torch.testing.assert_close(x, y, rtol=relative, atol=absolute, equal_nan=True)
    except (AssertionError, ValueError) as error:
        if dtype in NEAR and as_exact(found, expected, lambda: samples.results(samples.run, wide=True), NEAR[dtype]):
            return ""
        return " ".join(str(error).split())[:200]
    return ""


def reason(error: Exception) -> str:
    return f"{type(error).__name__} {' '.join(str(error).split())[:200]}"


def outcome(op: Any, dtype: torch.dtype, wanted: int, backward: bool, backend: str) -> str:
    """The outcome of an operation: all its samples are one graph."""
    samples = Samples(op, dtype, wanted, backward)
    try:
        expected = samples.results(samples.run)
    except Exception as error:
        return f"refused: {reason(error)}"
    refused: list[str] = []
    errors.tell = lambda refusals: refused.extend(str(one.node.target) for one in refusals)
    reached = False

    def compiler(graph: Any, _: Any) -> Any:
        nonlocal reached
        reached = True
        compiled = compile_graph(graph, Options())
        return lambda *args: compiled(args)

    def through_dynamo() -> Any:
        torch._dynamo.reset()
        return samples.results(torch.compile(samples.run, backend=xhlo if backend == "xhlo" else backend))

    broken = False
    try:
        if backend == "xhlo":
            try:
                found = samples.results(
                    aot_function(samples.run, fw_compiler=compiler, bw_compiler=compiler, decompositions=table())
                )
            except Exception:
                if reached:
                    raise
                broken = True
                found = through_dynamo()
        else:
            found = through_dynamo()
    except Exception as error:
        return f"failed: {reason(error)}"
    difference = same(op, dtype, samples, found, expected)
    if difference:
        return f"wrong: {difference}"
    if refused:
        return f"fallback: {' '.join(dict.fromkeys(refused))}"
    return "breaks" if broken else "ok"


def rows(stated: Any) -> list[tuple[int, Any, torch.dtype]]:
    """The operations and dtypes that are asked for, numbered."""
    only = set(filter(None, stated.only.split(",")))
    found = [
        (op, dtype)
        for op in invocations.op_db
        if (op.supports_autograd or not stated.backward) and (not only or op.name in only)
        for dtype in (getattr(torch, name) for name in stated.dtypes)
        if dtype in op.supported_dtypes("cpu")
    ]
    return [(number, op, dtype) for number, (op, dtype) in enumerate(found)]


def title(op: Any, dtype: torch.dtype, stated: Any) -> str:
    return f"{stated.backend} {op.name} {op.variant_test_name} {dtype}{' backward' * stated.backward}"


def work(stated: Any) -> None:
    """Run operations from a number on, with a line before and after each."""
    # Programs do not seed the generator again.
    invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
    if stated.backend == "inductor":
        torch._inductor.config.fallback_random = True
    known = known_titles(stated)
    with torch.set_grad_enabled(stated.backward):
        for number, op, dtype in rows(stated):
            if number < stated.begin or title(op, dtype, stated) in known:
                continue
            print(f"begin {number}", flush=True)
            try:
                found = outcome(op, dtype, stated.samples, stated.backward, stated.backend)
            except Exception as error:
                found = f"refused: {reason(error)}"
            print(f"end {found}", flush=True)


def known_titles(stated: Any) -> set[str]:
    path = Path(stated.into) if stated.into else None
    return {line.partition(": ")[0] for line in path.read_text().splitlines()} if path and path.exists() else set()


def watch(stated: Any) -> None:
    """Run `work` in other processes: a new one after each that hangs or ends."""
    named = {number: title(op, dtype, stated) for number, op, dtype in rows(stated)}
    counts: Counter[str] = Counter()
    begin, running = 0, None

    def tell(number: int, found: str) -> None:
        counts[found.partition(":")[0]] += 1
        line = f"{named[number]}: {found}"
        print(line, flush=True)
        if stated.into:
            with open(stated.into, "a") as file:
                file.write(line + "\n")

    while True:
        words = [sys.executable, __file__, *sys.argv[1:], f"--begin={begin}"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0) as process:
            assert process.stdout is not None
            rest, hung = b"", False
            while True:
                if not select.select([process.stdout], [], [], stated.limit)[0]:
                    hung = True
                    break
                more = process.stdout.read(1 << 16)
                if not more:
                    break
                *lines, rest = (rest + more).split(b"\n")
                for line in lines:
                    word, _, text = line.decode(errors="replace").partition(" ")
                    if word == "begin":
                        running = int(text)
                    elif word == "end" and running is not None:
                        tell(running, text)
                        begin, running = running + 1, None
            process.kill()
        if running is None:
            break
        tell(running, f"hung: more than {stated.limit:.0f} s" if hung else "crashed")
        begin, running = running + 1, None
    print(dict(counts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dtypes", nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--backend", default="xhlo", choices=["xhlo", "inductor"])
    parser.add_argument("--limit", type=float, default=300)
    parser.add_argument("--into", default="")
    parser.add_argument("--begin", type=int, help="for the processes that this one starts")
    stated = parser.parse_args()
    if stated.begin is None:
        watch(stated)
    else:
        work(stated)


if __name__ == "__main__":
    main()
