"""A budget of wall-clock seconds that parts of the engine share."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """A moment at which to stop."""

    end: float

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(self.end - time.monotonic(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the budget is used up."""
        return time.monotonic() >= self.end

    def part(self, seconds: float) -> Clock:
        """Return a clock that ends after so many seconds, or with this one."""
        return Clock(min(self.end, time.monotonic() + seconds))


def clock(seconds: float) -> Clock:
    """Return a clock that ends after so many seconds."""
    return Clock(time.monotonic() + seconds)
