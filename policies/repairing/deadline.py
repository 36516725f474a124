"""When a search has to end: a reading of a clock that whoever starts it chooses."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment ``end`` on a ``clock`` in seconds; infinite where there is no limit."""

    end: float = math.inf
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """Return the deadline so many seconds from now; None for no limit."""
        return cls(math.inf if seconds is None else clock() + seconds, clock)

    @property
    def left(self) -> float:
        """Seconds that are left; infinite where there is no limit."""
        return max(self.end - self.clock(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.clock() >= self.end


NO_LIMIT = Deadline()
"""As long as it takes."""
