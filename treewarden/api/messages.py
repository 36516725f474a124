"""Who hears of what takes long: nobody, standard error as on the command line, or a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from treewarden.audit.progress import Step, silent
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.terminal.progress import ProgressPrinter

# The errors that only Python meets, of the one family that the command line tells of.


class ArgumentError(TreewardenError, ValueError):
    """An argument is not what is needed, or does not go with another."""


class VerdictError(TreewardenError):
    """The policy does not pass: what ``raise_for_verdict`` raises."""


class FailedError(VerdictError):
    """A clause of the policy does not hold."""


class UndeterminedError(VerdictError):
    """Something could not be decided, which is never a pass."""


Listener = bool | Callable[[str], object] | None


def step_of(progress: Listener) -> Step:
    """Return what tells each step to whoever listens; what a function raises ends the run.

    Raises:
        ArgumentError: it is no listener.
    """
    if progress is None or progress is False:
        return silent
    if progress is True:
        return ProgressPrinter().step
    if not callable(progress):
        problem = f"give True or a function that takes one text, not {type(progress).__name__}"
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
        return ProgressPrinter().say
    tell = progress

    def say(text: str) -> None:
        tell(text)

    return say


def _nothing(text: str) -> None:
    """Tell nobody."""
