"""Turns at hashing passwords: each hash takes 64 MiB and a processor, so few run at once and few wait.

Whoever finds no place is refused before anything is hashed, read or written. Nobody has more than his share of the
places, and browsers that signed in before have places of their own: strangers cannot take those.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from treewarden.service.errors import TooManyError

AT_ONCE = 1
PLACES = 8
"""For strangers, and as many again for browsers that signed in before and for people in their session."""
SHARE = 2
"""Places that one address or account may have."""
RETRY_SECONDS = 2


class HashingQueue:
    """The places of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns = threading.Semaphore(AT_ONCE)
        self._taken: Counter[bool] = Counter()
        self._shares: Counter[tuple[bool, str]] = Counter()

    def take(self, whose: str, *, is_known: bool) -> AbstractContextManager[None]:
        """Take a place, and return what gives it back; ``whose`` names an address or an account.

        Raises:
            TooManyError: all places are taken, or the share of whoever asks.
        """
        share = (is_known, whose)
        with self._lock:
            if self._taken[is_known] >= PLACES or self._shares[share] >= SHARE:
                problem = "too many people sign in just now; try again in a moment"
                raise TooManyError("sign-in", problem, RETRY_SECONDS)
            self._taken[is_known] += 1
            self._shares[share] += 1
        return self._held(share)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn; hash within it, and nothing else."""
        with self._turns:
            yield

    @contextmanager
    def _held(self, share: tuple[bool, str]) -> Iterator[None]:
        try:
            yield
        finally:
            with self._lock:
                self._taken[share[0]] -= 1
                self._shares[share] -= 1
                if not self._shares[share]:
                    del self._shares[share]
