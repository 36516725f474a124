"""One attempt to send something: what came of it, and the clock that it is held against."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

TIMEOUT_SECONDS = 10.0
"""How long each may take: to connect, to agree on keys, and all of the request with its answer."""


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """What came of one attempt: the status of the answer, or why there was none.

    ``is_final``: it is not tried again, as nothing else would come of it.
    """

    status: int | None
    problem: str = ""
    is_final: bool = False

    @property
    def is_done(self) -> bool:
        """Whether the receiver took it."""
        return self.status is not None and 200 <= self.status < 300


@contextmanager
def hung_up_after(current: Callable[[], socket.socket | None], seconds: float) -> Iterator[None]:
    """Hang up after a while: a timeout is for each read, so that an answer that drips would never end.

    ``current`` returns the socket as it is then: to agree on keys puts another one in its place.
    """
    timer = threading.Timer(seconds, lambda: _hang_up(current()))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _hang_up(sock: socket.socket | None) -> None:
    if sock is None:
        return
    with suppress(OSError):  # closed already
        # not the method of a TLS socket: it forgets its keys, and another thread reads with them
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
