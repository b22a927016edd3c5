"""The plugin itself: the table of the API in the capsule that JAX takes, and its end before the interpreter's."""

from __future__ import annotations

import atexit
import ctypes
import math
import os
import threading
import time
from functools import lru_cache, partial
from typing import Any

from ...hlo_dialect.garbage_collector import paused_gc
from ...hlo_dialect.outliving import outlive
from ...hlo_dialect.threads import LONGEST_END
from ...targets.cache.modules import kept_code
from . import arrays as arrays
from . import client as client
from . import tracing
from .c_api import EXTENSIONS, FUNCTIONS, MAJOR, MINOR, Api, Version, extension_structure
from .entries import dispatch, end_compilations, load_later
from .native_calls import Native, loaded
from .native_execution import HOST_THREAD


class Plugin:
    """`api`, the table; `capsule`, the same for `xla_bridge.register_plugin`. They live as long as the process."""

    def __init__(self) -> None:
        native: Native = loaded()
        native.variable("interrupt_class").value = id(KeyboardInterrupt)
        native.variable("dispatcher").value = id(dispatch)  # the function's address: the module keeps it
        # Buffers that outlive the interpreter's modules must not call into it, and still need the table.
        atexit.register(_end, native)
        outlive(self)
        if hasattr(os, "register_at_fork"):
            # A child has none of the threads that run programs.
            os.register_at_fork(before=partial(_rest_for_fork, native), after_in_child=native.prepare_locks)
        self.api = Api(struct_size=ctypes.sizeof(Api))
        self._extensions: list[ctypes.Structure] = [tracing.EXTENSION]
        for kind, names in EXTENSIONS.items():
            structure = extension_structure(kind)
            functions = {name: native.entry(name) for name in names}
            following = ctypes.addressof(self._extensions[-1])
            size = ctypes.sizeof(structure)
            self._extensions.append(structure(struct_size=size, type=kind, next=following, **functions))
        self.api.extension_start = ctypes.addressof(self._extensions[-1])
        self.api.version = Version(struct_size=ctypes.sizeof(Version), major=MAJOR, minor=MINOR)
        for name in FUNCTIONS:
            setattr(self.api, name, native.entry(name))
        new_capsule: Any = ctypes.pythonapi.PyCapsule_New
        new_capsule.restype = ctypes.py_object
        new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self._name = b"pjrt_c_api"
        self.capsule: Any = new_capsule(ctypes.addressof(self.api), self._name, None)


def _load_compiler() -> None:
    """The entries that compile, run and describe programs; with them the compiler is loaded, which takes a while."""
    with paused_gc(), kept_code():
        from . import executable_facts as executable_facts
        from . import executables as executables


load_later(_load_compiler)


def _rest(native: Native, longest: float) -> None:
    """Wait until the runs in progress have ended, or so many seconds."""
    tasks, late = native.variable("tasks"), time.monotonic() + longest
    while tasks.value and time.monotonic() < late:
        time.sleep(0.0002)


def _rest_for_fork(native: Native) -> None:
    if threading.current_thread().name != HOST_THREAD:  # a run in progress forks
        _rest(native, LONGEST_END)


def _end(native: Native) -> None:
    native.variable("main_thread").value = threading.get_ident()
    native.variable("ending").value = 1
    longest = math.inf
    while True:
        try:
            # The memory of programs goes with the interpreter.
            _rest(native, longest)
            native.variable("dispatcher").value = 0
            end_compilations()
            tracing.end(native.address("nothing"))
            # A thread of jaxlib's that waits for the interpreter's lock when that ends would end the process.
            late = time.monotonic() + LONGEST_END
            while native.variable("inside").value and time.monotonic() < late:
                time.sleep(0.001)
            return
        except KeyboardInterrupt:
            longest = 0  # but nothing may call Python from here on


@lru_cache(maxsize=1)
def plugin() -> Plugin:
    return Plugin()
