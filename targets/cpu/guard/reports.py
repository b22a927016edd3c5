"""Errors about accesses outside of buffers: the operation, its kernel, the buffer nearby, and the distance."""

from __future__ import annotations

from collections.abc import Sequence

from ....hlo_dialect.diagnostics import Diagnostic
from ...program.guard import GuardError, MemoryAccess, Port
from .memory import Buffer, Buffers


def site(access: MemoryAccess) -> str:
    return f"kernel @{access.kernel}" if access.kernel else f"'{access.op}'"


def used_outside_life(access: MemoryAccess, port: Port) -> GuardError:
    return _error(access, port, f"uses {_named(access, port)} outside of the time for which its memory is planned")


def last_words(access: MemoryAccess) -> bytes:
    """The text to print where a run cannot go on to its end."""
    return f"{_far_outside(access)}\n".encode()


def _far_outside(access: MemoryAccess) -> GuardError:
    return _error(access, _last(access), f"accesses memory in {site(access)} that is far from every buffer")


def outside(
    access: MemoryAccess, taken: Sequence[tuple[Buffer, Port]], buffers: Buffers, address: int, verb: str
) -> GuardError:
    """The error for an access to `address`, which is in no buffer that may be accessed so."""
    ports = dict(taken)
    holder = buffers.holding(address)
    if holder is not None:
        at = f"at byte {address - holder.start} of {holder.size}"
        port = ports.get(holder)
        if port is not None:
            return _error(access, port, f"{verb} {_named(access, port)}, which may only be read: {at}")
        return _error(access, _last(access), f"{verb} a buffer that {site(access)} does not take, {holder.name}: {at}")
    near = buffers.beside(address)
    if near is None:
        return _far_outside(access)
    port = ports.get(near)
    whose = near.name if port is None else _named(access, port)
    text = f"{verb} outside of {whose}: at byte {address - near.start} of {near.size}"
    return _error(access, port or _last(access), text)


def _named(access: MemoryAccess, port: Port) -> str:
    return f"{port.name}, of {site(access)}"


def _last(access: MemoryAccess) -> Port:
    """The port of the result: its operation stands for the whole kernel."""
    return access.ports[-1] if access.ports else Port("", access.op, access.location, False)


def _error(access: MemoryAccess, port: Port, message: str) -> GuardError:
    notes = (Diagnostic("note", f"{site(access)} is called here", access.location),) if access.kernel else ()
    return GuardError(Diagnostic("error", f"'{port.op}' op {message}", port.location, notes))
