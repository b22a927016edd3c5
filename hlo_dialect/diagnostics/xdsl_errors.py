"""xDSL's errors about a program: its parsers and verifiers raise more than ParseError and VerifyException."""

from __future__ import annotations


def raised_in_xdsl(error: Exception) -> bool:
    """
    Whether xDSL's code, not ours, made the error: its syntax functions meet unexpected input with IndexError,
    ValueError and others. The last frame of either decides; the standard library's count for neither.
    """
    ours = __name__.partition(".")[0]
    trace, found = error.__traceback__, False
    while trace is not None:
        root = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
        if root in ("xdsl", ours):
            found = root == "xdsl"
        trace = trace.tb_next
    return found
