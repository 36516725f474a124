"""Progress of an audit and its time: a callback for each stage, and a budget of wall-clock seconds.

The callback may end the run by raising. Parts of the engine share the budget.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

T = TypeVar("T")

Share = Callable[[float, float, str], object]
"""Told how much of a stage is done, of how much, and what that is; from any thread, and often: it must be quick."""
Step = Callable[[str], AbstractContextManager[Share | None]]
"""Told in words what begins, and left when that is done; what it gives, if anything, may be told how much is."""


def counted_by(share: Share | None, items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """Yield the items, and tell how many of a total were dealt with; ``share`` may be nobody."""
    for done, item in enumerate(items, start=1):
        yield item
        if share is not None:
            share(done, total, what)


def nobody_hears(done: float, total: float, what: str) -> None:
    """Tell nobody how much is done."""


@contextmanager
def silent(doing: str) -> Iterator[None]:
    """Tell nobody."""
    yield


class OutOfTimeError(Exception):
    """The budget is used up in the midst of what is of no use by halves."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A moment at which to stop; ``now`` tells the time in seconds."""

    end: float
    now: Callable[[], float] = time.monotonic

    def __reduce__(self) -> tuple[Callable[[float], Clock], tuple[float]]:
        """Return what travels: the seconds left, as each machine has a clock of its own."""
        return clock, (self.left,)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return max(self.end - self.now(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the budget is used up."""
        return self.now() >= self.end

    def part(self, seconds: float) -> Clock:
        """Return a clock that ends after so many seconds, or with this one."""
        return replace(self, end=min(self.end, self.now() + seconds))

    def share(self, share: float) -> Clock:
        """Return a clock that ends when so much of what is left is used up."""
        return self.part(share * self.left)

    def check(self) -> None:
        """Do nothing while there is time.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        if self.is_over:
            raise OutOfTimeError


def clock(seconds: float) -> Clock:
    """Return a clock that ends after so many seconds."""
    return Clock(time.monotonic() + seconds)


FOREVER = Clock(float("inf"))
"""For what is to be worked out whatever it takes."""
