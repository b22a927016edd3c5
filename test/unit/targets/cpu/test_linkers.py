"""Code is freed with its object, and LLVM's linkers with their last code."""

from __future__ import annotations

import ctypes
import gc
import weakref

from xhlo.targets.cpu import jit


def test_a_linker_goes_with_the_last_of_its_code() -> None:
    code = jit.compile_to_object("define i64 @xhlo_entry() {\n ret i64 5\n}")
    jit.engine().linker = jit._new_linker()  # pyright: ignore[reportPrivateUsage]
    kept, linker = jit.load(code), weakref.ref(jit.engine().linker)
    for _ in range(jit.PER_LINKER):
        jit.load(code)
    gc.collect()
    assert linker() is not None and linker() is not jit.engine().linker
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(kept.address("xhlo_entry"))() == 5
    del kept
    gc.collect()
    assert linker() is None
