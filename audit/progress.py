"""How whoever runs an audit hears of its stages: a callback, which may also end the run by raising."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
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
