"""Writers of random control flow: nested counted loops and branches."""

from __future__ import annotations

from dataclasses import replace

from .arrays import ANYTHING, COMPLEX, EXACT, FLOATS, Claim
from .programs import Builder, Value


def _inner_operations(b: Builder) -> None:
    b.write_operations(b, b.random.randint(0, 6))


def _state_claim(dtype: str) -> Claim:
    """The claim for a float or complex loop state: it is exact, but unbounded."""
    return ANYTHING if dtype in FLOATS or dtype in COMPLEX else EXACT


def _compare(b: Builder, left: Value, right: Value, direction: str) -> Value:
    return b.emit(
        "compare", [left, right], "i1", left.shape, comparison_direction=f"#stablehlo<comparison_direction {direction}>"
    )


def write_while(b: Builder) -> None:
    """
    Write a loop with a known trip count and up to four more state values: computed, updated in place, swapped or
    unchanged.
    """
    dtype = b.random.choice(("i32", "i32", "i64", "ui32"))
    trips, step = b.random.choice((0, 1, 2, 3, 5)), b.random.choice((1, 1, 2))
    carried = [v for v in (b.pick(lambda v: v.exact) for _ in range(b.random.randint(0, 4))) if v is not None]
    if carried and b.chance(0.4):
        carried.append(b.like(carried[0].dtype, carried[0].shape))
    inits = [b.scalar(0, dtype), *carried]
    b.random.shuffle(inits)
    at = next(i for i, v in enumerate(inits) if v not in carried)
    limit = b.scalar(trips * step, dtype) if b.chance(0.6) else None

    def arguments() -> list[Value]:
        return [Value(b.name(), v.dtype, v.shape, _state_claim(v.dtype)) for v in inits]

    def condition() -> list[Value]:
        go_on = _compare(b, tested[at], limit or b.scalar(trips * step, dtype), "LT")
        if b.chance(0.2):
            go_on = b.emit("and", [go_on, b.like("i1", ())], "i1", ())
        return [go_on]

    def body() -> list[Value]:
        counter = state[at]
        if b.chance(0.8):
            _inner_operations(b)
        results = [_next_state(b, value, counter) for value in state]
        _maybe_swap(b, results, at)
        results[at] = b.emit("add", [counter, b.scalar(step, dtype)], dtype, ())
        return results

    tested, state = arguments(), arguments()
    first, _ = b.region(tested, condition)
    second, _ = b.region(state, body)
    outs = [Value("", v.dtype, v.shape, _state_claim(v.dtype)) for v in inits]
    b.emit_with_regions("while", inits, outs, [first, second])


def _next_state(b: Builder, value: Value, counter: Value) -> Value:
    way = b.random.randrange(6)
    if way == 0:
        return value
    if way <= 2 and value.shape:
        sizes = tuple(1 if place == 0 else size for place, size in enumerate(value.shape))
        if 0 not in value.shape:
            update = b.like(value.dtype, sizes)
            zero = b.scalar(0, counter.dtype)
            starts = [counter, *([zero] * (len(sizes) - 1))]
            return b.emit(
                "dynamic_update_slice", [value, update, *starts], value.dtype, value.shape, _state_claim(value.dtype)
            )
    if way == 3:
        other = b.like(value.dtype, value.shape)
        if value.is_float:
            name = b.random.choice(("add", "multiply", "maximum", "subtract"))
        elif value.is_complex:
            name = b.random.choice(("add", "subtract"))
        else:
            name = b.random.choice(
                ("and", "or", "xor") if value.dtype == "i1" else ("add", "multiply", "subtract", "xor")
            )
        return b.emit(name, [value, other], value.dtype, value.shape, _state_claim(value.dtype))
    return b.like(value.dtype, value.shape)


def _maybe_swap(b: Builder, results: list[Value], at: int) -> None:
    for i in range(len(results)):
        for j in range(i):
            same = results[i].type == results[j].type and at not in (i, j)
            if same and b.chance(0.5):
                results[i], results[j] = results[j], results[i]


def _branches(b: Builder, count: int) -> tuple[list[str], list[Value]]:
    """Regions that return the same types, and the claims of their results."""
    wanted: list[Value] = []
    texts: list[str] = []

    def first() -> list[Value]:
        _inner_operations(b)
        return [v for v in (b.pick(lambda v: True) for _ in range(b.random.randint(1, 3))) if v is not None]

    def other() -> list[Value]:
        if b.chance(0.7):
            _inner_operations(b)
        return [b.like(v.dtype, v.shape, lambda claim: True) for v in wanted]

    for branch in range(count):
        text, results = b.region([], other if branch else first)
        texts.append(text)
        wanted = (
            [replace(v, claim=v.claim.or_else(w.claim)) for v, w in zip(results, wanted, strict=True)]
            if branch
            else results
        )
    return texts, wanted


def write_if(b: Builder) -> None:
    condition = b.like("i1", ())
    texts, results = _branches(b, 2)
    b.emit_with_regions("if", [condition], results, texts)


def write_case(b: Builder) -> None:
    """Write a case; its index may be out of range, which selects the last branch."""
    index = b.like("i32", ()) if b.chance(0.6) else b.scalar(b.random.randint(-1, 4), "i32")
    texts, results = _branches(b, b.random.randint(1, 4))
    b.emit_with_regions("case", [index], results, texts)
