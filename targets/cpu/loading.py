"""From the image of a program to an executable in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...hlo_dialect.diagnostics import Diagnostic
from ...hlo_dialect.ops.check_calls import CheckFailure, run_check
from ...hlo_dialect.types import Array
from .callbacks import Callbacks
from .executable import Checker, CpuExecutable, Program
from .image import CONSTANT_ALIGNMENT, Check, Image
from .jit import load

ENTRY_SYMBOL = "xhlo_entry"


def load_image(image: Image, text_at: Callable[[str], str]) -> CpuExecutable:
    """
    Link the image's code into this process; `text_at` gives the program as text at a stage.

    Raises DiagnosticError where it calls host functions that are not registered here.
    """
    callbacks = Callbacks(image.host_calls)
    memory, constants = _place(image)
    code = load(image.code, (ENTRY_SYMBOL,), {**callbacks.addresses, **constants})
    stages = dict(image.stages)
    stages |= {f"LLVM {name}": seconds for name, seconds in code.timings.items()}
    program = Program(
        entry=code.address(ENTRY_SYMBOL),
        inputs=image.inputs,
        outputs=image.outputs,
        result_count=image.result_count,
        arena_bytes=image.arena_bytes,
        kernels=image.kernels,
        keep_alive=(code, memory),
        check=checker(image.checks) if image.checks else None,
        callbacks=callbacks if callbacks else None,
        profiled=image.profiled,
        stages=stages,
        image=image,
    )
    return CpuExecutable(program, text_at)


def _place(image: Image) -> tuple[Array, dict[str, int]]:
    """
    The constants in memory, each as aligned as the code takes it to be: the memory, and their addresses.

    The image refers to this memory from now on, so that there is one copy.
    """
    places: dict[str, slice] = {}
    size = 0
    for name, content in image.data.items():
        places[name] = slice(size, size + len(content))
        size += -(-len(content) // CONSTANT_ALIGNMENT) * CONSTANT_ALIGNMENT
    whole = np.empty(size + CONSTANT_ALIGNMENT, np.uint8)
    memory = whole[-whole.ctypes.data % CONSTANT_ALIGNMENT :]
    for name, content in image.data.items():
        memory[places[name]] = np.frombuffer(content, np.uint8)
    memory.flags.writeable = False
    image.data = {name: memory[place].data for name, place in places.items()}
    return memory, {name: memory.ctypes.data + place.start for name, place in places.items()}


def checker(checks: Sequence[Check]) -> Checker:
    """Raises CheckFailure for the first check that does not hold."""

    def check(results: Sequence[Array]) -> None:
        for each in checks:
            actual, expected = (results[place] for place in each.results)
            message = run_check(each.kind, actual, expected, each.attributes)
            if message is not None:
                text = f"check.{each.kind} failed: {message}"
                raise CheckFailure(
                    Diagnostic("error", text) if each.location is None else Diagnostic("error", text, each.location)
                )

    return check
