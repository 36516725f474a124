"""How whoever runs an audit hears of its stages: a callback, which may also end the run by raising."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Share = Callable[[float, float, str], object]
"""Told how much of a stage is done, of how much, and what that is; from any thread, and often: it must be quick."""
Step = Callable[[str], AbstractContextManager[Share | None]]
"""Told in words what begins, and left when that is done; what it gives, if anything, may be told how much is."""


@contextmanager
def silent(doing: str) -> Iterator[None]:
    """Tell nobody."""
    yield
