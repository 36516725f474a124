"""Says on stderr what takes long: a step that is over within a second is not mentioned."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from reports.document.words import printable

PATIENCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Where steps are announced; nothing is said when ``quiet``."""

    quiet: bool = False

    @contextmanager
    def step(self, doing: str) -> Iterator[None]:
        """Announce a step that is still running after a second, and how long it took in the end."""
        if self.quiet:
            yield
            return
        begun = time.monotonic()
        timer = threading.Timer(PATIENCE_SECONDS, click.echo, (f"{doing} ...",), {"err": True})
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
        seconds = time.monotonic() - begun
        if seconds > PATIENCE_SECONDS:
            click.echo(f"{doing}: done in {seconds:.1f} s", err=True)

    def say(self, text: str) -> None:
        """Say in passing what is not part of the result."""
        if not self.quiet:
            click.echo(printable(text), err=True)
