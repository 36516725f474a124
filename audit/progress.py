"""Progress of an audit and its time: a callback for each stage, and a budget of seconds, by the clock or of work.

The callback may end the run by raising. Parts of the engine share the budget. A budget of work ends at the same place
on any machine: what is done is counted, in seconds that a usual machine takes for it, and no clock is asked.
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


TIME_LIMIT = "seconds of the time limit"
"""What is told as the share of a stage of which only the time is known that it may take at most."""


AT_LEAST = "to withhold at least"
"""What is told as the share of a stage that looks for the least: what it is at least, of all there is."""


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


class WorkMeter:
    """Work that was done, in seconds; clocks of one budget share it."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent = 0.0

    def read(self) -> float:
        """Return the work so far."""
        return self.spent


@dataclass(frozen=True, slots=True)
class Clock:
    """A moment at which to stop; ``now`` tells the time in seconds.

    With a ``meter`` they are seconds of work, which whoever works has to ``spend``; ``outer`` then is the moment at
    which time is over by the wall clock, if any.
    """

    end: float
    now: Callable[[], float] = time.monotonic
    meter: WorkMeter | None = None
    outer: Clock | None = None

    def __reduce__(self) -> tuple[Callable[..., Clock], tuple[float | None, ...]]:
        """Return what travels: the seconds left, as each machine has a clock of its own."""
        if self.meter is None:
            return clock, (self.left,)
        return work_clock, (self.left, None if self.outer is None else self.outer.left)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return 0.0 if self.is_struck else max(self.end - self.now(), 0.0)

    @property
    def wall_left(self) -> float:
        """Seconds by the wall clock that are left to a solver which counts its own work; infinite without a limit."""
        if self.meter is None:
            return self.left
        return float("inf") if self.outer is None else self.outer.left

    @property
    def is_over(self) -> bool:
        """Whether the budget is used up."""
        return self.now() >= self.end or self.is_struck

    def told_to(self, share: Share | None, extra_seconds: float = 0.0) -> Clock:
        """Return this clock; whoever looks at it, or at a part of it, tells ``share`` how much of the time is used.

        The time that is told of ends ``extra_seconds`` after this clock.
        """
        if share is None or self.end == float("inf"):
            return self
        return replace(
            self, now=_TellingTime(self.now, share, self.now(), self.end + extra_seconds)
        )

    @property
    def is_struck(self) -> bool:
        """Whether the wall clock ended a budget of work, so that another machine may come further."""
        return self.outer is not None and self.outer.is_over

    def spend(self, seconds: float) -> None:
        """Count work, in seconds that a usual machine takes for it; a clock that tells the time needs none of that."""
        if self.meter is not None:
            self.meter.spent += seconds

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


@dataclass(frozen=True, slots=True)
class _TellingTime:
    """Tells the time, in seconds, and on the way ``share`` how much of it is used between two moments."""

    now: Callable[[], float]
    share: Share
    begin: float
    end: float

    def __call__(self) -> float:
        """Return the time."""
        time_now = self.now()
        self.share(min(time_now, self.end) - self.begin, self.end - self.begin, TIME_LIMIT)
        return time_now


def clock(seconds: float) -> Clock:
    """Return a clock that ends after so many seconds."""
    return Clock(time.monotonic() + seconds)


def work_clock(seconds: float, limit: float | None = None) -> Clock:
    """Return a clock that ends after so many seconds of work, or after ``limit`` seconds by the wall clock."""
    meter = WorkMeter()
    return Clock(seconds, meter.read, meter, None if limit is None else clock(limit))


FOREVER = Clock(float("inf"))
"""For what is to be worked out whatever it takes."""
