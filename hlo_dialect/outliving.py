"""Python objects in whose memory machine code reads as long as the process lives."""

from __future__ import annotations

import ctypes


def outlive(*objects: object) -> None:
    """
    Never free these objects.

    When the interpreter ends, it empties its modules before it destroys objects that others still hold, and what those
    call in their last moments finds the modules' objects gone. Only for CPython.
    """
    for each in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))
