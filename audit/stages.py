"""How whoever runs an audit hears of its stages: a callback, which may also end the run by raising."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Step = Callable[[str], AbstractContextManager[None]]
"""Told in words what begins, and left when that is done."""


@contextmanager
def silent(doing: str) -> Iterator[None]:
    """Tell nobody."""
    yield
