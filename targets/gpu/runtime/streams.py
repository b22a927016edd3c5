"""
Streams by identity.

The driver reuses a destroyed stream's handle for the next one, and the handle CU_STREAM_PER_THREAD names another stream
in each thread. An identity is unique for the life of the process (`cuStreamGetId`), so work is ordered by identities.
"""

from __future__ import annotations

Identity = tuple[int, int]
"""The driver's number of the stream, and ours of the thread for the per-thread default stream, else 0."""


class Stream:
    """
    A stream with an event after the last work that this process enqueued in it.

    The event orders later work even if the stream's owner has destroyed it: its work is done all the same.
    """

    __slots__ = ("__weakref__", "_spare_events", "event", "handle", "identity")

    def __init__(self, handle: int, identity: Identity, spare_events: list[int]):
        self.handle = handle
        self.identity = identity
        self.event: int | None = None
        """None in the device's own stream, which lives as long as the process, and before the first run."""
        self._spare_events = spare_events

    def __del__(self) -> None:
        """Waits for the event were for its last record, so that it may be reused."""
        if self.event is not None:
            self._spare_events.append(self.event)
