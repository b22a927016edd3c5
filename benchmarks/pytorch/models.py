"""
Models with random weights through `torch.compile(model, backend="xhlo")`, beside eager mode.

    python benchmarks/pytorch/models.py check [--only=resnet18,T5]
    python benchmarks/pytorch/models.py speed [--all] [--write]

`check` prints for each model the largest error of the results and of the gradients of a training step, relative to the
norm of each tensor of a float64 run, for the compiled model and for eager mode, and the operations that torch ran.

`speed` times inference and a training step of some models, or of all, and their compilation, beside eager mode and
inductor (`model_speed.py`); `--write` puts the rows into the table of TORCH.md, beside those of other models.
"""

from __future__ import annotations

import argparse
import copy
import re
import time
import warnings
from typing import Any

import torch
from torch import nn

import model_speed
from report import part, put
from xhlo.frontends.torch.backend import xhlo
from xhlo.frontends.torch.errors import FallbackWarning
from zoo import SAMPLE, Case, cases


def step(model: nn.Module, inputs: list[torch.Tensor]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The results of a model and the gradients of a loss, from the same seed."""
    torch.manual_seed(1)
    model.zero_grad()
    found = model(*inputs)
    ((found * found).mean() + found.sin().mean()).backward()
    gradients = {name: one.grad.clone() for name, one in model.named_parameters() if one.grad is not None}
    return found.detach().clone(), gradients


def error(found: torch.Tensor, exact: torch.Tensor, least: float) -> float:
    """The norm of the difference to that of the exact tensor, or to `least` if that is larger."""
    return ((found.double() - exact).norm() / max(exact.norm().item(), least)).item()


def errors(found: Any, exact: Any) -> tuple[float, float]:
    """The error of the results, and the largest one of a gradient. Gradients that cancel have no size of their own."""
    total = torch.stack([one.norm() for one in exact[1].values()]).norm().item()
    worst = max(error(one, exact[1][name], 1e-4 * total) for name, one in found[1].items())
    return error(found[0], exact[0], 1e-30), worst


def still(model: nn.Module) -> nn.Module:
    """A model that draws nothing at random: its float64 run would draw others."""
    for one in model.modules():
        for name in ("p", "dropout", "drop_prob", "attention_dropout", "drop_path_rate", "dropout_p"):
            if isinstance(getattr(one, name, None), float):
                setattr(one, name, 0.0)
        if type(one).__name__ == "StochasticDepth":
            one.p = 0.0
    return model


def check(case: Case, backend: Any) -> str:
    """One line about a model."""
    torch.manual_seed(0)
    model, inputs = still(case.build()).train(), case.inputs()
    wide = [one.double() if one.is_floating_point() else one for one in inputs]
    eager = step(copy.deepcopy(model), inputs)
    try:
        exact = step(copy.deepcopy(model).double(), wide)
    except RuntimeError:
        # Grouped products, of mixtures of experts, are not there in float64.
        exact = (eager[0].double(), {name: one.double() for name, one in eager[1].items()})
    torch._dynamo.reset()
    compiled = torch.compile(copy.deepcopy(model), backend=backend)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", FallbackWarning)
        before = time.perf_counter()
        found = step(compiled, inputs)
        took = time.perf_counter() - before
    found = (found[0], {name.removeprefix("_orig_mod."): one for name, one in found[1].items()})
    ours, theirs = errors(found, exact), errors(eager, exact)
    ran = sorted({str(one.message).split()[0] for one in said if one.category is FallbackWarning})
    # As near to the exact gradients as eager mode, or within 1e-4 of them.
    good = all(mine <= max(1e-4, 2 * other) for mine, other in zip(ours, theirs, strict=True))
    state = "ok" if good else "FAR"
    shown = " ".join(f"{one:.1e}" for one in (*ours, *theirs))
    return f"{state} results, gradients {shown} (xhlo xhlo eager eager) {took:.1f} s {' '.join(ran)}"


def speed(chosen: list[Case], stated: argparse.Namespace) -> None:
    """Print a table of times, and put it into TORCH.md if that is wanted."""
    backends = {"xhlo": xhlo, "inductor": "inductor"}
    for backend in backends.values():
        torch.compile(lambda x: x.sin().sum(), backend=backend)(torch.ones(8, requires_grad=True)).backward()
    rows: list[model_speed.Row] = []
    print(model_speed.HEAD, flush=True)
    for case in chosen:
        for row in model_speed.rows_of(case, backends, stated.blocks, stated.seconds):
            print(row.line, flush=True)
            rows.append(row)
    if stated.write:
        measured = {(row.name, row.mode) for row in rows}
        kept = [model_speed.Row.read(line) for line in part("speed") if re.match(r"\| \w+/", line)]
        order = [case.name for case in cases()]
        rows += [row for row in kept if (row.name, row.mode) not in measured]
        rows.sort(key=lambda row: (order.index(row.name), row.mode))
    found = model_speed.summary(rows)
    print("\n".join(found))
    if stated.write:
        put(
            "speed",
            ["## Models beside inductor and eager mode", "", model_speed.HEAD, *(row.line for row in rows), "", *found],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["check", "speed"])
    parser.add_argument("--only", default="")
    parser.add_argument("--backend", default="xhlo", help="of check")
    parser.add_argument("--all", action="store_true", help="the speed of all models")
    parser.add_argument("--blocks", type=int, default=5, help="turns of each system")
    parser.add_argument("--seconds", type=float, default=0.3, help="the length of a turn")
    parser.add_argument("--write", action="store_true", help="put the table into TORCH.md")
    stated = parser.parse_args()
    only = list(filter(None, stated.only.split(",")))
    chosen = [case for case in cases() if not only or any(one in case.name for one in only)]
    if stated.action == "speed":
        speed([case for case in chosen if stated.all or only or case.name in SAMPLE], stated)
        return
    backend = xhlo if stated.backend == "xhlo" else stated.backend
    for case in chosen:
        try:
            found = check(case, backend)
        except Exception as reason:
            found = f"FAILED {type(reason).__name__}: {' '.join(str(reason).split())[:300]}"
        print(f"{case.name}: {found}", flush=True)


if __name__ == "__main__":
    model_speed.use_empty_caches()
    main()
