"""From the bytes or the image of a program to an executable in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...hlo_dialect.arrays import Array
from ..program.container import Serialized
from .c_library import check_symbols
from .callbacks import Callbacks
from .executable import CpuExecutable
from .image import CONSTANT_ALIGNMENT, Image
from .jit import load as load_code
from .serialization import read_image

if TYPE_CHECKING:
    from ..program.guard import GuardFacts

ENTRY_SYMBOL = "xhlo_entry"


def load(serialized: Serialized, text_at: Callable[[str], str]) -> CpuExecutable:
    """
    The executable that `serialize` wrote; `text_at` returns the program as text at a stage.

    Raises ValueError for another version or CPU, or for code that calls more than the runtime; DiagnosticError if it
    calls host functions that are not registered in this process.
    """
    image = read_image(serialized)
    for call in image.facts.host_calls:
        if call.resolve()[0].local:
            raise ValueError(f"the program calls functions of the process that compiled it ({call.target})")
    callbacks = Callbacks(image.facts.host_calls)
    check_symbols(image.code, {*image.data, *callbacks.addresses})
    return load_image(image, text_at, callbacks)


def load_image(image: Image, text_at: Callable[[str], str], callbacks: Callbacks | None = None) -> CpuExecutable:
    """
    Link the image's code into this process. `callbacks`: the functions that it calls, if they have been made.

    Raises DiagnosticError if it calls host functions that are not registered in this process.
    """
    if image.facts.guard is not None:
        return _load_guarded(image, image.facts.guard, text_at)
    callbacks = Callbacks(image.facts.host_calls) if callbacks is None else callbacks
    memory, constants = _place(image)
    code = load_code(image.code, (ENTRY_SYMBOL,), {**callbacks.addresses, **constants})
    image.facts.stages.update((f"LLVM {name}", seconds) for name, seconds in code.timings.items())
    return CpuExecutable(image, code.address(ENTRY_SYMBOL), callbacks, (code, memory), text_at)


def _load_guarded(image: Image, guard: GuardFacts, text_at: Callable[[str], str]) -> CpuExecutable:
    from .guard import check_system

    check_system()
    from .guard.executable import GuardedExecutable
    from .guard.memory import Constants
    from .guard.runs import GUARD_SYMBOL, guard_address

    callbacks, constants = Callbacks(image.facts.host_calls), Constants(image.data, guard.side)
    imports = {**callbacks.addresses, **constants.addresses, GUARD_SYMBOL: guard_address()}
    code = load_code(image.code, (ENTRY_SYMBOL,), imports)
    image.facts.stages.update((f"LLVM {name}", seconds) for name, seconds in code.timings.items())
    return GuardedExecutable(
        image, code.address(ENTRY_SYMBOL), callbacks, code, text_at, guard=guard, constants=constants
    )


def _place(image: Image) -> tuple[Array, dict[str, int]]:
    """
    Put the constants into memory with the alignment that the code assumes; return the memory and their addresses.

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
