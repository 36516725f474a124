"""Progress on stderr: a step that is over within a second is not mentioned, a long one now and then.

A long command can keep what is solved in a folder (``--resume``), so that the same command goes on after an interrupt.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from treewarden.audit.progress import AT_LEAST, TIME_LIMIT
from treewarden.reports.document.words import printable
from treewarden.terminal.exits import RESUMED

PATIENCE_SECONDS = 1.0
EVERY_SECONDS = 10.0
"""How often a step that goes on is mentioned again; on a terminal, where nobody keeps the lines, more often."""
EVERY_SECONDS_ON_TERMINAL = 3.0


@dataclass(slots=True)
class Doing:
    """A step at work: called with how much is done, of how much, and what that is, it says so next time.

    ``since`` is when what is counted began: where less is done than before, something else is.
    """

    name: str
    begun: float = field(default_factory=time.monotonic)
    since: float = field(default_factory=time.monotonic)
    share: tuple[float, float, str] | None = None
    at_least: str = ""

    def __call__(self, done: float, total: float, what: str) -> None:
        """Take note that so much of it is done, or what its result is at least."""
        if what == AT_LEAST:
            self.at_least = f"; at least {done:,.4g} of {total:,.4g} must be withheld"
            return
        if self.share is not None and done < self.share[0]:
            self.since = time.monotonic()
        self.share = (done, total, what)

    def line(self) -> str:
        """Return how far it is, and about how long the rest takes at this pace."""
        now = time.monotonic()
        if self.share is None or not 0 < self.share[0] < self.share[1]:
            return f"{self.name}: {lasting(now - self.begun)} so far{self.at_least}"
        done, of, what = self.share
        if what == TIME_LIMIT:
            return f"{self.name}: {done:,.0f} of at most {of:,.0f} s{self.at_least}"
        rest = (now - self.since) * (of - done) / done
        return f"{self.name}: {done:,.0f} of {of:,.0f} {what}, about {lasting(rest)} left"


@dataclass(frozen=True, slots=True)
class ProgressPrinter:
    """Where steps are announced; nothing is said when ``quiet``."""

    quiet: bool = False
    every_seconds: float | None = None

    @contextmanager
    def step(self, doing: str) -> Iterator[Doing | None]:
        """Announce a step that is still running after a second, now and then how far it is, and how long it took.

        Whoever does it may call what is given with how much is done.
        """
        if self.quiet:
            yield None
            return
        at_work, is_over = Doing(doing), threading.Event()
        telling = threading.Thread(target=self._tell, args=(at_work, is_over), daemon=True)
        telling.start()
        try:
            yield at_work
        finally:
            is_over.set()
            telling.join()
        seconds = time.monotonic() - at_work.begun
        if seconds > PATIENCE_SECONDS:
            click.echo(f"{doing}: done in {seconds:.1f} s", err=True)

    def say(self, text: str) -> None:
        """Say in passing what is not part of the result."""
        if not self.quiet:
            click.echo(printable(text), err=True)

    def _tell(self, at_work: Doing, is_over: threading.Event) -> None:
        if is_over.wait(PATIENCE_SECONDS):
            return
        click.echo(f"{at_work.name} ...", err=True)
        every = self.every_seconds
        if every is None:
            every = EVERY_SECONDS_ON_TERMINAL if sys.stderr.isatty() else EVERY_SECONDS
        while not is_over.wait(every):
            click.echo(at_work.line(), err=True)


def lasting(seconds: float) -> str:
    """Return about how long something takes, in words."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def resuming(
    context: click.Context, folder: Path | None, progress: ProgressPrinter
) -> Iterator[None]:
    """Keep what is solved in a folder meanwhile, if there is to be one; say in the end what was taken from there.

    Raises:
        OutputError: the folder cannot be made, or others can write into it.
    """
    context.meta[RESUMED] = "" if folder is None else str(folder)
    if folder is None:
        yield
        return
    from treewarden.audit.solver.checkpoint import keeping  # heavy: for a folder only

    with keeping(folder) as checkpoint:
        yield
    if checkpoint is None:
        return
    if checkpoint.taken:
        progress.say(f"{checkpoint.taken} solved before, and taken from {folder} after a check")
    for note in checkpoint.notes:
        progress.say(f"note: {note}")
