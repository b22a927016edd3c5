"""Names that stand for others while a function is traced, and a signal's handler that traces meanwhile."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

from xhlo.frontends.numpy.entrances import entering
from xhlo.frontends.numpy.functions.mapping import notations
from xhlo.targets.cache.definitions import kept_definitions


def call(function: Any, args: Any, kwargs: Any, entrance: Any) -> Any:
    return function(*args, **kwargs)


BLOCKS: dict[str, tuple[Callable[[], AbstractContextManager[Any]], Callable[[], Any]]] = {
    "entrances": (lambda: entering(call), lambda: type(np)),
    "notations": (notations, lambda: np.vectorize.__call__),
    "definitions": (kept_definitions, lambda: vars(dataclasses).get("exec")),
}
"""By name, a block and what it replaces."""


@pytest.mark.parametrize("name", BLOCKS)
def test_a_handler_may_trace_while_names_are_replaced(name: str) -> None:
    block, replaced = BLOCKS[name]
    before = replaced()
    with block():
        inside = replaced()
    seen: list[Any] = []

    def enter_and_leave(place: int) -> None:
        left = [place]

        def handler(frame: object, event: str, argument: object) -> None:
            left[0] -= event in ("call", "c_call")
            if not left[0]:
                sys.setprofile(None)
                with block():
                    seen.append(replaced())

        sys.setprofile(handler)
        with block():
            seen.append(replaced())
        sys.setprofile(None)

    for place in range(1, 16):
        thread = threading.Thread(target=enter_and_leave, args=(place,), daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        assert replaced() is before
    assert seen == [inside] * len(seen)
