"""Who hears of what takes long: nobody, standard error as on the command line, or a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from treewarden.api.errors import ArgumentError
from treewarden.audit.stages import Step, silent
from treewarden.terminal.progress import Progress

Listener = bool | Callable[[str], object] | None


def step_of(progress: Listener) -> Step:
    """Return what tells each step to whoever listens; what a function raises ends the run.

    Raises:
        ArgumentError: it is no listener.
    """
    if progress is None or progress is False:
        return silent
    if progress is True:
        return Progress().step
    if not callable(progress):
        problem = f"True or a function of one text is needed, not {type(progress).__name__}"
        raise ArgumentError("progress", problem)
    tell = progress

    @contextmanager
    def step(doing: str) -> Iterator[None]:
        tell(doing)
        yield

    return step


def say_of(progress: Listener) -> Callable[[str], None]:
    """Return what tells what is no step, such as what came of one of many changes."""
    if progress is None or progress is False:
        return _nothing
    if progress is True:
        return Progress().say
    tell = progress

    def say(text: str) -> None:
        tell(text)

    return say


def _nothing(text: str) -> None:
    """Tell nobody."""
